//! The right answers, from `std`'s stable sort.

use crate::case::Case;
use crate::keys::TestKey;
use core::cmp::Ordering;
use core::ops::Range;
use polysort_core::permutation::{gather_keys, gather_pairs};
use polysort_core::{Backend, Error, Limits, Order, Spec, Word};

/// The right answers for some keys and options.
#[derive(Clone, Debug)]
pub struct Oracle<'a, K> {
    keys: &'a [K],
    order: Order,
    /// For each key the bits in the window, if there is one. They come from `to_bits`, which the laws of the key check separately.
    windows: Option<Vec<u128>>,
}

impl<'a, K: TestKey> Oracle<'a, K> {
    /// The oracle of `keys` for the options of `case`.
    pub fn new(keys: &'a [K], case: Case) -> Self {
        let windows = case.options.window.map(|window| {
            let (begin, end) = window.in_width(K::WIDTH).expect("the windows of a plan lie in the key");
            let ones = if begin == end { 0 } else { u128::MAX >> (128 - (end - begin)) };
            keys.iter().map(|key| if ones == 0 { 0 } else { key.to_bits().widen() >> begin & ones }).collect()
        });
        Self { keys, order: case.options.order, windows }
    }

    /// The stable sorting permutation.
    pub fn permutation(&self) -> Vec<u32> {
        let all = 0..self.keys.len();
        self.segments_permutation(&[all])
    }

    /// The permutation that sorts each segment by itself.
    pub fn segments_permutation(&self, segments: &[Range<usize>]) -> Vec<u32> {
        permutation(self.keys.len(), segments, &|a, b| self.compare(a, b))
    }

    /// Whether two keys compare equal.
    pub fn are_equal(&self, a: usize, b: usize) -> bool {
        self.compare(a, b).is_eq()
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let ascending = match &self.windows {
            None => self.keys[a].compare(&self.keys[b]),
            Some(windows) => windows[a].cmp(&windows[b]),
        };
        match self.order {
            Order::Ascending => ascending,
            Order::Descending => ascending.reverse(),
        }
    }
}

/// The permutation of `len` positions that sorts each of `segments` by itself. A reference to `compare` lets `std`'s sort be compiled once for all keys.
fn permutation(len: usize, segments: &[Range<usize>], compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<u32> {
    let mut permutation: Vec<u32> = (0..len as u32).collect();
    for segment in segments {
        permutation[segment.clone()].sort_by(|&a, &b| compare(a as usize, b as usize));
    }
    permutation
}

/// A backend of the two required methods, on `std`'s stable sort. The suite's own tests run on it, as it is and with planted bugs.
#[derive(Clone, Copy, Debug)]
pub struct StdBackend;

impl Backend for StdBackend {
    fn open() -> Result<Self, Error> {
        Ok(StdBackend)
    }

    fn name(&self) -> String {
        "std".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        let order = sorting_permutation(keys, spec);
        gather_keys(keys, &order);
        Ok(())
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        let order = sorting_permutation(keys, spec);
        gather_pairs(keys, values, &order);
        Ok(())
    }
}

fn sorting_permutation<W: Word>(keys: &[W], spec: Spec) -> Vec<u32> {
    let all = 0..keys.len();
    permutation(keys.len(), &[all], &|a, b| spec.rank(keys[a]).cmp(&spec.rank(keys[b])))
}
