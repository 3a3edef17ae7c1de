//! Pseudo-random words, and how many slices are timed together.

/// Shorter slices are timed in batches of about this many keys. A batch fits the cache, and is too long for a branch predictor to learn.
const BATCH_KEYS: usize = 1 << 16;

/// Returns how many different slices of `len` keys are sorted one after another and timed together. Their time is divided by their number.
pub fn batch(len: usize) -> usize {
    BATCH_KEYS.div_ceil(len).max(1)
}

/// Returns the states of an xorshift generator of 64 bits that begins after `seed`, which is not zero.
pub fn states(seed: u64) -> impl Iterator<Item = u64> {
    let next = |state: &u64| {
        let state = state ^ state << 13;
        let state = state ^ state >> 7;
        Some(state ^ state << 17)
    };
    std::iter::successors(Some(seed), next).skip(1)
}

/// Returns pseudo-random words (xorshift64*) that `seed`, which is not zero, determines.
pub fn words(seed: u64) -> impl Iterator<Item = u64> {
    states(seed).map(|state| state.wrapping_mul(0x2545_f491_4f6c_dd1d))
}

/// Returns the pseudo-random word at an index (SplitMix64).
pub fn split_mix(index: u64) -> u64 {
    let z = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_slices_are_timed_together() {
        assert_eq!([1, 64, 100, 1 << 16, 1 << 20].map(batch), [1 << 16, 1 << 10, 656, 1, 1]);
    }

    #[test]
    fn words_are_those_of_earlier_records() {
        // As the loops that the programs had before, and as `gpu/cub_runs.cu`.
        let mut state = 0x1234_5678_9abc_def0_u64;
        for found in states(state).take(5) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            assert_eq!(found, state);
        }
        assert_eq!(words(1).next(), states(1).next().map(|state| state.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        // The first number of SplitMix64 with the seed 0.
        assert_eq!((split_mix(0), split_mix(1)), (0, 0xe220_a839_7b1d_cdaf));
    }
}
