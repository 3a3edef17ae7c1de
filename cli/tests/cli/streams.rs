//! Standard output, descriptors, links, pipes and devices: each is written as the shell directed it.

use crate::tool::{Place, wait};
use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const SIGPIPE: i32 = 13;

/// Keys that are out of order, and so many of them that no pipe holds the result.
fn place() -> Place {
    let place = Place::with("a.bin", [2, 1]);
    place.write("large.bin", vec![7; 1 << 20]);
    place.write("t.csv", "k\n2\n1\n");
    place
}

/// The end of a pipe whose reader has gone away.
fn without_reader() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// One run of every command that writes to standard output.
const WRITERS: [&str; 9] = [
    "sort a.bin --dtype u8",
    "sort a.bin --dtype u8 -o /dev/stdout",
    "sort t.csv",
    "argsort a.bin --dtype u8",
    "top -k 1 a.bin --dtype u8",
    "devices",
    "bench --backends rayon --keys u8 --ops sort --sizes 10 --reps 1 --seeds 1 --csv -",
    "bench --backends rayon --keys u8 --ops sort --sizes 10 --reps 1 --seeds 1",
    "--help",
];

#[test]
fn a_closed_standard_output_is_an_error() {
    let place = place();
    for args in WRITERS.iter().chain(&["verify a.bin --dtype u8", "calibrate", "demo --quick", "--version", "sort --help"]) {
        let ran = place.shell(&format!("polysort {args} >&-"));
        assert_eq!(ran.code, 2, "{args}: {}", ran.stderr);
        assert!(
            ran.stderr.starts_with("polysort: ") && ran.stderr.contains("standard output is closed"),
            "{args}: {}",
            ran.stderr
        );
        assert_eq!(ran.stderr.lines().count(), 1, "{args}: {}", ran.stderr);
    }
    // A command that does not need it does its work.
    place.shell("polysort sort a.bin --dtype u8 -o out.bin >&-").ok();
    assert_eq!(place.read("out.bin"), [1, 2]);
    // `/dev/null` is open, also if it is open for reading and writing, as the runtime of Rust opens it in place of a closed one.
    for null in [">/dev/null", "1<>/dev/null"] {
        place.shell(&format!("polysort sort a.bin --dtype u8 {null}")).ok();
    }
}

