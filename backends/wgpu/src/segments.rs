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
        let Some(work) = self.work::<W>(keys.len(), Payload::None, segments, spec)? else { return Ok(()) };
        if !self.is_sorted_by_lists(waiting, &work, Data::Keys(bytemuck::cast_slice_mut(keys))).await? {
            let order = self.order_of_many(waiting, keys, &work).await?;
            permutation::gather_keys(keys, &order);
        }
        Ok(())
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
        match payload(values.size()) {
            Ok(Payload::None) => return self.sort_segment_words(waiting, keys, segments, spec).await,
            Ok(payload) => {
                let Some(work) = self.work::<W>(keys.len(), payload, segments, spec)? else { return Ok(()) };
                let data = Data::Pairs(bytemuck::cast_slice_mut(keys), values.bytes_mut());
                if self.is_sorted_by_lists(waiting, &work, data).await? {
                    return Ok(());
                }
            }
            Err(_) => {}
        }
        let mut order = permutation::room(keys.len())?;
        self.argsort_segment_words(waiting, keys, segments, &mut order, spec).await?;
        permutation::gather_keys(keys, &order);
        values.permute(&order);
        Ok(())
    }

    /// Returns the segments to sort; `None` if there is nothing to sort.
    fn work<W: Word>(&self, count: usize, payload: Payload, segments: Segments<'_>, spec: Spec) -> Result<Option<Work>, Error> {
        permutation::check_len(count)?;
        let moving = || segments.ranges().filter(|range| range.len() > 1);
        if spec.width() == 0 || moving().next().is_none() {
            return Ok(None);
        }
        // A shorter key takes a word while it is sorted.
        self.gpu().facts.limits(payload.words()).check("the GPU", count, size_of::<W>().max(4))?;
        let begins: Vec<u32> = moving().map(|range| range.start as u32).collect();
        let ends = moving().map(|range| range.end as u32).collect();
        let of = Segmented { max: begins.len() as u32, begins: Place::default(), ends: Place::default() };
        let request = Request { payload, ..Request::keys(W::BITS, spec, count as u64) }.in_segments(of);
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
