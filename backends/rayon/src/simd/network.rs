//! Sorting networks in registers: a fixed sequence of exchanges, the same for all keys, so no pattern is slow and no branch mispredicted.
//!
//! Up to 16 registers are the rows of a matrix. Its columns are sorted first, all lanes at once, by a network over rows. Then neighbouring
//! columns are merged, by twos, fours and so on, until the matrix is one sequence, row by row.
//!
//! ```text
//! keys          columns sorted   pairs of columns merged   all merged
//! 7 2 8 1       0 2 4 1          0 2 | 1 4                 0 1 2 4
//! 0 5 4 9       7 5 8 9          5 7 | 8 9                 5 7 8 9      (a small matrix)
//! ```
//!
//! A merge of two sorted groups of columns, each `C/2` lanes wide, is bitonic: each key of one group meets the key of the other group
//! that is as far from the end as it is from the start. That is the row as far from the last and the lane `^ (C - 1)`. Each half of the
//! rows is then a smaller problem of the same kind; at a single row the rest is within the register.
//! (Blacher, Giesen, Peters, Wassenberg: "Vectorized and performance-portable Quicksort", 2022.)
//!
//! More keys than the rows hold are sorted in blocks, which are then merged, bitonically too, in memory.
//!
//! Keys that are not there count as the greatest. Exchanges with rows of such keys are left out, so a number of rows that is no power of
//! two costs no more than its share.

use super::registers::{Map, Registers, Work};
use num_traits::Bounded;

/// Sorts `from`, or if there is none what is in `to`, into `to`, which is as long. Words are mapped by `enter` before they are compared, and
/// by `leave` afterwards.
#[inline(always)]
pub(super) fn sort<S: Registers>(set: S, from: Option<&[S::Word]>, to: &mut [S::Word], enter: Map<S::Word>, leave: Map<S::Word>) {
    let (enter, leave) = (enter.biased(S::BIAS), leave.unbiased(S::BIAS));
    let block = S::ROWS * S::LANES;
    let one_block = to.len() <= block;
    let mut rest = from;
    for to in to.chunks_mut(block) {
        let from = rest.map(|from| from.split_at(to.len()));
        rest = from.map(|(_, rest)| rest);
        let (from, leave) = (from.map(|(from, _)| from), if one_block { leave } else { Map::identity() });
        by_rows(set, to.len(), &mut SortBlock { set, from, to, enter, leave });
    }
    if !one_block {
        merge_blocks(set, to, leave);
    }
}

/// Work on a number of rows that is known when it is compiled.
trait OnRows {
    fn run<const N: usize>(&mut self);
}

/// Work on `N` rows, in a function of its own.
struct Apart<'a, O, const N: usize>(&'a mut O);

impl<O: OnRows, const N: usize> Work for Apart<'_, O, N> {
    #[inline(always)]
    fn run(self) {
        self.0.run::<N>();
    }
}

/// Runs `work` on the least number of rows that is compiled and takes `len` words. All but the last two of them are full.
#[inline(always)]
fn by_rows<S: Registers, O: OnRows>(set: S, len: usize, work: &mut O) {
    match len.div_ceil(S::LANES) {
        0 | 1 => set.apart(Apart::<O, 1>(work)),
        2 => set.apart(Apart::<O, 2>(work)),
        3 => set.apart(Apart::<O, 3>(work)),
        4 => set.apart(Apart::<O, 4>(work)),
        5 | 6 => set.apart(Apart::<O, 6>(work)),
        7 | 8 => set.apart(Apart::<O, 8>(work)),
        9 | 10 if const { S::ROWS > 8 } => set.apart(Apart::<O, 10>(work)),
        11 | 12 if const { S::ROWS > 8 } => set.apart(Apart::<O, 12>(work)),
        13 | 14 if const { S::ROWS > 8 } => set.apart(Apart::<O, 14>(work)),
        15 | 16 if const { S::ROWS > 8 } => set.apart(Apart::<O, 16>(work)),
        rows => unreachable!("a block of {rows} rows"),
    }
}

