//! `Knobs`: settings that only tests need. They make a device meet cases that are rare or need long inputs.

use polysort_shaders::plan::Blocked;

/// Settings for tests. The default changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knobs {
    /// Tiles that publish no counts, so that other workgroups have to count them.
    pub blocked: Blocked,
    /// The keys of a batch of the MSD hybrid; `None` means the planner's choice.
    pub batch: Option<u32>,
    /// The most keys of a bucket, or of a segment, that one workgroup sorts; `None` means the planner's choice.
    pub small_bucket: Option<u32>,
    /// The most bytes of a binding, if fewer than the device allows.
    pub max_binding: Option<u64>,
    /// The most bytes of an array in one buffer, if fewer than the device allows. A longer array has pages.
    pub max_buffer: Option<u64>,
    /// The most keys of a portion of a long call; `None` means as many as suit the device. More keys are a long call.
    pub portion: Option<u64>,
}
