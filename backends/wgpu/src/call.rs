//! A call on the device: how it waits, the memory that it has taken, and its copies and submissions.

use crate::budget::Permit;
use crate::engine::Engine;
use crate::gpu::Gpu;
use crate::pool::Taken;
use crate::readers::{Readers, unless_read};
use crate::up;
use crate::wait::Waiting;
use crate::workspace::{Bindable, Staging, Workspace, needs};
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, SortPlan};
use std::sync::Arc;
use wgpu::{Buffer, CommandEncoder};

/// A call that has taken a workspace. The workspace goes back to the pool when the call ends, also if its future is
/// dropped half-way: what the call has submitted runs before the commands of later calls. The workspace of a call that
/// panics is not used again.
pub(crate) struct Call {
    engine: Arc<Engine>,
    waiting: Waiting,
    /// `Some` until the call ends.
    taken: Option<Taken<Workspace>>,
    /// Bytes that the call needs.
    used: u64,
    permit: Option<Permit>,
    /// Whether the device may still work on what the call submitted.
    is_running: bool,
}

impl Call {
    /// Starts a call. Reserves memory for the buffers of `others`, for `staging`, and for the buffers of `sort`, if the
    /// call is a sort. Takes the workspace that suits it best.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if calls in flight have taken too much memory and none of them ends; or the errors of
    /// [`SortPlan::new`].
    pub(crate) async fn begin(
        engine: &Arc<Engine>,
        waiting: Waiting,
        sort: Option<Bindable>,
        others: &[(Role, u64)],
        staging: Staging<'_>,
    ) -> Result<Self, Error> {
        let results: usize = staging.down.iter().sum();
        let bound_bytes = |workspace: &Workspace| sort.and_then(|sort| workspace.bound_bytes(&sort));
        let mut wanted = others.to_vec();
        let mut bound = engine.pool.find(bound_bytes);
        let mut permit: Option<Permit> = None;
        loop {
            if let (Some((request, _)), None) = (sort, bound) {
                // No workspace is bound to this sort: the plan says what it needs.
                let plan = SortPlan::new(request, &engine.gpu().facts)?;
                wanted = others.iter().copied().chain(needs(&plan)).collect();
                bound = Some(0);
            }
            // First a workspace that is bound to the sort; then the one that has to grow the least, and of these the
            // smallest.
            let rank = |workspace: &Workspace| {
                let bytes = workspace.bytes();
                (bound_bytes(workspace).is_some(), core::cmp::Reverse((workspace.bytes_with(&wanted, staging) - bytes, bytes)))
            };
            let taken = engine.pool.take(rank).unwrap_or_else(|| Taken::new(Workspace::default()));
            let bytes = taken.item.bytes_with(&wanted, staging);
            let used = bound_bytes(&taken.item).unwrap_or_else(|| wanted.iter().map(|(_, bytes)| bytes).sum()) + results as u64;
            let mut call = Self { engine: engine.clone(), waiting, taken: Some(taken), used, permit: None, is_running: false };
            if bound.is_some_and(|bytes| bytes > 0) && bound_bytes(call.workspace()).is_none() {
                // Another call has taken the workspace that was bound.
                bound = None;
                continue;
            }
            call.permit = permit.take().filter(|permit| permit.bytes() >= bytes).or_else(|| engine.budget.try_take(bytes));
            if call.permit.is_some() {
                return Ok(call);
            }
            // Other calls may use the workspace while this call waits.
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

    /// Copies `bytes` to a buffer of the workspace. They arrive before the commands of the next [`run`](Call::run)
    /// start.
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

    /// Copies `bytes` to the start of a buffer that nobody has seen yet.
    pub(crate) async fn fill(engine: &Arc<Engine>, waiting: Waiting, bytes: &[u8], buffer: &Buffer) -> Result<(), Error> {
        let staging = Staging { up: &[bytes.len()], down: &[] };
        let mut call = Self::begin(engine, waiting, None, &[], staging).await?;
        call.upload_to(bytes, buffer, 0).await?;
        call.run(|_| Ok(()), &[], &mut []).await
    }

    /// Copies `bytes` to places in buffers: for each a buffer, its first byte there, and how many bytes. All of them are copied, or, if the call
    /// fails or its future is dropped, none.
    pub(crate) async fn replace(
        engine: &Arc<Engine>,
        waiting: Waiting,
        bytes: &[u8],
        places: &[(&Buffer, u64, u64)],
    ) -> Result<(), Error> {
        let staging = Staging { up: &[bytes.len()], down: &[] };
        if let (&[(buffer, start, _)], true) = (places, bytes.len() as u64 <= up::CHUNK) {
            // One submission copies it, so it needs no buffer in between.
            let mut call = Self::begin(engine, waiting, None, &[], staging).await?;
            let gpu = call.gpu().clone();
            call.workspace_mut().up.copy(&gpu, waiting, bytes, (buffer, start)).await?;
            return call.run(|_| Ok(()), &[], &mut []).await;
        }
        let whole = [(Role::Keys, bytes.len() as u64)];
        let mut call = Self::begin(engine, waiting, None, &whole, staging).await?;
        let gpu = call.gpu().clone();
        engine.allocating(waiting, || call.workspace_mut().grow(&gpu, Role::Keys, bytes.len() as u64)).await?;
        call.upload(bytes, Role::Keys).await?;
        let source = call.workspace().buffer(Role::Keys).clone();
        let copies = |encoder: &mut CommandEncoder| {
            let mut from = 0;
            for &(buffer, start, len) in places {
                encoder.copy_buffer_to_buffer(&source, from, buffer, start, len.next_multiple_of(4));
                from += len;
            }
            Ok(())
        };
        call.run(copies, &[], &mut []).await
    }

    /// Submits the uploads and then the commands that `record` records. Then copies the first bytes of each of
    /// `sources` to its slice of `targets`: to all of them, or, on an error, to none. Without targets, the call does
    /// not wait for the device.
    pub(crate) async fn run(
        &mut self,
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Error>,
        sources: &[Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        self.run_unless_read(&[], record, sources, targets).await
    }

    /// As [`run`](Call::run), unless somebody reads one of the buffers of these readers.
    async fn run_unless_read(
        &mut self,
        readers: &[&Readers],
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Error>,
        sources: &[Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        self.is_running = true;
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
                let commands = encoder.finish();
                let submission = unless_read(readers, || gpu.queue.submit([commands]))?;
                up.submitted(chunks, &submission);
                Ok(pieces.submitted(submission))
            })?
        };
        let coming = gpu.watched(submit).await?;
        if targets.is_empty() {
            return Ok(());
        }
        down.finish(&gpu, waiting, coming, targets).await?;
        self.is_running = false;
        Ok(())
    }

    /// Notes that the device works on something that the call does not wait for.
    pub(crate) fn submitted(&mut self) {
        self.is_running = true;
    }

    /// Copies the start of a buffer to `bytes`, unless one of its `readers` reads it.
    pub(crate) async fn download(
        engine: &Arc<Engine>,
        waiting: Waiting,
        buffer: &Buffer,
        readers: &[&Readers],
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let mut call = Self::begin(engine, waiting, None, &[], Staging { up: &[], down: &[bytes.len()] }).await?;
        call.run_unless_read(readers, |_| Ok(()), core::slice::from_ref(buffer), &mut [bytes]).await
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
        let permit = self.permit.take();
        debug_assert!(permit.as_ref().is_none_or(|permit| bytes <= permit.bytes()), "{bytes} bytes, and a permit for {permit:?}");
        let given_up = self.engine.pool.put(taken, bytes, used);
        if self.is_running && permit.is_some() {
            // The device keeps the memory until it is done with it.
            self.gpu().queue.on_submitted_work_done(move || drop((given_up, permit)));
        }
    }
}
