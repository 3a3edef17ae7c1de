//! `devices`: the backends, their limits, the adapters, and which backend `auto` chooses.

use crate::backend::AUTO;
use crate::outcome::Outcome;
use crate::standard::stdout;
use anyhow::Result;
use polysort::gpu::Config;
use polysort::{AnyBackend, Auto, Backend, Limits};
use std::io::Write;

/// The sizes of keys and payloads in bytes for which [`Auto`] may choose differently.
const KEY_BYTES: [usize; 5] = [1, 2, 4, 8, 16];
const PAYLOAD_BYTES: [usize; 5] = [0, 4, 8, 12, 16];

/// The longest call for which the choice is listed, as a power of two.
const LONGEST: u32 = 32;

/// Lists every backend of this build.
pub(crate) fn devices() -> Result<Outcome> {
    let mut out = stdout()?;
    for &name in AnyBackend::NAMES {
        match AnyBackend::by_name(name) {
            Ok(backend) => writeln!(out, "{name:<8}{}\n        {}", backend.name(), describe(backend.limits()))?,
            Err(error) => writeln!(out, "{name:<8}{error}")?,
        }
    }
    for (index, adapter) in Config::default().adapters()?.iter().enumerate() {
        writeln!(out, "adapter {index}: {} ({:?}, {:?})", adapter.name, adapter.backend, adapter.device_type)?;
    }
    match Auto::global() {
        Err(error) => writeln!(out, "{AUTO:<8}{error}")?,
        Ok(auto) => {
            writeln!(out, "{AUTO:<8}{}", auto.name())?;
            for line in auto.explain() {
                writeln!(out, "        {line}")?;
            }
            for rule in rules(|len, key, payload| auto.choose(len, key, payload).kind()) {
                writeln!(out, "        {rule}")?;
            }
        }
    }
    Ok(Outcome::Fine)
}

fn describe(limits: Limits) -> String {
    let number =
        |limit: u64, unit: &str| if limit == u64::MAX { format!("any number of {unit}") } else { format!("{limit} {unit}") };
    match (limits.max_len, limits.max_bytes) {
        (u64::MAX, u64::MAX) => "sorts what fits in memory".into(),
        (len, bytes) => format!("sorts at most {} and {} in a call", number(len, "keys"), number(bytes, "bytes")),
    }
}

/// Returns the choices, one line for all sizes of keys and payloads that share a choice.
fn rules(choose: impl Fn(usize, usize, usize) -> &'static str) -> Vec<String> {
    let mut rules: Vec<(String, Vec<(usize, usize)>)> = vec![];
    for key in KEY_BYTES {
        for payload in PAYLOAD_BYTES {
            let choice = ranges(|len| choose(len, key, payload));
            match rules.iter_mut().find(|(known, _)| *known == choice) {
                Some((_, sizes)) => sizes.push((key, payload)),
                None => rules.push((choice, vec![(key, payload)])),
            }
        }
    }
    if let [(choice, _)] = &rules[..] {
        return vec![format!("{choice}, for every key and payload")];
    }
    let name = |&(key, payload): &(usize, usize)| if payload == 0 { format!("{key}") } else { format!("{key}+{payload}") };
    let line = |(choice, sizes): (String, Vec<_>)| {
        format!("{choice}, for keys+payloads of {} bytes", sizes.iter().map(name).collect::<Vec<_>>().join(", "))
    };
    rules.into_iter().map(line).collect()
}

/// Returns the choices for growing lengths: `rayon; wgpu from 2^20 keys`.
fn ranges(choose: impl Fn(usize) -> &'static str) -> String {
    let mut text = choose(1).to_string();
    for power in 1..=LONGEST.min(usize::BITS - 1) {
        let (before, now) = (choose(1 << (power - 1)), choose(1 << power));
        if before != now {
            // A binary search between two powers of two finds the exact length.
            let (mut low, mut high) = (1_usize << (power - 1), 1_usize << power);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if choose(middle) == before { low = middle } else { high = middle }
            }
            text += &format!("; {now} from {high} keys");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_choice_is_one_line() {
        assert_eq!(rules(|_, _, _| "rayon"), ["rayon, for every key and payload"]);
    }

    #[test]
    fn thresholds_are_found_exactly() {
        let choose = |len, key, payload| if key == 16 || len < 70_000 || payload > 8 { "rayon" } else { "wgpu" };
        let rules = rules(choose);
        assert_eq!(rules.len(), 2);
        assert!(rules[0].starts_with("rayon; wgpu from 70000 keys, for keys+payloads of 1, 1+4, 1+8, 2,"), "{}", rules[0]);
        assert!(rules[1].starts_with("rayon, for keys+payloads of 1+12, 1+16,"), "{}", rules[1]);
    }
}
