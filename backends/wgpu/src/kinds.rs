//! `Kinds`: the kinds of sorts that a device has tested, and how it runs each.

use crate::knobs::Knobs;
use crate::known::Known;
use crate::way::{Way, Ways};
use polysort_core::Error;
use polysort_shaders::plan::{Algorithm, Facts, Kernel, MergeRequest, Payload, Request, RunOutputs, SortPlan, Top, Variant};

/// Settings of the configuration that apply to every sort of an engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) algorithm: Option<Algorithm>,
    pub(crate) knobs: Knobs,
}

/// The properties of a request that decide which self-test it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    key_bits: u32,
    payload: Payload,
    top: Option<Top>,
    segmented: bool,
    /// Whether indices have 64 bits.
    wide_indices: bool,
    /// The outputs of a search for runs.
    runs: Option<RunOutputs>,
    /// Bytes of an element of a gather; 4 for whole words.
    gather: Option<u32>,
    /// Whether the loops of passes are not unrolled.
    rolls: bool,
    /// The algorithm that the caller requested.
    asked: Option<Algorithm>,
    /// The smallest number of keys with the same kernels.
    pub(crate) least: u64,
}

impl Kind {
    /// Returns the ways to try for sorts of this kind.
    pub(crate) fn ways(&self, is_native: bool) -> Ways {
        Ways::new(is_native, self.asked)
    }
}

/// The kinds of sorts that have passed their self-test on a device, and those that a sorter prepared without one.
#[derive(Default)]
pub(crate) struct Kinds {
    asked: Asked,
    /// The way that has passed the self-test, for each kind.
    pub(crate) tested: Known<Kind, Way>,
    /// A request of each kind that is in use without a self-test.
    pub(crate) untested: Known<Kind, Request>,
    /// The kernels of merges that have passed the self-test.
    pub(crate) tested_merges: Known<Variant, ()>,
    /// A request of each kind of merges that is in use without a self-test.
    pub(crate) untested_merges: Known<Variant, MergeRequest>,
}

impl Kinds {
    pub(crate) fn new(asked: Asked) -> Self {
        Self { asked, ..Self::default() }
    }

    /// The most keys of a portion, if a test sets them.
    pub(crate) fn portion(&self) -> Option<u64> {
        self.asked.knobs.portion
    }

    /// Returns the request with the engine's settings, and its kind.
    ///
    /// # Errors
    /// Those of [`SortPlan::new`].
    pub(crate) fn of(&self, request: Request, facts: &Facts) -> Result<(Request, Kind), Error> {
        let Asked { algorithm, knobs: Knobs { blocked, batch, small_bucket, .. } } = self.asked;
        let asked = algorithm.filter(|algorithm| algorithm.sorts(&request)).or(request.algorithm);
        let request = Request { blocked, batch, small_bucket, ..request };
        // Selections with the same kernel are of one kind. The self-test selects as many keys as the kernel's tile has.
        let top = match request.top {
            None => None,
            Some(top) => {
                let plan = SortPlan::new(Request { algorithm: asked, ..request }, facts)?;
                let selecting = plan.long_commands().iter().find(|command| command.variant.kernel == Kernel::TopK);
                let tile = selecting.map_or(0, |command| command.variant.tile);
                Some(Top { k: tile, ..top })
            }
        };
        let least = facts.least_alike(&Request { algorithm: asked, ..request });
        let Request { key_bits, payload, .. } = request;
        let rolls = facts.rolls(&request);
        let gather = request.gather.map(|gather| gather.element_bytes.min(4));
        let runs = request.runs.map(|runs| RunOutputs {
            unique: runs.unique.is_some(),
            offsets: runs.offsets.is_some(),
            lengths: runs.lengths.is_some(),
        });
        let (segmented, wide_indices) = (request.segments.is_some(), request.wide_indices.is_some());
        Ok((request, Kind { key_bits, payload, top, segmented, wide_indices, runs, gather, rolls, asked, least }))
    }
}
