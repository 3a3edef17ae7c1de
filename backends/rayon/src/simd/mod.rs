//! Sorting networks and merges on the widest vector instructions that the processor has, chosen when the program runs, and the step of a quicksort.
//!
//! `registers` says what a network needs of a set of instructions, `network` and `merge` are written once over it; `avx512`, `avx2`, `neon`
//! and `portable` are the sets. `split` is the step with AVX-512; with other sets, it takes one word after the other.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod merge;
#[cfg(target_arch = "aarch64")]
mod neon;
mod network;
mod portable;
mod registers;
#[cfg(target_arch = "x86_64")]
mod split;

pub(crate) use merge::MergePart;
pub(crate) use registers::Map;

use polysort_core::{Masks, Word};
#[cfg(target_arch = "x86_64")]
use registers::{Registers, Work};
use std::sync::OnceLock;

/// A set of vector instructions that this processor has.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
    Portable,
}

impl Set {
    /// The name of the set, for messages of tests.
    #[cfg(test)]
    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(_) => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(_) => "AVX2",
            #[cfg(target_arch = "aarch64")]
            Set::Neon(_) => "NEON",
            Set::Portable => "portable",
        }
    }

    /// Words of `bits` bits in a register.
    pub(crate) fn lanes(self, bits: u32) -> usize {
        let register_bits = match self {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(_) => 512,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(_) => 256,
            #[cfg(target_arch = "aarch64")]
            Set::Neon(_) => 128,
            Set::Portable => 128,
        };
        register_bits / bits as usize
    }

    /// Whether registers of the set are split by a pivot.
    pub(crate) fn has_splits(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(_) => true,
            _ => false,
        }
    }

    /// The sets that this processor has, the widest first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![];
        #[cfg(target_arch = "x86_64")]
        all.extend(pulp::x86::V4::try_new().map(Set::Avx512));
        #[cfg(target_arch = "x86_64")]
        all.extend(pulp::x86::V3::try_new().map(Set::Avx2));
        #[cfg(target_arch = "aarch64")]
        all.extend(pulp::aarch64::Neon::try_new().map(Set::Neon));
        all.push(Set::Portable);
        all
    }

    /// The widest set.
    #[inline]
    pub(crate) fn widest() -> Self {
        static WIDEST: OnceLock<Set> = OnceLock::new();
        *WIDEST.get_or_init(|| Self::all()[0])
    }
}

/// A word that there are networks for.
pub(crate) trait NetworkWord: Word {
    /// Sorts `from`, or if there is none what is in `to`, into `to`, which is as long. Words are mapped by `enter` before they are
    /// compared, and by `leave` afterwards.
    fn sort(set: Set, from: Option<&[Self]>, to: &mut [Self], enter: Map<Self>, leave: Map<Self>);
}

/// Sorts the ordered words `from`, or if there are none the raw ones in `to`, to raw words in `to`.
///
/// # Panics
/// If words do not have 16, 32 or 64 bits.
pub(crate) fn sort_words<W: Word>(set: Set, from: Option<&[W]>, to: &mut [W], masks: Masks) {
    fn sort<N: NetworkWord>(set: Set, from: Option<&[N]>, to: &mut [N], masks: Masks) {
        let enter = if from.is_some() { Map::identity() } else { Map::enter(masks) };
        N::sort(set, from, to, enter, Map::leave(masks));
    }
    match W::BITS {
        16 => sort::<u16>(set, from.map(bytemuck::cast_slice), bytemuck::cast_slice_mut(to), masks),
        32 => sort::<u32>(set, from.map(bytemuck::cast_slice), bytemuck::cast_slice_mut(to), masks),
        64 => sort::<u64>(set, from.map(bytemuck::cast_slice), bytemuck::cast_slice_mut(to), masks),
        bits => unreachable!("no network sorts words of {bits} bits"),
    }
}

