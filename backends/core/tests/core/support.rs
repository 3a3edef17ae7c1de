//! A backend for the tests of the contract.

use polysort_core::{AnyOperation, Backend, Error, Limits, Spec, Word, permutation, sorts_by_run};

/// `std`'s stable sort.
#[derive(Clone, Debug)]
pub(crate) struct Plain;

impl Backend for Plain {
    fn open() -> Result<Self, Error> {
        Ok(Self)
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
        order.sort_by_key(|&i| spec.rank(keys[i as usize]));
        permutation::gather_pairs(keys, values, &order);
        Ok(())
    }
}

/// The sort of [`Plain`]. The type parameter gives each test a device of its own, and the sorts are compiled once.
#[derive(Clone, Debug)]
pub(crate) struct Std<const TEST: usize>;

impl<const TEST: usize> Backend for Std<TEST> {
    fn open() -> Result<Self, Error> {
        Ok(Self)
    }

    fn name(&self) -> String {
        Plain.name()
    }

    fn limits(&self) -> Limits {
        Plain.limits()
    }

    sorts_by_run!();

    fn run(&self, operation: AnyOperation<'_>, spec: Spec) -> Result<(), Error> {
        Plain.run(operation, spec)
    }
}
