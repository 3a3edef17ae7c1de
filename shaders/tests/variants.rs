//! What plans say of a kernel is in its text, and equal texts are one variant.

mod launches;

use launches::{launches, plans};
use polysort_shaders::plan::{Buffer, Command, Kernel, PATH_HEADER, RADIX, SegmentLists, Variant, state_words, tuning};
use polysort_shaders::prelude;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Returns what is launched, each variant once: many launches differ only in what they bind.
fn variants() -> HashSet<Variant> {
    launches().iter().map(|(_, _, command)| command.variant).collect()
}

/// The constants of a kernel by their names.
fn constants(text: &str) -> HashMap<&str, u32> {
    text.lines()
        .map_while(|line| line.strip_prefix("const ")?.split_once(": u32 = "))
        .map(|(name, value)| (name, value.trim_end_matches("u;").parse().expect("a number of 32 bits")))
        .collect()
}

/// The constants that the text of a kernel uses, and the text without constants.
fn used_constants(text: &str) -> (Vec<(&str, u32)>, String) {
    let names = constants(text);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let body: String = text
        .lines()
        .skip(names.len())
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code).to_owned() + "\n")
        .collect();
    // Names of constants begin with a capital letter. Other words are not compared.
    assert!(names.keys().all(|name| name.starts_with(char::is_uppercase)), "{names:?}");
    let words: HashSet<&str> = body.split(|c| !is_part(c)).filter(|word| word.starts_with(char::is_uppercase)).collect();
    let mut used: Vec<_> = names.into_iter().filter(|(name, _)| words.contains(name)).collect();
    used.sort_unstable();
    (used, body)
}

/// The text of a kernel without the constants that it does not use.
fn used(text: &str) -> String {
    let (used, body) = used_constants(text);
    format!("{used:?}{body}")
}

/// For a shape that `Variant::tile` or `KernelShape::keys` does not name, `prelude.rs` writes a size of 0. A loop over tiles of no keys does not end.
#[test]
fn no_kernel_uses_a_tile_of_no_keys() {
    let sizes = ["TILE", "KEYS", "HISTOGRAM_TILE", "SLICE", "SLICE_KEYS", "BOARD"];
    let mut empty = BTreeSet::new();
    for variant in variants() {
        let text = prelude::wgsl(&variant);
        let (used, _) = used_constants(&text);
        let kernel = variant.kernel().name();
        empty.extend(
            used.into_iter()
                .filter(|(name, value)| *value == 0 && sizes.contains(name))
                .map(|(name, _)| format!("{kernel} {name}")),
        );
    }
    assert_eq!(empty, BTreeSet::new());
}

/// A device compiles a pipeline for each variant. So it would compile a text twice if two variants had it.
#[test]
fn equal_texts_are_one_variant() {
    let mut texts: HashMap<Variant, String> = HashMap::new();
    let mut known: HashMap<(&str, Kernel, String), Variant> = HashMap::new();
    let (mut seen, mut twice) = (HashSet::new(), BTreeSet::new());
    for (device, _, plan) in plans() {
        for &Command { variant, .. } in plan.all_commands() {
            if seen.insert((device, variant)) {
                let text = texts.entry(variant).or_insert_with(|| used(&prelude::wgsl(&variant))).clone();
                let first = known.entry((device, variant.kernel(), text)).or_insert(variant);
                if *first != variant {
                    twice.insert(difference(first, &variant));
                }
            }
        }
    }
    assert_eq!(twice, BTreeSet::new(), "variants with the text of another");
}

/// The fields in which two variants differ.
fn difference(variant: &Variant, other: &Variant) -> String {
    let [a, b] = [variant, other].map(|variant| format!("{variant:?}"));
    let pairs = a.split(", ").zip(b.split(", ")).filter(|(a, b)| a != b);
    format!("{}: {}", variant.kernel().name(), pairs.map(|(a, b)| format!("{a} or {b}")).collect::<Vec<_>>().join(", "))
}

/// The caller's keys of 8 and 16 bits share words; between passes, each has a word of its own.
#[test]
fn kernels_know_the_bits_of_the_keys_that_they_read() {
    for (device, _, plan) in plans() {
        let request = plan.request;
        let own = [Buffer::Spare, Buffer::Scratch, Buffer::Picked];
        let own_commands = plan.long_commands().iter().chain(plan.short_commands());
        for command in own_commands.filter(|command| !matches!(command.variant.kernel(), Kernel::Copy | Kernel::Gather)) {
            let key_bits = command.variant.key_bits;
            let binds = |of: &[Buffer]| command.bindings.iter().any(|buffer| of.contains(buffer));
            if binds(&[Buffer::Keys]) {
                assert_eq!(key_bits, request.key_bits, "{device}: {command}");
            } else if binds(&own) {
                assert_eq!(key_bits, 32 * request.key_words(), "{device}: {command}");
            }
        }
    }
}

