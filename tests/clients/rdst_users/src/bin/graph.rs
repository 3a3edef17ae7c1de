//! Batches of arcs that webgraph sorts and compresses: `graph [POWER [REPS]]` for 2^POWER arcs.

use anyhow::Result;
use dsi_bitstream::traits::NE;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rdst_users::report;
use webgraph::utils::BatchCodec;
use webgraph::utils::gaps::GapsCodec;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let (power, reps): (u32, usize) = (arguments.next().unwrap_or(22) as u32, arguments.next().unwrap_or(3));
    let mut rng = SmallRng::seed_from_u64(1);
    let nodes = 1_usize << (power - 3);
    // Some nodes have many successors: a node's number is the smaller of two.
    let mut node = || rng.random_range(0..nodes).min(rng.random_range(0..nodes));
    let arcs: Vec<((usize, usize), ())> = (0..1_usize << power).map(|_| ((node(), node()), ())).collect();
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("batch");
    let codec = GapsCodec::<NE>::default();
    report(
        &format!("webgraph, 2^{power} arcs, sorted and encoded"),
        reps,
        || arcs.clone(),
        |mut batch| {
            codec.encode_batch(&file, &mut batch).expect("a batch is encoded");
            std::fs::read(&file).expect("the file of the batch")
        },
    );
    Ok(())
}
