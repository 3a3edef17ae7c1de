//! `Call`: one call on the device, with its workspace, its permit, its copies and its submissions.

use crate::array::Array;
use crate::budget::Permit;
use crate::compile_all::kernels;
use crate::engine::Engine;
use crate::joined::Joined;
use crate::launch::Launches;
use crate::pool::Taken;
use crate::queued::Queued;
use crate::readers::{Readers, unless_read};
use crate::up;
use crate::wait::Waiting;
use crate::workspace::{Bindable, Staging, Workspace, needs};
use core::cmp::Reverse;
use polysort_core::{BoxFuture, Error};
use polysort_shaders::plan::{Buffer as Role, SortPlan};
use std::sync::Arc;
use wgpu::{Buffer, CommandEncoder};

/// A call that has taken a workspace. A call that succeeds puts the workspace back in the pool: the device runs the
/// submitted commands before those of later calls. The workspace of a call that fails, or whose future is dropped, is
/// freed, because a browser may not have reported yet what is wrong with it.
pub(crate) struct Call {
    engine: Arc<Engine>,
    waiting: Waiting,
    /// The workspace, and the permit for its bytes; `Some` until the call ends.
    held: Option<(Taken<Workspace>, Permit)>,
    /// The bytes of the workspace that the call needs.
    used: u64,
    /// The most chunks of its uploads.
    most_chunks: usize,
    /// Whether the device may still run commands of this call.
    is_running: bool,
    has_succeeded: bool,
}

/// A call takes a workspace only if it has at most twice the bytes that the call needs, plus this. A call reserves the whole
/// workspace, so with a larger one it would leave no room for others.
const SPARE: u64 = 32 << 20;

impl Call {
    /// Starts a call. Reserves memory for the buffers of `others`, for `staging`, and for the buffers of `sort`, if the
    /// call is a sort. Takes the workspace that suits it best.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if calls in flight leave too little room and none of them ends in time; or the errors of
    /// [`SortPlan::new`].
    pub(crate) async fn begin(
        engine: &Arc<Engine>,
        waiting: Waiting,
        sort: Option<Bindable>,
        others: &[(Role, u64)],
        staging: Staging<'_>,
    ) -> Result<Self, Error> {
        let results: usize = staging.down.iter().sum();
        let mut wanted = others.to_vec();
        let other_bytes: u64 = others.iter().map(|(_, bytes)| bytes).sum();
        // `buffers` is the number of bytes of the buffers that the call needs. The call also needs room for its results.
        let suits = |workspace: &Workspace, buffers: u64| {
            let needed = buffers.saturating_add(results as u64);
            workspace.bytes() <= needed.saturating_mul(2).saturating_add(SPARE)
        };
        let bound_bytes = |workspace: &Workspace| {
            let bytes = sort.and_then(|sort| workspace.bound_bytes(&sort))?;
            suits(workspace, bytes.saturating_add(other_bytes)).then_some(bytes)
        };
        let mut bound = engine.pool.find(bound_bytes);
        let mut permit: Option<Permit> = None;
        loop {
            if let (Some((request, _)), None) = (sort, bound) {
                // No workspace has launches for this sort, so the plan determines the buffers that it needs.
                let plan = SortPlan::new(request, &engine.gpu().facts)?;
                wanted = others.iter().copied().chain(needs(&plan)).collect();
                bound = Some(0);
            }
            let wanted_bytes = wanted.iter().map(|(_, bytes)| bytes).sum();
            // The best workspace is bound to the sort. The next best has to grow the least; among those, the smallest
            // is the best.
            let rank = |workspace: &Workspace| {
                let (is_bound, bytes) = (bound_bytes(workspace).is_some(), workspace.bytes());
                let grown = workspace.bytes_with(&wanted, staging, engine.ahead);
                // A call that has waited for a permit does not wait for a larger one.
                let is_permitted = permit.as_ref().is_none_or(|permit| grown <= permit.bytes());
                let is_taken = is_permitted && (is_bound || suits(workspace, wanted_bytes));
                is_taken.then_some((is_bound, Reverse((grown - bytes, bytes))))
            };
            let taken = engine.pool.take(rank).unwrap_or_else(|| Taken::new(Workspace::default()));
            let bound_here = bound_bytes(&taken.item);
            if bound.is_some_and(|bytes| bytes > 0) && bound_here.is_none() {
                // Meanwhile another call has taken the workspace that is bound to the sort.
                engine.pool.put_back(taken);
                bound = None;
                continue;
            }
            let bytes = taken.item.bytes_with(&wanted, staging, engine.ahead);
            permit = permit.filter(|permit| permit.bytes() >= bytes).or_else(|| engine.budget.try_take(bytes));
            if let Some(permit) = permit {
                let used = bound_here.unwrap_or(wanted_bytes) + results as u64;
                let held = Some((taken, permit));
                let most_chunks = up::most_chunks(staging.up, engine.ahead);
                let engine = engine.clone();
                return Ok(Self { engine, waiting, held, used, most_chunks, is_running: false, has_succeeded: false });
            }
            // Other calls may use the workspace while this call waits.
            engine.pool.put_back(taken);
            permit = Some(engine.wait_for_room(waiting, bytes).await?);
        }
    }

