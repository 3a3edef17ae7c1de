//! The backend for those who do not care.

use crate::{AnyBackend, Backend, Error, Limits, RayonBackend, Segments, Spec, Word};
use bytemuck::Pod;

/// Sorts on the device that suits the call, by a built-in table; never measures, never touches a file.
///
/// This build knows the CPU alone, so that is what it takes.
#[derive(Clone, Debug)]
pub struct Auto {
    cpu: AnyBackend,
}

impl Auto {
    /// The backend that takes a call on `len` keys of `key_bytes` with payloads of `payload_bytes` (0 for none).
    pub fn choose(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> &AnyBackend {
        let chosen = &self.cpu;
        tracing::trace!(backend = chosen.kind(), len, key_bytes, payload_bytes, "chosen");
        chosen
    }

    fn for_keys<W: Word>(&self, keys: &[W]) -> &AnyBackend {
        self.choose(keys.len(), size_of::<W>(), 0)
    }

    fn for_pairs<W: Word, V: Pod>(&self, keys: &[W]) -> &AnyBackend {
        self.choose(keys.len(), size_of::<W>(), size_of::<V>())
    }
}

impl Backend for Auto {
    fn open() -> Result<Self, Error> {
        Ok(Self { cpu: AnyBackend::Rayon(RayonBackend::global()?) })
    }

    fn name(&self) -> String {
        format!("auto ({})", self.cpu.name())
    }

    fn limits(&self) -> Limits {
        self.cpu.limits()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        self.for_keys(keys).sort_bits(keys, spec)
    }

    fn sort_pairs_bits<W: Word, V: Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        self.for_pairs::<W, V>(keys).sort_pairs_bits(keys, values, spec)
    }

    fn argsort_bits<W: Word>(&self, keys: &[W], spec: Spec) -> Result<Vec<u32>, Error> {
        self.for_pairs::<W, u32>(keys).argsort_bits(keys, spec)
    }

    fn sort_segments_bits<W: Word>(&self, keys: &mut [W], segments: Segments<'_>, spec: Spec) -> Result<(), Error> {
        self.for_keys(keys).sort_segments_bits(keys, segments, spec)
    }

    fn sort_pairs_segments_bits<W: Word, V: Pod>(
        &self,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        self.for_pairs::<W, V>(keys).sort_pairs_segments_bits(keys, values, segments, spec)
    }

    fn argsort_segments_bits<W: Word>(&self, keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Vec<u32>, Error> {
        self.for_pairs::<W, u32>(keys).argsort_segments_bits(keys, segments, spec)
    }

    fn top_k_bits<W: Word>(&self, keys: &[W], k: usize, spec: Spec) -> Result<Vec<u32>, Error> {
        self.for_keys(keys).top_k_bits(keys, k, spec)
    }
}
