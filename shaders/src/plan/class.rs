//! Architectures of devices.

/// The architecture of a device. [`architecture`](Class::architecture) returns its row in the table of tuned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// Apple's own GPUs.
    Apple,
    /// NVIDIA's GPUs.
    Nvidia,
    /// AMD's GPUs.
    Amd,
    /// Intel's GPUs.
    Intel,
    /// Drivers that run kernels on the CPU.
    Software,
    /// A device that none of the above describes.
    Unknown,
}

impl Class {
    /// Returns whether the subgroups of a workgroup can take different branches that contain subgroup barriers. On lavapipe,
    /// a software driver, such a barrier waits for the whole workgroup, and sorts crash or give wrong results. Unknown
    /// devices count as devices that cannot.
    pub fn has_independent_subgroups(self) -> bool {
        matches!(self, Self::Apple | Self::Nvidia | Self::Amd | Self::Intel)
    }
}
