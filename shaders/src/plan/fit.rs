//! Shapes that fit a device: threads of a workgroup, keys of a thread, and the ranking.

use super::digit::MAX_KEYS;
use super::facts::Facts;
use super::request::Algorithm;
use super::tuned::PassKind;
use super::tuning::{self, GROUP, PassShape, SELECT_KEYS, WIDE_SLICES};
use super::variant::{Ranking, Variant};
use crate::manifest::Kernel;
use polysort_core::Error;

/// Returns the shape of a workgroup that has up to `max` keys in registers until they are sorted. If fewer keys fit, it has
/// fewer. It ranks with ballots if `ballots` is set and the subgroups suit it.
pub(super) fn held(shape: Variant, max: u64, ballots: bool, facts: &Facts) -> Result<Variant, Error> {
    let (group, keys) = tuning::single(shape.key_words(), shape.value_words, max);
    let (group, ranking) = facts.ballot(group).filter(|_| ballots).unwrap_or(facts.counters());
    fitted(shape, group, keys, ranking, facts)
}

/// Returns the shape of a pass with look-back, if the subgroups suit it. `max` is the number of keys that [decides the
/// shape](Facts::alike).
pub(super) fn sweep(shape: Variant, max: u64, facts: &Facts) -> Result<Option<Variant>, Error> {
    if shape.has_wide_digits() {
        return wide(shape, max, facts).map(Some);
    }
    let kind = PassKind::new(shape.key_words(), shape.value_words);
    let shape = Variant { runs: facts.has_runs(), ..shape };
    let made = |PassShape { group, keys, slices }: PassShape| {
        let ballot = facts.ballot(group).or_else(|| facts.ballot(GROUP));
        ballot.map(|(group, ranking)| fitted(Variant { slices, ..shape }, group, keys, ranking, facts)).transpose()
    };
    if let Some(tuned) = facts.tuned.pass(kind, max) {
        return made(tuned);
    }
    // The shapes for large inputs were measured for OneSweep only. A device that uses one shape for all lengths must not
    // use them, nor a device on which they do not fit.
    let large = tuning::large_pass(facts.class, kind.key_words, kind.value_words, max)
        .filter(|_| shape.kernel == Kernel::Onesweep && facts.unrolls())
        .and_then(|large| made(large).ok().flatten().filter(|made| (made.group, made.keys) == (large.group, large.keys)));
    match large {
        Some(large) => Ok(Some(large)),
        None => made(tuning::pass(facts.class, kind.key_words, kind.value_words, max)),
    }
}

/// Returns `shape` with the most keys per thread, up to `keys`, that fit workgroup memory.
pub(super) fn fitted(shape: Variant, group: u32, keys: u32, ranking: Ranking, facts: &Facts) -> Result<Variant, Error> {
    let unrolled = facts.unrolls();
    (1..=keys)
        .rev()
        .map(|keys| Variant { group, keys, tile: group * keys, unrolled, ranking: Some(ranking), ..shape })
        .find(|shape| shape.workgroup_bytes() <= facts.workgroup_bytes)
        .ok_or_else(|| Error::Unsupported { what: format!("a device with {} bytes of workgroup memory", facts.workgroup_bytes) })
}

/// Returns the shape of a pass with wide digits.
fn wide(shape: Variant, max: u64, facts: &Facts) -> Result<Variant, Error> {
    let shape = Variant { slices: WIDE_SLICES, ..shape };
    let (group, keys) = tuning::wide_pass(shape.key_words(), shape.value_words, max);
    // Each thread sums up the same number of words of the subgroup histograms.
    let ballot = facts.ballot_in_rows(group, shape.row_words()).filter(|(group, _)| shape.row_words().is_multiple_of(*group));
    let (group, ranking) = ballot.ok_or_else(|| no_wide_digits(facts))?;
    fitted(shape, group, keys, ranking, facts)
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
        let PassKind { key_words, value_words } = PassKind::ALL.into_iter().find(|&known| known == kind)?;
        let shape = Variant { value_words, look_back: true, ..Variant::of(Kernel::Onesweep, 32 * key_words) };
        let Variant { group, keys, slices, .. } = sweep(shape, MAX_KEYS, self).ok().flatten()?;
        Some(PassShape { group, keys, slices })
    }

    /// Returns the most keys that one workgroup can select. From an array, all workgroups together can select more. From
    /// segments, no more can be selected: sort the segments instead.
    pub fn most_selected(&self) -> u32 {
        let most = |algorithm| {
            let (group, ranking) = selecting(algorithm, self);
            let shape = fitted(Variant::of(Kernel::TopK, 32), group, SELECT_KEYS, ranking, self);
            shape.map_or(0, |shape| shape.tile)
        };
        most(None).min(most(Some(Algorithm::ReduceThenScan)))
    }
}
