//! The kernels of merges, each alone, against a model that merges key by key.

use crate::run::{Contents, Runner};
use crate::support;
use libtest_mimic::Failed;
use polysort_core::{Options, Spec};
use polysort_shaders::abi;
use polysort_shaders::plan::{
    Buffer, Command, Facts, Kernel, MAX_MERGED, MergePlan, MergeRequest, MergeStep, PATH_HEADER, Payload, Place, SortedRun,
};
use polysort_wgpu::{Config, WgpuBackend};

/// One merge: its plan, and the number of keys of each run, which may lie on the device.
struct Case {
    plan: MergePlan,
    lens: [usize; 2],
    on_device: [bool; 2],
    /// The random bits of a key.
    bits: u32,
}

/// Tests the launches of one kernel.
pub(crate) fn alone(config: Config, kernel: Kernel) -> Result<(), Failed> {
    let mut runner = Runner::new(WgpuBackend::open_with(config).map_err(support::failed)?);
    let facts = *runner.backend.facts();
    let (mut launches, mut changed) = (0, 0);
    // Runs the commands of a step, and compares what the kernel leaves with what the model does.
    let mut compare = |case: &Case, seed: u64, number: u32, step: &MergeStep, model: &mut Contents| {
        let plan = &case.plan;
        for command in plan.commands() {
            let before = model.clone();
            apply(case, number, step, command, model);
            if command.variant.kernel() != kernel {
                continue;
            }
            let [first_count_index, second_count_index] = [1, 2];
            let uniform = abi::Merge { first_count_index, second_count_index, ..abi::Merge::of(plan, number, step) };
            let counts = [0, 1].map(|run| (!case.on_device[run]).then_some(case.lens[run] as u32));
            // In some cases, there are so few workgroups that each takes several tiles.
            let groups = if seed.is_multiple_of(2) { (2, 1) } else { (3, 5) };
            let mut found = before.clone();
            runner.run(bytemuck::bytes_of(&uniform), command, counts, groups, &mut found)?;
            crate::compare(&found, model).map_err(|what| {
                let (request, lens) = (plan.request, case.lens);
                format!("{what}\n    after {command} in step {number}, {step:?}, of {lens:?} keys\n    {request:?}")
            })?;
            launches += 1;
            changed += usize::from(before != *model);
        }
        Ok::<(), Failed>(())
    };
    for (seed, case) in (0..).zip(cases(&facts)) {
        let plan = &case.plan;
        let mut whole = contents(&case, seed);
        let start = whole.clone();
        for (number, step) in (0..).zip(&plan.steps) {
            let mut model = part(plan, step, &whole);
            compare(&case, seed, number, step, &mut model)?;
            put_back(plan, step, &model, &mut whole);
        }
        check_model(&case, &start, &whole).map_err(|what| format!("the model is wrong: {what}: {:?}", plan.request))?;
    }
    for (seed, (case, step)) in (0..).zip(far_steps(&facts)) {
        let begin = [&step.first, &step.second].map(|part| part.start as u32);
        let mut model = far_contents(&case, &step, seed);
        model.get_mut(&Buffer::Path).expect("inserted there")[2..4].copy_from_slice(&begin);
        // An odd step begins at the second point of the path.
        compare(&case, seed, 1, &step, &mut model)?;
    }
    println!("{launches} launches, {changed} of them with work");
    support::ensure(changed >= 20, || format!("only {changed} of {launches} launches had work"))
}

