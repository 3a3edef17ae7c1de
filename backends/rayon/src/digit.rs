//! Which bits of a key a partition goes by.
//!
//! The bits should tell keys apart as evenly as possible, whatever the keys are like. A sample shows which bits vary. Where nearly all
//! samples share more bits than the rest do (numbers that are small but for a few, floats near 1), the digit is taken from below
//! those bits, and the few keys that differ in them get a digit of their own at either end ([`RangeDigit`]).
//!
//! Samples may lie close to each other on both sides of a power of two: integers around zero, floats around 2. They then differ in a high bit, and a digit of the
//! top bits has few values. For such samples, digits are equally long parts of the range from the least sample to the greatest. The first and the last digit also
//! take the keys outside of that range.
//!
//! Where most samples have one of a few values, each of these is a digit ([`Frequent`]).

use crate::classify::{Bits, Clamped, Classify};
use crate::frequent::Frequent;
use crate::range_digit::RangeDigit;
use crate::sample;
use crate::source::Keyed;
use crate::threads::Threads;
use crate::tuning::scan_ns;
use crate::window::Window;
use core::ops::Range;
use polysort_core::Word;

/// Keys that a partition samples first.
const SAMPLES: usize = 64;

/// The most keys that are sampled for frequent values. A source has so many keys for each such sample.
const FREQUENT_SAMPLES: usize = 1024;
const KEYS_OF_SAMPLE: usize = 16;

/// Keys count as even if their samples have at least this many of 32 digits. 64 samples of evenly spread keys have 28.
const TOPS_OF_EVEN: u32 = 12;

/// If samples have at most this many of 32 digits, nearly all keys are in one part of the range, at both ends of it, or on two sides of a power of two.
const TOPS_OF_LOPSIDED: u32 = 4;

/// A plain digit tells keys apart badly if the samples have at most this many of its values.
const FEW_DIGITS: u32 = 8;

/// If samples have at least this many of 32 digits, no frequent values are sought. 16 values, the fewest that are worth it, have 13.
const TOPS_OF_DIFFERENT: u32 = 22;

/// Samples at either end that may be left out of the range of digits.
const LEFT_OUT: usize = SAMPLES / 16;

/// Bits that the range must shrink by to make the two digits at its ends worth their cost.
const WORTH_BITS: u32 = 2;

/// How many bits a digit may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DigitBits {
    /// Of keys that are spread evenly.
    pub(crate) few: u32,
    /// Of others.
    pub(crate) many: u32,
}

/// A digit: of all keys of a source, each has one below [`count`](Digit::count), and these are in the order of the keys.
#[derive(Clone, Debug)]
pub(crate) enum Digit<W> {
    /// Bits of the key, or parts of a range of keys.
    Range(RangeDigit<W>),
    /// Values that most keys have, and the window that the keys are to be sorted by.
    Values(Frequent<W>, Window),
}

/// How to compute the digit of a key.
#[derive(Clone, Copy)]
pub(crate) enum Class<'a, W> {
    Bits(Bits),
    Clamped(Clamped<W>),
    Values(&'a Frequent<W>),
}

