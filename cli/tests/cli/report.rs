//! `bench --report`: the page of a run and of records.

use crate::tool::Place;
use std::fs;

const HEADER: &str =
    "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified\n";

/// A record with a ratio of 0.5.
fn record() -> String {
    let row = |system: &str, n: usize, time: usize| {
        format!("r,{system},f,auto,sort,u32,none,uniform,asc,{n},end_to_end,{time},1,9,1,9,3,true\n")
    };
    HEADER.to_string() + &row("polysort", 256, 200) + &row("std", 256, 100) + &row("polysort", 512, 300) + &row("std", 512, 150)
}

fn page(place: &Place, folder: &str) -> String {
    String::from_utf8(place.read(&format!("{folder}/index.html"))).expect("a page is text")
}

#[test]
fn a_run_has_a_page_with_figures_and_all_results() {
    let place = Place::new();
    let run = "bench --backends rayon --keys u32 --ops sort --sizes 2^8,2^10 --reps 1 --seeds 1";
    let table = place.run(&format!("{run} --report out/page --csv r.csv")).text();
    assert!(table.contains("sort u32 uniform asc 2^8\n"), "{table}");
    let html = page(&place, "out/page");
    let rows = String::from_utf8(place.read("r.csv")).expect("text").lines().count() - 1;
    assert_eq!(html.matches("<tr><td>sort u32 uniform asc</td>").count(), rows, "{html}");
    for text in [
        "<b>Speed of sorts of u32 keys: end to end</b>",
        "<b>polysort beside the best peer",
        "<b>All results</b>",
        "record <code>r.csv</code>",
        "median times",
        "polysort bench --backends rayon --keys u32",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("://") && !html.contains("<script"), "{html}");
    // The page of another run takes its place.
    place.run(&format!("{run} --report out/page --statistic min")).text();
    let html = page(&place, "out/page");
    assert!(html.contains("minimum times") && html.contains("record <code>of this run</code>"), "{html}");
}

#[test]
fn a_page_shows_the_newest_records_of_a_folder() {
    let place = Place::new();
    fs::create_dir_all(place.path("records/a&b")).expect("a folder");
    place.write("records/a&b/2026-11-22-grid.csv", record());
    place.write("records/a&b/2026-11-23-grid.csv", record());
    place.write("records/a&b/2026-11-23-grid.txt", "a <quiet> machine");
    let folder = place.run("bench --report page --records records").text();
    assert_eq!(folder, "page/index.html: records drawn: 1, older ones left out: 1\n");
    let html = page(&place, "page");
    for text in [
        "record <code>a&amp;b/2026-11-23-grid.csv</code>, machine a&amp;b, 2026-11-23, median times.",
        "a &lt;quiet&gt; machine",
        ">0.50<small>std</small>",
        "<li>a&amp;b/2026-11-22-grid.csv: a newer record of the same kind and machine is drawn.</li>",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    // A file that has other columns is left out of a folder, with a note.
    place.write("records/a&b/2026-11-24-calls.csv", "turn,n\n1,2\n");
    let noted = place.run("bench --report page --records records");
    assert_eq!(noted.code, 0);
    let note = "polysort: note: records/a&b/2026-11-24-calls.csv is no record of sorts: the columns run, system,";
    assert!(noted.stderr.starts_with(note), "{}", noted.stderr);
}

#[test]
fn errors_say_what_to_do_and_write_nothing() {
    let place = Place::with("calls.csv", "turn,n\n1,2\n");
    place.write("r.csv", record());
    place.write("file", "");
    fs::create_dir(place.path("empty")).expect("a folder");
    let of = |args: &str| {
        let ran = place.run(&format!("bench {args}"));
        assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{args}");
        ran.stderr
    };
    for (args, expected) in [
        (
            "--report page --records none",
            "polysort: none: no such file or folder; name a folder of records, such as benches/record",
        ),
        ("--report page --records empty", "polysort: empty: no .csv in this folder or in a folder below it"),
        ("--report page --records calls.csv", "polysort: calls.csv is no record of sorts: the columns run, system, backend,"),
        ("--report file --records r.csv", "polysort: cannot make the folder file: name another one with --report"),
        ("--records r.csv", "error: the following required arguments were not provided:\n  --report <DIR>"),
        ("--report page --records r.csv --keys u32", "error: the argument '--records <PATH>...' cannot be used with"),
        ("--report page --sweep", "error: the argument '--report <DIR>' cannot be used with"),
        ("--statistic min", "error: the following required arguments were not provided:\n  --report <DIR>"),
    ] {
        let stderr = of(args);
        assert!(stderr.starts_with(expected), "{args}: {stderr}");
    }
    assert!(!place.path("page").exists());
    // A page of somebody else stays.
    fs::create_dir(place.path("site")).expect("a folder");
    place.write("site/index.html", "<html>mine</html>");
    let stderr = of("--report site --records r.csv");
    assert_eq!(stderr, "polysort: site/index.html is not a report, and is left as it is: name another folder with --report\n");
    assert_eq!(place.read("site/index.html"), b"<html>mine</html>");
}
