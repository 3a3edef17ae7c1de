//! Segments, dealt out to devices.

use core::ops::Range;
use polysort_core::Segments;

/// Consecutive segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The device that sorts the segments; `None` for one segment that all devices sort together.
    pub(crate) member: Option<usize>,
    /// The indices of the segments.
    pub(crate) segments: Range<usize>,
    /// The keys from the start of the first segment to the end of the last one.
    pub(crate) keys: Range<usize>,
}

/// Deals segments out by their lengths, in their order, by the `shares` of devices. A group spans at most `limit` keys.
///
/// A segment that is longer than `limit`, or than the largest share, is a group of its own without a device.
pub(crate) fn groups(segments: Segments<'_>, shares: &[(usize, usize)], limit: usize) -> Vec<Group> {
    let total: usize = segments.ranges().map(|range| range.len()).sum();
    let sum: usize = shares.iter().map(|&(_, share)| share).sum();
    let scaled = |share: usize| (total as u128 * share as u128).div_ceil(sum.max(1) as u128) as usize;
    let longest = shares.iter().map(|&(_, share)| scaled(share)).max().unwrap_or(0).min(limit);
    // A device gets segments until their lengths reach the sum of the shares up to its own.
    let (mut device, mut dealt, mut due) = (0, 0, scaled(shares.first().map_or(0, |&(_, share)| share)));
    let mut groups: Vec<Group> = vec![];
    for (index, keys) in segments.ranges().enumerate() {
        while !keys.is_empty() && dealt >= due && device + 1 < shares.len() {
            device += 1;
            due += scaled(shares[device].1);
        }
        dealt += keys.len();
        let member = if keys.len() > longest { None } else { shares.get(device).map(|&(member, _)| member) };
        match groups.last_mut() {
            Some(group) if member.is_some() && group.member == member && keys.end - group.keys.start <= limit => {
                group.segments.end = index + 1;
                group.keys.end = keys.end;
            }
            _ => groups.push(Group { member, segments: index..index + 1, keys }),
        }
    }
    groups
}

/// Segments of a group, which count from the start of its keys.
pub(crate) enum Own {
    Offsets(Vec<usize>),
    Ranges { begins: Vec<usize>, ends: Vec<usize> },
    Rows { rows: usize, len: usize, stride: usize },
}

impl Own {
    pub(crate) fn of(segments: Segments<'_>, group: &Group) -> Self {
        let (Range { start, end }, first) = (group.segments.clone(), group.keys.start);
        let moved = |positions: &[usize]| positions.iter().map(|position| position - first).collect();
        match segments {
            Segments::Offsets(offsets) => Self::Offsets(moved(&offsets[start..=end])),
            Segments::Ranges { begins, ends } => {
                Self::Ranges { begins: moved(&begins[start..end]), ends: moved(&ends[start..end]) }
            }
            // The keys of a group begin with those of its first row.
            Segments::Rows { len, stride, .. } => Self::Rows { rows: end - start, len, stride },
        }
    }

    pub(crate) fn segments(&self) -> Segments<'_> {
        match self {
            Self::Offsets(offsets) => Segments::Offsets(offsets),
            Self::Ranges { begins, ends } => Segments::Ranges { begins, ends },
            &Self::Rows { rows, len, stride } => Segments::Rows { rows, len, stride },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(member: Option<usize>, segments: Range<usize>, keys: Range<usize>) -> Group {
        Group { member, segments, keys }
    }

    #[test]
    fn whole_segments_are_dealt_out_by_length() {
        let offsets = Segments::Offsets(&[0, 2, 4, 6, 8]);
        assert_eq!(groups(offsets, &[(0, 4), (2, 4)], 9), [group(Some(0), 0..2, 0..4), group(Some(2), 2..4, 4..8)]);
        assert_eq!(groups(offsets, &[(1, 6), (0, 2)], 9), [group(Some(1), 0..3, 0..6), group(Some(0), 3..4, 6..8)]);
        let split = groups(offsets, &[(0, 8)], 5);
        assert_eq!(split, [group(Some(0), 0..2, 0..4), group(Some(0), 2..4, 4..8)]);
    }

    #[test]
    fn a_segment_that_is_too_long_for_one_device_is_for_all() {
        let offsets = Segments::Offsets(&[0, 1, 8, 9, 10]);
        let expected = [group(Some(0), 0..1, 0..1), group(None, 1..2, 1..8), group(Some(1), 2..4, 8..10)];
        assert_eq!(groups(offsets, &[(0, 5), (1, 5)], 9), expected);
        assert_eq!(groups(Segments::Offsets(&[0, 6]), &[(0, 6)], 5), [group(None, 0..1, 0..6)]);
    }

    #[test]
    fn gaps_and_empty_segments_count_as_keys_that_a_device_gets_but_not_as_work() {
        let segments = Segments::Ranges { begins: &[1, 5, 50, 60], ends: &[3, 5, 52, 60] };
        let shares = [(0, 35), (1, 35)];
        assert_eq!(
            groups(segments, &shares, 9),
            [group(Some(0), 0..2, 1..5), group(Some(1), 2..3, 50..52), group(Some(1), 3..4, 60..60)]
        );
        let own = Own::of(segments, &group(Some(0), 0..2, 1..5));
        assert_eq!(own.segments(), Segments::Ranges { begins: &[0, 4], ends: &[2, 4] });
        let segments = Segments::Rows { rows: 4, len: 2, stride: 5 };
        assert_eq!(groups(segments, &shares, 9), [group(Some(0), 0..2, 0..7), group(Some(1), 2..4, 10..17)]);
        let own = Own::of(segments, &group(Some(1), 2..4, 10..17));
        assert_eq!(own.segments(), Segments::Rows { rows: 2, len: 2, stride: 5 });
        assert_eq!(groups(Segments::Offsets(&[]), &shares, 9), []);
        assert_eq!(groups(Segments::Offsets(&[4, 4]), &shares, 9), [group(Some(0), 0..1, 4..4)]);
    }

    #[test]
    fn every_segment_is_in_one_group_within_the_limit() {
        let lens = [3, 0, 9, 1, 1, 1, 0, 0, 30, 2, 2, 5, 5, 5, 1];
        let offsets: Vec<usize> = std::iter::once(0)
            .chain(lens)
            .scan(0, |sum, len| {
                *sum += len;
                Some(*sum)
            })
            .collect();
        let segments = Segments::Offsets(&offsets);
        for limit in 1..70 {
            for shares in [&[(0, 65)][..], &[(0, 1), (1, 64)], &[(0, 20), (1, 20), (2, 25)]] {
                let groups = groups(segments, shares, limit);
                let all: Vec<usize> = groups.iter().flat_map(|group| group.segments.clone()).collect();
                assert_eq!(all, (0..lens.len()).collect::<Vec<_>>(), "{limit} {shares:?}");
                assert!(groups.iter().all(|group| group.keys.len() <= limit || group.member.is_none()), "{limit} {groups:?}");
            }
        }
    }
}
