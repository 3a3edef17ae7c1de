//! `demo --quick` succeeds on every backend that opens, and prints the known facts of the data.

use crate::tool::Place;

#[test]
fn quick() {
    let shown = Place::new().run("demo --quick").text();
    let facts = [
        "336776 flights",
        "earliest -86, median -5, latest 1272",
        "9430 did not arrive as planned",
        "the 10 latest: 1272, 1127, 1109, 1007, 989, 931, 915, 895, 878, 875\n",
        "TEX,Telluride,37.953759,-107.90848,9078,-7,A,America/Denver\nTVL,",
        "EEN,Dillant Hopkins Airport,72.270833,",
        "65536 generated keys",
    ];
    for fact in facts {
        assert!(shown.contains(fact), "no {fact:?} in:\n{shown}");
    }
    let lines = ["u32", "f32", "u64", "i64", "f64", "u16", "u32 with u32", "argsort f32"];
    let backends = polysort::AnyBackend::NAMES.iter().filter(|name| polysort::AnyBackend::by_name(name).is_ok());
    let opened = backends.inspect(|name| assert!(shown.contains(&format!("\n{name}: all as std has it")), "{shown}")).count();
    for line in lines {
        let row =
            shown.lines().find(|row| row.starts_with(&format!("{line}  "))).unwrap_or_else(|| panic!("no {line} in:\n{shown}"));
        // One speed for std, one for each backend.
        assert_eq!(row.matches("Mkeys/s").count(), 1 + opened, "{row}");
    }
    assert!(shown.ends_with("\nEvery answer is that of std.\n") && !shown.contains("WRONG"), "{shown}");
}
