//! Measures `ORDER BY l_shipdate, l_orderkey` of TPC-H's lineitem by DataFusion, and by DataFusion with polysort.
//!
//! Both sort the same batches in memory, in turns, and their rows are read and dropped. Before the timed runs, the answers are compared: the keys in
//! their order, and the rows of each combination of keys whatever their order.

use clap::Parser;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::SortExpr;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext, col};
use futures::TryStreamExt;
use polysort_core::{Backend, DynBackend};
use polysort_datafusion::{PolysortRule, Report};
use polysort_rayon::RayonBackend;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

/// Rows that the generator makes at a time: DataFusion's usual batch.
const BATCH_ROWS: usize = 8192;

#[derive(Debug, Parser)]
struct Arguments {
    /// The scale factor: 1 is 6 million rows.
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
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
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let threads =
        arguments.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |threads| threads);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(measure(&arguments, threads))
}

async fn measure(arguments: &Arguments, threads: usize) -> Result<()> {
    let backend = backend(&arguments.backend, threads)?;
    let start = Instant::now();
    let table = lineitem(arguments.scale, threads).await?;
    let rows: usize = table.iter().flatten().map(RecordBatch::num_rows).sum();
    eprintln!("lineitem of scale {}: {rows} rows in {threads} partitions, made in {:.1?}", arguments.scale, start.elapsed());
    let stock = Session::new("datafusion", arguments, threads, &table, None)?;
    let ours = Session::new("polysort", arguments, threads, &table, Some(backend.clone()))?;
    drop(table);
    if !arguments.unverified {
        let (expected, answer) = (stock.digest(arguments).await?, ours.digest(arguments).await?);
        if expected != answer {
            return Err(DataFusionError::Execution(format!("the answers differ: {expected:x?} and {answer:x?}")));
        }
        eprintln!("both answers have the keys in the same order, and the same rows of each");
    }
    let mut times = [Vec::new(), Vec::new()];
    for rep in 0..arguments.reps {
        for index in if rep % 2 == 0 { [0, 1] } else { [1, 0] } {
            let session = [&stock, &ours][index];
            let time = session.time(arguments, rows, rep + 1 == arguments.reps).await?;
            eprintln!("{}: {:.3} s", session.name, time.as_secs_f64());
            times[index].push(time);
        }
    }
    println!("system,backend,query,scale,rows,threads,median_ns,min_ns,max_ns,reps,verified");
    for (session, times) in [&stock, &ours].into_iter().zip(&mut times) {
        times.sort();
        let backend = if session.name == "polysort" { backend.name() } else { "datafusion".into() };
        println!(
            "{},\"{backend}\",\"{}\",{},{rows},{threads},{},{},{},{},{}",
            session.name,
            arguments.by.join(" "),
            arguments.scale,
            times[times.len() / 2].as_nanos(),
            times[0].as_nanos(),
            times[times.len() - 1].as_nanos(),
            times.len(),
            !arguments.unverified
        );
    }
    let [stock, ours] = times.map(|times| times[times.len() / 2].as_secs_f64());
    eprintln!("medians: DataFusion {stock:.3} s, with polysort {ours:.3} s: {:.2} x DataFusion's speed", stock / ours);
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

/// The table, with a partition for each thread.
async fn lineitem(scale: f64, partitions: usize) -> Result<Vec<Vec<RecordBatch>>> {
    let parts = (1..=partitions).map(|part| {
        tokio::task::spawn_blocking(move || {
            let rows = LineItemGenerator::new(scale, part as i32, partitions as i32);
            LineItemArrow::new(rows).with_batch_size(BATCH_ROWS).collect::<Result<Vec<_>, _>>()
        })
    });
    let mut table = Vec::new();
    for part in parts.collect::<Vec<_>>() {
        table.push(part.await.map_err(|error| DataFusionError::External(Box::new(error)))??);
    }
    Ok(table)
}

/// A session and the table in it.
struct Session {
    name: &'static str,
    context: SessionContext,
}

/// The answer, in two numbers: of the keys in their order, and of the rows in any order.
type Digest = (u64, u64);

impl Session {
    fn new(
        name: &'static str,
        arguments: &Arguments,
        threads: usize,
        table: &[Vec<RecordBatch>],
        backend: Option<DynBackend>,
    ) -> Result<Self> {
        let config = SessionConfig::new().with_target_partitions(threads).with_batch_size(BATCH_ROWS);
        let runtime = match arguments.memory_mib {
            Some(mib) => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(mib << 20))),
            None => RuntimeEnvBuilder::new(),
        };
        let builder =
            SessionStateBuilder::new().with_config(config).with_runtime_env(runtime.build_arc()?).with_default_features();
        let builder = match backend {
            Some(backend) => {
                let rule = PolysortRule::new(backend);
                let rule = if arguments.keep_merges { rule.keep_merges() } else { rule };
                polysort_datafusion::with_rule(builder, rule)
            }
            None => builder,
        };
        let context = SessionContext::new_with_state(builder.build());
        let schema = table.iter().flatten().next().map(RecordBatch::schema);
        let schema = schema.ok_or_else(|| DataFusionError::Execution("the table has no rows".into()))?;
        context.register_table("lineitem", Arc::new(MemTable::try_new(schema, table.to_vec())?))?;
        Ok(Self { name, context })
    }

    async fn plan(&self, arguments: &Arguments) -> Result<Arc<dyn ExecutionPlan>> {
        let key = |key: &String| -> SortExpr {
            key.strip_suffix(":desc").map_or_else(|| col(key).sort(true, false), |key| col(key).sort(false, true))
        };
        let sorted = self.context.table("lineitem").await?.sort(arguments.by.iter().map(key).collect())?;
        let columns: Vec<&str> = arguments.columns.iter().map(String::as_str).collect();
        let sorted = if columns.is_empty() { sorted } else { sorted.select_columns(&columns)? };
        sorted.create_physical_plan().await
    }

    /// The time from the plan to the last row.
    async fn time(&self, arguments: &Arguments, rows: usize, explain: bool) -> Result<Duration> {
        let plan = self.plan(arguments).await?;
        let start = Instant::now();
        let mut batches = execute_stream(plan.clone(), self.context.task_ctx())?;
        let mut read = 0;
        while let Some(batch) = batches.try_next().await? {
            read += batch.num_rows();
        }
        let time = start.elapsed();
        if read != rows {
            return Err(DataFusionError::Execution(format!("{} put out {read} of {rows} rows", self.name)));
        }
        if explain {
            let metrics = datafusion::physical_plan::display::DisplayableExecutionPlan::with_metrics(plan.as_ref());
            eprintln!("{}{}", metrics.indent(false), Report::of(&plan)?);
        }
        Ok(time)
    }

    async fn digest(&self, arguments: &Arguments) -> Result<Digest> {
        let mut batches = execute_stream(self.plan(arguments).await?, self.context.task_ctx())?;
        let (mut keys, mut rows) = (0_u64, 0_u64);
        while let Some(batch) = batches.try_next().await? {
            let by = arguments.by.iter().map(|key| key.strip_suffix(":desc").unwrap_or(key));
            let columns: Vec<ArrayRef> = by.filter_map(|name| batch.column_by_name(name).cloned()).collect();
            for hash in hashes(&columns, batch.num_rows())? {
                keys = keys.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(hash);
            }
            for hash in hashes(batch.columns(), batch.num_rows())? {
                rows = rows.wrapping_add(hash);
            }
        }
        Ok((keys, rows))
    }
}

/// A number for each row.
fn hashes(columns: &[ArrayRef], rows: usize) -> Result<Vec<u64>> {
    let mut hashes = vec![0; rows];
    create_hashes(columns, &RandomState::with_seed(7), &mut hashes)?;
    Ok(hashes)
}
