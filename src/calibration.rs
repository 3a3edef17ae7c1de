//! Measures what sorts cost on this machine, and stores that in a file, together with the pass shapes that were found for its GPUs.
//!
//! The file may be anything that the user names, so it is read and replaced with care: see [`read_text`] and [`replace`].

use crate::costs::{Costs, KEY_BYTES, LENGTHS, Measured, PAYLOAD_BYTES};
use crate::stored::Stored;
use crate::{Backend, Error, Options, RayonBackend, Spec};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The environment variable that names the file. Without it, the file is in the user's cache folder.
const VARIABLE: &str = "POLYSORT_CALIBRATION";

/// The words that every stored calibration begins with, whatever its version.
const FIRST_WORDS: &str = "polysort calibration ";

/// The most bytes of the file. A calibration of one machine has about four thousand.
const MOST_BYTES: u64 = 1 << 20;

/// How long one sort is repeated after it has warmed up.
const PATIENCE: Duration = Duration::from_millis(20);

/// The most times that one sort is repeated.
const MOST_RUNS: usize = 15;

/// The fewest times that one sort runs: once to warm up, and twice to be timed.
const FEWEST_RUNS: u32 = 3;

/// The expected time of a measurement over the time of its sorts. The rest makes the input and copies it for each run.
const WITH_COPIES: u32 = 2;

/// What [`calibrate`] measured: the cost of sorts of each size of key and payload, on the CPU and on the GPU of this machine.
#[derive(Clone, Debug)]
pub struct Calibration(Measured);

impl Calibration {
    /// The budget of [`calibrate`] that suits most machines.
    pub const BUDGET: Duration = Duration::from_secs(20);

    /// Returns the path of the file that [`store`](Calibration::store) writes and that [`Auto`](crate::Auto) reads: the value of the
    /// environment variable `POLYSORT_CALIBRATION`, or `polysort/calibration` in the user's cache folder.
    ///
    /// # Errors
    /// If there is no cache folder, or if the path names something that must not be replaced: a folder, a FIFO, a device, or a file
    /// that is no calibration.
    pub fn path() -> io::Result<PathBuf> {
        let path =
            path().ok_or_else(|| io::Error::new(ErrorKind::NotFound, "there is no cache folder; set POLYSORT_CALIBRATION"))?;
        replaceable(&path)?;
        Ok(path)
    }

    /// Stores the calibration for [`Auto`](crate::Auto), which reads it when it is opened. Stored pass shapes of GPUs are kept.
    /// Returns the [path](Calibration::path) of the file.
    ///
    /// # Errors
    /// Those of [`Calibration::path`], and if the file cannot be written. The file is then as it was.
    pub fn store(&self) -> io::Result<PathBuf> {
        change(|stored| stored.measured = Some(self.0.clone()))
    }
}

/// Returns the pass shapes that are stored for the device of a backend.
#[cfg(feature = "wgpu")]
pub fn stored_tuned(backend: &crate::AnyBackend) -> crate::gpu::Tuned {
    load().and_then(|stored| stored.tuned.get(&backend.device()).copied()).unwrap_or_default()
}

/// Stores pass shapes for the device of a backend, in place of those that are stored for it. [`Auto`](crate::Auto) reads them when it is
/// opened. Returns the path of the file, which is that of [`Calibration::store`]; a stored calibration is kept.
///
/// # Errors
/// Those of [`Calibration::store`].
#[cfg(feature = "wgpu")]
pub fn store_tuned(backend: &crate::AnyBackend, tuned: crate::gpu::Tuned) -> io::Result<PathBuf> {
    let device = backend.device();
    change(|stored| {
        stored.tuned.remove(&device);
        if tuned != crate::gpu::Tuned::NONE {
            stored.tuned.insert(device, tuned);
        }
    })
}

/// Changes what is stored. Nothing is written if `edit` changes nothing. A calibration that cannot be parsed is replaced.
fn change(edit: impl FnOnce(&mut Stored)) -> io::Result<PathBuf> {
    let path = Calibration::path()?;
    change_file(&path, edit)?;
    Ok(path)
}

fn change_file(path: &Path, edit: impl FnOnce(&mut Stored)) -> io::Result<()> {
    let before = replaceable(path)?.and_then(|text| Stored::parse(&text)).unwrap_or_default();
    let mut stored = before.clone();
    edit(&mut stored);
    if stored == before {
        return Ok(());
    }
    replace(path, &stored.text())
}

