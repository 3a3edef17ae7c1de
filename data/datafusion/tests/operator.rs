//! The operator: its order, its memory, failures, cancellation, threads.

#[path = "support/plans.rs"]
mod plans;
mod support;

use datafusion::arrow::array::{
    ArrayRef, AsArray, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StringViewArray,
};
use datafusion::arrow::compute::{concat_batches, take};
use datafusion::arrow::datatypes::{DataType, Field, Int16Type, Int32Type, Int64Type, Schema, SchemaRef};
use datafusion::common::exec_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::config::SessionConfig;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream};
use datafusion::prelude::SessionContext;
use futures::{StreamExt, stream};
use plans::{Source, context, operator, order, ours, stock};
use polysort_core::{AnyOperation, Backend, Error, Limits, Spec, sorts_by_run};
use polysort_datafusion::Report;
use polysort_rayon::RayonBackend;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use support::{Table, rows_of};

/// Fails in each call, or waits in each call.
#[derive(Clone, Debug)]
struct Test {
    fails: bool,
    waits: Duration,
    calls: Arc<AtomicUsize>,
}

impl Test {
    fn failing() -> Self {
        Self { fails: true, waits: Duration::ZERO, calls: Arc::default() }
    }

    fn slow(waits: Duration) -> Self {
        Self { fails: false, waits, calls: Arc::default() }
    }
}

impl Backend for Test {
    fn open() -> Result<Self, Error> {
        Ok(Self::failing())
    }

