//! How many elements each device gets.

use core::ops::Range;

/// Consecutive elements of the input that one device sorts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The index of the device in the crew.
    pub(crate) member: usize,
    pub(crate) range: Range<usize>,
}

/// Returns how many of `len` elements each device gets, by its speed. The shares sum to `len`.
///
/// The fastest `j` devices get a share, for the `j` with the least time. With one device, this is `1 / speed` for each element; with more, it is
/// `1 / sum of speeds + 1 / merge`. A device whose share would be shorter than `least` elements gets none.
pub(crate) fn shares(len: usize, least: usize, speeds: &[f64], merge: f64) -> Vec<usize> {
    let mut fastest: Vec<usize> = (0..speeds.len()).collect();
    fastest.sort_by(|&a, &b| speeds[b].total_cmp(&speeds[a]));
    let (mut sum, mut best, mut best_time) = (0.0, 1, f64::INFINITY);
    for (before, &device) in fastest.iter().enumerate() {
        sum += speeds[device];
        let time = 1.0 / sum + if before == 0 { 0.0 } else { 1.0 / merge };
        let is_long = before == 0 || len as f64 * (speeds[device] / sum) >= least.max(1) as f64;
        if is_long && time < best_time {
            (best, best_time) = (before + 1, time);
        }
    }
    let used = &fastest[..best.min(fastest.len())];
    let total: f64 = used.iter().map(|&device| speeds[device]).sum();
    let (mut before, mut start) = (0.0, 0);
    let share = |device: usize| {
        if !used.contains(&device) {
            return 0;
        }
        before += speeds[device];
        let end = ((len as f64 * (before / total)).round() as usize).clamp(start, len);
        end - core::mem::replace(&mut start, end)
    };
    let mut shares: Vec<usize> = (0..speeds.len()).map(share).collect();
    // Rounding may have left some elements.
    if let Some(&first) = used.first() {
        shares[first] += len - shares.iter().sum::<usize>();
    }
    shares
}

/// Cuts the shares of devices into pieces of at most `limit` elements, which is at least 1. The pieces of one share have about the same length.
pub(crate) fn pieces(shares: &[(usize, usize)], limit: usize) -> Vec<Piece> {
    let (mut pieces, mut start) = (vec![], 0);
    for &(member, share) in shares {
        let count = share.div_ceil(limit);
        let bound = |piece: usize| start + (share as u128 * piece as u128 / count.max(1) as u128) as usize;
        pieces.extend((0..count).map(|piece| Piece { member, range: bound(piece)..bound(piece + 1) }));
        start += share;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_proportional_to_speeds_and_lose_nothing() {
        let free = f64::INFINITY;
        assert_eq!(shares(1000, 1, &[1.0, 1.0], free), [500, 500]);
        assert_eq!(shares(1000, 1, &[3.0, 1.0], free), [750, 250]);
        assert_eq!(shares(1001, 1, &[1.0, 2.0, 1.0], free), [250, 501, 250]);
        assert_eq!(shares(0, 1, &[1.0, 2.0], free), [0, 0]);
        assert_eq!(shares(7, 1, &[5.0], 1.0), [7]);
        for len in (0..200).chain([1 << 40, (1 << 52) + 1]) {
            for speeds in [&[1e-3, 7.0, 0.1, 0.1][..], &[1.0; 7], &[1e12, 1.0], &[1e-300, 1e300]] {
                assert_eq!(shares(len, 1, speeds, free).iter().sum::<usize>(), len, "{len} {speeds:?}");
            }
        }
    }

    #[test]
    fn short_inputs_go_to_the_fastest() {
        assert_eq!(shares(99, 50, &[1.0, 2.0, 2.0], f64::INFINITY), [0, 99, 0]);
        assert_eq!(shares(100, 50, &[1.0, 2.0, 2.0], f64::INFINITY), [0, 50, 50]);
        assert_eq!(shares(250, 50, &[1.0, 2.0, 2.0], f64::INFINITY), [50, 100, 100]);
    }

    /// 1 / 4 alone; 1 / 5 + 1 / merge by both.
    #[test]
    fn a_merge_that_costs_more_than_the_second_device_saves_is_not_done() {
        assert_eq!(shares(1000, 1, &[4.0, 1.0], 19.0), [1000, 0]);
        assert_eq!(shares(1000, 1, &[4.0, 1.0], 21.0), [800, 200]);
        assert_eq!(shares(1000, 1, &[1.0, 4.0], 19.0), [0, 1000]);
    }

    #[test]
    fn pieces_cover_the_shares_within_the_limit() {
        let piece = |member, range| Piece { member, range };
        assert_eq!(pieces(&[(0, 5), (2, 3)], 9), [piece(0, 0..5), piece(2, 5..8)]);
        assert_eq!(pieces(&[(0, 0), (1, 5)], 2), [piece(1, 0..1), piece(1, 1..3), piece(1, 3..5)]);
        assert_eq!(pieces(&[(0, 0)], 2), []);
    }
}
