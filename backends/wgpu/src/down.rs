//! Copies from the device to the host's slices.
//!
//! All data arrives in mapped memory before the first byte is copied to the caller's slices. So if the device fails,
//! the slices are as before. A long sort in one trip copies to scratch of the host instead, in [`pieces`](Down::pieces). The chunks of a call that was
//! dropped before its end are not used again.

use crate::gpu::{Gpu, allocated_bytes};
use crate::queued::Queued;
use crate::wait::{Mapping, Waiting, done, map};
use polysort_core::Error;
use std::collections::VecDeque;
use wgpu::{Buffer, BufferUsages, CommandEncoder, MapMode, SubmissionIndex};

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 20;

/// Bytes of a target of [`Down::pieces`].
pub(crate) const PIECE: usize = CHUNK as usize;

/// Pieces that are staged at a time: the device copies one while the host copies the other, and one waits.
pub(crate) const PIECES: usize = 3;

#[derive(Default)]
pub(crate) struct Down {
    chunks: Vec<Buffer>,
}

/// The copies to record. A piece is a chunk, the buffer to copy from, a byte offset in it, and a number of bytes.
pub(crate) struct Pieces(Vec<(Buffer, Buffer, u64, u64)>);

/// Copies that have been submitted.
pub(crate) struct Coming {
    /// The chunks, each with its number of used bytes.
    chunks: Vec<(Buffer, u64)>,
    submission: SubmissionIndex,
    mappings: Vec<Mapping>,
}

impl Down {
    /// Provides chunks for the `sources`, old ones or new ones. Each source is a buffer, the offset of the first byte to copy, and a number of
    /// bytes.
    pub(crate) fn prepare(&mut self, gpu: &Gpu, sources: &[(Buffer, u64, usize)]) -> Result<Pieces, Error> {
        let mut free = std::mem::take(&mut self.chunks).into_iter();
        let mut pieces = vec![];
        for (source, start, bytes) in sources {
            for (at, piece) in parts(*bytes) {
                let usage = BufferUsages::MAP_READ | BufferUsages::COPY_DST;
                let chunk = match free.next().filter(|chunk| chunk.size() >= piece) {
                    Some(chunk) => chunk,
                    None => gpu.buffer("polysort download", piece.next_power_of_two(), usage)?,
                };
                pieces.push((chunk, source.clone(), start + at, piece));
            }
        }
        self.chunks.extend(free);
        Ok(Pieces(pieces))
    }

    /// Waits for the device, and copies the chunks to the `targets`; on an error, no target changes. The targets must
    /// have the lengths that were passed to [`prepare`](Down::prepare).
    pub(crate) async fn finish(
        &mut self,
        gpu: &Gpu,
        waiting: Waiting,
        coming: Coming,
        targets: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        done(gpu, waiting, coming.submission, coming.mappings).await?;
        let span = tracing::trace_span!("copy down").entered();
        let views = coming.chunks.iter().map(|(chunk, bytes)| chunk.get_mapped_range(0..bytes.next_multiple_of(4)));
        let views = views.collect::<Result<Vec<_>, _>>().map_err(|error| gpu.give_up(&error.to_string()))?;
        let parts = targets.iter_mut().flat_map(|target| target.chunks_mut(CHUNK as usize));
        gpu.copiers.copy_all(parts.zip(&views).map(|(part, view)| {
            let len = part.len();
            (part, &view[..len])
        }));
        drop((views, span));
        let chunks = coming.chunks.into_iter().map(|(chunk, _)| chunk);
        self.chunks.splice(0..0, chunks.inspect(Buffer::unmap));
        Ok(())
    }

    /// Copies parts of buffers to `targets`, one after another: the host copies one while the device copies the next. An entry of `targets` is a
    /// buffer, the offset of its first byte to copy, and the slice for these bytes. On an error, some slices have changed.
    pub(crate) async fn pieces(
        &mut self,
        gpu: &Queued,
        waiting: Waiting,
        targets: Vec<(Buffer, u64, &mut [u8])>,
    ) -> Result<(), Error> {
        let (mut targets, mut coming) = (targets.into_iter(), VecDeque::new());
        loop {
            for (source, start, part) in targets.by_ref().take(PIECES - coming.len()) {
                let submit = || {
                    let pieces = self.prepare(gpu, &[(source, start, part.len())])?;
                    gpu.guarded(|| {
                        let mut encoder = gpu.encoder();
                        pieces.record(&mut encoder);
                        let submission = gpu.submit([encoder.finish()])?;
                        Ok(pieces.submitted(submission))
                    })?
                };
                coming.push_back((gpu.watched(submit).await?, part));
            }
            let Some((first, part)) = coming.pop_front() else { return Ok(()) };
            self.finish(gpu, waiting, first, &mut [part]).await?;
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(Buffer::size).sum()
    }

    /// Returns the bytes of all chunks after a download of slices of these lengths.
    pub(crate) fn bytes_with(&self, lengths: &[usize]) -> u64 {
        let mut free = self.chunks.iter().map(Buffer::size);
        let pieces = lengths.iter().flat_map(|&bytes| parts(bytes));
        let taken: u64 = pieces
            .map(|(_, piece)| {
                let is_large_enough = |&size: &u64| size >= piece;
                free.next().filter(is_large_enough).unwrap_or_else(|| allocated_bytes(piece.next_power_of_two()))
            })
            .sum();
        taken + free.sum::<u64>()
    }
}

/// Returns the parts of `bytes` bytes that each take one chunk: the offset and the length of each part.
fn parts(bytes: usize) -> impl Iterator<Item = (u64, u64)> {
    let bytes = bytes as u64;
    (0..bytes).step_by(CHUNK as usize).map(move |at| (at, CHUNK.min(bytes - at)))
}

impl Pieces {
    /// Records the copies.
    pub(crate) fn record(&self, encoder: &mut CommandEncoder) {
        for (chunk, source, at, bytes) in &self.0 {
            encoder.copy_buffer_to_buffer(source, *at, chunk, 0, bytes.next_multiple_of(4));
        }
    }

    /// Requests that the device maps the chunks once `submission` is done. The caller must catch errors.
    pub(crate) fn submitted(self, submission: SubmissionIndex) -> Coming {
        let mappings = self.0.iter().map(|(chunk, ..)| map(chunk, MapMode::Read)).collect();
        let chunks = self.0.into_iter().map(|(chunk, _, _, bytes)| (chunk, bytes)).collect();
        Coming { chunks, submission, mappings }
    }
}
