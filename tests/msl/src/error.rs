//! The errors of the runner, and the faults of kernels.

use core::fmt;

/// The reason why a kernel did not run to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text has a declaration that the runner does not support.
    #[error("line {line}: `{what}`: {why}")]
    Declaration {
        /// The line of the declaration, counted from 1.
        line: u32,
        /// The declaration.
        what: String,
        /// The reason.
        why: String,
    },
    /// The text has no kernel of this name.
    #[error("the text has no kernel `{name}`")]
    NoKernel {
        /// The name.
        name: String,
    },
    /// The C++ compiler refused the text: the text is wrong, or uses a part of the language that the shim lacks.
    #[error("the kernel does not compile:\n{output}")]
    Compile {
        /// The compiler's output. Its line numbers are those of the text.
        output: String,
    },
    /// The machine has no working C++ compiler, or the cache cannot be written.
    #[error("{what}: {why}")]
    System {
        /// The operation that failed.
        what: String,
        /// The system's message.
        why: String,
    },
    /// The kernel does not allow this launch.
    #[error("`{kernel}` cannot be launched: {why}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// The reason.
        why: String,
    },
    /// The kernel has a fault. Its writes are discarded.
    #[error("{0}")]
    Fault(Box<Fault>),
}

impl Error {
    /// Returns the kind of the fault, if this is a fault of a kernel.
    pub fn mistake(&self) -> Option<Mistake> {
        match self {
            Error::Fault(fault) => Some(fault.mistake),
            _ => None,
        }
    }
}

/// A fault of a kernel, and the thread that caused it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The line of the kernel's text, counted from 1, if it is known.
    pub line: Option<u32>,
    /// The threadgroup.
    pub group: (u32, u32),
    /// The thread in the threadgroup.
    pub thread: u32,
    /// The kind.
    pub mistake: Mistake,
    /// A description of the thread's operation.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, line, group: (x, y), thread, what, .. } = self;
        write!(f, "{kernel}")?;
        if let Some(line) = line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": thread {thread} of threadgroup ({x}, {y}) {what}")
    }
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mistake {
    /// Threads wait at different barriers, or lanes at different simdgroup operations.
    Divergence,
    /// A barrier or a simdgroup operation after other threads have returned.
    AfterReturn,
    /// An access outside of the buffers and threadgroup variables.
    OutOfBounds,
    /// A thread reads threadgroup memory that no thread has written.
    NeverWritten,
    /// A data race: two threads access the same memory, at least one writes, at least one access is not atomic, and no barrier orders them.
    Race,
    /// The kernel does not end.
    NoProgress,
    /// More threadgroup memory than Metal has.
    ThreadgroupMemory,
    /// More memory of one thread than its stack has.
    StackOverflow,
    /// A simdgroup operation names a lane that does not exist.
    NoSuchLane,
}