    fn name(&self) -> String {
        "a test".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.waits);
        if self.fails {
            return Err(Error::DeviceLost { backend: self.name(), why: "as planned".into(), source: None });
        }
        RayonBackend::default().run(operation, spec)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_rows_keep_the_order_of_partitions_and_rows() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int32, false), Field::new("at", DataType::Int64, false)]));
    let mut at = 0..;
    let mut batch = |rows: usize| {
        let numbers: Vec<i64> = at.by_ref().take(rows).collect();
        let keys: Int32Array = numbers.iter().map(|&at| (at % 3) as i32).collect();
        RecordBatch::try_new(schema.clone(), vec![Arc::new(keys), Arc::new(Int64Array::from(numbers))]).expect("two columns")
    };
    let partitions: Vec<Vec<RecordBatch>> =
        (0..4).map(|partition| (0..=partition).map(|index| batch(1 + 700 * index)).collect()).collect();
    let rows: usize = partitions.iter().flatten().map(RecordBatch::num_rows).sum();
    for descending in [false, true] {
        let by = order(&schema, &[("k", descending, false)]);
        let plan = ours(stock(Source::table(schema.clone(), partitions.clone()), &by, true, None), RayonBackend::default());
        assert!(operator(&plan).merges_partitions());
        let batches = collect(plan, context(256, None, 0)).await?;
        let all = concat_batches(&schema, &batches)?;
        assert_eq!(all.num_rows(), rows);
        let (keys, at) = (all.column(0).as_primitive::<Int32Type>(), all.column(1).as_primitive::<Int64Type>());
        assert!(keys.values().is_sorted_by(|a, b| if descending { a >= b } else { a <= b }));
        for key in 0..3 {
            let of_key: Vec<i64> = (0..rows).filter(|&row| keys.value(row) == key).map(|row| at.value(row)).collect();
            assert!(of_key.is_sorted(), "key {key}, descending {descending}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_fails_is_reported_and_the_answer_is_right() -> Result<()> {
    let table = Table::random(&mut SmallRng::seed_from_u64(7), 3000, 3, 50, 100);
    let by = order(&table.schema, &[("c_f64", true, true), ("c_view", false, false), ("id", false, false)]);
    let source = Source::table(table.schema, table.partitions);
    let plan = ours(stock(source.clone(), &by, true, None), Test::failing());
    let answer = collect(plan.clone(), context(256, None, 0)).await?;
    let expected = collect(stock(source, &by, true, None), context(256, None, 0)).await?;
    assert!(rows_of(&answer) == rows_of(&expected));
    let text = Report::of(&plan)?.to_string();
    assert!(text.starts_with("FELL BACK to DataFusion's kernel; 3000 rows: ") && text.contains("as planned"), "{text}");
    let metrics = operator(&plan).metrics().expect("metrics");
    assert_eq!(metrics.sum_by_name("fallbacks").map(|count| count.as_usize()), Some(1), "{metrics}");
    // Another run of the same plan begins without fallbacks.
    let again = reset_plan_states(plan)?;
    assert_eq!(operator(&again).fallbacks(), []);
    assert_eq!(operator(&again).metrics().and_then(|metrics| metrics.output_rows()), None);
    Ok(())
}

/// Rows of each batch that is made.
const MADE_ROWS: usize = 1000;

/// Batches that are made when they are read.
#[derive(Clone, Debug)]
struct Made {
    batches: usize,
    /// The batch that is an error instead.
    fails_at: Option<usize>,
    /// How many were read.
    read: Arc<AtomicUsize>,
    /// The key of each row.
    key: fn(i64) -> i64,
    /// Whether rows of one key come in any order.
    by_key_alone: bool,
}

impl Default for Made {
    fn default() -> Self {
        Self { batches: 0, fails_at: None, read: Arc::default(), key: random_key, by_key_alone: false }
    }
}

impl Made {
    fn schema() -> SchemaRef {
        let fields = [("k", DataType::Int64), ("at", DataType::Int64), ("s", DataType::Utf8View)];
        let fields: Vec<Field> = fields.into_iter().map(|(name, data_type)| Field::new(name, data_type, false)).collect();
        Arc::new(Schema::new(fields))
    }

    fn batch(&self, index: usize) -> Result<RecordBatch> {
        self.read.fetch_add(1, Ordering::SeqCst);
        if self.fails_at == Some(index) {
            return Err(exec_datafusion_err!("batch {index} cannot be read"));
        }
        let at = (index * MADE_ROWS) as i64..((index + 1) * MADE_ROWS) as i64;
        let keys: Int64Array = at.clone().map(self.key).collect();
        let texts: StringViewArray = at.clone().map(|at| Some(format!("{at:0>40}"))).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(keys), Arc::new(at.collect::<Int64Array>()), Arc::new(texts)];
        Ok(RecordBatch::try_new(Self::schema(), columns)?)
    }

    /// A sort of all batches by `k`, and by `at` unless the key is enough, on a backend.
    fn sorted(self, backend: impl Backend) -> Arc<dyn ExecutionPlan> {
        let columns = [("k", false, false), ("at", false, false)];
        let by = order(&Self::schema(), if self.by_key_alone { &columns[..1] } else { &columns });
        let source = Source::of(Self::schema(), 1, move |_| {
            let made = self.clone();
            // A task can be stopped between two batches.
            let next = move |index| {
                let batch = made.batch(index);
                async move {
                    tokio::task::yield_now().await;
                    batch
                }
            };
            stream::iter(0..self.batches).then(next).boxed()
        });
        ours(stock(source, &by, false, None), backend)
    }

    /// Checks that `batches` have the rows of the input, in order.
    fn check(&self, batches: &[RecordBatch]) {
        let rows = batches.iter().flat_map(|batch| {
            let [k, at] = [0, 1].map(|column| batch.column(column).as_primitive::<Int64Type>().values().to_vec());
            k.into_iter().zip(at)
        });
        let mut rows: Vec<(i64, i64)> = rows.collect();
        assert!(rows.is_sorted_by_key(|&(k, _)| k));
        if self.by_key_alone {
            rows.sort_unstable();
        }
        let mut expected: Vec<(i64, i64)> = (0..(self.batches * MADE_ROWS) as i64).map(|at| ((self.key)(at), at)).collect();
        expected.sort_unstable();
        assert!(rows == expected, "{} rows of {} are not those of the input, in order", rows.len(), expected.len());
        for batch in batches {
            let texts = batch.column(2).as_string_view().iter();
            let at = batch.column(1).as_primitive::<Int64Type>().values();
            assert!(at.iter().zip(texts).all(|(at, text)| text == Some(&format!("{at:0>40}"))), "a text of another row");
        }
    }
}

fn random_key(at: i64) -> i64 {
    at.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40
}

/// More rows than those that one thread joins. They are packed if they are scattered, and if the pool has the memory for that.
#[tokio::test(flavor = "multi_thread")]
async fn many_rows_are_sorted_on_several_threads() -> Result<()> {
    // The columns and their strings, what the sort needs for each row, the joined keys, and half of the packed rows.
    let memory = 300 * MADE_ROWS * (8 + 8 + 16 + 40 + 28 + 16 + 16);
    let cases = [(random_key as fn(i64) -> i64, None, true), (|at| -at, None, false), (random_key, Some(memory), false)];
    for (key, memory, packs) in cases {
        let made = Made { batches: 300, key, ..Made::default() };
        let plan = made.clone().sorted(RayonBackend::default());
        let context = context(8192, memory, 0);
        made.check(&collect(plan.clone(), context.clone()).await?);
        let metrics = operator(&plan).metrics().expect("metrics");
        // `sum_by_name` returns 1 ns at least.
        let time = metrics.iter().find(|metric| metric.value().name() == "pack_time").expect("a time").value().as_usize();
        assert_eq!(time > 0, packs, "{memory:?}: {metrics}");
        assert_eq!(metrics.spill_count(), Some(0), "{memory:?}");
        assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
    }
    Ok(())
}

/// 300 dictionaries have more values than keys of 16 bits can number: the key is sorted as strings, and the rows are put out in several batches.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_many_dictionaries_is_sorted() -> Result<()> {
    let word = |batch: usize, value: usize| format!("{:0>5}", (batch * 128 + value) * 7919 % 38_400);
    let batch = |index: usize| {
        let values = StringViewArray::from_iter_values((0..128).map(|value| word(index, value)));
        let words = DictionaryArray::<Int16Type>::try_new((0..128).collect::<Vec<i16>>().into(), Arc::new(values))?;
        RecordBatch::try_from_iter([("word", Arc::new(words) as ArrayRef)])
    };
    let batches = (0..300).map(batch).collect::<Result<Vec<_>, _>>()?;
    let schema = batches[0].schema();
    let source = Source::table(schema.clone(), vec![batches]);
    let plan = ours(stock(source, &order(&schema, &[("word", false, false)]), false, None), RayonBackend::default());
    let mut words = Vec::new();
    for batch in collect(plan, context(40_000, None, 0)).await? {
        let dictionary = batch.column(0).as_any_dictionary();
        let values = take(dictionary.values(), dictionary.keys(), None)?;
        words.extend(values.as_string_view().iter().map(|word| word.map(str::to_owned)));
    }
    assert_eq!(words, (0..38_400).map(|word| Some(format!("{word:0>5}"))).collect::<Vec<_>>());
    Ok(())
}

