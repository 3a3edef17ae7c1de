//! Draws the plot of the CPU backend beside its peers from the records: `cargo run --release -p polysort-benches --bin cpu_plot`.

use anyhow::Result;
use polysort_benches::plot;
use std::path::Path;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::write(folder.join("../docs/cpu.svg"), plot::draw(&folder.join("record"))?)?;
    Ok(())
}
