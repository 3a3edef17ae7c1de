//! `calibrate`, and what `devices` makes of it.

use crate::tool::{PATIENCE, Place, wait};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs the binary with its calibration in a file of the place.
fn run(place: &Place, args: &str, file: &str) -> (i32, String, String) {
    run_command(place.command(args), place, file)
}

fn run_command(mut command: Command, place: &Place, file: &str) -> (i32, String, String) {
    let output = command.env("POLYSORT_CALIBRATION", place.path(file)).output().expect("the binary runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.code().expect("it was not killed"), text(output.stdout), text(output.stderr))
}

#[test]
fn what_is_measured_is_what_auto_chooses_by() {
    let place = Place::new();
    let (_, before, _) = run(&place, "devices", "in/here/calibration");
    assert!(before.contains("by the built-in table"), "{before}");
    let (code, out, errors) = run(&place, "calibrate --budget 2", "in/here/calibration");
    assert_eq!((code, &*errors), (0, ""), "{out}");
    assert!(out.contains("measuring rayon") && out.contains("as measured on this machine"), "{out}");
    let text = String::from_utf8(place.read("in/here/calibration")).expect("text");
    assert!(text.starts_with("polysort calibration 1\n"), "{text}");
    let (_, after, _) = run(&place, "devices", "in/here/calibration");
    assert!(after.contains("as measured on this machine"), "{after}");
    // The numbers are those of the file.
    let cores = text.lines().find_map(|line| line.strip_prefix("cores 4 0 ")).expect("a line for keys of 4 bytes");
    let few: f64 = cores.split(' ').next().and_then(|cost| cost.parse().ok()).expect("a number");
    assert!(after.contains(&format!("{:.0} us for 2^10 keys", few / 1000.0)), "{after}{text}");
    // A sort works with it.
    place.write("a.bin", [3, 1, 2]);
    assert_eq!(run(&place, "sort a.bin --dtype u8 -o a.bin", "in/here/calibration").0, 0);
    assert_eq!(place.read("a.bin"), [1, 2, 3]);
}

#[test]
fn tuned_shapes_stay_when_costs_are_measured() {
    let tuned = "tuned 1 0 384 14 4 wgpu A card (Vulkan)\ntuned 2 1 512 10 2 wgpu A card (Vulkan)\n";
    let place = Place::with("calibration", format!("polysort calibration 1\n{tuned}"));
    // Shapes are no costs, and the shapes of another device do not count.
    let (code, before, errors) = run(&place, "devices", "calibration");
    assert_eq!((code, &*errors), (0, ""));
    assert!(before.contains("by the built-in table") && !before.contains("as tuned"), "{before}");
    assert_eq!(run(&place, "calibrate --budget 1", "calibration").0, 0);
    let text = String::from_utf8(place.read("calibration")).expect("text");
    assert!(text.starts_with("polysort calibration 1\nthreads ") && text.ends_with(tuned), "{text}");
    assert!(run(&place, "devices", "calibration").1.contains("as measured on this machine"));
}

#[test]
fn a_file_that_is_no_calibration_is_passed_over() {
    for text in ["polysort calibration 1\nthreads many\n", "polysort calibration 1\ntuned 1 0 0 0 0 wgpu A card\n"] {
        let place = Place::with("calibration", text);
        let (code, out, _) = run(&place, "devices", "calibration");
        assert_eq!(code, 0);
        assert!(out.contains("by the built-in table"), "{out}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let place = Place::with("file", "");
    let (code, out, errors) = run(&place, "calibrate", "file/calibration");
    // It is found before anything is measured.
    assert_eq!((code, &*out), (2, ""));
    assert!(names_the_file(&errors, &place, "file/calibration"), "{errors}");
}

/// Whoever sets the path may name any file.
#[test]
fn no_other_file_is_changed() {
    let place = Place::with("foo.new", "mine");
    for other in ["foo.tmp", "foo", "foo.bar.new"] {
        place.write(other, "mine too");
    }
    let before = place.files();
    assert_eq!(run(&place, "calibrate --budget 1", "foo.bar").0, 0);
    let mut after = place.files();
    assert!(after.remove("foo.bar").is_some_and(|text| text.starts_with(b"polysort calibration ")));
    assert_eq!(after, before);
    // Nor a file that is no calibration, which is found before anything is measured.
    let (code, out, errors) = run(&place, "calibrate", "foo.new");
    assert_eq!((code, &*out), (2, ""));
    assert!(errors.contains("foo.new is no calibration and is not replaced"), "{errors}");
    assert_eq!(place.read("foo.new"), b"mine");
}

#[test]
fn several_at_a_time_leave_one_whole_file() {
    let place = Place::new();
    let start = |_| {
        let mut command = place.command("calibrate --budget 0.5");
        command.env("POLYSORT_CALIBRATION", place.path("calibration")).stdout(Stdio::null()).spawn().expect("the binary runs")
    };
    let mut running: Vec<_> = (0..4).map(start).collect();
    assert!(running.iter_mut().all(|child| wait(child).success()));
    assert_eq!(place.files().into_keys().collect::<Vec<_>>(), ["calibration"]);
    assert!(run(&place, "devices", "calibration").1.contains("as measured on this machine"));
}

#[test]
fn the_budget_ends_the_measurement() {
    let place = Place::new();
    let begun = Instant::now();
    let (code, out, errors) = run(&place, "calibrate --budget 0.6", "calibration");
    let elapsed = begun.elapsed();
    assert_eq!((code, &*errors), (0, ""), "{out}");
    assert!(out.contains(", for at most 0.6 s\n") && out.contains(": stopped after ") && out.contains("stored in "), "{out}");
    assert!(run(&place, "devices", "calibration").1.contains("as measured on this machine"));
    assert!(elapsed < PATIENCE / 6, "{elapsed:?}");
    for budget in ["-1", "nan", "1e30", "soon"] {
        let (code, _, errors) = run(&place, &format!("calibrate --budget={budget}"), "calibration");
        assert_eq!(code, 2);
        assert!(errors.contains("give a number of seconds"), "{errors}");
    }
}

/// Whether an error of `calibrate` is one line with the path of the file.
fn names_the_file(said: &str, place: &Place, file: &str) -> bool {
    let path = place.path(file).display().to_string();
    said.starts_with("polysort: cannot store the calibration: ") && said.contains(&path) && said.lines().count() == 1
}

/// Modes do not hold for root, so another user runs the binary if this process is root's.
#[test]
#[cfg(unix)]
fn what_modes_do_not_allow_is_an_error() {
    let place = Place::with("a.bin", [3, 1, 2]);
    assert_eq!(run(&place, "calibrate --budget 0.1", "calibration").0, 0);
    let old = place.read("calibration");
    let is_root = place.is_root();
    let run = |args: &str, file: &str| {
        run_command(if is_root { place.command_of_nobody(args) } else { place.command(args) }, &place, file)
    };
    for folder in ["open", "closed"] {
        fs::create_dir(place.path(folder)).expect("a folder");
    }
    for (file, mode) in [("open/read-only", 0o444), ("open/unreadable", 0), ("closed/calibration", 0o644)] {
        place.write(file, &old);
        place.set_mode(file, mode);
    }
    for (folder, mode) in [(".", 0o755), ("open", 0o777), ("closed", 0o555)] {
        place.set_mode(folder, mode);
    }
    // A process that may write a folder may replace a read-only file in it.
    let cases = [
        ("open/read-only", None, "as measured on this machine"),
        ("open/unreadable", Some("cannot be read: "), "by the built-in table"),
        ("closed/calibration", Some("no file can be created in "), "as measured on this machine"),
        ("closed/new", Some("no file can be created in "), "by the built-in table"),
        ("closed/in/here", Some("no file can be created in "), "by the built-in table"),
    ];
    for (file, refused, costs) in cases {
        let (code, out, said) = run("calibrate --budget 0.1", file);
        match refused {
            None => assert_eq!((code, &*said), (0, ""), "{file}"),
            Some(why) => {
                // It is found before anything is measured.
                assert_eq!((code, &*out), (2, ""), "{file}: {said}");
                assert!(names_the_file(&said, &place, file) && said.contains(why), "{file}: {said}");
            }
        }
        let (code, out, said) = run("sort a.bin --dtype u8", file);
        assert_eq!((code, out.as_bytes(), &*said), (0, &[1, 2, 3][..], ""), "{file}");
        assert!(run("devices", file).1.contains(costs), "{file}");
    }
    // This process may be unable to read or remove the files otherwise.
    place.set_mode("open/unreadable", 0o600);
    place.set_mode("closed", 0o755);
    assert!(place.read("open/read-only") != old, "it is replaced");
    assert!(place.read("open/unreadable") == old && place.read("closed/calibration") == old, "they are kept");
    for (folder, count) in [("open", 2), ("closed", 1)] {
        assert_eq!(fs::read_dir(place.path(folder)).expect("it is there").count(), count, "{folder}");
    }
}

/// A limit on the size of files makes the write fail at its first byte or half way, as a full disk does.
#[test]
#[cfg(unix)]
fn a_write_that_fails_keeps_what_is_stored() {
    let place = Place::with("a.bin", [3, 1, 2]);
    assert_eq!(run(&place, "calibrate --budget 0.1", "calibration").0, 0);
    let before = place.files();
    // A block has 512 bytes, and the file about 900.
    for blocks in [0, 1] {
        for file in ["calibration", "new"] {
            let script = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" calibrate --budget 0.1");
            let (code, out, said) = run_command(place.script(&script), &place, file);
            assert_eq!(code, 2, "{blocks} {file}: {out}");
            assert!(names_the_file(&said, &place, file) && said.contains("cannot be written: "), "{blocks} {file}: {said}");
            assert!(place.files() == before, "{blocks} {file}: {:?}", place.files().keys());
        }
    }
    let (code, out, said) = run(&place, "sort a.bin --dtype u8", "calibration");
    assert_eq!((code, out.as_bytes(), &*said), (0, &[1, 2, 3][..], ""));
    assert!(run(&place, "devices", "calibration").1.contains("as measured on this machine"));
}

/// Nothing that the path may name makes a sort wait, fail or read without end.
#[test]
#[cfg(unix)]
fn a_sort_does_not_wait_for_the_calibration() {
    let place = Place::with("a.bin", [3, 1, 2]);
    let made = Command::new("mkfifo").arg(place.path("fifo")).status();
    assert!(made.expect("mkfifo runs").success());
    fs::create_dir(place.path("folder")).expect("a folder");
    let huge = fs::File::create(place.path("huge")).expect("a file");
    huge.set_len(1 << 40).expect("a sparse file");
    place.write("other", [0xff; 100]);
    std::os::unix::fs::symlink("fifo", place.path("link")).expect("a link");
    std::os::unix::fs::symlink("nothing", place.path("dangling")).expect("a link");
    let listed = [
        ("fifo", false),
        ("folder", false),
        ("huge", false),
        ("other", false),
        ("link", false),
        ("dangling", true),
        ("/dev/zero", false),
        ("/dev/full", false),
        ("/dev/tty", false),
    ];
    for (path, is_free) in listed {
        let start = |args: &str| {
            let mut command = place.command(args);
            command
                .env("POLYSORT_CALIBRATION", place.path(path))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            command.spawn().expect("the binary runs")
        };
        let mut sort = start("sort a.bin --dtype u8 -o b.bin");
        assert!(wait(&mut sort).success(), "{path}");
        assert_eq!(place.read("b.bin"), [1, 2, 3], "{path}");
        assert!(wait(&mut start("devices")).success(), "{path}");
        let mut calibrate = start("calibrate --budget 0.1");
        assert_eq!(wait(&mut calibrate).code(), Some(if is_free { 0 } else { 2 }), "{path}");
        let said = std::io::read_to_string(calibrate.stderr.take().expect("it was asked for")).expect("messages are text");
        assert_eq!(said.is_empty(), is_free, "{path}: {said}");
        assert!(is_free || names_the_file(&said, &place, path), "{path}: {said}");
    }
    assert_eq!(fs::read_link(place.path("link")).expect("it is a link").to_str(), Some("fifo"));
    assert_eq!((place.read("other"), fs::metadata(place.path("huge")).expect("it is there").len()), (vec![0xff; 100], 1 << 40));
}
