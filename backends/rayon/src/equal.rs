//! Writing runs of equal keys.

use polysort_core::Word;

/// Keys that are written at a time: what is written behind a run is overwritten by the next.
const WRITTEN: usize = 32;

/// Overwrites `keys` by runs, in order: the key of each, and its length. Together they are as long as `keys`.
pub(crate) fn write_runs<W: Word>(keys: &mut [W], runs: impl Iterator<Item = (W, usize)>) {
    let mut at = 0;
    for (key, len) in runs {
        write_run(keys, at, len, key);
        at += len;
    }
}

/// Writes `len` keys from `at` on, and perhaps some more behind them.
#[inline(always)]
pub(crate) fn write_run<W: Word>(keys: &mut [W], at: usize, len: usize, key: W) {
    // The lengths of most runs differ by little, and then this has no branch that is hard to foresee.
    match keys.get_mut(at..at + WRITTEN) {
        Some(block) if len <= WRITTEN => block.fill(key),
        _ => write_long(&mut keys[at..], len, key),
    }
}

fn write_long<W: Word>(keys: &mut [W], len: usize, key: W) {
    match keys.as_chunks_mut::<WRITTEN>().0.get_mut(..len.div_ceil(WRITTEN)) {
        Some(blocks) => blocks.iter_mut().for_each(|block| *block = [key; WRITTEN]),
        None => keys[..len].fill(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_any_length_replace_all_keys() {
        for lens in [vec![], vec![0, 1, 0], vec![31, 32, 33, 0, 1], vec![100, 3, 64, 40], vec![5, 200], vec![1; 70]] {
            let runs = || lens.iter().enumerate().map(|(key, &len)| (key as u16, len));
            let expected: Vec<u16> = runs().flat_map(|(key, len)| vec![key; len]).collect();
            let mut keys = vec![u16::MAX; expected.len()];
            write_runs(&mut keys, runs());
            assert!(keys == expected, "{lens:?}");
        }
    }
}
