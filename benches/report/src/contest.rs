//! The times of the systems in each case, and the ratio of the best peer's time to ours.
//!
//! ```text
//! for each case, for each number of keys, for each run (a process, in which the systems took turns):
//!     for each system: the median over the rows of each of its functions; of these the least
//!     the ratio: the best peer's time divided by ours
//! over runs: the median time of each system; the run with the median ratio
//! ```
//!
//! Systems of different runs are never compared. Rows with a wrong answer are left out.

use polysort_measure::{By, Row};
use std::collections::{BTreeMap, BTreeSet};

/// Our name in records. Earlier versions of ours have a hyphen and the version after it.
pub(crate) const OURS: &str = "polysort";

/// Systems that do not sort: copies and sums of the same bytes. Figures put a text after the name for values that they derive.
const YARDSTICKS: [&str; 2] = [COPY, "memory"];

/// The system that copies the bytes of the records to sort.
pub(crate) const COPY: &str = "memcpy";

/// What is timed: the sort of data on a GPU alone, or a call with slices of the host.
pub(crate) const RESIDENT: &str = "resident";
pub(crate) const END_TO_END: &str = "end_to_end";
const SCOPES: [&str; 2] = [RESIDENT, END_TO_END];

/// The operations that figures show, with their names for readers.
const OPERATIONS: [(&str, &str); 13] = [
    ("sort", "keys alone"),
    ("in-place", "keys alone, in place"),
    ("sort_pairs", "pairs"),
    ("argsort", "argsort"),
    ("sort_segments", "segments"),
    ("top_k", "top_k"),
    ("bottom_k", "bottom_k"),
    ("first100", "the first 100 keys"),
    ("partial_sort", "partial_sort"),
    ("select_nth", "select_nth"),
    ("median", "select_nth of the median"),
    ("tenth", "partial_sort of a tenth"),
    ("sort_wide", "wide keys"),
];

/// All that is sorted, without the number of keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    pub(crate) scope: String,
    pub(crate) threads: Option<usize>,
    /// The place of the operation among [`OPERATIONS`]: figures list operations in this order.
    pub(crate) rank: usize,
    /// `k=100`, of a selection.
    pub(crate) detail: String,
    pub(crate) payload: String,
    pub(crate) key: String,
    pub(crate) order: String,
    pub(crate) pattern: String,
}

impl Case {
    /// Returns the case of a row. Records write some cases in two ways. The result is `None` if no figure shows the operation or the scope.
    pub(crate) fn of(row: &Row) -> Option<Self> {
        let cell = &row.cell;
        if !SCOPES.contains(&&*cell.scope) {
            return None;
        }
        let (op, mut detail) = cell.op.split_once(' ').map_or((&*cell.op, String::new()), |(op, k)| (op, format!("k={k}")));
        let mut pattern = hyphenated(&cell.pattern);
        let op = match op {
            // Pairs are pairs, whatever the operation is called.
            "sort" if cell.payload != "none" => "sort_pairs",
            "sort_pairs_segments" => "sort_segments",
            op => op,
        };
        if op == "sort_segments"
            && let Some((_, segments)) = row.algorithm.split_once(' ')
        {
            let segments = if segments.parse::<u32>().is_ok() { format!("2^{segments}") } else { segments.to_string() };
            pattern = format!("{pattern} in {segments} segments");
        }
        if op == "top_k" && row.algorithm.starts_with("k=") {
            detail.clone_from(&row.algorithm);
        }
        Some(Self {
            scope: cell.scope.clone(),
            threads: cell.threads,
            rank: OPERATIONS.iter().position(|known| known.0 == op)?,
            detail,
            payload: cell.payload.clone(),
            key: cell.key.clone(),
            order: cell.order.clone(),
            pattern,
        })
    }

    /// Returns the name of the operation in records.
    pub(crate) fn op(&self) -> &'static str {
        OPERATIONS[self.rank].0
    }

    /// Returns the operation for readers: `pairs with u32 values`, `top_k, k=100`.
    pub(crate) fn operation(&self) -> String {
        let mut text = OPERATIONS[self.rank].1.to_string();
        if self.payload != "none" {
            text += &format!(" with {} values", self.payload);
        }
        if !self.detail.is_empty() {
            text += &format!(", {}", self.detail);
        }
        text
    }

    /// Returns the type of the keys, and the direction if it is not ascending.
    pub(crate) fn keys(&self) -> String {
        if self.order == "desc" { format!("{}, descending", self.key) } else { self.key.clone() }
    }

    /// Whether the keys are spread evenly over all values.
    pub(crate) fn is_uniform(&self) -> bool {
        self.pattern == "uniform"
    }
}