fn cases(facts: &Facts) -> Vec<Case> {
    let mut cases = vec![];
    for (k, bits) in [8, 16, 32, 64, 128].into_iter().enumerate() {
        for (p, payload) in [Payload::None, Payload::Words(1), Payload::Words(3)].into_iter().enumerate() {
            let options = match (k + p) % 3 {
                0 => Options::ascending(),
                1 => Options::descending(),
                _ => Options::ascending().bits(bits / 4 + 1..bits - bits / 8),
            };
            let spec = match bits {
                8 => Spec::of::<i8>(options),
                16 => Spec::of::<half::f16>(options),
                32 => Spec::of::<f32>(options),
                64 => Spec::of::<f64>(options),
                _ => Spec::of::<i128>(options),
            }
            .expect("a range of the key");
            // Bindings of any size, and so small that a run has several parts.
            for (c, max_binding) in [facts.max_binding, 16 << 10].into_iter().enumerate() {
                let facts = Facts { max_binding, ..*facts };
                let tile = 256 * [15, 15, 15, 7, 3][k];
                let lens = [[2 * tile + 17, tile], [tile - 1, 5], [0, tile + 1], [700, 2 * tile]][(k + 2 * p + c) % 4];
                let places = [3, 12, 0].map(|first| Place { first });
                let run = |len: usize| SortedRun { max: len as u64 + 9, keys: places[p], values: places[(p + 1) % 3], skip: 0 };
                let request = MergeRequest {
                    payload,
                    first: run(lens[0]),
                    // The number of keys that is given is that of an array in which 40 keys come before the run.
                    second: SortedRun { skip: 40, ..run(lens[1]) },
                    keys: places[(p + 1) % 3],
                    values: places[p],
                    keys_per_thread: [None, Some(4), None][p],
                    ..MergeRequest::keys(bits, spec, [0; 2])
                };
                let Ok(plan) = MergePlan::new(request, &facts) else { continue };
                let lens = [lens[0], lens[1] + 40];
                let bits = [128, 3, 10, 0][(k + p + c) % 4];
                cases.push(Case { plan, lens, on_device: [c == 0, (k + p) % 2 == 0], bits });
            }
        }
    }
    cases
}

/// The last steps of long runs, whose output ends at `MAX_MERGED` keys, where 32 bits overflow, or `missing` keys before. The part of the
/// output lacks the last `beyond` keys.
fn far_steps(facts: &Facts) -> Vec<(Case, MergeStep)> {
    let mut steps = vec![];
    for (bits, words, missing, beyond) in
        [(32, 1, 0, 0), (8, 0, 0, 0), (8, 0, 3, 0), (64, 0, 1, 0), (32, 0, 0, 2048), (8, 0, 0, 1024)]
    {
        let spec = if bits == 64 { Spec::of::<u64>(Options::ascending()) } else { Spec::of::<u32>(Options::ascending()) };
        let spec = if bits == 8 { Spec::of::<u8>(Options::ascending()) } else { spec }.expect("all bits of the key");
        let [first, second] = [(1 << 31) + 12, MAX_MERGED - missing - (1 << 31) - 12];
        let step = MergeStep {
            first: first - 3001..first,
            second: second - 2500..second,
            merged: MAX_MERGED - 8192..first + second - beyond,
        };
        let payload = if words == 0 { Payload::None } else { Payload::Words(words) };
        let lens = [step.first.end, step.second.end];
        let request = MergeRequest { payload, ..MergeRequest::keys(bits, spec, lens) };
        let plan = MergePlan::new(request, facts).expect("a merge of keys of a usual size");
        let case = Case { plan, lens: lens.map(|len| len as usize), on_device: [words == 1; 2], bits: 128 };
        steps.push((case, step));
    }
    steps
}

/// Returns what a step binds: two sorted runs, and zeros everywhere else.
fn far_contents(case: &Case, step: &MergeStep, seed: u64) -> Contents {
    let plan = &case.plan;
    let mut random = support::random(seed);
    let roles = [KEYS, VALUES].concat().into_iter().chain([Buffer::MergedKeys, Buffer::MergedValues]);
    let mut contents: Contents =
        roles.map(|role| (role, vec![0; bound(plan, step, role).map_or(0, |range| range.len())])).collect();
    contents.insert(Buffer::Path, vec![0; 64]);
    contents.insert(Buffer::Count, vec![7, case.lens[0] as u32, 7, 7]);
    contents.insert(Buffer::SecondCount, vec![7, 7, case.lens[1] as u32, 7]);
    for (role, part) in KEYS.into_iter().zip([&step.first, &step.second]) {
        let words = contents.get_mut(&role).expect("inserted above");
        words.iter_mut().for_each(|word| *word = random() as u32);
        let bytes = bytemuck::cast_slice_mut::<u32, u8>(words);
        let mut keys: Vec<Vec<u8>> = bytes.chunks_exact(case.key_bytes()).map(<[u8]>::to_vec).collect();
        keys[..(part.end - part.start) as usize].sort_by_key(|key| raw(key));
        bytes.copy_from_slice(&keys.concat());
    }
    for role in VALUES {
        contents.get_mut(&role).expect("inserted above").iter_mut().for_each(|word| *word = random() as u32);
    }
    contents
}

impl Case {
    /// The keys of each run.
    fn run_lens(&self) -> [usize; 2] {
        let MergeRequest { first, second, .. } = self.plan.request;
        let len = |run: SortedRun, count: usize| count.saturating_sub(run.skip as usize).min(run.max as usize);
        [len(first, self.lens[0]), len(second, self.lens[1])]
    }

