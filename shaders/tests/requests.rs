//! What requests and plans say of bytes, words and masks. Executors trust these numbers when they bind buffers.

use polysort_core::{Error, Options, Spec};
use polysort_shaders::plan::{
    Algorithm, Blocked, Buffer, Class, Command, Facts, FindRuns, Gather, Groups, Kernel, KernelShape, Length, MAX_GATHERED_BYTES,
    MergePlan, MergeRequest, Number, Payload, Place, RADIX, Request, SearchPlan, SearchSize, SegmentLists, Segmented, SortPlan,
    Top, tuning,
};
use polysort_shaders::prelude;
use polysort_vector::{Precision, Shape};

fn facts() -> Facts {
    Facts::new(Some((32, 32)), 48 << 10, 1024)
}

fn keys(key_bits: u32, max: u64) -> Request {
    let spec = match key_bits {
        16 => Spec::of::<u16>(Options::ascending()),
        32 => Spec::of::<u32>(Options::ascending()),
        64 => Spec::of::<u64>(Options::ascending()),
        _ => Spec::of::<u128>(Options::ascending()),
    };
    Request::keys(key_bits, spec.expect("all bits of a key"), max)
}

const RUNS: FindRuns = FindRuns {
    count: Place { first: 3 },
    unique: Some(Place { first: 6 }),
    offsets: Some(Place { first: 2 }),
    lengths: Some(Place { first: 1 }),
};

const GATHER: Gather = Gather { element_bytes: 4, elements: 500, from: Place { first: 0 }, to: Place { first: 0 } };

/// The first command of a plan that launches the kernel.
fn launch(plan: &SortPlan, kernel: Kernel) -> &Command {
    plan.all_commands().find(|command| command.variant.kernel() == kernel).expect("the plan has the kernel")
}

#[test]
fn a_key_or_a_segment_takes_so_many_bytes_of_its_largest_binding() {
    assert_eq!([16, 32, 64, 128].map(|bits| keys(bits, 10).unit_bytes()), [4, 4, 8, 16]);
    // Two words of bounds, or the selected indices.
    let of_segments = |k| keys(32, 10).select(Top { k, segmented: true }).unit_bytes();
    assert_eq!([1, 2, 3, 100].map(of_segments), [8, 8, 12, 400]);
}

#[test]
fn outputs_of_runs_have_room_for_a_run_of_each_key() {
    let bytes = |key_bits, max| {
        let request = keys(key_bits, max).find_runs(RUNS);
        [Buffer::RunCount, Buffer::Unique, Buffer::RunOffsets, Buffer::RunLengths]
            .map(|buffer| request.run_output(buffer).unwrap().1)
    };
    assert_eq!(bytes(16, 5), [4, 10, 24, 20]);
    assert_eq!(bytes(128, 1000), [4, 16_000, 4004, 4000]);
    // Of no keys, there is one offset. No binding is empty.
    assert_eq!(bytes(16, 0), [4, 2, 4, 4]);
    assert_eq!(keys(16, 5).find_runs(FindRuns { lengths: None, ..RUNS }).run_output(Buffer::RunLengths), None);
}

/// A workgroup that finds runs marks 32 keys in a word, and each thread adds up one word.
#[test]
fn a_tile_of_runs_has_whole_words_of_marks_on_every_device() {
    for (max_group, lanes) in [256, 300, 384, 511, 512, 1024]
        .into_iter()
        .flat_map(|most| [None, Some((8, 8)), Some((32, 32))].map(|lanes| (most, lanes)))
    {
        for (key_bits, max) in [16, 32, 64, 128].into_iter().flat_map(|bits| [1 << 10, 1 << 20, 1 << 24].map(|max| (bits, max))) {
            let facts = Facts::new(lanes, 48 << 10, max_group);
            let plan = SortPlan::new(keys(key_bits, max).find_runs(RUNS), &facts).unwrap();
            let runs = launch(&plan, Kernel::Runs).variant;
            let tile = runs.tile().unwrap();
            assert!(
                runs.group <= max_group && tile.is_multiple_of(32) && tile / 32 <= runs.group,
                "{max_group}, {lanes:?}: {runs:?}"
            );
        }
    }
}

