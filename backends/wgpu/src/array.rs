//! `Array`: elements in one buffer, or in several, as a device limits the length of a buffer.

use crate::bind::Part;
use crate::gpu::Gpu;
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

    /// Returns the part of the array from a byte on: a part of the page that has this byte.
    pub(crate) fn part(&self, byte: u64) -> Part<'_> {
        let Some(page) = self.page_bytes else { return Part { buffer: &self.pages[0], offset: byte } };
        let at = usize::try_from(byte / page).unwrap_or(usize::MAX).min(self.pages.len() - 1);
        Part { buffer: &self.pages[at], offset: byte - at as u64 * page }
    }

    /// Returns the pages that have the first `bytes` bytes, with the number of these bytes in each.
    pub(crate) fn lengths(&self, bytes: u64) -> impl Iterator<Item = (&Buffer, u64)> {
        let page = self.page_bytes.unwrap_or(u64::MAX);
        let length = move |i: u64| bytes.saturating_sub(i.saturating_mul(page)).min(page);
        self.pages.iter().zip(0..).map(move |(buffer, i)| (buffer, length(i))).filter(|&(_, length)| length > 0)
    }

    /// Returns the pages that have the first `bytes.len()` bytes, with the part of `bytes` for each.
    pub(crate) fn targets<'s>(&self, bytes: &'s mut [u8]) -> impl Iterator<Item = (&Buffer, &'s mut [u8])> {
        let page = self.page_bytes.map_or(usize::MAX, |page| page as usize);
        self.pages.iter().zip(bytes.chunks_mut(page))
    }

    /// Records a copy of the first `bytes` bytes, rounded up to whole words, to the start of `target`.
    pub(crate) fn copy_to(&self, encoder: &mut CommandEncoder, target: &Self, bytes: u64) {
        let ends = [self.page_bytes, target.page_bytes];
        let (mut at, bytes) = (0, bytes.next_multiple_of(4));
        while at < bytes {
            let of_page = ends.into_iter().flatten().map(|page| page - at % page).min();
            let length = of_page.unwrap_or(u64::MAX).min(bytes - at);
            let (from, to) = (self.part(at), target.part(at));
            encoder.copy_buffer_to_buffer(from.buffer, from.offset, to.buffer, to.offset, length);
            at += length;
        }
    }
}

