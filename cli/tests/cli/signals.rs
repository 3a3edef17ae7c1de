//! A process that is interrupted leaves no temporary file, and ends by the signal.

use crate::keys::{bytes, keys, sorted_bytes};
use crate::tool::{Place, wait};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIGNALS: [(&str, i32); 3] = [("HUP", 1), ("INT", 2), ("TERM", 15)];

/// How often each signal is sent.
const ROUNDS: u32 = 12;

/// Keys whose result takes some tenths of a second to write as text.
fn place() -> Place {
    let place = Place::with("a.bin", bytes(&keys::<u32>(600_000)));
    place.write("out.csv", "old");
    place
}

fn start(place: &Place) -> Child {
    let mut command = place.command("sort a.bin --dtype u32 -o out.csv");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs")
}

fn send(signal: &str, child: &Child) {
    let kill = Command::new("sh").args(["-c", "kill -s $0 $1", signal, &child.id().to_string()]).status();
    assert!(kill.expect("sh runs").success());
}

/// Whether a temporary file with some content is in a directory.
fn is_writing(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).expect("the directory is there").flatten();
    let mut temporary = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp"));
    // The file may be gone between the two calls.
    temporary.any(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() > 0))
}

#[test]
fn nothing_stays_of_an_interrupted_write() {
    let place = place();
    place.run("sort a.bin --dtype u32 -o expected.csv").ok();
    let expected = place.read("expected.csv");
    // A linear congruential generator gives the same moments in every run of the test, as far as the machine does.
    let mut state = 0x9e37_79b9_u32;
    let (mut longest, mut interrupted_writes) = (Duration::ZERO, 0);
    for (signal, number) in SIGNALS {
        for round in 0..ROUNDS {
            place.write("out.csv", "old");
            let begun = Instant::now();
            let mut child = start(&place);
            // Every second signal comes while the file is written, the others at any moment.
            let is_late = round % 2 == 0;
            while is_late && !is_writing(&place.path(".")) && child.try_wait().expect("it is our child").is_none() {
                std::thread::yield_now();
            }
            let waited = begun.elapsed();
            longest = longest.max(waited);
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let most = if is_late { Duration::from_millis(20) } else { longest * 2 };
            std::thread::sleep(most.mul_f64(f64::from(state) / f64::from(u32::MAX)));
            let was_writing = is_writing(&place.path("."));
            if child.try_wait().expect("it is our child").is_none() {
                send(signal, &child);
            }
            let status = wait(&mut child);
            let output = place.read("out.csv");
            match (status.code(), status.signal()) {
                // It was ready before the signal came.
                (Some(0), None) => assert!(output == expected, "{signal}: the file is complete"),
                (None, Some(killed_by)) => {
                    assert_eq!(killed_by, number);
                    // The signal may come after the file has its name.
                    assert!(output == b"old" || output == expected, "{signal}: half a file");
                    interrupted_writes += u32::from(was_writing && output == b"old");
                }
                ended => panic!("{signal}: {ended:?}"),
            }
            assert_eq!(
                place.files().into_keys().collect::<Vec<_>>(),
                ["a.bin", "expected.csv", "out.csv"],
                "{signal} after {waited:?}"
            );
        }
    }
    assert!(
        interrupted_writes >= ROUNDS / 2,
        "only {interrupted_writes} signals came while the file was written: write a larger one"
    );
}

/// `nohup` and a shell that starts a process in the background make it ignore signals.
#[test]
fn an_ignored_signal_stays_ignored() {
    let place = place();
    let least = u32::from_le_bytes(sorted_bytes(&keys::<u32>(600_000), false)[..4].try_into().expect("four bytes"));
    for (signal, _) in SIGNALS {
        place.write("out.csv", "old");
        let script = format!("trap '' {signal}; exec \"$0\" sort a.bin --dtype u32 -o out.csv");
        let mut child = place.script(&script).stderr(Stdio::piped()).spawn().expect("sh runs");
        while !is_writing(&place.path(".")) {
            assert!(child.try_wait().expect("it is our child").is_none(), "it ended before it wrote");
        }
        send(signal, &child);
        let (status, mut said) = (wait(&mut child), String::new());
        child.stderr.take().expect("it was asked for").read_to_string(&mut said).expect("messages are text");
        assert_eq!((status.code(), &*said), (Some(0), ""), "{signal}");
        let first = place.read("out.csv").iter().take_while(|byte| **byte != b'\n').copied().collect::<Vec<_>>();
        assert_eq!(String::from_utf8_lossy(&first), least.to_string());
    }
}
