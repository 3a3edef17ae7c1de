//! The part of [`Sorter`] for records of any length.

use crate::ExternalError;
use crate::budget::RowBudget;
use crate::checked::Checked;
use crate::files::Files;
use crate::job::Job;
use crate::kind::{Kind, Output};
use crate::layout::ordered;
use crate::merge::merge_inputs;
use crate::rows::{RowsInMemory, Table, table_budget};
use crate::sorter::{Sorter, Summary, sort_kind};
use bytemuck::Pod;
use core::fmt;
use core::marker::PhantomData;
use polysort_core::{Backend, Sortable};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows: records of any length, each with a key of the type `K` that the caller reads from it.
///
/// ```
/// use polysort_external::{Rows, Sorter};
/// use polysort_rayon::RayonBackend;
///
/// let mut lines = ["7 pears", "12 plums", "3 figs"].into_iter();
/// let mut sorted = vec![];
/// let mut sorter = Sorter::new(Rows::<u32>::new(), RayonBackend::default());
/// sorter.sort_rows(
///     |row| {
///         let Some(line) = lines.next() else { return Ok(None) };
///         row.extend_from_slice(line.as_bytes());
///         row.push(b'\n');
///         Ok(line.split(' ').next().and_then(|number| number.parse().ok()))
///     },
///     &mut sorted,
/// )?;
/// assert_eq!(sorted, b"3 figs\n7 pears\n12 plums\n");
/// # Ok::<(), polysort_external::ExternalError>(())
/// ```
pub struct Rows<K>(PhantomData<fn() -> K>);

impl<K> Rows<K> {
    /// Rows with keys of the type `K`.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K> Default for Rows<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for Rows<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows<{}>", core::any::type_name::<K>())
    }
}

impl<K: Sortable + Pod + Send + Sync, B: Backend> Sorter<'_, Rows<K>, B> {
    /// The most bytes of a row that [`sort_rows`](Sorter::sort_rows) takes: a sixteenth of the memory cap.
    pub fn longest_row(&self) -> usize {
        RowBudget::longest(self.memory)
    }

    /// The most bytes of a row that [`merge_rows`](Sorter::merge_rows) takes: the cap divided by 272.
    pub fn longest_merged_row(&self) -> usize {
        RowBudget::longest_merged(self.memory)
    }

    /// Sorts rows into `output`, where one follows the other without anything between.
    ///
    /// `next` appends the bytes of the next row to the vector, which it must not change otherwise, and returns the key of the row. It returns
    /// `None` after the last row. It is called on a thread of its own.
    ///
    /// # Errors
    /// [`ExternalError::RowTooLong`] for a row of more bytes than [`longest_row`](Sorter::longest_row); else as [`sort`](Sorter::sort).
    ///
    /// # Panics
    /// As [`sort`](Sorter::sort).
    pub fn sort_rows(
        &mut self,
        next: impl FnMut(&mut Vec<u8>) -> io::Result<Option<K>> + Send,
        mut output: impl Write + Send,
    ) -> Result<Summary, ExternalError> {
        let files = self.files();
        self.sort_rows_on(&files, next, &mut output)
    }

    /// Merges sorted inputs of rows into `output`. Of rows with equal keys, those of an earlier input come first. Each input is a function as in
    /// [`sort_rows`](Sorter::sort_rows), and is dropped at its end.
    ///
    /// # Errors
    /// [`ExternalError::RowTooLong`] for a row of more bytes than [`longest_merged_row`](Sorter::longest_merged_row);
    /// [`ExternalError::Unsorted`] if an input is not sorted; else as [`sort`](Sorter::sort).
    pub fn merge_rows<N: FnMut(&mut Vec<u8>) -> io::Result<Option<K>> + Send>(
        &mut self,
        inputs: impl IntoIterator<Item = N>,
        mut output: impl Write + Send,
    ) -> Result<Summary, ExternalError> {
        let files = self.files();
        let (table, _, mut job) = self.table(&files)?;
        let mut inputs: Vec<_> = inputs.into_iter().map(|next| (Some(next), 0, Checked::default())).collect();
        let (count, fan_in) = (inputs.len(), table.budget.fan_in(table.budget.longest_merged));
        let mut next = |input: usize, rows: &mut RowsInMemory<K>| {
            let (next, before, checked) = &mut inputs[input];
            if let Some(open) = next {
                if table.fill_block(rows, *before, open)? {
                    *next = None;
                }
                *before += table.len(rows) as u64;
                checked.check(&table, input, rows)?;
            } else {
                table.clear(rows);
            }
            Ok(())
        };
        let merged = merge_inputs(&mut job, &table, (count, fan_in), &mut next, &mut output)?;
        Ok(Summary::of_merge(merged))
    }

    /// As [`sort_rows`](Sorter::sort_rows), with spill files on any file system.
    pub(crate) fn sort_rows_on<F: Files>(
        &mut self,
        files: &F,
        mut next: impl FnMut(&mut Vec<u8>) -> io::Result<Option<K>> + Send,
        output: Output<'_>,
    ) -> Result<Summary, ExternalError> {
        let (table, backend, mut job) = self.table(files)?;
        let mut before = 0;
        let fill = Box::new(|rows: &mut RowsInMemory<K>| {
            let has_ended = table.fill_run(rows, before, &mut next)?;
            before += table.len(rows) as u64;
            Ok(has_ended)
        });
        let fan_in = || table.budget.fan_in(table.longest.load(Ordering::Relaxed));
        sort_kind(&mut job, &table, backend, &fan_in, fill, output)
    }

    /// The order of the rows, and what a sort needs beside.
    fn table<'s, F: Files>(&'s mut self, files: &'s F) -> Result<(Table<'s, K>, &'s B, Job<'s, 's, F>), ExternalError> {
        let (budget, spec) = (table_budget::<K>(self.memory)?, ordered::<K>(self.options)?);
        let (options, longest) = (self.options, AtomicUsize::new(0));
        let table = Table { merger: &self.merger, options, spec, budget, longest, key: PhantomData };
        Ok((table, &self.backend, Job { files, compress: self.compress, progress: &mut *self.progress }))
    }
}
