//! [`Sorter`]: what to sort, by what, within how much memory, and where to spill.

use crate::budget::Budget;
use crate::checked::Checked;
use crate::files::{Files, TempFiles};
use crate::fixed::{Fixed, Stretch};
use crate::job::Job;
use crate::kind::{Fill, Kind, Output};
use crate::layout::Layout;
use crate::merge::{Merged, merge_all, merge_inputs};
use crate::runs::{Formed, form};
use crate::{ExternalError, Progress};
use core::fmt;
use core::ops::ControlFlow;
use polysort_core::{Backend, Options};
use polysort_rayon::RayonBackend;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Sorts streams of records that need not fit in memory.
///
/// A stream is the records' bytes as they lie in memory, one record after another. The sort is stable. It reads the input once, from a thread of
/// its own, and writes the output once, from another.
///
/// # Memory
/// The sort uses at most [`memory`](Sorter::memory) bytes for records, and what does not depend on the cap: the stacks of two threads, and up to 2 MiB of
/// cache blocks for each thread of a merge. The cap includes the scratch of a backend that needs one record for each key, such as
/// [`RayonBackend`]; the memory of a GPU, and host memory that a GPU's driver uses, are not part of it. The input and the output count if
/// they are in memory.
///
/// # Files
/// Records that do not fit in memory go to files in [`folder`](Sorter::folder), of as many bytes as the input has; while runs are merged in
/// several passes, of twice as many. The files have no name where the system can create such files (Linux), and are removed when the sort ends otherwise: after success,
/// an error, a panic in a key's code, and cancellation.
pub struct Sorter<'p, L, B> {
    pub(crate) layout: L,
    pub(crate) backend: B,
    pub(crate) merger: RayonBackend,
    pub(crate) options: Options,
    pub(crate) memory: usize,
    folder: PathBuf,
    pub(crate) compress: bool,
    pub(crate) progress: Box<dyn FnMut(Progress) -> ControlFlow<()> + Send + 'p>,
}

/// What a sort or a merge did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of records.
    pub records: u64,
    /// The sorted runs that were spilled; 0 if all records fit in memory, and after a merge.
    pub runs: usize,
    /// Passes of merges over the data.
    pub passes: usize,
    /// Bytes written to spill files.
    pub spilled_bytes: u64,
}

impl Summary {
    /// What a merge of inputs did.
    pub(crate) fn of_merge(merged: Merged) -> Self {
        Self { records: merged.records, runs: 0, passes: merged.passes, spilled_bytes: merged.bytes }
    }
}

/// Sorts records of any kind. `fan_in` is called after all runs were read.
pub(crate) fn sort_kind<K: Kind, F: Files>(
    job: &mut Job<'_, '_, F>,
    kind: &K,
    backend: &impl Backend,
    fan_in: &dyn Fn() -> usize,
    fill: Fill<'_, K::Records>,
    output: Output<'_>,
) -> Result<Summary, ExternalError> {
    match form(job, kind, backend, fill)? {
        Formed::InMemory(records) => {
            kind.write(&records, output).and_then(|()| output.flush()).map_err(ExternalError::Output)?;
            Ok(Summary { records: kind.len(&records) as u64, runs: 0, passes: 0, spilled_bytes: 0 })
        }
        Formed::Spilled(spill, records) => {
            RayonBackend::release_scratch();
            let (runs, first_bytes) = (spill.runs().len(), spill.bytes());
            let merged = merge_all(job, kind, fan_in(), spill, (records, 0), output)?;
            Ok(Summary { records, runs, passes: merged.passes, spilled_bytes: first_bytes + merged.bytes })
        }
    }
}

impl<'p, L, B: Backend> Sorter<'p, L, B> {
    /// A sorter of records of `layout`, whose runs `backend` sorts: ascending, with 256 MiB of memory, and spill files in the system's folder for
    /// temporary files.
    pub fn new(layout: L, backend: B) -> Self {
        Self {
            layout,
            backend,
            merger: RayonBackend::default(),
            options: Options::ascending(),
            memory: 256 << 20,
            folder: std::env::temp_dir(),
            compress: false,
            progress: Box::new(|_| ControlFlow::Continue(())),
        }
    }

    /// The order, and the bits of the key to sort by.
    #[must_use]
    pub fn options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The memory cap, in bytes; at least 1 MiB.
    #[must_use]
    pub fn memory(self, bytes: usize) -> Self {
        Self { memory: bytes, ..self }
    }

    /// The folder of spill files. It must exist.
    #[must_use]
    pub fn folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..self }
    }

    /// The threads that merge, if not those of the rayon pool that the sort is called in.
    #[must_use]
    pub fn merge_on(self, merger: RayonBackend) -> Self {
        Self { merger, ..self }
    }

    /// Compresses spill files with LZ4, for folders that are slow, or smaller than the input.
    #[cfg(feature = "lz4")]
    #[must_use]
    pub fn compressed(self) -> Self {
        Self { compress: true, ..self }
    }

    /// Calls `progress` after each run and each part of a merge, on the calling thread. If `progress` returns `Break`, the sort ends with
    /// [`ExternalError::Cancelled`].
    #[must_use]
    pub fn on_progress(self, progress: impl FnMut(Progress) -> ControlFlow<()> + Send + 'p) -> Self {
        Self { progress: Box::new(progress), ..self }
    }

    /// The folder of spill files, as files.
    pub(crate) fn files(&self) -> TempFiles {
        TempFiles(self.folder.clone())
    }
}