/// Writes a file that other processes may be reading: each of them reads the old text or the new one.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    // If the path is a symbolic link, the link stays.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".polysort-calibration-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode of any new file. The umask takes bits from it.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Measures the CPU and the GPU that [`Auto`](crate::Auto) would use, each of them for at most `budget`.
///
/// Short sorts are measured first. If the budget ends before the longest, their cost is estimated from the longest that was measured, in
/// proportion to the number of keys. A device for which the budget ends during the shortest sorts is left out.
///
/// A GPU may take longer than the budget to compile for a single sort. The call then returns at the end of the budget, and a thread in
/// the background ends when that sort does.
///
/// `report` is called with a line of text before a device is measured, and again if its budget ended.
///
/// # Errors
/// If a device fails. A GPU that does not open is left out.
pub fn calibrate(budget: Duration, mut report: impl FnMut(&str)) -> Result<Calibration, Error> {
    let cpu = RayonBackend::global()?;
    let (threads, name) = (cpu.threads(), cpu.name());
    report_begin(&name, budget, &mut report);
    let time = |len, key, payload, _: Duration| time_words(&cpu, len, key, payload).map(Some);
    let cores = measure_device(&name, budget, Instant::now(), time, &mut report)?;
    let cores = cores.unwrap_or_else(|| Costs::of_cores(threads));
    #[cfg(feature = "wgpu")]
    let gpu = calibrate_gpu(budget, &mut report)?;
    #[cfg(not(feature = "wgpu"))]
    let gpu = None;
    Ok(Calibration(Measured { threads, cores, gpu }))
}

/// Measures the GPU. Returns none if there is none, or if it is left out.
#[cfg(feature = "wgpu")]
fn calibrate_gpu(budget: Duration, report: &mut impl FnMut(&str)) -> Result<Option<(String, Costs)>, Error> {
    let begun = Instant::now();
    let gpu = match within(budget, || crate::auto::preferred_gpu(&load().unwrap_or_default())) {
        Some(Ok(gpu)) => gpu,
        Some(Err(_)) => return Ok(None),
        None => {
            report(&format!("the GPU: stopped after {:.1} s: left out, since it did not open", begun.elapsed().as_secs_f64()));
            return Ok(None);
        }
    };
    let name = gpu.name();
    report_begin(&name, budget, report);
    let time = |len, key, payload, left| {
        let gpu = gpu.clone();
        within(left, move || time_words(&gpu, len, key, payload)).transpose()
    };
    Ok(measure_device(&name, budget, begun, time, report)?.map(|costs| (name, costs)))
}

/// Runs `work` on a thread of its own. Returns none if it takes longer than `limit`; the thread then goes on in the background.
#[cfg(feature = "wgpu")]
fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    use std::sync::mpsc::{RecvTimeoutError, channel};
    let (sender, receiver) = channel();
    // If nobody waits any more, the result is not needed.
    let worker = std::thread::spawn(move || drop(sender.send(work())));
    match receiver.recv_timeout(limit) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("a worker that does not panic sends its result"),
        },
    }
}

fn report_begin(name: &str, budget: Duration, report: &mut impl FnMut(&str)) {
    report(&format!("measuring {name}, for at most {} s", budget.as_secs_f64()));
}

/// Measures the device `name`, whose budget began at `begun`, with `time` (see [`Times::measure`]). Reports it if the budget ends. Returns
/// none if that is during the shortest sorts.
fn measure_device<E>(
    name: &str,
    budget: Duration,
    begun: Instant,
    time: impl FnMut(usize, usize, usize, Duration) -> Result<Option<f64>, E>,
    report: &mut impl FnMut(&str),
) -> Result<Option<Costs>, E> {
    let times = Times::measure(budget, || begun.elapsed(), time)?;
    let (costs, stopped) = (times.costs(), begun.elapsed().as_secs_f64());
    let why = match (&costs, times.stopped_at) {
        (_, None) => return Ok(costs),
        (Some(_), Some(len)) => format!("costs of {len} keys and more are in part estimated"),
        (None, Some(len)) => format!("left out, since not all sorts of {len} keys were measured"),
    };
    report(&format!("{name}: stopped after {stopped:.1} s: {why}; a larger budget measures them"));
    Ok(costs)
}

