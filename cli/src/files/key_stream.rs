//! The keys of an array as a stream of bytes, for programs that do not hold all of them.

use super::array::{Array, read};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes whose order is changed at a time.
const SWAPPED_BYTES: usize = 1 << 16;

/// The keys of an array, in the byte order of this machine. The length is checked when the end is read.
pub(crate) struct KeyStream {
    array: Array,
    /// Bytes that were read.
    bytes: u64,
    /// The number of keys that were read, for others to see.
    keys: Arc<AtomicU64>,
    /// Keys whose bytes were swapped, and those that the caller has got.
    swapped: Vec<u8>,
    given: usize,
}

impl KeyStream {
    pub(crate) fn new(array: Array) -> Self {
        Self { array, bytes: 0, keys: Arc::default(), swapped: vec![], given: 0 }
    }

    /// Returns the number of keys that were read. It is that of all keys when the stream has ended.
    pub(crate) fn count(&self) -> Arc<AtomicU64> {
        self.keys.clone()
    }

    /// Reads bytes as they are in the file; none only at the end of the keys.
    fn read_raw(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.array.dtype.size() as u64;
        let left =
            self.array.declared.map_or(u128::MAX, |keys| (u128::from(keys) * u128::from(size)).saturating_sub(self.bytes.into()));
        if left == 0 {
            // One byte more than was declared, if there is one, is found by the check.
            self.bytes += read(&mut self.array.source.reader, &mut [0])? as u64;
            self.array.check_length(self.bytes).map_err(io::Error::other)?;
            return Ok(0);
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let count = read(&mut self.array.source.reader, &mut buffer[..most])?;
        self.bytes += count as u64;
        if count == 0 && most > 0 {
            self.array.check_length(self.bytes).map_err(io::Error::other)?;
        }
        self.keys.store(self.bytes / size, Ordering::Relaxed);
        Ok(count)
    }

    /// Reads the next keys, and swaps their bytes.
    fn fill_swapped(&mut self) -> io::Result<()> {
        let mut swapped = std::mem::take(&mut self.swapped);
        swapped.resize(SWAPPED_BYTES, 0);
        let mut filled = 0;
        while filled < SWAPPED_BYTES {
            match self.read_raw(&mut swapped[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        swapped.truncate(filled);
        swapped.chunks_exact_mut(self.array.dtype.size()).for_each(<[u8]>::reverse);
        (self.swapped, self.given) = (swapped, 0);
        Ok(())
    }
}

impl Read for KeyStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.array.swapped {
            return self.read_raw(buffer);
        }
        if self.given == self.swapped.len() {
            self.fill_swapped()?;
        }
        let count = (&self.swapped[self.given..]).read(buffer)?;
        self.given += count;
        Ok(count)
    }
}
