//! `SortBuffer`: keys or values that stay on the device from sort to sort.

use crate::array::Array;
use crate::backend::WgpuBackend;
use crate::call::Call;
use crate::gpu::{Gpu, STORAGE};
use crate::queued::Queued;
use crate::readers::{Map, Readers, Reading, unless_read};
use crate::wait::{Waiting, blocking, polled};
use bytemuck::Pod;
use core::marker::PhantomData;
use core::ops::Deref;
use polysort_core::Error;
use polysort_shaders::plan::MAX_MERGED;
use std::sync::Arc;
use wgpu::{Buffer, BufferAsyncError, BufferUsages, BufferView, MapMode};

const LABEL: &str = "polysort elements";

fn usage(gpu: &Gpu) -> BufferUsages {
    if gpu.is_shared { STORAGE | BufferUsages::MAP_READ } else { STORAGE }
}

/// Elements on the device of a [`WgpuBackend`].
///
/// If the device and the host share memory, [`from_slice`](SortBuffer::from_slice) fills the buffer directly, and
/// [`read`](SortBuffer::read) makes no copy of it.
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
///
/// If your own key type implements [`MaskKey`](polysort_core::MaskKey), a buffer of it can be sorted. For any other key,
/// fill a buffer with the key's ordered bits:
///
/// ```no_run
/// use polysort_core::{Backend, Options, Sortable};
/// use polysort_wgpu::{SortBuffer, WgpuBackend};
///
/// let gpu = WgpuBackend::global()?;
/// let words: Vec<u32> = ['z', 'a', 'm'].map(|key| key.to_bits()).into();
/// let keys = SortBuffer::from_slice(&gpu, &words)?;
/// let mut order = SortBuffer::with_capacity(&gpu, words.len())?;
/// gpu.argsort_buffer(&keys, &mut order, Options::ascending())?;
/// assert_eq!(*order.read()?, [1, 2, 0]);
/// # Ok::<(), polysort_core::Error>(())
/// ```
///
/// # Long buffers
/// A device limits the bytes of a wgpu buffer (`Limits::max_buffer_size`; 4 GiB or less on many devices). Elements that do not fit one lie in
/// several, one after another: see [`pages`](SortBuffer::pages). Sorts and merges of keys and of pairs take such a buffer, up to 2³² keys.
///
/// # Futures that are dropped
/// If you drop the future of an async call, the call changes nothing if it has not submitted its commands yet; else it does everything. In a browser, a
/// call that has submitted its commands still waits for an error of the device. If you drop its future then, the buffer has the new contents
/// and the old length: call [`set_len`](SortBuffer::set_len), or fill the buffer again.
pub struct SortBuffer<T> {
    pub(crate) backend: WgpuBackend,
    pub(crate) array: Array,
    len: usize,
    capacity: usize,
    pub(crate) readers: Arc<Readers>,
    element: PhantomData<T>,
}

impl<T: Pod> SortBuffer<T> {
    /// Creates an empty buffer with room for `capacity` elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is too little memory, and if `capacity` is more than 2³² and the elements do not fit one wgpu buffer;
    /// [`Error::DeviceLost`] if the device is lost.
    pub fn with_capacity(backend: &WgpuBackend, capacity: usize) -> Result<Self, Error> {
        let (gpu, element) = (backend.gpu(), size_of::<T>() as u64);
        // If the bytes overflow a `u64`, this requests more than any device has: an error.
        let bytes = (capacity as u64).saturating_mul(element);
        let has_pages = bytes > gpu.max_buffer && capacity as u64 <= MAX_MERGED;
        // A device with too short bindings for pages gets one buffer, whose length is then an error.
        let page = if has_pages { gpu.facts.page_len(element, gpu.max_buffer).ok() } else { None };
        let array = Array::new(gpu, LABEL, bytes, page.map(|page| page * element), usage(gpu))?;
        Ok(Self::of(backend, array, capacity))
    }

    fn of(backend: &WgpuBackend, array: Array, capacity: usize) -> Self {
        Self { backend: backend.clone(), array, len: 0, capacity, readers: Arc::default(), element: PhantomData }
    }