/// The position counts in keys, and the place in words.
#[test]
fn a_search_for_runs_knows_at_which_key_its_unique_keys_begin() {
    for (key_bits, first) in [(32, 6), (64, 3)] {
        let plan = SortPlan::new(keys(key_bits, 1000).find_runs(RUNS), &facts()).unwrap();
        assert_eq!(launch(&plan, Kernel::Runs).numbers[..4], [first, 2, 1, 3].map(Number::Is), "{key_bits} bits");
    }
}

#[test]
fn one_request_has_one_task() {
    let indices = keys(32, 1000);
    let refused = |request: Request| matches!(SortPlan::new(request, &facts()), Err(Error::Unsupported { .. }));
    for request in [indices.find_runs(RUNS), indices.gather(GATHER)] {
        assert!(!refused(request));
        assert!(refused(Request { payload: Payload::Indices, ..request }));
        assert!(refused(Request { top: Some(Top { k: 3, segmented: false }), ..request }));
    }
    assert!(refused(indices.find_runs(RUNS).gather(GATHER)));
    // A selection has results, and these are indices.
    let selection = indices.select(Top { k: 3, segmented: false });
    assert!(!refused(selection));
    assert!(refused(indices.select(Top { k: 0, segmented: false })));
    assert!(
        refused(Request { payload: Payload::None, ..selection }) && refused(Request { payload: Payload::Words(1), ..selection })
    );
}

#[test]
fn selections_from_segments_have_as_many_keys_as_a_tile() {
    let most = facts().most_selected();
    let plan = |k, segmented| SortPlan::new(keys(32, 100).select(Top { k, segmented }), &facts());
    assert!(plan(most, true).is_ok());
    assert!(
        matches!(plan(most + 1, true), Err(Error::Unsupported { .. }))
            && matches!(plan(3 * most, true), Err(Error::Unsupported { .. }))
    );
    assert!(plan(3 * most, false).is_ok());
    // 100 words for each segment fill a binding of 40,000 bytes sooner than two bounds do.
    let facts = Facts { max_binding: 40_000, ..facts() };
    let of_segments = |max, k| {
        let segments = Segmented { max, begins: Place::default(), ends: Place::default() };
        SortPlan::new(keys(32, 1000).select(Top { k, segmented: true }).in_segments(segments), &facts)
    };
    for (k, limit) in [(100, 100), (2, 5000), (1, 5000)] {
        assert!(of_segments(limit, k).is_ok());
        let refused = of_segments(limit + 1, k);
        let expected = (u64::from(limit) + 1, u64::from(limit));
        assert!(matches!(refused, Err(Error::TooLong { asked, limit, .. }) if (asked, limit) == expected), "{k}: {refused:?}");
    }
}

#[test]
fn the_tile_of_a_sort_by_counting_is_that_of_its_counts() {
    let plan = SortPlan::new(Request { algorithm: Some(Algorithm::Counting), ..keys(16, 1 << 22) }, &facts()).unwrap();
    assert_eq!(Some(plan.tile), launch(&plan, Kernel::CountValues).variant.tile());
}

/// Each workgroup counts the keys of its tile, and two counts of each tile of marks are kept.
#[test]
fn workgroups_of_a_selection_cover_all_keys() {
    let max = 1 << 24;
    let plan = SortPlan::new(keys(128, max).select(Top { k: 5000, segmented: false }), &facts()).unwrap();
    let (count, tally) = (launch(&plan, Kernel::PickCount), launch(&plan, Kernel::PickTally));
    let groups = |of| Groups::Each { units: 1, of };
    assert_eq!(count.groups, groups(count.variant.group * count.variant.shape.keys().unwrap()));
    assert_eq!(tally.groups, groups(32 * tally.variant.group));
    let kept = plan.scratch.iter().find(|(buffer, _)| *buffer == Buffer::Status).unwrap().1;
    assert_eq!(kept, 8 * max.div_ceil(u64::from(32 * tally.variant.group)));
    // A digit is looked for among all digits of a key.
    assert_eq!(launch(&plan, Kernel::PickDigit).variant.key_digits(), 16);
}

