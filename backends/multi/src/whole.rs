//! Operations on all keys at once. Each device sorts its part of the input to scratch, and the CPU merges the sorted parts into the output.

use crate::call::{Call, Part};
use crate::cut::{arrays, parts_mut};
use crate::shares::Piece;
use core::ops::Range;
use polysort_core::{Backend, Error, Operation, Spec, Values, ValuesMut, Word, permutation};
use polysort_rayon::Scratch;

/// Runs an operation that has no segments.
pub(crate) async fn run<W: Word>(call: &Call<'_>, mut operation: Operation<'_, W>, spec: Spec) -> Result<(), Error> {
    let Some(shares) = call.alone(&mut operation, spec).await? else { return Ok(()) };
    let pieces = shares.pieces();
    match operation {
        Operation::SortPairs { keys, values, .. } if values.size() > 0 => match values.size() {
            4 => pairs(call, keys, values.arrays::<4>(), &pieces, spec).await,
            8 => pairs(call, keys, values.arrays::<8>(), &pieces, spec).await,
            12 => pairs(call, keys, values.arrays::<12>(), &pieces, spec).await,
            16 => pairs(call, keys, values.arrays::<16>(), &pieces, spec).await,
            _ => pairs_by_order(call, keys, values, &pieces, spec).await,
        },
        Operation::SortPairsInto { keys, values, sorted_keys, sorted_values } if values.size() > 0 => {
            let (bytes, target) = (values.bytes(), (sorted_keys, sorted_values));
            match values.size() {
                4 => pairs_into(call, (keys, arrays::<4>(bytes)), (target.0, target.1.arrays()), &pieces, spec).await,
                8 => pairs_into(call, (keys, arrays::<8>(bytes)), (target.0, target.1.arrays()), &pieces, spec).await,
                12 => pairs_into(call, (keys, arrays::<12>(bytes)), (target.0, target.1.arrays()), &pieces, spec).await,
                16 => pairs_into(call, (keys, arrays::<16>(bytes)), (target.0, target.1.arrays()), &pieces, spec).await,
                _ => pairs_into_by_order(call, (keys, values), target, &pieces, spec).await,
            }
        }
        // A sort puts all keys where they belong. Values without bytes do not move.
        Operation::Sort { keys, .. } | Operation::SortPairs { keys, .. } | Operation::PartialSort { keys, .. } => {
            let mut room = Scratch::room::<W>(keys.len());
            let runs = sorted_runs(call, keys, room.elements(keys.len()), &pieces, spec).await?;
            call.merge(size_of_val(keys), |merger| merger.merge_bits(&runs, keys, spec))
        }
        Operation::SortInto { keys, sorted } | Operation::SortPairsInto { keys, sorted_keys: sorted, .. } => {
            let mut room = Scratch::room::<W>(keys.len());
            let runs = sorted_runs(call, keys, room.elements(keys.len()), &pieces, spec).await?;
            call.merge(size_of_val(keys), |merger| merger.merge_bits(&runs, sorted, spec))
        }
        Operation::Argsort { keys, indices, .. } => argsort(call, keys, indices, &pieces, spec).await,
        Operation::TopK { keys, k, indices, .. } => top_k(call, keys, k, indices, &pieces, spec).await,
        // The CPU reads the keys once, which takes less time than copies to other devices.
        operation @ Operation::Runs { .. } => call.merger.run(operation.into(), spec),
    }
}

/// Sorts each piece of `keys` into `room`, and returns the sorted pieces.
async fn sorted_runs<'r, W: Word>(
    call: &Call<'_>,
    keys: &[W],
    room: &'r mut [W],
    pieces: &[Piece],
    spec: Spec,
) -> Result<Vec<&'r [W]>, Error> {
    let parts = pieces.iter().zip(parts_mut(room, ranges(pieces))).map(|(piece, sorted)| {
        let operation = Operation::SortInto { keys: &keys[piece.range.clone()], sorted };
        Part { member: piece.member, operation }
    });
    call.run(parts.collect(), spec).await?;
    Ok(runs(room, pieces))
}

/// Sorts each piece of `keys` and `values` into a room of each, and returns the sorted pieces.
async fn sorted_pairs<'r, W: Word, const N: usize>(
    call: &Call<'_>,
    (keys, values): (&[W], &[[u8; N]]),
    (key_room, value_room): (&'r mut [W], &'r mut [[u8; N]]),
    pieces: &[Piece],
    spec: Spec,
) -> Result<(Vec<&'r [W]>, Vec<&'r [[u8; N]]>), Error> {
    let targets = parts_mut(key_room, ranges(pieces)).into_iter().zip(parts_mut(value_room, ranges(pieces)));
    let parts = pieces.iter().zip(targets).map(|(piece, (sorted_keys, sorted_values))| {
        let (keys, values) = (&keys[piece.range.clone()], Values::of(&values[piece.range.clone()]));
        let sorted_values = ValuesMut::of(sorted_values);
        Part { member: piece.member, operation: Operation::SortPairsInto { keys, values, sorted_keys, sorted_values } }
    });
    call.run(parts.collect(), spec).await?;
    Ok((runs(key_room, pieces), runs(value_room, pieces)))
}

