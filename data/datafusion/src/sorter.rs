//! What one output partition of the operator does: it collects batches, sorts them, and spills them if they do not fit.
//!
//! ```text
//! for each batch of the input:
//!     reserve what the sort will need for it
//!     if the pool refuses: sort the batches so far, write them to files (blocks), forget them
//! no file:  sort the batches, put out their rows
//! else:     sort and write the last batches; for each bucket, which is a range of keys:
//!     read its blocks, sort their rows, put out those in the range
//!     if the pool refuses: merge the blocks (DataFusion's merge), put out the rows in the range
//! ```
//!
//! Sorts, and the copies of rows into new batches, run on tokio's blocking threads, so the threads that poll streams stay free. A sort that is under
//! way when the stream is dropped stops at its next step: after the keys are joined, after the backend's call, or after the batch that is being
//! written.

use crate::block::{Block, BlockWriter, Keys};
use crate::bucket::{Bucket, Extent, buckets};
use crate::fallback::Fallbacks;
use crate::file_part::FileParts;
use crate::run::{Run, Sorted};
use crate::stop::{Stop, StopOnDrop};
use crate::timed::Timed;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{exec_datafusion_err, internal_datafusion_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, SpillMetrics, Time};
use datafusion::physical_plan::sorts::streaming_merge::StreamingMergeBuilder;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use polysort_core::DynBackend;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

/// Batches of the input, each with the number of its partition.
pub(crate) type Input = BoxStream<'static, (usize, Result<RecordBatch>)>;

/// Batches of the result.
type Output = BoxStream<'static, Result<RecordBatch>>;

/// The most rows that are sorted together: rows have numbers of 32 bits.
const MAX_ROWS: usize = u32::MAX as usize;

/// A bucket may use 1 / `BUCKETS_PER_RUN` of the memory that a run had. A batch that DataFusion reads from a file can take twice the bytes of its rows, as its
/// buffer grows by doubling, and batches in the readers need memory, too.
const BUCKETS_PER_RUN: usize = 2;

/// The batches of a file that wait to be kept, in the buffer of DataFusion's reader.
const BATCHES_PER_READER: usize = 2;

