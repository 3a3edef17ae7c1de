//! Recipes of inputs.

use arbitrary::{Arbitrary, Unstructured};
use polysort_core::{Options, Order, Segments, Sortable, Window};
use polysort_kit::{Pattern, TestKey};

/// The longest input: longer than the lengths at which the CPU backend changes its algorithm, but for the longest ones.
const LONGEST: u32 = 150_000;

/// Lengths at which algorithms of the CPU backend begin or end.
const BORDERS: [u32; 20] =
    [16, 32, 64, 96, 128, 256, 512, 1024, 2048, 4096, 8192, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 100, 700, 3000, 24_576, 98_304];

/// A number of keys. Most are small; one in sixteen is large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Len(pub usize);

impl<'a> Arbitrary<'a> for Len {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (kind, number) = (u8::arbitrary(u)?, u16::arbitrary(u)?);
        let number = u32::from(number);
        let len = match kind % 16 {
            0..8 => number % 300,
            8..11 => number % 5000,
            11..15 => BORDERS[(number >> 4) as usize % BORDERS.len()] * (1 + u32::from(kind >> 6 == 3)) + (number & 15) - 8,
            _ => number * 3 % LONGEST,
        };
        Ok(Self(len as usize))
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (3, Some(3))
    }
}

/// One of some things. The number of things need not be known when it is decoded.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Choice(u8);

impl Choice {
    /// Returns one of `things`.
    pub fn of<T: Copy>(self, things: &[T]) -> T {
        things[usize::from(self.0) % things.len()]
    }
}

/// Keys of a length.
#[derive(Clone, Debug, Arbitrary)]
pub struct Keys {
    source: Source,
    mask: Mask,
    /// Keys that differ from what the source and the mask give: the position, and the key.
    changes: Vec<(u16, u32)>,
}

/// Where the keys come from.
#[derive(Clone, Debug, Arbitrary)]
enum Source {
    /// A pattern of the conformance suite.
    Pattern { pattern: Choice, seed: u32, len: Len },
    /// These keys, at the given end of the type's bits.
    Given(Spread, Vec<u16>),
    /// These keys, again and again.
    Repeated(Spread, Vec<u16>, Len),
}

/// Which bits of a key are the 16 given ones.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Spread {
    Low,
    High,
    Both,
    Hashed,
}

impl Spread {
    /// Returns the raw bits of a key.
    fn raw(self, bits: u32, width: u32) -> u128 {
        let (low, high) = (u128::from(bits), u128::from(bits) << width.saturating_sub(16));
        match self {
            Self::Low => low,
            Self::High => high,
            Self::Both => low | high,
            Self::Hashed => (u128::from(bits) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
        }
    }
}

/// Bits in which the keys do not differ.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Mask {
    None,
    /// Only so many low bits differ.
    Low(u8),
    /// Only so many high bits differ.
    High(u8),
    /// Only these bits of each word of 64 differ.
    Bits(u64),
    /// A byte is constant.
    Byte(u8, u8),
}

impl Mask {
    /// Returns the bits that stay, and those that are set.
    fn bits(self, width: u32) -> (u128, u128) {
        let ones = |count: u32| u128::MAX.checked_shr(128 - count).unwrap_or(0);
        match self {
            Self::None => (u128::MAX, 0),
            Self::Low(bits) => (ones(u32::from(bits) % (width + 1)), 0),
            Self::High(bits) => (!ones(u32::from(bits) % (width + 1)), 0),
            Self::Bits(bits) => (u128::from(bits) << 64 | u128::from(bits), 0),
            Self::Byte(byte, value) => {
                let at = u32::from(byte) % width.div_ceil(8) * 8;
                (!(0xff << at), u128::from(value) << at)
            }
        }
    }
}

impl Keys {
    /// Returns the keys.
    pub fn of<K: TestKey>(&self) -> Vec<K> {
        let width = K::RAW_WIDTH;
        let given = |spread: Spread, bits: u16| K::from_raw(spread.raw(bits.into(), width));
        let mut keys: Vec<K> = match &self.source {
            Source::Pattern { pattern, seed, len } => {
                let patterns = [&Pattern::ALL[..], &Pattern::OTHERS[..]].concat();
                pattern.of(&patterns).keys(len.0, (*seed).into())
            }
            Source::Given(spread, bits) => bits.iter().map(|&bits| given(*spread, bits)).collect(),
            Source::Repeated(spread, bits, len) => bits.iter().map(|&bits| given(*spread, bits)).cycle().take(len.0).collect(),
        };
        if !matches!(self.mask, Mask::None) {
            let (stay, set) = self.mask.bits(width);
            keys.iter_mut().for_each(|key| *key = K::from_raw(key.raw() & stay | set));
        }
        let len = keys.len();
        for &(at, bits) in self.changes.iter().filter(|_| len > 0) {
            // Positions are spread over the keys, the first and the last among them.
            let at = ((usize::from(at) * len) >> 16).min(len - 1);
            keys[at] = K::from_raw(Spread::Both.raw(bits, width.max(32)));
        }
        keys
    }
}

/// The options of a sort.
#[derive(Clone, Copy, Debug, Arbitrary)]
pub struct Orders {
    is_descending: bool,
    window: Bits,
}

/// A window of bits.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Bits {
    /// None: the sort is by all bits.
    All,
    /// Two ends that lie in the key, in either order.
    Within(u8, u8),
    /// From a bit to the end.
    From(u8),
    /// No bit, at any position.
    Empty(u8),
    /// No bit, at the end of the key.
    EmptyEnd,
    /// Any two numbers, most of which no key has.
    Any(u32, Option<u32>),
}

