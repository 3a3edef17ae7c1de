//! lampshade, on the wgpu that ours is on too.

use crate::{Peer, between, software};
use ::lampshade::{KeyValueSoaSorter, Sorter};
use bytemuck::Pod;
use std::error::Error;
use std::time::Duration;
use wgpu::{
    Backends, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, Device, DeviceDescriptor, DeviceType, Features, Instance,
    InstanceDescriptor, InstanceFlags, MapMode, MemoryHints, PollType, PowerPreference, QuerySet, QuerySetDescriptor, QueryType,
    Queue, RequestAdapterOptions,
};

/// A device that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(20);

struct Lampshade {
    device: Device,
    queue: Queue,
    /// Of each column, how it was at first, and what is sorted.
    columns: Vec<[Buffer; 2]>,
    sort: Sort,
    algorithm: &'static str,
    queries: QuerySet,
    ticks: Buffer,
}

enum Sort {
    /// From their buffer into another.
    Keys(Box<Sorter>, Buffer),
    /// In place.
    Pairs(KeyValueSoaSorter),
}

pub(crate) fn open(columns: &[Vec<u32>]) -> Result<Box<dyn Peer>, Box<dyn Error>> {
    // As ours: without the checks of indirect launches, which take launches of their own.
    let flags = InstanceFlags::empty();
    let descriptor = InstanceDescriptor { backends: Backends::VULKAN, flags, ..InstanceDescriptor::new_without_display_handle() };
    let options = RequestAdapterOptions { power_preference: PowerPreference::HighPerformance, ..Default::default() };
    let adapter = pollster::block_on(Instance::new(descriptor).request_adapter(&options))?;
    let info = adapter.get_info();
    if info.device_type == DeviceType::Cpu && !software() {
        return Err(format!("{} is no GPU", info.name).into());
    }
    // Its fast path, of 8 bits a pass, asks for subgroups, and for more memory of a workgroup than the least that there is.
    let fast = KeyValueSoaSorter::requirements(&adapter);
    let needed = Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
    let (device, queue) = pollster::block_on(adapter.request_device(&DeviceDescriptor {
        required_features: fast.features(needed),
        required_limits: adapter.limits(),
        memory_hints: MemoryHints::Performance,
        ..Default::default()
    }))?;
    let buffer =
        |size: u64, usage| device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let count = columns[0].len() as u32;
    let bytes = 4 * u64::from(count);
    if bytes > device.limits().max_buffer_size {
        return Err(format!("{bytes} bytes are more than a buffer holds").into());
    }
    let on_device: Vec<[Buffer; 2]> = columns.iter().map(|_| [buffer(bytes, usage), buffer(bytes, usage)]).collect();
    let (sort, is_fast) = match on_device.as_slice() {
        [_] => {
            let mut sorter = Sorter::new_for_adapter(&device, &queue, &info);
            let output = buffer(bytes, usage);
            // Recorded for what it prepares: it has no method for that alone.
            sorter.record_sort(&mut device.create_command_encoder(&Default::default()), &on_device[0][1], &output, count)?;
            // A card apart is what the fast path for keys asks for besides.
            (Sort::Keys(Box::new(sorter), output), fast.accelerated && info.device_type == DeviceType::DiscreteGpu)
        }
        [[_, keys], [_, values], ..] => {
            let mut sorter = KeyValueSoaSorter::new(&device, &queue);
            sorter.prepare_sort(keys, values, count)?;
            let is_fast = sorter.is_accelerated();
            (Sort::Pairs(sorter), is_fast)
        }
        [] => return Err("no columns".into()),
    };
    let algorithm = if is_fast { "EightBit" } else { "Portable" };
    eprintln!("lampshade: {}, {algorithm}", info.name);
    for ([saved, _], column) in on_device.iter().zip(columns) {
        queue.write_buffer(saved, 0, bytemuck::cast_slice(column));
    }
    let queries = device.create_query_set(&QuerySetDescriptor { label: None, ty: QueryType::Timestamp, count: 2 });
    let ticks = buffer(16, BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC);
    Ok(Box::new(Lampshade { device, queue, columns: on_device, sort, algorithm, queries, ticks }))
}

impl Peer for Lampshade {
    fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    fn run(&mut self, sorts: usize) -> Result<Duration, Box<dyn Error>> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        for _ in 0..sorts {
            // Keys come last, as where they are the only ones that are restored.
            for [saved, column] in self.columns.iter().rev() {
                encoder.copy_buffer_to_buffer(saved, 0, column, 0, saved.size());
            }
            let keys = &self.columns[0][1];
            let count = (keys.size() / 4) as u32;
            encoder.write_timestamp(&self.queries, 0);
            match &mut self.sort {
                Sort::Keys(sorter, output) => sorter.record_sort(&mut encoder, keys, output, count)?,
                Sort::Pairs(sorter) => sorter.record_reserved_sort(&mut encoder, keys, &self.columns[1][1], count)?,
            }
            encoder.write_timestamp(&self.queries, 1);
        }
        encoder.resolve_query_set(&self.queries, 0..2, &self.ticks, 0);
        let ticks = self.fetch(encoder, &self.ticks)?;
        between(&ticks, self.queue.get_timestamp_period())
    }

    fn read(&self) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
        let fetch = |buffer| self.fetch(self.device.create_command_encoder(&Default::default()), buffer);
        match &self.sort {
            Sort::Keys(_, output) => Ok(vec![fetch(output)?]),
            Sort::Pairs(_) => self.columns.iter().map(|[_, column]| fetch(column)).collect(),
        }
    }
}

impl Lampshade {
    /// What is in the buffer after these commands.
    fn fetch<T: Pod>(&self, mut encoder: CommandEncoder, from: &Buffer) -> Result<Vec<T>, Box<dyn Error>> {
        let (size, usage) = (from.size(), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let down = self.device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        encoder.copy_buffer_to_buffer(from, 0, &down, 0, size);
        self.queue.submit([encoder.finish()]);
        let (sender, mapped) = std::sync::mpsc::channel();
        // Nobody listens any more after an error.
        down.map_async(MapMode::Read, .., move |result| sender.send(result).unwrap_or_default());
        self.device.poll(PollType::Wait { submission_index: None, timeout: Some(PATIENCE) })?;
        mapped.try_recv()??;
        Ok(bytemuck::pod_collect_to_vec(&down.get_mapped_range(..)?))
    }
}