    pub(crate) fn gpu(&self) -> &Queued {
        self.engine.gpu()
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.held.as_ref().expect("there until the call ends").0.item
    }

    pub(crate) fn workspace_mut(&mut self) -> &mut Workspace {
        &mut self.held.as_mut().expect("there until the call ends").0.item
    }

    /// Returns the launches of a sort, bound to the buffers of the workspace.
    pub(crate) async fn launches(&mut self, sort: Bindable) -> Result<Arc<Launches>, Error> {
        if let Some(launches) = self.workspace_mut().bound(&sort) {
            return Ok(launches);
        }
        let (engine, gpu, waiting) = (self.engine.clone(), self.gpu().clone(), self.waiting);
        let (request, native) = sort;
        let plan = SortPlan::new(request, &gpu.facts)?;
        gpu.shared.compile_all(waiting, kernels(&plan, native)).await?;
        engine.allocating(waiting, || self.workspace_mut().bind(&gpu, plan.clone(), native)).await
    }

    /// Copies `bytes` to the start of an array of the workspace. The copy is complete before the commands of the next
    /// [`run`](Call::run) start.
    pub(crate) async fn upload(&mut self, bytes: &Joined<'_>, role: Role) -> Result<(), Error> {
        self.upload_behind(bytes, role, 0).await
    }

    /// Like [`upload`](Call::upload), but leaves the first `start` bytes of the array as they are: a multiple of 4.
    pub(crate) async fn upload_behind(&mut self, bytes: &Joined<'_>, role: Role, start: u64) -> Result<(), Error> {
        let array = self.workspace().array(role).clone();
        self.upload_to(bytes, &array, start).await
    }

    async fn upload_to(&mut self, bytes: &Joined<'_>, array: &Array, start: u64) -> Result<(), Error> {
        // A long copy is submitted chunk by chunk.
        (self.is_running, self.has_succeeded) = (true, false);
        let (gpu, waiting) = (self.gpu().clone(), self.waiting);
        // A call that is alone submits the copy at once, so that the device copies while this thread records the rest.
        // Many calls at a time keep the device busy anyway, and a further submission would only cost time.
        let is_alone = self.held.as_ref().is_some_and(|(_, permit)| permit.is_alone());
        let most = self.most_chunks;
        let up = &mut self.workspace_mut().up;
        let mut from = 0;
        for (part, length) in array.parts(start..start + bytes.len() as u64).collect::<Vec<_>>() {
            let end = from + length as usize;
            up.copy(&gpu, waiting, &bytes.range(from..end), (part.buffer, part.offset), most).await?;
            from = end;
        }
        if is_alone { up.flush(&gpu) } else { Ok(()) }
    }

