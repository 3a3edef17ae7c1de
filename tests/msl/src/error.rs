//! What can go wrong, and what a kernel did wrong.

use core::fmt;

/// Why a kernel did not run, or not to its end.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text has a declaration that is not emulated here.
    #[error("line {line}: `{what}`: {why}")]
    Declaration {
        /// Where it is, counted from 1.
        line: u32,
        /// The declaration.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The text has no kernel of this name.
    #[error("the text has no kernel `{name}`")]
    NoKernel {
        /// The name.
        name: String,
    },
    /// The C++ compiler refused the text: it is wrong, or uses what the shim has not.
    #[error("the kernel does not compile:\n{output}")]
    Compile {
        /// What the compiler said. Lines are those of the text.
        output: String,
    },
    /// The machine has no C++ compiler that works, or no room for what it makes.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        why: String,
    },
    /// A launch that the kernel cannot have.
    #[error("`{kernel}` cannot be launched: {why}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// What is wrong.
        why: String,
    },
    /// The kernel made a mistake. What it wrote is lost.
    #[error("{0}")]
    Fault(Box<Fault>),
}

impl Error {
    /// The kind of the mistake, if a kernel made one.
    pub fn mistake(&self) -> Option<Mistake> {
        match self {
            Error::Fault(fault) => Some(fault.mistake),
            _ => None,
        }
    }
}

/// A mistake, and who made it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fault {
    /// The kernel's name.
    pub kernel: String,
    /// The line of its text, counted from 1, if that is known.
    pub line: Option<u32>,
    /// The threadgroup.
    pub group: (u32, u32),
    /// The thread in it.
    pub thread: u32,
    /// The kind.
    pub mistake: Mistake,
    /// What the thread did.
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

/// What kernels do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mistake {
    /// Threads wait at different barriers, or lanes at different simdgroup operations.
    Divergence,
    /// A barrier or a simdgroup operation after other threads have returned.
    AfterReturn,
    /// An access outside of the buffers and threadgroup variables.
    OutOfBounds,
    /// Threadgroup memory is read that nothing has written.
    NeverWritten,
    /// Two threads use the same memory, one of them writes, not both atomically, and no barrier orders them.
    Race,
    /// The kernel does not end.
    NoProgress,
    /// More threadgroup memory than Metal has.
    ThreadgroupMemory,
    /// More memory of one thread than the runtime has.
    StackOverflow,
    /// A lane is asked for that does not exist.
    NoSuchLane,
}
