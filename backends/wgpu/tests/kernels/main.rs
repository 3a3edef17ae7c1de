//! Tests of single kernels: a launch must leave the same buffers as a plain Rust model of the kernel.
//!
//! For each of many plans, the model runs all commands, and the test compares its final result with a stable sort. Each launch of the kernel
//! under test starts from the model's buffers before the command, and must leave those after it. Words that no command has written are
//! pseudo-random.

mod merges;
mod model;
mod run;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::{Failed, Trial};
use polysort_core::{Options, Spec};
use polysort_shaders::abi;
use polysort_shaders::manifest::{Model, Part, Source};
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{
    Algorithm, Buffer, Command, Facts, FindRuns, Gather, Groups, Kernel, Length, Payload, Place, Request, Segmented, SortPlan,
    Top,
};
use polysort_wgpu::{Config, WgpuBackend};
use run::{Contents, Runner};
use std::collections::BTreeSet;

fn main() {
    support::run("kernels", |label| {
        let mut trials: Vec<Trial> = vec![];
        for (name, config) in [("", support::config()), (", no subgroups", support::config_without_subgroups())] {
            for kernel in Kernel::ALL {
                if !is_tested(kernel, config.subgroups) || kernel.entry().model != Model::Device {
                    continue;
                }
                let what = format!("kernel {} leaves the buffers of the model", kernel.name());
                let config = config.clone();
                let test = if matches!(kernel, Kernel::MergePath | Kernel::MergeTile) { merges::alone } else { alone };
                trials.push(support::trial(&format!("{label}{name}"), &what, move || test(config, kernel)));
            }
        }
        trials.push(support::trial(label, "subgroups have the lanes that they report", subgroups));
        trials
    })
}

/// Whether a kernel is tested with, or without, subgroups. One run is enough for a kernel that is the same with and without them.
fn is_tested(kernel: Kernel, subgroups: bool) -> bool {
    match kernel {
        // This kernel ranks without subgroups on any device.
        Kernel::Downsweep => !subgroups,
        // Without subgroups, no plan has these kernels.
        Kernel::Onesweep | Kernel::BucketTile | Kernel::BucketSweep => subgroups,
        _ => subgroups || names_subgroups(&kernel.entry().wgsl),
    }
}

/// Whether some variant of a kernel may have operations of subgroups.
fn names_subgroups(source: &Source) -> bool {
    let names = |text: &str| text.contains("subgroup");
    names(source.file)
        || source.parts.iter().any(|part| match part {
            Part::File(text) | Part::FileIf(_, text) => names(text),
            Part::Ranking => true,
        })
}

/// One sort: its plan, the number of keys, whether that number lies on the device, and the pattern of the keys.
struct Case {
    plan: SortPlan,
    count: u32,
    on_device: bool,
    pattern: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    Random,
    /// All keys share some of the digits.
    Sparse,
    /// All keys share all digits but one, so that the sort has one pass.
    OneDigit,
    Sorted,
    Equal,
}

