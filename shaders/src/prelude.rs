//! Assembles the text of a kernel: the constants of its variant, and the parts and the file that the manifest lists.
//!
//! WGSL has neither includes nor conditional compilation. So this module evaluates the lines `#if FLAG`, `#else` and
//! `#endif`, and drops the lines that they exclude. It also repeats the lines between `#repeat NAME COUNT` and `#end`. The
//! texts in Metal Shading Language use the same lines.

use crate::abi;
use crate::manifest::{Access, Binding, Part, Source};
use crate::plan::{
    BATCH_WORDS, Ballot, Buckets, COUNT_DIGIT_BITS, KernelShape, LAST_LEVEL, MAX_DIGITS, PATH_HEADER, Payload, RADIX, Ranking,
    SegmentLists, TILE_WORDS, VALUE_BLOCK, Variant, Vectors, When, state_words, tuning,
};
use core::fmt::Write;
use polysort_vector::{Metric, Precision};

/// Returns the WGSL of a kernel.
pub fn wgsl(variant: &Variant) -> String {
    macro_rules! part {
        ($name:literal) => {
            include_str!(concat!("../wgsl/parts/", $name, ".wgsl"))
        };
    }
    let mut text = String::new();
    for (name, value) in constants(variant) {
        writeln!(text, "const {name}: u32 = {value}u;").expect("a string takes all");
    }
    let rows = if variant.has_wide_digits() { part!("wide_rows") } else { part!("rows") };
    let ranking = match ranking(variant) {
        Some(Ranking::Ballot(_)) => vec![part!("threads"), part!("lanes"), rows, part!("rank_by_ballot")],
        Some(Ranking::Counters) => vec![part!("threads"), part!("sums"), part!("rank_by_counters")],
        None => vec![],
    };
    text + &assembled(&variant.kernel().entry().wgsl, variant, &ranking)
}

/// Returns the hand-written Metal Shading Language of a kernel. It is for devices with simdgroups of 32 lanes. `None`
/// if the kernel, or this variant of it, is written in WGSL only.
pub fn msl(variant: &Variant) -> Option<String> {
    macro_rules! part {
        ($name:literal) => {
            include_str!(concat!("../msl/parts/", $name, ".metal"))
        };
    }
    // Rankings with counters and subgroups of more than 32 lanes exist in WGSL only.
    if matches!(ranking(variant), Some(Ranking::Counters | Ranking::Ballot(Ballot { wide: true, .. }))) {
        return None;
    }
    let source = variant.kernel().entry().msl.as_ref()?;
    let rows = if variant.has_wide_digits() { vec![part!("wide_rows")] } else { vec![part!("sums"), part!("rows")] };
    let ranking = [&[part!("threads")][..], &rows, &[part!("rank")]].concat();
    // The subgroup histograms of the MSL kernels have no bank padding.
    let variant = &Variant { shape: variant.shape.without_runs(), ..*variant };
    let mut text = String::from("#include <metal_stdlib>\n\nusing namespace metal;\n\n");
    for (name, value) in constants(variant).into_iter().chain([("LOOK", tuning::LOOK)]) {
        writeln!(text, "#define {name} {value}u").expect("a string takes all");
    }
    Some(text + &assembled(source, variant, &ranking))
}

/// Returns the parts of a source and its file, with the lines that the variant includes. `ranking` is the text of
/// [`Part::Ranking`]. A file that several parts need is included once.
fn assembled(source: &Source, variant: &Variant, ranking: &[&'static str]) -> String {
    let mut files: Vec<&str> = vec![];
    for part in source.parts {
        let needed = match part {
            Part::File(file) => core::slice::from_ref(file),
            Part::FileIf(flag, file) if is_set(variant, flag) => core::slice::from_ref(file),
            Part::FileIf(..) => &[],
            Part::Ranking => ranking,
        };
        let new: Vec<&str> = needed.iter().copied().filter(|file| !files.contains(file)).collect();
        files.extend(new);
    }
    files.push(source.file);
    let mut text = String::new();
    for file in files {
        text.push('\n');
        text += &chosen(file, &|flag| is_set(variant, flag), &|count| times(variant, count));
    }
    text
}

/// Returns the bindings of a kernel, in the order of their numbers.
pub fn bindings(variant: &Variant) -> impl Iterator<Item = &'static Binding> {
    let bindings = variant.kernel().entry().bindings.iter();
    bindings.filter(|binding| binding.only_if.is_none_or(|flag| is_set(variant, flag)))
}

