//! Measures the CPU backend beside its peers: `cargo run --release -p polysort-benches --bin cpu_grid -- --help`.

use anyhow::{Context, Result};
use clap::Parser;
use polysort_benches::input::Input;
use polysort_benches::key::BenchKey;
use polysort_benches::machine::describe_machine;
use polysort_benches::peers::{self, Field};
use polysort_benches::table::{standings, table, verdict};
use polysort_benches::task::Payload;
use polysort_benches::timing::{Timed, measure};
use polysort_kit::Pattern;
use polysort_measure::{By, Cell, Effort, Row, append, run_name};
use polysort_rayon::RayonBackend;
use polysort_report::read_rows;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Measures sorts on the CPU, ours and its peers', in turns; a process for each number of threads.
#[derive(Parser, Clone, Debug)]
struct Arguments {
    /// Numbers of threads.
    #[arg(long, value_delimiter = ',', default_value = "1")]
    threads: Vec<usize>,
    /// Measures our own sorts alone, on pools of these numbers of threads, in turns in one process: how they scale.
    #[arg(long, value_delimiter = ',')]
    pools: Vec<usize>,
    /// Operations: `sort`, `pairs32`, `pairs64`, `argsort`, `median` (select_nth in the middle), `tenth` (partial_sort of the first tenth); with `--pools` also `first100`, a selection, and `in-place`.
    #[arg(long, value_delimiter = ',', default_value = "sort")]
    ops: Vec<String>,
    /// Key types.
    #[arg(long, value_delimiter = ',', default_value = "u8,u16,u32,u64,u128,i32,f32,f64")]
    keys: Vec<String>,
    /// Logarithms of lengths.
    #[arg(long, value_delimiter = ',', default_value = "6,8,10,12,14,16,18,20,22,24")]
    sizes: Vec<u32>,
    /// Patterns, as the suite names them, in small letters: `skewed-top`, `around-zero(20)`. `all` are those of the conformance suite.
    #[arg(long, value_delimiter = ',', default_value = "uniform")]
    patterns: Vec<String>,
    /// Systems that take part; all if none is named. `memcpy` copies as many bytes, and takes part only if it is named.
    #[arg(long, value_delimiter = ',')]
    systems: Vec<String>,
    /// Milliseconds for the timed runs of one system in one cell, more or less.
    #[arg(long, default_value_t = 50)]
    budget: u64,
    /// Timed runs, at least.
    #[arg(long, default_value_t = 5)]
    least_reps: usize,
    /// Timed runs, at most.
    #[arg(long, default_value_t = 101)]
    most_reps: usize,
    /// MiB that are written before each run, so that caches hold nothing of the run before.
    #[arg(long, default_value_t = 0)]
    evict: usize,
    /// What random keys begin with.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Appends rows to this record.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Prints the table of these records instead of measuring.
    #[arg(long, value_delimiter = ',')]
    read: Vec<PathBuf>,
    /// Compares least times rather than medians: where other jobs disturb the machine.
    #[arg(long)]
    least: bool,
    /// Prints the missed targets alone.
    #[arg(long)]
    quiet: bool,
    /// Writes a text about the machine beside the record; the value is the commit of the sources.
    #[arg(long)]
    describe: Option<String>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let by = if arguments.least { By::Least } else { By::Median };
    let rows = if !arguments.read.is_empty() {
        let files = arguments.read.iter().map(|path| read_rows(path));
        files.collect::<Result<Vec<_>, _>>()?.concat()
    } else {
        // A process without this variable starts itself again.
        let is_last = std::env::var_os("OMP_NUM_THREADS").is_some() || arguments.threads.len() > 1;
        if let (Some(commit), Some(csv), true) = (&arguments.describe, &arguments.csv, is_last) {
            let mut out = OpenOptions::new().create(true).append(true).open(csv.with_extension("txt"))?;
            describe_machine(&mut out, commit)?;
        }
        match *arguments.threads {
            [threads] => run(&arguments, threads)?,
            _ => return each_thread_count(&arguments),
        }
    };
    let standings = standings(&rows, by);
    if !arguments.quiet {
        print!("{}", table(&standings));
    }
    print!("{}", verdict(&standings));
    Ok(())
}

/// Runs this program again for each number of threads: rayon's global pool and OpenMP's have one size in a process.
fn each_thread_count(arguments: &Arguments) -> Result<()> {
    let rest: Vec<String> = std::env::args().skip(1).collect();
    let at = rest.iter().position(|argument| argument == "--threads").context("--threads as an argument of its own")?;
    for threads in &arguments.threads {
        let mut own = rest.clone();
        own[at + 1] = threads.to_string();
        // The machine is described once.
        if let Some(at) = own.iter().position(|argument| argument == "--describe") {
            own.drain(at..at + 2);
        }
        own.retain(|argument| !argument.starts_with("--describe="));
        let status = Command::new(std::env::current_exe()?).args(own).env("OMP_NUM_THREADS", threads.to_string()).status()?;
        anyhow::ensure!(status.success(), "the run with {threads} threads ended with {status}");
    }
    Ok(())
}

