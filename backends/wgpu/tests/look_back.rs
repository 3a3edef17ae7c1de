//! Blocked tiles, which publish no counts: other workgroups recount them, and the result stays right.

mod support;

use libtest_mimic::{Failed, Trial};
use polysort_core::{Options, Sort, Spec};
use polysort_kit::{Case, Oracle, Pattern, TestKey};
use polysort_shaders::plan::{Algorithm, Blocked, FindRuns, Payload, Place, Request, SortPlan};
use polysort_wgpu::WgpuBackend;
use polysort_wgpu::testing::{self, Knobs};

/// Tiles of each sort. With [`Blocked::one_of`] 512, the blocked tile is the 256th.
const TILES: u32 = 300;

fn main() {
    support::run("look_back", |label| {
        let ways = [
            ("one of 512", Blocked::one_of(512)),
            ("one of 16", Blocked::one_of(16)),
            ("every other one", Blocked::one_of(2)),
            ("the first one", Blocked::run(0, 1)),
            ("64 in a row", Blocked::run(70, 134)),
            ("all but the last", Blocked::run(0, TILES - 1)),
            ("none", Blocked::NONE),
        ];
        let mut trials: Vec<Trial> = vec![];
        for (name, blocked) in ways {
            let trial = |what: &str, run: fn(Blocked) -> Result<(), Failed>| {
                support::trial(label, &format!("with blocked tiles ({name}), {what} is right"), move || run(blocked))
            };
            trials.push(trial("a sort of u128", |blocked| keys::<u128>(blocked, Options::ascending().bits(59..75))));
            trials.push(trial("a descending sort of f64", |blocked| keys::<f64>(blocked, Options::descending().bits(40..64))));
            trials.push(trial("a sort of i32 with u128", |blocked| pairs::<i32>(blocked, Options::ascending())));
            trials.push(trial("a search for runs of u64", |blocked| runs::<u64>(blocked, Options::ascending().bits(30..62))));
            trials.push(trial("an argsort of u16", |blocked| argsort::<u16>(blocked, Options::descending())));
        }
        trials
    })
}

fn keys<K: TestKey>(blocked: Blocked, options: Options) -> Result<(), Failed> {
    let (backend, keys) = start::<K>(blocked, |request| Request { payload: Payload::None, ..request })?;
    let mut sorted = keys.clone();
    backend.sort_with(&mut sorted, options).map_err(support::failed)?;
    let expected = order(&keys, options);
    let right = sorted.iter().zip(&expected).all(|(key, &i)| key.raw() == keys[i as usize].raw());
    support::ensure(right, || "the keys are wrong".into())?;
    // Each of these sorts has at least two passes.
    counted(&backend, blocked, 2)
}

fn pairs<K: TestKey>(blocked: Blocked, options: Options) -> Result<(), Failed> {
    let (backend, keys) = start::<K>(blocked, |request| Request { payload: Payload::Words(4), ..request })?;
    let (mut sorted, mut values) = (keys.clone(), (0..keys.len() as u128).map(|i| i << 77 | i).collect::<Vec<_>>());
    let before = values.clone();
    backend.sort_pairs_with(&mut sorted, &mut values, options).map_err(support::failed)?;
    let expected = order(&keys, options);
    let right = sorted.iter().zip(&expected).all(|(key, &i)| key.raw() == keys[i as usize].raw());
    support::ensure(right, || "the keys are wrong".into())?;
    support::ensure(values.iter().zip(&expected).all(|(&value, &i)| value == before[i as usize]), || {
        "the values are wrong".into()
    })?;
    // Each of these sorts has at least two passes.
    counted(&backend, blocked, 2)
}

fn argsort<K: TestKey>(blocked: Blocked, options: Options) -> Result<(), Failed> {
    let (backend, keys) = start::<K>(blocked, |request| Request { payload: Payload::Indices, ..request })?;
    let indices = backend.argsort_with(&keys, options).map_err(support::failed)?;
    let right = indices == order(&keys, options);
    support::ensure(right, || "the indices are wrong".into())?;
    // Each of these sorts has at least two passes.
    counted(&backend, blocked, 2)
}

fn runs<K: TestKey>(blocked: Blocked, options: Options) -> Result<(), Failed> {
    let place = Place::default();
    let runs = FindRuns { count: place, unique: None, offsets: Some(place), lengths: None };
    let (backend, mut keys) = start::<K>(blocked, |request| request.find_runs(runs))?;
    // Every third key, and the keys of 20 tiles, are in the run of the key before.
    for i in 1..keys.len() {
        if i % 3 == 0 || i * TILES as usize / keys.len() / 20 == 2 {
            keys[i] = keys[i - 1];
        }
    }
    let oracle = Oracle::new(&keys, Case { pattern: Pattern::Uniform, len: keys.len(), options, seed: 0 });
    let expected: Vec<usize> =
        (0..keys.len()).filter(|&at| at == 0 || !oracle.are_equal(at - 1, at)).chain([keys.len()]).collect();
    let found = backend.runs_with(&keys, options).map_err(support::failed)?;
    support::ensure(found.offsets == expected, || "the runs are wrong".into())?;
    counted(&backend, blocked, 1)
}

/// Opens a backend with blocked tiles. Returns it with keys for [`TILES`] tiles, of which the last is partial.
fn start<K: TestKey>(blocked: Blocked, wanted: impl Fn(Request) -> Request) -> Result<(WgpuBackend, Vec<K>), Failed> {
    let mut config = support::config();
    config.algorithm = Some(Algorithm::OneSweep);
    let algorithm = config.algorithm;
    let backend = testing::open(config, Knobs { blocked, ..Knobs::default() }).map_err(support::failed)?;
    let spec = Spec::of::<K>(Options::ascending()).map_err(support::failed)?;
    let plan = |max: u64| {
        let request = Request::keys(8 * size_of::<K>() as u32, spec, max);
        let request = Request { algorithm, ..request };
        SortPlan::new(wanted(request), backend.facts()).map_err(support::failed)
    };
    // The tile depends on the length, and the length on the tile.
    let (mut tile, mut len) = (0, 1 << 16);
    while tile != plan(len as u64)?.tile {
        tile = plan(len as u64)?.tile;
        len = (TILES * tile - tile / 3) as usize;
    }
    let mut random = support::random(u64::from(tile));
    let keys = (0..len).map(|_| K::from_raw(u128::from(random()) << 64 | u128::from(random()))).collect();
    Ok((backend, keys))
}

/// Returns the permutation of a stable sort.
fn order<K: TestKey>(keys: &[K], options: Options) -> Vec<u32> {
    Oracle::new(keys, Case { pattern: Pattern::Uniform, len: keys.len(), options, seed: 0 }).permutation()
}

/// Checks that other workgroups have counted each blocked tile at least once in each of so many passes.
fn counted(backend: &WgpuBackend, blocked: Blocked, passes: u32) -> Result<(), Failed> {
    // No tile needs the counts of the last one.
    let missing = (0..TILES - 1).filter(|&tile| blocked.contains(tile)).count() as u32;
    let recounts = backend.recounts().map_err(support::failed)?;
    println!("{recounts} recounts");
    support::ensure(recounts >= passes * missing, || format!("{recounts} recounts, and {missing} tiles were blocked"))
}
