//! Measures sorts of host slices on several devices at once, beside each device alone.
//!
//! ```sh
//! cargo build --release -p polysort-benches --features gpu --bin multi
//! target/release/multi --devices 0,cpu --keys 28,30,31 --pairs 29 --csv record.csv
//! target/release/multi --devices 0,1 --beside cpu --keys 28,30,31 --pairs 29 --csv record.csv
//! ```
//!
//! The systems of a case take turns, after warm-up runs. The answer of each run is compared with that of the CPU backend. Systems:
//!
//! | backend | what it is |
//! |---|---|
//! | `alone N` | device `N` alone, by its host calls; the devices of `--beside` come after those of `--devices` |
//! | `multi equal` | all devices, with equal speeds |
//! | `multi all` | all devices, each with a share by its speed alone |
//! | `multi chosen` | the devices that are done first by the speeds that two runs of `multi all` have shown; maybe one |
//! | `copy` of the system `memory` | a copy of as many bytes as the input has, by all threads |
//!
//! Devices that work at the same time share the memory of the host, so that a device may have a lower speed than alone.
//!
//! Rows with the scope `phase` belong to `multi all`: `part N` is the time of device `N` for its part, and `merge` that of the merge on the CPU. At the end, the
//! program destroys the first GPU in the middle of a sort, and checks the answer.

use anyhow::{Context, Error, Result, ensure};
use clap::Parser;
use polysort::gpu::WgpuBackend;
use polysort::multi::Speeds;
use polysort::{Backend, DynBackend, MultiBackend, RayonBackend, Sort};
use polysort_benches::machine::describe_machine;
use polysort_measure::{Cell, Effort, Row, Series, Trial, append, run_name, split_mix, take_turns, timed};
use rayon::prelude::*;
use std::path::PathBuf;
use std::time::Duration;

/// Measures sorts of host slices on several devices at once, beside each device alone.
#[derive(Parser)]
struct Args {
    /// The devices, separated by commas: indices of adapters, parts of their names, or `cpu`.
    #[arg(long)]
    devices: String,
    /// Devices that are measured alone only.
    #[arg(long, default_value = "")]
    beside: String,
    /// The sizes of sorts of u32 keys: powers of two.
    #[arg(long, value_delimiter = ',')]
    keys: Vec<u32>,
    /// The sizes of sorts of u32 keys with u32 values: powers of two.
    #[arg(long, value_delimiter = ',')]
    pairs: Vec<u32>,
    /// The timed runs of each system.
    #[arg(long, default_value_t = 5)]
    reps: usize,
    /// The record to write. A text with the machine is written beside it.
    #[arg(long)]
    csv: PathBuf,
    /// The commit of the sources, for the text.
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// Do not destroy a device at the end.
    #[arg(long)]
    keep: bool,
}

/// The elements that a thread fills, copies or compares at a time.
const CHUNK: usize = 1 << 20;

/// A system of a case: a name, and a backend, or `None` for the copy of memory.
struct System {
    name: &'static str,
    backend: Option<DynBackend>,
}

/// The slices of a case.
struct Data {
    input: Vec<u32>,
    keys: Vec<u32>,
    expected: Vec<u32>,
    /// Values, if there are any: the index of each key; and where they belong.
    values: Option<(Vec<u32>, Vec<u32>)>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    ensure!(args.reps > 0, "--reps must be at least 1");
    // The CPU takes all threads.
    let (devices, beside) = (open(&args.devices)?, open(&args.beside)?);
    let devices = Devices { together: devices.len(), all: [devices, beside].concat() };
    for (index, device) in devices.all.iter().enumerate() {
        println!("device {index}: {}", device.name());
    }
    ensure!(devices.all.len() <= NAMES.len(), "at most {} devices are measured", NAMES.len());
    let mut text = Vec::new();
    describe_machine(&mut text, &args.commit)?;
    let names = |devices: &[DynBackend]| devices.iter().map(Backend::name).collect::<Vec<_>>().join(" + ");
    text.extend(format!("Devices: {}\n", names(devices.together())).bytes());
    if devices.all.len() > devices.together {
        text.extend(format!("Beside them: {}\n", names(&devices.all[devices.together..])).bytes());
    }
    std::fs::write(args.csv.with_extension("txt"), text)?;
    let run = run_name();
    std::fs::write(&args.csv, "")?;
    let cases = args.keys.iter().map(|&bits| (bits, false)).chain(args.pairs.iter().map(|&bits| (bits, true)));
    for (bits, with_values) in cases {
        // After each case, so that a run that is cut off leaves what it has measured.
        append(&args.csv, &case(&run, &devices, 1 << bits, with_values, args.reps)?)?;
    }
    if !args.keep {
        lose(devices.together())?;
    }
    Ok(())
}

