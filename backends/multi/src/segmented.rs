//! Operations on segments: each device sorts whole segments, in scratch. A segment that is too long for one device is sorted by all of them.

use crate::call::{Call, Part, Shares};
use crate::cut::parts_mut;
use crate::groups::{Group, Own, groups};
use crate::whole;
use core::ops::Range;
use polysort_core::{Error, Operation, Segments, Spec, ValuesMut, Word, permutation, selected_len};
use polysort_rayon::Scratch;

/// Runs an operation on segments.
pub(crate) async fn run<W: Word>(
    call: &Call<'_>,
    mut operation: Operation<'_, W>,
    segments: Segments<'_>,
    spec: Spec,
) -> Result<(), Error> {
    let Some(shares) = call.alone(&mut operation, spec).await? else { return Ok(()) };
    let dealt = Dealt::of(segments, &shares);
    match operation {
        Operation::SortPairs { keys, values, .. } if values.size() > 0 => match values.size() {
            4 => pairs(call, keys, values.arrays::<4>(), &dealt, spec).await,
            8 => pairs(call, keys, values.arrays::<8>(), &dealt, spec).await,
            12 => pairs(call, keys, values.arrays::<12>(), &dealt, spec).await,
            16 => pairs(call, keys, values.arrays::<16>(), &dealt, spec).await,
            _ => pairs_by_order(call, keys, values, &dealt, spec).await,
        },
        Operation::PartialSort { keys, positions, .. } => keys_alone(call, keys, Some(positions), &dealt, spec).await,
        // Values without bytes do not move.
        Operation::Sort { keys, .. } | Operation::SortPairs { keys, .. } => keys_alone(call, keys, None, &dealt, spec).await,
        Operation::Argsort { keys, indices, .. } => argsort(call, keys, indices, &dealt, spec).await,
        Operation::TopK { keys, k, indices, .. } => top_k(call, keys, k, segments, indices, &dealt, spec).await,
        // These have no segments.
        Operation::SortInto { .. } | Operation::SortPairsInto { .. } | Operation::Runs { .. } => {
            whole::run(call, operation, spec).await
        }
    }
}

/// The groups of segments, and the segments of each.
struct Dealt {
    groups: Vec<(Group, Own)>,
}

impl Dealt {
    fn of(segments: Segments<'_>, shares: &Shares) -> Self {
        let groups = groups(segments, &shares.of, shares.limit);
        let own = |group: Group| (group.clone(), Own::of(segments, &group));
        Self { groups: groups.into_iter().map(own).collect() }
    }

    fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.groups.iter().map(|(group, _)| group.keys.clone())
    }

    /// Runs one operation for each group, in the order of the groups: first those of one device each, then those of all devices.
    async fn run<'a, W: Word>(
        &'a self,
        call: &Call<'_>,
        parts: impl Iterator<Item = Operation<'a, W>>,
        spec: Spec,
    ) -> Result<(), Error> {
        let (mut of_one, mut of_all) = (vec![], vec![]);
        for ((group, _), operation) in self.groups.iter().zip(parts) {
            match group.member {
                Some(member) => of_one.push(Part { member, operation }),
                None => of_all.push(operation),
            }
        }
        call.run(of_one, spec).await?;
        for operation in of_all {
            whole::run(call, operation, spec).await?;
        }
        Ok(())
    }
}

/// The segments of a group for a device; `None` for one segment that all devices sort.
fn segments_of((group, own): &(Group, Own)) -> Option<Segments<'_>> {
    group.member.map(|_| own.segments())
}

/// Sorts the keys of each segment, or puts those at `positions` where a sort would: in a copy, which is then copied back.
async fn keys_alone<W: Word>(
    call: &Call<'_>,
    keys: &mut [W],
    positions: Option<Range<usize>>,
    dealt: &Dealt,
    spec: Spec,
) -> Result<(), Error> {
    let mut scratch = Scratch::room::<W>(keys.len());
    let room = scratch.elements::<W>(keys.len());
    call.merger.merge_bits(&[keys], room, spec)?;
    let parts = dealt.groups.iter().zip(parts_mut(room, dealt.ranges())).map(|(group, keys)| {
        let segments = segments_of(group);
        match positions.clone() {
            None => Operation::Sort { keys, segments },
            Some(positions) => Operation::PartialSort { keys, positions, segments },
        }
    });
    dealt.run(call, parts, spec).await?;
    call.merger.merge_bits(&[room], keys, spec)?;
    Ok(())
}

