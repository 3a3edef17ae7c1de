//! Assembles the text of a kernel: the constants of its variant, the parts that it needs, and its file.
//!
//! WGSL has neither includes nor conditional compilation. So this module evaluates the lines `#if FLAG`, `#else` and
//! `#endif`, and drops the lines that they exclude. It also repeats the lines between `#repeat NAME COUNT` and `#end`. The
//! texts in Metal Shading Language use the same lines.

use crate::abi;
use crate::plan::{
    BATCH_WORDS, COUNT_DIGIT_BITS, Kernel, LAST_LEVEL, MAX_DIGITS, RADIX, Ranking, SegmentLists, TILE_WORDS, VALUE_BLOCK,
    Variant, Vectors, When, state_words, tuning,
};
use core::fmt::Write;
use polysort_vector::{Metric, Precision};

/// Returns the WGSL of a kernel.
pub fn wgsl(variant: &Variant) -> String {
    let mut text = String::new();
    for (name, value) in constants(variant) {
        writeln!(text, "const {name}: u32 = {value}u;").expect("a string takes all");
    }
    for part in parts(variant).into_iter().chain([file(variant.kernel)]) {
        text.push('\n');
        text += &chosen(part, &|flag| is_set(variant, flag), &|count| times(variant, count));
    }
    text
}

/// The text of a file of `wgsl/parts`.
macro_rules! part {
    ($name:literal) => {
        include_str!(concat!("../wgsl/parts/", $name, ".wgsl"))
    };
}

/// Returns the hand-written Metal Shading Language of a kernel. It is for devices with simdgroups of 32 lanes. `None`
/// if the kernel is written in WGSL only.
pub fn msl(variant: &Variant) -> Option<String> {
    macro_rules! metal {
        ($name:literal) => {
            include_str!(concat!("../msl/", $name, ".metal"))
        };
    }
    // The kernels that sort segments exist in WGSL only.
    if variant.network_keys > 0 || matches!(variant.ranking, Some(Ranking::Counters | Ranking::Ballot { wide: true, .. })) {
        return None;
    }
    let (sort, sums, search) = (metal!("parts/sort"), metal!("parts/sums"), metal!("parts/search"));
    let (counts, values, table) = (metal!("parts/counts"), metal!("parts/values"), metal!("parts/bucket_table"));
    let rows = if variant.has_wide_digits() { vec![metal!("parts/wide_rows")] } else { vec![sums, metal!("parts/rows")] };
    let ranking = [metal!("parts/threads")].into_iter().chain(rows).chain([metal!("parts/rank")]);
    let sweep = [metal!("parts/board"), metal!("parts/move_tile"), metal!("parts/sweep")];
    let mut files = vec![metal!("parts/group"), sort];
    match variant.kernel {
        Kernel::Begin => files.push(metal!("begin")),
        Kernel::Histogram => files.extend([counts, metal!("histogram")]),
        Kernel::Scan => files.extend([sums, metal!("scan")]),
        Kernel::Onesweep => files.extend(ranking.chain(sweep).chain([metal!("onesweep")])),
        Kernel::Buckets => files.extend([table, sums, metal!("buckets")]),
        Kernel::BucketTile => files.extend(ranking.chain([metal!("parts/sort_by_digit"), metal!("bucket_tile")])),
        Kernel::BucketHistogram => files.extend([table, sums, counts, metal!("bucket_histogram")]),
        Kernel::BucketSweep => files.extend([table].into_iter().chain(ranking).chain(sweep).chain([metal!("bucket_sweep")])),
        Kernel::SingleTile => files.extend(ranking.chain([metal!("parts/sort_by_digit"), metal!("single_tile")])),
        Kernel::Copy => files.push(metal!("copy")),
        Kernel::Identity => files.push(metal!("identity")),
        Kernel::Widen => files.push(metal!("widen")),
        Kernel::Narrow => files.push(metal!("narrow")),
        Kernel::CountValues => files.extend([values, metal!("count_values")]),
        Kernel::ScanValues => files.extend([values, sums, metal!("scan_values")]),
        Kernel::Fill => files.extend([values, sums, metal!("fill")]),
        Kernel::TopK => files.extend(ranking.chain([metal!("parts/positions"), metal!("top_k")])),
        Kernel::IvfDistance => files = vec![metal!("parts/group"), search, metal!("ivf_distance")],
        Kernel::Nearest => files = vec![metal!("parts/group"), search, metal!("nearest")],
        Kernel::Upsweep | Kernel::Spine | Kernel::Downsweep => return None,
        Kernel::Segments | Kernel::SegmentNetwork | Kernel::SegmentTile | Kernel::LongSegments => return None,
        Kernel::PickCount | Kernel::PickDigit | Kernel::PickTally | Kernel::PickSpine | Kernel::Pick => return None,
    }
    let mut text = String::from("#include <metal_stdlib>\n\nusing namespace metal;\n\n");
    // The subgroup histograms of the MSL kernels have no bank padding.
    let variant = &Variant { runs: false, ..*variant };
    for (name, value) in constants(variant).into_iter().chain([("LOOK", tuning::LOOK)]) {
        writeln!(text, "#define {name} {value}u").expect("a string takes all");
    }
    for file in files {
        text.push('\n');
        text += &chosen(file, &|flag| is_set(variant, flag), &|count| times(variant, count));
    }
    Some(text)
}

