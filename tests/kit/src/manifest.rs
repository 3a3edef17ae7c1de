//! What a run leaves out, and why: the lines that a suite prints at its end.
//!
//! ```text
//! left out, of 26 keys × 12 operations × 16 patterns:
//!   patterns: a Uniform, b Sorted, …
//!   [wgpu, llvmpipe] 275 of 312 checks ran, 3300 of 590000 cases: the plan draws 12 cases of each check
//!     the plan draws 12 cases of each check:
//!       u32: sort bdk, argsort a
//!     the kernels are the same for all keys of a width:
//!       i32, f32: sort_segments *
//! ```

use crate::patterns::Pattern;
use core::fmt::{Display, Formatter, Write};
use std::collections::{BTreeMap, BTreeSet};

/// What became of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was entered, but the arguments of the program did not ask for it.
    NotAsked,
    /// All of its cases ran: so many, with these patterns.
    Ran { cases: usize, patterns: BTreeSet<Pattern> },
    /// A case failed, and those after it did not run.
    Failed,
    /// The entry left it out, for this reason.
    LeftOut(String),
}

/// One check of one backend.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) backend: String,
    pub(crate) key: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) outcome: Outcome,
    /// The number of all cases that there could be.
    pub(crate) all: usize,
    /// Why not all of them run, if they do not.
    pub(crate) why_not_all: String,
}

/// Every check that was entered, and the operations that have no patterns: searches for vectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) entries: Vec<Entry>,
    /// Backend, check and reason of those that an entry left out.
    pub(crate) vectors_left_out: Vec<(String, &'static str, String)>,
}

impl Entry {
    /// The patterns that did not run, and why; none if all ran, or if the arguments do not ask for the check.
    fn left_out(&self) -> Option<(Vec<Pattern>, &str)> {
        match &self.outcome {
            Outcome::NotAsked => None,
            Outcome::LeftOut(why) => Some((Pattern::ALL.to_vec(), why)),
            Outcome::Failed => Some((Pattern::ALL.to_vec(), "a case failed, and those after it did not run")),
            Outcome::Ran { patterns, .. } => {
                let missing: Vec<Pattern> = Pattern::ALL.into_iter().filter(|pattern| !patterns.contains(pattern)).collect();
                (!missing.is_empty()).then_some((missing, &*self.why_not_all))
            }
        }
    }

    /// The number of cases that ran, if all of the check did.
    fn ran(&self) -> Option<usize> {
        if let Outcome::Ran { cases, .. } = self.outcome { Some(cases) } else { None }
    }
}

impl Display for Manifest {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        let names = |name: fn(&Entry) -> &'static str| self.entries.iter().map(name).collect::<BTreeSet<_>>().len();
        let (keys, operations) = (names(|entry| entry.key), names(|entry| entry.operation));
        writeln!(f, "left out, of {keys} keys × {operations} operations × {} patterns:", Pattern::ALL.len())?;
        let legend: Vec<String> = Pattern::ALL.iter().map(|&pattern| format!("{} {pattern:?}", letter(pattern))).collect();
        writeln!(f, "  patterns: {}; * is all of them", legend.join(", "))?;
        for entries in self.entries.chunk_by(|a, b| a.backend == b.backend) {
            let ran: Vec<usize> = entries.iter().filter_map(Entry::ran).collect();
            let (cases, all) = (ran.iter().sum::<usize>(), entries.iter().map(|entry| entry.all).sum::<usize>());
            let backend = &entries[0].backend;
            let why = if cases < all { format!(": {}", entries[0].why_not_all) } else { String::new() };
            writeln!(f, "  [{backend}] {} of {} checks ran, {cases} of {all} cases{why}", ran.len(), entries.len())?;
            let not_asked = entries.iter().filter(|entry| entry.outcome == Outcome::NotAsked).count();
            if not_asked > 0 {
                writeln!(f, "    checks that the arguments of the program do not ask for: {not_asked}")?;
            }
            write!(f, "{}", reasons(entries))?;
        }
        for (backend, check, why) in &self.vectors_left_out {
            writeln!(f, "  [{backend}] vectors: {check}: {why}")?;
        }
        Ok(())
    }
}

/// What entries left out: for each reason a line for the keys of which the same was left out.
fn reasons(entries: &[Entry]) -> String {
    let mut by_reason: BTreeMap<&str, BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for entry in entries {
        if let Some((patterns, why)) = entry.left_out() {
            let letters: String = patterns.iter().map(|&pattern| letter(pattern)).collect();
            let letters = if patterns.len() == Pattern::ALL.len() { "*".into() } else { letters };
            by_reason.entry(why).or_default().entry(entry.key).or_default().push(format!("{} {letters}", entry.operation));
        }
    }
    let mut text = String::new();
    for (why, keys) in by_reason {
        let mut by_line: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (key, operations) in keys {
            by_line.entry(operations.join(", ")).or_default().push(key);
        }
        let _ = writeln!(text, "    {why}:");
        for (line, keys) in by_line {
            let _ = writeln!(text, "      {}: {line}", keys.join(" "));
        }
    }
    text
}

/// A letter that stands for a pattern.
fn letter(pattern: Pattern) -> char {
    let at = Pattern::ALL.iter().position(|&other| other == pattern).unwrap_or(Pattern::ALL.len());
    char::from(b'a' + at as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &'static str, operation: &'static str, outcome: Outcome) -> Entry {
        Entry { backend: "mine".into(), key, operation, outcome, all: 100, why_not_all: "the plan draws 9 cases".into() }
    }

    fn ran(without: &[Pattern]) -> Outcome {
        Outcome::Ran { cases: 9, patterns: Pattern::ALL.into_iter().filter(|pattern| !without.contains(pattern)).collect() }
    }

    #[test]
    fn every_key_operation_and_pattern_that_did_not_run_has_a_line() {
        let left_out = |why: &str| Outcome::LeftOut(why.into());
        let entries = vec![
            entry("u8", "sort", ran(&[])),
            entry("u8", "argsort", ran(&[Pattern::Sorted, Pattern::Equal])),
            entry("u8", "top_k", left_out("it takes too long")),
            entry("u16", "sort", ran(&[])),
            entry("u16", "argsort", ran(&[Pattern::Sorted, Pattern::Equal])),
            entry("u16", "top_k", left_out("it takes too long")),
            entry("u32", "sort", Outcome::Failed),
            entry("u32", "argsort", Outcome::NotAsked),
            entry("u32", "top_k", left_out("there is no such kernel")),
        ];
        let other = Entry { backend: "other".into(), all: 9, ..entry("u8", "sort", ran(&[])) };
        let manifest = Manifest {
            entries: entries.into_iter().chain([other]).collect(),
            vectors_left_out: vec![("mine".into(), "random shapes", "they take too long".into())],
        };
        let text = manifest.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "left out, of 3 keys × 3 operations × 16 patterns:");
        assert!(lines[1].starts_with("  patterns: a Uniform, b Sorted, c Reversed, d Equal,"), "{text}");
        let expected = [
            "  [mine] 4 of 9 checks ran, 36 of 900 cases: the plan draws 9 cases",
            "    checks that the arguments of the program do not ask for: 1",
            "    a case failed, and those after it did not run:",
            "      u32: sort *",
            "    it takes too long:",
            "      u16 u8: top_k *",
            "    the plan draws 9 cases:",
            "      u16 u8: argsort bd",
            "    there is no such kernel:",
            "      u32: top_k *",
            "  [other] 1 of 1 checks ran, 9 of 9 cases",
            "  [mine] vectors: random shapes: they take too long",
        ];
        assert_eq!(lines[2..], expected);
    }
}
