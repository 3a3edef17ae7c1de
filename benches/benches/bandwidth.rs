//! How near selections and vector searches on the CPU come to what main memory gives:
//! `cargo bench -p polysort-benches --bench bandwidth -- --csv FILE`.
//!
//! Each case takes turns with a copy and a sum of the same bytes by the same threads; what is printed are the medians of the ratios of
//! neighbouring turns, so that a load that comes and goes falls on both. `README.md` says what the rows hold.

use polysort_core::{Options, Sort};
use polysort_kit::{Pattern, TestKey};
use polysort_measure::{Cell, Effort, Row, Series, Times, Trial, record, run_name, take_turns, timed};
use polysort_rayon::RayonBackend;
use polysort_vector::{Metric, Precision, Search, Shape, VectorSearch, VectorStore};
use rayon::prelude::*;
use std::convert::Infallible;
use std::hint::black_box;

/// Vectors of a list, on average a thousand or so in an index.
const LIST: usize = 1000;

/// Queries that look into each list, where lists are shared.
const SHARING: usize = 8;

/// Lists that such a query looks into.
const PROBED: usize = 8;

/// The `k` of the nearest.
const NEAREST: usize = 10;

struct Bench {
    backend: RayonBackend,
    threads: usize,
    run: String,
    rounds: usize,
    keys: usize,
    store_bytes: usize,
    filter: String,
    rows: Vec<Row>,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name: &str| arguments.iter().position(|argument| argument == name).map(|at| arguments[at + 1].clone());
    let number = |name: &str, or: usize| value(name).map_or(or, |text| text.parse().expect("a number"));
    // Where tests run it, it is to end soon.
    let (keys, mib, rounds) = if arguments.iter().any(|argument| argument == "--bench") { (24, 1024, 15) } else { (16, 4, 1) };
    let backend = RayonBackend::with_threads(number("--threads", rayon::current_num_threads())).expect("a pool");
    let mut bench = Bench {
        threads: backend.threads(),
        backend,
        run: run_name(),
        rounds: number("--rounds", rounds),
        keys: 1 << number("--keys", keys),
        store_bytes: number("--mib", mib) << 20,
        filter: value("--only").unwrap_or_default(),
        rows: vec![],
    };
    println!("{:<52} {:>9} {:>8} {:>7} {:>7} {:>7}", "", "median", "GB/s", "copy", "sum", "best");
    bench.selections();
    bench.searches();
    if let Some(file) = value("--csv") {
        std::fs::write(file, record(&bench.rows)).expect("a file that can be written");
    }
}

impl Bench {
    fn selections(&mut self) {
        use Pattern::{Equal, Reversed, Sorted, Uniform};
        for k in [1, 100, 1000] {
            self.top_k::<u32>(Uniform, Options::ascending(), k);
        }
        for pattern in [Sorted, Reversed, Equal] {
            self.top_k::<u32>(pattern, Options::ascending(), 100);
        }
        for pattern in [Uniform, Sorted, Reversed] {
            self.top_k::<u32>(pattern, Options::descending(), 100);
        }
        for pattern in [Uniform, Sorted] {
            self.top_k::<f32>(pattern, Options::ascending(), 100);
            self.top_k::<f32>(pattern, Options::descending(), 100);
            self.top_k::<u64>(pattern, Options::ascending(), 100);
            self.top_k::<u64>(pattern, Options::descending(), 100);
        }
        self.top_k::<u8>(Uniform, Options::ascending(), 100);
        self.top_k::<u16>(Uniform, Options::ascending(), 100);
        self.top_k::<f64>(Uniform, Options::ascending(), 100);
        self.top_k::<i128>(Uniform, Options::ascending(), 100);
        self.top_k::<u32>(Uniform, Options::ascending().bits(8..24), 100);
    }

    fn top_k<K: TestKey>(&mut self, pattern: Pattern, options: Options, k: usize) {
        let descends = options == Options::descending();
        let order = if descends { "desc" } else { "asc" };
        let window = if descends || options == Options::ascending() { "" } else { " window" };
        let len = self.keys;
        let pattern_name = format!("{pattern:?}").to_lowercase();
        let case = Case::new(format!("k={k}{window}"), ["top_k", K::NAME, "none", &pattern_name, order], len);
        if !self.has(&case) {
            return;
        }
        let keys: Vec<K> = pattern.keys(len, 7);
        let order = self.backend.argsort_with(&keys, options).expect("a sort");
        let backend = self.backend.clone();
        let select = || backend.top_k_with(&keys, k, options).expect("a selection").indices;
        let expected = &order[..k.min(len)];
        let verified = select() == expected;
        let bytes = vec![1_u64; size_of_val(&*keys) / 8];
        self.turns(&case, verified, size_of_val(&*keys), &bytes, || drop(black_box(select())));
    }

