//! The plot in `docs` is what the records say.

use polysort_benches::plot;
use std::path::Path;

#[test]
fn the_plot_is_drawn_from_the_records() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = plot::draw(&folder.join("record")).expect("records of each series");
    let committed = std::fs::read_to_string(folder.join("../docs/cpu.svg")).expect("the plot");
    assert!(drawn == committed, "docs/cpu.svg is not what `cargo run --release -p polysort-benches --bin cpu_plot` draws");
}
