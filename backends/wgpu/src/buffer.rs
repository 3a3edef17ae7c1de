//! `SortBuffer`: keys or values that stay on the device from sort to sort.

use crate::backend::WgpuBackend;
use crate::call::Call;
use crate::gpu::{Gpu, STORAGE};
use crate::readers::{Map, Readers, Reading};
use crate::wait::{Waiting, blocking, polled};
use bytemuck::Pod;
use core::marker::PhantomData;
use core::ops::Deref;
use polysort_core::Error;
use std::sync::Arc;
use wgpu::{Buffer, BufferAsyncError, BufferUsages, BufferView, MapMode};

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
    pub(crate) backend: WgpuBackend,
    pub(crate) buffer: Buffer,
    len: usize,
    capacity: usize,
    pub(crate) readers: Arc<Readers>,
    element: PhantomData<T>,
}

impl<T: Pod> SortBuffer<T> {
    /// Room for `capacity` elements, of which there are none yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or if the device is lost.
    pub fn with_capacity(backend: &WgpuBackend, capacity: usize) -> Result<Self, Error> {
        let gpu = backend.gpu();
        let bytes = (capacity as u64).checked_mul(size_of::<T>() as u64);
        // The most bytes that a number says are more than any device has.
        let buffer = gpu.buffer(LABEL, bytes.unwrap_or(u64::MAX), usage(gpu))?;
        Ok(Self::of(backend, buffer, capacity))
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
        self.check_room(len)?;
        self.len = len;
        Ok(())
    }

    /// Whether there is room for `len` elements.
    pub(crate) fn check_room(&self, len: usize) -> Result<(), Error> {
        if len <= self.capacity {
            return Ok(());
        }
        Err(Error::TooLong { what: "this buffer".into(), asked: len as u64, limit: self.capacity as u64 })
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
        self.check_room(elements.len())?;
        self.readers.unless_read(|| ())?;
        let bytes = bytemuck::cast_slice(elements);
        let mut call = Call::begin(self.backend.engine(), waiting, None, &[], bytes.len() as u64).await?;
        call.upload_all(bytes, &[(&self.buffer, 0, bytes.len() as u64)]).await?;
        self.len = elements.len();
        Ok(())
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
        self.readers.unless_read(|| ())?;
        let bytes = bytemuck::cast_slice_mut(elements);
        let mut call = Call::begin(self.backend.engine(), waiting, None, &[], bytes.len() as u64).await?;
        call.download(&self.buffer, bytes).await
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
        let reading = Reading::begin(&self.readers, InPlace { gpu: gpu.clone(), buffer: self.buffer.clone() });
        polled(gpu, waiting).await?;
        reading.ready().await.map_err(|why| gpu.give_up(&why))?;
        let len = self.len * size_of::<T>();
        let view = self.buffer.get_mapped_range(0..(len as u64).next_multiple_of(4));
        let view = view.map_err(|error| gpu.give_up(&error.to_string()))?;
        let bytes = match bytemuck::try_cast_slice::<u8, T>(&view[..len]) {
            Ok(_) => Bytes::Shared(Shared { view, len, _reading: reading }),
            Err(_) => Bytes::Copied(bytemuck::pod_collect_to_vec(&view[..len])),
        };
        Ok(Elements { bytes, buffer: PhantomData })
    }

    /// Replaces all elements by `len` ones that `write` fills in; they are zeroed before.
    ///
    /// # Errors
    /// As [`copy_from_slice`](SortBuffer::copy_from_slice).
    pub fn write_with(&mut self, len: usize, write: impl FnOnce(&mut [T])) -> Result<(), Error> {
        self.check_room(len)?;
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
    /// Dropped before the reader: the last one of them unmaps the buffer.
    view: BufferView,
    /// Bytes of elements.
    len: usize,
    _reading: Reading<InPlace>,
}

/// A buffer in memory that the host can map.
struct InPlace {
    gpu: Arc<Gpu>,
    buffer: Buffer,
}

impl Map for InPlace {
    fn map(&self, done: impl FnOnce(Result<(), String>) + Send + 'static) {
        let done = |result: Result<(), BufferAsyncError>| done(result.map_err(|error| error.to_string()));
        // `done` gets the error as well.
        drop(self.gpu.guarded(|| self.buffer.map_async(MapMode::Read, .., done)));
    }

    fn unmap(&self) {
        self.buffer.unmap();
    }
}

impl<T: Pod> Deref for Elements<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.bytes {
            Bytes::Copied(elements) => elements,
            Bytes::Shared(shared) => bytemuck::cast_slice(&shared.view[..shared.len]),
        }
    }
}

impl<T: Pod + core::fmt::Debug> core::fmt::Debug for Elements<'_, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(&**self).finish()
    }
}

impl<T> core::fmt::Debug for SortBuffer<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { backend, len, capacity, .. } = self;
        f.debug_struct("SortBuffer")
            .field("backend", backend)
            .field("len", len)
            .field("capacity", capacity)
            .finish_non_exhaustive()
    }
}
