//! `Kernel`: a compiled kernel that can be launched.

use crate::buffer::Buffer;
use crate::error::{Error, Fault, Mistake};
use crate::loaded::{Counts, Launch, Loaded};
use crate::options::Options;
use crate::schedule::Schedule;
use crate::{compiler, text};
use std::path::PathBuf;
use std::sync::Arc;

/// The most threads of a threadgroup.
pub const MAX_THREADS: u32 = 1024;

/// The most threadgroups that run at a time.
pub const MAX_RESIDENT: u32 = 16;

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
