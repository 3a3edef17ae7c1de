//! Argsort and top-k of a tensor of CubeCL on the device, without a read-back, beside what CubeCL's users do: read the tensor, sort on the host, upload.
//!
//!     tensors KEYS REPS
//!
//! There are 100 keys or more. Each time is the median of REPS.
//!
//! Kernels of CubeCL compute the keys, and gather them by the indices that polysort wrote. Both libraries record work for one queue, so the device runs it in the
//! order in which they submit it.

use anyhow::{Context, Result, ensure};
use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::wgpu::{AutoCompiler, RuntimeOptions, WgpuResource, WgpuRuntime, WgpuSetup, init_device};
use cubecl_runtime::runtime::Runtime;
use gpu_users::Gpu;
use polysort_core::Options;
use polysort_wgpu::{Ask, Count, DeviceSorter, Part};
use std::time::Instant;

type Server = <WgpuRuntime<AutoCompiler> as Runtime>::Server;

/// Keys that the selection gives.
const FIRST: usize = 100;

/// Units of a cube.
const UNITS: u32 = 256;

/// Keys that look random, of both signs, a few of them equal.
#[cube(launch)]
fn compute_keys(keys: &mut [f32]) {
    if ABSOLUTE_POS < keys.len() {
        let mut mixed = ABSOLUTE_POS as u32 + 1u32;
        for _ in 0..3u32 {
            mixed ^= mixed << 13u32;
            mixed ^= mixed >> 17u32;
            mixed ^= mixed << 5u32;
        }
        keys[ABSOLUTE_POS] = f32::cast_from(mixed >> 9u32) - 4194304.0f32;
    }
}

#[cube(launch)]
fn gather(keys: &[f32], indices: &[u32], gathered: &mut [f32]) {
    if ABSOLUTE_POS < indices.len() {
        gathered[ABSOLUTE_POS] = keys[indices[ABSOLUTE_POS] as usize];
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |name| -> Result<usize> { Ok(arguments.next().with_context(|| format!("{name} is missing"))?.parse()?) };
    let (len, reps) = (number("KEYS")?, number("REPS")?);

    ensure!(len >= FIRST, "KEYS is at least {FIRST}");

    let Gpu { instance, adapter, device, queue } = gpu_users::open()?;
    let backend = adapter.get_info().backend;
    let setup = WgpuSetup { instance, adapter, device: device.clone(), queue: queue.clone(), backend };
    let client = WgpuRuntime::<AutoCompiler>::client(&init_device(setup, RuntimeOptions::default()));
    let tensor = |len: usize| client.empty(len * 4);
    let (keys, indices, first, sorted) = (tensor(len), tensor(len), tensor(FIRST), tensor(len));
    launch_keys(&client, &keys, len);

    // What a sort prepares stays valid while the tensors live, as these resources keep their memory in place.
    let sorter = DeviceSorter::new(&device, &queue)?;
    let resource = |handle: &Handle| client.get_resource::<Server>(handle.clone()).map_err(|error| anyhow::anyhow!("{error:?}"));
    let resources = [resource(&keys)?, resource(&indices)?, resource(&first)?];
    let [of_keys, of_indices, of_first] = resources.each_ref().map(|managed| part(managed.resource()));
    let all = Ask::up_to(u32::try_from(len)?);
    let argsort = sorter.prepare_argsort::<f32>(of_keys, of_indices, all)?;
    let top_k = sorter.prepare_top_k::<f32>(of_keys, of_first, FIRST as u32, all.options(Options::descending()))?;

    let sort = || -> Result<()> {
        client.flush().map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let mut encoder = device.create_command_encoder(&Default::default());
        argsort.record_in(&mut encoder, Count::Fixed(len as u32))?;
        top_k.record_in(&mut encoder, Count::Fixed(len as u32))?;
        queue.submit([encoder.finish()]);
        Ok(())
    };
    sort()?;
    launch_gather(&client, [&keys, &indices, &sorted], len);
    check(&client, [&keys, &indices, &first, &sorted])?;

    let mut times = [vec![], vec![]];
    for _ in 0..reps {
        let started = Instant::now();
        sort()?;
        device.poll(wgpu::PollType::wait_indefinitely())?;
        times[0].push(started.elapsed().as_secs_f64());

        let started = Instant::now();
        let keys: Vec<f32> = read(&client, &keys)?;
        let mut order = Vec::from_iter(0..len as u32);
        order.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
        let uploaded = client.create_from_slice(bytemuck::cast_slice(&order));
        let uploaded: Vec<u32> = read(&client, &uploaded.offset_end((len as u64 - 1) * 4))?;
        // Waits for the upload.
        ensure!(uploaded[..] == order[..1], "the upload is wrong");
        times[1].push(started.elapsed().as_secs_f64());
    }
    check(&client, [&keys, &indices, &first, &sorted])?;
    let [ours, host] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        1e3 * times[times.len() / 2]
    });
    println!(
        "{len} keys: argsort and top {FIRST} on the device {ours:.2} ms; a read-back, an argsort by std and an upload {host:.2} ms"
    );
    Ok(())
}

/// The part of a buffer that a tensor has.
fn part(resource: &WgpuResource) -> Part<'_> {
    Part { buffer: &resource.buffer, offset: resource.offset }
}

fn read<T: bytemuck::Pod>(client: &Client, tensor: &Handle) -> Result<Vec<T>> {
    let bytes = client.read_one(tensor.clone()).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    Ok(bytemuck::pod_collect_to_vec(&bytes))
}

/// Compares what the device has with std's sort of the same keys.
fn check(client: &Client, [keys, indices, first, sorted]: [&Handle; 4]) -> Result<()> {
    let keys: Vec<f32> = read(client, keys)?;
    ensure!(keys.iter().any(|key| *key < 0.0) && keys.iter().any(|key| *key > 0.0), "the kernel that computes keys has not run");
    let mut order = Vec::from_iter(0..keys.len() as u32);
    order.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
    ensure!(read::<u32>(client, indices)? == order, "the argsort is wrong");
    ensure!(read::<f32>(client, sorted)?.iter().eq(order.iter().map(|&at| &keys[at as usize])), "the gathered keys are wrong");
    order.sort_by(|&a, &b| keys[b as usize].total_cmp(&keys[a as usize]).then(a.cmp(&b)));
    ensure!(read::<u32>(client, first)? == order[..FIRST], "the selection is wrong");
    println!("{} keys: argsort, top {FIRST} and gathered keys are right", keys.len());
    Ok(())
}

fn cubes(len: usize) -> CubeCount {
    let cubes = (len as u32).div_ceil(UNITS);
    // A device has at most 65 535 cubes in a row.
    CubeCount::Static(cubes.min(1 << 15), cubes.div_ceil(1 << 15), 1)
}

fn launch_keys(client: &Client, keys: &Handle, len: usize) {
    // SAFETY: the tensor has room for `len` keys.
    let keys = unsafe { BufferArg::from_raw_parts(keys.clone(), len) };
    compute_keys::launch(client, cubes(len), CubeDim::new_1d(UNITS), keys);
}

fn launch_gather(client: &Client, tensors: [&Handle; 3], len: usize) {
    // SAFETY: each tensor has `len` elements of 4 bytes.
    let [keys, indices, gathered] = tensors.map(|tensor| unsafe { BufferArg::from_raw_parts(tensor.clone(), len) });
    gather::launch(client, cubes(len), CubeDim::new_1d(UNITS), keys, indices, gathered);
}
