//! Plans merges of two sorted runs on a GPU.
//!
//! ```text
//! merge_path   both runs ──▶ for each tile of the output, the keys of each run before it
//! merge_tile   the keys of a tile ──▶ the tile, in order; its values follow
//! ```
//!
//! If a run, or the output, is longer than a binding, it is bound in parts. The merge then has a step for each combination of
//! parts that can meet. The device knows which combinations do: a step begins where the step before has ended, and steps
//! whose parts do not meet there do nothing.
//!
//! ```text
//! second run ──▶ ┌────────┬────────┐    each rectangle is a part of each run; the merge path crosses 3 of the 4
//!          first │ ╲──╲   │        │
//!            run ├─────╲──┼────────┤    steps: (0, 0), (0, 1) does nothing, (1, 0), (1, 1)
//!              ▼ │      ╲─┼──╲─────│
//!                └────────┴────────┘
//! ```

use super::command::{Buffer, Command, Groups, Number};
use super::facts::Facts;
use super::kernel_shape::KernelShape;
use super::planning::check_request;
use super::request::{Payload, Place, Request};
use super::tuning::{GROUP, MERGE_GROUPS, PATH_GROUPS, merge_keys};
use super::variant::Variant;
use core::fmt::{self, Display, Formatter};
use core::ops::Range;
use polysort_core::{Error, Masks, Spec};

/// The words of the path before those of the tiles: the points at which the current step begins and ends, two words each.
pub const PATH_HEADER: u32 = 4;

/// The most keys of two runs together. Kernels count the keys of the output with 32 bits, which may overflow: they use
/// differences only.
pub const MAX_MERGED: u64 = 1 << 32;

/// The most keys of a run: indices of keys have 32 bits.
pub const MAX_RUN: u64 = (1 << 32) - 1;

/// Parts start at multiples of this many elements. So their first bytes have multiples of 256 as offsets, which is the
/// largest alignment of bindings that a device may require.
const PART_UNIT: u64 = 256;

/// The most elements of a part: kernels count those of a part of each run together, and up to a tile more, with 32 bits.
const MAX_PART: u64 = (1 << 31) - (1 << 16);

/// A sorted run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SortedRun {
    /// The largest number of keys.
    pub max: u64,
    /// The keys before the run in the array whose number of keys is given; 0 if the number is that of the run.
    pub skip: u64,
    /// The offset of the keys in their binding.
    pub keys: Place,
    /// The offset of the values in their binding.
    pub values: Place,
}

/// A request to merge two sorted runs, stably: of equal keys, those of the first run come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeRequest {
    /// Bits of a key: 8, 16, 32, 64 or 128.
    pub key_bits: u32,
    /// The payload: none, or values.
    pub payload: Payload,
    /// The order of the runs.
    pub spec: Spec,
    /// The first run.
    pub first: SortedRun,
    /// The second run.
    pub second: SortedRun,
    /// The offset of the merged keys in their binding.
    pub keys: Place,
    /// The offset of the merged values in their binding.
    pub values: Place,
    /// The keys per thread; `None` lets the planner choose. A plan takes fewer if they do not fit workgroup memory.
    pub keys_per_thread: Option<u32>,
    /// The elements of a page, as in [`Request::page`]. A run then starts behind `skip` elements of its array, and the output
    /// behind as many elements of its own as the first run.
    pub page: Option<u64>,
}

impl MergeRequest {
    /// Returns a request to merge runs of up to these numbers of keys, without values.
    pub fn keys(key_bits: u32, spec: Spec, [first, second]: [u64; 2]) -> Self {
        let run = |max| SortedRun { max, ..SortedRun::default() };
        Self {
            key_bits,
            payload: Payload::None,
            spec,
            first: run(first),
            second: run(second),
            keys: Place::default(),
            values: Place::default(),
            keys_per_thread: None,
            page: None,
        }
    }

    /// Returns the largest number of merged keys.
    pub fn max(&self) -> u64 {
        self.first.max.saturating_add(self.second.max)
    }

    /// Returns the bytes of a key, and of a value.
    pub(super) fn element_bytes(&self) -> [u64; 2] {
        [u64::from(self.key_bits) / 8, 4 * u64::from(self.payload.words())]
    }

