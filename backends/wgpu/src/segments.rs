//! Segments: each is sorted by itself, all in one call.

use crate::backend::WgpuBackend;
use crate::engine::{Data, Lists};
use crate::sorter::payload;
use crate::wait::Waiting;
use bytemuck::Pod;
use polysort_core::plan::{Payload, Place, Request, Segmented};
use polysort_core::{Error, Segments, Spec, Word, permutation};

impl WgpuBackend {
    /// The permutation that sorts each segment by itself.
    pub(crate) async fn argsort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<Vec<u32>, Error> {
        let mut indices = permutation::identity(keys.len())?;
        let data = Data::Indices(bytemuck::cast_slice(keys), bytemuck::cast_slice_mut(&mut indices));
        self.run_segments::<W>(waiting, keys.len(), Payload::Indices, data, segments, spec).await?;
        Ok(indices)
    }

    /// Sorts each segment of words by itself.
    pub(crate) async fn sort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        let (count, data) = (keys.len(), Data::Keys(bytemuck::cast_slice_mut(keys)));
        self.run_segments::<W>(waiting, count, Payload::None, data, segments, spec).await
    }

    /// Sorts each segment of words by itself, and moves values along.
    pub(crate) async fn sort_segment_word_pairs<W: Word, V: Pod>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        values: &mut [V],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        let Ok(payload @ Payload::Words(_)) = payload(size_of::<V>()) else {
            let order = self.argsort_segment_words(waiting, keys, segments, spec).await?;
            permutation::gather_pairs(keys, values, &order);
            return Ok(());
        };
        let count = keys.len();
        let data = Data::Pairs(bytemuck::cast_slice_mut(keys), bytemuck::cast_slice_mut(values));
        self.run_segments::<W>(waiting, count, payload, data, segments, spec).await
    }

    async fn run_segments<W: Word>(
        &self,
        waiting: Waiting,
        count: usize,
        payload: Payload,
        data: Data<'_>,
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        spec.check::<W>()?;
        segments.check(count)?;
        // Where nothing moves, the data is left as it is.
        let moving = || segments.ranges().filter(|range| range.len() > 1);
        if spec.width() == 0 || moving().next().is_none() {
            return Ok(());
        }
        // Shorter keys take a word each while they are sorted. So many positions fit 32 bits.
        self.gpu().facts.limits(payload.words()).check("the GPU", count, size_of::<W>().max(4))?;
        let begins: Vec<u32> = moving().map(|range| range.start as u32).collect();
        let ends: Vec<u32> = moving().map(|range| range.end as u32).collect();
        let of = Segmented { max: begins.len() as u32, begins: Place::default(), ends: Place::default() };
        let request = Request { payload, ..Request::keys(W::BITS, spec, count as u64) }.in_segments(of);
        let lists = Lists { begins: bytemuck::cast_slice(&begins), ends: bytemuck::cast_slice(&ends) };
        self.engine(waiting).await.sort(request, data, Some(lists)).await
    }
}
