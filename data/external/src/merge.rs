//! The second phase: merges of sorted runs, which are in a spill file or are the inputs of a merge.
//!
//! Two blocks of each run are in memory: one is merged while the next is read. A round of the merge takes records up to the *bound*: the smallest last key of all
//! blocks of runs that have not ended. No block that is still to be read has a smaller key. Of records that equal the bound, a round takes those of the runs
//! up to the first one whose block ends with the bound, so the merge is stable.

use crate::ExternalError;
use crate::files::Files;
use crate::job::{Job, joined};
use crate::kind::{Kind, Next, Output, Part};
use crate::progress::Phase;
use crate::spill::{Block, Spill};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::scope;

/// Inputs that are merged at once, at most: each may be an open file, and a process may have 256 on some systems.
const MOST_INPUTS: usize = 192;

/// What merges have done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Merged {
    pub(crate) records: u64,
    pub(crate) passes: usize,
    /// Bytes of the spill files that they wrote.
    pub(crate) bytes: u64,
}

/// Merges sorted inputs into `output`, `fan_in` at a time. `next` gets the number of an input as the number of the run.
pub(crate) fn merge_inputs<K: Kind, F: Files>(
    job: &mut Job<'_, '_, F>,
    kind: &K,
    (inputs, fan_in): (usize, usize),
    next: Next<'_, K::Records>,
    output: Output<'_>,
) -> Result<Merged, ExternalError> {
    let at_once = fan_in.min(MOST_INPUTS);
    if inputs <= at_once {
        let (phase, mut records) = (Phase::Merge { pass: 0, passes: 1 }, 0);
        merge_to(job, kind, 0..inputs, next, output, &mut |job, count| {
            records += count;
            job.report(phase, records, None)
        })?;
        return Ok(Merged { records, passes: 1, bytes: 0 });
    }
    let groups = inputs.div_ceil(at_once);
    let passes = 1 + passes(groups, fan_in);
    let group_len = inputs.div_ceil(groups);
    let (mut spill, mut records) = (Spill::create(job.files, job.compress)?, 0);
    for start in (0..inputs).step_by(group_len) {
        spill.begin_run();
        merge(
            job,
            kind,
            start..inputs.min(start + group_len),
            next,
            &mut |merged| spill.append(kind, merged),
            &mut |job, count| {
                records += count;
                job.report(Phase::Merge { pass: 0, passes }, records, None)
            },
        )?;
    }
    let bytes = spill.bytes();
    let merged = merge_all(job, kind, fan_in, spill, (records, 1), output)?;
    Ok(Merged { bytes: bytes + merged.bytes, ..merged })
}

/// Merges the runs of `spill`, `fan_in` at a time, into `output`. `total` is the number of records, and `passes_before` that of passes over them
/// that merged already.
pub(crate) fn merge_all<'f, K: Kind, F: Files>(
    job: &mut Job<'f, '_, F>,
    kind: &K,
    fan_in: usize,
    mut spill: Spill<'f, F>,
    (total, passes_before): (u64, usize),
    output: Output<'_>,
) -> Result<Merged, ExternalError> {
    let (passes, mut bytes) = (passes_before + passes(spill.runs().len(), fan_in), 0);
    for pass in passes_before..passes - 1 {
        let runs = spill.runs().to_vec();
        let groups = runs.len().div_ceil(fan_in);
        let mut next = Spill::create(job.files, job.compress)?;
        let mut merged = 0;
        for group in runs.chunks(runs.len().div_ceil(groups)) {
            next.begin_run();
            let phase = Phase::Merge { pass, passes };
            let mut blocks = blocks_of(kind, &mut spill, group);
            merge(job, kind, 0..group.len(), &mut blocks, &mut |records| next.append(kind, records), &mut |job, count| {
                merged += count;
                job.report(phase, merged, Some(total))
            })?;
        }
        bytes += next.bytes();
        spill = next;
    }
    let (runs, phase, mut merged) = (spill.runs().to_vec(), Phase::Merge { pass: passes - 1, passes }, 0);
    merge_to(job, kind, 0..runs.len(), &mut blocks_of(kind, &mut spill, &runs), output, &mut |job, count| {
        merged += count;
        job.report(phase, merged, Some(total))
    })?;
    Ok(Merged { records: total, passes, bytes })
}

