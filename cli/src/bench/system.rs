//! A system that is measured. It copies the input into the layout that it sorts, and times the sort alone.

use super::case::Algorithm;
use super::input::{Answer, Input};
use crate::dtype::Key;
use bytemuck::Pod;
use polysort::Error;
use polysort_measure::timed;
use std::time::Duration;

/// The names of the systems.
pub(crate) const OURS: &str = "polysort";
pub(crate) const STD: &str = "std";
pub(crate) const RAYON: &str = "rayon";

/// A system that sorts.
pub(crate) struct System<K> {
    /// [`OURS`], [`STD`] or [`RAYON`].
    pub(crate) system: &'static str,
    /// The backend of polysort, or the function of std or rayon.
    pub(crate) backend: &'static str,
    pub(crate) algorithm: Algorithm,
    pub(crate) run: Run<K>,
}

/// A result, or why there is none.
type Done<T = ()> = Result<T, Error>;

/// Sorts keys, or each of the segments that the offsets specify.
type SortKeys<K> = dyn Fn(&mut [K], &[usize]) -> Done;

/// Sorts keys and moves each value with its key.
type SortColumns<K, V> = dyn Fn(&mut [K], &mut [V]) -> Done;

/// Returns indices of keys, which stay as they are.
type Find<K> = dyn Fn(&[K]) -> Done<Vec<u32>>;

/// The function that a system runs on one array, by the layout of that array.
pub(crate) enum Run<K> {
    Keys(Box<SortKeys<K>>),
    Columns32(Box<SortColumns<K, u32>>),
    Columns64(Box<SortColumns<K, u64>>),
    Pairs32(fn(&mut [(K, u32)])),
    Pairs64(fn(&mut [(K, u64)])),
    Shared(Box<Find<K>>),
}

impl<K: Key> System<K> {
    /// Whether the system is stable. The names of the functions that are not contain "unstable".
    pub(crate) fn is_stable(&self) -> bool {
        !self.backend.contains("unstable")
    }

    /// Sorts a copy of each array, and returns the total time of the sorts and the results.
    pub(crate) fn run(&self, input: &Input<K>) -> Done<(Duration, Answer<K>)> {
        match &self.run {
            Run::Keys(sort) => {
                let mut keys = input.keys.clone();
                let (time, done) = timed(|| keys.chunks_exact_mut(input.len).try_for_each(|array| sort(array, &input.offsets)));
                done.map(|()| (time, Answer { keys, indices: vec![] }))
            }
            Run::Columns32(sort) => columns(input, sort),
            Run::Columns64(sort) => columns(input, sort),
            Run::Pairs32(sort) => pairs(input, *sort),
            Run::Pairs64(sort) => pairs(input, *sort),
            Run::Shared(find) => {
                let arrays = input.keys.chunks_exact(input.len);
                let (time, found) = timed(|| arrays.clone().map(find).collect::<Done<Vec<_>>>());
                let found = found?;
                let (mut keys, indices) = (vec![], found.concat());
                for (array, indices) in arrays.zip(&found) {
                    // An index out of bounds adds no key, and so the answer is wrong.
                    keys.extend(indices.iter().filter_map(|&index| array.get(index as usize)));
                }
                Ok((time, Answer { keys, indices }))
            }
        }
    }
}

/// A value that is moved with its key: the index of the key in its array.
trait Value: Pod + From<u32> + TryInto<u32> {
    /// Returns the index. A value that is no index becomes one that is out of bounds.
    fn index(self) -> u32 {
        self.try_into().unwrap_or(u32::MAX)
    }

    /// Returns the values of all arrays.
    fn all<K: Key>(input: &Input<K>) -> Vec<Self> {
        (0..input.keys.len()).map(|at| Self::from((at % input.len) as u32)).collect()
    }
}

impl Value for u32 {}
impl Value for u64 {}

fn columns<K: Key, V: Value>(input: &Input<K>, sort: &SortColumns<K, V>) -> Done<(Duration, Answer<K>)> {
    let (mut keys, mut values) = (input.keys.clone(), V::all(input));
    let mut arrays = keys.chunks_exact_mut(input.len).zip(values.chunks_exact_mut(input.len));
    let (time, done) = timed(|| arrays.try_for_each(|(keys, values)| sort(keys, values)));
    done.map(|()| (time, Answer { keys, indices: values.into_iter().map(V::index).collect() }))
}

fn pairs<K: Key, V: Value>(input: &Input<K>, sort: fn(&mut [(K, V)])) -> Done<(Duration, Answer<K>)> {
    let mut pairs: Vec<(K, V)> = input.keys.iter().copied().zip(V::all(input)).collect();
    let (time, ()) = timed(|| pairs.chunks_exact_mut(input.len).for_each(sort));
    let (keys, indices) = pairs.into_iter().map(|(key, value)| (key, value.index())).unzip();
    Ok((time, Answer { keys, indices }))
}
