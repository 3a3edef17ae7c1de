//! Plans of sorts in portions: a model runs them, and each binding fits the device.

use core::fmt::Write;
use polysort_core::{Error, Options, Spec};
use polysort_shaders::plan::{
    Buffer, Facts, FindRuns, Gather, MAX_MERGED, MergePlan, MergeRequest, Payload, Place, PortionPlan, Request, Segmented,
    SortPlan, Top,
};

fn facts(max_binding: u64) -> Facts {
    Facts { max_binding, ..Facts::new(Some((32, 32)), 48 << 10, 1024) }
}

fn request(key_bits: u32, value_words: u32, max: u64) -> Request {
    let options = Options::ascending();
    let spec = match key_bits {
        8 => Spec::of::<u8>(options),
        32 => Spec::of::<u32>(options),
        64 => Spec::of::<u64>(options),
        _ => Spec::of::<u128>(options),
    };
    let payload = if value_words == 0 { Payload::None } else { Payload::Words(value_words) };
    Request { payload, ..Request::keys(key_bits, spec.unwrap(), max) }
}

/// Runs a plan on keys, whose values are their indices, as the device would: with `count` keys.
fn run(plan: &PortionPlan, keys: &[u64], count: usize) -> Vec<(u64, usize)> {
    let key_bytes = u64::from(plan.request.key_bits) / 8;
    let at = |bytes: u64| (bytes / key_bytes) as usize;
    let mut callers: Vec<(u64, usize)> = keys.iter().copied().zip(0..).collect();
    let mut scratch = vec![(u64::MAX, usize::MAX); keys.len()];
    for portion in &plan.portions {
        let (array, before) = plan.array(portion, Buffer::Keys);
        assert_eq!(array, Buffer::Keys);
        let len = PortionPlan::portion_count(portion, count as u64) as usize;
        callers[at(before)..][..len].sort_by_key(|&(key, _)| key);
    }
    for merge in &plan.merges {
        let runs = [(Buffer::FirstKeys, merge.plan.request.first), (Buffer::SecondKeys, merge.plan.request.second)];
        let mut merged = vec![];
        for (buffer, run) in runs {
            let (array, before) = merge.array(buffer);
            assert_eq!(array, if merge.from_scratch { Buffer::MergedKeys } else { Buffer::Keys });
            let len = (count as u64).saturating_sub(run.skip).min(run.max) as usize;
            let source = if merge.from_scratch { &scratch } else { &callers };
            merged.extend_from_slice(&source[at(before)..][..len]);
        }
        merged.sort_by_key(|&(key, _)| key);
        let (array, before) = merge.array(Buffer::MergedKeys);
        let target = if array == Buffer::Keys { &mut callers } else { &mut scratch };
        target[at(before)..][..merged.len()].copy_from_slice(&merged);
    }
    callers
}

/// A caller's number of keys for each thread that does not fit, however large, is replaced by one that does.
#[test]
fn any_number_of_keys_per_thread_is_taken() {
    let facts = facts(1 << 20);
    let tile = |keys_per_thread| {
        let request = MergeRequest::keys(32, request(32, 0, 1).spec, [1000, 100]);
        MergePlan::new(MergeRequest { keys_per_thread, ..request }, &facts).unwrap().tiles.variant.tile().unwrap()
    };
    let most = tile(Some(1 << 12));
    for keys in [1 << 13, 1 << 22, 1 << 24, 1 << 31, u32::MAX] {
        assert_eq!(tile(Some(keys)), most, "{keys}");
    }
    assert!(tile(Some(1)) < tile(None) && tile(None) <= most);
}

