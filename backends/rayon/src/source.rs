//! What is read: a slice of records, or the caller's slices as records.

use crate::record::Record;
use bytemuck::Zeroable;
use core::ops::Range;

/// Records that are mapped at a time: enough for vector code, few enough for the L1.
pub(crate) const BLOCK: usize = 128;

/// The key of a source's records.
pub(crate) type Key<S> = <<S as Source>::Record as Record>::Key;

/// Records to read, the same at every reading.
pub(crate) trait Source: Sync {
    type Record: Record;

    fn len(&self) -> usize;

    /// Hands the records at `range`, keys mapped to ordered bits, to `read`, some at a time and in order.
    fn read(&self, range: Range<usize>, read: impl FnMut(&[Self::Record]));

    /// As [`read`](Source::read), the keys alone.
    fn read_keys(&self, range: Range<usize>, read: impl FnMut(&[Key<Self>]));

    /// The key of the first record. There is one.
    fn first_key(&self) -> Key<Self> {
        let mut first = Key::<Self>::zeroed();
        self.read_keys(0..1, |keys| first = keys[0]);
        first
    }

    /// Copies the records from `start` on to `target`, as many as it takes.
    fn copy_to(&self, start: usize, target: &mut [Self::Record]) {
        let range = start..start + target.len();
        let mut rest = target;
        self.read(range, |records| {
            let (place, others) = std::mem::take(&mut rest).split_at_mut(records.len());
            place.copy_from_slice(records);
            rest = others;
        });
    }
}

impl<R: Record> Source for [R] {
    type Record = R;

    fn len(&self) -> usize {
        self.len()
    }

    fn read(&self, range: Range<usize>, mut read: impl FnMut(&[R])) {
        read(&self[range]);
    }

    fn read_keys(&self, range: Range<usize>, mut read: impl FnMut(&[R::Key])) {
        let mut keys = [R::Key::zeroed(); BLOCK];
        for records in self[range].chunks(BLOCK) {
            for (key, record) in keys.iter_mut().zip(records) {
                *key = record.key();
            }
            read(&keys[..records.len()]);
        }
    }
}
