//! Copies between the host's slices and the device, through memory that both can see.
//!
//! Going up, a ring of chunks: while one is copied by the device, the next is filled, by all cores. Coming down, everything waits
//! in mapped memory until all of it is there, so that a device that fails half-way leaves the caller's slices as they were.

use crate::gpu::Gpu;
use polysort_core::Error;
use rayon::prelude::*;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use wgpu::{
    Buffer, BufferAsyncError, BufferUsages, CommandEncoder, CommandEncoderDescriptor, MapMode, PollError, PollType,
    SubmissionIndex,
};

/// Bytes of a chunk going up: large enough that a submission is small beside its copy.
const UP_CHUNK: u64 = 8 << 20;

/// Chunks of the ring: one in the hands of the device, one in ours, and one between.
const UP_CHUNKS: usize = 3;

/// Bytes of a chunk coming down.
const DOWN_CHUNK: u64 = 64 << 20;

/// Bytes that one core copies at a time.
const PART: usize = 1 << 20;

/// Slices shorter than this go up by the queue's own staging.
const SHORT: usize = 1 << 18;

/// A map that was asked for.
type Mapping = Receiver<Result<(), BufferAsyncError>>;

/// The way up.
#[derive(Default)]
pub(crate) struct Up {
    chunks: Vec<(Buffer, Option<(SubmissionIndex, Mapping)>)>,
    next: usize,
}

/// The way down.
#[derive(Default)]
pub(crate) struct Down {
    chunks: Vec<Buffer>,
}

impl Up {
    /// Copies `bytes` to the start of `target`. Its last word is filled up with zeros.
    pub(crate) fn copy(&mut self, gpu: &Gpu, bytes: &[u8], target: &Buffer) -> Result<(), Error> {
        let whole = bytes.len() & !3;
        let (body, tail) = bytes.split_at(if bytes.len() < SHORT { 0 } else { whole });
        for (index, part) in body.chunks(UP_CHUNK as usize).enumerate() {
            self.copy_chunk(gpu, part, target, index as u64 * UP_CHUNK)?;
        }
        let (words, rest) = tail.split_at(tail.len() & !3);
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        gpu.guarded(|| {
            let at = body.len() as u64;
            if !words.is_empty() {
                gpu.queue.write_buffer(target, at, words);
            }
            if !rest.is_empty() {
                gpu.queue.write_buffer(target, at + words.len() as u64, &last);
            }
        })
    }

    fn copy_chunk(&mut self, gpu: &Gpu, part: &[u8], target: &Buffer, at: u64) -> Result<(), Error> {
        if self.chunks.len() < UP_CHUNKS {
            let chunk = gpu.buffer("polysort upload", UP_CHUNK, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC)?;
            let mapping = map(gpu, &chunk, MapMode::Write)?;
            let submission = gpu.guarded(|| gpu.queue.submit([]))?;
            self.chunks.insert(self.next, (chunk, Some((submission, mapping))));
        }
        let (chunk, pending) = &mut self.chunks[self.next];
        if let Some((submission, mapping)) = pending.take() {
            wait(gpu, submission, Some(mapping))?;
        }
        part.par_chunks(PART).enumerate().try_for_each(|(index, part)| {
            let from = (index * PART) as u64;
            let mut view =
                chunk.get_mapped_range_mut(from..from + part.len() as u64).map_err(|error| gpu.give_up(&error.to_string()))?;
            view.copy_from_slice(part);
            Ok(())
        })?;
        chunk.unmap();
        let submission = gpu.guarded(|| {
            let mut encoder = encoder(gpu);
            encoder.copy_buffer_to_buffer(chunk, 0, target, at, part.len() as u64);
            gpu.queue.submit([encoder.finish()])
        })?;
        *pending = Some((submission, map(gpu, chunk, MapMode::Write)?));
        self.next = (self.next + 1) % UP_CHUNKS;
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(|(chunk, _)| chunk.size()).sum()
    }
}

