//! The key of a sort: the fields of all columns, and the steps that sort by them.
//!
//! Fields follow each other as one string of bits, which is cut into pieces. A piece and the number of the row make a word of 64 bits, so that a
//! sort of words alone sorts the rows, and stably. A piece is a step: rows that are equal by all pieces before it are sorted by it. What follows
//! a string's first bytes, and what only arrow can compare, are steps of their own.
//!
//! ```text
//! columns   a: i32 with nulls     b: i64, range 2^40     c: Utf8 of letters     2^20 rows
//! fields    null 1 | value 32     value 40               first 8 bytes 40
//! pieces    ────────── 44 ──────────┼────────── 44 ────────┼──── 25
//! steps     piece, piece, piece, rest of the strings
//! words     piece | row number
//! ```

use crate::field::{BLOCK, Field, Rows};
use crate::text::Rest;
use crate::threads::fill;
use arrow_ord::ord::DynComparator;
use polysort_core::{Error, Word, permutation};

/// A key: what the rows of one sort are ordered by.
pub(crate) struct Key<'a> {
    len: usize,
    threads: usize,
    fields: Vec<Field<'a>>,
    steps: Vec<Step<'a>>,
    /// Fields before this one are in pieces.
    in_pieces: usize,
}

/// One step of a sort: it orders rows that are equal by all steps before it.
pub(crate) enum Step<'a> {
    /// By a piece of the fields.
    Piece(Piece),
    /// By what follows the first bytes of a string.
    Rest(Rest<'a>),
    /// By comparisons.
    Compared(DynComparator),
}

/// Bits of fields that are sorted by in one step.
pub(crate) struct Piece {
    width: u32,
    slices: Vec<Slice>,
}

/// Bits of a field that are in a piece.
struct Slice {
    field: usize,
    /// Lower bits of the field, which are in the next piece.
    drop: u32,
    /// Lower bits of the piece, which are of later fields.
    shift: u32,
}

impl<'a> Key<'a> {
    /// The key of `len` rows, which makes them equal. Up to `threads` threads read its fields.
    ///
    /// # Errors
    /// [`Error::TooLong`] above 2³² rows.
    pub(crate) fn new(len: usize, threads: usize) -> Result<Self, Error> {
        permutation::check_len(len)?;
        Ok(Self { len, threads, fields: Vec::new(), steps: Vec::new(), in_pieces: 0 })
    }

    /// Adds a field, less significant than all before it. A field without bits adds nothing.
    pub(crate) fn add(&mut self, field: Field<'a>) {
        if field.width() > 0 {
            self.fields.push(field);
        }
    }

    /// Adds a step after all fields so far.
    pub(crate) fn add_step(&mut self, step: Step<'a>) {
        self.cut();
        self.steps.push(step);
    }

    /// The key with all of its steps.
    pub(crate) fn finish(mut self) -> Self {
        self.cut();
        self
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many threads make words.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    pub(crate) fn steps(&self) -> &[Step<'a>] {
        &self.steps
    }

    /// Bits of a word that hold the number of the row.
    pub(crate) fn row_bits(&self) -> u32 {
        usize::BITS - self.len.saturating_sub(1).leading_zeros()
    }

    /// Bits of a word that hold a code: 32 or more.
    pub(crate) fn code_bits(&self) -> u32 {
        u64::BITS - self.row_bits()
    }

    /// Cuts the fields that are in no piece yet into pieces.
    fn cut(&mut self) {
        let most = self.code_bits();
        let mut rest: u32 = self.fields[self.in_pieces..].iter().map(Field::width).sum();
        let mut piece = Piece { width: rest.min(most), slices: Vec::new() };
        let mut room = piece.width;
        for field in self.in_pieces..self.fields.len() {
            let mut drop = self.fields[field].width();
            while drop > 0 {
                let bits = drop.min(room);
                (drop, room, rest) = (drop - bits, room - bits, rest - bits);
                piece.slices.push(Slice { field, drop, shift: room });
                if room == 0 {
                    let next = Piece { width: rest.min(most), slices: Vec::new() };
                    room = next.width;
                    self.steps.push(Step::Piece(core::mem::replace(&mut piece, next)));
                }
            }
        }
        self.in_pieces = self.fields.len();
    }

    /// Whether words of this piece fit in 32 bits.
    pub(crate) fn is_narrow(&self, piece: &Piece) -> bool {
        piece.width + self.row_bits() <= u32::BITS
    }

    /// The words of `rows`: the bits of the piece, and below them the number of the row.
    pub(crate) fn words<W: Word>(&self, piece: &Piece, rows: Rows<'_>) -> Vec<W> {
        let mut words = vec![W::zero(); rows.len()];
        fill(self.threads, &mut words, |start, words| self.write_words(piece, rows, start, words));
        words
    }

    /// Writes the words of the rows from index `start` of `rows` on.
    fn write_words<W: Word>(&self, piece: &Piece, rows: Rows<'_>, start: usize, words: &mut [W]) {
        let row_bits = self.row_bits();
        let (mut sums, mut codes) = ([0; BLOCK], [0; BLOCK]);
        for (words, start) in words.chunks_mut(BLOCK).zip((start..).step_by(BLOCK)) {
            let range = start..start + words.len();
            let (sums, codes) = (&mut sums[..range.len()], &mut codes[..range.len()]);
            match rows {
                Rows::First(_) => sums.iter_mut().zip(range.clone()).for_each(|(sum, row)| *sum = row as u64),
                Rows::Listed(rows) => sums.iter_mut().zip(&rows[range.clone()]).for_each(|(sum, &row)| *sum = row.into()),
            }
            for &Slice { field, drop, shift } in &piece.slices {
                self.fields[field].codes(rows, range.clone(), codes);
                // Higher bits of the field, which are in earlier pieces, are equal in all rows of a tie, so they change no order.
                for (sum, &code) in sums.iter_mut().zip(&*codes) {
                    *sum |= code >> drop << (shift + row_bits);
                }
            }
            words.iter_mut().zip(&*sums).for_each(|(word, &sum)| *word = W::truncate(sum.into()));
        }
    }
}
