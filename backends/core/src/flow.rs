//! The steps of each operation, written once for blocking and for async calls: checks, words of the keys, the backend, keys again.
//!
//! Values are bytes here, so these functions are compiled once for each type of key, not for each pair of types.

use crate::checks::{check_pairs_into, check_segments};
use crate::words::{Pairs, Words, checked_words, rebuilt, shared_words};
use crate::{
    Backend, Error, Operation, Options, Runs, Segments, Sortable, Spec, TopK, Values, ValuesMut, memory, permutation,
    selected_len,
};
use core::ops::Range;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// Runs an operation on the backend of a [`Call`]. (A macro: the future of a function would be copied, which takes 10 % of a sort of 64 keys.)
macro_rules! run {
    ($call:ident, $operation:expr, $spec:expr) => {
        if $call.is_async { $call.backend.run_async($operation, $spec).await } else { $call.backend.run($operation, $spec) }
    };
}

/// All of a call but its operation and its data.
pub(crate) struct Call<'b, 's, B> {
    pub(crate) backend: &'b B,
    /// Whether to call `run_async` instead of `run`.
    pub(crate) is_async: bool,
    /// The segments that are processed separately, if there are any.
    pub(crate) segments: Option<Segments<'s>>,
    pub(crate) options: Options,
}

impl<'b, 's, B: Backend> Call<'b, 's, B> {
    /// A call whose future is ready at its first poll: [`now`] returns its result.
    pub(crate) fn blocking(backend: &'b B, options: Options) -> Self {
        Self { backend, is_async: false, segments: None, options }
    }

    /// A call that waits while the backend works.
    pub(crate) fn future(backend: &'b B, options: Options) -> Self {
        Self { is_async: true, ..Self::blocking(backend, options) }
    }

    /// The same call, on each segment separately.
    pub(crate) fn of_segments(self, segments: impl Into<Segments<'s>>) -> Self {
        Self { segments: Some(segments.into()), ..self }
    }

    /// Checks the options and the segments for `len` keys, and returns the order of their words.
    fn spec<K: Sortable>(&self, len: usize) -> Result<Spec, Error> {
        let spec = Spec::of::<K>(self.options)?;
        check_segments(self.segments, len)?;
        Ok(spec)
    }

    pub(crate) fn sort<K: Sortable>(self, keys: &mut [K]) -> impl Future<Output = Result<(), Error>> {
        self.order(keys, None)
    }

    pub(crate) fn partial_sort<K: Sortable>(self, keys: &mut [K], k: usize) -> impl Future<Output = Result<(), Error>> {
        self.order(keys, Some(0..k))
    }

    pub(crate) async fn select_nth<K: Sortable>(self, keys: &mut [K], n: usize) -> Result<(), Error> {
        if self.segments.is_none() && n >= keys.len() {
            return Err(Error::InvalidPosition { position: n, len: keys.len() });
        }
        // No segment is so long that it has the position that saturates.
        self.order(keys, Some(n..n.saturating_add(1))).await
    }

    /// Sorts keys, or puts those at `positions` where a sort would.
    async fn order<K: Sortable>(self, keys: &mut [K], positions: Option<Range<usize>>) -> Result<(), Error> {
        if !K::IS_REBUILT {
            permutation::gather_keys(keys, &self.argsort(keys).await?);
            return Ok(());
        }
        let (spec, segments) = (self.spec::<K>(keys.len())?, self.segments);
        let mut words = Words::of(keys)?;
        let keys = words.get();
        let operation = match positions {
            None => Operation::Sort { keys, segments },
            Some(positions) => Operation::PartialSort { keys, positions, segments },
        };
        run!(self, operation.into(), spec)?;
        words.finish()
    }

