//! Portions of a long call: how many keys each has, and several of them at a time.

use crate::backend::WgpuBackend;
use crate::engine::Engine;
use crate::wait::Waiting;
use crate::workspace::{Staging, Workspace, needs};
use core::future::poll_fn;
use core::ops::Range;
use core::task::Poll;
use polysort_core::{Error, Word};
use polysort_shaders::plan::{Payload, Request, SortPlan};
use std::sync::Arc;

/// Bytes of keys and values of a portion: so many that its launches and its waits take little time compared with its copies. Fewer bytes
/// make more sorted runs, and cuts through more runs take longer.
const PORTION: u64 = 256 << 20;

/// A portion gets smaller if the memory for calls is small, but has so many keys or more.
const LEAST: u64 = 1 << 16;

/// Portions at a time: one is uploaded, one is sorted, and one is downloaded. In a browser, no call may wait for another.
pub(crate) const LANES: usize = if cfg!(target_arch = "wasm32") { 1 } else { 3 };

/// Portions get smaller by this factor if the device has too little memory for them.
const SHRINK: usize = 4;

/// The portions of a long call, and the memory that is reserved for them.
pub(crate) struct Portions {
    /// The engine whose calls take the reserved memory.
    pub(crate) engine: Arc<Engine>,
    /// The request that sorts a portion, without the number of keys.
    pub(crate) request: Request,
    /// The keys of a portion. Only the last one may have fewer.
    pub(crate) len: usize,
}

impl WgpuBackend {
    /// Returns the most keys that one sort on the device takes.
    pub(crate) fn most_keys<W: Word>(&self, payload: Payload) -> u64 {
        // A shorter key takes a word while it is sorted.
        let limit = self.facts().limits(payload.words()).longest(size_of::<W>().max(4));
        self.engine().kinds.portion().map_or(limit, |portion| portion.min(limit))
    }

    /// Returns the number of keys of a portion, if the device had any amount of memory.
    pub(crate) fn usual_portion<W: Word>(&self, payload: Payload) -> u64 {
        let record = size_of::<W>().max(4) as u64 + 4 * u64::from(payload.words());
        (PORTION / record).min(self.most_keys::<W>(payload))
    }

    /// Returns whether a call of `count` keys that ended with `outcome` needs less memory in portions, and failed for lack of it.
    pub(crate) fn needs_portions<W: Word>(&self, outcome: &Result<(), Error>, count: usize, payload: Payload) -> bool {
        matches!(outcome, Err(Error::OutOfMemory { .. })) && count as u64 > self.usual_portion::<W>(payload)
    }

    /// Returns a backend whose calls take the memory of these portions.
    pub(crate) fn within(&self, portions: &Portions) -> Self {
        Self { engine: portions.engine.clone(), ..self.clone() }
    }

    /// Reserves memory for portions of a call of `count` keys. `request` is the request for a portion; its number of keys is not used.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if calls in flight leave too little room, or the errors of a self-test.
    pub(crate) async fn portions<W: Word>(&self, waiting: Waiting, request: Request, count: usize) -> Result<Portions, Error> {
        let engine = self.engine();
        let mut len = self.usual_portion::<W>(request.payload);
        let (tested, _) = engine.tested(waiting, Request { max: len, ..request }).await?;
        let bytes = |len: u64| {
            let plan = SortPlan::new(engine.rounded(Request { max: len, ..tested }), &engine.gpu().facts)?;
            let slices = [size_of::<W>(), 4 * request.payload.words() as usize].map(|size| len as usize * size);
            let staging = Staging { up: &slices, down: &slices };
            let one = Workspace::default().bytes_with(&needs(&plan), staging, true);
            Ok::<_, Error>(one.saturating_mul(LANES as u64))
        };
        while engine.kinds.portion().is_none() && len > LEAST && bytes(len)? > engine.budget.cap() / 2 {
            len = (len / 2).max(LEAST);
        }
        let reserved = engine.reserve(waiting, bytes(len)?).await?;
        Ok(Portions { engine: reserved, request, len: even(count, len as usize) })
    }
}

impl Portions {
    /// Returns the request for a portion of so many keys.
    pub(crate) fn request(&self, count: usize) -> Request {
        Request { max: count as u64, ..self.request }
    }

    /// Returns the portions of so many keys.
    pub(crate) fn ranges(&self, count: usize) -> Vec<Range<usize>> {
        (0..count).step_by(self.len).map(|start| start..count.min(start + self.len)).collect()
    }

    /// Makes the portions smaller, as the device has too little memory for them. Returns whether it did.
    pub(crate) fn shrink(&mut self) -> bool {
        // The memory of the failed portions may be what others lack.
        self.engine.release();
        self.len /= SHRINK;
        self.len > LEAST as usize / SHRINK
    }
}

/// Returns the least length of parts of `count` keys such that there are as few parts as with `most` keys each.
fn even(count: usize, most: usize) -> usize {
    count.div_ceil(count.div_ceil(most).max(1)).max(1)
}

/// Runs `works`, up to [`LANES`] at a time. Each begins before the ones after it. Ends at the first error, and drops the others.
pub(crate) async fn side_by_side<F: Future<Output = Result<(), Error>>>(works: Vec<F>) -> Result<(), Error> {
    let mut works = works.into_iter().map(Box::pin);
    let mut running: Vec<_> = works.by_ref().take(LANES).collect();
    let polled = poll_fn(|context| {
        let mut at = 0;
        while at < running.len() {
            match running[at].as_mut().poll(context) {
                Poll::Pending => at += 1,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) => {
                    drop(running.remove(at));
                    running.extend(works.next());
                }
            }
        }
        if running.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    });
    polled.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even() {
        assert_eq!([even(10, 10), even(11, 10), even(100, 30), even(101, 30), even(1, 9), even(0, 9)], [10, 6, 25, 26, 1, 1]);
    }

    #[test]
    fn an_error_ends_the_others() {
        let begun = core::cell::Cell::new(0);
        let works = (0..10).map(async |work| {
            begun.set(begun.get() + 1);
            if work == 4 { Err(Error::Unsupported { what: "4".into() }) } else { Ok(()) }
        });
        let ended = pollster::block_on(side_by_side(works.collect()));
        assert!(matches!(ended, Err(Error::Unsupported { .. })) && (5..=4 + LANES).contains(&begun.get()), "{begun:?}");
    }
}
