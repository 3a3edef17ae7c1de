//! Executors of [Ballista](https://datafusion.apache.org/ballista) that sort on any backend of [polysort](https://docs.rs/polysort).
//!
//! [`PolysortEngine`] takes the place of an executor's engine. It replaces the sorts in each stage with
//! [`PolysortExec`](polysort_datafusion::PolysortExec), and hands the stage to Ballista's own engine. The scheduler and the clients stay as they are,
//! and each executor can have another backend.
//!
//! * Merges of sorted partitions stay with DataFusion, so that the scheduler finds the metrics of as many operators as it planned.
//! * A stage with a `RuntimeStatsExec` keeps DataFusion's sorts: Ballista looks for statistics of rows below the operators that it knows, and `SortExec` is one.
//!   The scheduler plans such stages if `ballista.planner.parallel_window.enabled` is set.
//!
//! ```no_run
//! use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
//! use polysort_ballista::PolysortEngine;
//! use polysort_rayon::RayonBackend;
//! use std::sync::Arc;
//!
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = PolysortEngine::new(RayonBackend::default());
//! let config = ExecutorProcessConfig { override_execution_engine: Some(Arc::new(engine)), ..Default::default() };
//! start_executor_process(Arc::new(config)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The program `polysort-executor` is such an executor.
#![forbid(unsafe_code)]

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::execution_plans::RuntimeStatsExec;
use ballista_core::serde::protobuf::{RuntimeStatsReport, ShuffleWritePartition, WindowStateReport};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use polysort_core::Backend;
use polysort_datafusion::PolysortRule;
use std::fmt;
use std::sync::Arc;

/// An engine whose sorts run on a backend of polysort.
pub struct PolysortEngine {
    engine: Arc<dyn ExecutionEngine>,
    rule: PolysortRule,
    on_task: OnTask,
}

type OnTask = Arc<dyn Fn(&TaskReport) + Send + Sync>;

/// What a task of an executor sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskReport {
    /// The job.
    pub job: String,
    /// The stage of the job.
    pub stage: usize,
    /// The task of the stage.
    pub task: usize,
    /// Each [`PolysortExec`](polysort_datafusion::PolysortExec) of the task.
    pub sorts: Vec<SortMetrics>,
}

/// What one operator did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SortMetrics {
    /// The rows that it put out.
    pub rows: usize,
    /// How many blocks of sorted rows were written to files, because the memory limit was reached; those that a merge wrote again count, too.
    pub spilled_blocks: usize,
    /// The sorts that DataFusion's kernel did instead.
    pub fallbacks: usize,
}

impl PolysortEngine {
    /// Ballista's own engine, whose sorts run on `backend`.
    pub fn new(backend: impl Backend) -> Self {
        Self {
            engine: Arc::new(DefaultExecutionEngine::new()),
            rule: PolysortRule::new(backend).keep_merges(),
            on_task: Arc::new(|_| {}),
        }
    }

    /// The same with another engine below.
    #[must_use]
    pub fn over(self, engine: Arc<dyn ExecutionEngine>) -> Self {
        Self { engine, ..self }
    }

    /// Calls `on_task` after each task that has sorted.
    #[must_use]
    pub fn on_task(self, on_task: impl Fn(&TaskReport) + Send + Sync + 'static) -> Self {
        Self { on_task: Arc::new(on_task), ..self }
    }
}

impl fmt::Debug for PolysortEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolysortEngine").field("rule", &self.rule).finish_non_exhaustive()
    }
}

impl ExecutionEngine for PolysortEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let job = job_id.to_string();
        let has_statistics = plan.exists(|plan| Ok(plan.is::<RuntimeStatsExec>()))?;
        let plan = if has_statistics { plan } else { self.rule.rewrite(plan)? };
        let stage = self.engine.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        )?;
        Ok(Arc::new(Task { executor: stage, job, stage: stage_id, on_task: self.on_task.clone() }))
    }
}

/// A task that reports its sorts.
struct Task {
    executor: Arc<dyn QueryStageExecutor>,
    job: String,
    stage: usize,
    on_task: OnTask,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.executor.fmt(f)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.executor.fmt(f)
    }
}

#[async_trait]
impl QueryStageExecutor for Task {
    async fn execute_query_stage(&self, task_id: usize, context: Arc<TaskContext>) -> Result<Vec<ShuffleWritePartition>> {
        let written = self.executor.execute_query_stage(task_id, context).await?;
        let sorts: Vec<SortMetrics> = self.collect_plan_metrics().iter().filter_map(sort_metrics).collect();
        if !sorts.is_empty() {
            (self.on_task)(&TaskReport { job: self.job.clone(), stage: self.stage, task: task_id, sorts });
        }
        Ok(written)
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.executor.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.executor.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.executor.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<ballista_core::serde::protobuf::TaskColumnStats> {
        self.executor.collect_column_stats()
    }
}

/// The metrics of an operator, if it is polysort's: no other one counts `fallbacks`.
fn sort_metrics(metrics: &MetricsSet) -> Option<SortMetrics> {
    Some(SortMetrics {
        fallbacks: metrics.sum_by_name("fallbacks")?.as_usize(),
        rows: metrics.output_rows().unwrap_or(0),
        spilled_blocks: metrics.spill_count().unwrap_or(0),
    })
}

impl fmt::Display for TaskReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job {}, stage {}, task {}:", self.job, self.stage, self.task)?;
        self.sorts.iter().try_for_each(|SortMetrics { rows, spilled_blocks, fallbacks }| {
            write!(f, " sorted {rows} rows, {spilled_blocks} blocks spilled, {fallbacks} fallbacks")
        })
    }
}