/// Returns the text of a kernel's WGSL file.
pub fn file(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Begin => include_str!("../wgsl/begin.wgsl"),
        Kernel::Histogram => include_str!("../wgsl/histogram.wgsl"),
        Kernel::Scan => include_str!("../wgsl/scan.wgsl"),
        Kernel::CountValues => include_str!("../wgsl/count_values.wgsl"),
        Kernel::ScanValues => include_str!("../wgsl/scan_values.wgsl"),
        Kernel::Onesweep => include_str!("../wgsl/onesweep.wgsl"),
        Kernel::Buckets => include_str!("../wgsl/buckets.wgsl"),
        Kernel::BucketTile => include_str!("../wgsl/bucket_tile.wgsl"),
        Kernel::BucketHistogram => include_str!("../wgsl/bucket_histogram.wgsl"),
        Kernel::BucketSweep => include_str!("../wgsl/bucket_sweep.wgsl"),
        Kernel::Upsweep => include_str!("../wgsl/upsweep.wgsl"),
        Kernel::Spine => include_str!("../wgsl/spine.wgsl"),
        Kernel::Downsweep => include_str!("../wgsl/downsweep.wgsl"),
        Kernel::SingleTile => include_str!("../wgsl/single_tile.wgsl"),
        Kernel::Segments => include_str!("../wgsl/segments.wgsl"),
        Kernel::SegmentNetwork => include_str!("../wgsl/segment_network.wgsl"),
        Kernel::SegmentTile => include_str!("../wgsl/segment_tile.wgsl"),
        Kernel::LongSegments => include_str!("../wgsl/long_segments.wgsl"),
        Kernel::PickCount => include_str!("../wgsl/pick_count.wgsl"),
        Kernel::PickDigit => include_str!("../wgsl/pick_digit.wgsl"),
        Kernel::PickTally => include_str!("../wgsl/pick_tally.wgsl"),
        Kernel::PickSpine => include_str!("../wgsl/pick_spine.wgsl"),
        Kernel::Pick => include_str!("../wgsl/pick.wgsl"),
        Kernel::Copy => include_str!("../wgsl/copy.wgsl"),
        Kernel::Identity => include_str!("../wgsl/identity.wgsl"),
        Kernel::Widen => include_str!("../wgsl/widen.wgsl"),
        Kernel::Narrow => include_str!("../wgsl/narrow.wgsl"),
        Kernel::Fill => include_str!("../wgsl/fill.wgsl"),
        Kernel::TopK => include_str!("../wgsl/top_k.wgsl"),
        Kernel::IvfDistance => include_str!("../wgsl/ivf_distance.wgsl"),
        Kernel::Nearest => include_str!("../wgsl/nearest.wgsl"),
    }
}