const NAMES: [(&str, &str); 8] = [
    ("alone 0", "part 0"),
    ("alone 1", "part 1"),
    ("alone 2", "part 2"),
    ("alone 3", "part 3"),
    ("alone 4", "part 4"),
    ("alone 5", "part 5"),
    ("alone 6", "part 6"),
    ("alone 7", "part 7"),
];

/// The devices that are measured.
struct Devices {
    /// Those that sort together come first.
    all: Vec<DynBackend>,
    /// How many sort together.
    together: usize,
}

impl Devices {
    fn together(&self) -> &[DynBackend] {
        &self.all[..self.together]
    }
}

/// Opens the devices of a list.
fn open(devices: &str) -> Result<Vec<DynBackend>> {
    let names = devices.split(',').map(str::trim).filter(|device| !device.is_empty());
    let open = |device| match device {
        "cpu" => Ok(DynBackend::new(RayonBackend::default())),
        adapter => gpu(adapter).with_context(|| format!("cannot open {adapter}")),
    };
    names.map(open).collect()
}

fn gpu(adapter: &str) -> Result<DynBackend> {
    let mut config = polysort::gpu::Config::from_env();
    config.adapter = adapter.into();
    // The systems take turns with calls of different lengths: none shall pay for memory that a call before it has freed.
    config.memory.kept = 64 << 30;
    Ok(DynBackend::new(WgpuBackend::open_with(config)?))
}

/// Measures one case, and returns the rows of its systems and phases.
fn case(run: &str, devices: &Devices, n: usize, with_values: bool, reps: usize) -> Result<Vec<Row>> {
    let mut data = Data::random(n, with_values)?;
    let cell = Cell {
        op: if with_values { "sort_pairs" } else { "sort" }.into(),
        key: "u32".into(),
        payload: if with_values { "u32" } else { "none" }.into(),
        pattern: "uniform".into(),
        n,
        threads: Some(rayon::current_num_threads()),
        order: "asc".into(),
        scope: "end_to_end".into(),
    };
    println!("\n{} of 2^{} {}", cell.op, n.ilog2(), if with_values { "u32 with u32" } else { "u32" });
    // Warm-up: each device alone, twice. The second run shows its speed.
    let mut speeds = vec![];
    for device in &devices.all {
        data.run(Some(device))?;
        let time = data.run(Some(device))?;
        ensure!(data.is_right(), "{} sorts wrongly", device.name());
        speeds.push(data.bytes() as f64 / time.as_secs_f64());
    }
    let multi = MultiBackend::new(devices.together().iter().cloned())?;
    let in_gb = |speeds: &[f64]| speeds.iter().map(|speed| speed / 1e9).collect::<Vec<_>>();
    println!("speeds in GB/s, each device alone: {:.1?}", in_gb(&speeds));
    speeds.truncate(devices.together);
    let speeds = Speeds::new(speeds, f64::INFINITY);
    let by_speed = || MultiBackend::new(devices.together().iter().cloned())?.with_speeds(speeds.clone());
    // The first two runs also take memory that later ones find.
    let (first, all) = (by_speed()?, by_speed()?);
    for backend in [&multi, &multi, &first, &first, &all, &all] {
        data.run(Some(&DynBackend::new(backend.clone())))?;
    }
    let shown = all.report().speeds().context("a device had no part")?;
    println!("together: {:.1?}, merge {:.1}", in_gb(&shown.devices), shown.merge / 1e9);
    let chosen = multi.clone().with_speeds(shown)?;
    let system = |name, backend: Option<DynBackend>| System { name, backend };
    let mut systems: Vec<System> =
        devices.all.iter().zip(NAMES).map(|(device, (name, _))| system(name, Some(device.clone()))).collect();
    systems.push(system("multi equal", Some(DynBackend::new(multi))));
    systems.push(system("multi all", Some(DynBackend::new(all.clone()))));
    systems.push(system("multi chosen", Some(DynBackend::new(chosen))));
    systems.push(system("copy", None));
    let mut phases = vec![vec![]; devices.together + 1];
    let mut series = vec![Series::default(); systems.len()];
    take_turns(&mut series, Effort::rounds(0, reps), |at| -> Result<Trial> {
        let (System { name, backend }, before) = (&systems[at], all.report());
        let time = data.run(backend.as_ref())?;
        if *name == "multi all" {
            let after = all.report();
            for (phase, (after, before)) in phases.iter_mut().zip(after.devices.iter().zip(&before.devices)) {
                phase.push(after.time - before.time);
            }
            phases[devices.together].push(after.merge_time - before.merge_time);
        }
        Ok(Trial::new(time, backend.is_none() || data.is_right()))
    });
    let mut rows = vec![];
    for (System { name, backend }, series) in systems.iter().zip(series) {
        series.completed().map_err(Error::msg).context(*name)?;
        let system = if backend.is_some() { "polysort" } else { "memory" };
        rows.push(Row::new(run, (system, name), &cell, &series.ranked(), 1, series.is_verified()));
    }
    let cell = Cell { scope: "phase".into(), ..cell };
    let names = NAMES.map(|(_, part)| part).into_iter().take(devices.together).chain(["merge"]);
    for (times, name) in phases.into_iter().zip(names) {
        rows.push(Row::new(run, ("polysort", name), &cell, &times.into_iter().collect(), 1, true));
    }
    for Row { backend, times, verified, .. } in &rows {
        println!("  {backend:<14}{:>10.1} ms   verified {verified}", times[0] as f64 / 1e6);
    }
    Ok(rows)
}

