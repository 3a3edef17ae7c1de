//! Records by how far their keys lie above the least of them.
//!
//! Keys that lie close to each other on both sides of a power of two, such as integers around zero, differ in all of their bits. Their differences from the least
//! key have the same order, and differ in few bits.

use crate::record::Record;
use crate::source::{AnySource, BLOCK, Keyed, Read, Source};
use bytemuck::Zeroable;
use core::ops::Range;
use num_traits::Bounded;

/// The records of `source`, keys lowered: the bits of a window, read as a number, are reduced by the least such number of all keys. Bits outside of the window stay as they
/// are.
pub(crate) struct Lowered<'a, R: Record> {
    source: &'a AnySource<'a, R>,
    least: R::Key,
}

impl<'a, R: Record> Lowered<'a, R> {
    /// Lowers keys by the window whose bits are set in `ones`.
    pub(crate) fn of(source: &'a AnySource<'a, R>, ones: R::Key) -> Self {
        let mut least = R::Key::max_value();
        source.read_keys(0..source.len(), &mut |keys| least = keys.iter().fold(least, |least, &key| least.min(key & ones)));
        Self { source, least }
    }

    /// Gives `records`, which come from this source, the keys that they have in `source`.
    pub(crate) fn raise(&self, records: &mut [R]) {
        records.iter_mut().for_each(|record| *record = record.map_key(|key| key + self.least));
    }
}

impl<R: Record> Keyed for Lowered<'_, R> {
    type Key = R::Key;

    fn len(&self) -> usize {
        self.source.len()
    }

    fn record_bytes(&self) -> usize {
        self.source.record_bytes()
    }

    fn key(&self, at: usize) -> R::Key {
        self.source.key(at) - self.least
    }

    fn read_keys(&self, range: Range<usize>, read: Read<'_, R::Key>) {
        let mut lowered = [R::Key::zeroed(); BLOCK];
        self.source.read_keys(range, &mut |keys| {
            for keys in keys.chunks(BLOCK) {
                lowered.iter_mut().zip(keys).for_each(|(lowered, &key)| *lowered = key - self.least);
                read(&lowered[..keys.len()]);
            }
        });
    }
}

impl<R: Record> Source for Lowered<'_, R> {
    type Record = R;

    fn read(&self, range: Range<usize>, read: Read<'_, R>) {
        let mut lowered = [R::zeroed(); BLOCK];
        self.source.read(range, &mut |records| {
            for records in records.chunks(BLOCK) {
                lowered.iter_mut().zip(records).for_each(|(lowered, record)| *lowered = record.map_key(|key| key - self.least));
                read(&lowered[..records.len()]);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Pair;
    use crate::testing::spread;
    use crate::window::Window;

    /// Keys of several blocks; all bits, or some with others above and below them.
    #[test]
    fn keys_are_reduced_by_the_least_in_the_window_alone() {
        for window in [Window { low: 0, high: 32 }, Window { low: 3, high: 20 }] {
            let ones = window.ones::<u32>();
            let records: Vec<_> = (0..300).map(|i| Pair { key: spread(i) | 1 << 19, value: i }).collect();
            let numbers = records.iter().map(|record| record.key & ones);
            let least = numbers.clone().min().expect("300 records");
            let expected: Vec<u32> =
                records.iter().zip(numbers).map(|(record, number)| record.key & !ones | (number - least)).collect();
            let source = &records[..];
            let lowered = Lowered::of(&source, ones);
            assert_eq!((lowered.len(), lowered.record_bytes()), (300, 8));
            for range in [0..300, 0..1, 100..300, 290..300] {
                let (mut keys, mut read) = (vec![], vec![]);
                lowered.read_keys(range.clone(), &mut |some| keys.extend_from_slice(some));
                lowered.read(range.clone(), &mut |some| read.extend_from_slice(some));
                assert_eq!(keys, expected[range.clone()]);
                assert!(
                    read.iter()
                        .zip(range.clone())
                        .all(|(record, at)| record.key() == expected[at] && { record.value } == at as u32)
                );
                assert!(range.clone().all(|at| lowered.key(at) == expected[at]));
                lowered.raise(&mut read);
                assert!(bytemuck::cast_slice::<_, u8>(&read) == bytemuck::cast_slice::<_, u8>(&records[range]));
            }
        }
    }
}
