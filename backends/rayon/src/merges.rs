//! The merges that users call: the words of the keys, and what moves with them.

use crate::backend::RayonBackend;
use crate::columns::{Columns, Indices, Keys, Pairs, read_ordered, read_pairs};
use crate::merge::merge_runs;
use crate::record::{Pair, Record};
use crate::source::Key;
use crate::threads::Work;
use crate::tuning::merge_ns;
use bytemuck::{Pod, Zeroable};
use core::ops::Range;
use polysort_core::{Error, InPlace, Options, Sortable, SortedRuns, Spec, Word, shared_words};

impl RayonBackend {
    /// Merges sorted `runs` into `merged`, ascending and stably: of equal keys, those of an earlier run come first.
    ///
    /// `merged` may be shorter than the runs together and then gets the first keys of the merge. Returns how many keys of each run it got, so
    /// that a caller can merge the rest later.
    ///
    /// There can be any number of runs, of any lengths. If a run is not sorted, `merged` gets keys of the runs in an unspecified order, none of
    /// them twice.
    ///
    /// Each thread works in scratch of half of a core's cache, or of some hundred keys for each run if that is more. Besides, a merge copies some
    /// keys as samples: one in about 2000 if there are few runs, and up to all keys if runs have fewer than 100. It copies the bits of all keys if the type has
    /// no [`Sortable::IN_PLACE`].
    ///
    /// ```
    /// use polysort_rayon::RayonBackend;
    ///
    /// let runs: [&[f32]; 3] = [&[-1.0, 4.0], &[], &[0.5, 2.0, 8.0]];
    /// let mut merged = [0.0; 4];
    /// let taken = RayonBackend::default().merge_into(&runs, &mut merged)?;
    /// assert_eq!(merged, [-1.0, 0.5, 2.0, 4.0]);
    /// assert_eq!(taken, [2, 0, 2]);
    /// # Ok::<(), polysort_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if `merged` is longer than the runs together, and [`Error::InvalidKey`] if a key breaks the contract of [`Sortable`]; `merged`
    /// then stays as it was.
    pub fn merge_into<K: Sortable>(&self, runs: &[&[K]], merged: &mut [K]) -> Result<Vec<usize>, Error> {
        self.merge_into_with(runs, merged, Options::ascending())
    }

    /// Merges `runs`, each sorted by `options`, as [`merge_into`](RayonBackend::merge_into) does.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`merge_into`](RayonBackend::merge_into).
    pub fn merge_into_with<K: Sortable>(&self, runs: &[&[K]], merged: &mut [K], options: Options) -> Result<Vec<usize>, Error> {
        let spec = Spec::of::<K>(options)?;
        check_total(runs, merged.len())?;
        let Some(view) = K::IN_PLACE else {
            let (taken, order) = self.merge_positions(runs, merged.len(), spec)?;
            gather(runs, &order, merged);
            return Ok(taken);
        };
        self.merge_bits(&words_of(runs, &view), view.words_mut(merged), spec)
    }

    /// Merges `runs`, each of keys in ascending order and as many values, into `merged_keys` and `merged_values`, as
    /// [`merge_into`](RayonBackend::merge_into) does, and moves each value with its key.
    ///
    /// ```
    /// use polysort_rayon::RayonBackend;
    ///
    /// let runs = [(&[1_u32, 3][..], &['a', 'b'].map(u32::from)[..]), (&[1, 2], &['c', 'd'].map(u32::from))];
    /// let (mut keys, mut values) = ([0; 4], [0; 4]);
    /// RayonBackend::default().merge_pairs_into(&runs, &mut keys, &mut values)?;
    /// assert_eq!((keys, values), ([1, 1, 2, 3], ['a', 'c', 'd', 'b'].map(u32::from)));
    /// # Ok::<(), polysort_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if a run has not as many values as keys, or the outputs differ in length, else as
    /// [`merge_into`](RayonBackend::merge_into).
    pub fn merge_pairs_into<K: Sortable, V: Pod + Send + Sync>(
        &self,
        runs: &[(&[K], &[V])],
        merged_keys: &mut [K],
        merged_values: &mut [V],
    ) -> Result<Vec<usize>, Error> {
        self.merge_pairs_into_with(runs, merged_keys, merged_values, Options::ascending())
    }