/// Keys of two to a word, and keys that lie at half a place, are gathered from the offsets of their runs.
#[test]
fn a_search_for_runs_writes_offsets_if_its_unique_keys_are_gathered() {
    let written = |key_bits, unique| {
        let runs = FindRuns { unique, offsets: None, lengths: None, ..RUNS };
        let plan = SortPlan::new(keys(key_bits, 1000).find_runs(runs), &facts()).unwrap();
        let KernelShape::Runs { outputs, .. } = launch(&plan, Kernel::Runs).variant.shape else { panic!("a search for runs") };
        (outputs.unique, outputs.offsets)
    };
    let at = |first| Some(Place { first });
    assert_eq!(
        [(16, at(0)), (64, at(1)), (64, at(2)), (64, None)].map(|(bits, unique)| written(bits, unique)),
        [(false, true), (false, true), (true, false), (false, false)]
    );
}

#[test]
fn bindings_of_a_sort_have_all_bytes_that_it_touches() {
    let at = |first| Place { first };
    let segments = Segmented { max: 70, begins: at(1), ends: at(4) };
    let request = Request { keys: at(5), values: at(2), ..keys(16, 1001).with_values(3).in_segments(segments) };
    let plan = SortPlan::new(request, &facts()).unwrap();
    let touched = |buffer| plan.touched_bytes(buffer);
    // 2002 bytes of keys are 501 words.
    assert_eq!(touched(Buffer::Keys), Some(20 + 2004));
    assert_eq!(touched(Buffer::Values), Some(8 + 12 * 1001));
    assert_eq!([Buffer::Begins, Buffer::Ends].map(touched), [Some(4 + 280), Some(16 + 280)]);
    assert_eq!(touched(Buffer::Count), None);
    // Begin and end of each of 70 segments, 3 indices of each.
    let plan = SortPlan::new(keys(32, 70).select(Top { k: 3, segmented: true }), &facts()).unwrap();
    assert_eq!((plan.touched_bytes(Buffer::Bounds), plan.touched_bytes(Buffer::Keys)), (Some(560), None));
    assert_eq!(plan.touched_bytes(Buffer::Values), Some(840));
    // 500 elements of 12 bytes; one for each of 70 indices.
    let gather = Gather { element_bytes: 12, from: at(3), to: at(7), ..GATHER };
    let plan = SortPlan::new(keys(32, 70).gather(gather), &facts()).unwrap();
    assert_eq!(
        [Buffer::GatherFrom, Buffer::GatherTo].map(|buffer| plan.touched_bytes(buffer)),
        [Some(12 + 6000), Some(28 + 840)]
    );
}