async fn pairs<W: Word, const N: usize>(
    call: &Call<'_>,
    keys: &mut [W],
    values: &mut [[u8; N]],
    pieces: &[Piece],
    spec: Spec,
) -> Result<(), Error> {
    let (mut key_room, mut value_room) = (Scratch::room::<W>(keys.len()), Scratch::room::<[u8; N]>(keys.len()));
    let room = (key_room.elements(keys.len()), value_room.elements(keys.len()));
    let (key_runs, value_runs) = sorted_pairs(call, (keys, values), room, pieces, spec).await?;
    let bytes = size_of_val(keys) + size_of_val(values);
    call.merge(bytes, |merger| merger.merge_pairs_bits((&key_runs, &value_runs), (keys, values), spec))
}

async fn pairs_into<W: Word, const N: usize>(
    call: &Call<'_>,
    (keys, values): (&[W], &[[u8; N]]),
    sorted: (&mut [W], &mut [[u8; N]]),
    pieces: &[Piece],
    spec: Spec,
) -> Result<(), Error> {
    let (mut key_room, mut value_room) = (Scratch::room::<W>(keys.len()), Scratch::room::<[u8; N]>(keys.len()));
    let room = (key_room.elements(keys.len()), value_room.elements(keys.len()));
    let (key_runs, value_runs) = sorted_pairs(call, (keys, values), room, pieces, spec).await?;
    let bytes = size_of_val(keys) + size_of_val(values);
    call.merge(bytes, |merger| merger.merge_pairs_bits((&key_runs, &value_runs), sorted, spec))
}

/// Sorts pairs by an argsort and a gather: for values of a size that the merge is not compiled for.
async fn pairs_by_order<W: Word>(
    call: &Call<'_>,
    keys: &mut [W],
    mut values: ValuesMut<'_>,
    pieces: &[Piece],
    spec: Spec,
) -> Result<(), Error> {
    let mut order = permutation::room(keys.len())?;
    argsort(call, keys, &mut order, pieces, spec).await?;
    permutation::gather_keys(keys, &order);
    values.permute(&order);
    Ok(())
}

async fn pairs_into_by_order<W: Word>(
    call: &Call<'_>,
    (keys, values): (&[W], Values<'_>),
    (sorted_keys, mut sorted_values): (&mut [W], ValuesMut<'_>),
    pieces: &[Piece],
    spec: Spec,
) -> Result<(), Error> {
    let mut order = permutation::room(keys.len())?;
    argsort(call, keys, &mut order, pieces, spec).await?;
    sorted_keys.copy_from_slice(&permutation::gather(keys, &order));
    sorted_values.copy_from(values);
    sorted_values.permute(&order);
    Ok(())
}

/// Sorts pairs of keys and their indices. Until the merge, `indices` are the input.
async fn argsort<W: Word>(call: &Call<'_>, keys: &[W], indices: &mut [u32], pieces: &[Piece], spec: Spec) -> Result<(), Error> {
    permutation::fill_identity(indices);
    let (mut key_room, mut index_room) = (Scratch::room::<W>(keys.len()), Scratch::room::<u32>(keys.len()));
    let room = (key_room.elements(keys.len()), index_room.elements(keys.len()));
    let (key_runs, index_runs) =
        sorted_pairs(call, (keys, arrays::<4>(bytemuck::cast_slice(indices))), room, pieces, spec).await?;
    let index_runs: Vec<&[u32]> = index_runs.into_iter().map(|run| bytemuck::cast_slice(run.as_flattened())).collect();
    call.merge(size_of_val(keys) + size_of_val(indices), |merger| {
        merger.merge_indices_bits((&key_runs, &index_runs), indices, spec)
    })
}

/// Selects the first `k` keys of each piece, and merges these.
async fn top_k<W: Word>(
    call: &Call<'_>,
    keys: &[W],
    k: usize,
    indices: &mut [u32],
    pieces: &[Piece],
    spec: Spec,
) -> Result<(), Error> {
    let mut end = 0;
    let selected = |piece: &Piece| {
        let start = end;
        end += piece.range.len().min(k);
        start..end
    };
    let ranges: Vec<Range<usize>> = pieces.iter().map(selected).collect();
    let mut order = vec![0_u32; end];
    let parts = pieces.iter().zip(parts_mut(&mut order, ranges.iter().cloned())).map(|(piece, indices)| {
        let operation = Operation::TopK { keys: &keys[piece.range.clone()], k, segments: None, indices };
        Part { member: piece.member, operation }
    });
    call.run(parts.collect(), spec).await?;
    for (piece, range) in pieces.iter().zip(&ranges) {
        order[range.clone()].iter_mut().for_each(|index| *index += piece.range.start as u32);
    }
    let selected = permutation::gather(keys, &order);
    let (key_runs, index_runs): (Vec<&[W]>, Vec<&[u32]>) =
        ranges.into_iter().map(|range| (&selected[range.clone()], &order[range])).unzip();
    call.merge(size_of_val(indices), |merger| merger.merge_indices_bits((&key_runs, &index_runs), indices, spec))
}

fn ranges(pieces: &[Piece]) -> impl Iterator<Item = Range<usize>> {
    pieces.iter().map(|piece| piece.range.clone())
}

fn runs<'r, T>(room: &'r [T], pieces: &[Piece]) -> Vec<&'r [T]> {
    ranges(pieces).map(|range| &room[range]).collect()
}
