//! Bindings of buffers to kernels, with checked sizes.
//!
//! Kernels run without wgpu's bounds checks. So every entry of a bind group comes from a [`Bound`], and its only
//! constructor checks that the buffer has the bytes that the plan touches.

use crate::gpu::Gpu;
use polysort_core::Error;
use polysort_shaders::plan::{Buffer as Role, Place};
use wgpu::{BindingResource, Buffer, BufferBinding, BufferSize, BufferUsages};

/// The part of a buffer from a byte offset to the end. A whole buffer is the part that starts at 0.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The buffer. It needs the usage `STORAGE`.
    pub buffer: &'a Buffer,
    /// The offset of the first element in bytes, a multiple of 4.
    pub offset: u64,
}

impl<'a> From<&'a Buffer> for Part<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self { buffer, offset: 0 }
    }
}

impl Part<'_> {
    /// Returns the part that starts `bytes` bytes behind this one.
    pub(crate) fn behind(self, bytes: u64) -> Self {
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }

    /// Returns the offset of the first element within its binding. Devices require that a binding starts at a multiple
    /// of an alignment, so the binding may start before the first element.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if the offset is not a multiple of 4.
    pub(crate) fn place(&self, gpu: &Gpu, role: Role) -> Result<Place, Error> {
        if !self.offset.is_multiple_of(4) {
            return Err(invalid(format!("{} start at byte {}, which is not a multiple of 4", name(role), self.offset)));
        }
        Ok(Place { first: (self.offset % alignment(gpu, role) / 4) as u32 })
    }

    /// Returns whether this part of `bytes` bytes and another one of `other_bytes` bytes overlap.
    pub(crate) fn overlaps(&self, bytes: u64, other: &Part<'_>, other_bytes: u64) -> bool {
        let before = |one: &Part<'_>, bytes: u64, other: &Part<'_>| one.offset.saturating_add(bytes) <= other.offset;
        self.buffer == other.buffer && !before(self, bytes, other) && !before(other, other_bytes, self)
    }
}

/// A part of a buffer that a kernel may touch.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    buffer: Buffer,
    offset: u64,
    size: u64,
}

impl Bound {
    /// Binds `bytes` bytes of `part.buffer`. The binding starts at `part.offset`, rounded down to the device's alignment.
    /// Without `bytes`, it extends to the end of the buffer, or to the size of the largest binding; the caller must then
    /// limit the bytes that kernels touch.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if the buffer lacks the usage, if it is too short, if `bytes` is 0, or if it is more than the
    /// largest binding.
    pub(crate) fn new(gpu: &Gpu, role: Role, part: Part<'_>, bytes: impl Into<Option<u64>>) -> Result<Self, Error> {
        let limit = gpu.facts.max_binding & !3;
        let offset = part.offset - part.offset % alignment(gpu, role);
        let bytes = bytes.into().unwrap_or_else(|| part.buffer.size().saturating_sub(offset).min(limit));
        Self::check(gpu, role, part, bytes)?;
        if bytes > limit {
            return Err(invalid(format!("{bytes} bytes of {} are more than the largest binding, which has {limit}", name(role))));
        }
        Ok(Self { buffer: part.buffer.clone(), offset, size: bytes })
    }

    /// Fails if [`new`](Bound::new) would fail for `bytes` bytes of `part` on a device whose bindings have no limit. So this
    /// checks an array that is bound in parts.
    pub(crate) fn check(gpu: &Gpu, role: Role, part: Part<'_>, bytes: u64) -> Result<(), Error> {
        let (usage, usage_name) =
            if is_uniform(role) { (BufferUsages::UNIFORM, "UNIFORM") } else { (BufferUsages::STORAGE, "STORAGE") };
        if !part.buffer.usage().contains(usage) {
            return Err(invalid(format!("the buffer of {} lacks the usage {usage_name}", name(role))));
        }
        let (offset, size) = (part.offset - part.offset % alignment(gpu, role), part.buffer.size());
        if bytes == 0 {
            // wgpu would bind the whole buffer.
            return Err(invalid(format!("no bytes of {} are to be bound", name(role))));
        }
        if offset.checked_add(bytes).is_none_or(|end| end > size) {
            let what = name(role);
            return Err(invalid(format!("the buffer of {what} has {size} bytes, but {bytes} from byte {offset} on are needed")));
        }
        Ok(())
    }

    /// Returns the resource for a bind group.
    pub(crate) fn resource(&self) -> BindingResource<'_> {
        BindingResource::Buffer(BufferBinding { buffer: &self.buffer, offset: self.offset, size: BufferSize::new(self.size) })
    }
}

pub(crate) fn invalid(why: String) -> Error {
    Error::InvalidBuffer { why }
}

fn is_uniform(role: Role) -> bool {
    matches!(role, Role::Number | Role::Sort | Role::Search | Role::Merge)
}

/// Returns the alignment of the bindings of a buffer in this role, in bytes.
fn alignment(gpu: &Gpu, role: Role) -> u64 {
    let limits = gpu.device.limits();
    u64::from(if is_uniform(role) {
        limits.min_uniform_buffer_offset_alignment
    } else {
        limits.min_storage_buffer_offset_alignment
    })
}

/// Returns the name of a buffer in this role, for error messages.
fn name(role: Role) -> String {
    let name = match role {
        Role::FirstKeys => "keys of the first run",
        Role::SecondKeys => "keys of the second run",
        Role::MergedKeys => "merged keys",
        Role::FirstValues => "values of the first run",
        Role::SecondValues => "values of the second run",
        Role::MergedValues => "merged values",
        Role::WideIndices => "indices of 64 bits",
        role => return format!("the {}", format!("{role:?}").to_lowercase()),
    };
    format!("the {name}")
}
