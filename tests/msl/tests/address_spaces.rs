//! Checks the types and address spaces of the native kernels with clang, as C++ for OpenCL.
//!
//! OpenCL has the same address spaces as Metal. clang refuses functions that `clang/metal.h` does not declare.

use polysort_core::{Masks, Spec, Word};
use polysort_kit::is_thorough;
use polysort_msl::FACTS;
use polysort_shaders::plan::{
    Algorithm, Buckets, Gather, Kernel, KernelShape, Payload, Place, Request, SearchPlan, Segmented, SortPlan, Top, Variant,
};
use polysort_shaders::prelude;
use polysort_vector::{Metric, Precision, Shape};
use std::path::Path;
use std::process::Command;

/// Returns all variants in plans that have a native kernel.
fn variants() -> Vec<Variant> {
    fn whole<W: Word>() -> Spec {
        Spec::new::<W>(Masks::UNSIGNED, 0, W::BITS).unwrap()
    }
    let specs = [whole::<u8>(), whole::<u16>(), whole::<u32>(), whole::<u64>(), whole::<u128>()];
    let mut requests = vec![];
    for (spec, bits) in specs.into_iter().zip([8, 16, 32, 64, 128]) {
        let keys = Request::keys(bits, spec, 1 << 20);
        for payload in [Payload::None, Payload::Indices].into_iter().chain((1..=4).map(Payload::Words)) {
            let asked = [Algorithm::OneSweep, Algorithm::WideDigits, Algorithm::MsdHybrid].map(Some);
            let all = [None].into_iter().chain(asked).map(|algorithm| Request { payload, algorithm, ..keys });
            requests.extend(all.filter(|request| request.algorithm.is_none_or(|algorithm| algorithm.sorts(request))));
        }
        // Sorts of segments by all bits, and by one bit less: the network then keeps the order of keys without values. With another number of digits,
        // the kernels copy keys or do not.
        let in_segments = keys.in_segments(Segmented { max: 1000, begins: Place::default(), ends: Place::default() });
        let payloads = [Payload::None, Payload::Indices].into_iter().chain((1..=4).map(Payload::Words));
        requests.extend(payloads.map(|payload| Request { payload, ..in_segments }));
        for end in [bits - 1, 8 * (bits / 8 - 1)] {
            let mut part = in_segments;
            part.spec.end = end;
            requests.extend([Payload::None, Payload::Words(1)].map(|payload| Request { payload, ..part }));
        }
        // Kernels that gather, widen indices, and limit the bounds of segments.
        let element_bytes = if bits < 32 { bits / 8 } else { 4 };
        let gather = Gather { element_bytes, elements: 1000, from: Place::default(), to: Place::default() };
        requests.push(Request::keys(32, whole::<u32>(), 1 << 20).gather(gather));
        requests.push(keys.for_indices().with_wide_indices(Place::default()));
        let of_each = in_segments.select(Top { k: 10, segmented: true });
        requests.push(of_each.with_wide_indices(Place::default()));
        // The array has several segments to select from, so that there are levels.
        let some = Request { max: 1 << 15, ..keys };
        requests.push(some.select(Top { k: 20_000, segmented: false }));
        requests.extend([10, 1000].into_iter().flat_map(|k| [false, true].map(|segmented| some.select(Top { k, segmented }))));
    }
    let mut commands = vec![];
    for request in requests {
        commands.extend(SortPlan::new(request, &FACTS).unwrap().all_commands().cloned());
    }
    for dimension in [1, 128] {
        for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
            for precision in [Precision::F32, Precision::F16] {
                let SearchPlan { distances, nearest } =
                    SearchPlan::new(Shape::new(dimension, 1).precision(precision), metric, &FACTS);
                commands.extend([distances, nearest]);
            }
        }
    }
    let mut variants = vec![];
    for command in commands {
        if !variants.contains(&command.variant) && prelude::msl(&command.variant).is_some() {
            variants.push(command.variant);
        }
    }
    variants
}

