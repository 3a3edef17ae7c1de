//! The page of a small record: its figures, their numbers and sources, and what it must not contain.

use polysort_measure::{By, HEADER};
use polysort_report::{Origin, Page, Record, ReportError};

/// A record of `system,backend,op,key,payload,pattern,n,scope,threads,median,min`.
fn record(name: &str, kind: &str, lines: &[&str]) -> Record {
    let mut text = HEADER.to_string() + "\n";
    for line in lines {
        let [system, backend, op, key, payload, pattern, n, scope, threads, median, min] =
            line.split(',').collect::<Vec<_>>()[..]
        else {
            panic!("{line}")
        };
        text += &format!(
            "r,{system},{backend},auto,{op},{key},{payload},{pattern},asc,{n},{scope},{threads},{median},{min},{median},{min},{median},5,true\n"
        );
    }
    let origin = Origin {
        machine: "a machine".into(),
        name: format!("a machine/{name}"),
        kind: kind.into(),
        date: Some("2026-11-23".into()),
        ordinal: 1,
        text: "16 cores & 2 <caches>".into(),
    };
    Record::parse(&text, origin).expect("a record")
}

fn page(records: &[Record], by: By) -> Result<String, ReportError> {
    Page { title: "Title", records, older: &[], by, notes: &[], has_results: false }.html()
}

/// Returns the part of a page from the title of a figure to its end.
fn figure<'a>(html: &'a str, title: &str) -> &'a str {
    let (_, rest) = html.split_once(&format!("<figcaption><b>{title}")).unwrap_or_else(|| panic!("no figure {title} in {html}"));
    rest.split_once("</figure>").expect("a figure ends").0
}

fn grid() -> Record {
    let lines = [
        "polysort,rayon,sort,u32,none,uniform,256,end_to_end,4,400,200",
        "rdst,radix_sort_unstable,sort,u32,none,uniform,256,end_to_end,4,200,190",
        "polysort,rayon,sort,u32,none,uniform,1024,end_to_end,4,1000,900",
        "rdst,radix_sort_unstable,sort,u32,none,uniform,1024,end_to_end,4,2500,1000",
        "std,sort,sort,u32,none,uniform,1024,end_to_end,4,2000,1800",
        "polysort,rayon,sort_pairs,f64,u32,uniform,1024,end_to_end,4,1000,900",
        "polysort,rayon,sort_pairs,f64,u32,uniform,4096,end_to_end,4,4000,900",
    ];
    record("2026-11-23-grid.csv", "grid", &lines)
}

#[test]
fn speeds_and_ratios_name_their_source() {
    let html = page(&[grid()], By::Median).expect("a page");
    let source = "Source: record <code>a machine/2026-11-23-grid.csv</code>, machine a machine, 2026-11-23, median times.";
    let speed = figure(&html, "Speed of sorts of u32 keys: 4 threads, end to end");
    assert!(speed.contains(source), "{speed}");
    // Axes are 1 pixel wide, our line 3, and those of rdst and std 2.
    let lines = |width: u32| speed.matches(&format!(" stroke-width=\"{width}\" points=")).count();
    assert_eq!((lines(3), lines(2)), (1, 2), "{speed}");
    for text in
        ["million keys/s", "number of keys", "<h4>keys alone</h4>", "</svg>polysort</li>", "</svg>rdst</li>", "</svg>std</li>"]
    {
        assert!(speed.contains(text), "{text}: {speed}");
    }
    figure(&html, "Speed of sorts of f64 keys");
    let ratios = figure(&html, "polysort beside the best peer");
    assert!(ratios.contains(source), "{ratios}");
    // At 256 keys rdst takes half our time, at 1024 keys std takes twice our time.
    for cell in [">0.50<small>rdst</small></td>", ">2.00<small>std</small></td>"] {
        assert!(ratios.contains(cell), "{cell}: {ratios}");
    }
    assert!(ratios.contains("title=\"2^8 keys: polysort rayon 400 ns, rdst radix_sort_unstable 200 ns\""), "{ratios}");
    // The summary counts both.
    let cells = "<td class=\"number\">2</td><td class=\"number\">1</td><td class=\"number\">1</td><td class=\"number\">0.50</td>";
    assert!(html.contains(cells), "{html}");
    assert!(html.contains("<pre>16 cores &amp; 2 &lt;caches&gt;</pre>"));
}

#[test]
fn minima_are_shown_on_request() {
    let html = page(&[grid()], By::Least).expect("a page");
    assert!(html.contains("minimum times") && !html.contains("median times"), "{html}");
    let ratios = figure(&html, "polysort beside the best peer");
    assert!(ratios.contains(">0.95<small>rdst") && ratios.contains(">1.11<small>rdst"), "{ratios}");
}

