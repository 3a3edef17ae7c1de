//! Several devices: parts, failures, limits, threads.

use polysort_core::{AnyOperation, Backend, DynBackend, Error, Limits, Options, Sort, SortAsync, Spec, sorts_by_run, with_word};
use polysort_kit::StdBackend;
use polysort_multi::{MultiBackend, Speeds};
use polysort_rayon::RayonBackend;
use rayon::ThreadPoolBuilder;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs a test that could hang, and fails if it takes longer than a minute.
fn watched(test: impl FnOnce() + Send + 'static) {
    let (ended, end) = channel();
    let thread = std::thread::spawn(move || {
        test();
        ended.send(()).expect("the watchdog waits");
    });
    assert_ne!(end.recv_timeout(Duration::from_secs(60)), Err(RecvTimeoutError::Timeout), "the test hangs");
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// What a device does.
#[derive(Default)]
struct Script {
    /// The calls of the device.
    calls: AtomicUsize,
    /// The elements of each of them.
    lens: Mutex<Vec<usize>>,
    /// The call that fails; 0 for none. Later calls fail as well if `fails_on`.
    failing: AtomicUsize,
    fails_on: AtomicBool,
    /// A failure is the loss of the device.
    is_loss: AtomicBool,
    /// A failure is a panic, after the keys have been written over.
    panics: AtomicBool,
    lost: AtomicBool,
    reopened: AtomicUsize,
    /// The most elements; 0 for no limit.
    limit: AtomicUsize,
}

/// `std`'s sort, with failures as scripted.
#[derive(Clone)]
struct Scripted(Arc<Script>, &'static str);

impl Scripted {
    fn new(name: &'static str) -> Self {
        Self(Arc::default(), name)
    }

    fn failing_at(name: &'static str, call: usize) -> Self {
        let device = Self::new(name);
        device.0.failing.store(call, SeqCst);
        device
    }

    fn calls(&self) -> usize {
        self.0.calls.load(SeqCst)
    }

    fn lens(&self) -> Vec<usize> {
        std::mem::take(&mut self.0.lens.lock().unwrap())
    }
}

impl Backend for Scripted {
    fn open() -> Result<Self, Error> {
        unreachable!("opened with a script")
    }

    fn name(&self) -> String {
        self.1.into()
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        match self.0.limit.load(SeqCst) {
            0 => {}
            limit => limits.max_len = limit as u64,
        }
        limits
    }

    fn is_lost(&self) -> bool {
        self.0.lost.load(SeqCst)
    }

    fn reopen(&self) -> Result<Self, Error> {
        self.0.reopened.fetch_add(1, SeqCst);
        self.0.lost.store(false, SeqCst);
        Ok(self.clone())
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        let len = with_word!(&operation, operation => operation.keys().len());
        let script = &*self.0;
        script.lens.lock().unwrap().push(len);
        assert!(len as u64 <= self.limits().max_len, "{len} elements are too many for this device");
        let (call, failing) = (script.calls.fetch_add(1, SeqCst) + 1, script.failing.load(SeqCst));
        if failing > 0 && (call == failing || call > failing && script.fails_on.load(SeqCst)) {
            if script.panics.load(SeqCst) {
                StdBackend.run(operation, spec)?;
                panic!("{} is broken", self.1);
            }
            script.lost.store(script.is_loss.load(SeqCst), SeqCst);
            return Err(Error::DeviceLost { backend: self.1.into(), why: format!("call {call}"), source: None });
        }
        StdBackend.run(operation, spec)
    }
}

fn multi<const N: usize>(devices: &[Scripted; N]) -> MultiBackend {
    MultiBackend::new(devices.iter().cloned().map(DynBackend::new)).unwrap().least_part(1)
}

/// Keys with many equal ones.
fn keys(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(7) % 97).collect()
}

/// All that the operations return, in one text.
fn every_answer(backend: &impl Backend) -> Vec<String> {
    let (keys, options) = (keys(1000), Options::descending().bits(1..6));
    let (values, wide): (Vec<u32>, Vec<[u8; 7]>) =
        ((0..1000).collect(), (0..1000_u32).map(|i| [i as u8, (i >> 8) as u8, 1, 2, 3, 4, 5]).collect());
    let offsets = [0, 3, 3, 400, 401, 950];
    let mut answers = vec![];
    let mut copy = keys.clone();
    backend.sort_with(&mut copy, options).unwrap();
    answers.push(format!("{copy:?}"));
    backend.sort_into(&keys, &mut copy).unwrap();
    answers.push(format!("{copy:?}"));
    let (mut copy, mut moved, mut moved_wide) = (keys.clone(), values.clone(), wide.clone());
    backend.sort_pairs_with(&mut copy, &mut moved, options).unwrap();
    answers.push(format!("{copy:?} {moved:?}"));
    backend.sort_pairs_into(&keys, &values, &mut copy, &mut moved).unwrap();
    answers.push(format!("{copy:?} {moved:?}"));
    backend.sort_pairs_into_with(&keys, &wide, &mut copy, &mut moved_wide, options).unwrap();
    answers.push(format!("{copy:?} {moved_wide:?}"));
    copy.copy_from_slice(&keys);
    moved_wide.copy_from_slice(&wide);
    backend.sort_pairs(&mut copy, &mut moved_wide).unwrap();
    answers.push(format!("{copy:?} {moved_wide:?}"));
    copy.copy_from_slice(&keys);
    backend.sort_pairs(&mut copy, &mut [(); 1000]).unwrap();
    answers.push(format!("{copy:?}"));
    answers.push(format!("{:?}", backend.argsort_with(&keys, options).unwrap()));
    answers.push(format!("{:?}", backend.top_k(&keys, 333).unwrap()));
    answers.push(format!("{:?}", backend.bottom_k(&keys, 5000).unwrap()));
    copy.copy_from_slice(&keys);
    answers.push(format!("{:?}", backend.select_nth(&mut copy, 700).map(|()| copy[700])));
    copy.copy_from_slice(&keys);
    answers.push(format!("{:?}", backend.partial_sort(&mut copy, 50).map(|()| &copy[..50])));
    answers.push(format!("{:?}", backend.runs_with(&keys, options)));
    copy.copy_from_slice(&keys);
    backend.sort_segments_with(&mut copy, &offsets, options).unwrap();
    answers.push(format!("{copy:?}"));
    copy.copy_from_slice(&keys);
    moved.copy_from_slice(&values);
    backend.sort_pairs_segments(&mut copy, &mut moved, &offsets).unwrap();
    answers.push(format!("{copy:?} {moved:?}"));
    copy.copy_from_slice(&keys);
    moved_wide.copy_from_slice(&wide);
    backend.sort_pairs_segments(&mut copy, &mut moved_wide, &offsets).unwrap();
    answers.push(format!("{copy:?} {moved_wide:?}"));
    answers.push(format!("{:?}", backend.argsort_segments(&keys, &offsets).unwrap()));
    answers.push(format!("{:?}", backend.top_k_segments(&keys, 50, &offsets).unwrap()));
    answers
}

#[test]
fn each_device_gets_the_share_of_its_speed_and_short_inputs_go_to_the_fastest() {
    let devices = [Scripted::new("a"), Scripted::new("b"), Scripted::new("c")];
    let multi = multi(&devices).with_speeds(Speeds::new([1.0, 3.0, 1.0], f64::INFINITY)).unwrap();
    let lens = || devices.each_ref().map(Scripted::lens);
    multi.sort(&mut keys(1000)).unwrap();
    assert_eq!(lens(), [[200], [600], [200]]);
    multi.sort_segments(&mut keys(1000), &(0..=1000).step_by(50).collect::<Vec<_>>()).unwrap();
    assert_eq!(lens(), [[200], [600], [200]]);
    multi.clone().least_part(201).sort(&mut keys(1000)).unwrap();
    assert_eq!(lens(), [vec![250], vec![750], vec![]], "one of three parts would be too short");
    multi.clone().least_part(251).sort(&mut keys(1000)).unwrap();
    assert_eq!(lens(), [vec![], vec![1000], vec![]]);
    let costly = multi.clone().with_speeds(Speeds::new([1.0, 3.0, 1.0], 7.0)).unwrap();
    costly.argsort(&keys(1000)).unwrap();
    assert_eq!(lens(), [vec![], vec![1000], vec![]], "1 / 3 is less than 1 / 5 + 1 / 7");
    let report = costly.report();
    assert_eq!(report.devices.iter().map(|device| device.parts).collect::<Vec<_>>(), [3, 5, 2]);
    assert_eq!(report.devices[0].bytes, (2 * 200 + 250) * 4);
    assert_eq!(report.merged_bytes, 8000, "segments are not merged");
    let measured = report.speeds().expect("all have worked");
    assert!(measured.devices.len() == 3 && measured.devices.iter().all(|&speed| speed > 0.0) && measured.merge > 0.0);
    assert_eq!(multi.name(), "a + b + c");
    assert_eq!(multi.clone().with_speeds(measured.clone()).unwrap().speeds(), &measured);
}

#[test]
fn wrong_speeds_and_no_devices_are_errors() {
    let multi = multi(&[Scripted::new("a"), Scripted::new("b")]);
    let with = |devices: &[f64], merge| multi.clone().with_speeds(Speeds::new(devices, merge)).map(drop).unwrap_err();
    assert!(matches!(with(&[1.0], 1.0), Error::LengthMismatch { .. }));
    for (speed, merge) in [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, 0.0), (1.0, f64::NAN)] {
        assert!(matches!(with(&[1.0, speed], merge), Error::Unsupported { .. }), "{speed} {merge}");
    }
    assert!(matches!(MultiBackend::new([]), Err(Error::Unavailable { .. })));
    assert!(matches!(MultiBackend::open(), Err(Error::Unavailable { .. })));
    assert_eq!(multi.report().speeds(), None, "nothing was sorted yet");
}

