//! Sorts a file of random `u32` under a memory cap, beside writing and reading the same bytes twice on the same disk.
//!
//! `cargo run --release -p polysort-external --example external_speed FOLDER [MIB] [CAP_MIB] [ROUNDS]`
//!
//! The file has `MIB` MiB: 4096, 16 times the default cap of 256 MiB, unless given. The copies and the sorts take turns. Every result is checked: it is
//! sorted and has the keys of the input. On Linux, the program fails if the peak of its resident memory exceeds the cap by more than 64 MiB.

use polysort_external::{ExternalError, Keys, Sorter};
use polysort_measure::{order, timed};
use polysort_rayon::RayonBackend;
use std::fs::File;
use std::io::{Read, Result, Write};
use std::path::Path;
use std::time::Duration;

/// What a process may use beside the cap.
const SLACK_MIB: usize = 64;

fn main() -> std::result::Result<(), ExternalError> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().expect("a folder");
    let mut number = |default| args.next().map_or(default, |text| text.parse().expect("a number"));
    let (size, cap, rounds): (usize, usize, usize) = (number(4096), number(256), number(3));
    let folder = tempfile::tempdir_in(folder).map_err(ExternalError::Input)?;
    let (input, copy, output) = (folder.path().join("input"), folder.path().join("copy"), folder.path().join("output"));
    let written = write_random(&input, size).map_err(ExternalError::Input)?;
    let mut sorter = Sorter::new(Keys::<u32>::new(), RayonBackend::default()).memory(cap << 20).folder(folder.path());
    println!("round,mib,cap_mib,sort_s,two_copies_s,two_copies_over_sort,peak_mib,verified");
    for round in 0..rounds {
        let (mut copies, mut sort) = (Duration::ZERO, Duration::ZERO);
        for system in order(2, round) {
            let (time, done) = match system {
                0 => timed(|| copy_file(&input, &copy).and_then(|()| copy_file(&copy, &output)).map_err(ExternalError::Output)),
                _ => timed(|| sorter.sort_file(&input, &output).map(|summary| eprintln!("{summary:?}"))),
            };
            done?;
            if system == 0 {
                copies = time;
                continue;
            }
            sort = time;
            let found = checked(&output).map_err(ExternalError::Output)?;
            assert!(found == Some(written), "the output is not sorted, or has other keys than the input");
        }
        let (copies, sort, peak) = (copies.as_secs_f64(), sort.as_secs_f64(), peak_mib());
        let peak_text = peak.map_or("unknown".into(), |peak| peak.to_string());
        println!("{round},{size},{cap},{sort:.2},{copies:.2},{:.2},{peak_text},true", copies / sort);
        assert!(peak.is_none_or(|peak| peak <= cap + SLACK_MIB), "a peak of {peak:?} MiB with a cap of {cap} MiB");
    }
    Ok(())
}

/// The number of keys, their sum, and the sum of their hashes. The order of the keys does not change it.
type Sums = (u64, u64, u64);

fn add((count, sum, hashes): &mut Sums, key: u32) {
    let hash = u64::from(key).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (*count, *sum, *hashes) = (*count + 1, *sum + u64::from(key), hashes.wrapping_add((hash ^ hash >> 29).wrapping_mul(hash)));
}

/// Writes random keys, and returns their sums.
fn write_random(path: &Path, mib: usize) -> Result<Sums> {
    let (mut file, mut state, mut sums) = (File::create(path)?, 1_u64, Sums::default());
    let mut words = vec![0_u32; 1 << 18];
    for _ in 0..mib {
        for word in &mut words {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            *word = (state >> 32) as u32;
            add(&mut sums, *word);
        }
        file.write_all(bytemuck::cast_slice(&words))?;
    }
    file.sync_all()?;
    Ok(sums)
}

/// Returns the sums of the keys of a file; none if they are not sorted.
fn checked(path: &Path) -> Result<Option<Sums>> {
    let (mut file, mut sums, mut last) = (File::open(path)?, Sums::default(), 0);
    let mut words = vec![0_u32; 1 << 18];
    while file.metadata()?.len() / 4 > sums.0 {
        let left = (file.metadata()?.len() / 4 - sums.0).min(words.len() as u64) as usize;
        file.read_exact(bytemuck::cast_slice_mut(&mut words[..left]))?;
        for &word in &words[..left] {
            if word < last {
                return Ok(None);
            }
            last = word;
            add(&mut sums, word);
        }
    }
    Ok(Some(sums))
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

/// The peak of the resident memory of this process, in MiB, on systems that report it.
fn peak_mib() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<usize>().ok()? >> 10)
}
