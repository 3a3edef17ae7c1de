//! [`Limit`]: the memory cap, the folder of spill files, and what sorts under a cap share.

use crate::output::{Output, Writing};
use crate::progress;
use anyhow::{Context, Error, Result, anyhow};
use clap::Args;
use core::ops::ControlFlow;
use core::str::FromStr;
use polysort::{AnyBackend, Options};
use polysort_external::{ExternalError, Phase, Progress, Sorter};
use std::path::PathBuf;

/// The arguments for the memory.
#[derive(Args)]
pub(crate) struct MemoryArgs {
    /// The most memory for the data, such as 512M or 4G (powers of 1024). What does not fit is spilled to temporary files and merged. The program uses
    /// up to 64 MiB more. Without this option, `sort` holds all data in memory, and `merge` takes 256M. With it, the default backend of `sort` is
    /// rayon, because the memory of a GPU's driver is not counted.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Size>,
    /// The folder of spill files. It needs as much room as the uncompressed data, and twice as much for very many runs. The default is the folder of the
    /// output, or the system's folder for temporary files if the output is no file.
    #[arg(long, value_name = "DIR", requires = "memory")]
    pub(crate) temp: Option<PathBuf>,
}

impl MemoryArgs {
    /// Returns the folder of spill files, and checks that they can be created if there may be any.
    pub(crate) fn folder(&self, output: &Output) -> Result<PathBuf> {
        let folder = self.temp.clone().or(output.folder().map(Into::into)).unwrap_or_else(std::env::temp_dir);
        if self.memory.is_some() {
            let check = tempfile::tempfile_in(&folder);
            check
                .with_context(|| format!("cannot create spill files in {}: name another folder with --temp", folder.display()))?;
        }
        Ok(folder)
    }
}

/// A number of bytes as the command line writes it: `512M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let upper = text.to_ascii_uppercase();
            let (number, shift) = match upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper) {
                number if number.ends_with('K') => (&number[..number.len() - 1], 10),
                number if number.ends_with('M') => (&number[..number.len() - 1], 20),
                number if number.ends_with('G') => (&number[..number.len() - 1], 30),
                number if number.ends_with('T') => (&number[..number.len() - 1], 40),
                number => (number, 0),
            };
            number.parse::<usize>().ok()?.checked_mul(1_usize.checked_shl(shift)?).map(Self)
        };
        parse().ok_or_else(|| "give a number of bytes such as 512M or 4G; K, M, G and T are powers of 1024".into())
    }
}

/// The cap when none is given, for commands that always have one.
pub(super) const DEFAULT_MEMORY: Size = Size(256 << 20);

/// The memory cap, the folder of spill files, the backend and the order.
pub(super) struct Limit {
    pub(super) memory: usize,
    folder: PathBuf,
    backend: AnyBackend,
    options: Options,
}

impl Limit {
    /// Checks that spill files can be created.
    pub(super) fn new(args: &MemoryArgs, output: &Output, backend: AnyBackend, options: Options) -> Result<Self> {
        let memory = args.memory.unwrap_or(DEFAULT_MEMORY).0;
        Ok(Self { memory, folder: args.folder(output)?, backend, options })
    }

    /// Returns a sorter within the cap, which shows its progress. `size` is the bytes of a record; without it, records are counted.
    pub(super) fn sorter<L>(&self, layout: L, what: &str, size: Option<u64>) -> Sorter<'static, L, AnyBackend> {
        let (what, mut merge) = (what.to_string(), None);
        let report = move |Progress { phase, records, total, .. }: Progress| {
            // Reading has a bar of its own.
            if let Phase::Merge { pass, passes, .. } = phase {
                let bytes = |records: u64| records * size.unwrap_or(1);
                let (_, bar) = match merge.take().filter(|(shown, _)| *shown == pass) {
                    Some(shown) => merge.insert(shown),
                    None => {
                        let text = format!("merging {what}, pass {} of {passes}", pass + 1);
                        merge.insert((pass, progress::of(&text, total.map(bytes), size.is_some())))
                    }
                };
                bar.set_position(bytes(records));
            }
            ControlFlow::Continue(())
        };
        Sorter::new(layout, self.backend.clone())
            .memory(self.memory)
            .folder(&self.folder)
            .options(self.options)
            .on_progress(report)
    }
}

/// Returns the error of a sort of the input `name`, in words for the user of the program.
pub(super) fn explain(error: ExternalError, name: &str, writing: &Writing) -> Error {
    match error {
        // An error of our own streams, which names the file.
        ExternalError::Input(error) if error.get_ref().is_some() => {
            anyhow!(error.into_inner().expect("it is there, as the guard found"))
        }
        ExternalError::Input(error) => Error::new(error).context(format!("cannot read {name}")),
        ExternalError::Output(error) => writing.failed(error),
        ExternalError::Sort(error) => Error::new(error).context(format!("cannot sort {name}")),
        ExternalError::MemoryTooSmall { .. } => Error::msg(format!("cannot sort {name}: {error}: give a larger --memory")),
        error => Error::msg(format!("cannot sort {name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes_are_powers_of_1024() {
        let size = |text: &str| text.parse::<Size>().ok().map(|size| size.0);
        assert_eq!(["512M", "512MiB", "512mb", "536870912"].map(size), [Some(512 << 20); 4]);
        assert_eq!(["1k", "3G", "2T"].map(size), [Some(1 << 10), Some(3 << 30), Some(2 << 40)]);
        assert_eq!(["", "M", "-1", "1.5G", "1X", "99999999999T"].map(size), [None; 6]);
    }
}
