//! Sorts of [DataFusion](https://datafusion.apache.org) on any backend of [polysort](https://docs.rs/polysort).
//!
//! [`install`] adds an optimizer rule to a session. The rule replaces `SortExec` with [`PolysortExec`], which sorts on the backend:
//!
//! ```
//! use datafusion::prelude::{CsvReadOptions, SessionContext};
//! use polysort_datafusion::Report;
//! use polysort_rayon::RayonBackend;
//! # #[tokio::main]
//! # async fn main() -> datafusion::error::Result<()> {
//! let context = SessionContext::new();
//! polysort_datafusion::install(&context, RayonBackend::default());
//!
//! let rows = context.sql("SELECT * FROM (VALUES (3), (1), (2)) AS t(id) ORDER BY id DESC").await?;
//! let plan = rows.create_physical_plan().await?;
//! let sorted = datafusion::physical_plan::collect(plan.clone(), context.task_ctx()).await?;
//! # assert_eq!(sorted.iter().map(|batch| batch.num_rows()).sum::<usize>(), 3);
//! println!("{}", Report::of(&plan)?);
//! # assert!(Report::of(&plan)?.to_string().starts_with("TAKEN by "));
//! # Ok(())
//! # }
//! ```
//!
//! # What is taken
//!
//! | sort | which operator sorts |
//! |---|---|
//! | `ORDER BY` of all rows | polysort: all partitions together, without DataFusion's merge |
//! | partitions for window functions, sort-merge joins and sorted files | polysort: each partition |
//! | with a limit | DataFusion: it keeps only the rows that are asked for |
//! | by lists, structs and other types that `polysort-arrow` compares | DataFusion |
//! | by `random()` and others whose value differs each time | DataFusion |
//! | of an input that is in order, or that has no end | DataFusion |
//!
//! [`Report`] says for a plan which sorts were taken, left, or done by DataFusion's kernel after all, and why. `EXPLAIN` shows the operator, and
//! `EXPLAIN ANALYZE` its metrics, among them a time for each phase:
//!
//! | metric | phase |
//! |---|---|
//! | `receive_time` | the operator waits for batches of its input |
//! | `join_time` | the key columns of all batches are joined |
//! | `sort_time` | the keys are packed into words, and the words are sorted |
//! | `backend_time` | the part of `sort_time` that the backend takes |
//! | `pack_time` | the values of each row are copied side by side, if rows that follow each other in the result are far from each other in the batches |
//! | `gather_time` | rows are copied into new batches; the sum over all threads |
//! | `write_time` | a sorted run is written to files |
//! | `read_time` | the rows of a bucket are read from files |
//!
//! # Memory
//!
//! The operator reserves memory from the session's pool for each batch before it keeps it: the batch, its keys, and 28 bytes for each row. If the pool refuses,
//! the operator sorts the batches so far, and several threads write this *run* to files of DataFusion's disk manager.
//!
//! When the input has ended, the operator puts out one range of keys after another. For each range it reads the parts of all runs that have rows in it (a
//! *bucket*), sorts them in memory, and puts out the rows of the range. A bucket may use half of the memory that a run had. DataFusion's merge puts
//! the rows of a bucket in order instead if one key has too many rows, if there are more than about 32 runs, or if the pool refuses the memory. The metrics
//! `sorted_buckets` and `merged_buckets` count the two cases.
//!
//! If nothing was spilled and the result takes rows from all over the input, the operator copies the values of each row side by side first, if the pool has as much
//! memory again as the batches. So the result costs few cache misses for each row, not one for each value.
//!
//! # Threads
//!
//! Sorts and copies of rows run on tokio's blocking threads, with threads of their own for keys, for files and for rows that are packed; the backend has its
//! own threads. At most `target_partitions` threads do one of these at a time.
#![forbid(unsafe_code)]

mod block;
mod bucket;
mod choice;
mod exec;
mod fallback;
mod file_part;
mod install;
mod report;
mod rule;
mod run;
mod sorter;
mod stop;
mod timed;

pub use choice::Left;
pub use exec::PolysortExec;
pub use fallback::Fallback;
pub use install::{install, with_polysort, with_rule};
pub use report::{Outcome, Report, SortReport};
pub use rule::PolysortRule;

/// Compiles and runs the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
