//! Strings and binaries: the first bytes as a field, and the rest as a step.
//!
//! The field leaves out the bytes that all strings share, and has as many bits for each byte as the bytes of the column need. A string that ends
//! comes before its continuations: a byte has the code 0 only after the end of its string. If the column's bytes take all 256 values, a count
//! of the bytes follows them instead.
//!
//! ```text
//! column    "apple", "ant"       bytes a to t, so 5 bits each
//! shared    "a"
//! codes     p 16 | p 16 | l 12 | e 5 | 0 …       n 14 | t 20 | 0 …
//! ```

use crate::field::{Bits, Rows};
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{FixedSizeBinaryArray, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use core::ops::RangeInclusive;

/// Bits of a count of bytes.
const COUNT_BITS: u32 = 4;

/// A number with each byte 1.
const ONES: u64 = u64::MAX / 255;

/// A column of strings of bytes.
pub(crate) trait Text: Sync {
    /// The bytes of a row.
    fn bytes(&self, row: usize) -> &[u8];

    /// The first eight bytes from byte `skip` on, the first of them most significant, padded with zeros; and how many bytes there are from `skip`
    /// on. A string that is shorter than `skip` gives zeros.
    fn head(&self, row: usize, skip: usize) -> (u64, usize) {
        let bytes = self.bytes(row).get(skip..).unwrap_or_default();
        (padded(bytes), bytes.len())
    }

    /// A range that has all bytes of the column.
    fn alphabet(&self) -> RangeInclusive<u8> {
        0..=u8::MAX
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
            Some(&chunk) => (u64::from_be_bytes(chunk) & first_bytes(len), len),
            None => (padded(data.get(start..end).unwrap_or_default()), len),
        }
    }

    fn alphabet(&self) -> RangeInclusive<u8> {
        let offsets = self.value_offsets();
        extremes(&self.value_data()[offsets[0].as_usize()..offsets[self.offsets().len() - 1].as_usize()])
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

/// All ones in the first `len` bytes of a word, the most significant ones.
fn first_bytes(len: usize) -> u64 {
    if len >= 8 { u64::MAX } else { !(u64::MAX >> (8 * len)) }
}

/// The least and the largest byte.
fn extremes(bytes: &[u8]) -> RangeInclusive<u8> {
    // Blocks stay in the L1 for the second of the two loops, which the compiler vectorizes one by one.
    let (mut least, mut most) = (u8::MAX, 0);
    for block in bytes.chunks(4096) {
        least = block.iter().fold(least, |least, &byte| least.min(byte));
        most = block.iter().fold(most, |most, &byte| most.max(byte));
    }
    least.min(most)..=most
}

/// How many bytes two strings share from the first on.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// How many of the first bytes of `first` all other strings share.
fn shared_by_all<'t>(first: &[u8], others: impl Iterator<Item = &'t [u8]>) -> usize {
    let mut common = first;
    for bytes in others {
        if !bytes.starts_with(common) {
            common = &common[..shared(common, bytes)];
        }
        if common.is_empty() {
            break;
        }
    }
    common.len()
}

/// The first codes of a column.
pub(crate) struct Heads<'a, T> {
    text: &'a T,
    /// Bytes before the code, which all strings share.
    skip: usize,
    /// Bytes of a code, at most 8.
    bytes: usize,
    /// Bits of each byte.
    byte_bits: u32,
    /// What is subtracted from each byte, and then added, in each byte of a word.
    least: u64,
    ones: u64,
    count_bits: u32,
    longest: usize,
}

impl<'a, T: Text> Heads<'a, T> {
    /// The codes of the strings at `rows`. Those of other rows do not matter.
    pub(crate) fn new(text: &'a T, rows: Rows<'_>) -> Self {
        let mut strings = rows.iter().map(|row| text.bytes(row));
        let first = strings.next().unwrap_or_default();
        let skip = shared_by_all(first, strings);
        let (mut shortest, mut longest) = (usize::MAX, skip);
        for len in rows.iter().map(|row| text.bytes(row).len()) {
            (shortest, longest) = (shortest.min(len), longest.max(len));
        }
        let alphabet = text.alphabet();
        let (least, most) = (u64::from(*alphabet.start()), u64::from(*alphabet.end()));
        let left = longest - skip;
        let heads = Self { text, skip, bytes: left.min(8), byte_bits: 8, least: 0, ones: 0, count_bits: 0, longest };
        if most - least < u8::MAX.into() {
            let byte_bits = u64::BITS - (most - least + 1).leading_zeros();
            return Self { byte_bits, least: least * ONES, ones: ONES, ..heads };
        }
        let needs_count = shortest < longest || left > 8;
        if needs_count { Self { bytes: left.min(7), count_bits: COUNT_BITS, ..heads } } else { heads }
    }

    /// The largest code.
    pub(crate) fn most(&self) -> u64 {
        let bits = self.bytes as u32 * self.byte_bits + if self.bytes == 0 { 0 } else { self.count_bits };
        u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
    }

    /// Bytes of a string up to the end of its code.
    pub(crate) fn end(&self) -> usize {
        self.skip + self.bytes
    }

    /// Whether some strings have bytes after their code.
    pub(crate) fn has_rest(&self) -> bool {
        self.longest > self.end()
    }
}

