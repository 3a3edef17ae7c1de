//! The plot in `docs` is what the records say.

#[path = "../examples/cpu_plot/plot.rs"]
mod plot;

use std::path::Path;

#[test]
fn the_plot_is_drawn_from_the_records() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = plot::draw(&folder.join("../record")).expect("records of each series");
    let committed = std::fs::read_to_string(folder.join("../../docs/cpu.svg")).expect("the plot");
    assert!(drawn == committed, "docs/cpu.svg is not what `cargo run -p polysort-report --example cpu_plot` draws");
}
