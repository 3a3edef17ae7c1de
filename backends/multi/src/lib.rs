//! [`MultiBackend`] of [polysort](https://docs.rs/polysort): one stable sort of a host slice on several devices at once.
//!
//! # Parts by position, then a merge
//! Each device sorts a part of the input, of consecutive elements, into scratch of the host. When all parts are sorted, the CPU merges them into the output. The other
//! algorithm that was considered divides the *keys* at sampled splitters: the CPU partitions the input into one range of keys for each device, each device sorts its range,
//! and the sorted ranges lie in the output without a merge.
//!
//! Bytes of host memory that each byte of input costs, beside the work of the devices:
//!
//! | step | parts and a merge | ranges of keys |
//! |---|---|---|
//! | before the devices | none | 3: count, read, write |
//! | upload and download | 2 | 2 |
//! | after the devices | 2: read, write | 2: copy the ranges to the output |
//!
//! The last copy is necessary because a failed call must leave the input as it was: while a device can still fail, no other one may write over the input. A merge writes
//! to the output when no device can fail any more.
//!
//! Further reasons for parts by position:
//! * They have the lengths that the speeds ask for, whatever the keys are: equal, sorted, or few distinct ones. Ranges of keys depend on a sample, and one key may be
//!   most of the input.
//! * Stability follows from the merge: of equal keys, those of an earlier part come first.
//! * The part of a device that fails is still in the input, so another device can sort it.
//! * Each direction of a link carries each byte once, as it does with ranges.
//!
//! The merge waits for all parts and does not overlap with the devices. Where it takes longer than a further device saves, the [`Speeds`] of the devices and of the
//! merge tell, and the device gets no part.
//!
//! # Order of reading
//! `backend` (the public type), `whole` and `segmented` (what each operation does), `call` (the devices of one call, and the parts of those that fail), `shares` and `groups` (who gets how
//! much), `side_by_side` (threads), `device`, `report` and `speeds`.
#![forbid(unsafe_code)]

mod backend;
mod call;
mod cut;
mod device;
mod groups;
mod report;
mod segmented;
mod shares;
mod side_by_side;
mod speeds;
mod whole;

pub use backend::MultiBackend;
pub use report::{DeviceReport, Report};
pub use speeds::Speeds;
