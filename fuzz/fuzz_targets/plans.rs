//! Plans of sorts, selections, runs, gathers and merges on any device. No GPU runs: what a plan says of itself must fit the device and the buffers.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polysort_core::{Error, Masks, Options, Spec};
use polysort_fuzz::Choice;
use polysort_shaders::plan::tuning::PassShape;
use polysort_shaders::plan::{
    Algorithm, Buffer, Class, Command, Facts, FindRuns, Gather, Kernel, MergePlan, MergeRequest, Number, PassKind, Payload,
    Place, PortionPlan, Request, Segmented, SortPlan, SortedRun, Top, Tuned,
};
use std::collections::BTreeMap;

#[derive(Debug, Arbitrary)]
struct Input {
    device: Device,
    ask: Ask,
    count: u64,
}

#[derive(Debug, Arbitrary)]
enum Ask {
    Sort(Asked),
    /// A sort of keys or pairs that take so many bindings, and of some more.
    Portions {
        asked: Asked,
        bindings: u8,
        more: u16,
    },
    Merge {
        order: Order,
        words: u8,
        first: Run,
        second: Run,
        merged: [u8; 2],
        keys_per_thread: Option<Size>,
        choices: u64,
    },
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct Run {
    len: Size,
    keys: u8,
    values: u8,
}

/// A number of any magnitude: a power of two and a few more or fewer, or any number below it.
#[derive(Clone, Copy, Debug, Arbitrary)]
struct Size {
    bits: u8,
    more: i8,
    low: u16,
}

impl Size {
    /// Returns a number up to about `2^most`.
    fn of(self, most: u32) -> u64 {
        let power = 1_u64 << (u32::from(self.bits & 63) % (most + 1));
        match self.bits >> 6 {
            0 | 1 => power.saturating_add_signed(self.more.into()),
            2 => power + (power >> 16) * u64::from(self.low),
            _ => self.low.into(),
        }
    }