/// The strings of all rows have more bytes than the offsets of one batch can say.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs 3 GB of memory"]
async fn strings_that_do_not_fit_one_batch_are_put_out_in_several() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, false), Field::new("s", DataType::Utf8, false)]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(300 << 20)]));
    let batch = |k: i64| RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(vec![-k])), text.clone()]);
    let batches = (0..8).map(batch).collect::<Result<Vec<_>, _>>()?;
    let source = Source::table(schema.clone(), vec![batches]);
    let plan = ours(stock(source, &order(&schema, &[("k", false, false)]), false, None), RayonBackend::default());
    let batches = collect(plan, context(8192, None, 0)).await?;
    let keys = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    assert_eq!(keys.collect::<Vec<_>>(), (-7..=0).collect::<Vec<_>>());
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [4, 4]);
    assert!(
        batches.iter().all(|batch| batch
            .column(1)
            .as_string::<i32>()
            .iter()
            .all(|text| text.is_some_and(|text| text.len() == 300 << 20)))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_input_is_the_error_of_the_query() {
    for fails_at in [0, 7] {
        let context = context(256, None, 0);
        let plan = Made { batches: 10, fails_at: Some(fails_at), ..Made::default() }.sorted(RayonBackend::default());
        let error = collect(plan, context.clone()).await.expect_err("the input fails");
        assert!(error.to_string().contains(&format!("batch {fails_at} cannot be read")), "{error}");
        assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
    }
}

/// Sorts all rows in a quarter of the memory of their batches. Returns how many buckets were sorted, and how many were merged.
async fn in_a_quarter_of_the_memory(made: Made) -> Result<(usize, usize)> {
    let batches = made.batches;
    let bytes = batches * MADE_ROWS * (8 + 8 + 16 + 40);
    let context = context(1000, Some(bytes / 4), 1 << 20);
    let plan = made.clone().sorted(RayonBackend::default());
    made.check(&collect(plan.clone(), context.clone()).await?);
    let metrics = operator(&plan).metrics().expect("metrics");
    let files = metrics.spill_count().expect("a count");
    assert!((4..400).contains(&files), "{files} files");
    assert!(metrics.spilled_rows().is_some_and(|rows| rows >= batches * MADE_ROWS), "a merge can spill rows again");
    assert!(metrics.spilled_bytes().is_some_and(|spilled| spilled >= bytes / 2));
    assert_eq!(metrics.output_rows(), Some(batches * MADE_ROWS), "spilled rows count once");
    assert_eq!(context.runtime_env().memory_pool.reserved(), 0);
    assert_eq!(context.runtime_env().disk_manager.used_disk_space(), 0, "no file is left");
    let report = Report::of(&plan)?.to_string();
    assert!(report.starts_with("TAKEN") && report.contains(&format!("{files} blocks spilled")), "{report}");
    let count = |name| metrics.sum_by_name(name).unwrap_or_else(|| panic!("no {name} in {metrics}")).as_usize();
    Ok((count("sorted_buckets"), count("merged_buckets")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quarter_of_the_data_is_enough_memory() -> Result<()> {
    // The keys of a run lie between those of other runs, or all before or all behind them.
    for key in [random_key as fn(i64) -> i64, |at| at, |at| -at] {
        let buckets = in_a_quarter_of_the_memory(Made { batches: 1000, key, ..Made::default() }).await?;
        assert!((4..40).contains(&buckets.0) && buckets.1 == 0, "{buckets:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_one_key_that_do_not_fit_are_merged() -> Result<()> {
    // Every second row has one key. Without another key, no bucket can have a part of these rows.
    let key = |at| if at % 2 == 0 { 1 << 20 } else { random_key(at) };
    let buckets = in_a_quarter_of_the_memory(Made { batches: 1000, key, by_key_alone: true, ..Made::default() }).await?;
    assert!(buckets.0 > 1 && (1..4).contains(&buckets.1), "{buckets:?}");
    Ok(())
}

/// Rows of two partitions, each with an operator of its own, in one pool that gives memory to whoever asks first. Keys are floats and nulls, from the largest down;
/// every third row has one key.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_share_a_pool_spill_floats_and_nulls() -> Result<()> {
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Float64, true), Field::new("v", DataType::Int64, false)]));
    let mut rng = SmallRng::seed_from_u64(8);
    let mut batch = || {
        let key = |rng: &mut SmallRng| match rng.random_range(0..9) {
            0 => None,
            1 => Some([f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY][rng.random_range(0..5)]),
            2..5 => Some(7.0),
            _ => Some(rng.random_range(-100.0..100.0)),
        };
        let keys: Float64Array = (0..1000).map(|_| key(&mut rng)).collect();
        let values: Int64Array = (0..1000).map(|_| rng.random::<i64>()).collect();
        RecordBatch::try_new(schema.clone(), vec![Arc::new(keys), Arc::new(values)]).expect("two columns")
    };
    let partitions: Vec<Vec<RecordBatch>> = (0..2).map(|_| (0..400).map(|_| batch()).collect()).collect();
    let by = order(&schema, &[("k", true, true)]);
    let mut config = SessionConfig::new().with_target_partitions(4).with_batch_size(1000);
    config.options_mut().execution.sort_spill_reservation_bytes = 1 << 20;
    let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(16 << 20));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool.clone()).build_arc()?;
    let context = Arc::new(TaskContext::default().with_session_config(config).with_runtime(runtime.clone()));
    let plan = ours(stock(Source::table(schema.clone(), partitions.clone()), &by, false, None), RayonBackend::default());
    let sorted = plans::partitions(&plan, &context).await?;
    let metrics = operator(&plan).metrics().expect("metrics");
    assert!(metrics.spill_count().is_some_and(|files| files > 8), "{metrics}");
    assert_eq!((pool.reserved(), runtime.disk_manager.used_disk_space()), (0, 0));
    for (sorted, batches) in sorted.iter().zip(partitions) {
        let expected = stock(Source::table(schema.clone(), vec![batches]), &by, false, None);
        let expected = concat_batches(&schema, &collect(expected, plans::context(1000, None, 0)).await?)?;
        let sorted = concat_batches(&schema, sorted)?;
        assert!(sorted.column(0) == expected.column(0), "the keys are in another order");
        // Rows of one key come in any order.
        let [mut rows, mut expected_rows] = [sorted, expected].map(|batch| rows_of(&[batch]));
        rows.sort();
        expected_rows.sort();
        assert!(rows == expected_rows, "other rows");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_an_error_and_leaves_no_file() -> Result<()> {
    let disk = DiskManagerBuilder::default().with_max_temp_directory_size(2 << 20);
    let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(6 << 20));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool.clone()).with_disk_manager_builder(disk).build_arc()?;
    let mut config = SessionConfig::new().with_target_partitions(3).with_batch_size(1000);
    config.options_mut().execution.sort_spill_reservation_bytes = 1 << 20;
    let context = Arc::new(TaskContext::default().with_session_config(config).with_runtime(runtime.clone()));
    let error = collect(Made { batches: 400, ..Made::default() }.sorted(RayonBackend::default()), context).await;
    let error = error.expect_err("the disk is full").to_string();
    assert!(error.contains("limit"), "{error}");
    until("the memory is free", || pool.reserved() == 0).await;
    assert_eq!(runtime.disk_manager.used_disk_space(), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_dropped_between_buckets_leaves_nothing() -> Result<()> {
    let context = context(1000, Some(6 << 20), 1 << 20);
    let (pool, disk) = (context.runtime_env().memory_pool.clone(), context.runtime_env().disk_manager.clone());
    let mut rows = execute_stream(Made { batches: 400, ..Made::default() }.sorted(RayonBackend::default()), context)?;
    for _ in 0..100 {
        assert!(rows.next().await.is_some_and(|batch| batch.is_ok()));
    }
    assert!(pool.reserved() > 0 && disk.used_disk_space() > 0);
    drop(rows);
    until("the memory and the files are free", || pool.reserved() == 0 && disk.used_disk_space() == 0).await;
    Ok(())
}

/// A value of a function such as `random()` is another one when the operator evaluates it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_volatile_key_is_left() -> Result<()> {
    let context = SessionContext::new();
    polysort_datafusion::install(&context, RayonBackend::default());
    let same = |values: &[ColumnarValue]| Ok(values[0].clone());
    let volatile = create_udf("dice", vec![DataType::Int64], DataType::Int64, Volatility::Volatile, Arc::new(same));
    context.register_udf(volatile);
    let query = "SELECT * FROM (VALUES (3), (1), (2)) AS t(id) ORDER BY dice(id)";
    let plan = context.sql(query).await?.create_physical_plan().await?;
    let text = Report::of(&plan)?.to_string();
    assert!(text.starts_with("LEFT to DataFusion: the key dice("), "{text}");
    assert!(text.contains("can have another value each time"), "{text}");
    Ok(())
}

