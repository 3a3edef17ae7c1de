//! Draws the plot of the CPU backend beside its peers from the records: `cargo run -p polysort-report --example cpu_plot`.

mod plot;

use anyhow::Result;
use std::path::Path;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::write(folder.join("../../docs/cpu.svg"), plot::draw(&folder.join("../record"))?)?;
    Ok(())
}
