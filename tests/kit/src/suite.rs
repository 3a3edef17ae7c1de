//! The suite as a program.

use crate::case::Plan;
use crate::manifest::{Entry, Manifest, Outcome};
use crate::ops::checks;
use libtest_mimic::{Arguments, Failed, Trial};
use polysort_core::{Backend, DynBackend, Error};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Backends and their checks, run by the arguments of a libtest program, and `--full`.
///
/// At its end the program prints what it did not run: every key × operation × pattern, and why.
pub struct Suite {
    arguments: Arguments,
    full: bool,
    trials: Vec<Trial>,
    pub(crate) manifest: Arc<Mutex<Manifest>>,
}

/// Whether an entry takes a check, or why not.
///
/// A function that returns `bool` or `Result<(), &str>` selects checks as well: `false` leaves a check out without a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The check runs.
    Yes,
    /// The check is left out, for this reason.
    No(String),
}

impl From<bool> for Taken {
    fn from(is_taken: bool) -> Self {
        if is_taken { Self::Yes } else { Self::No("left out, and no reason is given".into()) }
    }
}

impl<E: Into<String>> From<Result<(), E>> for Taken {
    fn from(taken: Result<(), E>) -> Self {
        taken.map_or_else(|why| Self::No(why.into()), |()| Self::Yes)
    }
}

impl Suite {
    /// A suite for the arguments that the program was started with. `--full`, or the environment variable `POLYSORT_FULL=1`, runs all combinations of
    /// cases.
    pub fn from_args() -> Self {
        let (full, rest): (Vec<String>, Vec<String>) = std::env::args().partition(|argument| argument == "--full");
        let full = !full.is_empty() || std::env::var_os("POLYSORT_FULL").is_some_and(|value| value == "1");
        Self { arguments: Arguments::from_iter(rest), full, trials: vec![], manifest: Arc::default() }
    }

    /// Enters a backend, with lengths up to 300 000 (3 million in full), or up to the environment variable `POLYSORT_LONGEST`.
    ///
    /// # Panics
    /// If that variable is no number.
    pub fn enter<B: Backend>(&mut self, name: &str, open: impl Fn() -> Result<B, Error> + Send + Sync + 'static) {
        let longest = self.longest(if self.full { 3_000_000 } else { 300_000 });
        self.enter_with(name, Plan::up_to(longest, self.full), open);
    }

    /// The value of the environment variable `POLYSORT_LONGEST`, or else `usual`.
    ///
    /// # Panics
    /// If that variable is no number.
    pub fn longest(&self, usual: usize) -> usize {
        let longest = std::env::var("POLYSORT_LONGEST").ok().map(|value| value.parse().expect("POLYSORT_LONGEST is a length"));
        longest.unwrap_or(usual)
    }

    /// Whether all combinations of cases were asked for.
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

    /// Enters a backend for the checks that `takes` selects by their names, such as `f32 sort_pairs`.
    pub fn enter_part<B: Backend, T: Into<Taken>>(
        &mut self,
        name: &str,
        plan: Plan,
        takes: impl Fn(&str) -> T,
        open: impl Fn() -> Result<B, Error> + Send + Sync + 'static,
    ) {
        let shared = Arc::new((open, OnceLock::<Result<DynBackend, Error>>::new(), plan));
        for check in checks() {
            let plan = &shared.2;
            let taken = takes(&check.name()).into();
            let outcome = if let Taken::No(why) = &taken { Outcome::LeftOut(why.clone()) } else { Outcome::NotAsked };
            let at = self.enter_in_manifest(Entry {
                backend: name.into(),
                key: check.key,
                operation: check.operation,
                outcome,
                all: check.all(plan),
                why_not_all: plan.why_not_all(),
            });
            if taken != Taken::Yes {
                continue;
            }
            let (shared, manifest) = (shared.clone(), self.manifest.clone());
            self.trials.push(Trial::test(format!("[{name}] {}", check.name()), move || {
                let (open, opened, plan) = &*shared;
                let settle = |outcome| locked(&manifest).entries[at].outcome = outcome;
                settle(Outcome::Failed);
                let opened = opened.get_or_init(|| open().map(DynBackend::new));
                let backend = opened.as_ref().map_err(|error| Failed::from(error.to_string()))?;
                let cases = check.run(backend, plan)?;
                settle(Outcome::Ran { cases, patterns: check.cases(plan).iter().map(|case| case.pattern).collect() });
                println!("{cases} cases on {}", backend.name());
                Ok(())
            }));
        }
    }

    fn enter_in_manifest(&self, entry: Entry) -> usize {
        let entries = &mut locked(&self.manifest).entries;
        entries.push(entry);
        entries.len() - 1
    }

    /// Adds one more trial.
    pub fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
    }

    /// Runs what the arguments ask for, prints what was left out to the standard error, and ends the program.
    pub fn run(self) -> ! {
        let conclusion = libtest_mimic::run(&self.arguments, self.trials);
        if !self.arguments.list {
            eprintln!("{}", locked(&self.manifest));
        }
        conclusion.exit()
    }
}

impl core::fmt::Debug for Suite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Suite").field("full", &self.full).field("trials", &self.trials.len()).finish_non_exhaustive()
    }
}

/// The manifest. A check that panicked has left whole entries in it.
pub(crate) fn locked(manifest: &Mutex<Manifest>) -> std::sync::MutexGuard<'_, Manifest> {
    manifest.lock().unwrap_or_else(PoisonError::into_inner)
}
