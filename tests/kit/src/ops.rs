//! The checks: one for each operation on each key type.

use crate::case::{Case, Plan, mix};
use crate::compare::{failed, same, same_keys};
use crate::keys::{Custom, Scored, TestKey};
use crate::misuse::misuse;
use crate::oracle::Oracle;
use crate::unruly;
use crate::wide;
use bytemuck::Pod;
use core::cmp::Reverse;
use core::fmt::Debug;
use core::ops::Range;
use futures_lite::future::{block_on, zip};
use half::{bf16, f16};
use polysort_core::{DynBackend, Error, NoneLast, Segments, Sort, SortAsync, permutation};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// One operation on one key type, to be checked on a backend.
pub struct Check {
    /// The name of the key type.
    pub key: &'static str,
    /// The name of the operation.
    pub operation: &'static str,
    /// The cases of a plan, by the salt of the operation.
    cases: fn(&Plan, u64) -> Vec<Case>,
    pub(crate) salt: u64,
    /// The number of all combinations of a plan.
    all: fn(&Plan) -> usize,
    run: RunCase,
    is_of_segments: bool,
}

/// Runs one case on a backend.
type RunCase = Box<dyn Fn(&DynBackend, Case) -> Result<(), String> + Send + Sync>;

impl Check {
    /// The key and the operation: `f32 sort_pairs`.
    pub fn name(&self) -> String {
        format!("{} {}", self.key, self.operation)
    }

    /// Runs all cases of a plan on a backend, and returns their number.
    ///
    /// # Errors
    /// What was wrong in the first case that failed.
    pub fn run(&self, backend: &DynBackend, plan: &Plan) -> Result<usize, String> {
        let cases = self.cases(plan);
        cases.iter().try_for_each(|&case| self.run_case(backend, case))?;
        Ok(cases.len())
    }

    /// Runs one case on a backend. Its window lies in the key.
    ///
    /// # Errors
    /// What was wrong.
    pub fn run_case(&self, backend: &DynBackend, case: Case) -> Result<(), String> {
        (self.run)(backend, case).map_err(|what| format!("{what}\n    in {case:?}"))
    }

    /// The cases of this check in a plan.
    pub fn cases(&self, plan: &Plan) -> Vec<Case> {
        (self.cases)(&self.part(plan), self.salt)
    }

    /// The number of all combinations of keys, orders and windows for this check in a plan.
    pub fn all(&self, plan: &Plan) -> usize {
        (self.all)(plan)
    }

    /// The part of a plan that this check takes.
    fn part(&self, plan: &Plan) -> Plan {
        if self.is_of_segments { plan.segmented() } else { plan.clone() }
    }
}

impl Debug for Check {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Check").field("key", &self.key).field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// Every operation on every key type, the sort of wide keys, and the check of keys that break their contract.
pub fn checks() -> Vec<Check> {
    let mut checks = vec![];
    macro_rules! enter {
        ($($key:ty)*) => {$( checks.extend(checks_of::<$key>()); )*};
    }
    enter!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f16 bf16 f32 f64 bool char Custom Scored);
    enter!(Reverse<f32> Reverse<char> (u16, i32) (bool, f32) (i8, char, Reverse<u16>) (Option<i8>, NoneLast<u16>));
    checks.extend(checks_of_own_keys());
    checks
}

/// The checks that bring their own keys.
fn checks_of_own_keys() -> [Check; 2] {
    [
        Check {
            key: wide::NAME,
            operation: "sort_wide",
            cases: Plan::cases::<u64>,
            salt: 19,
            all: Plan::all::<u64>,
            run: Box::new(wide::sort_wide),
            is_of_segments: true,
        },
        Check {
            key: unruly::NAME,
            operation: "broken_contract",
            cases: |plan, salt| plan.of_lengths(&unruly::LENGTHS).cases::<char>(salt),
            salt: 18,
            all: |plan| plan.of_lengths(&unruly::LENGTHS).all::<char>(),
            run: Box::new(unruly::broken_contract),
            is_of_segments: false,
        },
    ]
}