/// A device fails at each of its calls in turn, once or from then on, and so do two of three.
#[test]
fn the_others_sort_the_parts_of_a_device_that_fails() {
    let expected = every_answer(&StdBackend);
    let calls = {
        let devices = [Scripted::new("a"), Scripted::new("b"), Scripted::new("c")];
        assert_eq!(every_answer(&multi(&devices)), expected);
        devices[1].calls()
    };
    assert!(calls >= 15, "each operation is a call of the device, and not {calls}");
    for failing in 1..=calls {
        for (fails_on, is_loss, also) in
            [(false, false, 0), (true, false, 0), (false, true, 0), (true, true, 2), (false, false, 2)]
        {
            let devices = [Scripted::new("a"), Scripted::failing_at("b", failing), Scripted::failing_at("c", also * failing / 2)];
            for device in &devices {
                device.0.fails_on.store(fails_on, SeqCst);
                device.0.is_loss.store(is_loss, SeqCst);
            }
            let multi = multi(&devices);
            assert!(every_answer(&multi) == expected, "b fails at call {failing}, on {fails_on}, loss {is_loss}");
            let report = multi.report().devices;
            let [b, c] = [&report[1], &report[2]];
            let c_fails = also > 0 && devices[2].calls() >= failing;
            assert!(b.failures >= 1 && report[0].failures == 0 && c_fails == (c.failures > 0), "{report:?}");
            assert!(matches!(&b.last_failure, Some(Error::DeviceLost { .. })), "{b:?}");
            if !fails_on {
                assert_eq!(b.failures, 1, "the device is tried again and works");
                multi.sort(&mut keys(9)).unwrap();
                assert_eq!(devices[1].0.reopened.load(SeqCst), usize::from(is_loss), "a lost device is opened again");
            }
        }
    }
}

