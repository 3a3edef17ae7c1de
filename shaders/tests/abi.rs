//! What the host passes to kernels: the uniforms of sorts and merges, numbers, digits and grids.

use polysort_core::{Error, Options, Spec};
use polysort_shaders::abi::{self, COUNT_ON_DEVICE};
use polysort_shaders::plan::{
    Algorithm, COUNT_DIGIT_BITS, Digit, Facts, Gather, Groups, Kernel, MergePlan, MergeRequest, Number, Payload, Place, Request,
    Segmented, SortPlan, SortedRun, Top,
};

fn facts() -> Facts {
    Facts::new(Some((32, 32)), 48 << 10, 1024)
}

fn sort(request: Request) -> abi::Sort {
    abi::Sort::of(&SortPlan::new(request, &facts()).unwrap())
}

fn words_at(first: u32, payload: Payload) -> Request {
    let place = Place { first };
    Request { payload, keys: place, values: place, ..Request::keys(32, Spec::unsigned::<u32>(), 5000) }
}

#[test]
fn a_number_is_itself_or_a_digit_of_the_count() {
    for keys in [None, Some(0), Some(1 << 29)] {
        assert_eq!(abi::value(Number::Is(7), keys), 7);
    }
    let count = 5 << (2 * COUNT_DIGIT_BITS) | 6 << COUNT_DIGIT_BITS | 7;
    let digits = |keys| [0, 1, 2].map(|digit| abi::value(Number::CountDigit(digit), keys));
    assert_eq!((digits(Some(count)), digits(None)), ([7, 6, 5], [0, 0, COUNT_ON_DEVICE]));
    let digits = |keys| [0, 1, 2].map(|digit| abi::value(Number::SecondCountDigit(digit), keys));
    assert_eq!((digits(Some(count)), digits(None)), ([7, 6, 5], [0, 0, COUNT_ON_DEVICE]));
}

#[test]
fn digits_do_not_cross_words() {
    let digits = |algorithm, bits: core::ops::Range<u32>| {
        let spec = Spec::of::<u64>(Options::ascending().bits(bits)).unwrap();
        let plan = SortPlan::new(Request { algorithm, ..Request::keys(64, spec, 1 << 20) }, &facts()).unwrap();
        plan.digits.iter().map(|&Digit { word, shift, bits }| [word, shift, bits]).collect::<Vec<_>>()
    };
    assert_eq!(digits(None, 20..50), [[0, 20, 8], [0, 28, 4], [1, 0, 8], [1, 8, 8], [1, 16, 2]]);
    assert_eq!(
        digits(Some(Algorithm::WideDigits), 0..64),
        [[0, 0, 11], [0, 11, 11], [0, 22, 10], [1, 0, 11], [1, 11, 11], [1, 22, 10]]
    );
    assert_eq!(digits(None, 40..40), [[0; 3]; 0]);
}

/// The last number of a digit says whether the sort compares all bits of the keys.
#[test]
fn a_uniform_has_the_digits() {
    let of_bits = |bits| {
        let spec = Spec::of::<u32>(Options::ascending().bits(bits)).unwrap();
        let sort = sort(Request::keys(32, spec, 5000));
        (sort.digit_count, sort.digits[..5].to_vec())
    };
    let all = [[0, 0, 255, 1], [0, 8, 255, 1], [0, 16, 255, 1], [0, 24, 255, 1], [0; 4]];
    assert_eq!(of_bits(0..32), (4, all.to_vec()));
    assert_eq!(of_bits(3..14), (2, vec![[0, 3, 255, 0], [0, 11, 7, 0], [0; 4], [0; 4], [0; 4]]));
}