impl<L: Layout, B: Backend> Sorter<'_, L, B> {
    /// Sorts all records of `input` into `output`.
    ///
    /// ```
    /// use polysort_external::{Keys, Sorter};
    /// use polysort_rayon::RayonBackend;
    ///
    /// let input: Vec<u32> = (0..1_000_000).rev().collect();
    /// let mut output = vec![];
    /// let mut sorter = Sorter::new(Keys::<u32>::new(), RayonBackend::default()).memory(1 << 20);
    /// let summary = sorter.sort(bytemuck::cast_slice(&input), &mut output)?;
    /// assert!(summary.runs > 1);
    /// assert!(output.chunks(4).map(|key| u32::from_ne_bytes(key.try_into().unwrap())).eq(0..1_000_000));
    /// # Ok::<(), polysort_external::ExternalError>(())
    /// ```
    ///
    /// # Errors
    /// Every variant of [`ExternalError`]. `output` may then have got the first part of the result. If `input` blocks, the sort returns after
    /// it does.
    ///
    /// # Panics
    /// If `input`, `output`, a key's own code or the progress callback panics; the panic goes on.
    pub fn sort(&mut self, input: impl Read + Send, mut output: impl Write + Send) -> Result<Summary, ExternalError> {
        let files = self.files();
        self.sort_on(&files, input, &mut output)
    }

    /// Sorts the file `input` to the file `output`, which may be the same. `output` appears under its name when it is complete, and replaces a file of
    /// that name.
    ///
    /// # Errors
    /// As [`sort`](Sorter::sort). A file `output` that was there stays as it was.
    pub fn sort_file(&mut self, input: impl AsRef<Path>, output: impl AsRef<Path>) -> Result<Summary, ExternalError> {
        let input = File::open(input).map_err(ExternalError::Input)?;
        let output = output.as_ref();
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut unfinished = tempfile::NamedTempFile::new_in(folder).map_err(ExternalError::Output)?;
        let summary = self.sort(input, unfinished.as_file_mut())?;
        unfinished.as_file().sync_all().map_err(ExternalError::Output)?;
        unfinished.persist(output).map_err(|error| ExternalError::Output(error.error))?;
        Ok(summary)
    }

    /// Merges sorted inputs into `output`. Of equal records, those of an earlier input come first.
    ///
    /// Each input is read once, and closed at its end. At most 192 inputs are read at the same time. If there are more, or if the cap has no
    /// room for two blocks of each, groups of them are merged to spill files first.
    ///
    /// ```
    /// use polysort_external::{Keys, Sorter};
    /// use polysort_rayon::RayonBackend;
    ///
    /// let inputs: [&[u8]; 2] = [&[1, 4, 4], &[2, 3]];
    /// let mut output = vec![];
    /// Sorter::new(Keys::<u8>::new(), RayonBackend::default()).merge(inputs, &mut output)?;
    /// assert_eq!(output, [1, 2, 3, 4, 4]);
    /// # Ok::<(), polysort_external::ExternalError>(())
    /// ```
    ///
    /// # Errors
    /// [`ExternalError::Unsorted`] if an input is not sorted; else as [`sort`](Sorter::sort).
    pub fn merge<R: Read + Send>(
        &mut self,
        inputs: impl IntoIterator<Item = R>,
        mut output: impl Write + Send,
    ) -> Result<Summary, ExternalError> {
        let files = self.files();
        let (kind, _, mut job) = self.parts(&files)?;
        let mut inputs: Vec<_> = inputs.into_iter().map(|input| (Some(input), Checked::default())).collect();
        let (count, block) = (inputs.len(), kind.budget.block);
        let mut next = |input: usize, records: &mut Stretch<L::Record>| {
            let (reader, checked) = &mut inputs[input];
            kind.clear(records);
            if let Some(open) = reader {
                if records.fill(open, block)? {
                    *reader = None;
                }
                checked.check(&kind, input, records)?;
            }
            Ok(())
        };
        let merged = merge_inputs(&mut job, &kind, (count, kind.budget.fan_in), &mut next, &mut output)?;
        Ok(Summary::of_merge(merged))
    }

    /// As [`sort`](Sorter::sort), with spill files on any file system.
    pub(crate) fn sort_on<F: Files>(
        &mut self,
        files: &F,
        mut input: impl Read + Send,
        output: Output<'_>,
    ) -> Result<Summary, ExternalError> {
        let (kind, backend, mut job) = self.parts(files)?;
        let run = kind.budget.run;
        let fill = Box::new(move |records: &mut Stretch<L::Record>| records.fill(&mut input, run));
        sort_kind(&mut job, &kind, backend, &|| kind.budget.fan_in, fill, output)
    }

    /// What the records are sorted by, and what a sort needs beside.
    fn parts<'s, F: Files>(&'s mut self, files: &'s F) -> Result<(Fixed<'s, L>, &'s B, Job<'s, 's, F>), ExternalError> {
        const { assert!(size_of::<L::Record>() > 0, "records without bytes cannot be counted in a stream") }
        let budget = Budget::of(self.memory, size_of::<L::Record>(), L::SORT_BYTES)?;
        let spec = self.layout.spec(self.options)?;
        let fixed = Fixed { layout: &self.layout, merger: &self.merger, options: self.options, spec, budget };
        Ok((fixed, &self.backend, Job { files, compress: self.compress, progress: &mut *self.progress }))
    }
}

impl<L: fmt::Debug, B: fmt::Debug> fmt::Debug for Sorter<'_, L, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, backend, merger, options, memory, folder, compress, progress: _ } = self;
        f.debug_struct("Sorter")
            .field("layout", layout)
            .field("backend", backend)
            .field("merger", merger)
            .field("options", options)
            .field("memory", memory)
            .field("folder", folder)
            .field("compress", compress)
            .finish_non_exhaustive()
    }
}
