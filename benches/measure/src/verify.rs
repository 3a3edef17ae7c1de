//! Whether the values of a sort were moved with their keys.

use std::thread::{available_parallelism, scope};

/// The fewest positions that are worth a thread.
const SHARE: usize = 1 << 18;

/// Whether `index` is the stable sorting permutation of `input`. `sorted` are the same keys in their order, by a reference; `bits` are equal for equal keys.
///
/// `index(i)` is the index in `input` of the key that the sort put at position `i`. It must lead to the key of `sorted`, and indices of equal keys must
/// ascend: then each index occurs once.
pub fn is_stable_order<K: Sync, B: PartialEq>(
    input: &[K],
    sorted: &[K],
    bits: impl Fn(&K) -> B + Sync,
    index: impl Fn(usize) -> usize + Sync,
) -> bool {
    let is_right = |i: usize| {
        let leads = input.get(index(i)).is_some_and(|key| bits(key) == bits(&sorted[i]));
        leads && (i == 0 || bits(&sorted[i - 1]) != bits(&sorted[i]) || index(i - 1) < index(i))
    };
    let share = sorted.len().div_ceil(available_parallelism().map_or(1, usize::from)).max(SHARE);
    let is_right = &is_right;
    let shares = (0..sorted.len()).step_by(share).map(|begin| begin..sorted.len().min(begin + share));
    input.len() == sorted.len()
        && scope(|scope| {
            let threads: Vec<_> = shares.map(|mut share| scope.spawn(move || share.all(is_right))).collect();
            threads.into_iter().all(|thread| thread.join().expect("a comparison does not panic"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_orders_are_found() {
        let input = [30, 10, 20, 10, 30];
        let sorted = [10, 10, 20, 30, 30];
        let is_right = |order: [usize; 5]| is_stable_order(&input, &sorted, |&key| key, |i| order[i]);
        assert!(is_right([1, 3, 2, 0, 4]));
        for (wrong, why) in [
            ([3, 1, 2, 0, 4], "equal keys out of order"),
            ([1, 1, 2, 0, 4], "an index twice"),
            ([1, 3, 0, 2, 4], "values of other keys"),
            ([1, 3, 2, 0, 5], "no index"),
        ] {
            assert!(!is_right(wrong), "{why}");
        }
        assert!(!is_stable_order(&input, &sorted[..1], |&key| key, |_| 1), "fewer keys");
        assert!(is_stable_order(&[0_u8; 0], &[], |&key| key, |i| i));
    }

    #[test]
    fn the_borders_of_shares_are_checked_too() {
        let len = 4 * SHARE + 5;
        let keys = vec![7_u8; len];
        assert!(is_stable_order(&keys, &keys, |&key| key, |i| i));
        let share = len.div_ceil(available_parallelism().map_or(1, usize::from)).max(SHARE);
        for at in (share..len).step_by(share).flat_map(|border| [border - 1, border, border + 1]).chain([1, len - 1]) {
            let swapped = |i: usize| {
                if i == at {
                    at - 1
                } else if i + 1 == at {
                    at
                } else {
                    i
                }
            };
            assert!(!is_stable_order(&keys, &keys, |&key| key, swapped), "{at}");
        }
    }
}
