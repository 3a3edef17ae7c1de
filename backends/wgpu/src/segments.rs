//! Sorts of segments: each by itself, all of them in one call.

use crate::backend::WgpuBackend;
use crate::data::{Data, Lists};
use crate::sorter::payload;
use crate::wait::Waiting;
use polysort_core::{Error, Masks, Segments, Spec, ValuesMut, Word, permutation};
use polysort_shaders::plan::{Payload, Place, Request, Segmented};

/// The begins and ends of the segments with at least two keys, and the request that sorts them.
struct Work {
    begins: Vec<u32>,
    ends: Vec<u32>,
    request: Request,
}

impl WgpuBackend {
    /// Writes the permutation that sorts each segment by itself.
    pub(crate) async fn argsort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        segments: Segments<'_>,
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        if keys.len() as u64 <= self.most_keys::<W>(Payload::Indices) {
            let sorted = self.argsort_short_segments(waiting, keys, segments, indices, spec).await;
            if !self.needs_portions::<W>(&sorted, keys.len(), Payload::Indices) {
                return sorted;
            }
        }
        Box::pin(self.argsort_long_segments(waiting, keys, segments, indices, spec)).await
    }

    /// Writes the permutation that sorts each segment of an array that the device takes at a time.
    pub(crate) async fn argsort_short_segments<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        segments: Segments<'_>,
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        permutation::fill_identity(indices);
        let Some(work) = self.work::<W>(keys.len(), Payload::Indices, segments, spec)? else { return Ok(()) };
        let data = Data::Indices(bytemuck::cast_slice(keys), bytemuck::cast_slice_mut(indices));
        if !self.is_sorted_by_lists(waiting, &work, data).await? {
            indices.copy_from_slice(&self.order_of_many(waiting, keys, &work).await?);
        }
        Ok(())
    }

    /// Sorts each segment of words by itself.
    pub(crate) async fn sort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        let mut nothing = vec![(); keys.len()];
        self.sort_segment_word_pairs(waiting, keys, ValuesMut::of(&mut nothing), segments, spec).await
    }

    /// Sorts each segment of words by itself, and moves each value with its word.
    pub(crate) async fn sort_segment_word_pairs<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        mut values: ValuesMut<'_>,
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        let Ok(payload) = payload(values.size()) else {
            let mut order = permutation::room(keys.len())?;
            self.argsort_segment_words(waiting, keys, segments, &mut order, spec).await?;
            permutation::gather_keys(keys, &order);
            values.permute(&order);
            return Ok(());
        };
        if keys.len() as u64 <= self.most_keys::<W>(payload) {
            let sorted = self.sort_short_segment_pairs(waiting, keys, values.by_ref(), payload, segments, spec).await;
            if !self.needs_portions::<W>(&sorted, keys.len(), payload) {
                return sorted;
            }
        }
        Box::pin(self.sort_long_segments(waiting, keys, values, payload, segments, spec)).await
    }

    /// Sorts each segment of an array of words that the device takes at a time, and moves each value with its word.
    pub(crate) async fn sort_short_segment_pairs<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        mut values: ValuesMut<'_>,
        payload: Payload,
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        let Some(work) = self.work::<W>(keys.len(), payload, segments, spec)? else { return Ok(()) };
        let bytes = bytemuck::cast_slice_mut(keys);
        let data = if payload == Payload::None { Data::Keys(bytes) } else { Data::Pairs(bytes, values.bytes_mut()) };
        if !self.is_sorted_by_lists(waiting, &work, data).await? {
            let order = self.order_of_many(waiting, keys, &work).await?;
            permutation::gather_keys(keys, &order);
            values.permute(&order);
        }
        Ok(())
    }

    /// Returns the segments to sort; `None` if there is nothing to sort.
    fn work<W: Word>(&self, count: usize, payload: Payload, segments: Segments<'_>, spec: Spec) -> Result<Option<Work>, Error> {
        let moving = || segments.ranges().filter(|range| range.len() > 1);
        if spec.width() == 0 || moving().next().is_none() {
            return Ok(None);
        }
        let begins: Vec<u32> = moving().map(|range| range.start as u32).collect();
        let ends = moving().map(|range| range.end as u32).collect();
        let of = Segmented { max: begins.len() as u32, begins: Place::default(), ends: Place::default() };
        let request = Request { payload, ..Request::keys(W::BITS, spec, count as u64) }.in_segments(of).quick_to_compile();
        Ok(Some(Work { begins, ends, request }))
    }

    /// Sorts with lists of segments that the device makes. Returns `false` if the lists do not fit a binding; then
    /// nothing has changed.
    async fn is_sorted_by_lists(&self, waiting: Waiting, work: &Work, data: Data<'_>) -> Result<bool, Error> {
        let lists = Lists { begins: bytemuck::cast_slice(&work.begins), ends: bytemuck::cast_slice(&work.ends) };
        match self.engine().sort(waiting, work.request, data, Some(lists)).await {
            Ok(()) => Ok(true),
            // The number of keys has been checked before: there are too many segments.
            Err(Error::TooLong { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the permutation that sorts each segment, if lists cannot hold so many: it sorts by the key, and then
    /// stably by the begin of the key's segment.
    async fn order_of_many<W: Word>(&self, waiting: Waiting, keys: &[W], work: &Work) -> Result<Vec<u32>, Error> {
        let mut order = permutation::room(keys.len())?;
        self.argsort_words(waiting, keys, &mut order, work.request.spec).await?;
        // A key outside all segments is a segment by itself.
        let mut owners = permutation::identity(keys.len())?;
        for (&begin, &end) in work.begins.iter().zip(&work.ends) {
            owners[begin as usize..end as usize].fill(begin);
        }
        let mut owners = permutation::gather(&owners, &order);
        let by_owner = Spec::new::<u32>(Masks::UNSIGNED, 0, u32::BITS)?;
        self.sort_word_pairs(waiting, &mut owners, ValuesMut::of(&mut order), by_owner).await?;
        Ok(order)
    }
}
