//! The table of architectures: the numbers that differ between classes of devices, and where each comes from.

use super::class::Class;
use core::fmt::{self, Display, Formatter};

/// A tuned number, or several, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The number.
    pub value: T,
    /// Where the number comes from.
    pub source: Source,
}

/// Where a tuned number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A measurement on a device of this architecture.
    Measured {
        /// The device.
        gpu: &'static str,
        /// The record of the measurement, in `benches/record`.
        record: &'static str,
    },
    /// Facts that were not measured on a device of this architecture, such as numbers of another device.
    Derived {
        /// These facts.
        from: &'static str,
    },
    /// Nothing that is known of the architecture.
    Guessed {
        /// The reason for the number.
        because: &'static str,
    },
    /// A measurement on the very device: [`Tuned`](super::Tuned).
    ThisDevice,
}

impl Display for Source {
    /// For example `measured on NVIDIA H200 (nvidia-h200/2026-11-22-5-shapes.csv)`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measured { gpu, record } => write!(f, "measured on {gpu} ({record})"),
            Self::Derived { from } => write!(f, "derived from {from}"),
            Self::Guessed { because } => write!(f, "guessed: {because}"),
            Self::ThisDevice => write!(f, "measured on this device"),
        }
    }
}

/// The built-in shapes of passes with look-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// A shape for each kind of keys and values. For long inputs, some kinds have a larger one.
    PerKind,
    /// 256 threads, with the largest even number of keys, up to 16, that take `words` words of 32 bits.
    WithinWords {
        /// The words of a thread's keys, values and ranks.
        words: u32,
        /// The longest input for which a thread has half as many keys.
        few: u64,
    },
}

/// A row of the table: the numbers of a class of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// The shapes of passes with look-back. [`tuning::pass`](super::tuning::pass) returns them.
    pub passes: Sourced<Passes>,
    /// The bytes of a batch of the MSD hybrid. [`tuning::batch_keys`](super::tuning::batch_keys) explains them.
    pub batch_bytes: Sourced<u32>,
    /// The number of keys of 16 bits from which on a counting sort is faster than two passes; `None` if only a forced
    /// algorithm counts keys of 16 bits.
    pub count_16: Sourced<Option<u64>>,
    /// Whether some kernels are compiled without unrolled loops. They compile in less time, and run longer. They are the passes of [quick](super::Request::quick)
    /// requests, and the single launch of requests for more keys than this launch takes.
    pub rolls: Sourced<bool>,
    /// Where the other numbers of [`tuning`](super::tuning) come from. All architectures share them.
    pub others: Source,
}

const H200: Source = Source::Measured { gpu: "NVIDIA H200", record: "nvidia-h200/2026-11-22-5-shapes.csv" };

const AS_H200: Source = Source::Derived { from: "the numbers of an NVIDIA H200" };

const NVIDIA: Architecture = Architecture {
    passes: Sourced { value: Passes::PerKind, source: H200 },
    batch_bytes: Sourced { value: 8 << 20, source: Source::Derived { from: "the 60 MB of cache of an NVIDIA H200" } },
    // Measured: on an H200, 2^24 keys take 236 µs, with passes 307 µs; 2^22 keys take 162 µs, with passes 132 µs.
    count_16: Sourced {
        value: Some(1 << 24),
        source: Source::Measured { gpu: "NVIDIA H200", record: "nvidia-h200/2026-11-22-3-gpu.csv" },
    },
    // Measured: on an H200, with an empty cache of the driver, the first sort of 2^22 `u32` takes 0.3 to 0.5 s instead of 1.2 s.
    rolls: Sourced {
        value: true,
        source: Source::Measured { gpu: "NVIDIA H200", record: "nvidia-h200/2026-11-28-cold-start.txt" },
    },
    others: Source::Measured { gpu: "NVIDIA H200", record: "nvidia-h200" },
};

/// Passes whose loops are not unrolled were not measured here, so the loops are unrolled.
const UNROLLED: Sourced<bool> =
    Sourced { value: false, source: Source::Guessed { because: "a compiler may put arrays that a loop indexes into memory" } };

/// The numbers of an H200, on devices that nobody has measured. Their kernels fit: a plan reduces each shape to the workgroup
/// memory and the workgroup size of its device.
const UNMEASURED: Architecture = Architecture {
    passes: Sourced { value: NVIDIA.passes.value, source: AS_H200 },
    batch_bytes: Sourced { value: NVIDIA.batch_bytes.value, source: AS_H200 },
    count_16: Sourced { value: NVIDIA.count_16.value, source: AS_H200 },
    rolls: UNROLLED,
    others: AS_H200,
};

/// No Apple GPU has been measured. The fastest published sort there, forge-sort, has 256 threads with 16 keys of 32 bits, or
/// 8 of 64 bits: about 36 words per thread. Those GPUs have tens of processors. For short inputs, tiles of half that size
/// give work to all of them.
const APPLE: Architecture = Architecture {
    passes: Sourced {
        value: Passes::WithinWords { words: 36, few: 1 << 17 },
        source: Source::Derived { from: "the tiles of forge-sort" },
    },
    batch_bytes: Sourced { value: 4 << 20, source: Source::Derived { from: "a model of a cache of 24 MiB (tests/cache.rs)" } },
    count_16: Sourced {
        value: None,
        source: Source::Derived { from: "the 32 KiB of workgroup memory, too little for the counters" },
    },
    rolls: UNROLLED,
    others: AS_H200,
};

/// The numbers of a device of unknown architecture: fewer registers, less workgroup memory and less cache than on an H200.
const UNKNOWN: Architecture = Architecture {
    passes: Sourced {
        value: Passes::WithinWords { words: 36, few: 1 << 17 },
        source: Source::Guessed { because: "few registers and little workgroup memory suit every device" },
    },
    batch_bytes: Sourced { value: 4 << 20, source: Source::Guessed { because: "a small batch fits most caches" } },
    count_16: Sourced { value: None, source: Source::Guessed { because: "the counters would take most workgroup memory" } },
    rolls: UNROLLED,
    others: AS_H200,
};

impl Class {
    /// Returns the numbers of this class.
    pub fn architecture(self) -> &'static Architecture {
        match self {
            Self::Apple => &APPLE,
            Self::Nvidia => &NVIDIA,
            Self::Amd | Self::Intel | Self::Software => &UNMEASURED,
            Self::Unknown => &UNKNOWN,
        }
    }
}
