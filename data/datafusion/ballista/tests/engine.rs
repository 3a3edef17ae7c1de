//! Which sorts of a stage the engine replaces.

use ballista_core::JobId;
use ballista_core::execution_plans::{RuntimeStatsExec, ShuffleWriterExec};
use ballista_executor::execution_engine::ExecutionEngine;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::prelude::SessionConfig;
use polysort_ballista::PolysortEngine;
use polysort_rayon::RayonBackend;
use std::sync::Arc;

/// The stage that an executor makes of a sort, as text. Statistics of the rows below the sort are asked for `with_statistics`.
fn stage(with_statistics: bool) -> Result<String> {
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, false)]));
    let key = PhysicalSortExpr { expr: Arc::new(Column::new("k", 0)), options: SortOptions::default() };
    let mut input: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(schema));
    if with_statistics {
        input = Arc::new(RuntimeStatsExec::try_new(input, Some(vec![key.clone()]))?);
    }
    let sort = SortExec::new(LexOrdering::new([key]).expect("a key"), input).with_preserve_partitioning(true);
    let job = JobId::new("job");
    let plan = ShuffleWriterExec::try_new(job.clone(), 1, Arc::new(sort), String::new())?;
    let engine = PolysortEngine::new(RayonBackend::default());
    Ok(engine.create_query_stage_exec(job, 1, 0, vec![0], Arc::new(plan), "", &SessionConfig::new())?.to_string())
}

#[test]
fn sorts_of_a_stage_run_on_polysort() -> Result<()> {
    let stage = stage(false)?;
    assert!(stage.contains("PolysortExec: ") && !stage.contains("SortExec: expr"), "{stage}");
    Ok(())
}

#[test]
fn sorts_above_statistics_are_left() -> Result<()> {
    let stage = stage(true)?;
    assert!(stage.contains("SortExec: expr") && !stage.contains("PolysortExec"), "{stage}");
    Ok(())
}