struct SortBlock<'a, S: Registers> {
    set: S,
    from: Option<&'a [S::Word]>,
    to: &'a mut [S::Word],
    enter: Map<S::Word>,
    leave: Map<S::Word>,
}

impl<S: Registers> OnRows for SortBlock<'_, S> {
    #[inline(always)]
    fn run<const N: usize>(&mut self) {
        let mut rows = load_rows::<S, N>(self.set, self.from.unwrap_or(self.to), self.enter);
        sort_rows(self.set, &mut rows);
        store_rows(self.set, rows, self.to, self.leave);
    }
}

/// Does something for each row, written out: a loop would keep the rows in memory. Rows that there are not take the compiler no time.
macro_rules! each_row {
    ($count:ident, |$at:ident| $body:expr) => {
        each_row!(@ $count, $at, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $count:ident, $at:ident, $body:expr, $($index:literal)*) => {{
        $(if const { $index < $count } {
            const $at: usize = $index;
            $body;
        })*
    }};
}

/// The rows of `words`, of which there are as many as [`by_rows`] says.
#[inline(always)]
fn load_rows<S: Registers, const N: usize>(set: S, words: &[S::Word], enter: Map<S::Word>) -> [S::Register; N] {
    // What follows needs no other check of bounds.
    assert!(N <= 2 || words.len() >= (N - 2) * S::LANES);
    let greatest = enter.invert(S::Word::max_value() ^ S::BIAS);
    let mut rows = [set.splat(greatest); N];
    each_row!(N, |AT| {
        let start = AT * S::LANES;
        rows[AT] = match const { AT + 2 < N } {
            true => set.load(&words[start..start + S::LANES]),
            false => set.load_some(&words[start.min(words.len())..], greatest),
        };
    });
    if !enter.is_identity() {
        each_row!(N, |AT| rows[AT] = enter.apply_to(set, rows[AT]));
    }
    rows
}

#[inline(always)]
fn store_rows<S: Registers, const N: usize>(set: S, mut rows: [S::Register; N], words: &mut [S::Word], leave: Map<S::Word>) {
    if !leave.is_identity() {
        each_row!(N, |AT| rows[AT] = leave.apply_to(set, rows[AT]));
    }
    let len = words.len();
    assert!(N <= 2 || len >= (N - 2) * S::LANES);
    each_row!(N, |AT| {
        let start = AT * S::LANES;
        match const { AT + 2 < N } {
            true => set.store(rows[AT], &mut words[start..start + S::LANES]),
            false => set.store_some(rows[AT], &mut words[start.min(len)..]),
        }
    });
}

/// Sorts a matrix, row by row.
#[inline(always)]
fn sort_rows<S: Registers, const N: usize>(set: S, rows: &mut [S::Register; N]) {
    sort_columns(set, rows);
    merge_columns::<S, N, 1>(set, rows);
    if const { S::LANES > 2 } {
        merge_columns::<S, N, 3>(set, rows);
    }
    if const { S::LANES > 4 } {
        merge_columns::<S, N, 7>(set, rows);
    }
    if const { S::LANES > 8 } {
        merge_columns::<S, N, 15>(set, rows);
    }
    if const { S::LANES > 16 } {
        merge_columns::<S, N, 31>(set, rows);
    }
}

/// Sorts two rows, lane by lane.
#[inline(always)]
fn exchange_rows<S: Registers, const N: usize>(set: S, rows: &mut [S::Register; N], low: usize, high: usize) {
    (rows[low], rows[high]) = set.sort2(rows[low], rows[high]);
}

/// Exchanges of two rows, one after the other. Those with a row that there is not are left out.
macro_rules! exchanges {
    ($set:ident $rows:ident[$count:ident] $(($low:literal $high:literal))*) => {{
        $(if const { $high < $count } {
            exchange_rows($set, $rows, $low, $high);
        })*
    }};
}

/// Sorts each column, by the smallest network known for 4, 8 or 16 rows. (Knuth, "The Art of Computer Programming", volume 3, 5.3.4;
/// the one for 16 is Green's, in an order found by Bert Dobbelaere that needs fewer steps.)
#[inline(always)]
fn sort_columns<S: Registers, const N: usize>(set: S, rows: &mut [S::Register; N]) {
    if const { N <= 4 } {
        exchanges!(set rows[N] (0 2)(1 3) (0 1)(2 3) (1 2));
    } else if const { N <= 8 } {
        exchanges!(set rows[N]
            (0 2)(1 3)(4 6)(5 7) (0 4)(1 5)(2 6)(3 7) (0 1)(2 3)(4 5)(6 7) (2 4)(3 5) (1 4)(3 6) (1 2)(3 4)(5 6));
    } else {
        exchanges!(set rows[N]
            (0 13)(1 12)(2 15)(3 14)(4 8)(5 6)(7 11)(9 10) (0 5)(1 7)(2 9)(3 4)(6 13)(8 14)(10 15)(11 12)
            (0 1)(2 3)(4 5)(6 8)(7 9)(10 11)(12 13)(14 15) (0 2)(1 3)(4 10)(5 11)(6 7)(8 9)(12 14)(13 15)
            (1 2)(3 12)(4 6)(5 7)(8 10)(9 11)(13 14) (1 4)(2 6)(5 8)(7 10)(9 13)(11 14) (2 4)(3 6)(9 12)(11 13)
            (3 5)(6 8)(7 9)(10 12) (3 4)(5 6)(7 8)(9 10)(11 12) (6 7)(8 9));
    }
}

/// Merges groups of columns, each sorted row by row, by twos; `X` is one less than the lanes of two groups.
#[inline(always)]
fn merge_columns<S: Registers, const N: usize, const X: usize>(set: S, rows: &mut [S::Register; N]) {
    if const { N > 8 } {
        mirror::<S, N, X, 16>(set, rows);
    }
    if const { N > 4 } {
        mirror::<S, N, X, 8>(set, rows);
    }
    if const { N > 2 } {
        mirror::<S, N, X, 4>(set, rows);
    }
    if const { N > 1 } {
        mirror::<S, N, X, 2>(set, rows);
    }
    each_row!(N, |AT| rows[AT] = set.sort_lanes::<X>(rows[AT]));
    if const { X > 1 } {
        half_clean_lanes(set, rows, (X + 1) / 4);
    }
}

/// Whether a row is in the second half of its block of `block` rows.
const fn is_high(row: usize, block: usize) -> bool {
    row % block >= block / 2
}

/// In each block of `B` rows, exchanges row and lane with those as far from the end as they are from the start.
#[inline(always)]
fn mirror<S: Registers, const N: usize, const X: usize, const B: usize>(set: S, rows: &mut [S::Register; N]) {
    each_row!(N, |HIGH| {
        if const { is_high(HIGH, B) } {
            let low = const { HIGH / B * B + B - 1 - HIGH % B };
            (rows[low], rows[HIGH]) = set.sort2(rows[low], set.exchange::<X>(rows[HIGH]));
        }
    });
}

/// Sorts each row whose groups of `2 * widest` lanes are bitonic.
#[inline(always)]
pub(super) fn half_clean_lanes<S: Registers, const N: usize>(set: S, rows: &mut [S::Register; N], widest: usize) {
    if widest >= 16 {
        each_row!(N, |AT| rows[AT] = set.sort_lanes::<16>(rows[AT]));
    }
    if widest >= 8 {
        each_row!(N, |AT| rows[AT] = set.sort_lanes::<8>(rows[AT]));
    }
    if widest >= 4 {
        each_row!(N, |AT| rows[AT] = set.sort_lanes::<4>(rows[AT]));
    }
    if widest >= 2 {
        each_row!(N, |AT| rows[AT] = set.sort_lanes::<2>(rows[AT]));
    }
    each_row!(N, |AT| rows[AT] = set.sort_lanes::<1>(rows[AT]));
}

/// Sorts a matrix that is bitonic, row by row, and whose missing rows are greater than all.
#[inline(always)]
fn half_clean<S: Registers, const N: usize>(set: S, rows: &mut [S::Register; N]) {
    if const { N > 8 } {
        exchanges!(set rows[N] (0 8)(1 9)(2 10)(3 11)(4 12)(5 13)(6 14)(7 15));
    }
    if const { N > 4 } {
        exchanges!(set rows[N] (0 4)(1 5)(2 6)(3 7));
    }
    if const { N > 12 } {
        exchanges!(set rows[N] (8 12)(9 13)(10 14)(11 15));
    }
    exchanges!(set rows[N] (0 2)(1 3)(4 6)(5 7)(8 10)(9 11)(12 14)(13 15) (0 1)(2 3)(4 5)(6 7)(8 9)(10 11)(12 13)(14 15));
    half_clean_lanes(set, rows, S::LANES / 2);
}

/// Words in memory, row by row. The last row may be short; the lanes that it lacks are the greatest words, and stay so.
struct Rows<'a, S: Registers> {
    set: S,
    words: &'a mut [S::Word],
}

