//! Sorts within a memory cap whose memory is measured, which are killed, which run side by side, or whose files fail.

use crate::keys::{bytes, keys, sorted_bytes};
use crate::tool::{PATIENCE, Place, wait};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const LEN: usize = 1_200_000;
const SORT: &str = "sort a.bin --dtype u32 -o out.bin --memory 1M --temp spill";

fn place() -> Place {
    let place = Place::with("a.bin", bytes(&keys::<u32>(LEN)));
    fs::create_dir(place.path("spill")).expect("a directory");
    place.write("out.bin", "old");
    place
}

pub(crate) fn start(place: &Place, args: &str) -> Child {
    let mut command = place.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

/// The names in the folder of spill files, and the temporary outputs.
fn left_over(place: &Place) -> Vec<String> {
    let names = |folder: PathBuf| fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.file_name());
    let outputs = names(place.path(".")).filter(|name| name.to_string_lossy().ends_with(".tmp"));
    names(place.path("spill")).chain(outputs).map(|name| name.to_string_lossy().into_owned()).collect()
}

/// The number of temporary outputs with some content.
fn outputs_in_work(place: &Place) -> usize {
    let entries = fs::read_dir(place.path(".")).expect("it is there").flatten();
    let outputs = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
    outputs.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() > 0)).count()
}

/// Whether the output is being written, which is after all runs were spilled.
fn is_merging(place: &Place) -> bool {
    outputs_in_work(place) > 0
}

/// A process that is killed leaves no spill file, and no part of an output under its name; then the sort succeeds.
#[test]
fn kills_at_ten_moments() {
    let place = place();
    let begun = Instant::now();
    place.run(&SORT.replace("out.bin", "expected.bin")).ok();
    let (whole, expected) = (begun.elapsed(), place.read("expected.bin"));
    assert!(expected == sorted_bytes(&keys::<u32>(LEN), false));
    // A linear congruential generator gives the same moments in every run of the test, as far as the machine does.
    let (mut state, mut killed) = (0x9e37_79b9_u32, 0);
    for round in 0..10 {
        let (signal, number) = if round % 2 == 0 { ("KILL", 9) } else { ("TERM", 15) };
        place.write("out.bin", "old");
        let mut child = start(&place, SORT);
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        std::thread::sleep(whole.mul_f64(f64::from(state) / f64::from(u32::MAX)));
        let mut kill = Command::new("sh");
        kill.args(["-c", "kill -s $0 $1", signal, &child.id().to_string()]).stderr(Stdio::null());
        kill.status().expect("sh runs");
        let status = wait(&mut child);
        let output = place.read("out.bin");
        match (status.code(), status.signal()) {
            (Some(0), None) => assert!(output == expected, "{signal}: the file is complete"),
            (None, Some(by)) => {
                assert_eq!(by, number);
                assert!(output == b"old" || output == expected, "{signal}: half a file");
                killed += 1;
            }
            ended => panic!("{signal}: {ended:?}"),
        }
        let left = left_over(&place);
        // No program can remove its files when it is killed. The spill file has no name, so the system removes it.
        assert!(left.is_empty() || signal == "KILL" && left.len() == 1 && left[0].ends_with(".tmp"), "{signal}: {left:?}");
        for name in left {
            fs::remove_file(place.path(&name)).expect("it is there");
        }
    }
    assert!(killed > 2, "only {killed} of 10 were killed before they ended");
    place.run(SORT).ok();
    assert!(place.read("out.bin") == expected);
}

/// Two processes spill into one folder and write one output. The output is that of one of them, whole.
#[test]
fn two_at_a_time_leave_one_whole_output() {
    const ROUNDS: usize = 10;
    let place = place();
    let all = keys::<u32>(700_000);
    // Inputs that are larger than the cap. They share no key, and have different lengths.
    let expected = [("a.bin", &all[..400_000], 0), ("b.bin", &all[400_000..], 1)].map(|(name, part, lowest_bit)| {
        let part: Vec<u32> = part.iter().map(|key| key & !1 | lowest_bit).collect();
        place.write(name, bytes(&part));
        sorted_bytes(&part, false)
    });
    let mut rounds_side_by_side = 0;
    for round in 0..ROUNDS {
        // The file is replaced in every second round, and new in the others.
        match round % 2 {
            0 => place.write("out.bin", "old"),
            _ => fs::remove_file(place.path("out.bin")).expect("it is there"),
        }
        let mut inputs = ["a.bin", "b.bin"];
        inputs.rotate_left(round / 2 % 2);
        let mut running = inputs.map(|input| start(&place, &SORT.replace("a.bin", input)));
        let (begun, mut most) = (Instant::now(), 0);
        while running.iter_mut().any(|child| child.try_wait().expect("it is our child").is_none()) && begun.elapsed() < PATIENCE {
            most = most.max(outputs_in_work(&place));
            std::thread::sleep(Duration::from_micros(100));
        }
        rounds_side_by_side += usize::from(most == 2);
        for child in &mut running {
            let (status, mut said) = (wait(child), String::new());
            child.stderr.take().expect("it was asked for").read_to_string(&mut said).expect("messages are text");
            assert_eq!((status.code(), &*said), (Some(0), ""), "round {round}");
        }
        assert!(expected.contains(&place.read("out.bin")), "round {round}: the output is that of neither");
        assert!(left_over(&place).is_empty(), "round {round}: {:?}", left_over(&place));
    }
    assert!(rounds_side_by_side > 0, "two outputs were never written at the same time: sort longer inputs");
}

