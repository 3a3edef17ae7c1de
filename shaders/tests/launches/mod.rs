//! Launches of every kernel, for devices that differ in what matters.

use polysort_core::{Error, Options, Spec};
use polysort_shaders::plan::{
    Algorithm, Class, Command, Facts, FindRuns, Gather, MergePlan, MergeRequest, Payload, Place, Request, SearchPlan, Segmented,
    SortPlan, Top,
};
use polysort_vector::{Metric, Precision, Shape};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Devices that differ in what matters: lanes, and memory.
pub(crate) fn devices() -> Vec<(&'static str, Facts)> {
    vec![
        ("4 lanes", Facts::new(Some((4, 4)), 32 << 10, 1024)),
        ("8 lanes", Facts::new(Some((8, 8)), 32 << 10, 1024)),
        ("16 lanes", Facts::new(Some((16, 16)), 32 << 10, 1024)),
        ("Apple", Facts { class: Class::Apple, ..Facts::new(Some((32, 32)), 32 << 10, 1024) }),
        ("32 lanes", Facts::new(Some((32, 32)), 48 << 10, 1024)),
        ("8 to 32 lanes", Facts::new(Some((8, 32)), 32 << 10, 1024)),
        ("32 to 64 lanes", Facts::new(Some((32, 64)), 32 << 10, 1024)),
        ("128 lanes", Facts::new(Some((128, 128)), 32 << 10, 1024)),
        ("no subgroups", Facts::new(None, 16 << 10, 256)),
    ]
}

pub(crate) fn requests() -> Vec<Request> {
    let mut requests = vec![];
    for key_bits in [8, 16, 32, 64, 128] {
        let spec = match key_bits {
            8 => Spec::of::<u8>(Options::ascending()),
            16 => Spec::of::<u16>(Options::ascending()),
            32 => Spec::of::<f32>(Options::ascending()),
            64 => Spec::of::<i64>(Options::descending()),
            _ => Spec::of::<u128>(Options::ascending().bits(3..125)),
        }
        .unwrap();
        // Lengths with tiles of their own.
        for max in [1000, 2000, 4000, 1 << 20, 1 << 24, 100_000] {
            let keys = Request::keys(key_bits, spec, max);
            requests.extend([keys, keys.for_indices()]);
            requests.extend((1..=4).map(|words| keys.with_values(words)));
        }
        let keys = Request::keys(key_bits, spec, 100_000);
        requests.extend([false, true].map(|segmented| keys.select(Top { k: 100, segmented })));
        requests.extend([1000, 20_000].map(|k| keys.select(Top { k, segmented: false })));
        let segments = Segmented { max: 1000, begins: Place { first: 0 }, ends: Place { first: 1 } };
        requests.push(keys.select(Top { k: 100, segmented: true }).in_segments(segments));
        for max in [500, 4000, 100_000] {
            let keys = Request::keys(key_bits, spec, max).in_segments(segments);
            requests.extend([keys, keys.for_indices(), keys.with_values(1), keys.with_values(3)]);
        }
    }
    // All outputs of runs, one of them, and outputs in the buffer of the keys; keys and outputs that are copied or gathered.
    for (key_bits, spec) in
        [(16, Spec::of::<u16>(Options::ascending())), (128, Spec::of::<u128>(Options::ascending().bits(3..125)))]
    {
        let keys = Request::keys(key_bits, spec.unwrap(), 100_000);
        for first in [0, 1] {
            let place = Some(Place { first });
            let count = Place { first };
            let all = FindRuns { count, unique: place, offsets: place, lengths: place };
            let none = FindRuns { count, unique: None, offsets: None, lengths: None };
            let one =
                [FindRuns { unique: place, ..none }, FindRuns { offsets: place, ..none }, FindRuns { lengths: place, ..none }];
            let requests_of = [all, none].into_iter().chain(one).map(|runs| Request { keys: count, ..keys.find_runs(runs) });
            requests.extend(requests_of.clone());
            requests.extend(requests_of.map(|request| Request { aliased: true, ..request }));
        }
    }
    // Indices of 64 bits, of all keys and of selected ones.
    let keys = Request::keys(32, Spec::unsigned::<u32>(), 100_000);
    let selections = [(100, false), (20_000, false), (100, true)].map(|(k, segmented)| keys.select(Top { k, segmented }));
    requests.extend([keys.for_indices()].into_iter().chain(selections).map(|keys| keys.with_wide_indices(Place { first: 1 })));
    // A hybrid sort, if it is asked for, without buckets that one workgroup sorts.
    requests.push(Request { small_bucket: Some(0), ..Request::keys(32, Spec::unsigned::<u32>(), 1 << 22) });
    let indices = Request::keys(32, Spec::unsigned::<u32>(), 1000);
    for element_bytes in [1, 2, 4, 12] {
        let place = Place { first: 1 };
        let gather = indices.gather(Gather { element_bytes, elements: 500, from: place, to: place });
        requests.extend([false, true].map(|aliased| Request { aliased, ..gather }));
    }
    // Positions go to the buffer that the keys are in.
    for (bits, spec) in [(16, Spec::of::<u16>(Options::ascending())), (32, Spec::of::<u32>(Options::ascending()))] {
        let keys = Request::keys(bits, spec.unwrap(), 100_000);
        let selected = [100, 20_000].map(|k| Request { aliased: true, ..keys.select(Top { k, segmented: false }) });
        requests.extend(selected);
    }
    // Nothing of this can be bound as it lies.
    let odd = Request::keys(64, Spec::of::<u64>(Options::ascending()).unwrap(), 1000).with_values(3);
    let one = Place { first: 1 };
    requests.push(Request { keys: one, values: one, ..odd });
    requests
}