/// Tests the launches of one kernel.
fn alone(config: Config, kernel: Kernel) -> Result<(), Failed> {
    let mut runner = Runner::new(WgpuBackend::open_with(config).map_err(support::failed)?);
    let facts = *runner.backend.facts();
    let (mut launches, mut changed, mut numbers) = (0, 0, BTreeSet::new());
    let mut requests = requests();
    // Kernels that rank with counters take long to compile.
    if kernel == Kernel::Downsweep || [Kernel::SingleTile, Kernel::TopK].contains(&kernel) && facts.subgroups.is_none() {
        requests.retain(|request| support::is_cheap(&runner.backend, request.key_bits, request.payload));
    }
    for (seed, case) in some(cases(&facts, kernel, &requests)) {
        let (plan, count) = (&case.plan, case.count as usize);
        let fixed = if case.on_device { None } else { Some(case.count) };
        let commands =
            if plan.length(fixed.map(u64::from)) == Length::Short { plan.short_commands() } else { plan.long_commands() };
        let mut contents = contents(&case, seed);
        let start = contents.clone();
        for command in commands {
            // In odd cases, the grid is about as wide as high, so that some workgroups have no work.
            let launched = command.groups.for_keys(fixed.map_or(plan.request.max, u64::from));
            let flat = seed % 2 == 0 || !matches!(command.groups, Groups::Each { .. });
            let columns = if flat { facts.max_groups } else { launched.isqrt() as u32 + 1 };
            // In some cases, there are so few workgroups that each takes several tiles.
            let groups = match command.groups {
                Groups::AtMost { of, team, .. } if seed % 3 == 0 || case.pattern == Pattern::Equal => {
                    Groups::AtMost { most: 2, of, team }
                }
                groups => groups,
            };
            let grid = plan.grid(groups, fixed.map(u64::from), columns).map_err(support::failed)?;
            let mut found = contents.clone();
            let before = if command.variant.kernel() == kernel { Some(contents.clone()) } else { None };
            model::step(plan, command, count, u64::from(grid.0) * u64::from(grid.1), &mut contents);
            let Some(before) = before else { continue };
            runner.run(bytemuck::bytes_of(&abi::Sort::of(plan)), command, [fixed; 2], grid, &mut found)?;
            // The number of recounts depends on the timing.
            found.get_mut(&Buffer::State).into_iter().for_each(|state| state[abi::STATE_RECOUNTS as usize] = 0);
            contents.get_mut(&Buffer::State).into_iter().for_each(|state| state[abi::STATE_RECOUNTS as usize] = 0);
            let mut expected = contents.clone();
            for on in [&mut found, &mut expected] {
                model::settle(plan, command, count, on);
            }
            compare(&found, &expected).map_err(|what| explain(&what, &case, command, grid))?;
            launches += 1;
            changed += usize::from(before != contents);
            numbers.extend(command.numbers.first().map(|number| (format!("{number:?}"), before != contents)));
        }
        check_model(&case, &start, &contents).map_err(|what| format!("the model is wrong: {what}: {:?}", plan.request))?;
    }
    println!("{launches} launches, {changed} of them with work");
    support::ensure(changed >= SOME / 4, || format!("only {changed} of {launches} launches had work"))?;
    if kernel == Kernel::Copy {
        // The copies are scheduled or not, after an odd or an even number of passes, or always.
        support::ensure(numbers.len() >= 5, || format!("some conditions of copies did not occur: {numbers:?}"))?;
    }
    Ok(())
}

/// The most cases of a kernel, unless `POLYSORT_THOROUGH=1`.
const SOME: usize = 32;

/// Returns about `SOME` of the cases, or all, each with its index.
fn some(cases: Vec<Case>) -> impl Iterator<Item = (u64, Case)> {
    let every = if polysort_kit::is_thorough() { 1 } else { cases.len().div_ceil(SOME) as u64 };
    // Not every n-th case: patterns and lengths repeat.
    let is_drawn = move |index: u64| (index.wrapping_mul(0x9e37_79b9) >> 16).is_multiple_of(every);
    (0..).zip(cases).filter(move |&(index, _)| is_drawn(index))
}

