//! The output of a command: standard output, a device, or a file that is written completely or not at all.

#[cfg(unix)]
mod attributes;
mod replacement;
mod target;
mod unfinished;

use crate::files::Format;
use crate::progress;
use crate::standard::{check_stdout, stdout};
use anyhow::{Context, Result, bail};
use replacement::Replacement;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, IsTerminal, Write, stderr};
use std::path::Path;
use target::Target;

/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// An output that can be written, as far as [`Output::open`] can find out.
pub(crate) struct Output {
    /// The name of the output in messages.
    name: String,
    target: Target,
    /// The format that the name implies, if there is a name and it implies one.
    format: Option<Format>,
}

impl Output {
    /// Checks that the output can be written, before any other work is done. It writes and changes nothing.
    ///
    /// `path` is the argument of `-o`: `-` and none are standard output.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            check_stdout()?;
            return Ok(Self { name: "standard output".into(), target: Target::Stdout, format: None });
        };
        let is_text = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
        let format = if is_text { Some(Format::Csv) } else { Format::of(path) };
        let check = || -> Result<Target> {
            let target = Target::of(path)?;
            match &target {
                Target::File(path) => Replacement::check(path)?,
                Target::Stdout => check_stdout()?,
                Target::Stderr | Target::Device(_) => {}
            }
            Ok(target)
        };
        let target = check().with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { name: path.display().to_string(), target, format })
    }

    /// Returns the name of the output in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the format to write in: the one that the name implies, else `default`.
    pub(crate) fn format_or(&self, default: Format) -> Format {
        self.format.unwrap_or(default)
    }

    /// Refuses to write a binary format to a terminal.
    pub(crate) fn check_terminal(&self, format: Format) -> Result<()> {
        let is_terminal = match self.target {
            Target::Stdout => io::stdout().is_terminal(),
            Target::Stderr => stderr().is_terminal(),
            Target::Device(_) | Target::File(_) => false,
        };
        if is_terminal && format != Format::Csv {
            bail!("the result is binary and the output is a terminal: name a file with -o, or pipe it into a program");
        }
        Ok(())
    }

    /// Calls `body` to write the result, which has about `bytes` bytes. A file gets its name when all of it is written.
    pub(crate) fn write(self, bytes: Option<u64>, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let Self { name, target, .. } = &self;
        match target {
            Target::Stdout => Ok(buffered(stdout()?, body)?),
            Target::Stderr => buffered(stderr().lock(), body).context("cannot write to standard error"),
            Target::Device(path) => {
                let open = || OpenOptions::new().write(true).open(path);
                open().and_then(|file| buffered(file, body)).with_context(|| format!("cannot write {name}"))
            }
            Target::File(path) => {
                let bar = progress::bytes(&format!("writing {name}"), bytes);
                let replace = || {
                    let replacement = Replacement::new(path)?;
                    buffered(bar.wrap_write(replacement.file()), body)?;
                    replacement.finish()
                };
                replace().with_context(|| format!("cannot write {name}; nothing was changed"))
            }
        }
    }
}

fn buffered(writer: impl Write, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
    body(&mut writer)?;
    writer.flush()
}
