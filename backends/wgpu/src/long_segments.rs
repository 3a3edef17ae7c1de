//! Sorts of segments of more keys than the device takes at a time: neighboring segments together, and segments that are too long one by one.
//!
//! All of them are sorted in a copy, so that the caller's slices change at the end, as a whole.

use crate::backend::WgpuBackend;
use crate::long::first;
use crate::portions::side_by_side;
use crate::scratch::Scratch;
use crate::wait::Waiting;
use core::ops::Range;
use polysort_core::{Error, Segments, Spec, ValuesMut, Word, permutation};
use polysort_shaders::plan::{Payload, Place, Request, Segmented};

/// Neighboring segments of some keys each, within a range of all keys, from the start of which their bounds count.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    range: Range<usize>,
    begins: Vec<usize>,
    ends: Vec<usize>,
}

impl Group {
    fn segments(&self) -> Segments<'_> {
        Segments::Ranges { begins: &self.begins, ends: &self.ends }
    }
}

/// Returns groups of neighboring segments, of up to `most` keys each, and apart from them the segments of more keys.
fn groups(segments: Segments<'_>, most: usize) -> (Vec<Group>, Vec<Range<usize>>) {
    let (mut groups, mut long): (Vec<Group>, _) = (vec![], vec![]);
    for range in segments.ranges().filter(|range| range.len() > 1) {
        if range.len() > most {
            long.push(range);
            continue;
        }
        let group = match groups.last_mut() {
            Some(group) if range.end - group.range.start <= most => group,
            _ => {
                groups.push(Group { range: range.clone(), begins: vec![], ends: vec![] });
                groups.last_mut().expect("it was pushed")
            }
        };
        group.range.end = range.end;
        group.begins.push(range.start - group.range.start);
        group.ends.push(range.end - group.range.start);
    }
    (groups, long)
}

/// Returns the request to sort segments of some of the keys.
fn request<W: Word>(payload: Payload, spec: Spec) -> Request {
    let of = Segmented { max: 1, begins: Place::default(), ends: Place::default() };
    Request { payload, ..Request::keys(W::BITS, spec, 0) }.in_segments(of).quick_to_compile()
}

/// Views the bytes of values as values of this payload; `None` without values.
fn values_of(bytes: &mut [u8], payload: Payload) -> Option<ValuesMut<'_>> {
    fn of<const N: usize>(bytes: &mut [u8]) -> Option<ValuesMut<'_>> {
        Some(ValuesMut::of(bytes.as_chunks_mut::<N>().0))
    }
    match payload.words() {
        0 => None,
        1 => of::<4>(bytes),
        2 => of::<8>(bytes),
        3 => of::<12>(bytes),
        _ => of::<16>(bytes),
    }
}

