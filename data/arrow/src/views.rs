//! New arrays of string views, whose short strings lie together.
//!
//! A view of 16 bytes has the length of its string, and the string itself if it has at most twelve bytes. If not, it has the first four bytes, and the place of
//! the string in a buffer. A batch of rows from all over a table would refer to thousands of buffers, and each count of its memory would visit all of them. So this
//! module copies the short strings of a batch to a buffer of their own. A long string stays where it is: many rows may share it, and each would get its own copy.
#![allow(unsafe_code, reason = "a check of all strings would take longer than their copies")]

use arrow_array::types::ByteViewType;
use arrow_array::{ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of a string that lies in its view.
const MAX_INLINE: u32 = 12;

/// The most bytes of a string that is copied.
const MAX_COPIED: u32 = 256;

/// The most bytes of a new buffer: arrow's offsets of views have 32 bits, with a sign in other languages.
const MAX_BUFFER: usize = i32::MAX as usize;

/// The buffers of all arrays of a column.
pub(crate) struct Strings<T: ByteViewType> {
    /// The buffers of each array.
    buffers: Vec<Arc<[Buffer]>>,
    type_: PhantomData<fn() -> T>,
}

/// The place of a view's string: the index of a buffer, and the byte where the string begins.
fn place_of(view: u128) -> (usize, usize) {
    ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize)
}

/// The view of the same string at another place.
fn with_place(view: u128, buffer: usize, offset: usize) -> u128 {
    u128::from(view as u64) | (buffer as u128) << 64 | (offset as u128) << 96
}

/// The buffers of a new array.
struct Copies {
    buffers: Vec<Buffer>,
    /// The strings of the newest buffer of copies, and its index in `buffers`, where an empty one keeps its place.
    newest: Vec<u8>,
    index: Option<usize>,
    /// The bytes that are still to be copied.
    left: usize,
    max_buffer: usize,
}

impl Copies {
    fn new(bytes: usize, max_buffer: usize) -> Self {
        Self { buffers: Vec::new(), newest: Vec::new(), index: None, left: bytes, max_buffer }
    }

    /// Copies a string, and returns the index of its buffer and the byte where it begins.
    fn add(&mut self, string: &[u8]) -> (usize, usize) {
        if self.newest.len() + string.len() > self.max_buffer {
            self.end_newest();
        }
        let index = *self.index.get_or_insert_with(|| {
            self.newest.reserve_exact(self.left.min(self.max_buffer));
            self.buffers.push(Buffer::default());
            self.buffers.len() - 1
        });
        let offset = self.newest.len();
        self.newest.extend_from_slice(string);
        self.left -= string.len();
        (index, offset)
    }

    /// Adds a buffer of an input array, and returns its index.
    fn keep(&mut self, buffer: Buffer) -> usize {
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    fn end_newest(&mut self) {
        if let Some(index) = self.index.take() {
            self.buffers[index] = Buffer::from_vec(std::mem::take(&mut self.newest));
        }
    }

    fn finish(mut self) -> Vec<Buffer> {
        self.end_newest();
        self.buffers
    }
}

impl<T: ByteViewType> Strings<T> {
    pub(crate) fn new<'a>(arrays: impl Iterator<Item = &'a GenericByteViewArray<T>>) -> Self {
        Self { buffers: arrays.map(|array| array.data_buffers().iter().cloned().collect()).collect(), type_: PhantomData }
    }

    /// Returns an array of `views`, each with the index of the array that it is from. What is null in `nulls` becomes null.
    ///
    /// # Panics
    /// If there are not as many nulls as views.
    ///
    /// # Safety
    /// Each view that is not null must be a view of the array of its index.
    pub(crate) unsafe fn array(
        &self,
        views: impl ExactSizeIterator<Item = (usize, u128)> + Clone,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        // SAFETY: that of this function.
        unsafe { self.array_with(views, nulls, MAX_BUFFER) }
    }

