//! `SortBuffer`: keys or values that stay on the device from sort to sort.

use crate::backend::WgpuBackend;
use crate::gpu::{Gpu, STORAGE};
use crate::sorter::payload;
use crate::wait::{Waiting, blocking, mapped};
use bytemuck::Pod;
use core::marker::PhantomData;
use core::ops::Deref;
use polysort_core::plan::{Payload, Request};
use polysort_core::{Error, MaskKey, Options, Spec};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wgpu::{Buffer, BufferUsages, BufferView, MapMode};

const LABEL: &str = "polysort elements";

fn usage(gpu: &Gpu) -> BufferUsages {
    if gpu.is_shared { STORAGE | BufferUsages::MAP_READ } else { STORAGE }
}

/// Elements on the device of a [`WgpuBackend`].
///
/// Where the device works in the memory of the host, [`from_slice`](SortBuffer::from_slice) and [`read`](SortBuffer::read) make no
/// copy beside the buffer itself.
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
    /// How many read it where it lies.
    readers: Arc<Mutex<usize>>,
    element: PhantomData<T>,
}

impl<T: Pod> SortBuffer<T> {
    /// Room for `capacity` elements, of which there are none yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or if the device is lost.
    pub fn with_capacity(backend: &WgpuBackend, capacity: usize) -> Result<Self, Error> {
        let (gpu, bytes) = (backend.gpu(), (capacity * size_of::<T>()) as u64);
        Ok(Self::of(backend, gpu.buffer(LABEL, bytes, usage(gpu))?, capacity))
    }

    fn of(backend: &WgpuBackend, buffer: Buffer, capacity: usize) -> Self {
        Self { backend: backend.clone(), buffer, len: 0, capacity, readers: Arc::default(), element: PhantomData }
    }

    /// A copy of a slice.
    ///
    /// # Errors
    /// As [`with_capacity`](SortBuffer::with_capacity).
    pub fn from_slice(backend: &WgpuBackend, elements: &[T]) -> Result<Self, Error> {
        let gpu = backend.gpu();
        if gpu.is_shared && size_of_val(elements) > 0 {
            let buffer = gpu.buffer_of(LABEL, bytemuck::cast_slice(elements), usage(gpu))?;
            return Ok(Self { len: elements.len(), ..Self::of(backend, buffer, elements.len()) });
        }
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
        blocking(self.upload(Waiting::Here, elements))
    }

    /// [`copy_from_slice`](SortBuffer::copy_from_slice) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn copy_from_slice_async(&mut self, elements: &[T]) -> Result<(), Error> {
        self.upload(Waiting::Elsewhere, elements).await
    }

    async fn upload(&mut self, waiting: Waiting, elements: &[T]) -> Result<(), Error> {
        let before = self.len;
        self.set_len(elements.len())?;
        let copied = self.backend.engine(waiting).await.upload(bytemuck::cast_slice(elements), &self.buffer, 0).await;
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
        blocking(self.download(Waiting::Here, elements))
    }

    /// [`copy_to_slice`](SortBuffer::copy_to_slice) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn copy_to_slice_async(&self, elements: &mut [T]) -> Result<(), Error> {
        self.download(Waiting::Elsewhere, elements).await
    }

    async fn download(&self, waiting: Waiting, elements: &mut [T]) -> Result<(), Error> {
        Error::check_lengths("buffer", self.len, "slice", elements.len())?;
        self.check_unread()?;
        self.backend.engine(waiting).await.download(&self.buffer, bytemuck::cast_slice_mut(elements)).await
    }

    /// The elements, as they are now. While they are read, the device cannot have them.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read(&self) -> Result<Elements<'_, T>, Error> {
        blocking(self.elements(Waiting::Here))
    }

    /// [`read`](SortBuffer::read) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn read_async(&self) -> Result<Elements<'_, T>, Error> {
        self.elements(Waiting::Elsewhere).await
    }

    async fn elements(&self, waiting: Waiting) -> Result<Elements<'_, T>, Error> {
        let gpu = self.backend.gpu();
        if !gpu.is_shared || self.len * size_of::<T>() == 0 {
            let mut elements = vec![T::zeroed(); self.len];
            self.download(waiting, &mut elements).await?;
            return Ok(Elements { bytes: Bytes::Copied(elements), buffer: PhantomData });
        }
        // One reader at a time maps it; the others find it mapped.
        let _engine = self.backend.engine(waiting).await;
        let mapped = if *self.readers() == 0 { Some(mapped(gpu, waiting, &self.buffer, MapMode::Read).await?) } else { None };
        let bytes = (self.len * size_of::<T>()) as u64;
        let view = self.buffer.get_mapped_range(0..bytes.next_multiple_of(4)).map_err(|error| gpu.give_up(&error.to_string()))?;
        *self.readers() += 1;
        // From here on the last reader unmaps it.
        if let Some(mapped) = mapped {
            mapped.keep();
        }
        let shared = Shared { view: Some(view), buffer: self.buffer.clone(), readers: self.readers.clone(), len: bytes as usize };
        let bytes = match bytemuck::try_cast_slice::<u8, T>(shared.bytes()) {
            Ok(_) => Bytes::Shared(shared),
            Err(_) => Bytes::Copied(bytemuck::pod_collect_to_vec(shared.bytes())),
        };
        Ok(Elements { bytes, buffer: PhantomData })
    }

    fn readers(&self) -> MutexGuard<'_, usize> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_unread(&self) -> Result<(), Error> {
        if *self.readers() == 0 {
            return Ok(());
        }
        Err(Error::InvalidBuffer { why: "it is being read; drop what `read` gave before".into() })
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

