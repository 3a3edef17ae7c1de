//! The table of architectures: its sources exist, plans print them, and an unknown device gets small kernels.

use polysort_core::{Options, Spec};
use polysort_shaders::manifest::Kernel;
use polysort_shaders::plan::tuning::PassShape;
use polysort_shaders::plan::{
    Algorithm, Class, Facts, PassKind, Payload, Place, Request, Segmented, SortPlan, Source, Tuned, Variant, tuning,
};
use std::path::Path;

const ALL: [Class; 6] = [Class::Apple, Class::Nvidia, Class::Amd, Class::Intel, Class::Software, Class::Unknown];

/// A device of this class. Devices with the same lanes and limits differ in the class only.
fn device(class: Class) -> Facts {
    Facts { class, ..Facts::new(Some((32, 32)), 48 << 10, 1024) }
}

fn keys(bits: u32, max: u64) -> Request {
    let spec = match bits {
        16 => Spec::of::<u16>(Options::ascending()),
        32 => Spec::of::<u32>(Options::ascending()),
        _ => Spec::of::<u64>(Options::ascending()),
    };
    Request::keys(bits, spec.unwrap(), max)
}

fn plan(request: Request, class: Class) -> SortPlan {
    SortPlan::new(request, &device(class)).unwrap()
}

/// A measurement has a record, and is one of a device of the same architecture.
#[test]
fn measured_numbers_have_records() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/record");
    let mut measured = vec![];
    for class in ALL {
        let row = class.architecture();
        for source in [row.passes.source, row.batch_bytes.source, row.count_16.source, row.rolls.source, row.others] {
            let Source::Measured { gpu, record } = source else { continue };
            assert!(records.join(record).exists(), "{class:?}: no record {record}");
            assert!(gpu.to_uppercase().contains(&format!("{class:?}").to_uppercase()), "{class:?}: measured on {gpu}");
            measured.push(class);
        }
    }
    measured.dedup();
    assert_eq!(measured, [Class::Nvidia]);
}

/// Only passes, only by request, and only where this was measured.
#[test]
fn passes_compile_faster_by_request() {
    for class in ALL {
        let segments = keys(32, 1 << 22).in_segments(Segmented { max: 100, begins: Place::default(), ends: Place::default() });
        for request in [keys(32, 1 << 18), keys(32, 1 << 26), keys(64, 1 << 22), segments] {
            let plans = [request, request.quick_to_compile()].map(|request| plan(request, class));
            let [resident, rolled] = plans.each_ref().map(SortPlan::long_commands);
            assert_eq!(resident.len(), rolled.len());
            for (resident, rolled) in resident.iter().zip(rolled) {
                let of_segments = [Kernel::BucketSweep, Kernel::SegmentTile, Kernel::SegmentNetwork];
                let is_pass = resident.variant.kernel() == Kernel::Onesweep || of_segments.contains(&resident.variant.kernel());
                let rolls = is_pass && class == Class::Nvidia;
                let expected = if rolls { resident.variant.rolled() } else { resident.variant };
                assert_eq!(rolled.variant, expected, "{class:?}");
                assert!(resident.variant.shape.unrolled() == Some(true) || !is_pass, "{class:?}");
            }
        }
    }
}

/// A request for more keys than one launch sorts seldom needs that launch, so it has the form that compiles faster. A sort of its own does not.
#[test]
fn a_single_launch_that_is_seldom_needed_compiles_faster() {
    for class in ALL {
        for payload in [Payload::None, Payload::Words(1), Payload::Indices] {
            let single = |max| {
                let plan = plan(Request { payload, ..keys(32, max) }, class);
                let commands = plan.short_commands().to_vec();
                (
                    plan.single_tile,
                    commands.into_iter().find(|command| command.variant.kernel() == Kernel::SingleTile).unwrap().variant,
                )
            };
            let (tile, long) = single(1 << 20);
            let (_, alone) = single(tile.into());
            assert_eq!(alone.shape.unrolled(), Some(true), "{class:?}, {payload:?}");
            assert_eq!(long, if class == Class::Nvidia { alone.rolled() } else { alone }, "{class:?}, {payload:?}");
            let (_, one_more) = single(u64::from(tile) + 1);
            assert_eq!(one_more.shape.unrolled(), long.shape.unrolled(), "{class:?}, {payload:?}");
        }
    }
}