    /// Creates a buffer with a copy of a slice.
    ///
    /// # Errors
    /// The same as those of [`with_capacity`](SortBuffer::with_capacity). In a browser, also [`Error::Unsupported`] for a slice that does not fit one
    /// wgpu buffer: use `with_capacity` and [`copy_from_slice_async`](SortBuffer::copy_from_slice_async) there.
    pub fn from_slice(backend: &WgpuBackend, elements: &[T]) -> Result<Self, Error> {
        let gpu = backend.gpu();
        // The host fills the buffer before the device sees it. In a browser, a blocking call cannot wait for a copy.
        let is_filled_here = gpu.is_shared || cfg!(target_arch = "wasm32");
        if is_filled_here && (1..=gpu.max_buffer).contains(&(size_of_val(elements) as u64)) {
            let buffer = gpu.buffer_of(LABEL, bytemuck::cast_slice(elements), usage(gpu))?;
            return Ok(Self { len: elements.len(), ..Self::of(backend, buffer.into(), elements.len()) });
        }
        let buffer = Self::with_capacity(backend, elements.len())?;
        blocking(Call::fill(backend.engine(), Waiting::Here, bytemuck::cast_slice(elements), &buffer.array))?;
        Ok(Self { len: elements.len(), ..buffer })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The largest number of elements that fit the buffer.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Sets the number of elements. Use it after a kernel of your own has written elements to its [`pages`](SortBuffer::pages). Elements that a larger number
    /// adds have unspecified values.
    ///
    /// # Errors
    /// [`Error::TooLong`] if `len` is more than the [capacity](SortBuffer::capacity).
    pub fn set_len(&mut self, len: usize) -> Result<(), Error> {
        self.check_room(len)?;
        self.len = len;
        Ok(())
    }

    /// Fails if there is no room for `len` elements.
    pub(crate) fn check_room(&self, len: usize) -> Result<(), Error> {
        if len <= self.capacity {
            return Ok(());
        }
        Err(Error::TooLong { what: "this buffer".into(), asked: len as u64, limit: self.capacity as u64 })
    }

    /// Replaces all elements by a copy of a slice.
    ///
    /// # Errors
    /// [`Error::TooLong`] if the slice is longer than the [capacity](SortBuffer::capacity), [`Error::InvalidBuffer`] while
    /// the buffer is [read](SortBuffer::read), or a failure of the device. After an error, the number of elements is as
    /// before.
    pub fn copy_from_slice(&mut self, elements: &[T]) -> Result<(), Error> {
        blocking(self.upload(Waiting::Here, elements))
    }

    /// Async variant of [`copy_from_slice`](SortBuffer::copy_from_slice).
    ///
    /// # Errors
    /// The same as those of [`copy_from_slice`](SortBuffer::copy_from_slice).
    pub async fn copy_from_slice_async(&mut self, elements: &[T]) -> Result<(), Error> {
        self.upload(Waiting::Elsewhere, elements).await
    }

    async fn upload(&mut self, waiting: Waiting, elements: &[T]) -> Result<(), Error> {
        self.check_room(elements.len())?;
        // `&mut self` is not enough: an `Elements` passed to `mem::forget` still counts as a reader.
        unless_read(&[&self.readers], || ())?;
        let bytes = bytemuck::cast_slice(elements);
        let parts = self.array.parts(0..bytes.len() as u64);
        let places: Vec<_> = parts.map(|(part, length)| (part.buffer, part.offset, length)).collect();
        Call::replace(self.backend.engine(), waiting, bytes, &places, self.array.page_bytes()).await?;
        self.len = elements.len();
        Ok(())
    }

    /// Copies all elements to a slice.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for a slice of another length, [`Error::InvalidBuffer`] while the buffer is
    /// [read](SortBuffer::read) in memory that host and device share, or a failure of the device. After an error, the
    /// slice is as before.
    pub fn copy_to_slice(&self, elements: &mut [T]) -> Result<(), Error> {
        blocking(self.download(Waiting::Here, elements))
    }

    /// Async variant of [`copy_to_slice`](SortBuffer::copy_to_slice).
    ///
    /// # Errors
    /// The same as those of [`copy_to_slice`](SortBuffer::copy_to_slice).
    pub async fn copy_to_slice_async(&self, elements: &mut [T]) -> Result<(), Error> {
        self.download(Waiting::Elsewhere, elements).await
    }

    async fn download(&self, waiting: Waiting, elements: &mut [T]) -> Result<(), Error> {
        Error::check_lengths("buffer", self.len, "slice", elements.len())?;
        let bytes = bytemuck::cast_slice_mut(elements);
        Call::download(self.backend.engine(), waiting, &self.array, &[&self.readers], bytes).await
    }

    /// Returns the elements. While the result exists, calls that would use the buffer on the device may return an error.
    ///
    /// # Errors
    /// [`Error::InvalidBuffer`] if the caller has mapped or destroyed the buffer by [`raw`](SortBuffer::raw), or a
    /// failure of the device.
    pub fn read(&self) -> Result<Elements<'_, T>, Error> {
        blocking(self.elements(Waiting::Here))
    }

