//! What naga makes of our WGSL for Metal, word for word what wgpu gives to it. The runner of kernels in Metal's language has this file too.

use naga::back::msl;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ShaderStage, StorageAccess};
use polysort_shaders::plan::Variant;
use polysort_shaders::prelude;

/// None of the checks that wgpu leaves out of trusted modules.
pub(crate) const UNCHECKED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Unchecked,
    buffer: BoundsCheckPolicy::Unchecked,
    image_load: BoundsCheckPolicy::Unchecked,
    binding_array: BoundsCheckPolicy::Unchecked,
};

/// A kernel as naga has it, proven valid.
pub(crate) fn module(variant: &Variant) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(&prelude::wgsl(variant)).expect("our kernels are valid");
    let capabilities = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module).expect("our kernels are valid");
    (module, info)
}

/// The text that wgpu gives to Metal: bindings keep their numbers, and the sizes of buffers, which our kernels never look at, follow them.
pub(crate) fn metal(variant: &Variant) -> String {
    let (module, info) = module(variant);
    let name = variant.kernel().name().to_owned();
    let bindings = module.global_variables.iter().filter_map(|(_, global)| Some((global.binding?, global.space)));
    let bindings: Vec<_> = bindings.collect();
    let sizes = bindings.iter().map(|(binding, _)| binding.binding as u8 + 1).max();
    let resources = bindings.into_iter().map(|(binding, space)| {
        let mutable = matches!(space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
        (binding, msl::BindTarget { buffer: Some(binding.binding as u8), mutable, ..Default::default() })
    });
    let resources = msl::EntryPointResources { resources: resources.collect(), immediates_buffer: None, sizes_buffer: sizes };
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
    msl::write_string(&module, &info, &options, &pipeline).expect("our kernels are valid").0
}
