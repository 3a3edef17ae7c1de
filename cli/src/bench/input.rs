//! The input of a case, and the answer that a system must give.

use super::case::{Case, Op, TOP_K};
use super::compare::{by, sort_pairs};
use crate::dtype::Key;
use crate::order::Direction;
use core::cmp::Ordering;
use polysort_measure::batch;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The most keys of a segment of [`Op::SortSegments`].
const LONGEST_SEGMENT: usize = 2000;

/// Arrays of the same length, one after another.
pub(crate) struct Input<K> {
    pub(crate) keys: Vec<K>,
    /// The length of each array.
    pub(crate) len: usize,
    /// Where the segments of [`Op::SortSegments`] begin and end in each array.
    pub(crate) offsets: Vec<usize>,
}

/// The results of all arrays, one after another.
pub(crate) struct Answer<K> {
    pub(crate) keys: Vec<K>,
    /// The index of each key in its array, for operations that return or move indices.
    pub(crate) indices: Vec<u32>,
}

impl<K: Key> Input<K> {
    /// Returns the input of a case, which `seed` determines.
    pub(crate) fn new(case: &Case, seed: u64) -> Self {
        let arrays = batch(case.len) as u64;
        let seed = seed << 32;
        let keys = (0..arrays).flat_map(|array| case.pattern.keys::<K>(case.len, seed | array)).collect();
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut offsets = vec![0];
        while offsets.last().is_some_and(|&last| last < case.len) {
            let last = offsets[offsets.len() - 1];
            offsets.push(case.len.min(last + rng.random_range(0..=LONGEST_SEGMENT)));
        }
        Self { keys, len: case.len, offsets }
    }

    /// Returns the answer of std's stable sort.
    pub(crate) fn answer(&self, case: &Case) -> Answer<K> {
        match case.direction {
            Direction::Asc => self.answer_in::<false>(case.op),
            Direction::Desc => self.answer_in::<true>(case.op),
        }
    }

    fn answer_in<const DESCENDING: bool>(&self, op: Op) -> Answer<K> {
        let whole = [0, self.len];
        let (mut keys, mut indices) = (vec![], vec![]);
        for array in self.keys.chunks_exact(self.len) {
            match op {
                Op::Sort | Op::SortSegments => {
                    let offsets = if op == Op::Sort { &whole[..] } else { &self.offsets };
                    let mut sorted = array.to_vec();
                    offsets.windows(2).for_each(|list| sorted[list[0]..list[1]].sort_by(by::<K, DESCENDING>));
                    keys.extend(sorted);
                }
                Op::SortPairs | Op::Argsort | Op::TopK => {
                    let mut pairs: Vec<(K, u32)> = array.iter().copied().zip(0..).collect();
                    sort_pairs::<K, DESCENDING>(&mut pairs);
                    pairs.truncate(if op == Op::TopK { TOP_K } else { self.len });
                    keys.extend(pairs.iter().map(|pair| pair.0));
                    indices.extend(pairs.iter().map(|pair| pair.1));
                }
            }
        }
        Answer { keys, indices }
    }

    /// Whether `got` is the answer. Keys are compared bit for bit. An unstable system may return equal keys in any order, each with its
    /// own index.
    pub(crate) fn is_answer(&self, got: &Answer<K>, answer: &Answer<K>, stable: bool) -> bool {
        let same_keys = bytemuck::cast_slice::<K, u8>(&got.keys) == bytemuck::cast_slice::<K, u8>(&answer.keys);
        if stable || !same_keys {
            return same_keys && got.indices == answer.indices;
        }
        let mut arrays = self.keys.chunks_exact(self.len).zip(got.keys.chunks(self.len)).zip(got.indices.chunks(self.len));
        got.indices.len() == answer.indices.len() && arrays.all(|((array, keys), indices)| is_permutation(array, keys, indices))
    }
}

/// Whether `indices` are a permutation of the indices of `array` that gives `keys`.
fn is_permutation<K: Key>(array: &[K], keys: &[K], indices: &[u32]) -> bool {
    let mut unseen = vec![true; array.len()];
    let mut leads = |(key, &index): (&K, &u32)| match array.get(index as usize) {
        Some(found) => std::mem::take(&mut unseen[index as usize]) && found.compare(key) == Ordering::Equal,
        None => false,
    };
    keys.len() == array.len() && keys.iter().zip(indices).all(&mut leads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::case::Payload;
    use crate::bench::pattern::Pattern;
    use crate::dtype::Dtype;

    fn case(op: Op, len: usize) -> Case {
        Case { op, dtype: Dtype::U8, payload: Payload::U32, pattern: Pattern::FewUnique, direction: Direction::Desc, len }
    }

    #[test]
    fn short_arrays_are_batched_and_differ() {
        let input = Input::<u32>::new(&Case { pattern: Pattern::Uniform, ..case(Op::Sort, 100) }, 1);
        assert_eq!(input.keys.len(), 65_600);
        assert_ne!(input.keys[..100], input.keys[100..200]);
        assert_eq!(Input::<u32>::new(&case(Op::Sort, 70_000), 1).keys.len(), 70_000);
    }

    #[test]
    fn wrong_answers_are_found() {
        let case = case(Op::SortPairs, 1000);
        let input = Input::<u8>::new(&case, 7);
        let right = input.answer(&case);
        let copy = || Answer { keys: right.keys.clone(), indices: right.indices.clone() };
        assert!(right.keys[..1000].windows(2).all(|pair| pair[0] >= pair[1]));
        assert!(input.is_answer(&copy(), &right, true) && input.is_answer(&copy(), &right, false));

        // Two equal keys are swapped: an unstable sort may do that.
        let at = (0..999).find(|&i| right.keys[i] == right.keys[i + 1]).expect("sixteen different keys");
        let mut swapped = copy();
        swapped.indices.swap(at, at + 1);
        assert!(!input.is_answer(&swapped, &right, true) && input.is_answer(&swapped, &right, false));

        let mut wrong_key = copy();
        wrong_key.keys[5] ^= 1;
        let mut twice = copy();
        twice.indices[at] = twice.indices[at + 1];
        let mut foreign = copy();
        foreign.indices[at] = 1000;
        let mut stolen = copy();
        stolen.indices.swap(0, 999);
        let mut short = copy();
        short.indices.pop();
        for wrong in [wrong_key, twice, foreign, stolen, short] {
            assert!(!input.is_answer(&wrong, &right, true) && !input.is_answer(&wrong, &right, false));
        }
    }
}
