//! A whole backend in 40 lines, and the line that enters it in the conformance suite.
//!
//! `cargo run --release --example own_backend` runs the suite on it (`-- u32` the checks with that in their name, `-- --full` all cases).

use polysort::{Backend, Error, Limits, Spec, Word, permutation};

/// Sorts with `std`. Yours may hold a device, a pool, a connection: anything that is cheap to clone.
#[derive(Clone)]
struct Std;

impl Backend for Std {
    fn open() -> Result<Self, Error> {
        Ok(Std)
    }

    fn name(&self) -> String {
        "std".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        spec.check::<W>()?;
        keys.sort_by_key(|&key| spec.rank(key));
        Ok(())
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        spec.check_pairs::<W>(keys.len(), values.len())?;
        let mut order = permutation::identity(keys.len())?;
        order.sort_by_key(|&index| spec.rank(keys[index as usize]));
        permutation::gather_pairs(keys, values, &order);
        Ok(())
    }
}

fn main() {
    let mut suite = polysort_kit::Suite::from_args();
    suite.enter("std", Std::open);
    suite.run();
}
