//! The conformance suite on kernels in Metal Shading Language: with the planner's choice, which is one launch for short inputs, with each
//! algorithm, and with vector search.

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    use polysort_kit::{Plan, Suite, is_thorough};
    use polysort_msl::{Config, MslBackend, Options, Source};
    use polysort_shaders::plan::{Algorithm, Blocked, Class, Facts};

    let mut suite = Suite::from_args();
    let (full, scale) = if suite.is_full() { (true, 10) } else { (false, 1) };
    // Compiling kernels takes the most time. So without `--full` and without `POLYSORT_THOROUGH=1`, kernels that naga translates are those of a few checks
    // (software Vulkan runs them in WGSL), and each native configuration has some of the keys.
    let thorough = full || is_thorough();
    let by_thorough = move |takes: bool| if takes || thorough { Ok(()) } else { Err("left out without POLYSORT_THOROUGH=1") };
    let only_thorough = move |_: &str| by_thorough(false);
    let is_of = |check: &str, keys: &[&str]| check.split_once(' ').is_some_and(|(key, _)| keys.contains(&key));
    let one_key = move |check: &str| by_thorough(is_of(check, &["u32"]));
    let few_keys = move |check: &str| by_thorough(is_of(check, &["u8", "u32"]));
    let other_keys = move |check: &str| by_thorough(is_of(check, &["bf16", "i64", "u128"]));
    // The checks in which a forced algorithm sorts. In other checks, the planner chooses another one. Keys that sort as the same word use the same
    // kernels and differ in masks alone, so one or two keys of each word are enough.
    let by_words = move |check: &str| {
        let (key, operation) = check.split_once(' ').unwrap_or_default();
        let words = ["u32", "f32", "i64", "i32", "u64", "f64", "char", "Reverse<f32>"];
        full || words[..if thorough { 8 } else { 3 }].contains(&key)
            && ["sort", "sort_pairs", "sort_by_key", "argsort"].contains(&operation)
    };
    let words_if_thorough = move |check: &str| thorough && by_words(check);
    // The network or one threadgroup sorts segments of up to 2000 keys. Other tests have passes over longer segments.
    let plan = Plan::up_to(suite.longest(5000), false).segmented_up_to(2000);
    let any = Config::of(if suite.is_full() { Source::NAGA } else { Source::NAGA_ROLLED });
    suite.enter_part("msl, naga's", plan.clone().sampled(4 * scale, 1), one_key, move || MslBackend::open_with(any));
    // Some tiles are blocked, so that other threadgroups recount them.
    let sweep = Config { algorithm: Some(Algorithm::OneSweep), blocked: Blocked::one_of(3), ..any };
    let tiles = Plan::up_to(suite.longest(20_000), false).segmented_up_to(33);
    suite.enter_part("msl, naga's, OneSweep", tiles.clone().sampled(2 * scale, 2), only_thorough, move || {
        MslBackend::open_with(sweep)
    });
    let wide = Config { algorithm: Some(Algorithm::WideDigits), ..sweep };
    suite.enter_part("msl, naga's, wide digits", tiles.clone().sampled(2 * scale, 7), words_if_thorough, move || {
        MslBackend::open_with(wide)
    });
    // The plans have the tiles of long sorts.
    let long = Config { planned_for: (1 << 21) + 1, ..wide };
    suite.enter_part("msl, naga's, wide digits for many", tiles.clone().sampled(scale, 8), words_if_thorough, move || {
        MslBackend::open_with(long)
    });
    let reduce = Config { algorithm: Some(Algorithm::ReduceThenScan), ..any };
    suite.enter_part("msl, naga's, reduce-then-scan", tiles.clone().sampled(scale, 3), only_thorough, move || {
        MslBackend::open_with(reduce)
    });
    // The inputs have several batches, and buckets both small and large.
    let hybrid = Config { algorithm: Some(Algorithm::MsdHybrid), batch: Some(3000), small_bucket: Some(40), ..sweep };
    suite.enter_part("msl, naga's, MSD hybrid", tiles.clone().sampled(scale, 7), words_if_thorough, move || {
        MslBackend::open_with(hybrid)
    });
    // By default, short inputs of 16 bits are not sorted by counting.
    let whole = move |check: &str| full || ["u8 sort", "i16 sort", "f16 sort"].contains(&check);
    let counting = Config { algorithm: Some(Algorithm::Counting), ..any };
    suite.enter_part("msl, naga's, counting", tiles.clone().sampled(2 * scale, 11), whole, move || {
        MslBackend::open_with(counting)
    });
    let counting = Config { source: Source::NATIVE, ..counting };
    suite.enter_part("msl, native, counting", tiles.clone().sampled(2 * scale, 12), whole, move || {
        MslBackend::open_with(counting)
    });
    // Native kernels, for an older Metal and a newer one.
    let native = Config::of(Source::NATIVE);
    suite.enter_part("msl, native", plan.sampled(4 * scale, 4), other_keys, move || MslBackend::open_with(native));
    let newer = Source { options: Options::metal(320), ..Source::NATIVE };
    let sweep = Config { source: newer, ..sweep };
    suite
        .enter_part("msl, native, OneSweep", tiles.clone().sampled(4 * scale, 5), few_keys, move || MslBackend::open_with(sweep));
    // The plans have the tiles of long sorts.
    let long = Config { planned_for: (1 << 21) + 1, ..sweep };
    suite.enter_part("msl, native, OneSweep for many", tiles.clone().sampled(scale, 6), by_words, move || {
        MslBackend::open_with(long)
    });
    // The largest tiles are those of other devices.
    let large = Config { facts: Facts { class: Class::Nvidia, workgroup_bytes: 48 << 10, ..long.facts }, ..long };
    let by_kinds = |check: &str| full || ["u32 sort", "u32 sort_pairs", "u64 sort_pairs", "u64 argsort"].contains(&check);
    let longer = Plan::up_to(suite.longest(40_000), false).segmented_up_to(33);
    suite.enter_part("msl, native, large tiles", longer.clone().sampled(4 * scale, 13), by_kinds, move || {
        MslBackend::open_with(large)
    });
    let large = Config { source: any.source, ..large };
    suite.enter_part(
        "msl, naga's, large tiles",
        longer.sampled(8 * scale, 14),
        move |check: &str| thorough && by_kinds(check),
        move || MslBackend::open_with(large),
    );
    let wide = Config { source: Source::NATIVE, ..wide };
    suite.enter_part("msl, native, wide digits", tiles.clone().sampled(scale, 9), by_words, move || MslBackend::open_with(wide));
    let hybrid = Config { source: newer, ..hybrid };
    suite.enter_part("msl, native, MSD hybrid", tiles.sampled(scale, 10), by_words, move || MslBackend::open_with(hybrid));
    // Each dimension has kernels of its own, and the other checks have enough dimensions.
    let quick = |name: &str| !["dimensions with every remainder", "random shapes"].contains(&name);
    suite.enter_vectors_part("msl, native", |name| full || quick(name), move || MslBackend::open_with(native));
    // With fast math, the compiler may assume that numbers are finite. NaN must still give the specified results.
    let fast = Config::of(Source { options: Options::metal(310).fast_math(true), ..Source::NATIVE });
    let strange = |name: &str| ["numbers that are none", "zero vectors"].contains(&name);
    suite.enter_vectors_part("msl, native, fast math", |name| full || strange(name), move || MslBackend::open_with(fast));
    let some = |name: &str| strange(name) || name == "wrong candidates are told or counted";
    suite.enter_vectors_part("msl, naga's", |name| full || some(name), move || MslBackend::open_with(any));
    suite.run();
}
