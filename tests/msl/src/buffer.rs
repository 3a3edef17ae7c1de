//! Memory of the device.

use bytemuck::Pod;

/// A buffer of bytes that kernels are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// One that holds `values`.
    pub fn of<T: Pod>(values: &[T]) -> Self {
        Self { bytes: bytemuck::cast_slice(values).to_vec() }
    }

    /// One of `bytes` bytes of garbage, which `seed` chooses: what a new buffer holds.
    pub fn garbage(bytes: usize, seed: u64) -> Self {
        let mut state = seed;
        let mut random = || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
        };
        let words = (0..bytes.div_ceil(8)).flat_map(|_| random().to_le_bytes());
        Self { bytes: words.take(bytes).collect() }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// What it holds, as values; a rest of less than one is left out.
    pub fn values<T: Pod>(&self) -> Vec<T> {
        self.bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }
}