impl<S: Registers> Rows<'_, S> {
    #[inline(always)]
    fn get(&self, row: usize) -> S::Register {
        let start = row * S::LANES;
        match self.words.get(start..start + S::LANES) {
            Some(words) => self.set.load(words),
            None => self.set.load_some(&self.words[start..], S::Word::max_value() ^ S::BIAS),
        }
    }

    #[inline(always)]
    fn put(&mut self, row: usize, register: S::Register) {
        let start = row * S::LANES;
        match self.words.get_mut(start..start + S::LANES) {
            Some(words) => self.set.store(register, words),
            None => self.set.store_some(register, &mut self.words[start..]),
        }
    }
}

/// Merges sorted blocks of [`Registers::ROWS`] rows, the last of which may be shorter, and maps the words by `leave`.
#[inline(always)]
fn merge_blocks<S: Registers>(set: S, words: &mut [S::Word], leave: Map<S::Word>) {
    let count = words.len().div_ceil(S::LANES);
    let mut run = S::ROWS;
    while run < count {
        let leave = if 2 * run < count { Map::identity() } else { leave };
        for words in words.chunks_mut(2 * run * S::LANES).filter(|words| words.len() > run * S::LANES) {
            merge_two(set, words, run, leave);
        }
        run *= 2;
    }
}

