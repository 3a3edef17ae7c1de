//! Which bits of a key a partition goes by.
//!
//! The bits should tell keys apart as evenly as possible, whatever the keys are like. A sample shows which bits vary. Where nearly all
//! samples share more bits than the rest do (numbers that are small but for a few, floats near 1), the digit is taken from below
//! those bits, and the few keys that differ in them get a digit of their own at either end:
//!
//! ```text
//! ranks   |0                |base           base + 2^bits digits|                 |
//! digits  |------- 0 -------| 1 | 2 | 3 |  …  |     2^bits      |- 2^bits + 1 ----|
//! ```
//!
//! Where most samples have one of a few values, each of these is a digit ([`Frequent`]).

use crate::classify::{Bits, Clamped};
use crate::frequent::Frequent;
use crate::sample;
use crate::source::{Key, Source};
use crate::threads::Threads;
use crate::tuning::scan_ns;
use crate::window::Window;
use core::ops::Range;
use num_traits::Zero;
use polysort_core::Word;

/// Keys that a partition samples first.
const SAMPLES: usize = 64;

/// The most keys that are sampled for frequent values. A source has so many keys for each such sample.
const FREQUENT_SAMPLES: usize = 1024;
const KEYS_OF_SAMPLE: usize = 16;

/// Keys count as even if their samples have at least this many of 32 digits. 64 samples of evenly spread keys have 28.
const TOPS_OF_EVEN: u32 = 12;

