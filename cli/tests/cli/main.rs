//! The built binary, driven as a user does: files, pipes, exit codes and words.

#[cfg(unix)]
mod attributes;
mod bench;
mod calibrate;
#[cfg(feature = "arrow")]
mod columns;
mod demo;
mod indices;
mod keys;
mod limited;
#[cfg(unix)]
mod limited_faults;
mod merge;
mod npy;
mod output;
mod refusals;
mod report;
#[cfg(unix)]
mod signals;
mod sort;
#[cfg(unix)]
mod streams;
mod table;
mod tool;
mod verify;
