//! A field of a key: up to 64 bits of each row.
//!
//! A field maps the values of its column to codes, from 0 to the range of the values. Codes have as many bits as the range needs, and their
//! order is the order of the sort: a descending field counts from the largest value down. A null row has the code 0.

use crate::threads::by_ranges;
use arrow_buffer::NullBuffer;
use core::ops::Range;

/// Rows that are read at a time.
pub(crate) const BLOCK: usize = 512;

/// The rows that a step reads, in its order.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'r> {
    /// This many rows from the first on.
    First(usize),
    /// These rows.
    Listed(&'r [u32]),
}

impl Rows<'_> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::First(len) => len,
            Self::Listed(rows) => rows.len(),
        }
    }

    /// The rows one by one.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        let row = move |index: usize| match self {
            Self::First(_) => index,
            Self::Listed(rows) => rows[index] as usize,
        };
        (0..self.len()).map(row)
    }
}

/// Gives the ordered bits of each row: the ascending order of values is the unsigned order of their bits.
pub(crate) trait Bits: Sync {
    /// The bits of a row. Those of a null row do not matter.
    fn of(&self, row: usize) -> u64;

    /// How many bits there are, at most.
    fn width(&self) -> u32 {
        u64::BITS
    }

    /// Writes the bits of the rows from `start` on.
    fn read(&self, start: usize, bits: &mut [u64]) {
        for (bits, row) in bits.iter_mut().zip(start..) {
            *bits = self.of(row);
        }
    }

    /// Writes the bits of `rows`.
    fn gather(&self, rows: &[u32], bits: &mut [u64]) {
        for (bits, &row) in bits.iter_mut().zip(rows) {
            *bits = self.of(row as usize);
        }
    }
}

/// Bits that a function computes from the number of a row.
pub(crate) struct ByRow<F>(pub(crate) F);

impl<F: Fn(usize) -> u64 + Sync> Bits for ByRow<F> {
    fn of(&self, row: usize) -> u64 {
        self.0(row)
    }
}

/// Bits that a function computes from a value.
pub(crate) struct ByValue<'a, T, F> {
    pub(crate) values: &'a [T],
    pub(crate) bits: F,
}

impl<T: Copy + Sync, F: Fn(T) -> u64 + Sync> Bits for ByValue<'_, T, F> {
    fn of(&self, row: usize) -> u64 {
        (self.bits)(self.values[row])
    }

    fn width(&self) -> u32 {
        u64::BITS.min(8 * size_of::<T>() as u32)
    }

    fn read(&self, start: usize, bits: &mut [u64]) {
        for (bits, &value) in bits.iter_mut().zip(&self.values[start..]) {
            *bits = (self.bits)(value);
        }
    }
}

/// A field of a key.
pub(crate) struct Field<'a> {
    bits: Box<dyn Bits + 'a>,
    nulls: Option<NullBuffer>,
    least: u64,
    most: u64,
    is_descending: bool,
}

impl<'a> Field<'a> {
    /// The field whose range is that of `rows`, which are all valid rows that a sort reads. Up to `threads` threads read them.
    pub(crate) fn measured(
        bits: Box<dyn Bits + 'a>,
        rows: Rows<'_>,
        nulls: Option<NullBuffer>,
        is_descending: bool,
        threads: usize,
    ) -> Self {
        let ranges = by_ranges(threads, rows.len(), |range| extremes(&*bits, rows, range));
        let least = ranges.iter().fold(u64::MAX, |least, range| least.min(range.0));
        let most = ranges.iter().fold(0, |most, range| most.max(range.1));
        // Without a valid row, every code is 0.
        Self { bits, nulls, least: least.min(most), most, is_descending }
    }

    /// The field whose bits of valid rows are at most `most`.
    pub(crate) fn up_to(most: u64, bits: Box<dyn Bits + 'a>, nulls: Option<NullBuffer>, is_descending: bool) -> Self {
        Self { bits, nulls, least: 0, most, is_descending }
    }

    /// The field that puts null rows first or last.
    pub(crate) fn nulls(nulls: NullBuffer, nulls_first: bool) -> Self {
        Self::up_to(1, Box::new(ByRow(move |row| u64::from(nulls.is_valid(row) == nulls_first))), None, false)
    }

    /// Bits of a code.
    pub(crate) fn width(&self) -> u32 {
        width(self.least, self.most)
    }

    /// Writes the codes of the rows at `range` of `rows`.
    pub(crate) fn codes(&self, rows: Rows<'_>, range: Range<usize>, codes: &mut [u64]) {
        read(&*self.bits, rows, range.clone(), codes);
        if self.is_descending {
            codes.iter_mut().for_each(|code| *code = self.most.wrapping_sub(*code));
        } else {
            codes.iter_mut().for_each(|code| *code = code.wrapping_sub(self.least));
        }
        let Some(nulls) = &self.nulls else { return };
        match rows {
            Rows::First(_) => codes.iter_mut().zip(range).for_each(|(code, row)| *code &= valid_ones(nulls, row)),
            Rows::Listed(rows) => {
                codes.iter_mut().zip(&rows[range]).for_each(|(code, &row)| *code &= valid_ones(nulls, row as usize));
            }
        }
    }
}

/// The least and the largest bits of the rows at `range` of `rows`. If they take all but one bit of a field, the least and the largest that a field can have.
fn extremes(bits: &dyn Bits, rows: Rows<'_>, range: Range<usize>) -> (u64, u64) {
    let (mut least, mut most) = (u64::MAX, 0);
    let mut block = [0; BLOCK];
    for range in blocks(range) {
        let block = &mut block[..range.len()];
        read(bits, rows, range, block);
        least = block.iter().fold(least, |least, &bits| least.min(bits));
        most = block.iter().fold(most, |most, &bits| most.max(bits));
        if width(least, most) + 1 >= bits.width() {
            // All other rows could narrow the field by one bit at most.
            return (0, u64::MAX >> (u64::BITS - bits.width()));
        }
    }
    (least, most)
}

/// Ranges of at most [`BLOCK`] rows, which together are `range`.
fn blocks(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = range.end;
    range.step_by(BLOCK).map(move |start| start..end.min(start + BLOCK))
}

/// Writes the bits of the rows at `range` of `rows`.
fn read(bits: &dyn Bits, rows: Rows<'_>, range: Range<usize>, out: &mut [u64]) {
    match rows {
        Rows::First(_) => bits.read(range.start, out),
        Rows::Listed(rows) => bits.gather(&rows[range], out),
    }
}

/// Bits of the numbers up to `most - least`; of no number if `most` is less.
fn width(least: u64, most: u64) -> u32 {
    u64::BITS - most.saturating_sub(least).leading_zeros()
}

/// All ones if the row is valid, else zero.
fn valid_ones(nulls: &NullBuffer, row: usize) -> u64 {
    u64::from(nulls.is_valid(row)).wrapping_neg()
}
