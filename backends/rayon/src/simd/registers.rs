//! What a sorting network needs of a set of vector instructions.

use polysort_core::{Masks, Word};

/// A set of vector instructions, for words of one type: a token, which exists only where the processor has these instructions.
///
/// # What an implementor guarantees
/// * A register holds [`LANES`](Registers::LANES) words, a power of two.
/// * All methods but [`apart`](Registers::apart) are inlined, so that they become single instructions in a function that is compiled for the set.
///
/// What is called `X` is a pattern of bits: lane `i` meets lane `i ^ X`.
pub(crate) trait Registers: Copy {
    type Word: Word;
    type Register: Copy;

    /// Words of a register.
    const LANES: usize;

    /// Registers that a network keeps at once, at most 16. A power of two.
    const ROWS: usize;

    /// What words are XORed with on their way into registers, so that the set's comparison orders them.
    const BIAS: Self::Word;

    /// Calls `work` in a function of its own, which is compiled for the set.
    ///
    /// Without optimization, a function has room on the stack for each value of the code that is inlined into it. If all numbers of rows were in one
    /// function, it would take 2 MiB, which is the whole stack of a thread.
    fn apart(self, work: impl Work);

    /// A register of equal words.
    fn splat(self, word: Self::Word) -> Self::Register;

    /// A register of [`LANES`](Registers::LANES) words.
    fn load(self, words: &[Self::Word]) -> Self::Register;

    /// A register of the first words, as many as there are; `rest` in the other lanes.
    fn load_some(self, words: &[Self::Word], rest: Self::Word) -> Self::Register;

    /// Overwrites [`LANES`](Registers::LANES) words.
    fn store(self, register: Self::Register, words: &mut [Self::Word]);

    /// Overwrites the words that there are, at most [`LANES`](Registers::LANES), by the first lanes.
    fn store_some(self, register: Self::Register, words: &mut [Self::Word]);

    fn xor(self, a: Self::Register, b: Self::Register) -> Self::Register;

    fn and(self, a: Self::Register, b: Self::Register) -> Self::Register;

    /// All bits of a lane set where its top bit is.
    fn spread_sign(self, a: Self::Register) -> Self::Register;

    /// The lesser words of each lane, and the greater ones.
    fn sort2(self, a: Self::Register, b: Self::Register) -> (Self::Register, Self::Register);

    /// Each lane's word in the lane that it meets.
    fn exchange<const X: usize>(self, a: Self::Register) -> Self::Register;

    /// Puts the lesser word in the lower of two lanes that meet.
    fn sort_lanes<const X: usize>(self, a: Self::Register) -> Self::Register;
}

/// Work that is inlined into the function that calls it.
pub(crate) trait Work {
    fn run(self);
}

/// The map from raw words to ordered ones, or back: `word ^ before`, then `^ flip` where the sign is set, then `^ after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Map<W> {
    before: W,
    flip: W,
    after: W,
}

impl<W: Word> Map<W> {
    /// The map that changes nothing.
    pub(crate) fn identity() -> Self {
        Self { before: W::zero(), flip: W::zero(), after: W::zero() }
    }

    /// From raw words to ordered ones.
    pub(crate) fn enter(masks: Masks) -> Self {
        Self { before: W::zero(), flip: W::truncate(masks.clear ^ masks.set), after: W::truncate(masks.clear) }
    }

    /// From ordered words to raw ones: both masks agree in the top bit, which tells the raw sign.
    pub(crate) fn leave(masks: Masks) -> Self {
        Self { before: W::truncate(masks.clear), flip: W::truncate(masks.clear ^ masks.set), after: W::zero() }
    }

    /// The map with `bias` on top of what it gives.
    pub(crate) fn biased(self, bias: W) -> Self {
        Self { after: self.after ^ bias, ..self }
    }

    /// The map of words that have `bias` on top.
    pub(crate) fn unbiased(self, bias: W) -> Self {
        Self { before: self.before ^ bias, ..self }
    }

    /// Whether it changes no word.
    #[inline(always)]
    pub(crate) fn is_identity(self) -> bool {
        (self.before ^ self.after).is_zero() && self.flip.is_zero()
    }

    /// The word that the map makes of `word`.
    #[inline(always)]
    pub(crate) fn apply(self, word: W) -> W {
        let word = word ^ self.before;
        word ^ (word.spread_sign() & self.flip) ^ self.after
    }

    /// The word that the map makes `word` of; both have the same `flip`, whose top bit is clear.
    #[inline(always)]
    pub(crate) fn invert(self, word: W) -> W {
        Self { before: self.after, flip: self.flip, after: self.before }.apply(word)
    }

    /// Maps all lanes of a register.
    #[inline(always)]
    pub(crate) fn apply_to<S: Registers<Word = W>>(self, set: S, register: S::Register) -> S::Register {
        let register = set.xor(register, set.splat(self.before));
        let flip = set.and(set.spread_sign(register), set.splat(self.flip));
        set.xor(set.xor(register, flip), set.splat(self.after))
    }
}
