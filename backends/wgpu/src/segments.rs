//! Segments: two sorts of all of them at once, by the key and then by the segment, however many there are.

use crate::backend::WgpuBackend;
use crate::wait::Waiting;
use bytemuck::Pod;
use polysort_core::{Error, Masks, Segments, Spec, Word, permutation};

impl WgpuBackend {
    /// The permutation that sorts each segment by itself.
    pub(crate) async fn argsort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<Vec<u32>, Error> {
        spec.check::<W>()?;
        segments.check(keys.len())?;
        let mut order = permutation::identity(keys.len())?;
        // What lies in segments that have an order, and in which.
        let (mut positions, mut owners, mut inside) = (vec![], vec![], vec![]);
        let mut count = 0_u32;
        for range in segments.ranges().filter(|range| range.len() > 1) {
            positions.extend_from_slice(&order[range.clone()]);
            owners.resize(positions.len(), count);
            inside.extend_from_slice(&keys[range]);
            count += 1;
        }
        let by_key = self.argsort_words(waiting, &inside, spec).await?;
        let mut sorted = permutation::gather(&positions, &by_key);
        if count > 1 {
            let mut owners = permutation::gather(&owners, &by_key);
            let by_owner = Spec::new::<u32>(Masks::UNSIGNED, 0, 32 - (count - 1).leading_zeros())?;
            self.sort_word_pairs(waiting, &mut owners, &mut sorted, by_owner).await?;
        }
        for (&place, &from) in positions.iter().zip(&sorted) {
            order[place as usize] = from;
        }
        Ok(order)
    }

    /// Sorts each segment of words by itself.
    pub(crate) async fn sort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        let order = self.argsort_segment_words(waiting, keys, segments, spec).await?;
        keys.copy_from_slice(&permutation::gather(keys, &order));
        Ok(())
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
        let order = self.argsort_segment_words(waiting, keys, segments, spec).await?;
        permutation::gather_pairs(keys, values, &order);
        Ok(())
    }
}