fn parts(variant: &Variant) -> Vec<&'static str> {
    let (key, sort, schedule) = (part!("key"), part!("sort"), part!("schedule"));
    let rows = if variant.has_wide_digits() { part!("wide_rows") } else { part!("rows") };
    let ranking = match variant.ranking {
        Some(Ranking::Ballot { .. }) => vec![part!("threads"), part!("lanes"), rows, part!("rank_by_ballot")],
        Some(Ranking::Counters) => vec![part!("threads"), part!("sums"), part!("rank_by_counters")],
        None => vec![],
    };
    let moving = [part!("value"), part!("board"), part!("places"), part!("move_tile")];
    let (sweep, held) = (part!("sweep"), [part!("sort_by_digit"), part!("held_tile")]);
    let lists = (variant.network_keys > 0).then_some(part!("lists"));
    let table = lists.into_iter().chain([part!("bucket_table")]);
    let mut parts = vec![part!("number")];
    match variant.kernel {
        Kernel::Begin => parts.extend([key, sort, part!("call")]),
        Kernel::Histogram => parts.extend([key, sort, part!("source"), part!("counts")]),
        Kernel::Scan => parts.extend([key, sort, part!("sums")]),
        Kernel::Onesweep => parts.extend([key, sort, schedule].into_iter().chain(moving).chain(ranking).chain([sweep])),
        Kernel::Buckets => parts.extend([key, sort, schedule].into_iter().chain(table).chain([part!("sums")])),
        Kernel::BucketTile => {
            parts.extend([key, sort, schedule, part!("value"), part!("board")].into_iter().chain(ranking).chain(held));
        }
        Kernel::BucketHistogram => {
            parts.extend([key, sort, schedule, part!("value")].into_iter().chain(table).chain([part!("sums"), part!("counts")]));
        }
        Kernel::BucketSweep => {
            parts.extend([key, sort, schedule].into_iter().chain(table).chain(moving).chain(ranking).chain([sweep]));
        }
        Kernel::Segments => parts.extend([key, sort, part!("call")].into_iter().chain(lists)),
        Kernel::SegmentNetwork => parts.extend([key, sort, part!("value")].into_iter().chain(lists)),
        Kernel::SegmentTile => {
            let known = [key, sort, part!("value"), part!("board")];
            parts.extend(known.into_iter().chain(lists).chain(ranking).chain(held));
        }
        Kernel::PickCount | Kernel::PickTally => parts.extend([key, sort, part!("source"), part!("bar"), part!("pick")]),
        Kernel::PickDigit => parts.extend([key, sort, part!("sums"), part!("pick")]),
        Kernel::PickSpine => parts.extend([part!("sums"), part!("pick")]),
        Kernel::Pick => parts.extend([key, sort, part!("source"), part!("bar"), part!("sums"), part!("pick")]),
        Kernel::LongSegments => parts.extend([key, sort].into_iter().chain(table)),
        Kernel::Upsweep => parts.extend([key, sort, schedule, part!("pass"), part!("places")]),
        Kernel::Spine => parts.extend([schedule, part!("pass"), part!("sums")]),
        Kernel::Downsweep => parts.extend([key, sort, schedule, part!("pass")].into_iter().chain(moving).chain(ranking)),
        Kernel::SingleTile => {
            let known = [key, sort, part!("call"), part!("source"), part!("value"), part!("board")];
            parts.extend(known.into_iter().chain(ranking).chain(held));
        }
        Kernel::TopK => {
            let known = [key, sort, part!("call"), part!("source"), part!("board"), part!("bar")];
            parts.extend(known.into_iter().chain(ranking));
            // The parts of the ranking with counters include the sums already.
            if variant.ranking != Some(Ranking::Counters) {
                parts.push(part!("sums"));
            }
            parts.push(part!("positions"));
        }
        Kernel::IvfDistance | Kernel::Nearest => parts = vec![part!("search")],
        Kernel::Copy => parts.extend([schedule, part!("due")]),
        Kernel::Identity => parts.extend([key, sort, schedule]),
        Kernel::Widen => parts.extend([key, sort, part!("source")]),
        Kernel::Narrow => parts.extend([key, sort, schedule]),
        Kernel::CountValues => parts.extend([key, sort, part!("values")]),
        Kernel::ScanValues | Kernel::Fill => parts.extend([key, sort, part!("values"), part!("sums")]),
    }
    parts
}

/// Returns the number of repetitions of a `#repeat`; `None` if its lines become a loop.
fn times(variant: &Variant, count: &str) -> Option<u32> {
    match count {
        "KEYS" => variant.unrolled.then_some(variant.keys),
        "PAIRS" => variant.unrolled.then_some(variant.keys / 2),
        "CHUNK" => variant.unrolled.then_some(variant.chunk()),
        "DIGITS" => variant.unrolled.then_some(digits(variant)),
        "SLICE_KEYS" => variant.unrolled.then_some(variant.slice_keys()),
        "BATCH" => Some(tuning::HISTOGRAM_BATCH),
        "COUNTED" => Some(counted(variant)),
        "RUN" => Some(tuning::DISTANCE_RUN),
        "LOOK" => Some(tuning::LOOK),
        "LOOK_DIGITS" => Some(tuning::LOOK_DIGITS),
        "ROWS" => variant.unrolled.then_some(rows(variant)),
        "OWNERS" => variant.unrolled.then_some(owners(variant)),
        _ => unreachable!("no count {count}"),
    }
}

