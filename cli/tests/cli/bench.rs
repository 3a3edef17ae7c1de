//! `bench`: the records that it writes, in the project's format, and the table.

use crate::tool::Place;
use polysort::AnyBackend;
use std::collections::BTreeSet;

const HEADER: &str =
    "run,system,backend,algorithm,op,key,payload,pattern,order,n,scope,median_ns,p5_ns,p95_ns,min_ns,max_ns,reps,verified";

/// The rows of a record, split in fields, each checked for what holds of all.
fn rows(record: &str) -> Vec<Vec<&str>> {
    let mut lines = record.lines();
    assert_eq!(lines.next(), Some(HEADER));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    for row in &rows {
        assert_eq!(row.len(), 18, "{row:?}");
        assert_eq!((row[0], row[3], row[10], row[17]), (rows[0][0], "auto", "end_to_end", "true"), "{row:?}");
        let [median, p5, p95, min, max] = [11, 12, 13, 14, 15].map(|at| row[at].parse::<u64>().expect("nanoseconds"));
        assert!(min > 0 && min <= p5 && p5 <= median && median <= p95 && p95 <= max, "{row:?}");
    }
    rows
}

#[test]
fn a_record_has_a_row_for_each_system_and_case() {
    let place = Place::new();
    let table = place
        .run("bench --backends rayon --keys u32,f32 --ops sort --sizes 10,2^10 --orders asc,desc --reps 2 --seeds 2 --csv r.csv")
        .text();
    let record = String::from_utf8(place.read("r.csv")).expect("text");
    let rows = rows(&record);
    assert_eq!(rows.len(), 2 * 2 * 2 * (1 + 3));
    let column = |at: usize| rows.iter().map(|row| row[at]).collect::<BTreeSet<_>>();
    assert_eq!(column(1), BTreeSet::from(["polysort", "rayon", "std"]));
    assert_eq!(column(5), BTreeSet::from(["u32", "f32"]));
    assert_eq!(column(8), BTreeSet::from(["asc", "desc"]));
    assert_eq!(column(9), BTreeSet::from(["10", "1024"]));
    // Two runs on each of two data sets.
    assert_eq!(column(16), BTreeSet::from(["4"]));
    assert!(table.contains("sort f32 uniform desc 2^10\n  polysort "), "{table}");
    // The fastest of std and rayon is the measure of each case.
    assert!(table.matches(" 1.00x\n").count() >= 8, "{table}");
    assert_eq!(place.files().len(), 1);
}

#[test]
fn a_cpu_has_one_way_to_sort() {
    let args =
        "bench --backends rayon --algorithm onesweep,wide_digits --keys u32 --ops sort --sizes 1000 --reps 1 --seeds 1 --csv -";
    assert_eq!(rows(&Place::new().run(args).text()).len(), 1 + 3);
}

#[test]
fn every_operation_order_and_payload_is_verified() {
    let args = "bench --backends rayon --keys f16 --ops sort,sort_pairs,argsort,top_k,sort_segments --payloads u32,u64 --orders asc,desc \
        --patterns uniform,equal,zipf --sizes 1000 --reps 1 --seeds 1 --csv -";
    let record = Place::new().run(args).text();
    let rows = rows(&record);
    let cases: BTreeSet<_> = rows.iter().map(|row| row[4..10].to_vec()).collect();
    assert_eq!(cases.len(), 3 * 2 * 6);
    let payloads: BTreeSet<_> = rows.iter().map(|row| (row[4], row[6])).collect();
    let expected = [
        ("argsort", "none"),
        ("sort", "none"),
        ("sort_pairs", "u32"),
        ("sort_pairs", "u64"),
        ("sort_segments", "none"),
        ("top_k", "none"),
    ];
    assert_eq!(payloads, BTreeSet::from(expected));
    for case in &cases {
        let systems: BTreeSet<_> = rows.iter().filter(|row| row[4..10] == case[..]).map(|row| (row[1], row[2])).collect();
        assert!(systems.contains(&("polysort", "rayon")), "{case:?}: {systems:?}");
        assert!(["std", "rayon"].iter().all(|peer| systems.iter().any(|system| system.0 == *peer)), "{case:?}: {systems:?}");
        // Pairs are measured beside a parallel sort that is as stable as ours.
        assert_eq!(systems.contains(&("rayon", "par_sort_by_key")), case[0] == "sort_pairs", "{case:?}: {systems:?}");
    }
}

#[test]
fn in_a_pool_of_its_own() {
    let args = "bench --backends rayon --threads 1 --keys u64 --ops sort --sizes 200000 --reps 1 --seeds 1 --csv -";
    assert_eq!(rows(&Place::new().run(args).text()).len(), 1 + 3);
}

#[test]
fn without_a_gpu_there_are_no_passes_to_time() {
    let run = |args: &str| Place::new().run(&format!("bench --sizes 2^10 --reps 1 --seeds 1 {args}"));
    let is_there = !run("--keys u8 --ops sort --backends wgpu --csv -").stderr.contains("wgpu is unavailable");
    for what in ["--sweep", "--probe"] {
        let on_cpu = run(&format!("{what} --backends rayon"));
        assert_eq!((on_cpu.code, &*on_cpu.stdout), (2, &b""[..]), "{what}");
        assert!(on_cpu.stderr.starts_with("polysort: rayon is on no GPU, "), "{what}: {}", on_cpu.stderr);
        if is_there {
            continue;
        }
        let named = run(&format!("{what} --backends wgpu"));
        assert_eq!((named.code, &*named.stdout), (2, &b""[..]), "{what}");
        assert!(named.stderr.starts_with("polysort: wgpu is unavailable: "), "{what}: {}", named.stderr);
        let any = run(what);
        assert_eq!((any.code, &*any.stdout), (2, &b""[..]), "{what}");
        assert!(
            any.stderr.ends_with("polysort: no backend on a GPU opens, and only passes on a GPU are timed\n"),
            "{what}: {}",
            any.stderr
        );
    }
}

#[test]
fn a_backend_that_does_not_open_is_noted() {
    let args = "bench --keys u8 --ops sort --sizes 100 --reps 1 --seeds 1 --csv -";
    let all = Place::new().run(args);
    assert_eq!(all.code, 0);
    let notes = all.stderr.lines().filter(|line| line.starts_with("polysort: note: ")).count();
    let record = String::from_utf8(all.stdout).expect("text");
    assert_eq!(rows(&record).len() + notes, AnyBackend::NAMES.len() + 3);
    // Who asks for it by name gets the reason as an error.
    if notes > 0 {
        let named = Place::new().run(&format!("{args} --backends wgpu"));
        assert_eq!(named.code, 2);
        assert!(named.stderr.starts_with("polysort: wgpu is unavailable: "), "{}", named.stderr);
    }
}
