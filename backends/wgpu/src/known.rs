//! `Known`: a table that several threads share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// A table that several threads share.
pub(crate) struct Known<K, V>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash + Copy, V: Copy> Known<K, V> {
    pub(crate) fn get(&self, of: &K) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(of).copied()
    }

    pub(crate) fn set(&self, of: K, found: V) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(of, found);
    }

    pub(crate) fn remove(&self, of: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(of);
    }

    pub(crate) fn all(&self) -> Vec<(K, V)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(&of, &found)| (of, found)).collect()
    }
}

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