impl Data {
    /// Random keys, and the answer of the CPU backend.
    fn random(n: usize, with_values: bool) -> Result<Self> {
        let mut input = vec![0_u32; n];
        input.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, keys)| {
            for (index, key) in keys.iter_mut().enumerate() {
                *key = split_mix((chunk * CHUNK + index) as u64 + 0x1234_5678) as u32;
            }
        });
        let (keys, mut expected) = (input.clone(), input.clone());
        let mut order: Option<Vec<u32>> = with_values.then(|| (0..n as u32).into_par_iter().collect());
        match &mut order {
            Some(order) => RayonBackend::default().sort_pairs(&mut expected, order)?,
            None => RayonBackend::default().sort(&mut expected)?,
        }
        RayonBackend::release_scratch();
        Ok(Self { input, keys, expected, values: order.map(|order| (vec![0; n], order)) })
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.input) * if self.values.is_some() { 2 } else { 1 }
    }

    /// Sorts a copy of the input, and returns the time of the sort. Without a backend, returns the time of the copy.
    fn run(&mut self, backend: Option<&DynBackend>) -> Result<Duration> {
        let shares = self.keys.par_chunks_mut(CHUNK).zip(self.input.par_chunks(CHUNK));
        let (copied, ()) = timed(|| shares.for_each(|(to, from)| to.copy_from_slice(from)));
        if let Some((values, _)) = &mut self.values {
            values.par_iter_mut().enumerate().for_each(|(index, value)| *value = index as u32);
        }
        let Some(backend) = backend else { return Ok(copied) };
        let (time, sorted) = timed(|| match &mut self.values {
            Some((values, _)) => backend.sort_pairs(&mut self.keys, values),
            None => backend.sort(&mut self.keys),
        });
        sorted?;
        Ok(time)
    }

    fn is_right(&self) -> bool {
        let is_equal = |a: &[u32], b: &[u32]| a.par_chunks(CHUNK).eq(b.par_chunks(CHUNK));
        is_equal(&self.keys, &self.expected) && self.values.as_ref().is_none_or(|(values, order)| is_equal(values, order))
    }
}

/// Destroys the first GPU in the middle of a sort, and checks the answers of that sort and of the next one.
fn lose(devices: &[DynBackend]) -> Result<()> {
    let Some(gpu) = devices.iter().find_map(|device| device.downcast_ref::<WgpuBackend>().cloned()) else {
        println!("\nno device is destroyed: none is a GPU");
        return Ok(());
    };
    let multi = MultiBackend::new(devices.iter().cloned())?;
    let mut data = Data::random(1 << 27, true)?;
    let backend = DynBackend::new(multi.clone());
    let usual = data.run(Some(&backend))?;
    let time = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(usual / 4);
            gpu.device().destroy();
        });
        data.run(Some(&backend))
    })?;
    ensure!(data.is_right(), "a device was destroyed, and the answer is wrong");
    println!("\n2^27 pairs: {usual:.1?}; with {} destroyed in the middle: {time:.1?}, and the answer is right", gpu.name());
    println!("  {:?}", multi.report().devices);
    let next = data.run(Some(&backend))?;
    ensure!(data.is_right(), "after the loss, the answer is wrong");
    println!("  the next sort: {next:.1?}, and the answer is right; {:?}", multi.report().devices);
    Ok(())
}
