//! An executor of Ballista whose sorts run on polysort, on all cores. It prints a line for each task that sorts.

use ballista_core::config::TaskSchedulingPolicy;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use clap::Parser;
use polysort_ballista::PolysortEngine;
use polysort_rayon::RayonBackend;
use std::net::TcpListener;
use std::sync::Arc;

#[derive(Debug, Parser)]
struct Arguments {
    /// The host of the scheduler.
    #[arg(long, default_value = "localhost")]
    scheduler_host: String,
    /// The port of the scheduler.
    #[arg(long, default_value_t = 50050)]
    scheduler_port: u16,
    /// The name by which other executors reach this one.
    #[arg(long, default_value = "localhost")]
    external_host: String,
    /// Tasks that run at a time.
    #[arg(long, default_value_t = 1)]
    vcores: usize,
    /// The memory of all tasks together, in MiB.
    #[arg(long)]
    memory_mib: Option<u64>,
    /// The scheduler sends tasks, in place of this executor asking for them.
    #[arg(long)]
    push: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let engine = PolysortEngine::new(RayonBackend::default()).on_task(|report| println!("{report}"));
    let config = ExecutorProcessConfig {
        scheduler_host: arguments.scheduler_host,
        scheduler_port: arguments.scheduler_port,
        scheduler_connect_timeout_seconds: 10,
        external_host: Some(arguments.external_host),
        port: free_port()?,
        grpc_port: free_port()?,
        vcores: arguments.vcores,
        memory_pool_size: arguments.memory_mib.map(|mib| mib << 20),
        // As the scheduler is set: if the two differ, jobs wait for ever.
        task_scheduling_policy: if arguments.push { TaskSchedulingPolicy::PushStaged } else { TaskSchedulingPolicy::PullStaged },
        executor_heartbeat_interval_seconds: 5,
        override_execution_engine: Some(Arc::new(engine)),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(config)).await?;
    Ok(())
}

/// A port of this machine that nothing listens on.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
