//! `Way`: an algorithm and the language of its kernels, and the choice among those that sort correctly.

use polysort_core::Error;
use polysort_shaders::plan::{Algorithm, Request};
use std::collections::VecDeque;
use wgpu::{AdapterInfo, Backend, Features};

/// The algorithm and the kernels that sort requests of one kind on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The forced algorithm; `None` means that the planner chooses.
    pub(crate) algorithm: Option<Algorithm>,
    /// Whether to use native kernels, where they exist. Other kernels are translated from WGSL.
    pub(crate) native: bool,
}

impl Way {
    /// Returns a request with this algorithm, and whether native kernels run it.
    pub(crate) fn of(self, request: Request) -> (Request, bool) {
        (Request { algorithm: self.algorithm, ..request }, self.native)
    }
}

/// Returns whether this adapter can run the native kernels, which are in Metal Shading Language. They need the 32 lanes of
/// Apple's GPUs.
pub(crate) fn takes_native(info: &AdapterInfo, features: Features) -> bool {
    info.backend == Backend::Metal && info.name.starts_with("Apple") && features.contains(Features::PASSTHROUGH_SHADERS)
}

/// The ways that have not failed their self-test, the fastest first.
///
/// 1. Native kernels.
/// 2. Kernels that wgpu translates.
/// 3. Reduce-then-scan, which needs the fewest features of a device.
///
/// If the caller requests an algorithm, the first two have that algorithm, and there is no third.
pub(crate) struct Ways(VecDeque<Way>);

impl Ways {
    pub(crate) fn new(native: bool, asked: Option<Algorithm>) -> Self {
        let mut ways = VecDeque::new();
        if native {
            ways.push_back(Way { algorithm: asked, native: true });
        }
        ways.push_back(Way { algorithm: asked, native: false });
        if asked.is_none() {
            ways.push_back(Way { algorithm: Some(Algorithm::ReduceThenScan), native: false });
        }
        Self(ways)
    }

    /// Returns the ways for work that has only one algorithm.
    #[cfg(any(feature = "vector", test))]
    pub(crate) fn in_languages(native: bool) -> Self {
        let mut ways = Self::new(native, None);
        ways.0.retain(|way| way.algorithm.is_none());
        ways
    }

    /// Returns the fastest way that has not failed.
    pub(crate) fn current(&self) -> Way {
        self.0[0]
    }

    /// Returns whether the current way has passed its self-test, whose result is `checked`. If it sorts wrongly or the
    /// driver refuses it, this logs a warning and proceeds to the next way.
    ///
    /// # Errors
    /// The error of the last way, or another failure of the device.
    pub(crate) fn takes(&mut self, checked: Result<(), Error>) -> Result<bool, Error> {
        match checked {
            Ok(()) => Ok(true),
            Err(error @ (Error::SelfTest { .. } | Error::Backend { .. })) if self.0.len() > 1 => {
                tracing::warn!(way = ?self.current(), %error, "this algorithm and these kernels are not used on this device");
                self.0.pop_front();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::DeviceType;

    fn adapter(backend: Backend, name: &str) -> AdapterInfo {
        AdapterInfo { name: name.into(), ..AdapterInfo::new(DeviceType::IntegratedGpu, backend) }
    }

    #[test]
    fn native_kernels_are_for_apples_own_gpus() {
        let has = Features::PASSTHROUGH_SHADERS | Features::SUBGROUP;
        assert!(takes_native(&adapter(Backend::Metal, "Apple M4 Pro"), has));
        assert!(!takes_native(&adapter(Backend::Metal, "Apple M4 Pro"), Features::SUBGROUP));
        assert!(!takes_native(&adapter(Backend::Metal, "AMD Radeon Pro 5500M"), has));
        assert!(!takes_native(&adapter(Backend::Metal, "Intel(R) Iris(TM) Plus Graphics"), has));
        assert!(!takes_native(&adapter(Backend::Vulkan, "Apple M1 (G13G B1)"), has));
    }

    /// Returns the first way for which `fails` returns no error, and the number of ways that were tried.
    fn tried(native: bool, asked: Option<Algorithm>, fails: impl Fn(Way) -> Option<Error>) -> (Result<Way, Error>, usize) {
        let mut ways = Ways::new(native, asked);
        for tried in 1.. {
            let way = ways.current();
            match ways.takes(fails(way).map_or(Ok(()), Err)) {
                Ok(true) => return (Ok(way), tried),
                Ok(false) => {}
                Err(error) => return (Err(error), tried),
            }
        }
        unreachable!("the last way ends the loop")
    }

    fn wrong() -> Error {
        Error::SelfTest { backend: "a fake".into(), what: "a sort".into(), why: "it is wrong".into() }
    }

    fn refused() -> Error {
        Error::Backend { backend: "a fake".into(), why: "the compiler refuses it".into(), source: None }
    }

    #[test]
    fn the_fastest_way_that_works_is_taken() {
        let native = Way { algorithm: None, native: true };
        let translated = Way { algorithm: None, native: false };
        let plainest = Way { algorithm: Some(Algorithm::ReduceThenScan), native: false };
        let chosen = |native, fails: &dyn Fn(Way) -> Option<Error>| match tried(native, None, fails) {
            (Ok(way), tried) => (way, tried),
            (Err(error), _) => panic!("{error}"),
        };
        assert_eq!(chosen(true, &|_| None), (native, 1));
        assert_eq!(chosen(false, &|_| None), (translated, 1));
        assert_eq!(chosen(true, &|way| way.native.then(wrong)), (translated, 2));
        assert_eq!(chosen(true, &|way| way.native.then(refused)), (translated, 2));
        assert_eq!(chosen(true, &|way| way.algorithm.is_none().then(wrong)), (plainest, 3));
        assert_eq!(chosen(false, &|way| way.algorithm.is_none().then(refused)), (plainest, 2));
    }

    #[test]
    fn a_requested_algorithm_is_not_replaced() {
        let asked = Some(Algorithm::OneSweep);
        let (chosen, tried_ways) = tried(true, asked, |way| way.native.then(wrong));
        assert_eq!((chosen.unwrap(), tried_ways), (Way { algorithm: asked, native: false }, 2));
        let (chosen, tried_ways) = tried(true, asked, |_| Some(wrong()));
        assert!(matches!((chosen, tried_ways), (Err(Error::SelfTest { .. }), 2)));
    }

    #[test]
    fn with_one_algorithm_the_translated_kernels_are_the_last() {
        let mut ways = Ways::in_languages(true);
        assert!(!ways.takes(Err(refused())).unwrap());
        assert_eq!(ways.current(), Way { algorithm: None, native: false });
        assert!(matches!(ways.takes(Err(wrong())), Err(Error::SelfTest { .. })));
        assert!(Ways::in_languages(false).takes(Err(wrong())).is_err());
    }

    #[test]
    fn no_other_way_is_tried_on_a_lost_device() {
        let lost = || Error::DeviceLost { backend: "a fake".into(), why: "gone".into(), source: None };
        assert!(matches!(tried(true, None, |_| Some(lost())), (Err(Error::DeviceLost { .. }), 1)));
        assert!(matches!(tried(true, None, |_| Some(wrong())), (Err(Error::SelfTest { .. }), 3)));
    }
}
