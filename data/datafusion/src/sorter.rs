//! What one output partition of the operator does: it collects batches, sorts them, and spills them if they do not fit.
//!
//! ```text
//! for each batch of the input:
//!     reserve what the sort will need for it
//!     if the pool refuses: sort the batches so far, write them to a file, forget them
//! no file:  sort the batches, put out their rows
//! else:     sort and write the last batches, merge the files (DataFusion's merge)
//! ```
//!
//! Sorts, and the copies of rows into new batches, run on tokio's blocking threads, so the threads that poll streams stay free. A sort that is under
//! way when the stream is dropped stops at its next step: after the keys are joined, after the backend's call, or after the batch that is being
//! written.

use crate::fallback::Fallbacks;
use crate::run::{Part, Run, Sorted};
use crate::timed::Timed;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{exec_datafusion_err, internal_datafusion_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, SpillMetrics, Time};
use datafusion::physical_plan::sorts::streaming_merge::{SortedSpillFile, StreamingMergeBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use polysort_core::DynBackend;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Batches of the input, each with the number of its partition.
pub(crate) type Input = BoxStream<'static, (usize, Result<RecordBatch>)>;

/// The most rows that are sorted together: rows have numbers of 32 bits.
const MAX_ROWS: usize = u32::MAX as usize;

/// What is counted and timed.
#[derive(Clone, Debug)]
struct Times {
    /// All time of this operator, summed over threads.
    elapsed: Time,
    /// The time in which the input had no batch.
    receive: Time,
    /// The time in which keys were joined.
    join: Time,
    /// The time in which keys were packed into words, and the words sorted.
    sort: Time,
    /// The part of `sort` that the backend took.
    backend: Time,
    /// The time in which rows were copied into new batches, summed over threads.
    gather: Time,
    /// Sorts that arrow's kernel did instead.
    fallbacks: Count,
}

/// Sorts one output partition.
#[derive(Debug)]
pub(crate) struct Sorter {
    schema: SchemaRef,
    order: LexOrdering,
    backend: DynBackend,
    fallbacks: Fallbacks,
    batch_rows: usize,
    /// How many threads join and pack keys, and how many batches of the result are made at a time.
    threads: usize,
    reservation: Arc<MemoryReservation>,
    /// Memory that is kept free for the merge of files.
    merge_reservation: MemoryReservation,
    merge_bytes: usize,
    spill_manager: SpillManager,
    /// The rows of the result, and when the last one came.
    baseline: BaselineMetrics,
    times: Times,
}

impl Sorter {
    /// A sorter of output partition `partition`, which has `threads` threads beside those of the backend.
    pub(crate) fn new(
        (schema, order): (SchemaRef, LexOrdering),
        (backend, fallbacks): (DynBackend, Fallbacks),
        (partition, threads): (usize, usize),
        metrics: &ExecutionPlanMetricsSet,
        context: &TaskContext,
    ) -> Self {
        let (config, runtime) = (context.session_config(), context.runtime_env());
        let pool = &runtime.memory_pool;
        let reservation = MemoryConsumer::new(format!("PolysortExec[{partition}]")).with_can_spill(true).register(pool);
        let merge_reservation = MemoryConsumer::new(format!("PolysortExecMerge[{partition}]")).register(pool);
        let spill_manager = SpillManager::new(runtime.clone(), SpillMetrics::new(metrics, partition), schema.clone())
            .with_compression_type(config.spill_compression());
        let can_spill = runtime.disk_manager.tmp_files_enabled();
        let baseline = BaselineMetrics::new(metrics, partition);
        let time = |name: &'static str| MetricBuilder::new(metrics).subset_time(name, partition);
        let times = Times {
            elapsed: baseline.elapsed_compute().clone(),
            receive: time("receive_time"),
            join: time("join_time"),
            sort: time("sort_time"),
            backend: time("backend_time"),
            gather: time("gather_time"),
            fallbacks: MetricBuilder::new(metrics).counter("fallbacks", partition),
        };
        let merge_bytes = if can_spill { config.options().execution.sort_spill_reservation_bytes } else { 0 };
        // All sorts of a plan begin before one of them has rows. Later, the others may have taken all memory. Without success, the first batch tries again.
        merge_reservation.try_resize(merge_bytes).ok();
        Self {
            schema,
            order,
            backend,
            fallbacks,
            batch_rows: config.batch_size(),
            threads,
            reservation: Arc::new(reservation),
            merge_reservation,
            merge_bytes,
            spill_manager,
            baseline,
            times,
        }
    }

    /// Sorts all batches of `input`, which come from partitions 0 to `partitions` - 1. The stream counts its rows.
    pub(crate) async fn sort(self, mut input: Input, partitions: usize) -> Result<SendableRecordBatchStream> {
        let stop = StopOnDrop::default();
        let mut run = Run::new(partitions);
        let mut files = Vec::new();
        loop {
            let timer = self.times.receive.timer();
            let next = input.next().await;
            timer.done();
            let Some((partition, batch)) = next else { break };
            let batch = batch?;
            if batch.num_rows() == 0 {
                continue;
            }
            self.reserve_for_merge()?;
            let timer = self.times.elapsed.timer();
            let bytes = run.push(partition, Part::new(batch, &self.order)?)?;
            timer.done();
            if run.rows() <= MAX_ROWS && self.reservation.try_grow(bytes).is_ok() {
                continue;
            }
            let part = run.pop(partition).ok_or_else(|| internal_datafusion_err!("the batch that was pushed is gone"))?;
            let full = std::mem::replace(&mut run, Run::new(partitions));
            if !full.is_empty() {
                files.push(self.spill(full, &stop).await?);
                self.reserve_for_merge()?;
            }
            let bytes = run.push(partition, part)?;
            if self.reservation.try_grow(bytes).is_err() {
                self.reservation.try_grow(run.sort_by_arrow()).map_err(too_little_memory)?;
            }
        }
        drop(input);
        if files.is_empty() {
            self.merge_reservation.free();
            return self.put_out(run, &stop).await;
        }
        if !run.is_empty() {
            files.push(self.spill(run, &stop).await?);
        }
        self.merge(files)
    }

    /// Keeps memory free for the merge of files, so that other consumers cannot take it before the merge begins.
    fn reserve_for_merge(&self) -> Result<()> {
        if self.merge_reservation.size() == self.merge_bytes {
            return Ok(());
        }
        self.merge_reservation.try_resize(self.merge_bytes).map_err(too_little_memory)
    }

    /// Sorts a run on a blocking thread, then calls `then` there.
    async fn sort_run<R: Send + 'static>(
        &self,
        run: Run,
        stop: &StopOnDrop,
        then: impl FnOnce(Sorted, &Stop) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let backend = Timed { backend: self.backend.clone(), time: self.times.backend.clone() };
        let (schema, threads, fallbacks) = (self.schema.clone(), self.threads, self.fallbacks.clone());
        let (times, stop) = (self.times.clone(), stop.0.clone());
        // The memory stays reserved until the thread has freed it, also if nobody waits for the thread any more.
        let reservation = self.reservation.clone();
        let task = move || {
            let _elapsed = times.elapsed.timer();
            let _reservation = reservation;
            let timer = times.join.timer();
            let joined = run.join(schema, threads)?;
            timer.done();
            stop.check()?;
            let timer = times.sort.timer();
            let (sorted, fallback) = joined.sort(&backend, threads)?;
            timer.done();
            if let Some(fallback) = fallback {
                times.fallbacks.add(1);
                fallbacks.add(fallback);
            }
            stop.check()?;
            then(sorted, &stop)
        };
        SpawnedTask::spawn_blocking(task)
            .join_unwind()
            .await
            .map_err(|error| exec_datafusion_err!("a sort was stopped: {error}"))?
    }

    /// Sorts a run and writes it to a file. Frees its memory.
    async fn spill(&self, run: Run, stop: &StopOnDrop) -> Result<SortedSpillFile> {
        let mut writer = self.spill_manager.create_in_progress_file("PolysortExec").map_err(too_little_memory)?;
        let batch_rows = self.batch_rows;
        let file = self
            .sort_run(run, stop, move |sorted, stop| {
                let mut max_record_batch_memory = 0;
                for start in (0..sorted.len()).step_by(batch_rows) {
                    stop.check()?;
                    max_record_batch_memory =
                        max_record_batch_memory.max(writer.append_batch(&sorted.small_batch(start, batch_rows)?)?);
                }
                let file = writer.finish()?.ok_or_else(|| internal_datafusion_err!("a run without rows was spilled"))?;
                Ok(SortedSpillFile { file, max_record_batch_memory })
            })
            .await?;
        self.reservation.free();
        Ok(file)
    }

    /// Merges sorted files. Equal rows come in the order of the files.
    fn merge(mut self, files: Vec<SortedSpillFile>) -> Result<SendableRecordBatchStream> {
        let baseline = self.baseline.intermediate();
        let merged = StreamingMergeBuilder::new()
            .with_sorted_spill_files(files)
            .with_spill_manager(self.spill_manager.clone())
            .with_schema(self.schema.clone())
            .with_expressions(&self.order)
            .with_metrics(baseline)
            .with_batch_size(self.batch_rows)
            .with_fetch(None)
            .with_reservation(self.merge_reservation.take())
            .with_round_robin_tie_breaker(false)
            .build()?;
        Ok(counted(self.baseline, merged))
    }

    /// Sorts a run that fits, and puts out its rows. Several threads make batches ahead of the one that is asked for.
    async fn put_out(self, run: Run, stop: &StopOnDrop) -> Result<SendableRecordBatchStream> {
        let bytes = |threads: usize| run.bytes_in_order(threads * self.batch_rows);
        let (bytes_ahead, bytes_alone) = (bytes(self.threads), bytes(1));
        let sorted = Arc::new(self.sort_run(run, stop, |sorted, _| Ok(sorted)).await?);
        let threads = if self.reservation.try_resize(bytes_ahead).is_ok() {
            self.threads
        } else {
            // The sort needed more than this for the same rows, unless a batch is larger than all that is sorted.
            self.reservation.resize(bytes_alone.min(self.reservation.size()));
            1
        };
        let (batch_rows, reservation, times) = (self.batch_rows, self.reservation.clone(), self.times.clone());
        let batches = stream::iter((0..sorted.len()).step_by(batch_rows))
            .map(move |start| {
                let (sorted, reservation, times) = (sorted.clone(), reservation.clone(), times.clone());
                let task = move || {
                    let _reservation = reservation;
                    let _gather = times.gather.timer();
                    let _elapsed = times.elapsed.timer();
                    sorted.batch(start, batch_rows)
                };
                let task = SpawnedTask::spawn_blocking(task);
                async { task.join_unwind().await.map_err(|error| exec_datafusion_err!("a copy was stopped: {error}"))? }
            })
            .buffered(threads);
        let batches = RecordBatchStreamAdapter::new(self.schema.clone(), batches);
        Ok(counted(self.baseline, Box::pin(batches)))
    }
}

/// Counts the rows of `rows` as the output of the operator.
fn counted(baseline: BaselineMetrics, mut rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let counted = stream::poll_fn(move |context| baseline.record_poll(rows.poll_next_unpin(context)));
    Box::pin(RecordBatchStreamAdapter::new(schema, counted))
}

/// Adds to an error of the pool what the user can do.
fn too_little_memory(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::ResourcesExhausted(_) => error.context(
            "PolysortExec has too little memory for one batch and its merge. Raise `datafusion.runtime.memory_limit`, or lower \
             `datafusion.execution.sort_spill_reservation_bytes` or `datafusion.execution.batch_size`",
        ),
        other => other,
    }
}

/// Whether a blocking task must stop.
#[derive(Clone, Debug, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            return Err(exec_datafusion_err!("the query was stopped"));
        }
        Ok(())
    }
}

/// Stops the blocking tasks of a future that is dropped.
#[derive(Debug, Default)]
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}
