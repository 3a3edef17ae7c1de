//! Runs of equal neighboring keys.
//!
//! ```text
//! begin_runs    clears the status words
//! runs          finds where runs begin, and writes the keys, offsets and lengths of the runs, with one read of the keys
//! gather        the first keys of the runs, by their offsets, if `runs` cannot write them
//! ```
//!
//! `runs` writes whole keys. So a second read gathers keys of 8 and 16 bits, and keys for an output that starts where no
//! binding can address it as keys.

use super::builder::Builder;
use super::command::{Buffer, COUNT_DIGITS, Groups, Number, When};
use super::digit::MAX_KEYS;
use super::gather::Gathered;
use super::kernel_shape::{KernelShape, RunOutputs};
use super::request::{FindRuns, Place, Request};
use super::sort_plan::SortPlan;
use super::tuning::{LIST_GROUPS, PASS_GROUPS};
use crate::abi;
use polysort_core::Error;

impl Request {
    /// Returns what the kernel `runs` writes; `None` if this is no request to find runs.
    pub(super) fn run_outputs(&self) -> Option<RunOutputs> {
        let runs = self.runs?;
        let unique = runs.unique.is_some() && !self.gathers_unique();
        let offsets = runs.offsets.is_some() || self.gathers_unique();
        Some(RunOutputs { unique, offsets, lengths: runs.lengths.is_some() })
    }

    /// Returns whether the first keys of the runs are gathered after all runs have been found.
    fn gathers_unique(&self) -> bool {
        let unique = self.runs.and_then(|runs| runs.unique);
        unique.is_some_and(|unique| self.is_packed() || !unique.first.is_multiple_of(self.key_words()))
    }

    /// Returns where an output starts in its binding, and its bytes; `None` if the caller provides no such output.
    pub fn run_output(&self, buffer: Buffer) -> Option<(Place, u64)> {
        let runs = self.runs?;
        let some = self.max.max(1);
        let (place, bytes) = match buffer {
            Buffer::RunCount => (Some(runs.count), 4),
            Buffer::Unique => (runs.unique, (some * u64::from(self.key_bits)).div_ceil(8)),
            Buffer::RunOffsets => (runs.offsets, 4 * (self.max + 1)),
            Buffer::RunLengths => (runs.lengths, 4 * some),
            _ => (None, 0),
        };
        Some((place?, bytes))
    }

    /// Checks that the offsets of all runs fit a binding.
    pub(super) fn check_runs(&self, max_binding: u64) -> Result<(), Error> {
        let limit = (max_binding / 4).saturating_sub(1).min(MAX_KEYS);
        if self.runs.is_none() || self.max <= limit {
            return Ok(());
        }
        Err(Error::TooLong { what: "the device, as a number of runs".into(), asked: self.max, limit })
    }
}

impl SortPlan {
    /// Bytes of the status words of all tiles in which runs are sought.
    pub(super) fn run_status_bytes(&self) -> u64 {
        8 * self.request.max.div_ceil(self.tile.into()).max(1)
    }
}

impl Builder<'_> {
    /// Adds the commands that find runs.
    pub(super) fn runs(&mut self, runs: FindRuns) {
        let (plan, request) = (self.plan, self.plan.request);
        let (Some(variant), Some(outputs)) = (self.shapes.runs, request.run_outputs()) else { return };
        let begin = self.shapes.plain(KernelShape::BeginRuns { tile: plan.tile, offsets: outputs.offsets });
        let first = |place: Option<Place>| Number::Is(place.unwrap_or_default().first);
        let offsets = first(runs.offsets);
        let count = first(Some(runs.count));
        let mut bindings = vec![Buffer::Number; 5];
        bindings.extend([Buffer::Sort, Buffer::Count, Buffer::State, Buffer::Status, Buffer::RunOffsets, Buffer::RunCount]);
        let words = plan.run_status_bytes() / 4;
        let groups = words.div_ceil(begin.group.into()).clamp(1, LIST_GROUPS.into()) as u32;
        self.push(begin, bindings, COUNT_DIGITS.into_iter().chain([offsets, count]), Groups::Fixed(groups));
        if plan.keys_move() {
            self.copy(When::Always, request.key_words(), (Buffer::Keys, request.keys.first), (Buffer::Spare, 0));
        }
        let source = if plan.keys_move() { Buffer::Spare } else { Buffer::Keys };
        let unique = runs.unique.filter(|_| !request.gathers_unique());
        let unique = Number::Is(unique.unwrap_or_default().first / request.key_words());
        let mut bindings = vec![Buffer::Number; 4];
        bindings.extend([Buffer::Sort, Buffer::State, Buffer::Status, source]);
        bindings.extend([Buffer::Unique, Buffer::RunOffsets, Buffer::RunLengths, Buffer::RunCount]);
        let tiles = Groups::AtMost { most: PASS_GROUPS, of: plan.tile, team: 1 };
        self.push(variant, bindings, [unique, offsets, first(runs.lengths), count], tiles);
        if request.gathers_unique() {
            self.push_gather(Gathered {
                counted_at: abi::STATE_RUNS,
                element_bytes: request.key_bits / 8,
                from: (Buffer::Keys, request.keys.first),
                indices: (Buffer::RunOffsets, runs.offsets.unwrap_or_default().first),
                to: (Buffer::Unique, runs.unique.unwrap_or_default().first),
            });
        }
    }

    /// Bytes of a buffer of the outputs that the caller does not provide. An output that no kernel writes is bound all the
    /// same.
    pub(super) fn run_bytes(&self, buffer: Buffer) -> u64 {
        let Some(runs) = self.plan.request.runs else { return 0 };
        match buffer {
            Buffer::RunOffsets if runs.offsets.is_none() && self.plan.request.gathers_unique() => 4 * (self.plan.request.max + 1),
            Buffer::RunOffsets if runs.offsets.is_none() => 16,
            Buffer::RunLengths if runs.lengths.is_none() => 16,
            Buffer::Unique if runs.unique.is_none() => 16,
            _ => 0,
        }
    }
}
