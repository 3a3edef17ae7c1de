//! Merging sorted words in registers.
//!
//! A register carries words that are loaded and not yet written, sorted. Each step
//!
//! 1. loads a register from the slice whose next word is less,
//! 2. merges it with the carried one, by a bitonic network,
//! 3. writes the lesser half, and carries the greater one.
//!
//! Why the lesser half can be written: let A be the slice that a step loads from, and B the other one, so A's next word is at most B's next word.
//!
//! - Each carried word is at most the next word of its own slice, and so at most B's. These words fill a register. So no word of the lesser half is greater
//!   than a word of B that is not loaded.
//! - The loaded words also fill a register, and none is greater than A's words that are still not loaded. So no word of the lesser half is, either.
//!
//! (Chhugani et al., "Efficient implementation of sorting on multi-core SIMD CPU architecture", VLDB 2008.)
//!
//! Each step waits for the result of the previous one. So the steps of two independent merges alternate, and the processor overlaps them.

use super::network::{exchange_all, half_clean_lanes};
use super::registers::Registers;
use core::hint::select_unpredictable;
use num_traits::Zero;

/// Two sorted slices, and one of their joint length for the words of both in order.
pub(crate) struct MergePart<'a, W> {
    pub(crate) left: &'a [W],
    pub(crate) right: &'a [W],
    pub(crate) merged: &'a mut [W],
}

/// Merges two pairs of slices. `scalar` merges a part of which one slice has less than a register, and the end of every part.
#[inline(always)]
pub(super) fn merge<S: Registers>(set: S, parts: [MergePart<'_, S::Word>; 2], scalar: fn(MergePart<'_, S::Word>)) {
    match parts.map(|part| Merge::start(set, part)) {
        [Ok(mut first), Ok(mut second)] => {
            loop {
                let steps = first.steps().min(second.steps());
                if steps == 0 {
                    break;
                }
                for _ in 0..steps {
                    first.step();
                    second.step();
                }
            }
            first.finish(scalar);
            second.finish(scalar);
        }
        others => {
            for merge in others {
                match merge {
                    Ok(merge) => merge.finish(scalar),
                    Err(part) => scalar(part),
                }
            }
        }
    }
}

struct Merge<'a, S: Registers> {
    set: S,
    part: MergePart<'a, S::Word>,
    carried: S::Register,
    /// Words loaded from the left, and from the right.
    from_left: usize,
    from_right: usize,
    written: usize,
}

impl<'a, S: Registers> Merge<'a, S> {
    /// Loads the first register, or returns the part if a slice is shorter than a register.
    #[inline(always)]
    fn start(set: S, part: MergePart<'a, S::Word>) -> Result<Self, MergePart<'a, S::Word>> {
        if part.left.len().min(part.right.len()) < S::LANES {
            return Err(part);
        }
        let carried = load(set, &part.left[..S::LANES]);
        Ok(Self { set, part, carried, from_left: S::LANES, from_right: 0, written: 0 })
    }

    /// Returns a number of steps before each of which both slices have at least a register of words.
    #[inline(always)]
    fn steps(&self) -> usize {
        let left = (self.part.left.len() - self.from_left) / S::LANES;
        left.min((self.part.right.len() - self.from_right) / S::LANES)
    }

    #[inline(always)]
    fn step(&mut self) {
        let left = &self.part.left[self.from_left..self.from_left + S::LANES];
        let right = &self.part.right[self.from_right..self.from_right + S::LANES];
        let takes_left = left[0] <= right[0];
        let next = load(self.set, select_unpredictable(takes_left, left, right));
        self.from_left += usize::from(takes_left) * S::LANES;
        self.from_right += usize::from(!takes_left) * S::LANES;

        let (less, greater) = self.set.sort2(self.carried, exchange_all(self.set, next));
        let mut rows = [less, greater];
        half_clean_lanes(self.set, &mut rows, S::LANES / 2);
        store(self.set, rows[0], &mut self.part.merged[self.written..self.written + S::LANES]);
        self.carried = rows[1];
        self.written += S::LANES;
    }

    /// Merges the rest: in registers while both slices have one. Then `scalar` merges the carried words with the shorter rest, and the result with the
    /// longer rest.
    #[inline(always)]
    fn finish(mut self, scalar: fn(MergePart<'_, S::Word>)) {
        loop {
            let steps = self.steps();
            if steps == 0 {
                break;
            }
            for _ in 0..steps {
                self.step();
            }
        }
        let (left, right) = (&self.part.left[self.from_left..], &self.part.right[self.from_right..]);
        let (short, long) = if left.len() < S::LANES { (left, right) } else { (right, left) };
        let merged = &mut self.part.merged[self.written..];

        const { assert!(S::LANES <= MOST_LANES) };
        let (mut carried, mut last) = ([S::Word::zero(); MOST_LANES], [[S::Word::zero(); MOST_LANES]; 2]);
        let (carried, last) = (&mut carried[..S::LANES], &mut last.as_flattened_mut()[..S::LANES + short.len()]);
        store(self.set, self.carried, carried);
        scalar(MergePart { left: carried, right: short, merged: last });
        // Words of the long slice that are greater than all others are only copied.
        let greatest = last[last.len() - 1];
        let (long, greater) = long.split_at(long.partition_point(|&word| word <= greatest));
        let (merged, end) = merged.split_at_mut(last.len() + long.len());
        scalar(MergePart { left: last, right: long, merged });
        end.copy_from_slice(greater);
    }
}

/// The most words of a register: 512 bits of `u16`.
const MOST_LANES: usize = 32;

#[inline(always)]
fn load<S: Registers>(set: S, words: &[S::Word]) -> S::Register {
    set.xor(set.load(words), set.splat(S::BIAS))
}

#[inline(always)]
fn store<S: Registers>(set: S, register: S::Register, words: &mut [S::Word]) {
    set.store(set.xor(register, set.splat(S::BIAS)), words);
}