/// Keys of 16 bits are in the top half of a word.
#[test]
fn masks_and_windows_are_those_of_words() {
    let floats = Request::keys(16, Spec::of::<half::f16>(Options::ascending()).unwrap(), 1000);
    let sort = abi::Sort::of(&SortPlan::new(floats, &facts()).unwrap());
    assert_eq!((sort.clear[0], sort.flip[0], sort.window[0]), (0x8000_0000, 0x7fff_0000, 0xffff_0000));
    let wide = Request::keys(128, Spec::of::<u128>(Options::descending().bits(3..125)).unwrap(), 1000);
    let sort = abi::Sort::of(&SortPlan::new(wide, &facts()).unwrap());
    assert_eq!(sort.window, [!7, u32::MAX, u32::MAX, u32::MAX >> 3]);
    assert_eq!((sort.clear, sort.flip), ([u32::MAX; 4], [0; 4]));
}

#[test]
fn a_uniform_says_where_keys_and_values_begin() {
    let begins = |request| {
        let sort = sort(request);
        [sort.packed_first, sort.keys_source, sort.keys_home, sort.values_home]
    };
    assert_eq!(begins(words_at(6, Payload::Words(1))), [0, 6, 6, 6]);
    assert_eq!(begins(words_at(6, Payload::Words(3))), [0, 6, 6, 2]);
    // Values that no binding addresses are copied to the start of a buffer, and so are keys.
    assert_eq!(begins(words_at(7, Payload::Words(3))), [0, 7, 7, 0]);
    let wide = Request { key_bits: 64, spec: Spec::unsigned::<u64>(), ..words_at(6, Payload::None) };
    assert_eq!(begins(wide)[..3], [0, 3, 3]);
    assert_eq!(begins(Request { keys: Place { first: 7 }, ..wide })[..3], [0, 0, 0]);
    // An argsort leaves the keys where they are.
    assert_eq!(begins(words_at(6, Payload::Indices))[..3], [0, 6, 0]);
    // Two or four keys share a word.
    let short = Request { key_bits: 16, spec: Spec::unsigned::<u16>(), ..words_at(6, Payload::None) };
    assert_eq!(begins(short)[..3], [12, 0, 0]);
    assert_eq!(begins(Request { key_bits: 8, spec: Spec::unsigned::<u8>(), ..short })[..3], [24, 0, 0]);
}

#[test]
fn a_uniform_has_the_largest_counts() {
    let counts = |request| {
        let sort = sort(request);
        [sort.max, sort.k]
    };
    let keys = words_at(0, Payload::None);
    let segments = Segmented { max: 70, begins: Place::default(), ends: Place::default() };
    let gather = Gather { element_bytes: 4, elements: 900, from: Place::default(), to: Place::default() };
    assert_eq!(counts(keys), [5000, 0]);
    assert_eq!(counts(keys.in_segments(segments)), [5000, 70]);
    assert_eq!(counts(keys.gather(gather)), [5000, 900]);
    assert_eq!(counts(keys.select(Top { k: 9, segmented: false })), [5000, 9]);
    // Of a selection from segments, the number of segments.
    assert_eq!(counts(keys.select(Top { k: 9, segmented: true }).in_segments(segments)), [70, 9]);
}

#[test]
fn masks_of_a_merge_are_those_of_a_sort() {
    let spec = Spec::of::<half::f16>(Options::ascending()).unwrap();
    let plan = MergePlan::new(MergeRequest::keys(16, spec, [1000, 500]), &facts()).unwrap();
    let merge = abi::Merge::of(&plan, 0, &plan.steps[0]);
    let sort = abi::Sort::of(&SortPlan::new(Request::keys(16, spec, 1000), &facts()).unwrap());
    assert_eq!((merge.clear, merge.flip, merge.window), (sort.clear, sort.flip, sort.window));
    assert_eq!([merge.first_begin, merge.first_end, merge.second_begin, merge.second_end], [0, 1000, 0, 500]);
}