/// Threads share work evenly: as few rounds as cover it.
#[test]
fn constants_are_what_the_variant_needs() {
    for variant in variants() {
        let text = prelude::wgsl(&variant);
        let of = constants(&text);
        let is = |name: &str, value: u32| assert_eq!(of.get(name), Some(&value), "{name} of {variant:?}");
        let Variant { group, key_bits, shape, .. } = variant;
        let (kernel, keys) = (variant.kernel(), shape.keys().unwrap_or(0));
        let rows = shape.ballot().map_or(1, |ballot| ballot.rows);
        is("GROUP", group);
        is("KEYS", keys);
        if let Some(tile) = variant.tile() {
            is("TILE", tile);
        }
        is("ROWS", rows);
        is("RADIX", 1 << variant.radix_bits);
        is("KEY_WORDS", key_bits.div_ceil(32));
        is("KEYS_PER_WORD", [4, 2, 1, 1, 1][key_bits.ilog2() as usize - 3]);
        is("HISTOGRAM_TILE", group * keys);
        is("STATE_WORDS", state_words(variant.radix_bits));
        is("LOOK_TILES", group.min(tuning::LOOK_TILES));
        // Every value of a digit has a thread, and every subgroup histogram.
        let threads = group.max(1);
        assert!(of["DIGITS"] * threads >= of["RADIX"] && (of["DIGITS"] - 1) * threads < of["RADIX"], "{variant:?}");
        let threads = group.max(RADIX);
        assert!(of["OWNERS"] * threads >= rows * RADIX && (of["OWNERS"] - 1) * threads < rows * RADIX, "{variant:?}");
        if let Some(&loads) = of.get("MERGE_LOADS") {
            assert_eq!(loads, keys * key_bits.div_ceil(32), "{variant:?}");
            is("VALUE_WORDS", shape.value_words().unwrap_or(0));
            is("PATH_HEADER", PATH_HEADER);
        }
        assert_eq!(of.contains_key("COUNTED"), matches!(kernel, Kernel::Histogram | Kernel::BucketHistogram), "{variant:?}");
        let on_table = [Kernel::Buckets, Kernel::BucketHistogram, Kernel::BucketSweep, Kernel::Segments, Kernel::LongSegments];
        assert_eq!(of.contains_key("BATCH_KEYS"), on_table.contains(&kernel), "{variant:?}");
        assert_eq!(of.contains_key("NETWORK_KEYS"), shape.classes().is_some(), "{variant:?}");
        assert_eq!(of.contains_key("LOOK_DIGITS"), variant.radix_bits > RADIX.ilog2(), "{variant:?}");
    }
}

/// An unrolled loop over the pairs of a thread's keys has a block for each pair.
#[test]
fn networks_compare_every_pair_of_keys() {
    let is_unrolled = |variant: &Variant| variant.kernel() == Kernel::SegmentNetwork && variant.shape.unrolled() == Some(true);
    let mut networks = variants().into_iter().filter(is_unrolled).peekable();
    assert!(networks.peek().is_some());
    for variant in networks {
        let text = prelude::wgsl(&variant);
        let has = |pair: u32| text.contains(&format!("const pair = {pair}u;"));
        let pairs = variant.shape.keys().unwrap() / 2;
        assert!(has(pairs - 1) && !has(pairs), "{variant:?}");
    }
}

/// The kernels of segments find each segment in the list that the plan made for it.
#[test]
fn kernels_of_segments_have_the_classes_of_the_plan() {
    let mut kernels = HashSet::new();
    for (_, _, plan) in plans() {
        let Some(lists) = plan.segment_lists() else { continue };
        for command in plan.long_commands().iter().filter(|command| command.variant.shape.classes().is_some()) {
            let text = prelude::wgsl(&command.variant);
            let of = constants(&text);
            assert_eq!(
                (of["SMALL_BUCKET"], of["NETWORK_KEYS"], of["PAIRS"]),
                (lists.small, lists.network_keys, lists.network_keys / 2),
                "{command}"
            );
            assert_eq!(
                [of["SMALL_CLASS"], of["LONG_CLASS"], of["CLASSES"]],
                [SegmentLists::SMALL, SegmentLists::LONG, SegmentLists::CLASSES]
            );
            kernels.insert(command.variant.kernel());
        }
    }
    assert!(
        kernels.contains(&Kernel::Segments)
            && kernels.contains(&Kernel::SegmentNetwork)
            && kernels.contains(&Kernel::LongSegments)
    );
}

/// Keys with the same bits may change places only in a pass that moves nothing else.
#[test]
fn passes_with_values_are_stable() {
    let mut reorder = HashSet::new();
    for variant in variants() {
        let reorders = prelude::wgsl(&variant).contains("if (!stable)");
        if reorders {
            assert!(
                matches!(variant.kernel(), Kernel::Onesweep | Kernel::BucketSweep) && variant.shape.value_words() == Some(0),
                "{variant:?}"
            );
            reorder.insert(variant.kernel());
        }
    }
    assert_eq!(reorder, HashSet::from([Kernel::Onesweep, Kernel::BucketSweep]));
}
