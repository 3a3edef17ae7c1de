//! A sort by two keys, and the groups of the first one, all on the device: nothing comes to the host in between.
//!
//! Each particle lies in a cell and has a depth. One submission sorts the particles by cell, finds where each cell begins, and sorts the
//! particles of each cell by depth. `POLYSORT_SOFTWARE_GPU=1` allows an adapter that runs on the CPU.

use polysort::gpu::{Ask, Config, Count, DeviceSorter, RunBuffers, SortBuffer, WgpuBackend, wgpu};
use std::error::Error;

const PARTICLES: u32 = 100_000;
const CELLS: u32 = 500;

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = Config::default();
    config.software = std::env::var_os("POLYSORT_SOFTWARE_GPU").is_some_and(|value| value == "1");
    let backend = WgpuBackend::open_with(config)?;

    let random = |i: u32| i.wrapping_mul(2_654_435_761).rotate_left(11).wrapping_mul(2_246_822_519) >> 8;
    // No particle lies in a cell with an even number.
    let cell_of: Vec<u32> = (0..PARTICLES).map(|i| (random(i) % CELLS) | 1).collect();
    let depth_of: Vec<f32> = (0..PARTICLES).map(|i| random(!i) as f32).collect();

    let cells = SortBuffer::from_slice(&backend, &cell_of)?;
    let depths = SortBuffer::from_slice(&backend, &depth_of)?;
    let count = SortBuffer::from_slice(&backend, &[0_u32])?;
    let offsets = SortBuffer::from_slice(&backend, &vec![0_u32; PARTICLES as usize + 1])?;

    // Once: compiles kernels, and binds the buffers. There are at most as many runs as particles.
    let sorter = DeviceSorter::new(backend.device(), backend.queue())?;
    let by_cell = sorter.prepare_sort_pairs::<u32, f32>(cells.raw(), depths.raw(), Ask::up_to(PARTICLES))?;
    let runs = RunBuffers::counted_in(count.raw()).offsets(offsets.raw());
    let find_cells = sorter.prepare_runs::<u32>(cells.raw(), runs, Ask::up_to(PARTICLES))?;
    let in_cells = Ask::up_to(PARTICLES).segments(offsets.raw(), PARTICLES).counted_by(count.raw(), 0);
    let by_depth = sorter.prepare_sort::<f32>(depths.raw(), in_cells)?;

    // Each frame: only records commands. The last sort takes the number of cells from the device.
    let mut encoder = backend.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    by_cell.record_in(&mut encoder, Count::Fixed(PARTICLES))?;
    find_cells.record_in(&mut encoder, Count::Fixed(PARTICLES))?;
    by_depth.record_in(&mut encoder, Count::OnDevice)?;
    backend.queue().submit([encoder.finish()]);

    // Only to show that it is right.
    let mut particles: Vec<(u32, u32)> = cell_of.into_iter().zip(depth_of).map(|(cell, depth)| (cell, depth as u32)).collect();
    particles.sort_unstable();
    let (cells, depths, count, offsets) = (cells.read()?, depths.read()?, count.read()?[0] as usize, offsets.read()?);
    assert!(cells.iter().zip(depths.iter()).map(|(&cell, &depth)| (cell, depth as u32)).eq(particles.iter().copied()));
    let starts: Vec<u32> = (0..PARTICLES).filter(|&i| i == 0 || particles[i as usize - 1].0 != particles[i as usize].0).collect();
    assert_eq!((&offsets[..count], offsets[count]), (&starts[..], PARTICLES));
    println!("{PARTICLES} particles are in order in {count} cells");
    Ok(())
}