/// Returns whether the WGSL of a kernel declares `binding` as a writable storage buffer.
pub fn writes(variant: &Variant, binding: &Binding) -> bool {
    binding.access == Access::Write || binding.access == Access::Aliased && is_set(variant, "ALIASED")
}

/// Returns the method by which a kernel ranks the keys of a tile.
fn ranking(variant: &Variant) -> Option<Ranking> {
    variant.shape.ranked_tile().map(|tile| tile.ranking)
}

/// Returns the number of repetitions of a `#repeat`; `None` if its lines become a loop.
fn times(variant: &Variant, count: &str) -> Option<u32> {
    let unrolled = |times: Option<u32>| times.filter(|_| variant.shape.unrolled() == Some(true));
    let keys = variant.shape.keys();
    match count {
        "KEYS" => unrolled(keys),
        "PAIRS" => unrolled(keys.map(|keys| keys / 2)),
        "CHUNK" => unrolled(variant.shape.slice_keys().map(chunk)),
        "DIGITS" => unrolled(Some(digits(variant))),
        "SLICE_KEYS" => unrolled(variant.shape.slice_keys()),
        "BATCH" => Some(tuning::HISTOGRAM_BATCH),
        "COUNTED" => variant.counted_digits(),
        "RUN" => Some(tuning::DISTANCE_RUN),
        "MERGE_LOADS" => unrolled(keys.map(|keys| keys * variant.key_words())),
        "LOOK" => Some(tuning::LOOK),
        "LOOK_DIGITS" => Some(tuning::LOOK_DIGITS),
        "ROWS" => unrolled(Some(rows(variant))),
        "OWNERS" => unrolled(Some(owners(variant))),
        _ => unreachable!("no count {count}"),
    }
}

/// Returns whether the flag of an `#if` is set.
fn is_set(variant: &Variant, flag: &str) -> bool {
    let shape = variant.shape;
    let has_values_of = |words: u32| shape.value_words() == Some(words);
    let outputs = if let KernelShape::Runs { outputs, .. } = shape { Some(outputs) } else { None };
    let vectors = if let KernelShape::IvfDistance(vectors) = shape { Some(vectors) } else { None };
    match flag {
        "KEY_1" => variant.key_words() == 1,
        "KEY_2" => variant.key_words() == 2,
        "KEY_4" => variant.key_words() == 4,
        "VALUES" => shape.value_words().is_some_and(|words| words > 0),
        "VALUE_1" => has_values_of(1),
        "VALUE_2" => has_values_of(2),
        "VALUE_3" => has_values_of(3),
        "VALUE_4" => has_values_of(4),
        "INDEXED" => matches!(
            shape,
            KernelShape::Onesweep { payload: Payload::Indices, .. }
                | KernelShape::Downsweep { payload: Payload::Indices, .. }
                | KernelShape::SingleTile { payload: Payload::Indices, .. }
        ),
        "PACKED" => variant.is_packed(),
        "STATUS" => matches!(shape, KernelShape::Histogram { status_tile: Some(_), .. }),
        "PARTITIONS" => matches!(shape, KernelShape::Onesweep { partitions: true, .. }),
        "BUCKETS" => matches!(
            shape,
            KernelShape::Onesweep { partitions: true, .. }
                | KernelShape::Buckets { .. }
                | KernelShape::BucketTile { .. }
                | KernelShape::BucketHistogram { .. }
                | KernelShape::BucketSweep { .. }
        ),
        "BATCHES" => matches!(shape, KernelShape::BucketSweep { .. }),
        "LISTS" => shape.classes().is_some(),
        "CARRIES" => matches!(shape, KernelShape::SegmentNetwork { carries: true, .. }),
        "EIGHT" => shape.keys() == Some(8),
        "COPIES" => matches!(shape, KernelShape::BucketHistogram { copied: Some(_), .. }),
        "SEGMENTED" => {
            matches!(shape, KernelShape::TopK { segmented: true, .. } | KernelShape::WidenIndices { segmented: true })
        }
        "NESTED" => matches!(shape, KernelShape::TopK { nested: true, .. }),
        "ALIASED" => matches!(
            shape,
            KernelShape::Pick { aliased: true }
                | KernelShape::TopK { aliased: true, .. }
                | KernelShape::Runs { aliased: true, .. }
                | KernelShape::Gather { aliased: true }
        ),
        "UNIQUE" => outputs.is_some_and(|outputs| outputs.unique),
        "OFFSETS" => {
            outputs.is_some_and(|outputs| outputs.offsets) || matches!(shape, KernelShape::BeginRuns { offsets: true, .. })
        }
        "LENGTHS" => outputs.is_some_and(|outputs| outputs.lengths),
        "QUADS" => vectors.is_some_and(|vectors| vectors.quads),
        "HALF" => vectors.is_some_and(|vectors| vectors.precision == Precision::F16),
        "L2" => vectors.is_some_and(|vectors| vectors.metric == Metric::L2),
        "INNER" => vectors.is_some_and(|vectors| vectors.metric == Metric::InnerProduct),
        "COSINE" => vectors.is_some_and(|vectors| vectors.metric == Metric::Cosine),
        "UNROLLED" => shape.unrolled() == Some(true),
        "WIDE" => variant.has_wide_digits(),
        "HALVES" => variant.packs_counts(),
        "ARRIVALS" => is_set(variant, "BALLOT_1") && !variant.has_wide_digits(),
        "RUNS" => shape.pass_tile().is_some_and(|tile| tile.runs),
        // Only a pass without values may reorder keys with the same bits: the result is the same.
        "REORDERS" => shape.pass_tile().is_some() && has_values_of(0),
        "SUBGROUPS" => shape.ballot().is_some(),
        "BALLOT_1" => shape.ballot().is_some_and(|ballot| !ballot.wide),
        _ => unreachable!("no flag {flag}"),
    }
}