/// Returns `NearlySorted` as `nearly-sorted`: records write the names of patterns in both ways.
fn hyphenated(name: &str) -> String {
    if name.contains(|char: char| !char.is_ascii_alphanumeric()) {
        return name.into();
    }
    let mut hyphenated = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() && !hyphenated.is_empty() {
            hyphenated.push('-');
        }
        hyphenated.push(char.to_ascii_lowercase());
    }
    hyphenated
}

/// The time of a system, in nanoseconds, and its fastest function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Time {
    pub(crate) nanos: f64,
    pub(crate) function: String,
}

/// The best peer beside one of our systems, in one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) ours: Time,
    pub(crate) peer: String,
    pub(crate) best: Time,
}

impl Ratio {
    /// Returns the best peer's time divided by ours: above 1 ours is faster.
    pub(crate) fn value(&self) -> f64 {
        self.best.nanos / self.ours.nanos
    }
}

/// The systems of one case and number of keys.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) n: usize,
    /// The time of each system by its name.
    pub(crate) times: BTreeMap<String, Time>,
    /// The ratio of each of our systems by its name.
    pub(crate) ratios: BTreeMap<String, Ratio>,
}

/// The cases of a record, each with its standings by ascending number of keys.
pub(crate) type Contests = BTreeMap<Case, Vec<Standing>>;

/// Whether a name is that of this version of ours.
pub(crate) fn is_ours(name: &str) -> bool {
    name == OURS || name.starts_with("polysort ")
}

/// Whether a name is that of another author's system that sorts.
pub(crate) fn is_peer(name: &str) -> bool {
    !name.starts_with(OURS) && !YARDSTICKS.iter().any(|yardstick| name.starts_with(yardstick))
}

/// Returns the names of the peers that figures can show: those with a verified row.
pub(crate) fn peers(rows: &[Row]) -> BTreeSet<&str> {
    let shown = rows.iter().filter(|row| row.verified && is_peer(&row.system) && Case::of(row).is_some());
    shown.map(|row| &*row.system).collect()
}

/// Returns the operations and scopes of rows that no figure shows.
pub(crate) fn unknown(rows: &[Row]) -> BTreeSet<String> {
    let unknown = rows.iter().filter(|row| Case::of(row).is_none());
    unknown.map(|row| format!("{} ({})", row.cell.op, row.cell.scope)).collect()
}

/// Which of a peer's functions a line stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Functions {
    /// The fastest, at each number of keys.
    Fastest,
    /// Each by itself.
    Each,
}

/// Returns the contests of the verified rows.
pub(crate) fn contests(rows: &[Row], by: By, functions: Functions) -> Contests {
    let names = Names::of(rows);
    // For each case, number of keys, run, system and function: the times of the rows.
    type Runs<'a> = BTreeMap<&'a str, BTreeMap<String, BTreeMap<String, Vec<f64>>>>;
    let mut all: BTreeMap<Case, BTreeMap<usize, Runs<'_>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.verified) {
        let Some(case) = Case::of(row) else { continue };
        let (mut name, function) = (names.name(row), function(row));
        if functions == Functions::Each && is_peer(&name) {
            name = function.clone();
        }
        let runs = all.entry(case).or_default().entry(row.cell.n).or_default();
        runs.entry(&row.run).or_default().entry(name).or_default().entry(function).or_default().push(row.time(by));
    }
    let fastest = |functions: BTreeMap<String, Vec<f64>>| {
        let times = functions.into_iter().map(|(function, times)| Time { nanos: middle(times, f64::total_cmp), function });
        times.min_by(|a, b| a.nanos.total_cmp(&b.nanos)).expect("a system has a function")
    };
    let standing = |(n, runs): (usize, Runs<'_>)| {
        let (mut times, mut ratios) = (BTreeMap::<String, Vec<Time>>::new(), BTreeMap::<String, Vec<Ratio>>::new());
        for systems in runs.into_values() {
            let systems: BTreeMap<String, Time> =
                systems.into_iter().map(|(name, functions)| (name, fastest(functions))).collect();
            let peers = systems.iter().filter(|(name, _)| is_peer(name));
            if let Some((peer, best)) = peers.min_by(|a, b| a.1.nanos.total_cmp(&b.1.nanos)) {
                for (name, ours) in systems.iter().filter(|(name, _)| is_ours(name)) {
                    let ratio = Ratio { ours: ours.clone(), peer: peer.clone(), best: best.clone() };
                    ratios.entry(name.clone()).or_default().push(ratio);
                }
            }
            for (name, time) in systems {
                times.entry(name).or_default().push(time);
            }
        }
        let times = times.into_iter().map(|(name, times)| (name, middle(times, |a, b| a.nanos.total_cmp(&b.nanos))));
        let ratios = ratios.into_iter().map(|(name, ratios)| (name, middle(ratios, |a, b| a.value().total_cmp(&b.value()))));
        Standing { n, times: times.collect(), ratios: ratios.collect() }
    };
    all.into_iter().map(|(case, lengths)| (case, lengths.into_iter().map(standing).collect())).collect()
}

