//! Plans are kept as text, so that none changes unseen. `INSTA_UPDATE=always cargo test` takes a change over.

use core::fmt::Write;
use polysort_core::{Error, Masks, Options, Spec, Word};
use polysort_shaders::plan::{
    Algorithm, Class, Facts, FindRuns, Gather, Groups, Kernel, MAX_KEYS, MergePlan, MergeRequest, Payload, Place, Request,
    Segmented, SortPlan, Top, Variant,
};

/// Devices that differ in what matters to a plan.
const DEVICES: [(&str, Facts); 6] = [
    ("4 lanes", Facts::new(Some((4, 4)), 32 << 10, 256)),
    ("16 lanes", Facts::new(Some((16, 16)), 32 << 10, 1024)),
    ("32 lanes", Facts::new(Some((32, 32)), 48 << 10, 1024)),
    ("Apple", Facts { class: Class::Apple, ..Facts::new(Some((32, 32)), 32 << 10, 1024) }),
    ("4 to 64 lanes", Facts::new(Some((4, 64)), 32 << 10, 1024)),
    ("no subgroups", Facts::new(None, 16 << 10, 256)),
];

/// A software driver with 32 lanes, or a device of an unknown vendor, gets no kernel whose subgroups go different ways.
#[test]
fn subgroups_go_different_ways_only_where_they_are_known_to_be_independent() {
    let request = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 1 << 20);
    let has_runs = |facts: Facts| {
        SortPlan::new(request, &facts)
            .unwrap()
            .long_commands()
            .iter()
            .any(|command| command.variant.shape.pass_tile().is_some_and(|tile| tile.runs))
    };
    let of = |class, lanes| has_runs(Facts { class, ..Facts::new(Some((lanes, lanes)), 48 << 10, 1024) });
    for class in [Class::Apple, Class::Nvidia, Class::Amd, Class::Intel] {
        assert!(of(class, 32) && !of(class, 16) && !of(class, 64), "{class:?}");
    }
    assert!(!of(Class::Software, 32) && !of(Class::Unknown, 32));
}

fn on_all_devices(request: Request) -> String {
    let mut text = String::new();
    for (name, facts) in DEVICES {
        match SortPlan::new(request, &facts) {
            Ok(plan) => writeln!(text, "== {name}\n{plan}").unwrap(),
            Err(error) => writeln!(text, "== {name}\n{error}\n").unwrap(),
        }
    }
    text
}

