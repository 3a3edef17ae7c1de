//! Work on several threads at once, for a caller that may be a thread of a rayon pool.
//!
//! A device may work in the very pool that the calling thread belongs to. So a calling thread that waits does what else there is to do in its pool; a thread
//! that slept could be the last one that the device needs.

use rayon::Yield;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder, Thread};
use std::time::Duration;

/// How long the calling thread sleeps before it looks again for work in its pool. The end of the other threads wakes it earlier.
const NAP: Duration = Duration::from_millis(1);

/// Work that runs once.
pub(crate) type Work<'a> = &'a mut (dyn FnMut() + Send);

/// Does each of `elsewhere` on a thread of its own, and meanwhile all of `here`, one after another, on the calling thread. Work whose thread the system does not
/// start is done on the calling thread.
///
/// # Panics
/// If some of the work panics: after all of it has ended, with the first panic.
pub(crate) fn side_by_side<'a>(mut here: Vec<Work<'a>>, elsewhere: Vec<Work<'a>>) {
    let caller = thread::current();
    let running = AtomicUsize::new(elsewhere.len());
    let elsewhere: Vec<Mutex<Option<Work<'a>>>> = elsewhere.into_iter().map(|work| Mutex::new(Some(work))).collect();
    fn take<'w>(slot: &Mutex<Option<Work<'w>>>) -> Option<Work<'w>> {
        slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    let mut panic: Option<Box<dyn Any + Send>> = None;
    thread::scope(|scope| {
        let mut threads = vec![];
        for slot in &elsewhere {
            let (caller, running) = (&caller, &running);
            let spawned = Builder::new().name("polysort device".into()).spawn_scoped(scope, move || {
                let _ended = Ended { running, caller };
                if let Some(work) = take(slot) {
                    work();
                }
            });
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    tracing::warn!(%error, "no thread for a device; the calling thread does its work");
                    running.fetch_sub(1, Ordering::Release);
                    here.extend(take(slot));
                }
            }
        }
        panic = catch_unwind(AssertUnwindSafe(|| here.iter_mut().for_each(|work| work()))).err();
        while running.load(Ordering::Acquire) > 0 {
            match rayon::yield_now() {
                Some(Yield::Executed) => {}
                Some(Yield::Idle) => thread::park_timeout(NAP),
                // Not a thread of a pool.
                None => break,
            }
        }
        for thread in threads {
            if let Err(other) = thread.join() {
                panic.get_or_insert(other);
            }
        }
    });
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// Tells the calling thread that a thread has ended, by a panic too.
struct Ended<'a> {
    running: &'a AtomicUsize,
    caller: &'a Thread,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.running.fetch_sub(1, Ordering::Release);
        self.caller.unpark();
    }
}
