//! A scheduler and two executors on this machine: sorts and windows over Parquet files, and an executor that is killed.

use ballista::prelude::SessionContextExt;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_core::utils::{GrpcServerConfig, create_grpc_server, default_config_producer, default_session_builder};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::metrics::default_metrics_collector;
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tpchgen::generators::LineItemGenerator;
use tpchgen_arrow::LineItemArrow;

/// Files, and so tasks, of the table.
const FILES: i32 = 6;

/// The longest time of a query: a job whose executors are gone could wait for ever.
const PATIENCE: Duration = Duration::from_secs(120);

/// Queries whose order is determined.
const QUERIES: &[&str] = &[
    "SELECT l_orderkey, l_linenumber, l_shipdate, l_comment FROM lineitem ORDER BY l_shipdate, l_orderkey, l_linenumber",
    "SELECT l_orderkey, l_linenumber, l_shipmode FROM lineitem ORDER BY l_shipmode DESC, l_extendedprice, l_orderkey, l_linenumber",
    "SELECT l_orderkey, l_linenumber, rank() OVER (PARTITION BY l_suppkey ORDER BY l_receiptdate DESC, l_orderkey, l_linenumber) AS place \
     FROM lineitem ORDER BY l_orderkey, l_linenumber",
    "SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY l_comment, l_orderkey, l_linenumber LIMIT 10",
];

