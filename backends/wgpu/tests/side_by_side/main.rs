//! Calls that run side by side on one device: from threads, from rayon tasks, from futures that are polled, left alone or dropped.
//!
//! A call that hangs cannot be stopped. So a watchdog ends the whole program, with the name of the trial, if one takes too long. The trials that
//! repeat themselves do so for `POLYSORT_TEST_SECONDS` seconds, three if it is not set.

mod dropped;
mod lost;
mod memory;
mod mixed;
mod nested;
#[path = "../support/mod.rs"]
mod support;

use core::pin::Pin;
use core::task::{Context, Poll};
use libtest_mimic::{Failed, Trial};
use polysort_core::{Options, Sort};
use polysort_wgpu::WgpuBackend;
use std::sync::{Arc, Condvar, Mutex};
use std::task::Wake;
use std::time::{Duration, Instant};
use support::{ensure, failed};

/// How long a trial may take beyond the time for which it repeats itself: a software device compiles slowly.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() {
    support::run("side by side", |label| {
        let trial = |what: &'static str, run: fn() -> Result<(), Failed>| support::trial(label, what, move || watched(what, run));
        let mut trials: Vec<Trial> = vec![];
        trials.extend([
            trial("nested: rayon tasks in a pool of 1 thread", || nested::tasks(1)),
            trial("nested: rayon tasks in a pool of 2 threads", || nested::tasks(2)),
            trial("nested: rayon tasks in a pool of 3 threads", || nested::tasks(3)),
            trial("nested: rayon tasks in a pool of 5 threads", || nested::tasks(5)),
            trial("nested: futures within rayon tasks", nested::futures),
            trial("nested: a key that sorts", nested::a_key_that_sorts),
            trial("mixed: a pending call and blocking ones on one thread", mixed::on_one_thread),
            trial("mixed: blocking and async calls on several threads", mixed::on_several_threads),
            trial("mixed: readers of one buffer", mixed::readers),
            trial("mixed: the inputs of a sort into other buffers", mixed::inputs),
            trial("mixed: a backend that is dropped while calls are in flight", mixed::dropped_backend),
            trial("dropped: sorts of slices", || again(dropped::slices)),
            trial("dropped: buffers and index lists", || again(dropped::buffers)),
            trial("dropped: stores of vectors", || again(dropped::stores)),
            trial("dropped: by a panic", dropped::by_a_panic),
            trial("lost: a device with several calls in flight", lost::several_in_flight),
            trial("lost: a device of the caller's", lost::callers_device),
            trial("memory: calls wait for room", memory::calls_wait_for_room),
            trial("memory: a call that is left alone does not hang the next", memory::left_alone),
            trial("memory: what was submitted counts until it is done", memory::submitted),
            trial("memory: more calls wait than there are threads to wait", memory::many_wait),
            trial("memory: what is kept is given back", memory::kept),
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

/// How long a trial repeats itself.
fn duration() -> Duration {
    let seconds = std::env::var("POLYSORT_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(3))
}

/// The numbers of the rounds that fit the time, at least two.
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

/// A device whose kernels for sorts of these trials are compiled and tested.
fn warm() -> Result<WgpuBackend, Failed> {
    let backend = open()?;
    for len in [700, LONG] {
        backend.sort(&mut keys(len, 0)).map_err(failed)?;
        backend.argsort(&keys(len, 0)).map_err(failed)?;
    }
    Ok(backend)
}

/// So many keys that they go up in a chunk, and are sorted by passes.
const LONG: usize = 100_000;

fn keys(len: usize, seed: u64) -> Vec<u32> {
    let mut random = support::random(seed);
    (0..len).map(|_| random() as u32 >> 5).collect()
}

/// Sorts keys by a blocking call, and checks them.
fn sorts(backend: &WgpuBackend, len: usize, seed: u64) -> Result<(), Failed> {
    let mut sorted = keys(len, seed);
    backend.sort(&mut sorted).map_err(failed)?;
    is_sorted(&sorted, len, seed)
}

/// Sorts keys by a call that does not block, and checks them.
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

/// Tells when a future wants to be polled again.
#[derive(Default)]
struct Woken(Mutex<bool>, Condvar);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().expect("nothing panics while it is locked") = true;
        self.1.notify_all();
    }
}

/// Polls a future up to `polls` times, each time when it wants to be. Returns what it returned, if it ended.
fn polled<T>(mut future: Pin<&mut impl Future<Output = T>>, polls: usize) -> Option<T> {
    let woken = Arc::new(Woken::default());
    let waker = woken.clone().into();
    for poll in 1..=polls {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(result);
        }
        if poll < polls {
            let asked = woken.0.lock().expect("nothing panics while it is locked");
            *woken.1.wait_while(asked, |asked| !*asked).expect("nothing panics while it is locked") = false;
        }
    }
    None
}

/// Polls a future to its end, unless it ended when it was `begun`.
fn finished<T>(begun: Option<T>, future: impl Future<Output = T>) -> T {
    begun.unwrap_or_else(|| pollster::block_on(future))
}