    /// Async variant of [`read`](SortBuffer::read).
    ///
    /// # Errors
    /// The same as those of [`read`](SortBuffer::read).
    pub async fn read_async(&self) -> Result<Elements<'_, T>, Error> {
        self.elements(Waiting::Elsewhere).await
    }

    async fn elements(&self, waiting: Waiting) -> Result<Elements<'_, T>, Error> {
        let gpu = self.backend.gpu();
        let shared = self.array.single().filter(|_| gpu.is_shared && self.len * size_of::<T>() > 0);
        let Some(buffer) = shared else {
            let mut elements = vec![T::zeroed(); self.len];
            self.download(waiting, &mut elements).await?;
            return Ok(Elements { bytes: Bytes::Copied(elements), buffer: PhantomData });
        };
        let reading = Reading::begin(&self.readers, InPlace { gpu: gpu.clone(), buffer: buffer.clone() });
        polled(gpu, waiting).await?;
        // The mapping fails if the caller has mapped or destroyed the buffer by `raw`: that does not mean a lost device.
        let failed = |why: String| gpu.lost_or(Error::InvalidBuffer { why: format!("the device cannot map it: {why}") });
        reading.ready().await.map_err(failed)?;
        let len = self.len * size_of::<T>();
        let view = buffer.get_mapped_range(0..(len as u64).next_multiple_of(4));
        let view = view.map_err(|error| failed(error.to_string()))?;
        let bytes = match bytemuck::try_cast_slice::<u8, T>(&view[..len]) {
            Ok(_) => Bytes::Shared(Shared { view, len, _reading: reading }),
            Err(_) => Bytes::Copied(bytemuck::pod_collect_to_vec(&view[..len])),
        };
        Ok(Elements { bytes, buffer: PhantomData })
    }

    /// Replaces all elements by `len` elements. `write` gets a slice of `len` zeros and fills it in.
    ///
    /// # Errors
    /// The same as those of [`copy_from_slice`](SortBuffer::copy_from_slice).
    pub fn write_with(&mut self, len: usize, write: impl FnOnce(&mut [T])) -> Result<(), Error> {
        self.check_room(len)?;
        let mut elements = vec![T::zeroed(); len];
        write(&mut elements);
        self.copy_from_slice(&elements)
    }

    /// The wgpu buffer of the elements, for kernels of your own. Its usages are `STORAGE`, `COPY_SRC` and `COPY_DST`.
    ///
    /// # Panics
    /// If the elements lie in several wgpu buffers: see [`pages`](SortBuffer::pages).
    pub fn raw(&self) -> &Buffer {
        self.array.single().expect("the elements lie in several wgpu buffers; `SortBuffer::pages` returns them")
    }

    /// The wgpu buffers of the elements, in order, with the usages of [`raw`](SortBuffer::raw). There are several if one cannot hold the
    /// [capacity](SortBuffer::capacity). Each but the last then has [`page_len`](SortBuffer::page_len) elements.
    pub fn pages(&self) -> &[Buffer] {
        self.array.pages()
    }

    /// The number of elements of each of the [`pages`](SortBuffer::pages) but the last. If there is only one, its number of elements: the
    /// [capacity](SortBuffer::capacity).
    pub fn page_len(&self) -> usize {
        self.page().map_or(self.capacity, |page| page as usize)
    }

    /// The elements of a page; `None` if the elements lie in one buffer.
    pub(crate) fn page(&self) -> Option<u64> {
        self.array.page_bytes().map(|bytes| bytes / size_of::<T>() as u64)
    }
}

/// The elements of a [`SortBuffer`] at the time of the [read](SortBuffer::read).
pub struct Elements<'a, T: Pod> {
    bytes: Bytes<T>,
    buffer: PhantomData<&'a SortBuffer<T>>,
}

enum Bytes<T> {
    Copied(Vec<T>),
    Shared(Shared),
}

/// A mapped buffer that the host reads without a copy.
struct Shared {
    /// Dropped before the reader: the last reader unmaps the buffer.
    view: BufferView,
    /// Bytes of the elements.
    len: usize,
    _reading: Reading<InPlace>,
}

/// A buffer in memory that the host can map.
struct InPlace {
    gpu: Queued,
    buffer: Buffer,
}

impl Map for InPlace {
    fn map(&self, done: impl FnOnce(Result<(), String>) + Send + 'static) {
        let done = |result: Result<(), BufferAsyncError>| done(result.map_err(|error| error.to_string()));
        // wgpu also passes the error to `done`.
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