/// The largest resident memory of a process, asked for until it ends.
#[cfg(target_os = "linux")]
pub(crate) fn peak(mut child: Child) -> usize {
    let (mut peak, begun) = (0, Instant::now());
    while child.try_wait().expect("it is our child").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(peak_kib) = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok()) {
            peak = peak.max(peak_kib << 10);
        }
        assert!(begun.elapsed() < PATIENCE, "it hangs");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut said = String::new();
    child.stderr.take().expect("it was asked for").read_to_string(&mut said).expect("messages are text");
    assert_eq!((child.wait().expect("it has ended").code(), &*said), (Some(0), ""));
    peak
}

/// The whole process, not the sort alone, for inputs of 10 times the cap: a run that holds all of its input takes more than it may.
#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_memory_is_within_the_cap_and_64_mib() {
    const CAP: usize = 8 << 20;
    const MOST: usize = CAP + (64 << 20);
    const INPUT: usize = 10 * CAP;
    const _: () = assert!(INPUT > MOST);
    let place = place();
    let numbers = keys::<u64>(INPUT / 8);
    place.write("a.bin", bytes(&numbers));
    // Each row has at least 192 bytes.
    let rows = numbers[..INPUT / 192].iter().map(|key| format!("{},{:>190}\n", key >> 40, key % 1000));
    place.write("t.csv", format!("k,v\n{}", rows.collect::<String>()));
    for (i, part) in numbers.chunks(numbers.len() / 4).enumerate() {
        let mut part = part.to_vec();
        part.sort_unstable();
        place.write(&format!("{i}.bin"), bytes(&part));
    }
    for args in [
        "sort a.bin --dtype u64 -o out.bin",
        "sort t.csv --column k -o out.csv",
        "merge 0.bin 1.bin 2.bin 3.bin --dtype u64 -o out.bin",
    ] {
        let peak = peak(start(&place, &format!("{args} --memory 8M --temp spill")));
        assert!(peak > CAP / 2 && peak <= MOST, "{args}: a peak of {} MiB", peak >> 20);
        assert!(left_over(&place).is_empty(), "{args}");
    }
}

/// A limit on the size of files makes the write of the spill file fail, as a full disk does.
#[test]
fn a_full_disk_is_an_error() {
    let place = place();
    let before = place.files();
    for (blocks, words) in
        [(64, "a spill file in spill could not be written"), (3000, "a spill file in spill could not be written")]
    {
        let ran = place.shell(&format!("ulimit -f {blocks}; trap '' XFSZ; polysort {SORT}"));
        assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("polysort: cannot sort a.bin: ") && ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.stderr.contains("is there room in the folder"), "{}", ran.stderr);
        assert!(place.files() == before && left_over(&place).is_empty());
    }
    if cfg!(target_os = "linux") {
        let ran = place.run(&SORT.replace("out.bin", "/dev/full"));
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.starts_with("polysort: cannot write /dev/full: "), "{}", ran.stderr);
        let ran = place.run(&SORT.replace("--temp spill", "--temp /proc"));
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.starts_with("polysort: cannot create spill files in /proc: name another folder"), "{}", ran.stderr);
        assert!(place.files() == before && left_over(&place).is_empty());
    }
}

/// Another program can cut off a spill file through the list of open files, though the file has no name.
#[test]
#[cfg(target_os = "linux")]
fn a_spill_file_that_loses_its_end_is_an_error() {
    let place = place();
    let before = place.files();
    let mut child = start(&place, SORT);
    while !is_merging(&place) {
        assert!(child.try_wait().expect("it is our child").is_none(), "it ended before it merged");
    }
    let files = fs::read_dir(format!("/proc/{}/fd", child.id())).expect("it runs").flatten().map(|entry| entry.path());
    let mut spilled = files.filter(|path| fs::read_link(path).is_ok_and(|target| target.to_string_lossy().contains("/spill/")));
    let file = fs::OpenOptions::new().write(true).open(spilled.next().expect("a spill file is open")).expect("it is ours");
    file.set_len(1).expect("it can be cut");
    let (status, mut said) = (wait(&mut child), String::new());
    child.stderr.take().expect("it was asked for").read_to_string(&mut said).expect("messages are text");
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.starts_with("polysort: cannot sort a.bin: a spill file in spill could not be read: "), "{said}");
    assert!(place.files() == before && left_over(&place).is_empty());
}

/// The input of a sort that writes to a pipe that is closed.
#[test]
fn a_closed_pipe_ends_the_program() {
    let place = place();
    let ran = place.shell("(polysort sort a.bin --dtype u32 --memory 1M --temp spill; echo $? >status) | head -c 100 >/dev/null");
    assert_eq!(ran.stderr, "");
    assert_eq!(place.read("status"), b"141\n");
    assert!(left_over(&place).is_empty());
}