/// Returns the sorts whose plans have the kernel.
fn cases(facts: &Facts, kernel: Kernel, requests: &[Request]) -> Vec<Case> {
    let patterns = [Pattern::Random, Pattern::Sparse, Pattern::OneDigit, Pattern::Sorted, Pattern::Equal];
    let mut cases = vec![];
    for (r, &request) in requests.iter().enumerate() {
        let asked = [Algorithm::OneSweep, Algorithm::WideDigits, Algorithm::ReduceThenScan, Algorithm::Counting];
        for algorithm in [None, Some(Algorithm::MsdHybrid)].into_iter().chain(asked.map(Some)) {
            // These have one algorithm.
            let is_sort = request.top.is_none() && request.runs.is_none() && request.gather.is_none();
            if !is_sort && algorithm.is_some() {
                continue;
            }
            let Ok(probe) = SortPlan::new(Request { algorithm, ..request }, facts) else { continue };
            let mut variants = probe.long_commands().iter().chain(probe.short_commands()).map(|command| command.variant);
            let Some(variant) = variants.find(|variant| variant.kernel() == kernel) else { continue };
            let (tile, single) = (probe.tile, probe.single_tile.max(3));
            let counts = match kernel {
                Kernel::SegmentBounds => vec![700, 37, 1, 12, 0],
                _ if is_segmented(&request) => vec![5, 37, 1, 12, 3],
                Kernel::TopK => vec![2 * SELECT_SEGMENT + 17, 3 * SELECT_SEGMENT, SELECT_SEGMENT, SELECT_SEGMENT + 1, 7],
                _ if request.top.is_some() => vec![2 * 8192 + 17, 3 * 8192, 8191, 8193, 7],
                // Enough keys that the second copy of a gather has work, and no keys at all.
                Kernel::Gather => vec![(1 << 16) + 5, 0, 2 * tile + 17, 7, 3],
                Kernel::BeginRuns | Kernel::Runs => vec![5 * tile + 17, 0, 3 * tile, tile + 1, 1],
                Kernel::SingleTile => vec![single, single - 1, single / 2 + 3, 2, 19],
                // The keys of more than one workgroup of the kernel, or only a few.
                Kernel::Histogram if r % 5 == 0 => {
                    let of_group = variant.group * variant.shape.keys().expect("a thread counts keys");
                    vec![of_group + 5, 3 * of_group / 2, 5, 2 * tile - 1]
                }
                Kernel::Copy if r % 5 == 0 => vec![(1 << 14) + 5, 3 << 14, 5, 2 * tile - 1],
                // One length is more than a count of 16 bits can hold.
                Kernel::CountValues => vec![2 * tile + 17, 3 * tile, (1 << 17) + 3, tile + 1, 7],
                _ => vec![2 * tile + 17, 3 * tile, tile - 1, tile + 1, 7],
            };
            for (c, &count) in counts.iter().enumerate() {
                // Each request has every other length.
                if !(r + c).is_multiple_of(2) && kernel != Kernel::Begin && request.top.is_none() {
                    continue;
                }
                let on_device = (r + c / 2).is_multiple_of(3);
                let max = if kernel == Kernel::SingleTile { single } else { count + count / 3 };
                let max = u64::from(if on_device && c == 0 { count } else { max });
                // If there are buckets: several batches, and no, some or most buckets are small.
                let small_bucket = [Some(0), Some(40), None][(r + c) % 3];
                let request = Request { algorithm, max, batch: Some(tile), small_bucket, ..request };
                let of_each =
                    |segments| Request { max: 30_000, segments: Some(Segmented { max: max as u32, ..segments }), ..request };
                let request = request.segments.map_or(request, of_each);
                let Ok(plan) = SortPlan::new(request, facts) else { continue };
                let pattern = patterns[[0, 1, 0, 2, 3, 0, 2, 4][(r + c / 2 + c) % 8]];
                // `identity` has work only if the keys are in order.
                let pattern = if kernel == Kernel::Identity && c < 2 { Pattern::Sorted } else { pattern };
                // There are so many equal keys that counters of 16 bits would overflow if no thread cleared them in time.
                let pattern = if kernel == Kernel::CountValues && count > 1 << 17 { Pattern::Equal } else { pattern };
                cases.push(Case { plan, count, on_device, pattern });
            }
        }
    }
    cases
}

