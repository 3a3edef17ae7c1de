//! `Scratch`: memory of the host for a copy of the data of a long call.
//!
//! On Linux it has large pages, if the system allows that: the first write to each page takes the system a while, and there are fewer.

use bytemuck::Pod;
use polysort_core::Error;

/// Bytes that are zero at first, aligned for words of any size.
#[derive(Default)]
pub(crate) struct Scratch {
    #[cfg(target_os = "linux")]
    pages: Option<memmap2::MmapMut>,
    #[cfg(not(target_os = "linux"))]
    words: Vec<u128>,
    len: usize,
}

impl Scratch {
    /// Allocates `len` elements of `size` bytes each.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the host has no memory for them.
    pub(crate) fn new(len: usize, size: usize) -> Result<Self, Error> {
        let asked = (len as u64).saturating_mul(size as u64);
        let refused = || Error::OutOfMemory { asked, limit: None };
        match len.checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize) {
            None => Err(refused()),
            Some(0) => Ok(Self::default()),
            Some(len) => Self::of(len).ok_or_else(refused),
        }
    }

    #[cfg(target_os = "linux")]
    fn of(len: usize) -> Option<Self> {
        let pages = memmap2::MmapMut::map_anon(len).ok()?;
        // Without large pages, the memory works too.
        pages.advise(memmap2::Advice::HugePage).ok();
        Some(Self { pages: Some(pages), len })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(len: usize) -> Option<Self> {
        let words = bytemuck::allocation::try_zeroed_vec(len.div_ceil(size_of::<u128>())).ok()?;
        Some(Self { words, len })
    }

    /// All bytes, as elements of a type.
    pub(crate) fn get<T: Pod>(&self) -> &[T] {
        if self.len == 0 {
            // No memory has no alignment.
            return &[];
        }
        #[cfg(target_os = "linux")]
        let bytes: &[u8] = self.pages.as_deref().unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        bytemuck::cast_slice(&bytes[..self.len])
    }

    /// All bytes, as elements of a type, to be written.
    pub(crate) fn get_mut<T: Pod>(&mut self) -> &mut [T] {
        if self.len == 0 {
            return &mut [];
        }
        #[cfg(target_os = "linux")]
        let bytes: &mut [u8] = self.pages.as_deref_mut().unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        bytemuck::cast_slice_mut(&mut bytes[..self.len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_is_zero_and_can_be_written() {
        for len in [0, 1, 5, 100_000] {
            let mut scratch = Scratch::new(len, 16).expect("there is memory");
            assert!(scratch.get::<u128>().iter().all(|&word| word == 0) && scratch.get::<u128>().len() == len);
            scratch.get_mut::<u128>().fill(7);
            assert_eq!(scratch.get::<u8>().len(), 16 * len);
            assert!(scratch.get::<u128>().iter().all(|&word| word == 7));
        }
    }

    #[test]
    fn memory_that_does_not_exist_is_an_error() {
        for (len, size) in [(usize::MAX, 16), (usize::MAX / 16, 8), (usize::MAX / 2, 1)] {
            let asked = len as u64;
            let refused = Scratch::new(len, size).err();
            assert!(matches!(refused, Some(Error::OutOfMemory { asked: bytes, .. }) if bytes >= asked), "{refused:?}");
        }
    }
}