#[test]
fn a_model_of_the_plan_sorts() {
    for (key_bits, value_words, page) in [
        (8, 0, None),
        (32, 0, None),
        (32, 1, None),
        (64, 3, None),
        (128, 4, None),
        (8, 0, Some(1 << 13)),
        (32, 1, Some(1 << 11)),
        (128, 4, Some(1 << 14)),
    ] {
        let facts = facts(1 << 16);
        let longest = facts.limits(value_words).longest(key_bits as usize / 8);
        for max in [longest + 1, 2 * longest, 2 * longest + 1, 3 * longest, 4 * longest, 7 * longest + 3] {
            let request = Request { page, ..request(key_bits, value_words, max) };
            let plan = PortionPlan::new(request, [None; 2], &facts).unwrap();
            assert!(PortionPlan::is_needed(&request, &facts) && plan.portions.len() > 1);
            let keys: Vec<u64> = (0..max).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).collect();
            // Counts at the borders of portions, too.
            let first = plan.portions[0].plan.request.max as usize;
            for count in [keys.len(), keys.len() - 1, first + 1, first, first - 1, 1, 0] {
                let mut expected: Vec<(u64, usize)> = keys.iter().copied().zip(0..).collect();
                expected[..count].sort_by_key(|&(key, _)| key);
                assert!(run(&plan, &keys, count) == expected, "{count} keys: {plan}");
            }
        }
    }
}

/// Between the rounds, arrays have pages of as many keys as the caller's.
#[test]
fn pages_of_scratch_are_those_of_the_caller() {
    let facts = facts(1 << 16);
    let longest = facts.limits(3).longest(8);
    for page in [None, Some(1 << 11)] {
        let request = Request { page, ..request(64, 3, 3 * longest) };
        let plan = PortionPlan::new(request, [None; 2], &facts).unwrap();
        let bytes = |buffers: [Buffer; 2]| buffers.map(|buffer| plan.page_bytes(buffer));
        assert_eq!(bytes([Buffer::Keys, Buffer::MergedKeys]), [page.map(|keys| 8 * keys); 2]);
        assert_eq!(bytes([Buffer::Values, Buffer::MergedValues]), [page.map(|keys| 12 * keys); 2]);
        assert_eq!(bytes([Buffer::State, Buffer::Status]), [None; 2]);
    }
}

/// Portions, runs and outputs fit bindings, and lie within their arrays, and within pages.
#[test]
fn bindings_fit() {
    for (max_binding, max, in_pages) in [
        (1 << 16, 100_000, false),
        ((1 << 31) - 4, 1 << 31, false),
        (128 << 20, 3 << 30, false),
        ((1 << 31) - 4, MAX_MERGED, false),
        (1 << 34, MAX_MERGED, false),
        (1 << 16, 100_000, true),
        ((1 << 31) - 4, (1 << 31) + 1, true),
        ((1 << 31) - 4, MAX_MERGED, true),
    ] {
        let facts = facts(max_binding);
        for (key_bits, value_words) in [(8, 0), (32, 0), (32, 1), (64, 2), (32, 3)] {
            let element = (key_bits / 8).max(4 * value_words);
            let page = in_pages.then(|| facts.page_len(element.into(), max_binding / 2).unwrap());
            let first = if in_pages { 0 } else { 63 };
            let place = Place { first };
            let request = Request { page, keys: place, values: place, ..request(key_bits, value_words, max) };
            let is_in_a_page = |array, start: u64, bytes: u64, plan: &PortionPlan| {
                let page = plan.page_bytes(array).unwrap_or(u64::MAX);
                let is_short = page == u64::MAX || page <= max_binding / 2 && page.is_multiple_of(256);
                is_short && start / page == (start + bytes.max(1) - 1) / page
            };
            let plan = PortionPlan::new(request, [None; 2], &facts).unwrap();
            let [key_bytes, value_bytes] = plan.touched_bytes();
            let size = |buffer| match buffer {
                Buffer::Keys => key_bytes - 4 * u64::from(first),
                Buffer::Values => value_bytes - 4 * u64::from(first),
                own => plan.scratch.iter().find(|(scratch, _)| *scratch == own).map_or(0, |&(_, bytes)| bytes),
            };
            for portion in &plan.portions {
                let of_sort = portion.plan.scratch.iter().map(|&(buffer, bytes)| (buffer, bytes, 0));
                let callers = [Buffer::Keys, Buffer::Values]
                    .map(|buffer| (buffer, portion.plan.touched_bytes(buffer).unwrap(), 4 * u64::from(first)));
                for (buffer, bytes, first) in
                    of_sort.chain(callers).filter(|(buffer, ..)| value_words > 0 || *buffer != Buffer::Values)
                {
                    let (array, before) = plan.array(portion, buffer);
                    assert!(bytes <= max_binding && before.is_multiple_of(256), "{buffer:?} of {plan}");
                    assert!(before + bytes - first <= size(array), "{buffer:?} of {plan}");
                    assert!(is_in_a_page(array, before, bytes, &plan), "{buffer:?} of {plan}");
                }
            }
            for merge in &plan.merges {
                for step in &merge.plan.steps {
                    // The kernels count the keys of both parts together, and up to a tile more, with 32 bits.
                    let both = step.first.end - step.first.start + step.second.end - step.second.start;
                    assert!(both <= u64::from(u32::MAX - merge.plan.tile), "{}", merge.plan);
                    for &buffer in merge.plan.tiles.bindings.iter().filter(|&&buffer| buffer != Buffer::Merge) {
                        let (array, before) = merge.array(buffer);
                        let (offset, bytes) = merge.plan.touched(step, buffer).unwrap();
                        let first = if matches!(array, Buffer::Keys | Buffer::Values) { 4 * u64::from(first) } else { 0 };
                        assert!(bytes <= max_binding && (before + offset).is_multiple_of(256), "{buffer:?} of {}", merge.plan);
                        assert!(before + offset + bytes - first <= size(array), "{buffer:?} of {}", merge.plan);
                        assert!(is_in_a_page(array, before + offset, bytes, &plan), "{buffer:?} of {}", merge.plan);
                    }
                }
            }
        }
    }
}

