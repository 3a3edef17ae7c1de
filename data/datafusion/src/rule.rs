//! The optimizer rule.

use crate::choice::why_left;
use crate::exec::PolysortExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::projection::{ProjectionExec, all_columns};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use polysort_core::{Backend, DynBackend};
use std::sync::Arc;

/// Replaces DataFusion's sorts with [`PolysortExec`], on one backend.
///
/// It takes every full sort whose keys `polysort-arrow` sorts by their bits. Sorts with a limit stay with DataFusion. If the sorted partitions are
/// then merged, one [`PolysortExec`] replaces both steps: it sorts all rows together.
#[derive(Clone, Debug)]
pub struct PolysortRule {
    backend: DynBackend,
    keeps_merges: bool,
}

impl PolysortRule {
    /// A rule whose operators sort on `backend`.
    pub fn new(backend: impl Backend) -> Self {
        Self { backend: DynBackend::new(backend), keeps_merges: false }
    }

    /// The same rule, which leaves merges of sorted partitions to DataFusion. A plan then has as many operators as before.
    #[must_use]
    pub fn keep_merges(self) -> Self {
        Self { keeps_merges: true, ..self }
    }

    /// Replaces the sorts of `plan`. A plan that was rewritten before stays as it is.
    ///
    /// # Errors
    /// DataFusion's, if the type of a key is not known.
    pub fn rewrite(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(|plan| self.rewrite_one(plan))?.data)
    }

    fn rewrite_one(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
        if let Some(sort) = plan.downcast_ref::<SortExec>() {
            if why_left(sort)?.is_none() {
                return Ok(Transformed::yes(Arc::new(PolysortExec::new(sort.clone(), self.backend.clone()))));
            }
        } else if !self.keeps_merges
            && let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>()
            && let Some(merged) = merged(merge)?
        {
            return Ok(Transformed::yes(merged));
        }
        Ok(Transformed::no(plan))
    }
}

/// What does the same as `merge`, without a merge: its input is a [`PolysortExec`] of the same order, or columns of one. `None` if it is not, or if `merge` has a
/// limit.
fn merged(merge: &SortPreservingMergeExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if merge.fetch().is_some() {
        return Ok(None);
    }
    if let Some(sorted) = merge.input().downcast_ref::<PolysortExec>() {
        let is_same = !sorted.merges_partitions() && sorted.order() == merge.expr();
        return Ok(is_same.then(|| Arc::new(sorted.merged()) as _));
    }
    let Some(projection) = merge.input().downcast_ref::<ProjectionExec>() else { return Ok(None) };
    // Several threads compute other expressions of several partitions.
    if !all_columns(projection.expr()) {
        return Ok(None);
    }
    let Some(sorted) = projection.input().downcast_ref::<PolysortExec>() else { return Ok(None) };
    // The key of the merge among the columns of the sort.
    let below = |key: &PhysicalSortExpr| {
        let column = key.expr.downcast_ref::<Column>()?;
        let expr = projection.expr().get(column.index())?.expr.clone();
        Some(PhysicalSortExpr { expr, options: key.options })
    };
    let order: Option<Vec<_>> = merge.expr().iter().map(below).collect();
    if sorted.merges_partitions() || order.as_deref() != Some(&sorted.order()[..]) {
        return Ok(None);
    }
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Ok(Some(merge.input().clone().replace_children(vec![Arc::new(sorted.merged())], options)?))
}

impl PhysicalOptimizerRule for PolysortRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        self.rewrite(plan)
    }

    fn name(&self) -> &str {
        "polysort"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
