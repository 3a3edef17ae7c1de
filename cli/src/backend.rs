//! The backend that the user asked for.

use crate::dtype::Key;
use polysort::{AnyBackend, Auto, Backend, Error, Options, Sort, TopK};

/// The name that stands for [`Auto`].
pub(crate) const AUTO: &str = "auto";

/// The names that `--backend` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(AUTO).chain(AnyBackend::NAMES.iter().copied())
}

/// A backend by its name, or what suits each call.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    Auto(Auto),
    Named(AnyBackend),
}

/// The same expression on whichever it is.
macro_rules! on {
    ($chosen:expr, $backend:ident => $call:expr) => {
        match $chosen {
            Chosen::Auto($backend) => $call,
            Chosen::Named($backend) => $call,
        }
    };
}

impl Chosen {
    /// Opens one of [`names`].
    pub(crate) fn open(name: &str) -> Result<Self, Error> {
        if name == AUTO { Auto::global().map(Self::Auto) } else { AnyBackend::by_name(name).map(Self::Named) }
    }

    pub(crate) fn sort<K: Key>(&self, keys: &mut [K], options: Options) -> Result<(), Error> {
        on!(self, backend => backend.sort_with(keys, options))
    }

    pub(crate) fn argsort<K: Key>(&self, keys: &[K], options: Options) -> Result<Vec<u32>, Error> {
        on!(self, backend => backend.argsort_with(keys, options))
    }

    pub(crate) fn top_k<K: Key>(&self, keys: &[K], k: usize, options: Options) -> Result<TopK<K>, Error> {
        on!(self, backend => backend.top_k_with(keys, k, options))
    }
}
