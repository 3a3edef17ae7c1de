//! New arrays of string views, whose strings lie together.
//!
//! A view of 16 bytes has the length of its string, and the string itself if it has at most twelve bytes. If not, it has the first four bytes, and the place of
//! the string in a buffer. A batch of rows from all over a table would refer to thousands of buffers, and each count of its memory would visit all of them. So this
//! module copies the strings of a batch to a buffer of their own.
#![allow(unsafe_code, reason = "a check of all strings would take longer than their copies")]

use arrow_array::types::ByteViewType;
use arrow_array::{ArrayRef, GenericByteViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::ArrowError;
use core::marker::PhantomData;
use std::sync::Arc;

/// The most bytes of a string that lies in its view.
const MAX_INLINE: u32 = 12;

/// The most bytes of a buffer: arrow's offsets of views have 32 bits, with a sign in other languages.
const MAX_BUFFER: usize = i32::MAX as usize;

/// The buffers of all arrays of a column.
pub(crate) struct Strings<T: ByteViewType> {
    /// The buffers of each array.
    buffers: Vec<Arc<[Buffer]>>,
    type_: PhantomData<fn() -> T>,
}

impl<T: ByteViewType> Strings<T> {
    pub(crate) fn new<'a>(arrays: impl Iterator<Item = &'a GenericByteViewArray<T>>) -> Self {
        Self { buffers: arrays.map(|array| array.data_buffers().iter().cloned().collect()).collect(), type_: PhantomData }
    }

    /// An array of `views`, each with the index of the array that it is from. Null is what is not valid.
    ///
    /// # Errors
    /// [`ArrowError::OffsetOverflowError`] if a string is longer than a buffer can be.
    pub(crate) fn array(
        &self,
        views: impl ExactSizeIterator<Item = (usize, u128)>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        let mut full: Vec<Buffer> = Vec::new();
        let mut data: Vec<u8> = Vec::new();
        let mut copies: Vec<u128> = Vec::with_capacity(views.len());
        for (index, (array, view)) in views.enumerate() {
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(index)) {
                copies.push(0);
                continue;
            }
            let len = view as u32;
            if len <= MAX_INLINE {
                copies.push(view);
                continue;
            }
            let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
            let string = &self.buffers[array][buffer].as_slice()[offset..offset + len as usize];
            if data.len() + string.len() > MAX_BUFFER {
                if string.len() > MAX_BUFFER {
                    return Err(ArrowError::OffsetOverflowError(string.len()));
                }
                full.push(Buffer::from_vec(std::mem::take(&mut data)));
            }
            let place = full.len() as u128 | (data.len() as u128) << 32;
            copies.push(u128::from(view as u64) | place << 64);
            data.extend_from_slice(string);
        }
        if !data.is_empty() {
            full.push(Buffer::from_vec(data));
        }
        // SAFETY: each copy is 0, which is an empty string; or a view of an array of type `T`, unchanged, with a string of at most twelve bytes; or such a view
        // with the place of a copy of its string, whose length, first bytes and encoding are those of the view. The loop wrote the copy at that place.
        let array = unsafe { GenericByteViewArray::<T>::new_unchecked(ScalarBuffer::from(copies), full, nulls) };
        Ok(Arc::new(array))
    }
}
