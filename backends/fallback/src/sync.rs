//! The locks of `retry`. `tests/models` replaces this file with the types of a model checker.

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