impl Orders {
    /// Returns the options for keys of `width` bits, and the bits that they name; `None` if these are no range of bits of the key.
    pub fn of_width(self, width: u32) -> (Options, Option<(u32, u32)>) {
        let within = |bit: u8| u32::from(bit) % (width + 1);
        let window = match self.window {
            Bits::All => None,
            Bits::Within(a, b) => {
                let (a, b) = (within(a), within(b));
                Some((a.min(b), Some(a.max(b))))
            }
            Bits::From(bit) => Some((within(bit), None)),
            Bits::Empty(bit) => Some((within(bit), Some(within(bit)))),
            Bits::EmptyEnd => Some((width, Some(width))),
            Bits::Any(begin, end) => Some((begin, end)),
        };
        let mut options = Options::ordered(if self.is_descending { Order::Descending } else { Order::Ascending });
        options.window = window.map(|(begin, end)| Window { begin, end });
        let (begin, end) = window.map_or((0, width), |(begin, end)| (begin, end.unwrap_or(width)));
        (options, (begin <= end && end <= width).then_some((begin, end)))
    }

    /// Returns the options for keys `K`; `None` if no sort takes them, which [`of_width`](Orders::of_width) returns too.
    pub fn of<K: Sortable>(self) -> Option<Options> {
        let (options, bits) = self.of_width(K::WIDTH);
        bits.map(|_| options)
    }
}

/// The most segments.
const MOST_SEGMENTS: usize = 3000;

/// Lists of segments, right and wrong ones.
#[derive(Clone, Debug, Arbitrary)]
pub enum Lists {
    /// Segments one after another. The lengths repeat until all keys are covered.
    Offsets(Vec<Len>),
    /// Segments with gaps before them. The gaps and lengths repeat until all keys are covered.
    Ranges(Vec<(u8, Len)>),
    /// Any offsets.
    AnyOffsets(Vec<u16>),
    /// Any begins and ends.
    AnyRanges(Vec<u16>, Vec<u16>),
    /// Ends near the largest number.
    Huge(Vec<u16>, u8),
    /// Rows of a matrix: how many, the keys of each, and the keys between a row and the next one. Rows overlap if this number is negative.
    Rows(u16, Len, i8),
}

/// How a list is given to a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    AsOffsets,
    AsRanges,
    AsRows { rows: usize, len: usize, stride: usize },
}

impl Lists {
    /// Returns the begins and the ends of the segments of `len` keys, and how they are given.
    fn bounds(&self, len: usize) -> (Vec<usize>, Vec<usize>, Given) {
        let all = |numbers: &[u16]| -> Vec<usize> { numbers.iter().map(|&number| number.into()).collect() };
        match self {
            Self::Offsets(lens) => {
                let (begins, ends) = covering(len, lens.iter().map(|&Len(len)| (0, len)));
                (begins, ends, Given::AsOffsets)
            }
            Self::Ranges(parts) => {
                let (begins, ends) = covering(len, parts.iter().map(|&(gap, Len(len))| (gap.into(), len)));
                (begins, ends, Given::AsRanges)
            }
            Self::AnyOffsets(offsets) => {
                let offsets = all(offsets);
                (offsets.clone(), offsets.get(1..).unwrap_or_default().to_vec(), Given::AsOffsets)
            }
            Self::AnyRanges(begins, ends) => (all(begins), all(ends), Given::AsRanges),
            Self::Huge(begins, less) => {
                (all(begins), vec![usize::MAX - usize::from(*less); begins.len()], Given::AsRanges)
            }
            &Self::Rows(rows, Len(len), gap) => {
                let (rows, stride) = (usize::from(rows) % MOST_SEGMENTS, len.saturating_add_signed(gap.into()));
                // Rows without keys are no segments.
                let begins: Vec<usize> = (0..if len == 0 { 0 } else { rows }).map(|row| row * stride).collect();
                let ends = begins.iter().map(|begin| begin + len).collect();
                (begins, ends, Given::AsRows { rows, len, stride })
            }
        }
    }

    /// Calls `with` with the segments, and the positions of each; `None` if the segments do not ascend without overlap within `len` keys.
    pub fn with<R>(&self, len: usize, with: impl FnOnce(Segments<'_>, Option<&[core::ops::Range<usize>]>) -> R) -> R {
        let (begins, ends, given) = self.bounds(len);
        let offsets: Vec<usize> =
            begins.iter().copied().chain(ends.last().copied().filter(|_| begins.len() == ends.len())).collect();
        let (segments, count) = match given {
            Given::AsOffsets => (Segments::Offsets(&offsets), offsets.len().saturating_sub(1)),
            Given::AsRanges => (Segments::Ranges { begins: &begins, ends: &ends }, ends.len()),
            Given::AsRows { rows, len, stride } => (Segments::Rows { rows, len, stride }, ends.len()),
        };
        let ranges: Vec<_> = begins.iter().zip(&ends).map(|(&begin, &end)| begin..end).collect();
        let ascend = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let fit = ranges.iter().all(|range| range.start <= range.end && range.end <= len);
        let is_whole = ranges.len() == count && (given == Given::AsOffsets || begins.len() == ends.len());
        with(segments, (is_whole && ascend && fit).then_some(&ranges))
    }
}

/// Returns begins and ends of segments that cover `len` keys, by gaps and lengths that repeat.
fn covering(len: usize, parts: impl Iterator<Item = (usize, usize)> + Clone) -> (Vec<usize>, Vec<usize>) {
    let (mut begins, mut ends, mut at) = (vec![], vec![], 0_usize);
    for (gap, part) in parts.cycle().take(MOST_SEGMENTS) {
        let begin = at + gap;
        if begin > len {
            break;
        }
        at = (begin + part).min(len);
        begins.push(begin);
        ends.push(at);
        if at == len && part > 0 {
            break;
        }
    }
    (begins, ends)
}