fn requests() -> Vec<Request> {
    let spec = |bits, options| match bits {
        8 => Spec::of::<i8>(options),
        16 => Spec::of::<half::f16>(options),
        32 => Spec::of::<f32>(options),
        64 => Spec::of::<f64>(options),
        _ => Spec::of::<i128>(options),
    };
    let mut requests = vec![];
    for (k, bits) in [8, 16, 32, 64, 128].into_iter().enumerate() {
        let payloads = [Payload::None, Payload::Indices].into_iter().chain((1..=4).map(Payload::Words));
        for (p, payload) in payloads.enumerate() {
            let options = match (k + p) % 3 {
                0 => Options::ascending(),
                1 => Options::descending(),
                _ => Options::ascending().bits(bits / 4 + 1..bits - bits / 8),
            };
            let request = Request { payload, ..Request::keys(bits, spec(bits, options).expect("a range of the key"), 0) };
            // A binding can address all elements at the offset `aligned`, and no longer ones at `odd`.
            let aligned = Place { first: 12 };
            let odd = Place { first: 5 };
            let places = [(Place::default(), Place::default()), (aligned, aligned), (odd, odd), (aligned, odd)];
            let (keys, values) = places[(p + 2 * k) % 4];
            requests.push(Request { keys, values, ..request });
            requests.push(Request { keys: odd, values: aligned, ..request });
        }
        let whole = Request::keys(bits, spec(bits, Options::descending()).expect("all bits"), 0);
        requests.extend([whole, Request { keys: Place { first: 3 }, ..whole }]);
        let inner = spec(bits, Options::ascending().bits(2..bits - 1)).expect("a range of the key");
        // A selection with one key per thread, and one with several.
        let (few, many) = (Top { k: 7, segmented: k % 2 == 1 }, Top { k: 900, segmented: k % 2 == 0 });
        // A selection of more keys than one workgroup selects.
        let most = Top { k: 5000, segmented: false };
        let none = spec(bits, Options::ascending().bits(3..3)).expect("no bits");
        for (spec, top) in [(whole.spec, few), (inner, many), ([whole.spec, inner, none][k % 3], most)] {
            let first = 4 * (k as u32 % 2);
            requests.push(Request { keys: Place { first }, values: Place { first }, ..Request { spec, ..whole }.select(top) });
        }
    }
    for (k, bits) in [8, 16, 32, 64, 128].into_iter().enumerate() {
        let segments = Segmented { max: 0, begins: Place { first: 3 }, ends: Place { first: 12 } };
        let whole = Request::keys(bits, spec(bits, Options::descending()).expect("all bits"), 0);
        let selected = whole.select(Top { k: [7, 900][k % 2], segmented: true }).in_segments(segments);
        requests.push(Request { keys: Place { first: 5 }, ..selected });
    }
    // Indices of 64 bits: of all keys, and of selected ones.
    for (k, bits) in [8, 16, 32, 64, 128].into_iter().enumerate() {
        let whole = Request::keys(bits, spec(bits, Options::descending()).expect("all bits"), 0);
        let selections = [(7, k % 2 == 0), (900, k % 2 == 1), (5000, false)];
        let selections = selections.map(|(k, segmented)| whole.select(Top { k, segmented }));
        let first = [0, 5, 12][k % 3];
        let wide = [whole.for_indices()].into_iter().chain(selections).map(|keys| keys.with_wide_indices(Place { first }));
        requests.extend(wide);
    }
    requests.extend(run_requests(spec));
    requests
}

