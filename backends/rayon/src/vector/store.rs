//! `RayonStore`: vectors in the memory of the host.

use half::f16;
use half::slice::HalfFloatSliceExt;
use polysort_core::Error;
use polysort_vector::{Precision, Shape, VectorError, VectorStore};

/// The vectors and entries of a [`RayonBackend`](crate::RayonBackend), in the memory of the host.
#[derive(Clone, Debug)]
pub struct RayonStore {
    pub(super) shape: Shape,
    pub(super) vectors: Vectors,
    pub(super) entries: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) enum Vectors {
    F32(Vec<f32>),
    F16(Vec<f16>),
}

impl RayonStore {
    /// Returns an empty store.
    pub(super) fn new(shape: Shape) -> Result<Self, VectorError> {
        shape.check()?;
        let vectors = match shape.precision {
            Precision::F32 => Vectors::F32(zeros(shape)?),
            Precision::F16 => Vectors::F16(zeros(shape)?),
            other => return Err(Error::Unsupported { what: format!("vectors in the precision {other:?}") }.into()),
        };
        Ok(Self { shape, vectors, entries: vec![] })
    }
}

impl VectorStore for RayonStore {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn entries(&self) -> usize {
        self.entries.len()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        if self.shape.check_write(slot, vectors)? == 0 {
            return Ok(());
        }
        let start = slot as usize * self.shape.dimension;
        let place = start..start + vectors.len();
        match &mut self.vectors {
            Vectors::F32(kept) => kept[place].copy_from_slice(vectors),
            Vectors::F16(kept) => kept[place].convert_from_f32_slice(vectors),
        }
        Ok(())
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.shape.check_entries(slots)?;
        self.entries.clear();
        self.entries.extend_from_slice(slots);
        Ok(())
    }
}

/// The numbers of an empty store, whose shape has been checked.
fn zeros<T: Clone + Default>(shape: Shape) -> Result<Vec<T>, Error> {
    let len = shape.dimension * shape.capacity;
    let mut numbers = vec![];
    let no_memory = |_| Error::OutOfMemory { asked: len as u64 * size_of::<T>() as u64, limit: None };
    numbers.try_reserve_exact(len).map_err(no_memory)?;
    numbers.resize(len, T::default());
    Ok(numbers)
}