    /// Does the same with new buffers of at most `max_buffer` bytes, which a copied string must fit into.
    ///
    /// # Safety
    /// The same.
    unsafe fn array_with(
        &self,
        views: impl ExactSizeIterator<Item = (usize, u128)> + Clone,
        nulls: Option<NullBuffer>,
        max_buffer: usize,
    ) -> ArrayRef {
        let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len()), "as many nulls as views");
        let is_copied = |view: u128| (MAX_INLINE + 1..=MAX_COPIED).contains(&(view as u32));
        let to_copy = views.clone().enumerate().filter(|&(row, (_, view))| is_copied(view) && !is_null(row));
        let mut copies = Copies::new(to_copy.map(|(_, (_, view))| view as u32 as usize).sum(), max_buffer);
        let mut kept: HashMap<(usize, usize), usize> = HashMap::new();
        let new_view = |(row, (array, view)): (usize, (usize, u128))| {
            if is_null(row) {
                return 0;
            }
            if view as u32 <= MAX_INLINE {
                return view;
            }
            let (buffer, offset) = place_of(view);
            let from = &self.buffers[array][buffer];
            if is_copied(view) {
                let (index, offset) = copies.add(&from.as_slice()[offset..offset + view as u32 as usize]);
                return with_place(view, index, offset);
            }
            let index = *kept.entry((array, buffer)).or_insert_with(|| copies.keep(from.clone()));
            with_place(view, index, offset)
        };
        let output: Vec<u128> = views.enumerate().map(new_view).collect();
        let buffers = copies.finish();
        // SAFETY: each view of `output` is 0, which is an empty string; or a view of an array of type `T`, unchanged, with a string of at most twelve bytes; or such
        // a view with a new place, where a copy of its string is, or the same string in the same buffer. So the length, the first bytes and the encoding of the
        // string are those of the view. There are as many nulls as views.
        let array = unsafe { GenericByteViewArray::<T>::new_unchecked(ScalarBuffer::from(output), buffers, nulls) };
        Arc::new(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::StringViewType;
    use arrow_array::{Array, StringViewArray};

    /// Strings around the lengths at which their treatment changes, from two arrays, with nulls, in buffers that hold one to three copies.
    #[test]
    fn strings_in_many_buffers() {
        let string = |index: usize| {
            let len = [0, 12, 13, 100, 256, 257, 1000][index % 7];
            (index % 5 != 3).then(|| char::from(b'a' + (index % 26) as u8).to_string().repeat(len))
        };
        let arrays: [StringViewArray; 2] = [(0..70).map(string).collect(), (70..140).map(string).collect()];
        let rows: Vec<usize> = (0..1000).map(|row| row * 37 % 140).collect();
        let views = rows.iter().map(|&row| (row / 70, arrays[row / 70].views()[row % 70]));
        let nulls = NullBuffer::from_iter(rows.iter().map(|&row| arrays[row / 70].is_valid(row % 70)));
        let strings = Strings::<StringViewType>::new(arrays.iter());
        for max_buffer in [256, 700, MAX_BUFFER] {
            // SAFETY: each view is of the array that it is from.
            let array = unsafe { strings.array_with(views.clone(), Some(nulls.clone()), max_buffer) };
            array.to_data().validate_full().expect("a valid array");
            let array = array.as_string_view();
            assert!(array.iter().eq(rows.iter().map(|&row| string(row)).collect::<Vec<_>>().iter().map(Option::as_deref)));
            let copies = array
                .data_buffers()
                .iter()
                .filter(|buffer| strings.buffers.iter().flat_map(|all| all.iter()).all(|old| old.as_ptr() != buffer.as_ptr()));
            let copies: Vec<&Buffer> = copies.collect();
            assert!(
                copies.iter().all(|copies| copies.len() <= max_buffer) && (copies.len() > 1) == (max_buffer < MAX_BUFFER),
                "{copies:?}"
            );
        }
    }

    /// Rows that share one long string do not get copies of it.
    #[test]
    fn shared_strings_stay_shared() {
        let shared = StringViewArray::from_iter_values(["x".repeat(1 << 20)]);
        let strings = Strings::<StringViewType>::new([&shared].into_iter());
        let views = std::iter::repeat_n((0, shared.views()[0]), 10_000);
        // SAFETY: all are views of the only array.
        let array = unsafe { strings.array(views, None) };
        assert!(array.get_buffer_memory_size() < 2 << 20, "{} bytes", array.get_buffer_memory_size());
        assert!(array.as_string_view().iter().all(|string| string.is_some_and(|string| string.len() == 1 << 20)));
    }
}
