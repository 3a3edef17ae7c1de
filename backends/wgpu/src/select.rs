//! Selection: the first keys of an array, or of each of its segments, without a sort of the rest.

use crate::backend::WgpuBackend;
use crate::engine::Data;
use crate::wait::Waiting;
use polysort_core::{Error, Segments, Spec, Word, permutation};
use polysort_shaders::plan::{Request, Top};

/// From so many keys on, a segment is selected from by many workgroups. One workgroup reads so many in about the time
/// that a call takes.
const LONG: usize = 1 << 18;

/// All workgroups together select up to one of so many keys. A selection of more reads nearly as much as a sort.
const SELECTED: usize = 8;

impl WgpuBackend {
    /// Returns the positions of the first `k` words of the order.
    pub(crate) async fn top_k_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        k: usize,
        spec: Spec,
    ) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        let k = k.min(keys.len());
        // All workgroups together select many keys of an array. If `k` is a larger part of the keys, all keys are sorted.
        if !self.selects(k, keys.len(), spec) && (k == 0 || k > keys.len() / SELECTED || spec.width() == 0) {
            let mut order = self.argsort_words(waiting, keys, spec).await?;
            order.truncate(k);
            return Ok(order);
        }
        self.gpu().facts.limits(1).check("the GPU", keys.len(), size_of::<W>().max(4))?;
        let top = Top { k: k as u32, segmented: false };
        let request = Request::keys(W::BITS, spec, keys.len() as u64).select(top);
        let mut indices = vec![0_u32; k];
        let data = Data::Top(bytemuck::cast_slice(keys), &[], bytemuck::cast_slice_mut(&mut indices));
        self.engine().sort(waiting, request, data, None).await?;
        Ok(indices)
    }

    /// Returns the positions of the first `k` words of each segment, segment after segment.
    pub(crate) async fn top_k_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        k: usize,
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        segments.check(keys.len())?;
        permutation::check_len(keys.len())?;
        // Long segments, one by one; then all others at once.
        let mut selected = vec![vec![]; segments.len()];
        let (mut bounds, mut owners) = (vec![], vec![]);
        for (range, selected) in segments.ranges().zip(&mut selected) {
            if range.len() >= LONG {
                let indices = self.top_k_words(waiting, &keys[range.clone()], k, spec).await?;
                *selected = indices.into_iter().map(|index| index + range.start as u32).collect();
            } else {
                bounds.push([range.start, range.end]);
                owners.push(selected);
            }
        }
        let longest = bounds.iter().map(|[begin, end]| end - begin).max().unwrap_or(0);
        let k = k.min(longest);
        let facts = &self.gpu().facts;
        let fits = bounds.len() as u64 <= facts.limits(1).longest(4 * k.max(2)) && size_of_val(keys) as u64 <= facts.max_binding;
        if !fits || !self.selects(k, keys.len(), spec) {
            let order = self.argsort_segment_words(waiting, keys, segments, spec).await?;
            for ([begin, end], owner) in bounds.iter().zip(owners) {
                *owner = order[*begin..*end].iter().copied().take(k).collect();
            }
            return Ok(selected.concat());
        }
        let top = Top { k: k as u32, segmented: true };
        let request = Request::keys(W::BITS, spec, bounds.len() as u64).select(top);
        let mut indices = vec![0_u32; k * bounds.len()];
        // The bounds fit 32 bits, since the keys fit a binding.
        let words: Vec<[u32; 2]> = bounds.iter().map(|ends| ends.map(|end| end as u32)).collect();
        let data = Data::Top(bytemuck::cast_slice(keys), bytemuck::cast_slice(&words), bytemuck::cast_slice_mut(&mut indices));
        self.engine().sort(waiting, request, data, None).await?;
        for (([begin, end], owner), indices) in bounds.iter().zip(owners).zip(indices.chunks_exact(k)) {
            *owner = indices[..k.min(end - begin)].to_vec();
        }
        Ok(selected.concat())
    }

    /// Returns whether one workgroup can select `k` of so many keys. Otherwise they are sorted, or all workgroups
    /// together select them.
    fn selects(&self, k: usize, keys: usize, spec: Spec) -> bool {
        (1..=self.gpu().facts.most_selected() as usize).contains(&k) && keys > 1 && spec.width() > 0
    }
}