    /// Merges `runs`, each of keys sorted by `options` and as many values, as [`merge_pairs_into`](RayonBackend::merge_pairs_into) does.
    ///
    /// # Errors
    /// [`Error::InvalidRange`] for a range of bits that the key does not have, else as [`merge_pairs_into`](RayonBackend::merge_pairs_into).
    pub fn merge_pairs_into_with<K: Sortable, V: Pod + Send + Sync>(
        &self,
        runs: &[(&[K], &[V])],
        merged_keys: &mut [K],
        merged_values: &mut [V],
        options: Options,
    ) -> Result<Vec<usize>, Error> {
        let spec = Spec::of::<K>(options)?;
        Error::check_lengths("merged_keys", merged_keys.len(), "merged_values", merged_values.len())?;
        for (keys, values) in runs {
            Error::check_lengths("keys", keys.len(), "values", values.len())?;
        }
        let (keys, values): (Vec<&[K]>, Vec<&[V]>) = runs.iter().copied().unzip();
        check_total(&keys, merged_keys.len())?;
        let Some(view) = K::IN_PLACE else {
            let (taken, order) = self.merge_positions(&keys, merged_keys.len(), spec)?;
            gather(&keys, &order, merged_keys);
            gather(&values, &order, merged_values);
            return Ok(taken);
        };
        self.merge_pairs_bits((&words_of(&keys, &view), &values), (view.words_mut(merged_keys), merged_values), spec)
    }

    /// Merges `runs` of words, each sorted by `spec`, into `merged`, as [`merge_into`](RayonBackend::merge_into) does. For backends that sort parts of their
    /// input by themselves.
    ///
    /// A merge of one run is a copy by all threads.
    ///
    /// # Errors
    /// Those of [`Spec::check`], and [`Error::LengthMismatch`] if `merged` is longer than the runs together; `merged` then stays as it was.
    pub fn merge_bits<W: Word>(&self, runs: &[&[W]], merged: &mut [W], spec: Spec) -> Result<Vec<usize>, Error> {
        spec.check::<W>()?;
        check_total(runs, merged.len())?;
        let read = |run: usize, range, target: &mut [W]| {
            let keys: &[W] = runs[run];
            fill(target, |put| read_ordered(&keys[range], spec.masks, put));
        };
        Ok(self.merge_words(SortedRuns::new(runs, spec), read, Keys { keys: merged, masks: spec.masks }))
    }

    /// Merges runs of words, each sorted by `spec`, as [`merge_bits`](RayonBackend::merge_bits) does, and moves each value with its word. `runs` are the words
    /// and the values of each run, and `merged` are the slices that get words and values.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] if a run has not as many values as words, or the outputs differ in length, else as
    /// [`merge_bits`](RayonBackend::merge_bits).
    pub fn merge_pairs_bits<W: Word, V: Pod + Send + Sync>(
        &self,
        runs: (&[&[W]], &[&[V]]),
        merged: (&mut [W], &mut [V]),
        spec: Spec,
    ) -> Result<Vec<usize>, Error> {
        spec.check_pairs::<W>(merged.0.len(), merged.1.len())?;
        check_values(runs)?;
        check_total(runs.0, merged.0.len())?;
        let columns = Pairs { keys: merged.0, values: merged.1, masks: spec.masks };
        Ok(self.merge_words(
            SortedRuns::new(runs.0, spec),
            |run, range, target: &mut [_]| read_run(runs, run, range, spec, target),
            columns,
        ))
    }