#[test]
fn plans_are_those_that_were_read() {
    let whole = Options::ascending();
    let keys = |bits, spec: Result<Spec, Error>| Request::keys(bits, spec.unwrap(), 1_000_000);
    let u32s = keys(32, Spec::of::<u32>(whole));
    let u64s = keys(64, Spec::of::<u64>(whole));
    let odd = Place { first: 3 };
    let wide = Some(Algorithm::WideDigits);
    let window = Options::descending().bits(5..60);
    let segments = Some(Segmented { max: 5000, begins: Place::default(), ends: Place { first: 1 } });
    let count_16 = Class::Nvidia.architecture().count_16.value.unwrap();
    let place = Some(Place { first: 2 });
    let runs = FindRuns { count: Place::default(), unique: place, offsets: place, lengths: place };
    let gather = Gather { element_bytes: 12, elements: 500, from: Place { first: 1 }, to: odd };
    let unique = FindRuns { offsets: None, lengths: None, ..runs };
    let requests = [
        ("u8", keys(8, Spec::of::<u8>(whole))),
        ("u8_with_values", keys(8, Spec::of::<u8>(whole)).with_values(1)),
        ("f16_descending_indices", keys(16, Spec::of::<half::f16>(Options::descending())).for_indices()),
        ("u16_few", Request { max: count_16 - 1, ..keys(16, Spec::of::<u16>(whole)) }),
        ("u16_many", Request { max: count_16, ..keys(16, Spec::of::<u16>(whole)) }),
        ("f16_counting", Request { algorithm: Some(Algorithm::Counting), ..keys(16, Spec::of::<half::f16>(whole)) }),
        ("u32", u32s),
        ("u32_with_values", u32s.with_values(2)),
        ("u32_window", keys(32, Spec::of::<u32>(Options::ascending().bits(3..21)))),
        ("u32_no_bits", keys(32, Spec::of::<u32>(Options::ascending().bits(5..5)))),
        ("u64_elsewhere", Request { keys: odd, values: odd, ..u64s.with_values(2) }),
        ("u128_indices", keys(128, Spec::of::<u128>(whole)).for_indices()),
        ("f32_wide_indices", u32s.for_indices().with_wide_indices(odd)),
        ("f32_wide_indices_of_segments", Request { segments, ..u32s.for_indices() }.with_wide_indices(odd)),
        ("f32_top_100_wide_indices", u32s.select(Top { k: 100, segmented: false }).with_wide_indices(odd)),
        ("f32_top_10_of_segments_wide_indices", u32s.select(Top { k: 10, segmented: true }).with_wide_indices(odd)),
        ("f32_top_100000_wide_indices", u32s.select(Top { k: 100_000, segmented: false }).with_wide_indices(odd)),
        ("u32_onesweep", Request { algorithm: Some(Algorithm::OneSweep), ..u32s }),
        ("u32_hybrid", Request { algorithm: Some(Algorithm::MsdHybrid), ..u32s }),
        ("u64_hybrid_indices", Request { algorithm: Some(Algorithm::MsdHybrid), batch: Some(1 << 19), ..u64s.for_indices() }),
        ("u32_wide_digits", Request { algorithm: wide, ..u32s }),
        ("u32_wide_digits_with_values", Request { algorithm: wide, max: 1 << 24, ..u32s.with_values(1) }),
        ("u64_wide_digits", Request { algorithm: wide, ..u64s }),
        ("i64_wide_digits_window", Request { algorithm: wide, ..keys(64, Spec::of::<i64>(window)).for_indices() }),
        ("u32_reduce_then_scan", Request { algorithm: Some(Algorithm::ReduceThenScan), ..u32s }),
        ("u16_top_100", keys(16, Spec::of::<u16>(whole)).select(Top { k: 100, segmented: false })),
        ("u64_top_1000_elsewhere", Request { keys: odd, ..u64s.select(Top { k: 1000, segmented: false }) }),
        ("f32_top_10_of_segments", u32s.select(Top { k: 10, segmented: true })),
        ("u64_top_10_of_segments_elsewhere", Request { segments, keys: odd, ..u64s.select(Top { k: 10, segmented: true }) }),
        ("u32_segments", Request { segments, ..u32s }),
        ("f32_segments_with_values", Request { segments, max: 30_000, ..u32s.with_values(2) }),
        ("u16_segments", Request { segments, ..keys(16, Spec::of::<u16>(whole)) }),
        (
            "u64_segments_indices_window",
            Request { segments, ..keys(64, Spec::of::<u64>(Options::ascending().bits(5..44))).for_indices() },
        ),
        ("u128_few_in_segments", Request { segments, max: 400, ..keys(128, Spec::of::<u128>(whole)) }),
        ("three_words_gathered", Request { max: 1000, ..u32s }.gather(gather)),
        ("f32_runs", u32s.find_runs(runs)),
        ("u16_unique_keys", keys(16, Spec::of::<u16>(whole)).find_runs(unique)),
        ("u64_runs_elsewhere", Request { keys: odd, ..u64s.find_runs(FindRuns { unique: Some(odd), ..runs }) }),
        ("u32_counting", Request { algorithm: Some(Algorithm::Counting), ..u32s }),
    ];
    for (name, request) in requests {
        insta::assert_snapshot!(name, on_all_devices(request));
    }
}

