//! Tests of keys, of the contract of backends, and of what the crate builds on it. One program: the sorts are compiled once.

mod contract;
mod derived;
mod into;
mod keys;
mod laws;
mod methods;
mod operations;
mod support;
mod wide;