    /// Merges runs of words, each sorted by `spec`, as [`merge_bits`](RayonBackend::merge_bits) does, but writes to `merged` only the index of each word, and not the words.
    /// `runs` are the words of each run, and the index of each word of each run.
    ///
    /// # Errors
    /// As [`merge_pairs_bits`](RayonBackend::merge_pairs_bits).
    pub fn merge_indices_bits<W: Word>(
        &self,
        runs: (&[&[W]], &[&[u32]]),
        merged: &mut [u32],
        spec: Spec,
    ) -> Result<Vec<usize>, Error> {
        spec.check::<W>()?;
        check_values(runs)?;
        check_total(runs.0, merged.len())?;
        let columns = Indices::new(&[], 0, merged, spec.masks);
        let indices: Vec<&[[u8; 4]]> = runs.1.iter().map(|indices| bytemuck::cast_slice(indices)).collect();
        let read = |run: usize, range, target: &mut [_]| read_run((runs.0, &indices), run, range, spec, target);
        Ok(self.merge_words(SortedRuns::new(runs.0, spec), read, columns))
    }

    /// How many keys of each run the first `len` of the merge have, and where each of these comes from: all of a key's own code runs here.
    fn merge_positions<K: Sortable>(&self, runs: &[&[K]], len: usize, spec: Spec) -> Result<(Vec<usize>, Vec<Position>), Error> {
        let words = runs.iter().map(|keys| shared_words(keys)).collect::<Result<Vec<_>, _>>()?;
        let words: Vec<&[K::Bits]> = words.iter().map(|words| &**words).collect();
        let (mut merged, mut order) = (vec![K::Bits::zeroed(); len], vec![Position::zeroed(); len]);
        let columns = Pairs { keys: &mut merged, values: &mut order, masks: spec.masks };
        let read = |run: usize, range: Range<usize>, target: &mut [Pair<K::Bits, Position>]| {
            for (pair, at) in target.iter_mut().zip(range) {
                *pair = Pair { key: spec.masks.apply(words[run][at]), value: Position { run: run as u32, at: at as u64 } };
            }
        };
        let taken = self.merge_words(SortedRuns::new(&words, spec), read, columns);
        Ok((taken, order))
    }

    /// Calls [`merge_runs`] on as many threads as the merge is worth.
    fn merge_words<C: Columns>(
        &self,
        runs: SortedRuns<'_, Key<C>>,
        read: impl Fn(usize, Range<usize>, &mut [C::Record]) + Send + Sync,
        columns: C,
    ) -> Vec<usize> {
        let mut taken = vec![];
        self.on_threads(Work::Scan(merge_ns(columns.len(), runs.keys().len())), |threads| {
            taken = merge_runs(runs, read, columns, threads);
        });
        taken
    }
}

/// A key of a run.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct Position {
    run: u32,
    at: u64,
}

fn gather<T: Copy>(runs: &[&[T]], order: &[Position], merged: &mut [T]) {
    for (place, position) in merged.iter_mut().zip(order) {
        *place = runs[position.run as usize][position.at as usize];
    }
}

fn words_of<'a, K: Sortable>(runs: &[&'a [K]], view: &InPlace<K>) -> Vec<&'a [K::Bits]> {
    runs.iter().map(|keys| view.words(keys)).collect()
}

/// Copies records of a run of words and values to `target`.
fn read_run<W: Word, V: Pod>(runs: (&[&[W]], &[&[V]]), run: usize, range: Range<usize>, spec: Spec, target: &mut [Pair<W, V>])
where
    Pair<W, V>: Record,
{
    fill(target, |put| read_pairs(&runs.0[run][range.clone()], &runs.1[run][range], spec.masks, put));
}

fn check_values<W, V>((words, values): (&[&[W]], &[&[V]])) -> Result<(), Error> {
    Error::check_lengths("runs of keys", words.len(), "runs of values", values.len())?;
    words.iter().zip(values).try_for_each(|(words, values)| Error::check_lengths("keys", words.len(), "values", values.len()))
}

fn check_total<T>(runs: &[&[T]], merged: usize) -> Result<(), Error> {
    let total = runs.iter().map(|run| run.len()).sum();
    if merged <= total { Ok(()) } else { Error::check_lengths("runs", total, "merged", merged) }
}

/// Fills `target` with the records that `read` hands on, some at a time.
fn fill<R: Record>(target: &mut [R], read: impl FnOnce(&mut dyn FnMut(&[R]))) {
    let mut filled = 0;
    read(&mut |records| {
        target[filled..filled + records.len()].copy_from_slice(records);
        filled += records.len();
    });
}
