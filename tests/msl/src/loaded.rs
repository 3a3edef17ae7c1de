//! Loads compiled kernels into this process and calls them. No other file of this crate has unsafe code.
#![allow(unsafe_code, reason = "what a C++ compiler made is loaded and called")]

use crate::error::Error;
use libloading::Library;
use std::ffi::c_void;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The operations of a launch. Accesses to the memory of one thread, and accesses that the compiler has merged, are not counted.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that non-atomic accesses read from buffers of 1 KiB and more.
    pub device_read: u64,
    /// Bytes that non-atomic accesses write to these buffers.
    pub device_written: u64,
    /// Atomic operations on these buffers.
    pub device_atomics: u64,
    /// Accesses to threadgroup memory that are not atomic.
    pub threadgroup_accesses: u64,
    /// Atomic operations on threadgroup memory.
    pub threadgroup_atomics: u64,
    /// Barriers of threadgroups.
    pub barriers: u64,
    /// Simdgroup operations and barriers, of each lane.
    pub simd_operations: u64,
}

/// As in `shim/machine.h`.
#[repr(C)]
pub(crate) struct Launch {
    pub(crate) groups: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) resident: u32,
    pub(crate) preempt: u32,
    pub(crate) seed: u64,
    pub(crate) budget: u64,
    pub(crate) garbage: u32,
    pub(crate) races: u32,
    pub(crate) memory: u32,
}

/// As in `shim/machine.h`.
#[repr(C)]
pub(crate) struct Report {
    pub(crate) counts: Counts,
    pub(crate) fault: u32,
    pub(crate) line: u32,
    pub(crate) thread: u32,
    pub(crate) group: [u32; 3],
    pub(crate) offset: u64,
    pub(crate) text: [u8; 400],
}

#[repr(C)]
struct Bytes {
    start: *mut u8,
    length: u64,
}

type MakeMachine = unsafe extern "C" fn() -> *mut c_void;
type Run = unsafe extern "C" fn(*mut c_void, *const Launch, *const Bytes, u32, *mut Report);

/// A library with one kernel.
#[derive(Debug)]
pub(crate) struct Loaded {
    make_machine: MakeMachine,
    run: Run,
    /// The lock of a run: the state of a run lies in the library, so there is one run at a time.
    running: Mutex<()>,
    _library: Library,
}

/// The memory of a run, without its buffers. All libraries are built with the same runtime, so any library can use it.
struct Machine(*mut c_void);

// SAFETY: a machine is plain memory that is not bound to a thread, and each `Machine` has one owner.
unsafe impl Send for Machine {}

/// Machines that no run uses. They are never freed; there are at most as many as runs at a time.
static MACHINES: Mutex<Vec<Machine>> = Mutex::new(vec![]);

impl Loaded {
    /// Loads the library of a translated kernel and the runtime.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: libloading::Error| Error::System { what: "loading a kernel".into(), why: error.to_string() };
        // SAFETY: the library has no initializer of its own: the runtime's globals are plain data.
        let library = unsafe { Library::new(path) }.map_err(failed)?;
        // SAFETY: the type is that of `msl_machine` in `shim/runtime.cpp`.
        let make_machine = *unsafe { library.get::<MakeMachine>(b"msl_machine\0") }.map_err(failed)?;
        // SAFETY: the type is that of `msl_run` in `shim/runtime.cpp`.
        let run = *unsafe { library.get::<Run>(b"msl_run\0") }.map_err(failed)?;
        Ok(Self { make_machine, run, running: Mutex::new(()), _library: library })
    }

    /// Runs the kernel on at most 31 buffers.
    pub(crate) fn run(&self, launch: &Launch, buffers: &mut [&mut [u8]]) -> Report {
        let free = lock(&MACHINES).pop();
        // SAFETY: the function takes no arguments, and the library stays loaded as long as `self` exists.
        let machine = free.unwrap_or_else(|| Machine(unsafe { (self.make_machine)() }));
        let bytes = |bytes: &mut &mut [u8]| Bytes { start: bytes.as_mut_ptr(), length: bytes.len() as u64 };
        let bytes: Vec<Bytes> = buffers.iter_mut().map(bytes).collect();
        let mut report =
            Report { counts: Counts::default(), fault: 0, line: 0, thread: 0, group: [0; 3], offset: 0, text: [0; 400] };
        {
            let _running = lock(&self.running);
            // SAFETY: this run is the only user of the machine. The machine has the layout of this library's runtime, since all libraries
            // are built from the same text. The pointers are to values that outlive the call; `bytes` has distinct slices that are borrowed
            // for the call. The runtime checks each access of the kernel before it happens, and the kernel runs on stacks of the machine.
            unsafe { (self.run)(machine.0, launch, bytes.as_ptr(), bytes.len() as u32, &mut report) };
        }
        lock(&MACHINES).push(machine);
        report
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