/// Every operation on one key type.
pub fn checks_of<K: TestKey>() -> Vec<Check> {
    type Operation<K> = fn(&DynBackend, &[K], Case) -> Result<(), String>;
    // Each operation has a salt of its own, which stays the same when others are added.
    let operations: [(&str, u64, Operation<K>); 18] = [
        ("sort", 0, sort),
        ("sort_into", 10, sort_into),
        ("sort_pairs", 1, sort_pairs),
        ("sort_pairs_into", 11, sort_pairs_into),
        ("sort_by_key", 2, sort_by_key),
        ("argsort", 3, argsort),
        ("sort_segments", 4, sort_segments),
        ("sort_pairs_segments", 5, sort_pairs_segments),
        ("argsort_segments", 6, argsort_segments),
        ("top_k", 7, top_k),
        ("top_k_segments", 9, top_k_segments),
        ("partial_sort", 13, partial_sort),
        ("partial_sort_segments", 14, partial_sort_segments),
        ("select_nth", 15, select_nth),
        ("select_nth_segments", 16, select_nth_segments),
        ("runs", 17, runs),
        ("async", 12, futures),
        ("misuse", 8, misuse),
    ];
    let check = |(operation, salt, run): (&'static str, u64, Operation<K>)| Check {
        key: K::NAME,
        operation,
        cases: Plan::cases::<K>,
        salt,
        all: Plan::all::<K>,
        run: Box::new(move |backend, case| run(backend, &case.pattern.keys::<K>(case.len, case.seed), case)),
        is_of_segments: operation.ends_with("_segments") || operation == "async",
    };
    operations.map(check).into()
}

fn sort<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let mut sorted = keys.to_vec();
    backend.sort_with(&mut sorted, case.options).map_err(failed)?;
    sorts_keys(keys, &sorted, case).map(drop)
}

fn sort_into<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let (input, mut sorted) = (keys.to_vec(), garbage(keys.len()));
    backend.sort_into_with(&input, &mut sorted, case.options).map_err(failed)?;
    sorts_keys(keys, &sorted, case)?;
    same_keys("keys of the input", &input, keys)
}

/// Keys that were there before a sort into a slice.
fn garbage<K: TestKey>(len: usize) -> Vec<K> {
    (0..len as u128).map(|at| K::from_raw(at.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))).collect()
}

fn sort_pairs_into<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    fn with_values<K: TestKey, V: Pod + Debug + PartialEq>(
        backend: &DynBackend,
        keys: &[K],
        case: Case,
        value: fn(u32) -> V,
    ) -> Result<(), String> {
        let (input, mut sorted) = (keys.to_vec(), garbage(keys.len()));
        let (values, mut moved) = (numbered(keys.len(), value), vec![V::zeroed(); keys.len()]);
        backend.sort_pairs_into_with(&input, &values, &mut sorted, &mut moved, case.options).map_err(failed)?;
        same_values(&moved, &sorts_keys(keys, &sorted, case)?, value)?;
        same_keys("keys of the input", &input, keys)?;
        same("values of the input", &values, &numbered(keys.len(), value))
    }
    match case.seed % 4 {
        0 => with_values::<K, u64>(backend, keys, case, |i| u64::from(i) << 9),
        1 => with_values::<K, [u8; 3]>(backend, keys, case, |i| [i as u8, (i >> 8) as u8, (i >> 16) as u8]),
        2 => with_values::<K, u128>(backend, keys, case, |i| u128::from(i) << 70 | u128::from(!i)),
        _ => with_values::<K, u32>(backend, keys, case, |i| i),
    }
}

fn sort_pairs<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    // Payloads that backends move themselves, and others.
    match case.seed % 8 {
        0 => pairs_of::<K, u64>(backend, keys, case, |i| u64::from(i) << 32 | u64::from(!i)),
        1 => pairs_of::<K, [u32; 3]>(backend, keys, case, |i| [i, !i, i ^ 0x5555]),
        2 => pairs_of::<K, u128>(backend, keys, case, |i| u128::from(i) << 96 | u128::from(!i)),
        3 => pairs_of::<K, [u8; 5]>(backend, keys, case, |i| [i as u8, (i >> 8) as u8, (i >> 16) as u8, (i >> 24) as u8, 7]),
        4 => pairs_of::<K, [u16; 10]>(backend, keys, case, |i| [(i >> 16) as u16, i as u16, 1, 2, 3, 4, 5, 6, 7, 8]),
        5 => pairs_of::<K, [u8; 4]>(backend, keys, case, u32::to_le_bytes),
        _ => pairs_of::<K, u32>(backend, keys, case, |i| i),
    }
}