    /// Returns the parts in which `len` elements are bound, of up to `part` elements each; one empty part for no elements.
    /// With pages, a part ends where a page of the array does; `before` elements come before the `len` there.
    fn parts(&self, before: u64, len: u64, part: u64) -> impl Iterator<Item = Range<u64>> {
        let lead = if self.page.is_some() { before % part } else { 0 };
        let start = move |i: u64| (i * part).saturating_sub(lead);
        (0..(lead + len).div_ceil(part).max(1)).map(move |i| start(i)..len.min(start(i + 1)))
    }
}

/// A step of a merge: the parts that are bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeStep {
    /// The part of the first run.
    pub first: Range<u64>,
    /// The part of the second run.
    pub second: Range<u64>,
    /// The part of the output.
    pub merged: Range<u64>,
}

impl MergeStep {
    /// Returns the largest number of keys that the step merges.
    pub fn max(&self) -> u64 {
        let len = |range: &Range<u64>| range.end - range.start;
        len(&self.merged).min(len(&self.first) + len(&self.second))
    }
}

/// The commands that merge two sorted runs on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergePlan {
    /// The request.
    pub request: MergeRequest,
    /// Masks for the words of the kernels. There, a key of 8 or 16 bits is in the top bits of a word.
    pub masks: Masks,
    /// First and end bit of the window, in the words of the kernels.
    pub window: (u32, u32),
    /// Keys of a tile.
    pub tile: u32,
    /// The scratch buffers of the merge, and their bytes.
    pub scratch: Vec<(Buffer, u64)>,
    /// The steps. Each has both commands, in this order.
    pub steps: Vec<MergeStep>,
    /// The command that cuts a step into tiles.
    pub path: Command,
    /// The command that merges the tiles of a step.
    pub tiles: Command,
}

impl MergePlan {
    /// Plans `request` for a device.
    ///
    /// # Errors
    /// - [`Error::InvalidRange`] or [`Error::Unsupported`] if the spec does not suit the keys, or the payload is not one of
    ///   values.
    /// - [`Error::TooLong`] for more than [`MAX_MERGED`] keys, or for a run of more than [`MAX_RUN`].
    /// - [`Error::Unsupported`] if the device binds too little memory, or if its workgroups are too small.
    pub fn new(request: MergeRequest, facts: &Facts) -> Result<Self, Error> {
        let sort = Request { payload: request.payload, ..Request::keys(request.key_bits, request.spec, request.max()) };
        check_request(&sort)?;
        facts.check()?;
        if request.payload == Payload::Indices {
            return Err(Error::Unsupported { what: "a merge of the indices of keys that are not sorted".into() });
        }
        for (what, asked, limit) in
            [("a merge", request.max(), MAX_MERGED), ("a run of a merge", request.first.max.max(request.second.max), MAX_RUN)]
        {
            if asked > limit {
                return Err(Error::TooLong { what: what.into(), asked, limit });
            }
        }
        let (masks, window) = sort.widened();
        let (group, value_words, unrolled) = (GROUP.min(facts.max_group), request.payload.words(), facts.unrolls());
        let kernel = |shape| Variant::of(shape, request.key_bits, group);
        let merging = |keys| kernel(KernelShape::MergeTile { keys, value_words, unrolled });
        // More keys never fit, and the size of their tile could overflow.
        let most_fitting = (facts.workgroup_bytes / (4 * group)).max(1);
        let most = request
            .keys_per_thread
            .unwrap_or_else(|| merge_keys(sort.key_words(), request.payload.words()))
            .clamp(1, most_fitting);
        let fitted = (1..=most).rev().find(|&keys| merging(keys).workgroup_bytes() <= facts.workgroup_bytes);
        let Some(keys) = fitted else {
            return Err(Error::Unsupported {
                what: format!("a device with {} bytes of workgroup memory", facts.workgroup_bytes),
            });
        };
        let part = facts.part_len(request.element_bytes(), request.page)?;
        let mut steps = vec![];
        for first in request.parts(request.first.skip, request.first.max, part) {
            for second in request.parts(request.second.skip, request.second.max, part) {
                let range = first.start + second.start..first.end + second.end;
                let meets = |merged: &Range<u64>| merged.start <= range.end && range.start <= merged.end;
                let merged = request.parts(request.first.skip, request.max(), part).filter(meets);
                steps.extend(merged.map(|merged| MergeStep { first: first.clone(), second: second.clone(), merged }));
            }
        }
        let most = steps.iter().map(MergeStep::max).max().unwrap_or(0);
        // A tile more: the first one may start before the step. A boundary more than tiles.
        let tile = group * keys;
        let path_words = u64::from(PATH_HEADER) + most.div_ceil(tile.into()) + 2;
        // The path is the same with and without values.
        let path = path_command(kernel(KernelShape::MergePath { tile }), tile);
        let tiles = tile_command(merging(keys), tile, request.payload);
        Ok(Self { request, masks, window, tile, scratch: vec![(Buffer::Path, 4 * path_words)], steps, path, tiles })
    }

