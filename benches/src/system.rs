//! A system that sorts, ours or a peer.

use crate::task::Task;
use polysort_measure::{Trial, timed};
use std::fmt;
use std::time::Duration;

/// The witness that is not written in Rust, and is judged apart.
pub const WITNESS: &str = "x86-simd-sort";

/// The system that only copies the bytes of a sort: no sort that moves its records is faster than its time, called the floor.
pub const FLOOR: &str = "memcpy";

/// One system, and its work on the slices of a cell.
pub struct System<'a> {
    /// Who wrote it.
    pub system: &'static str,
    /// Its function.
    pub backend: &'static str,
    /// What it is timed by.
    pub task: Box<dyn Task + 'a>,
    /// Time after a run, outside of what is timed, in which its threads fall asleep.
    pub rest: Duration,
}

impl System<'_> {
    /// Sorts all slices once, and verifies them. The time is that of the sorts alone.
    pub fn run(&mut self) -> Trial {
        self.task.prepare();
        let (time, ()) = timed(|| self.task.run());
        std::thread::sleep(self.rest);
        Trial { time, is_right: self.task.verify(), rest: self.rest }
    }
}

impl fmt::Debug for System<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "System({}, {})", self.system, self.backend)
    }
}