fn pairs_of<K: TestKey, V: Pod + Debug + PartialEq>(
    backend: &DynBackend,
    keys: &[K],
    case: Case,
    value: fn(u32) -> V,
) -> Result<(), String> {
    let (mut sorted, mut values) = (keys.to_vec(), numbered(keys.len(), value));
    backend.sort_pairs_with(&mut sorted, &mut values, case.options).map_err(failed)?;
    same_values(&values, &sorts_keys(keys, &sorted, case)?, value)
}

/// The values of keys before they are sorted: the first key has `value(0)`.
fn numbered<V>(len: usize, value: fn(u32) -> V) -> Vec<V> {
    (0..len as u32).map(value).collect()
}

/// Checks that `sorted` is what a sort of `keys` makes, and returns its permutation.
fn sorts_keys<K: TestKey>(keys: &[K], sorted: &[K], case: Case) -> Result<Vec<u32>, String> {
    let permutation = Oracle::new(keys, case).permutation();
    same_keys("keys", sorted, &permutation::gather(keys, &permutation))?;
    Ok(permutation)
}

/// Checks that values moved as `permutation` says, from where they were [`numbered`].
fn same_values<V: Debug + PartialEq>(moved: &[V], permutation: &[u32], value: fn(u32) -> V) -> Result<(), String> {
    let expected: Vec<V> = permutation.iter().map(|&index| value(index)).collect();
    same(format_args!("values of {} bytes", size_of::<V>()), moved, &expected)
}

fn sort_by_key<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    // Elements that are not Copy.
    let mut items: Vec<(Box<usize>, K)> = keys.iter().enumerate().map(|(i, &key)| (Box::new(i), key)).collect();
    backend.sort_by_key_with(&mut items, |item| item.1, case.options).map_err(failed)?;
    let order: Vec<u32> = items.iter().map(|item| *item.0 as u32).collect();
    same("order of the items", &order, &Oracle::new(keys, case).permutation())
}

fn argsort<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let permutation = backend.argsort_with(keys, case.options).map_err(failed)?;
    same("permutation", &permutation, &Oracle::new(keys, case).permutation())
}

fn sort_segments<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let lists = Lists::of(case);
    let mut sorted = keys.to_vec();
    backend.sort_segments_with(&mut sorted, lists.segments(), case.options).map_err(failed)?;
    sorts_segments(keys, &sorted, &lists, case).map(drop)
}

/// Checks that `sorted` is what a sort of each segment of `keys` makes, and returns its permutation.
fn sorts_segments<K: TestKey>(keys: &[K], sorted: &[K], lists: &Lists, case: Case) -> Result<Vec<u32>, String> {
    let permutation = Oracle::new(keys, case).segments_permutation(&lists.ranges());
    same_keys(format_args!("keys in {lists:?}"), sorted, &permutation::gather(keys, &permutation))?;
    Ok(permutation)
}

fn sort_pairs_segments<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    fn with_values<K: TestKey, V: Pod + Debug + PartialEq>(
        backend: &DynBackend,
        keys: &[K],
        case: Case,
        value: fn(u32) -> V,
    ) -> Result<(), String> {
        let lists = Lists::of(case);
        let (mut sorted, mut values) = (keys.to_vec(), numbered(keys.len(), value));
        backend.sort_pairs_segments_with(&mut sorted, &mut values, lists.segments(), case.options).map_err(failed)?;
        let permutation = sorts_segments(keys, &sorted, &lists, case)?;
        same_values(&values, &permutation, value).map_err(|what| format!("{what} in {lists:?}"))
    }
    match case.seed % 3 {
        0 => with_values::<K, u64>(backend, keys, case, |i| u64::from(i) << 7),
        1 => with_values::<K, [u8; 3]>(backend, keys, case, |i| [i as u8, (i >> 8) as u8, (i >> 16) as u8]),
        _ => with_values::<K, u32>(backend, keys, case, |i| i),
    }
}

