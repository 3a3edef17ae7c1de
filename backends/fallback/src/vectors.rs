//! Vector search on one backend after another.

use crate::Fallback;
use core::fmt;
use polysort_core::Error;
use polysort_vector::{Distances, Nearest, Search, Shape, VectorError, VectorSearch, VectorStore};

/// The vectors of a [`Fallback`], in the memory of both backends.
///
/// Searches run on the primary backend. If it fails for a reason that is not the caller's, the secondary backend answers the search. If a write to the
/// primary store fails, the vectors are in the secondary store only from then on. A new store is on both backends again.
pub struct FallbackStore<P: VectorSearch, S: VectorSearch> {
    /// The backend that was primary when the store was made, and its vectors. `None` if it has none or not all of them.
    primary: Option<(P, P::Store)>,
    secondary: S::Store,
    fallback: Fallback<P, S>,
}

/// Separates a failure of the device from the outcomes that the caller gets: an answer, or the caller's mistake.
fn outcome<T>(outcome: Result<T, VectorError>) -> Result<Result<T, VectorError>, Error> {
    match outcome {
        Err(VectorError::General(error)) if !error.is_misuse() => Err(error),
        outcome => Ok(outcome),
    }
}

impl<P: VectorSearch, S: VectorSearch> FallbackStore<P, S> {
    /// Returns whether the primary backend has the vectors.
    pub fn is_on_primary(&self) -> bool {
        self.primary.is_some()
    }

    /// Changes both stores: the secondary one first, which then holds what every later call relies on.
    fn change(
        &mut self,
        on_secondary: impl FnOnce(&mut S::Store) -> Result<(), VectorError>,
        on_primary: impl FnOnce(&mut P::Store) -> Result<(), VectorError>,
    ) -> Result<(), VectorError> {
        on_secondary(&mut self.secondary)?;
        let Some((_, store)) = &mut self.primary else { return Ok(()) };
        let changed = on_primary(store).map_err(|error| match error {
            VectorError::General(error) => error,
            // The secondary backend took the call, so it is the primary backend that does not support it.
            error => Error::Unsupported { what: error.to_string() },
        });
        if !matches!(self.fallback.taken(changed), Some(Ok(()))) {
            self.primary = None;
        }
        Ok(())
    }

    fn search<T>(
        &self,
        on_primary: impl FnOnce(&P, &P::Store) -> Result<T, VectorError>,
        on_secondary: impl FnOnce(&S, &S::Store) -> Result<T, VectorError>,
    ) -> Result<T, VectorError> {
        let on_primary = self.primary.as_ref().map(|(backend, store)| outcome(on_primary(backend, store)));
        match on_primary.and_then(|outcome| self.fallback.taken(outcome)) {
            Some(answer) => answer?,
            None => on_secondary(self.fallback.secondary(), &self.secondary),
        }
    }
}

impl<P: VectorSearch, S: VectorSearch> VectorStore for FallbackStore<P, S> {
    fn shape(&self) -> Shape {
        self.secondary.shape()
    }

    fn entries(&self) -> usize {
        self.secondary.entries()
    }

    fn write(&mut self, slot: u32, vectors: &[f32]) -> Result<(), VectorError> {
        self.change(|store| store.write(slot, vectors), |store| store.write(slot, vectors))
    }

    fn set_entries(&mut self, slots: &[u32]) -> Result<(), VectorError> {
        self.change(|store| store.set_entries(slots), |store| store.set_entries(slots))
    }
}

impl<P: VectorSearch, S: VectorSearch> VectorSearch for Fallback<P, S> {
    type Store = FallbackStore<P, S>;

    /// Makes a store on both backends, or on the secondary one alone if the primary one cannot be opened or fails. So the vectors take memory on both.
    fn vector_store(&self, shape: Shape) -> Result<Self::Store, VectorError> {
        let secondary = self.secondary().vector_store(shape)?;
        let made = self.on_primary(|primary| outcome(primary.vector_store(shape).map(|store| (primary.clone(), store))));
        let primary = made.transpose()?.transpose()?;
        Ok(FallbackStore { primary, secondary, fallback: self.clone() })
    }

    fn distances(&self, store: &Self::Store, search: &Search<'_>) -> Result<Distances, VectorError> {
        store.search(|backend, store| backend.distances(store, search), |backend, store| backend.distances(store, search))
    }

    fn nearest(&self, store: &Self::Store, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        store.search(|backend, store| backend.nearest(store, search, k), |backend, store| backend.nearest(store, search, k))
    }
}

impl<P: VectorSearch, S: VectorSearch> fmt::Debug for FallbackStore<P, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallbackStore").field("shape", &self.shape()).field("is_on_primary", &self.is_on_primary()).finish()
    }
}
