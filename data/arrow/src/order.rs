//! The sort itself: rows are put in order step by step, and each step sorts the ties of the steps before it.
//!
//! ```text
//! order = all rows, ties = [all rows]
//! for each step:  sort each tie by the step's word, as a segment
//!                 ties = runs of equal words in them
//! ```
//!
//! What makes it fast: a word has the number of its row in its low bits, so that the backend sorts words alone, and one scan of the sorted words
//! gives both the rows and the new ties. Few rows are equal by the first step of most keys. With a limit, the backend first selects the rows
//! that can be within it.

use crate::field::Rows;
use crate::key::{Key, Piece, Step};
use crate::text::Rest;
use crate::threads::fill;
use core::ops::Range;
use polysort_core::{Backend, Error, Sort, Sortable, Word};

/// The rows of a tie that are compared with each other, at most; more are sorted by words. Not measured.
const COMPARED_ROWS: usize = 32;

/// A limit below this fraction of the rows selects before it sorts. Not measured.
const SELECT_FRACTION: usize = 8;

/// Rows in order.
pub(crate) struct Sorted {
    /// The first rows of the stable order, as many as were asked for.
    pub(crate) rows: Vec<u32>,
    /// Ranges of `rows` that are equal, ascending, each of two rows or more. They are complete if all rows were asked for with them.
    pub(crate) ties: Vec<Range<usize>>,
}

/// The first `limit` of `rows`, which ascend, in the stable order of `key`. `None` is all rows.
pub(crate) fn first_rows<B: Backend>(
    backend: &B,
    key: &Key<'_>,
    rows: Option<Vec<u32>>,
    limit: usize,
) -> Result<Vec<u32>, Error> {
    let len = rows.as_ref().map_or(key.len(), Vec::len);
    if limit < len / SELECT_FRACTION
        && let [Step::Piece(piece), rest @ ..] = key.steps()
    {
        let words = key.words::<u64>(piece, rows.as_deref().map_or(Rows::First(len), Rows::Listed));
        let first = backend.bottom_k(&words, limit)?.keys;
        let Some(last) = first.last().filter(|_| !rest.is_empty()) else {
            return Ok(first.iter().map(|&word| row_of(key, word)).collect());
        };
        // All rows that equal the last one by the first step can be within the limit.
        let last = last | row_ones(key);
        let candidates = words.into_iter().filter(|&word| word <= last).map(|word| row_of(key, word)).collect();
        return Ok(Sorter::new(backend, key, Some(candidates), limit).sort(false)?.rows);
    }
    Ok(Sorter::new(backend, key, rows, limit).sort(false)?.rows)
}

/// All rows in the stable order of `key`, and which of them are equal.
pub(crate) fn all_rows<B: Backend>(backend: &B, key: &Key<'_>) -> Result<Sorted, Error> {
    Sorter::new(backend, key, None, key.len()).sort(true)
}

/// The bits of a word that hold the number of the row, all ones.
fn row_ones(key: &Key<'_>) -> u64 {
    !(u64::MAX << key.row_bits())
}

