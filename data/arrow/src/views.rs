//! New arrays of string views, whose strings lie together.
//!
//! A view of 16 bytes has the length of its string, and the string itself if it has at most twelve bytes. If not, it has the first four bytes, and the place of
//! the string in a buffer. A batch of rows from all over a table would keep thousands of buffers in memory, and each count of its memory would visit all of them. So
//! this module copies the strings of a batch to a buffer of their own. It keeps the old buffers if they are smaller than the copies: then many rows share a string.
#![allow(unsafe_code, reason = "a check of all strings would take longer than their copies")]

use arrow_array::types::ByteViewType;
use arrow_array::{ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use core::marker::PhantomData;
use std::collections::HashMap;
use std::sync::Arc;

/// The most bytes of a string that lies in its view.
const MAX_INLINE: u32 = 12;

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

/// Copies of strings, in buffers of at most `max_buffer` bytes.
struct Copies {
    full: Vec<Buffer>,
    newest: Vec<u8>,
    /// The bytes that are still to be copied.
    left: usize,
    max_buffer: usize,
}

impl Copies {
    fn new(bytes: usize, max_buffer: usize) -> Self {
        Self { full: Vec::new(), newest: Vec::with_capacity(bytes.min(max_buffer)), left: bytes, max_buffer }
    }

    /// Copies a string, and returns the index of its buffer and the byte where it begins.
    fn add(&mut self, string: &[u8]) -> (usize, usize) {
        if self.newest.len() + string.len() > self.max_buffer {
            let next = Vec::with_capacity(self.left.min(self.max_buffer));
            self.full.push(Buffer::from_vec(std::mem::replace(&mut self.newest, next)));
        }
        let place = (self.full.len(), self.newest.len());
        self.newest.extend_from_slice(string);
        self.left -= string.len();
        place
    }

    fn finish(mut self) -> Vec<Buffer> {
        if !self.newest.is_empty() {
            self.full.push(Buffer::from_vec(self.newest));
        }
        self.full
    }
}

/// The buffers of other arrays.
#[derive(Default)]
struct Kept {
    buffers: Vec<Buffer>,
    /// For each array and each index of a buffer in it, the index in `buffers`.
    indices: HashMap<(usize, usize), usize>,
    bytes: usize,
}

impl Kept {
    fn keep(&mut self, array: usize, index: usize, buffer: &Buffer) {
        self.indices.entry((array, index)).or_insert_with(|| {
            self.bytes += buffer.capacity();
            self.buffers.push(buffer.clone());
            self.buffers.len() - 1
        });
    }
}

impl<T: ByteViewType> Strings<T> {
    pub(crate) fn new<'a>(arrays: impl Iterator<Item = &'a GenericByteViewArray<T>>) -> Self {
        Self { buffers: arrays.map(|array| array.data_buffers().iter().cloned().collect()).collect(), type_: PhantomData }
    }

    /// Returns an array of `views`, each with the index of its array. What is null in `nulls` becomes null.
    ///
    /// # Panics
    /// If there are not as many nulls as views.
    ///
    /// # Safety
    /// Each view that is not null in `nulls` must be a view of the array of its index, counted as [`new`](Strings::new) got the arrays.
    pub(crate) unsafe fn array(
        &self,
        views: impl ExactSizeIterator<Item = (usize, u128)> + Clone,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        // SAFETY: that of this function.
        unsafe { self.array_with(views, nulls, MAX_BUFFER) }
    }

    /// Does the same with copies in buffers of at most `max_buffer` bytes.
    ///
    /// # Safety
    /// That of [`array`](Strings::array).
    unsafe fn array_with(
        &self,
        views: impl ExactSizeIterator<Item = (usize, u128)> + Clone,
        nulls: Option<NullBuffer>,
        max_buffer: usize,
    ) -> ArrayRef {
        assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len()), "as many nulls as views");
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let outside = views.clone().enumerate().filter(|&(row, (_, view))| is_valid(row) && view as u32 > MAX_INLINE);
        let outside = outside.map(|(_, of_array)| of_array);
        let (output, buffers) = match self.smaller_buffers(outside.clone(), max_buffer) {
            Some(kept) => {
                let new_view = |array, view| {
                    let (buffer, offset) = place_of(view);
                    with_place(view, kept.indices[&(array, buffer)], offset)
                };
                (new_views(views, is_valid, new_view), kept.buffers)
            }
            None => {
                let mut copies = Copies::new(outside.map(|(_, view)| view as u32 as usize).sum(), max_buffer);
                let new_view = |array: usize, view| {
                    let (buffer, offset) = place_of(view);
                    let (index, start) = copies.add(&self.buffers[array][buffer][offset..offset + view as u32 as usize]);
                    with_place(view, index, start)
                };
                (new_views(views, is_valid, new_view), copies.finish())
            }
        };
        // SAFETY: each view of `output` is 0, which is an empty string; or a view of an array of type `T`, unchanged, with a string of at most twelve bytes; or such
        // a view with a new place, where a copy of its string is, or the same string in the same buffer. So the length, the first bytes and the encoding of the
        // string are those of the view. There are as many nulls as views.
        let array = unsafe { GenericByteViewArray::<T>::new_unchecked(ScalarBuffer::from(output), buffers, nulls) };
        Arc::new(array)
    }

    /// Returns the buffers of `views`, whose strings do not lie in the views, if the buffers have fewer bytes than copies of the strings would have, or if a string does not
    /// fit a new buffer.
    fn smaller_buffers(&self, views: impl Iterator<Item = (usize, u128)> + Clone, max_buffer: usize) -> Option<Kept> {
        let lens = views.clone().map(|(_, view)| view as u32 as usize);
        let (bytes, longest) = lens.fold((0, 0), |(bytes, longest): (usize, usize), len| (bytes + len, longest.max(len)));
        let mut kept = Kept::default();
        for (array, view) in views {
            let (buffer, _) = place_of(view);
            kept.keep(array, buffer, &self.buffers[array][buffer]);
            // Mostly the first buffer decides.
            if kept.bytes >= bytes && longest <= max_buffer {
                return None;
            }
        }
        Some(kept)
    }
}

