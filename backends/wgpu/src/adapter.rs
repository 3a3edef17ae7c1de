//! `Adapter`: which of the machine's adapters to open.

use wgpu::{AdapterInfo, Backends, DeviceType, Instance};

/// The graphics APIs that polysort runs on.
pub(crate) const BACKENDS: Backends =
    Backends::VULKAN.union(Backends::METAL).union(Backends::DX12).union(Backends::BROWSER_WEBGPU);

/// The adapter that a [`WgpuBackend`](crate::WgpuBackend) opens.
///
/// The adapters of a machine have an order: discrete GPUs, then integrated and virtual GPUs, then adapters that run on the
/// CPU. [`Config::adapters`](crate::Config::adapters) returns them in this order.
///
/// ```
/// use polysort_wgpu::Adapter;
///
/// assert_eq!(Adapter::from("radeon"), Adapter::Named("radeon".into()));
/// assert_eq!(Adapter::from("1"), Adapter::Index(1));
/// assert_eq!(Adapter::from(""), Adapter::Best);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adapter {
    /// The first adapter that is a GPU. If [`Config::software`](crate::Config::software) is set, it may also run on the CPU.
    #[default]
    Best,
    /// The adapter with this index, the first being 0. It may run on the CPU.
    Index(usize),
    /// The first adapter with this text in its name, in upper or lower case. It may run on the CPU.
    Named(String),
}

impl From<&str> for Adapter {
    /// A number is an index. Other text is a part of a name, and no text the best adapter.
    fn from(text: &str) -> Self {
        match text.trim() {
            "" => Self::Best,
            text => text.parse().map_or_else(|_| Self::Named(text.into()), Self::Index),
        }
    }
}

impl Adapter {
    /// Returns the index of the chosen adapter in `adapters`. `software` allows [`Adapter::Best`] to run on the CPU.
    ///
    /// # Errors
    /// The reason if there is no such adapter. It lists all adapters.
    pub(crate) fn choose(&self, adapters: &[AdapterInfo], software: bool) -> Result<usize, String> {
        let found = match self {
            Self::Best => adapters.iter().position(|info| software || info.device_type != DeviceType::Cpu),
            Self::Index(index) => Some(*index).filter(|&index| index < adapters.len()),
            Self::Named(part) => {
                let part = part.to_lowercase();
                adapters.iter().position(|info| info.name.to_lowercase().contains(&part))
            }
        };
        let listed: Vec<String> = adapters.iter().enumerate().map(|(index, info)| listed(index, info)).collect();
        let listed = listed.join(", ");
        found.ok_or_else(|| match self {
            _ if adapters.is_empty() => none_found(Instance::enabled_backend_features()).into(),
            Self::Best => format!("there are only adapters that run on the CPU ({listed}), which the CPU backend outruns"),
            Self::Index(index) => format!("there is no adapter {index}; the adapters are {listed}"),
            Self::Named(part) => format!("no adapter has `{part}` in its name; the adapters are {listed}"),
        })
    }
}

/// Returns why there are no adapters, if this build can reach those of the `compiled` interfaces.
fn none_found(compiled: Backends) -> &'static str {
    if (compiled & BACKENDS).is_empty() {
        "this build of polysort-wgpu reaches no GPU: turn on one of its features vulkan, metal, dx12 and webgpu"
    } else if cfg!(target_arch = "wasm32") {
        "no adapter was found: this browser has no WebGPU, or it is turned off"
    } else {
        "no adapter was found; is a driver for Vulkan, Metal or DX12 installed?"
    }
}

fn listed(index: usize, info: &AdapterInfo) -> String {
    let on = if info.device_type == DeviceType::Cpu { ", on the CPU" } else { "" };
    format!("{index}: {} ({:?}{on})", info.name, info.backend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::Backend;

    fn machine() -> Vec<AdapterInfo> {
        let info = |device_type, backend, name: &str| AdapterInfo { name: name.into(), ..AdapterInfo::new(device_type, backend) };
        vec![
            info(DeviceType::DiscreteGpu, Backend::Vulkan, "NVIDIA GeForce RTX 4090"),
            info(DeviceType::DiscreteGpu, Backend::Dx12, "NVIDIA GeForce RTX 4090"),
            info(DeviceType::IntegratedGpu, Backend::Vulkan, "AMD Radeon 780M"),
            info(DeviceType::Cpu, Backend::Vulkan, "llvmpipe (LLVM 19.1.7, 256 bits)"),
        ]
    }

    #[test]
    fn an_index_or_a_part_of_the_name_chooses_the_adapter() {
        let chosen = |text: &str| Adapter::from(text).choose(&machine(), false);
        assert_eq!([chosen(""), chosen(" "), chosen("0"), chosen("2"), chosen(" 3 ")], [0, 0, 0, 2, 3].map(Ok));
        assert_eq!(["nvidia", "RTX 4090", "radeon", "AMD", "LLVMpipe"].map(chosen), [0, 0, 2, 2, 3].map(Ok));
    }

    #[test]
    fn the_best_adapter_runs_on_the_cpu_only_if_that_is_allowed() {
        let software = &machine()[3..];
        assert_eq!(Adapter::Best.choose(software, true), Ok(0));
        let why = Adapter::Best.choose(software, false).unwrap_err();
        assert!(why.contains("only adapters that run on the CPU (0: llvmpipe"), "{why}");
        // A choice by name or index is explicit.
        assert_eq!([Adapter::Index(0), Adapter::from("pipe")].map(|adapter| adapter.choose(software, false)), [Ok(0), Ok(0)]);
        assert_eq!(Adapter::Best.choose(&machine(), true), Ok(0));
    }

    #[test]
    fn an_adapter_that_does_not_exist_is_an_error_that_lists_all() {
        let list = "0: NVIDIA GeForce RTX 4090 (Vulkan), 1: NVIDIA GeForce RTX 4090 (Dx12), 2: AMD Radeon 780M (Vulkan), \
                    3: llvmpipe (LLVM 19.1.7, 256 bits) (Vulkan, on the CPU)";
        let why = |text: &str| Adapter::from(text).choose(&machine(), true).unwrap_err();
        assert_eq!(why("4"), format!("there is no adapter 4; the adapters are {list}"));
        assert_eq!(why("Arc"), format!("no adapter has `Arc` in its name; the adapters are {list}"));
        for adapter in [Adapter::Best, Adapter::Index(0), Adapter::Named("a".into())] {
            assert!(adapter.choose(&[], true).unwrap_err().contains("no adapter was found"), "{adapter:?}");
        }
    }

    #[test]
    fn a_build_without_a_graphics_api_says_which_features_add_one() {
        assert!(none_found(Backends::VULKAN).contains("driver"));
        // polysort does not run on OpenGL, so wgpu's feature for it does not help.
        for compiled in [Backends::empty(), Backends::GL] {
            assert!(none_found(compiled).contains("features vulkan, metal, dx12 and webgpu"), "{compiled:?}");
        }
    }
}
