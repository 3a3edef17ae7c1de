//! `Kept`: a number as a store keeps it, and its conversion to single precision.

use half::f16;

/// Numbers of half precision that are converted to single precision at a time. They stay in the L1 cache.
pub(super) const BLOCK: usize = 256;

/// A number in the precision of a store. All numbers of a store are finite.
pub(super) trait Kept: Copy + Sync {
    /// The bits of the number.
    fn bits(self) -> u32;

    /// Converts numbers to single precision. Returns `block` itself, or the converted numbers in `buffer`.
    fn widen<'a>(block: &'a [Self], buffer: &'a mut [f32; BLOCK]) -> &'a [f32];
}

impl Kept for f32 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits()
    }

    #[inline(always)]
    fn widen<'a>(block: &'a [f32], _: &'a mut [f32; BLOCK]) -> &'a [f32] {
        block
    }
}

impl Kept for f16 {
    #[inline(always)]
    fn bits(self) -> u32 {
        self.to_bits().into()
    }

    #[inline(always)]
    fn widen<'a>(block: &'a [f16], buffer: &'a mut [f32; BLOCK]) -> &'a [f32] {
        let widened = &mut buffer[..block.len()];
        for (wide, half) in widened.iter_mut().zip(block) {
            *wide = finite(half.to_bits());
        }
        widened
    }
}

/// Converts a finite number of half precision, given by its bits, to single precision, exactly. The conversion of the crate `half` is one instruction on
/// some processors, but one call for each eight numbers. This function is inlined as vector code without a branch.
#[inline(always)]
fn finite(half: u16) -> f32 {
    // The sign, and exponent and fraction at the positions of single precision. The exponent's bias is 15 in half, 127 in single precision.
    let moved = (i32::from(half.cast_signed()) << 13) as u32 & 0x8fff_e000;
    f32::from_bits(moved) * f32::from_bits((127 + 127 - 15) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_widened_exactly() {
        let all = Vec::from_iter((0..=u16::MAX).map(f16::from_bits).filter(|half| half.is_finite()));
        assert_eq!(all.len(), 2 * 0x7c00);
        for block in all.chunks(BLOCK) {
            let mut buffer = [0.0; BLOCK];
            for (wide, half) in f16::widen(block, &mut buffer).iter().zip(block) {
                assert_eq!(wide.to_bits(), half.to_f32().to_bits(), "{half:?} became {wide}");
            }
        }
    }
}
