//! Plans sorts on a GPU. An executor runs the plans; this module needs no GPU.
//!
//! ```text
//! Request + Facts ──SortPlan::new──▶ SortPlan ──commands──▶ [Command]   kernel, bindings, numbers, workgroups
//!                                                             │
//!                            encoded by wgpu, or run by any other executor
//! ```
//!
//! Both steps are pure functions. Plans can be printed and compared, and tests compare them with stored snapshots. An
//! executor makes no choices.

mod alike;
mod architecture;
mod blocked;
mod bucket_table;
mod builder;
mod class;
mod command;
mod digit;
mod facts;
mod fit;
mod gather;
mod hybrid;
mod kernel_shape;
mod merge;
mod pick;
mod planning;
mod portions;
mod ranked_tile;
mod request;
mod runs;
mod search;
mod segment_lists;
mod segment_shapes;
mod segments;
mod shapes;
mod shared_constants;
mod sort_plan;
mod top;
mod touched;
mod tuned;
pub mod tuning;
mod variant;
mod wide_indices;
mod workgroup;

pub use crate::manifest::Kernel;
pub use architecture::{Architecture, Passes, Source, Sourced};
pub use blocked::Blocked;
pub use bucket_table::{BATCH_WORDS, BucketTable, TILE_WORDS};
pub use class::Class;
pub use command::{
    Buffer, COUNT_DIGIT_BITS, Command, Groups, LAST_LEVEL, Number, STATE_HEADER, VALUE_BLOCK, When, count_digit, state_words,
};
pub use digit::{Digit, MAX_DIGITS, MAX_KEYS, RADIX, RADIX_BITS, WIDE_RADIX_BITS};
pub use facts::Facts;
pub use gather::MAX_GATHERED_BYTES;
pub use kernel_shape::{Buckets, KernelShape, RunOutputs, SegmentClasses, Vectors};
pub use merge::{MAX_MERGED, MAX_RUN, MergePlan, MergeRequest, MergeStep, PATH_HEADER, SortedRun};
pub use portions::{Portion, PortionMerge, PortionPlan};
pub use ranked_tile::{Ballot, PassTile, RankedTile, Ranking};
pub use request::{Algorithm, FindRuns, Gather, Payload, Place, Request, Segmented, Top};
pub use search::SearchPlan;
pub use segment_lists::SegmentLists;
pub use sort_plan::{Length, SortPlan};
pub use touched::SearchSize;
pub use tuned::{PassKind, Tuned};
pub use variant::Variant;
