//! The second phase: merges of the runs of a spill file.
//!
//! Two blocks of each run are in memory: one is merged while the next is read. A round of the merge takes all records up to the *bound*: the smallest last key of all
//! blocks that are not the last of their run. No block that is still to be read has a smaller key. Of records that equal the bound, a round takes those of the runs
//! up to the first one whose block ends with the bound, so the merge is stable.

use crate::ExternalError;
use crate::files::Files;
use crate::job::{Job, joined};
use crate::layout::Layout;
use crate::progress::Phase;
use crate::spill::{Block, Spill};
use bytemuck::Zeroable;
use polysort_core::Spec;
use std::io::Write;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::scope;

/// Merges the runs of `spill` into `output`, in several passes if they are too many for one. Returns the number of passes, and the bytes of all further
/// spill files.
pub(crate) fn merge_all<'f, L: Layout, F: Files>(
    job: &mut Job<'f, '_, L, F>,
    mut spill: Spill<'f, F>,
    total: u64,
    mut output: impl Write + Send,
) -> Result<(usize, u64), ExternalError> {
    let (passes, mut bytes) = (passes(spill.runs().len(), job.budget.fan_in), 0);
    for pass in 0..passes - 1 {
        let runs = spill.runs().to_vec();
        let groups = runs.len().div_ceil(job.budget.fan_in);
        let mut next = Spill::create(job.files, job.budget.block, job.compress)?;
        let mut merged = 0;
        for group in runs.chunks(runs.len().div_ceil(groups)) {
            next.begin_run();
            let phase = Phase::Merge { pass, passes };
            merge(
                job,
                &mut spill,
                group,
                |records| next.append(records),
                |job, count| {
                    merged += count;
                    job.report(phase, merged, Some(total))
                },
            )?;
        }
        bytes += next.bytes();
        spill = next;
    }
    let (runs, phase) = (spill.runs().to_vec(), Phase::Merge { pass: passes - 1, passes });
    let write = |records: &[L::Record]| output.write_all(bytemuck::cast_slice(records)).map_err(ExternalError::Output);
    let mut merged = 0;
    merge(job, &mut spill, &runs, write, |job, count| {
        merged += count;
        job.report(phase, merged, Some(total))
    })?;
    output.flush().map_err(ExternalError::Output)?;
    Ok((passes, bytes))
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

/// A run while it is merged.
struct Run<R> {
    /// The block that is merged.
    current: Vec<R>,
    /// Records of it that have been merged.
    at: usize,
    /// The next block, if it has been read.
    next: Option<Vec<R>>,
    /// Blocks after the current one, read or not.
    blocks_left: usize,
    /// Blocks that the reader has not been asked for.
    unasked: usize,
}

/// Merges some runs. `write` gets the records in order on a thread of its own, `report` how many there are.
fn merge<'f, 'p, L: Layout, F: Files>(
    job: &mut Job<'f, 'p, L, F>,
    spill: &mut Spill<'f, F>,
    runs: &[Vec<Block>],
    mut write: impl FnMut(&[L::Record]) -> Result<(), ExternalError> + Send,
    mut report: impl FnMut(&mut Job<'f, 'p, L, F>, u64) -> Result<(), ExternalError>,
) -> Result<(), ExternalError> {
    let spec = job.layout.spec(job.options)?;
    scope(|scope| {
        let (ask, asked) = channel::<(usize, Vec<L::Record>)>();
        let (block_read, blocks) = channel();
        let (full, to_write) = channel::<Vec<L::Record>>();
        let (empty, empties) = channel();
        let reader = scope.spawn(move || -> Result<(), ExternalError> {
            let mut next: Vec<_> = runs.iter().map(|blocks| blocks.iter()).collect();
            for (run, mut records) in asked {
                let block = next[run].next().expect("the merge asks for the blocks that there are");
                spill.read(*block, &mut records)?;
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
        let mut inputs = Inputs { runs: vec![], ask, blocks };
        let result = inputs.start(runs).and_then(|()| {
            let mut outputs = 0;
            loop {
                let mut output: Vec<L::Record> = if outputs < 2 {
                    outputs += 1;
                    vec![]
                } else {
                    let Ok(output) = empties.recv() else { return Err(Stopped::Thread) };
                    output
                };
                output.resize(job.budget.output, L::Record::zeroed());
                let len = inputs.merge_into(job, spec, &mut output)?;
                output.truncate(len);
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

/// The runs of a merge, and the channels to and from the thread that reads them.
struct Inputs<R> {
    runs: Vec<Run<R>>,
    ask: Sender<(usize, Vec<R>)>,
    blocks: Receiver<(usize, Vec<R>)>,
}

impl<R: Copy> Inputs<R> {
    /// Asks for the first block of each run.
    fn start(&mut self, runs: &[Vec<Block>]) -> Result<(), Stopped> {
        let run =
            |blocks: &Vec<Block>| Run { current: vec![], at: 0, next: None, blocks_left: blocks.len(), unasked: blocks.len() };
        self.runs = runs.iter().map(run).collect();
        (0..runs.len()).try_for_each(|run| self.ask(run, vec![]))
    }

    /// Asks for the next block of a run, if it has one, in this memory.
    fn ask(&mut self, run: usize, records: Vec<R>) -> Result<(), Stopped> {
        if self.runs[run].unasked == 0 {
            return Ok(());
        }
        self.runs[run].unasked -= 1;
        self.ask.send((run, records)).map_err(|_| Stopped::Thread)
    }

    /// Makes the next block of each run whose current one is merged the current one, and asks for the one after it.
    fn advance(&mut self) -> Result<(), Stopped> {
        for run in 0..self.runs.len() {
            if self.runs[run].at < self.runs[run].current.len() || self.runs[run].blocks_left == 0 {
                continue;
            }
            while self.runs[run].next.is_none() {
                let (read, records) = self.blocks.recv().map_err(|_| Stopped::Thread)?;
                self.runs[read].next = Some(records);
            }
            let next = self.runs[run].next.take().unwrap_or_default();
            let merged = std::mem::replace(&mut self.runs[run].current, next);
            self.runs[run].at = 0;
            self.runs[run].blocks_left -= 1;
            self.ask(run, merged)?;
        }
        Ok(())
    }

    /// Fills `output` with the next records of the merge. Returns how many there are: fewer only at the end.
    fn merge_into<L: Layout<Record = R>, F: Files>(
        &mut self,
        job: &Job<'_, '_, L, F>,
        spec: Spec,
        output: &mut [R],
    ) -> Result<usize, Stopped> {
        let mut filled = 0;
        while filled < output.len() {
            self.advance()?;
            let rank = |record: &R| job.layout.rank(record, spec);
            let last = |run: &Run<R>| run.current.last().map(rank);
            let unfinished = self.runs.iter().enumerate().filter(|(_, run)| run.blocks_left > 0);
            let bound = unfinished.filter_map(|(at, run)| Some((last(run)?, at))).min();
            let ready = |(at, run): (usize, &'_ Run<R>)| -> usize {
                let rest = &run.current[run.at..];
                bound.map_or(rest.len(), |(bound, first)| {
                    rest.partition_point(|record| rank(record) < bound || rank(record) == bound && at <= first)
                })
            };
            let parts: Vec<&[R]> =
                self.runs.iter().enumerate().map(|(at, run)| &run.current[run.at..run.at + ready((at, run))]).collect();
            let len = parts.iter().map(|part| part.len()).sum::<usize>().min(output.len() - filled);
            if len == 0 {
                break;
            }
            let taken = job
                .layout
                .merge(job.merger, &parts, &mut output[filled..filled + len], job.options)
                .map_err(ExternalError::from)?;
            filled += len;
            for (run, taken) in self.runs.iter_mut().zip(taken) {
                run.at += taken;
            }
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::passes;

    #[test]
    fn passes_grow_with_the_logarithm_of_the_runs() {
        assert_eq!([1, 2, 4, 5, 16, 17, 64].map(|runs| passes(runs, 4)), [1, 1, 1, 2, 2, 3, 3]);
    }
}