/// The portions have the same size, up to the unit of bindings: one key more than fits a sort does not cost a whole sort more.
#[test]
fn portions_are_even() {
    let facts = facts((1 << 31) - 4);
    for max in [1 << 29, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, 1 << 31] {
        let plan = PortionPlan::new(request(32, 0, max), [None; 2], &facts).unwrap();
        let lens: Vec<u64> = plan.portions.iter().map(|portion| portion.plan.request.max).collect();
        assert_eq!(lens.iter().sum::<u64>(), max);
        let (longest, shortest) = (lens.iter().max().unwrap(), lens.iter().min().unwrap());
        assert!(longest - shortest < 256 * lens.len() as u64, "{lens:?}");
    }
}

#[test]
fn only_what_needs_portions_has_them() {
    let facts = facts(1 << 16);
    let longest = facts.limits(0).longest(4);
    let keys = |max| request(32, 0, max);
    assert!(!PortionPlan::is_needed(&keys(longest), &facts) && SortPlan::new(keys(longest), &facts).is_ok());
    assert!(PortionPlan::is_needed(&keys(longest + 1), &facts) && SortPlan::new(keys(longest + 1), &facts).is_err());
    // With bytes before them, fewer keys fit a binding.
    assert!(PortionPlan::is_needed(&Request { keys: Place { first: 8 }, ..keys(longest) }, &facts));
    let paged = |max| Request { page: Some(1 << 12), ..keys(max) };
    assert!(!PortionPlan::is_needed(&paged(1 << 12), &facts) && PortionPlan::is_needed(&paged((1 << 12) + 1), &facts));
    let many = keys(longest + 1);
    let segments = Segmented { max: 5, begins: Place::default(), ends: Place::default() };
    let runs = FindRuns { count: Place::default(), unique: None, offsets: None, lengths: None };
    let gather = Gather { element_bytes: 4, elements: 5, from: Place::default(), to: Place::default() };
    for other in [
        many.for_indices(),
        many.select(Top { k: 5, segmented: false }),
        many.in_segments(segments),
        many.find_runs(runs),
        many.gather(gather),
    ] {
        assert!(!PortionPlan::is_needed(&other, &facts));
    }
    // Values of 12 bytes are the largest elements, and those of 4 bytes as large as the keys.
    for (value_words, first) in [(3, 2), (1, 1)] {
        let pairs =
            |place| Request { values: Place { first: place }, ..request(32, value_words, facts.limits(value_words).longest(4)) };
        assert!(!PortionPlan::is_needed(&pairs(0), &facts), "{value_words} words");
        assert!(PortionPlan::is_needed(&pairs(first), &facts), "{value_words} words");
    }
    let too_long = PortionPlan::new(keys(MAX_MERGED + 1), [None; 2], &facts);
    assert!(matches!(too_long, Err(Error::TooLong { limit: MAX_MERGED, .. })), "{too_long:?}");
    let tiny = PortionPlan::new(keys(5000), [None; 2], &Facts { max_binding: 300, ..facts });
    assert!(matches!(tiny, Err(Error::Unsupported { .. })), "{tiny:?}");
}

