//! The Metal backend of [polysort](https://docs.rs/polysort): the engine of [`polysort_wgpu`] on Apple's systems, with kernels written in
//! Metal Shading Language on Apple's own GPUs.
//!
//! ```no_run
//! use polysort_core::{Backend, Sort};
//! use polysort_metal::MetalBackend;
//!
//! let mut keys = [3.5_f32, -1.0, f32::NAN, -0.0];
//! MetalBackend::global()?.sort(&mut keys)?;
//! assert_eq!(keys[..3], [-1.0, -0.0, 3.5]);
//! # Ok::<(), polysort_core::Error>(())
//! ```
//!
//! Each kind of sort is tried on the device before it gets data. If a kernel in Metal Shading Language is refused or wrong, the one in WGSL that
//! wgpu translates takes its place, with a warning. Everywhere but on Apple's systems the backend is unavailable, and says so at once.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "vector")]
mod vector;

use polysort_core::{AnyOperation, Backend, Error, Limits, Spec, sorts_by_run};
use polysort_wgpu::{Config, WgpuBackend, wgpu};

/// The name by which errors call the backend.
const NAME: &str = "metal";

/// Sorts on a GPU through Metal.
///
/// Buffers that stay on the device are those of the [`WgpuBackend`] that it is made of: see [`gpu`](MetalBackend::gpu).
#[derive(Clone, Debug)]
pub struct MetalBackend(WgpuBackend);

impl MetalBackend {
    /// Opens a device that no other backend shares. Whatever `config` says of wgpu's backends and of native kernels, those of Metal are taken.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no adapter is as `config` asks, or the system has no Metal.
    pub fn open_with(mut config: Config) -> Result<Self, Error> {
        if !cfg!(target_vendor = "apple") {
            let why = "Metal is on Apple's systems only".into();
            return Err(Error::Unavailable { backend: NAME.into(), why, source: None });
        }
        config.backends = wgpu::Backends::METAL;
        config.native = true;
        WgpuBackend::open_with(config).map(Self)
    }

    /// The engine that runs the kernels: it sorts buffers that stay on the device.
    pub fn gpu(&self) -> &WgpuBackend {
        &self.0
    }
}

impl Backend for MetalBackend {
    fn open() -> Result<Self, Error> {
        Self::open_with(Config::from_env())
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.0.run(operation, spec)
    }

    async fn run_async(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.0.run_async(operation, spec).await
    }
}

#[cfg(all(test, not(target_vendor = "apple")))]
mod tests {
    use super::*;
    use polysort_core::Sort;

    #[test]
    fn elsewhere_it_is_unavailable_and_says_why() {
        let error = MetalBackend::global().unwrap_err();
        assert!(matches!(error, Error::Unavailable { .. }));
        assert!(error.to_string().contains("metal is unavailable: Metal is on Apple's systems only"), "{error}");
        // Generic code compiles with it all the same.
        fn sorted<B: Backend>(keys: &mut [u32]) -> Result<(), Error> {
            B::global()?.sort(keys)
        }
        let mut keys = [2, 1];
        assert!(sorted::<MetalBackend>(&mut keys).is_err());
        assert_eq!(keys, [2, 1]);
    }
}
