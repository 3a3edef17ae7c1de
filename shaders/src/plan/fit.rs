//! Shapes that fit a device: threads of a workgroup, keys of a thread, and the ranking.
//!
//! Each function takes `kernel`, which returns the variant with a tile, so that the workgroup memory of that variant is known.

use super::digit::{MAX_KEYS, RADIX_BITS};
use super::facts::Facts;
use super::kernel_shape::KernelShape;
use super::ranked_tile::{PassTile, RankedTile, Ranking};
use super::request::{Algorithm, Payload};
use super::tuned::PassKind;
use super::tuning::{self, GROUP, PassShape, SELECT_KEYS, WIDE_SLICES};
use super::variant::Variant;
use crate::manifest::Kernel;
use polysort_core::Error;

/// Returns the workgroup size and the tile of a workgroup that has up to `max` keys in registers until they are sorted. If
/// fewer keys fit, it has fewer. It ranks with ballots if `ballots` is set and the subgroups suit it. `kind` states the words
/// of a key and of its value.
pub(super) fn held(
    kind: PassKind,
    max: u64,
    ballots: bool,
    facts: &Facts,
    kernel: impl Fn(u32, RankedTile) -> Variant,
) -> Result<(u32, RankedTile), Error> {
    let (group, keys) = tuning::single(kind.key_words, kind.value_words, max);
    let (group, ranking) = facts.ballot(group).filter(|_| ballots).unwrap_or(facts.counters());
    Ok((group, fitted(keys, ranking, facts, |tile| kernel(group, tile))?))
}

/// Returns the workgroup size and the tile of a pass with look-back, if the subgroups suit it. `max` is the number of keys that
/// [decides the shape](Facts::alike).
pub(super) fn sweep(
    kind: PassKind,
    radix_bits: u32,
    max: u64,
    facts: &Facts,
    kernel: impl Fn(u32, PassTile) -> Variant,
) -> Result<Option<(u32, PassTile)>, Error> {
    if radix_bits > RADIX_BITS {
        return wide(kind, radix_bits, max, facts, kernel).map(Some);
    }
    let made = |PassShape { group, keys, slices }: PassShape| {
        let ballot = facts.ballot(group).or_else(|| facts.ballot(GROUP));
        let tile = |ranked| PassTile { ranked, slices, runs: facts.has_runs() };
        let fit = |(group, ranking)| {
            fitted(keys, ranking, facts, |ranked| kernel(group, tile(ranked))).map(|ranked| (group, tile(ranked)))
        };
        ballot.map(fit).transpose()
    };
    if let Some(tuned) = facts.tuned.pass(kind, max) {
        return made(tuned);
    }
    // The shapes for large inputs were measured for OneSweep only. A device that uses one shape for all lengths must not
    // use them, nor a device on which they do not fit.
    let large = tuning::large_pass(facts.class, kind.key_words, kind.value_words, max)
        .filter(|_| facts.unrolls())
        .and_then(|large| {
            let whole = |&(group, tile): &(u32, PassTile)| (group, tile.ranked.keys) == (large.group, large.keys);
            made(large).ok().flatten().filter(whole)
        })
        .filter(|&(group, tile)| kernel(group, tile).kernel() == Kernel::Onesweep);
    match large {
        Some(large) => Ok(Some(large)),
        None => made(tuning::pass(facts.class, kind.key_words, kind.value_words, max)),
    }
}

/// Returns the tile with the most keys per thread, up to `keys`, that fit workgroup memory.
pub(super) fn fitted(
    keys: u32,
    ranking: Ranking,
    facts: &Facts,
    kernel: impl Fn(RankedTile) -> Variant,
) -> Result<RankedTile, Error> {
    let unrolled = facts.unrolls();
    (1..=keys)
        .rev()
        .map(|keys| RankedTile { keys, ranking, unrolled })
        .find(|&tile| kernel(tile).workgroup_bytes() <= facts.workgroup_bytes)
        .ok_or_else(|| Error::Unsupported { what: format!("a device with {} bytes of workgroup memory", facts.workgroup_bytes) })
}

/// Returns the workgroup size and the tile of a pass with wide digits.
fn wide(
    kind: PassKind,
    radix_bits: u32,
    max: u64,
    facts: &Facts,
    kernel: impl Fn(u32, PassTile) -> Variant,
) -> Result<(u32, PassTile), Error> {
    let (group, keys) = tuning::wide_pass(kind.key_words, kind.value_words, max);
    // Two counts share a word.
    let row_words = (1 << radix_bits) / 2;
    // Each thread sums up the same number of words of the subgroup histograms.
    let ballot = facts.ballot_in_rows(group, row_words).filter(|(group, _)| row_words.is_multiple_of(*group));
    let (group, ranking) = ballot.ok_or_else(|| no_wide_digits(facts))?;
    let tile = |ranked| PassTile { ranked, slices: WIDE_SLICES, runs: false };
    Ok((group, tile(fitted(keys, ranking, facts, |ranked| kernel(group, tile(ranked)))?)))
}

pub(super) fn no_wide_digits(facts: &Facts) -> Error {
    let Facts { subgroups, workgroup_bytes, .. } = facts;
    let what =
        format!("wide digits on a device with {workgroup_bytes} bytes of workgroup memory and subgroups of {subgroups:?} lanes");
    Error::Unsupported { what }
}

/// Returns the workgroup size and the ranking of a selection. If the algorithm is `ReduceThenScan`, the ranking has no
/// subgroup operations.
pub(super) fn selecting(algorithm: Option<Algorithm>, facts: &Facts) -> (u32, Ranking) {
    let ballot = facts.ballot(GROUP).filter(|_| algorithm != Some(Algorithm::ReduceThenScan));
    ballot.unwrap_or(facts.counters())
}

impl Facts {
    /// Returns the shape of a pass of [`Algorithm::OneSweep`] over many keys, if the
    /// subgroups suit it. It is the measured one, or else the built-in one, reduced to what fits the device. `None` for
    /// a kind that is not one of [`PassKind::ALL`].
    pub fn pass_shape(&self, kind: PassKind) -> Option<PassShape> {
        let kind = PassKind::ALL.into_iter().find(|&known| known == kind)?;
        let payload = if kind.value_words == 0 { Payload::None } else { Payload::Words(kind.value_words) };
        let kernel =
            |group, tile| Variant::of(KernelShape::Onesweep { tile, payload, partitions: false }, 32 * kind.key_words, group);
        let (group, tile) = sweep(kind, RADIX_BITS, MAX_KEYS, self, kernel).ok().flatten()?;
        Some(PassShape { group, keys: tile.ranked.keys, slices: tile.slices })
    }

    /// Returns the most keys that one workgroup can select. From an array, all workgroups together can select more. From
    /// segments, no more can be selected: sort the segments instead.
    pub fn most_selected(&self) -> u32 {
        let most = |algorithm| {
            let (group, ranking) = selecting(algorithm, self);
            let shape = |tile| KernelShape::TopK { tile, segmented: false, nested: false, aliased: false };
            let tile = fitted(SELECT_KEYS, ranking, self, |tile| Variant::of(shape(tile), 32, group));
            tile.map_or(0, |tile| group * tile.keys)
        };
        most(None).min(most(Some(Algorithm::ReduceThenScan)))
    }
}