    /// Bytes of all scratch buffers.
    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Returns the commands of every step, in order.
    pub fn commands(&self) -> [&Command; 2] {
        [&self.path, &self.tiles]
    }

    /// Returns the part of `buffer` that a step binds, as the offset in bytes from the first element of the array, and the
    /// bytes that the kernels touch from the start of the binding on. The bytes before the first element count; they are a
    /// multiple of 4.
    ///
    /// Returns `None` for the count buffers, whose size does not follow from the request.
    pub fn touched(&self, step: &MergeStep, buffer: Buffer) -> Option<(u64, u64)> {
        let request = &self.request;
        let [key_bytes, value_bytes] = request.element_bytes();
        let (range, element, place) = match buffer {
            Buffer::FirstKeys => (&step.first, key_bytes, request.first.keys),
            Buffer::SecondKeys => (&step.second, key_bytes, request.second.keys),
            Buffer::MergedKeys => (&step.merged, key_bytes, request.keys),
            Buffer::FirstValues => (&step.first, value_bytes, request.first.values),
            Buffer::SecondValues => (&step.second, value_bytes, request.second.values),
            Buffer::MergedValues => (&step.merged, value_bytes, request.values),
            Buffer::Count | Buffer::SecondCount => return None,
            own => return Some((0, self.scratch.iter().find(|(scratch, _)| *scratch == own).map_or(0, |&(_, bytes)| bytes))),
        };
        // A binding has room for at least one element.
        let bytes = ((range.end - range.start).max(1) * element).next_multiple_of(4);
        Some((range.start * element, 4 * u64::from(place.first) + bytes))
    }

    /// Returns a step that binds both runs and the output as a whole, as if no binding were too long.
    pub fn whole(&self) -> MergeStep {
        MergeStep { first: 0..self.request.first.max, second: 0..self.request.second.max, merged: 0..self.request.max() }
    }
}

/// Returns the command that cuts a step into tiles of `tile` keys.
fn path_command(variant: Variant, tile: u32) -> Command {
    let mut bindings = vec![Buffer::Number; 6];
    bindings.extend([Buffer::Merge, Buffer::Count, Buffer::SecondCount, Buffer::FirstKeys, Buffer::SecondKeys, Buffer::Path]);
    let numbers = (0..3).map(Number::CountDigit).chain((0..3).map(Number::SecondCountDigit)).collect();
    let groups = Groups::AtMost { most: PATH_GROUPS, of: tile * variant.group, team: 1 };
    Command { variant, bindings, numbers, groups }
}

/// Returns the command that merges the tiles of a step, of `tile` keys each.
fn tile_command(variant: Variant, tile: u32, payload: Payload) -> Command {
    let mut bindings = vec![Buffer::Merge, Buffer::Path, Buffer::FirstKeys, Buffer::SecondKeys, Buffer::MergedKeys];
    if payload != Payload::None {
        bindings.extend([Buffer::FirstValues, Buffer::SecondValues, Buffer::MergedValues]);
    }
    let groups = Groups::AtMost { most: MERGE_GROUPS, of: tile, team: 1 };
    Command { variant, bindings, numbers: vec![], groups }
}

impl Facts {
    /// Returns the elements of a page of an array whose elements have `element_bytes` bytes: a power of two, so that the
    /// pages of elements of any size start at multiples of the shortest page. A page fits a binding, and a buffer of
    /// `max_buffer` bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the device binds too little memory, or has too short buffers.
    pub fn page_len(&self, element_bytes: u64, max_buffer: u64) -> Result<u64, Error> {
        let max_binding = self.max_binding.min(max_buffer.saturating_add(PART_UNIT));
        let part = Self { max_binding, ..*self }.part_len([element_bytes, 0], None)?;
        Ok(1 << part.ilog2())
    }