    fn of_32(self) -> u32 {
        self.of(32).min(u32::MAX.into()) as u32
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct Device {
    /// The powers of two of the smallest and the largest subgroup.
    subgroups: Option<(u8, u8)>,
    workgroup_bytes: Memory,
    max_group: Choice,
    max_groups: Choice,
    max_binding: Size,
    class: Choice,
    tuned: Option<(Choice, u8, u8, u8)>,
}

/// Workgroup memory.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Memory {
    /// What devices have.
    Usual(Choice),
    /// So many fewer bytes than that.
    Less(Choice, u8),
    Any(u16),
}

impl Device {
    fn facts(self) -> Facts {
        let usual = |choice: Choice| choice.of(&[16 << 10, 32 << 10, 48 << 10, 64 << 10, 96 << 10, 227 << 10]);
        let power = |bits: u8| 1_u32 << (bits % 8);
        let classes = [Class::Apple, Class::Nvidia, Class::Amd, Class::Intel, Class::Software, Class::Unknown];
        let tuned = self.tuned.and_then(|(kind, group, keys, slices)| {
            let shape = PassShape { group: 32 * u32::from(group), keys: keys.into(), slices: slices.into() };
            Tuned::NONE.with(kind.of(&PassKind::ALL), shape).ok()
        });
        Facts {
            subgroups: self.subgroups.map(|(a, b)| (power(a.min(b) % 8).min(power(b)), power(b).max(power(a)))),
            workgroup_bytes: match self.workgroup_bytes {
                Memory::Usual(choice) => usual(choice),
                Memory::Less(choice, less) => usual(choice) - u32::from(less),
                Memory::Any(bytes) => bytes.into(),
            },
            max_group: self.max_group.of(&[256, 1024, 512, 128, 64, 32, 1, 0, 1536, 100, 2048, 300, 384]),
            max_groups: self.max_groups.of(&[65_535, 1 << 20, (1 << 31) - 1, u32::MAX, 1000, 1, 0]),
            max_binding: self.max_binding.of(36),
            class: self.class.of(&classes),
            tuned: tuned.unwrap_or(Tuned::NONE),
        }
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct Order {
    key_bits: Choice,
    is_signed: bool,
    is_float: bool,
    is_descending: bool,
    window: Option<(u8, u8)>,
    masks: Option<(u128, u128)>,
}

impl Order {
    fn of(self) -> (u32, Spec) {
        let key_bits = self.key_bits.of(&[32, 64, 8, 16, 128, 24, 0, u32::MAX]);
        let width = if key_bits.is_power_of_two() && key_bits <= 128 { key_bits } else { 32 };
        let mut spec = Spec::of::<u32>(Options::ascending()).expect("all bits of a u32");
        spec.masks = match (self.is_signed, self.is_float) {
            (_, true) => Masks::float(width),
            (true, _) => Masks::signed(width),
            _ => Masks::UNSIGNED,
        };
        if self.is_descending {
            spec.masks = spec.masks.reversed(width);
        }
        if let Some((clear, set)) = self.masks {
            spec.masks = Masks { clear, set };
        }
        // One more than the bits of a key.
        let bit = |bit: u8| u32::from(bit) % (width + 2);
        (spec.begin, spec.end) = self.window.map_or((0, width), |(a, b)| (bit(a.min(b)), bit(a.max(b))));
        (key_bits, spec)
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
struct Asked {
    order: Order,
    payload: Option<u8>,
    max: Size,
    kind: Kind,
    places: [u8; 2],
    is_aliased: bool,
    algorithm: Choice,
    batch: Option<Size>,
    small_bucket: Option<Size>,
}

/// What is asked for, beside a sort.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Kind {
    Sort,
    Top(Size, bool),
    Segments(Size, [u8; 2]),
    TopOfSegments(Size, Size, bool),
    Runs([Option<u8>; 3], u8),
    Gather { element_bytes: u16, elements: Size, places: [u8; 2] },
    Both(Size, Size),
}

impl Asked {
    fn request(self) -> Request {
        let (key_bits, spec) = self.order.of();
        let place = |first: u8| Place { first: first.into() };
        let mut request = Request::keys(key_bits, spec, self.max.of(34));
        request.payload = match self.payload {
            None => Payload::None,
            Some(words) if words & 7 < 6 => Payload::Words(u32::from(words) & 7),
            Some(_) => Payload::Indices,
        };
        match self.kind {
            Kind::Sort => {}
            Kind::Top(k, segmented) => request = request.select(Top { k: k.of_32(), segmented }),
            Kind::Segments(max, [begins, ends]) => {
                request.segments = Some(Segmented { max: max.of_32(), begins: place(begins), ends: place(ends) });
            }
            Kind::TopOfSegments(k, max, segmented) => {
                request = request.select(Top { k: k.of_32(), segmented });
                request.segments = Some(Segmented { max: max.of_32(), begins: Place::default(), ends: place(1) });
            }
            Kind::Runs([unique, offsets, lengths], count) => {
                request.runs = Some(FindRuns {
                    count: place(count),
                    unique: unique.map(place),
                    offsets: offsets.map(place),
                    lengths: lengths.map(place),
                });
            }
            Kind::Gather { element_bytes, elements, places: [from, to] } => {
                request.gather = Some(Gather {
                    element_bytes: element_bytes.into(),
                    elements: elements.of_32(),
                    from: place(from),
                    to: place(to),
                });
            }
            Kind::Both(elements, k) => {
                request = request.select(Top { k: k.of_32(), segmented: false });
                request.gather =
                    Some(Gather { element_bytes: 4, elements: elements.of_32(), from: Place::default(), to: Place::default() });
            }
        }
        (request.keys, request.values) = (place(self.places[0]), place(self.places[1]));
        if let Some(words) = self.payload.filter(|words| words & 7 == 7) {
            request = Request { values: Place::default(), ..request }.with_wide_indices(place(words >> 3));
        }
        request.aliased = self.is_aliased;
        request.quick = self.payload.is_some_and(|words| words & 8 == 8);
        request.algorithm = self.algorithm.of(&[
            None,
            Some(Algorithm::OneSweep),
            Some(Algorithm::ReduceThenScan),
            Some(Algorithm::Counting),
            Some(Algorithm::WideDigits),
            Some(Algorithm::MsdHybrid),
        ]);
        request.batch = self.batch.map(Size::of_32);
        request.small_bucket = self.small_bucket.map(Size::of_32);
        request
    }
}

fuzz_target!(|input: Input| {
    let facts = input.device.facts();
    match input.ask {
        Ask::Sort(asked) => match SortPlan::new(asked.request(), &facts) {
            Ok(plan) => check(&plan, &facts, input.count % (plan.request.units() + 1)),
            Err(error) => is_refusal(&error),
        },
        Ask::Portions { asked, bindings, more } => {
            let request = Asked { kind: Kind::Sort, ..asked }.request();
            let bytes = u64::from(request.key_bits / 8).max(4 * u64::from(request.payload.words())).max(1);
            let max = facts.max_binding / bytes * (1 + u64::from(bindings) % MOST_PARTS) + u64::from(more);
            portions(Request { max, ..request }, &facts, input.count);
        }
        Ask::Merge { order, words, first, second, merged, keys_per_thread, choices } => {
            let (key_bits, spec) = order.of();
            let place = |first: u8| Place { first: first.into() };
            let run = |run: Run| SortedRun { max: run.len.of(33), skip: 0, keys: place(run.keys), values: place(run.values) };
            let request = MergeRequest {
                payload: if words & 7 == 0 { Payload::None } else { Payload::Words(u32::from(words) & 7) },
                first: run(first),
                second: run(second),
                keys: place(merged[0]),
                values: place(merged[1]),
                keys_per_thread: keys_per_thread.map(Size::of_32),
                ..MergeRequest::keys(key_bits, spec, [0; 2])
            };
            merge(request, &facts, choices);
        }
    }
});

/// The errors of a plan.
fn is_refusal(error: &Error) {
    assert!(matches!(error, Error::Unsupported { .. } | Error::TooLong { .. } | Error::InvalidRange { .. }), "{error:?}");
}

/// The most parts that an array is bound in. The time that a plan takes grows with the square of their number.
const MOST_PARTS: u64 = 50;

/// Whether an array of this many elements is bound in few parts.
fn has_few_parts(elements: u64, bytes: u64, facts: &Facts) -> bool {
    elements.saturating_mul(bytes) / facts.max_binding.max(512) <= MOST_PARTS
}

/// The longest binding that every device of WebGPU has. Tests plan for devices with shorter ones, which do not have room for the state of a sort.
const LEAST_BINDING: u64 = 128 << 20;

/// Checks that the commands of a plan fit the device, and that their offsets lie in the buffers.
fn check(plan: &SortPlan, facts: &Facts, count: u64) {
    assert!(!plan.to_string().is_empty());
    for (buffer, bytes) in &plan.scratch {
        assert!(
            *bytes <= facts.max_binding.max(LEAST_BINDING),
            "{buffer:?} has {bytes} bytes, and a binding {}: {plan}",
            facts.max_binding
        );
        assert!(bytes.is_multiple_of(4), "{buffer:?} has {bytes} bytes: {plan}");
    }
    for command in plan.long_commands().iter().chain(plan.short_commands()) {
        fits(command, facts);
        for &buffer in &command.bindings {
            // The host provides these, and these alone have a size that does not follow from the request.
            let is_of_host = matches!(buffer, Buffer::Number | Buffer::Sort | Buffer::Count);
            if !is_of_host && (buffer != Buffer::Keys || !plan.request.has_bounds()) {
                let bytes = plan.touched_bytes(buffer).unwrap_or(0);
                assert!(bytes > 0 && bytes.is_multiple_of(4), "{bytes} bytes of {buffer:?} are bound: {plan}");
            }
        }
        copies_lie_in_buffers(command, plan);
        for count in [Some(count), Some(0), None] {
            if let Ok((columns, rows)) = plan.grid(command.groups, count, facts.max_groups) {
                let keys = count.filter(|_| plan.request.segments.is_none() || plan.request.top.is_some());
                let of_segments = plan.request.segments.is_some() && plan.request.top.is_none();
                let keys = keys.unwrap_or(if of_segments { plan.request.max } else { plan.request.units() });
                let all = u64::from(columns) * u64::from(rows);
                assert!(columns <= facts.max_groups && rows <= facts.max_groups, "{columns} × {rows} workgroups: {plan}");
                assert!(all >= command.groups.for_keys(keys), "{all} workgroups for {keys} keys: {plan}");
            }
        }
    }
    if let Some(then) = &plan.then {
        check(then, facts, plan.then_count(Some(count)).unwrap_or(0));
    }
}

/// Checks that a workgroup fits the device, and that there is a number for each binding of one.
fn fits(command: &Command, facts: &Facts) {
    let variant = command.variant;
    assert!((1..=facts.max_group).contains(&variant.group), "{} threads of {}: {command}", variant.group, facts.max_group);
    let bytes = variant.workgroup_bytes();
    assert!(bytes <= facts.workgroup_bytes, "{bytes} bytes of workgroup memory of {}: {command}", facts.workgroup_bytes);
    let numbers = command.bindings.iter().filter(|&&buffer| buffer == Buffer::Number).count();
    assert_eq!(numbers, command.numbers.len(), "{command}");
}

/// Checks that a copy reads and writes what its buffers have.
fn copies_lie_in_buffers(command: &Command, plan: &SortPlan) {
    let ([_, Number::Is(width), Number::Is(from), Number::Is(to)], Kernel::Copy) = (&command.numbers[..], command.variant.kernel())
    else {
        return;
    };
    for (&buffer, &first) in command.bindings[5..].iter().zip([from, to]) {
        let needed = 4 * (u64::from(first) + plan.request.max * u64::from(*width));
        let has = plan.touched_bytes(buffer).unwrap_or(u64::MAX);
        assert!(needed <= has, "a copy touches {needed} of {has} bytes of {buffer:?}: {plan}");
    }
}

/// Plans a sort in portions, and compares what its parts touch with the arrays. Runs few keys through a model of it.
fn portions(request: Request, facts: &Facts, count: u64) {
    let bytes = [u64::from(request.key_bits / 8).max(4), 4 * u64::from(request.payload.words())];
    if !has_few_parts(request.max, bytes[0].max(bytes[1]), facts) || !PortionPlan::is_needed(&request, facts) {
        return;
    }
    let plan = match PortionPlan::new(request, [None; 2], facts) {
        Ok(plan) => plan,
        Err(error) => return is_refusal(&error),
    };
    assert!(!plan.to_string().is_empty());
    let [key_bytes, value_bytes] = plan.touched_bytes();
    let size = |buffer| match buffer {
        Buffer::Keys => key_bytes - 4 * u64::from(request.keys.first),
        Buffer::Values => value_bytes - 4 * u64::from(request.values.first),
        own => plan.scratch.iter().find(|(scratch, _)| *scratch == own).map_or(0, |&(_, bytes)| bytes),
    };
    for portion in &plan.portions {
        check(&portion.plan, facts, PortionPlan::portion_count(portion, count % (request.max + 1)));
        let callers = [(Buffer::Keys, request.keys), (Buffer::Values, request.values)];
        let callers = callers.into_iter().filter(|&(buffer, _)| buffer == Buffer::Keys || request.payload != Payload::None);
        let callers = callers.map(|(buffer, place)| {
            let first = 4 * u64::from(place.first);
            (buffer, portion.plan.touched_bytes(buffer).expect("a sort of keys") - first)
        });
        let mut ranges: BTreeMap<Buffer, Vec<(u64, u64)>> = BTreeMap::new();
        for (buffer, bytes) in portion.plan.scratch.iter().copied().chain(callers) {
            let (array, before) = plan.array(portion, buffer);
            assert!(before.is_multiple_of(256), "{buffer:?} begins at byte {before}: {plan}");
            assert!(before + bytes <= size(array), "{buffer:?} ends behind {array:?}: {plan}");
            ranges.entry(array).or_default().push((before, before + bytes));
        }
        are_apart(ranges, &plan);
    }
    for merge in &plan.merges {
        for step in &merge.plan.steps {
            let mut ranges: BTreeMap<Buffer, Vec<(u64, u64)>> = BTreeMap::new();
            let buffers = merge.plan.commands().into_iter().flat_map(|command| command.bindings.iter().copied());
            let mut buffers: Vec<Buffer> = buffers.collect();
            buffers.sort_unstable();
            buffers.dedup();
            for buffer in buffers {
                let Some((offset, bytes)) = merge.plan.touched(step, buffer) else { continue };
                let (array, before) = merge.array(buffer);
                if matches!(buffer, Buffer::Number | Buffer::Merge) {
                    continue;
                }
                let place = match array {
                    Buffer::Keys => request.keys,
                    Buffer::Values => request.values,
                    _ => Place::default(),
                };
                let (begin, end) = (before + offset, before + offset + bytes - 4 * u64::from(place.first));
                assert!(begin.is_multiple_of(256), "{buffer:?} begins at byte {begin}: {plan}");
                assert!(end <= size(array), "{buffer:?} ends at {end} behind {array:?}, which has {}: {plan}", size(array));
                let len = match buffer {
                    Buffer::SecondKeys | Buffer::SecondValues => step.second.end - step.second.start,
                    _ => 1,
                };
                // The binding of an empty run has room for an element that no kernel touches.
                if len > 0 {
                    ranges.entry(array).or_default().push((begin, end));
                }
            }
            are_apart(ranges, &plan);
        }
    }
    if request.max <= 20_000 {
        run(&plan, count);
    }
}

/// Checks that no two ranges of an array overlap.
fn are_apart(ranges: BTreeMap<Buffer, Vec<(u64, u64)>>, plan: &PortionPlan) {
    for (array, mut ranges) in ranges {
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            assert!(pair[0].1 <= pair[1].0, "{pair:?} of {array:?} overlap: {plan}");
        }
    }
}

/// Runs a plan on keys, whose values are their indices, as the device would.
fn run(plan: &PortionPlan, seed: u64) {
    let max = plan.request.max;
    let count = (seed % (max + 1)) as usize;
    let keys = (0..max).map(|at| (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57);
    let mut callers: Vec<(u64, u64)> = keys.zip(0..).collect();
    let mut expected = callers.clone();
    expected[..count].sort();
    let mut scratch = vec![(u64::MAX, u64::MAX); callers.len()];
    for portion in &plan.portions {
        let (start, len) = (portion.start as usize, PortionPlan::portion_count(portion, count as u64) as usize);
        callers.get_mut(start..start + len).unwrap_or_default().sort_by_key(|&(key, _)| key);
    }
    for merge in &plan.merges {
        let run = |run: SortedRun| (count as u64).saturating_sub(run.skip).min(run.max) as usize;
        let (first, second) = (run(merge.plan.request.first), run(merge.plan.request.second));
        let (start, middle) = (merge.start as usize, (merge.start + merge.plan.request.first.max) as usize);
        let (source, target) = if merge.from_scratch { (&scratch, &mut callers) } else { (&callers, &mut scratch) };
        let firsts = source[start..start + first].iter();
        let mut merged: Vec<(u64, u64)> =
            firsts.chain(source.get(middle..middle + second).unwrap_or_default()).copied().collect();
        merged.sort_by_key(|&(key, _)| key);
        target[start..start + merged.len()].copy_from_slice(&merged);
    }
    assert!(callers == expected, "{count} keys: {plan}");
}

/// Plans a merge. `choices` says which run the keys of the merge come from.
fn merge(request: MergeRequest, facts: &Facts, choices: u64) {
    let bytes = u64::from(request.key_bits / 8).max(4 * u64::from(request.payload.words())).max(1);
    if !has_few_parts(request.max(), bytes, facts) {
        return;
    }
    let plan = match MergePlan::new(request, facts) {
        Ok(plan) => plan,
        Err(error) => return is_refusal(&error),
    };
    assert!(!plan.to_string().is_empty());
    for command in plan.commands() {
        fits(command, facts);
        for keys in [request.max(), choices % (request.max() + 1)] {
            if let Ok((columns, rows)) = command.groups.grid(keys, facts.max_groups) {
                assert!(columns <= facts.max_groups && rows <= facts.max_groups, "{columns} × {rows} workgroups: {plan}");
            }
        }
    }
    let [key_bytes, value_bytes] = [u64::from(request.key_bits) / 8, 4 * u64::from(request.payload.words())];
    for step in &plan.steps {
        for &buffer in plan.path.bindings.iter().chain(&plan.tiles.bindings) {
            let (run, element, place) = match buffer {
                Buffer::FirstKeys => (request.first.max, key_bytes, request.first.keys),
                Buffer::SecondKeys => (request.second.max, key_bytes, request.second.keys),
                Buffer::MergedKeys => (request.max(), key_bytes, request.keys),
                Buffer::FirstValues => (request.first.max, value_bytes, request.first.values),
                Buffer::SecondValues => (request.second.max, value_bytes, request.second.values),
                Buffer::MergedValues => (request.max(), value_bytes, request.values),
                _ => continue,
            };
            let (offset, bytes) = plan.touched(step, buffer).expect("the size follows from the request");
            let (bytes, size) = (bytes - 4 * u64::from(place.first), (run.max(1) * element).next_multiple_of(4));
            assert!(offset.is_multiple_of(256) && bytes <= facts.max_binding, "{buffer:?} at {offset}: {plan}");
            assert!(offset + bytes <= size, "{buffer:?} ends at {} of {size}: {plan}", offset + bytes);
        }
    }
    walk(&plan, choices);
}

/// Walks along a path of the merge, many keys at a time: each step goes on where the step before has ended, as far as its parts reach.
fn walk(plan: &MergePlan, choices: u64) {
    let [first, second] = [plan.request.first.max, plan.request.second.max];
    let (mut at, mut stride) = ([0, 0], choices);
    for step in &plan.steps {
        let lies_in = |range: &core::ops::Range<u64>, at: u64| range.start <= at && at <= range.end;
        if !lies_in(&step.first, at[0]) || !lies_in(&step.second, at[1]) || !lies_in(&step.merged, at[0] + at[1]) {
            continue;
        }
        loop {
            let room = step.merged.end - at[0] - at[1];
            let rest = [step.first.end - at[0], step.second.end - at[1]];
            // A comparison needs the next key of each run that has one.
            let can_compare = [(0, first), (1, second)].into_iter().all(|(run, all)| rest[run] > 0 || at[run] == all);
            if room == 0 || !can_compare || at == [first, second] {
                break;
            }
            stride = stride.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let run = if rest[0] == 0 || rest[1] > 0 && stride >> 63 == 1 { 1 } else { 0 };
            at[run] += (stride >> 8 & 0xffff_ffff).clamp(1, rest[run].min(room).max(1));
        }
    }
    assert_eq!(at, [first, second], "the steps end before the merge does: {plan}");
}