impl Down {
    /// Submits the encoder's commands, and then copies the starts of the `sources` into `targets`, all or nothing.
    pub(crate) fn copy(
        &mut self,
        gpu: &Gpu,
        mut encoder: CommandEncoder,
        sources: &[&Buffer],
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        let mut parts = vec![];
        for (source, target) in sources.iter().zip(&*targets) {
            let bytes = target.len() as u64;
            parts.extend((0..bytes).step_by(DOWN_CHUNK as usize).map(|at| (*source, at, DOWN_CHUNK.min(bytes - at))));
        }
        for (index, &(_, _, bytes)) in parts.iter().enumerate() {
            // A chunk that is not the last of its source is whole, and reused as such.
            let needed = if parts.len() == 1 || bytes < DOWN_CHUNK { bytes.next_power_of_two() } else { DOWN_CHUNK };
            if self.chunks.get(index).is_none_or(|chunk| chunk.size() < bytes.next_multiple_of(4)) {
                let chunk = gpu.buffer("polysort download", needed, BufferUsages::MAP_READ | BufferUsages::COPY_DST)?;
                self.chunks.truncate(index);
                self.chunks.push(chunk);
            }
        }
        let chunks = &self.chunks[..parts.len()];
        let submission = gpu.guarded(|| {
            for (&(source, at, bytes), chunk) in parts.iter().zip(chunks) {
                encoder.copy_buffer_to_buffer(source, at, chunk, 0, bytes.next_multiple_of(4));
            }
            gpu.queue.submit([encoder.finish()])
        })?;
        let mappings = chunks.iter().map(|chunk| map(gpu, chunk, MapMode::Read)).collect::<Result<Vec<_>, _>>()?;
        let all = wait(gpu, submission, mappings);
        // Everything is there, or nothing is touched.
        let result = all.and_then(|()| {
            let views =
                parts.iter().zip(chunks).map(|(&(_, _, bytes), chunk)| chunk.get_mapped_range(0..bytes.next_multiple_of(4)));
            let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| gpu.give_up(&error.to_string()))?;
            let mut views = views.iter();
            for target in targets {
                for part in target.chunks_mut(DOWN_CHUNK as usize) {
                    let view = views.next().expect("a chunk for each part");
                    part.par_chunks_mut(PART)
                        .zip(view.par_chunks(PART))
                        .for_each(|(part, view)| part.copy_from_slice(&view[..part.len()]));
                }
            }
            Ok(())
        });
        chunks.iter().for_each(Buffer::unmap);
        result
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(Buffer::size).sum()
    }
}

/// An encoder of ours.
pub(crate) fn encoder(gpu: &Gpu) -> CommandEncoder {
    gpu.device.create_command_encoder(&CommandEncoderDescriptor { label: Some("polysort") })
}

fn map(gpu: &Gpu, buffer: &Buffer, mode: MapMode) -> Result<Mapping, Error> {
    let (sender, receiver) = channel();
    gpu.guarded(|| {
        buffer.map_async(mode, .., move |result| {
            // Nobody waits any more if the receiver is gone.
            sender.send(result).ok();
        });
    })?;
    Ok(receiver)
}

/// Waits until the device has done `submission`, and everything that was asked for is mapped.
fn wait(gpu: &Gpu, submission: SubmissionIndex, mappings: impl IntoIterator<Item = Mapping>) -> Result<(), Error> {
    match gpu.device.poll(PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) }) {
        Ok(_) => {}
        Err(PollError::Timeout) => return Err(gpu.give_up(&format!("it did not finish within {} s", PATIENCE.as_secs()))),
        Err(error) => return Err(gpu.give_up(&error.to_string())),
    }
    for mapping in mappings {
        match mapping.recv() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(gpu.give_up(&error.to_string())),
            Err(_) => return Err(gpu.give_up("it dropped a request to map memory")),
        }
    }
    gpu.lost().map_or(Ok(()), Err)
}

/// How long a device may work on one submission before it counts as lost: a software device takes minutes for what a GPU does at once.
const PATIENCE: Duration = Duration::from_secs(600);