/// The caller's buffer has 8 bytes for each index, and the scratch 4.
#[test]
fn indices_of_64_bits_have_two_words_in_the_buffer_of_the_caller() {
    let wide = |request: Request| SortPlan::new(request.with_wide_indices(Place { first: 3 }), &facts());
    let segments = Segmented { max: 70, begins: Place::default(), ends: Place::default() };
    let top = |k, segmented| keys(32, 1000).select(Top { k, segmented });
    let requests = [
        (keys(32, 1000).for_indices(), 1000),
        (keys(32, 0).for_indices(), 1),
        (keys(32, 1000).for_indices().in_segments(segments), 1000),
        (top(20, false), 20),
        // More than the keys, and more than one workgroup selects.
        (top(30_000, false), 30_000),
        (top(3, true).in_segments(segments), 210),
    ];
    for (request, indices) in requests {
        let plan = wide(request).unwrap();
        let touched = |buffer| plan.touched_bytes(buffer);
        assert_eq!([Buffer::WideIndices, Buffer::Values].map(touched), [Some(12 + 8 * indices), Some(4 * indices)], "{plan}");
        assert!(plan.scratch.contains(&(Buffer::Values, 4 * indices)) && plan.request.value_buffer() == Buffer::WideIndices);
        for commands in [plan.long_commands(), plan.short_commands()] {
            let last = commands.last().filter(|last| last.variant.kernel() == Kernel::WidenIndices);
            assert!(commands.is_empty() || last.is_some(), "{plan}");
        }
    }
    // The sort that follows a selection moves the numbers of 64 bits.
    let plan = wide(top(5000, false)).unwrap();
    let then = plan.then.as_deref().expect("all workgroups select, and a sort follows");
    assert_eq!((then.request.payload, then.request.values), (Payload::Words(2), Place { first: 3 }));
    let others = [keys(32, 1000), keys(32, 1000).with_values(1), keys(32, 1000).find_runs(RUNS), keys(32, 1000).gather(GATHER)];
    assert!(others.into_iter().all(|request| matches!(wide(request), Err(Error::Unsupported { .. }))));
    let elsewhere = Request { values: Place { first: 4 }, ..keys(32, 1000).for_indices() };
    assert!(matches!(wide(elsewhere), Err(Error::Unsupported { .. })));
    // As many indices as fit a binding, and one more.
    let facts = Facts { max_binding: 1 << 16, ..facts() };
    let refused = |request: Request| match SortPlan::new(request.with_wide_indices(Place::default()), &facts) {
        Err(Error::TooLong { asked, limit: 8192, .. }) => Some(asked),
        other => other.map(|_| None).unwrap(),
    };
    assert_eq!([8192, 8193].map(|max| refused(keys(32, max).for_indices())), [None, Some(8193)]);
    assert_eq!([8192, 8193].map(|k| refused(top(k, false))), [None, Some(8193)]);
}

#[test]
fn vectors_of_a_page_start_at_whole_words() {
    let shape = |dimension, precision| Shape::new(dimension, 100).precision(precision);
    let strides = |dimension| {
        [Precision::F32, Precision::F16].map(|of| {
            let shape = shape(dimension, of);
            (SearchPlan::stride(shape), SearchPlan::stride_bytes(shape))
        })
    };
    // Four numbers at a time, if they are all.
    assert_eq!(strides(8), [(2, 32), (2, 16)]);
    assert_eq!(strides(7), [(7, 28), (8, 16)]);
    assert_eq!(strides(6), [(6, 24), (6, 12)]);
}

#[test]
fn bindings_of_a_search_have_all_bytes_that_it_touches() {
    let size = SearchSize { queries: 5, candidates: 50, entries: 70, page_slots: 9, selected: 12 };
    let touched = |buffer| SearchPlan::touched_bytes(Shape::new(7, 100), size, buffer);
    assert_eq!([Buffer::Queries, Buffer::Vectors, Buffer::Entries].map(touched), [4 * 35, 28 * 9, 280]);
    assert_eq!([Buffer::Listed, Buffer::Distances, Buffer::Slots].map(touched), [200; 3]);
    assert_eq!([Buffer::Positions, Buffer::NearDistances, Buffer::NearSlots].map(touched), [48; 3]);
    // A kernel may read four numbers at a time.
    assert_eq!([Buffer::Offsets, Buffer::Faults].map(touched), [24, 16]);
    let no_slots = SearchSize { page_slots: 0, ..size };
    assert_eq!(SearchPlan::touched_bytes(Shape::new(7, 100), no_slots, Buffer::Vectors), 28, "a page has one vector");
}

/// A thread keeps key, rank and value of each of its keys. Kinds that were tuned have more.
#[test]
fn passes_that_were_not_tuned_keep_about_sixty_words_in_registers() {
    for (key_words, value_words) in [(1, 2), (2, 2), (2, 3), (4, 0), (4, 1), (4, 4)] {
        let keys = tuning::pass(Class::Nvidia, key_words, value_words, 1 << 26).keys;
        let words = keys * (1 + key_words + value_words);
        assert!(keys.is_multiple_of(2) && (40..=60).contains(&words), "{keys} keys of {key_words} words with {value_words}");
    }
}

