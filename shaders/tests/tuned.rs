//! Shapes of passes that take the place of the built-in ones, and those that may not.

use polysort_core::{Error, Options, Spec};
use polysort_shaders::plan::tuning::{self, PassShape};
use polysort_shaders::plan::{Algorithm, Class, Facts, Kernel, PassKind, Request, SortPlan, Tuned, Variant};

const FACTS: Facts = Facts::new(Some((32, 32)), 48 << 10, 1024);

const SHAPE: PassShape = PassShape { group: 384, keys: 14, slices: 4 };

fn request(kind: PassKind, max: u64) -> Request {
    let spec = if kind.key_words == 1 { Spec::of::<u32>(Options::ascending()) } else { Spec::of::<u64>(Options::ascending()) };
    let keys = Request::keys(32 * kind.key_words, spec.unwrap(), max);
    if kind.value_words > 0 { keys.with_values(kind.value_words) } else { keys }
}

/// The kernel of the passes of a plan.
fn pass(request: Request, tuned: Tuned) -> Variant {
    pass_on(request, &Facts { tuned, ..FACTS })
}

fn pass_on(request: Request, facts: &Facts) -> Variant {
    let plan = SortPlan::new(request, facts).unwrap();
    plan.long_commands().iter().map(|command| command.variant).find(|variant| variant.kernel() == Kernel::Onesweep).unwrap()
}

fn shape(variant: Variant) -> PassShape {
    let tile = variant.shape.pass_tile().unwrap();
    PassShape { group: variant.group, keys: tile.ranked.keys, slices: tile.slices }
}

#[test]
fn each_kind_takes_its_own_shape_and_the_others_the_built_in_one() {
    for kind in PassKind::ALL {
        let tuned = Tuned::NONE.with(kind, SHAPE).unwrap();
        assert_eq!((tuned.shape(kind), tuned.shapes().collect::<Vec<_>>()), (Some(SHAPE), vec![(kind, SHAPE)]));
        assert_eq!(tuned.without(kind), Tuned::NONE);
        for other in PassKind::ALL {
            assert_eq!(tuned.without(other) == tuned, other != kind);
            let [built_in, now] = [Tuned::NONE, tuned].map(|tuned| pass(request(other, 1 << 24), tuned));
            assert_ne!(shape(built_in), SHAPE);
            assert_eq!(shape(now), if other == kind { SHAPE } else { shape(built_in) }, "{other}, tuned for {kind}");
            assert_eq!(Facts { tuned, ..FACTS }.pass_shape(other), Some(shape(now)));
        }
    }
}

#[test]
fn kinds_and_shapes_are_named() {
    let names = [PassKind::new(1, 0), PassKind::new(2, 1)].map(|kind| kind.to_string());
    assert_eq!(names, ["u32", "u64+u32"]);
    assert_eq!(SHAPE.to_string(), "384 threads of 14 keys in 4 slices");
}

#[test]
fn few_keys_are_spread_over_more_groups() {
    let kind = PassKind::new(1, 0);
    let tuned = Tuned::NONE.with(kind, SHAPE).unwrap();
    let keys = |max| shape(pass(request(kind, max), tuned)).keys;
    assert_eq!([1 << 24, 1 << 21, 1 << 18].map(keys), [14, 8, 4]);
    let least = Tuned::NONE.with(kind, PassShape { keys: 2, slices: 2, ..SHAPE }).unwrap();
    assert_eq!(shape(pass(request(kind, 1 << 14), least)).keys, 2);
}

#[test]
fn wide_digits_have_shapes_of_their_own() {
    let kind = PassKind::new(2, 1);
    let wide = Request { algorithm: Some(Algorithm::WideDigits), ..request(kind, 1 << 24) };
    assert_eq!(pass(wide, Tuned::NONE.with(kind, SHAPE).unwrap()), pass(wide, Tuned::NONE));
}