impl<W: Word> Digit<W> {
    /// A digit for the keys of `source`, of which there is one at least; `None` if all are equal in `window`. It has at most `bits.few` bits
    /// if keys are spread evenly, and at most `bits.many` if they are not, or if so many bits tell all keys apart. A digit of parts of a range has up to
    /// `2^bits.few + 2` values.
    ///
    /// With `even` keys are trusted to be no more uneven than a sample shows; else their topmost bit that varies is the digit's.
    pub(crate) fn choose(
        source: &dyn Keyed<Key = W>,
        window: Window,
        bits: DigitBits,
        even: bool,
        threads: Threads,
    ) -> Option<Self> {
        let sample = Sample::of(source, window.ones());
        let mut block = Window { high: sample.varying_high(), ..window };
        if block.high < window.high {
            block = window.narrowed(varying(source, threads));
        }
        if block.is_empty() {
            return None;
        }
        if block.width() <= bits.many || !even {
            return Some(Self::Range(RangeDigit::plain(block, bits.many)));
        }
        let tops = sample.tops(block);
        if tops >= TOPS_OF_DIFFERENT {
            return Some(Self::Range(RangeDigit::plain(block, bits.few)));
        }
        let sample = sample.sorted();
        if sample.has_repeats()
            && let Some(frequent) = frequent(source, window.ones())
        {
            return Some(Self::Values(frequent, window));
        }
        if tops >= TOPS_OF_EVEN {
            return Some(Self::Range(RangeDigit::plain(block, bits.few)));
        }
        let (own, plain) = (Window { low: block.low, ..window }, RangeDigit::plain(block, bits.many));
        Some(Self::Range(match sample.without_ends(block) {
            Some((first, high)) => RangeDigit::clamped(own, first, high, bits.few),
            None if sample.digits(plain) <= FEW_DIGITS => sample.spanning(own, bits.few).unwrap_or(plain),
            None => plain,
        }))
    }

    /// The number of different digits.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Range(digit) => digit.count,
            Self::Values(frequent, _) => frequent.count(),
        }
    }

    pub(crate) fn class(&self) -> Class<'_, W> {
        match self {
            Self::Range(digit) => digit.as_bits().map_or_else(|| Class::Clamped(digit.as_clamped()), Class::Bits),
            Self::Values(frequent, _) => Class::Values(frequent),
        }
    }

    /// What is left to sort the keys by that have one digit.
    pub(crate) fn left(&self, digit: usize) -> Window {
        match self {
            Self::Range(range) => range.left(digit..digit + 1),
            Self::Values(_, window) if Frequent::<W>::is_value(digit) => Window { high: window.low, ..*window },
            Self::Values(_, window) => *window,
        }
    }
}

/// Fills `ranks` with keys from all over a source, without the bits that are not in `ones`.
fn take_samples<W: Word>(source: &dyn Keyed<Key = W>, ones: W, ranks: &mut [W]) {
    for (place, rank) in sample::places(source.len(), ranks.len()).zip(ranks) {
        *rank = source.key(place) & ones;
    }
}

/// The values that most keys have, if a few do.
fn frequent<W: Word>(source: &dyn Keyed<Key = W>, ones: W) -> Option<Frequent<W>> {
    let mut ranks = [W::zero(); FREQUENT_SAMPLES];
    let ranks = &mut ranks[..(source.len() / KEYS_OF_SAMPLE).clamp(SAMPLES, FREQUENT_SAMPLES)];
    take_samples(source, ones, ranks);
    sample::sort(ranks);
    Frequent::of(ranks, ones)
}

/// How well the top bits of keys tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tops {
    /// Well: they tell which part of the range a key is in.
    Even,
    /// Badly: keys lie close to each other on both sides of a power of two, or of few. The top bits of their differences from the least key tell them apart well.
    TwoSides,
    /// Badly: nearly all keys have one of a few tops, or one of a few values.
    Lopsided,
}

impl Tops {
    pub(crate) fn of<W: Word>(source: &dyn Keyed<Key = W>, window: Window) -> Self {
        let sample = Sample::of(source, window.ones());
        let tops = sample.tops(Window { high: sample.varying_high().max(window.low), ..window });
        if tops >= TOPS_OF_DIFFERENT {
            return Self::Even;
        }
        let sample = sample.sorted();
        if sample.has_repeats() {
            Self::Lopsided
        } else if tops > TOPS_OF_LOPSIDED {
            Self::Even
        } else if sample.fills_its_range(window, 0) {
            Self::TwoSides
        } else {
            Self::Lopsided
        }
    }
}

/// Ranks of a few keys from all over a source.
struct Sample<W> {
    ranks: [W; SAMPLES],
}

