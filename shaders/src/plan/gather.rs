//! A gather: elements of a column in the order of their indices.
//!
//! ```text
//! begin     stores the number of indices
//! gather    writes the element of each index
//! ```

use super::builder::Builder;
use super::command::{Buffer, Groups, Number};
use super::kernel_shape::KernelShape;
use super::request::{Gather, Request};
use super::tuning::{COPY_GROUPS, COPY_TILE};
use super::variant::Variant;
use crate::abi;
use polysort_core::Error;

/// The largest element of a gather, in bytes. A launch gets its number of words from the table of numbers.
pub const MAX_GATHERED_BYTES: u32 = 4 << 10;

const _: () = assert!(MAX_GATHERED_BYTES / 4 < abi::NUMBERS && MAX_GATHERED_BYTES / 4 <= COPY_TILE);

/// A launch of a gather: buffers, and the first word of each.
pub(super) struct Gathered {
    /// The word of the state with the number of indices.
    pub(super) counted_at: u32,
    /// Bytes of an element.
    pub(super) element_bytes: u32,
    pub(super) from: (Buffer, u32),
    pub(super) indices: (Buffer, u32),
    pub(super) to: (Buffer, u32),
}

impl Request {
    /// Fails if no kernel gathers elements of this size.
    pub(super) fn check_gather(&self) -> Result<(), Error> {
        match self.gather {
            None | Some(Gather { element_bytes: 1 | 2, .. }) => Ok(()),
            Some(Gather { element_bytes: bytes, .. }) if bytes.is_multiple_of(4) && (4..=MAX_GATHERED_BYTES).contains(&bytes) => {
                Ok(())
            }
            Some(Gather { element_bytes: bytes, .. }) => {
                let most = MAX_GATHERED_BYTES;
                let what = format!("a gather of elements of {bytes} bytes; an element has 1, 2, or a multiple of 4 up to {most}");
                Err(Error::Unsupported { what })
            }
        }
    }

    /// Returns the offset and the bytes of the source or the result of a gather; `None` for other buffers.
    pub(super) fn gather_part(&self, buffer: Buffer) -> Option<(u32, u64)> {
        let gather = self.gather?;
        let bytes = |elements: u64| u64::from(gather.element_bytes) * elements.max(1);
        match buffer {
            Buffer::GatherFrom => Some((gather.from.first, bytes(gather.elements.into()))),
            Buffer::GatherTo => Some((gather.to.first, bytes(self.max))),
            _ => None,
        }
    }
}

impl Builder<'_> {
    /// Adds the commands of a gather.
    pub(super) fn gather(&mut self, gather: Gather) {
        self.begin();
        self.push_gather(Gathered {
            counted_at: abi::STATE_COUNT,
            element_bytes: gather.element_bytes,
            from: (Buffer::GatherFrom, gather.from.first),
            indices: (Buffer::Keys, self.plan.request.keys.first),
            to: (Buffer::GatherTo, gather.to.first),
        });
    }

    /// Adds one launch that gathers elements.
    pub(super) fn push_gather(&mut self, gathered: Gathered) {
        let Gathered { counted_at, element_bytes, from, indices, to } = gathered;
        let packed = element_bytes < 4;
        let key_bits = if packed { 8 * element_bytes } else { 32 };
        let gather = KernelShape::Gather { aliased: self.plan.request.aliased };
        let gather = Variant { key_bits, ..self.shapes.plain(gather) };
        let width = element_bytes / 4;
        let numbers = [counted_at, width, from.1, indices.1, to.1].map(Number::Is);
        let mut bindings = vec![Buffer::Number; numbers.len()];
        bindings.extend([Buffer::Sort, Buffer::State, from.0, indices.0, to.0]);
        let of = if packed { COPY_TILE * 4 / element_bytes } else { COPY_TILE / width };
        self.push(gather, bindings, numbers, Groups::AtMost { most: COPY_GROUPS, of, team: 1 });
    }
}
