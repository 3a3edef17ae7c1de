//! The backend that `--backend` names.

use crate::dtype::Key;
use polysort::{AnyBackend, Auto, Backend, Error, Options, Sort, TopK};

/// The name of [`Auto`] on the command line.
pub(crate) const AUTO: &str = "auto";

/// Returns the names that `--backend` accepts.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(AUTO).chain(AnyBackend::NAMES.iter().copied())
}

/// An open backend: the one that the user named, or [`Auto`], which chooses one for each call.
#[derive(Clone, Debug)]
pub(crate) enum Chosen {
    Auto(Auto),
    Named(AnyBackend),
}

/// Evaluates one expression for either variant of [`Chosen`].
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
