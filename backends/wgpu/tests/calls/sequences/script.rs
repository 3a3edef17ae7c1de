//! The random choices of a sequence, and the text of its steps.

use crate::support;
use core::fmt::Write;
use polysort_core::Options;
use polysort_kit::{Pattern, TestKey};

pub(super) struct Script {
    random: Box<dyn FnMut() -> u64>,
    /// What each step does.
    steps: Vec<Vec<String>>,
}

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        Self { random: Box::new(support::random(seed)), steps: vec![vec![]] }
    }

    /// Begins a step.
    pub(super) fn begin(&mut self) {
        self.steps.push(vec![]);
    }

    /// Adds what the step does to its text.
    pub(super) fn says(&mut self, what: String) {
        self.steps.last_mut().expect("there is always a step").push(what);
    }

    /// Returns the text of all steps.
    pub(super) fn steps(&self) -> String {
        self.steps.iter().enumerate().fold(String::new(), |mut text, (at, step)| {
            writeln!(text, "{at:3}  {}", step.join("; ")).expect("a string takes any text");
            text
        })
    }

    pub(super) fn word(&mut self) -> u64 {
        (self.random)()
    }

    /// Draws a number below `end`; 0 if `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.word() >> 8) as usize % end.max(1)
    }

    /// Draws one of some values.
    pub(super) fn one<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Draws true in `percent` of all cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Draws a number of elements up to `most`: few, about a thousand, or most of them.
    pub(super) fn len(&mut self, most: usize) -> usize {
        let len = match self.below(8) {
            0 => self.below(4),
            1..=3 => 300 + self.below(1000),
            4 => most,
            _ => most - self.below(most / 2 + 1),
        };
        len.min(most)
    }

    pub(super) fn options<K: TestKey>(&mut self) -> Options {
        let options = self.one(&[Options::ascending(), Options::descending()]);
        if self.chance(70) {
            return options;
        }
        let begin = self.below(K::WIDTH as usize + 1) as u32;
        options.bits(begin..begin + self.below((K::WIDTH - begin) as usize + 1) as u32)
    }

    /// Draws `len` keys, and their pattern.
    pub(super) fn keys<K: TestKey>(&mut self, len: usize) -> Vec<K> {
        let pattern = self.one(&Pattern::ALL);
        self.says(format!("keys of {pattern:?}"));
        pattern.keys(len, self.word())
    }

    /// Draws `len` values that differ.
    pub(super) fn values<V: bytemuck::Pod>(&mut self, len: usize) -> Vec<V> {
        let first = self.word();
        let word = |i: usize| first.wrapping_add(i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..len).map(|i| bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&[word(i), !word(i)])[..size_of::<V>()])).collect()
    }
}
