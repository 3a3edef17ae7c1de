//! The built binary, driven as a user does: files, pipes, exit codes and words.

mod bench;
mod calibrate;
mod demo;
mod indices;
mod keys;
mod npy;
mod output;
mod refusals;
mod sort;
mod table;
mod tool;
mod verify;