/// A word that is merged in registers.
pub(crate) trait MergeWord: Word {
    /// Merges two pairs of sorted slices. `scalar` merges a part of which one slice has less than a register, and the end of every part.
    ///
    /// If a slice is not sorted, its part gets all words in an unspecified order.
    fn merge(set: Set, parts: [MergePart<'_, Self>; 2], scalar: fn(MergePart<'_, Self>));
}

/// A word that quicksort is for.
pub(crate) trait SplitWord: NetworkWord {
    /// Moves the words that `enter` maps below `pivot` in front of the others, in any order, and returns their number.
    fn split(set: Set, words: &mut [Self], pivot: Self, enter: Map<Self>) -> usize;
}

macro_rules! network_words {
    ($($word:ident)*) => {$(
        impl NetworkWord for $word {
            fn sort(set: Set, from: Option<&[Self]>, to: &mut [Self], enter: Map<Self>, leave: Map<Self>) {
                assert!(from.is_none_or(|from| from.len() == to.len()));
                match set {
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx512(v4) => v4.vectorize(Sort { set: || avx512::Avx512::<$word>::new(v4), from, to, enter, leave }),
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx2(v3) => v3.vectorize(Sort { set: || avx2::Avx2::<$word>::new(v3), from, to, enter, leave }),
                    #[cfg(target_arch = "aarch64")]
                    Set::Neon(token) => network::sort(neon::Neon::<$word>::new(token), from, to, enter, leave),
                    Set::Portable => network::sort(portable::Portable::<$word>::new(), from, to, enter, leave),
                }
            }
        }
    )*};
}
network_words!(u16 u32 u64);

macro_rules! merge_words {
    ($($word:ident)*) => {$(
        impl MergeWord for $word {
            fn merge(set: Set, parts: [MergePart<'_, Self>; 2], scalar: fn(MergePart<'_, Self>)) {
                match set {
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx512(v4) => v4.vectorize(Merge { set: || avx512::Avx512::<$word>::new(v4), parts, scalar }),
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx2(v3) => v3.vectorize(Merge { set: || avx2::Avx2::<$word>::new(v3), parts, scalar }),
                    #[cfg(target_arch = "aarch64")]
                    Set::Neon(token) => merge::merge(neon::Neon::<$word>::new(token), parts, scalar),
                    // Networks are slower there. Tests run them, since not every machine has the other sets.
                    Set::Portable if cfg!(test) => merge::merge(portable::Portable::<$word>::new(), parts, scalar),
                    Set::Portable => parts.into_iter().for_each(scalar),
                }
            }
        }
    )*};
}
merge_words!(u16 u32 u64);

/// No registers hold such words: std's sort is as fast for a few.
impl NetworkWord for u128 {
    fn sort(_: Set, from: Option<&[Self]>, to: &mut [Self], enter: Map<Self>, leave: Map<Self>) {
        if let Some(from) = from {
            to.copy_from_slice(from);
        }
        to.iter_mut().for_each(|word| *word = enter.apply(*word));
        to.sort_unstable();
        to.iter_mut().for_each(|word| *word = leave.apply(*word));
    }
}

impl SplitWord for u128 {
    fn split(_: Set, words: &mut [Self], pivot: Self, enter: Map<Self>) -> usize {
        portable::split(words, pivot, enter)
    }
}

macro_rules! split_words {
    ($($word:ident)*) => {$(
        impl SplitWord for $word {
            fn split(set: Set, words: &mut [Self], pivot: Self, enter: Map<Self>) -> usize {
                match set {
                    #[cfg(target_arch = "x86_64")]
                    Set::Avx512(v4) => v4.vectorize(split::Split { v4, words, pivot, enter }),
                    _ => portable::split(words, pivot, enter),
                }
            }
        }
    )*};
}
split_words!(u32 u64);

/// The arguments of a sort, to be used in a function that is compiled for a set.
#[cfg(target_arch = "x86_64")]
struct Sort<'a, W, F> {
    set: F,
    from: Option<&'a [W]>,
    to: &'a mut [W],
    enter: Map<W>,
    leave: Map<W>,
}