#[test]
fn plans_print_where_their_numbers_come_from() {
    let hybrid = Request { algorithm: Some(Algorithm::MsdHybrid), ..keys(32, 1 << 20) };
    let text = |request, class| plan(request, class).to_string();
    assert!(
        text(keys(32, 1 << 20), Class::Nvidia).contains("passes: measured on NVIDIA H200 (nvidia-h200/2026-11-22-5-shapes.csv)")
    );
    assert!(
        text(keys(32, 1 << 20).quick_to_compile(), Class::Nvidia)
            .contains("loops that are not unrolled: measured on NVIDIA H200")
    );
    for class in [Class::Amd, Class::Intel, Class::Software] {
        let text = text(hybrid, class);
        assert!(text.contains("passes: derived from the numbers of an NVIDIA H200"), "{class:?}: {text}");
        assert!(text.contains("batches: derived from the numbers of an NVIDIA H200"), "{class:?}: {text}");
    }
    assert!(text(keys(32, 1 << 20), Class::Apple).contains("passes: derived from the tiles of forge-sort"));
    assert!(text(hybrid, Class::Unknown).contains("passes: guessed: few registers"));
    assert!(text(keys(16, 1 << 24), Class::Nvidia).contains("counting: measured on NVIDIA H200"));
    // A forced batch and a shape of this device take the place of the numbers of the table.
    assert!(!text(Request { batch: Some(5000), ..hybrid }, Class::Nvidia).contains("batches:"));
    let shape = PassShape { group: 256, keys: 8, slices: 2 };
    let tuned = Tuned::NONE.with(PassKind::new(1, 0), shape).unwrap();
    let on_this = SortPlan::new(keys(32, 1 << 20), &Facts { tuned, ..device(Class::Nvidia) }).unwrap();
    assert!(on_this.to_string().contains("passes: measured on this device"));
}

/// Returns the kernels that rank tiles, which take the most registers and workgroup memory.
fn ranking(request: Request, class: Class) -> Vec<Variant> {
    let variants = plan(request, class).all_commands().map(|command| command.variant).collect::<Vec<_>>();
    variants.into_iter().filter(|variant| variant.shape.ranked_tile().is_some()).collect()
}

/// A kernel for an unknown device has no more keys per thread, and takes no more workgroup memory, than the same kernel for a
/// long input on an H200.
#[test]
fn an_unknown_device_gets_small_kernels() {
    for kind in PassKind::ALL {
        for algorithm in [Algorithm::OneSweep, Algorithm::MsdHybrid] {
            let request = |max| {
                let keys = keys(32 * kind.key_words, max);
                let request = if kind.value_words > 0 { keys.with_values(kind.value_words) } else { keys };
                Request { algorithm: Some(algorithm), ..request }
            };
            let measured = ranking(request(1 << 26), Class::Nvidia);
            for max in [1 << 16, 1 << 20, 1 << 22, 1 << 26] {
                for variant in ranking(request(max), Class::Unknown) {
                    let same = measured.iter().find(|measured| measured.kernel() == variant.kernel()).unwrap();
                    let [keys, most] = [&variant, same].map(|variant| variant.shape.keys().unwrap());
                    assert!(keys <= most, "{kind}, {max}: {} {keys}", variant.kernel().name());
                    assert!(variant.workgroup_bytes() <= same.workgroup_bytes(), "{kind}, {max}: {}", variant.kernel().name());
                }
                assert_eq!(tuning::large_pass(Class::Unknown, kind.key_words, kind.value_words, max), None);
            }
        }
    }
    assert_eq!(plan(keys(16, 1 << 26), Class::Unknown).algorithm, Algorithm::OneSweep);
    assert_eq!(plan(keys(16, 1 << 26), Class::Nvidia).algorithm, Algorithm::Counting);
}
