//! What is stored, as text. Costs or shapes may be missing.
//!
//! ```text
//! polysort calibration 1
//! …                                           costs, if they were measured
//! tuned 2 1 512 12 4 wgpu Some GPU (Vulkan)   words of key and value; threads, keys, slices; the device
//! ```

use super::Stored;
use crate::costs::Measured;
use core::fmt::Write;
use polysort_shaders::plan::tuning::PassShape;
use polysort_shaders::plan::{PassKind, Tuned};
use std::collections::BTreeMap;

/// The first line.
const TITLE: &str = "polysort calibration 1";

/// The beginning of a line of a shape.
const TUNED: &str = "tuned ";

impl Stored {
    /// The text that [`parse`](Stored::parse) reads.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{TITLE}\n{}", self.measured.as_ref().map_or_else(String::new, Measured::text));
        for (device, tuned) in &self.tuned {
            for (PassKind { key_words, value_words }, PassShape { group, keys, slices }) in tuned.shapes() {
                let _ = writeln!(text, "{TUNED}{key_words} {value_words} {group} {keys} {slices} {device}");
            }
        }
        text
    }

    /// Reads a text; `None` if it is malformed or incomplete.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let lines = text.strip_prefix(TITLE)?.strip_prefix('\n')?.lines();
        let (shapes, costs): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with(TUNED));
        let measured = if costs.is_empty() { None } else { Some(Measured::parse(costs.into_iter())?) };
        let mut tuned = BTreeMap::<String, Tuned>::new();
        for line in shapes {
            let mut words = line.strip_prefix(TUNED)?.splitn(6, ' ');
            let mut number = || words.next()?.parse().ok();
            let kind = PassKind::new(number()?, number()?);
            let shape = PassShape { group: number()?, keys: number()?, slices: number()? };
            let of_device = tuned.entry(words.next()?.into()).or_default();
            *of_device = of_device.with(kind, shape).ok()?;
        }
        Some(Self { measured, tuned })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Costs;

    fn stored(measured: bool, devices: &[&str]) -> Stored {
        let gpu = Some(("A card, of sorts (Vulkan)".to_owned(), Costs::even(9.0, 3.0)));
        let measured = measured.then(|| Measured { threads: 3, cores: Costs::even(1000.0, 1.0), gpu });
        let shape = PassShape { group: 384, keys: 14, slices: 4 };
        let tuned = Tuned::NONE.with(PassKind::new(1, 0), shape).unwrap();
        let tuned = tuned.with(PassKind::new(2, 1), PassShape { keys: 10, ..shape }).unwrap();
        Stored { measured, tuned: devices.iter().map(|&device| (device.to_owned(), tuned)).collect() }
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        for measured in [false, true] {
            for devices in [&[][..], &["wgpu A card, of sorts (Vulkan)"], &["metal Another", "wgpu Another"]] {
                let stored = stored(measured, devices);
                assert_eq!(Stored::parse(&stored.text()), Some(stored));
            }
        }
    }

    #[test]
    fn shapes_are_lines_beside_the_costs() {
        let (without, with) = (stored(true, &[]).text(), stored(true, &["wgpu A card"]).text());
        assert_eq!(with, without + "tuned 1 0 384 14 4 wgpu A card\ntuned 2 1 384 10 4 wgpu A card\n");
        assert_eq!(stored(false, &["wgpu A card"]).text().lines().count(), 3);
    }

    #[test]
    fn what_is_malformed_is_not_read() {
        let text = stored(true, &["wgpu A card"]).text();
        let shape = "tuned 1 0 384 14 4 wgpu A card";
        assert!(text.contains(shape));
        for other in [
            "tuned",
            "tuned 1 0 384 14 4",
            "tuned 1 0 384 fourteen 4 wgpu A card",
            "tuned 1 0 384 -14 4 wgpu A card",
            "tuned 1 0  14 4 wgpu A card",
            "tuned 1 0 384 0 4 wgpu A card",
            "tuned 1 0 100 14 4 wgpu A card",
            "tuned 1 0 384 4294967296 4 wgpu A card",
            "tuned 1 3 384 14 4 wgpu A card",
            "turned 1 0 384 14 4 wgpu A card",
            "",
        ] {
            assert_eq!(Stored::parse(&text.replace(shape, other)), None, "{other:?}");
        }
        assert_eq!(Stored::parse(""), None);
        assert_eq!(Stored::parse("polysort calibration 2\n"), None);
        // Costs are whole or not there.
        let (cut, _) = text.split_once("cores 8 0").unwrap();
        assert_eq!(Stored::parse(cut), None);
    }
}