/// Returns searches for runs: of keys of all widths, with all outputs or some, at several offsets.
fn run_requests(spec: impl Fn(u32, Options) -> Result<Spec, polysort_core::Error>) -> Vec<Request> {
    let mut requests = vec![];
    for (k, bits) in [8, 16, 32, 64, 128].into_iter().enumerate() {
        let window = Options::ascending().bits(bits / 4 + 1..bits - bits / 8);
        let places = [0, 12, 5].map(|first| Place { first });
        for (p, count) in places.into_iter().enumerate() {
            let place = Some(places[(p + k) % 3]);
            let all = FindRuns { count, unique: place, offsets: place, lengths: place };
            let options = if (k + p).is_multiple_of(3) { Options::descending() } else { window };
            let keys = Request { keys: places[(p + 1) % 3], ..Request::keys(bits, spec(bits, options).expect("a range"), 0) };
            let some = [
                FindRuns { offsets: None, ..all },
                FindRuns { unique: None, ..all },
                FindRuns { lengths: None, offsets: None, ..all },
                FindRuns { lengths: None, unique: None, ..all },
            ];
            requests.extend([all, some[(p + k) % 4]].map(|runs| keys.find_runs(runs)));
        }
        let none = FindRuns { count: Place::default(), unique: None, offsets: None, lengths: None };
        let no_bits = spec(bits, Options::ascending().bits(3..3)).expect("no bits");
        requests.push(Request::keys(bits, no_bits, 0).find_runs(none));
    }
    // Gathers of all elements that exist, and of some that do not.
    for (k, element_bytes) in [1, 2, 4, 8, 12, 20].into_iter().enumerate() {
        let places = [0, 12, 5, 1].map(|first| Place { first });
        let indices = Request { keys: places[k % 4], ..Request::keys(32, Spec::unsigned::<u32>(), 0) };
        let (from, to) = (places[(k + 1) % 4], places[(k + 2) % 4]);
        requests.extend([900, 3].map(|elements| indices.gather(Gather { element_bytes, elements, from, to })));
    }
    requests
}

fn is_segmented(request: &Request) -> bool {
    request.top.is_some_and(|top| top.segmented)
}

/// Returns the buffers of a case: its keys, and pseudo-random words everywhere else.
fn contents(case: &Case, seed: u64) -> Contents {
    let (plan, request) = (&case.plan, &case.plan.request);
    let mut random = support::random(seed);
    let mut noise = |words: u64| (0..words + 9).map(|_| random() as u32).collect::<Vec<u32>>();
    let mut contents: Contents = plan.scratch.iter().map(|&(buffer, bytes)| (buffer, noise(bytes / 4))).collect();
    let count = if case.on_device && u64::from(case.count) == request.units() { case.count + 77 } else { case.count };
    contents.insert(Buffer::Count, vec![count, 5, 6, 7]);
    let values = u64::from(request.values.first) + request.value_bytes() / 4;
    contents.insert(Buffer::Values, noise(values));
    if let Some(place) = request.wide_indices {
        contents.insert(Buffer::WideIndices, noise(u64::from(place.first) + request.value_bytes() / 4));
    }
    let (mut most, mut count) = (request.max, case.count);
    if let Some(of) = request.segments {
        let mut bounds = segments(of.max as usize, noise(2 * u64::from(of.max)));
        // Bounds that no segment can have.
        bounds.chunks_exact_mut(2).skip(3).step_by(4).for_each(|bounds| bounds.swap(0, 1));
        for (buffer, place, end) in [(Buffer::Begins, of.begins, 0), (Buffer::Ends, of.ends, 1)] {
            let before = vec![7; place.first as usize];
            contents.insert(buffer, before.into_iter().chain(bounds.iter().copied().skip(end).step_by(2)).chain([9]).collect());
        }
        count = request.max as u32;
    } else if is_segmented(request) {
        let bounds = segments(request.max as usize, noise(2 * request.max));
        count = bounds.iter().copied().max().unwrap_or(0);
        most = count.into();
        contents.insert(Buffer::Bounds, bounds);
    }
    let words = u64::from(request.keys.first) + (most * u64::from(request.key_bits)).div_ceil(32);
    let mut keys = noise(words);
    let first = request.keys.first as usize;
    let end = first + (count as usize * request.key_bits as usize).div_ceil(32);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut keys[first..end]);
    let size = request.key_bits as usize / 8;
    let whole = bytes.len() / size * size;
    for (i, key) in bytes[..whole].chunks_exact_mut(size).enumerate() {
        // Which bytes vary matters, not their order in the key.
        match case.pattern {
            Pattern::Random => {}
            Pattern::Sparse => key.iter_mut().enumerate().for_each(|(b, byte)| *byte &= [0x11, 0, 0xff][(b + size) % 3]),
            Pattern::OneDigit => {
                key.iter_mut().enumerate().for_each(|(b, byte)| *byte = if b == size / 2 { *byte } else { 0x40 });
            }
            Pattern::Equal | Pattern::Sorted => key.fill(0x41),
        }
        if matches!(case.pattern, Pattern::Sorted) {
            // Only the top byte varies: the keys ascend in the order of the sort.
            let ascends = request.spec.masks.clear >> (request.key_bits - 2) & 1 == 0;
            let late = i > count as usize / 2;
            key[size - 1] = if late == ascends { 0x7f } else { 0x01 };
        }
    }
    if let Some(gather) = request.gather {
        keys[first..].iter_mut().for_each(|index| *index %= gather.elements * 5 / 4);
        let words = |first: u32, elements: u64| u64::from(first) + (elements * u64::from(gather.element_bytes)).div_ceil(4);
        for (buffer, words) in [
            (Buffer::GatherFrom, words(gather.from.first, gather.elements.into())),
            (Buffer::GatherTo, words(gather.to.first, request.max)),
        ] {
            contents.insert(buffer, (0..words.max(1)).map(|_| random() as u32).collect());
        }
    }
    if request.runs.is_some() {
        // Runs of several lengths; one is longer than a tile.
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut keys[first..end]);
        for i in 1..whole / size {
            if random() % 5 > 1 || (i as u32).wrapping_sub(plan.tile / 2) < 2 * plan.tile {
                bytes.copy_within((i - 1) * size..i * size, i * size);
            }
        }
        for buffer in [Buffer::RunCount, Buffer::Unique, Buffer::RunOffsets, Buffer::RunLengths] {
            if let Some((place, bytes)) = request.run_output(buffer) {
                contents.insert(buffer, (0..u64::from(place.first) + bytes.div_ceil(4)).map(|_| random() as u32).collect());
            }
        }
    }
    contents.insert(Buffer::Keys, keys);
    contents
}