#[test]
fn patterns_have_a_row_each_and_a_copy_is_the_roof() {
    let mut lines = vec![];
    let patterns = ["uniform", "sorted", "organ-pipe"];
    for (pattern, time) in patterns.iter().zip([8000, 2000, 4000]) {
        lines.push(format!("polysort,rayon,sort,u32,none,{pattern},4096,end_to_end,4,{time},{time}"));
        lines.push(format!("memcpy,copy,sort,u32,none,{pattern},4096,end_to_end,4,1000,1000"));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let html = page(&[record("p.csv", "patterns", &lines)], By::Median).expect("a page");
    let shown = figure(&html, "Speed by pattern, 2^12 keys: 4 threads");
    assert!(patterns.iter().all(|pattern| shown.contains(&format!("\n{pattern}\n"))), "{shown}");
    // A circle for each pattern and system, beside those of the legend.
    let (legend, panels) = shown.split_once("</ul>").expect("a legend");
    assert_eq!((legend.matches("<circle ").count(), panels.matches("<circle ").count()), (2, 6), "{shown}");
    let roof = figure(&html, "Bytes moved against the machine&#39;s copy rate");
    // 4096 keys of 4 bytes, read and written, in 8000 ns.
    assert!(roof.contains("polysort moves 4.10 GB/s, 0.12 × the copy's 32.8 GB/s."), "{roof}");
    assert!(roof.contains("</svg>memcpy ÷ 4</li>"), "{roof}");
    assert!(!html.contains("beside the best peer"), "a copy is no peer: {html}");
}

#[test]
fn end_to_end_is_compared_with_resident() {
    let lines = [
        "polysort,wgpu,sort,u32,none,uniform,1024,resident,,1000,1000",
        "polysort,wgpu,sort,u32,none,uniform,4096,resident,,2000,1000",
        "polysort,wgpu,sort,u32,none,uniform,4096,end_to_end,,8000,1000",
    ];
    let html = page(&[record("g.csv", "gpu", &lines)], By::Median).expect("a page");
    let scopes = figure(&html, "End to end against resident");
    assert!(scopes.contains("2<sup>12</sup> keys: 8.00 µs end to end, 2.00 µs on the device: 4.00 × the time."), "{scopes}");
    // Without rows of both, the page says so.
    let html = page(&[record("g.csv", "gpu", &lines[..2])], By::Median).expect("a page");
    assert!(
        html.contains("<li>a machine: end to end against resident, because no record has both for the same sort.</li>"),
        "{html}"
    );
}

#[test]
fn a_page_loads_nothing_and_escapes_every_value() {
    let evil = "<script src=http://a.b/c>'&";
    let line = |system: &str, n: usize| format!("{system},{evil},sort,u32,none,uniform,{n},end_to_end,4,400,200");
    let mut lines = vec![];
    for n in [256, 1024] {
        lines.extend([line("polysort", n), line(evil, n)]);
        lines.extend(["sorted", evil].map(|pattern| line("polysort", n).replace("uniform", pattern)));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut record = record(evil, evil, &lines);
    record.origin.machine = evil.into();
    record.origin.text = evil.into();
    record.origin.date = Some(evil.into());
    let notes = [evil.to_string()];
    let older = [Record { origin: record.origin.clone(), rows: vec![] }];
    let records = [record];
    let page = Page { title: evil, records: &records, older: &older, by: By::Median, notes: &notes, has_results: true };
    let html = page.html().expect("a page");
    for title in ["Speed of sorts", "polysort beside the best peer", "Speed by pattern", "All results"] {
        figure(&html, title);
    }
    assert!(html.matches("&lt;script src=http://a.b/c&gt;").count() > 10, "{html}");
    for element in ["<script", "<link", "<img", "<iframe", "<object", "@import", "url("] {
        assert!(!html.contains(element), "{element}: {html}");
    }
    // Links lead to places of the page, and no attribute names an address.
    for attribute in [" href=", " src=", " xmlns="] {
        for (at, _) in html.match_indices(attribute) {
            let value = &html[at + attribute.len()..][..2];
            let is_text = html[..at].rfind("&lt;script") == Some(at - "&lt;script".len());
            assert!(value == "\"#" || is_text, "{attribute}{value}");
        }
    }
    assert!(html.contains("content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    assert!(Page::is_report(&html) && !Page::is_report("<html></html>"));
}

#[test]
fn rows_without_a_figure_are_listed() {
    let lines = ["polysort,rayon,ivf,f16,d=768,in-place-1,344000,end_to_end,,400,200"];
    let error = page(&[record("b.csv", "bandwidth", &lines)], By::Median).expect_err("no figure").to_string();
    assert!(error.contains("a machine/b.csv: rows of ivf (end_to_end), which no figure shows."), "{error}");
    let records = [grid(), record("b.csv", "bandwidth", &lines)];
    let html = page(&records, By::Median).expect("a page");
    let (_, missing) = html.split_once("<h2>Not drawn</h2>").expect("a list");
    assert!(
        missing.contains("a machine/b.csv: rows of ivf (end_to_end)") && missing.contains("a machine/b.csv: no figure."),
        "{missing}"
    );
}
