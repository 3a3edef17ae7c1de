//! How the benchmarks of polysort measure.
//!
//! ```text
//! times      the times of trials: percentiles, medians
//! repeat     work that is repeated for a time, as a warm-up is
//! turns      rounds in which systems take turns; each trial is timed and verified
//! verify     whether the values of a sort were moved with their keys, equal keys' in order
//! input      pseudo-random words, and the slices that are timed together
//! host_call  a call on slices of the host that is repeated
//! row        a row of a record, and the CSV file that it is in
//! line       the row that programs print that time sorts on a GPU
//! ```
//!
//! The program `polysort` and the benchmarks of its repository are built on this crate. Other programs should not depend on it: its interface follows these.
#![forbid(unsafe_code)]

mod host_call;
mod input;
mod line;
mod repeat;
mod row;
mod times;
mod turns;
mod verify;

pub use host_call::{HostCall, HostOp};
pub use input::{batch, split_mix, states, words};
pub use line::Line;
pub use repeat::{WARM_UP, repeat, warm_up};
pub use row::{By, Cell, HEADER, Row, append, record, run_name};
pub use times::{Times, median, timed};
pub use turns::{Effort, Series, Trial, Verdict, order, take_turns};
pub use verify::is_stable_order;
