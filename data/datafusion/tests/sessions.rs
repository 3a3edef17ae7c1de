//! Queries of a session: which sorts are taken, and what the user sees of them.

#[path = "support/plans.rs"]
mod plans;
#[path = "support/sessions.rs"]
mod sessions;
mod support;

use datafusion::arrow::array::AsArray;
use datafusion::error::Result;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::SessionContext;
use plans::operator;
use polysort_core::Backend;
use polysort_datafusion::{Left, Outcome, Report, SortReport, install};
use polysort_rayon::RayonBackend;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use sessions::{Settings, register, run};
use std::sync::Arc;
use support::Table;

fn random_table(rows: usize) -> Table {
    Table::random(&mut SmallRng::seed_from_u64(7), rows, 3, 50, 100)
}

/// The lines of a plan.
fn lines(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    displayable(plan.as_ref()).indent(false).to_string().lines().map(|line| line.trim().to_owned()).collect()
}

/// A session of `backend` with 3 partitions and the random table `t`.
fn session(backend: impl Backend) -> SessionContext {
    let context = Settings::default().with(backend);
    register(&random_table(3000), &context, "t");
    context
}

#[tokio::test(flavor = "multi_thread")]
async fn one_operator_replaces_a_sort_of_partitions_and_their_merge() -> Result<()> {
    let context = session(RayonBackend::default());
    let (plan, batches) = run(&context, "SELECT c_i32, c_utf8, id FROM t ORDER BY c_i32 DESC NULLS LAST, c_utf8, id").await?;
    let lines = lines(&plan);
    // The columns come in another order than in the table.
    assert!(lines[0].starts_with("ProjectionExec: expr=[c_i32@1 as c_i32, c_utf8@2 as c_utf8, id@0 as id]"), "{lines:#?}");
    assert!(lines[1].starts_with("PolysortExec: expr=[c_i32@1 DESC NULLS LAST, c_utf8@2 ASC NULLS LAST, id@0 ASC NULLS LAST], merged_partitions=[3], backend=[rayon"), "{lines:#?}");
    assert!(lines[2].starts_with("DataSourceExec"), "{lines:#?}");
    let (all, _) = run(&context, "SELECT * FROM t ORDER BY c_i32 DESC NULLS LAST, c_utf8, id").await?;
    let all = self::lines(&all);
    assert!(all.len() == 2 && all[0].starts_with("PolysortExec") && all[0].contains("merged_partitions=[3]"), "{all:#?}");
    let metrics = operator(&plan).metrics().expect("metrics");
    assert_eq!(metrics.output_rows(), Some(3000));
    assert!(metrics.elapsed_compute().is_some_and(|nanoseconds| nanoseconds > 0), "{metrics}");
    assert_eq!(metrics.spill_count(), Some(0));
    for time in ["join_time", "sort_time", "backend_time", "gather_time"] {
        assert!(metrics.sum_by_name(time).is_some_and(|time| time.as_usize() > 0), "{time}: {metrics}");
    }
    assert!(batches.iter().all(|batch| batch.num_rows() <= 256), "batches of the session's length");
    let report = Report::of(&plan)?;
    let [sort] = &report.sorts[..] else { panic!("one sort: {report}") };
    assert!(
        matches!(&sort.outcome, Outcome::Taken { rows: 3000, spilled_blocks: 0, backend, .. } if backend.starts_with("rayon")),
        "{report}"
    );
    assert!(sort.operator.starts_with("PolysortExec: expr=[c_i32@1"), "{report}");
    let (_, explained) = run(&context, "EXPLAIN ANALYZE SELECT c_i32 FROM t ORDER BY c_i32").await?;
    let explained = explained[0].column(1).as_string::<i32>().value(0);
    assert!(
        explained.contains("PolysortExec") && explained.contains("output_rows=3") && explained.contains("sort_time="),
        "{explained}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_windows_are_sorted_each() -> Result<()> {
    let context = session(RayonBackend::default());
    let (plan, _) = run(&context, "SELECT id, row_number() OVER (PARTITION BY c_i8 ORDER BY c_i64, id) FROM t").await?;
    let lines = lines(&plan);
    assert!(
        lines.iter().any(|line| line.starts_with("PolysortExec") && line.contains("preserve_partitioning=[true]")),
        "{lines:#?}"
    );
    assert_eq!(operator(&plan).metrics().and_then(|metrics| metrics.output_rows()), Some(3000));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_to_datafusion_has_a_reason() -> Result<()> {
    let context = session(RayonBackend::default());
    let limit = run(&context, "SELECT id FROM t ORDER BY c_i32, id LIMIT 10").await?.0;
    assert!(lines(&limit).iter().any(|line| line.starts_with("SortExec: TopK(fetch=10)")), "{:#?}", lines(&limit));
    assert!(Report::of(&limit)?.sorts.iter().all(|sort| sort.outcome == Outcome::Left(Left::Limit { rows: 10 })));
    let list = Report::of(&run(&context, "SELECT list FROM t ORDER BY list, id").await?.0)?;
    assert!(list.to_string().starts_with("LEFT to DataFusion: the key list@1 is of type List("), "{list}");
    let twice = Report::of(&run(&context, "SELECT id FROM t ORDER BY id").await?.0)?;
    assert_eq!(twice.sorts.len(), 1);
    // Without the rule.
    let stock = Settings::default().stock();
    register(&random_table(100), &stock, "t");
    let report = Report::of(&run(&stock, "SELECT id FROM t ORDER BY id").await?.0)?;
    assert!(report.sorts.iter().any(|sort| sort.outcome == Outcome::NotAsked), "{report}");
    // The rule comes once, before the check of the plan.
    install(&stock, RayonBackend::default());
    install(&stock, RayonBackend::default());
    let state = stock.state();
    let rules: Vec<&str> = state.physical_optimizers().iter().map(|rule| rule.name()).collect();
    assert_eq!(rules[rules.len() - 2..], ["polysort", "SanityCheckPlan"]);
    assert_eq!(rules.iter().filter(|&&rule| rule == "polysort").count(), 1);
    let report = Report::of(&run(&stock, "SELECT id FROM t ORDER BY id").await?.0)?;
    assert!(matches!(report.sorts[..], [SortReport { outcome: Outcome::Taken { rows: 100, .. }, .. }]), "{report}");
    Ok(())
}