/// A workgroup reorders its keys in slices, each of up to 23 KiB if four are enough.
#[test]
fn tiles_of_many_bytes_are_reordered_in_four_slices() {
    let slices = |key_words, value_words| tuning::pass(Class::Nvidia, key_words, value_words, 1 << 26).slices;
    // Half of the keys of a tile of 32 keys a thread, of two words each, is more.
    assert_eq!([slices(1, 0), slices(1, 1), slices(2, 0), slices(2, 1)], [2, 2, 4, 2]);
    for (key_words, value_words) in [(1, 0), (1, 1), (2, 0), (2, 1), (1, 4), (4, 0), (4, 4)] {
        let shape = tuning::pass(Class::Nvidia, key_words, value_words, 1 << 26);
        let bytes = 4 * shape.group * shape.keys.div_ceil(shape.slices) * key_words.max(value_words);
        assert!(bytes <= 23 << 10, "{shape:?}: {bytes} bytes");
    }
}

#[test]
fn elements_of_a_gather_have_one_or_two_bytes_or_whole_words() {
    let is_possible = |element_bytes| SortPlan::new(keys(32, 1000).gather(Gather { element_bytes, ..GATHER }), &facts()).is_ok();
    let most = MAX_GATHERED_BYTES;
    assert!([1, 2, 4, 8, 12, most].into_iter().all(is_possible));
    assert!(![0, 3, 5, 6, most - 2, most + 4].into_iter().any(is_possible));
}

/// If elements move within one buffer, the kernel binds it once for reading and writing.
#[test]
fn the_kernel_of_a_gather_knows_whether_its_buffers_are_one() {
    for aliased in [false, true] {
        let plan = SortPlan::new(Request { aliased, ..keys(32, 1000).gather(GATHER) }, &facts()).unwrap();
        assert_eq!(launch(&plan, Kernel::Gather).variant.shape, KernelShape::Gather { aliased });
    }
}

#[test]
fn words_of_a_bucket_table_follow_one_another() {
    let request = keys(64, 1 << 22);
    let plan = SortPlan::new(Request { algorithm: Some(Algorithm::MsdHybrid), ..request }, &facts()).unwrap();
    let table = plan.bucket_table().expect("a hybrid sort has a table");
    let offsets = (0..3).flat_map(|bucket| (0..table.lower_digits).map(move |digit| table.smaller(bucket, digit)));
    assert!(offsets.eq((0..3 * table.lower_digits).map(|at| at * RADIX)));
}

#[test]
fn the_length_of_a_sort_says_which_commands_it_takes() {
    let plan = SortPlan::new(keys(32, 1 << 20), &facts()).unwrap();
    let lengths = |counts: &[u64]| Vec::from_iter(counts.iter().map(|&count| plan.length(Some(count))));
    assert_eq!(lengths(&[0, 1, 2, 1 << 20]), [Length::Nothing, Length::Nothing, Length::Short, Length::Long]);
    assert_eq!(plan.length(None), Length::Long, "the count may be as large as the request");
    let of_short = plan.short_commands();
    assert!(!of_short.is_empty() && of_short.iter().all(|command| command.variant.kernel() != Kernel::Onesweep));
    // Without keys, a selection and a search for runs write their results too, and an argsort of one key its index.
    let length = |request, count| SortPlan::new(request, &facts()).unwrap().length(Some(count));
    for request in [keys(32, 1000).select(Top { k: 3, segmented: false }), keys(32, 1000).find_runs(RUNS)] {
        assert_eq!([0, 1].map(|count| length(request, count)), [Length::Long; 2]);
    }
    assert_eq!([0, 1].map(|count| length(keys(32, 1000).for_indices(), count)), [Length::Nothing, Length::Short]);
}

#[test]
fn the_tile_of_a_merge_fits_in_its_workgroup_memory() {
    for key_bits in [16, 32, 64, 128] {
        let spec = keys(key_bits, 1).spec;
        let tiles = MergePlan::new(MergeRequest::keys(key_bits, spec, [1 << 20, 500]), &facts()).unwrap().tiles;
        let words = tiles.variant.tile().unwrap() * key_bits.div_ceil(32);
        assert!(tiles.variant.workgroup_bytes() > 4 * words, "{key_bits} bits");
    }
}

