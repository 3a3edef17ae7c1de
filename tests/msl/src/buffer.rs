//! `Buffer`: memory of the emulated device.

use bytemuck::Pod;

/// A buffer that kernels can access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    bytes: Vec<u8>,
}

impl Buffer {
    /// Returns a buffer with these values.
    pub fn of<T: Pod>(values: &[T]) -> Self {
        Self { bytes: bytemuck::cast_slice(values).to_vec() }
    }

    /// Returns a buffer of `bytes` pseudo-random bytes, which `seed` determines: a new buffer of a device has arbitrary contents.
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

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Returns the contents as values; an incomplete last value is left out.
    pub fn values<T: Pod>(&self) -> Vec<T> {
        self.bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }
}