/// Elements of a [`SortBuffer`], as they were when it was [read](SortBuffer::read).
pub struct Elements<'a, T: Pod> {
    bytes: Bytes<T>,
    buffer: PhantomData<&'a SortBuffer<T>>,
}

enum Bytes<T> {
    Copied(Vec<T>),
    Shared(Shared),
}

/// A buffer that is read where it lies.
struct Shared {
    /// There until it is dropped.
    view: Option<BufferView>,
    buffer: Buffer,
    readers: Arc<Mutex<usize>>,
    /// Bytes of elements.
    len: usize,
}

impl Shared {
    fn bytes(&self) -> &[u8] {
        &self.view.as_ref().expect("it is there until it is dropped")[..self.len]
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.view = None;
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        *readers -= 1;
        if *readers == 0 {
            self.buffer.unmap();
        }
    }
}

impl<T: Pod> Deref for Elements<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.bytes {
            Bytes::Copied(elements) => elements,
            Bytes::Shared(shared) => bytemuck::cast_slice(shared.bytes()),
        }
    }
}

impl<T: Pod + core::fmt::Debug> core::fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

impl WgpuBackend {
    /// Sorts keys on the device, in place.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] for a buffer of another device or one that is being read, [`Error::InvalidRange`] for a range of bits
    /// that the key has not, or a failure of the device.
    pub fn sort_buffer<K: MaskKey>(&self, keys: &mut SortBuffer<K>, options: Options) -> Result<(), Error> {
        blocking(self.sort_resident::<K, K>(Waiting::Here, keys, None, Payload::None, options))
    }

    /// [`sort_buffer`](WgpuBackend::sort_buffer) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn sort_buffer_async<K: MaskKey>(&self, keys: &mut SortBuffer<K>, options: Options) -> Result<(), Error> {
        self.sort_resident::<K, K>(Waiting::Elsewhere, keys, None, Payload::None, options).await
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
        blocking(self.sort_resident_pairs(Waiting::Here, keys, values, options))
    }

    /// [`sort_pairs_buffer`](WgpuBackend::sort_pairs_buffer) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn sort_pairs_buffer_async<K: MaskKey, V: Pod>(
        &self,
        keys: &mut SortBuffer<K>,
        values: &mut SortBuffer<V>,
        options: Options,
    ) -> Result<(), Error> {
        self.sort_resident_pairs(Waiting::Elsewhere, keys, values, options).await
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
        blocking(self.argsort_resident(Waiting::Here, keys, indices, options))
    }

    /// [`argsort_buffer`](WgpuBackend::argsort_buffer) without blocking.
    ///
    /// # Errors
    /// As there.
    pub async fn argsort_buffer_async<K: MaskKey>(
        &self,
        keys: &SortBuffer<K>,
        indices: &mut SortBuffer<u32>,
        options: Options,
    ) -> Result<(), Error> {
        self.argsort_resident(Waiting::Elsewhere, keys, indices, options).await
    }

    async fn sort_resident_pairs<K: MaskKey, V: Pod>(
        &self,
        waiting: Waiting,
        keys: &mut SortBuffer<K>,
        values: &mut SortBuffer<V>,
        options: Options,
    ) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len, "values", values.len)?;
        let payload = payload(size_of::<V>())?;
        self.sort_resident(waiting, keys, Some(values), payload, options).await
    }

    async fn argsort_resident<K: MaskKey>(
        &self,
        waiting: Waiting,
        keys: &SortBuffer<K>,
        indices: &mut SortBuffer<u32>,
        options: Options,
    ) -> Result<(), Error> {
        indices.set_len(keys.len)?;
        self.sort_resident(waiting, keys, Some(indices), Payload::Indices, options).await
    }

    async fn sort_resident<K: MaskKey, V: Pod>(
        &self,
        waiting: Waiting,
        keys: &SortBuffer<K>,
        values: Option<&SortBuffer<V>>,
        payload: Payload,
        options: Options,
    ) -> Result<(), Error> {
        self.check_own(keys)?;
        values.map_or(Ok(()), |values| self.check_own(values))?;
        let request =
            Request { payload, ..Request::keys(8 * size_of::<K>() as u32, Spec::of_masks::<K>(options)?, keys.len as u64) };
        self.gpu().facts.limits(payload.words()).check("the GPU", keys.len, size_of::<K>())?;
        let values = values.map(|values| &values.buffer);
        self.engine(waiting).await.sort_resident(request, &keys.buffer, values).await
    }

    fn check_own<T: Pod>(&self, buffer: &SortBuffer<T>) -> Result<(), Error> {
        if self.is_same(&buffer.backend) {
            return buffer.check_unread();
        }
        Err(Error::InvalidBuffer { why: "it lies on another device; make it with a clone of this backend".into() })
    }
}