/// Returns the begins and ends of `count` segments, which `noise` determines: empty, short and long ones, with gaps.
fn segments(count: usize, noise: Vec<u32>) -> Vec<u32> {
    let (mut bounds, mut at) = (vec![], 0);
    for noise in noise.into_iter().take(count) {
        let begin = at + noise % 3;
        at = begin + [0, 1, 100, 1000, 20_000][(noise >> 8) as usize % 5] * (noise >> 16 & 3);
        bounds.extend([begin, at]);
    }
    bounds
}

/// Returns an error that names the first word that differs.
fn compare(found: &Contents, expected: &Contents) -> Result<(), String> {
    for (buffer, wanted) in expected {
        let got = &found[buffer];
        // Tests are not optimized, so one call compares all words.
        if got == wanted {
            continue;
        }
        let wrong: Vec<usize> = (0..wanted.len()).filter(|&i| got[i] != wanted[i]).collect();
        if let Some(&at) = wrong.first() {
            let (count, len) = (wrong.len(), wanted.len());
            let (got, wanted) = (got[at], wanted[at]);
            return Err(format!(
                "{count} of {len} words of {buffer:?} differ, the first at {at}: {got:#x} instead of {wanted:#x}"
            ));
        }
    }
    Ok(())
}

fn explain(what: &str, case: &Case, command: &Command, grid: (u32, u32)) -> String {
    let Case { plan, count, on_device, pattern } = case;
    let (request, scratch) = (plan.request, &plan.scratch);
    format!(
        "{what}\n    after {command} on {grid:?} workgroups, {count} keys (on device: {on_device}), {pattern:?}\n    {request:?} {scratch:?}"
    )
}

