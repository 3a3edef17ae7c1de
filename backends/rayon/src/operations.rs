//! The operations on words: which sort each of them is.

use crate::backend::RayonBackend;
use crate::columns::{Indices, Keys, Pairs};
use crate::pages::advise_huge_pages;
use crate::record::Pair;
use crate::threads::{Threads, Work};
use crate::tuning::{SELECT_FRACTION, scan_ns, sort_bits_ns, sort_ns};
use crate::window::Window;
use crate::{counting, in_place, runs, scratch, segments, select, sort, top_k};
use core::ops::Range;
use polysort_core::{Error, Operation, Segments, Spec, ValuesMut, Word, first_of_each, pairs_by_argsort, permutation};

impl RayonBackend {
    /// Runs an operation.
    pub(crate) fn run_on_words<W: Word>(&self, operation: Operation<'_, W>, spec: Spec) -> Result<(), Error> {
        operation.check(spec)?;
        match operation {
            Operation::Sort { keys, segments } => return self.sort_keys(keys, segments, spec),
            Operation::SortPairs { keys, values, segments } => return self.sort_values(keys, values, segments, spec),
            Operation::SortInto { keys, sorted } => {
                self.reserve_for_keys::<W>(keys.len(), None, spec)?;
                sorted.copy_from_slice(keys);
                return self.sort_keys(sorted, None, spec);
            }
            Operation::SortPairsInto { values, .. } if !is_compiled_for(values.size()) => {
                return operation.by_two_sorts(self, spec);
            }
            Operation::SortPairsInto { keys, values, sorted_keys, mut sorted_values } => {
                scratch::reserve(size_of_val(keys) + values.bytes().len())?;
                sorted_keys.copy_from_slice(keys);
                sorted_values.copy_from(values);
                return self.sort_values(sorted_keys, sorted_values, None, spec);
            }
            Operation::PartialSort { keys, positions, segments } => self.sort_partly(keys, positions, segments, spec),
            Operation::Argsort { keys, segments, indices } => return self.sort_indices(keys, segments, indices, spec),
            Operation::TopK { keys, k, segments: None, indices } => return self.select(keys, k, indices, spec),
            Operation::TopK { keys, k, segments: Some(segments), indices } => {
                let select = |threads| top_k::top_k_segments(keys, k, segments, spec, indices, threads);
                self.on_threads(Work::Sort(sort_ns::<W>(keys.len())), select);
            }
            Operation::Runs { keys, offsets } => {
                self.on_threads(Work::Scan(runs::nanoseconds::<W>(keys.len())), |threads| {
                    *offsets = runs::offsets(keys, spec, threads);
                });
            }
        }
        Ok(())
    }

    /// Gets the scratch of a sort of keys alone.
    fn reserve_for_keys<W: Word>(&self, len: usize, segments: Option<Segments<'_>>, spec: Spec) -> Result<(), Error> {
        if self.is_in_place() || is_counted::<W>(segments, spec) {
            return Ok(());
        }
        reserve::<W>(len, segments)
    }

    fn sort_keys<W: Word>(&self, keys: &mut [W], segments: Option<Segments<'_>>, spec: Spec) -> Result<(), Error> {
        self.reserve_for_keys::<W>(keys.len(), segments, spec)?;
        let work = match is_counted::<W>(segments, spec) {
            true => Work::Scan(counting::nanoseconds::<W>(keys.len())),
            false => Work::Sort(sort_ns::<W>(keys.len())),
        };
        self.on_threads(work, |threads| match segments {
            None if self.is_in_place() && spec.width() == W::BITS => in_place::sort(keys, spec.masks, threads),
            None => sort::sort_keys(keys, spec, threads),
            Some(segments) => {
                let whole = spec.width() == W::BITS;
                segments::sort_segments(Keys { keys, masks: spec.masks }, segments, Window::of(spec), whole, threads);
            }
        });
        Ok(())
    }