/// Returns the middle one of `values`, and of two in the middle the lower one.
fn middle<T>(mut values: Vec<T>, compare: impl Fn(&T, &T) -> core::cmp::Ordering) -> T {
    values.sort_by(compare);
    let at = (values.len() - 1) / 2;
    values.swap_remove(at)
}

/// Returns a row's function for readers: `rdst radix_sort_unstable`, `torch cuda pinned`, `polysort wgpu OneSweep`.
fn function(row: &Row) -> String {
    let mut parts = vec![&*row.system, &row.backend, &row.algorithm];
    parts.retain(|part| !["", "auto"].contains(part));
    parts.dedup();
    parts.join(" ")
}

/// Our algorithms that a GPU uses only on request, as records write them.
const ON_REQUEST: [&str; 4] = ["WideDigits", "wide_digits", "MsdHybrid", "msd_hybrid"];

/// Gives our systems their names: our backend is part of the name if a record has several, and so is an algorithm that a run forces.
struct Names<'a> {
    has_backends: bool,
    /// For each run, case, number of keys and backend: the algorithm that our planner chooses.
    chosen: BTreeMap<(&'a str, Case, usize, &'a str), &'a str>,
}

impl<'a> Names<'a> {
    fn of(rows: &'a [Row]) -> Self {
        let ours = || rows.iter().filter(|row| row.system == OURS);
        let backends: BTreeSet<&str> = ours().map(|row| &*row.backend).collect();
        let mut chosen = BTreeMap::new();
        for row in ours() {
            let Some(case) = Case::of(row) else { continue };
            let first = chosen.entry((&*row.run, case, row.cell.n, &*row.backend)).or_insert(&*row.algorithm);
            // Beside it the others run on request.
            if choice(&row.algorithm) < choice(first) {
                *first = &row.algorithm;
            }
        }
        Self { has_backends: backends.len() > 1, chosen }
    }

    fn name(&self, row: &Row) -> String {
        if row.system != OURS {
            return row.system.clone();
        }
        let mut name = OURS.to_string();
        if self.has_backends {
            name += &format!(" {}", row.backend);
        }
        let chosen = Case::of(row).and_then(|case| self.chosen.get(&(&*row.run, case, row.cell.n, &*row.backend)));
        if ON_REQUEST.contains(&&*row.algorithm) || chosen.is_some_and(|chosen| *chosen != row.algorithm) {
            name += &format!(" {}", row.algorithm);
        }
        name
    }
}