/// Returns whether the flag of an `#if` is set.
fn is_set(variant: &Variant, flag: &str) -> bool {
    match flag {
        "KEY_1" => variant.key_words() == 1,
        "KEY_2" => variant.key_words() == 2,
        "KEY_4" => variant.key_words() == 4,
        "VALUES" => variant.value_words > 0,
        "VALUE_1" => variant.value_words == 1,
        "VALUE_2" => variant.value_words == 2,
        "VALUE_3" => variant.value_words == 3,
        "VALUE_4" => variant.value_words == 4,
        "INDEXED" => variant.indexed,
        "PACKED" => variant.packed,
        "STATUS" => variant.look_back,
        "PARTITIONS" => variant.partitions,
        "BUCKETS" => variant.partitions || variant.batch > 0 || variant.small_bucket > 0,
        "BATCHES" => variant.batch > 0,
        "LISTS" => variant.network_keys > 0,
        "CARRIES" => variant.indexed,
        "EIGHT" => variant.keys == 8,
        "COPIES" => variant.copies,
        "SEGMENTED" => variant.segmented,
        "NESTED" => variant.nested,
        "ALIASED" => variant.aliased,
        "QUADS" => variant.vectors.is_some_and(|vectors| vectors.quads),
        "HALF" => variant.vectors.is_some_and(|vectors| vectors.precision == Precision::F16),
        "L2" => variant.vectors.is_some_and(|vectors| vectors.metric == Metric::L2),
        "INNER" => variant.vectors.is_some_and(|vectors| vectors.metric == Metric::InnerProduct),
        "COSINE" => variant.vectors.is_some_and(|vectors| vectors.metric == Metric::Cosine),
        "UNROLLED" => variant.unrolled,
        "WIDE" => variant.has_wide_digits(),
        "HALVES" => variant.packs_counts(),
        "ARRIVALS" => is_set(variant, "BALLOT_1") && !variant.has_wide_digits(),
        "RUNS" => variant.runs,
        // Only a pass without values may reorder keys with the same bits: the result is the same.
        "REORDERS" => matches!(variant.kernel, Kernel::Onesweep | Kernel::BucketSweep) && variant.value_words == 0,
        "SUBGROUPS" => matches!(variant.ranking, Some(Ranking::Ballot { .. })),
        "BALLOT_1" => matches!(variant.ranking, Some(Ranking::Ballot { wide: false, .. })),
        _ => unreachable!("no flag {flag}"),
    }
}

/// Returns the number of digits that a kernel counts. The keys of a bucket share the highest digit, so it is left out; the
/// keys of a segment may differ in it.
fn counted(variant: &Variant) -> u32 {
    variant.key_digits() - u32::from(variant.kernel == Kernel::BucketHistogram && variant.network_keys == 0)
}

/// Returns the number of subgroup histograms.
fn rows(variant: &Variant) -> u32 {
    match variant.ranking {
        Some(Ranking::Ballot { rows, .. }) => rows,
        _ => 1,
    }
}

/// Returns the largest number of digit values whose counts one thread sums up.
fn digits(variant: &Variant) -> u32 {
    variant.radix().div_ceil(variant.group.clamp(1, variant.radix()))
}

/// Returns the largest number of subgroups whose threads sum up counts.
fn owners(variant: &Variant) -> u32 {
    (rows(variant) * RADIX).div_ceil(variant.group.max(RADIX))
}

