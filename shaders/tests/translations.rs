//! What naga makes of the kernels for a device of 32 lanes: Metal's language as wgpu sends it, and SPIR-V.
//!
//! Every kernel translates. Four translations are kept as text, so that a reader sees what a change of naga, or of a part that many kernels share,
//! does to them. `INSTA_UPDATE=always cargo test` takes a change over.

#[path = "../examples/kernel.rs"]
#[allow(dead_code, reason = "the example's `main` is not called")]
mod example;

use example::translated::{UNCHECKED, metal, module};
use naga::ShaderStage;
use naga::back::spv;
use polysort_core::{Masks, Spec, Word};
use polysort_shaders::plan::tuning;
use polysort_shaders::plan::{
    Algorithm, Class, Facts, Kernel, KernelShape, MAX_KEYS, Payload, Request, SearchPlan, SortPlan, Top, Variant,
};
use polysort_vector::{Metric, Precision, Shape};

/// Every kernel of many plans for a device like Apple's, and one variant of each kernel that these plans lack. Sorted by kernel, key and value.
fn variants() -> Vec<Variant> {
    let facts = Facts::new(Some((32, 32)), 32 << 10, 1024);
    let mut variants = vec![];
    for bits in [8, 16, 32, 64, 128] {
        let spec = match bits {
            8 => whole::<u8>(),
            16 => whole::<u16>(),
            32 => whole::<u32>(),
            64 => whole::<u64>(),
            _ => whole::<u128>(),
        };
        let mut plans = vec![];
        let payloads = [Payload::None, Payload::Indices].into_iter().chain((1..=4).map(Payload::Words));
        for payload in payloads {
            let asked = [Algorithm::OneSweep, Algorithm::ReduceThenScan, Algorithm::WideDigits, Algorithm::MsdHybrid];
            for algorithm in [None].into_iter().chain(asked.map(Some)) {
                let request = Request { payload, algorithm, ..Request::keys(bits, spec, 1 << 24) };
                if algorithm.is_none_or(|algorithm| algorithm.sorts(&request)) {
                    plans.push(SortPlan::new(request, &facts).unwrap());
                }
            }
        }
        for segmented in [false, true] {
            let request = Request::keys(bits, spec, 1 << 20).select(Top { k: 100, segmented });
            plans.push(SortPlan::new(request, &facts).unwrap());
        }
        for command in plans.iter().flat_map(SortPlan::all_commands) {
            if !variants.contains(&command.variant) {
                variants.push(command.variant);
            }
        }
    }
    for (dimension, metric, precision) in [
        (8, Metric::L2, Precision::F32),
        (7, Metric::InnerProduct, Precision::F32),
        (128, Metric::Cosine, Precision::F16),
        (3, Metric::L2, Precision::F16),
    ] {
        let SearchPlan { distances, nearest } = SearchPlan::new(Shape::new(dimension, 1).precision(precision), metric, &facts);
        variants.extend([distances.variant, nearest.variant]);
    }
    variants.dedup();
    for kernel in Kernel::ALL {
        if !variants.iter().any(|variant| variant.kernel() == kernel) {
            let variant = [32, 16].into_iter().find_map(|key_bits| example::variant(kernel, key_bits, 0).ok()?);
            variants.push(variant.unwrap_or_else(|| panic!("the example `kernel` has no plan with {kernel:?}")));
        }
    }
    variants.sort_by_key(|variant| (variant.kernel(), variant.key_bits, variant.shape.value_words()));
    variants
}

fn whole<W: Word>() -> Spec {
    Spec::new::<W>(Masks::UNSIGNED, 0, W::BITS).unwrap()
}

fn vulkan(variant: &Variant) -> Vec<u32> {
    let (module, info) = module(variant);
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: UNCHECKED,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..Default::default()
    };
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: variant.kernel().name().into() };
    spv::write_vec(&module, &info, &options, Some(&pipeline)).unwrap()
}

#[test]
fn every_kernel_translates() {
    for variant in variants() {
        assert!(vulkan(&variant).len() > 100, "{variant:?}");
        assert!(metal(&variant).contains(variant.kernel().name()), "{variant:?}");
    }
}

#[test]
fn kernels_in_metals_language() {
    let large = tuning::large_pass(Class::Nvidia, 1, 0, MAX_KEYS);
    let tuning::PassShape { group, keys, .. } = large.expect("there is one for keys of 32 bits");
    for variant in variants() {
        let wanted = match variant.kernel() {
            _ if variant.has_wide_digits() => {
                variant.kernel() == Kernel::Onesweep && variant.key_bits == 32 && variant.shape.value_words() == Some(0)
            }
            Kernel::Histogram => variant.key_bits == 32 && variant.tile() == Some(group * keys),
            Kernel::Onesweep | Kernel::Downsweep => {
                let partitions = matches!(variant.shape, KernelShape::Onesweep { partitions: true, .. });
                variant.key_bits == 32 && variant.shape.value_words() == Some(0) && !partitions
            }
            _ => false,
        };
        if wanted {
            // With loops, which read better than what they are written out to.
            let variant = variant.rolled();
            let digits = if variant.has_wide_digits() { "_wide" } else { "" };
            insta::assert_snapshot!(format!("{}{digits}.metal", variant.kernel().name()), metal(&variant));
        }
    }
}

/// Of the checks that wgpu leaves out of trusted modules nothing may be left, and nothing may wait for one thread to clear memory.
#[test]
fn nothing_is_checked_at_run_time() {
    let variants = variants();
    assert!(variants.iter().any(|variant| variant.shape.ballot().is_some()));
    for variant in variants {
        let text = metal(&variant);
        for word in ["_buffer_sizes.", "loop_bound", "naga_div", "naga_mod", "zero_init"] {
            assert!(!text.contains(word), "{word} in {variant:?}");
        }
        assert!(text.contains(&format!("kernel void {}", variant.kernel().name())), "{variant:?}");
    }
}
