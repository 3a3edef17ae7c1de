//! Readers of one buffer: it is mapped while anybody reads it, and unmapped once nobody does.

use crate::readers::{Map, Readers, Reading, unless_read};
use core::future::Future;
use core::task::{Context, Poll, Waker};
use loom::sync::Mutex;
use loom::thread;
use std::sync::Arc;

type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

/// A buffer of a device that maps it when it is polled.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Mapped>>);

#[derive(Default)]
enum Mapped {
    #[default]
    No,
    Asked(Done),
    Yes,
}

impl Fake {
    /// The device: maps the buffer if it was asked to, and says so afterwards.
    fn poll(&self) {
        let mut state = self.0.lock().unwrap();
        match std::mem::take(&mut *state) {
            Mapped::Asked(done) => {
                *state = Mapped::Yes;
                drop(state);
                done(Ok(()));
            }
            other => *state = other,
        }
    }

    /// What a reader does with the buffer.
    fn look(&self) {
        assert!(matches!(*self.0.lock().unwrap(), Mapped::Yes), "it is read while it is not mapped");
    }
}

impl Map for Fake {
    fn map(&self, done: impl FnOnce(Result<(), String>) + Send + 'static) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap(), Mapped::Asked(Box::new(done)));
        assert!(matches!(before, Mapped::No), "it is mapped twice");
    }

    fn unmap(&self) {
        let before = std::mem::take(&mut *self.0.lock().unwrap());
        match before {
            Mapped::No => panic!("it is unmapped twice"),
            Mapped::Asked(done) => done(Err("aborted".into())),
            Mapped::Yes => {}
        }
    }
}

/// Reads to the end.
fn read(readers: &Arc<Readers>, buffer: &Fake) {
    let reading = Reading::begin(readers, buffer.clone());
    buffer.poll();
    loom::future::block_on(reading.ready()).expect("nobody who waits is aborted");
    buffer.look();
}

/// Begins to read, and gives up.
fn give_up(readers: &Arc<Readers>, buffer: &Fake) {
    let reading = Reading::begin(readers, buffer.clone());
    let mut ready = core::pin::pin!(reading.ready());
    if let Poll::Ready(ready) = ready.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        ready.expect("nobody who reads is aborted");
        buffer.look();
    }
}

/// That nobody reads, and that the buffer is not mapped then.
fn is_left(readers: &Readers, buffer: &Fake) {
    let unmapped = unless_read(&[readers], || matches!(*buffer.0.lock().unwrap(), Mapped::No)).expect("nobody reads");
    assert!(unmapped, "it is mapped while nobody reads");
}

#[test]
fn readers_come_and_go() {
    loom::model(|| {
        let (readers, buffer) = (Arc::new(Readers::default()), Fake::default());
        let other = {
            let (readers, buffer) = (readers.clone(), buffer.clone());
            thread::spawn(move || read(&readers, &buffer))
        };
        read(&readers, &buffer);
        other.join().unwrap();
        is_left(&readers, &buffer);
    });
}

#[test]
fn a_reader_that_gives_up_leaves_the_others_alone() {
    loom::model(|| {
        let (readers, buffer) = (Arc::new(Readers::default()), Fake::default());
        let other = {
            let (readers, buffer) = (readers.clone(), buffer.clone());
            thread::spawn(move || give_up(&readers, &buffer))
        };
        read(&readers, &buffer);
        other.join().unwrap();
        is_left(&readers, &buffer);
    });
}

#[test]
fn what_is_submitted_and_what_is_read_exclude_each_other() {
    loom::model(|| {
        let (readers, buffer) = (Arc::new(Readers::default()), Fake::default());
        let other = {
            let (readers, buffer) = (readers.clone(), buffer.clone());
            thread::spawn(move || give_up(&readers, &buffer))
        };
        // A submission of a buffer that is mapped, or is about to be, would be an error.
        let submitted = unless_read(&[&readers], || {
            assert!(matches!(*buffer.0.lock().unwrap(), Mapped::No), "it is submitted while it is mapped");
        });
        assert!(submitted.is_ok() || submitted.unwrap_err().to_string().contains("being read"));
        other.join().unwrap();
        is_left(&readers, &buffer);
    });
}
