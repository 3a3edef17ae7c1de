//! Inputs, and what std's stable sort makes of them.

use crate::support::{ensure, failed, random};
use bytemuck::Pod;
use core::fmt::Debug;
use libtest_mimic::Failed;
use polysort_core::{Options, Segments, Sort, Sortable, Spec};
use polysort_wgpu::WgpuBackend;

/// A type of keys that a test can make.
pub(crate) trait Number: Sortable + Pod + Debug {
    fn of(bits: u64) -> Self;
}

macro_rules! numbers {
    ($($number:ty),*) => {
        $(impl Number for $number {
            fn of(bits: u64) -> Self {
                <$number>::from_ne_bytes((u128::from(bits) | u128::from(!bits) << 64).to_le_bytes()[..size_of::<$number>()].try_into().expect("as many bytes"))
            }
        })*
    };
}

numbers!(u8, i16, u32, f32, u64, u128);

/// Keys to sort.
pub(crate) struct Case<K> {
    keys: Vec<K>,
}

/// Values that differ from each other, up to 16 bits.
fn values<V: Pod>(len: usize) -> Vec<V> {
    let mut values = vec![V::zeroed(); len];
    for (i, value) in values.iter_mut().enumerate() {
        let bytes = bytemuck::bytes_of_mut(value);
        let all = (i as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).to_le_bytes();
        bytes.copy_from_slice(&all[..bytes.len()]);
    }
    values
}

fn same<T: Pod>(what: &str, found: &[T], expected: &[T]) -> Result<(), Failed> {
    let (found, expected): (Vec<_>, Vec<_>) =
        (found.iter().map(bytemuck::bytes_of).collect(), expected.iter().map(bytemuck::bytes_of).collect());
    let wrong = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    ensure(wrong.is_none() && found.len() == expected.len(), || format!("{what} is wrong at {wrong:?} of {}", expected.len()))
}

impl<K: Number> Case<K> {
    /// Random keys: of all bits, of few values, or nearly sorted.
    pub(crate) fn new(len: usize, seed: u64) -> Self {
        let mut random = random(seed);
        let mask = [u64::MAX, 0x0301, 0xff_0000_0000_00ff, 7][seed as usize % 4];
        Self { keys: (0..len).map(|_| K::of(random() & mask)).collect() }
    }

    pub(crate) fn of(keys: Vec<K>) -> Self {
        Self { keys }
    }

    /// The stable sorting permutation of a part of the keys.
    fn order(&self, options: Options, range: core::ops::Range<usize>) -> Vec<u32> {
        let (begin, end) =
            options.window.map_or(Ok((0, K::WIDTH)), |window| window.in_width(K::WIDTH)).expect("a window of the key");
        // Descending keys in ascending order of their complement.
        let flips = options.order == polysort_core::Order::Descending;
        let masks = if flips { polysort_core::Masks::UNSIGNED.reversed(K::WIDTH) } else { polysort_core::Masks::UNSIGNED };
        let spec = Spec::new::<K::Bits>(masks, begin, end).expect("a spec of the key");
        let mut order: Vec<u32> = range.map(|i| i as u32).collect();
        order.sort_by_key(|&i| spec.rank(self.keys[i as usize].to_bits()));
        order
    }

    fn whole(&self, options: Options) -> Vec<u32> {
        self.order(options, 0..self.keys.len())
    }

    fn gathered<T: Copy>(items: &[T], order: &[u32]) -> Vec<T> {
        order.iter().map(|&i| items[i as usize]).collect()
    }

    pub(crate) fn sort(&self, backend: &WgpuBackend, options: Options) -> Result<(), Failed> {
        let expected = Self::gathered(&self.keys, &self.whole(options));
        let mut keys = self.keys.clone();
        backend.sort_with(&mut keys, options).map_err(failed)?;
        same("a sort", &keys, &expected)?;
        let mut sorted = vec![K::zeroed(); keys.len()];
        backend.sort_into_with(&self.keys, &mut sorted, options).map_err(failed)?;
        same("a sort into another slice", &sorted, &expected)
    }

    pub(crate) fn sort_pairs<V: Pod>(&self, backend: &WgpuBackend, options: Options) -> Result<(), Failed> {
        let order = self.whole(options);
        let input = values::<V>(order.len());
        let (expected, moved) = (Self::gathered(&self.keys, &order), Self::gathered(&input, &order));
        let what = format!("with values of {} bytes", size_of::<V>());
        let (mut keys, mut values) = (self.keys.clone(), input.clone());
        backend.sort_pairs_with(&mut keys, &mut values, options).map_err(failed)?;
        same(&format!("a sort of keys {what}"), &keys, &expected)?;
        same(&format!("a sort {what}"), &values, &moved)?;
        let (mut keys, mut values) = (vec![K::zeroed(); order.len()], vec![V::zeroed(); order.len()]);
        backend.sort_pairs_into_with(&self.keys, &input, &mut keys, &mut values, options).map_err(failed)?;
        same(&format!("a sort of keys into other slices {what}"), &keys, &expected)?;
        same(&format!("a sort into other slices {what}"), &values, &moved)
    }

    pub(crate) fn argsort(&self, backend: &WgpuBackend, options: Options) -> Result<(), Failed> {
        same("an argsort", &backend.argsort_with(&self.keys, options).map_err(failed)?, &self.whole(options))
    }

    pub(crate) fn top_k(&self, backend: &WgpuBackend, k: usize, options: Options) -> Result<(), Failed> {
        let mut expected = self.whole(options);
        expected.truncate(k);
        let found = backend.top_k_with(&self.keys, k, options).map_err(failed)?;
        same("a selection", &found.indices, &expected)?;
        same("the keys of a selection", &found.keys, &Self::gathered(&self.keys, &expected))
    }

    pub(crate) fn segments(&self, backend: &WgpuBackend, segments: Segments<'_>, options: Options) -> Result<(), Failed> {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        for range in segments.ranges() {
            order[range.clone()].copy_from_slice(&self.order(options, range));
        }
        let mut keys = self.keys.clone();
        backend.sort_segments_with(&mut keys, segments, options).map_err(failed)?;
        same("a sort of segments", &keys, &Self::gathered(&self.keys, &order))?;
        let (mut keys, mut moved) = (self.keys.clone(), values::<u32>(order.len()));
        backend.sort_pairs_segments_with(&mut keys, &mut moved, segments, options).map_err(failed)?;
        same("the keys of segments", &keys, &Self::gathered(&self.keys, &order))?;
        same("the values of segments", &moved, &Self::gathered(&values::<u32>(order.len()), &order))?;
        same("an argsort of segments", &backend.argsort_segments_with(&self.keys, segments, options).map_err(failed)?, &order)?;
        let first: Vec<u32> = segments.ranges().flat_map(|range| order[range.clone()].iter().copied().take(9)).collect();
        let found = backend.top_k_segments_with(&self.keys, 9, segments, options).map_err(failed)?;
        same("a selection from segments", &found.indices, &first)
    }
}
