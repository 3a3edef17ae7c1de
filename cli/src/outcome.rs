//! The result of a command that ran to its end.

/// The outcome of a command that ended without an error. It determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: a file is not sorted, or a backend gave a wrong answer.
    Failed,
}