    pub(crate) async fn sort_into<K: Sortable>(self, keys: &[K], sorted: &mut [K]) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "sorted", sorted.len())?;
        if !K::IS_REBUILT {
            sorted.copy_from_slice(&permutation::gather(keys, &self.argsort(keys).await?));
            return Ok(());
        }
        let spec = self.spec::<K>(keys.len())?;
        if let Some(view) = K::IN_PLACE {
            let (keys, sorted) = (view.words(keys), view.words_mut(sorted));
            return run!(self, Operation::SortInto { keys, sorted }.into(), spec);
        }
        let mut words = checked_words(keys)?;
        run!(self, Operation::Sort { keys: &mut words, segments: None }.into(), spec)?;
        sorted.copy_from_slice(&rebuilt(&words)?);
        Ok(())
    }

    pub(crate) async fn sort_pairs<K: Sortable>(self, keys: &mut [K], mut values: ValuesMut<'_>) -> Result<(), Error> {
        Error::check_lengths("keys", keys.len(), "values", values.len())?;
        if !K::IS_REBUILT {
            let order = self.argsort(keys).await?;
            permutation::gather_keys(keys, &order);
            values.permute(&order);
            return Ok(());
        }
        let (spec, segments) = (self.spec::<K>(keys.len())?, self.segments);
        let mut pairs = Pairs::of(keys, values)?;
        let (keys, values) = pairs.get();
        run!(self, Operation::SortPairs { keys, values, segments }.into(), spec)?;
        pairs.finish()
    }

    pub(crate) async fn sort_pairs_into<K: Sortable>(
        self,
        (keys, values): (&[K], Values<'_>),
        (sorted_keys, mut sorted_values): (&mut [K], ValuesMut<'_>),
    ) -> Result<(), Error> {
        check_pairs_into(keys.len(), values.len(), sorted_keys.len(), sorted_values.len())?;
        let spec = self.spec::<K>(keys.len())?;
        if let Some(view) = K::IN_PLACE {
            let (keys, sorted_keys) = (view.words(keys), view.words_mut(sorted_keys));
            return run!(self, Operation::SortPairsInto { keys, values, sorted_keys, sorted_values }.into(), spec);
        }
        if K::IS_REBUILT {
            let (mut words, mut moved) = (checked_words(keys)?, memory::collected(values.bytes().iter().copied())?);
            let values = sorted_values.over(&mut moved);
            run!(self, Operation::SortPairs { keys: &mut words, values, segments: None }.into(), spec)?;
            sorted_keys.copy_from_slice(&rebuilt(&words)?);
            sorted_values.bytes_mut().copy_from_slice(&moved);
            return Ok(());
        }
        let order = self.argsort(keys).await?;
        sorted_keys.copy_from_slice(&permutation::gather(keys, &order));
        sorted_values.copy_from(values);
        sorted_values.permute(&order);
        Ok(())
    }

    pub(crate) async fn argsort<K: Sortable>(self, keys: &[K]) -> Result<Vec<u32>, Error> {
        let (spec, segments) = (self.spec::<K>(keys.len())?, self.segments);
        let mut indices = permutation::room(keys.len())?;
        let words = shared_words(keys)?;
        run!(self, Operation::Argsort { keys: &words, segments, indices: &mut indices }.into(), spec)?;
        Ok(indices)
    }

    pub(crate) async fn top_k<K: Sortable>(self, keys: &[K], k: usize) -> Result<TopK<K>, Error> {
        let (spec, segments) = (self.spec::<K>(keys.len())?, self.segments);
        permutation::check_len(keys.len())?;
        let words = shared_words(keys)?;
        let mut indices = vec![0; selected_len(k, segments, keys.len())];
        run!(self, Operation::TopK { keys: &words, k, segments, indices: &mut indices }.into(), spec)?;
        Ok(TopK { keys: permutation::gather(keys, &indices), indices })
    }

    pub(crate) async fn runs<K: Sortable>(self, keys: &[K]) -> Result<Runs, Error> {
        let spec = self.spec::<K>(keys.len())?;
        let words = shared_words(keys)?;
        let mut offsets = vec![];
        run!(self, Operation::Runs { keys: &words, offsets: &mut offsets }.into(), spec)?;
        Ok(Runs { offsets })
    }
}

/// Polls a future that never waits, and returns its result. The caller pins it where it is made, so its 900 bytes are not copied.
pub(crate) fn now<T>(ready: Pin<&mut impl Future<Output = T>>) -> T {
    match ready.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a blocking call is ready at its first poll"),
    }
}