    fn rank(&self, raw: u128) -> u128 {
        let spec = &self.plan.request.spec;
        match self.plan.request.key_bits {
            8 => spec.rank(raw as u8).into(),
            16 => spec.rank(raw as u16).into(),
            32 => spec.rank(raw as u32).into(),
            64 => spec.rank(raw as u64).into(),
            _ => spec.rank(raw),
        }
    }

    fn key_bytes(&self) -> usize {
        self.plan.request.key_bits as usize / 8
    }

    fn value_bytes(&self) -> usize {
        4 * self.plan.request.payload.words() as usize
    }
}

const KEYS: [Buffer; 2] = [Buffer::FirstKeys, Buffer::SecondKeys];
const VALUES: [Buffer; 2] = [Buffer::FirstValues, Buffer::SecondValues];

/// Returns element `i` of `bytes` bytes of a binding whose first element is at word `first`.
fn element(words: &[u32], first: Place, bytes: usize, i: usize) -> &[u8] {
    &bytemuck::cast_slice(words)[4 * first.first as usize..][i * bytes..][..bytes]
}

fn raw(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |raw, &byte| raw << 8 | u128::from(byte))
}

fn places(plan: &MergePlan, buffer: Buffer) -> Place {
    let MergeRequest { first, second, keys, values, .. } = plan.request;
    match buffer {
        Buffer::FirstKeys => first.keys,
        Buffer::SecondKeys => second.keys,
        Buffer::MergedKeys => keys,
        Buffer::FirstValues => first.values,
        Buffer::SecondValues => second.values,
        _ => values,
    }
}

/// Returns the buffers of a case: two sorted runs, and pseudo-random words everywhere else.
fn contents(case: &Case, seed: u64) -> Contents {
    let plan = &case.plan;
    let mut random = support::random(seed);
    let mut contents = Contents::new();
    let roles = [KEYS, VALUES].concat().into_iter().chain([Buffer::MergedKeys, Buffer::MergedValues, Buffer::Path]);
    for role in roles {
        let words = plan.touched(&plan.whole(), role).map_or(0, |(_, bytes)| bytes / 4) + 9;
        contents.insert(role, (0..words).map(|_| random() as u32).collect());
    }
    contents.insert(Buffer::Count, vec![7, case.lens[0] as u32, 7, 7]);
    contents.insert(Buffer::SecondCount, vec![7, 7, case.lens[1] as u32, 7]);
    for (run, role) in KEYS.into_iter().enumerate() {
        let (len, bytes, first) = (case.run_lens()[run], case.key_bytes(), places(plan, role));
        let mask = if case.bits == 128 { u128::MAX } else { ((1 << case.bits) - 1) << (4 * bytes) };
        let mut keys: Vec<u128> = (0..len).map(|_| (u128::from(random()) << 64 | u128::from(random())) & mask).collect();
        keys.iter_mut().for_each(|key| *key &= u128::MAX >> (128 - 8 * bytes));
        keys.sort_by_key(|&key| case.rank(key));
        let words = contents.get_mut(&role).expect("inserted above");
        let room = &mut bytemuck::cast_slice_mut::<u32, u8>(words)[4 * first.first as usize..];
        for (key, room) in keys.iter().zip(room.chunks_exact_mut(bytes)) {
            room.copy_from_slice(&key.to_le_bytes()[..bytes]);
        }
    }
    contents
}

/// Returns the range of the words of a buffer that a step binds.
fn bound(plan: &MergePlan, step: &MergeStep, role: Buffer) -> Option<std::ops::Range<usize>> {
    let (offset, bytes) = plan.touched(step, role)?;
    Some(offset as usize / 4..(offset + bytes) as usize / 4)
}

/// Returns the parts of the buffers that a step binds.
fn part(plan: &MergePlan, step: &MergeStep, whole: &Contents) -> Contents {
    whole
        .iter()
        .map(|(&role, words)| (role, bound(plan, step, role).map_or(words.clone(), |range| words[range].to_vec())))
        .collect()
}

fn put_back(plan: &MergePlan, step: &MergeStep, part: &Contents, whole: &mut Contents) {
    for (role, words) in part {
        if let Some(range) = bound(plan, step, *role) {
            whole.get_mut(role).expect("a part of it")[range].copy_from_slice(words);
        }
    }
}

