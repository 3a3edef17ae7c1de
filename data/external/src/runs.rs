//! The first phase: sorted runs, written to a spill file.

use crate::ExternalError;
use crate::files::Files;
use crate::job::{Job, joined};
use crate::layout::Layout;
use crate::progress::Phase;
use crate::spill::Spill;
use bytemuck::Pod;
use polysort_core::Backend;
use std::io::{ErrorKind, Read};
use std::sync::mpsc::{channel, sync_channel};
use std::thread::scope;

/// Runs in memory: one is read, one sorted, one written.
const BUFFERS: usize = 3;

/// What the first phase leaves.
pub(crate) enum Formed<'f, R, F: Files> {
    /// All records, sorted.
    InMemory(Vec<R>),
    /// Sorted runs in a file, and the number of records.
    Spilled(Spill<'f, F>, u64),
}

/// Reads `input` to its end and sorts it run by run.
pub(crate) fn form<'f, L: Layout, B: Backend, F: Files>(
    job: &mut Job<'f, '_, L, F>,
    backend: &B,
    mut input: impl Read + Send,
) -> Result<Formed<'f, L::Record, F>, ExternalError> {
    let (len, files, block, compress) = (job.budget.run, job.files, job.budget.block, job.compress);
    scope(|scope| {
        let (empty, empties) = channel::<Vec<L::Record>>();
        let (filled, to_sort) = sync_channel::<(Vec<L::Record>, bool)>(1);
        let (sorted, to_write) = sync_channel::<Vec<L::Record>>(1);
        for _ in 0..BUFFERS {
            empty.send(vec![]).expect("the receiver is here");
        }
        // Each thread ends when a channel to the next one is closed, or when the one before has no more.
        let reader = scope.spawn(move || -> Result<(), ExternalError> {
            while let Ok(mut records) = empties.recv() {
                let is_last = fill(&mut input, &mut records, len)?;
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
                    none => none.insert(Spill::create(files, block, compress)?),
                };
                spill.begin_run();
                spill.append(&run)?;
                // The reader may have seen the end of the input already.
                drop(empty.send(run));
            }
            Ok(spill)
        });
        let (mut total, mut spilled, mut in_memory) = (0, false, None);
        let result = (|| -> Result<(), ExternalError> {
            for (mut records, is_last) in to_sort {
                total += records.len() as u64;
                job.layout.sort(backend, &mut records, job.options)?;
                job.report(Phase::Runs, total, is_last.then_some(total))?;
                if is_last && !spilled {
                    in_memory = Some(records);
                } else if !records.is_empty() {
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

/// Fills `records` with up to `len` records. Returns whether the input has ended.
fn fill<R: Pod>(input: &mut impl Read, records: &mut Vec<R>, len: usize) -> Result<bool, ExternalError> {
    if records.capacity() == 0 {
        // Fresh memory that is zero already: pages that a short input does not fill are never touched.
        *records = bytemuck::zeroed_vec(len);
    }
    records.resize(len, R::zeroed());
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(records);
    let mut filled = 0;
    while filled < bytes.len() {
        match input.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(ExternalError::Input(error)),
        }
    }
    let (whole, left) = (filled / size_of::<R>(), filled % size_of::<R>());
    if left != 0 {
        return Err(ExternalError::PartialRecord { left, record: size_of::<R>() });
    }
    let is_last = whole < len;
    records.truncate(whole);
    Ok(is_last)
}
