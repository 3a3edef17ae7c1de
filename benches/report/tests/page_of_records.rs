//! The page of the repository's records.

use polysort_measure::By;
use polysort_report::{Collection, Page};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_figure_of_the_records_names_its_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record");
    let Collection { records, older, others } = Collection::read(&[folder]).expect("records");
    let page = Page { title: "Benchmarks", records: &records, older: &older, by: By::Median, notes: &others, has_results: false };
    let html = page.html().expect("a page");
    let mut peers = BTreeSet::new();
    let figures: Vec<&str> = html.split("<figure>").skip(1).collect();
    assert!(figures.len() > 20, "{} figures", figures.len());
    for figure in figures {
        let caption = figure.split("</figcaption>").next().expect("a caption");
        assert!(caption.contains("Source: record <code>") && caption.contains(", median times."), "{caption}");
        assert!(!caption.contains("date unknown"), "{caption}");
    }
    for title in [
        "Speed of sorts of u32 keys: 16 threads",
        "polysort beside the best peer",
        "Speed by pattern",
        "End to end against resident",
        "Bytes moved",
    ] {
        assert!(html.contains(&format!("<figcaption><b>{title}")), "{title}");
    }
    // Each machine has a line for each peer that it was measured with, also for those that only older records have.
    let parts: Vec<&str> = html.split("<h2 id=\"machine-").skip(1).collect();
    for record in records.iter().chain(&older) {
        let machine = &record.origin.machine;
        let part = parts.iter().find(|part| part.contains(&format!(">{machine}</h2>"))).expect("a part of the machine");
        let systems: BTreeSet<&str> = record.rows.iter().map(|row| &*row.system).collect();
        for peer in systems.into_iter().filter(|name| !name.starts_with("polysort") && !["memcpy", "memory"].contains(name)) {
            assert!(part.contains(&format!("</svg>{peer}</li>")), "{machine}: no line of {peer}");
            peers.insert((machine.clone(), peer.to_string()));
        }
    }
    for peer in ["cub", "torch", "lampshade", "wgpu_sort"] {
        assert!(peers.contains(&("nvidia-h200".into(), peer.into())), "{peer}");
    }
    // Each record has a section of its own, with its date.
    assert!(
        html.contains(
            "peers that the newer ones lack: lampshade, torch, wgpu_sort. Its times of polysort are those of its date."
        )
    );
    assert!(html.contains(">gpu, 2026-11-23</h3>") && html.contains(">gpu, 2026-11-21</h3>"));
    // The README's first line: of 2^8 u32 keys, x86-simd-sort takes 264 ns and polysort 319 ns.
    assert!(html.contains(">0.83<small>x86-simd-sort</small></td>"));
    assert!(html.contains("2^8 keys: polysort rayon 319 ns, x86-simd-sort qsort 264 ns"));
}