impl<W: Word> Sample<W> {
    fn of(source: &dyn Keyed<Key = W>, ones: W) -> Self {
        let mut ranks = [W::zero(); SAMPLES];
        take_samples(source, ones, &mut ranks);
        Self { ranks }
    }

    /// The end of the bits in which samples differ.
    fn varying_high(&self) -> u32 {
        let varying = self.ranks.iter().fold(W::zero(), |varying, &rank| varying | (rank ^ self.ranks[0]));
        W::BITS - varying.leading_zeros()
    }

    /// How many of 32 digits, the top bits of `block`, samples have.
    fn tops(&self, block: Window) -> u32 {
        let top = block.top(5);
        if top.width() < 5 {
            return u32::BITS;
        }
        self.ranks.iter().fold(0_u32, |seen, &rank| seen | 1 << top.digit(rank)).count_ones()
    }

    fn sorted(mut self) -> Sorted<W> {
        sample::sort(&mut self.ranks);
        Sorted { ranks: self.ranks }
    }
}

/// The ranks of a sample, in order.
struct Sorted<W> {
    ranks: [W; SAMPLES],
}

impl<W: Word> Sorted<W> {
    /// Whether a good part of the samples are equal to others.
    fn has_repeats(&self) -> bool {
        self.ranks.windows(2).filter(|pair| pair[0] == pair[1]).count() > SAMPLES / 4
    }

    /// The number of different values of `digit` among the samples.
    fn digits(&self, digit: RangeDigit<W>) -> u32 {
        let class = digit.as_clamped();
        self.ranks.chunk_by(|&a, &b| class.class(a) == class.class(b)).count() as u32
    }

    /// The least and the greatest sample, but for so many at either end.
    fn ends(&self, left_out: usize) -> (W, W) {
        (self.ranks[left_out], self.ranks[SAMPLES - 1 - left_out])
    }

    /// Digits for the range of all samples, or of all but a few at either end; `None` unless samples have [`TOPS_OF_EVEN`] of some 32 equal parts of the range.
    fn spanning(&self, window: Window, bits: u32) -> Option<RangeDigit<W>> {
        let left_out = [0, LEFT_OUT].into_iter().find(|&left_out| self.fills_its_range(window, left_out))?;
        let (least, greatest) = self.ends(left_out);
        Some(RangeDigit::spanning(window, least, greatest, bits))
    }

    /// Whether the samples, but for so many at either end, have [`TOPS_OF_EVEN`] of some 32 equal parts of their range.
    fn fills_its_range(&self, window: Window, left_out: usize) -> bool {
        let (least, greatest) = self.ends(left_out);
        self.digits(RangeDigit::spanning(window, least, greatest, 5)) >= TOPS_OF_EVEN
    }

    /// A rank, and the end of the bits in which nearly all samples may differ from it, if these are fewer than `block` has.
    fn without_ends(&self, block: Window) -> Option<(W, u32)> {
        let (first, last) = self.ends(LEFT_OUT);
        let high = W::BITS - (first ^ last).leading_zeros();
        (high.max(block.low) + WORTH_BITS <= block.high).then_some((first, high))
    }
}