    fn searches(&mut self) {
        for precision in [Precision::F32, Precision::F16] {
            for dimension in [768, 64, 100, 1536] {
                let stores = format!("ivf,{precision:?},d={dimension},").to_lowercase();
                // A store takes a while to be filled.
                if !self.filter.contains(&stores) && !stores.contains(&self.filter) {
                    continue;
                }
                let store = Lists::new(&self.backend, dimension, precision, self.store_bytes);
                for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
                    for (gathered, sharing) in [(false, 1), (true, 1), (true, SHARING)] {
                        // All of it for the dimension that the target is told for, and a part for the others.
                        if dimension == 768 || metric == Metric::L2 || gathered && sharing == 1 {
                            self.search(&store, metric, gathered, sharing);
                        }
                    }
                }
            }
        }
    }

    fn search(&mut self, lists: &Lists, metric: Metric, gathered: bool, sharing: usize) {
        let Shape { dimension, precision, .. } = lists.store[0].shape();
        let (queries, candidates, offsets) = lists.queries(sharing);
        let search = Search::new(&queries, &candidates, &offsets).metric(metric);
        let (store, backend) = (&lists.store[usize::from(gathered)], self.backend.clone());
        let found = backend.distances(store, &search).expect("a search");
        let nearest = backend.nearest(store, &search, NEAREST).expect("a search");
        // Against the answers of one thread; those are against a reference in the tests.
        let one = RayonBackend::with_threads(1).expect("a pool");
        let verified = found == one.distances(store, &search).expect("a search")
            && nearest == one.nearest(store, &search, NEAREST).expect("a search")
            && nearest == polysort_vector::nearest_by(&one, &found, &offsets, NEAREST).expect("a selection");
        let bytes = candidates.len() * store.shape().vector_bytes();
        let pattern = format!("{}-{sharing}", if gathered { "gathered" } else { "in-place" });
        let case = |operation: &str| {
            let (key, metric) = (format!("{precision:?}").to_lowercase(), format!("{metric:?}").to_lowercase());
            let texts = ["ivf", &key, &format!("d={dimension}"), &pattern, "asc"];
            Case::new(format!("{metric} {operation}"), texts, candidates.len())
        };
        let distances = || drop(black_box(backend.distances(store, &search).expect("a search")));
        self.turns(&case("distances"), verified, bytes, &lists.bytes, distances);
        let nearest = || drop(black_box(backend.nearest(store, &search, NEAREST).expect("a search")));
        self.turns(&case(&format!("nearest k={NEAREST}")), verified, bytes, &lists.bytes, nearest);
    }

    /// Whether the filter lets a case through.
    fn has(&self, case: &Case) -> bool {
        case.text().contains(&self.filter)
    }

    /// Times `work`, which reads `touched` bytes, in turns with a copy of `memory` and its sum.
    fn turns(&mut self, case: &Case, verified: bool, touched: usize, memory: &[u64], work: impl Fn() + Sync) {
        if !self.has(case) {
            return;
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build().expect("a pool");
        let share = memory.len().div_ceil(self.threads);
        // No more words than a selection has keys, so that a round stays short.
        let copied = memory.len().min(self.keys);
        let copied_share = copied.div_ceil(self.threads);
        let mut target = vec![0_u64; copied];
        let mut series = vec![Series::default(); 3];
        // The warm-up finds memory that has never been touched.
        take_turns(&mut series, Effort::rounds(1, self.rounds), |system| {
            let (time, ()) = match system {
                0 => timed(&work),
                1 => timed(|| {
                    pool.install(|| {
                        let shares = memory[..copied].par_chunks(copied_share).zip(target.par_chunks_mut(copied_share));
                        shares.for_each(|(from, to)| to.copy_from_slice(from));
                    });
                }),
                _ => timed(|| {
                    pool.install(|| {
                        black_box(memory.par_chunks(share).map(sum).reduce(|| 0, u64::wrapping_add));
                    });
                }),
            };
            Ok::<_, Infallible>(Trial::new(time, verified))
        });
        let moved = [touched as f64, 2.0 * 8.0 * copied as f64, size_of_val(memory) as f64];
        let times = [0, 1, 2].map(|system: usize| series[system].ranked());
        // Our speed over that of a peer, in bytes per second.
        let ratio = |peer: usize| series[peer].over(&series[0]) * moved[0] / moved[peer];
        let best = |system: usize| moved[system] / times[system].percentile(0).as_nanos() as f64;
        println!(
            "{:<52} {:>6.2} ms {:>8.1} {:>7.2} {:>7.2} {:>7.2}{}",
            case.text(),
            times[0].median().as_secs_f64() * 1e3,
            times[0].per_nanosecond(moved[0]),
            ratio(1),
            ratio(2),
            best(0) / best(2),
            if verified { "" } else { "  WRONG ANSWER" }
        );
        let systems = [("polysort", "rayon", &*case.algorithm), ("memory", "copy", "bytes"), ("memory", "sum", "bytes")];
        for (index, (system, backend, algorithm)) in systems.into_iter().enumerate() {
            // The peers' times are for moving as many bytes as ours reads; a copy moves each byte twice.
            let scaled: Times = series[index].times.iter().map(|time| time.mul_f64(moved[0] / moved[index])).collect();
            let row = Row::new(&self.run, (system, backend), &case.cell, &scaled, 1, verified);
            self.rows.push(Row { algorithm: algorithm.into(), ..row });
        }
    }
}