/// Returns clang's messages about a text; empty if clang accepts it.
fn complaints(text: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.cl"));
    std::fs::write(&path, text.replace("#include <metal_stdlib>", "")).unwrap();
    let clang = ["clang", "clang-14"].into_iter().find(|clang| Command::new(clang).arg("--version").output().is_ok());
    let mut command = Command::new(clang.expect("clang is needed: `apt-get install clang`"));
    command.args(["-x", "clcpp", "-cl-std=clc++2021", "-target", "spir64", "-fsyntax-only"]);
    let off = ["generic_address_space", "pipes", "device_enqueue", "program_scope_global_variables"];
    let off = off.map(|feature| format!("-__opencl_c_{feature}")).join(",");
    command.args(["-Xclang", &format!("-cl-ext={off}"), "-Xclang", "-finclude-default-header"]);
    command.args([
        "-Wall",
        "-Werror",
        "-Wno-unknown-attributes",
        "-Wno-sometimes-uninitialized",
        "-Wno-conditional-uninitialized",
    ]);
    command.args(["-include", concat!(env!("CARGO_MANIFEST_DIR"), "/clang/metal.h")]).arg(&path);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    said
}

#[test]
fn clang_accepts_every_native_kernel() {
    let variants = variants();
    assert!(variants.len() > 80);
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.entry().msl.is_some()) {
        assert!(variants.iter().any(|variant| variant.kernel() == kernel), "{kernel:?}");
    }
    for kernel in [Kernel::Histogram, Kernel::Scan, Kernel::Onesweep] {
        assert!(variants.iter().any(|variant| variant.kernel() == kernel && variant.has_wide_digits()), "{kernel:?}, wide");
    }
    let of_segments =
        |variant: &&Variant| matches!(variant.shape, KernelShape::BucketSweep { buckets: Buckets::LongSegments(_), .. });
    assert!(variants.iter().any(|variant| of_segments(&variant)));
    // If the test is not thorough, the first variant of each kernel and every eighth one.
    let is_first = |number: usize| !variants[..number].iter().any(|other| other.kernel() == variants[number].kernel());
    let is_tried = |number: usize| is_thorough() || number.is_multiple_of(8) || is_first(number);
    for (number, variant) in variants.iter().enumerate().filter(|&(number, _)| is_tried(number)) {
        let text = prelude::msl(variant).unwrap();
        assert_eq!(complaints(&text, &format!("right-{number}")), "", "{variant:?}");
    }
}

#[test]
fn clang_refuses_planted_mistakes() {
    let text = "kernel void sums(device atomic_uint* sums [[buffer(0)]], constant uint& count [[buffer(1)]]) {\n\
                    threadgroup uint shared[32];\n\
                    shared[0] = count;\n\
                    atomic_fetch_add_explicit(sums, shared[0], memory_order_relaxed);\n\
                }\n";
    assert_eq!(complaints(text, "taken"), "");
    let mistakes = [
        ("atomic_fetch_add_explicit(sums,", "atomic_fetch_add_explicit(&shared[0],"),
        ("device atomic_uint* sums", "atomic_uint* sums"),
        ("device atomic_uint* sums", "constant atomic_uint* sums"),
        ("shared[0] = count;", "count = shared[0];"),
        ("shared[0] = count;", "shared[0] = *sums;"),
        ("shared[0] = count;", "shared[0] = simd_ballot(true);"),
        ("shared[0] = count;", "thread uint* mine = shared; shared[0] = *mine;"),
        ("shared[0] = count;", "shared[0] = simd_vote_all(true);"),
        ("memory_order_relaxed", "memory_order_acquire"),
    ];
    for (number, (from, to)) in mistakes.into_iter().enumerate() {
        assert!(text.contains(from));
        assert_ne!(complaints(&text.replacen(from, to, 1), &format!("wrong-{number}")), "", "{to} was accepted");
    }
}
