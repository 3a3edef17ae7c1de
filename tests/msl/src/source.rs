//! Where the texts of the kernels of a plan come from.

use naga::back::msl;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, ShaderStage, StorageAccess};
use polysort_core::plan::Variant;
use polysort_shaders::prelude;

/// Texts for all variants of kernels.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its name, for people.
    pub name: &'static str,
    /// The text of a variant. The entry point has the kernel's name, and binding `i` is `[[buffer(i)]]`.
    pub text: fn(&Variant) -> Text,
    /// `__METAL_VERSION__`.
    pub metal_version: u32,
}

/// The text of a kernel.
#[derive(Clone, Debug)]
pub struct Text {
    /// In Metal's language.
    pub text: String,
    /// Whether one more buffer follows the bindings: the sizes of some of them, which naga's texts take and ours never look at.
    pub takes_sizes: bool,
}

impl Source {
    /// Ours, written by hand; naga's where there is none of ours.
    pub const NATIVE: Self = Self { name: "native", text: native, metal_version: 310 };

    /// What naga makes of our WGSL, word for word what wgpu gives to Metal.
    pub const NAGA: Self = Self { name: "naga's", text: |variant| translated(variant), metal_version: 320 };

    /// The same with loops that are not written out, which compile sooner.
    pub const NAGA_ROLLED: Self =
        Self { name: "naga's, rolled", text: |variant| translated(&Variant { unrolled: false, ..*variant }), metal_version: 320 };
}

fn native(variant: &Variant) -> Text {
    match prelude::msl(variant) {
        Some(text) => Text { text, takes_sizes: false },
        None => translated(variant),
    }
}

const UNCHECKED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Unchecked,
    buffer: BoundsCheckPolicy::Unchecked,
    image_load: BoundsCheckPolicy::Unchecked,
    binding_array: BoundsCheckPolicy::Unchecked,
};

/// naga's translation, without run-time checks: our kernels need none, and the runner has its own.
fn translated(variant: &Variant) -> Text {
    let name = variant.kernel.name().to_owned();
    let module = naga::front::wgsl::parse_str(&prelude::wgsl(variant)).expect("our kernels are WGSL");
    let capabilities = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
    let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module).expect("our kernels are valid");
    let bound = module.global_variables.iter().filter_map(|(_, global)| Some((global.binding?, global.space)));
    let bound: Vec<_> = bound.collect();
    let sizes = bound.iter().map(|(binding, _)| binding.binding as u8 + 1).max().unwrap_or(0);
    let resources = bound.into_iter().map(|(binding, space)| {
        let mutable = matches!(space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
        (binding, msl::BindTarget { buffer: Some(binding.binding as u8), mutable, ..Default::default() })
    });
    let resources =
        msl::EntryPointResources { resources: resources.collect(), immediates_buffer: None, sizes_buffer: Some(sizes) };
    let options = msl::Options {
        lang_version: (3, 2),
        per_entry_point_map: [(name.clone(), resources)].into(),
        fake_missing_bindings: false,
        bounds_check_policies: UNCHECKED,
        zero_initialize_workgroup_memory: false,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let pipeline = msl::PipelineOptions { entry_point: Some((ShaderStage::Compute, name)), ..Default::default() };
    let (text, _) = msl::write_string(&module, &info, &options, &pipeline).expect("naga writes all of our kernels");
    Text { text, takes_sizes: true }
}
