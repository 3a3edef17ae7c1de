//! The bytes of the input: a file or standard input, with a progress bar.

use super::format::Format;
use crate::progress;
use crate::standard::stdin;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::Path;

/// An open input.
pub(crate) struct Source {
    /// The name of the input in messages.
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) reader: Box<dyn Read + Send>,
    /// The number of bytes, if it is known.
    pub(crate) bytes: Option<u64>,
}

impl Source {
    /// Opens a file, or standard input if `path` is `-` or none. `format` overrides what the name implies.
    pub(crate) fn open(path: Option<&Path>, format: Option<Format>) -> Result<Self> {
        let mut source = Self::without_bar(path, format)?;
        let bar = progress::bytes(&format!("reading {}", source.name), source.bytes);
        source.reader = Box::new(bar.wrap_read(source.reader));
        Ok(source)
    }

    /// [Opens](Source::open) an input that shows no progress bar.
    pub(crate) fn without_bar(path: Option<&Path>, format: Option<Format>) -> Result<Self> {
        let path = path.filter(|path| *path != Path::new("-"));
        let Some(path) = path else {
            let Some(format) = format else { bail!("stdin has no name that implies a format: add --format npy, bin or csv") };
            let stdin = stdin()?;
            if stdin.is_terminal() {
                bail!("stdin is a terminal: name a file, or pipe one in");
            }
            return Ok(Self { name: "stdin".into(), format, reader: Box::new(stdin), bytes: None });
        };
        let name = path.display().to_string();
        let open = || File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = open().with_context(|| format!("cannot read {name}"))?;
        if metadata.is_dir() {
            bail!("cannot read {name}: it is a directory; name a file");
        }
        let Some(format) = format.or_else(|| Format::of(path)) else {
            let columns = if cfg!(feature = "arrow") { "; only sort --by reads Parquet and Arrow files" } else { "" };
            bail!("the name {name} does not imply a format: add --format npy, bin or csv{columns}");
        };
        let bytes = metadata.is_file().then_some(metadata.len());
        Ok(Self { name, format, reader: Box::new(file), bytes })
    }

    /// Returns a file that is part of the program.
    pub(crate) fn embedded(name: &str, format: Format, bytes: &'static [u8]) -> Self {
        Self { name: name.into(), format, reader: Box::new(bytes), bytes: Some(bytes.len() as u64) }
    }
}