/// What is measured, and by which algorithm.
struct Case {
    algorithm: String,
    cell: Cell,
}

impl Case {
    /// The texts are the operation, the key, the payload, the pattern and the order.
    fn new(algorithm: String, texts: [&str; 5], n: usize) -> Self {
        let [op, key, payload, pattern, order] = texts.map(String::from);
        Self { algorithm, cell: Cell { op, key, payload, pattern, n, threads: None, order, scope: "end_to_end".into() } }
    }

    /// The name of the case, in which the filter looks.
    fn text(&self) -> String {
        let Cell { op, key, payload, pattern, n, order, .. } = &self.cell;
        format!("{},{op},{key},{payload},{pattern},{order},{n}", self.algorithm)
    }
}

/// A store whose vectors are the candidates of queries list by list: where the lists lie one after the other, and where the slots are in
/// no order.
struct Lists {
    store: [polysort_rayon::RayonStore; 2],
    /// As many bytes as the store has.
    bytes: Vec<u64>,
    lists: usize,
}

impl Lists {
    fn new(backend: &RayonBackend, dimension: usize, precision: Precision, bytes: usize) -> Self {
        let shape = Shape::new(dimension, 0).precision(precision);
        let lists = bytes / shape.vector_bytes() / LIST / PROBED * PROBED;
        let slots = lists.max(PROBED) * LIST;
        let mut store = backend.vector_store(shape.capacity(slots)).expect("a store");
        for list in 0..slots / LIST {
            store.write((list * LIST) as u32, &numbers(list, LIST * dimension)).expect("room");
        }
        let mut entries: Vec<u32> = (0..slots as u32).collect();
        store.set_entries(&entries).expect("entries");
        let mut gathered = store.clone();
        entries.sort_by_key(|&slot| slot.wrapping_mul(0x9e37_79b1).rotate_left(13).wrapping_mul(0x85eb_ca6b));
        gathered.set_entries(&entries).expect("entries");
        Self { bytes: vec![1; slots * shape.vector_bytes() / 8], lists: slots / LIST, store: [store, gathered] }
    }

    /// Queries, their candidates, and where those of each begin: a query a list, or each with `PROBED` lists so that `sharing` have the same
    /// one. The latter look into an eighth of the store, so as to take as long.
    fn queries(&self, sharing: usize) -> (Vec<f32>, Vec<u32>, Vec<u32>) {
        let dimension = self.store[0].shape().dimension;
        let (queries, probed) = if sharing == 1 { (self.lists, 1) } else { (self.lists / PROBED, PROBED) };
        let lists = if sharing == 1 { self.lists } else { (self.lists / sharing).max(PROBED) };
        let mut candidates = vec![];
        for query in 0..queries {
            for probe in 0..probed {
                // Near queries share some lists, and those they share with others.
                let list = (query * 7 + probe * (probe + 5)) % lists;
                candidates.extend((list * LIST) as u32..((list + 1) * LIST) as u32);
            }
        }
        let offsets = (0..=queries).map(|query| (query * probed * LIST) as u32).collect();
        (numbers(usize::MAX, queries * dimension), candidates, offsets)
    }
}

/// Numbers from −1 to 1.
fn numbers(seed: usize, count: usize) -> Vec<f32> {
    let mut state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn sum(words: &[u64]) -> u64 {
    let mut lanes = [0_u64; 32];
    for block in words.chunks_exact(32) {
        lanes.iter_mut().zip(block).for_each(|(lane, &word)| *lane = lane.wrapping_add(word));
    }
    lanes.into_iter().fold(0, u64::wrapping_add)
}
