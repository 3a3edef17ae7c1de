//! Plans over batches, without SQL.
#![allow(dead_code, reason = "each test needs a part")]

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::config::SessionConfig;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use polysort_core::Backend;
use polysort_datafusion::{PolysortExec, PolysortRule};
use std::fmt;
use std::sync::Arc;

/// The rows of a partition.
type Read = dyn Fn(usize) -> stream::BoxStream<'static, Result<RecordBatch>> + Send + Sync;

/// An operator without input.
pub(crate) struct Source {
    properties: Arc<PlanProperties>,
    read: Box<Read>,
}

impl Source {
    /// `partitions` partitions; `read` gives the batches of one.
    pub(crate) fn of(
        schema: SchemaRef,
        partitions: usize,
        read: impl Fn(usize) -> stream::BoxStream<'static, Result<RecordBatch>> + Send + Sync + 'static,
    ) -> Arc<dyn ExecutionPlan> {
        let (equal, partitioning) = (EquivalenceProperties::new(schema), Partitioning::UnknownPartitioning(partitions));
        let properties = PlanProperties::new(equal, partitioning, EmissionType::Incremental, Boundedness::Bounded);
        Arc::new(Self { properties: Arc::new(properties), read: Box::new(read) })
    }

    /// The batches of a table.
    pub(crate) fn table(schema: SchemaRef, partitions: Vec<Vec<RecordBatch>>) -> Arc<dyn ExecutionPlan> {
        let count = partitions.len();
        Self::of(schema, count, move |partition| stream::iter(partitions[partition].clone().into_iter().map(Ok)).boxed())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl DisplayAs for Source {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl ExecutionPlan for Source {
    fn name(&self) -> &str {
        "Source"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), (self.read)(partition))))
    }
}

/// The order of columns of `schema`, each with whether it descends and whether nulls come first.
pub(crate) fn order(schema: &SchemaRef, columns: &[(&str, bool, bool)]) -> LexOrdering {
    let key = |&(name, descending, nulls_first): &(&str, bool, bool)| {
        let column = Column::new(name, schema.index_of(name).expect("a column of the table"));
        PhysicalSortExpr { expr: Arc::new(column), options: SortOptions { descending, nulls_first } }
    };
    LexOrdering::new(columns.iter().map(key)).expect("a column at least")
}

/// DataFusion's sort of each partition of `source`, and their merge if `merges`.
pub(crate) fn stock(
    source: Arc<dyn ExecutionPlan>,
    order: &LexOrdering,
    merges: bool,
    fetch: Option<usize>,
) -> Arc<dyn ExecutionPlan> {
    let partitions = source.output_partitioning().partition_count();
    let sort = SortExec::new(order.clone(), source).with_preserve_partitioning(partitions > 1).with_fetch(fetch);
    if merges {
        return Arc::new(SortPreservingMergeExec::new(order.clone(), Arc::new(sort)).with_fetch(fetch));
    }
    Arc::new(sort)
}

/// The same on a backend.
pub(crate) fn ours(plan: Arc<dyn ExecutionPlan>, backend: impl Backend) -> Arc<dyn ExecutionPlan> {
    PolysortRule::new(backend).rewrite(plan).expect("a plan")
}

/// The operator in a plan.
pub(crate) fn operator(plan: &Arc<dyn ExecutionPlan>) -> &PolysortExec {
    if let Some(found) = plan.downcast_ref() {
        return found;
    }
    plan.children().into_iter().map(operator).next().expect("a PolysortExec")
}

/// What a plan runs in.
pub(crate) fn context(batch_rows: usize, memory: Option<usize>, merge_bytes: usize) -> Arc<TaskContext> {
    let mut config = SessionConfig::new().with_target_partitions(3).with_batch_size(batch_rows);
    config.options_mut().execution.sort_spill_reservation_bytes = merge_bytes;
    let runtime = match memory {
        Some(bytes) => RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(bytes))),
        None => RuntimeEnvBuilder::new(),
    };
    Arc::new(TaskContext::default().with_session_config(config).with_runtime(runtime.build_arc().expect("a runtime")))
}

/// The batches of each partition. All partitions run at the same time.
pub(crate) async fn partitions(plan: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<Vec<Vec<RecordBatch>>> {
    let count = plan.output_partitioning().partition_count();
    let streams = (0..count).map(|partition| plan.execute(partition, context.clone())).collect::<Result<Vec<_>>>()?;
    futures::future::try_join_all(streams.into_iter().map(TryStreamExt::try_collect)).await
}