    /// Returns the most elements of an array that are bound at a time: a multiple of [`PART_UNIT`], of which each page is a
    /// multiple. `element_bytes` are the bytes of a key and of a value, of which a part has the same number.
    pub(super) fn part_len(&self, element_bytes: [u64; 2], page: Option<u64>) -> Result<u64, Error> {
        let bytes = element_bytes[0].max(element_bytes[1]).max(1);
        // A binding may start up to one alignment before the first element.
        let most = (self.max_binding.saturating_sub(PART_UNIT) / bytes).min(MAX_PART);
        let part = most - most % PART_UNIT;
        if part == 0 {
            return Err(Error::Unsupported { what: format!("a device whose bindings have at most {} bytes", self.max_binding) });
        }
        Ok(page.map_or(part, |page| page.min(1 << part.ilog2())))
    }
}

impl Display for MergePlan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let MergeRequest { key_bits, payload, first, second, .. } = self.request;
        writeln!(f, "merge of up to {} and {} keys of {key_bits} bits, payload {payload:?}", first.max, second.max)?;
        for (buffer, bytes) in &self.scratch {
            writeln!(f, "  {buffer:?}: {bytes} bytes")?;
        }
        for MergeStep { first, second, merged } in &self.steps {
            writeln!(f, "step: keys {first:?} of the first run, {second:?} of the second, to {merged:?}")?;
        }
        let each = if self.steps.len() == 1 { "" } else { "each " };
        writeln!(f, "{each}step:")?;
        self.commands().into_iter().try_for_each(|command| writeln!(f, "  {command}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step's binding starts at a multiple of the alignment, is no longer than allowed, and lies in one page. The steps
    /// together cover every way that the path can take.
    #[test]
    fn steps_cover_all_paths() {
        for (max_binding, lens, in_pages) in [
            (1 << 12, [5000, 3000], None),
            (1 << 12, [0, 10_000], None),
            (1300, [257, 900], None),
            (1 << 20, [5000, 3000], None),
            (1 << 20, [5000, 3000], Some((1024, 0))),
            (1 << 20, [1000, 4000], Some((2048, 768))),
            (1 << 12, [5120, 3000], Some((1024, 1280))),
            (1 << 20, [0, 3000], Some((1024, 512))),
        ] {
            let facts = Facts { max_binding, ..Facts::new(Some((32, 32)), 48 << 10, 1024) };
            for (bits, words) in [(8, 0), (32, 0), (32, 1), (8, 1)] {
                let payload = if words == 0 { Payload::None } else { Payload::Words(words) };
                let spec = Spec::new::<u128>(Masks::UNSIGNED, 0, bits).unwrap();
                let mut request = MergeRequest { payload, ..MergeRequest::keys(bits, spec, lens) };
                let before = in_pages.map_or(0, |(_, before)| before);
                (request.page, request.first.skip, request.second.skip) =
                    (in_pages.map(|(page, _)| page), before, before + lens[0]);
                let plan = MergePlan::new(request, &facts).unwrap();
                for step in &plan.steps {
                    let starts = [request.first.skip, request.second.skip, request.first.skip];
                    for (range, start) in [&step.first, &step.second, &step.merged].into_iter().zip(starts) {
                        let [first, last] = [range.start, range.end.max(range.start + 1) - 1].map(|i| start + i);
                        assert!(request.page.is_none_or(|page| first / page == last / page), "{plan}");
                    }
                    for buffer in plan.tiles.bindings.iter().filter(|&&buffer| buffer != Buffer::Merge) {
                        let (offset, bytes) = plan.touched(step, *buffer).unwrap();
                        // A page starts at the start of a buffer.
                        let is_aligned = in_pages.is_some() || offset.is_multiple_of(256);
                        assert!(is_aligned && (bytes <= max_binding || *buffer == Buffer::Path), "{plan}");
                    }
                }
                // Each key of the output, in the parts that it can come from, is in a step that comes after the steps of the
                // keys before it.
                let at = |first: u64, second: u64| {
                    let holds = |range: &Range<u64>, i: u64, len: u64| range.contains(&i) || i == len && range.end == len;
                    plan.steps.iter().position(|step| {
                        let merged = step.merged.contains(&(first + second));
                        merged && holds(&step.first, first, lens[0]) && holds(&step.second, second, lens[1])
                    })
                };
                for slope in [0, 1, 3, 7, 10] {
                    let (mut first, mut second, mut last) = (0, 0, 0);
                    while first + second < lens[0] + lens[1] {
                        let step = at(first, second).unwrap_or_else(|| panic!("no step at {first}, {second}: {plan}"));
                        assert!(step >= last, "{plan}");
                        last = step;
                        let takes_first = second == lens[1] || first < lens[0] && (first + second) % 10 < slope;
                        if takes_first { first += 1 } else { second += 1 }
                    }
                }
            }
        }
    }
}