/// Returns the number of subgroup histograms; 1 without ballots.
fn rows(variant: &Variant) -> u32 {
    variant.shape.ballot().map_or(1, |ballot| ballot.rows)
}

/// Returns the largest number of digit values whose counts one thread sums up.
fn digits(variant: &Variant) -> u32 {
    variant.radix().div_ceil(variant.group.clamp(1, variant.radix()))
}

/// Returns the largest number of subgroups whose threads sum up counts.
fn owners(variant: &Variant) -> u32 {
    (rows(variant) * RADIX).div_ceil(variant.group.max(RADIX))
}

/// Returns the keys of a slice that a thread reads before it writes them. They divide the thread's keys of a slice.
fn chunk(slice_keys: u32) -> u32 {
    (1..=tuning::MAX_CHUNK).rev().find(|&chunk| slice_keys.is_multiple_of(chunk)).unwrap_or(1)
}

/// Returns the constants of a kernel, with their names. They are the same in both languages.
///
/// The text of every kernel has those of the array. If a kernel has no keys per thread, or no tile, that number is 0 in its
/// text. The kernel does not use it.
fn constants(variant: &Variant) -> impl IntoIterator<Item = (&'static str, u32)> {
    let Variant { group, shape, .. } = *variant;
    let keys = shape.keys().unwrap_or(0);
    let slice_keys = shape.slice_keys().unwrap_or(0);
    let vectors = if let KernelShape::IvfDistance(vectors) = shape { Some(vectors) } else { None };
    [
        ("RADIX_BITS", variant.radix_bits),
        ("RADIX", variant.radix()),
        ("BANKS", tuning::BANKS),
        ("COUNT_BITS", tuning::COUNT_BITS),
        ("MAX_DIGITS", MAX_DIGITS),
        ("KEY_DIGITS", variant.key_digits()),
        ("STATE_COUNT", abi::STATE_COUNT),
        ("STATE_DESCENTS", abi::STATE_DESCENTS),
        ("STATE_VARIES", abi::STATE_VARIES),
        ("STATE_RECOUNTS", abi::STATE_RECOUNTS),
        ("STATE_TICKETS", abi::STATE_TICKETS),
        ("STATE_RUNS", abi::STATE_RUNS),
        ("STATE_HISTOGRAM", abi::STATE_HISTOGRAM),
        ("STATE_WORDS", state_words(variant.radix_bits)),
        ("COUNT_DIGIT_BITS", COUNT_DIGIT_BITS),
        ("VALUE_BLOCK", VALUE_BLOCK),
        ("COUNT_ON_DEVICE", abi::COUNT_ON_DEVICE),
        ("NOTHING", abi::NOTHING),
        ("INFINITY_BITS", abi::INFINITY_BITS),
        ("NOT_A_NUMBER", abi::NOT_A_NUMBER),
        ("LEAST_SQUARES", abi::PLAIN_SQUARES[0]),
        ("MOST_SQUARES", abi::PLAIN_SQUARES[1]),
        ("RUN", tuning::DISTANCE_RUN),
        ("SUMS", vectors.map_or(0, Vectors::sums)),
        ("TEAM", vectors.map_or(1, |vectors| vectors.team)),
        ("LAST_LEVEL", LAST_LEVEL),
        ("COPY_ODD", When::Odd as u32),
        ("COPY_EVEN", When::Even as u32),
        ("COPY_ALWAYS", When::Always as u32),
        ("HISTOGRAM_TILE", group * keys),
        ("COPY_TILE", tuning::COPY_TILE),
        ("SELECT_SEGMENT", tuning::SELECT_SEGMENT),
        ("DIGIT_RUN", tuning::DIGIT_RUN),
        ("SPIN_LIMIT", tuning::SPIN_LIMIT),
        ("LOOK_LIMIT", tuning::LOOK_LIMIT),
        ("LOOK_TILES", tuning::LOOK_TILES.min(group)),
        ("BATCH", tuning::HISTOGRAM_BATCH),
        ("KEY_BITS", variant.key_bits),
        ("KEY_WORDS", variant.key_words()),
        ("KEYS_PER_WORD", (32 / variant.key_bits).max(1)),
        ("GROUP", group),
        ("KEYS", keys),
        ("TILE", variant.tile().unwrap_or(0)),
        ("ROWS", rows(variant)),
        ("OWNERS", owners(variant)),
        ("DIGITS", digits(variant)),
        ("BOARD", variant.board_words()),
        ("SLICE", group * slice_keys),
        ("SLICE_KEYS", slice_keys),
        ("CHUNK", chunk(slice_keys)),
    ]
    .into_iter()
    .chain(own_constants(variant))
}

