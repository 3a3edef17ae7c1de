//! Buffers and times of programs that measure sorts of data on the device.

#![allow(dead_code, reason = "each program uses a part")]

use polysort_wgpu::wgpu::{self, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, PollError, PollType};
use polysort_wgpu::{Profile, WgpuBackend};
use std::error::Error;

/// The bytes that the host and the device exchange at a time.
const CHUNK: usize = 256 << 20;

/// Returns a buffer of at least so many bytes, to sort in.
pub(crate) fn buffer(backend: &WgpuBackend, bytes: usize) -> Buffer {
    let size = bytes.next_multiple_of(4).max(4) as u64;
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    backend.device().create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// Waits until the device has done all that was submitted.
pub(crate) fn wait(backend: &WgpuBackend) -> Result<(), PollError> {
    backend.device().poll(PollType::wait_indefinitely()).map(drop)
}

/// Submits what `record` records, and waits for it.
pub(crate) fn run<E: From<PollError>>(
    backend: &WgpuBackend,
    record: impl FnOnce(&mut CommandEncoder) -> Result<(), E>,
) -> Result<(), E> {
    let mut encoder = backend.device().create_command_encoder(&Default::default());
    record(&mut encoder)?;
    backend.queue().submit([encoder.finish()]);
    Ok(wait(backend)?)
}

/// Writes the first bytes of a buffer.
pub(crate) fn write(backend: &WgpuBackend, buffer: &Buffer, bytes: &[u8]) -> Result<(), PollError> {
    for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
        backend.queue().write_buffer(buffer, (i * CHUNK) as u64, chunk);
        backend.queue().submit([]);
        wait(backend)?;
    }
    Ok(())
}

/// Reads the first bytes of a buffer.
pub(crate) fn read(backend: &WgpuBackend, buffer: &Buffer, bytes: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let (device, usage) = (backend.device(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
    let size = bytes.min(CHUNK).next_multiple_of(4) as u64;
    let mut found = Vec::with_capacity(bytes);
    while found.len() < bytes {
        let staging = device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let some = (bytes - found.len()).min(CHUNK);
        run::<PollError>(backend, |encoder| {
            encoder.copy_buffer_to_buffer(buffer, found.len() as u64, &staging, 0, some.next_multiple_of(4) as u64);
            Ok(())
        })?;
        staging.slice(..).map_async(wgpu::MapMode::Read, |mapped| mapped.expect("the device is there"));
        wait(backend)?;
        found.extend_from_slice(&staging.slice(..).get_mapped_range()?[..some]);
    }
    Ok(found)
}

/// Returns the times of all runs.
pub(crate) fn times(times: &polysort_wgpu::Times) -> polysort_measure::Times {
    times.iter().collect()
}

/// Prints the median time of each launch.
pub(crate) fn print_launches(profile: &Profile) {
    for (name, times) in &profile.launches {
        println!("    {name:<12} {:>9.1} us", times.median().as_nanos() as f64 / 1000.0);
    }
}