    /// Copies `bytes` to the start of a new array, which no other call uses yet.
    pub(crate) fn fill<'a>(
        engine: &'a Arc<Engine>,
        waiting: Waiting,
        bytes: &'a [u8],
        array: &'a Array,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let staging = Staging { up: &[bytes.len()], down: &[] };
            let mut call = Self::begin(engine, waiting, None, &[], staging).await?;
            call.upload_to(&bytes.into(), array, 0).await?;
            call.run(|_| Ok(()), &[], &mut []).await
        })
    }

    /// Copies `bytes` to parts of buffers. Each entry of `places` is a buffer, a byte offset and a number of bytes. If the
    /// call fails or its future is dropped, nothing is copied. If `bytes` may be longer than a buffer, all places but the last
    /// have `page_bytes` bytes.
    pub(crate) fn replace<'a>(
        engine: &'a Arc<Engine>,
        waiting: Waiting,
        bytes: &'a [u8],
        places: &'a [(&'a Buffer, u64, u64)],
        page_bytes: Option<u64>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if bytes.is_empty() {
                return Ok(());
            }
            let staging = Staging { up: &[bytes.len()], down: &[] };
            if let (&[(buffer, start, _)], true) = (places, bytes.len() as u64 <= up::CHUNK) {
                // One submission copies one chunk as a whole, so no buffer is needed in between.
                let mut call = Self::begin(engine, waiting, None, &[], staging).await?;
                let gpu = call.gpu().clone();
                let most = call.most_chunks;
                call.workspace_mut().up.copy(&gpu, waiting, &bytes.into(), (buffer, start), most).await?;
                return call.run(|_| Ok(()), &[], &mut []).await;
            }
            let whole = [(Role::Keys, bytes.len() as u64)];
            let mut call = Self::begin(engine, waiting, None, &whole, staging).await?;
            let gpu = call.gpu().clone();
            let grow = || call.workspace_mut().grow_array(&gpu, Role::Keys, bytes.len() as u64, page_bytes);
            engine.allocating(waiting, grow).await?;
            call.upload(&bytes.into(), Role::Keys).await?;
            let source = call.workspace().array(Role::Keys).clone();
            let copies = |encoder: &mut CommandEncoder| {
                let mut from = 0;
                for &(buffer, start, len) in places {
                    let part = source.part(from);
                    encoder.copy_buffer_to_buffer(part.buffer, part.offset, buffer, start, len.next_multiple_of(4));
                    from += len;
                }
                Ok(())
            };
            call.run(copies, &[], &mut []).await
        })
    }

    /// Submits the uploads and then the commands that `record` records. Then copies the first bytes of each of
    /// `sources` to its slice of `targets`; on an error, no target changes. Without targets, it returns at submission.
    pub(crate) async fn run(
        &mut self,
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Error>,
        sources: &[Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        self.run_unless_read(&[], record, sources, targets).await
    }

    /// Like [`run`](Call::run), but returns an error if one of `readers` has a reader.
    pub(crate) async fn run_unless_read(
        &mut self,
        readers: &[&Readers],
        record: impl FnOnce(&mut CommandEncoder) -> Result<(), Error>,
        sources: &[Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        (self.is_running, self.has_succeeded) = (true, false);
        let (gpu, waiting) = (self.gpu().clone(), self.waiting);
        let Workspace { up, down, .. } = self.workspace_mut();
        let sources: Vec<_> =
            sources.iter().zip(targets.iter()).map(|(source, target)| (source.clone(), 0, target.len())).collect();
        let submit = || {
            let pieces = down.prepare(&gpu, &sources)?;
            gpu.guarded(|| {
                let _span = tracing::trace_span!("submit").entered();
                let mut encoder = gpu.encoder();
                let chunks = up.record(&mut encoder);
                record(&mut encoder)?;
                pieces.record(&mut encoder);
                let commands = encoder.finish();
                // No thread may map a buffer between this check and the submission.
                let submission = unless_read(readers, || gpu.submit([commands]))??;
                up.submitted(chunks, &submission);
                Ok(pieces.submitted(submission))
            })?
        };
        let coming = gpu.watched(submit).await?;
        if !targets.is_empty() {
            down.finish(&gpu, waiting, coming, targets).await?;
            self.is_running = false;
        }
        self.has_succeeded = true;
        Ok(())
    }

    /// Copies the start of an array of the workspace, which the commands of [`run`](Call::run) have written, to `bytes`: in pieces of `piece`
    /// bytes, so that little memory is staged. On an error, a part of `bytes` has changed.
    pub(crate) async fn download_from(&mut self, role: Role, bytes: &mut [u8], piece: usize) -> Result<(), Error> {
        self.has_succeeded = false;
        let (gpu, waiting, source) = (self.gpu().clone(), self.waiting, self.workspace().array(role).clone());
        let pieces = source.targets(bytes).flat_map(|(page, bytes)| {
            (0_u64..).step_by(piece).zip(bytes.chunks_mut(piece)).map(|(start, part)| (page.clone(), start, part))
        });
        self.workspace_mut().down.pieces(&gpu, waiting, pieces.collect()).await?;
        (self.has_succeeded, self.is_running) = (true, false);
        Ok(())
    }

    /// Copies the start of an array to `bytes`. Returns an error if one of `readers` has a reader.
    pub(crate) fn download<'a>(
        engine: &'a Arc<Engine>,
        waiting: Waiting,
        array: &'a Array,
        readers: &'a [&'a Readers],
        bytes: &'a mut [u8],
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let (sources, mut targets): (Vec<Buffer>, Vec<&mut [u8]>) =
                array.targets(bytes).map(|(page, bytes)| (page.clone(), bytes)).unzip();
            let down: Vec<usize> = targets.iter().map(|target| target.len()).collect();
            let mut call = Self::begin(engine, waiting, None, &[], Staging { up: &[], down: &down }).await?;
            call.run_unless_read(readers, |_| Ok(()), &sources, &mut targets).await
        })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Some((mut taken, permit)) = self.held.take() else { return };
        if std::thread::panicking() {
            return;
        }
        taken.item.up.give_up();
        // All calls use the same ring of upload chunks, so each call counts as a user of the whole ring.
        let (bytes, used) = (taken.item.bytes(), self.used + taken.item.up.bytes());
        debug_assert!(bytes <= permit.bytes(), "{bytes} bytes, and {permit:?}");
        let given_up = if self.has_succeeded { self.engine.pool.put(taken, bytes, used) } else { vec![taken] };
        if self.is_running {
            // The device uses this memory until it has finished: until then, the permit counts it.
            self.gpu().queue.on_submitted_work_done(move || drop((given_up, permit)));
        }
    }
}
