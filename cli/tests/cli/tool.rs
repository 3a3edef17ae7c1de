//! Runs the binary in a directory of its own, and shows what it left there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a run may take that must not wait for anything: far longer than it needs on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The user and the group without any rights.
#[cfg(unix)]
pub(crate) const NOBODY: u32 = 65534;

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

    /// Returns what it wrote to stdout. It must have exited with 0, and written nothing to stderr.
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

    /// Runs the binary with arguments that are separated by spaces, and nothing on stdin.
    pub(crate) fn run(&self, args: &str) -> Ran {
        Ran::of(self.command(args).stdin(Stdio::null()).output().expect("the binary runs"))
    }

    /// Runs a script of `sh`, in which `polysort` is the binary, with nothing on stdin.
    #[cfg(unix)]
    pub(crate) fn shell(&self, script: &str) -> Ran {
        Ran::of(self.script(script).output().expect("sh runs"))
    }

    /// Returns the script as a command. `exec "$0"` replaces the shell by the binary.
    #[cfg(unix)]
    pub(crate) fn script(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("polysort() {{ \"$0\" \"$@\"; }}; {script}"), env!("CARGO_BIN_EXE_polysort")]);
        shell.current_dir(self.dir.path()).envs(ENVIRONMENT).stdin(Stdio::null());
        shell
    }

    /// Runs the binary with bytes on stdin.
    pub(crate) fn pipe(&self, args: &str, stdin: &[u8]) -> Ran {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut pipe = child.stdin.take().expect("it was asked for");
        let stdin = stdin.to_vec();
        // A binary that refuses its arguments does not read its input.
        let writer = std::thread::spawn(move || pipe.write_all(&stdin).ok());
        let output = child.wait_with_output().expect("it ends");
        writer.join().expect("writing does not panic");
        Ran::of(output)
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_polysort"));
        command.current_dir(self.dir.path()).args(args.split_whitespace()).envs(ENVIRONMENT);
        command
    }
}

#[cfg(unix)]
impl Place {
    /// Whether this process may change owners.
    pub(crate) fn is_root(&self) -> bool {
        self.write("probe", "");
        let may = std::os::unix::fs::chown(self.path("probe"), Some(1234), Some(2345)).is_ok();
        fs::remove_file(self.path("probe")).expect("it is in our directory");
        may
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    /// Returns a command that runs the binary as [`NOBODY`]. This process must be root, and the place must be open to other users.
    pub(crate) fn command_of_nobody(&self, args: &str) -> Command {
        use std::os::unix::process::CommandExt;
        let copy = self.path("polysort");
        if !copy.exists() {
            // The directories above the binary may be closed to other users. The system refuses to run a file that any process has
            // open for writing. A child that another test starts may inherit a file that is open here, so `cp` makes the copy.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_polysort")).arg(&copy).status();
            assert!(copied.expect("cp runs").success());
        }
        let mut command = Command::new(copy);
        command.current_dir(self.dir.path()).args(args.split_whitespace()).envs(ENVIRONMENT).uid(NOBODY).gid(NOBODY);
        command
    }
}

/// Without a GPU and without a calibration, every machine gives the same answers. Drivers then write nothing to stderr either.
const ENVIRONMENT: [(&str, &str); 3] =
    [("VK_LOADER_DRIVERS_DISABLE", "*"), ("VK_LOADER_LAYERS_DISABLE", "~implicit~"), ("POLYSORT_CALIBRATION", "")];

/// Waits for a process that must end by itself. One that does not is killed, and the test fails.
pub(crate) fn wait(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("it is our child") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it can be killed");
    panic!("it hangs: killed after {PATIENCE:?}");
}

/// Reports what this machine cannot test. The test harness hides what the `print` macros write, but not this.
#[cfg(unix)]
pub(crate) fn not_run(what: &str) {
    writeln!(std::io::stderr(), "NOT RUN: {what}").expect("stderr is open");
}
