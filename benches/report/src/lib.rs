//! Draws records of benchmarks: plots of speeds as SVG, and a report as one HTML page.
//!
//! ```text
//! record      a record: rows of polysort-measure, and where they come from
//! collection  the records of a folder that are drawn: for each machine and kind the newest, and the newest with each peer
//! contest     the times of the systems in each case, and the ratio of the best peer's time to ours
//! style       the color and the dashes of each system's line
//! plot        panels with lines over the number of keys, and panels with a row for each pattern
//! page        the report: its figures, each with the record, the machine, the date and the statistic
//! ```
//!
//! The program `polysort` writes reports with it; in polysort's repository, the example `cpu_plot` draws the plot of the README, and the benchmarks read records.
//! Other programs should not depend on this crate: its interface follows what these need.
#![forbid(unsafe_code)]

mod collection;
mod contest;
mod error;
mod html;
mod page;
pub mod plot;
mod record;
mod style;

pub use collection::Collection;
pub use error::ReportError;
pub use page::Page;
pub use record::{Origin, Record, read_rows};
pub use style::Style;
