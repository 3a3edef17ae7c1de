//! Tests of calls that run at the same time on one device: from threads, from rayon tasks, and from futures that are polled, suspended or
//! dropped.
//!
//! A call that hangs cannot be stopped. So if a trial takes too long, a watchdog prints its name and ends the whole program. Some trials
//! repeat for `POLYSORT_TEST_SECONDS` seconds; the default is 3.

mod dropped;
mod lost;
mod memory;
mod mixed;
mod nested;
#[path = "../support/mod.rs"]
mod support;

use libtest_mimic::{Failed, Trial};
use polysort_core::{Options, Sort, SortAsync};
use polysort_wgpu::WgpuBackend;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use support::{ensure, failed, finished, polled};

/// The time that a trial may take in addition to its repetitions: a software device compiles slowly.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() {
    support::run("side by side", |label| {
        let trial = |what: &'static str, run: fn() -> Result<(), Failed>| support::trial(label, what, move || watched(what, run));
        let mut trials: Vec<Trial> = vec![];
        trials.extend([
            trial("nested: rayon tasks in a pool of 1 thread may call the backend", || nested::tasks(1)),
            trial("nested: rayon tasks in a pool of 2 threads may call the backend", || nested::tasks(2)),
            trial("nested: rayon tasks in a pool of 3 threads may call the backend", || nested::tasks(3)),
            trial("nested: rayon tasks in a pool of 5 threads may call the backend", || nested::tasks(5)),
            trial("nested: rayon tasks may wait for futures of the backend", nested::futures),
            trial("nested: the code of a key may sort", nested::a_key_that_sorts),
            trial("mixed: blocking calls end while async ones are suspended", mixed::on_one_thread),
            trial("mixed: blocking and async calls of several threads end", mixed::on_several_threads),
            trial("mixed: readers of one buffer see its elements", mixed::readers),
            trial("mixed: sorts into other buffers may share their inputs", mixed::inputs),
            trial("mixed: calls end after the backend is dropped", mixed::dropped_backend),
            trial("dropped: a slice is as before, or sorted", || again(dropped::slices)),
            trial("dropped: a buffer is as before, or changed as a whole", || again(dropped::buffers)),
            trial("dropped: a store is as before, or changed as a whole", || again(dropped::stores)),
            trial("dropped: calls work after a panic", dropped::by_a_panic),
            trial("lost: each call in flight gets an error", lost::several_in_flight),
            trial("lost: a `DeviceSorter` reports the loss of its device", lost::callers_device),
            trial("memory: calls wait for room", memory::calls_wait_for_room),
            trial("memory: a suspended call does not block the next one for ever", memory::left_alone),
            trial("memory: the memory of a call counts until the device is done", memory::submitted),
            trial("memory: more calls may wait than there are waiting threads", memory::many_wait),
            trial("memory: memory that is not needed is freed", memory::kept),
            trial("memory: a download takes the staging memory of the one before", memory::downloads_share),
            trial("memory: an upload that finds no room changes nothing", memory::failed_uploads),
            trial("memory: small calls leave the memory of a large one alone", memory::small_beside_large),
        ]);
        trials
    })
}

/// Runs a trial, and ends the program if it hangs.
fn watched(what: &'static str, run: fn() -> Result<(), Failed>) -> Result<(), Failed> {
    let limit = PATIENCE + duration();
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let seen = ended.clone();
    std::thread::spawn(move || {
        let running = seen.0.lock().expect("nothing panics while it is locked");
        let (ended, _) = seen.1.wait_timeout_while(running, limit, |ended| !*ended).expect("nothing panics while it is locked");
        if !*ended {
            eprintln!("{what}: hangs; it did not end within {} s", limit.as_secs());
            std::process::abort();
        }
    });
    let result = std::panic::catch_unwind(run);
    *ended.0.lock().expect("nothing panics while it is locked") = true;
    ended.1.notify_all();
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the time for which a trial repeats.
fn duration() -> Duration {
    let seconds = std::env::var("POLYSORT_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(3.0))
}

/// Returns the numbers of the rounds until the time is over; there are at least two.
fn rounds() -> impl Iterator<Item = u64> {
    let started = Instant::now();
    (0..).take_while(move |&round| round < 2 || started.elapsed() < duration())
}

/// Runs a trial once, and again until the time is over.
fn again(run: fn() -> Result<(), Failed>) -> Result<(), Failed> {
    let started = Instant::now();
    while {
        run()?;
        started.elapsed() < duration()
    } {}
    Ok(())
}

fn open() -> Result<WgpuBackend, Failed> {
    WgpuBackend::open_with(support::config()).map_err(failed)
}

/// Opens a device, and compiles and tests the kernels of these trials.
fn warm() -> Result<WgpuBackend, Failed> {
    let backend = open()?;
    for len in [700, LONG] {
        backend.sort(&mut keys(len, 0)).map_err(failed)?;
        backend.argsort(&keys(len, 0)).map_err(failed)?;
    }
    Ok(backend)
}

/// Enough keys that their upload uses a chunk, and that the sort has passes.
const LONG: usize = 100_000;

fn keys(len: usize, seed: u64) -> Vec<u32> {
    let mut random = support::random(seed);
    (0..len).map(|_| random() as u32 >> 5).collect()
}

/// Sorts keys with a blocking call, and checks them.
fn sorts(backend: &WgpuBackend, len: usize, seed: u64) -> Result<(), Failed> {
    let mut sorted = keys(len, seed);
    backend.sort(&mut sorted).map_err(failed)?;
    is_sorted(&sorted, len, seed)
}

/// Sorts keys with an async call, and checks them.
async fn sorts_async(backend: &WgpuBackend, len: usize, seed: u64) -> Result<(), Failed> {
    let mut sorted = keys(len, seed);
    backend.sort_async(&mut sorted, Options::ascending()).await.map_err(failed)?;
    is_sorted(&sorted, len, seed)
}

fn is_sorted(sorted: &[u32], len: usize, seed: u64) -> Result<(), Failed> {
    let mut expected = keys(len, seed);
    expected.sort_unstable();
    ensure(sorted == expected, || format!("{len} keys of seed {seed} came out wrong"))
}