#[test]
fn what_does_not_fit_the_device_is_cut_down() {
    let kind = PassKind::new(2, 0);
    let large = PassShape { group: 1024, keys: 62, slices: 1 };
    let facts = Facts { tuned: Tuned::NONE.with(kind, large).unwrap(), ..FACTS };
    for facts in
        [facts, Facts { max_group: 256, ..facts }, Facts { subgroups: Some((4, 64)), workgroup_bytes: 32 << 10, ..facts }]
    {
        let made = facts.pass_shape(kind).unwrap();
        assert!(made != large && made.keys >= 1, "{made}");
        let plan = SortPlan::new(request(kind, 1 << 24), &facts).unwrap();
        assert!(plan.all_commands().all(|command| command.variant.workgroup_bytes() <= facts.workgroup_bytes));
    }
    assert_eq!(Facts { subgroups: None, ..facts }.pass_shape(kind), None);
    // A workgroup of 128 threads is the smallest, and may have 32 subgroups, whose histograms of 256 words take 32 KiB.
    let few_lanes = Facts { subgroups: Some((4, 128)), ..facts };
    let is_ranked = |workgroup_bytes| Facts { workgroup_bytes, ..few_lanes }.pass_shape(kind).is_some();
    assert_eq!([40 << 10, 48 << 10].map(is_ranked), [false, true]);
}

#[test]
fn shapes_that_no_kernel_has_are_refused() {
    let refused = |kind, shape| matches!(Tuned::NONE.with(kind, shape), Err(Error::Unsupported { .. }));
    let bad = [
        PassShape { group: 0, ..SHAPE },
        PassShape { group: 96, ..SHAPE },
        PassShape { group: 100, ..SHAPE },
        PassShape { group: 2048, ..SHAPE },
        PassShape { keys: 0, ..SHAPE },
        PassShape { keys: 15, ..SHAPE },
        PassShape { keys: 64, ..SHAPE },
        PassShape { keys: u32::MAX, ..SHAPE },
        PassShape { slices: 0, ..SHAPE },
        PassShape { slices: 15, ..SHAPE },
    ];
    for shape in bad {
        assert!(refused(PassKind::new(1, 0), shape), "{shape}");
    }
    for kind in [PassKind::new(0, 0), PassKind::new(4, 0), PassKind::new(1, 3), PassKind::new(u32::MAX, u32::MAX)] {
        assert!(refused(kind, SHAPE), "{kind:?}");
    }
    // The built-in ones are all good.
    for class in [Class::Apple, Class::Nvidia, Class::Unknown] {
        for kind in PassKind::ALL {
            let shape = tuning::pass(class, kind.key_words, kind.value_words, 1 << 24);
            let large = tuning::large_pass(class, kind.key_words, kind.value_words, 1 << 24);
            assert!([shape].into_iter().chain(large).all(|shape| !refused(kind, shape)), "{class:?} {kind} {shape} {large:?}");
        }
    }
}

#[test]
fn many_keys_have_large_tiles_where_these_fit_whole() {
    let mut larger = 0;
    for kind in PassKind::ALL {
        let of_class = |class, max| tuning::large_pass(class, kind.key_words, kind.value_words, max);
        assert_eq!([Class::Apple, Class::Unknown].map(|class| of_class(class, 1 << 24)), [None; 2]);
        let Some(large) = of_class(Class::Nvidia, 1 << 24) else { continue };
        let made = |max, facts: &Facts| pass_on(request(kind, max), facts);
        let of_any = |max| tuning::pass(Class::Nvidia, kind.key_words, kind.value_words, max);
        let fits = made(1 << 24, &FACTS);
        assert_eq!(shape(fits), large, "{kind}");
        assert_eq!(shape(made(1 << 21, &FACTS)), of_any(1 << 21), "{kind}");
        let memory = Facts { workgroup_bytes: fits.workgroup_bytes(), ..FACTS };
        assert_eq!(shape(made(1 << 24, &memory)), large, "{kind}");
        let less = Facts { workgroup_bytes: fits.workgroup_bytes() - 1, ..FACTS };
        let small_groups = Facts { max_group: 256, ..FACTS };
        // These have one shape for all lengths.
        let few_lanes = Facts { subgroups: Some((16, 32)), workgroup_bytes: 256 << 10, ..FACTS };
        for facts in [less, small_groups, few_lanes] {
            let usual = of_any(1 << 24);
            let expected = PassShape { group: usual.group.min(facts.max_group), ..usual };
            assert_eq!(shape(made(1 << 24, &facts)), expected, "{kind}, {facts:?}");
        }
        larger += 1;
    }
    assert_eq!(larger, 5);
    // Passes over buckets keep theirs.
    let hybrid = Request { algorithm: Some(Algorithm::MsdHybrid), ..request(PassKind::new(1, 0), 1 << 24) };
    assert_eq!(shape(pass(hybrid, Tuned::NONE)), tuning::pass(Class::Nvidia, 1, 0, 1 << 24));
}
