//! The key of a sort: the parts of all columns, and the steps that sort by them.
//!
//! Parts follow each other as one string of bits, which is cut into words of 64 bits. A word is a step: rows that are equal by all words before
//! it are sorted by it. What follows a string's first bytes, and what only arrow can compare, are steps of their own.
//!
//! ```text
//! columns   a: i32 with nulls      b: i64, range 2^40     c: Utf8
//! parts     null 1 | value 32      value 40               first bytes 60
//! words     ──────────── 64 ────────────┼───────────── 64 ──────────┼─ 5
//! steps     word, word, word, rest of the strings
//! ```

use crate::part::{BLOCK, Part, Rows};
use crate::text::Rest;
use arrow_ord::ord::DynComparator;
use polysort_core::Word;

/// A key: what the rows of one sort are ordered by.
#[derive(Default)]
pub(crate) struct Key<'a> {
    parts: Vec<Part<'a>>,
    steps: Vec<Step<'a>>,
    /// Parts before this one are in words.
    in_words: usize,
}

/// One step of a sort: it orders rows that are equal by all steps before it.
pub(crate) enum Step<'a> {
    /// By a word of the parts.
    Word(Cut),
    /// By what follows the first bytes of a string.
    Rest(Rest<'a>),
    /// By comparisons.
    Compared(DynComparator),
}

/// The bits of a word.
pub(crate) struct Cut {
    /// Bits of the word.
    pub(crate) width: u32,
    slices: Vec<Slice>,
}

/// Bits of a part that are in a word.
struct Slice {
    part: usize,
    /// Lower bits of the part, which are in the next word.
    drop: u32,
    mask: u64,
    /// Lower bits of the word, which are of later parts.
    shift: u32,
}

impl<'a> Key<'a> {
    /// Adds a part, less significant than all before it. A part without bits adds nothing.
    pub(crate) fn add(&mut self, part: Part<'a>) {
        if part.width() > 0 {
            self.parts.push(part);
        }
    }

    /// Adds a step after all parts so far.
    pub(crate) fn add_step(&mut self, step: Step<'a>) {
        self.cut();
        self.steps.push(step);
    }

    /// All steps, in order.
    pub(crate) fn finish(mut self) -> Self {
        self.cut();
        self
    }

    pub(crate) fn steps(&self) -> &[Step<'a>] {
        &self.steps
    }

    /// Cuts the parts that are in no word yet into words.
    fn cut(&mut self) {
        let mut rest: u32 = self.parts[self.in_words..].iter().map(Part::width).sum();
        let mut word = Cut { width: rest.min(u64::BITS), slices: Vec::new() };
        let mut room = word.width;
        for part in self.in_words..self.parts.len() {
            let mut drop = self.parts[part].width();
            while drop > 0 {
                let bits = drop.min(room);
                (drop, room, rest) = (drop - bits, room - bits, rest - bits);
                word.slices.push(Slice { part, drop, mask: u64::MAX >> (u64::BITS - bits), shift: room });
                if room == 0 {
                    let next = Cut { width: rest.min(u64::BITS), slices: Vec::new() };
                    room = next.width;
                    self.steps.push(Step::Word(core::mem::replace(&mut word, next)));
                }
            }
        }
        self.in_words = self.parts.len();
    }

    /// The words of `rows`. `W` has the bits of the cut, at least.
    pub(crate) fn words<W: Word>(&self, cut: &Cut, rows: Rows<'_>) -> Vec<W> {
        let mut words = Vec::with_capacity(rows.len());
        let (mut sums, mut codes) = ([0; BLOCK], [0; BLOCK]);
        for range in rows.blocks() {
            let (sums, codes) = (&mut sums[..range.len()], &mut codes[..range.len()]);
            sums.fill(0);
            for &Slice { part, drop, mask, shift } in &cut.slices {
                self.parts[part].codes(rows, range.clone(), codes);
                for (sum, &code) in sums.iter_mut().zip(&*codes) {
                    *sum |= (code >> drop & mask) << shift;
                }
            }
            words.extend(sums.iter().map(|&sum| W::truncate(sum.into())));
        }
        words
    }
}
