//! Random plans of sorts and merges, whose answers must be those of DataFusion's operators.
//!
//! `POLYSORT_PLANS` is the number of plans, `POLYSORT_SEED` the number that they are drawn from.

#[path = "support/plans.rs"]
mod plans;
mod support;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::displayable;
use plans::{Source, context, order, ours, partitions, stock};
use polysort_datafusion::{Left, Outcome, Report};
use polysort_rayon::RayonBackend;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use support::{COLUMNS, Table, one_of, rows_of};

/// What the sorts of all plans did.
#[derive(Debug, Default)]
struct Counts {
    taken: usize,
    spilled_blocks: usize,
    limits: usize,
    types: usize,
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().unwrap_or_else(|_| panic!("{name} must be a number")))
}

#[test]
fn plans_as_stock_runs_them() -> Result<()> {
    let (seed, plans) = (setting("POLYSORT_SEED", 1), setting("POLYSORT_PLANS", 1000));
    println!("POLYSORT_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut counts = Counts::default();
    for plan in 0..plans {
        runtime.block_on(compare(&mut SmallRng::seed_from_u64(seed << 32 | plan), plan, &mut counts))?;
    }
    println!("{plans} plans: {counts:?}");
    if plans >= 100 {
        assert!(counts.taken as u64 > plans / 2 && counts.spilled_blocks as u64 > plans / 4, "{counts:?}");
        assert!(counts.limits > 0 && counts.types > 0, "{counts:?}");
    }
    Ok(())
}

async fn compare(rng: &mut SmallRng, number: u64, counts: &mut Counts) -> Result<()> {
    let rows = *one_of(rng, &[0, 1, 2, 300, 1000, 3000, 3000]);
    let (count, distinct) = (rng.random_range(1..=4), *one_of(rng, &[1, 3, 20, 100, 100_000]));
    let table = Table::random(rng, rows, count, distinct, 100);
    let merges = rng.random_bool(0.6);
    // One sort needs a quarter of the memory of 3000 rows for a batch of 100 rows, and for a merge of two files; two that run at the same time need half.
    let is_limited = rows == 3000 && (merges || count <= 2) && rng.random_bool(0.8);
    let memory = is_limited.then(|| table.bytes() / if merges { 4 } else { 2 });
    let batch_rows = if is_limited { 16 } else { *one_of(rng, &[10, 64, 8192]) };
    let fetch = rng.random_bool(0.1).then_some(10);
    let mut names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    names.shuffle(rng);
    names.truncate(rng.random_range(1..=4));
    // DataFusion sorts lists, and needs more memory for them.
    if !is_limited && rng.random_bool(0.1) {
        names.push("list");
    }
    // The last column is different in all rows, so there is one right order.
    names.push("id");
    let columns: Vec<(&str, bool, bool)> = names.into_iter().map(|name| (name, rng.random(), rng.random())).collect();
    let by = order(&table.schema, &columns);
    let plan = || stock(Source::table(table.schema.clone(), table.partitions.clone()), &by, merges, fetch);
    let plan_of_ours = ours(plan(), RayonBackend::default());
    let what = format!(
        "plan {number}: {rows} rows, batches of {batch_rows}, memory {memory:?}\n{}",
        displayable(plan_of_ours.as_ref()).indent(false)
    );
    let expected = partitions(&plan(), &context(batch_rows, None, 1 << 16)).await?;
    let context = context(batch_rows, memory, memory.map_or(1 << 16, |bytes| bytes / 16));
    let answer = partitions(&plan_of_ours, &context).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(expected.len(), answer.len(), "partitions of {what}");
    for (expected, answer) in expected.iter().zip(&answer) {
        let (expected, answer) = (rows_of(expected), rows_of(answer));
        assert_eq!(expected.len(), answer.len(), "rows of {what}");
        let first = expected.iter().zip(&answer).position(|(expected, answer)| expected != answer);
        assert_eq!(first, None, "the first different row of {what}");
    }
    assert!(answer.iter().flatten().map(RecordBatch::num_rows).all(|rows| rows <= batch_rows), "{what}");
    assert_eq!(context.runtime_env().memory_pool.reserved(), 0, "{what}");
    for sort in Report::of(&plan_of_ours)?.sorts {
        match sort.outcome {
            Outcome::Taken { rows: counted, spilled_blocks, .. } => {
                assert_eq!(counted, rows, "{what}");
                counts.taken += 1;
                counts.spilled_blocks += spilled_blocks;
            }
            Outcome::Left(Left::Limit { rows: 10 }) => counts.limits += 1,
            Outcome::Left(Left::Type { .. }) => counts.types += 1,
            other => panic!("{what}: {other}"),
        }
    }
    Ok(())
}