/// Merges a sorted run of `run` rows with the one behind it, which is no longer.
#[inline(always)]
fn merge_two<S: Registers>(set: S, words: &mut [S::Word], run: usize, leave: Map<S::Word>) {
    let count = words.len().div_ceil(S::LANES);
    let mut rows = Rows { set, words };
    // The second run backwards makes one bitonic sequence of both. Back in its own order, a short last row keeps the words that it has.
    for high in run..count {
        let low = 2 * run - 1 - high;
        let (less, greater) = set.sort2(rows.get(low), exchange_all(set, rows.get(high)));
        rows.put(low, less);
        rows.put(high, exchange_all(set, greater));
    }
    let mut distance = run / 2;
    while distance >= S::ROWS {
        for start in (0..count).step_by(2 * distance) {
            for high in start + distance..(start + 2 * distance).min(count) {
                let (less, greater) = set.sort2(rows.get(high - distance), rows.get(high));
                rows.put(high - distance, less);
                rows.put(high, greater);
            }
        }
        distance /= 2;
    }
    for words in rows.words.chunks_mut(S::ROWS * S::LANES) {
        by_rows(set, words.len(), &mut Clean { set, words, leave });
    }
}

struct Clean<'a, S: Registers> {
    set: S,
    words: &'a mut [S::Word],
    leave: Map<S::Word>,
}

impl<S: Registers> OnRows for Clean<'_, S> {
    #[inline(always)]
    fn run<const N: usize>(&mut self) {
        let mut rows = load_rows::<S, N>(self.set, self.words, Map::identity());
        half_clean(self.set, &mut rows);
        store_rows(self.set, rows, self.words, self.leave);
    }
}

/// The lanes of a register in the opposite order.
#[inline(always)]
pub(super) fn exchange_all<S: Registers>(set: S, register: S::Register) -> S::Register {
    match S::LANES {
        2 => set.exchange::<1>(register),
        4 => set.exchange::<3>(register),
        8 => set.exchange::<7>(register),
        16 => set.exchange::<15>(register),
        _ => set.exchange::<31>(register),
    }
}
