//! Copies from the host's slices to the device.
//!
//! A ring of chunks (staging buffers that the host can map) copies long slices. While the device copies one chunk, the
//! host fills the next. The last chunks of a slice are submitted with the commands that need them, unless the call
//! [flushes](Up::flush) them. If the device works in the host's memory, the host fills the target directly. The chunks of a
//! call that was dropped before its end are not used again.
//!
//! The host fills a batch of chunks at a time, with several threads. Meanwhile the calling thread submits the batch before.

use crate::copy::PART;
use crate::joined::Joined;
use crate::queued::Queued;
use crate::wait::{Asked, Waiting, done, map, mapped};
use polysort_core::Error;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use wgpu::{Buffer, BufferUsages, CommandEncoder, DeviceType, MapMode, SubmissionIndex};

/// Bytes of a chunk: enough that a submission takes little time compared with its copy.
pub(crate) const CHUNK: u64 = 8 << 20;

/// Batches of the ring: the device copies one, the host fills one, and one waits for the device.
const BATCHES: usize = 3;

/// Chunks of a batch of a long slice: each of 16 threads copies two [`PART`]s, so that waking the threads takes little time compared with
/// the copy.
const LONG_BATCH: usize = 4;

/// A slice of so many batches of [`LONG_BATCH`] chunks is long. A shorter one has batches of one chunk: the device begins sooner.
const LONG: usize = 2 * BATCHES;

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
    /// that is recorded after [`record`](Up::record). Zeros fill the rest of the last word. The ring gets up to `most`
    /// chunks, as [`most_chunks`] returns them for all copies of the call.
    pub(crate) async fn copy(
        &mut self,
        gpu: &Queued,
        waiting: Waiting,
        bytes: &Joined<'_>,
        (target, start): (&Buffer, u64),
        most: usize,
    ) -> Result<(), Error> {
        let body = if bytes.len() < SHORT { 0 } else { bytes.len() & !3 };
        if target.usage().contains(BufferUsages::MAP_WRITE) && body > 0 {
            let _mapped = mapped(gpu, waiting, target, MapMode::Write).await?;
            fill(gpu, &[Filling { buffer: target, start, bytes: bytes.range(0..body) }], || ())?;
        } else {
            let batch = batch(body);
            for from in (0..body).step_by(batch * CHUNK as usize) {
                let ends = (from..body).step_by(CHUNK as usize).take(batch).map(|from| from..body.min(from + CHUNK as usize));
                let ranges: Vec<_> = ends.collect();
                let mut chunks = vec![];
                for _ in &ranges {
                    chunks.push(self.free(gpu, waiting, most - chunks.len(), batch == LONG_BATCH).await?);
                }
                let parts = chunks.iter().zip(&ranges);
                let fillings = parts.map(|(buffer, range)| Filling { buffer, start: 0, bytes: bytes.range(range.clone()) });
                // The device copies the batch before while the host fills this one.
                let mut flushed = Ok(());
                fill(gpu, &fillings.collect::<Vec<_>>(), || flushed = self.flush(gpu))?;
                flushed?;
                for (chunk, range) in chunks.into_iter().zip(ranges) {
                    chunk.unmap();
                    let (at, bytes) = (start + range.start as u64, range.len() as u64);
                    self.staged.push(Staged { chunk, bytes, target: target.clone(), at });
                }
            }
        }
        write(gpu, target, start + body as u64, &bytes.range(body..bytes.len()))
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
            let submission = gpu.submit([encoder.finish()])?;
            self.submitted(chunks, &submission);
            Ok(())
        })?
    }

    /// Returns a mapped chunk: the oldest one if the device has copied it, else a new one. If the ring has `most`
    /// chunks already, it waits for the oldest one. A new chunk for a long slice lies in the memory of the host.
    async fn free(&mut self, gpu: &Queued, waiting: Waiting, most: usize, is_long: bool) -> Result<Buffer, Error> {
        let is_ready = self.ring.front_mut().is_some_and(|used| used.mapping.is_there());
        if !is_ready && self.ring.len() + self.staged.len() < most {
            return gpu.upload_buffer("polysort upload", CHUNK, is_long && gpu.info.device_type == DeviceType::DiscreteGpu);
        }
        if !is_ready {
            // The device copies the staged chunks while the host waits for the oldest one.
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
    pub(crate) fn bytes_with(&self, lengths: &[usize], ahead: bool) -> u64 {
        let there = self.ring.len() + self.staged.len();
        // While the device still copies the existing chunks, the uploads may create new ones.
        CHUNK * (there + chunks(lengths)).min(most_chunks(lengths, ahead)).max(there) as u64
    }
}

/// Returns the most chunks of the ring for the uploads of a call, slices of these lengths. With `ahead`, they are as many as hold all
/// slices, so that the host never waits for the device.
pub(crate) fn most_chunks(lengths: &[usize], ahead: bool) -> usize {
    let rings = lengths.iter().filter(|&&bytes| bytes >= SHORT).map(|&bytes| BATCHES * batch(bytes));
    if ahead { chunks(lengths) } else { rings.max().unwrap_or(0) }
}

/// Returns the number of chunks that hold slices of these lengths.
fn chunks(lengths: &[usize]) -> usize {
    lengths.iter().filter(|&&bytes| bytes >= SHORT).map(|&bytes| bytes.div_ceil(CHUNK as usize)).sum()
}

/// Returns the number of chunks of a batch of a slice of so many bytes.
fn batch(bytes: usize) -> usize {
    if bytes < LONG * LONG_BATCH * CHUNK as usize { 1 } else { LONG_BATCH }
}

/// Bytes to copy to a mapped buffer, from the byte offset `start` on.
struct Filling<'a> {
    buffer: &'a Buffer,
    start: u64,
    bytes: Joined<'a>,
}

/// Copies bytes to mapped buffers, with several threads. Meanwhile this thread calls `beside`.
fn fill(gpu: &Queued, fillings: &[Filling<'_>], beside: impl FnOnce()) -> Result<(), Error> {
    let _span = tracing::trace_span!("copy up").entered();
    let failed = Mutex::new(None);
    let parts = fillings.iter().flat_map(|filling| (0..filling.bytes.len()).step_by(PART).map(move |from| (filling, from)));
    gpu.copiers.each_beside(parts.collect(), beside, |(Filling { buffer, start, bytes }, from)| {
        let (to, at) = (bytes.len().min(from + PART), start + from as u64);
        match buffer.get_mapped_range_mut(at..at + (to - from) as u64) {
            Ok(mut view) => {
                let mut filled = 0;
                for slice in bytes.range(from..to).slices() {
                    view.slice(filled..filled + slice.len()).copy_from_slice(slice);
                    filled += slice.len();
                }
            }
            Err(error) => *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(gpu.give_up(&error.to_string())),
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Copies bytes through the queue's own staging. Zeros fill the rest of the last word.
fn write(gpu: &Queued, target: &Buffer, at: u64, bytes: &Joined<'_>) -> Result<(), Error> {
    if bytes.is_empty() {
        return Ok(());
    }
    let joined = bytes.slices().collect::<Vec<_>>();
    let bytes = if let [one] = joined[..] { Cow::from(one) } else { joined.concat().into() };
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
