//! Copies from the host's slices to the device.
//!
//! A ring of chunks (staging buffers that the host can map) copies long slices. While the device copies one chunk, the
//! host fills the next. The last chunk of a slice is submitted with the commands that need it, unless the call
//! [flushes](Up::flush) it. If the device works in the host's memory, the host fills the target directly. The chunks of a
//! call that was dropped before its end are not used again.

use crate::copy::PART;
use crate::queued::Queued;
use crate::wait::{Asked, Waiting, done, map, mapped};
use polysort_core::Error;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use wgpu::{Buffer, BufferUsages, CommandEncoder, MapMode, SubmissionIndex};

/// Bytes of a chunk: enough that a submission takes little time compared with its copy.
pub(crate) const CHUNK: u64 = 8 << 20;

/// Chunks of the ring: the device copies one, the host fills one, and one waits for the device.
const CHUNKS: usize = 3;

/// The queue's own staging copies slices of fewer bytes. In a browser it copies all slices: mapped memory would add a
/// copy there.
const SHORT: usize = if cfg!(target_arch = "wasm32") { usize::MAX } else { 1 << 18 };

#[derive(Default)]
pub(crate) struct Up {
    /// Submitted chunks, the oldest first. The device may have copied them already.
    ring: VecDeque<Used>,
    /// Filled chunks whose copies are not recorded yet.
    staged: Vec<Staged>,
}

struct Used {
    chunk: Buffer,
    submission: SubmissionIndex,
    /// The mapping after which the host can fill the chunk again.
    mapping: Asked,
}

struct Staged {
    chunk: Buffer,
    bytes: u64,
    target: Buffer,
    at: u64,
}

impl Up {
    /// Copies `bytes` to `target` at the byte offset `start`, a multiple of 4. The copy is complete before any command
    /// that is recorded after [`record`](Up::record). Zeros fill the rest of the last word.
    pub(crate) async fn copy(
        &mut self,
        gpu: &Queued,
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
                    // The device copies this chunk while the host fills the next one.
                    self.flush(gpu)?;
                }
            }
        }
        write(gpu, target, start + body.len() as u64, tail)
    }

    /// Records the copies of all staged chunks. Returns these chunks, which [`submitted`](Up::submitted) takes.
    pub(crate) fn record(&mut self, encoder: &mut CommandEncoder) -> Vec<Buffer> {
        let staged = self.staged.drain(..).map(|Staged { chunk, bytes, target, at }| {
            encoder.copy_buffer_to_buffer(&chunk, 0, &target, at, bytes);
            chunk
        });
        staged.collect()
    }

    /// Requests that the device maps the recorded chunks again, once `submission` is done. The caller must catch errors.
    pub(crate) fn submitted(&mut self, chunks: Vec<Buffer>, submission: &SubmissionIndex) {
        let used = |chunk: Buffer| Used { mapping: map(&chunk, MapMode::Write).into(), submission: submission.clone(), chunk };
        self.ring.extend(chunks.into_iter().map(used));
    }

    /// Submits the copies of all staged chunks, if there are any, in a submission of their own.
    pub(crate) fn flush(&mut self, gpu: &Queued) -> Result<(), Error> {
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

    /// Returns a mapped chunk: the oldest one if the device has copied it, else a new one. If the ring has all of its
    /// chunks, it waits for the oldest one.
    async fn free(&mut self, gpu: &Queued, waiting: Waiting) -> Result<Buffer, Error> {
        let is_ready = self.ring.front_mut().is_some_and(|used| used.mapping.is_there());
        if !is_ready && self.ring.len() + self.staged.len() < CHUNKS {
            let chunk = gpu.buffer("polysort upload", CHUNK, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC)?;
            mapped(gpu, waiting, &chunk, MapMode::Write).await?.keep();
            return Ok(chunk);
        }
        if self.ring.is_empty() {
            // All chunks are staged and none is submitted.
            self.flush(gpu)?;
        }
        let Used { chunk, submission, mapping } = self.ring.pop_front().expect("what is staged was submitted");
        done(gpu, waiting, submission, [mapping]).await?;
        Ok(chunk)
    }

    /// Drops the staged chunks. A call that ends before it has submitted them calls this.
    pub(crate) fn give_up(&mut self) {
        self.staged.clear();
    }

    pub(crate) fn bytes(&self) -> u64 {
        CHUNK * (self.ring.len() + self.staged.len()) as u64
    }

    /// Returns the most bytes that all chunks have after uploads of slices of these lengths.
    pub(crate) fn bytes_with(&self, lengths: &[usize]) -> u64 {
        let long = lengths.iter().filter(|&&bytes| bytes >= SHORT);
        let chunks = long.map(|&bytes| bytes.div_ceil(CHUNK as usize)).sum::<usize>().min(CHUNKS);
        let there = self.ring.len() + self.staged.len();
        // While the device still copies the existing chunks, the uploads may create new ones.
        CHUNK * (there + chunks).min(CHUNKS).max(there) as u64
    }
}

/// Copies `bytes` to a mapped buffer, with several threads.
fn fill(gpu: &Queued, (mapped, start): (&Buffer, u64), bytes: &[u8]) -> Result<(), Error> {
    let _span = tracing::trace_span!("copy up").entered();
    let failed = Mutex::new(None);
    gpu.copiers.each(bytes.chunks(PART).enumerate().collect(), |(index, bytes)| {
        let from = start + (index * PART) as u64;
        match mapped.get_mapped_range_mut(from..from + bytes.len() as u64) {
            Ok(mut view) => view.copy_from_slice(bytes),
            Err(error) => *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(gpu.give_up(&error.to_string())),
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Copies bytes through the queue's own staging. Zeros fill the rest of the last word.
fn write(gpu: &Queued, target: &Buffer, at: u64, bytes: &[u8]) -> Result<(), Error> {
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
