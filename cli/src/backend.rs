//! The backend that `--backend` names.

use crate::dtype::Key;
use polysort::gpu::Config;
use polysort::{AnyBackend, Auto, Backend, Error, Options, Sort, TopK};

/// The name of [`Auto`] on the command line.
pub(crate) const AUTO: &str = "auto";

/// The name of a [`MultiBackend`](polysort::MultiBackend) on the command line.
const MULTI: &str = "multi";

/// The name of the backend whose memory a cap includes.
pub(crate) const COUNTED: &str = "rayon";

/// Returns the names that `--backend` accepts.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    std::iter::once(AUTO).chain(AnyBackend::NAMES.iter().copied()).chain([MULTI])
}

/// Opens a backend on a GPU with the adapter that the user named.
pub(crate) fn open_gpu(name: &str, adapter: Option<&str>, change: impl FnOnce(&mut Config)) -> Result<AnyBackend, Error> {
    let mut config = Config::from_env();
    if let Some(adapter) = adapter {
        config.adapter = adapter.into();
    }
    change(&mut config);
    AnyBackend::open_gpu(name, config)
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
    /// Opens one of [`names`], on the adapter that the user named, or on the devices that the user listed.
    pub(crate) fn open(name: &str, adapter: Option<&str>) -> Result<Self, Error> {
        let unsupported = |what: &str| Err(Error::Unsupported { what: what.into() });
        match (name, adapter) {
            (AUTO, None) => Auto::global().map(Self::Auto),
            (AUTO, Some(_)) => {
                unsupported("--adapter with --backend auto, which chooses by itself; name a backend on a GPU, or multi")
            }
            (MULTI, None) => unsupported("--backend multi without devices; list them, such as --adapter 0,1,cpu"),
            (MULTI, Some(devices)) => AnyBackend::open_multi(devices).map(Self::Named),
            (_, None) => AnyBackend::by_name(name).map(Self::Named),
            (_, Some(_)) => open_gpu(name, adapter, |_| ()).map(Self::Named),
        }
    }

    /// Returns the backend as one type.
    pub(crate) fn any(self) -> AnyBackend {
        match self {
            Self::Auto(auto) => AnyBackend::new(AUTO, auto),
            Self::Named(named) => named,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_is_for_a_backend_that_takes_one() {
        let why = |name, adapter| Chosen::open(name, adapter).map(drop).unwrap_err().to_string();
        assert!(why(AUTO, Some("0")).contains("name a backend on a GPU"), "{}", why(AUTO, Some("0")));
        assert!(why(MULTI, None).contains("--adapter 0,1,cpu"), "{}", why(MULTI, None));
        assert!(why("rayon", Some("0")).contains("it is on no GPU"), "{}", why("rayon", Some("0")));
        assert!(why("wgpu", Some("no such adapter")).contains("adapter"), "{}", why("wgpu", Some("no such adapter")));
        assert!(why(MULTI, Some("cpu,no such adapter")).contains("adapter"));
        let mut keys = [3_u8, 1, 2];
        Chosen::open(MULTI, Some("cpu,cpu")).unwrap().sort(&mut keys, Options::ascending()).unwrap();
        assert_eq!(keys, [1, 2, 3]);
    }
}
