//! What a sort reports while it runs.

/// What the sort does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It reads records, and sorts and writes runs.
    Runs,
    /// It merges runs.
    #[non_exhaustive]
    Merge {
        /// The number of this pass over the data, from 0.
        pass: usize,
        /// How many passes there will be. The last one writes the output.
        passes: usize,
    },
}

/// How far a sort has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// What it does.
    pub phase: Phase,
    /// Records that this phase has read or merged.
    pub records: u64,
    /// Records of the whole input; `None` until the input has ended.
    pub total: Option<u64>,
}
