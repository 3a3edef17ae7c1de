//! Who is measured, and how: a system copies the input in the layout that it sorts, and times the sort alone.

use super::input::{Answer, Input, TOP_K};
use super::{Case, Op, Payload, Way, peers};
use crate::args::Direction;
use crate::dtype::Key;
use bytemuck::Pod;
use core::hint::black_box;
use polysort::{AnyBackend, Error, Options, Sort};
use std::time::{Duration, Instant};

/// Who is measured.
pub(crate) const OURS: &str = "polysort";
pub(crate) const STD: &str = "std";
pub(crate) const RAYON: &str = "rayon";

/// Something that sorts.
pub(crate) struct System<K> {
    /// [`OURS`], [`STD`] or [`RAYON`].
    pub(crate) system: &'static str,
    /// The backend, or the function of std or rayon.
    pub(crate) backend: &'static str,
    pub(crate) way: Way,
    pub(crate) run: Run<K>,
}

/// What is sorted, or why it is not.
type Done<T = ()> = Result<T, Error>;

/// Sorts keys, or the lists of them that the offsets tell.
type SortKeys<K> = dyn Fn(&mut [K], &[usize]) -> Done;

/// Sorts keys and moves values along.
type SortColumns<K, V> = dyn Fn(&mut [K], &mut [V]) -> Done;

/// Finds indices in keys, which stay as they are.
type Find<K> = dyn Fn(&[K]) -> Done<Vec<u32>>;

/// What a system does to one array, in the layout that it takes.
pub(crate) enum Run<K> {
    Keys(Box<SortKeys<K>>),
    Columns32(Box<SortColumns<K, u32>>),
    Columns64(Box<SortColumns<K, u64>>),
    Pairs32(fn(&mut [(K, u32)])),
    Pairs64(fn(&mut [(K, u64)])),
    Shared(Box<Find<K>>),
}

/// All systems for a case, polysort on each of the backends first.
pub(crate) fn systems<K: Key>(case: &Case, backends: &[(AnyBackend, Way)]) -> Vec<System<K>> {
    let ours =
        |(of, way): &(AnyBackend, Way)| System { system: OURS, backend: of.kind(), way: *way, run: on_backend(case, of.clone()) };
    let peers = match case.direction {
        Direction::Asc => peers::peers::<K, false>(case),
        Direction::Desc => peers::peers::<K, true>(case),
    };
    backends.iter().map(ours).chain(peers).collect()
}

fn on_backend<K: Key>(case: &Case, backend: AnyBackend) -> Run<K> {
    let options = Options::ordered(case.direction.into());
    match (case.op, case.payload) {
        (Op::Sort, _) => Run::Keys(Box::new(move |keys, _| backend.sort_with(keys, options))),
        (Op::SortSegments, _) => Run::Keys(Box::new(move |keys, offsets| backend.sort_segments_with(keys, offsets, options))),
        (Op::SortPairs, Payload::U64) => {
            Run::Columns64(Box::new(move |keys, values| backend.sort_pairs_with(keys, values, options)))
        }
        (Op::SortPairs, _) => Run::Columns32(Box::new(move |keys, values| backend.sort_pairs_with(keys, values, options))),
        (Op::Argsort, _) => Run::Shared(Box::new(move |keys| backend.argsort_with(keys, options))),
        (Op::TopK, _) => Run::Shared(Box::new(move |keys| Ok(backend.top_k_with(keys, TOP_K, options)?.indices))),
    }
}

impl<K: Key> System<K> {
    /// Whether equal keys must come out in their order: unless the name says that they need not.
    pub(crate) fn is_stable(&self) -> bool {
        !self.backend.contains("unstable")
    }

    /// Sorts a copy of each array, and gives the time of the sorts and what came out.
    pub(crate) fn run(&self, input: &Input<K>) -> Done<(Duration, Answer<K>)> {
        match &self.run {
            Run::Keys(sort) => {
                let mut keys = input.keys.clone();
                let (time, ()) = timed(|| keys.chunks_exact_mut(input.len).try_for_each(|array| sort(array, &input.offsets)))?;
                Ok((time, Answer { keys, indices: vec![] }))
            }
            Run::Columns32(sort) => columns(input, sort),
            Run::Columns64(sort) => columns(input, sort),
            Run::Pairs32(sort) => pairs(input, *sort),
            Run::Pairs64(sort) => pairs(input, *sort),
            Run::Shared(find) => {
                let arrays = input.keys.chunks_exact(input.len);
                let (time, found) = timed(|| arrays.clone().map(find).collect::<Done<Vec<_>>>())?;
                let (mut keys, indices) = (vec![], found.concat());
                for (array, indices) in arrays.zip(&found) {
                    // An index that is no index gives no key, and so a wrong answer.
                    keys.extend(indices.iter().filter_map(|&index| array.get(index as usize)));
                }
                Ok((time, Answer { keys, indices }))
            }
        }
    }
}

/// A value that moves with a key: the index of the key in its array.
trait Value: Pod + From<u32> + TryInto<u32> {
    /// The index. One that does not fit is wrong, and stays so.
    fn index(self) -> u32 {
        self.try_into().unwrap_or(u32::MAX)
    }

    /// The values of all arrays.
    fn all<K: Key>(input: &Input<K>) -> Vec<Self> {
        (0..input.arrays()).flat_map(|_| 0..input.len as u32).map(Self::from).collect()
    }
}

impl Value for u32 {}
impl Value for u64 {}

fn columns<K: Key, V: Value>(input: &Input<K>, sort: &SortColumns<K, V>) -> Done<(Duration, Answer<K>)> {
    let (mut keys, mut values) = (input.keys.clone(), V::all(input));
    let mut arrays = keys.chunks_exact_mut(input.len).zip(values.chunks_exact_mut(input.len));
    let (time, ()) = timed(|| arrays.try_for_each(|(keys, values)| sort(keys, values)))?;
    Ok((time, Answer { keys, indices: values.into_iter().map(V::index).collect() }))
}

fn pairs<K: Key, V: Value>(input: &Input<K>, sort: fn(&mut [(K, V)])) -> Done<(Duration, Answer<K>)> {
    let mut pairs: Vec<(K, V)> = input.keys.iter().copied().zip(V::all(input)).collect();
    let (time, ()) = timed(|| {
        pairs.chunks_exact_mut(input.len).for_each(sort);
        Ok(())
    })?;
    let (keys, indices) = pairs.into_iter().map(|(key, value)| (key, value.index())).unzip();
    Ok((time, Answer { keys, indices }))
}

fn timed<R>(work: impl FnOnce() -> Done<R>) -> Done<(Duration, R)> {
    let start = Instant::now();
    let result = black_box(work())?;
    Ok((start.elapsed(), result))
}
