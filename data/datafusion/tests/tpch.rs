//! TPC-H tables of a small scale factor: orders and their lines, with decimals, dates and strings.

#[path = "support/sessions.rs"]
mod sessions;
mod support;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use polysort_datafusion::{Outcome, Report};
use sessions::{Settings, run};
use support::{Table, rows_of};
use tpchgen::generators::{LineItemGenerator, OrderGenerator};
use tpchgen_arrow::{LineItemArrow, OrderArrow};

const SCALE: f64 = 0.01;
const PARTITIONS: i32 = 3;

/// Queries whose order is determined: a line is one of its order and its number.
const QUERIES: &[&str] = &[
    "SELECT * FROM lineitem ORDER BY l_shipdate, l_orderkey, l_linenumber",
    "SELECT * FROM lineitem ORDER BY l_shipmode DESC, l_extendedprice * (1 - l_discount), l_orderkey, l_linenumber",
    "SELECT l_orderkey, l_linenumber, l_comment FROM lineitem ORDER BY l_comment, l_orderkey DESC, l_linenumber",
    "SELECT l_returnflag, l_linestatus, sum(l_quantity), count(*) FROM lineitem GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT l_orderkey, l_linenumber, rank() OVER (PARTITION BY l_suppkey ORDER BY l_receiptdate DESC, l_orderkey, l_linenumber) \
     FROM lineitem ORDER BY l_orderkey, l_linenumber",
    "SELECT o_orderpriority, l_orderkey, l_linenumber, o_totalprice FROM lineitem JOIN orders ON l_orderkey = o_orderkey \
     ORDER BY o_totalprice DESC, l_orderkey, l_linenumber",
];

fn register(context: &SessionContext) -> Result<()> {
    let batches = |batches: Vec<Vec<Result<RecordBatch, ArrowError>>>| -> Result<Table> {
        let partitions = batches.into_iter().map(|part| part.into_iter().collect()).collect::<Result<Vec<Vec<_>>, _>>()?;
        Ok(Table { schema: partitions[0][0].schema(), partitions })
    };
    let parts = || 1..=PARTITIONS;
    let lines =
        parts().map(|part| LineItemArrow::new(LineItemGenerator::new(SCALE, part, PARTITIONS)).with_batch_size(1000).collect());
    let orders =
        parts().map(|part| OrderArrow::new(OrderGenerator::new(SCALE, part, PARTITIONS)).with_batch_size(1000).collect());
    let lines = batches(lines.collect())?;
    assert_eq!(lines.rows(), 60_175, "lines of scale {SCALE}");
    sessions::register(&lines, context, "lineitem");
    sessions::register(&batches(orders.collect())?, context, "orders");
    Ok(())
}

async fn compare(settings: Settings) -> Result<Vec<Report>> {
    let (stock, ours) = (Settings { memory: None, ..settings.clone() }.stock(), settings.ours());
    register(&stock)?;
    register(&ours)?;
    let mut reports = Vec::new();
    for query in QUERIES {
        let (plan, answer) = run(&ours, query).await?;
        let (_, expected) = run(&stock, query).await?;
        let (expected, answer) = (rows_of(&expected), rows_of(&answer));
        assert!(expected == answer, "{query}: {} and {} rows", expected.len(), answer.len());
        let report = Report::of(&plan)?;
        assert!(report.sorts.iter().all(|sort| matches!(sort.outcome, Outcome::Taken { .. })), "{query}\n{report}");
        reports.push(report);
    }
    Ok(reports)
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_and_orders_as_stock_sorts_them() -> Result<()> {
    for hash_joins in [true, false] {
        let reports = compare(Settings { hash_joins, batch_rows: 8192, ..Settings::default() }).await?;
        let sorts = reports[reports.len() - 1].sorts.len();
        assert_eq!(sorts, if hash_joins { 1 } else { 3 }, "sorts of the join: {}", reports[reports.len() - 1]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_and_orders_within_a_quarter_of_their_memory() -> Result<()> {
    let settings =
        Settings { batch_rows: 512, memory: Some(4 << 20), merge_bytes: 1 << 20, partitions: 2, ..Settings::default() };
    let reports = compare(settings).await?;
    assert!(matches!(reports[0].sorts[0].outcome, Outcome::Taken { spilled_blocks: 2.., .. }), "{}", reports[0]);
    Ok(())
}
