//! A backend of one thread stays on the calling thread. In a process of its own, as it looks at the process's threads.

use polysort_core::{Options, Sort};
use polysort_rayon::RayonBackend;

const LEN: u32 = 300_000;

/// Keys that each take another way through the sorts.
fn patterns() -> Vec<(&'static str, Vec<u32>)> {
    let spread = |i: u32| i.wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b);
    let patterns: [(&str, Pattern); 8] = [
        ("even", |_, spread| spread),
        ("ascending", |i, _| i),
        ("descending in pairs", |i, _| (LEN - i) / 2),
        ("equal", |_, _| 7),
        ("few values", |_, spread| spread % 5),
        ("a run up, a run down", |i, _| i.min(LEN - i)),
        ("a run behind a run", |i, _| i % (LEN / 2)),
        ("small but for a few", |i, spread| if i % 1000 == 0 { spread } else { spread >> 20 }),
    ];
    patterns.map(|(name, key)| (name, (0..LEN).map(|i| key(i, spread(i))).collect())).into()
}

/// Returns a key, of its index and of a number that looks random.
type Pattern = fn(u32, u32) -> u32;

#[test]
fn one_thread_starts_no_other() {
    let backend = RayonBackend::with_threads(1).unwrap();
    for (name, keys) in patterns() {
        for options in [Options::ascending(), Options::descending(), Options::ascending().bits(3..29)] {
            sort_every_way(&backend, &keys, options);
        }
        let bytes: Vec<u8> = keys.iter().map(|&key| key as u8).collect();
        sort_every_way(&backend, &bytes, Options::ascending());
        let wide: Vec<u128> = keys.iter().map(|&key| u128::from(key) << 60).collect();
        sort_every_way(&backend, &wide, Options::descending());
        // A global pool can be built once, so no sort has started it.
        #[cfg(target_os = "linux")]
        assert_eq!(threads_of_the_process(), 2, "after sorts of a pattern ({name})");
        let _ = name;
    }
    assert!(rayon::ThreadPoolBuilder::new().num_threads(1).build_global().is_ok(), "a sort has started rayon's global pool");
}

/// Calls the operations in many ways.
fn sort_every_way<K: polysort_core::MaskKey>(backend: &RayonBackend, keys: &[K], options: Options) {
    let (values, ends) = (Vec::from_iter(0..keys.len() as u64), vec![0, keys.len() / 3, keys.len()]);
    let bits = if size_of::<K>() < 4 { Options::ordered(options.order) } else { options };
    backend.sort_with(&mut keys.to_vec(), bits).unwrap();
    backend.sort_pairs_with(&mut keys.to_vec(), &mut values.clone(), bits).unwrap();
    backend.sort_into_with(keys, &mut keys.to_vec(), bits).unwrap();
    backend.sort_pairs_into_with(keys, &values, &mut keys.to_vec(), &mut values.clone(), bits).unwrap();
    backend.runs_with(keys, bits).unwrap();
    backend.argsort_with(keys, bits).unwrap();
    backend.sort_segments_with(&mut keys.to_vec(), &ends, bits).unwrap();
    backend.sort_pairs_segments_with(&mut keys.to_vec(), &mut values.clone(), &ends, bits).unwrap();
    backend.top_k(keys, 100).unwrap();
    backend.partial_sort_with(&mut keys.to_vec(), keys.len() / 3, options).unwrap();
    backend.select_nth_segments_with(&mut keys.to_vec(), 100, &ends, options).unwrap();
    backend.top_k(keys, keys.len() / 2).unwrap();
    backend.top_k_segments(keys, 100, &ends).unwrap();
}

/// The test's own thread and the main one.
#[cfg(target_os = "linux")]
fn threads_of_the_process() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}
