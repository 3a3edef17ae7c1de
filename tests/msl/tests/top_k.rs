//! Selections with the native kernel and with naga's translation, for cases that the conformance suite does not have: several levels of
//! candidates, fewer keys than `k`, and segments longer than a threadgroup marks at a time.
#![cfg(unix)]

use polysort_core::{Backend, Error, Masks, Sort, Spec, Word};
use polysort_kit::is_thorough;
use polysort_msl::{Buffer, Config, FACTS, Kernel, MslBackend, Schedule, Source};
use polysort_shaders::abi::{NOTHING, STATE_COUNT};
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{self, Facts, Request, SortPlan, Top};

/// Returns backends with native kernels, on several schedules. If the test is thorough, naga's kernels follow; software Vulkan runs the WGSL that naga translates.
fn backends(seeds: u64) -> impl Iterator<Item = MslBackend> {
    let each = move |source| (1..=seeds).map(move |seed| MslBackend::open_with(Config { seed, ..Config::of(source) }).unwrap());
    [Source::NATIVE, Source::NAGA_ROLLED].into_iter().take(if is_thorough() { 2 } else { 1 }).flat_map(each)
}

/// Returns keys that differ in their `bits` top bits only.
fn keys<W: Word>(len: usize, bits: u32) -> Vec<W> {
    let mixed = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i * i) << 32;
    (0..len as u64).map(|i| W::truncate(u128::from(mixed(i) >> 32) >> (32 - bits) << (W::BITS - bits))).collect()
}

fn signed<W: Word>() -> Spec {
    Spec::new::<W>(Masks::signed(W::BITS).reversed(W::BITS), 0, W::BITS).unwrap()
}

/// Returns the indices of the first `k` keys of a segment; missing ones are NOTHING.
fn expected<W: Word>(keys: &[W], [begin, end]: [u32; 2], k: u32, spec: Spec) -> Vec<u32> {
    let mut order: Vec<u32> = (begin..end).collect();
    order.sort_by_key(|&i| spec.rank(keys[i as usize]));
    order.resize(order.len().max(k as usize), NOTHING);
    order.truncate(k as usize);
    order
}

#[track_caller]
fn check<W: Word>(backend: &MslBackend, keys: &[W], k: u32, spec: Spec) {
    let found = backend.select(keys, k, None, spec).unwrap();
    let expected = expected(keys, [0, keys.len() as u32], k, spec);
    assert!(found == expected, "{k} of {} keys of {} bits, {}", keys.len(), W::BITS, backend.name());
}

#[test]
fn the_last_level_selects_the_first_keys_of_the_array() {
    let segment = SELECT_SEGMENT as usize;
    for backend in backends(2) {
        let spec = Spec::unsigned::<u32>();
        for len in [segment - 1, segment, segment + 1, 2 * segment + 100] {
            check(&backend, &keys::<u32>(len, 32), 100, spec);
        }
        // Many keys are equal, so that their indices decide which are selected.
        check(&backend, &keys::<u32>(2 * segment + 100, 3), 100, spec);
        check(&backend, &keys::<u32>(2 * segment + 100, 32), 1, signed::<u32>());
    }
    for backend in backends(1) {
        // There are three levels: the keys selected from these segments are more than one segment.
        let k = FACTS.most_selected();
        check(&backend, &keys::<u32>(segment / k as usize * segment + 3, 9), k, Spec::unsigned::<u32>());
    }
}

#[test]
fn keys_of_every_width_are_selected() {
    fn every<W: Word>(backend: &MslBackend) {
        for bits in [2, 8, W::BITS.min(32)] {
            check(backend, &keys::<W>(3001, bits), 37, signed::<W>());
        }
        check(backend, &keys::<W>(SELECT_SEGMENT as usize + 301, W::BITS.min(32)), 300, signed::<W>());
    }
    for backend in backends(1) {
        every::<u8>(&backend);
        every::<u16>(&backend);
        every::<u64>(&backend);
        every::<u128>(&backend);
    }
}

#[test]
fn a_selection_of_more_keys_than_there_are_ends_with_nothing() {
    for backend in backends(3) {
        let spec = Spec::unsigned::<u32>();
        for len in [0, 1, 31, 99, 100, 101] {
            check(&backend, &keys::<u32>(len, 32), 100, spec);
        }
        // The last segment of the first level has three keys, so it selects fewer than `k` candidates.
        check(&backend, &keys::<u32>(SELECT_SEGMENT as usize + 3, 32), 256, spec);
        assert!(matches!(backend.select(&keys::<u32>(5, 32), 0, None, spec), Err(Error::Unsupported { .. })));
        assert_eq!(backend.bottom_k(&keys::<u32>(5, 32), 0).unwrap().indices, []);
        assert_eq!(backend.bottom_k(&keys::<u32>(5, 32), 9).unwrap().indices.len(), 5);
    }
}

