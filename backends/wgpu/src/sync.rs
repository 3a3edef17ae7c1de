//! The primitives that `budget`, `pool` and `readers` are built on, in one place: `tests/models` puts those of a model checker here.

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
