//! The operations on slices of the host.

use crate::backend::WgpuBackend;
use crate::data::Data;
use crate::sorter::payload;
use crate::wait::Waiting;
use polysort_core::{Error, Operation, Spec, Values, ValuesMut, Word, permutation};
use polysort_shaders::plan::{Payload, Request};

impl WgpuBackend {
    /// Runs an operation.
    pub(crate) async fn run_on_words<W: Word>(
        &self,
        waiting: Waiting,
        operation: Operation<'_, W>,
        spec: Spec,
    ) -> Result<(), Error> {
        operation.check(spec)?;
        match operation {
            // Keys are copied to the device and back in any case, and a sort puts all of them where they belong.
            Operation::Sort { keys, segments: None } | Operation::PartialSort { keys, segments: None, .. } => {
                self.sort_words(waiting, keys, spec).await
            }
            Operation::Sort { keys, segments: Some(segments) }
            | Operation::PartialSort { keys, segments: Some(segments), .. } => {
                self.sort_segment_words(waiting, keys, segments, spec).await
            }
            Operation::SortPairs { keys, values, segments: None } => self.sort_word_pairs(waiting, keys, values, spec).await,
            Operation::SortPairs { keys, values, segments: Some(segments) } => {
                self.sort_segment_word_pairs(waiting, keys, values, segments, spec).await
            }
            Operation::SortInto { keys, sorted } => self.sort_words_into(waiting, keys, sorted, spec).await,
            Operation::SortPairsInto { keys, values, sorted_keys, sorted_values } => {
                self.sort_word_pairs_into(waiting, (keys, values), (sorted_keys, sorted_values), spec).await
            }
            Operation::Argsort { keys, segments: None, indices } => self.argsort_words(waiting, keys, indices, spec).await,
            Operation::Argsort { keys, segments: Some(segments), indices } => {
                self.argsort_segment_words(waiting, keys, segments, indices, spec).await
            }
            Operation::TopK { keys, segments: None, indices, .. } => self.top_k_words(waiting, keys, indices, spec).await,
            Operation::TopK { keys, k, segments: Some(segments), indices } => {
                self.top_k_segment_words(waiting, keys, k, segments, indices, spec).await
            }
            Operation::Runs { keys, offsets } => self.runs_of_words(waiting, keys, offsets, spec).await,
        }
    }

    async fn sort_words<W: Word>(&self, waiting: Waiting, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        if is_sorted(keys, spec) {
            return Ok(());
        }
        self.sort_data::<W>(waiting, keys.len(), Payload::None, Data::Keys(bytemuck::cast_slice_mut(keys)), spec).await
    }

    async fn sort_words_into<W: Word>(&self, waiting: Waiting, keys: &[W], sorted: &mut [W], spec: Spec) -> Result<(), Error> {
        if is_sorted(keys, spec) {
            sorted.copy_from_slice(keys);
            return Ok(());
        }
        let data = Data::KeysInto(bytemuck::cast_slice(keys), bytemuck::cast_slice_mut(sorted));
        self.sort_data::<W>(waiting, keys.len(), Payload::None, data, spec).await
    }

    /// Sorts words in place, and moves each value with its word.
    pub(crate) async fn sort_word_pairs<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        mut values: ValuesMut<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        if is_sorted(keys, spec) {
            return Ok(());
        }
        match payload(values.size()) {
            Ok(Payload::None) => self.sort_words(waiting, keys, spec).await,
            Ok(payload) => {
                let count = keys.len();
                let data = Data::Pairs(bytemuck::cast_slice_mut(keys), values.bytes_mut());
                self.sort_data::<W>(waiting, count, payload, data, spec).await
            }
            Err(_) => {
                let mut order = permutation::room(keys.len())?;
                self.argsort_words(waiting, keys, &mut order, spec).await?;
                permutation::gather_keys(keys, &order);
                values.permute(&order);
                Ok(())
            }
        }
    }

    async fn sort_word_pairs_into<W: Word>(
        &self,
        waiting: Waiting,
        (keys, values): (&[W], Values<'_>),
        (sorted_keys, mut sorted_values): (&mut [W], ValuesMut<'_>),
        spec: Spec,
    ) -> Result<(), Error> {
        if is_sorted(keys, spec) {
            sorted_keys.copy_from_slice(keys);
            sorted_values.copy_from(values);
            return Ok(());
        }
        match payload(values.size()) {
            Ok(Payload::None) => self.sort_words_into(waiting, keys, sorted_keys, spec).await,
            Ok(payload) => {
                let outputs = (bytemuck::cast_slice_mut(sorted_keys), sorted_values.bytes_mut());
                let data = Data::PairsInto((bytemuck::cast_slice(keys), values.bytes()), outputs);
                self.sort_data::<W>(waiting, keys.len(), payload, data, spec).await
            }
            Err(_) => {
                let mut order = permutation::room(keys.len())?;
                self.argsort_words(waiting, keys, &mut order, spec).await?;
                sorted_keys.copy_from_slice(&permutation::gather(keys, &order));
                sorted_values.copy_from(values);
                sorted_values.permute(&order);
                Ok(())
            }
        }
    }

    /// Writes the permutation that sorts the words.
    pub(crate) async fn argsort_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        if is_sorted(keys, spec) {
            permutation::fill_identity(indices);
            return Ok(());
        }
        let data = Data::Indices(bytemuck::cast_slice(keys), bytemuck::cast_slice_mut(indices));
        self.sort_data::<W>(waiting, keys.len(), Payload::Indices, data, spec).await
    }

    async fn sort_data<W: Word>(
        &self,
        waiting: Waiting,
        count: usize,
        payload: Payload,
        mut data: Data<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        if count as u64 <= self.most_keys::<W>(payload) {
            let request = Request { payload, ..Request::keys(W::BITS, spec, count as u64) }.quick_to_compile();
            let sorted = self.engine().sort(waiting, request, data.by_ref(), None).await;
            if !self.needs_portions::<W>(&sorted, count, payload) {
                return sorted;
            }
        }
        Box::pin(self.sort_long::<W>(waiting, count, payload, data, spec)).await
    }
}

/// Whether keys are in order whatever their bits are.
fn is_sorted<W>(keys: &[W], spec: Spec) -> bool {
    keys.len() < 2 || spec.width() == 0
}
