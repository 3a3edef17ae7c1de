//! Copies from the host's slices to the device.
//!
//! Long slices go up in a ring of chunks, which are buffers that host and device both see. While the device copies one
//! chunk, the host fills the next. The last chunk of a slice is submitted with the commands that need it, unless
//! the call [flushes](Up::flush) it. If the device works in the host's memory, the host fills the target directly. The chunks
//! of a call that was given up half-way are not used again.

use crate::gpu::Gpu;
use crate::wait::{Asked, Waiting, done, map, mapped};
use polysort_core::Error;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use wgpu::{Buffer, BufferUsages, CommandEncoder, MapMode, SubmissionIndex};

/// Bytes of a chunk: so many that a submission takes little time beside its copy.
pub(crate) const CHUNK: u64 = 8 << 20;

/// Chunks of the ring: the device copies one, the host fills one, and one lies between.
const CHUNKS: usize = 3;

/// Shorter slices go through the queue's own staging. In a browser all slices do: mapped memory would be a further copy
/// there.
const SHORT: usize = if cfg!(target_arch = "wasm32") { usize::MAX } else { 1 << 18 };

#[derive(Default)]
pub(crate) struct Up {
    /// Chunks that the device copies, or has copied; the oldest first.
    ring: VecDeque<Used>,
    /// Chunks that the next commands copy.
    staged: Vec<Staged>,
}

struct Used {
    chunk: Buffer,
    submission: SubmissionIndex,
    /// When it can be filled again.
    mapping: Asked,
}

struct Staged {
    chunk: Buffer,
    bytes: u64,
    target: Buffer,
    at: u64,
}

impl Up {
    /// Copies `bytes` to `target`, from byte `start` on, a multiple of 4. They arrive before commands that are recorded
    /// after [`record`](Up::record) run. Zeros fill up the last word.
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
            let _mapped = mapped(gpu, waiting, target, MapMode::Write).await?;
            fill(gpu, (target, start), body)?;
        } else {
            for (index, part) in body.chunks(CHUNK as usize).enumerate() {
                let chunk = self.free(gpu, waiting).await?;
                fill(gpu, (&chunk, 0), part)?;
                chunk.unmap();
                let at = start + index as u64 * CHUNK;
                self.staged.push(Staged { chunk, bytes: part.len() as u64, target: target.clone(), at });
                if (index as u64 + 1) * CHUNK < body.len() as u64 {
                    // The device copies this one while the next is filled.
                    self.flush(gpu)?;
                }
            }
        }
        write(gpu, target, start + body.len() as u64, tail)
    }

    /// Records the copies of all staged chunks, and returns these for [`submitted`](Up::submitted).
    pub(crate) fn record(&mut self, encoder: &mut CommandEncoder) -> Vec<Buffer> {
        let staged = self.staged.drain(..).map(|Staged { chunk, bytes, target, at }| {
            encoder.copy_buffer_to_buffer(&chunk, 0, &target, at, bytes);
            chunk
        });
        staged.collect()
    }

    /// Asks the device to map the recorded chunks again, once `submission` is done. The caller catches errors.
    pub(crate) fn submitted(&mut self, chunks: Vec<Buffer>, submission: &SubmissionIndex) {
        let used = |chunk: Buffer| Used { mapping: map(&chunk, MapMode::Write).into(), submission: submission.clone(), chunk };
        self.ring.extend(chunks.into_iter().map(used));
    }

    /// Submits the copies of all that is staged, if there is anything, in a submission of their own.
    pub(crate) fn flush(&mut self, gpu: &Gpu) -> Result<(), Error> {
        if self.staged.is_empty() {
            return Ok(());
        }
        gpu.guarded(|| {
            let mut encoder = gpu.encoder();
            let chunks = self.record(&mut encoder);
            let submission = gpu.queue.submit([encoder.finish()]);
            self.submitted(chunks, &submission);
        })
    }

    /// Returns a chunk that can be filled: the oldest one if the device is done with it, else a new one, until there are
    /// enough.
    async fn free(&mut self, gpu: &Gpu, waiting: Waiting) -> Result<Buffer, Error> {
        let is_ready = self.ring.front_mut().is_some_and(|used| used.mapping.is_there());
        if !is_ready && self.ring.len() + self.staged.len() < CHUNKS {
            let chunk = gpu.buffer("polysort upload", CHUNK, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC)?;
            mapped(gpu, waiting, &chunk, MapMode::Write).await?.keep();
            return Ok(chunk);
        }
        if self.ring.is_empty() {
            // All of them are staged.
            self.flush(gpu)?;
        }
        let Used { chunk, submission, mapping } = self.ring.pop_front().expect("what is staged was submitted");
        done(gpu, waiting, submission, [mapping]).await?;
        Ok(chunk)
    }

    /// Drops what a call has staged that was given up.
    pub(crate) fn give_up(&mut self) {
        self.staged.clear();
    }

    pub(crate) fn bytes(&self) -> u64 {
        CHUNK * (self.ring.len() + self.staged.len()) as u64
    }

    /// The most bytes that the chunks have after slices of these lengths have gone up.
    pub(crate) fn bytes_with(&self, lengths: &[usize]) -> u64 {
        let long = lengths.iter().filter(|&&bytes| bytes >= SHORT);
        let chunks = long.map(|&bytes| bytes.div_ceil(CHUNK as usize)).sum::<usize>().min(CHUNKS);
        let there = self.ring.len() + self.staged.len();
        // Chunks that the device still works with are not used again: there may be new ones besides.
        CHUNK * (there + chunks).min(CHUNKS).max(there) as u64
    }
}

/// Copies `bytes` to a mapped buffer, with several threads.
fn fill(gpu: &Gpu, (mapped, start): (&Buffer, u64), bytes: &[u8]) -> Result<(), Error> {
    let _span = tracing::trace_span!("copy up").entered();
    // Mapped ranges start at multiples of 8.
    let part = gpu.copiers.part(bytes.len()).next_multiple_of(8);
    let failed = Mutex::new(None);
    gpu.copiers.each(bytes.chunks(part).enumerate().collect(), |(index, bytes)| {
        let from = start + (index * part) as u64;
        match mapped.get_mapped_range_mut(from..from + bytes.len() as u64) {
            Ok(mut view) => view.copy_from_slice(bytes),
            Err(error) => *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(gpu.give_up(&error.to_string())),
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Copies a few bytes through the queue's own staging. Zeros fill up the last word.
fn write(gpu: &Gpu, target: &Buffer, at: u64, bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        return Ok(());
    }
    let (words, rest) = bytes.split_at(bytes.len() & !3);
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    gpu.guarded(|| {
        if !words.is_empty() {
            gpu.queue.write_buffer(target, at, words);
        }
        if !rest.is_empty() {
            gpu.queue.write_buffer(target, at + words.len() as u64, &last);
        }
    })
}
