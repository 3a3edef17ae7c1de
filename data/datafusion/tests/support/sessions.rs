//! Sessions with and without polysort, and their answers.
#![allow(dead_code, reason = "each test needs a part")]

use crate::support::Table;
use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SessionConfig, SessionContext};
use polysort_core::Backend;
use polysort_rayon::RayonBackend;
use std::sync::Arc;

/// Settings of a session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) partitions: usize,
    pub(crate) batch_rows: usize,
    pub(crate) hash_joins: bool,
    /// Bytes that the pool hands out.
    pub(crate) memory: Option<usize>,
    /// Bytes that each sort keeps free for its merge.
    pub(crate) merge_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { partitions: 3, batch_rows: 256, hash_joins: true, memory: None, merge_bytes: 1 << 16 }
    }
}

impl Settings {
    fn config(&self) -> SessionConfig {
        let mut config = SessionConfig::new().with_target_partitions(self.partitions).with_batch_size(self.batch_rows);
        config.options_mut().optimizer.prefer_hash_join = self.hash_joins;
        // Small tables are repartitioned, too, so that the plans are those of large ones.
        config.options_mut().optimizer.repartition_file_min_size = 0;
        config.options_mut().execution.sort_spill_reservation_bytes = self.merge_bytes;
        config
    }

    pub(crate) fn runtime(&self) -> Arc<RuntimeEnv> {
        let builder = RuntimeEnvBuilder::new();
        let builder = match self.memory {
            Some(bytes) => builder.with_memory_pool(Arc::new(FairSpillPool::new(bytes))),
            None => builder,
        };
        builder.build_arc().expect("a runtime")
    }

    fn builder(&self) -> SessionStateBuilder {
        SessionStateBuilder::new().with_config(self.config()).with_runtime_env(self.runtime()).with_default_features()
    }

    /// A session as DataFusion makes it.
    pub(crate) fn stock(&self) -> SessionContext {
        SessionContext::new_with_state(self.builder().build())
    }

    /// A session that sorts on the CPU backend.
    pub(crate) fn ours(&self) -> SessionContext {
        self.with(RayonBackend::default())
    }

    /// A session that sorts on a backend.
    pub(crate) fn with(&self, backend: impl Backend) -> SessionContext {
        SessionContext::new_with_state(polysort_datafusion::with_polysort(self.builder(), backend).build())
    }
}

/// Makes a table known to a session.
pub(crate) fn register(table: &Table, context: &SessionContext, name: &str) {
    let table = MemTable::try_new(table.schema.clone(), table.partitions.clone()).expect("batches of the schema");
    let before = context.register_table(name, Arc::new(table)).expect("a table");
    assert!(before.is_none(), "{name} is registered once");
}

/// The plan of a query and its answer.
pub(crate) async fn run(context: &SessionContext, query: &str) -> Result<(Arc<dyn ExecutionPlan>, Vec<RecordBatch>)> {
    let plan = context.sql(query).await?.create_physical_plan().await?;
    let batches = collect(plan.clone(), context.task_ctx()).await?;
    Ok((plan, batches))
}
