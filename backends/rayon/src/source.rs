//! What is read: a slice of records, or the caller's slices as records.

use crate::record::Record;
use bytemuck::Zeroable;
use core::ops::Range;
use polysort_core::Word;

/// Records that are mapped at a time: enough for vector code, few enough for the L1.
pub(crate) const BLOCK: usize = 128;

/// The key of a source's records.
pub(crate) type Key<S> = <S as Keyed>::Key;

/// What a source hands blocks of records or keys to. One call takes a whole block, so nothing is lost by not compiling a source for each of these.
pub(crate) type Read<'a, R> = &'a mut dyn FnMut(&[R]);

/// The keys of records, mapped to ordered bits, the same at every reading. What only looks at keys takes a `&dyn Keyed`, and so is compiled for each
/// word, not for each kind of records.
pub(crate) trait Keyed: Sync {
    type Key: Word;

    fn len(&self) -> usize;

    /// The bytes of a record, its key included.
    fn record_bytes(&self) -> usize;

    /// The key of the record at `at`.
    fn key(&self, at: usize) -> Self::Key;

    /// Hands the keys of the records at `range` to `read`, some at a time and in order.
    fn read_keys(&self, range: Range<usize>, read: Read<'_, Self::Key>);
}

/// Records to read, the same at every reading.
pub(crate) trait Source: Keyed {
    type Record: Record<Key = Self::Key>;

    /// Hands the records at `range`, keys mapped to ordered bits, to `read`, some at a time and in order.
    fn read(&self, range: Range<usize>, read: Read<'_, Self::Record>);

    /// Copies the records from `start` on to `target`, as many as it takes.
    fn copy_to(&self, start: usize, target: &mut [Self::Record]) {
        let range = start..start + target.len();
        let mut rest = target;
        self.read(range, &mut |records| {
            let (place, others) = std::mem::take(&mut rest).split_at_mut(records.len());
            place.copy_from_slice(records);
            rest = others;
        });
    }
}

/// A source of any type, for code that is compiled once for each kind of records.
pub(crate) type AnySource<'a, R> = dyn Source<Record = R, Key = <R as Record>::Key> + 'a;

/// A source that is borrowed, so that one without a size can be a `&dyn Keyed` or [`AnySource`].
impl<S: Keyed + ?Sized> Keyed for &S {
    type Key = S::Key;

    fn len(&self) -> usize {
        (**self).len()
    }

    fn record_bytes(&self) -> usize {
        (**self).record_bytes()
    }

    fn key(&self, at: usize) -> S::Key {
        (**self).key(at)
    }

    fn read_keys(&self, range: Range<usize>, read: Read<'_, S::Key>) {
        (**self).read_keys(range, read);
    }
}

impl<S: Source + ?Sized> Source for &S {
    type Record = S::Record;

    fn read(&self, range: Range<usize>, read: Read<'_, S::Record>) {
        (**self).read(range, read);
    }
}

impl<R: Record> Source for [R] {
    type Record = R;

    fn read(&self, range: Range<usize>, read: Read<'_, R>) {
        read(&self[range]);
    }
}

impl<R: Record> Keyed for [R] {
    type Key = R::Key;

    fn len(&self) -> usize {
        self.len()
    }

    fn record_bytes(&self) -> usize {
        size_of::<R>()
    }

    fn key(&self, at: usize) -> R::Key {
        self[at].key()
    }

    fn read_keys(&self, range: Range<usize>, read: Read<'_, R::Key>) {
        let mut keys = [R::Key::zeroed(); BLOCK];
        for records in self[range].chunks(BLOCK) {
            for (key, record) in keys.iter_mut().zip(records) {
                *key = record.key();
            }
            read(&keys[..records.len()]);
        }
    }
}