/// Returns the constants of a kernel, with their names. They are the same in both languages.
fn constants(variant: &Variant) -> impl IntoIterator<Item = (&'static str, u32)> {
    let Variant { group, keys, tile, batch, .. } = *variant;
    let counts = matches!(variant.kernel, Kernel::Histogram | Kernel::BucketHistogram).then(|| ("COUNTED", counted(variant)));
    let small = matches!(variant.kernel, Kernel::Buckets | Kernel::BucketTile).then_some(("SMALL_BUCKET", variant.small_bucket));
    let lists = (variant.network_keys > 0).then_some([
        ("SMALL_BUCKET", variant.small_bucket),
        ("NETWORK_KEYS", variant.network_keys),
        ("PAIRS", variant.network_keys / 2),
        ("NETWORK_GROUP", tuning::NETWORK_GROUP),
        ("SMALL_CLASS", SegmentLists::SMALL),
        ("LONG_CLASS", SegmentLists::LONG),
        ("CLASSES", SegmentLists::CLASSES),
    ]);
    let values = (variant.counters > 0).then(|| [("COUNTERS", variant.counters), ("SPANS", variant.spans())]);
    let batches = (batch > 0).then_some([
        ("BATCH_KEYS", batch),
        ("BATCH_WORDS", BATCH_WORDS),
        ("BATCH_TICKETS", abi::BATCH_TICKETS),
        ("TILE_WORDS", TILE_WORDS),
    ]);
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
        ("SUMS", variant.vectors.map_or(0, Vectors::sums)),
        ("TEAM", variant.vectors.map_or(1, |vectors| vectors.team)),
        ("LAST_LEVEL", LAST_LEVEL),
        ("COPY_ODD", When::Odd as u32),
        ("COPY_EVEN", When::Even as u32),
        ("COPY_ALWAYS", When::Always as u32),
        ("HISTOGRAM_TILE", group * keys),
        ("COPY_TILE", tuning::COPY_TILE),
        ("SELECT_SEGMENT", tuning::SELECT_SEGMENT),
        ("DIGIT_RUN", tuning::DIGIT_RUN),
        ("SPIN_LIMIT", tuning::SPIN_LIMIT),
        ("BATCH", tuning::HISTOGRAM_BATCH),
        ("KEY_BITS", variant.key_bits),
        ("KEY_WORDS", variant.key_words()),
        ("KEYS_PER_WORD", (32 / variant.key_bits).max(1)),
        ("GROUP", group),
        ("KEYS", keys),
        ("TILE", tile),
        ("ROWS", rows(variant)),
        ("OWNERS", owners(variant)),
        ("DIGITS", digits(variant)),
        ("BOARD", variant.board_words()),
        ("SLICE", variant.slice()),
        ("SLICE_KEYS", variant.slice_keys()),
        ("CHUNK", variant.chunk()),
    ]
    .into_iter()
    .chain(variant.has_wide_digits().then_some(("LOOK_DIGITS", tuning::LOOK_DIGITS)))
    .chain(counts)
    .chain(values.into_iter().flatten())
    .chain(small)
    .chain(batches.into_iter().flatten())
    .chain(lists.into_iter().flatten())
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

/// Returns whether a kernel declares `binding` as a writable storage buffer.
pub fn writes(variant: &Variant, binding: usize) -> bool {
    let written: &[usize] = match variant.kernel {
        Kernel::Pick if variant.aliased => &[1, 3, 4, 5],
        Kernel::TopK if variant.aliased => &[6, 7],
        Kernel::Begin => &[5],
        Kernel::Histogram => &[1, 3],
        Kernel::Scan | Kernel::CountValues | Kernel::ScanValues => &[1],
        Kernel::Onesweep => &[2, 3, 4, 6, 8],
        Kernel::Buckets => &[1, 2],
        Kernel::BucketTile => &[1, 2, 3, 4, 5],
        Kernel::BucketHistogram => &[2, 3, 4, 6, 8],
        Kernel::BucketSweep => &[3, 4, 5, 6, 8, 10],
        Kernel::Downsweep => &[2, 3, 5, 7],
        Kernel::Upsweep => &[2, 3],
        Kernel::Spine => &[1, 2],
        Kernel::SingleTile => &[5, 6],
        Kernel::Segments => &[7, 10],
        Kernel::SegmentNetwork | Kernel::SegmentTile => &[1, 3, 4],
        Kernel::LongSegments => &[1, 3],
        Kernel::PickCount => &[2],
        Kernel::PickDigit => &[2, 3, 4],
        Kernel::PickTally => &[1, 2],
        Kernel::PickSpine => &[0, 1],
        Kernel::Pick => &[1, 4, 5],
        Kernel::Copy => &[4, 6],
        Kernel::Identity => &[1, 2],
        Kernel::Fill => &[2],
        Kernel::Widen => &[1, 3],
        Kernel::Narrow => &[1, 4],
        Kernel::TopK => &[7],
        Kernel::IvfDistance => &[6, 7, 8],
        Kernel::Nearest => &[4, 5],
    };
    written.contains(&binding)
}
