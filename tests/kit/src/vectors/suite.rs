//! Backends that search vectors enter the suite here.

use super::checks::vector_checks;
use crate::suite::{Suite, Taken, locked};
use libtest_mimic::{Failed, Trial};
use polysort_core::Error;
use polysort_vector::VectorSearch;
use std::sync::{Arc, OnceLock};

impl Suite {
    /// Enters a backend that searches vectors.
    pub fn enter_vectors<B: VectorSearch>(&mut self, name: &str, open: impl Fn() -> Result<B, Error> + Send + Sync + 'static) {
        self.enter_vectors_part(name, |_| true, open);
    }

    /// Enters a backend that searches vectors, for the checks that `takes` selects by their names.
    pub fn enter_vectors_part<B: VectorSearch, T: Into<Taken>>(
        &mut self,
        name: &str,
        takes: impl Fn(&str) -> T,
        open: impl Fn() -> Result<B, Error> + Send + Sync + 'static,
    ) {
        let shared = Arc::new((open, OnceLock::<Result<B, Error>>::new()));
        for check in vector_checks::<B>() {
            if let Taken::No(why) = takes(check.name).into() {
                locked(&self.manifest).vectors_left_out.push((name.into(), check.name, why));
                continue;
            }
            let shared = shared.clone();
            self.add(Trial::test(format!("[{name}] vectors: {}", check.name), move || {
                let (open, opened) = &*shared;
                let backend = opened.get_or_init(open).as_ref().map_err(|error| Failed::from(error.to_string()))?;
                (check.run)(backend)?;
                Ok(())
            }));
        }
    }
}