/// The answers of async calls are the same, with failures too.
#[test]
fn async_calls_hand_over_as_well() {
    let (keys, mut sorted, mut values) = (keys(1000), keys(1000), Vec::from_iter(0..1000_u16));
    let up = Options::ascending();
    for failing in 0..3 {
        let devices = [Scripted::new("a"), Scripted::failing_at("b", failing)];
        let multi = multi(&devices);
        futures_lite::future::block_on(async {
            multi.sort_into_async(&keys, &mut sorted, up).await.unwrap();
            assert_eq!(multi.argsort_async(&keys, up).await.unwrap(), StdBackend.argsort(&keys).unwrap());
            multi.sort_pairs_async(&mut sorted, &mut values, up).await.unwrap();
        });
        assert!(sorted.is_sorted() && values.is_sorted());
        assert_eq!(multi.report().devices[1].failures, u64::from(failing > 0));
    }
}

#[test]
fn if_all_devices_fail_the_slices_stay_and_the_next_call_works() {
    for lens in [[1000, 0], [1, 0], [1000, 3]] {
        let devices = [Scripted::failing_at("a", 1), Scripted::failing_at("b", 1), Scripted::failing_at("c", 1)];
        let multi = multi(&devices);
        let (before, values) = (keys(lens[0]), Vec::from_iter(0..lens[0] as u32));
        let (mut copy, mut moved) = (before.clone(), values.clone());
        let offsets = [0, lens[1], lens[0]];
        let mut all = |operation: usize| match operation {
            0 => multi.sort(&mut copy),
            1 => multi.sort_pairs(&mut copy, &mut moved),
            2 => multi.sort_segments(&mut copy, &offsets),
            3 => multi.sort_pairs_segments(&mut copy, &mut moved, &offsets),
            4 => multi.sort_pairs_into(&before, &values, &mut copy, &mut moved),
            5 => multi.partial_sort(&mut copy, 5),
            6 => multi.top_k(&before, 5).map(drop),
            _ => multi.argsort(&before).map(drop),
        };
        for operation in 0..8 {
            for device in &devices {
                device.0.calls.store(0, SeqCst);
                device.0.fails_on.store(true, SeqCst);
            }
            let error = all(operation).unwrap_err();
            assert!(matches!(&error, Error::DeviceLost { backend, .. } if backend == "a"), "{error}");
        }
        assert!(copy == before && moved == values);
        for device in &devices {
            device.0.failing.store(0, SeqCst);
        }
        multi.sort_pairs(&mut copy, &mut moved).unwrap();
        assert!(copy.is_sorted());
    }
}

