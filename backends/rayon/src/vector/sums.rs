//! Sums of terms over the pairs of numbers of two vectors. The order of the additions depends on the dimension only.

use super::kept::{BLOCK, Kept};

/// Independent partial sums of a distance: enough to keep the vector units busy during the latency of an addition.
pub(super) const LANES: usize = 16;

/// Independent partial sums for the end of a vector, which has fewer than `LANES` numbers: the width of the narrowest vector unit.
const REST: usize = 4;

/// The sum of `term` over all pairs of numbers.
#[inline(always)]
pub(super) fn sum<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK], term: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let mut lanes = [0.0; LANES];
    blocks(
        query,
        vector,
        buffer,
        #[inline(always)]
        |query, vector| add(&mut lanes, query, vector, term),
    );
    total(&lanes)
}

/// Calls `work` with each block of both, in single precision.
#[inline(always)]
pub(super) fn blocks<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK], mut work: impl FnMut(&[f32], &[f32])) {
    for (query, vector) in query.chunks(BLOCK).zip(vector.chunks(BLOCK)) {
        work(query, T::widen(vector, buffer));
    }
}

/// Adds the terms of a block to `lanes`: chunks of `LANES` terms, then chunks of `REST`, then single terms.
#[inline(always)]
pub(super) fn add(lanes: &mut [f32; LANES], query: &[f32], vector: &[f32], term: impl Fn(f32, f32) -> f32 + Copy) {
    let at = add_chunks::<LANES>(lanes, query, vector, 0, term);
    if at < query.len() {
        add_rest(lanes, &query[at..], &vector[at..], term);
    }
}

/// Adds the terms after the last whole chunk. Not inlined, like [`total`]: if they are, the compiler splits the lanes of the main loop to suit them.
#[inline(never)]
fn add_rest(lanes: &mut [f32; LANES], query: &[f32], vector: &[f32], term: impl Fn(f32, f32) -> f32 + Copy) {
    let at = add_chunks::<REST>(lanes, query, vector, 0, term);
    add_chunks::<1>(lanes, query, vector, at, term);
}

/// Adds the terms of whole chunks of `WIDTH` pairs from `start` on to the first `WIDTH` lanes, and returns where the chunks end.
#[inline(always)]
fn add_chunks<const WIDTH: usize>(
    lanes: &mut [f32; LANES],
    query: &[f32],
    vector: &[f32],
    start: usize,
    term: impl Fn(f32, f32) -> f32,
) -> usize {
    let end = query.len() - (query.len() - start) % WIDTH;
    let (query, vector) = (&query[..end], &vector[..end]);
    // A copy of the lanes stays in registers.
    let (mut sums, mut at) = (*lanes, start);
    while at < end {
        let (query, vector) = (lanes_at::<WIDTH>(query, at), lanes_at::<WIDTH>(vector, at));
        for lane in 0..WIDTH {
            sums[lane] += term(query[lane], vector[lane]);
        }
        at += WIDTH;
    }
    *lanes = sums;
    end
}

#[inline(always)]
fn lanes_at<const WIDTH: usize>(numbers: &[f32], at: usize) -> &[f32; WIDTH] {
    numbers[at..at + WIDTH].try_into().expect("as many numbers")
}

/// The sum of all lanes; the first additions are `REST` wide.
#[inline(never)]
pub(super) fn total(lanes: &[f32; LANES]) -> f32 {
    let mut sums = [0.0; REST];
    for lanes in lanes.chunks_exact(REST) {
        for lane in 0..REST {
            sums[lane] += lanes[lane];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3])
}
