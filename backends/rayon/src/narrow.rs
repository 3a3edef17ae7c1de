//! The stable sort by few bits: one pass or two, least significant digit first, whatever the keys are like.
//!
//! ```text
//! one digit      count            copy what is moved      move from there to where each record belongs
//! two digits     count both       move by the low one     move from there to where each record belongs
//! ```
//!
//! What makes it fast: the last pass writes keys and values where the caller has them.

use crate::classify::Bits;
use crate::columns::Columns;
use crate::few::{Network, SortFew};
use crate::scatter::{count, place, to_starts};
use crate::scratch::on_stack;
use crate::source::Keyed;
use crate::trace::{Step, took};
use crate::window::Window;
use polysort_core::Word;

/// Bits of a digit: the lines that a pass writes to stay in the L1.
const DIGIT_BITS: u32 = 8;

/// The fewest records for which clearing and adding up counters pays, by the number of digits. Measured on Zen 3 and Emerald Rapids, pairs of `u8` and of `u16`
/// with `u32`.
const LEAST: [usize; 2] = [64, 256];

/// The counters of one digit.
type Counters = [u32; 1 << DIGIT_BITS];

/// Whether these passes are the fastest sort of `len` records by `window` on one thread. A network sorts words faster, and more of them than [`sort_few`]
/// takes.
pub(crate) fn suits<C: SortFew>(network: Network, window: Window, len: usize) -> bool {
    let is_worth = |digits: u32| window.width() <= digits * DIGIT_BITS && len >= LEAST[digits as usize - 1];
    !window.is_empty() && C::has_tickets(network) && (is_worth(1) || is_worth(2)) && u32::try_from(len).is_ok()
}

/// Whether these passes suit, and one of them is enough.
pub(crate) fn is_one_pass<C: SortFew>(network: Network, window: Window, len: usize) -> bool {
    suits::<C>(network, window, len) && window.width() <= DIGIT_BITS
}

/// Sorts `columns`, stably by `window`, with as much scratch. The window is as [`suits`] has it.
pub(crate) fn sort<C: Columns>(columns: &mut C, scratch: &mut [C::Record], window: Window) {
    let (low, high) = digits(window);
    let [mut lows, mut highs] = counted(&*columns, low, high);
    let Some(low) = low else { return columns.sort_by_digit(high, &mut highs, scratch) };
    columns.sort_by_digits((low, &mut lows), (high, &mut highs), scratch);
}

/// Sorts `records` into `columns`, stably by `window`, by way of `room`, which is as long.
pub(crate) fn sort_into<C: Columns>(records: &[C::Record], columns: &mut C, room: &mut [C::Record], window: Window) {
    let (low, high) = digits(window);
    let [mut lows, mut highs] = counted(&records, low, high);
    match low {
        None => columns.scatter(records, high, &mut highs),
        Some(low) => {
            place(records, low, &mut lows, room);
            columns.scatter(room, high, &mut highs);
        }
    }
}

/// As [`sort`], of so few records that their copy is made where no memory need be asked for.
pub(crate) fn sort_few<C: Columns>(columns: &mut C, window: Window) {
    on_stack(columns.len(), &mut |scratch| sort(columns, scratch, window));
}

/// The low digit, if there are two, and the high one.
fn digits(window: Window) -> (Option<Bits>, Bits) {
    let high = window.top(if window.width() <= DIGIT_BITS { window.width() } else { window.width() / 2 });
    let low = window.below(high);
    ((!low.is_empty()).then(|| Bits::of(low)), Bits::of(high))
}