fn run(arguments: &Arguments, threads: usize) -> Result<Vec<Row>> {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    // OpenMP reads it at its first parallel region.
    if std::env::var_os("OMP_NUM_THREADS").is_none() {
        let arguments = std::env::args().skip(1);
        let status =
            Command::new(std::env::current_exe()?).args(arguments).env("OMP_NUM_THREADS", threads.to_string()).status()?;
        std::process::exit(status.code().unwrap_or(1));
    }
    // A peer's panic is a fact about the peer, and is seen in its absence.
    std::panic::set_hook(Box::new(|_| {}));
    for op in &arguments.ops {
        let is_known = ["sort", "pairs32", "pairs64", "argsort", "median", "tenth"].contains(&op.as_str());
        let is_own = ["first100", "in-place"].contains(&op.as_str()) && !arguments.pools.is_empty();
        anyhow::ensure!(is_known || is_own, "no operation {op}");
    }
    let backends = arguments.pools.iter().map(|&threads| RayonBackend::with_threads(threads)).collect::<Result<_, _>>()?;
    let mut grid = Grid { arguments, threads, backends, run: run_name(), rows: vec![] };
    for key in &arguments.keys {
        match key.as_str() {
            "u8" => grid.key::<u8>()?,
            "u16" => grid.key::<u16>()?,
            "u32" => grid.key::<u32>()?,
            "u64" => grid.key::<u64>()?,
            "u128" => grid.key::<u128>()?,
            "i32" => grid.key::<i32>()?,
            "f32" => grid.key::<f32>()?,
            "f64" => grid.key::<f64>()?,
            other => anyhow::bail!("no key type {other}"),
        }
    }
    Ok(grid.rows)
}

struct Grid<'a> {
    arguments: &'a Arguments,
    threads: usize,
    /// Ours on each of the pools, if these are measured.
    backends: Vec<RayonBackend>,
    run: String,
    rows: Vec<Row>,
}

impl Grid<'_> {
    fn key<K: BenchKey>(&mut self) -> Result<()> {
        for name in &self.arguments.patterns {
            let patterns: Vec<Pattern> = if name == "all" {
                Pattern::ALL.to_vec()
            } else {
                Pattern::ALL.into_iter().chain(Pattern::OTHERS).filter(|&pattern| pattern_name(pattern) == *name).collect()
            };
            anyhow::ensure!(!patterns.is_empty(), "no pattern {name}");
            for pattern in patterns {
                for &size in &self.arguments.sizes {
                    self.cells(&Input::<K>::new(pattern, 1 << size, self.arguments.seed), pattern)?;
                }
            }
        }
        Ok(())
    }

    fn cells<K: BenchKey>(&mut self, input: &Input<K>, pattern: Pattern) -> Result<()> {
        let &Arguments { budget, least_reps: least, most_reps: most, ref systems, evict, .. } = self.arguments;
        let (budget, evicted) = (Duration::from_millis(budget), evict << 20);
        let field = Field { threads: self.threads, only: systems.clone() };
        for (first, op) in self.arguments.ops.iter().enumerate() {
            let effort = Effort { warm_ups: 2, least, most, budget, first };
            let payload = match op.as_str() {
                "pairs32" => u32::NAME,
                "pairs64" => u64::NAME,
                _ => "none",
            };
            let name = match op.as_str() {
                "pairs32" | "pairs64" => "sort_pairs",
                other => other,
            };
            let cell = |threads: usize| Cell {
                op: name.into(),
                key: K::NAME.into(),
                payload: payload.into(),
                pattern: pattern_name(pattern),
                n: input.len,
                threads: Some(threads),
                order: "asc".into(),
                scope: "end_to_end".into(),
            };
            if !self.backends.is_empty() {
                let timed = measure(peers::own(op, input, &self.backends), effort, evicted);
                anyhow::ensure!(timed.len() == self.backends.len(), "a sort of ours panicked: {:?}", cell(1));
                for (&threads, timed) in self.arguments.pools.iter().zip(timed) {
                    self.keep(&cell(threads), &[timed], input.slices())?;
                }
                continue;
            }
            let timed = match op.as_str() {
                "sort" => measure(peers::keys(input, &field), effort, evicted),
                "pairs32" => measure(peers::pairs::<K, u32>(input, &field), effort, evicted),
                "pairs64" => measure(peers::pairs::<K, u64>(input, &field), effort, evicted),
                "median" => measure(peers::partly(input, input.len / 2..input.len / 2 + 1, &field), effort, evicted),
                "tenth" => measure(peers::partly(input, 0..input.len.div_ceil(10), &field), effort, evicted),
                _ => measure(peers::argsort(input, &field), effort, evicted),
            };
            self.keep(&cell(self.threads), &timed, input.slices())?;
        }
        Ok(())
    }

    fn keep(&mut self, cell: &Cell, timed: &[Timed], slices: usize) -> Result<()> {
        let row = |Timed { system, backend, series }: &Timed| {
            Row::new(&self.run, (system, backend), cell, &series.ranked(), slices, series.is_verified())
        };
        let rows: Vec<Row> = timed.iter().map(row).collect();
        if let Some(path) = &self.arguments.csv {
            append(path, &rows)?;
        }
        self.rows.extend(rows);
        Ok(())
    }
}

/// The pattern's name in a record: small letters with hyphens.
fn pattern_name(pattern: Pattern) -> String {
    let mut name = String::new();
    for letter in format!("{pattern:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
