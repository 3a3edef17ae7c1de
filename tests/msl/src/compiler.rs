//! Compiles the text of a kernel to a library with a C++ compiler, and caches the libraries.

use crate::error::Error;
use crate::loaded::Loaded;
use crate::options::Options;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{env, fs, process};

/// The files of the shim, with their names.
const SHIM: [(&str, &str); 7] = [
    ("metal_stdlib", include_str!("../shim/metal_stdlib")),
    ("vectors.h", include_str!("../shim/vectors.h")),
    ("simd/simd.h", include_str!("../shim/simd/simd.h")),
    ("runtime.h", include_str!("../shim/runtime.h")),
    ("machine.h", include_str!("../shim/machine.h")),
    ("memory.h", include_str!("../shim/memory.h")),
    ("runtime.cpp", include_str!("../shim/runtime.cpp")),
];

/// Options for kernels and the runtime. An assignment of many bytes must not become a call that the checks do not see.
const FLAGS: &str =
    "-std=c++17 -g1 -gdwarf-4 -fPIC -fvisibility=hidden -fno-exceptions -fno-rtti -fno-strict-aliasing -fno-builtin -w";

/// Options for the runtime: its own accesses must not call the checks.
const RUNTIME_FLAGS: &str = "-O2 -fno-tree-loop-distribute-patterns";

/// Options for kernels. The compiler calls the runtime before each memory access. A product and a sum are not fused, and a root is one
/// instruction. Reports name lines and no variables, so the compiler need not track where variables are, which takes it a third of the time.
const KERNEL_FLAGS: &str =
    "-O1 -fno-var-tracking -fno-tree-loop-distribute-patterns -fsanitize=thread -ffp-contract=off -fno-math-errno";

/// A linker that takes a third of the time of the usual one, where it is installed.
const FAST_LINKER: &str = "-fuse-ld=gold";

/// The folder of the shim, and the compiled runtime.
struct Tools {
    folder: PathBuf,
    key: u64,
    links_fast: bool,
}

/// Returns the library of a translated kernel, and its path.
pub(crate) fn compiled(text: &str, entry: &str, options: Options) -> Result<(Arc<Loaded>, PathBuf), Error> {
    let tools = tools()?;
    let key = hash(&[text, &format!("{options:?}")], tools.key);
    let library = tools.folder.join(format!("{entry}-{key:016x}.so"));
    if !library.exists() {
        let source = Scratch::new(&tools.folder, entry, "cpp");
        fs::write(&source.0, text).map_err(|error| system("writing a kernel", error))?;
        let (object, linked) = (Scratch::new(&tools.folder, entry, "o"), Scratch::new(&tools.folder, entry, "so"));
        let mut compile = compiler();
        compile.args(FLAGS.split(' ')).args(KERNEL_FLAGS.split(' '));
        compile.args(options.fast_math.then_some("-ffast-math")).arg(format!("-D__METAL_VERSION__={}", options.metal_version));
        compile.arg("-I").arg(&tools.folder).arg("-c").arg(&source.0).arg("-o").arg(&object.0);
        run(&mut compile).map_err(|output| Error::Compile { output })?;
        let mut link = compiler();
        link.args(tools.links_fast.then_some(FAST_LINKER))
            .arg("-shared")
            .arg(&object.0)
            .arg(tools.folder.join("runtime.o"))
            .arg("-o")
            .arg(&linked.0);
        run(&mut link).map_err(|output| Error::Compile { output })?;
        fs::rename(&linked.0, &library).map_err(|error| system("keeping a kernel", error))?;
    }
    Ok((loaded(&library)?, library))
}

/// Returns a library, which is loaded only once: two handles would share its state, but not the lock that protects the state.
fn loaded(library: &Path) -> Result<Arc<Loaded>, Error> {
    static LOADED: Mutex<BTreeMap<PathBuf, Arc<Loaded>>> = Mutex::new(BTreeMap::new());
    let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(loaded) = all.get(library) {
        return Ok(loaded.clone());
    }
    let loaded = Arc::new(Loaded::open(library)?);
    all.insert(library.to_path_buf(), loaded.clone());
    Ok(loaded)
}

/// Returns the line of a kernel's text for the code at `offset` in its library.
pub(crate) fn line_of(library: &Path, offset: u64) -> Option<u32> {
    let output = Command::new("addr2line").arg("-i").arg("-e").arg(library).arg(format!("{offset:#x}")).output().ok()?;
    let places = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = places.lines().find_map(|place| place.strip_prefix("/msl/"))?.split([':', ' ']).nth(1)?.parse().ok();
    line.filter(|&line| line > 0)
}

fn compiler() -> Command {
    Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()))
}

/// Runs a compiler. If it fails, the error is its output.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn system(what: &str, error: impl ToString) -> Error {
    Error::System { what: what.into(), why: error.to_string() }
}

/// Writes the shim and compiles the runtime, at the first call.
fn tools() -> Result<&'static Tools, Error> {
    static TOOLS: OnceLock<Tools> = OnceLock::new();
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(tools) = TOOLS.get() {
        return Ok(tools);
    }
    let version = run(compiler().arg("--version")).map_err(|why| system("the C++ compiler", why))?;
    let key = SHIM.iter().fold(hash(&[&version, FLAGS, RUNTIME_FLAGS, KERNEL_FLAGS], 0), |key, (_, text)| hash(&[text], key));
    let folder = cache().join(format!("{key:016x}"));
    let failed = |error| system("writing the shim", error);
    fs::create_dir_all(folder.join("simd")).map_err(failed)?;
    let runtime = folder.join("runtime.o");
    if !runtime.exists() {
        for (name, text) in SHIM {
            let scratch = Scratch::new(&folder, "shim", "h");
            fs::write(&scratch.0, text).map_err(failed)?;
            fs::rename(&scratch.0, folder.join(name)).map_err(failed)?;
        }
        let object = Scratch::new(&folder, "runtime", "o");
        let mut compile = compiler();
        compile.args(FLAGS.split(' ')).args(RUNTIME_FLAGS.split(' ')).arg("-c").arg(folder.join("runtime.cpp"));
        run(compile.arg("-o").arg(&object.0)).map_err(|why| system("compiling the runtime", why))?;
        fs::rename(&object.0, &runtime).map_err(failed)?;
    }
    let links_fast = run(compiler().args([FAST_LINKER, "-Wl,--version"])).is_ok();
    Ok(TOOLS.get_or_init(|| Tools { folder, key, links_fast }))
}

/// Returns the cache folder, which is beside the running program, in Cargo's target folder.
fn cache() -> PathBuf {
    let program = env::current_exe().ok();
    let built = program.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_path_buf);
    built.unwrap_or_else(env::temp_dir).join("msl")
}

/// A file with a unique name. Dropping this removes the file.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path, name: &str, extension: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(folder.join(format!("{name}-{process}-{number}.{extension}")))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The file does not exist any more if it was renamed.
        drop(fs::remove_file(&self.0));
    }
}

/// Returns the FNV-1a hash that continues from `start`.
fn hash(texts: &[&str], start: u64) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325 ^ start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
