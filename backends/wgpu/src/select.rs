//! Selection: the first keys of an array, or of each of its segments, without a sort of the rest.

use crate::backend::WgpuBackend;
use crate::data::Data;
use crate::wait::Waiting;
use polysort_core::{Error, Segments, Spec, Word, permutation};
use polysort_shaders::plan::{Request, Top};

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
        if !self.selects(k, keys.len(), spec) && (k > keys.len() / SELECTED || spec.width() == 0) {
            let mut order = permutation::room(keys.len())?;
            self.argsort_words(waiting, keys, &mut order, spec).await?;
            indices.copy_from_slice(&order[..k]);
            return Ok(());
        }
        self.facts().limits(1).check("the GPU", keys.len(), size_of::<W>().max(4))?;
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