/// The plan of each request with each algorithm, on each device.
pub(crate) fn plans() -> impl Iterator<Item = (&'static str, Facts, SortPlan)> {
    // Every device runs each request with `every`. The planner refuses some requests with an algorithm of `some`.
    let every = [None, Some(Algorithm::ReduceThenScan)];
    let some = [Algorithm::WideDigits, Algorithm::MsdHybrid, Algorithm::Counting].map(Some);
    let algorithms = move || every.into_iter().chain(some);
    let requests = move || {
        requests().into_iter().flat_map(move |request| algorithms().map(move |algorithm| Request { algorithm, ..request }))
    };
    devices().into_iter().flat_map(move |(name, facts)| {
        requests().filter_map(move |request| match SortPlan::new(request, &facts) {
            Err(Error::Unsupported { .. }) if some.contains(&request.algorithm) => None,
            plan => Some((name, facts, plan.unwrap())),
        })
    })
}

/// A command that launches a variant, and the device.
type Launched = (&'static str, Facts, Command);

/// Returns each variant of each plan. The list is made once.
pub(crate) fn launches() -> &'static [Launched] {
    static LAUNCHES: OnceLock<Vec<Launched>> = OnceLock::new();
    LAUNCHES.get_or_init(made)
}

fn made() -> Vec<Launched> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut launches = vec![];
    for (name, facts, plan) in plans() {
        for command in plan.all_commands() {
            if seen.insert(format!("{:?} {:?} {}", command.variant, command.bindings, facts.workgroup_bytes)) {
                launches.push((name, facts, command.clone()));
            }
        }
    }
    for (name, facts) in devices() {
        for request in requests().into_iter().filter(|request| request.payload != Payload::Indices) {
            let merge = MergeRequest::keys(request.key_bits, request.spec, [1000, 100]);
            let plan = MergePlan::new(MergeRequest { payload: request.payload, ..merge }, &facts).unwrap();
            for command in plan.commands() {
                if seen.insert(format!("{:?} {:?} {}", command.variant, command.bindings, facts.workgroup_bytes)) {
                    launches.push((name, facts, command.clone()));
                }
            }
        }
    }
    for (name, facts) in devices() {
        for dimension in [1, 2, 6, 8, 100, 768] {
            for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
                for precision in [Precision::F32, Precision::F16] {
                    let SearchPlan { distances, nearest } =
                        SearchPlan::new(Shape::new(dimension, 1000).precision(precision), metric, &facts);
                    launches.extend([(name, facts, distances), (name, facts, nearest)]);
                }
            }
        }
    }
    launches
}
