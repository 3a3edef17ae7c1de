//! `Kernel`: a compiled kernel that can be launched.

use crate::backend::FACTS;
use crate::buffer::Buffer;
use crate::error::{Error, Fault, Mistake};
use crate::loaded::{Launch, Loaded};
use crate::{compiler, text};
use std::path::PathBuf;
use std::sync::Arc;

/// The most threads of a threadgroup.
pub const MAX_THREADS: u32 = 1024;

/// The most threadgroups that run at a time.
pub const MAX_RESIDENT: u32 = 16;

/// The options of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// `__METAL_VERSION__`: 310 is Metal 3.1. Fences exist from 320 on.
    pub metal_version: u32,
    /// Whether the compiler may assume that numbers are finite, and reorder sums. This is the default of Metal's compiler.
    pub fast_math: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self::metal(310)
    }
}

impl Options {
    /// Returns options with this `__METAL_VERSION__`.
    pub const fn metal(metal_version: u32) -> Self {
        Self { metal_version, fast_math: false }
    }

    /// Returns these options with or without fast math.
    #[must_use]
    pub const fn fast_math(self, fast_math: bool) -> Self {
        Self { fast_math, ..self }
    }
}

/// The order in which threads run, and the faults that are tolerated. Equal schedules give equal runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The seed of all choices. With 0, threadgroups and lanes run in order.
    pub seed: u64,
    /// The number of threadgroups that run at a time.
    pub resident: u32,
    /// A thread is preempted at one in this many atomic operations.
    pub preempt: u32,
    /// Memory accesses and waits per thread of the launch. If a launch has more, it counts as one that does not end. A launch of fewer than
    /// 1024 threads has the budget of 1024 threads.
    pub budget: u64,
    /// Whether threads may read threadgroup memory that no thread has written. Its contents follow from the seed. Otherwise such a read is a
    /// fault.
    pub reads_garbage: bool,
    /// Whether data races in buffers are allowed. In threadgroup memory they are always a fault.
    pub races: bool,
    /// Bytes of threadgroup memory. Apple's GPUs have 32 KiB.
    pub memory: u32,
}

impl Schedule {
    /// Returns the schedule of a seed: 1 to 6 threadgroups at a time, and a preemption at one in 2 to 65 atomic operations.
    pub fn seeded(seed: u64) -> Self {
        let mixed = (seed ^ 0x5bf0_3635).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self {
            seed,
            resident: 1 + (mixed >> 40) as u32 % 6,
            preempt: 2 + (mixed >> 48) as u32 % 64,
            budget: 50_000,
            reads_garbage: false,
            races: false,
            memory: FACTS.workgroup_bytes,
        }
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::seeded(0)
    }
}

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

/// A compiled kernel.
#[derive(Debug)]
pub struct Kernel {
    name: String,
    loaded: Arc<Loaded>,
    library: PathBuf,
    bindings: usize,
    max_threads: u32,
}

impl Kernel {
    /// Compiles the kernel `entry` of a text, or loads it from the cache.
    ///
    /// # Errors
    /// [`Error::Declaration`] or [`Error::Compile`] if the text is wrong, or uses a part of Metal's language that the shim lacks;
    /// [`Error::NoKernel`]; [`Error::System`].
    pub fn compile(text: &str, entry: &str, options: Options) -> Result<Self, Error> {
        let translated = text::translated(text, entry)?;
        let (loaded, library) = compiler::compiled(&translated.text, entry, options)?;
        let max_threads = translated.max_threads.unwrap_or(MAX_THREADS).min(MAX_THREADS);
        Ok(Self { name: entry.into(), loaded, library, bindings: translated.bindings, max_threads })
    }

    /// Returns the name of the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `groups` threadgroups, in columns and rows, of `threads` threads. Buffer `i` is bound as `[[buffer(i)]]`.
    ///
    /// # Errors
    /// [`Error::Fault`] for the first fault; the buffers are then as they were. [`Error::Launch`] for too few buffers or too many threads.
    pub fn run(
        &self,
        buffers: &mut [&mut Buffer],
        groups: (u32, u32),
        threads: u32,
        schedule: Schedule,
    ) -> Result<Counts, Error> {
        let refused = |why: String| Err(Error::Launch { kernel: self.name.clone(), why });
        if buffers.len() < self.bindings || buffers.len() > 31 {
            return refused(format!(
                "{} buffers, but it has {} bindings, and there are at most 31",
                buffers.len(),
                self.bindings
            ));
        }
        if threads == 0 || threads > self.max_threads {
            return refused(format!("{threads} threads in a threadgroup, of which there are 1 to {}", self.max_threads));
        }
        let all_threads = u64::from(threads) * u64::from(groups.0) * u64::from(groups.1);
        let launch = Launch {
            groups: [groups.0, groups.1, 1],
            threads,
            resident: schedule.resident.clamp(1, MAX_RESIDENT),
            preempt: schedule.preempt.max(1),
            seed: schedule.seed,
            budget: schedule.budget.saturating_mul(all_threads.max(MAX_THREADS.into())),
            garbage: schedule.reads_garbage.into(),
            races: schedule.races.into(),
            memory: schedule.memory,
        };
        let mut bytes: Vec<&mut [u8]> = buffers.iter_mut().map(|buffer| buffer.bytes_mut()).collect();
        let report = self.loaded.run(&launch, &mut bytes);
        let text = report.text.split(|&byte| byte == 0).next().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        let mistake = match report.fault {
            0 => return Ok(report.counts),
            1 => Mistake::Divergence,
            2 => Mistake::AfterReturn,
            3 => Mistake::OutOfBounds,
            4 => Mistake::NeverWritten,
            5 => Mistake::Race,
            6 => Mistake::NoProgress,
            7 => Mistake::ThreadgroupMemory,
            8 => Mistake::StackOverflow,
            9 => Mistake::NoSuchLane,
            _ => return Err(Error::System { what: "running a kernel".into(), why: text }),
        };
        let line = if report.line > 0 { Some(report.line) } else { compiler::line_of(&self.library, report.offset) };
        let (kernel, group) = (self.name.clone(), (report.group[0], report.group[1]));
        Err(Error::Fault(Box::new(Fault { kernel, line, group, thread: report.thread, mistake, what: text })))
    }
}
