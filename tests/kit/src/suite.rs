//! The suite as a program.

use crate::case::Plan;
use crate::ops::checks;
use crate::vectors::vector_checks;
use libtest_mimic::{Arguments, Failed, Trial};
use polysort_core::vector::VectorSearch;
use polysort_core::{Backend, Error};
use std::sync::{Arc, OnceLock};

/// Backends and their trials, run by the arguments of a libtest binary, and `--full`.
pub struct Suite {
    arguments: Arguments,
    full: bool,
    trials: Vec<Trial>,
}

impl Suite {
    /// A suite for the arguments that the program was started with. `--full`, or the environment variable `POLYSORT_FULL=1`, runs the
    /// whole product of cases.
    pub fn from_args() -> Self {
        let (full, rest): (Vec<String>, Vec<String>) = std::env::args().partition(|argument| argument == "--full");
        let full = !full.is_empty() || std::env::var_os("POLYSORT_FULL").is_some_and(|value| value == "1");
        Self { arguments: Arguments::from_iter(rest), full, trials: vec![] }
    }

    /// Enters a backend, with lengths up to 300 000 (3 million in full), or what the environment variable `POLYSORT_LONGEST` says.
    ///
    /// # Panics
    /// If that variable is no number.
    pub fn enter<B: Backend>(&mut self, name: &str, open: impl Fn() -> Result<B, Error> + Send + Sync + 'static) {
        let longest = self.longest(if self.full { 3_000_000 } else { 300_000 });
        self.enter_with(name, Plan::up_to(longest, self.full), open);
    }

    /// What the environment variable `POLYSORT_LONGEST` says, or else `usual`.
    ///
    /// # Panics
    /// If that variable is no number.
    pub fn longest(&self, usual: usize) -> usize {
        let longest = std::env::var("POLYSORT_LONGEST").ok().map(|value| value.parse().expect("POLYSORT_LONGEST is a length"));
        longest.unwrap_or(usual)
    }

    /// Whether the whole product of cases was asked for.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Enters a backend with a plan of its own.
    pub fn enter_with<B: Backend>(
        &mut self,
        name: &str,
        plan: Plan,
        open: impl Fn() -> Result<B, Error> + Send + Sync + 'static,
    ) {
        self.enter_part(name, plan, |_| true, open);
    }

    /// Enters a backend for those checks alone whose names `takes` takes.
    pub fn enter_part<B: Backend>(
        &mut self,
        name: &str,
        plan: Plan,
        takes: impl Fn(&str) -> bool,
        open: impl Fn() -> Result<B, Error> + Send + Sync + 'static,
    ) {
        let shared = Arc::new((open, OnceLock::<Result<B, Error>>::new(), plan));
        for check in checks::<B>().into_iter().filter(|check| takes(&check.name)) {
            let shared = shared.clone();
            self.trials.push(Trial::test(format!("[{name}] {}", check.name), move || {
                let (open, opened, plan) = &*shared;
                let backend = opened.get_or_init(open).as_ref().map_err(|error| Failed::from(error.to_string()))?;
                let cases = (check.run)(backend, plan)?;
                println!("{cases} cases on {}", backend.name());
                Ok(())
            }));
        }
    }

    /// Enters a backend that searches vectors.
    pub fn enter_vectors<B: VectorSearch>(&mut self, name: &str, open: impl Fn() -> Result<B, Error> + Send + Sync + 'static) {
        self.enter_vectors_part(name, |_| true, open);
    }

    /// Enters a backend that searches vectors for those checks alone whose names `takes` takes.
    pub fn enter_vectors_part<B: VectorSearch>(
        &mut self,
        name: &str,
        takes: impl Fn(&str) -> bool,
        open: impl Fn() -> Result<B, Error> + Send + Sync + 'static,
    ) {
        let shared = Arc::new((open, OnceLock::<Result<B, Error>>::new()));
        for check in vector_checks::<B>().into_iter().filter(|check| takes(check.name)) {
            let shared = shared.clone();
            self.trials.push(Trial::test(format!("[{name}] vectors: {}", check.name), move || {
                let (open, opened) = &*shared;
                let backend = opened.get_or_init(open).as_ref().map_err(|error| Failed::from(error.to_string()))?;
                (check.run)(backend)?;
                Ok(())
            }));
        }
    }

    /// Adds one more trial.
    pub fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// Runs what the arguments ask for, and ends the program.
    pub fn run(self) -> ! {
        libtest_mimic::run(&self.arguments, self.trials).exit()
    }
}
