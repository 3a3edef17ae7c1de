//! `Array`: elements in one buffer, or in several, as a device limits the length of a buffer.

use crate::bind::Part;
use crate::gpu::Gpu;
use core::iter::from_fn;
use core::ops::Range;
use polysort_core::Error;
use wgpu::{Buffer, BufferUsages, CommandEncoder};

/// Elements that lie one after another in one buffer, or in several: its pages.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pages: Vec<Buffer>,
    /// Bytes of each page but the last, which may be shorter; `None` for a single buffer.
    page_bytes: Option<u64>,
}

impl From<Buffer> for Array {
    fn from(buffer: Buffer) -> Self {
        Self { pages: vec![buffer], page_bytes: None }
    }
}

impl Array {
    /// Allocates `bytes` bytes: one buffer, or pages of `page_bytes` bytes if there are more bytes than that.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or [`Error::DeviceLost`].
    pub(crate) fn new(gpu: &Gpu, label: &str, bytes: u64, page_bytes: Option<u64>, usage: BufferUsages) -> Result<Self, Error> {
        let Some(page) = page_bytes.filter(|&page| page < bytes) else {
            return gpu.buffer(label, bytes, usage).map(Self::from);
        };
        let mut pages = vec![];
        let mut rest = bytes;
        while rest > 0 {
            pages.push(gpu.buffer(label, page.min(rest), usage).map_err(|error| match error {
                Error::OutOfMemory { limit, .. } => Error::OutOfMemory { asked: bytes, limit },
                other => other,
            })?);
            rest -= page.min(rest);
        }
        Ok(Self { pages, page_bytes })
    }

    /// Bytes of all pages.
    pub(crate) fn size(&self) -> u64 {
        self.pages.iter().map(Buffer::size).sum()
    }

    pub(crate) fn pages(&self) -> &[Buffer] {
        &self.pages
    }

    pub(crate) fn page_bytes(&self) -> Option<u64> {
        self.page_bytes
    }

    /// Returns the buffer; `None` if there are several.
    pub(crate) fn single(&self) -> Option<&Buffer> {
        if let [buffer] = &*self.pages { Some(buffer) } else { None }
    }

    /// Returns whether this array has room for `bytes` bytes, and pages of `page_bytes` bytes or a single buffer.
    pub(crate) fn fits(&self, bytes: u64, page_bytes: Option<u64>) -> bool {
        self.size() >= bytes && (self.page_bytes.is_none() || self.page_bytes == page_bytes)
    }

    /// Returns the rest of the page that contains `byte`, from that byte on.
    pub(crate) fn part(&self, byte: u64) -> Part<'_> {
        let Some(page) = self.page_bytes else { return Part { buffer: &self.pages[0], offset: byte } };
        let at = usize::try_from(byte / page).unwrap_or(usize::MAX).min(self.pages.len() - 1);
        Part { buffer: &self.pages[at], offset: byte - at as u64 * page }
    }

    /// Splits a range of bytes at the ends of pages. Yields each part, and its number of bytes.
    pub(crate) fn parts(&self, mut bytes: Range<u64>) -> impl Iterator<Item = (Part<'_>, u64)> {
        from_fn(move || {
            let to_end = self.page_bytes.map_or(u64::MAX, |page| page - bytes.start % page);
            let length = to_end.min(bytes.end.saturating_sub(bytes.start));
            let part = self.part(bytes.start);
            bytes.start += length;
            (length > 0).then_some((part, length))
        })
    }

    /// Splits `bytes` at the ends of pages, and pairs each piece with its page.
    pub(crate) fn targets<'s>(&self, bytes: &'s mut [u8]) -> impl Iterator<Item = (&Buffer, &'s mut [u8])> {
        let page = self.page_bytes.map_or(usize::MAX, |page| page as usize);
        self.pages.iter().zip(bytes.chunks_mut(page))
    }

    /// Records a copy of the first `bytes` bytes, rounded up to whole words, to the start of `target`.
    pub(crate) fn copy_to(&self, encoder: &mut CommandEncoder, target: &Self, bytes: u64) {
        let mut at = 0;
        for (from, length) in self.parts(0..bytes.next_multiple_of(4)) {
            let mut start = from.offset;
            for (to, length) in target.parts(at..at + length) {
                encoder.copy_buffer_to_buffer(from.buffer, start, to.buffer, to.offset, length);
                start += length;
            }
            at += length;
        }
    }
}
