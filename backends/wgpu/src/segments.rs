//! Segments: one sort of all of them at once, by the segment and then by the key, however many there are and however long.

use crate::backend::WgpuBackend;
use crate::gpu::Gpu;
use crate::wait::Waiting;
use bytemuck::Pod;
use polysort_core::{Error, Masks, Segments, Spec, Word, permutation};
use rayon::prelude::*;

/// The keys of an array that lie in segments of at least two.
struct Inside<W> {
    keys: Vec<W>,
    /// Where each of them is in the array, and in which segment.
    positions: Vec<u32>,
    owners: Vec<u32>,
    spec: Spec,
}

impl<W: Word> Inside<W> {
    fn new(keys: &[W], segments: Segments<'_>, spec: Spec) -> Result<Self, Error> {
        spec.check::<W>()?;
        segments.check(keys.len())?;
        permutation::check_len(keys.len())?;
        let mut inside = Self { keys: vec![], positions: vec![], owners: vec![], spec };
        for (owner, range) in (0..).zip(segments.ranges().filter(|range| range.len() > 1)) {
            inside.keys.extend_from_slice(&keys[range.clone()]);
            inside.positions.extend(range.map(|at| at as u32));
            inside.owners.resize(inside.keys.len(), owner);
        }
        Ok(inside)
    }

    /// The bits that tell a segment.
    fn owner_bits(&self) -> u32 {
        self.owners.last().map_or(0, |last| u32::BITS - last.leading_zeros())
    }

    /// The bits that tell a segment and the order of its keys.
    fn bits(&self) -> u32 {
        self.owner_bits() + self.spec.width()
    }

    /// The bits of the narrowest word that holds these, if it does, and if `gpu` sorts so many of them with values of so many words.
    fn composed_bits(&self, gpu: &Gpu, value_words: u32) -> Option<u32> {
        let bits = self.bits().max(32).next_power_of_two();
        let most = gpu.facts.limits(value_words).longest(bits as usize / 8);
        (bits <= u128::BITS && self.keys.len() as u64 <= most).then_some(bits)
    }

    /// The number of each key's segment, above the key's ordered bits.
    fn composed<C: Word>(&self) -> Result<(Vec<C>, Spec), Error> {
        let (spec, shift) = (self.spec, self.spec.width());
        let compose = |(&owner, &key): (&u32, &W)| {
            let owner = u128::from(owner).checked_shl(shift).unwrap_or(0);
            C::truncate(owner | spec.rank(key).widen())
        };
        let composed = self.owners.par_iter().zip(&self.keys).map(compose).collect();
        Ok((composed, Spec::new::<C>(Masks::UNSIGNED, 0, self.bits())?))
    }
}

impl WgpuBackend {
    /// The permutation that sorts each segment by itself.
    pub(crate) async fn argsort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<Vec<u32>, Error> {
        let inside = Inside::new(keys, segments, spec)?;
        self.order_of(waiting, keys.len(), &inside).await
    }

    /// The permutation of so many keys that sorts those inside.
    async fn order_of<W: Word>(&self, waiting: Waiting, count: usize, inside: &Inside<W>) -> Result<Vec<u32>, Error> {
        let sorted = match inside.composed_bits(self.gpu(), 1) {
            Some(32) => self.argsort_composed::<W, u32>(waiting, inside).await?,
            Some(64) => self.argsort_composed::<W, u64>(waiting, inside).await?,
            Some(_) => self.argsort_composed::<W, u128>(waiting, inside).await?,
            // By the key, and then by the segment.
            None => {
                let mut sorted = self.argsort_words(waiting, &inside.keys, inside.spec).await?;
                let mut owners = permutation::gather(&inside.owners, &sorted);
                let by_owner = Spec::new::<u32>(Masks::UNSIGNED, 0, inside.owner_bits())?;
                self.sort_word_pairs(waiting, &mut owners, &mut sorted, by_owner).await?;
                sorted
            }
        };
        let mut order = permutation::identity(count)?;
        for (&place, &from) in inside.positions.iter().zip(&sorted) {
            order[place as usize] = inside.positions[from as usize];
        }
        Ok(order)
    }

    async fn argsort_composed<W: Word, C: Word>(&self, waiting: Waiting, inside: &Inside<W>) -> Result<Vec<u32>, Error> {
        let (composed, spec) = inside.composed::<C>()?;
        self.argsort_words(waiting, &composed, spec).await
    }

    /// Sorts each segment of words by itself.
    pub(crate) async fn sort_segment_words<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        let inside = Inside::new(keys, segments, spec)?;
        // The order of all bits tells the key.
        match inside.composed_bits(self.gpu(), 0).filter(|_| spec.width() == W::BITS) {
            Some(32) => self.sort_composed::<W, u32>(waiting, keys, &inside).await,
            Some(64) => self.sort_composed::<W, u64>(waiting, keys, &inside).await,
            Some(_) => self.sort_composed::<W, u128>(waiting, keys, &inside).await,
            None => {
                let order = self.order_of(waiting, keys.len(), &inside).await?;
                keys.copy_from_slice(&permutation::gather(keys, &order));
                Ok(())
            }
        }
    }

    async fn sort_composed<W: Word, C: Word>(&self, waiting: Waiting, keys: &mut [W], inside: &Inside<W>) -> Result<(), Error> {
        let (mut composed, spec) = inside.composed::<C>()?;
        self.sort_words(waiting, &mut composed, spec).await?;
        for (&place, &sorted) in inside.positions.iter().zip(&composed) {
            keys[place as usize] = inside.spec.masks.invert(W::truncate(sorted.widen()));
        }
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
