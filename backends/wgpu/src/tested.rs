//! Sorts of the host's data by kernels that have passed a self-test on this device.

use crate::data::{Data, Lists};
use crate::engine::{Asked, Engine};
use crate::knobs::Knobs;
use crate::self_test;
use crate::wait::Waiting;
use crate::way::Ways;
use crate::workspace::Bindable;
use polysort_core::Error;
use polysort_shaders::plan::{Request, SortPlan, Top};
use std::sync::Arc;

impl Engine {
    /// Sorts data of the host, with an algorithm and kernels that have passed their self-test. `request.max` is the
    /// number of keys, or of segments to select from.
    pub(crate) async fn sort(
        self: &Arc<Self>,
        waiting: Waiting,
        request: Request,
        data: Data<'_>,
        lists: Option<Lists<'_>>,
    ) -> Result<(), Error> {
        let (tested, native) = self.tested(waiting, self.rounded(request)).await?;
        let request = Request { max: request.max, segments: request.segments, ..tested };
        self.sort_untested(waiting, (request, native), data, lists).await
    }

    /// Returns the request with the engine's settings and a tested algorithm, and whether native kernels run it. If this
    /// kind of sorts has not passed the self-test on this device yet, this runs the self-test. Two calls of a new kind at
    /// the same time both run it: neither waits for the other.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, [`Error::SelfTest`] if the device sorts wrongly, or a failure of the
    /// device.
    pub(crate) async fn tested(self: &Arc<Self>, waiting: Waiting, request: Request) -> Result<Bindable, Error> {
        if let Some(lost) = self.gpu().lost() {
            return Err(lost);
        }
        let Asked { algorithm, knobs: Knobs { blocked, batch, small_bucket, .. } } = self.asked;
        let asked = algorithm.filter(|algorithm| algorithm.sorts(&request)).or(request.algorithm);
        let request = Request { blocked, batch, small_bucket, ..request };
        // Selections with the same kernel are of one kind. The self-test selects as many keys as the kernel's tile has.
        let top = match request.top {
            None => None,
            Some(top) => {
                let plan = SortPlan::new(Request { algorithm: asked, ..request }, &self.gpu().facts)?;
                let tile = plan.long_commands().last().map_or(0, |command| command.variant.tile);
                Some(Top { k: tile, ..top })
            }
        };
        let least = self.gpu().facts.least_alike(&Request { algorithm: asked, ..request });
        let kind = (request.key_bits, request.payload, top, request.segments.is_some(), asked, least);
        let way = match self.tested.get(&kind) {
            Some(way) => way,
            None => {
                let mut ways = Ways::new(self.gpu().is_native, asked);
                while !ways.takes(self_test::check(self, waiting, request, least, ways.current()).await)? {}
                self.tested.set(kind, ways.current());
                ways.current()
            }
        };
        Ok((Request { algorithm: way.algorithm, ..request }, way.native))
    }
}