/// The bits in which any two keys differ.
pub(crate) fn varying<W: Word>(source: &dyn Keyed<Key = W>, threads: Threads) -> W {
    let (len, first) = (source.len(), source.key(0));
    let within = |range: Range<usize>| {
        let mut varying = W::zero();
        source.read_keys(range, &mut |keys| varying = keys.iter().fold(varying, |varying, &key| varying | (key ^ first)));
        varying
    };
    let shares = threads.at_most(scan_ns(len * source.record_bytes())).count();
    if shares == 1 {
        return within(0..len);
    }
    let varying = threads.map(shares, &|share| within(len * share / shares..len * (share + 1) / shares));
    varying.into_iter().fold(W::zero(), |all, varying| all | varying)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::Classify;
    use crate::source::Read;
    use crate::testing::{spread, spread_wide};
    use crate::tuning::STEP_NS;
    use polysort_core::Sortable;
    use std::sync::Mutex;

    const WHOLE: Window = Window { low: 0, high: 32 };
    const BITS: DigitBits = DigitBits { few: 6, many: 9 };

    /// Keys that remember which of them were read.
    struct Watched {
        keys: Vec<u32>,
        reads: Mutex<Vec<Range<usize>>>,
    }

    impl Watched {
        fn new(keys: Vec<u32>) -> Self {
            Self { keys, reads: Mutex::default() }
        }

        /// How many keys were read since the last call.
        fn read_count(&self) -> usize {
            self.take_reads().iter().map(ExactSizeIterator::len).sum()
        }

        /// The ranges that were read since the last call, in their order.
        fn take_reads(&self) -> Vec<Range<usize>> {
            let mut reads = std::mem::take(&mut *self.reads.lock().unwrap());
            reads.sort_unstable_by_key(|range| (range.start, range.end));
            reads
        }
    }

    impl Keyed for Watched {
        type Key = u32;

        fn len(&self) -> usize {
            self.keys.len()
        }

        fn record_bytes(&self) -> usize {
            size_of::<u32>()
        }

        fn key(&self, at: usize) -> u32 {
            self.reads.lock().unwrap().push(at..at + 1);
            self.keys[at]
        }

        fn read_keys(&self, range: Range<usize>, read: Read<'_, u32>) {
            self.reads.lock().unwrap().push(range.clone());
            read(&self.keys[range]);
        }
    }

    fn choose(keys: &[u32], window: Window, even: bool) -> Option<Digit<u32>> {
        Digit::choose(&keys, window, BITS, even, Threads::ONE)
    }

    /// The digit of these keys, which is one of bits.
    fn range_of(keys: &[u32], window: Window, even: bool) -> RangeDigit<u32> {
        match choose(keys, window, even) {
            Some(Digit::Range(digit)) => digit,
            other => panic!("{other:?}"),
        }
    }

    /// Keys of `count` values, so many in a row of each that samples have all of them.
    fn keys_of(count: usize, value: impl Fn(usize) -> u32) -> Vec<u32> {
        (0..1 << 12).map(|i| value((i * count) >> 12)).collect()
    }

    /// Keys all different, whose top five bits have `count` values, the least and the greatest among them.
    fn keys_of_tops(count: usize) -> Vec<u32> {
        let top = |at: usize| if at == count - 1 { 31 } else { at as u32 };
        (0..1 << 12).map(|i| top((i * count) >> 12) << 27 | spread(i) >> 5).collect()
    }

    fn sample_of(rank: impl Fn(usize) -> u32) -> Sample<u32> {
        Sample { ranks: core::array::from_fn(rank) }
    }

    #[test]
    fn bits_that_differ_among_samples_end_at_the_topmost() {
        assert_eq!(sample_of(|_| 0x50).varying_high(), 0);
        // The topmost bit differs in an even number of samples.
        assert_eq!(sample_of(|i| [0x50, 0x51, 0x40, 0x51][i % 4]).varying_high(), 5);
        assert_eq!(sample_of(|i| if i == 63 { 0x8000_0000 } else { 7 }).varying_high(), 32);
    }

    #[test]
    fn tops_are_the_different_digits_of_five_bits() {
        let sample = sample_of(|i| (i as u32 % 7) << 27 | spread(i) >> 5);
        assert_eq!(sample.tops(WHOLE), 7);
        assert_eq!(sample_of(|i| (i as u32 % 7) << 10).tops(Window { low: 10, high: 15 }), 7);
        // With fewer bits, all that can be are taken to be there.
        assert_eq!(sample_of(|i| (i as u32 % 7) << 11).tops(Window { low: 11, high: 15 }), 32);
    }

    #[test]
    fn samples_repeat_if_more_than_a_quarter_equals_another() {
        assert!(!sample_of(spread).sorted().has_repeats());
        // So many are equal that there are 16 pairs, and 17.
        assert!(!sample_of(|i| spread(i.min(47))).sorted().has_repeats());
        assert!(sample_of(|i| spread(i.min(46))).sorted().has_repeats());
    }

    /// Four samples at either end may be anything.
    #[test]
    fn the_range_without_ends_has_all_samples_but_four_at_either_end() {
        let ends = |i: usize, least: u32, greatest: u32| match i {
            0..4 => 3 + i as u32,
            4 => least,
            59 => greatest,
            60.. => 0x7000_0000 + i as u32,
            _ => least + i as u32 % 16,
        };
        // Not in order.
        let sample = |least, greatest| sample_of(|i| ends(i * 37 % 64, least, greatest)).sorted();
        assert_eq!(sample(0x100, 0x1ff).without_ends(WHOLE), Some((0x100, 8)));
        // Two bits fewer are worth it, one is not.
        assert_eq!(sample(0x100, 0x1ff).without_ends(Window { low: 0, high: 10 }), Some((0x100, 8)));
        assert_eq!(sample(0x100, 0x1ff).without_ends(Window { low: 0, high: 9 }), None);
        assert_eq!(sample(0x100, 0x200).without_ends(Window { low: 0, high: 11 }), None);
        // Bits below the block are not to be sorted by.
        assert_eq!(sample(0x100, 0x1ff).without_ends(Window { low: 12, high: 14 }), Some((0x100, 8)));
        assert_eq!(sample(0x100, 0x1ff).without_ends(Window { low: 12, high: 13 }), None);
    }

    #[test]
    fn samples_are_keys_of_the_source_without_other_bits() {
        let keys: Vec<u32> = (0..1 << 12).map(spread).collect();
        let sample = Sample::of(&&keys[..], 0xff00);
        let expected: Vec<u32> = sample::places(keys.len(), SAMPLES).map(|place| keys[place] & 0xff00).collect();
        assert_eq!(sample.ranks[..], expected);
    }

    #[test]
    fn keys_that_do_not_differ_have_no_digit() {
        for even in [true, false] {
            assert!(choose(&[5; 1000], WHOLE, even).is_none());
            assert!(choose(&(0..1000).collect::<Vec<u32>>(), Window { low: 10, high: 32 }, even).is_none());
        }
    }

    #[test]
    fn all_keys_are_read_only_if_samples_share_the_topmost_bits() {
        let read = |key: fn(usize) -> u32, even| {
            let source = Watched::new((0..1 << 12).map(key).collect());
            Digit::choose(&source, WHOLE, BITS, even, Threads::ONE).expect("different keys");
            source.read_count()
        };
        for even in [true, false] {
            assert_eq!(read(spread, even), SAMPLES);
            assert!(read(|i| spread(i) >> 1, even) > 1 << 12);
        }
    }

    #[test]
    fn a_bit_that_no_sample_shows_is_in_the_digit() {
        let mut keys: Vec<u32> = (0..1 << 12).map(|i| spread(i) >> 12).collect();
        let unseen = (0..keys.len()).find(|&at| sample::places(1 << 12, SAMPLES).all(|place| place != at));
        keys[unseen.expect("few samples")] = 1 << 31;
        let digit = range_of(&keys, WHOLE, false);
        assert_eq!(digit, RangeDigit::plain(WHOLE, BITS.many));
    }

    #[test]
    fn a_digit_that_tells_all_keys_apart_has_all_bits_that_vary() {
        for even in [true, false] {
            let keys: Vec<u32> = (0..1 << 12).map(|i| spread(i) >> 23 << 4).collect();
            let digit = range_of(&keys, WHOLE, even);
            assert_eq!(digit.count, 1 << 9);
            assert!(digit.left(0..1).is_empty());
        }
    }

    #[test]
    fn even_keys_get_few_bits_and_others_many() {
        // One bit more than `many`.
        let keys: Vec<u32> = (0..1 << 12).map(|i| spread(i) >> 22).collect();
        assert_eq!(range_of(&keys, WHOLE, true), RangeDigit::plain(Window { low: 0, high: 10 }, BITS.few));
        assert_eq!(range_of(&keys, WHOLE, false), RangeDigit::plain(Window { low: 0, high: 10 }, BITS.many));
        // Keys are even if their samples have 12 of 32 tops.
        assert_eq!(range_of(&keys_of_tops(12), WHOLE, true), RangeDigit::plain(WHOLE, BITS.few));
        assert_eq!(range_of(&keys_of_tops(11), WHOLE, true), RangeDigit::plain(WHOLE, BITS.many));
    }

    #[test]
    fn nearly_equal_tops_are_left_out_of_the_digit() {
        // Small numbers with low bits that do not vary, but for one in 64 that is large.
        let key = |i: usize| if i % 64 == 63 { spread(i) >> 2 | 1 << 30 } else { spread(i) >> 16 } & !7;
        let keys: Vec<u32> = (0..1 << 12).map(key).collect();
        let digit = range_of(&keys, WHOLE, true);
        assert_eq!(digit, RangeDigit::clamped(Window { low: 3, high: 32 }, 0, 16, BITS.few));
        assert_eq!(digit.left(5..6), Window { low: 3, high: 10 });
        // Keys that are not trusted to be even are split at the topmost bit.
        assert_eq!(range_of(&keys, WHOLE, false), RangeDigit::plain(Window { low: 3, high: 31 }, BITS.many));
    }

    #[test]
    fn frequent_values_are_digits_unless_their_tops_tell_them_apart() {
        for count in [2, 11, 12, 21] {
            let keys = keys_of(count, |at| if at == 0 { u32::MAX } else { (at as u32) << 27 });
            let digit = choose(&keys, WHOLE, true).expect("different keys");
            let Digit::Values(frequent, _) = &digit else { panic!("{count} values: {digit:?}") };
            assert_eq!(digit.count(), frequent.count());
            assert_eq!(digit.count(), 2 * count + 1);
            // Keys of a value are sorted, those between two are not.
            assert!(digit.left(1).is_empty());
            assert_eq!(digit.left(2), WHOLE);
            assert!(matches!(choose(&keys, WHOLE, false), Some(Digit::Range(_))));
        }
        let keys = keys_of(22, |at| if at == 0 { u32::MAX } else { (at as u32) << 27 });
        assert_eq!(range_of(&keys, WHOLE, true), RangeDigit::plain(Window { low: 0, high: 32 }, BITS.few));
    }

    /// Keys on both sides of a power of two, with and without a few keys far from it.
    #[test]
    fn keys_that_share_no_top_bits_have_parts_of_their_range_as_digits() {
        let around_zero = |i: usize| Sortable::to_bits((spread(i) >> 12) as i32 - 600_000);
        // A plain digit has only the high bits of the exponent, so it has 2 or 3 values.
        let around_two = |i: usize| Sortable::to_bits(spread(i) as f64 / 4e8);
        fn check<W: Word>(key: impl Fn(usize) -> W, far: impl Fn(usize) -> W) {
            let whole = Window { low: 0, high: W::BITS };
            for every in [usize::MAX, 37] {
                let keys: Vec<W> = (0..1 << 12).map(|i| if i % every == 5 { far(i) } else { key(i) }).collect();
                let chosen = |even| Digit::choose(&&keys[..], whole, BITS, even, Threads::ONE);
                let Some(Digit::Range(digit)) = chosen(true) else { panic!("{:?}", chosen(true)) };
                assert!(digit.count > 1 << (BITS.few - 1) && digit.count <= (1 << BITS.few) + 1, "{digit:?}");
                assert_eq!(digit.inner(), 1..digit.count - 1);
                let outer = |key: &&W| !digit.inner().contains(&digit.as_clamped().class(**key));
                // Without far keys, the range has all samples.
                assert!(every < keys.len() || keys.iter().filter(outer).count() < keys.len() / 4, "{digit:?}");
                let Some(Digit::Range(uneven)) = chosen(false) else { panic!("{:?}", chosen(false)) };
                assert_eq!(uneven, RangeDigit::plain(whole, BITS.many));
            }
        }
        check(around_zero, spread);
        check(around_two, |i| spread_wide(i as u64));
        // A plain digit of floats of both signs has enough values, though half of the keys have one of two exponents; and their range has no even parts.
        let floats = |i: usize| Sortable::to_bits(spread(i) as f32 / u32::MAX as f32 - 0.5);
        assert_eq!(range_of(&(0..1 << 12).map(floats).collect::<Vec<_>>(), WHOLE, true), RangeDigit::plain(WHOLE, BITS.many));
        // Nearly all keys are in two of 32 parts of the range.
        let ends = |i: usize| {
            if i % 64 == 9 { spread(i) } else { (spread(i) >> 12) ^ if i.is_multiple_of(2) { 0x0fff_ffff } else { 0xe000_0000 } }
        };
        assert_eq!(range_of(&(0..1 << 12).map(ends).collect::<Vec<_>>(), WHOLE, true), RangeDigit::plain(WHOLE, BITS.many));
    }

    #[test]
    fn samples_of_few_values_have_no_parts_of_their_range() {
        for (count, has_parts) in [(1, false), (2, false), (3, false), (11, false), (12, true)] {
            let sample = sample_of(|i| (1 << 31) - 1 + i as u32 % count).sorted();
            assert_eq!(sample.spanning(WHOLE, 6).is_some(), has_parts, "{count} values");
        }
    }

    #[test]
    fn no_sample_is_left_out_of_an_even_range() {
        let sample = sample_of(|i| (1 << 31) - 2048 + 64 * i as u32).sorted();
        assert_eq!(sample.spanning(WHOLE, 6).map(|digit| sample.digits(digit)), Some(64));
    }

    /// The range from 0.1 to 10 has even parts, but its floats have seven exponents, each of which is several plain digits.
    #[test]
    fn keys_of_many_plain_digits_have_no_parts_of_their_range() {
        let (least, greatest) = (0.1_f32.to_bits(), 10_f32.to_bits());
        let keys: Vec<u32> = (0..1 << 12).map(|i| 1 << 31 | (least + spread(i) % (greatest - least))).collect();
        assert!(Sample::of(&&keys[..], u32::MAX).sorted().spanning(WHOLE, BITS.few).is_some());
        assert_eq!(range_of(&keys, WHOLE, true), RangeDigit::plain(Window { low: 0, high: 31 }, BITS.many));
    }

    #[test]
    fn values_count_without_the_bits_outside_of_the_window() {
        let keys: Vec<u32> = keys_of(9, |at| at as u32 * 0x10_0100).into_iter().zip(0..).map(|(key, i)| key | i & 0xff).collect();
        let window = Window { low: 8, high: 28 };
        let digit = Digit::choose(&&keys[..], window, DigitBits { few: 1, many: 2 }, true, Threads::ONE).expect("different keys");
        assert_eq!(digit.count(), 19);
        assert_eq!(digit.left(0), window);
        assert_eq!(digit.left(1), Window { low: 8, high: 8 });
    }

    #[test]
    fn one_key_in_sixteen_is_sampled_for_frequent_values() {
        let sampled = |len: usize| {
            let source = Watched::new((0..len).map(|i| i as u32 & 1).collect());
            frequent(&source, u32::MAX).expect("two values");
            source.read_count()
        };
        assert_eq!(sampled(1 << 12), 1 << 8);
        assert_eq!(sampled(1608), 100);
        // Not fewer than of any source, and a limited number.
        assert_eq!(sampled(100), SAMPLES);
        assert_eq!(sampled(1 << 16), FREQUENT_SAMPLES);
    }

    #[test]
    fn keys_of_few_tops_or_of_few_values_are_lopsided() {
        let is_lopsided = |keys: &[u32], window| match Tops::of(&keys, window) {
            Tops::Even => false,
            Tops::Lopsided => true,
            Tops::TwoSides => panic!("the top bits tell enough"),
        };
        assert!(is_lopsided(&keys_of_tops(4), WHOLE));
        assert!(!is_lopsided(&keys_of_tops(5), WHOLE));
        assert!(!is_lopsided(&keys_of_tops(21), WHOLE));
        assert!(is_lopsided(&keys_of(21, |at| if at == 0 { u32::MAX } else { (at as u32) << 27 }), WHOLE));
        assert!(!is_lopsided(&keys_of(22, |at| if at == 0 { u32::MAX } else { (at as u32) << 27 }), WHOLE));
        // Numbers that are all small are not: their own top bits count.
        let small: Vec<u32> = (0..1 << 12).map(|i| spread(i) >> 16).collect();
        assert!(!is_lopsided(&small, WHOLE));
        // Nor are keys that differ in no bit of the window.
        assert!(!is_lopsided(&small, Window { low: 16, high: 32 }));
    }

    #[test]
    fn keys_close_to_each_other_around_a_power_of_two_have_tops_of_two_sides() {
        let tops = |least: i32, count: u32| {
            let keys: Vec<u32> = (0..1 << 12).map(|i| (1_u32 << 31).wrapping_add_signed(least) + spread(i) % count).collect();
            Tops::of(&&keys[..], WHOLE)
        };
        assert_eq!([tops(-3000, 5000), tops(-500_000, 1 << 20)], [Tops::TwoSides; 2]);
        // On one side.
        assert_eq!([tops(0, 5000), tops(-5000, 5000)], [Tops::Even; 2]);
        // Few values.
        assert_eq!(tops(-8, 16), Tops::Lopsided);
        // A few far from the others.
        let far = |middle: u32| {
            (0..1 << 12).map(|i| if i % 50 == 1 { spread(i) } else { middle + (spread(i) >> 14) }).collect::<Vec<_>>()
        };
        assert_eq!([0, (1 << 31) - (1 << 17)].map(|middle| Tops::of(&&far(middle)[..], WHOLE)), [Tops::Lopsided; 2]);
        // Two crowds far apart: differences tell no more.
        let far: Vec<u32> = (0..1 << 12).map(|i| spread(i) >> 12 | (i as u32 & 1) << 31).collect();
        assert_eq!(Tops::of(&&far[..], WHOLE), Tops::Lopsided);
    }

    /// So many keys that four threads pay for a scan of them.
    fn len_of_four_threads() -> usize {
        (1..).map(|thousands| 4000 * thousands).find(|len| scan_ns(len * size_of::<u32>()) >= 4 * STEP_NS).expect("an end")
    }

    #[test]
    fn bits_vary_if_any_two_keys_differ_in_them() {
        let len = len_of_four_threads();
        for count in [1, 4] {
            let threads = Threads::several(count);
            let mut keys = vec![0x81_u32; len];
            for share in 0..4 {
                // The first and the last key of each thread's share.
                keys[share * len / 4] ^= 1 << share << 8;
                keys[(share + 1) * len / 4 - 1] ^= 1 << share << 16;
            }
            // Two that differ from others in the same bit.
            (keys[1], keys[2]) = (1, 1);
            assert_eq!(varying(&&keys[..], threads), 0x000f_0f80);
        }
    }

    #[test]
    fn each_thread_looks_for_varying_bits_in_as_many_keys_as_pay() {
        let shares = |len: usize| {
            let source = Watched::new((0..len).map(spread).collect());
            varying(&source, Threads::several(4));
            // All but the first key, which is read beforehand.
            source.take_reads()[1..].to_vec()
        };
        let len = len_of_four_threads();
        assert_eq!(shares(len), [0..len / 4, len / 4..len / 2, len / 2..len / 4 * 3, len / 4 * 3..len]);
        assert_eq!(shares(len / 4), vec![0..len / 4; 1]);
    }
}