/// Passes that merge so many runs, `fan_in` at a time.
fn passes(runs: usize, fan_in: usize) -> usize {
    let (mut runs, mut passes) = (runs, 1);
    while runs > fan_in {
        runs = runs.div_ceil(fan_in);
        passes += 1;
    }
    passes
}

/// Returns a function that reads the next block of each of these runs.
fn blocks_of<'s, 'f, K: Kind, F: Files>(
    kind: &'s K,
    spill: &'s mut Spill<'f, F>,
    runs: &'s [Vec<Block>],
) -> impl FnMut(usize, &mut K::Records) -> Result<(), ExternalError> + Send + use<'s, 'f, K, F> {
    let mut next: Vec<_> = runs.iter().map(|blocks| blocks.iter()).collect();
    move |run, records| match next[run].next() {
        Some(&block) => spill.read(kind, block, records),
        None => {
            kind.clear(records);
            Ok(())
        }
    }
}

/// Gets the number of records that were merged since the last call.
type Report<'a, 'f, 'p, F> = &'a mut dyn FnMut(&mut Job<'f, 'p, F>, u64) -> Result<(), ExternalError>;

/// Merges some runs into an output.
fn merge_to<'f, 'p, K: Kind, F: Files>(
    job: &mut Job<'f, 'p, F>,
    kind: &K,
    runs: Range<usize>,
    next: Next<'_, K::Records>,
    output: Output<'_>,
    report: Report<'_, 'f, 'p, F>,
) -> Result<(), ExternalError> {
    merge(job, kind, runs, next, &mut |records| kind.write(records, output).map_err(ExternalError::Output), report)?;
    output.flush().map_err(ExternalError::Output)
}

/// Merges the runs with these numbers. `write` gets the records in order on a thread of its own.
fn merge<'f, 'p, K: Kind, F: Files>(
    job: &mut Job<'f, 'p, F>,
    kind: &K,
    runs: Range<usize>,
    next: Next<'_, K::Records>,
    write: &mut (dyn FnMut(&K::Records) -> Result<(), ExternalError> + Send),
    report: Report<'_, 'f, 'p, F>,
) -> Result<(), ExternalError> {
    scope(|scope| {
        let (ask, asked) = channel::<(usize, K::Records)>();
        let (block_read, blocks) = channel();
        let (full, to_write) = channel::<K::Records>();
        let (empty, empties) = channel();
        let first = runs.start;
        let reader = scope.spawn(move || -> Result<(), ExternalError> {
            for (run, mut records) in asked {
                next(first + run, &mut records)?;
                kind.place(run, &mut records);
                if block_read.send((run, records)).is_err() {
                    break;
                }
            }
            Ok(())
        });
        let writer = scope.spawn(move || -> Result<(), ExternalError> {
            for records in to_write {
                write(&records)?;
                // The merge may have no more to write.
                drop(empty.send(records));
            }
            Ok(())
        });
        let mut inputs = Inputs { kind, runs: vec![], ask, blocks };
        let result = inputs.start(runs.len()).and_then(|()| {
            let mut outputs = 0;
            loop {
                let mut output = if outputs < 2 {
                    outputs += 1;
                    K::Records::default()
                } else {
                    let Ok(output) = empties.recv() else { return Err(Stopped::Thread) };
                    output
                };
                kind.clear(&mut output);
                inputs.merge_into(&mut output)?;
                let len = kind.len(&output);
                report(job, len as u64)?;
                if len == 0 {
                    return Ok(());
                }
                full.send(output).map_err(|_| Stopped::Thread)?;
            }
        });
        drop((inputs, full, empties));
        let (read, written) = (joined(reader), joined(writer));
        match result {
            Err(Stopped::Error(error)) => Err(error),
            _ => read.and(written),
        }
    })
}

/// Why a merge stopped.
enum Stopped {
    /// This error.
    Error(ExternalError),
    /// Another thread has failed and returns the error.
    Thread,
}

impl From<ExternalError> for Stopped {
    fn from(error: ExternalError) -> Self {
        Self::Error(error)
    }
}