#[test]
fn a_merge_knows_where_its_runs_begin() {
    let run = |max, skip, keys, values| SortedRun { max, skip, keys: Place { first: keys }, values: Place { first: values } };
    let request = MergeRequest {
        payload: Payload::Words(1),
        first: run(1000, 7, 1, 2),
        second: run(500, 1007, 3, 4),
        keys: Place { first: 5 },
        values: Place { first: 6 },
        ..MergeRequest::keys(32, Spec::unsigned::<u32>(), [0; 2])
    };
    let plan = MergePlan::new(request, &facts()).unwrap();
    let merge = abi::Merge::of(&plan, 9, &plan.steps[0]);
    assert_eq!([merge.first_keys_word, merge.first_values_word, merge.second_keys_word, merge.second_values_word], [1, 2, 3, 4]);
    assert_eq!([merge.merged_keys_word, merge.merged_values_word], [5, 6]);
    assert_eq!([merge.first_max, merge.first_skip, merge.second_max, merge.second_skip], [1000, 7, 500, 1007]);
    assert_eq!([merge.merged_begin, merge.merged_end, merge.step], [0, 1500, 9]);
}

/// Runs that do not fit a binding are merged in steps, each of a part of both.
#[test]
fn a_merge_has_the_parts_of_its_step() {
    let spec = Spec::unsigned::<u32>();
    let plan =
        MergePlan::new(MergeRequest::keys(32, spec, [30_000, 20_000]), &Facts { max_binding: 1 << 16, ..facts() }).unwrap();
    assert!(plan.steps.len() > 4);
    for (number, step) in (0..).zip(&plan.steps) {
        let merge = abi::Merge::of(&plan, number, step);
        let parts = [
            [merge.first_begin, merge.first_end],
            [merge.second_begin, merge.second_end],
            [merge.merged_begin, merge.merged_end],
        ];
        let expected = [&step.first, &step.second, &step.merged].map(|part| [part.start as u32, part.end as u32]);
        assert_eq!((parts, merge.step), (expected, number));
    }
}

#[test]
fn a_grid_has_a_workgroup_for_each_part_of_the_keys() {
    let each = Groups::Each { units: 2, of: 4 };
    assert_eq!([1, 2, 100].map(|keys| each.grid(keys, 1000).unwrap()), [(1, 1), (1, 1), (50, 1)]);
    // More workgroups than fit one dimension have several rows, as even as possible.
    assert_eq!(each.grid(100, 20).unwrap(), (17, 3));
    let refused = each.grid(1000, 20);
    assert!(matches!(refused, Err(Error::TooLong { asked: 1000, limit: 800, .. })), "{refused:?}");
    assert_eq!(each.grid(800, 20).unwrap(), (20, 20));
    assert_eq!(Groups::Fixed(7).grid(1 << 30, 1000).unwrap(), (7, 1));
    let at_most = Groups::AtMost { most: 30, of: 10, team: 3 };
    assert_eq!([1, 100, 10_000].map(|keys| at_most.grid(keys, 1000).unwrap()), [(3, 1), (30, 1), (90, 1)]);
}

#[test]
fn a_counting_sort_counts_every_value_of_a_key() {
    let request = Request { algorithm: Some(Algorithm::Counting), ..Request::keys(16, Spec::unsigned::<u16>(), 1 << 24) };
    let plan = SortPlan::new(request, &facts()).unwrap();
    let bits = |kernel| {
        plan.long_commands().iter().find(|command| command.variant.kernel() == kernel).map(|command| command.variant.radix_bits)
    };
    assert_eq!([Kernel::CountValues, Kernel::ScanValues, Kernel::Fill].map(bits), [Some(16); 3]);
}

/// The self-test of a kind of sorts has this many keys. Where the kernels change with the length, longer sorts are of another kind.
#[test]
fn sorts_of_one_launch_are_of_other_kinds_than_long_ones() {
    let least = |max| facts().least_alike(&Request::keys(32, Spec::unsigned::<u32>(), max));
    let plan = SortPlan::new(Request::keys(32, Spec::unsigned::<u32>(), 1 << 20), &facts()).unwrap();
    let single = u64::from(plan.single_tile);
    assert_eq!(least(1), 1);
    assert!(least(single) <= single && least(single + 1) == single + 1, "{single}: {}, {}", least(single), least(single + 1));
}
