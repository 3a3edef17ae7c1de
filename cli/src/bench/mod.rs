//! `bench`: polysort's backends side by side with std and rayon, on the same data; or the passes of a GPU, by `sweep` and `probe`.
//!
//! ```text
//! for each case, for each seed:
//!     make the input; let std's stable sort give the answer
//!     for each repetition, for each system, starting with another one each time:
//!         copy the input; time the sort; compare the result with the answer
//! print medians over all of it
//! ```
//!
//! 1. Short arrays come in batches of different ones, timed together: a branch predictor that learned one would flatter whoever branches.
//! 2. Copies, comparisons and their memory are outside the timed part; what a system allocates for itself is inside.
//! 3. Systems take turns, so that a machine that gets slower or faster does so for all.

mod case;
mod input;
mod measure;
mod pattern;
mod peers;
mod probe;
mod resident;
mod sweep;
mod systems;
mod table;

pub(crate) use case::{Case, Op, Payload, Size, Way};
pub(crate) use measure::{Measured, Rounds, Verdict, measure};
pub(crate) use pattern::Pattern;
pub(crate) use systems::{OURS, STD, systems};
pub(crate) use table::speed;

use crate::Outcome;
use crate::args::BenchArgs;
use crate::dtype::with_key;
use crate::output::{Output, note};
use crate::progress::spin;
use anyhow::{Context, Result};
use polysort::gpu::Config;
use polysort::{AnyBackend, Error};
use rayon::ThreadPoolBuilder;
use std::io::{Write, stdout};
use std::path::Path;

/// Measures all cases that the arguments span.
pub(crate) fn bench(args: &BenchArgs) -> Result<Outcome> {
    let run = match (args.sweep, args.probe) {
        (true, _) => sweep::sweep,
        (_, true) => probe::probe,
        _ => run,
    };
    match args.threads {
        None => run(args),
        Some(threads) => {
            let pool = ThreadPoolBuilder::new().num_threads(threads.get()).build();
            pool.with_context(|| format!("cannot start {threads} threads"))?.install(|| run(args))
        }
    }
}

fn run(args: &BenchArgs) -> Result<Outcome> {
    let only_csv = args.csv.as_deref() == Some(Path::new("-"));
    let output = args.csv.as_deref().map(|path| Output::open(Some(path))).transpose()?;
    let backends = open_backends(&args.backends, &args.algorithms)?;
    let rounds = Rounds { warmups: 1, reps: args.reps.get(), seeds: args.seeds.get() as u64 };
    let (id, mut rows, mut outcome) = (table::run_id(), String::new(), Outcome::Fine);
    if !only_csv {
        stdout().write_all(table::LEGEND.as_bytes())?;
    }
    for case in Case::all(args) {
        let measured = with_key!(case.dtype, K => {
            spin(case.to_string(), || measure::<K>(&case, &systems(&case, &backends), rounds))
        });
        if !only_csv {
            stdout().write_all(table::text(&case, &measured).as_bytes())?;
        }
        rows += &table::csv_rows(&id, &case, &measured);
        if measured.iter().any(|measured| measured.verdict != Verdict::Verified) {
            outcome = Outcome::Failed;
        }
    }
    if let Some(output) = output {
        output.write(None, |out| writeln!(out, "{}", table::CSV_HEADER).and_then(|()| out.write_all(rows.as_bytes())))?;
    }
    Ok(outcome)
}

/// The backends of these names, those on GPUs once for each way; without a name every one that opens, and a note of why the others do not.
fn open_backends(names: &[String], ways: &[Way]) -> Result<Vec<(AnyBackend, Way)>> {
    let all = names.is_empty();
    let names: Vec<&str> = if all { AnyBackend::NAMES.to_vec() } else { names.iter().map(String::as_str).collect() };
    let mut opened = vec![];
    for name in names {
        let ways = if ways.is_empty() || !AnyBackend::GPU_NAMES.contains(&name) { &[Way::Auto] } else { ways };
        for &way in ways {
            match open(name, way) {
                Ok(backend) => opened.push((backend, way)),
                Err(error) if all => {
                    note(&format!("{name} is not measured: {error}"));
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(opened)
}

fn open(name: &str, way: Way) -> Result<AnyBackend, Error> {
    let Some(algorithm) = way.algorithm() else { return AnyBackend::by_name(name) };
    let mut config = Config::from_env();
    config.algorithm = Some(algorithm);
    AnyBackend::open_gpu(name, config)
}
