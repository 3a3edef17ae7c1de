//! wgpu_sort, on the older wgpu that it is for. Sorts pairs alone.

use crate::{Peer, between, software};
use ::wgpu_sort::{GPUSorter, HISTO_BLOCK_KVS, SortBuffers};
use bytemuck::Pod;
use std::error::Error;
use std::num::NonZeroU32;
use std::time::Duration;
use wgpu_19::{
    Backends, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, Device, DeviceDescriptor, DeviceType, Features, Instance,
    InstanceDescriptor, Maintain, MapMode, PowerPreference, QuerySet, QuerySetDescriptor, QueryType, Queue,
    RequestAdapterOptions,
};

struct WgpuSort {
    device: Device,
    queue: Queue,
    /// Each column as it was at first.
    saved: [Buffer; 2],
    sorter: GPUSorter,
    sorted: SortBuffers,
    queries: QuerySet,
    ticks: Buffer,
}

pub(crate) fn open(columns: &[Vec<u32>], lanes: u32) -> Result<Box<dyn Peer>, Box<dyn Error>> {
    let [keys, values] = columns else { return Err("it sorts pairs alone".into()) };
    let instance = Instance::new(InstanceDescriptor { backends: Backends::VULKAN, ..Default::default() });
    let options = RequestAdapterOptions { power_preference: PowerPreference::HighPerformance, ..Default::default() };
    let adapter = pollster::block_on(instance.request_adapter(&options)).ok_or("no adapter")?;
    let info = adapter.get_info();
    if info.device_type == DeviceType::Cpu && !software() {
        return Err(format!("{} is no GPU", info.name).into());
    }
    let descriptor =
        DeviceDescriptor { label: None, required_features: Features::TIMESTAMP_QUERY, required_limits: adapter.limits() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor, None))?;
    // Its keys take four times their room.
    let (needed, most) =
        (16 * keys.len().next_multiple_of(HISTO_BLOCK_KVS as usize), device.limits().max_storage_buffer_binding_size);
    if needed > most as usize {
        return Err(format!("{needed} bytes for its keys are more than the {most} that a binding holds").into());
    }
    let sorter = GPUSorter::new(&device, lanes);
    let sorted = sorter.create_sort_buffers(&device, NonZeroU32::new(keys.len() as u32).ok_or("no keys")?);
    eprintln!("wgpu_sort: {}, {lanes} lanes", info.name);
    let buffer = |size, usage| device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let saved = [keys, values].map(|column| {
        let saved = buffer(4 * column.len() as u64, BufferUsages::COPY_DST | BufferUsages::COPY_SRC);
        queue.write_buffer(&saved, 0, bytemuck::cast_slice(column));
        saved
    });
    let queries = device.create_query_set(&QuerySetDescriptor { label: None, ty: QueryType::Timestamp, count: 2 });
    let ticks = buffer(16, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC);
    Ok(Box::new(WgpuSort { device, queue, saved, sorter, sorted, queries, ticks }))
}

impl Peer for WgpuSort {
    fn algorithm(&self) -> &'static str {
        "GPUSorter"
    }

    fn run(&mut self, sorts: usize) -> Result<Duration, Box<dyn Error>> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for _ in 0..sorts {
            // Keys come last, as where they are the only ones that are restored.
            for (saved, column) in self.saved.iter().zip([self.sorted.keys(), self.sorted.values()]).rev() {
                encoder.copy_buffer_to_buffer(saved, 0, column, 0, saved.size());
            }
            encoder.write_timestamp(&self.queries, 0);
            self.sorter.sort(&mut encoder, &self.queue, &self.sorted, None);
            encoder.write_timestamp(&self.queries, 1);
        }
        encoder.resolve_query_set(&self.queries, 0..2, &self.ticks, 0);
        let ticks = self.fetch(encoder, &self.ticks, 16)?;
        between(&ticks, self.queue.get_timestamp_period())
    }

    fn read(&self) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
        let columns = [self.sorted.keys(), self.sorted.values()];
        let fetch = |column| self.fetch(self.device.create_command_encoder(&Default::default()), column, self.saved[0].size());
        columns.into_iter().map(fetch).collect()
    }
}

impl WgpuSort {
    /// What is in the first bytes of the buffer after these commands.
    fn fetch<T: Pod>(&self, mut encoder: CommandEncoder, from: &Buffer, size: u64) -> Result<Vec<T>, Box<dyn Error>> {
        let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
        let down = self.device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        encoder.copy_buffer_to_buffer(from, 0, &down, 0, size);
        self.queue.submit([encoder.finish()]);
        let (sender, mapped) = std::sync::mpsc::channel();
        // Nobody listens any more after an error.
        down.slice(..).map_async(MapMode::Read, move |result| sender.send(result).unwrap_or_default());
        // This wgpu waits for some seconds at most. The sort can hang: its workgroups wait for each other, without a way out.
        self.device.poll(Maintain::Wait);
        mapped.try_recv().map_err(|_| "the device gives no answer")??;
        Ok(bytemuck::pod_collect_to_vec(&down.slice(..).get_mapped_range()))
    }
}
