//! What happened to the sorts of a query.

use crate::choice::{Left, why_left};
use crate::exec::PolysortExec;
use crate::fallback::Fallback;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use polysort_core::Backend;
use std::fmt;
use std::sync::Arc;

/// What became of each sort of a query. Its `Display` has a line for each.
///
/// Read from a plan, before or after it ran. Rows and spills are those of the runs so far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The sorts, from the root of the plan down.
    pub sorts: Vec<SortReport>,
}

/// What became of one sort.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SortReport {
    /// The operator, as `EXPLAIN` prints it.
    pub operator: String,
    /// Who sorts.
    pub outcome: Outcome,
}

/// Who sorts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// polysort.
    Taken {
        /// The name of the backend.
        backend: String,
        /// The rows that the operator has put out.
        rows: usize,
        /// How many blocks of sorted rows were written to files, because the memory limit was reached; those that a merge wrote again count, too.
        spilled_blocks: usize,
    },
    /// polysort's operator, but DataFusion's kernel did some of its sorts.
    FellBack(Vec<Fallback>),
    /// DataFusion.
    Left(Left),
    /// DataFusion, though polysort could: the rule was not installed when the query was planned.
    NotAsked,
}

impl Report {
    /// The report of a physical plan.
    ///
    /// # Errors
    /// DataFusion's, if the type of a key is not known.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let mut sorts = Vec::new();
        plan.apply(|plan| {
            if let Some(outcome) = outcome_of(plan.as_ref())? {
                let one_line = |plan: DisplayableExecutionPlan<'_>| plan.one_line().to_string().trim().to_owned();
                sorts.push(SortReport { operator: one_line(displayable(plan.as_ref())), outcome });
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Self { sorts })
    }
}

/// What became of a plan's root, if it sorts.
fn outcome_of(plan: &dyn ExecutionPlan) -> Result<Option<Outcome>> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return Ok(Some(why_left(sort)?.map_or(Outcome::NotAsked, Outcome::Left)));
    }
    let Some(sort) = plan.downcast_ref::<PolysortExec>() else { return Ok(None) };
    let fallbacks = sort.fallbacks();
    if !fallbacks.is_empty() {
        return Ok(Some(Outcome::FellBack(fallbacks)));
    }
    let metrics = sort.metrics();
    let metric = |of: fn(&MetricsSet) -> Option<usize>| metrics.as_ref().and_then(of).unwrap_or(0);
    Ok(Some(Outcome::Taken {
        backend: sort.backend().name(),
        rows: metric(MetricsSet::output_rows),
        spilled_blocks: metric(MetricsSet::spill_count),
    }))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for sort in &self.sorts {
            writeln!(f, "{}\n    {}", sort.outcome, sort.operator)?;
        }
        Ok(())
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { backend, rows, spilled_blocks: 0 } => write!(f, "TAKEN by {backend}: {rows} rows"),
            Self::Taken { backend, rows, spilled_blocks } => {
                write!(f, "TAKEN by {backend}: {rows} rows, {spilled_blocks} blocks spilled")
            }
            Self::FellBack(fallbacks) => {
                write!(f, "FELL BACK to DataFusion's kernel")?;
                fallbacks.iter().try_for_each(|Fallback { rows, why }| write!(f, "; {rows} rows: {why}"))
            }
            Self::Left(left) => write!(f, "LEFT to DataFusion: {left}"),
            Self::NotAsked => write!(f, "LEFT to DataFusion: the rule was not installed"),
        }
    }
}
