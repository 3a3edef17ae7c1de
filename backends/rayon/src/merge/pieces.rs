//! Where the pieces of a merge end in each run.
//!
//! In each run, every `step`-th record is a sample. All samples are sorted in the order of the merge, and each piece ends at one of them. In every other run, the
//! piece ends fewer than `step` records behind the last sample of that run in the piece; a bisection finds the end. An exact cut ([`SortedRuns::cut`]) bisects
//! the whole of each run many times instead, mostly outside of every cache.
//!
//! (Shi and Schaeffer, "Parallel sorting by regular sampling", JPDC 1992.)

use polysort_core::{SortedRuns, Word};

/// Samples for the longest piece of up to 16 runs. More samples make the lengths of pieces more equal.
const SAMPLES: usize = 64;

/// Yields the end of each piece in each run, in the order of the merge.
pub(super) struct Pieces<'a, W> {
    runs: SortedRuns<'a, W>,
    /// Where all pieces together start and end in each run.
    from: &'a [usize],
    to: &'a [usize],
    step: usize,
    /// The rank and the run of each sample, in the order of the merge.
    samples: Vec<(W, u32)>,
    per_piece: usize,
    yielded: usize,
    /// How many samples of each run were yielded.
    passed: Vec<usize>,
    end: Vec<usize>,
}

impl<'a, W: Word> Pieces<'a, W> {
    /// The pieces of the records between `from` and `to`; a piece has `most` records or fewer. `most` is at least 4 for each run, if there is more than one piece.
    pub(super) fn new(runs: SortedRuns<'a, W>, from: &'a [usize], to: &'a [usize], most: usize) -> Self {
        let count = runs.keys().len();
        debug_assert!(most >= 4 * count || records_between(from, to) <= most, "pieces of {most} records of {count} runs");
        let step = (most / SAMPLES.max(4 * count)).max(1);
        let mut samples = vec![];
        if records_between(from, to) > most {
            for (run, keys) in runs.keys().iter().enumerate() {
                let keys = keys[from[run]..to[run]].chunks_exact(step).map(|chunk| chunk[step - 1]);
                samples.extend(keys.map(|key| (runs.spec().rank(key), run as u32)));
            }
            // Stable, so earlier runs come first among equal samples.
            samples.sort_by_key(|&(rank, _)| rank);
        }
        // In each run, a piece has `step` records for each of its samples, and fewer than `step` more.
        let per_piece = (most / step).saturating_sub(count).max(1);
        Self { runs, from, to, step, samples, per_piece, yielded: 0, passed: vec![0; count], end: from.to_vec() }
    }
}

impl<W: Word> Iterator for Pieces<'_, W> {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        if self.end == self.to {
            return None;
        }
        let piece = &self.samples[self.yielded..];
        let piece = &piece[..piece.len().min(self.per_piece)];
        self.yielded += piece.len();
        for &(_, run) in piece {
            self.passed[run as usize] += 1;
        }
        match piece.last() {
            Some(&(last, last_run)) if self.yielded < self.samples.len() => {
                for (run, keys) in self.runs.keys().iter().enumerate() {
                    let sampled = self.from[run] + self.step * self.passed[run];
                    let behind = &keys[sampled..self.to[run].min(sampled + self.step)];
                    let rank = |key: W| self.runs.spec().rank(key);
                    let more = match (run as u32).cmp(&last_run) {
                        core::cmp::Ordering::Less => behind.partition_point(|&key| rank(key) <= last),
                        core::cmp::Ordering::Equal => 0,
                        core::cmp::Ordering::Greater => behind.partition_point(|&key| rank(key) < last),
                    };
                    // A run that is not sorted could end before its last end.
                    self.end[run] = self.end[run].max(sampled + more);
                }
            }
            _ => self.end.copy_from_slice(self.to),
        }
        Some(self.end.clone())
    }
}

