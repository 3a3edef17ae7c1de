//! Groups the blocks of all runs into buckets, which are ranges of keys.
//!
//! Each spilled run is a list of blocks in the order of their keys. A bucket has the rows of all runs whose keys lie in one range:
//!
//! ```text
//! run 0   [a  block  d][d  block  k][l  block  z]
//! run 1   [b    block    h][h  block  n][p block y]
//! bucket  |     below l             |     from l on
//! ```
//!
//! Each run is sorted, so at most one of its blocks has rows on both sides of a border. The operator reads such a block for both buckets.

use datafusion::arrow::row::OwnedRow;
use datafusion::error::Result;
use std::ops::Range;

/// The range of keys of a block, and its memory.
#[derive(Clone, Debug)]
pub(crate) struct Extent {
    /// The key of the first row.
    pub(crate) first: OwnedRow,
    /// The key of the last row.
    pub(crate) last: OwnedRow,
    /// About the memory in bytes that a sort of these rows needs.
    pub(crate) bytes: usize,
}

/// The rows whose keys are at least `start` and less than `end`. `None` means no limit.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// The indices of the blocks that have such rows.
    pub(crate) blocks: Vec<usize>,
    pub(crate) start: Option<OwnedRow>,
    pub(crate) end: Option<OwnedRow>,
    /// Whether the blocks need at most the memory that a bucket may use.
    pub(crate) fits: bool,
}

impl Bucket {
    /// Which of `len` rows in order are in the bucket. `key(i)` is the key of row `i`.
    ///
    /// # Errors
    /// Those of `key`.
    pub(crate) fn range(&self, len: usize, key: impl Fn(usize) -> Result<OwnedRow>) -> Result<Range<usize>> {
        let bound = |border: &OwnedRow| lower_bound(len, border, &key);
        let start = self.start.as_ref().map_or(Ok(0), bound)?;
        let end = self.end.as_ref().map_or(Ok(len), bound)?;
        Ok(start..end)
    }
}

