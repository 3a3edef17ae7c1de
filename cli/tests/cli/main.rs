//! The built binary, driven as a user does: files, pipes, exit codes and words.

#[cfg(unix)]
mod attributes;
mod bench;
mod calibrate;
mod demo;
mod indices;
mod keys;
mod npy;
mod output;
mod refusals;
#[cfg(unix)]
mod signals;
mod sort;
#[cfg(unix)]
mod streams;
mod table;
mod tool;
mod verify;