/// A launch of more groups than fit one dimension has two, no larger than needed.
#[test]
fn grids() {
    let (_, facts) = DEVICES[2];
    let spec = Spec::of::<u32>(Options::ascending()).unwrap();
    let plan = SortPlan::new(Request::keys(32, spec, (1 << 29) - 1), &facts).unwrap();
    let mut text = String::new();
    for count in [0, 1, 100_000, 65_535 * 4096, 65_535 * 4096 + 1, (1 << 29) - 1] {
        writeln!(text, "{count} keys").unwrap();
        for command in plan.long_commands() {
            let groups = command.groups.for_keys(count);
            let (columns, rows) = plan.grid(command.groups, Some(count), facts.max_groups).unwrap();
            let all = u64::from(columns) * u64::from(rows);
            assert!(all >= groups && all - groups < u64::from(rows), "{groups} groups on {columns} × {rows}");
            assert!(columns <= facts.max_groups && rows <= facts.max_groups);
            assert_eq!(rows > 1, groups > facts.max_groups.into(), "{groups} groups on {columns} × {rows}");
            writeln!(text, "  {:<12}{columns} × {rows}", command.variant.kernel().name()).unwrap();
        }
    }
    insta::assert_snapshot!("grids", text);
    // A count on the device is at most the most.
    let groups = Groups::Each { units: 1, of: 4096 };
    assert_eq!(plan.grid(groups, None, 65_535).unwrap(), plan.grid(groups, Some((1 << 29) - 1), 65_535).unwrap());
    assert!(matches!(plan.grid(groups, None, 300), Err(Error::TooLong { asked, .. }) if asked == (1 << 29) - 1));
    // A driver may report the largest number of all.
    assert_eq!(plan.grid(groups, None, u32::MAX).unwrap(), (1 << 17, 1));
}

