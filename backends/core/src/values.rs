//! Payloads without their type: a backend moves bytes.

use crate::permutation::gather;
use bytemuck::Pod;
use core::fmt;

/// Payloads of one size that stay as they are.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    bytes: &'a [u8],
    size: usize,
    len: usize,
}

/// Payloads of one size that move with their keys.
pub struct ValuesMut<'a> {
    bytes: &'a mut [u8],
    size: usize,
    len: usize,
}

impl<'a> Values<'a> {
    /// The values of a slice.
    pub fn of<V: Pod>(values: &'a [V]) -> Self {
        let bytes = if size_of::<V>() == 0 { &[] } else { bytemuck::cast_slice(values) };
        Self { bytes, size: size_of::<V>(), len: values.len() }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of one value; 0 for a type without data.
    pub fn size(&self) -> usize {
        self.size
    }

    /// All values, one after another: [`len`](Values::len) × [`size`](Values::size) bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> ValuesMut<'a> {
    /// The values of a slice.
    pub fn of<V: Pod>(values: &'a mut [V]) -> Self {
        let len = values.len();
        let bytes = if size_of::<V>() == 0 { &mut [] } else { bytemuck::cast_slice_mut(values) };
        Self { bytes, size: size_of::<V>(), len }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of one value; 0 for a type without data.
    pub fn size(&self) -> usize {
        self.size
    }

    /// All values, one after another: [`len`](ValuesMut::len) × [`size`](ValuesMut::size) bytes. Assume no
    /// alignment: the caller's type is not known here.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Borrows the values for a shorter time.
    pub fn by_ref(&mut self) -> ValuesMut<'_> {
        ValuesMut { bytes: self.bytes, size: self.size, len: self.len }
    }

    /// Values of the same size and number in other memory, which is as long.
    pub(crate) fn over<'b>(&self, bytes: &'b mut [u8]) -> ValuesMut<'b> {
        debug_assert_eq!(bytes.len(), self.bytes.len());
        ValuesMut { bytes, size: self.size, len: self.len }
    }

    /// Returns the values as arrays of `N` bytes each.
    ///
    /// # Panics
    /// If `N` is 0, or not the [`size`](ValuesMut::size) of a value.
    pub fn arrays<const N: usize>(self) -> &'a mut [[u8; N]] {
        assert!(N == self.size && N > 0, "cannot view values of {} bytes as arrays of {N} bytes", self.size);
        self.bytes.as_chunks_mut().0
    }

    /// Copies all values from others of the same size and number.
    ///
    /// # Panics
    /// If the sizes or the numbers differ.
    pub fn copy_from(&mut self, values: Values<'_>) {
        assert!(self.size == values.size && self.len == values.len, "{self:?} from {values:?}");
        self.bytes.copy_from_slice(values.bytes);
    }

    /// Moves values by a permutation that a backend made: position `i` then holds the value that was at `permutation[i]`.
    ///
    /// # Panics
    /// If an index is out of range, or the lengths differ; the values then stay as they were.
    pub fn permute(&mut self, permutation: &[u32]) {
        fn by_arrays<const N: usize>(bytes: &mut [u8], permutation: &[u32]) {
            let arrays: &mut [[u8; N]] = bytes.as_chunks_mut().0;
            let moved = gather(arrays, permutation);
            arrays.copy_from_slice(&moved);
        }
        assert!(permutation.len() == self.len, "a permutation of {} for {self:?}", permutation.len());
        // The usual sizes as constants: a copy of a constant size needs no call.
        match self.size {
            0 => {}
            1 => by_arrays::<1>(self.bytes, permutation),
            2 => by_arrays::<2>(self.bytes, permutation),
            4 => by_arrays::<4>(self.bytes, permutation),
            8 => by_arrays::<8>(self.bytes, permutation),
            12 => by_arrays::<12>(self.bytes, permutation),
            16 => by_arrays::<16>(self.bytes, permutation),
            32 => by_arrays::<32>(self.bytes, permutation),
            size => {
                let mut moved = Vec::with_capacity(self.bytes.len());
                for &index in permutation {
                    assert!((index as usize) < self.len, "index {index} of {self:?}");
                    let start = index as usize * size;
                    moved.extend_from_slice(&self.bytes[start..start + size]);
                }
                self.bytes.copy_from_slice(&moved);
            }
        }
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values of {} bytes", self.len, self.size)
    }
}

impl fmt::Debug for ValuesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values of {} bytes", self.len, self.size)
    }
}