/// How many records lie between `from` and `to`.
pub(super) fn records_between(from: &[usize], to: &[usize]) -> usize {
    from.iter().zip(to).map(|(from, to)| to - from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::{Options, Spec};

    #[test]
    fn pieces_are_those_of_the_stable_merge_and_not_too_long() {
        // Few keys, many of them equal; runs of unequal lengths; a bit at either end is not sorted by.
        let spec = Spec::of::<u16>(Options::ascending().bits(1..15)).unwrap();
        for (lens, keys) in [(&[5000, 0, 70, 5000, 1][..], 9_u32), (&[3000; 7], 60_000), (&[4000, 4000], 1)] {
            let mut runs: Vec<Vec<u16>> = vec![];
            for (run, &len) in lens.iter().enumerate() {
                let key = |i: u32| (i.wrapping_mul(0x9e37_79b9).wrapping_add((run as u32).wrapping_mul(0x517c_c1b7)) >> 7) % keys;
                let mut run: Vec<u16> = (0..len).map(|i| key(i) as u16).collect();
                run.sort_by_key(|&key| spec.rank(key));
                runs.push(run);
            }
            let slices: Vec<&[u16]> = runs.iter().map(Vec::as_slice).collect();
            let sorted = SortedRuns::new(&slices, spec);
            let rank = |run: usize, at: usize| spec.rank(slices[run][at]);
            let from: Vec<usize> = lens.iter().map(|&len| len as usize / 9).collect();
            let to: Vec<usize> = lens.iter().map(|&len| len as usize - len as usize / 5).collect();
            for most in [64, 200, 4096, 1 << 20] {
                let mut start = from.clone();
                for end in Pieces::new(sorted, &from, &to, most) {
                    let len = records_between(&start, &end);
                    assert!(0 < len && len <= most, "{len} records, not {most}");
                    // The last record of the piece comes before the first one that it lacks: by rank, then by run.
                    let last = (0..lens.len()).filter(|&run| start[run] < end[run]).map(|run| (rank(run, end[run] - 1), run));
                    let next = (0..lens.len()).filter(|&run| end[run] < to[run]).map(|run| (rank(run, end[run]), run));
                    if let (Some(last), Some(next)) = (last.max(), next.min()) {
                        assert!(last <= next, "{last:?} {next:?}");
                    }
                    start = end;
                }
                assert_eq!(start, to);
            }
        }
    }

    /// Each run comes wholly before the next, and has as many records behind its last sample as possible.
    #[test]
    fn pieces_of_disjoint_runs_are_not_too_long() {
        let (most, step) = (6400, 6400 / SAMPLES);
        for lens in [[41 * step - 1, 22 * step - 1], [step - 1, 64 * step - 1], [63 * step - 1, 61 * step - 1]] {
            let runs: [Vec<u32>; 2] = [(0..lens[0] as u32).collect(), (1 << 20..(1 << 20) + lens[1] as u32).collect()];
            let slices: Vec<&[u32]> = runs.iter().map(Vec::as_slice).collect();
            let sorted = SortedRuns::new(&slices, Spec::of::<u32>(Options::ascending()).unwrap());
            let (mut start, mut lengths) = (vec![0; 2], vec![]);
            for end in Pieces::new(sorted, &[0; 2], &lens, most) {
                lengths.push(records_between(&start, &end));
                start = end;
            }
            assert!(lengths.iter().all(|&len| len <= most), "{lengths:?}");
            // All pieces but the last have nearly all of the samples that fit.
            assert!(lengths.iter().rev().skip(1).all(|&len| len >= (SAMPLES - 2 * 2) * step), "{lengths:?}");
            assert_eq!(start, lens);
        }
    }

    #[test]
    fn pieces_of_runs_that_are_not_sorted_are_apart_and_not_too_long() {
        let runs: [Vec<u32>; 3] =
            core::array::from_fn(|run| (0..4000).map(|i: u32| i.wrapping_mul(0x9e37_79b9 + run as u32)).collect());
        let slices: Vec<&[u32]> = runs.iter().map(Vec::as_slice).collect();
        let sorted = SortedRuns::new(&slices, Spec::of::<u32>(Options::ascending()).unwrap());
        let (mut start, to) = (vec![0; 3], vec![4000; 3]);
        for end in Pieces::new(sorted, &[0; 3], &to, 500) {
            assert!(start.iter().zip(&end).all(|(start, end)| start <= end));
            assert!(records_between(&start, &end) <= 500);
            start = end;
        }
        assert_eq!(start, to);
    }
}