/// If samples have at most this many of 32 digits, nearly all keys are in one part of the range, or at both ends of it.
const TOPS_OF_LOPSIDED: u32 = 4;

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
    /// Bits of the key.
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
    /// if keys are spread evenly, and at most `bits.many` if they are not, or if so many bits tell all keys apart.
    ///
    /// With `even` keys are trusted to be no more uneven than a sample shows; else their topmost bit that varies is the digit's.
    pub(crate) fn choose<S: Source + ?Sized>(
        source: &S,
        window: Window,
        bits: DigitBits,
        even: bool,
        threads: Threads,
    ) -> Option<Self>
    where
        S::Record: crate::record::Record<Key = W>,
    {
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
        if tops < TOPS_OF_DIFFERENT
            && sample.has_repeats()
            && let Some(frequent) = frequent(source, window.ones())
        {
            return Some(Self::Values(frequent, window));
        }
        if tops >= TOPS_OF_EVEN {
            return Some(Self::Range(RangeDigit::plain(block, bits.few)));
        }
        Some(Self::Range(match sample.without_ends(block) {
            Some((first, high)) => RangeDigit::clamped(Window { low: block.low, ..window }, first, high, bits.few),
            None => RangeDigit::plain(block, bits.many),
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

/// A digit of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeDigit<W> {
    /// The window that the keys are to be sorted by.
    window: Window,
    /// The least rank of digit 0, but for those below it.
    base: W,
    shift: u32,
    pub(crate) count: usize,
    /// The first and the end of the digits whose keys agree in all bits of the window from `shift` on; other digits take what is below
    /// and above.
    first_inner: usize,
    end_inner: usize,
}

impl<W: Word> RangeDigit<W> {
    /// The topmost `bits` bits of `block`; keys differ in no bit of their window above it.
    fn plain(block: Window, bits: u32) -> Self {
        let top = block.top(bits);
        let count = top.digits();
        Self { window: block, base: W::zero(), shift: top.low, count, first_inner: 0, end_inner: count }
    }

    /// The topmost `bits` bits below bit `high`, of ranks that agree with `first` above it; one digit more for others.
    fn clamped(window: Window, first: W, high: u32, bits: u32) -> Self {
        let high = high.max(window.low);
        let bits = bits.min(high - window.low);
        let shift = high - bits;
        let start = first & !Window { low: 0, high }.ones::<W>();
        let digit = W::one() << shift as usize;
        // The digit below the first takes all that is less.
        let first_inner = usize::from(start >= digit);
        let base = if first_inner == 1 { start - digit } else { start };
        let end_inner = first_inner + (1 << bits);
        Self { window, base, shift, count: end_inner + 1, first_inner, end_inner }
    }

    /// Whether digits are plain bits of the key.
    pub(crate) fn as_bits(self) -> Option<Bits> {
        let is_plain = self.end_inner == self.count;
        is_plain.then_some(Bits { shift: self.shift, mask: self.count - 1 })
    }

    pub(crate) fn as_clamped(self) -> Clamped<W> {
        Clamped { ones: self.window.ones(), base: self.base, shift: self.shift, last: self.count - 1 }
    }

    /// The digits of which each has keys that agree in all bits from its lowest on: a power of two of them.
    pub(crate) fn inner(self) -> Range<usize> {
        self.first_inner..self.end_inner
    }

    /// What is left to sort keys by that have one of `2^k` digits, side by side from a multiple of `2^k` among the inner ones.
    pub(crate) fn left(self, digits: Range<usize>) -> Window {
        if digits.start < self.first_inner || digits.end > self.end_inner {
            return self.window;
        }
        Window { high: (self.shift + digits.len().ilog2()).max(self.window.low), ..self.window }
    }
}

/// Fills `ranks` with keys from all over a source, without the bits that are not in `ones`.
fn take_samples<S: Source + ?Sized>(source: &S, ones: Key<S>, ranks: &mut [Key<S>]) {
    for (place, rank) in sample::places(source.len(), ranks.len()).zip(ranks) {
        source.read_keys(place..place + 1, |keys| *rank = keys[0] & ones);
    }
}

/// The values that most keys have, if a few do.
fn frequent<S: Source + ?Sized>(source: &S, ones: Key<S>) -> Option<Frequent<Key<S>>> {
    let mut ranks = [Key::<S>::zero(); FREQUENT_SAMPLES];
    let ranks = &mut ranks[..(source.len() / KEYS_OF_SAMPLE).clamp(SAMPLES, FREQUENT_SAMPLES)];
    take_samples(source, ones, ranks);
    ranks.sort_unstable();
    Frequent::of(ranks, ones)
}

/// Whether nearly all keys have one of a few tops, or one of a few values: then a digit of their top bits tells little.
pub(crate) fn is_lopsided<S: Source + ?Sized>(source: &S, window: Window) -> bool {
    let sample = Sample::of(source, window.ones());
    let tops = sample.tops(Window { high: sample.varying_high().max(window.low), ..window });
    tops <= TOPS_OF_LOPSIDED || tops < TOPS_OF_DIFFERENT && sample.has_repeats()
}

/// Ranks of a few keys from all over a source.
struct Sample<W> {
    ranks: [W; SAMPLES],
}

impl<W: Word> Sample<W> {
    fn of<S: Source + ?Sized>(source: &S, ones: W) -> Self
    where
        S::Record: crate::record::Record<Key = W>,
    {
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

    /// Whether a good part of the samples are equal to others.
    fn has_repeats(&self) -> bool {
        self.sorted().windows(2).filter(|pair| pair[0] == pair[1]).count() > SAMPLES / 4
    }

    fn sorted(&self) -> [W; SAMPLES] {
        let mut ranks = self.ranks;
        ranks.sort_unstable();
        ranks
    }

    /// A rank, and the end of the bits in which nearly all samples may differ from it, if these are fewer than `block` has.
    fn without_ends(&self, block: Window) -> Option<(W, u32)> {
        let ranks = self.sorted();
        let (first, last) = (ranks[LEFT_OUT], ranks[SAMPLES - 1 - LEFT_OUT]);
        let high = W::BITS - (first ^ last).leading_zeros();
        (high.max(block.low) + WORTH_BITS <= block.high).then_some((first, high))
    }
}

/// The bits in which any two keys differ.
pub(crate) fn varying<S: Source + ?Sized>(source: &S, threads: Threads) -> Key<S> {
    let (len, first) = (source.len(), source.first_key());
    let shares = threads.at_most(scan_ns(len * size_of::<S::Record>())).count();
    let varying = threads.map(shares, |share| {
        let mut varying = Key::<S>::zero();
        let range = len * share / shares..len * (share + 1) / shares;
        source.read_keys(range, |keys| varying = keys.iter().fold(varying, |varying, &key| varying | (key ^ first)));
        varying
    });
    varying.into_iter().fold(Key::<S>::zero(), |all, varying| all | varying)
}