/// The views of a new array: 0 for a null, the same view if its string lies in it, else that of `new_view`.
fn new_views(
    views: impl Iterator<Item = (usize, u128)>,
    is_valid: impl Fn(usize) -> bool,
    mut new_view: impl FnMut(usize, u128) -> u128,
) -> Vec<u128> {
    let of_row = |(row, (array, view)): (usize, (usize, u128))| match view as u32 {
        _ if !is_valid(row) => 0,
        ..=MAX_INLINE => view,
        _ => new_view(array, view),
    };
    views.enumerate().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::StringViewType;
    use arrow_array::{Array, StringViewArray};

    fn strings_of(rows: usize, string: impl Fn(usize) -> Option<String>) -> [StringViewArray; 2] {
        [(0..rows / 2).map(&string).collect(), (rows / 2..rows).map(&string).collect()]
    }

    /// The rows `rows` of two arrays, as one array. Views of nulls have a wrong place.
    fn gathered(arrays: &[StringViewArray; 2], rows: &[usize], max_buffer: usize) -> ArrayRef {
        let half = arrays[0].len();
        let nulls = NullBuffer::from_iter(rows.iter().map(|&row| arrays[row / half].is_valid(row % half)));
        let views = rows.iter().map(|&row| {
            let array = &arrays[row / half];
            (row / half, if array.is_valid(row % half) { array.views()[row % half] } else { u128::MAX })
        });
        let strings = Strings::<StringViewType>::new(arrays.iter());
        // SAFETY: each view that is not null is of the array that it is from.
        let array = unsafe { strings.array_with(views, Some(nulls), max_buffer) };
        array.to_data().validate_full().expect("a valid array");
        array
    }

    /// Strings that lie in their views and others, from two arrays, with nulls, each once: buffers of one to three copies.
    #[test]
    fn strings_are_copied_to_many_buffers() {
        let string = |index: usize| {
            let len = [0, 12, 13, 100, 256][index % 5];
            (index % 7 != 3).then(|| char::from(b'a' + (index % 26) as u8).to_string().repeat(len))
        };
        let arrays = strings_of(140, string);
        let rows: Vec<usize> = (0..140).map(|row| row * 37 % 140).collect();
        for max_buffer in [256, 700, MAX_BUFFER] {
            let array = gathered(&arrays, &rows, max_buffer);
            let array = array.as_string_view();
            assert!(array.iter().eq(rows.iter().map(|&row| string(row)).collect::<Vec<_>>().iter().map(Option::as_deref)));
            let copies = array.data_buffers();
            assert!(copies.iter().all(|copies| copies.len() <= max_buffer), "{copies:?}");
            assert_eq!(copies.len() > 1, max_buffer < MAX_BUFFER);
            assert!(
                copies.iter().all(|copy| arrays
                    .iter()
                    .flat_map(GenericByteViewArray::data_buffers)
                    .all(|old| old.as_ptr() != copy.as_ptr()))
            );
        }
    }

    /// Eight strings of 100 bytes: two of them fill a buffer of 200 bytes.
    #[test]
    fn a_buffer_of_copies_is_filled_to_its_last_byte() {
        let arrays = strings_of(8, |index| Some(format!("{index:0>100}")));
        for (max_buffer, lens) in [(200, vec![200; 4]), (299, vec![200; 4]), (100, vec![100; 8]), (800, vec![800])] {
            let array = gathered(&arrays, &[0, 1, 2, 3, 4, 5, 6, 7], max_buffer);
            let copies = array.as_string_view().data_buffers();
            assert_eq!(copies.iter().map(Buffer::len).collect::<Vec<_>>(), lens, "buffers of up to {max_buffer} bytes");
        }
    }

    /// Rows that share strings share the old buffers, and so do strings that no new buffer can hold.
    #[test]
    fn shared_strings_stay_shared() {
        let string = |index: usize| (index != 3).then(|| format!("{index:0>1000}"));
        let arrays = strings_of(8, string);
        let rows: Vec<usize> = (0..10_000).map(|row| row * 7 % 8).collect();
        for (rows, max_buffer) in [(&rows[..], MAX_BUFFER), (&rows[..5], 999)] {
            let array = gathered(&arrays, rows, max_buffer);
            let array = array.as_string_view();
            assert!(array.iter().eq(rows.iter().map(|&row| string(row)).collect::<Vec<_>>().iter().map(Option::as_deref)));
            assert_eq!(array.data_buffers().len(), 2, "one buffer of each array");
        }
        // Few rows of a large buffer do not keep it.
        let few = gathered(&arrays, &rows[..2], MAX_BUFFER);
        assert_eq!(few.as_string_view().data_buffers().iter().map(Buffer::len).sum::<usize>(), 2000);
    }
}
