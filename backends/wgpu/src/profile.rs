//! Measures the time of a sort on the device, as a whole and launch by launch.

use crate::down::Down;
use crate::queued::Queued;
use crate::wait::{Waiting, blocking};
use polysort_core::Error;
use std::time::{Duration, Instant};
use wgpu::{
    BufferUsages, CommandEncoder, ComputePass, ComputePassDescriptor, ComputePassTimestampWrites, Features, QuerySet,
    QuerySetDescriptor, QueryType,
};

/// The times of several runs, in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<Duration>);

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Self {
        let mut times: Vec<Duration> = times.into_iter().collect();
        times.sort_unstable();
        Self(times)
    }
}

impl Times {
    /// Returns all times, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Duration> {
        self.0.iter().copied()
    }

    /// Returns the smallest time that at least `percent` % of the runs did not exceed; zero without runs.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }

    /// Returns the median.
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// Returns the throughput at the median time in GB/s, if each run touches `bytes` bytes.
    pub fn gigabytes_per_second(&self, bytes: u64) -> f64 {
        bytes as f64 / self.median().as_nanos().max(1) as f64
    }
}

/// The result of [`Prepared::profile`](crate::Prepared::profile) or
/// [`WgpuBackend::profile_search`](crate::WgpuBackend::profile_search).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Profile {
    /// The time of the whole sort, or search, on the device, in one pass. Empty if the device has no timestamps.
    pub device: Times,
    /// The time of each launch in a pass of its own, with the name of its kernel. Empty if the device has no
    /// timestamps.
    pub launches: Vec<(&'static str, Times)>,
    /// The time from submission to completion on the host's clock, the commands that restore the input included.
    pub wall: Times,
}

/// Launches that can be profiled.
pub(crate) trait Profiled {
    /// The most launches of one recording.
    fn most(&self) -> usize;

    /// Records all launches in one pass.
    fn record_whole(&self, pass: &mut ComputePass<'_>) -> Result<(), Error>;

    /// Records each launch in a pass of its own. `begin` creates the pass; its argument is the name of the kernel.
    fn record_apart<'a>(&self, begin: &mut dyn FnMut(&'static str) -> ComputePass<'a>) -> Result<(), Error>;
}

pub(crate) fn profile(
    gpu: &Queued,
    launches: &impl Profiled,
    trials: usize,
    restore: impl Fn(&mut CommandEncoder),
) -> Result<Profile, Error> {
    if cfg!(target_arch = "wasm32") {
        return Err(Error::Unsupported { what: "a profile in a browser, where a call cannot wait for the device".into() });
    }
    let has_timestamps = gpu.device.features().contains(Features::TIMESTAMP_QUERY);
    let most = 2 + 2 * launches.most() as u32;
    let query =
        || gpu.device.create_query_set(&QuerySetDescriptor { label: Some("polysort"), ty: QueryType::Timestamp, count: most });
    let queries = if has_timestamps { Some(gpu.guarded(query)?) } else { None };
    let ticks = gpu.buffer("polysort ticks", 8 * u64::from(most), BufferUsages::QUERY_RESOLVE | BufferUsages::COPY_SRC)?;
    let (mut down, mut wall, mut device) = (Down::default(), vec![], vec![]);
    let mut each: Vec<(&'static str, Vec<Duration>)> = vec![];
    for _ in 0..trials {
        // The first run times the sort as a whole, the second one each launch.
        for apart in [false, true] {
            let mut names = vec![];
            let mut commands = gpu.encoder();
            restore(&mut commands);
            let recorded = gpu.guarded(|| {
                let writes = |index: usize| queries.as_ref().map(|queries| stamps(queries, 2 * index as u32));
                if apart {
                    launches.record_apart(&mut |name| {
                        names.push(name);
                        let timestamp_writes = writes(names.len());
                        commands
                            .begin_compute_pass(&ComputePassDescriptor { label: Some(name), timestamp_writes })
                            .forget_lifetime()
                    })
                } else {
                    let timestamp_writes = writes(0);
                    launches
                        .record_whole(&mut commands.begin_compute_pass(&ComputePassDescriptor { label: None, timestamp_writes }))
                }
            })?;
            recorded?;
            let used = 2 + 2 * names.len() as u32;
            if let Some(queries) = &queries {
                let range = if apart { 2..used } else { 0..2 };
                if !range.is_empty() {
                    gpu.guarded(|| commands.resolve_query_set(queries, range, &ticks, 0))?;
                }
            }
            let mut read = vec![0_u64; used as usize];
            let started = Instant::now();
            let pieces = down.prepare(gpu, &[(ticks.clone(), 0, 8 * read.len())])?;
            let coming = gpu.guarded(|| {
                pieces.record(&mut commands);
                pieces.submitted(gpu.queue.submit([commands.finish()]))
            })?;
            blocking(down.finish(gpu, Waiting::Here, coming, &mut [bytemuck::cast_slice_mut(&mut read)]))?;
            let elapsed = started.elapsed();
            let period = f64::from(gpu.queue.get_timestamp_period());
            let between = |pair: &[u64]| Duration::from_nanos((pair[1].saturating_sub(pair[0]) as f64 * period) as u64);
            if apart {
                each.resize_with(names.len(), Default::default);
                for ((slot, name), pair) in each.iter_mut().zip(names).zip(read.chunks_exact(2)) {
                    slot.0 = name;
                    slot.1.push(between(pair));
                }
            } else {
                wall.push(elapsed);
                device.push(between(&read[..2]));
            }
        }
    }
    if !has_timestamps {
        (device, each) = (vec![], vec![]);
    }
    let launches = each.into_iter().map(|(name, times)| (name, times.into_iter().collect())).collect();
    Ok(Profile { device: device.into_iter().collect(), launches, wall: wall.into_iter().collect() })
}

fn stamps(queries: &QuerySet, first: u32) -> ComputePassTimestampWrites<'_> {
    ComputePassTimestampWrites {
        query_set: queries,
        beginning_of_pass_write_index: Some(first),
        end_of_pass_write_index: Some(first + 1),
    }
}
