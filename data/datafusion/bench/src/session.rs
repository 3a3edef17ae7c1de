//! A session of DataFusion with the table, which runs the query.

use crate::Arguments;
use crate::table::{BATCH_ROWS, Table};
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::SortExpr;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext, col};
use futures::TryStreamExt;
use polysort_core::DynBackend;
use polysort_datafusion::{PolysortRule, Report};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A session and the table in it.
pub(crate) struct Session {
    pub(crate) name: &'static str,
    context: SessionContext,
}

/// The answer, in two numbers: of the keys in their order, and of the rows in any order.
type Digest = (u64, u64);

impl Session {
    /// A session that sorts on `backend`, or as DataFusion does.
    pub(crate) async fn new(
        name: &'static str,
        arguments: &Arguments,
        threads: usize,
        table: &Table,
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
        match table {
            Table::Memory(schema, batches) => {
                context.register_table("lineitem", Arc::new(MemTable::try_new(schema.clone(), batches.clone())?))?;
            }
            Table::Files(folder) => {
                let folder =
                    folder.to_str().ok_or_else(|| DataFusionError::Configuration("a folder's name is no text".into()))?;
                context.register_parquet("lineitem", folder, ParquetReadOptions::default()).await?;
            }
        }
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
    pub(crate) async fn time(&self, arguments: &Arguments, rows: usize, explain: bool) -> Result<Duration> {
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
            eprintln!("{}{}", DisplayableExecutionPlan::with_metrics(plan.as_ref()).indent(false), Report::of(&plan)?);
        }
        Ok(time)
    }

    /// What the answers of two sessions are compared by.
    pub(crate) async fn digest(&self, arguments: &Arguments) -> Result<Digest> {
        let mut batches = execute_stream(self.plan(arguments).await?, self.context.task_ctx())?;
        let (mut keys, mut rows) = (0_u64, 0_u64);
        while let Some(batch) = batches.try_next().await? {
            let by = arguments.by.iter().map(|key| key.strip_suffix(":desc").unwrap_or(key));
            let columns: Vec<ArrayRef> = by.filter_map(|name| batch.column_by_name(name).cloned()).collect();
            for hash in hashes(&columns, &batch)? {
                keys = keys.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(hash);
            }
            for hash in hashes(batch.columns(), &batch)? {
                rows = rows.wrapping_add(hash);
            }
        }
        Ok((keys, rows))
    }
}

/// A number for each row of `batch`, of some of its columns.
fn hashes(columns: &[ArrayRef], batch: &RecordBatch) -> Result<Vec<u64>> {
    let mut hashes = vec![0; batch.num_rows()];
    create_hashes(columns, &RandomState::with_seed(7), &mut hashes)?;
    Ok(hashes)
}