/// Checks that the model has sorted the keys of `start`.
fn check_model(case: &Case, start: &Contents, end: &Contents) -> Result<(), String> {
    let request = &case.plan.request;
    let size = request.key_bits as usize / 8;
    let count = if is_segmented(request) { usize::MAX } else { case.count as usize };
    let bytes = |contents: &Contents, buffer, first: u32, size: usize| -> Vec<Vec<u8>> {
        let bytes: &[u8] = bytemuck::cast_slice(&contents[&buffer]);
        bytes[4 * first as usize..].chunks_exact(size).take(count).map(<[u8]>::to_vec).collect()
    };
    let rank = |key: &Vec<u8>| {
        let raw = key.iter().rev().fold(0_u128, |raw, &byte| raw << 8 | u128::from(byte));
        match request.key_bits {
            8 => request.spec.rank(raw as u8).into(),
            16 => request.spec.rank(raw as u16).into(),
            32 => request.spec.rank(raw as u32).into(),
            64 => request.spec.rank(raw as u64).into(),
            _ => request.spec.rank(raw),
        }
    };
    let keys = bytes(start, Buffer::Keys, request.keys.first, size);
    if let Some(place) = request.wide_indices {
        let written = request.top.map_or(case.count.into(), |top| top.results(case.count.into())) as usize;
        let (wide, before) = (&end[&Buffer::WideIndices], &start[&Buffer::WideIndices]);
        let (first, last) = (place.first as usize, place.first as usize + 2 * written);
        let indices = end[&Buffer::Values][..written].iter().flat_map(|&index| [index, 0]);
        if !indices.eq(wide[first..last].iter().copied()) || wide[..first] != before[..first] || wide[last..] != before[last..] {
            return Err("indices of 64 bits".into());
        }
    }
    if let Some(top) = request.top {
        return check_selection(case, top, &keys.iter().map(rank).collect::<Vec<_>>(), end);
    }
    if let Some(gather) = request.gather {
        let size = gather.element_bytes as usize;
        let column = |contents: &Contents, buffer, place: Place| bytes(contents, buffer, place.first, size);
        let from: Vec<Vec<u8>> = bytemuck::cast_slice::<u32, u8>(&start[&Buffer::GatherFrom][gather.from.first as usize..])
            .chunks_exact(size)
            .take(gather.elements as usize)
            .map(<[u8]>::to_vec)
            .collect();
        let index = |key: &Vec<u8>| key.iter().rev().fold(0, |index, &byte| index << 8 | usize::from(byte));
        let expected = keys.iter().map(|key| from.get(index(key)).cloned().unwrap_or_else(|| vec![0; size]));
        let right = column(end, Buffer::GatherTo, gather.to).into_iter().eq(expected);
        return if right { Ok(()) } else { Err("gathered elements".into()) };
    }
    if let Some(runs) = request.runs {
        return check_runs(case, runs, &keys, rank, end);
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&i| rank(&keys[i]));
    let mut sorted: Vec<Vec<u8>> = order.iter().map(|&i| keys[i].clone()).collect();
    if let Payload::Words(words) = request.payload {
        let values = bytes(start, Buffer::Values, request.values.first, 4 * words as usize);
        let moved: Vec<Vec<u8>> = order.iter().map(|&i| values[i].clone()).collect();
        if bytes(end, Buffer::Values, request.values.first, 4 * words as usize) != moved {
            return Err("values".into());
        }
    }
    if request.payload == Payload::Indices {
        let indices = &end[&Buffer::Values][request.values.first as usize..];
        if !order.iter().zip(indices).all(|(&i, &index)| i == index as usize) {
            return Err("indices".into());
        }
        sorted = keys;
    }
    if bytes(end, Buffer::Keys, request.keys.first, size) == sorted { Ok(()) } else { Err("keys".into()) }
}

