//! Where results go: stdout, or a file that is written whole or not at all.

use crate::files::Format;
use crate::progress;
use anyhow::{Context, Result, anyhow, bail};
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A place to write to, found to be writable.
pub(crate) struct Output {
    place: Place,
    /// What the name tells, if there is one.
    format: Option<Format>,
}

enum Place {
    Stdout,
    /// A terminal, pipe or `/dev/null`: nothing that a file could take the place of.
    Device(PathBuf),
    /// A regular file, or none yet. Links are resolved, so that they stay.
    File {
        path: PathBuf,
        existing: Option<Permissions>,
    },
}

impl Output {
    /// Checks that the output can be written before any work is done for it. Nothing is written or changed yet.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self { place: Place::Stdout, format: None });
        };
        let is_text = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt"));
        let format = if is_text { Some(Format::Csv) } else { Format::of(path) };
        let place = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => bail!("cannot write {}: it is a directory; name a file", path.display()),
            Ok(metadata) if !metadata.is_file() => Place::Device(path.into()),
            Ok(metadata) if metadata.permissions().readonly() => {
                bail!("cannot write {}: it is read-only; allow writing, or name another file", path.display())
            }
            Ok(metadata) => {
                // A new file could take the place of one that is not ours to write, so ask for this one.
                let open = || OpenOptions::new().write(true).open(path).and_then(|_| path.canonicalize());
                let path = open().with_context(|| format!("cannot write {}", path.display()))?;
                Place::File { path, existing: Some(metadata.permissions()) }
            }
            Err(_) => Place::File { path: path.into(), existing: None },
        };
        if let Place::File { path, .. } = &place {
            drop(temporary(path)?);
        }
        Ok(Self { place, format })
    }

    /// The format to write in: what the name tells, else `like`.
    pub(crate) fn format_or(&self, like: Format) -> Format {
        self.format.unwrap_or(like)
    }

    /// Refuses to write what is not text to a terminal.
    pub(crate) fn check_terminal(&self, format: Format) -> Result<()> {
        if matches!(self.place, Place::Stdout) && format != Format::Csv && stdout().is_terminal() {
            bail!("the result is binary and stdout is a terminal: name a file with -o, or pipe it on");
        }
        Ok(())
    }

    /// Lets `body` write everything, about `bytes` of them if that is known. A file gets its name only when all of it is written.
    pub(crate) fn write(self, bytes: Option<u64>, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        match &self.place {
            Place::Stdout => buffered(stdout().lock(), body).context("cannot write to stdout"),
            Place::Device(path) => {
                let open = || OpenOptions::new().write(true).open(path);
                open().and_then(|file| buffered(file, body)).with_context(|| format!("cannot write {}", path.display()))
            }
            Place::File { path, existing } => {
                let file = temporary(path)?;
                let bar = progress::bytes(format!("writing {}", path.display()), bytes);
                let write = || {
                    buffered(bar.wrap_write(file.as_file()), body)?;
                    if let Some(permissions) = existing {
                        file.as_file().set_permissions(permissions.clone())?;
                    }
                    // The name must not outlive the bytes when the power fails.
                    file.as_file().sync_all()
                };
                write().with_context(|| format!("cannot write {}; nothing was changed", path.display()))?;
                file.persist(path).map_err(|failed| failed.error).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(())
            }
        }
    }
}

fn buffered(writer: impl Write, body: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, writer);
    body(&mut writer)?;
    writer.flush()
}

/// A temporary file beside `path`, so that it can take its name. It goes away if it does not.
fn temporary(path: &Path) -> Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        bail!("cannot write {}: there is no directory {}", path.display(), directory.display());
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".polysort-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask takes from it.
        builder.permissions(Permissions::from_mode(0o666));
    }
    // The error's own words name the temporary file, which nobody asked for.
    builder.tempfile_in(directory).map_err(|error| {
        anyhow!("cannot write {}: no file can be made in {}: {}", path.display(), directory.display(), error.kind())
    })
}

/// Tells something on stderr that is no error.
pub(crate) fn note(text: &str) {
    // With stderr closed there is nobody left to tell.
    writeln!(stderr(), "polysort: note: {text}").ok();
}