fn argsort_segments<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let lists = Lists::of(case);
    let permutation = backend.argsort_segments_with(keys, lists.segments(), case.options).map_err(failed)?;
    let expected = Oracle::new(keys, case).segments_permutation(&lists.ranges());
    same(format_args!("permutation in {lists:?}"), &permutation, &expected)
}

fn top_k<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let len = keys.len();
    let ks = [0, 1, 10, len / 100, len / 3, len.saturating_sub(1), len, len + 5];
    let k = ks[(case.seed >> 8) as usize % ks.len()];
    let best = backend.top_k_with(keys, k, case.options).map_err(failed)?;
    let mut expected = Oracle::new(keys, case).permutation();
    expected.truncate(k);
    same(format_args!("indices for k = {k}"), &best.indices, &expected)?;
    same_keys(format_args!("keys for k = {k}"), &best.keys, &permutation::gather(keys, &expected))
}

fn top_k_segments<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let lists = Lists::of(case);
    let longest = lists.longest();
    let ks = [0, 1, 10, 1000, longest / 20, longest / 2, longest, usize::MAX];
    let k = ks[(case.seed >> 8) as usize % ks.len()];
    let best = backend.top_k_segments_with(keys, k, lists.segments(), case.options).map_err(failed)?;
    let order = Oracle::new(keys, case).segments_permutation(&lists.ranges());
    let expected: Vec<u32> = lists.ranges().into_iter().flat_map(|range| order[range].iter().copied().take(k)).collect();
    same(format_args!("indices for k = {k} in {lists:?}"), &best.indices, &expected)?;
    same_keys(format_args!("keys for k = {k} in {lists:?}"), &best.keys, &permutation::gather(keys, &expected))
}

fn partial_sort<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let (len, mut moved) = (keys.len(), keys.to_vec());
    let ks = [0, 1, 10, len / 100, len / 2, len.saturating_sub(1), len, usize::MAX];
    let k = ks[(case.seed >> 8) as usize % ks.len()];
    backend.partial_sort_with(&mut moved, k, case.options).map_err(failed)?;
    sorted_at(keys, &moved, case, &Lists::Offsets(vec![0, len]), 0..k)
}

fn partial_sort_segments<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let (lists, mut moved) = (Lists::of(case), keys.to_vec());
    let ks = [0, 1, 10, 1000, usize::MAX];
    let k = ks[(case.seed >> 8) as usize % ks.len()];
    backend.partial_sort_segments_with(&mut moved, k, lists.segments(), case.options).map_err(failed)?;
    sorted_at(keys, &moved, case, &lists, 0..k).map_err(|what| format!("{what} in {lists:?}"))
}

fn select_nth<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let (len, mut moved) = (keys.len(), keys.to_vec());
    let ns = [0, 1, len / 100, len / 2, len / 10 * 9, len.saturating_sub(1), len, usize::MAX];
    let n = ns[(case.seed >> 8) as usize % ns.len()];
    match backend.select_nth_with(&mut moved, n, case.options) {
        Err(Error::InvalidPosition { position, len: keys_len, .. }) if n >= len && (position, keys_len) == (n, len) => {
            same_keys("keys after a refusal", &moved, keys)
        }
        result if n >= len => Err(format!("position {n} of {len} was not refused as it should be: {result:?}")),
        result => {
            result.map_err(failed)?;
            sorted_at(keys, &moved, case, &Lists::Offsets(vec![0, len]), n..n + 1)
        }
    }
}

fn select_nth_segments<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let (lists, mut moved) = (Lists::of(case), keys.to_vec());
    let longest = lists.longest();
    let ns = [0, 1, 10, longest / 2, longest.saturating_sub(1), usize::MAX];
    let n = ns[(case.seed >> 8) as usize % ns.len()];
    backend.select_nth_segments_with(&mut moved, n, lists.segments(), case.options).map_err(failed)?;
    let positions = n..n.saturating_add(1);
    sorted_at(keys, &moved, case, &lists, positions).map_err(|what| format!("{what} in {lists:?}"))
}

