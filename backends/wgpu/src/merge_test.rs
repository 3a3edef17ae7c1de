//! The self-test of merges: each device merges known runs before it gets a caller's data.

use crate::bind::Part;
use crate::call::Call;
use crate::compile_all::merge_kernels;
use crate::engine::{Engine, PASS};
use crate::gpu::STORAGE;
use crate::launch::Count;
use crate::merge_launches::MergeLaunches;
use crate::self_test::few;
use crate::wait::Waiting;
use crate::workspace::Staging;
use polysort_core::{BoxFuture, Error, Masks, Spec, Word};
use polysort_shaders::plan::{Buffer as Role, MergePlan, MergeRequest};
use std::collections::BTreeMap;
use std::sync::Arc;
use wgpu::{Buffer, CommandEncoder};

impl Engine {
    /// Tests the kernels of this merge, unless they have passed the self-test on this device. Two calls of a new kind at the
    /// same time both run it: neither waits for the other.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if the device is lost, [`Error::SelfTest`] if the device merges wrongly, or a failure of the
    /// device.
    pub(crate) fn tested_merge<'a>(
        self: &'a Arc<Self>,
        waiting: Waiting,
        request: MergeRequest,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            if let Some(lost) = self.gpu().lost() {
                return Err(lost);
            }
            let kind = MergePlan::new(request, &self.gpu().facts)?.tiles.variant;
            if self.kinds.tested_merges.get(&kind).is_none() {
                match request.key_bits {
                    8 => self.check_merge::<u8>(waiting, request).await,
                    16 => self.check_merge::<u16>(waiting, request).await,
                    32 => self.check_merge::<u32>(waiting, request).await,
                    64 => self.check_merge::<u64>(waiting, request).await,
                    _ => self.check_merge::<u128>(waiting, request).await,
                }?;
                self.kinds.tested_merges.set(kind, ());
            }
            Ok(())
        })
    }

    /// Merges two runs of few values in descending order: three tiles and a part of a fourth. The second run is longer.
    async fn check_merge<W: Word>(self: &Arc<Self>, waiting: Waiting, request: MergeRequest) -> Result<(), Error> {
        let spec = Spec::new::<W>(Masks::float(W::BITS).reversed(W::BITS), 0, W::BITS)?;
        let gpu = self.gpu().clone();
        let shape = MergeRequest {
            payload: request.payload,
            keys_per_thread: request.keys_per_thread,
            ..MergeRequest::keys(W::BITS, spec, [1, 1])
        };
        let tile = MergePlan::new(shape, &gpu.facts)?.tile as usize;
        // A device with small bindings merges what fits them.
        let unit = size_of::<W>().max(4 * request.payload.words() as usize);
        let most = usize::try_from(gpu.facts.max_binding / unit as u64).unwrap_or(usize::MAX).saturating_sub(64);
        let total = (3 * tile + 17).min(most);
        let lens = [total * 2 / 5, total - total * 2 / 5];
        let run = |run: usize| {
            let mut keys: Vec<W> = (0..lens[run]).map(|i| few(i + 5 * run)).collect();
            keys.sort_by_key(|&key| spec.rank(key));
            keys
        };
        let (runs, words) = ([run(0), run(1)], request.payload.words() as usize);
        let value = |i: usize| (0..words).map(move |word| (i + word) as u32);
        let values = [0..lens[0], lens[0]..total].map(|run| run.flat_map(value).collect::<Vec<u32>>());
        let keys = runs.concat();
        let mut order: Vec<usize> = (0..total).collect();
        order.sort_by_key(|&i| spec.rank(keys[i]));

        let max = lens.map(|len| len as u64);
        let shape = MergeRequest {
            payload: request.payload,
            keys_per_thread: request.keys_per_thread,
            ..MergeRequest::keys(W::BITS, spec, max)
        };
        let plan = MergePlan::new(shape, &gpu.facts)?;
        gpu.shared.compile_all(waiting, merge_kernels(&plan)).await?;
        let filled = |bytes: &[u8]| gpu.buffer_of("polysort test", bytes, STORAGE);
        let empty = |bytes: usize| gpu.buffer("polysort test", bytes as u64, STORAGE);
        let bind = || {
            let mut buffers: BTreeMap<Role, Buffer> = BTreeMap::from([
                (Role::FirstKeys, filled(bytemuck::cast_slice(&runs[0]))?),
                (Role::SecondKeys, filled(bytemuck::cast_slice(&runs[1]))?),
                (Role::MergedKeys, empty(size_of_val(&*keys))?),
                (Role::FirstValues, filled(bytemuck::cast_slice(&values[0]))?),
                (Role::SecondValues, filled(bytemuck::cast_slice(&values[1]))?),
                (Role::MergedValues, empty(4 * words * total)?),
            ]);
            for &(role, bytes) in &plan.scratch {
                buffers.insert(role, gpu.buffer("polysort test", bytes, STORAGE)?);
            }
            let launches =
                MergeLaunches::new(&gpu, plan.clone(), [None; 2], &|role, byte| Part::from(&buffers[&role]).behind(byte))?;
            Ok((launches, buffers))
        };
        let (mut found_keys, mut found_values) = (vec![W::truncate(0); total], vec![0_u32; words * total]);
        let downloads = [size_of_val(&*found_keys), size_of_val(&*found_values)];
        let downloads = if words > 0 { &downloads[..] } else { &downloads[..1] };
        let mut call = Call::begin(self, waiting, None, &[], Staging { up: &[], down: downloads }).await?;
        let (launches, buffers) = self.allocating(waiting, bind).await?;
        let counts = lens.map(|len| Count::Fixed(len as u32));
        let record = |encoder: &mut CommandEncoder| launches.record(&mut encoder.begin_compute_pass(&PASS), counts);
        let sources = [Role::MergedKeys, Role::MergedValues].map(|role| buffers[&role].clone());
        let mut targets: Vec<&mut [u8]> = vec![bytemuck::cast_slice_mut(&mut found_keys)];
        if words > 0 {
            targets.push(bytemuck::cast_slice_mut(&mut found_values));
        }
        call.run(record, &sources[..targets.len()], &mut targets).await?;
        let is_right = found_keys.iter().zip(&order).all(|(&key, &i)| key == keys[i])
            && found_values.iter().copied().eq(order.iter().flat_map(|&i| value(i)));
        if is_right {
            return Ok(());
        }
        let (backend, payload) = (gpu.name(), request.payload);
        let what = format!("a merge of keys of {} bits with payload {payload:?}", W::BITS);
        Err(Error::SelfTest { backend, what, why: format!("{total} keys came out wrong") })
    }
}
