//! The sort itself: rows are put in order step by step, and each step sorts the ties of the steps before it.
//!
//! ```text
//! order = all rows, ties = [all rows]
//! for each step:  sort each tie by the step's word, as a segment
//!                 ties = runs of equal words in them
//! ```
//!
//! What makes it fast: words are sorted with the row numbers as values, so that a step finds the new ties by one scan of the sorted words. Few rows
//! are equal by the first 64 bits of most keys. With a limit, the backend first selects the rows that can be within it.

use crate::key::{Cut, Key, Step};
use crate::part::Rows;
use crate::text::{CODE_BITS, CODE_BYTES, Rest};
use core::ops::Range;
use polysort_core::{Backend, Error, Options, Sort, Word, permutation};

/// The rows of a tie that are compared with each other, at most; more are sorted by words. Measured: see `benches/NOTES.md`.
const COMPARED_ROWS: usize = 32;

/// A limit below this fraction of the rows selects before it sorts.
const SELECT_FRACTION: usize = 8;

/// Rows in order.
pub(crate) struct Sorted {
    /// The first rows of the stable order, as many as were asked for.
    pub(crate) rows: Vec<u32>,
    /// Ranges of `rows` that are equal, ascending, each of two rows or more. They are complete if all rows were asked for with them.
    pub(crate) ties: Vec<Range<usize>>,
}

/// The first `limit` of `len` rows in the stable order of `key`.
pub(crate) fn first_rows<B: Backend>(backend: &B, key: &Key<'_>, len: usize, limit: usize) -> Result<Vec<u32>, Error> {
    if limit < len / SELECT_FRACTION
        && let [Step::Word(cut), rest @ ..] = key.steps()
    {
        let (first, words) = select(backend, key, cut, len, limit)?;
        if rest.is_empty() {
            return Ok(first);
        }
        let Some(&last) = first.last() else { return Ok(first) };
        let last = words[last as usize];
        let candidates = (0..).zip(&words).filter(|&(_, &word)| word <= last).map(|(row, _)| row).collect();
        return Ok(Sorter::new(backend, key, Some(candidates), len, limit)?.sort(false)?.rows);
    }
    Ok(Sorter::new(backend, key, None, len, limit)?.sort(false)?.rows)
}

/// All rows in the stable order of `key`, and which of them are equal.
pub(crate) fn all_rows<B: Backend>(backend: &B, key: &Key<'_>, len: usize) -> Result<Sorted, Error> {
    Sorter::new(backend, key, None, len, len)?.sort(true)
}

/// The first `limit` rows by a word, and the words of all rows.
fn select<B: Backend>(backend: &B, key: &Key<'_>, cut: &Cut, len: usize, limit: usize) -> Result<(Vec<u32>, Vec<u64>), Error> {
    let words = key.words::<u64>(cut, Rows::First(len));
    let first = backend.top_k_with(&words, limit, Options::ascending().bits(0..cut.width))?;
    Ok((first.indices, words))
}

struct Sorter<'s, B> {
    backend: &'s B,
    key: &'s Key<'s>,
    rows: Vec<u32>,
    /// Whether `rows` counts up from 0.
    is_identity: bool,
    ties: Vec<Range<usize>>,
    /// Ties from this index of `rows` on need no order.
    limit: usize,
}

impl<'s, B: Backend> Sorter<'s, B> {
    /// Some of `len` rows, ascending, or all of them.
    fn new(backend: &'s B, key: &'s Key<'s>, some: Option<Vec<u32>>, len: usize, limit: usize) -> Result<Self, Error> {
        let is_identity = some.is_none();
        let rows = some.map_or_else(|| permutation::identity(len), Ok)?;
        let mut ties = Vec::new();
        add_tie(0..rows.len(), &mut ties);
        Ok(Self { backend, key, rows, is_identity, ties, limit })
    }

    /// Does all steps. `with_ties` asks for the ties that the last step leaves.
    fn sort(mut self, with_ties: bool) -> Result<Sorted, Error> {
        let (key, steps) = (self.key, self.key.steps());
        for (index, step) in steps.iter().enumerate() {
            if self.ties.is_empty() {
                break;
            }
            let find_ties = with_ties || index + 1 < steps.len();
            match step {
                Step::Word(cut) if cut.width <= u32::BITS => self.by_word::<u32>(key, cut, find_ties)?,
                Step::Word(cut) => self.by_word::<u64>(key, cut, find_ties)?,
                Step::Rest(rest) => self.by_rest(rest)?,
                Step::Compared(compare) => {
                    for tie in core::mem::take(&mut self.ties) {
                        self.by_comparisons(tie, |a, b| compare(a as usize, b as usize));
                    }
                }
            }
            let limit = self.limit;
            self.ties.retain(|tie| tie.start < limit);
        }
        self.rows.truncate(self.limit);
        Ok(Sorted { rows: self.rows, ties: self.ties })
    }