/// Runs in keys as they come, and in sorted keys.
fn runs<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let sorted = permutation::gather(keys, &Oracle::new(keys, case).permutation());
    let keys = if case.seed >> 8 & 1 == 0 { keys } else { &sorted };
    let oracle = Oracle::new(keys, case);
    let found = match case.seed >> 9 & 1 {
        0 => backend.runs_with(keys, case.options),
        _ => block_on(backend.runs_async(keys, case.options)),
    };
    let runs = found.map_err(failed)?;
    let begins: Vec<usize> = (0..keys.len()).filter(|&at| at == 0 || !oracle.are_equal(at - 1, at)).collect();
    let offsets: Vec<usize> = begins.iter().copied().chain([keys.len()]).collect();
    same("offsets of runs", &runs.offsets, &offsets)?;
    let firsts: Vec<K> = begins.iter().map(|&at| keys[at]).collect();
    same_keys("first keys of runs", &runs.unique(keys), &firsts)?;
    let lengths: Vec<usize> = runs.lengths().collect();
    let expected: Vec<usize> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
    same("lengths of runs", &lengths, &expected)
}

/// Checks that each segment of `moved` holds the keys of that segment of `keys`, those at `positions` as a sort would place them, and between other keys
/// that sort no later and no earlier.
fn sorted_at<K: TestKey>(keys: &[K], moved: &[K], case: Case, lists: &Lists, positions: Range<usize>) -> Result<(), String> {
    let segments = lists.ranges();
    let order = Oracle::new(keys, case).segments_permutation(&segments);
    let sorted = permutation::gather(keys, &order);
    // The places that each segment has, and its parts before and behind them.
    let places = |segment: &Range<usize>| {
        let start = segment.start + positions.start.min(segment.len());
        start..segment.start + positions.end.min(segment.len()).max(start - segment.start)
    };
    for place in segments.iter().map(places) {
        same_keys(format_args!("keys at {place:?}"), &moved[place.clone()], &sorted[place.clone()])?;
    }
    let raws = |keys: &[K]| {
        let mut raws: Vec<u128> = keys.iter().map(|key| key.raw()).collect();
        segments.iter().for_each(|segment| raws[segment.clone()].sort_unstable());
        raws
    };
    same("all keys", &raws(moved), &raws(keys))?;
    // A stable sort of all keys moves none from one part to another.
    let (mut wholes, mut parts) = (vec![], vec![]);
    for segment in segments.iter().filter(|segment| !places(segment).is_empty()) {
        let place = places(segment);
        wholes.push(segment.clone());
        parts.extend([segment.start..place.start, place.clone(), place.end..segment.end]);
    }
    let oracle = Oracle::new(moved, case);
    same("parts of the keys", &oracle.segments_permutation(&parts), &oracle.segments_permutation(&wholes))
}