/// How many records have a smaller digit than each digit.
fn counted<W: Word>(source: &dyn Keyed<Key = W>, low: Option<Bits>, high: Bits) -> [Counters; 2] {
    took(Step::Narrow { len: source.len(), passes: 1 + usize::from(low.is_some()) });
    let mut counters: [Counters; 2] = [[0; 1 << DIGIT_BITS]; 2];
    let [lows, highs] = &mut counters;
    source.read_keys(0..source.len(), &mut |keys| {
        count(keys, high, highs);
        if let Some(low) = low {
            count(keys, low, lows);
        }
    });
    to_starts(&mut counters[1]);
    if low.is_some() {
        to_starts(&mut counters[0]);
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Indices, Keys, Pairs};
    use crate::scratch::Scratch;
    use crate::simd::Set;
    use crate::testing::{numbered, pairs, room, spread};
    use crate::trace::steps_of;
    use crate::tuning::tuning;
    use polysort_core::Masks;

    const STABLE: Network = Network { set: Set::Portable, whole: false };

    fn bits(width: u32) -> Window {
        Window { low: 7, high: 7 + width }
    }

    #[test]
    fn one_pass_or_two_suit_by_the_bits_and_the_length() {
        let suits = |width, len| suits::<Pairs<'_, u64, u32>>(STABLE, bits(width), len);
        // One pass is worth it for fewer records than two are.
        for width in [1, 8] {
            assert!(!suits(width, 63) && suits(width, 64) && suits(width, 600));
        }
        for width in [9, 16] {
            assert!(!suits(width, 64) && !suits(width, 255) && suits(width, 256));
        }
        assert!(!suits(17, 512) && !suits(17, 1 << 20));
        // Nothing to sort by, and more records than counters count.
        assert!(!suits(0, 600));
        assert!(suits(8, u32::MAX as usize) && !suits(8, u32::MAX as usize + 1));
        // Networks sort words faster.
        assert!(!super::suits::<Keys<'_, u8>>(Network { whole: true, ..STABLE }, Window { low: 0, high: 8 }, 600));
        assert!(super::suits::<Keys<'_, u8>>(STABLE, Window { low: 0, high: 7 }, 600));
    }

    #[test]
    fn one_pass_is_enough_for_the_bits_of_one_digit() {
        let is_one_pass = |width, len| is_one_pass::<Pairs<'_, u64, u32>>(STABLE, bits(width), len);
        assert!(is_one_pass(8, 64) && is_one_pass(1, 1 << 20));
        assert!(!is_one_pass(9, 1 << 20) && !is_one_pass(8, 63));
    }

    #[test]
    fn digits_are_all_bits_of_the_window_and_about_as_wide() {
        for width in 1..=16 {
            let (low, high) = digits(bits(width));
            let high_width = high.count().ilog2();
            match low {
                None => assert!(width <= 8 && high.shift == 7 && high_width == width),
                Some(low) => {
                    let low_width = low.count().ilog2();
                    assert!(width > 8 && low.shift == 7 && high.shift == 7 + low_width && low_width + high_width == width);
                    assert!(low_width - high_width <= 1, "{low_width} and {high_width} bits");
                }
            }
        }
    }

    #[test]
    fn passes_are_as_many_as_digits() {
        let passes = |width| {
            let (mut keys, mut values) = (vec![5_u64; 600], vec![0_u32; 600]);
            let mut columns = pairs(&mut keys, &mut values, Masks::UNSIGNED);
            let mut scratch = room(600);
            steps_of(|| sort(&mut columns, &mut scratch, bits(width)))
        };
        assert_eq!(passes(8), [Step::Narrow { len: 600, passes: 1 }]);
        assert_eq!(passes(9), [Step::Narrow { len: 600, passes: 2 }]);
    }

    /// Records so many that a scatter asks for lines ahead, and argsorts move words of a digit and a position. Indices count up from any number.
    #[test]
    fn stable_if_memory_is_far() {
        let len = tuning().far_bytes / size_of::<u32>() + 5;
        let window = Window { low: 3, high: 17 };
        for masks in [Masks::UNSIGNED, Masks::float(32)] {
            let keys = Vec::from_iter((0..len + 1000).map(spread));
            let mut order = Vec::from_iter(1000..(len + 1000) as u32);
            order.sort_by_key(|&at| masks.apply(keys[at as usize]) & window.ones::<u32>());
            let (mut sorted, mut values) = (keys[1000..].to_vec(), Vec::from_iter(1000..(len + 1000) as u32));
            let mut scratch = room(len);
            sort(&mut pairs(&mut sorted, &mut values, masks), &mut scratch, window);
            assert!(values == order && sorted.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]));
            let (mut indices, mut scratch) = (vec![0; len], Scratch::of::<crate::record::Pair<u32, [u8; 4]>>(len));
            sort(&mut Indices::new(&keys, 1000, &mut indices, masks), scratch.records(len), window);
            assert!(indices == order);
            // Indices that do not count up.
            let mut rest = indices.iter().rev().copied().collect::<Vec<_>>();
            order = rest.clone();
            order.sort_by_key(|&at| masks.apply(keys[at as usize]) & window.ones::<u32>());
            let mut columns = Indices::new(&keys, 0, &mut rest, masks);
            let mut columns = columns.pieces(len).next().expect("one piece");
            sort(&mut columns, scratch.records(len), window);
            drop(columns);
            assert!(rest == order);
        }
    }

    #[test]
    fn a_few_records_are_sorted_without_scratch() {
        let (mut keys, mut values): (Vec<u64>, Vec<u32>) = ((0..100).rev().collect(), (0..100).collect());
        sort_few(&mut pairs(&mut keys, &mut values, Masks::UNSIGNED), Window { low: 0, high: 8 });
        assert!(keys.iter().copied().eq(0..100) && values.iter().copied().eq((0..100).rev()));
    }

    /// Keys of which a digit is all, moved or written as runs, by way of scratch that is aligned for them, and of scratch that is not.
    #[test]
    fn stable_by_whole_keys() {
        fn check<W: Word>(masks: Masks) {
            for (len, at) in [(100, 0), (100, 1), (300, 0), (2047, 0), (2048, 0), (2048, 1), (5000, 0)] {
                let keys = Vec::from_iter((0..len).map(|i| W::truncate(spread(i).into())));
                let mut order = Vec::from_iter(0..len as u32);
                order.sort_by_key(|&at| masks.apply(keys[at as usize]));
                let (mut sorted, mut values) = (keys.clone(), Vec::from_iter((0..len as u32).map(u32::to_ne_bytes)));
                let mut scratch = Scratch::of::<u8>(len * (size_of::<W>() + 4) + at);
                let bytes = &mut scratch.records::<u8>(len * (size_of::<W>() + 4) + at)[at..];
                let mut columns = Pairs { keys: &mut sorted, values: &mut values, masks };
                sort(&mut columns, bytemuck::cast_slice_mut(bytes), Window { low: 0, high: W::BITS });
                assert!(values.iter().map(|&value| u32::from_ne_bytes(value)).eq(order.iter().copied()), "{len} values");
                assert!(sorted.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]), "{len} keys of {} bits", W::BITS);
            }
        }
        for masks in [Masks::UNSIGNED, Masks::signed(8), Masks::signed(8).reversed(8)] {
            check::<u8>(masks);
        }
        for masks in [Masks::UNSIGNED, Masks::signed(16), Masks::float(16)] {
            check::<u16>(masks);
        }
    }

    #[test]
    fn stable_by_any_narrow_window() {
        for len in [64_usize, 100, 512, 3000] {
            for (low, high) in [(0, 8), (3, 4), (30, 32), (0, 16), (5, 14), (16, 32), (9, 9)] {
                let window = Window { low, high };
                let keys: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i << 3).collect();
                let mut order = Vec::from_iter(0..len as u32);
                order.sort_by_key(|&at| keys[at as usize] & window.ones::<u32>());
                let masks = Masks::UNSIGNED;
                let (mut sorted, mut values) = (keys.clone(), Vec::from_iter(0..len as u32));
                let mut scratch = room(len);
                sort(&mut pairs(&mut sorted, &mut values, masks), &mut scratch, window);
                let is_right = |sorted: &[u32]| sorted.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]);
                assert!(values == order && is_right(&sorted), "{len}, {window:?}");
                let (mut sorted, mut values) = (vec![0; len], vec![0; len]);
                sort_into(&numbered(&keys), &mut pairs(&mut sorted, &mut values, masks), &mut scratch, window);
                assert!(values == order && is_right(&sorted), "records: {len}, {window:?}");
            }
        }
    }
}
