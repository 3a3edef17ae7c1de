//! Input that is in order already, or in the opposite one.

use crate::columns::{Columns, Source};
use crate::record::Record;
use crate::sort::threads_for;
use crate::window::Window;
use core::ops::Range;
use num_traits::Zero;
use rayon::prelude::*;

/// Records that one look covers. The first look ends the search for nearly all input that is not sorted.
const LOOK: usize = 64;
const LONG_LOOK: usize = 16 << 10;

/// Sorts `columns` if they are in ascending or descending order by `window`, and says whether they were.
pub(crate) fn settle<C: Columns>(columns: &mut C, window: Window, whole: bool) -> bool {
    if holds_throughout(columns, window, |before, after| before <= after) {
        return true;
    }
    if !holds_throughout(columns, window, |before, after| before >= after) {
        return false;
    }
    let ties = if whole { vec![] } else { runs_of_ties(columns, window) };
    let len = columns.len();
    columns.reverse(0..len);
    // Equal records are in the opposite order now, and get their own back.
    for tie in ties {
        columns.reverse(len - tie.end..len - tie.start);
    }
    true
}

/// Whether `ordered` holds for the ranks of all neighbours.
fn holds_throughout<C: Columns>(columns: &C, window: Window, ordered: impl Fn(Rank<C>, Rank<C>) -> bool + Copy + Sync) -> bool {
    let len = columns.len();
    // Looks overlap by a record, so that none misses a neighbour.
    let look = |start: usize, length: usize| holds(columns, start..(start + length + 1).min(len), window, ordered);
    if !look(0, LOOK) || !look(LOOK.min(len), LONG_LOOK) {
        return false;
    }
    let rest = (LOOK + LONG_LOOK).min(len)..len;
    if threads_for(len * size_of::<C::Record>()) == 1 {
        rest.step_by(LONG_LOOK).all(|start| look(start, LONG_LOOK))
    } else {
        rest.into_par_iter().step_by(LONG_LOOK).all(|start| look(start, LONG_LOOK))
    }
}

type Rank<C> = <<C as Source>::Record as Record>::Key;

/// Whether `ordered` holds for the ranks of all neighbours in `range`.
fn holds<C: Columns>(columns: &C, range: Range<usize>, window: Window, ordered: impl Fn(Rank<C>, Rank<C>) -> bool) -> bool {
    let (mut all, mut last) = (true, None);
    columns.read(range, |records| {
        let [first, .., end] = records else {
            // One record: it only has a neighbour before it.
            let rank = window.mask(records[0].key());
            all &= last.is_none_or(|last| ordered(last, rank));
            last = Some(rank);
            return;
        };
        all &= last.is_none_or(|last| ordered(last, window.mask(first.key())));
        let neighbours = records.iter().zip(&records[1..]);
        all &= neighbours.fold(true, |all, (a, b)| all & ordered(window.mask(a.key()), window.mask(b.key())));
        last = Some(window.mask(end.key()));
    });
    all
}

/// The stretches of more than one record that are equal in `window`.
fn runs_of_ties<C: Columns>(columns: &C, window: Window) -> Vec<Range<usize>> {
    let mut ties: Vec<Range<usize>> = vec![];
    let (mut at, mut last) = (0, None);
    columns.read(0..columns.len(), |records| {
        for record in records {
            if last.is_some_and(|last: Rank<C>| window.mask(last ^ record.key()).is_zero()) {
                match ties.last_mut() {
                    Some(tie) if tie.end == at => tie.end = at + 1,
                    _ => ties.push(at - 1..at + 1),
                }
            }
            last = Some(record.key());
            at += 1;
        }
    });
    ties
}
