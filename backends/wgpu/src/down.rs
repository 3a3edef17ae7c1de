//! Copies from the device to the host's slices.
//!
//! Everything waits in mapped memory until all of it is there, so that a device that fails half-way leaves the caller's slices as they were. Chunks of a call
//! that was given up half-way are not used again.

use crate::gpu::Gpu;
use crate::wait::{Mapping, Waiting, done, map};
use polysort_core::Error;
use wgpu::{Buffer, BufferUsages, CommandEncoder, MapMode, SubmissionIndex};

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 20;

#[derive(Default)]
pub(crate) struct Down {
    chunks: Vec<Buffer>,
}

/// What is to come down: for each piece the chunk, the buffer and the first byte that it comes from, and how many bytes.
pub(crate) struct Pieces(Vec<(Buffer, Buffer, u64, u64)>);

/// What is on its way down.
pub(crate) struct Coming {
    /// Chunks, and how many bytes of each.
    chunks: Vec<(Buffer, u64)>,
    submission: SubmissionIndex,
    mappings: Vec<Mapping>,
}

impl Down {
    /// Takes chunks for the first bytes of the `sources`, as many as go with each.
    pub(crate) fn prepare(&mut self, gpu: &Gpu, sources: &[(Buffer, usize)]) -> Result<Pieces, Error> {
        let mut free = std::mem::take(&mut self.chunks).into_iter();
        let mut pieces = vec![];
        for (source, bytes) in sources {
            let bytes = *bytes as u64;
            for at in (0..bytes).step_by(CHUNK as usize) {
                let (piece, usage) = (CHUNK.min(bytes - at), BufferUsages::MAP_READ | BufferUsages::COPY_DST);
                let chunk = match free.next().filter(|chunk| chunk.size() >= piece) {
                    Some(chunk) => chunk,
                    None => gpu.buffer("polysort download", piece.next_power_of_two(), usage)?,
                };
                pieces.push((chunk, source.clone(), at, piece));
            }
        }
        self.chunks.extend(free);
        Ok(Pieces(pieces))
    }

    /// Waits for what comes, and copies it into the `targets`, which have the lengths that [`prepare`](Down::prepare) got: all of it or nothing.
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
        for (part, view) in parts.zip(&views) {
            let len = part.len();
            gpu.copiers.copy(part, &view[..len]);
        }
        drop((views, span));
        let chunks = coming.chunks.into_iter().map(|(chunk, _)| chunk);
        self.chunks.splice(0..0, chunks.inspect(Buffer::unmap));
        Ok(())
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.iter().map(Buffer::size).sum()
    }
}

impl Pieces {
    /// Records the copies.
    pub(crate) fn record(&self, encoder: &mut CommandEncoder) {
        for (chunk, source, at, bytes) in &self.0 {
            encoder.copy_buffer_to_buffer(source, *at, chunk, 0, bytes.next_multiple_of(4));
        }
    }

    /// Asks for the chunks to be mapped, once `submission` is done. The caller guards this.
    pub(crate) fn submitted(self, submission: SubmissionIndex) -> Coming {
        let mappings = self.0.iter().map(|(chunk, ..)| map(chunk, MapMode::Read)).collect();
        let chunks = self.0.into_iter().map(|(chunk, _, _, bytes)| (chunk, bytes)).collect();
        Coming { chunks, submission, mappings }
    }
}
