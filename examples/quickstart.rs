//! Every operation once. `cargo run --release --example quickstart`

use polysort::prelude::*;

fn main() -> Result<(), Error> {
    // Keys: in place, stable, in the order of `total_cmp`.
    let mut depths = vec![2.5_f32, -0.0, f32::NAN, 0.0, -7.25];
    polysort::sort::<f32, Auto>(&mut depths)?;
    println!("sorted          {depths:?}");

    // Pairs: any plain value moves with its key; equal keys keep their order, descending as well.
    let (mut scores, mut players) = (vec![70_u16, 95, 70, 95], vec![1_u32, 2, 3, 4]);
    polysort::sort_pairs_with::<u16, u32, Auto>(&mut scores, &mut players, Options::descending())?;
    println!("pairs           {scores:?} {players:?}");

    // Items that are not plain data: by a key that is computed once for each item.
    let mut words = vec!["violet".to_string(), "red".into(), "green".into(), "blue".into()];
    polysort::sort_by_key::<String, usize, Auto>(&mut words, String::len)?;
    println!("by key          {words:?}");

    // Into another slice: the input stays.
    let (input, mut sorted) = ([9_u8, 7, 8], [0; 3]);
    polysort::sort_into::<u8, Auto>(&input, &mut sorted)?;
    println!("into            {sorted:?} from {input:?}");

    // Argsort: the permutation alone.
    let order = polysort::argsort::<i64, Auto>(&[30, -10, 20])?;
    println!("argsort         {order:?}");

    // Tuples and Reverse are keys too: by day ascending, then by price descending.
    let mut offers = vec![(2_u8, std::cmp::Reverse(9.5_f32)), (1, std::cmp::Reverse(3.0)), (2, std::cmp::Reverse(12.0))];
    Auto::global()?.sort(&mut offers)?;
    println!("tuples          {offers:?}");

    // A range of the key's bits: here the low byte alone.
    let mut codes = vec![0x0203_u16, 0x0102, 0x0301];
    polysort::sort_with::<u16, Auto>(&mut codes, Options::ascending().bits(0..8))?;
    println!("by low byte     {codes:x?}");

    // Many segments at once, and the largest keys of a slice.
    let mut rows = vec![3, 1, 2, /**/ 9, 8, /**/ 5, 4];
    polysort::sort_segments::<u32, Auto>(&mut rows, &[0, 3, 5, 7])?;
    println!("segments        {rows:?}");
    let best = polysort::top_k::<f64, Auto>(&[0.1, 0.9, 0.4, 0.7], 2)?;
    println!("top 2           {:?} at {:?}", best.keys, best.indices);
    let best = polysort::top_k_segments::<u32, Auto>(&[3, 1, 2, /**/ 9, 8, /**/ 5, 4], 1, &[0, 3, 5, 7])?;
    println!("best of each    {:?} at {:?}", best.keys, best.indices);

    // The backend that sorted all this.
    println!("on              {}", Auto::global()?.name());
    Ok(())
}
