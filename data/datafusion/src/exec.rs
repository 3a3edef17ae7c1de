//! The operator.

use crate::fallback::{Fallback, Fallbacks};
use crate::sorter::{Input, Sorter};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    ChildStats, ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use futures::{StreamExt, TryStreamExt, stream};
use polysort_core::{Backend, DynBackend};
use std::fmt;
use std::sync::Arc;

/// Batches of one input partition that wait for the sort while other partitions are read.
const BATCHES_AHEAD: usize = 2;

/// Sorts rows stably on a backend of polysort.
///
/// It stands in the place of a [`SortExec`], with one input and as many output partitions. Or it stands in the place of a
/// [`SortPreservingMergeExec`] over a [`SortExec`]: then it reads all partitions of the input and puts out one.
///
/// Equal rows keep the order of their partitions, and of the rows in them, unless the operator spills.
#[derive(Clone, Debug)]
pub struct PolysortExec {
    sort: SortExec,
    /// The merge that this operator replaces, too, above `sort`.
    merge: Option<SortPreservingMergeExec>,
    backend: DynBackend,
    fallbacks: Fallbacks,
    metrics: ExecutionPlanMetricsSet,
}

impl PolysortExec {
    /// Does what `sort` does, on `backend`. A limit of `sort` is not kept.
    pub(crate) fn new(sort: SortExec, backend: DynBackend) -> Self {
        Self { sort, merge: None, backend, fallbacks: Fallbacks::default(), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The operator that also merges the partitions of this one.
    pub(crate) fn merged(&self) -> Self {
        Self { merge: Some(merge_of(self.order(), &self.sort)), ..Self::new(self.sort.clone(), self.backend.clone()) }
    }

    /// The order of the rows.
    pub fn order(&self) -> &LexOrdering {
        self.sort.expr()
    }

    /// Whether all partitions of the input become one.
    pub fn merges_partitions(&self) -> bool {
        self.merge.is_some()
    }

    /// The backend that sorts.
    pub fn backend(&self) -> &DynBackend {
        &self.backend
    }

    /// The sorts so far that DataFusion's kernel did instead of the backend.
    pub fn fallbacks(&self) -> Vec<Fallback> {
        self.fallbacks.all()
    }

    /// The batches of the input partitions that go into output partition `partition`, each with the number of its partition, and how many input
    /// partitions these are.
    fn input(&self, partition: usize, context: &Arc<TaskContext>) -> Result<(Input, usize)> {
        let input = self.sort.input();
        let partitions = input.output_partitioning().partition_count();
        if !self.merges_partitions() || partitions == 1 {
            let batches = input.execute(partition, context.clone())?;
            return Ok((batches.map(|batch| (0, batch)).boxed(), 1));
        }
        let read = |partition| {
            let mut batches = input.execute(partition, context.clone())?;
            // A task for each partition, so that all of them are read at the same time. It ends when the receiver is dropped.
            let mut receiver = RecordBatchReceiverStream::builder(input.schema(), BATCHES_AHEAD);
            let sender = receiver.tx();
            receiver.spawn(async move {
                while let Some(batch) = batches.next().await {
                    let is_last = batch.is_err();
                    if sender.send(batch).await.is_err() || is_last {
                        break;
                    }
                }
                Ok(())
            });
            Ok(receiver.build().map(move |batch| (partition, batch)).boxed())
        };
        let streams = (0..partitions).map(read).collect::<Result<Vec<_>>>()?;
        Ok((stream::select_all(streams).boxed(), partitions))
    }

    /// This operator over a new sort, without metrics.
    fn over(&self, sort: &dyn ExecutionPlan) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(sort) = sort.downcast_ref::<SortExec>() else { return internal_err!("{} is no SortExec", sort.name()) };
        let merge = self.merge.as_ref().map(|merge| merge_of(merge.expr(), sort));
        Ok(Arc::new(Self { merge, ..Self::new(sort.clone(), self.backend.clone()) }))
    }
}

/// DataFusion's merge of the partitions of `sort`.
fn merge_of(order: &LexOrdering, sort: &SortExec) -> SortPreservingMergeExec {
    SortPreservingMergeExec::new(order.clone(), Arc::new(sort.clone()))
}

impl DisplayAs for PolysortExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "PolysortExec: expr=[{}], ", self.order())?;
                if self.merges_partitions() {
                    write!(f, "merged_partitions=[{}], ", self.sort.input().output_partitioning().partition_count())?;
                } else {
                    write!(f, "preserve_partitioning=[{}], ", self.sort.preserve_partitioning())?;
                }
                write!(f, "backend=[{}]", self.backend.name())
            }
            DisplayFormatType::TreeRender => writeln!(f, "{}\nbackend={}", self.order(), self.backend.name()),
        }
    }
}

impl ExecutionPlan for PolysortExec {
    fn name(&self) -> &str {
        "PolysortExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.merge.as_ref().map_or(self.sort.properties(), ExecutionPlan::properties)
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.sort.input()]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.sort.input_distribution_requirements()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.sort.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = Arc::new(self.sort.clone()).replace_children(children, options)?;
        self.over(sort.as_ref())
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(&self.sort)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let partitions = self.properties().output_partitioning().partition_count();
        if partition >= partitions {
            return internal_err!("PolysortExec has no partition {partition} of {partitions}");
        }
        let (input, input_partitions) = self.input(partition, &context)?;
        let threads = context.session_config().target_partitions().div_ceil(partitions);
        let sorter = Sorter::new(
            (self.schema(), self.order().clone()),
            (self.backend.clone(), self.fallbacks.clone()),
            (partition, threads),
            &self.metrics,
            &context,
        )?;
        let rows = stream::once(sorter.sort(input, input_partitions)).try_flatten();
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        let is_by_partition = self.sort.preserve_partitioning() && !self.merges_partitions();
        vec![ChildStats::At(partition.filter(|_| is_by_partition))]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], arguments: &StatisticsArgs) -> Result<Arc<Statistics>> {
        self.sort.statistics_from_inputs(inputs, arguments)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