/// On a device of any size, an error or a plan whose workgroups the device has.
#[test]
fn workgroups_fit_the_device() {
    let (_, facts) = DEVICES[2];
    let merge = MergeRequest::keys(32, spec(32), [1000, 1000]);
    for small in [Facts { max_group: 0, ..facts }, Facts { max_group: 255, ..facts }, Facts { max_groups: 0, ..facts }] {
        let plan = SortPlan::new(Request::keys(32, spec(32), 1000).select(Top { k: 5, segmented: false }), &small);
        assert!(matches!(plan, Err(Error::Unsupported { .. })), "{small:?}");
        assert!(matches!(MergePlan::new(merge, &small), Err(Error::Unsupported { .. })), "{small:?}");
    }
    let mut refused = 0;
    for workgroup_bytes in (0..32 << 10).step_by(500) {
        for key_bits in [8, 16, 32, 64, 128] {
            let facts = Facts { workgroup_bytes, max_group: 256, ..facts };
            match SortPlan::new(Request::keys(key_bits, spec(key_bits), 1 << 20), &facts) {
                Ok(plan) => assert!(plan.all_commands().all(|command| command.variant.workgroup_bytes() <= workgroup_bytes)),
                Err(error) => {
                    assert!(
                        matches!(error, Error::Unsupported { .. }) && workgroup_bytes < 16 << 10,
                        "{workgroup_bytes}: {error}"
                    );
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 5, "{refused}");
}

/// All bits of keys without a sign.
fn spec(key_bits: u32) -> Spec {
    fn of<W: Word>() -> Spec {
        Spec::new::<W>(Masks::UNSIGNED, 0, W::BITS).unwrap()
    }
    match key_bits {
        8 => of::<u8>(),
        16 => of::<u16>(),
        32 => of::<u32>(),
        64 => of::<u64>(),
        _ => of::<u128>(),
    }
}

/// What is tried for a sort of few keys holds for many: the kernels are the same.
#[test]
fn few_keys_stand_for_many() {
    let around = |step: u64| [step - 1, step, step + 1];
    for (name, facts) in DEVICES {
        for key_bits in [8, 16, 32, 64, 128] {
            for payload in [Payload::None, Payload::Words(1), Payload::Words(2), Payload::Indices] {
                let mut seen = vec![];
                for max in [9, 10, 11, 12, 13, 17, 18, 21, 24, 26].into_iter().flat_map(|power| around(1 << power)) {
                    let request = Request { payload, ..Request::keys(key_bits, spec(key_bits), max) };
                    let least = facts.least_alike(&request);
                    let moving = |max| {
                        let plan = SortPlan::new(Request { max, ..request }, &facts).unwrap();
                        let kernels = [Kernel::Onesweep, Kernel::Downsweep, Kernel::CountValues, Kernel::Fill];
                        let variants = plan.long_commands().iter().map(|command| command.variant);
                        variants.filter(|variant| kernels.contains(&variant.kernel())).collect::<Vec<Variant>>()
                    };
                    assert!(least <= max, "{name}: {max}");
                    assert_eq!(moving(least), moving(max), "{name}: {key_bits} bits, {payload:?}, {max}");
                    seen.push(least);
                    let segments = Segmented { max: 100, begins: Place::default(), ends: Place::default() };
                    let of_segments = |max| {
                        let request = Request { max, ..request }.in_segments(segments);
                        let plan = SortPlan::new(request, &facts).unwrap();
                        let variants = plan.long_commands().iter().map(|command| command.variant);
                        (facts.least_alike(&request), variants.collect::<Vec<Variant>>())
                    };
                    let (least, variants) = of_segments(max);
                    assert!(least <= max, "{name}: {max}");
                    // With fewer keys, no segment is long, and the plan has no launches for long ones.
                    let tried = of_segments(least.max(1 << 17)).1;
                    let missed = variants.iter().find(|variant| !tried.contains(variant));
                    assert_eq!(missed, None, "{name}: segments, {key_bits} bits, {payload:?}, {max}");
                }
                seen.dedup();
                assert!(seen.len() <= 9, "{name}: {seen:?}");
            }
        }
    }
}

/// Also those that sort few keys where many would be counted as a whole.
#[test]
fn kernels_have_counters_for_the_digits() {
    let passes = [Kernel::Onesweep, Kernel::BucketSweep, Kernel::Upsweep, Kernel::Downsweep];
    let others = [Kernel::SingleTile, Kernel::BucketTile, Kernel::Histogram, Kernel::BucketHistogram];
    let by_digit = [passes, others].concat();
    let asked = [Algorithm::ReduceThenScan, Algorithm::WideDigits, Algorithm::MsdHybrid, Algorithm::Counting];
    let mut seen = vec![];
    for (name, facts) in DEVICES {
        for key_bits in [8, 16, 32, 64, 128] {
            for algorithm in [None].into_iter().chain(asked.map(Some)) {
                let request = Request { algorithm, ..Request::keys(key_bits, spec(key_bits), 1 << 24) };
                let Ok(plan) = SortPlan::new(request, &facts) else { continue };
                for command in plan.all_commands().filter(|command| by_digit.contains(&command.variant.kernel())) {
                    let most = command.variant.radix_bits;
                    assert!(plan.digits.iter().all(|digit| digit.bits <= most), "{name}: {key_bits} bits, {algorithm:?}: {plan}");
                    seen.push((plan.algorithm, command.variant.kernel()));
                }
            }
        }
    }
    assert!(seen.contains(&(Algorithm::Counting, Kernel::SingleTile)), "{seen:?}");
    assert!(by_digit.iter().all(|kernel| seen.iter().any(|(_, seen)| seen == kernel)), "{seen:?}");
}

/// Where two counts share a word, all keys of a group may have one digit.
#[test]
fn halves_of_words_hold_all_that_a_group_counts() {
    let mut seen = vec![];
    for (name, facts) in DEVICES {
        for key_bits in [32, 64, 128] {
            for algorithm in [None, Some(Algorithm::WideDigits)] {
                for max in [1 << 20, 1 << 24, 1 << 26, MAX_KEYS] {
                    let request = Request { algorithm, ..Request::keys(key_bits, spec(key_bits), max) };
                    let Ok(plan) = SortPlan::new(request, &facts) else { continue };
                    let variants = plan.all_commands().map(|command| command.variant);
                    for variant in variants.filter(|variant| variant.kernel() == Kernel::Histogram && variant.packs_counts()) {
                        let keys = variant.group * variant.shape.keys().unwrap();
                        assert!(keys < 1 << 16, "{name}: {key_bits} bits, {algorithm:?}, up to {max}: {keys} keys");
                        seen.push((key_bits, plan.algorithm));
                    }
                }
            }
        }
    }
    let wide = Algorithm::WideDigits;
    assert!([(32, wide), (64, wide), (128, Algorithm::OneSweep)].iter().all(|kind| seen.contains(kind)), "{seen:?}");
}

#[test]
fn what_no_plan_can_do_is_refused() {
    let (_, facts) = DEVICES[2];
    let spec = Spec::of::<u32>(Options::ascending()).unwrap();
    let keys = Request::keys(32, spec, 1000);
    let refused = |request: Request| SortPlan::new(request, &facts).unwrap_err();
    assert!(matches!(refused(Request { key_bits: 24, ..keys }), Error::Unsupported { .. }));
    assert!(matches!(refused(Request { key_bits: 16, ..keys }), Error::InvalidRange { .. }));
    assert!(matches!(refused(keys.with_values(0)), Error::Unsupported { .. }));
    assert!(matches!(refused(keys.with_values(5)), Error::Unsupported { .. }));
    let limit = facts.max_binding / 4;
    assert!(
        matches!(refused(Request { max: limit + 1, ..keys }), Error::TooLong { asked, limit: most, .. } if (asked, most) == (limit + 1, limit))
    );
    assert!(SortPlan::new(Request { max: limit, ..keys }, &facts).is_ok());
    // Values of 16 bytes fill a binding sooner.
    let wide = keys.with_values(4);
    assert!(matches!(refused(Request { max: limit / 4 + 1, ..wide }), Error::TooLong { .. }));
    assert!(SortPlan::new(Request { max: limit / 4, ..wide }, &facts).is_ok());
    assert_eq!(SortPlan::new(keys, &facts).unwrap().request.payload, Payload::None);
    let none = Facts { subgroups: None, ..facts };
    for algorithm in [Algorithm::OneSweep, Algorithm::MsdHybrid] {
        let sweep = Request { algorithm: Some(algorithm), ..keys };
        assert!(SortPlan::new(sweep, &facts).is_ok());
        assert!(matches!(SortPlan::new(sweep, &none), Err(Error::Unsupported { .. })));
    }
    // Wide digits are for words and pairs of words, and need room.
    let wide = Request { algorithm: Some(Algorithm::WideDigits), ..keys };
    assert!(matches!(SortPlan::new(wide, &none), Err(Error::Unsupported { .. })));
    assert!(matches!(SortPlan::new(wide, &Facts { workgroup_bytes: 12 << 10, ..facts }), Err(Error::Unsupported { .. })));
    let bytes = Request { key_bits: 8, spec: Spec::of::<u8>(Options::ascending()).unwrap(), ..wide };
    assert!(matches!(refused(bytes), Error::Unsupported { what } if what.contains("keys of 8 bits")));
    // Lists of segments fit a binding; so many always do.
    let segments = |max| Some(Segmented { max, begins: Place::default(), ends: Place::default() });
    let listed =
        |max| SortPlan::new(Request { segments: segments(max), max: 1 << 18, ..keys }, &Facts { max_binding: 1 << 20, ..facts });
    let Err(Error::TooLong { limit, asked, .. }) = listed(1 << 17) else { panic!("more lists than a binding holds") };
    assert!(asked == 1 << 17 && listed(limit as u32).is_ok());
    let numbers = Request { segments: segments(1 << 30), ..keys };
    assert!(matches!(refused(numbers), Error::TooLong { asked, .. } if asked == 1 << 30));
    // Two counts a key, where groups are the smallest.
    let (_, small) = DEVICES[0];
    let most = |max| SortPlan::new(Request { max, ..wide }, &Facts { max_binding: 1 << 20, ..small });
    let Err(Error::TooLong { limit, .. }) = most(1 << 18) else { panic!("more counts than a binding holds") };
    assert!(most(limit).is_ok() && matches!(most(limit + 1), Err(Error::TooLong { .. })));
}

/// There are batches for every key, and no more than there are numbers for, or buckets.
#[test]
fn batches_hold_all_keys() {
    let (_, facts) = DEVICES[2];
    let spec = Spec::of::<u32>(Options::ascending()).unwrap();
    for max in [1, 2, 4096, 1 << 20, (1 << 20) + 1, 1 << 24, (1 << 28) + 1, (1 << 29) - 1] {
        for batch in [None, Some(1), Some(3000), Some(1 << 30)] {
            for words in [0, 1] {
                let keys = Request::keys(32, spec, max);
                let keys = if words == 0 { keys } else { keys.with_values(words) };
                let plan = SortPlan::new(Request { algorithm: Some(Algorithm::MsdHybrid), batch, ..keys }, &facts).unwrap();
                let table = plan.bucket_table().unwrap();
                let batches = u64::from(table.batches);
                assert!((1..=256).contains(&batches) && batches * u64::from(plan.batch) >= max);
                assert!((batches - 1) * u64::from(plan.batch) < max, "the last one can have a bucket");
                let launches = plan.long_commands().iter().filter(|command| command.variant.kernel() == Kernel::BucketSweep);
                assert_eq!(launches.count() as u64, 3 * batches);
            }
        }
    }
}
