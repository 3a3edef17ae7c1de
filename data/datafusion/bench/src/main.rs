//! Measures `ORDER BY l_shipdate, l_orderkey` of TPC-H's lineitem by DataFusion, and by DataFusion with polysort.
//!
//! Both sort the same table, in memory or in Parquet files, in turns, and their rows are read and dropped. Before the timed runs, the answers are compared: the
//! keys in their order, and the rows of each combination of keys whatever their order.

mod session;
mod table;

use clap::Parser;
use datafusion::error::{DataFusionError, Result};
use polysort_core::{Backend, DynBackend};
use polysort_measure::{Times, order};
use polysort_rayon::RayonBackend;
use session::Session;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;
use table::Table;

/// The allocator of DataFusion's own program, for both: with glibc's, each batch of the result would be memory that the system maps and clears anew.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Debug, Parser)]
struct Arguments {
    /// The scale factor: 1 is 6 million rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// The folder of Parquet files to read; they are made if it does not exist. The table is in memory if this is left out.
    #[arg(long)]
    parquet: Option<PathBuf>,
    /// Columns to sort by, each with an optional `:desc`.
    #[arg(long, value_delimiter = ',', default_value = "l_shipdate,l_orderkey")]
    by: Vec<String>,
    /// Columns of the answer; all if none are named.
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// Partitions and threads; the cores of the machine if it is left out.
    #[arg(long)]
    threads: Option<usize>,
    /// `rayon`, or `auto` for a GPU where it is faster (needs the feature `gpu`), or `gpu`.
    #[arg(long, default_value = "rayon")]
    backend: String,
    /// Timed runs of each.
    #[arg(long, default_value_t = 5)]
    reps: usize,
    /// The memory limit of the sessions in MiB; none if it is left out.
    #[arg(long)]
    memory_mib: Option<usize>,
    /// Leaves the merge of sorted partitions to DataFusion.
    #[arg(long)]
    keep_merges: bool,
    /// Does not compare the answers.
    #[arg(long)]
    unverified: bool,
    /// Runs the system that each line of the standard input names, and prints its nanoseconds: another program takes turns with other systems.
    #[arg(long)]
    serve: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let threads =
        arguments.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |threads| threads);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(run(&arguments, threads))
}

async fn run(arguments: &Arguments, threads: usize) -> Result<()> {
    let backend = backend(&arguments.backend, threads)?;
    let start = Instant::now();
    let (table, rows) = match &arguments.parquet {
        Some(folder) => Table::in_files(folder, arguments.scale, threads).await?,
        None => Table::in_memory(arguments.scale, threads).await?,
    };
    eprintln!("lineitem of scale {}: {rows} rows, made or found in {:.1?}", arguments.scale, start.elapsed());
    let stock = Session::new("datafusion", arguments, threads, &table, None).await?;
    let ours = Session::new("polysort", arguments, threads, &table, Some(backend.clone())).await?;
    drop(table);
    if !arguments.unverified {
        let (expected, answer) = (stock.digest(arguments).await?, ours.digest(arguments).await?);
        if expected != answer {
            return Err(DataFusionError::Execution(format!("the answers differ: {expected:x?} and {answer:x?}")));
        }
        eprintln!("both answers have the keys in the same order, and the same rows of each");
    }
    let sessions = [stock, ours];
    if arguments.serve {
        serve(arguments, &sessions, rows).await
    } else {
        measure(arguments, &sessions, rows, threads, &backend).await
    }
}

/// Times the sessions in turns, and prints a table.
async fn measure(
    arguments: &Arguments,
    sessions: &[Session; 2],
    rows: usize,
    threads: usize,
    backend: &DynBackend,
) -> Result<()> {
    let mut times = [Vec::new(), Vec::new()];
    for rep in 0..arguments.reps {
        for index in order(2, rep) {
            let session = &sessions[index];
            let time = session.time(arguments, rows, rep + 1 == arguments.reps).await?;
            eprintln!("{}: {:.3} s", session.name, time.as_secs_f64());
            times[index].push(time);
        }
    }
    let times = times.map(|times| times.into_iter().collect::<Times>());
    println!("system,backend,source,query,scale,rows,threads,median_ns,min_ns,max_ns,reps,verified");
    for (session, times) in sessions.iter().zip(&times) {
        let [median, _, _, least, most] = times.of_one(1);
        let backend = if session.name == "polysort" { backend.name() } else { "datafusion".into() };
        println!(
            "{},\"{backend}\",{},\"{}\",{},{rows},{threads},{median},{least},{most},{},{}",
            session.name,
            if arguments.parquet.is_some() { "parquet" } else { "memory" },
            arguments.by.join(" "),
            arguments.scale,
            times.count(),
            !arguments.unverified
        );
    }
    let [stock, ours] = times.map(|times| times.median().as_secs_f64());
    eprintln!("medians: DataFusion {stock:.3} s, with polysort {ours:.3} s: {:.2} x DataFusion's speed", stock / ours);
    Ok(())
}

/// Times the session that each line names.
async fn serve(arguments: &Arguments, sessions: &[Session; 2], rows: usize) -> Result<()> {
    println!("ready");
    for name in std::io::stdin().lock().lines() {
        let name = name?;
        let session = sessions.iter().find(|session| session.name == name);
        let session = session.ok_or_else(|| DataFusionError::Configuration(format!("no system {name}")))?;
        println!("{}", session.time(arguments, rows, false).await?.as_nanos());
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Opens the backend of a name.
fn backend(name: &str, threads: usize) -> Result<DynBackend> {
    let external = |error: polysort_core::Error| DataFusionError::External(Box::new(error));
    match name {
        "rayon" => Ok(DynBackend::new(RayonBackend::with_threads(threads).map_err(external)?)),
        #[cfg(feature = "gpu")]
        "auto" => Ok(DynBackend::new(polysort::Auto::global().map_err(external)?)),
        #[cfg(feature = "gpu")]
        "gpu" => Ok(DynBackend::new(polysort::WgpuBackend::global().map_err(external)?)),
        _ => Err(DataFusionError::Configuration(format!("no backend {name}; `auto` and `gpu` need the feature gpu"))),
    }
}
