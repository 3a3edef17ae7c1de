//! The order in which the threads of a launch run, on the device that is emulated.

use polysort_shaders::plan::{Class, Facts};

/// The facts of an Apple GPU.
pub const FACTS: Facts = Facts { max_binding: 1 << 30, class: Class::Apple, ..Facts::new(Some((32, 32)), 32 << 10, 1024) };

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