/// The steps of the merge path from where a step begins to where it ends: for each key, its run and its index there.
fn walk(case: &Case, number: u32, step: &MergeStep, on: &Contents) -> ([usize; 2], Vec<(usize, usize)>) {
    let at = 2 * (number as usize % 2);
    let begin = if number == 0 { [0, 0] } else { [0, 1].map(|run| on[&Buffer::Path][at + run] as usize) };
    let (lens, mut next, mut keys) = (case.run_lens(), begin, vec![]);
    let parts = [&step.first, &step.second].map(|part| part.start as usize..part.end as usize);
    let merged = step.merged.start as usize..step.merged.end as usize;
    let within = |next: [usize; 2]| {
        (0..2).all(|run| {
            parts[run].contains(&next[run])
                || next[run] == lens[run] && next[run] == parts[run].end.min(lens[run]) && next[run] >= parts[run].start
        })
    };
    while next != lens && merged.contains(&(next[0] + next[1])) && within(next) {
        let key = |run: usize| {
            let words = &on[&KEYS[run]];
            case.rank(raw(element(words, places(&case.plan, KEYS[run]), case.key_bytes(), next[run] - parts[run].start)))
        };
        let is_second = next[0] == lens[0] || next[1] < lens[1] && key(1) < key(0);
        let run = usize::from(is_second);
        keys.push((run, next[run]));
        next[run] += 1;
    }
    (begin, keys)
}

/// Applies a command of a step to the parts that it binds.
fn apply(case: &Case, number: u32, step: &MergeStep, command: &Command, on: &mut Contents) {
    if command.variant.kernel() == Kernel::MergeTile {
        // The path already ends after the step; its begin is still there.
        let (begin, keys) = walk(case, number, step, on);
        // A step that does nothing may bind another part of the output.
        let made = (begin[0] + begin[1]).saturating_sub(step.merged.start as usize);
        let starts = [step.first.start as usize, step.second.start as usize];
        let kinds = [(KEYS, Buffer::MergedKeys, case.key_bytes()), (VALUES, Buffer::MergedValues, case.value_bytes())];
        for (from, to, bytes) in kinds.into_iter().filter(|&(.., bytes)| bytes > 0) {
            for (i, &(run, index)) in keys.iter().enumerate() {
                let moved = element(&on[&from[run]], places(&case.plan, from[run]), bytes, index - starts[run]).to_vec();
                let room = bytemuck::cast_slice_mut::<u32, u8>(on.get_mut(&to).expect("a buffer for the output"));
                room[4 * places(&case.plan, to).first as usize..][(made + i) * bytes..][..bytes].copy_from_slice(&moved);
            }
        }
        return;
    }
    let (begin, keys) = walk(case, number, step, on);
    let (made, tile) = (begin[0] + begin[1], case.plan.tile as usize);
    let packed = (4 / case.key_bytes()).max(1);
    let first_tile = made - made % packed;
    let firsts = |count: usize| begin[0] + keys[..count].iter().filter(|(run, _)| *run == 0).count();
    let end = firsts(keys.len());
    let path = on.get_mut(&Buffer::Path).expect("a buffer for the path");
    let at = 2 * ((number as usize + 1) % 2);
    (path[at], path[at + 1]) = (end as u32, (made + keys.len() - end) as u32);
    let tiles = (made + keys.len() - first_tile).div_ceil(tile);
    for boundary in 0..=tiles {
        let diagonal = (first_tile + boundary * tile).clamp(made, made + keys.len());
        path[PATH_HEADER as usize + boundary] = firsts(diagonal - made) as u32;
    }
}

/// Checks that the model has merged the runs of `start`.
fn check_model(case: &Case, start: &Contents, end: &Contents) -> Result<(), String> {
    let (lens, plan) = (case.run_lens(), &case.plan);
    let mut order: Vec<(usize, usize)> = (0..2).flat_map(|run| (0..lens[run]).map(move |i| (run, i))).collect();
    let key = |&(run, i): &(usize, usize)| element(&start[&KEYS[run]], places(plan, KEYS[run]), case.key_bytes(), i);
    order.sort_by_key(|at| case.rank(raw(key(at))));
    for (i, at) in order.iter().enumerate() {
        if element(&end[&Buffer::MergedKeys], plan.request.keys, case.key_bytes(), i) != key(at) {
            return Err(format!("key {i}"));
        }
        let (run, index) = *at;
        let value = element(&start[&VALUES[run]], places(plan, VALUES[run]), case.value_bytes(), index);
        if element(&end[&Buffer::MergedValues], plan.request.values, case.value_bytes(), i) != value {
            return Err(format!("value {i}"));
        }
    }
    Ok(())
}