/// Returns the constants that only some kernels have in their text.
fn own_constants(variant: &Variant) -> impl Iterator<Item = (&'static str, u32)> {
    let Variant { group, shape, .. } = *variant;
    let counters = if let KernelShape::CountValues { counters, .. } = shape { Some(("COUNTERS", counters)) } else { None };
    let small = match shape {
        KernelShape::Buckets { small_bucket, .. } | KernelShape::BucketTile { small_bucket, .. } => Some(small_bucket),
        _ => None,
    };
    let batch = match shape {
        KernelShape::Buckets { batch, .. } => Some(batch),
        KernelShape::BucketHistogram { buckets, .. } | KernelShape::BucketSweep { buckets, .. } => Some(match buckets {
            Buckets::OfPartition { batch } => batch,
            Buckets::LongSegments(_) => 1,
        }),
        KernelShape::Segments { .. } | KernelShape::LongSegments { .. } => Some(1),
        _ => None,
    };
    let batches = batch.map(|batch| {
        [("BATCH_KEYS", batch), ("BATCH_WORDS", BATCH_WORDS), ("BATCH_TICKETS", abi::BATCH_TICKETS), ("TILE_WORDS", TILE_WORDS)]
    });
    let lists = shape.classes().map(|classes| {
        [
            ("SMALL_BUCKET", classes.small),
            ("NETWORK_KEYS", classes.network_keys),
            ("PAIRS", classes.network_keys / 2),
            ("NETWORK_GROUP", tuning::NETWORK_GROUP),
            ("SMALL_CLASS", SegmentLists::SMALL),
            ("LONG_CLASS", SegmentLists::LONG),
            ("CLASSES", SegmentLists::CLASSES),
        ]
    });
    // Keys of a tile and of a thread, and words of a value. The path has the tile only.
    let merge = match shape {
        KernelShape::MergePath { tile } => Some((tile, 0, 0)),
        KernelShape::MergeTile { keys, value_words, .. } => Some((group * keys, keys, value_words)),
        _ => None,
    };
    let merges = merge.map(|(tile, keys, value_words)| {
        [
            ("PATH_HEADER", PATH_HEADER),
            ("MERGE_LOADS", keys * variant.key_words()),
            ("MERGE_WORDS", variant.merge_words(tile, keys)),
            ("VALUE_WORDS", value_words),
        ]
    });
    let look = variant.has_wide_digits().then_some(("LOOK_DIGITS", tuning::LOOK_DIGITS));
    look.into_iter()
        .chain(variant.counted_digits().map(|digits| ("COUNTED", digits)))
        .chain(counters)
        .chain(variant.spans().map(|spans| ("SPANS", spans)))
        .chain(small.map(|most| ("SMALL_BUCKET", most)))
        .chain(batches.into_iter().flatten())
        .chain(lists.into_iter().flatten())
        .chain(merges.into_iter().flatten())
}