/// The sorts that were measured within a budget.
#[derive(Debug, Default)]
struct Times {
    /// Nanoseconds by bytes of key and payload, for the first of [`LENGTHS`].
    nanos: BTreeMap<(usize, usize), Vec<f64>>,
    /// The number of keys of the first sort that was not measured, if the budget ended.
    stopped_at: Option<usize>,
}

impl Times {
    /// Measures the shortest sorts of all sizes of key and payload, then longer ones. Stops before a sort that would exceed the budget.
    ///
    /// `elapsed` returns the time since the beginning. `time` returns the nanoseconds of a sort of so many keys, of a size of key and
    /// payload in bytes, which it runs [`FEWEST_RUNS`] times or more. It returns none if the time that it is given ends.
    fn measure<E>(
        budget: Duration,
        elapsed: impl Fn() -> Duration,
        mut time: impl FnMut(usize, usize, usize, Duration) -> Result<Option<f64>, E>,
    ) -> Result<Self, E> {
        let mut times = Self::default();
        for len in LENGTHS {
            for kind in KEY_BYTES.into_iter().flat_map(|key| PAYLOAD_BYTES.map(|payload| (key, payload))) {
                let sort = Duration::from_nanos(times.estimate(kind, len).unwrap_or(0.0) as u64);
                let expected = sort.saturating_mul(FEWEST_RUNS * WITH_COPIES);
                let left = budget.saturating_sub(elapsed());
                let measured = if expected < left { time(len, kind.0, kind.1, left)? } else { None };
                let Some(nanos) = measured else {
                    times.stopped_at = Some(len);
                    return Ok(times);
                };
                times.nanos.entry(kind).or_default().push(nanos);
            }
        }
        Ok(times)
    }

    /// Returns the time of the longest measured sort that has at most `len` keys, in proportion to `len`; none if there is none.
    fn estimate(&self, kind: (usize, usize), len: usize) -> Option<f64> {
        let known = LENGTHS.into_iter().zip(self.nanos.get(&kind)?);
        let (longest, nanos) = known.take_while(|(known, _)| *known <= len).last()?;
        Some(nanos * (len as f64 / longest as f64))
    }

    /// Returns the costs of all sorts, measured or estimated; none if not all of the shortest sorts were measured.
    fn costs(&self) -> Option<Costs> {
        Costs::by(|len, key, payload| self.estimate((key, payload), len).ok_or(())).ok()
    }
}

/// Returns what is stored; none if the file does not exist or holds no calibration.
pub(crate) fn load() -> Option<Stored> {
    read(&path()?)
}

fn read(path: &Path) -> Option<Stored> {
    match read_text(path) {
        Ok(None) => None,
        Ok(Some(text)) => {
            let stored = Stored::parse(&text);
            if stored.is_none() {
                tracing::warn!(path = %path.display(), "not used: the file is no calibration; `calibrate` writes a new one");
            }
            stored
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "not used: the calibration cannot be read");
            None
        }
    }
}

/// Returns the text of the file; none if there is no file, or an empty one. It neither waits for a writer, as opening a FIFO would, nor
/// reads more than [`MOST_BYTES`].
fn read_text(path: &Path) -> io::Result<Option<String>> {
    let refuse = |why: String| Err(io::Error::new(ErrorKind::InvalidData, format!("{} {why}", path.display())));
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return refuse("is no regular file".into());
    }
    // Files of the kernel, whose reading may wait, have no length.
    if metadata.len() == 0 {
        return Ok(None);
    }
    if metadata.len() > MOST_BYTES {
        return refuse(format!("has {} bytes, and a calibration at most {MOST_BYTES}", metadata.len()));
    }
    let mut text = vec![];
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    String::from_utf8(text).map(Some).or_else(|_| refuse("is no text, and so no calibration".into()))
}

/// Returns the text of the file, as [`read_text`].
///
/// # Errors
/// If the path names something that must not be replaced.
fn replaceable(path: &Path) -> io::Result<Option<String>> {
    let text = read_text(path)?;
    if text.as_ref().is_some_and(|text| !text.starts_with(FIRST_WORDS)) {
        let why = format!("{} is no calibration and is not replaced: remove it, or set {VARIABLE}", path.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    Ok(text)
}

fn path() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(path) => Some(path).filter(|path| !path.is_empty()).map(PathBuf::from),
        None => dirs::cache_dir().map(|folder| folder.join(Path::new("polysort/calibration"))),
    }
}

