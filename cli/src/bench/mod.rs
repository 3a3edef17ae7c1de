//! `bench`: measures polysort's backends side by side with std and rayon, on the same data. `sweep` and `probe` measure the passes of a GPU. `report` draws
//! the results, or records, as a page.
//!
//! ```text
//! for each case, for each seed:
//!     make the input; compute the answer with std's stable sort
//!     for each repetition, for each system, starting with another one each time:
//!         copy the input; time the sort; compare the result with the answer
//! print medians over all of it
//! ```
//!
//! 1. Short arrays come in batches of different arrays, which are timed together. With one array, a branch predictor would learn it.
//! 2. Copies and comparisons are outside the timed part. What a system allocates for itself is inside.
//! 3. Systems run in turn. So if the machine becomes slower or faster, it does so for all systems.

mod args;
mod backends;
mod case;
mod compare;
mod input;
mod measure;
mod pattern;
mod peers;
mod probe;
mod report;
mod resident;
mod sweep;
mod system;
mod systems;
mod table;

pub(crate) use args::BenchArgs;
pub(crate) use case::{Algorithm, Case, Op, Payload};
pub(crate) use measure::{Measured, measure};
pub(crate) use pattern::Pattern;
pub(crate) use system::{OURS, STD};
pub(crate) use systems::systems;
pub(crate) use table::speed;

use crate::dtype::with_key;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::progress::spin;
use crate::standard::stdout;
use anyhow::{Context, Result};
use backends::open_backends;
use polysort::AnyBackend;
use polysort_measure::{record, run_name};
use rayon::ThreadPoolBuilder;
use std::io::Write;
use std::path::Path;

/// Measures all cases of the arguments, or runs `--sweep`, `--probe` or `--records`.
pub(crate) fn bench(args: &BenchArgs) -> Result<Outcome> {
    if let (Some(folder), false) = (&args.report, args.records.is_empty()) {
        return report::of_records(folder, &args.records, args.statistic.by());
    }
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
    let report = args.report.as_deref().map(report::open).transpose()?;
    let mut table = if only_csv { None } else { Some(stdout()?) };
    let backends = open_backends(&args.backends, args.adapter.as_deref(), &args.algorithms)?;
    let (reps, seeds) = (args.reps.get(), args.seeds.get());
    let (run, mut rows, mut failures, mut outcome) = (run_name(), vec![], vec![], Outcome::Fine);
    if let Some(out) = &mut table {
        out.write_all(table::LEGEND.as_bytes())?;
    }
    for case in args.cases() {
        let measured = with_key!(case.dtype, K => {
            spin(case.to_string(), || measure::<K>(&case, &systems(&case, &backends), reps, seeds))
        });
        if let Some(out) = &mut table {
            out.write_all(table::text(&case, &measured).as_bytes())?;
        }
        rows.extend(table::rows(&run, &case, &measured));
        failures.extend(table::failures(&case, &measured));
        if !measured.iter().all(|measured| measured.series.is_verified()) {
            outcome = Outcome::Failed;
        }
    }
    if let Some(output) = output {
        output.write(None, |out| out.write_all(record(&rows).as_bytes()))?;
    }
    if let Some(report) = report {
        let backends: Vec<&AnyBackend> = backends.iter().map(|(backend, _)| backend).collect();
        report::of_run(report, rows, &failures, &backends, args)?;
    }
    Ok(outcome)
}
