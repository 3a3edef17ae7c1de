//! Running the binary, in a directory of its own that is looked at afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// What the binary did.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let code = output.status.code().expect("it was not killed");
        Self { code, stdout: output.stdout, stderr: String::from_utf8(output.stderr).expect("messages are text") }
    }

    /// What it wrote to stdout, if it went well and had nothing to say.
    pub(crate) fn ok(self) -> Vec<u8> {
        assert_eq!((self.code, &*self.stderr), (0, ""));
        self.stdout
    }

    pub(crate) fn text(self) -> String {
        String::from_utf8(self.ok()).expect("the result is text")
    }
}

/// A directory with files in it, in which the binary is run.
pub(crate) struct Place {
    dir: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A place with one file.
    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let place = Self::new();
        place.write(name, content);
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// All files, hidden ones too, and what is in them.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.dir.path()).expect("the directory is there").map(|entry| entry.expect("an entry"));
        let files = entries.filter(|entry| entry.path().is_file());
        files
            .map(|entry| entry.file_name().into_string().expect("a plain name"))
            .map(|name| (name.clone(), self.read(&name)))
            .collect()
    }

    /// The binary with arguments that are separated by spaces, nothing on stdin.
    pub(crate) fn run(&self, args: &str) -> Ran {
        Ran::of(self.command(args).stdin(Stdio::null()).output().expect("the binary runs"))
    }

    /// The same with bytes on stdin.
    pub(crate) fn pipe(&self, args: &str, stdin: &[u8]) -> Ran {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("it was asked for");
        let stdin = stdin.to_vec();
        // One that refuses need not read it all.
        let writer = std::thread::spawn(move || pipe.write_all(&stdin).ok());
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("writing does not panic");
        Ran::of(output)
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_polysort"));
        command.current_dir(self.dir.path()).args(args.split_whitespace());
        // No GPU, so that a machine that has one answers as any other; and what drivers write to stderr is not the binary's.
        command.envs([("VK_LOADER_DRIVERS_DISABLE", "*"), ("VK_LOADER_LAYERS_DISABLE", "~implicit~")]);
        // Nor what somebody measured on this machine.
        command.env("POLYSORT_CALIBRATION", "");
        command
    }
}
