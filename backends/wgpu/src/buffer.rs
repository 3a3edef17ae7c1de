//! `SortBuffer`: keys or values that stay on the device from sort to sort.

use crate::backend::WgpuBackend;
use bytemuck::Pod;
use core::marker::PhantomData;
use core::ops::Deref;
use polysort_core::plan::{Payload, Request};
use polysort_core::{Error, MaskKey, Options, Spec};
use wgpu::{Buffer, BufferUsages};

/// Elements on the device of a [`WgpuBackend`].
///
/// ```no_run
/// use polysort_core::{Backend, Options};
/// use polysort_wgpu::{SortBuffer, WgpuBackend};
///
/// let gpu = WgpuBackend::global()?;
/// let mut depths = SortBuffer::from_slice(&gpu, &[2.5_f32, -1.0, 0.0])?;
/// let mut splats = SortBuffer::from_slice(&gpu, &[7_u32, 8, 9])?;
/// gpu.sort_pairs_buffer(&mut depths, &mut splats, Options::descending())?;
/// assert_eq!(*splats.read()?, [7, 9, 8]);
/// # Ok::<(), polysort_core::Error>(())
/// ```
pub struct SortBuffer<T> {
    backend: WgpuBackend,
    buffer: Buffer,
    len: usize,
    capacity: usize,
    element: PhantomData<T>,
}

impl<T: Pod> SortBuffer<T> {
    /// Room for `capacity` elements, of which there are none yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or if the device is lost.
    pub fn with_capacity(backend: &WgpuBackend, capacity: usize) -> Result<Self, Error> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let buffer = backend.gpu().buffer("polysort elements", (capacity * size_of::<T>()) as u64, usage)?;
        Ok(Self { backend: backend.clone(), buffer, len: 0, capacity, element: PhantomData })
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// As [`with_capacity`](SortBuffer::with_capacity).
    pub fn from_slice(backend: &WgpuBackend, elements: &[T]) -> Result<Self, Error> {
        let mut buffer = Self::with_capacity(backend, elements.len())?;
        buffer.copy_from_slice(elements)?;
        Ok(buffer)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of elements that there is room for.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Changes the number of elements: to fewer, or to more that a kernel of yours has written to [`raw`](SortBuffer::raw).
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than there is room for.
    pub fn set_len(&mut self, len: usize) -> Result<(), Error> {
        if len > self.capacity {
            return Err(Error::TooLong { what: "this buffer".into(), asked: len as u64, limit: self.capacity as u64 });
        }
        self.len = len;
        Ok(())
    }

    /// Replaces all elements by a copy of a slice.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than there is room for, or if the device fails: the number of elements stays then.
    pub fn copy_from_slice(&mut self, elements: &[T]) -> Result<(), Error> {
        let before = self.len;
        self.set_len(elements.len())?;
        let copied = self.backend.engine().upload(bytemuck::cast_slice(elements), &self.buffer);
        if copied.is_err() {
            self.len = before;
        }
        copied
    }

    /// Copies all elements to a slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a slice of another length, or if the device fails: the slice stays as it is then.
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<(), Error> {
        if elements.len() != self.len {
            let (left_len, right_len) = (self.len, elements.len());
            return Err(Error::LengthMismatch { left: "buffer", left_len, right: "slice", right_len });
        }
        self.backend.engine().download(&self.buffer, bytemuck::cast_slice_mut(elements))
    }

    /// The elements, as they are now.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Elements<T>, Error> {
        let mut elements = vec![T::zeroed(); self.len];
        self.copy_to_slice(&mut elements)?;
        Ok(Elements(elements))
    }

    /// Replaces all elements by `len` ones that `write` fills in; they are zeroed before.
    ///
    /// # Errors
    /// As [`copy_from_slice`](SortBuffer::copy_from_slice).
    pub fn write_with(&mut self, len: usize, write: impl FnOnce(&mut [T])) -> Result<(), Error> {
        if len > self.capacity {
            return self.set_len(len);
        }
        let mut elements = vec![T::zeroed(); len];
        write(&mut elements);
        self.copy_from_slice(&elements)
    }

    /// The buffer behind, for kernels of your own: usages `STORAGE`, `COPY_SRC` and `COPY_DST`.
    pub fn raw(&self) -> &Buffer {
        &self.buffer
    }
}

/// Elements that were read from a [`SortBuffer`].
#[derive(Clone, Debug)]
pub struct Elements<T>(Vec<T>);

impl<T> Deref for Elements<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl WgpuBackend {
    /// Sorts keys on the device, in place.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] for a buffer of another device, [`Error::InvalidRange`] for a range of bits that the key has not, or a failure
    /// of the device.
    pub fn sort_buffer<K: MaskKey>(&self, keys: &mut SortBuffer<K>, options: Options) -> Result<(), Error> {
        self.sort_resident::<K>(keys, None, Payload::None, options)
    }

    /// Sorts keys on the device, in place, and moves the values with them: 4, 8, 12 or 16 bytes each.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::Unsupported`] for values of other sizes; else as [`sort_buffer`](WgpuBackend::sort_buffer).
    pub fn sort_pairs_buffer<K: MaskKey, V: Pod>(
        &self,
        keys: &mut SortBuffer<K>,
        values: &mut SortBuffer<V>,
        options: Options,
    ) -> Result<(), Error> {
        let (left_len, right_len) = (keys.len, values.len);
        if left_len != right_len {
            return Err(Error::LengthMismatch { left: "keys", left_len, right: "values", right_len });
        }
        self.check_own(values)?;
        self.sort_resident::<K>(keys, Some(&values.buffer), crate::sorter::payload(size_of::<V>())?, options)
    }

    /// Writes the stable sorting permutation of keys, which stay as they are, to `indices`.
    ///
    /// # Errors
    /// [`Error::TooLong`] if there is no room for the indices; else as [`sort_buffer`](WgpuBackend::sort_buffer).
    pub fn argsort_buffer<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        indices: &mut SortBuffer<u32>,
        options: Options,
    ) -> Result<(), Error> {
        self.check_own(indices)?;
        indices.set_len(keys.len)?;
        self.sort_resident::<K>(keys, Some(&indices.buffer), Payload::Indices, options)
    }

    fn sort_resident<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        values: Option<&Buffer>,
        payload: Payload,
        options: Options,
    ) -> Result<(), Error> {
        self.check_own(keys)?;
        let request = Request { payload, ..Request::keys(8 * size_of::<K>() as u32, Spec::of::<K>(options)?, keys.len as u64) };
        self.gpu().facts.limits(payload.words()).check("the GPU", keys.len, size_of::<K>())?;
        self.engine().sort_resident(request, &keys.buffer, values)
    }

    fn check_own<T>(&self, buffer: &SortBuffer<T>) -> Result<(), Error> {
        if self.is_same(&buffer.backend) {
            return Ok(());
        }
        Err(Error::InvalidBuffer { why: "it lies on another device; make it with a clone of this backend".into() })
    }
}