impl WgpuBackend {
    /// Sorts each segment of words by itself, and moves each value with its word.
    pub(crate) async fn sort_long_segments<W: Word>(
        &self,
        waiting: Waiting,
        keys: &mut [W],
        mut values: ValuesMut<'_>,
        payload: Payload,
        segments: Segments<'_>,
        spec: Spec,
    ) -> Result<(), Error> {
        if spec.width() == 0 {
            return Ok(());
        }
        let (value_bytes, bytes) = (values.size(), values.bytes_mut());
        let copiers = &self.gpu().copiers;
        let (mut sorted, mut moved) = (Scratch::new(keys.len(), size_of::<W>())?, Scratch::new(bytes.len(), 1)?);
        let mut portions = self.portions::<W>(waiting, request::<W>(payload, spec), keys.len()).await?;
        let long = loop {
            copiers.copy(sorted.get_mut(), bytemuck::cast_slice(keys));
            copiers.copy(moved.get_mut(), bytes);
            let (groups, long) = groups(segments, portions.len);
            let (mut rest, mut rest_values, mut start) = (sorted.get_mut::<W>(), moved.get_mut::<u8>(), 0);
            let roomy = self.within(&portions);
            let work = |group: &'_ Group| {
                let skipped = group.range.start - core::mem::replace(&mut start, group.range.end);
                first(&mut rest, skipped);
                first(&mut rest_values, skipped * value_bytes);
                (first(&mut rest, group.range.len()), first(&mut rest_values, group.range.len() * value_bytes))
            };
            let parts: Vec<_> = groups.iter().map(work).collect();
            let works =
                groups.iter().zip(parts).map(|(group, (keys, values))| roomy.sort_group(keys, values, payload, group, spec));
            match side_by_side(works.collect()).await {
                Ok(()) => break long,
                Err(Error::OutOfMemory { .. }) if portions.shrink() => {}
                Err(error) => return Err(error),
            }
        };
        // Each of these reserves memory for its own portions.
        drop(portions);
        for range in long {
            let values = &mut moved.get_mut()[range.start * value_bytes..range.end * value_bytes];
            let mut nothing = vec![(); range.len()];
            let values = values_of(values, payload).unwrap_or_else(|| ValuesMut::of(&mut nothing));
            self.sort_word_pairs(waiting, &mut sorted.get_mut::<W>()[range], values, spec).await?;
        }
        copiers.copy_all([(bytemuck::cast_slice_mut(keys), sorted.get()), (bytes, moved.get())]);
        Ok(())
    }

    async fn sort_group<W: Word>(
        &self,
        keys: &mut [W],
        values: &mut [u8],
        payload: Payload,
        group: &Group,
        spec: Spec,
    ) -> Result<(), Error> {
        let mut nothing = vec![(); keys.len()];
        let values = values_of(values, payload).unwrap_or_else(|| ValuesMut::of(&mut nothing));
        self.sort_short_segment_pairs(Waiting::Elsewhere, keys, values, payload, group.segments(), spec).await
    }

    /// Writes the permutation that sorts each segment by itself.
    pub(crate) async fn argsort_long_segments<W: Word>(
        &self,
        waiting: Waiting,
        keys: &[W],
        segments: Segments<'_>,
        indices: &mut [u32],
        spec: Spec,
    ) -> Result<(), Error> {
        if spec.width() == 0 {
            permutation::fill_identity(indices);
            return Ok(());
        }
        let mut portions = self.portions::<W>(waiting, request::<W>(Payload::Indices, spec), keys.len()).await?;
        let long = loop {
            permutation::fill_identity(indices);
            let (groups, long) = groups(segments, portions.len);
            let (mut rest, mut start) = (&mut indices[..], 0);
            let roomy = self.within(&portions);
            let work = |group: &Group| {
                first(&mut rest, group.range.start - core::mem::replace(&mut start, group.range.end));
                first(&mut rest, group.range.len())
            };
            let parts: Vec<_> = groups.iter().map(work).collect();
            let works = groups.iter().zip(parts).map(|(group, indices)| roomy.argsort_group(keys, indices, group, spec));
            match side_by_side(works.collect()).await {
                Ok(()) => break long,
                Err(Error::OutOfMemory { .. }) if portions.shrink() => {}
                Err(error) => return Err(error),
            }
        };
        drop(portions);
        for range in long {
            let own = &mut indices[range.clone()];
            self.argsort_words(waiting, &keys[range.clone()], own, spec).await?;
            own.iter_mut().for_each(|index| *index += range.start as u32);
        }
        Ok(())
    }

    async fn argsort_group<W: Word>(&self, keys: &[W], indices: &mut [u32], group: &Group, spec: Spec) -> Result<(), Error> {
        let keys = &keys[group.range.clone()];
        self.argsort_short_segments(Waiting::Elsewhere, keys, group.segments(), indices, spec).await?;
        indices.iter_mut().for_each(|index| *index += group.range.start as u32);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_as_many_segments_as_fit() {
        let (begins, ends) = ([0, 3, 3, 10, 30, 31, 34, 36], [3, 3, 4, 15, 31, 34, 36, 50]);
        let (groups, long) = groups(Segments::Ranges { begins: &begins, ends: &ends }, 10);
        let group = |range, begins: &[usize], ends: &[usize]| Group { range, begins: begins.into(), ends: ends.into() };
        assert_eq!(groups, [group(0..3, &[0], &[3]), group(10..15, &[0], &[5]), group(31..36, &[0, 3], &[3, 5])]);
        assert_eq!((long.len(), &long[0]), (1, &(36..50)));
    }
}