#[cfg(target_arch = "x86_64")]
impl<W: Word, S: Registers<Word = W>, F: FnOnce() -> S> pulp::NullaryFnOnce for Sort<'_, W, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        network::sort((self.set)(), self.from, self.to, self.enter, self.leave);
    }
}

/// The arguments of a merge, to be used in a function that is compiled for a set.
#[cfg(target_arch = "x86_64")]
struct Merge<'a, W, F> {
    set: F,
    parts: [MergePart<'a, W>; 2],
    scalar: fn(MergePart<'_, W>),
}

#[cfg(target_arch = "x86_64")]
impl<W: Word, S: Registers<Word = W>, F: FnOnce() -> S> pulp::NullaryFnOnce for Merge<'_, W, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        merge::merge((self.set)(), self.parts, self.scalar);
    }
}

/// Work for a function that is compiled for a set.
#[cfg(target_arch = "x86_64")]
struct OnSet<W>(W);

#[cfg(target_arch = "x86_64")]
impl<W: Work> pulp::NullaryFnOnce for OnSet<W> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.0.run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::Masks;

    /// A pseudo-random walk through 64 bits.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ z >> 29
    }

    fn lengths() -> impl Iterator<Item = usize> {
        (0..=700)
            .chain((700..5000).step_by(61))
            .chain([1023, 1024, 1025, 2048, 4096, 4097, 8191, 8192, 8193, 10_000, 16_383, 16_384])
    }

    /// Keys of few and of many values, with the least and the greatest word, which networks use for keys that are not there.
    fn words<W: Word>(len: usize, state: &mut u64) -> Vec<W> {
        let blank = W::truncate(u128::from(random(state)) << 64 | u128::from(random(state) & random(state)));
        let word = |_| match random(state) {
            0..0x0800_0000_0000_0000 => W::max_value(),
            0x0800_0000_0000_0000..0x1000_0000_0000_0000 => W::zero(),
            bits => W::truncate(u128::from(bits)) & blank,
        };
        (0..len).map(word).collect()
    }

    fn check<W: NetworkWord>() {
        let maps = [Masks::UNSIGNED, Masks::signed(W::BITS), Masks::float(W::BITS), Masks::float(W::BITS).reversed(W::BITS)];
        let mut state = u64::from(W::BITS);
        for set in Set::all() {
            for len in lengths() {
                let masks = maps[len % maps.len()];
                let words = words::<W>(len, &mut state);
                let mut expected = words.clone();
                expected.sort_unstable_by_key(|&word| masks.apply(word));
                let mut here = words.clone();
                W::sort(set, None, &mut here, Map::enter(masks), Map::leave(masks));
                assert!(here == expected, "{}, {len} words of {} bits, {masks:x?}", set.name(), W::BITS);

                // From one slice into another, and neither word beside it changes.
                let ordered: Vec<W> = words.iter().map(|&word| masks.apply(word)).collect();
                let mut there = vec![W::one(); len + 2];
                W::sort(set, Some(&ordered), &mut there[1..=len], Map::identity(), Map::leave(masks));
                assert!(there[1..=len] == expected, "{}, {len} words of {} bits, {masks:x?}, elsewhere", set.name(), W::BITS);
                assert!(there[0] == W::one() && there[len + 1] == W::one());
            }
        }
    }

    /// Splits at words that come and at such as do not, with no word below and with all.
    fn check_splits<W: SplitWord>() {
        let mut state = u64::from(W::BITS) + 1;
        let maps = [Masks::UNSIGNED, Masks::float(W::BITS), Masks::signed(W::BITS).reversed(W::BITS)].map(Map::enter);
        for set in Set::all() {
            for len in lengths() {
                let enter: Map<W> = maps[len % maps.len()];
                let words = words::<W>(len, &mut state);
                let any = words.get(len / 2).copied().unwrap_or(W::zero());
                for pivot in [any, any >> 1, W::zero(), W::max_value()] {
                    // Neither word beside them changes.
                    let mut split = [&[W::one()], &words[..], &[W::one()]].concat();
                    let count = W::split(set, &mut split[1..=len], pivot, enter);
                    let what = format!("{}, {len} words of {} bits, below {pivot:?}", set.name(), W::BITS);
                    assert!(split[0] == W::one() && split[len + 1] == W::one(), "{what}");
                    let (below, others) = split[1..=len].split_at_mut(count);
                    let is_below = |&word: &W| enter.apply(word) < pivot;
                    assert!(below.iter().all(is_below) && !others.iter().any(is_below), "{what}");
                    let (mut split, mut expected) = (split[1..=len].to_vec(), words.clone());
                    split.sort_unstable();
                    expected.sort_unstable();
                    assert!(split == expected, "{what}");
                }
            }
        }
    }

    /// Merges of random words, of slices of which one is before the other, and of slices that are not sorted, which keep all words.
    fn check_merges<W: MergeWord>() {
        let mut state = u64::from(W::BITS) + 2;
        for set in Set::all() {
            for round in 0..600 {
                let parts = [0, 1].map(|_| {
                    let lengths = [0, 1].map(|_| (random(&mut state) % [3, 70, 900][round % 3]) as usize);
                    let mut slices = lengths.map(|len| words::<W>(len, &mut state));
                    if let 0 | 1 = round % 5 {
                        slices[round % 5].iter_mut().for_each(|word| *word = *word >> 1);
                        slices[1 - round % 5].iter_mut().for_each(|word| *word = *word >> 1 | !(W::max_value() >> 1));
                    }
                    if round % 5 != 2 {
                        slices.iter_mut().for_each(|slice| slice.sort_unstable());
                    }
                    slices
                });
                let mut merged = parts.each_ref().map(|[left, right]| vec![W::one(); left.len() + right.len()]);
                let [first, second] = &mut merged;
                let part = |at: usize, merged| MergePart { left: &parts[at][0], right: &parts[at][1], merged };
                W::merge(set, [part(0, first), part(1, second)], |MergePart { left, right, merged }| {
                    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
                    for place in merged {
                        let next = right.peek().copied();
                        *place =
                            *left.next_if(|&word| next.is_none_or(|next| word <= next)).or_else(|| right.next()).expect("a word");
                    }
                });
                for (slices, mut merged) in parts.into_iter().zip(merged) {
                    let what = format!("{}, {} and {} words of {} bits", set.name(), slices[0].len(), slices[1].len(), W::BITS);
                    let mut expected = slices.concat();
                    expected.sort_unstable();
                    if round % 5 == 2 {
                        merged.sort_unstable();
                    }
                    assert!(merged == expected, "{what}");
                }
            }
        }
    }

    #[test]
    fn merges() {
        check_merges::<u16>();
        check_merges::<u32>();
        check_merges::<u64>();
    }

    #[test]
    fn words_of_16_bits() {
        check::<u16>();
    }

    #[test]
    fn words_of_32_bits() {
        check::<u32>();
        check_splits::<u32>();
    }

    #[test]
    fn words_of_128_bits() {
        check::<u128>();
        check_splits::<u128>();
    }

    #[test]
    fn words_of_64_bits() {
        check::<u64>();
        check_splits::<u64>();
    }

    /// All inputs of zeros and ones: a network that sorts these sorts everything.
    #[test]
    fn zeros_and_ones() {
        for set in Set::all() {
            for len in 1..=14_usize {
                for bits in 0..1_u32 << len {
                    let mut words: Vec<u32> = (0..len).map(|at| bits >> at & 1).collect();
                    u32::sort(set, None, &mut words, Map::identity(), Map::identity());
                    assert!(words.is_sorted(), "{}, {len} words of {bits:b}", set.name());
                }
            }
        }
    }
}