/// The arrays are the caller's, from a place on, and the scratch, from its start on.
#[test]
fn merges_read_and_write_at_the_places_of_the_arrays() {
    let callers = [Place { first: 3 }, Place { first: 5 }];
    let request = Request { keys: callers[0], values: callers[1], ..request(32, 1, 100_000) };
    let plan = PortionPlan::new(request, [None; 2], &facts(1 << 16)).unwrap();
    assert!([false, true].iter().all(|&side| plan.merges.iter().any(|merge| merge.from_scratch == side)));
    for merge in &plan.merges {
        let MergeRequest { first, second, keys, values, .. } = merge.plan.request;
        let scratch = [Place::default(); 2];
        let [source, target] = if merge.from_scratch { [scratch, callers] } else { [callers, scratch] };
        assert_eq!([[first.keys, first.values], [second.keys, second.values], [keys, values]], [source, source, target]);
    }
}

/// Sorts and merges run one after the other, so each buffer has the size of the one that needs the most.
#[test]
fn scratch_holds_what_any_sort_or_merge_needs() {
    for (key_bits, value_words) in [(8, 0), (32, 0), (64, 2)] {
        let plan = PortionPlan::new(request(key_bits, value_words, 100_003), [None; 2], &facts(1 << 16)).unwrap();
        let [keys, values] =
            [u64::from(key_bits) / 8, 4 * u64::from(value_words)].map(|bytes| (100_003 * bytes).next_multiple_of(4));
        let own = |buffer| plan.scratch.iter().find(|(own, _)| *own == buffer).map(|&(_, bytes)| bytes);
        assert_eq!(own(Buffer::MergedKeys), Some(keys));
        assert_eq!(own(Buffer::MergedValues), (values > 0).then_some(values));
        // A sort of keys of 8 bits counts them, and needs none. The others use the scratch of the merges.
        assert_eq!(own(Buffer::Scratch), None);
        assert_eq!(own(Buffer::ValuesScratch), None);
        let parts: Vec<_> = plan
            .portions
            .iter()
            .flat_map(|portion| &portion.plan.scratch)
            .chain(plan.merges.iter().flat_map(|merge| &merge.plan.scratch))
            .collect();
        for &&(buffer, _) in &parts {
            let most = parts.iter().filter(|(of, _)| *of == buffer).map(|&&(_, bytes)| bytes).max();
            // These lie in the scratch of the merges.
            if ![Buffer::Scratch, Buffer::ValuesScratch].contains(&buffer) {
                assert_eq!(own(buffer), most, "{buffer:?} of {plan}");
            }
        }
        assert_eq!(plan.scratch_bytes(), plan.scratch.iter().map(|(_, bytes)| bytes).sum::<u64>());
    }
}

#[test]
fn plans_are_those_that_were_read() {
    let mut text = String::new();
    let pairs = request(32, 1, (1 << 30) + 1);
    for request in [request(8, 0, 3 << 20), pairs] {
        let facts = facts(if request.key_bits == 8 { 4 << 20 } else { (1 << 31) - 4 });
        writeln!(text, "{}", PortionPlan::new(request, [None; 2], &facts).unwrap()).unwrap();
    }
    insta::assert_snapshot!("portions", text);
}

/// A merge whose runs and output fit bindings has one step: two launches.
#[test]
fn a_merge_that_fits_has_one_step() {
    let plan = PortionPlan::new(request(32, 0, 30_000), [None; 2], &facts(1 << 16)).unwrap();
    let merge = plan.merges[0].plan.request;
    assert!(plan.merges[0].plan.steps.len() > 1, "{plan}");
    assert_eq!(MergePlan::new(merge, &facts(1 << 20)).unwrap().steps.len(), 1);
}