#[test]
fn a_panic_of_a_device_goes_on_when_the_others_have_ended_and_the_slices_stay() {
    watched(|| {
        let devices = [Scripted::new("a"), Scripted::failing_at("b", 1)];
        devices[1].0.panics.store(true, SeqCst);
        let multi = multi(&devices);
        let (before, mut copy) = (keys(1000), keys(1000));
        let panic = catch_unwind(AssertUnwindSafe(|| multi.sort(&mut copy))).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().unwrap(), "b is broken");
        assert_eq!((copy == before, devices[0].calls()), (true, 1));
        devices[1].0.failing.store(2, SeqCst);
        let segments = catch_unwind(AssertUnwindSafe(|| multi.sort_segments(&mut copy, &[0, 400, 800, 1000])));
        assert!(segments.is_err() && copy == before);
        multi.sort(&mut copy).unwrap();
        assert!(copy.is_sorted());
    });
}

/// A device with a limit gets several parts, also of the share of another one that fails.
#[test]
fn limits_of_devices_are_kept_and_the_backend_has_none() {
    let devices = [Scripted::new("a"), Scripted::new("b")];
    devices[0].0.limit.store(150, SeqCst);
    let multi = multi(&devices);
    assert_eq!(multi.limits(), Limits::default());
    let expected = every_answer(&StdBackend);
    assert_eq!(every_answer(&multi), expected);
    devices[1].0.failing.store(devices[1].calls() + 1, SeqCst);
    devices[1].0.fails_on.store(true, SeqCst);
    assert_eq!(every_answer(&multi), expected, "the device with the limit takes over");
    devices[1].0.limit.store(1, SeqCst);
    devices[1].0.failing.store(0, SeqCst);
    assert_eq!(every_answer(&multi), expected, "parts of one element");
}

#[test]
fn no_keys_have_no_runs_and_one_offset() {
    let devices = [Scripted::new("a"), Scripted::new("b")];
    assert_eq!(multi(&devices).runs::<u32>(&[]).unwrap().offsets, [0]);
}

/// Each device has a part that it sorts by several threads.
const LEN: usize = 600_000;

#[test]
fn calls_inside_tasks_of_the_pool_that_a_device_works_in_do_not_hang() {
    watched(|| {
        for threads in [2, 3] {
            let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
            let other = Arc::new(ThreadPoolBuilder::new().num_threads(2).build().unwrap());
            let devices = || {
                let pools = [RayonBackend::in_pool(pool.clone()), RayonBackend::in_pool(other.clone()), RayonBackend::default()];
                MultiBackend::new(pools.map(DynBackend::new)).unwrap().least_part(100)
            };
            let (first, second) = (devices(), devices().merge_on(RayonBackend::in_pool(other.clone())));
            let check = |multi: &MultiBackend, len: usize| {
                let (mut keys, mut values) = (keys(len), Vec::from_iter(0..len as u32));
                multi.sort_pairs(&mut keys, &mut values).unwrap();
                assert!(keys.is_sorted());
            };
            // Threads of both pools wait for each other's.
            std::thread::scope(|scope| {
                for pool in [&pool, &other] {
                    scope.spawn(|| {
                        pool.scope(|tasks| {
                            for round in 0..4 {
                                let (first, second) = (&first, &second);
                                tasks.spawn(move |_| check(if round % 2 == 0 { first } else { second }, LEN + round));
                            }
                        });
                    });
                }
                for _ in 0..2 {
                    scope.spawn(|| check(&first, LEN));
                }
            });
        }
    });
}
