//! The result of a command that ran to its end.

/// Decides the exit code of a command that met no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Fine,
    /// Exit code 1: a file is not sorted, or a backend gave a wrong answer.
    Failed,
}