#[test]
fn segments_of_every_length_are_selected_from() {
    // There are gaps, empty segments, and one so long that its keys are marked in several rounds.
    let bounds = [[3, 3], [3, 4], [5, 200], [200, 200], [201, 20_001], [20_100, 20_107], [20_107, 21_107], [21_107, 21_107]];
    fn every<W: Word>(backend: &MslBackend, bounds: &[[u32; 2]], k: u32) {
        let keys = keys::<W>(21_200, 7);
        let found = backend.select(&keys, k, Some(bounds), signed::<W>()).unwrap();
        let expected: Vec<u32> = bounds.iter().flat_map(|&bounds| expected(&keys, bounds, k, signed::<W>())).collect();
        assert!(found == expected, "{k} keys of {} bits, {}", W::BITS, backend.name());
    }
    // The grid has three rows, and one workgroup of the last row has no segment.
    let facts = Facts { max_groups: 3, ..FACTS };
    every::<u32>(&MslBackend::open_with(Config { facts, ..Config::of(Source::NATIVE) }).unwrap(), &bounds, 10);
    for backend in backends(2) {
        for k in [1, 10, 256, 1000] {
            every::<u32>(&backend, &bounds, k);
        }
        every::<u8>(&backend, &bounds, 300);
        every::<u16>(&backend, &bounds, 7);
        assert_eq!(backend.select(&keys::<u32>(9, 32), 4, Some(&[]), Spec::unsigned::<u32>()).unwrap(), []);
    }
}

/// For more keys than one workgroup selects, all workgroups together select, and a sort of the selected keys follows.
#[test]
fn all_workgroups_together_select_many_keys() {
    let most = FACTS.most_selected();
    fn every<W: Word>(backend: &MslBackend, k: u32) {
        for bits in [1, 8, W::BITS.min(32)] {
            check(backend, &keys::<W>(20_003, bits), k, signed::<W>());
        }
    }
    // The grid has two rows, and some workgroups of the last row have no tile.
    let facts = Facts { max_groups: 5, ..FACTS };
    let in_rows = MslBackend::open_with(Config { facts, ..Config::of(Source::NATIVE) }).unwrap();
    check(&in_rows, &keys::<u32>(50_000, 32), most + 1, Spec::unsigned::<u32>());
    for backend in backends(2) {
        let spec = Spec::unsigned::<u32>();
        for (len, k) in [(20_003, most + 1), (40_000, 9000), (20_003, 20_003), (5000, 7000), (1, 7000), (0, 7000)] {
            check(&backend, &keys::<u32>(len, 32), k, spec);
        }
        // Keys that are equal in the window are selected by their indices.
        let window = Spec::new::<u32>(Masks::signed(32), 5, 21).unwrap();
        check(&backend, &keys::<u32>(20_003, 20), 3000, window);
        // With an empty window, the first keys are selected.
        check(&backend, &keys::<u32>(20_003, 20), 3000, Spec::new::<u32>(Masks::signed(32), 5, 5).unwrap());
        check(&backend, &keys::<u32>(2000, 20), 3000, Spec::new::<u32>(Masks::signed(32), 5, 5).unwrap());
    }
    for backend in backends(1) {
        every::<u8>(&backend, most + 1);
        every::<u16>(&backend, 3000);
        every::<u64>(&backend, 3000);
        every::<u128>(&backend, 5000);
    }
}

/// Of more tiles than the workgroup has threads, each thread adds up the counts of several.
#[test]
fn the_counts_of_many_tiles_are_added_up() {
    for source in [Source::NATIVE, Source::NAGA_ROLLED] {
        let request = Request::keys(32, Spec::unsigned::<u32>(), 1 << 24).select(Top { k: 1 << 20, segmented: false });
        let plan = SortPlan::new(request, &FACTS).unwrap();
        let spine = |command: &&plan::Command| command.variant.kernel() == plan::Kernel::PickSpine;
        let variant = plan.long_commands().iter().find(spine).unwrap().variant;
        let text = (source.text)(&variant);
        let kernel = Kernel::compile(&text.text, variant.kernel().name(), source.options).unwrap();
        // A thread has 32 keys of a tile. The threads have three tiles each, the last ones two and none.
        let tiles = 3 * variant.group - 4;
        let mut state = vec![0_u32; 64];
        state[STATE_COUNT as usize] = 32 * variant.group * (tiles - 1) + 1;
        let counts: Vec<[u32; 2]> = (0..tiles).map(|tile| [tile * 7 % 13, tile * 5 % 11]).collect();
        let before = |tile: usize| counts[..tile].iter().fold([0, 0], |sums, count| [sums[0] + count[0], sums[1] + count[1]]);
        let expected: Vec<[u32; 2]> = (0..counts.len()).map(before).collect();
        let mut buffers = vec![Buffer::of(&state), Buffer::of(&counts)];
        if text.takes_sizes {
            buffers.push(Buffer::garbage(128, 0));
        }
        kernel.run(&mut buffers.iter_mut().collect::<Vec<_>>(), (1, 1), variant.group, Schedule::seeded(1)).unwrap();
        assert_eq!(buffers[1].values::<[u32; 2]>(), expected);
    }
}
