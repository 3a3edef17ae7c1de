//! Selection: the first keys of an array, or of each of its segments, without a sort of the rest.

use crate::backend::WgpuBackend;
use crate::data::Data;
use crate::long::first;
use crate::portions::side_by_side;
use crate::wait::Waiting;
use core::ops::Range;
use polysort_core::{Error, Segments, Spec, Word, permutation};
use polysort_shaders::plan::{Payload, Request, Top};

/// From so many keys on, a segment is selected from by many workgroups. One workgroup reads so many in about the time
/// that a call takes.
const LONG: usize = 1 << 18;

/// All workgroups together select up to one of so many keys. A selection of more reads nearly as much as a sort.
const SELECTED: usize = 8;

impl WgpuBackend {
    /// Writes the positions of the first `indices.len()` words of the order. `indices` is not longer than `keys`.
    pub(crate) async fn top_k_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        let k = indices.len();
        if k == 0 {
            return Ok(());
        }
        // All workgroups together select many keys of an array. If `k` is a larger part of the keys, all keys are sorted.
        let sorts = !self.selects(k, keys.len(), spec) && (k > keys.len() / SELECTED || spec.width() == 0);
        if !sorts && keys.len() as u64 <= self.most_keys::<W>(Payload::Indices) {
            return self.select(waiting, keys, indices, spec).await;
        }
        let portions = (keys.len() as u64).div_ceil(self.usual_portion::<W>(Payload::Indices));
        if !sorts && portions * k as u64 <= self.usual_portion::<W>(Payload::Indices) {
            return Box::pin(self.select_long(waiting, keys, indices, spec)).await;
        }
        self.select_by_argsort(waiting, keys, indices, spec).await
    }

    /// Selects by an argsort of all keys.
    async fn select_by_argsort<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        let mut order = permutation::room(keys.len())?;
        self.argsort_words(waiting, keys, &mut order, spec).await?;
        indices.copy_from_slice(&order[..indices.len()]);
        Ok(())
    }

    /// Selects from more keys than the device takes at a time: from each portion, and then from the keys that were selected.
    async fn select_long<W: Word>(&self, waiting: Waiting, keys: &[W], indices: &mut [u32], spec: Spec) -> Result<(), Error> {
        let k = indices.len();
        let request = Request::keys(W::BITS, spec, 0).select(Top { k: k as u32, segmented: false });
        let portions = self.portions::<W>(waiting, request, keys.len()).await?;
        let ranges = portions.ranges(keys.len());
        let candidates: usize = ranges.iter().map(|range| range.len().min(k)).sum();
        if candidates as u64 > self.most_keys::<W>(Payload::Indices) {
            // The memory allows only small portions, from which too many keys would be selected.
            drop(portions);
            return self.select_by_argsort(waiting, keys, indices, spec).await;
        }
        let mut found = vec![0_u32; candidates];
        let (mut rest, roomy) = (&mut found[..], self.within(&portions));
        let works = ranges.iter().map(|range| roomy.select_from(keys, range.clone(), first(&mut rest, range.len().min(k)), spec));
        side_by_side(works.collect()).await?;
        // Both have the reserved memory, which the selection below may need.
        drop((roomy, portions));
        // The portions are in the order of the keys, and so are equal keys that were selected from them.
        let selected = permutation::gather(keys, &found);
        let mut chosen = vec![0; k];
        if selected.len() > k {
            self.select(waiting, &selected, &mut chosen, spec).await?;
        } else {
            permutation::fill_identity(&mut chosen);
        }
        indices.iter_mut().zip(chosen).for_each(|(index, chosen)| *index = found[chosen as usize]);
        Ok(())
    }

    /// Writes the positions of the first words of a range.
    async fn select_from<W: Word>(&self, keys: &[W], range: Range<usize>, indices: &mut [u32], spec: Spec) -> Result<(), Error> {
        if indices.len() == range.len() {
            self.argsort_words(Waiting::Elsewhere, &keys[range.clone()], indices, spec).await?;
        } else {
            self.select(Waiting::Elsewhere, &keys[range.clone()], indices, spec).await?;
        }
        indices.iter_mut().for_each(|index| *index += range.start as u32);
        Ok(())
    }

    /// Writes the positions of the first words, by one selection on the device.
    async fn select<W: Word>(&self, waiting: Waiting, keys: &[W], indices: &mut [u32], spec: Spec) -> Result<(), Error> {
        let k = indices.len();
        let top = Top { k: k as u32, segmented: false };
        let request = Request::keys(W::BITS, spec, keys.len() as u64).select(top);
        let data = Data::Top(bytemuck::cast_slice(keys), &[], bytemuck::cast_slice_mut(indices));
        self.engine().sort(waiting, request, data, None).await
    }

    /// Writes the positions of the first `k` words of each segment, segment after segment.
    pub(crate) async fn top_k_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        k: usize,
        segments: Segments<'_>,
        mut indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        permutation::check_len(keys.len())?;
        // Long segments, one by one; then all others at once.
        let (mut bounds, mut owners) = (vec![], vec![]);
        for range in segments.ranges() {
            let (own, others) = core::mem::take(&mut indices).split_at_mut(range.len().min(k));
            indices = others;
            if range.len() >= LONG {
                self.top_k_words(waiting, &keys[range.clone()], own, spec).await?;
                own.iter_mut().for_each(|index| *index += range.start as u32);
            } else {
                bounds.push([range.start, range.end]);
                owners.push(own);
            }
        }
        let longest = bounds.iter().map(|[begin, end]| end - begin).max().unwrap_or(0);
        let k = k.min(longest);
        if k == 0 {
            return Ok(());
        }
        let facts = self.facts();
        let fits = bounds.len() as u64 <= facts.limits(1).longest(4 * k.max(2)) && size_of_val(keys) as u64 <= facts.max_binding;
        if !fits || !self.selects(k, keys.len(), spec) {
            let mut order = permutation::room(keys.len())?;
            self.argsort_segment_words(waiting, keys, segments, &mut order, spec).await?;
            for ([begin, _], own) in bounds.iter().zip(owners) {
                own.copy_from_slice(&order[*begin..][..own.len()]);
            }
            return Ok(());
        }
        let top = Top { k: k as u32, segmented: true };
        let request = Request::keys(W::BITS, spec, bounds.len() as u64).select(top);
        let mut selected = vec![0_u32; k * bounds.len()];
        // The bounds fit 32 bits, since the keys fit a binding.
        let words: Vec<[u32; 2]> = bounds.iter().map(|ends| ends.map(|end| end as u32)).collect();
        let data = Data::Top(bytemuck::cast_slice(keys), bytemuck::cast_slice(&words), bytemuck::cast_slice_mut(&mut selected));
        self.engine().sort(waiting, request, data, None).await?;
        for (own, selected) in owners.into_iter().zip(selected.chunks_exact(k)) {
            own.copy_from_slice(&selected[..own.len()]);
        }
        Ok(())
    }

    /// Returns whether one workgroup can select `k` of so many keys. Otherwise they are sorted, or all workgroups
    /// together select them.
    fn selects(&self, k: usize, keys: usize, spec: Spec) -> bool {
        (1..=self.facts().most_selected() as usize).contains(&k) && keys > 1 && spec.width() > 0
    }
}