/// Returns the index of the first of `len` rows in order whose key is at least `border`, or `len`. `key(i)` is the key of row `i`.
fn lower_bound(len: usize, border: &OwnedRow, key: impl Fn(usize) -> Result<OwnedRow>) -> Result<usize> {
    let (mut start, mut end) = (0, len);
    while start < end {
        let middle = start.midpoint(end);
        if key(middle)? < *border {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    Ok(start)
}

/// A bucket that does not fit needs at most this many times what its first rows need: DataFusion's merge has all of its blocks open.
const MERGED_GROWTH: usize = 4;

/// Buckets for all rows of `blocks`, in order. A bucket that [fits](Bucket::fits) needs at most `max_bytes`.
pub(crate) fn buckets(blocks: &[&Extent], max_bytes: usize) -> Vec<Bucket> {
    let mut borders: Vec<&OwnedRow> = blocks.iter().map(|block| &block.first).collect();
    borders.sort();
    borders.dedup();
    // Interval `i` lies between the borders `i` and `i` + 1.
    let interval_of = |key: &OwnedRow| borders.partition_point(|border| *border <= key) - 1;
    let intervals: Vec<Range<usize>> =
        blocks.iter().map(|block| interval_of(&block.first)..interval_of(&block.last) + 1).collect();
    // The bytes of the blocks that begin in each interval, of those that end there, and of those that have rows in it.
    let [mut begin, mut end_in] = [vec![0; borders.len()], vec![0; borders.len()]];
    for (block, intervals) in blocks.iter().zip(&intervals) {
        begin[intervals.start] += block.bytes;
        end_in[intervals.end - 1] += block.bytes;
    }
    let mut open = 0;
    let within: Vec<usize> = begin
        .iter()
        .zip(&end_in)
        .map(|(begin, end)| {
            let bytes = open + begin;
            open = bytes - end;
            bytes
        })
        .collect();
    let mut buckets = Vec::new();
    let mut start = 0;
    while start < borders.len() {
        let mut bytes = within[start];
        let fits = bytes <= max_bytes;
        let mut end = start + 1;
        while let Some(more) = begin.get(end).map(|begin| bytes + begin) {
            let grows = if fits { more <= max_bytes } else { within[end] > max_bytes && more <= MERGED_GROWTH * within[start] };
            if !grows {
                break;
            }
            (bytes, end) = (more, end + 1);
        }
        let has_rows = |intervals: &Range<usize>| intervals.start < end && start < intervals.end;
        buckets.push(Bucket {
            blocks: (0..blocks.len()).filter(|&block| has_rows(&intervals[block])).collect(),
            start: (start > 0).then(|| borders[start].clone()),
            end: borders.get(end).map(|&border| border.clone()),
            fits,
        });
        start = end;
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::DataType;
    use datafusion::arrow::row::{RowConverter, SortField};
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};
    use std::sync::Arc;

    fn keys(values: &[i64]) -> Vec<OwnedRow> {
        let converter = RowConverter::new(vec![SortField::new(DataType::Int64)]).expect("a converter");
        let rows = converter.convert_columns(&[Arc::new(Int64Array::from(values.to_vec()))]).expect("rows");
        rows.iter().map(|row| row.owned()).collect()
    }

    /// Random runs of random blocks: every row is in one bucket, buckets are in order, and those that fit need no more memory than they may.
    #[test]
    fn every_row_is_in_one_bucket() {
        let mut rng = SmallRng::seed_from_u64(25);
        let (mut fit, mut too_large, mut split) = (0, 0, 0);
        for _ in 0..300 {
            let mut blocks: Vec<(Vec<OwnedRow>, Extent)> = Vec::new();
            let most = rng.random_range(1..200);
            for _ in 0..rng.random_range(1..6) {
                let mut run: Vec<i64> = (0..rng.random_range(1..100)).map(|_| rng.random_range(0..most)).collect();
                run.sort_unstable();
                for rows in keys(&run).chunks(rng.random_range(1..20)) {
                    let extent = Extent { first: rows[0].clone(), last: rows[rows.len() - 1].clone(), bytes: rows.len() };
                    blocks.push((rows.to_vec(), extent));
                }
            }
            let extents: Vec<Extent> = blocks.iter().map(|(_, extent)| extent.clone()).collect();
            let max_bytes = rng.random_range(1..150);
            let buckets = buckets(&extents.iter().collect::<Vec<_>>(), max_bytes);
            let mut end = None;
            for (index, bucket) in buckets.iter().enumerate() {
                assert_eq!(bucket.start, end, "a bucket starts where the one before ends");
                assert!(!bucket.blocks.is_empty());
                assert!(index == 0 || bucket.start.is_some());
                end = bucket.end.clone();
                let bytes: usize = bucket.blocks.iter().map(|&block| extents[block].bytes).sum();
                assert_eq!(bucket.fits, bytes <= max_bytes, "{bytes} bytes of {max_bytes}");
                fit += usize::from(bucket.fits);
                too_large += usize::from(!bucket.fits);
                let is_in = |key: &OwnedRow| {
                    bucket.start.as_ref().is_none_or(|start| key >= start) && bucket.end.as_ref().is_none_or(|end| key < end)
                };
                for (block, (rows, _)) in blocks.iter().enumerate() {
                    let (inside, all) = (rows.iter().filter(|key| is_in(key)).count(), rows.len());
                    assert!(inside == 0 || bucket.blocks.contains(&block), "bucket {index} lacks rows of block {block}");
                    split += usize::from(inside > 0 && inside < all);
                }
            }
            assert_eq!(end, None, "the last bucket has no end");
        }
        assert!(fit > 300 && too_large > 100 && split > 300, "{fit} {too_large} {split}");
    }

    /// Two runs of four blocks, of 10 bytes each: at each border the block of the other run counts for both sides.
    #[test]
    fn buckets_are_as_large_as_the_memory() {
        let firsts = [keys(&[0, 10, 20, 30]), keys(&[5, 15, 25, 35])].concat();
        let lasts = [keys(&[9, 19, 29, 39]), keys(&[14, 24, 34, 44])].concat();
        let blocks: Vec<Extent> = firsts.into_iter().zip(lasts).map(|(first, last)| Extent { first, last, bytes: 10 }).collect();
        let of = |max_bytes| -> Vec<(Vec<usize>, bool)> {
            buckets(&blocks.iter().collect::<Vec<_>>(), max_bytes)
                .into_iter()
                .map(|bucket| (bucket.blocks, bucket.fits))
                .collect()
        };
        assert_eq!(of(80), [((0..8).collect(), true)]);
        assert_eq!(of(40), [(vec![0, 1, 4, 5], true), (vec![2, 3, 5, 6], true), (vec![3, 7], true)]);
        // Where two blocks overlap, 20 bytes are needed at least.
        assert_eq!(of(10), [(vec![0], true), (vec![0, 1, 2, 3, 4, 5, 6, 7], false)]);
        // A bucket of blocks that do not fit has at most four times the 10 bytes of its first rows.
        assert_eq!(of(9), [(vec![0, 1, 4, 5], false), (vec![2, 3, 5, 6, 7], false)]);
    }
}
