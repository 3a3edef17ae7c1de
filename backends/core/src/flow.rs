//! The steps of each operation, written once for blocking and for async calls: checks, words of the keys, the backend, keys again.
//!
//! Values are bytes here, so these functions are compiled once for each type of key, not for each pair of types.

use crate::checks::{check_pairs_into, check_segments};
use crate::words::{Pairs, Words, checked_words, rebuilt, shared_words};
use crate::{
    AnyOperation, Backend, Error, Operation, Options, Runs, Segments, Sortable, Spec, TopK, Values, ValuesMut, memory,
    permutation, selected_len,
};
use core::ops::Range;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// How a call runs its operation.
pub(crate) struct By<'b, B> {
    backend: &'b B,
    /// Whether to call `run_async` instead of `run`.
    is_async: bool,
}

impl<B> Clone for By<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for By<'_, B> {}

impl<'b, B: Backend> By<'b, B> {
    /// The future of the call is ready at its first poll.
    pub(crate) fn blocking(backend: &'b B) -> Self {
        Self { backend, is_async: false }
    }

    pub(crate) fn future(backend: &'b B) -> Self {
        Self { backend, is_async: true }
    }

    async fn run(self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        if self.is_async { self.backend.run_async(operation, spec).await } else { self.backend.run(operation, spec) }
    }
}

/// The result of a future that never waits.
pub(crate) fn now<T>(ready: impl Future<Output = T>) -> T {
    match pin!(ready).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a blocking call is ready at its first poll"),
    }
}

pub(crate) async fn sort<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &mut [K],
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<(), Error> {
    order(by, keys, None, segments, options).await
}

pub(crate) async fn partial_sort<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &mut [K],
    k: usize,
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<(), Error> {
    order(by, keys, Some(0..k), segments, options).await
}

pub(crate) async fn select_nth<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &mut [K],
    n: usize,
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<(), Error> {
    if segments.is_none() && n >= keys.len() {
        return Err(Error::InvalidPosition { position: n, len: keys.len() });
    }
    // No segment is so long that it has the position that saturates.
    order(by, keys, Some(n..n.saturating_add(1)), segments, options).await
}

/// Sorts keys, or puts those at `positions` where a sort would.
async fn order<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &mut [K],
    positions: Option<Range<usize>>,
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<(), Error> {
    if !K::IS_REBUILT {
        let order = argsort(by, keys, segments, options).await?;
        permutation::gather_keys(keys, &order);
        return Ok(());
    }
    let spec = Spec::of::<K>(options)?;
    check_segments(segments, keys.len())?;
    let mut words = Words::of(keys)?;
    let keys = words.get();
    let operation = match positions {
        None => Operation::Sort { keys, segments },
        Some(positions) => Operation::PartialSort { keys, positions, segments },
    };
    by.run(operation.into(), spec).await?;
    words.finish()
}

pub(crate) async fn sort_into<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &[K],
    sorted: &mut [K],
    options: Options,
) -> Result<(), Error> {
    Error::check_lengths("keys", keys.len(), "sorted", sorted.len())?;
    if !K::IS_REBUILT {
        let order = argsort(by, keys, None, options).await?;
        sorted.copy_from_slice(&permutation::gather(keys, &order));
        return Ok(());
    }
    let spec = Spec::of::<K>(options)?;
    if let Some(view) = K::IN_PLACE {
        let (keys, sorted) = (view.words(keys), view.words_mut(sorted));
        return by.run(Operation::SortInto { keys, sorted }.into(), spec).await;
    }
    let mut words = checked_words(keys)?;
    by.run(Operation::Sort { keys: &mut words, segments: None }.into(), spec).await?;
    sorted.copy_from_slice(&rebuilt(&words)?);
    Ok(())
}

pub(crate) async fn sort_pairs<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &mut [K],
    mut values: ValuesMut<'_>,
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<(), Error> {
    Error::check_lengths("keys", keys.len(), "values", values.len())?;
    if !K::IS_REBUILT {
        let order = argsort(by, keys, segments, options).await?;
        let sorted = permutation::gather(keys, &order);
        values.permute(&order);
        keys.copy_from_slice(&sorted);
        return Ok(());
    }
    let spec = Spec::of::<K>(options)?;
    check_segments(segments, keys.len())?;
    let mut pairs = Pairs::of(keys, values)?;
    let (keys, values) = pairs.get();
    by.run(Operation::SortPairs { keys, values, segments }.into(), spec).await?;
    pairs.finish()
}

pub(crate) async fn sort_pairs_into<K: Sortable>(
    by: By<'_, impl Backend>,
    (keys, values): (&[K], Values<'_>),
    (sorted_keys, mut sorted_values): (&mut [K], ValuesMut<'_>),
    options: Options,
) -> Result<(), Error> {
    check_pairs_into(keys.len(), values.len(), sorted_keys.len(), sorted_values.len())?;
    let spec = Spec::of::<K>(options)?;
    if let Some(view) = K::IN_PLACE {
        let operation =
            Operation::SortPairsInto { keys: view.words(keys), values, sorted_keys: view.words_mut(sorted_keys), sorted_values };
        return by.run(operation.into(), spec).await;
    }
    if K::IS_REBUILT {
        let (mut words, mut moved) = (checked_words(keys)?, memory::collected(values.bytes().iter().copied())?);
        let values = sorted_values.over(&mut moved);
        by.run(Operation::SortPairs { keys: &mut words, values, segments: None }.into(), spec).await?;
        sorted_keys.copy_from_slice(&rebuilt(&words)?);
        sorted_values.bytes_mut().copy_from_slice(&moved);
        return Ok(());
    }
    let order = argsort(by, keys, None, options).await?;
    let sorted = permutation::gather(keys, &order);
    sorted_values.copy_from(values);
    sorted_values.permute(&order);
    sorted_keys.copy_from_slice(&sorted);
    Ok(())
}

pub(crate) async fn argsort<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &[K],
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<Vec<u32>, Error> {
    let spec = Spec::of::<K>(options)?;
    check_segments(segments, keys.len())?;
    let mut indices = permutation::room(keys.len())?;
    let words = shared_words(keys)?;
    by.run(Operation::Argsort { keys: &words, segments, indices: &mut indices }.into(), spec).await?;
    Ok(indices)
}

pub(crate) async fn top_k<K: Sortable>(
    by: By<'_, impl Backend>,
    keys: &[K],
    k: usize,
    segments: Option<Segments<'_>>,
    options: Options,
) -> Result<TopK<K>, Error> {
    let spec = Spec::of::<K>(options)?;
    check_segments(segments, keys.len())?;
    permutation::check_len(keys.len())?;
    let words = shared_words(keys)?;
    let mut indices = vec![0; selected_len(k, segments, keys.len())];
    by.run(Operation::TopK { keys: &words, k, segments, indices: &mut indices }.into(), spec).await?;
    Ok(TopK { keys: permutation::gather(keys, &indices), indices })
}

pub(crate) async fn runs<K: Sortable>(by: By<'_, impl Backend>, keys: &[K], options: Options) -> Result<Runs, Error> {
    let spec = Spec::of::<K>(options)?;
    let words = shared_words(keys)?;
    let mut offsets = vec![];
    by.run(Operation::Runs { keys: &words, offsets: &mut offsets }.into(), spec).await?;
    Ok(Runs { offsets })
}