/// What is counted and timed.
#[derive(Clone, Debug)]
struct Times {
    /// The time of this operator's tasks, summed over threads.
    elapsed: Time,
    /// The time in which the input had no batch.
    receive: Time,
    /// The time in which keys were joined.
    join: Time,
    /// The time in which keys were packed into words, and the words sorted.
    sort: Time,
    /// The part of `sort` that the backend took.
    backend: Time,
    /// The time in which the values of each row were copied side by side.
    pack: Time,
    /// The time in which rows of the result were copied into new batches, summed over threads.
    gather: Time,
    /// The time in which sorted runs were written to files.
    write: Time,
    /// The time in which rows were read from files to be sorted again.
    read: Time,
    /// Sorts that arrow's kernel did instead.
    fallbacks: Count,
    /// Buckets of spilled rows that were sorted in memory.
    sorted_buckets: Count,
    /// Buckets of spilled rows that DataFusion's merge put in order.
    merged_buckets: Count,
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
    /// Writes to `file_parts`.
    block_manager: SpillManager,
    file_parts: Arc<FileParts>,
    keys: Arc<Keys>,
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
    ) -> Result<Self> {
        let (config, runtime) = (context.session_config(), context.runtime_env());
        let pool = &runtime.memory_pool;
        let reservation = MemoryConsumer::new(format!("PolysortExec[{partition}]")).with_can_spill(true).register(pool);
        let merge_reservation = MemoryConsumer::new(format!("PolysortExecMerge[{partition}]")).register(pool);
        let spill_metrics = SpillMetrics::new(metrics, partition);
        let manager = |runtime| {
            SpillManager::new(runtime, spill_metrics.clone(), schema.clone()).with_compression_type(config.spill_compression())
        };
        let file_parts = Arc::new(FileParts::new(runtime.disk_manager.clone()));
        let disk_manager = Arc::new(DiskManagerBuilder::default().with_temp_file_factory(file_parts.clone()).build()?);
        let block_manager = manager(Arc::new(RuntimeEnv { disk_manager, ..runtime.as_ref().clone() }));
        let spill_manager = manager(runtime.clone());
        let can_spill = runtime.disk_manager.tmp_files_enabled();
        let baseline = BaselineMetrics::new(metrics, partition);
        let time = |name: &'static str| MetricBuilder::new(metrics).subset_time(name, partition);
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        let times = Times {
            elapsed: baseline.elapsed_compute().clone(),
            receive: time("receive_time"),
            join: time("join_time"),
            sort: time("sort_time"),
            backend: time("backend_time"),
            pack: time("pack_time"),
            gather: time("gather_time"),
            write: time("write_time"),
            read: time("read_time"),
            fallbacks: count("fallbacks"),
            sorted_buckets: count("sorted_buckets"),
            merged_buckets: count("merged_buckets"),
        };
        let merge_bytes = if can_spill { config.options().execution.sort_spill_reservation_bytes } else { 0 };
        // All sorts of a plan begin before one of them has rows. Later, the others may have taken all memory. Without success, the first batch tries again.
        merge_reservation.try_resize(merge_bytes).ok();
        let keys = Arc::new(Keys::new(order.clone(), &schema)?);
        Ok(Self {
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
            block_manager,
            file_parts,
            keys,
            baseline,
            times,
        })
    }

    /// Sorts all batches of `input`, which come from partitions 0 to `partitions` - 1. The stream counts its rows.
    pub(crate) async fn sort(self, mut input: Input, partitions: usize) -> Result<SendableRecordBatchStream> {
        let stop = StopOnDrop::default();
        let mut run = Run::new(partitions);
        let mut blocks = Vec::new();
        // How many runs did not fit with the next batch, and their memory.
        let (mut runs, mut run_bytes) = (0, 0);
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
            let bytes = run.push(partition, self.keys.part(batch)?)?;
            timer.done();
            if run.rows() <= MAX_ROWS && self.reservation.try_grow(bytes).is_ok() {
                continue;
            }
            let part = run.pop(partition).ok_or_else(|| internal_datafusion_err!("the batch that was pushed is gone"))?;
            let full = std::mem::replace(&mut run, Run::new(partitions));
            if !full.is_empty() {
                (runs, run_bytes) = (runs + 1, run_bytes + self.reservation.size());
                blocks.extend(self.spill(full, &stop).await?);
                self.reserve_for_merge()?;
            }
            let bytes = run.push(partition, part)?;
            if self.reservation.try_grow(bytes).is_err() {
                self.reservation.try_grow(run.sort_by_arrow()).map_err(too_little_memory)?;
            }
        }
        drop(input);
        if blocks.is_empty() {
            self.merge_reservation.free();
            let (reservation, threads, pack_time) = (self.reservation.clone(), self.threads, self.times.pack.clone());
            let pack = move |sorted: Sorted, _: &Stop| {
                let packs = |bytes| sorted.is_scattered() && reservation.try_grow(bytes).is_ok();
                if !sorted.packed_bytes().is_some_and(packs) {
                    return Ok(sorted);
                }
                let _pack = pack_time.timer();
                Ok(sorted.packed(threads))
            };
            let sorted = self.sort_run(run, &stop, pack).await?;
            let len = sorted.len();
            return Ok(self.counted(|sorter| sorter.put_out(sorted, 0..len)));
        }
        if !run.is_empty() {
            blocks.extend(self.spill(run, &stop).await?);
        }
        self.file_parts.end();
        Ok(self.counted(|sorter| sorter.put_out_blocks(blocks, run_bytes / runs.max(1) / BUCKETS_PER_RUN)))
    }

    /// Counts the rows of `batches` as the output of the operator.
    fn counted(self, batches: impl FnOnce(Arc<Self>) -> Output) -> SendableRecordBatchStream {
        let sorter = Arc::new(self);
        let mut batches = batches(sorter.clone());
        let schema = sorter.schema.clone();
        let counted = stream::poll_fn(move |context| {
            let poll = sorter.baseline.record_poll(batches.poll_next_unpin(context));
            if let Poll::Ready(None) = poll {
                sorter.reservation.free();
                sorter.merge_reservation.free();
            }
            poll
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, counted))
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

    /// Sorts a run and writes it to files. Frees its memory.
    async fn spill(&self, run: Run, stop: &StopOnDrop) -> Result<Vec<Block>> {
        let (spill_manager, keys) = (self.block_manager.clone(), self.keys.clone());
        let writer = BlockWriter { spill_manager, keys, batch_rows: self.batch_rows };
        let (write_time, most_threads, reserved) = (self.times.write.clone(), self.threads, self.reservation.size());
        let write = move |sorted: Sorted, stop: &Stop| {
            let _write = write_time.timer();
            // Each thread has a batch in memory twice: its columns, and its bytes for the file.
            let fits = |&threads: &usize| sorted.bytes(2 * threads * writer.batch_rows) <= reserved;
            let threads = (1..=most_threads).rev().find(fits).unwrap_or(1);
            writer.write(&sorted, threads, stop).map_err(too_little_memory)
        };
        let blocks = self.sort_run(run, stop, write).await?;
        self.reservation.free();
        Ok(blocks)
    }

    /// Puts out the rows of all blocks, bucket by bucket. A bucket that is sorted in memory needs at most about `max_bytes`.
    fn put_out_blocks(self: Arc<Self>, blocks: Vec<Block>, max_bytes: usize) -> Output {
        let blocks: Vec<Arc<Block>> = blocks.into_iter().map(Arc::new).collect();
        let extents: Vec<&Extent> = blocks.iter().map(|block| &block.extent).collect();
        let with_blocks = |bucket: Bucket| {
            let own: Vec<_> = bucket.blocks.iter().map(|&block| blocks[block].clone()).collect();
            (bucket, own)
        };
        let of_buckets: Vec<_> = buckets(&extents, max_bytes).into_iter().map(with_blocks).collect();
        let batches = stream::iter(of_buckets).then(move |(bucket, blocks)| {
            let sorter = self.clone();
            async move { sorter.put_out_bucket(bucket, blocks).await }
        });
        batches.try_flatten().boxed()
    }

    /// Puts out the rows of a bucket, which lie in `blocks`.
    async fn put_out_bucket(&self, bucket: Bucket, blocks: Vec<Arc<Block>>) -> Result<Output> {
        // The previous bucket is put out. If it was merged, its merge had the memory that is kept for the next one.
        self.reservation.free();
        self.reserve_for_merge().ok();
        let bytes = blocks.iter().map(|block| block.extent.bytes).sum();
        if bucket.fits
            && let Some(run) = self.read(&blocks, bytes).await?
        {
            let stop = StopOnDrop::default();
            let keys = self.keys.clone();
            let range = move |sorted: Sorted, _: &Stop| {
                let rows = bucket.range(sorted.len(), |row| keys.of_sorted(&sorted, row))?;
                Ok((sorted, rows))
            };
            let (sorted, rows) = self.sort_run(run, &stop, range).await?;
            self.times.sorted_buckets.add(1);
            return Ok(self.put_out(sorted, rows));
        }
        self.reservation.free();
        self.times.merged_buckets.add(1);
        let keys = self.keys.clone();
        let in_range = self.merge(&blocks)?.map(move |batch| {
            let batch = batch?;
            let (part, len) = (keys.part(batch.clone())?, batch.num_rows());
            let rows = bucket.range(len, |row| keys.of(&part, row))?;
            Ok(batch.slice(rows.start, rows.len()))
        });
        Ok(in_range.try_filter(|batch| std::future::ready(batch.num_rows() > 0)).boxed())
    }

    /// Reads all rows of `blocks`, up to as many blocks at a time as there are threads. Returns `None` if the pool refuses the memory, which is about
    /// `bytes`.
    async fn read(&self, blocks: &[Arc<Block>], bytes: usize) -> Result<Option<Run>> {
        let _timer = self.times.read.timer();
        let max_batch_bytes = blocks.iter().map(|block| block.max_batch_bytes).max().unwrap_or(0);
        let reading = |readers: usize| readers * BATCHES_PER_READER * max_batch_bytes;
        // The rows must fit beside the batches in the readers, which have this memory until all is read.
        let fits = |&readers: &usize| self.reservation.try_grow(reading(readers) + bytes).is_ok();
        let mut halves = std::iter::successors(Some(self.threads), |&readers| (readers > 1).then_some(readers / 2));
        let Some(readers) = halves.find(fits) else { return Ok(None) };
        self.reservation.shrink(bytes);
        let mut run = Run::new(blocks.len());
        let batches_of = |(index, block): (usize, &Arc<Block>)| -> Result<_> {
            let batches = self.spill_manager.read_spill_as_stream(block.file.clone(), Some(block.max_batch_bytes))?;
            Ok(batches.map_ok(move |batch| (index, batch)))
        };
        let mut batches = stream::iter(blocks.iter().enumerate().map(batches_of)).try_flatten_unordered(readers);
        while let Some((index, batch)) = batches.try_next().await? {
            let bytes = run.push(index, self.keys.part(batch)?)?;
            if run.rows() > MAX_ROWS || self.reservation.try_grow(bytes).is_err() {
                return Ok(None);
            }
        }
        self.reservation.shrink(reading(readers));
        Ok(Some(run))
    }

    /// Merges blocks.
    fn merge(&self, blocks: &[Arc<Block>]) -> Result<SendableRecordBatchStream> {
        self.reserve_for_merge()?;
        StreamingMergeBuilder::new()
            .with_sorted_spill_files(blocks.iter().map(|block| block.sorted_file()).collect())
            .with_spill_manager(self.spill_manager.clone())
            .with_schema(self.schema.clone())
            .with_expressions(&self.order)
            .with_metrics(self.baseline.intermediate())
            .with_batch_size(self.batch_rows)
            .with_fetch(None)
            .with_reservation(self.merge_reservation.split(self.merge_reservation.size()))
            .with_round_robin_tie_breaker(false)
            .build()
    }

    /// Puts out sorted rows. Several threads make batches ahead of the one that is asked for.
    fn put_out(&self, sorted: Sorted, rows: Range<usize>) -> Output {
        let bytes = |threads: usize| sorted.bytes(threads * self.batch_rows);
        let threads = if self.reservation.try_resize(bytes(self.threads)).is_ok() {
            self.threads
        } else {
            // The sort needed more than this for the same rows, unless a batch is larger than all that is sorted.
            self.reservation.resize(bytes(1).min(self.reservation.size()));
            1
        };
        let (batch_rows, reservation, times) = (self.batch_rows, self.reservation.clone(), self.times.clone());
        let sorted = Arc::new(sorted);
        let batches = stream::iter(rows.clone().step_by(batch_rows)).map(move |start| {
            let (sorted, reservation, times) = (sorted.clone(), reservation.clone(), times.clone());
            let len = batch_rows.min(rows.end - start);
            let task = move || {
                let _reservation = reservation;
                let _gather = times.gather.timer();
                let _elapsed = times.elapsed.timer();
                sorted.batches(start, len)
            };
            let task = SpawnedTask::spawn_blocking(task);
            async { task.join_unwind().await.map_err(|error| exec_datafusion_err!("a copy was stopped: {error}"))? }
        });
        batches.buffered(threads).map_ok(|batches| stream::iter(batches).map(Ok)).try_flatten().boxed()
    }
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