/// Checks the runs: where they begin, and the words around the outputs.
fn check_runs(
    case: &Case,
    runs: FindRuns,
    keys: &[Vec<u8>],
    rank: impl Fn(&Vec<u8>) -> u128,
    end: &Contents,
) -> Result<(), String> {
    let keys = &keys[..case.count as usize];
    let begins: Vec<usize> = (0..keys.len()).filter(|&i| i == 0 || rank(&keys[i - 1]) != rank(&keys[i])).collect();
    let words = |buffer: Buffer, place: Place| &end[&buffer][place.first as usize..];
    if words(Buffer::RunCount, runs.count)[0] as usize != begins.len() {
        return Err("number of runs".into());
    }
    let ends: Vec<u32> = begins.iter().copied().chain([keys.len()]).map(|end| end as u32).collect();
    if runs.offsets.is_some_and(|place| !words(Buffer::RunOffsets, place).starts_with(&ends)) {
        return Err("offsets of runs".into());
    }
    let lengths: Vec<u32> = ends.windows(2).map(|ends| ends[1] - ends[0]).collect();
    if runs.lengths.is_some_and(|place| !words(Buffer::RunLengths, place).starts_with(&lengths)) {
        return Err("lengths of runs".into());
    }
    let unique: Vec<u8> = begins.iter().flat_map(|&begin| keys[begin].clone()).collect();
    let starts = |place| bytemuck::cast_slice::<u32, u8>(words(Buffer::Unique, place)).starts_with(&unique);
    if runs.unique.is_some_and(|place| !starts(place)) { Err("first keys of runs".into()) } else { Ok(()) }
}

/// Checks that the selected indices are the first of each segment. `ranks` are the ordered bits of all keys.
fn check_selection(case: &Case, top: Top, ranks: &[u128], end: &Contents) -> Result<(), String> {
    let bounds: Vec<[u32; 2]> = match end.get(&Buffer::Bounds) {
        Some(bounds) => bounds.chunks_exact(2).take(case.count as usize).map(|pair| [pair[0], pair[1]]).collect(),
        None => vec![[0, case.count]],
    };
    let indices = &end[&Buffer::Values][case.plan.request.values.first as usize..];
    for ([begin, end], found) in bounds.into_iter().zip(indices.chunks(top.k as usize)) {
        let mut order: Vec<u32> = (begin..end).collect();
        order.sort_by_key(|&i| ranks[i as usize]);
        order.resize(order.len().max(top.k as usize), abi::NOTHING);
        let mut found = found.to_vec();
        if case.plan.then.is_some() {
            // The model has selected the keys; the plan that follows sorts them.
            found.sort_by_key(|&i| ranks.get(i as usize).copied().unwrap_or(u128::MAX));
        }
        if !order.starts_with(&found) {
            return Err(format!("the selection of {begin}..{end}: {found:?}"));
        }
    }
    Ok(())
}

/// Checks the subgroups of a workgroup: their number and size are those that kernels get, and lanes have consecutive threads.
fn subgroups() -> Result<(), Failed> {
    use polysort_wgpu::wgpu;
    let backend = WgpuBackend::open_with(support::config()).map_err(support::failed)?;
    let (device, queue, facts) = (backend.device(), backend.queue(), backend.facts());
    let Some((least, most)) = facts.subgroups else { return Err("there are no subgroups".into()) };
    for group in [64, 128, 256] {
        let text = include_str!("subgroups.wgsl").replace("GROUP", &group.to_string());
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::STORAGE;
        let found = device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 32, usage, mapped_at_creation: false });
        queue.write_buffer(&found, 0, bytemuck::cast_slice(&[0_u32, 0, 0, 0, u32::MAX, 0, 0, 0]));
        let bind = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: found.as_entire_binding() }],
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bind, &[]);
        pass.dispatch_workgroups(37, 1, 1);
        drop(pass);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let copy = device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 32, usage, mapped_at_creation: false });
        encoder.copy_buffer_to_buffer(&found, 0, &copy, 0, 32);
        queue.submit([encoder.finish()]);
        copy.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("it is mapped"));
        device.poll(wgpu::PollType::wait_indefinitely())?;
        let view = copy.get_mapped_range(..)?;
        let words: &[u32] = bytemuck::cast_slice(&view);
        let [threads, wrong_sizes, wrong_threads, wrong_ballots, smallest, largest] = words[..6] else { unreachable!() };
        println!("workgroups of {group}: subgroups of {smallest} to {largest} lanes");
        let right = (threads, wrong_sizes, wrong_threads, wrong_ballots) == (37 * group, 0, 0, 0);
        support::ensure(right && least <= smallest && largest <= most, || format!("workgroups of {group}: {words:?}"))?;
    }
    Ok(())
}