    /// Sorts each tie by a word.
    fn by_word<W: Word + polysort_core::Sortable>(&mut self, key: &Key<'_>, cut: &Cut, find_ties: bool) -> Result<(), Error> {
        let ties = core::mem::take(&mut self.ties);
        if core::mem::take(&mut self.is_identity) {
            let mut words = key.words::<W>(cut, Rows::First(self.rows.len()));
            self.backend.sort_pairs_with(&mut words, &mut self.rows, Options::ascending().bits(0..cut.width))?;
            if find_ties {
                runs(&words, 0, |tie, _| add_tie(tie, &mut self.ties));
            }
            return Ok(());
        }
        let words = match &ties[..] {
            [tie] => key.words::<W>(cut, Rows::Listed(&self.rows[tie.clone()])),
            _ => key.words::<W>(cut, Rows::Listed(&gathered(&self.rows, &ties))),
        };
        let mut left = Vec::new();
        self.by_words(&ties, words, cut.width, |_, tie, _| add_tie(tie, &mut left))?;
        if find_ties {
            self.ties = left;
        }
        Ok(())
    }

    /// Sorts each of `ties` by the low `width` bits of its `words`, which follow each other. Hands over each run of equal words: the index of the
    /// tie that it was a part of, its range of rows, and the word.
    fn by_words<W: Word + polysort_core::Sortable>(
        &mut self,
        ties: &[Range<usize>],
        mut words: Vec<W>,
        width: u32,
        mut found: impl FnMut(usize, Range<usize>, W),
    ) -> Result<(), Error> {
        let options = Options::ascending().bits(0..width);
        if let [tie] = ties {
            self.backend.sort_pairs_with(&mut words, &mut self.rows[tie.clone()], options)?;
            runs(&words, tie.start, |run, word| found(0, run, word));
            return Ok(());
        }
        let mut rows = gathered(&self.rows, ties);
        let offsets: Vec<usize> = core::iter::once(0).chain(ends(ties)).collect();
        self.backend.sort_pairs_segments_with(&mut words, &mut rows, &offsets, options)?;
        for (index, tie) in ties.iter().enumerate() {
            let segment = offsets[index]..offsets[index + 1];
            self.rows[tie.clone()].copy_from_slice(&rows[segment.clone()]);
            runs(&words[segment], tie.start, |run, word| found(index, run, word));
        }
        Ok(())
    }

    /// Sorts each tie by the bytes that follow the first code of its strings.
    fn by_rest(&mut self, rest: &Rest<'_>) -> Result<(), Error> {
        let (open, done): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.ties).into_iter().partition(|tie| rest.continues(self.rows[tie.start]));
        self.is_identity = false;
        self.ties = done;
        let mut open: Vec<(Range<usize>, usize)> = open.into_iter().map(|tie| (tie, rest.skip)).collect();
        while !open.is_empty() {
            let (few, many): (Vec<_>, Vec<_>) = open.drain(..).partition(|(tie, _)| tie.len() <= COMPARED_ROWS);
            for (tie, skip) in few {
                self.by_comparisons(tie, |a, b| rest.compare(a, b, skip));
            }
            let (mut ties, mut skips, mut words) = (Vec::new(), Vec::new(), Vec::new());
            for (tie, skip) in many {
                let rows = &self.rows[tie.clone()];
                let skip = skip + rest.shared(rows, skip);
                words.extend(rows.iter().map(|&row| rest.code(row, skip)));
                ties.push(tie);
                skips.push(skip);
            }
            let (mut done, limit) = (core::mem::take(&mut self.ties), self.limit);
            self.by_words(&ties, words, CODE_BITS, |index, run, code| {
                if run.len() > 1 && run.start < limit && rest.has_more(code) {
                    open.push((run, skips[index] + CODE_BYTES));
                } else {
                    add_tie(run, &mut done);
                }
            })?;
            self.ties = done;
        }
        self.ties.sort_unstable_by_key(|tie| tie.start);
        Ok(())
    }

    /// Sorts the rows of a tie by comparisons, and adds the ties that are left.
    fn by_comparisons(&mut self, tie: Range<usize>, compare: impl Fn(u32, u32) -> core::cmp::Ordering) {
        let rows = &mut self.rows[tie.clone()];
        rows.sort_by(|&a, &b| compare(a, b));
        let mut start = tie.start;
        for run in rows.chunk_by(|&a, &b| compare(a, b).is_eq()) {
            add_tie(start..start + run.len(), &mut self.ties);
            start += run.len();
        }
    }
}

/// The rows of all ties, one tie after the other.
fn gathered(rows: &[u32], ties: &[Range<usize>]) -> Vec<u32> {
    ties.iter().flat_map(|tie| &rows[tie.clone()]).copied().collect()
}

/// Where each tie ends if the ties follow each other.
fn ends(ties: &[Range<usize>]) -> impl Iterator<Item = usize> {
    ties.iter().scan(0, |end, tie| {
        *end += tie.len();
        Some(*end)
    })
}

/// Hands over each run of equal words, with its range if the first word is at `start`.
fn runs<W: Word>(words: &[W], start: usize, mut found: impl FnMut(Range<usize>, W)) {
    let mut begin = 0;
    for end in 1..=words.len() {
        if words.get(end) != Some(&words[begin]) {
            found(start + begin..start + end, words[begin]);
            begin = end;
        }
    }
}

/// Adds a range of equal rows to the ties. One row is no tie.
fn add_tie(range: Range<usize>, ties: &mut Vec<Range<usize>>) {
    if range.len() > 1 {
        ties.push(range);
    }
}