async fn pairs<W: Word, const N: usize>(
    call: &Call<'_>,
    keys: &mut [W],
    values: &mut [[u8; N]],
    dealt: &Dealt,
    spec: Spec,
) -> Result<(), Error> {
    let (mut key_room, mut value_room) = (Scratch::room::<W>(keys.len()), Scratch::room::<[u8; N]>(keys.len()));
    let (key_room, value_room) = (key_room.elements::<W>(keys.len()), value_room.elements::<[u8; N]>(keys.len()));
    call.merger.merge_pairs_bits((&[keys], &[values]), (key_room, value_room), spec)?;
    let targets = parts_mut(key_room, dealt.ranges()).into_iter().zip(parts_mut(value_room, dealt.ranges()));
    let parts = dealt.groups.iter().zip(targets).map(|(group, (keys, values))| {
        let (values, segments) = (ValuesMut::of(values), segments_of(group));
        Operation::SortPairs { keys, values, segments }
    });
    dealt.run(call, parts, spec).await?;
    call.merger.merge_pairs_bits((&[key_room], &[value_room]), (keys, values), spec)?;
    Ok(())
}

/// Sorts pairs by an argsort and a gather: for values of a size that the merge is not compiled for.
async fn pairs_by_order<W: Word>(
    call: &Call<'_>,
    keys: &mut [W],
    mut values: ValuesMut<'_>,
    dealt: &Dealt,
    spec: Spec,
) -> Result<(), Error> {
    let mut order = permutation::room(keys.len())?;
    argsort(call, keys, &mut order, dealt, spec).await?;
    permutation::gather_keys(keys, &order);
    values.permute(&order);
    Ok(())
}

async fn argsort<W: Word>(call: &Call<'_>, keys: &[W], indices: &mut [u32], dealt: &Dealt, spec: Spec) -> Result<(), Error> {
    // Positions outside of all segments, which no device gets, keep their own indices.
    permutation::fill_identity(indices);
    let parts = dealt.groups.iter().zip(parts_mut(indices, dealt.ranges())).map(|(group, indices)| {
        let (keys, segments) = (&keys[group.0.keys.clone()], segments_of(group));
        Operation::Argsort { keys, segments, indices }
    });
    dealt.run(call, parts, spec).await?;
    for range in dealt.ranges() {
        move_by(&mut indices[range.clone()], range.start);
    }
    Ok(())
}

async fn top_k<W: Word>(
    call: &Call<'_>,
    keys: &[W],
    k: usize,
    segments: Segments<'_>,
    indices: &mut [u32],
    dealt: &Dealt,
    spec: Spec,
) -> Result<(), Error> {
    let mut selected = Vec::with_capacity(indices.len());
    let mut end = 0;
    for (group, own) in &dealt.groups {
        let start = end;
        end += selected_len(k, Some(own.segments()), group.keys.len());
        selected.push(start..end);
    }
    debug_assert_eq!(end, selected_len(k, Some(segments), keys.len()));
    let parts = dealt.groups.iter().zip(parts_mut(indices, selected.iter().cloned())).map(|(group, indices)| {
        let (keys, segments) = (&keys[group.0.keys.clone()], segments_of(group));
        Operation::TopK { keys, k, segments, indices }
    });
    dealt.run(call, parts, spec).await?;
    for ((group, _), selected) in dealt.groups.iter().zip(selected) {
        move_by(&mut indices[selected], group.keys.start);
    }
    Ok(())
}

/// Makes indices that count from the start of a part count from the start of the input.
fn move_by(indices: &mut [u32], start: usize) {
    indices.iter_mut().for_each(|index| *index += start as u32);
}