/// Returns 0 for `auto`, 1 for OneSweep, which the planner chooses where it can, and 2 for others.
fn choice(algorithm: &str) -> usize {
    ["auto", "onesweep"].iter().position(|name| algorithm.eq_ignore_ascii_case(name)).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Origin, Record};
    use polysort_measure::HEADER;

    /// Rows of `run,system,backend,algorithm,op,payload,pattern,n,median`.
    fn rows(lines: &[&str]) -> Vec<Row> {
        let mut text = HEADER.to_string() + "\n";
        for line in lines {
            let [run, system, backend, algorithm, op, payload, pattern, n, median] = line.split(',').collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            text += &format!(
                "{run},{system},{backend},{algorithm},{op},u32,{payload},{pattern},asc,{n},resident,,{median},1,9,1,9,3,true\n"
            );
        }
        Record::parse(&text, Origin::default()).expect("a record").rows
    }

    fn only(contests: &Contests) -> (&Case, &Standing) {
        let (case, standings) = contests.iter().next().expect("a case");
        assert_eq!((contests.len(), standings.len()), (1, 1), "{contests:?}");
        (case, &standings[0])
    }

    #[test]
    fn the_fastest_function_of_the_best_peer_counts() {
        let rows = rows(&[
            "a,polysort,rayon,auto,sort,none,uniform,8,100",
            "a,std,sort,auto,sort,none,uniform,8,300",
            "a,std,sort_unstable,auto,sort,none,uniform,8,150",
            "a,rdst,radix,auto,sort,none,uniform,8,200",
            "a,memcpy,copy,auto,sort,none,uniform,8,10",
            "a,polysort-0123abc,rayon,auto,sort,none,uniform,8,20",
        ]);
        let contests = contests(&rows, By::Median, Functions::Fastest);
        let (_, standing) = only(&contests);
        let ratio = &standing.ratios[OURS];
        assert_eq!((ratio.value(), &*ratio.peer, &*ratio.best.function), (1.5, "std", "std sort_unstable"));
        assert_eq!(standing.times.keys().collect::<Vec<_>>(), ["memcpy", "polysort", "polysort-0123abc", "rdst", "std"]);
        assert_eq!(only(&super::contests(&rows, By::Least, Functions::Fastest)).1.ratios[OURS].value(), 1.0);
        assert_eq!(only(&super::contests(&rows, By::Median, Functions::Each)).1.times.len(), 6);
    }

    #[test]
    fn only_systems_of_one_run_are_compared() {
        let rows = rows(&[
            "a,polysort,wgpu,OneSweep,sort,none,uniform,8,100",
            "a,cub,cub,DeviceRadixSort,sort,none,uniform,8,200",
            "b,polysort,wgpu,OneSweep,sort,none,uniform,8,100",
            "b,cub,cub,DeviceRadixSort,sort,none,uniform,8,120",
            "c,polysort,wgpu,OneSweep,sort,none,uniform,8,50",
            "d,polysort,wgpu,OneSweep,sort,none,uniform,8,70",
            "d,cub,cub,DeviceRadixSort,sort,none,uniform,8,63",
        ]);
        let contests = contests(&rows, By::Median, Functions::Fastest);
        let (_, standing) = only(&contests);
        // The ratios are 2, 1.2 and 0.9; c has no peer.
        assert_eq!((standing.ratios[OURS].value(), standing.ratios.len()), (1.2, 1));
        assert_eq!((standing.times[OURS].nanos, standing.times["cub"].nanos), (70.0, 120.0));
    }

    #[test]
    fn an_algorithm_on_request_has_a_name_of_its_own() {
        let rows = rows(&[
            "a,polysort,wgpu,WideDigits,sort,none,uniform,8,100",
            "a,polysort,wgpu,OneSweep,sort,none,uniform,8,200",
            "b,polysort,wgpu,Counting,sort,none,equal,8,120",
            "c,polysort,wgpu,MsdHybrid,sort,none,sorted,8,120",
        ]);
        let contests = contests(&rows, By::Median, Functions::Fastest);
        let names = |at: usize| contests.values().nth(at).expect("a case")[0].times.keys().cloned().collect::<Vec<_>>();
        // The patterns are in alphabetical order.
        assert_eq!(names(0), [OURS]);
        assert_eq!(names(1), ["polysort MsdHybrid"]);
        assert_eq!(names(2), [OURS, "polysort WideDigits"]);
    }

    #[test]
    fn cases_that_records_write_in_two_ways_are_one() {
        let rows = rows(&[
            "a,polysort,wgpu,segments 8,sort_segments,u32,uniform,8,100",
            "a,cub,cub,DeviceSegmentedSort,sort_pairs_segments,u32,uniform in 2^8 segments,8,50",
        ]);
        let contests = contests(&rows, By::Median, Functions::Fastest);
        let (case, standing) = only(&contests);
        assert_eq!((&*case.pattern, &*case.operation()), ("uniform in 2^8 segments", "segments with u32 values"));
        assert_eq!(standing.ratios[OURS].value(), 0.5);
        let pairs = [rows_of("sort", "u32"), rows_of("sort_pairs", "u32")].concat();
        assert_eq!(only(&super::contests(&pairs, By::Median, Functions::Fastest)).0.op(), "sort_pairs");
        assert_eq!(
            ["NearlySorted", "few-unique", "uniform in 2^8 segments"].map(hyphenated),
            ["nearly-sorted", "few-unique", "uniform in 2^8 segments"]
        );
        let top = [rows_of("top_k 100", "none")].concat();
        assert_eq!(only(&super::contests(&top, By::Median, Functions::Fastest)).0.operation(), "top_k, k=100");
        assert_eq!(unknown(&rows_of("ivf", "none")), BTreeSet::from(["ivf (resident)".to_string()]));
        let mut phase = rows_of("sort", "none");
        phase[0].cell.scope = "phase".into();
        assert_eq!(unknown(&phase), BTreeSet::from(["sort (phase)".to_string()]));
    }

    fn rows_of(op: &str, payload: &str) -> Vec<Row> {
        rows(&[&format!("a,polysort,wgpu,OneSweep,{op},{payload},uniform,8,100")])
    }

    #[test]
    fn wrong_answers_are_left_out() {
        let mut rows = rows_of("sort", "none");
        rows[0].verified = false;
        assert!(contests(&rows, By::Median, Functions::Fastest).is_empty());
    }
}
