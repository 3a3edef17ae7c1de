//! A whole backend in 40 lines, and the line that enters it in the conformance suite.
//!
//! `cargo run --release --example own_backend` runs the suite on it: `-- u32` the checks with `u32` in their names, `-- --full` all cases.
//!
//! In a crate of your own the suite is a test. Put `main` into `tests/conformance.rs`, and this into `Cargo.toml`:
//!
//! ```toml
//! [dependencies]
//! polysort-core = "0.1"
//!
//! [dev-dependencies]
//! polysort-kit = "0.1"
//!
//! [[test]]
//! name = "conformance"
//! harness = false
//! ```

use polysort::{Backend, Error, Limits, Spec, Word, permutation};

/// Sorts with `std`. Your backend may have a device, a thread pool or a connection: anything that is cheap to clone.
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
    suite.enter("std", Std::open); // The line that enters a backend.
    suite.run();
}
