//! Copies between the host's slices and the device, through memory that both can see.
//!
//! Going up, a ring of chunks: while the device copies one, the host fills the next. A device that works in the host's memory has what
//! it sorts filled at once. Coming down, everything waits in mapped memory until all of it is there, so that a device that fails
//! half-way leaves the caller's slices as they were.
//! Chunks of a call that was given up half-way are not used again.

use crate::copy;
use crate::gpu::Gpu;
use crate::wait::{Mapping, Waiting, done, map, mapped};
use polysort_core::Error;
use std::collections::VecDeque;
use std::sync::Mutex;
use wgpu::{Buffer, BufferUsages, CommandEncoder, CommandEncoderDescriptor, MapMode, SubmissionIndex};

/// Bytes of a chunk going up: large enough that a submission is small beside its copy.
pub(crate) const UP_CHUNK: u64 = 8 << 20;

/// Chunks of the ring: one in the hands of the device, one in ours, and one between.
const UP_CHUNKS: usize = 3;

/// Bytes of a chunk coming down.
const DOWN_CHUNK: u64 = 64 << 20;

/// Slices shorter than this go up by the queue's own staging; in a browser all of them, where mapped memory is a copy besides.
const SHORT: usize = if cfg!(target_arch = "wasm32") { usize::MAX } else { 1 << 18 };

/// The way up.
#[derive(Default)]
pub(crate) struct Up {
    /// Chunks, and what has to be waited for before they are filled again; the oldest first.
    chunks: VecDeque<(Buffer, SubmissionIndex, Mapping)>,
}

/// The way down.
#[derive(Default)]
pub(crate) struct Down {
    chunks: Vec<Buffer>,
}

/// Bytes that are on their way down.
pub(crate) struct Coming {
    /// Chunks, and how many bytes of each.
    chunks: Vec<(Buffer, u64)>,
    submission: SubmissionIndex,
    mappings: Vec<Mapping>,
}

impl Up {
    /// Copies `bytes` to `target`, from byte `start` on, a multiple of 4. The last word is filled up with zeros.
    pub(crate) async fn copy(
        &mut self,
        gpu: &Gpu,
        waiting: Waiting,
        bytes: &[u8],
        (target, start): (&Buffer, u64),
    ) -> Result<(), Error> {
        let whole = bytes.len() & !3;
        let (body, tail) = bytes.split_at(if bytes.len() < SHORT { 0 } else { whole });
        if target.usage().contains(BufferUsages::MAP_WRITE) && !body.is_empty() {
            write(gpu, waiting, body, (target, start)).await?;
        } else {
            for (index, part) in body.chunks(UP_CHUNK as usize).enumerate() {
                self.copy_chunk(gpu, waiting, part, target, start + index as u64 * UP_CHUNK).await?;
            }
        }
        let (words, rest) = tail.split_at(tail.len() & !3);
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        gpu.guarded(|| {
            let at = start + body.len() as u64;
            if !words.is_empty() {
                gpu.queue.write_buffer(target, at, words);
            }
            if !rest.is_empty() {
                gpu.queue.write_buffer(target, at + words.len() as u64, &last);
            }
        })
    }

    async fn copy_chunk(&mut self, gpu: &Gpu, waiting: Waiting, part: &[u8], target: &Buffer, at: u64) -> Result<(), Error> {
        let chunk = if self.chunks.len() < UP_CHUNKS {
            let chunk = gpu.buffer("polysort upload", UP_CHUNK, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC)?;
            mapped(gpu, waiting, &chunk, MapMode::Write).await?.keep();
            chunk
        } else {
            let (chunk, submission, mapping) = self.chunks.pop_front().expect("the ring is full");
            done(gpu, waiting, submission, [mapping]).await?;
            chunk
        };
        fill(gpu, (&chunk, 0), part)?;
        chunk.unmap();
        let submission = gpu.guarded(|| {
            let mut encoder = encoder(gpu);
            encoder.copy_buffer_to_buffer(&chunk, 0, target, at, part.len() as u64);
            gpu.queue.submit([encoder.finish()])
        })?;
        let mapping = map(gpu, &chunk, MapMode::Write)?;
        self.chunks.push_back((chunk, submission, mapping));
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(|(chunk, ..)| chunk.size()).sum()
    }
}

