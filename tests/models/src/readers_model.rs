//! Readers of one buffer: the buffer is mapped while it has a reader, and unmapped after the last one.

use crate::readers::{Map, Readers, Reading, unless_read};
use core::future::Future;
use core::task::{Context, Poll, Waker};
use loom::sync::Mutex;
use loom::thread;
use std::sync::Arc;

type Done = Box<dyn FnOnce(Result<(), String>) + Send>;

/// A buffer of a fake device, which maps the buffer when it is polled.
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
    /// The device: maps the buffer if a mapping was requested, and then calls the callback.
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

    /// A reader's access to the buffer.
    fn look(&self) {
        assert!(matches!(*self.0.lock().unwrap(), Mapped::Yes), "the buffer is read while it is not mapped");
    }
}

impl Map for Fake {
    fn map(&self, done: impl FnOnce(Result<(), String>) + Send + 'static) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap(), Mapped::Asked(Box::new(done)));
        assert!(matches!(before, Mapped::No), "the buffer is mapped twice");
    }

    fn unmap(&self) {
        let before = std::mem::take(&mut *self.0.lock().unwrap());
        match before {
            Mapped::No => panic!("the buffer is unmapped twice"),
            Mapped::Asked(done) => done(Err("aborted".into())),
            Mapped::Yes => {}
        }
    }
}

/// Waits for the mapping and reads.
fn read(readers: &Arc<Readers>, buffer: &Fake) {
    let reading = Reading::begin(readers, buffer.clone());
    buffer.poll();
    loom::future::block_on(reading.ready()).expect("the mapping of a waiting reader is not aborted");
    buffer.look();
}

/// Begins to read, and drops the reader after one poll.
fn give_up(readers: &Arc<Readers>, buffer: &Fake) {
    let reading = Reading::begin(readers, buffer.clone());
    let mut ready = core::pin::pin!(reading.ready());
    if let Poll::Ready(ready) = ready.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        ready.expect("the mapping of a reader is not aborted");
        buffer.look();
    }
}

/// Checks that the buffer has no reader and is not mapped.
fn is_left(readers: &Readers, buffer: &Fake) {
    let unmapped = unless_read(&[readers], || matches!(*buffer.0.lock().unwrap(), Mapped::No)).expect("there is no reader");
    assert!(unmapped, "the buffer is mapped without a reader");
}

#[test]
fn two_readers_map_the_buffer_once_and_unmap_it() {
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
fn a_reader_that_is_dropped_does_not_unmap_the_buffer_of_another() {
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
fn no_buffer_is_submitted_while_it_is_mapped() {
    loom::model(|| {
        let (readers, buffer) = (Arc::new(Readers::default()), Fake::default());
        let other = {
            let (readers, buffer) = (readers.clone(), buffer.clone());
            thread::spawn(move || give_up(&readers, &buffer))
        };
        // wgpu does not allow a submission of a buffer that is mapped, or whose mapping is requested.
        let submitted = unless_read(&[&readers], || {
            assert!(matches!(*buffer.0.lock().unwrap(), Mapped::No), "the buffer is submitted while it is mapped");
        });
        assert!(submitted.is_ok() || submitted.unwrap_err().to_string().contains("being read"));
        other.join().unwrap();
        is_left(&readers, &buffer);
    });
}