/// The async forms, two of which are in flight at a time.
fn futures<K: TestKey>(backend: &DynBackend, keys: &[K], case: Case) -> Result<(), String> {
    let oracle = Oracle::new(keys, case);
    let lists = Lists::of(case);
    let permutation = oracle.permutation();
    let (mut sorted, mut other, mut values) = (keys.to_vec(), keys.to_vec(), (0..keys.len() as u32).collect::<Vec<_>>());
    let (which, which_other) = (case.seed % 5, (case.seed >> 8) % 6);
    let first = async {
        match which {
            0 => backend.sort_async(&mut sorted, case.options).await,
            1 => backend.sort_into_async(keys, &mut sorted, case.options).await,
            2 => backend.partial_sort_async(&mut sorted, keys.len(), case.options).await,
            3 => backend.sort_pairs_async(&mut sorted, &mut values, case.options).await,
            _ => backend.sort_pairs_into_async(keys, &values.clone(), &mut sorted, &mut values, case.options).await,
        }
    };
    let second = async {
        match which_other {
            0 => backend.argsort_async(keys, case.options).await,
            1 => backend.top_k_async(keys, keys.len() / 3, case.options).await.map(|best| best.indices),
            2 => backend.argsort_segments_async(keys, lists.segments(), case.options).await,
            3 => backend.sort_segments_async(&mut other, lists.segments(), case.options).await.map(|()| vec![]),
            4 => {
                let mut indices: Vec<u32> = (0..keys.len() as u32).collect();
                let moved = backend.sort_pairs_segments_async(&mut other, &mut indices, lists.segments(), case.options).await;
                moved.map(|()| indices)
            }
            _ => {
                let sorted = backend.partial_sort_segments_async(&mut other, usize::MAX, lists.segments(), case.options).await;
                sorted.map(|()| vec![])
            }
        }
    };
    let (first, second) = block_on(zip(first, second));
    first.map_err(failed)?;
    same_keys("keys", &sorted, &permutation::gather(keys, &permutation))?;
    // Those that move values.
    if which >= 3 {
        same("values", &values, &permutation)?;
    }
    let indices = second.map_err(failed)?;
    let in_segments = || oracle.segments_permutation(&lists.ranges());
    let same_segments = |other: &[K]| same_keys("keys of segments", other, &permutation::gather(keys, &in_segments()));
    match which_other {
        0 => same("permutation", &indices, &permutation),
        1 => same("selected indices", &indices, &permutation[..keys.len() / 3]),
        2 => same("permutation of segments", &indices, &in_segments()),
        4 => same("values of segments", &indices, &in_segments()).and_then(|()| same_segments(&other)),
        _ => same_segments(&other),
    }
}

/// Segments for a case: tiny, large and empty ones, and mixtures; as offsets, or with gaps. Or the rows of a matrix.
#[derive(Debug)]
enum Lists {
    Offsets(Vec<usize>),
    Ranges(Vec<usize>, Vec<usize>),
    Rows { rows: usize, len: usize, stride: usize },
}

impl Lists {
    fn of(case: Case) -> Self {
        let mut rng = SmallRng::seed_from_u64(mix(case.seed, 1));
        let longest = [1, 3, 40, 700, 20_000, usize::MAX][(case.seed >> 4) as usize % 6];
        if case.seed >> 17 & 3 == 0 {
            let stride = rng.random_range(0..=longest.min(case.len));
            let len = rng.random_range(0..=stride);
            let most = (case.len - len).checked_div(stride).map_or(3, |before| before + 1);
            return Self::Rows { rows: rng.random_range(0..=most), len, stride };
        }
        let gaps = case.seed >> 16 & 1 == 1;
        let (mut begins, mut ends, mut at) = (vec![], vec![], 0);
        while at < case.len {
            if gaps {
                at = rng.random_range(at..(at + 3).min(case.len));
            }
            // One segment in four is short, however long the others are.
            let short = rng.random_range(0..4) == 0;
            let len = rng.random_range(0..=if short { longest.min(2) } else { longest }.min(case.len - at));
            begins.push(at);
            at += len;
            ends.push(at);
        }
        if gaps {
            return Self::Ranges(begins, ends);
        }
        begins.push(at);
        Self::Offsets(begins)
    }

    fn ranges(&self) -> Vec<Range<usize>> {
        self.segments().ranges().collect()
    }

    /// The length of the longest segment.
    fn longest(&self) -> usize {
        self.segments().ranges().map(|range| range.len()).max().unwrap_or(0)
    }

    fn segments(&self) -> Segments<'_> {
        match self {
            Self::Offsets(offsets) => Segments::Offsets(offsets),
            Self::Ranges(begins, ends) => Segments::Ranges { begins, ends },
            &Self::Rows { rows, len, stride } => Segments::Rows { rows, len, stride },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Checks with the same salt would get the same cases.
    #[test]
    fn each_check_has_a_salt_of_its_own() {
        let mut operations = BTreeMap::new();
        for check in checks_of::<u8>().into_iter().chain(checks_of_own_keys()) {
            assert_eq!(operations.insert(check.salt, check.operation), None, "{} has the same salt", check.operation);
        }
    }
}
