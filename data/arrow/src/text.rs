//! Strings and binaries: the first bytes as a part, and the rest as a step.
//!
//! A code of a string is seven bytes, padded with zeros, and how many bytes there are: 8 if more than seven. So a string that ends comes
//! before its continuations, and equal codes mean that both strings end, equal, or that both go on.

use crate::part::Bits;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};

/// Bytes of a code.
pub(crate) const CODE_BYTES: usize = 7;

/// Bits of the number of bytes in a code.
const COUNT_BITS: u32 = 4;

/// Bits of a code.
pub(crate) const CODE_BITS: u32 = CODE_BYTES as u32 * 8 + COUNT_BITS;

/// A column of strings of bytes.
pub(crate) trait Text {
    /// The bytes of a row.
    fn bytes(&self, row: usize) -> &[u8];

    /// The first eight bytes from byte `skip` on, the first of them most significant, padded with zeros; and how many bytes there are from `skip`
    /// on. A string that is shorter than `skip` gives zeros.
    fn head(&self, row: usize, skip: usize) -> (u64, usize) {
        let bytes = self.bytes(row).get(skip..).unwrap_or_default();
        (padded(bytes), bytes.len())
    }
}

impl<T: ByteArrayType> Text for GenericByteArray<T> {
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }

    #[inline]
    fn head(&self, row: usize, skip: usize) -> (u64, usize) {
        let offsets = self.value_offsets();
        let (start, end) = (offsets[row].as_usize() + skip, offsets[row + 1].as_usize());
        let len = end.saturating_sub(start);
        let data = self.value_data();
        match data.get(start..).and_then(<[u8]>::first_chunk::<8>) {
            Some(&chunk) if len >= 8 => (u64::from_be_bytes(chunk), len),
            Some(&chunk) => (u64::from_be_bytes(chunk) & !(u64::MAX >> (8 * len)), len),
            None => (padded(data.get(start..end).unwrap_or_default()), len),
        }
    }
}

impl<T: ByteViewType> Text for GenericByteViewArray<T> {
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row).as_ref()
    }
}

impl Text for FixedSizeBinaryArray {
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

/// Up to eight bytes as a word, padded with zeros.
fn padded(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(&chunk) => u64::from_be_bytes(chunk),
        None => bytes.iter().rev().fold(0, |word, &byte| word >> 8 | u64::from(byte) << 56),
    }
}

/// How many bytes two strings share from the first on.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// What the strings of a column have in common.
pub(crate) struct Shape {
    /// Bytes that all strings begin with.
    pub(crate) shared: usize,
    shortest: usize,
    longest: usize,
}

impl Shape {
    /// The shape of the valid strings among `rows`, which ascend or not. Without a valid one, all numbers are 0.
    pub(crate) fn of<T: Text + ?Sized>(text: &T, rows: impl Iterator<Item = usize>) -> Self {
        let mut rows = rows.map(|row| text.bytes(row));
        let Some(first) = rows.next() else { return Self { shared: 0, shortest: 0, longest: 0 } };
        let mut shape = Self { shared: first.len(), shortest: first.len(), longest: first.len() };
        for bytes in rows {
            let common = &first[..shape.shared];
            if !bytes.starts_with(common) {
                shape.shared = shared(common, bytes);
            }
            (shape.shortest, shape.longest) = (shape.shortest.min(bytes.len()), shape.longest.max(bytes.len()));
        }
        shape
    }

    /// Bytes of the first code of a string.
    fn code_bytes(&self) -> usize {
        let longest = self.longest - self.shared;
        if self.counts() { longest.min(CODE_BYTES) } else { longest }
    }

    /// Whether a code has the number of bytes: not if all strings are as long and fit in a word.
    fn counts(&self) -> bool {
        self.shortest < self.longest || self.longest - self.shared > 8
    }

    /// Whether some strings have bytes after their first code.
    pub(crate) fn has_rest(&self) -> bool {
        self.counts() && self.longest - self.shared > CODE_BYTES
    }

    /// The largest first code.
    pub(crate) fn most(&self) -> u64 {
        let bits = self.code_bytes() as u32 * 8 + if self.counts() { COUNT_BITS } else { 0 };
        u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
    }
}

/// The first codes of a column.
pub(crate) struct Heads<'a, T> {
    text: &'a T,
    skip: usize,
    /// Bits of a word below the bytes of a code.
    drop: u32,
    count_bits: u32,
}

impl<'a, T: Text> Heads<'a, T> {
    pub(crate) fn new(text: &'a T, shape: &Shape) -> Self {
        let drop = u64::BITS - shape.code_bytes() as u32 * 8;
        Self { text, skip: shape.shared, drop, count_bits: if shape.counts() { COUNT_BITS } else { 0 } }
    }
}

impl<T: Text> Bits for Heads<'_, T> {
    fn of(&self, row: usize) -> u64 {
        let (word, len) = self.text.head(row, self.skip);
        let bytes = word.checked_shr(self.drop).unwrap_or(0);
        if self.count_bits == 0 { bytes } else { bytes << COUNT_BITS | len.min(CODE_BYTES + 1) as u64 }
    }
}

/// The bytes after the first code of the strings of a column.
pub(crate) struct Rest<'a> {
    pub(crate) text: &'a dyn Text,
    pub(crate) nulls: Option<NullBuffer>,
    /// Bytes before the rest.
    pub(crate) skip: usize,
    pub(crate) is_descending: bool,
}

impl Rest<'_> {
    /// Whether a string goes on after byte `skip`. A null does not.
    pub(crate) fn continues(&self, row: u32) -> bool {
        let row = row as usize;
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && self.text.bytes(row).len() > self.skip
    }

    /// Bytes that all of `rows`, which are valid, share after byte `skip`.
    pub(crate) fn shared(&self, rows: &[u32], skip: usize) -> usize {
        let first = &self.text.bytes(rows[0] as usize)[skip..];
        rows.iter().fold(first.len(), |len, &row| {
            if len == 0 { 0 } else { shared(&first[..len], &self.text.bytes(row as usize)[skip..]) }
        })
    }

    /// The code of a valid row from byte `skip` on.
    pub(crate) fn code(&self, row: u32, skip: usize) -> u64 {
        let (word, len) = self.text.head(row as usize, skip);
        let code = word >> 8 << COUNT_BITS | len.min(CODE_BYTES + 1) as u64;
        self.directed(code)
    }

    /// Whether the strings of this code have more bytes than the code.
    pub(crate) fn has_more(&self, code: u64) -> bool {
        self.directed(code) & ((1 << COUNT_BITS) - 1) > CODE_BYTES as u64
    }

    /// A code in the direction of the sort, or back.
    fn directed(&self, code: u64) -> u64 {
        if self.is_descending { code ^ u64::MAX >> (u64::BITS - CODE_BITS) } else { code }
    }

    /// The order of two valid rows by their bytes from `skip` on.
    pub(crate) fn compare(&self, a: u32, b: u32, skip: usize) -> core::cmp::Ordering {
        let bytes = |row: u32| &self.text.bytes(row as usize)[skip..];
        if self.is_descending { bytes(b).cmp(bytes(a)) } else { bytes(a).cmp(bytes(b)) }
    }
}
