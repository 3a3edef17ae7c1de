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
    /// Whether a sort of segments of keys compares only some of their bits: its network then keeps equal keys in order.
    partial: bool,
    /// Whether indices have 64 bits.
    wide_indices: bool,
    /// The outputs of a search for runs.
    runs: Option<RunOutputs>,
    /// Bytes of an element of a gather; 4 for whole words.
    gather: Option<u32>,
    /// Whether the loops of passes, or of the kernels that sort segments, are not unrolled.
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
        let planned = Request { algorithm: asked, ..request };
        let (top, least) = match request.top {
            None => (None, facts.least_alike(&planned)),
            // Selections with the same kernel are of one kind. The self-test selects as many keys as the kernel's tile has. If a sort of the selected keys
            // follows, its kernels depend on their number.
            Some(top) => {
                let plan = SortPlan::new(planned, facts)?;
                let selecting = plan.long_commands().iter().find(|command| command.variant.kernel() == Kernel::TopK);
                let tile = selecting.and_then(|command| command.variant.tile()).unwrap_or(0);
                let sorted = plan.then.as_ref().map_or(&plan.request, |then| &then.request);
                (Some(Top { k: tile, ..top }), facts.least_alike(sorted))
            }
        };
        let (rolls, partial) = (top.is_none() && facts.rolls(&request), request.has_partial_keys());
        // All fields are named here, so that the compiler asks about a new one: does it select other kernels?
        let Request {
            key_bits,
            payload,
            segments,
            runs,
            gather,
            wide_indices,
            // Parts of the kind by `partial`, `top`, `least`, `rolls` and `asked`.
            spec: _,
            top: _,
            max: _,
            quick: _,
            algorithm: _,
            // Offsets.
            skip: _,
            keys: _,
            values: _,
            // The kernels of merges have kinds of their own.
            page: _,
            // The same kernels, whose bindings are writable.
            aliased: _,
            // The same for all requests of an engine.
            blocked: _,
            batch: _,
            small_bucket: _,
        } = request;
        let gather = gather.map(|gather| gather.element_bytes.min(4));
        let runs = runs.map(|runs| RunOutputs {
            unique: runs.unique.is_some(),
            offsets: runs.offsets.is_some(),
            lengths: runs.lengths.is_some(),
        });
        let (segmented, wide_indices) = (segments.is_some(), wide_indices.is_some());
        Ok((request, Kind { key_bits, payload, top, segmented, partial, wide_indices, runs, gather, rolls, asked, least }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::Spec;
    use polysort_shaders::plan::{Class, KernelShape, Place, Segmented};
    use std::collections::BTreeSet;

    /// Returns the kernels of a request that rank or rearrange keys, or write their indices.
    fn kernels(request: Request, facts: &Facts) -> BTreeSet<String> {
        let plan = SortPlan::new(request, facts).unwrap();
        let commands = plan.needed_commands().chain(plan.then.iter().flat_map(|then| then.needed_commands()));
        let others = [Kernel::SegmentNetwork, Kernel::WidenIndices];
        let ranks = |shape: &KernelShape| shape.ranked_tile().is_some() || shape.ballot().is_some();
        let moves = |variant: &Variant| ranks(&variant.shape) || others.contains(&variant.kernel());
        commands.map(|command| command.variant).filter(moves).map(|variant| format!("{variant:?}")).collect()
    }

    /// A kind has one self-test, so requests with other kernels must be of other kinds.
    #[test]
    fn requests_with_other_kernels_are_of_other_kinds() {
        let facts = Facts { class: Class::Nvidia, ..Facts::new(Some((32, 32)), 48 << 10, 1024) };
        let of = Segmented { max: 9, begins: Place::default(), ends: Place::default() };
        let kinds = Kinds::default();
        let mut others = 0;
        for max in [1 << 12, 1 << 20, 1 << 24] {
            let keys = Request::keys(32, Spec::unsigned::<u32>(), max);
            let mut part = keys;
            part.spec.end = 20;
            let requests = [keys, part].into_iter().flat_map(|request| [request, request.in_segments(of)]);
            let requests = requests
                .flat_map(|request| [request, request.for_indices(), request.for_indices().with_wide_indices(Place::default())]);
            let top = [1000, 3000, 6000, 300_000].map(|k| keys.select(Top { k, segmented: false }));
            let requests: Vec<_> = requests.chain(top).flat_map(|request| [request, request.quick_to_compile()]).collect();
            let known: Vec<_> =
                requests.iter().map(|&request| (kernels(request, &facts), kinds.of(request, &facts).unwrap().1)).collect();
            for (one, (kernels, kind)) in requests.iter().zip(&known) {
                for (other, (other_kernels, other_kind)) in requests.iter().zip(&known) {
                    if kernels != other_kernels {
                        others += 1;
                        assert_ne!(kind, other_kind, "{one:?}, {other:?}");
                    }
                }
            }
        }
        assert!(others > 1000, "{others}");
    }
}