/// A run while it is merged.
struct Run<R> {
    /// The block that is merged.
    current: R,
    /// Records of it that have been merged.
    at: usize,
    /// The next block, if it has been read.
    next: Option<R>,
    /// Whether a block without records has come.
    has_ended: bool,
}

/// The runs of a merge, and the channels to and from the thread that reads them.
struct Inputs<'k, K: Kind> {
    kind: &'k K,
    runs: Vec<Run<K::Records>>,
    ask: Sender<(usize, K::Records)>,
    blocks: Receiver<(usize, K::Records)>,
}

impl<K: Kind> Inputs<'_, K> {
    /// Asks for the first block of each run.
    fn start(&mut self, runs: usize) -> Result<(), Stopped> {
        let run = || Run { current: K::Records::default(), at: 0, next: None, has_ended: false };
        self.runs.resize_with(runs, run);
        (0..runs).try_for_each(|run| self.ask(run, K::Records::default()))
    }

    /// Asks for the next block of a run, in this memory.
    fn ask(&mut self, run: usize, records: K::Records) -> Result<(), Stopped> {
        self.ask.send((run, records)).map_err(|_| Stopped::Thread)
    }

    /// Makes the next block of each run whose current one is merged the current one, and asks for the one after it.
    fn advance(&mut self) -> Result<(), Stopped> {
        for run in 0..self.runs.len() {
            if self.runs[run].at < self.kind.len(&self.runs[run].current) || self.runs[run].has_ended {
                continue;
            }
            while self.runs[run].next.is_none() {
                let (read, records) = self.blocks.recv().map_err(|_| Stopped::Thread)?;
                self.runs[read].next = Some(records);
            }
            let next = self.runs[run].next.take().unwrap_or_default();
            let merged = std::mem::replace(&mut self.runs[run].current, next);
            self.runs[run].at = 0;
            if self.kind.len(&self.runs[run].current) == 0 {
                // Both blocks of the run give their memory back.
                self.runs[run].current = K::Records::default();
                self.runs[run].has_ended = true;
            } else {
                self.ask(run, merged)?;
            }
        }
        Ok(())
    }

    /// Fills `output` with the next records of the merge: none only at the end.
    fn merge_into(&mut self, output: &mut K::Records) -> Result<(), Stopped> {
        while !self.kind.is_full(output) {
            self.advance()?;
            let parts = self.parts();
            if parts.iter().all(|(_, range)| range.is_empty()) {
                break;
            }
            let taken = self.kind.merge(&parts, output).map_err(ExternalError::from)?;
            for (run, taken) in self.runs.iter_mut().zip(taken) {
                run.at += taken;
            }
        }
        Ok(())
    }

    /// The records of each run that can be merged: those up to the bound.
    fn parts(&self) -> Vec<Part<'_, K::Records>> {
        let kind = self.kind;
        let last = |run: &Run<K::Records>| kind.rank(&run.current, kind.len(&run.current) - 1);
        let unfinished = self.runs.iter().enumerate().filter(|(_, run)| !run.has_ended);
        let bound = unfinished.map(|(at, run)| (last(run), at)).min();
        let parts = self.runs.iter().enumerate().map(|(at, run)| {
            let end = kind.len(&run.current);
            let end = bound.map_or(end, |(bound, first)| {
                let is_ready = |rank: u128| rank < bound || rank == bound && at <= first;
                partition_point(run.at..end, |record| is_ready(kind.rank(&run.current, record)))
            });
            (&run.current, run.at..end)
        });
        parts.collect()
    }
}

/// The first index of a range for which a condition does not hold. It holds for all indices before that one, and for none after it.
fn partition_point(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut begin, mut end) = (range.start, range.end);
    while begin < end {
        let middle = begin + (end - begin) / 2;
        if holds(middle) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_grow_with_the_logarithm_of_the_runs() {
        assert_eq!([1, 2, 4, 5, 16, 17, 64].map(|runs| passes(runs, 4)), [1, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_partition_point_is_that_of_a_slice() {
        let numbers = [1, 1, 2, 5, 5, 9];
        for begin in 0..=numbers.len() {
            for limit in 0..11 {
                let expected = begin + numbers[begin..].partition_point(|&number| number < limit);
                assert_eq!(partition_point(begin..numbers.len(), |at| numbers[at] < limit), expected);
            }
        }
    }
}
