//! Random queries whose answers must be those of stock DataFusion.
//!
//! `POLYSORT_QUERIES` is the number of queries in percent of the usual one, `POLYSORT_SEED` the number that they are drawn from.

#[path = "support/sessions.rs"]
mod sessions;
mod support;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::row::OwnedRow;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use polysort_datafusion::{Outcome, PolysortExec, Report};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sessions::{Settings, register, run};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{COLUMNS, Table, one_of, rows_of};

/// How much of the answer the query determines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// The order of all rows.
    Total,
    /// The values of the first so many columns, in order, and for each combination of them the rows.
    ByFirst(usize),
    /// The rows alone.
    None,
}

/// A random query.
#[derive(Debug)]
struct Query {
    sql: String,
    order: Order,
}

/// Counts of what the queries of a test did.
#[derive(Debug, Default)]
struct Counts {
    queries: usize,
    taken: usize,
    left: usize,
    spilled_blocks: usize,
    rows: usize,
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

/// Runs `queries` random queries over random tables, several over each.
fn compare(
    kind: u64,
    queries: usize,
    rows: &[usize],
    settings: impl Fn(&mut SmallRng, &Table) -> Settings,
    query: impl Fn(&mut SmallRng) -> Query,
) -> Counts {
    const QUERIES_PER_TABLE: usize = 20;
    let seed = setting("POLYSORT_SEED", 1);
    println!("POLYSORT_SEED={seed}");
    let queries = queries * setting("POLYSORT_QUERIES", 100) as usize / 100;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let mut counts = Counts::default();
    for table in 0..queries.div_ceil(QUERIES_PER_TABLE) {
        let mut rng = SmallRng::seed_from_u64(seed << 32 | kind << 24 | table as u64);
        let rows = *one_of(&mut rng, rows);
        let (partitions, distinct) = (rng.random_range(1..=4), *one_of(&mut rng, &[1, 3, 20, 100, 100_000]));
        let tables = ["t", "u"].map(|name| (name, Table::random(&mut rng, rows, partitions, distinct, 100)));
        let settings = settings(&mut rng, &tables[0].1);
        let (stock, ours) = (Settings { memory: None, ..settings.clone() }.stock(), settings.ours());
        for (name, table) in &tables {
            register(table, &stock, name);
            register(table, &ours, name);
        }
        for _ in 0..QUERIES_PER_TABLE.min(queries - counts.queries) {
            let query = query(&mut rng);
            let what = || format!("table {table} of {rows} rows, {settings:?}: {query:?}");
            if let Err(error) = runtime.block_on(compare_one(&stock, &ours, &query, &mut counts)) {
                panic!("{}: {error}", what());
            }
            // Tasks of DataFusion's own operators may end a moment later.
            let start = Instant::now();
            while ours.runtime_env().memory_pool.reserved() > 0 {
                assert!(start.elapsed() < Duration::from_secs(10), "memory is still reserved: {}", what());
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    println!("{counts:?}");
    assert_eq!(counts.queries, queries);
    counts
}

/// Runs a query on both, and compares the answers.
async fn compare_one(stock: &SessionContext, ours: &SessionContext, query: &Query, counts: &mut Counts) -> Result<()> {
    let (_, expected) = run(stock, &query.sql).await?;
    let (plan, answer) = run(ours, &query.sql).await?;
    let (expected_rows, answer_rows) = (rows_of(&expected), rows_of(&answer));
    assert_eq!(expected_rows.len(), answer_rows.len(), "rows of {query:?}");
    match query.order {
        Order::Total => check(query, &expected_rows, &answer_rows),
        Order::ByFirst(columns) => {
            let keys = |batches: &[RecordBatch]| -> Result<Vec<OwnedRow>> {
                let indices: Vec<usize> = (0..columns).collect();
                let keys = batches.iter().map(|batch| batch.project(&indices)).collect::<Result<Vec<_>, _>>()?;
                Ok(rows_of(&keys))
            };
            let (expected_keys, answer_keys) = (keys(&expected)?, keys(&answer)?);
            check(query, &expected_keys, &answer_keys);
            check(query, &sorted_ties(&expected_keys, expected_rows), &sorted_ties(&answer_keys, answer_rows));
        }
        Order::None => {
            let sorted = |mut rows: Vec<OwnedRow>| {
                rows.sort();
                rows
            };
            check(query, &sorted(expected_rows), &sorted(answer_rows));
        }
    }
    counts.queries += 1;
    counts.rows += answer.iter().map(RecordBatch::num_rows).sum::<usize>();
    for sort in Report::of(&plan)?.sorts {
        match sort.outcome {
            Outcome::Taken { spilled_blocks, .. } => {
                counts.taken += 1;
                counts.spilled_blocks += spilled_blocks;
            }
            Outcome::Left(_) => counts.left += 1,
            other => panic!("{query:?}: {other}"),
        }
    }
    Ok(())
}

fn check(query: &Query, expected: &[OwnedRow], answer: &[OwnedRow]) {
    let first = expected.iter().zip(answer).position(|(expected, answer)| expected != answer);
    assert_eq!(first, None, "the first different row of {query:?}");
}

/// The rows, with those of equal neighboring keys sorted.
fn sorted_ties(keys: &[OwnedRow], mut rows: Vec<OwnedRow>) -> Vec<OwnedRow> {
    let mut start = 0;
    for tie in keys.chunk_by(|a, b| a == b) {
        rows[start..start + tie.len()].sort();
        start += tie.len();
    }
    rows
}

/// `columns` different names of columns.
fn some_columns(rng: &mut SmallRng, columns: usize) -> Vec<&'static str> {
    let mut names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    names.shuffle(rng);
    names.truncate(columns);
    names
}

/// A direction, and where nulls come, in one of the ways to say so.
fn direction(rng: &mut SmallRng) -> &'static str {
    const DIRECTIONS: [&str; 7] =
        ["", " ASC", " DESC", " ASC NULLS FIRST", " ASC NULLS LAST", " DESC NULLS FIRST", " DESC NULLS LAST"];
    DIRECTIONS[rng.random_range(0..DIRECTIONS.len())]
}

/// The columns in random directions.
fn directed(rng: &mut SmallRng, columns: &[&str]) -> String {
    columns.iter().map(|column| format!("{column}{}", direction(rng))).collect::<Vec<_>>().join(", ")
}

/// An expression to sort by, or a column.
fn key(rng: &mut SmallRng) -> String {
    match rng.random_range(0..8) {
        0 => "-c_i32".into(),
        1 => "c_i16 + c_i8".into(),
        2 => "c_f64 * 2".into(),
        3 => "c_utf8 || '!'".into(),
        4 => "CASE WHEN c_bool THEN c_i64 ELSE c_u8 END".into(),
        5 => "c_date IS NULL".into(),
        _ => one_of(rng, COLUMNS).0.into(),
    }
}

fn order_by(rng: &mut SmallRng) -> Query {
    let count = rng.random_range(1..=4);
    let columns = some_columns(rng, count);
    let order = directed(rng, &columns);
    match rng.random_range(0..5) {
        // Ties, which may come in any order.
        0 => Query {
            sql: format!("SELECT {}, * FROM t ORDER BY {order}", aliased(&columns)),
            order: Order::ByFirst(columns.len()),
        },
        1 => {
            let key = key(rng);
            Query { sql: format!("SELECT * FROM t ORDER BY {key}{}, {order}, id", direction(rng)), order: Order::Total }
        }
        2 => {
            // Rows that a filter leaves, in batches of any length, and columns that are not in the answer.
            let filter = *one_of(rng, &["c_i8 > 2", "c_utf8 IS NOT NULL", "id % 7 = 3", "c_bool", "id < 0"]);
            Query { sql: format!("SELECT id, c_view FROM t WHERE {filter} ORDER BY {order}, id DESC"), order: Order::Total }
        }
        3 => {
            // Two rows have each id.
            let keys = aliased(&columns);
            let sql =
                format!("SELECT {keys}, id AS k_id, * FROM (SELECT * FROM t UNION ALL SELECT * FROM u) ORDER BY {order}, id");
            Query { sql, order: Order::ByFirst(columns.len() + 1) }
        }
        _ => Query { sql: format!("SELECT * FROM t ORDER BY {order}, id{}", direction(rng)), order: Order::Total },
    }
}

/// The columns under other names, so that `*` can follow.
fn aliased(columns: &[&str]) -> String {
    columns.iter().map(|column| format!("{column} AS k_{column}")).collect::<Vec<_>>().join(", ")
}

fn limit(rng: &mut SmallRng) -> Query {
    // DataFusion's top-k skips rows by a comparison that takes -0.0 and 0.0 for equal, and sorts by one that does not. So the rows that top-k
    // keeps depend on which batch comes first.
    let mut columns = some_columns(rng, COLUMNS.len());
    columns.retain(|column| !["c_f32", "c_f64"].contains(column));
    let (outer, inner) = (directed(rng, &columns[..2]), directed(rng, &columns[2..3]));
    let (limit, offset) = (*one_of(rng, &[0, 1, 10, 100, 5000]), *one_of(rng, &[0, 1, 50]));
    let sql = match rng.random_range(0..3) {
        0 => format!("SELECT * FROM t ORDER BY {outer}, id LIMIT {limit} OFFSET {offset}"),
        1 => format!("SELECT * FROM (SELECT * FROM t ORDER BY {inner}, id LIMIT {limit}) ORDER BY {outer}, id"),
        _ => format!("SELECT * FROM t ORDER BY {outer}, id OFFSET {offset}"),
    };
    Query { sql, order: Order::Total }
}

fn window(rng: &mut SmallRng) -> Query {
    let (groups, order) = (rng.random_range(0..=2), rng.random_range(1..=2));
    let columns = some_columns(rng, groups + order);
    let (groups, order) = columns.split_at(groups);
    let by = if groups.is_empty() { String::new() } else { format!("PARTITION BY {} ", groups.join(", ")) };
    // DataFusion has no frames of ranges of binaries.
    let frame = if order.iter().any(|column| ["c_bin", "c_fixed"].contains(column)) { " ROWS UNBOUNDED PRECEDING" } else { "" };
    let order = directed(rng, order);
    let function = *one_of(
        rng,
        &[
            "row_number()",
            "rank()",
            "dense_rank()",
            "lag(id) ",
            "lead(c_utf8, 2)",
            "sum(c_i16)",
            "first_value(id)",
            "count(c_date)",
            "ntile(5)",
        ],
    );
    let more = *one_of(rng, &["", ", count(*) OVER (PARTITION BY c_bool)", ", max(c_i32) OVER (ORDER BY id DESC)"]);
    Query {
        sql: format!("SELECT id, {function} OVER ({by}ORDER BY {order}, id{}{frame}){more} FROM t", direction(rng)),
        order: Order::None,
    }
}

fn join(rng: &mut SmallRng) -> Query {
    let kind = *one_of(rng, &["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]);
    // Columns whose values are spread, so that few rows match.
    let mut keys = ["c_i32", "c_u64", "c_utf8", "c_large", "c_date", "c_ns", "c_dec", "c_i64"];
    keys.shuffle(rng);
    let on: Vec<String> = keys[..rng.random_range(1..=2)].iter().map(|key| format!("t.{key} = u.{key}")).collect();
    let right = if kind.contains("SEMI") || kind.contains("ANTI") { "" } else { ", u.id, u.c_f64" };
    // Ids join, too, so that an answer has at most a few rows for each row.
    let on = format!("{} AND t.id % 50 = u.id % 50", on.join(" AND "));
    Query { sql: format!("SELECT t.id, t.c_view{right} FROM t {kind} u ON {on}"), order: Order::None }
}

/// Rows of the tables.
const ROWS: &[usize] = &[0, 1, 2, 300, 1000, 3000];

fn usual(rng: &mut SmallRng, _: &Table) -> Settings {
    Settings { partitions: rng.random_range(1..=4), batch_rows: *one_of(rng, &[10, 256, 8192]), ..Settings::default() }
}

#[test]
fn order_by_several_columns() {
    let counts = compare(1, 1000, ROWS, usual, order_by);
    assert!(counts.taken > counts.queries / 2, "{counts:?}");
}

#[test]
fn limits() {
    let counts = compare(2, 300, ROWS, usual, limit);
    assert!(counts.taken > 0 && counts.left > counts.queries / 3, "{counts:?}");
}

#[test]
fn windows() {
    let counts = compare(3, 400, ROWS, usual, window);
    assert!(counts.taken > counts.queries / 2, "{counts:?}");
}

#[test]
fn sort_merge_joins() {
    // With one partition, DataFusion takes hash joins all the same.
    let settings = |rng: &mut SmallRng, table: &Table| Settings {
        hash_joins: false,
        partitions: rng.random_range(2..=4),
        ..usual(rng, table)
    };
    let counts = compare(4, 300, ROWS, settings, join);
    assert!(counts.taken > counts.queries / 2, "{counts:?}");
}

#[test]
fn order_by_with_a_quarter_of_the_memory() {
    let counts = compare(
        5,
        40,
        &[12_000],
        |rng, table| {
            let memory = table.bytes() / 4;
            Settings { partitions: 1, memory: Some(memory), merge_bytes: memory / 16, batch_rows: 16, ..usual(rng, table) }
        },
        // A query with UNION has two sorts, and DataFusion's merge above them. The pool may give all of its memory to the sort that begins first. The batch of a
        // window function can be as large as the table.
        |rng| loop {
            let query = order_by(rng);
            if !query.sql.contains("UNION") {
                break query;
            }
        },
    );
    assert!(counts.taken > counts.queries / 2, "{counts:?}");
    assert!(counts.spilled_blocks > counts.queries / 2, "{counts:?}");
}

/// The comparison sees a sort that is wrong.
#[test]
fn wrong_answers_are_seen() {
    let query = |order| Query { sql: String::new(), order };
    let table = Table::random(&mut SmallRng::seed_from_u64(3), 100, 1, 20, 100);
    let rows = rows_of(&table.partitions[0]);
    let mut swapped = rows.clone();
    swapped.swap(40, 60);
    check(&query(Order::Total), &rows, &rows);
    assert!(std::panic::catch_unwind(|| check(&query(Order::Total), &rows, &swapped)).is_err());
    // Rows of different ties that changed places.
    let keys: Vec<OwnedRow> = rows_of(&[table.partitions[0][0].project(&[0]).expect("the first column")]);
    let two_ties: Vec<OwnedRow> = (0..rows.len()).map(|row| keys[row / 50].clone()).collect();
    assert!(
        std::panic::catch_unwind(|| check(
            &query(Order::ByFirst(1)),
            &sorted_ties(&two_ties, rows.clone()),
            &sorted_ties(&two_ties, swapped)
        ))
        .is_err()
    );
    let mut within = rows.clone();
    within.swap(10, 20);
    check(&query(Order::ByFirst(1)), &sorted_ties(&two_ties, rows), &sorted_ties(&two_ties, within));
}

/// A plan of the random queries has the operator: the tests do not compare stock with stock.
#[tokio::test]
async fn the_sessions_differ() -> Result<()> {
    let table = Table::random(&mut SmallRng::seed_from_u64(3), 100, 2, 20, 30);
    let has_operator = async |context: SessionContext| -> Result<bool> {
        fn found(plan: &Arc<dyn ExecutionPlan>) -> bool {
            plan.downcast_ref::<PolysortExec>().is_some() || plan.children().into_iter().any(found)
        }
        register(&table, &context, "t");
        Ok(found(&run(&context, "SELECT * FROM t ORDER BY c_i32, id").await?.0))
    };
    assert!(!has_operator(Settings::default().stock()).await?);
    assert!(has_operator(Settings::default().ours()).await?);
    Ok(())
}
