//! The peak of resident memory, which a process of its own reads from the system.
#![cfg(target_os = "linux")]

use polysort_external::{ByKey, Keys, Layout, Rows, Sorter};
use polysort_rayon::RayonBackend;
use std::io::{Read, Result, Write};
use std::process::Command;

const CAP: usize = 8 << 20;
/// What a process may take besides. A sort that keeps all of its input takes more.
const SLACK: usize = 64 << 20;
/// Bytes of an input.
const INPUT: usize = 10 * CAP;
const _: () = assert!(INPUT > CAP + SLACK);
const CHILD: &str = "POLYSORT_EXTERNAL_CHILD";

/// So many random words of 32 bits, which are made as they are read.
struct Random {
    state: u64,
    left: usize,
}

impl Read for Random {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let words = (bytes.len() / 4).min(self.left);
        for place in bytes[..4 * words].chunks_exact_mut(4) {
            self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            place.copy_from_slice(&((self.state >> 32) as u32).to_ne_bytes());
        }
        self.left -= words;
        Ok(4 * words)
    }
}

/// Counts bytes.
struct Count(usize);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Sorts [`INPUT`] bytes of records, and returns the peak of this process.
fn peak<L: Layout>(layout: L) -> usize {
    let mut output = Count(0);
    let summary =
        Sorter::new(layout, RayonBackend::default()).memory(CAP).sort(Random { state: 1, left: INPUT / 4 }, &mut output).unwrap();
    assert!(output.0 == INPUT && summary.runs > 10, "{summary:?}");
    peak_of_this_process()
}

/// Sorts rows of 1 to `longest` bytes, [`INPUT`] together.
fn peak_of_rows(longest: usize) -> usize {
    let (mut output, mut random, mut word) = (Count(0), Random { state: 1, left: usize::MAX }, [0; 4]);
    let mut left = INPUT;
    let next = |row: &mut Vec<u8>| {
        if left == 0 {
            return Ok(None);
        }
        random.read_exact(&mut word)?;
        let key = u32::from_ne_bytes(word);
        let len = (1 + key as usize % longest).min(left);
        left -= len;
        row.resize(row.len() + len, word[1]);
        Ok(Some(key))
    };
    let summary = Sorter::new(Rows::<u32>::new(), RayonBackend::default()).memory(CAP).sort_rows(next, &mut output).unwrap();
    assert!(output.0 == INPUT && summary.runs > 10, "{summary:?}");
    peak_of_this_process()
}

fn peak_of_this_process() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux reports the peak");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Runs the test of this name in a process of its own, which fails if its peak is too large.
fn in_a_child(test: &str, peak: impl Fn() -> usize) {
    if std::env::var_os(CHILD).is_some() {
        let peak = peak();
        println!("{test}: peak {} KiB", peak >> 10);
        assert!(peak <= CAP + SLACK, "a peak of {peak} bytes with a cap of {CAP}");
        return;
    }
    let child =
        Command::new(std::env::current_exe().unwrap()).args([test, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    println!("{text}");
    assert!(child.status.success() && text.contains("peak"), "{text}{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
fn of_keys() {
    in_a_child("of_keys", || peak(Keys::<u32>::new()));
}

#[test]
fn of_records() {
    in_a_child("of_records", || peak(ByKey::new(|record: &[u64; 4]| (record[0] as u32, record[1] as i64))));
}

#[test]
fn of_short_rows() {
    in_a_child("of_short_rows", || peak_of_rows(40));
}

#[test]
fn of_long_rows() {
    in_a_child("of_long_rows", || peak_of_rows(CAP / 16));
}
