//! Sorts of the host's data by kernels that have passed a self-test on this device.

use crate::data::{Data, Lists};
use crate::engine::Engine;
use crate::self_test;
use crate::wait::Waiting;
use crate::workspace::Bindable;
use polysort_core::{BoxFuture, Error};
use polysort_shaders::plan::Request;
use std::sync::Arc;

impl Engine {
    /// Sorts data of the host, with an algorithm and kernels that have passed their self-test. `request.max` is the
    /// number of keys, or of segments to select from.
    pub(crate) fn sort<'a>(
        self: &'a Arc<Self>,
        waiting: Waiting,
        request: Request,
        data: Data<'a>,
        lists: Option<Lists<'a>>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let (tested, native) = self.tested(waiting, self.rounded(request)).await?;
            let request = Request { max: request.max, segments: request.segments, ..tested };
            self.sort_untested(waiting, (request, native), data, lists).await
        })
    }

    /// Returns the request with the engine's settings and a tested algorithm, and whether native kernels run it. If this
    /// kind of sorts has not passed the self-test on this device yet, this runs the self-test. Two calls of a new kind at
    /// the same time both run it: neither waits for the other.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, [`Error::SelfTest`] if the device sorts wrongly, or a failure of the
    /// device.
    pub(crate) fn tested<'a>(self: &'a Arc<Self>, waiting: Waiting, request: Request) -> BoxFuture<'a, Result<Bindable, Error>> {
        Box::pin(async move {
            if let Some(lost) = self.gpu().lost() {
                return Err(lost);
            }
            let (request, kind) = self.kinds.of(request, &self.gpu().facts)?;
            let way = match self.kinds.tested.get(&kind) {
                Some(way) => way,
                None => {
                    let mut ways = kind.ways(self.gpu().is_native);
                    while !ways.takes(self_test::check(self, waiting, request, kind.least, ways.current()).await)? {}
                    self.kinds.tested.set(kind, ways.current());
                    ways.current()
                }
            };
            Ok(way.of(request))
        })
    }
}