    fn sort_partly<W: Word>(&self, keys: &mut [W], positions: Range<usize>, segments: Option<Segments<'_>>, spec: Spec) {
        self.on_threads(Work::Scan(select::nanoseconds::<W>(keys.len())), |threads| match segments {
            None => select::partial_sort(keys, positions, spec, threads),
            Some(segments) => {
                let columns = Keys { keys, masks: spec.masks };
                segments::for_each_segment(columns, segments, threads, &|own: Keys<'_, W>, threads| {
                    select::partial_sort(own.keys, positions.clone(), spec, threads);
                });
            }
        });
    }

    /// Sorts pairs: with the values in the records if their size is one that the sort is compiled for, else by an argsort.
    fn sort_values<W: Word>(
        &self,
        keys: &mut [W],
        values: ValuesMut<'_>,
        segments: Option<Segments<'_>>,
        spec: Spec,
    ) -> Result<(), Error> {
        match values.size() {
            0 => self.sort_keys(keys, segments, spec),
            4 => self.sort_arrays::<W, 4>(keys, values, segments, spec),
            8 => self.sort_arrays::<W, 8>(keys, values, segments, spec),
            12 => self.sort_arrays::<W, 12>(keys, values, segments, spec),
            16 => self.sort_arrays::<W, 16>(keys, values, segments, spec),
            _ => pairs_by_argsort(self, keys, values, segments, spec),
        }
    }

    fn sort_arrays<W: Word, const N: usize>(
        &self,
        keys: &mut [W],
        values: ValuesMut<'_>,
        segments: Option<Segments<'_>>,
        spec: Spec,
    ) -> Result<(), Error> {
        reserve::<Pair<W, [u8; N]>>(keys.len(), segments)?;
        let values = values.arrays::<N>();
        self.on_threads(Work::Sort(sort_bits_ns::<Pair<W, [u8; N]>>(keys.len(), spec.width())), |threads| {
            let columns = Pairs { keys, values, masks: spec.masks };
            match segments {
                None => sort::sort(columns, Window::of(spec), false, threads),
                Some(segments) => segments::sort_segments(columns, segments, Window::of(spec), false, threads),
            }
        });
        Ok(())
    }

    fn sort_indices<W: Word>(
        &self,
        keys: &[W],
        segments: Option<Segments<'_>>,
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        reserve::<Pair<W, u32>>(keys.len(), segments)?;
        self.on_threads(Work::Sort(sort_bits_ns::<Pair<W, u32>>(keys.len(), spec.width())), |threads| {
            number(indices, threads);
            let columns = Indices::new(keys, 0, indices, spec.masks);
            match segments {
                None => sort::sort(columns, Window::of(spec), false, threads),
                Some(segments) => segments::sort_segments(columns, segments, Window::of(spec), false, threads),
            }
        });
        Ok(())
    }

    /// Selects the first keys, as many as there is room for, or sorts all if these are most of them.
    fn select<W: Word>(&self, keys: &[W], k: usize, indices: &mut [u32], spec: Spec) -> Result<(), Error> {
        if indices.is_empty() {
            return Ok(());
        }
        if indices.len() >= keys.len() / SELECT_FRACTION {
            let mut order = permutation::room(keys.len())?;
            self.sort_indices(keys, None, &mut order, spec)?;
            first_of_each(&order, k, None, indices);
            return Ok(());
        }
        self.on_threads(Work::Selection(scan_ns(size_of_val(keys))), |threads| {
            indices.copy_from_slice(&top_k::top_k(keys, indices.len(), spec, threads));
        });
        Ok(())
    }
}

/// Whether keys alone are sorted by counting alone, which takes no scratch.
fn is_counted<W: Word>(segments: Option<Segments<'_>>, spec: Spec) -> bool {
    W::BITS == 8 && spec.width() == W::BITS && segments.is_none()
}

/// Gets the scratch of a sort of `len` records of type `R`, or of the longest of their segments. Segments of few records are not looked through.
fn reserve<R>(len: usize, segments: Option<Segments<'_>>) -> Result<(), Error> {
    let longest = match segments {
        Some(segments) if scratch::is_large(len * size_of::<R>()) => {
            segments.ranges().map(|range| range.len()).max().unwrap_or(0)
        }
        _ => len,
    };
    scratch::reserve(longest * size_of::<R>())
}

/// Writes 0, 1, 2, … to `indices`. Most callers pass fresh memory, where the first write to each page causes a page fault. All threads share these faults.
fn number(indices: &mut [u32], threads: Threads) {
    if scratch::is_large(size_of_val(indices)) {
        advise_huge_pages(bytemuck::cast_slice_mut(indices));
    }
    threads.at_most(scan_ns(size_of_val(indices))).for_each_share(indices, &|start, own| {
        own.iter_mut().enumerate().for_each(|(at, index)| *index = (start + at) as u32);
    });
}

/// Whether values of this size move in the records of a sort. The permutation of an argsort moves others.
fn is_compiled_for(value_bytes: usize) -> bool {
    matches!(value_bytes, 0 | 4 | 8 | 12 | 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Step, steps_of};

    #[test]
    fn indices_of_any_length_are_numbered_by_any_threads() {
        for threads in [Threads::ONE, Threads::several(3)] {
            for len in [0, 1, 1000, 3_000_001] {
                let mut indices = vec![7; len];
                number(&mut indices, threads);
                assert!(indices.into_iter().eq(0..len as u32), "{len}");
            }
        }
    }

    /// A selection of an eighth of the keys or more sorts them all.
    #[test]
    fn most_keys_are_sorted_rather_than_selected() {
        let backend = RayonBackend::with_threads(1).unwrap();
        let keys = Vec::from_iter((0..8000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)));
        let sorts_all = |k: usize| {
            let steps = steps_of(|| backend.select(&keys, k, &mut vec![0; k], Spec::unsigned::<u32>()).unwrap());
            steps.iter().any(|step| matches!(step, Step::Passes { len, .. } if *len == keys.len()))
        };
        assert!(sorts_all(1000) && !sorts_all(999));
    }
}