/// Returns the lines that the conditions include. Repeated lines are written out; in them, `@` becomes the number of the
/// repetition.
fn chosen(text: &str, is_set: &dyn Fn(&str) -> bool, times: &dyn Fn(&str) -> Option<u32>) -> String {
    let mut open: Vec<bool> = vec![];
    let mut chosen = String::with_capacity(text.len());
    let mut repeated: Vec<(&str, &str, String)> = vec![];
    for line in text.lines() {
        if let Some(flag) = line.strip_prefix("#if ") {
            open.push(is_set(flag));
        } else if line == "#else" {
            let last = open.last_mut().expect("an #else has an #if");
            *last = !*last;
        } else if line == "#endif" {
            open.pop().expect("an #endif has an #if");
        } else if open.contains(&false) {
            continue;
        } else if let Some((name, count)) = line.strip_prefix("#repeat ").and_then(|rest| rest.split_once(' ')) {
            repeated.push((name, count, String::new()));
        } else if line == "#end" {
            let (name, count, body) = repeated.pop().expect("an #end has a #repeat");
            let target = repeated.last_mut().map_or(&mut chosen, |(_, _, body)| body);
            match times(count) {
                Some(times) => (0..times).for_each(|number| *target += &numbered(&body, name, number)),
                None => {
                    let _ = write!(target, "    for (var {name} = 0u; {name} < {count}; {name}++) {{\n{body}    }}\n");
                }
            }
        } else {
            let target = repeated.last_mut().map_or(&mut chosen, |(_, _, body)| body);
            *target += line;
            target.push('\n');
        }
    }
    assert!(open.is_empty() && repeated.is_empty(), "an #if has an #endif, a #repeat an #end");
    chosen
}

/// Returns one repetition of `body`. It is a block, unless the lines declare names with `@`.
fn numbered(body: &str, name: &str, number: u32) -> String {
    if !body.contains('@') {
        return format!("    {{\n        const {name} = {number}u;\n{body}    }}\n");
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::new();
    let body = body.replace('@', &number.to_string());
    for word in body.split_inclusive(|c| !is_part(c)) {
        let end = word.trim_end_matches(|c| !is_part(c)).len();
        if &word[..end] == name { text += &format!("{number}u{}", &word[end..]) } else { text += word }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::chosen;

    /// Returns the lines of `text` with these flags set; every `#repeat` has two repetitions, or is a loop.
    fn lines(text: &str, flags: &[&str], repeats: bool) -> String {
        chosen(text, &|flag| flags.contains(&flag), &|_| repeats.then_some(2))
    }

    #[test]
    fn an_if_keeps_the_lines_of_its_flag() {
        let text = "a\n#if X\nb\n#else\nc\n#endif\nd\n";
        assert_eq!(lines(text, &["X"], true), "a\nb\nd\n");
        assert_eq!(lines(text, &[], true), "a\nc\nd\n");
    }

    #[test]
    fn an_if_in_an_if_needs_both_flags() {
        let text = "#if X\n#if Y\na\n#else\nb\n#endif\nc\n#else\n#if Y\nd\n#endif\n#endif\n";
        let of = |flags: &[&str]| lines(text, flags, true);
        assert_eq!([of(&["X", "Y"]), of(&["X"]), of(&["Y"]), of(&[])], ["a\nc\n", "b\nc\n", "d\n", ""]);
    }

    #[test]
    fn repeated_lines_are_blocks_with_a_number() {
        let block = |number| format!("    {{\n        const i = {number}u;\na[i];\n    }}\n");
        assert_eq!(lines("#repeat i KEYS\na[i];\n#end\n", &[], true), block(0) + &block(1));
        assert_eq!(lines("#repeat i KEYS\na[i];\n#end\n", &[], false), "    for (var i = 0u; i < KEYS; i++) {\na[i];\n    }\n");
    }

    /// The lines declare names, so they are no blocks. Only whole words are the number.
    #[test]
    fn repeated_lines_may_declare_names() {
        let text = "#repeat i KEYS\nlet a@ = b[i] + i_j + ii;\n#end\n";
        assert_eq!(lines(text, &[], true), "let a0 = b[0u] + i_j + ii;\nlet a1 = b[1u] + i_j + ii;\n");
    }

    #[test]
    fn repeated_lines_repeat_in_each_other() {
        let text = "#repeat i KEYS\n#repeat j KEYS\na@(i, j);\n#end\n#end\n";
        let block = |number| format!("    {{\n        const i = {number}u;\na0(i, 0u);\na1(i, 1u);\n    }}\n");
        assert_eq!(lines(text, &[], true), block(0) + &block(1));
    }

    #[test]
    #[should_panic(expected = "an #if has an #endif")]
    fn an_if_without_an_end_is_a_mistake() {
        lines("#if X\n", &[], true);
    }

    #[test]
    #[should_panic(expected = "an #if has an #endif")]
    fn a_repeat_without_an_end_is_a_mistake() {
        lines("#repeat i KEYS\n", &[], true);
    }
}