impl<T: Text> Bits for Heads<'_, T> {
    #[inline]
    fn of(&self, row: usize) -> u64 {
        let (word, len) = self.text.head(row, self.skip);
        let present = first_bytes(len);
        // No byte of the result is below 0 or above 255, so carries between bytes cancel out.
        let codes = word.wrapping_sub(self.least & present).wrapping_add(self.ones & present);
        let bytes = joined(codes, self.byte_bits) >> ((8 - self.bytes as u32) * self.byte_bits).min(u64::BITS - 1);
        if self.count_bits == 0 { bytes } else { bytes << self.count_bits | len.min(self.bytes + 1) as u64 }
    }
}

/// The low `bits` bits of each byte of a word, side by side.
fn joined(word: u64, bits: u32) -> u64 {
    let pairs = word & 0x00ff_00ff_00ff_00ff | (word >> 8 & 0x00ff_00ff_00ff_00ff) << bits;
    let fours = pairs & 0xffff_0000_ffff | (pairs >> 16 & 0xffff_0000_ffff) << (2 * bits);
    fours & 0xffff_ffff | (fours >> 32) << (4 * bits)
}

/// The bytes after the first code of the strings of a column, as codes of bytes and their count.
pub(crate) struct Rest<'a> {
    pub(crate) text: &'a dyn Text,
    pub(crate) nulls: Option<NullBuffer>,
    /// Bytes before the rest.
    pub(crate) skip: usize,
    /// Bytes of a code.
    pub(crate) code_bytes: usize,
    pub(crate) is_descending: bool,
}

impl<'a> Rest<'a> {
    /// The rest from byte `skip` on, with codes of at most `code_bits`, which are 12 or more.
    pub(crate) fn new(text: &'a dyn Text, nulls: Option<NullBuffer>, skip: usize, code_bits: u32, is_descending: bool) -> Self {
        let code_bytes = ((code_bits - COUNT_BITS) / 8).min(7) as usize;
        Self { text, nulls, skip, code_bytes, is_descending }
    }

    /// Whether some of `rows`, which are equal before byte `skip`, go on there.
    pub(crate) fn continues(&self, rows: &[u32]) -> bool {
        let len = |row: u32| self.text.bytes(row as usize).len();
        let is_null = self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(rows[0] as usize));
        !is_null && len(rows[0]) >= self.skip && rows.iter().any(|&row| len(row) > self.skip)
    }

    /// Bytes that all of `rows`, which are valid, share from byte `skip` on.
    pub(crate) fn shared(&self, rows: &[u32], skip: usize) -> usize {
        let mut bytes = rows.iter().map(|&row| &self.text.bytes(row as usize)[skip..]);
        bytes.next().map_or(0, |first| shared_by_all(first, bytes))
    }

    /// The code of a valid row from byte `skip` on.
    pub(crate) fn code(&self, row: u32, skip: usize) -> u64 {
        let (word, len) = self.text.head(row as usize, skip);
        let bytes = word >> (u64::BITS - self.code_bytes as u32 * 8);
        self.directed(bytes << COUNT_BITS | len.min(self.code_bytes + 1) as u64)
    }

    /// Whether the strings of this code have more bytes than the code.
    pub(crate) fn has_more(&self, code: u64) -> bool {
        self.directed(code) & ((1 << COUNT_BITS) - 1) > self.code_bytes as u64
    }

    /// A code in the direction of the sort, or back.
    fn directed(&self, code: u64) -> u64 {
        let bits = self.code_bytes as u32 * 8 + COUNT_BITS;
        if self.is_descending { code ^ u64::MAX >> (u64::BITS - bits) } else { code }
    }

    /// The order of two valid rows by their bytes from `skip` on.
    pub(crate) fn compare(&self, a: u32, b: u32, skip: usize) -> core::cmp::Ordering {
        let bytes = |row: u32| &self.text.bytes(row as usize)[skip..];
        if self.is_descending { bytes(b).cmp(bytes(a)) } else { bytes(a).cmp(bytes(b)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::StringArray;

    /// The example of this file's header.
    #[test]
    fn codes_have_the_bytes_after_those_that_all_strings_share() {
        let column = StringArray::from(vec!["apple", "ant"]);
        let heads = Heads::new(&column, Rows::First(2));
        let code = |bytes: [u64; 4]| bytes.iter().fold(0, |code, byte| code << 5 | byte);
        assert_eq!([heads.of(0), heads.of(1)], [code([16, 16, 12, 5]), code([14, 20, 0, 0])]);
        assert_eq!((heads.most(), heads.end(), heads.has_rest()), (code([31; 4]), 5, false));
    }

    #[test]
    fn the_rest_follows_the_code() {
        let column = StringArray::from(vec!["the same: 12345678, and more", "the same: 12345678, and less", "the same: 0"]);
        let heads = Heads::new(&column, Rows::First(3));
        assert!(heads.of(0) == heads.of(1) && heads.of(2) < heads.of(0) && heads.has_rest());
        let end = "the same: 12345678".len();
        assert_eq!(heads.end(), end);
        let rest = Rest::new(&column, None, end, 44, false);
        assert_eq!((rest.continues(&[0, 1]), rest.shared(&[0, 1], end)), (true, ", and ".len()));
        assert_eq!((rest.shared(&[0, 1], end + 6), rest.shared(&[1], end)), (0, ", and less".len()));
    }
}