/// Returns the nanoseconds of a sort of `len` keys of `key` bytes, with payloads of `payload` bytes.
fn time_words(backend: &impl Backend, len: usize, key: usize, payload: usize) -> Result<f64, Error> {
    match key {
        1 => time::<u8>(backend, payload, len),
        2 => time::<u16>(backend, payload, len),
        4 => time::<u32>(backend, payload, len),
        8 => time::<u64>(backend, payload, len),
        _ => time::<u128>(backend, payload, len),
    }
}

/// Returns the nanoseconds of a sort of `len` uniform random keys: the median of some runs.
fn time<K: crate::MaskKey<Bits = K> + crate::Word>(backend: &impl Backend, payload: usize, len: usize) -> Result<f64, Error> {
    // A Weyl sequence with a mixing step has no order that a backend could use.
    let key = |i: usize| {
        let mixed = (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        K::truncate(mixed ^ mixed >> 61)
    };
    let keys: Vec<K> = (0..len).map(key).collect();
    let spec = Spec::of::<K>(Options::ascending())?;
    let once = || {
        let mut sorted = keys.clone();
        let begun = Instant::now();
        match payload {
            0 => backend.sort_bits(&mut sorted, spec)?,
            4 => backend.sort_pairs_bits(&mut sorted, &mut vec![0_u32; len], spec)?,
            8 => backend.sort_pairs_bits(&mut sorted, &mut vec![0_u64; len], spec)?,
            _ => backend.sort_pairs_bits(&mut sorted, &mut vec![0_u128; len], spec)?,
        }
        Ok::<_, Error>(begun.elapsed().as_nanos() as f64)
    };
    // The first run warms up.
    once()?;
    let started = Instant::now();
    let mut times = vec![once()?, once()?];
    while times.len() < MOST_RUNS && started.elapsed() < PATIENCE {
        times.push(once()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_core::plan::tuning::PassShape;
    use polysort_core::plan::{PassKind, Tuned};

    type Checked = Result<(), Box<dyn core::error::Error>>;

    #[test]
    fn costs_and_shapes_are_changed_apart() -> Checked {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("in/here/calibration");
        // A change that changes nothing creates no file.
        change_file(&path, |_| ())?;
        assert!(!path.exists());
        let shape = PassShape { group: 384, keys: 14, slices: 4 };
        let tuned = Tuned::NONE.with(PassKind::new(2, 0), shape)?;
        let measured = Measured { threads: 3, cores: Costs::even(1000.0, 1.0), gpu: None };
        let tune = |tuned| change_file(&path, |stored| stored.tuned.extend([("wgpu A card".into(), tuned)]));
        let stored = || read(&path).ok_or("nothing is stored");
        // Shapes alone, then costs beside them, then other shapes beside the costs.
        tune(tuned)?;
        assert_eq!((stored()?.measured, stored()?.tuned["wgpu A card"]), (None, tuned));
        change_file(&path, |stored| stored.measured = Some(measured.clone()))?;
        assert_eq!((stored()?.measured, stored()?.tuned["wgpu A card"]), (Some(measured.clone()), tuned));
        let other = tuned.with(PassKind::new(1, 0), shape)?;
        tune(other)?;
        assert_eq!((stored()?.measured, stored()?.tuned["wgpu A card"]), (Some(measured), other));
        Ok(())
    }

    #[test]
    fn only_calibrations_are_replaced() -> Checked {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("calibration");
        let measured = Measured { threads: 3, cores: Costs::even(1000.0, 1.0), gpu: None };
        let store = || change_file(&path, |stored| stored.measured = Some(measured.clone()));
        for kept in ["my thesis", "polysort", "\u{feff}polysort calibration 1\n"] {
            std::fs::write(&path, kept)?;
            assert!(store().is_err_and(|error| error.to_string().contains("is no calibration")), "{kept}");
            assert_eq!(std::fs::read_to_string(&path)?, kept);
        }
        std::fs::write(&path, b"polysort calibration \xff")?;
        assert!(store().is_err_and(|error| error.to_string().contains("is no text")));
        File::options().write(true).open(&path)?.set_len(MOST_BYTES + 1)?;
        assert!(store().is_err_and(|error| error.to_string().contains("has 1048577 bytes")));
        for replaced in ["", "polysort calibration 1\nbut what then?", "polysort calibration 99\n"] {
            std::fs::write(&path, replaced)?;
            store()?;
            assert_eq!(read(&path).map(|stored| stored.measured), Some(Some(measured.clone())), "{replaced}");
        }
        assert!(Stored::default().text().starts_with(FIRST_WORDS));
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    /// Measures sorts that take this many nanoseconds per byte, by a clock that only they move.
    fn measured_within(budget: Duration, nanos_per_byte: f64) -> (Times, Duration) {
        let clock = core::cell::Cell::new(Duration::ZERO);
        let time = |len: usize, key: usize, payload: usize, left: Duration| {
            let nanos = nanos_per_byte * (len * (key + payload)) as f64;
            let runs = Duration::from_nanos(nanos as u64) * FEWEST_RUNS;
            clock.set(clock.get() + runs.min(left));
            Ok::<_, core::convert::Infallible>((runs <= left).then_some(nanos))
        };
        let Ok(times) = Times::measure(budget, || clock.get(), time);
        (times, clock.get())
    }

    #[test]
    fn a_budget_is_kept() {
        let budget = Duration::from_secs(1);
        let all = LENGTHS.len() * KEY_BYTES.len() * PAYLOAD_BYTES.len();
        let mut stopped_at = vec![];
        for nanos_per_byte in [0.1, 1.0, 10.0, 100.0, 3000.0] {
            let (times, elapsed) = measured_within(budget, nanos_per_byte);
            let measured: usize = times.nanos.values().map(Vec::len).sum();
            assert_eq!(times.stopped_at.is_none(), measured == all);
            assert!(elapsed <= budget, "{nanos_per_byte}: {elapsed:?}");
            stopped_at.push(times.stopped_at);
            match times.costs() {
                // The costs are in proportion to the bytes, so that the estimates are exact.
                Some(costs) => {
                    for (len, key, payload) in [(1 << 10, 1, 0), (1 << 18, 4, 8), (1 << 22, 16, 16)] {
                        let expected = nanos_per_byte * (len * (key + payload)) as f64;
                        assert!((costs.of(len, key, payload) / expected - 1.0).abs() < 1e-9, "{nanos_per_byte}: {len}");
                    }
                }
                None => assert_eq!(times.stopped_at, Some(LENGTHS[0])),
            }
        }
        assert_eq!(stopped_at, [None, Some(LENGTHS[3]), Some(LENGTHS[2]), Some(LENGTHS[1]), Some(LENGTHS[0])]);
    }

    #[test]
    fn a_budget_that_ends_is_reported() -> Checked {
        let report = |slow: usize| {
            let mut lines = vec![];
            let time = |len: usize, _, _, _| Ok::<_, Error>((len < slow).then_some(1.0));
            let mut report = |line: &str| lines.push(line.to_owned());
            let costs = measure_device("A card", Calibration::BUDGET, Instant::now(), time, &mut report)?;
            Ok::<_, Error>((costs.is_some(), lines))
        };
        let (left_out, estimated) =
            ("left out, since not all sorts of 1024 keys were measured", "costs of 16384 keys and more are in part estimated");
        let line = |why| vec![format!("A card: stopped after 0.0 s: {why}; a larger budget measures them")];
        assert_eq!(report(LENGTHS[0])?, (false, line(left_out)));
        assert_eq!(report(LENGTHS[1])?, (true, line(estimated)));
        assert_eq!(report(usize::MAX)?, (true, vec![]));
        Ok(())
    }

    #[test]
    #[cfg(feature = "wgpu")]
    fn work_that_takes_too_long_is_not_waited_for() {
        let (limit, begun) = (Duration::from_millis(50), Instant::now());
        let forever = std::sync::Arc::new(std::sync::Barrier::new(2));
        let work = std::sync::Arc::clone(&forever);
        assert_eq!(within(limit, move || work.wait().is_leader()), None);
        assert!(begun.elapsed() >= limit);
        // The thread went on in the background.
        forever.wait();
        assert_eq!(within(Duration::from_secs(60), || 7), Some(7));
        assert!(std::panic::catch_unwind(|| within(Duration::from_secs(60), || panic!("on purpose"))).is_err());
    }
}
