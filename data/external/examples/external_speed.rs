//! Sorts a file of `u32` under a memory cap, beside writing and reading the same bytes twice on the same disk.
//!
//! `cargo run --release -p polysort-external --example external_speed FOLDER [MIB] [CAP_MIB]`

use polysort_external::{ExternalError, Keys, Sorter};
use polysort_rayon::RayonBackend;
use std::fs::File;
use std::io::{Read, Result, Write};
use std::path::Path;
use std::time::Instant;

fn main() -> std::result::Result<(), ExternalError> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("a folder");
    let mut mib = |default| args.next().map_or(default, |mib| mib.parse().expect("a number of MiB"));
    let (size, cap): (usize, usize) = (mib(1024), mib(64));
    let folder = tempfile::tempdir_in(folder).map_err(ExternalError::Input)?;
    let (input, copy, output) = (folder.path().join("input"), folder.path().join("copy"), folder.path().join("output"));
    write_random(&input, size).map_err(ExternalError::Input)?;
    let mut sorter = Sorter::new(Keys::<u32>::new(), RayonBackend::default()).memory(cap << 20).folder(folder.path());
    println!("round,sort_s,two_copies_s,two_copies_over_sort");
    for round in 0..3 {
        let start = Instant::now();
        for (from, to) in [(&input, &copy), (&copy, &output)] {
            copy_file(from, to).map_err(ExternalError::Output)?;
        }
        let copies = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let summary = sorter.sort_file(&input, &output)?;
        let sort = start.elapsed().as_secs_f64();
        println!("{round},{sort:.2},{copies:.2},{:.2}", copies / sort);
        eprintln!("{summary:?}");
    }
    let sorted: Vec<u32> = bytemuck::pod_collect_to_vec(&std::fs::read(&output).map_err(ExternalError::Output)?);
    assert!(sorted.is_sorted() && sorted.len() == size << 18);
    Ok(())
}

fn write_random(path: &Path, mib: usize) -> Result<()> {
    let (mut file, mut state) = (File::create(path)?, 1_u64);
    let mut words = vec![0_u32; 1 << 18];
    for _ in 0..mib {
        for word in &mut words {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            *word = (state >> 32) as u32;
        }
        file.write_all(bytemuck::cast_slice(&words))?;
    }
    file.sync_all()
}

/// Reads and writes 1 MiB at a time, and waits for the disk as `sort_file` does.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let (mut from, mut to, mut bytes) = (File::open(from)?, File::create(to)?, vec![0; 1 << 20]);
    loop {
        match from.read(&mut bytes)? {
            0 => return to.sync_all(),
            count => to.write_all(&bytes[..count])?,
        }
    }
}
