//! Sorts of more keys than one sort takes, in the memory of the device: the data make one trip there and one back.
//!
//! The device sorts portions and merges them (`portions.rs` of the plans). This takes memory of the device for twice the data. If calls may
//! not take as much now, or if the device has less, `long.rs` makes two trips.

use crate::backend::WgpuBackend;
use crate::call::Call;
use crate::data::Data;
use crate::down;
use crate::engine::{Engine, PASS};
use crate::launch::Count;
use crate::long::{inputs, outputs};
use crate::prepared::AnyLaunches;
use crate::resident::Plan;
use crate::scratch::Scratch;
use crate::wait::Waiting;
use crate::workspace::{Staging, Workspace};
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, MAX_MERGED, Request};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wgpu::CommandEncoder;

impl WgpuBackend {
    /// Sorts keys of 32 bits or more, and values, if there is memory for one trip. Returns whether it has sorted; otherwise nothing has changed.
    pub(crate) async fn sort_in_one_trip(&self, waiting: Waiting, request: Request, data: &mut Data<'_>) -> Result<bool, Error> {
        let (engine, gpu) = (self.engine(), self.gpu());
        let (keys, values) = inputs(data);
        let most = engine.budget.cap().min(engine.one_trip.load(Ordering::Relaxed));
        let is_too_long = request.max > MAX_MERGED || 2 * (keys.len() + values.len()) as u64 > most;
        // With portions of a set length, tests sort in two trips.
        if request.key_bits < 32 || is_too_long || engine.kinds.portion().is_some() {
            return Ok(false);
        }
        let needs_pages = keys.len().max(values.len()) as u64 > gpu.max_buffer;
        let element = u64::from(request.key_bits / 8).max(4 * u64::from(request.payload.words()));
        let Ok(page) = needs_pages.then(|| gpu.facts.page_len(element, gpu.max_buffer)).transpose() else { return Ok(false) };
        let plan = engine.plan_resident(waiting, Request { page, ..request }).await?;
        let arrays = [(Role::Keys, keys.len() as u64), (Role::Values, values.len() as u64)];
        let needs: Vec<(Role, u64)> =
            arrays.into_iter().filter(|&(_, bytes)| bytes > 0).chain(plan.scratch().iter().copied()).collect();
        // A binding is smaller than a usual piece in tests alone.
        let piece = down::PIECE.min(gpu.facts.max_binding as usize);
        let staging = Staging { up: &[keys.len(), values.len()], down: &[piece; down::PIECES] };
        let bytes = Workspace::default().bytes_with(&needs, staging, false);
        // Two trips take less memory, so they need not wait for other calls as long.
        let Some(engine) = (bytes <= most).then(|| engine.reserve_now(bytes)).flatten() else { return Ok(false) };
        match sort(&engine, waiting, &plan, (&needs, staging, piece), data).await {
            Err(Error::OutOfMemory { .. }) => Ok(false),
            outcome => outcome.map(|()| true),
        }
    }
}

/// Sorts data in the memory that `engine` has reserved: `needs` are its buffers. The result arrives in scratch of the host, `piece` bytes at a
/// time, so that the caller's slices change when nothing can fail any more.
async fn sort(
    engine: &Arc<Engine>,
    waiting: Waiting,
    plan: &Plan,
    (needs, staging, piece): (&[(Role, u64)], Staging<'_>, usize),
    data: &mut Data<'_>,
) -> Result<(), Error> {
    let gpu = engine.gpu();
    plan.compile(gpu, waiting).await?;
    let mut call = Call::begin(engine, waiting, None, needs, staging).await?;
    let bind = || {
        let workspace = call.workspace_mut();
        plan.grow(gpu, workspace, needs)?;
        plan.launches(gpu, &|role, byte| workspace.array(role).part(byte))
    };
    let launches = engine.allocating(waiting, bind).await.inspect_err(|error| {
        if matches!(error, Error::OutOfMemory { .. }) {
            // Later calls do not try in vain.
            engine.one_trip.fetch_min(engine.budget.cap() - 1, Ordering::Relaxed);
        }
    })?;
    sort_on_device(&mut call, plan.keys(), &launches, inputs(data)).await?;
    let (sorted_keys, sorted_values) = outputs(data);
    let results = [(Role::Keys, sorted_keys.unwrap_or_default()), (Role::Values, sorted_values)];
    let mut arrived = vec![];
    for (role, sorted) in results.into_iter().filter(|(_, sorted)| !sorted.is_empty()) {
        let mut scratch = Scratch::new(sorted.len(), 1)?;
        call.download_from(role, scratch.get_mut(), piece).await?;
        arrived.push((sorted, scratch));
    }
    gpu.copiers.copy_all(arrived.iter_mut().map(|(sorted, scratch)| (&mut **sorted, scratch.get())));
    Ok(())
}

/// Copies keys and values to the device, and sorts them there. The device sorts a portion while the host uploads the next.
async fn sort_on_device(call: &mut Call, count: u64, launches: &AnyLaunches, inputs: (&[u8], &[u8])) -> Result<(), Error> {
    let arrays = [(Role::Keys, inputs.0), (Role::Values, inputs.1)];
    let arrays = || arrays.into_iter().filter(|(_, bytes)| !bytes.is_empty());
    let all = Count::all(count);
    let launches = match launches {
        AnyLaunches::Whole(launches) => {
            for (role, bytes) in arrays() {
                call.upload(&bytes.into(), role).await?;
            }
            let record = |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), all);
            return call.run(record, &[], &mut []).await;
        }
        AnyLaunches::Portions(launches) => launches,
    };
    for (number, portion) in launches.plan().portions.iter().enumerate() {
        for (role, bytes) in arrays() {
            let element = bytes.len() / count as usize;
            let [start, end] = [portion.start, portion.start + portion.plan.request.max].map(|key| key as usize * element);
            call.upload_behind(&bytes[start..end].into(), role, start as u64).await?;
        }
        let record = |encoder: &mut CommandEncoder| launches.record_portion(&mut encoder.begin_compute_pass(&PASS), number);
        call.run(record, &[], &mut []).await?;
    }
    let record = |encoder: &mut CommandEncoder| launches.record_merges(&mut encoder.begin_compute_pass(&PASS), all);
    call.run(record, &[], &mut []).await
}
