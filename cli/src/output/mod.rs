//! The output of a command: standard output, a device, or a file that is written completely or not at all.

#[cfg(unix)]
mod attributes;
mod replacement;
mod target;
mod unfinished;

use crate::files::Format;
use crate::progress;
use crate::standard::{Out, check_stdout, stdout};
use anyhow::{Context, Error, Result, bail};
use indicatif::ProgressBar;
use replacement::Replacement;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Stderr, Write, stderr};
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

    /// Returns the path that the user named, if the output is a file or a device.
    #[cfg(feature = "arrow")]
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.target {
            Target::File(_) | Target::Device(_) => Some(Path::new(&self.name)),
            Target::Stdout | Target::Stderr => None,
        }
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

    /// Checks that the output is a .csv, the only format that holds the rows of a table.
    pub(crate) fn check_rows(&self) -> Result<()> {
        if self.format_or(Format::Csv) != Format::Csv {
            bail!("{}: the rows of a .csv can only be written as .csv: name one with -o", self.name);
        }
        Ok(())
    }

    /// Returns the directory of the output, if the output is a file.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.target {
            Target::File(path) => Some(target::folder(path)),
            Target::Stdout | Target::Stderr | Target::Device(_) => None,
        }
    }

    /// Calls `body` to write the result, which has about `bytes` bytes. A file gets its name when all of it is written.
    pub(crate) fn write(self, bytes: Option<u64>, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let bar = match &self.target {
            Target::File(_) => Some(progress::bytes(&format!("writing {}", self.name), bytes)),
            Target::Stdout | Target::Stderr | Target::Device(_) => None,
        };
        let mut writing = Writing { bar, ..self.begin() };
        match body(&mut writing) {
            Ok(()) => writing.finish(),
            Err(error) => Err(writing.failed(error)),
        }
    }

    /// Returns the output to be written step by step. It is opened at the first write.
    pub(crate) fn begin(self) -> Writing {
        Writing { name: self.name, target: self.target, sink: None, bar: None }
    }
}

/// An output that is being written. Dropping it before it is [finished](Writing::finish) removes a file.
pub(crate) struct Writing {
    name: String,
    target: Target,
    sink: Option<BufWriter<Sink>>,
    bar: Option<ProgressBar>,
}

/// An open output.
enum Sink {
    Stdout(Out),
    Stderr(Stderr),
    Device(File),
    File(Box<Replacement>),
}

impl Writing {
    fn sink(&mut self) -> io::Result<&mut BufWriter<Sink>> {
        let sink = match (self.sink.take(), &self.target) {
            (Some(sink), _) => sink,
            (None, target) => BufWriter::with_capacity(
                BUFFER_BYTES,
                match target {
                    Target::Stdout => Sink::Stdout(stdout().map_err(io::Error::other)?),
                    Target::Stderr => Sink::Stderr(stderr()),
                    Target::Device(path) => Sink::Device(OpenOptions::new().write(true).open(path)?),
                    Target::File(path) => Sink::File(Box::new(Replacement::new(path)?)),
                },
            ),
        };
        Ok(self.sink.insert(sink))
    }

    /// Returns the error that the output could not be written.
    pub(crate) fn failed(&self, error: impl Into<Error>) -> Error {
        let error = error.into();
        match self.target {
            // Its errors name it.
            Target::Stdout => error,
            Target::Stderr => error.context("cannot write to standard error"),
            Target::Device(_) => error.context(format!("cannot write {}", self.name)),
            Target::File(_) => error.context(format!("cannot write {}; nothing was changed", self.name)),
        }
    }

    /// Ends the output, and gives a file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        let finish = |writing: &mut Self| {
            writing.sink()?.flush()?;
            match writing.sink.take().map(BufWriter::into_inner) {
                Some(Ok(Sink::File(replacement))) => replacement.finish(),
                Some(Err(error)) => Err(error.into_error()),
                _ => Ok(()),
            }
        };
        finish(&mut self).map_err(|error| self.failed(error))
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.sink()?.write(bytes)?;
        if let Some(bar) = &self.bar {
            bar.inc(count as u64);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink()?.flush()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::Stderr(out) => out.write(bytes),
            Self::Device(file) => file.write(bytes),
            Self::File(replacement) => replacement.file().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::Stderr(out) => out.flush(),
            Self::Device(file) => file.flush(),
            Self::File(replacement) => replacement.file().flush(),
        }
    }
}