/// All batches share one dictionary of 200 kB. A merge of files whose batches have this dictionary whole asks for more memory than the pool has.
#[tokio::test(flavor = "multi_thread")]
async fn spilled_batches_have_only_the_dictionary_values_that_they_use() -> Result<()> {
    let (rows, values) = (30_000, 2000);
    let text = |value: i64| format!("{value:0100}");
    let texts: ArrayRef = Arc::new((0..values).map(|value| Some(text(value))).collect::<StringArray>());
    let batch = |start: i64| {
        let keys: Int64Array = (start..start + 100).map(|at| at * 7919 % 30_011).collect();
        let places: Int32Array = keys.values().iter().map(|key| (key % values) as i32).collect();
        let texts = DictionaryArray::<Int32Type>::try_new(places, texts.clone())?;
        let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(keys)), ("v", Arc::new(texts))];
        Ok(RecordBatch::try_from_iter(columns)?)
    };
    let batches = (0..rows).step_by(100).map(batch).collect::<Result<Vec<_>>>()?;
    let schema = batches[0].schema();
    let by = order(&schema, &[("k", false, false)]);
    let plan = ours(stock(Source::table(schema.clone(), vec![batches]), &by, false, None), RayonBackend::default());
    let sorted = concat_batches(&schema, &collect(plan.clone(), context(16, Some(600 << 10), 40 << 10)).await?)?;
    let files = operator(&plan).metrics().and_then(|metrics| metrics.spill_count());
    assert!(files.is_some_and(|files| files > 1), "{files:?} files");
    let keys = sorted.column(0).as_primitive::<Int64Type>().values();
    assert!(keys.len() == rows as usize && keys.is_sorted());
    let texts = sorted.column(1).as_dictionary::<Int32Type>().downcast_dict::<StringArray>().expect("strings");
    assert!(keys.iter().zip(texts).all(|(key, found)| found == Some(&text(key % values))));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_words_do_not_fit_is_sorted_by_datafusions_kernel() -> Result<()> {
    // One batch of 16 bytes for each row. DataFusion reserves 32 for a row; polysort 16, 8 for a copy of the key, and 28.
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, false), Field::new("v", DataType::Int64, false)]));
    let keys: Int64Array = (0..10_000).map(|at: i64| at * 7919 % 10_007).collect();
    let values: Int64Array = (0..10_000).collect();
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(keys), Arc::new(values)])?;
    let by = order(&schema, &[("k", false, false)]);
    let plan = ours(stock(Source::table(schema.clone(), vec![vec![batch]]), &by, false, None), RayonBackend::default());
    let sorted = collect(plan.clone(), context(256, Some(40 * 10_000), 0)).await?;
    let all = concat_batches(&schema, &sorted)?;
    assert!(all.num_rows() == 10_000 && all.column(0).as_primitive::<Int64Type>().values().is_sorted());
    assert!(Report::of(&plan)?.to_string().contains("10000 rows: the words of polysort do not fit the memory limit"));
    // Too little for that, too: a clear error.
    let error = collect(plan, context(256, Some(20 * 10_000), 0)).await.expect_err("too little memory");
    assert!(error.to_string().contains("PolysortExec has too little memory for one batch"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_dropped_stops_reading_and_frees_its_memory() -> Result<()> {
    let (context, made) = (context(256, None, 0), Made { batches: usize::MAX, ..Made::default() });
    let read = made.read.clone();
    let pool = context.runtime_env().memory_pool.clone();
    let mut rows = execute_stream(made.sorted(RayonBackend::default()), context)?;
    assert!(tokio::time::timeout(Duration::from_millis(200), rows.next()).await.is_err(), "the input has no end");
    assert!(pool.reserved() > 0);
    drop(rows);
    until("the memory is free", || pool.reserved() == 0).await;
    let count = read.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(read.load(Ordering::SeqCst), count, "nothing more is read");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sort_that_nobody_waits_for_writes_nothing() -> Result<()> {
    // Every sort takes a while, and every run is spilled.
    let backend = Test::slow(Duration::from_millis(500));
    let calls = backend.calls.clone();
    let context = context(256, Some(3 << 20), 0);
    let pool = context.runtime_env().memory_pool.clone();
    let plan = Made { batches: 1000, ..Made::default() }.sorted(backend);
    let mut rows = execute_stream(plan.clone(), context)?;
    tokio::select! {
        _ = rows.next() => panic!("the sort waits"),
        () = until("the first sort runs", || calls.load(Ordering::SeqCst) > 0) => {}
    }
    drop(rows);
    assert!(pool.reserved() > 0, "the thread that sorts still has its memory");
    until("the thread has stopped", || pool.reserved() == 0).await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(operator(&plan).metrics().and_then(|metrics| metrics.spilled_rows()), Some(0));
    Ok(())
}

/// Waits for a condition, at most ten seconds.
async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// One thread for all tasks: a sort on it would stop them.
#[tokio::test(flavor = "current_thread")]
async fn a_sort_does_not_hold_the_thread_that_polls() -> Result<()> {
    // Long, beside the time in which a busy machine lets this thread wait.
    let sort = Duration::from_secs(3);
    let plan = Made { batches: 3, ..Made::default() }.sorted(Test::slow(sort));
    let query = collect(plan, context(256, None, 0));
    let ticks = async {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let mut longest = Duration::ZERO;
    tokio::pin!(query, ticks);
    let start = Instant::now();
    let mut last = start;
    let batches = std::future::poll_fn(|context| {
        longest = longest.max(last.elapsed());
        last = Instant::now();
        assert!(ticks.as_mut().poll(context).is_pending());
        query.as_mut().poll(context)
    })
    .await?;
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3 * MADE_ROWS);
    assert!(start.elapsed() >= sort);
    assert!(longest < sort / 2, "the thread was held for {longest:?}");
    Ok(())
}