/// An executor process, and the lines that it has printed. It is killed when it is dropped.
struct Executor {
    process: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Executor {
    fn start(scheduler_port: u16) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_polysort-executor"))
            .args(["--scheduler-port", &scheduler_port.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("an executor starts");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let lines = Arc::new(Mutex::new(Vec::new()));
        let to = lines.clone();
        std::thread::spawn(move || output.lines().map_while(Result::ok).for_each(|line| to.lock().expect("no panic").push(line)));
        Self { process, lines }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().expect("no panic").clone()
    }

    fn kill(&mut self) {
        self.process.kill().expect("the process runs");
        self.process.wait().expect("the process has ended");
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // It may have been killed before.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Starts a scheduler that notices soon when an executor is gone. Returns its port.
async fn scheduler() -> u16 {
    let cluster =
        BallistaCluster::new_memory("localhost:50050", Arc::new(default_session_builder), Arc::new(default_config_producer));
    let config = SchedulerConfig {
        executor_timeout_seconds: 15,
        expire_dead_executor_interval_seconds: 2,
        no_executors_grace_period_seconds: 20,
        ..SchedulerConfig::default().with_scheduler_policy(TaskSchedulingPolicy::PullStaged)
    };
    let metrics = default_metrics_collector().expect("a collector");
    let mut server: SchedulerServer<LogicalPlanNode, PhysicalPlanNode> =
        SchedulerServer::new("localhost:50050".to_owned(), cluster, BallistaCodec::default(), Arc::new(config), metrics);
    server.init().await.expect("the scheduler begins");
    let bytes = default_config_producer().ballista_grpc_client_max_message_size();
    let service = SchedulerGrpcServer::new(server).max_decoding_message_size(bytes).max_encoding_message_size(bytes);
    let listener = TcpListener::bind("localhost:0").await.expect("a port");
    let port = listener.local_addr().expect("its number").port();
    let serving = create_grpc_server(&GrpcServerConfig::default()).add_service(service);
    tokio::spawn(serving.serve_with_incoming(TcpListenerStream::new(listener)));
    port
}

/// Writes the table as Parquet files.
async fn write_table(folder: &Path, scale: f64) -> Result<()> {
    let part = |part| LineItemArrow::new(LineItemGenerator::new(scale, part, FILES)).collect::<Result<Vec<_>, _>>();
    let parts = (1..=FILES).map(part).collect::<Result<Vec<_>, _>>()?;
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(FILES as usize));
    let table = MemTable::try_new(parts[0][0].schema(), parts)?;
    let path = folder.to_str().expect("a name of letters");
    context.read_table(Arc::new(table))?.write_parquet(path, DataFrameWriteOptions::new(), None).await?;
    Ok(())
}

/// A client of the scheduler, with the table.
async fn client(port: u16, folder: &Path) -> Result<SessionContext> {
    let config = SessionConfig::new_with_ballista().with_target_partitions(4);
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let context = SessionContext::remote_with_state(&format!("df://localhost:{port}"), state).await?;
    register(&context, folder).await?;
    Ok(context)
}

async fn register(context: &SessionContext, folder: &Path) -> Result<()> {
    context.register_parquet("lineitem", folder.to_str().expect("a name of letters"), ParquetReadOptions::default()).await
}

async fn answer(context: &SessionContext, query: &str) -> Result<Vec<OwnedRow>> {
    let batches = context.sql(query).await?.collect().await?;
    let Some(first) = batches.first() else { return Ok(Vec::new()) };
    let converter =
        RowConverter::new(first.schema().fields().iter().map(|field| SortField::new(field.data_type().clone())).collect())?;
    let rows = |batch: &RecordBatch| -> Result<Vec<OwnedRow>> {
        Ok(converter.convert_columns(batch.columns())?.iter().map(|row| row.owned()).collect())
    };
    Ok(batches.iter().map(rows).collect::<Result<Vec<_>>>()?.concat())
}

/// The answer, or a panic after too long a time.
async fn in_time<T>(what: &str, answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| panic!("{what} takes more than {PATIENCE:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_executors_give_the_answers_of_one_process() -> Result<()> {
    let folder = tempfile::tempdir()?;
    write_table(folder.path(), 0.01).await?;
    let local = SessionContext::new();
    register(&local, folder.path()).await?;
    let port = scheduler().await;
    let executors = [Executor::start(port), Executor::start(port)];
    let remote = client(port, folder.path()).await?;
    for query in QUERIES {
        let (expected, rows) = (answer(&local, query).await?, in_time(query, answer(&remote, query)).await?);
        assert!(expected == rows, "{query}: {} and {} rows", expected.len(), rows.len());
        println!("{query}: {} rows", rows.len());
    }
    // An executor that was slow to start may have had no task yet.
    let start = Instant::now();
    while executors.iter().any(|executor| executor.lines().is_empty()) {
        assert!(start.elapsed() < PATIENCE, "both executors sort");
        in_time(QUERIES[0], answer(&remote, QUERIES[0])).await?;
    }
    for executor in &executors {
        let lines = executor.lines();
        println!("{lines:#?}");
        assert!(lines.iter().all(|line| line.contains(" sorted ") && line.contains(" 0 fallbacks")), "{lines:#?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_is_killed_gives_no_wrong_answer() -> Result<()> {
    let folder = tempfile::tempdir()?;
    write_table(folder.path(), 0.01).await?;
    let local = SessionContext::new();
    register(&local, folder.path()).await?;
    let port = scheduler().await;
    let mut executors = [Executor::start(port), Executor::start(port)];
    let remote = client(port, folder.path()).await?;
    let expected = answer(&local, QUERIES[0]).await?;
    // Both are at work once each has sorted.
    let begun = Instant::now();
    let query = answer(&remote, QUERIES[0]);
    tokio::pin!(query);
    let kill = async {
        while executors[1].lines().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "the second executor sorts");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        executors[1].kill();
    };
    let early = tokio::select! {
        early = &mut query => Some(early),
        () = kill => None,
    };
    let was_killed = early.is_none();
    let outcome = match early {
        Some(outcome) => outcome,
        None => in_time("the query with one executor less", query).await,
    };
    match outcome {
        Ok(rows) => {
            assert!(rows == expected, "{} and {} rows", rows.len(), expected.len());
            println!("killed during the query: {was_killed}; the right answer");
        }
        Err(error) => println!("killed during the query: {was_killed}; an error: {error}"),
    }
    assert!(was_killed, "the executor was killed while the query ran");
    // The other executor answers the next query.
    let rows = in_time("the next query", answer(&remote, QUERIES[0])).await?;
    assert!(rows == expected);
    Ok(())
}
