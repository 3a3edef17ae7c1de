//! One call on the device: how it waits, the memory that it has taken, and what it does with it.

use crate::budget::Permit;
use crate::engine::Engine;
use crate::gpu::Gpu;
use crate::pool::Taken;
use crate::up;
use crate::wait::Waiting;
use crate::workspace::{Bindable, Workspace, needs};
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, SortPlan};
use std::sync::Arc;
use wgpu::{Buffer, CommandEncoder};

/// A call that has taken a workspace. The workspace goes back to the pool when the call ends, also when its future is dropped half-way: what was
/// submitted runs before anything that a later call submits. A workspace of a call that panics is not used again.
pub(crate) struct Call {
    engine: Arc<Engine>,
    waiting: Waiting,
    /// There until the call ends.
    taken: Option<Taken<Workspace>>,
    /// Bytes that the call needs.
    used: u64,
    permit: Option<Permit>,
}

impl Call {
    /// Begins a call that needs these buffers and so many bytes of staging; and what `sort` needs, if it is one. Takes the workspace that suits
    /// it best.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if calls in flight have taken too much and none of them ends; else as [`SortPlan::new`].
    pub(crate) async fn begin(
        engine: &Arc<Engine>,
        waiting: Waiting,
        sort: Option<Bindable>,
        others: &[(Role, u64)],
        staging: u64,
    ) -> Result<Self, Error> {
        let bound_bytes = |workspace: &Workspace| sort.and_then(|sort| workspace.bound_bytes(&sort));
        let mut wanted = others.to_vec();
        let mut bound = engine.pool.find(bound_bytes);
        let mut permit: Option<Permit> = None;
        loop {
            if let (Some((request, _)), None) = (sort, bound) {
                // Nothing is known of it yet.
                let plan = SortPlan::new(request, &engine.gpu().facts)?;
                wanted = others.iter().copied().chain(needs(&plan)).collect();
                bound = Some(0);
            }
            // The one that is bound already, else the one that has to grow the least, and of these the smallest.
            let rank = |workspace: &Workspace| {
                let bytes = workspace.bytes();
                (bound_bytes(workspace).is_some(), core::cmp::Reverse((workspace.bytes_with(&wanted, staging) - bytes, bytes)))
            };
            let taken = engine.pool.take(rank).unwrap_or_else(|| Taken::new(Workspace::default()));
            let bytes = taken.item.bytes_with(&wanted, staging);
            let used = bound_bytes(&taken.item).unwrap_or_else(|| wanted.iter().map(|(_, bytes)| bytes).sum()) + staging;
            let mut call = Self { engine: engine.clone(), waiting, taken: Some(taken), used, permit: None };
            if bound.is_some_and(|bytes| bytes > 0) && bound_bytes(call.workspace()).is_none() {
                // Another call has taken the one that was bound.
                bound = None;
                continue;
            }
            call.permit = permit.take().filter(|permit| permit.bytes() >= bytes).or_else(|| engine.budget.try_take(bytes));
            if call.permit.is_some() {
                return Ok(call);
            }
            // Others may use the workspace while this call waits.
            drop(call);
            permit = Some(engine.wait_for_room(waiting, bytes).await?);
        }
    }

    pub(crate) fn gpu(&self) -> &Arc<Gpu> {
        self.engine.gpu()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.taken.as_ref().expect("there until the call ends").item
    }

    pub(crate) fn workspace_mut(&mut self) -> &mut Workspace {
        &mut self.taken.as_mut().expect("there until the call ends").item
    }

    /// Copies `bytes` to a buffer of the workspace. They are there when the commands of the next [`run`](Call::run) are.
    pub(crate) async fn upload(&mut self, bytes: &[u8], role: Role) -> Result<(), Error> {
        let buffer = self.workspace().buffer(role).clone();
        self.upload_to(bytes, &buffer, 0).await
    }

    async fn upload_to(&mut self, bytes: &[u8], buffer: &Buffer, start: u64) -> Result<(), Error> {
        let (gpu, waiting) = (self.gpu().clone(), self.waiting);
        // The device begins a long copy while this thread records the rest. Many calls at once keep the device busy anyway; there a submission more
        // costs more than it gains.
        let is_alone = self.permit.as_ref().is_some_and(Permit::is_alone);
        let up = &mut self.workspace_mut().up;
        up.copy(&gpu, waiting, bytes, (buffer, start)).await?;
        if is_alone { up.flush(&gpu) } else { Ok(()) }
    }

    /// Copies `bytes` to places in the caller's buffers: for each a buffer, its first byte there, and how many bytes. All of them are
    /// copied, or, if the call fails or its future is dropped, none.
    pub(crate) async fn upload_all(&mut self, bytes: &[u8], places: &[(&Buffer, u64, u64)]) -> Result<(), Error> {
        if let (&[(buffer, start, _)], true) = (places, bytes.len() as u64 <= up::CHUNK) {
            // One submission.
            self.upload_to(bytes, buffer, start).await?;
            return self.run(|_| Ok(()), &[], &mut []).await;
        }
        let gpu = self.gpu().clone();
        gpu.watched(|| self.workspace_mut().grow(&gpu, Role::Keys, bytes.len() as u64)).await?;
        self.upload(bytes, Role::Keys).await?;
        let source = self.workspace().buffer(Role::Keys).clone();
        let copies = |encoder: &mut CommandEncoder| {
            let mut from = 0;
            for &(buffer, start, len) in places {
                encoder.copy_buffer_to_buffer(&source, from, buffer, start, len.next_multiple_of(4));
                from += len;
            }
            Ok(())
        };
        self.run(copies, &[], &mut []).await
    }

    /// Submits what was uploaded, then the commands that `record` records, and copies the first bytes of `sources`, as many as go with each, to `targets`: all of them
    /// or nothing. Without targets the device is not waited for.
    pub(crate) async fn run(
        &mut self,
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Error>,
        sources: &[Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        let (gpu, waiting) = (self.gpu().clone(), self.waiting);
        let Workspace { up, down, .. } = self.workspace_mut();
        let sources: Vec<_> = sources.iter().cloned().zip(targets.iter().map(|target| target.len())).collect();
        let submit = || {
            let pieces = down.prepare(&gpu, &sources)?;
            gpu.guarded(|| {
                let _span = tracing::trace_span!("submit").entered();
                let mut encoder = gpu.encoder();
                let chunks = up.record(&mut encoder);
                record(&mut encoder)?;
                pieces.record(&mut encoder);
                let submission = gpu.queue.submit([encoder.finish()]);
                up.submitted(chunks, &submission);
                Ok(pieces.submitted(submission))
            })?
        };
        let coming = gpu.watched(submit).await?;
        if targets.is_empty() {
            return Ok(());
        }
        down.finish(&gpu, waiting, coming, targets).await
    }

    /// Copies the start of a buffer to `bytes`.
    pub(crate) async fn download(&mut self, buffer: &Buffer, bytes: &mut [u8]) -> Result<(), Error> {
        self.run(|_| Ok(()), core::slice::from_ref(buffer), &mut [bytes]).await
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some(mut taken) = self.taken.take() else { return };
        if std::thread::panicking() {
            return;
        }
        taken.item.up.give_up();
        // The ring of chunks for uploads has one size for all calls, so each call needs all of it.
        let (bytes, used) = (taken.item.bytes(), self.used + taken.item.up.bytes());
        // What is not kept is dropped here, where nothing is locked.
        drop(self.engine.pool.put(taken, bytes, used));
    }
}
