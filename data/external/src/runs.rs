//! The first phase: sorted runs, written to a spill file.

use crate::ExternalError;
use crate::files::Files;
use crate::job::{Job, joined};
use crate::kind::{Fill, Kind};
use crate::progress::Phase;
use crate::spill::Spill;
use polysort_core::Backend;
use std::sync::mpsc::{channel, sync_channel};
use std::thread::scope;

/// Runs in memory: one is read, one sorted, one written.
const BUFFERS: usize = 3;

/// What the first phase leaves.
pub(crate) enum Formed<'f, R, F: Files> {
    /// All records, sorted.
    InMemory(R),
    /// Sorted runs in a file, and the number of records.
    Spilled(Spill<'f, F>, u64),
}

/// Sorts the records of an input run by run.
pub(crate) fn form<'f, K: Kind, F: Files>(
    job: &mut Job<'f, '_, F>,
    kind: &K,
    backend: &impl Backend,
    mut fill: Fill<'_, K::Records>,
) -> Result<Formed<'f, K::Records, F>, ExternalError> {
    let (files, compress) = (job.files, job.compress);
    scope(|scope| {
        let (empty, empties) = channel::<K::Records>();
        let (filled, to_sort) = sync_channel::<(K::Records, bool)>(1);
        let (sorted, to_write) = sync_channel::<K::Records>(1);
        for _ in 0..BUFFERS {
            empty.send(K::Records::default()).expect("the receiver is here");
        }
        // Each thread ends when a channel to the next one is closed, or when the one before has no more.
        let reader = scope.spawn(move || -> Result<(), ExternalError> {
            while let Ok(mut records) = empties.recv() {
                let is_last = fill(&mut records)?;
                if filled.send((records, is_last)).is_err() || is_last {
                    break;
                }
            }
            Ok(())
        });
        let writer = scope.spawn(move || -> Result<_, ExternalError> {
            let mut spill = None;
            for run in to_write {
                let spill = match &mut spill {
                    Some(spill) => spill,
                    none => none.insert(Spill::create(files, compress)?),
                };
                spill.begin_run();
                spill.append(kind, &run)?;
                // The reader may have seen the end of the input already.
                drop(empty.send(run));
            }
            Ok(spill)
        });
        let (mut total, mut spilled, mut in_memory) = (0, false, None);
        let result = (|| -> Result<(), ExternalError> {
            for (mut records, is_last) in to_sort {
                total += kind.len(&records) as u64;
                kind.sort(backend, &mut records)?;
                job.report(Phase::Runs, total, is_last.then_some(total))?;
                if is_last && !spilled {
                    in_memory = Some(records);
                } else if kind.len(&records) > 0 {
                    spilled = true;
                    if sorted.send(records).is_err() {
                        break; // The writer has failed.
                    }
                }
            }
            Ok(())
        })();
        drop(sorted);
        let spill = joined(writer)?;
        // A sort that failed or was cancelled has closed the reader's channel.
        let read = joined(reader);
        result?;
        read?;
        match (spill, in_memory) {
            (Some(spill), _) => Ok(Formed::Spilled(spill, total)),
            (None, records) => Ok(Formed::InMemory(records.unwrap_or_default())),
        }
    })
}