#[test]
fn one_in_so_many_tiles_is_blocked() {
    let blocked = Blocked::one_of(6);
    assert!((0..60).filter(|&tile| blocked.contains(tile)).eq((3..60).step_by(6)));
    let run = Blocked::run(4, 7);
    assert!((0..60).filter(|&tile| run.contains(tile)).eq(4..7));
}

#[test]
fn kernels_of_a_hybrid_know_which_buckets_one_workgroup_sorts() {
    for small_bucket in [None, Some(500)] {
        let request = Request { algorithm: Some(Algorithm::MsdHybrid), small_bucket, ..keys(32, 1 << 22) };
        let plan = SortPlan::new(request, &facts()).unwrap();
        let most = |kernel| match launch(&plan, kernel).variant.shape {
            KernelShape::Buckets { small_bucket, .. } | KernelShape::BucketTile { small_bucket, .. } => small_bucket,
            shape => panic!("{shape:?}"),
        };
        assert!(plan.small_bucket > 0 && small_bucket.is_none_or(|small| small == plan.small_bucket));
        // All keys of a bucket have the same first digit, which is not counted again.
        assert!(prelude::wgsl(&launch(&plan, Kernel::BucketHistogram).variant).contains("const COUNTED: u32 = 3u;"));
        assert_eq!([Kernel::Buckets, Kernel::BucketTile].map(most), [plan.small_bucket; 2]);
    }
}

/// The sort that follows a selection of many keys reads what the selection wrote, and writes where the caller wants the indices.
#[test]
fn selected_keys_are_sorted_by_the_same_order() {
    let spec = Spec::of::<half::f16>(Options::descending()).unwrap();
    let request =
        Request { values: Place { first: 5 }, ..Request::keys(16, spec, 1 << 20) }.select(Top { k: 50_000, segmented: false });
    for algorithm in [None, Some(Algorithm::ReduceThenScan)] {
        let plan = SortPlan::new(Request { algorithm, ..request }, &facts()).unwrap();
        let then = plan.then.as_deref().expect("all workgroups select, and a sort follows");
        assert_eq!((then.request.key_bits, then.request.max, then.request.payload), (32, 50_000, Payload::Words(1)));
        assert_eq!((then.request.values, then.request.algorithm), (request.values, algorithm));
        assert_eq!((then.masks, then.window), (plan.masks, plan.window));
        assert_eq!([Some(10), Some(1 << 20), None].map(|count| plan.then_count(count)), [Some(10), Some(50_000), None]);
    }
}

/// Shorter segments have classes before those of longer ones. A device that binds too little for the lists says how many segments it takes.
#[test]
fn lists_have_room_for_the_segments_of_each_class() {
    assert_eq!([SegmentLists::NETWORKS, SegmentLists::SMALL, SegmentLists::LONG, SegmentLists::CLASSES], [8, 8, 9, 10]);
    let lists = SegmentLists { network_keys: 16, small: 6000, max: (1_000_000, 300_000) };
    // The fewest keys: 2, 17, 33, …; after those of the network, 2049; of the longest, 6001.
    let room = [300_000, 58_823, 30_303, 15_384, 7751, 3891, 1949, 975, 488, 166];
    assert!((0..SegmentLists::CLASSES).map(|class| lists.capacity(class)).eq(room));
    let request = |max| keys(32, 1 << 14).in_segments(Segmented { max, begins: Place { first: 0 }, ends: Place { first: 0 } });
    let facts = Facts { max_binding: 1 << 16, ..facts() };
    let refused = SortPlan::new(request(1 << 14), &facts);
    // Two words in each of 10 lists, and one more.
    assert!(matches!(refused, Err(Error::TooLong { limit: 780, .. })), "{refused:?}");
    assert!(SortPlan::new(request(780), &facts).is_ok());
}