impl Down {
    /// Submits the encoder's commands, and then copies of the first bytes of the `sources`, as many as go with each.
    pub(crate) fn begin(
        &mut self,
        gpu: &Gpu,
        mut encoder: CommandEncoder,
        sources: &[(&Buffer, usize)],
    ) -> Result<Coming, Error> {
        let mut free = std::mem::take(&mut self.chunks).into_iter();
        let mut chunks = vec![];
        let mut copies = vec![];
        for &(source, bytes) in sources {
            let bytes = bytes as u64;
            for at in (0..bytes).step_by(DOWN_CHUNK as usize) {
                let (part, usage) = (DOWN_CHUNK.min(bytes - at), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
                let chunk = match free.next().filter(|chunk| chunk.size() >= part) {
                    Some(chunk) => chunk,
                    None => gpu.buffer("polysort download", part.next_power_of_two(), usage)?,
                };
                copies.push((source, at, chunk.clone(), part.next_multiple_of(4)));
                chunks.push((chunk, part));
            }
        }
        let submission = gpu.guarded(|| {
            for (source, at, chunk, bytes) in &copies {
                encoder.copy_buffer_to_buffer(source, *at, chunk, 0, *bytes);
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        let mappings = chunks.iter().map(|(chunk, _)| map(gpu, chunk, MapMode::Read)).collect::<Result<_, _>>()?;
        self.chunks.extend(free);
        Ok(Coming { chunks, submission, mappings })
    }

    /// Waits for what comes, and copies it into the `targets`, which have the lengths that [`begin`](Down::begin) got: all of it or nothing.
    pub(crate) async fn finish(
        &mut self,
        gpu: &Gpu,
        waiting: Waiting,
        coming: Coming,
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        done(gpu, waiting, coming.submission, coming.mappings).await?;
        let views = coming.chunks.iter().map(|(chunk, bytes)| chunk.get_mapped_range(0..bytes.next_multiple_of(4)));
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| gpu.give_up(&error.to_string()))?;
        let parts = targets.iter_mut().flat_map(|target| target.chunks_mut(DOWN_CHUNK as usize));
        for (part, view) in parts.zip(&views) {
            let len = part.len();
            copy::copy(part, &view[..len], gpu.copy_threads);
        }
        drop(views);
        let chunks = coming.chunks.into_iter().map(|(chunk, _)| chunk);
        self.chunks.splice(0..0, chunks.inspect(Buffer::unmap));
        Ok(())
    }

    /// Copies the first bytes of a buffer.
    pub(crate) async fn copy(&mut self, gpu: &Gpu, waiting: Waiting, source: &Buffer, target: &mut [u8]) -> Result<(), Error> {
        let coming = gpu.watched(|| self.begin(gpu, encoder(gpu), &[(source, target.len())])).await?;
        self.finish(gpu, waiting, coming, &mut [target]).await
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(Buffer::size).sum()
    }
}

/// Copies `bytes`, whole words, to a buffer in memory that both see.
async fn write(gpu: &Gpu, waiting: Waiting, bytes: &[u8], (target, start): (&Buffer, u64)) -> Result<(), Error> {
    let _mapped = mapped(gpu, waiting, target, MapMode::Write).await?;
    fill(gpu, (target, start), bytes)
}

/// Copies `bytes` to a mapped buffer, by several threads.
fn fill(gpu: &Gpu, (mapped, start): (&Buffer, u64), bytes: &[u8]) -> Result<(), Error> {
    // Mapped ranges start at multiples of 8.
    let part = copy::split(bytes.len(), gpu.copy_threads).next_multiple_of(8);
    let failed = Mutex::new(None);
    copy::in_parallel(bytes.chunks(part).enumerate().collect(), |(index, bytes)| {
        let from = start + (index * part) as u64;
        match mapped.get_mapped_range_mut(from..from + bytes.len() as u64) {
            Ok(mut view) => view.copy_from_slice(bytes),
            Err(error) => *failed.lock().expect("nothing panics while it is locked") = Some(gpu.give_up(&error.to_string())),
        }
    });
    failed.into_inner().expect("nothing panics while it is locked").map_or(Ok(()), Err)
}

/// An encoder of ours.
pub(crate) fn encoder(gpu: &Gpu) -> CommandEncoder {
    gpu.device.create_command_encoder(&CommandEncoderDescriptor { label: Some("polysort") })
}