#[test]
fn a_closed_standard_input_is_an_error() {
    let place = place();
    for args in ["sort --format bin --dtype u8", "verify --format csv", "top -k 1 --format npy -"] {
        let ran = place.shell(&format!("polysort {args} <&-"));
        assert_eq!(
            (ran.code, &*ran.stdout, &*ran.stderr),
            (2, &b""[..], "polysort: stdin is closed: name a file, or pipe one in\n")
        );
    }
    assert_eq!(place.shell("polysort sort a.bin --dtype u8 <&-").ok(), [1, 2]);
    // `/dev/null` is open, and empty.
    for null in ["</dev/null", "<>/dev/null"] {
        assert_eq!(place.shell(&format!("polysort sort --format bin --dtype u8 {null}")).ok(), []);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error() {
    let place = place();
    for args in WRITERS.iter().chain(&["verify t.csv", "--version"]) {
        let ran = place.shell(&format!("polysort {args} >/dev/full"));
        assert_eq!(ran.code, 2, "{args}: {}", ran.stderr);
        let words = "polysort: cannot write to standard output: No space left on device (os error 28)\n";
        assert_eq!(ran.stderr, words, "{args}");
    }
    let ran = place.run("sort a.bin --dtype u8 -o /dev/full");
    assert_eq!((ran.code, &*ran.stderr), (2, "polysort: cannot write /dev/full: No space left on device (os error 28)\n"));
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let place = place();
    for args in
        ["sort large.bin --dtype u8", "argsort large.bin --dtype u8", "top -k 100000 large.bin --dtype u8", "devices", "--help"]
    {
        let output = place.command(args).stdout(without_reader()).output().expect("the binary runs");
        assert_eq!((output.status.signal(), &*output.stderr), (Some(SIGPIPE), &b""[..]), "{args}");
    }
    // `verify` answers with its exit code all the same.
    for (sorted, code) in [("a.bin", 1), ("large.bin", 0)] {
        let mut command = place.command(&format!("verify {sorted} --dtype u8"));
        let output = command.stdout(without_reader()).output().expect("the binary runs");
        assert_eq!((output.status.code(), &*output.stderr), (Some(code), &b""[..]));
    }
    // A FIFO is a pipe too.
    let ran = place.shell("mkfifo f; head -c 1 f >head & polysort sort large.bin --dtype u8 -o f; code=$?; wait; exit $code");
    assert_eq!((ran.code, &*ran.stderr), (128 + SIGPIPE, ""));
    assert_eq!(place.read("head"), [7]);
}

#[test]
fn a_redirection_that_appends_appends() {
    let names = ["", "-o -", "-o /dev/stdout", "-o /dev/fd/1", "-o /proc/self/fd/1", "-o link", "-o link2"];
    for name in names.into_iter().filter(|name| !name.contains("/proc") || cfg!(target_os = "linux")) {
        let place = place();
        symlink("/dev/stdout", place.path("link")).expect("a link");
        symlink("link", place.path("link2")).expect("a link");
        place.write("log", "old ");
        let ran = place.shell(&format!("{{ echo before; polysort sort t.csv {name}; echo after; }} >>log"));
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{name}");
        assert_eq!(String::from_utf8_lossy(&place.read("log")), "old before\nk\n1\n2\nafter\n", "{name}");
        assert!(fs::symlink_metadata(place.path("link")).expect("it is there").is_symlink());
    }
    // Bytes after those of another writer of the same descriptor stay, although nothing is appended.
    let place = place();
    place.shell("{ echo before; polysort sort t.csv -o /dev/stdout; echo after; } >log").ok();
    assert_eq!(place.read("log"), b"before\nk\n1\n2\nafter\n");
    assert_eq!(place.shell("polysort sort t.csv -o /dev/stderr 2>>log").code, 0);
    assert_eq!(place.read("log"), b"before\nk\n1\n2\nafter\nk\n1\n2\n");
}

#[test]
fn another_open_file_is_not_replaced() {
    let place = place();
    place.write("log", "old");
    let ran = place.shell("polysort sort t.csv -o /dev/fd/3 3>>log");
    assert_eq!((ran.code, place.read("log")), (2, b"old".to_vec()));
    assert!(ran.stderr.starts_with("polysort: cannot write /dev/fd/3: it is an open file"), "{}", ran.stderr);
    // What a process substitution opens is a pipe, which is written.
    place.shell("mkfifo f; cat f >got & exec 3>f; polysort sort t.csv -o /dev/fd/3; exec 3>&-; wait").ok();
    assert_eq!(place.read("got"), b"k\n1\n2\n");
    assert_eq!(place.shell("polysort sort t.csv -o /dev/fd/9").code, 2);
}

#[test]
fn fifos_and_devices_are_written_in_place() {
    let place = place();
    place.shell("mkfifo f; cat f >got & polysort sort large.bin --dtype u8 -o f; wait").ok();
    assert_eq!(place.read("got"), vec![7; 1 << 20]);
    assert!(fs::metadata(place.path("f")).expect("it is there").file_type().is_fifo());
    place.run("sort a.bin --dtype u8 -o /dev/null").ok();
    assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
}

#[test]
fn sockets_are_refused() {
    let place = place();
    let _listener = std::os::unix::net::UnixListener::bind(place.path("s")).expect("a socket");
    let ran = place.run("sort a.bin --dtype u8 -o s");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.starts_with("polysort: cannot write s: it is a socket"), "{}", ran.stderr);
}

#[test]
fn links_stay_links_and_their_targets_are_written() {
    let place = place();
    fs::create_dir(place.path("folder")).expect("a folder");
    // The target of the last one does not exist, and is beside the second link.
    let links = [("old", "a.bin"), ("one", "folder/two"), ("folder/two", "three"), ("folder/three", "new.bin")];
    for (link, target) in links {
        symlink(target, place.path(link)).expect("a link");
    }
    for (link, target) in [("old", "a.bin"), ("one", "folder/new.bin"), ("one", "folder/new.bin")] {
        place.run(&format!("sort a.bin --dtype u8 --descending -o {link}")).ok();
        assert_eq!(place.read(target), [2, 1], "{link}");
        place.run(&format!("sort a.bin --dtype u8 -o {link}")).ok();
        assert_eq!(place.read(target), [1, 2], "{link}");
    }
    for (link, target) in links {
        assert_eq!(fs::read_link(place.path(link)).expect("it is a link").to_str(), Some(target));
    }
    let before = place.files();
    symlink("nowhere/new.bin", place.path("astray")).expect("a link");
    symlink("circle", place.path("circle")).expect("a link");
    for (link, words) in [("astray", "there is no directory nowhere"), ("circle", "more than 40 symbolic links")] {
        let ran = place.run(&format!("sort a.bin --dtype u8 -o {link}"));
        assert_eq!(ran.code, 2);
        assert!(
            ran.stderr.starts_with(&format!("polysort: cannot write {link}: ")) && ran.stderr.contains(words),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(place.files(), before);
}

/// A process that ends must not leave the reader of its output waiting: no thread or child keeps the pipe open.
#[test]
fn a_pipeline_ends() {
    let place = place();
    let mut child = place.script("polysort sort large.bin --dtype u8 | head -c 1 >head").spawn().expect("sh runs");
    assert!(wait(&mut child).success());
}
