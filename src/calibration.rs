//! Measuring what sorts cost on this machine, and keeping it, beside the shapes that were found for its GPUs.

use crate::costs::{Costs, Measured};
use crate::stored::Stored;
use crate::{Backend, Error, Options, RayonBackend, Spec};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The environment variable that names the file, where the usual place will not do.
const VARIABLE: &str = "POLYSORT_CALIBRATION";

/// How long one sort is repeated for, once it is warm.
const PATIENCE: Duration = Duration::from_millis(20);

/// The most times that it is.
const MOST: usize = 15;

/// What [`calibrate`] found: what sorts of each size of key and payload cost on this machine's devices.
#[derive(Clone, Debug)]
pub struct Calibration(Measured);

impl Calibration {
    /// Stores it where [`Auto`](crate::Auto) finds it when it is next opened, and tells where: in the file that the environment variable
    /// `POLYSORT_CALIBRATION` names, or in the user's cache folder. Tuned shapes that are there are kept.
    ///
    /// # Errors
    /// If there is no such folder, or the file cannot be written.
    pub fn store(&self) -> io::Result<PathBuf> {
        change(|stored| stored.measured = Some(self.0.clone()))
    }
}

/// The shapes of passes that are stored for the device of a backend.
#[cfg(feature = "wgpu")]
pub fn stored_tuned(backend: &crate::AnyBackend) -> crate::gpu::Tuned {
    load().and_then(|stored| stored.tuned.get(&backend.device()).copied()).unwrap_or_default()
}

/// Stores the shapes of passes that were found on the device of a backend, in place of those that were found there before, where
/// [`Auto`](crate::Auto) finds them when it is next opened, and tells where: in the file of [`Calibration::store`], whose costs are kept.
///
/// # Errors
/// As [`Calibration::store`].
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

/// Changes what is stored, if there is anything to change. A file that cannot be read is replaced then.
fn change(edit: impl FnOnce(&mut Stored)) -> io::Result<PathBuf> {
    let path = path().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no cache folder"))?;
    change_file(&path, edit)?;
    Ok(path)
}

fn change_file(path: &Path, edit: impl FnOnce(&mut Stored)) -> io::Result<()> {
    let before = read(path).unwrap_or_default();
    let mut stored = before.clone();
    edit(&mut stored);
    if stored == before {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // Whoever opens the file meanwhile gets the old one, or the new one.
    let new = path.with_extension("new");
    std::fs::write(&new, stored.text())?;
    std::fs::rename(&new, path)
}

/// Measures the cores and the GPU that [`Auto`](crate::Auto) would use: a few seconds. `each` is told of each device before.
///
/// # Errors
/// If a device fails. One that does not open is left out.
pub fn calibrate(mut each: impl FnMut(&str)) -> Result<Calibration, Error> {
    let cores = RayonBackend::global()?;
    each(&cores.name());
    let mut measured = Measured { threads: cores.threads(), cores: costs(&cores)?, gpu: None };
    #[cfg(feature = "wgpu")]
    if let Ok(gpu) = crate::auto::preferred_gpu(&load().unwrap_or_default()) {
        each(&gpu.name());
        measured.gpu = Some((gpu.name(), costs(&gpu)?));
    }
    Ok(Calibration(measured))
}

/// What is stored, if there is anything that can be read.
pub(crate) fn load() -> Option<Stored> {
    read(&path()?)
}

fn read(path: &Path) -> Option<Stored> {
    let stored = Stored::parse(&std::fs::read_to_string(path).ok()?);
    if stored.is_none() {
        tracing::warn!(path = %path.display(), "no calibration; `calibrate` writes a new one");
    }
    stored
}

fn path() -> Option<PathBuf> {
    match std::env::var_os(VARIABLE) {
        Some(path) => Some(path).filter(|path| !path.is_empty()).map(PathBuf::from),
        None => dirs::cache_dir().map(|folder| folder.join(Path::new("polysort/calibration"))),
    }
}

fn costs(backend: &impl Backend) -> Result<Costs, Error> {
    Costs::by(|len, key, payload| match key {
        1 => time::<u8>(backend, payload, len),
        2 => time::<u16>(backend, payload, len),
        4 => time::<u32>(backend, payload, len),
        8 => time::<u64>(backend, payload, len),
        _ => time::<u128>(backend, payload, len),
    })
}

/// Nanoseconds of a sort of `len` keys, every bit of them random: the median of a few.
fn time<K: crate::MaskKey<Bits = K> + crate::Word>(backend: &impl Backend, payload: usize, len: usize) -> Result<f64, Error> {
    // Weyl's sequence with a mixing step: no order that a backend could make use of.
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
    // The first one warms up.
    once()?;
    let started = Instant::now();
    let mut times = vec![once()?, once()?];
    while times.len() < MOST && started.elapsed() < PATIENCE {
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

    #[test]
    fn costs_and_shapes_are_changed_apart() -> Result<(), Box<dyn core::error::Error>> {
        let folder = std::env::temp_dir().join(format!("polysort-calibration-{}", std::process::id()));
        let path = folder.join("calibration");
        // Nothing to keep makes no file.
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
        Ok(std::fs::remove_dir_all(folder)?)
    }
}