fn row_of(key: &Key<'_>, word: u64) -> u32 {
    (word & row_ones(key)) as u32
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
    /// Will sort `rows`, which ascend, or all rows.
    fn new(backend: &'s B, key: &'s Key<'s>, rows: Option<Vec<u32>>, limit: usize) -> Self {
        let is_identity = rows.is_none();
        let rows = rows.unwrap_or_else(|| {
            let mut rows = vec![0; key.len()];
            fill(key.threads(), &mut rows, |start, rows| {
                rows.iter_mut().zip(start..).for_each(|(row, index)| *row = index as u32);
            });
            rows
        });
        let mut ties = Vec::new();
        add_tie(0..rows.len(), &mut ties);
        Self { backend, key, rows, is_identity, ties, limit }
    }

    /// Does all steps. `with_ties` asks for the ties that the last step leaves.
    fn sort(mut self, with_ties: bool) -> Result<Sorted, Error> {
        let steps = self.key.steps();
        for (index, step) in steps.iter().enumerate() {
            if self.ties.is_empty() {
                break;
            }
            let find_ties = with_ties || index + 1 < steps.len();
            match step {
                Step::Piece(piece) if self.key.is_narrow(piece) => self.by_piece::<u32>(piece, find_ties)?,
                Step::Piece(piece) => self.by_piece::<u64>(piece, find_ties)?,
                Step::Rest(rest) => self.by_rest(rest)?,
                Step::Compared(compare) => {
                    for tie in core::mem::take(&mut self.ties) {
                        self.by_comparisons(tie, |a, b| compare(a as usize, b as usize));
                    }
                }
            }
            self.is_identity = false;
            let limit = self.limit;
            self.ties.retain(|tie| tie.start < limit);
        }
        self.rows.truncate(self.limit);
        Ok(Sorted { rows: self.rows, ties: self.ties })
    }

    /// Sorts each tie by a piece.
    fn by_piece<W: Word + Sortable>(&mut self, piece: &Piece, find_ties: bool) -> Result<(), Error> {
        let ties = core::mem::take(&mut self.ties);
        let words: Vec<W> = match &ties[..] {
            _ if self.is_identity => self.key.words(piece, Rows::First(self.rows.len())),
            [tie] => self.key.words(piece, Rows::Listed(&self.rows[tie.clone()])),
            _ => self.key.words(piece, Rows::Listed(&gathered(&self.rows, &ties))),
        };
        let words = self.by_words(&ties, words)?;
        if find_ties {
            runs(&ties, &words, self.key.row_bits(), |_, run, _| self.ties.push(run));
        }
        Ok(())
    }

    /// Sorts each of `ties` by its `words`, which follow each other, and returns the sorted words.
    fn by_words<W: Word + Sortable>(&mut self, ties: &[Range<usize>], mut words: Vec<W>) -> Result<Vec<W>, Error> {
        let row_ones = W::truncate(row_ones(self.key).into());
        let copy_rows = |rows: &mut [u32], words: &[W]| {
            rows.iter_mut().zip(words).for_each(|(row, &word)| *row = (word & row_ones).index() as u32);
        };
        if let [tie] = ties {
            self.backend.sort(&mut words)?;
            fill(self.key.threads(), &mut self.rows[tie.clone()], |start, rows| copy_rows(rows, &words[start..]));
            return Ok(words);
        }
        let offsets: Vec<usize> = core::iter::once(0).chain(ends(ties)).collect();
        self.backend.sort_segments(&mut words, &offsets)?;
        let mut sorted = &words[..];
        for tie in ties {
            let (own, others) = sorted.split_at(tie.len());
            copy_rows(&mut self.rows[tie.clone()], own);
            sorted = others;
        }
        Ok(words)
    }

    /// Sorts each tie by the bytes that follow the first code of its strings.
    fn by_rest(&mut self, rest: &Rest<'_>) -> Result<(), Error> {
        let ties = core::mem::take(&mut self.ties);
        let (open, done): (Vec<_>, Vec<_>) = ties.into_iter().partition(|tie| rest.continues(&self.rows[tie.clone()]));
        self.ties = done;
        let mut open: Vec<(Range<usize>, usize)> = open.into_iter().map(|tie| (tie, rest.skip)).collect();
        while !open.is_empty() {
            let (few, many): (Vec<_>, Vec<_>) = open.drain(..).partition(|(tie, _)| tie.len() <= COMPARED_ROWS);
            for (tie, skip) in few {
                self.by_comparisons(tie, |a, b| rest.compare(a, b, skip));
            }
            let (mut ties, mut skips, mut words) = (Vec::new(), Vec::new(), Vec::<u64>::new());
            for (tie, skip) in many {
                let rows = &self.rows[tie.clone()];
                let skip = skip + rest.shared(rows, skip);
                words.extend(rows.iter().map(|&row| rest.code(row, skip) << self.key.row_bits() | u64::from(row)));
                ties.push(tie);
                skips.push(skip + rest.code_bytes);
            }
            let words = self.by_words(&ties, words)?;
            runs(&ties, &words, self.key.row_bits(), |index, run, code| {
                if run.start < self.limit && rest.has_more(code) {
                    open.push((run, skips[index]));
                } else {
                    self.ties.push(run);
                }
            });
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

/// Hands over each run of two or more equal codes in the sorted `words` of `ties`: the index of the tie that it was a part of, its range of rows,
/// and the code.
fn runs<W: Word>(ties: &[Range<usize>], words: &[W], row_bits: u32, mut found: impl FnMut(usize, Range<usize>, W)) {
    let mut words = words;
    for (index, tie) in ties.iter().enumerate() {
        let (own, others) = words.split_at(tie.len());
        words = others;
        let is_equal = |at: usize| at < own.len() && (own[at - 1] ^ own[at]) >> row_bits as usize == W::zero();
        let mut at = 1;
        while at < own.len() {
            let start = at - 1;
            while is_equal(at) {
                at += 1;
            }
            if at - start > 1 {
                found(index, tie.start + start..tie.start + at, own[start] >> row_bits as usize);
            }
            at += 1;
        }
    }
}

/// Adds a range of equal rows to the ties. One row is no tie.
fn add_tie(range: Range<usize>, ties: &mut Vec<Range<usize>>) {
    if range.len() > 1 {
        ties.push(range);
    }
}
