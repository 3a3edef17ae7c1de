//! The costs of sorts on the devices of a machine: by the built-in table, or as they were measured.

use core::convert::Infallible;
#[cfg(feature = "calibration")]
use core::fmt::Write;
use std::collections::BTreeMap;

/// Sizes of keys, in bytes, that costs are known for.
pub(crate) const KEY_BYTES: [usize; 5] = [1, 2, 4, 8, 16];

/// Sizes of payloads, in bytes, that costs are known for. Another size costs as much as the next larger one.
pub(crate) const PAYLOAD_BYTES: [usize; 4] = [0, 4, 8, 16];

/// Numbers of keys that costs are known for. Between them costs are linear, and beyond the last one they are proportional.
pub(crate) const LENGTHS: [usize; 4] = [1 << 10, 1 << 14, 1 << 18, 1 << 22];

/// The line that stands for the name of a GPU.
#[cfg(feature = "calibration")]
const NO_GPU: &str = "no gpu";

/// Nanoseconds that one core takes for each byte of keys and payload. Measured: 16 M keys of 4 and 8 bytes on two cores of an AMD EPYC.
const CORE_BYTE: f64 = 1.0;

/// The most cores that make a sort faster: with more of them the memory limits it.
const USEFUL_CORES: usize = 16;

/// Nanoseconds of a sort on one device, by the bytes of its keys and of its payload, for each of [`LENGTHS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Costs(BTreeMap<(usize, usize), [f64; LENGTHS.len()]>);

impl Costs {
    /// Costs of `call` nanoseconds and `byte` more for each byte of keys and payload.
    pub(crate) fn even(call: f64, byte: f64) -> Self {
        let even = |len, key, payload| Ok::<_, Infallible>(call + byte * (len * (key + payload)) as f64);
        match Self::by(even) {
            Ok(costs) => costs,
            Err(never) => match never {},
        }
    }

    /// The costs that `cost` returns for a number of keys and the bytes of a key and of a payload.
    pub(crate) fn by<E>(mut cost: impl FnMut(usize, usize, usize) -> Result<f64, E>) -> Result<Self, E> {
        let mut all = BTreeMap::new();
        for key in KEY_BYTES {
            for payload in PAYLOAD_BYTES {
                let mut costs = [0.0; LENGTHS.len()];
                for (slot, len) in costs.iter_mut().zip(LENGTHS) {
                    *slot = cost(len, key, payload)?;
                }
                all.insert((key, payload), costs);
            }
        }
        Ok(Self(all))
    }

    /// The assumed costs on so many cores.
    pub(crate) fn of_cores(cores: usize) -> Self {
        Self::even(0.0, CORE_BYTE / cores.clamp(1, USEFUL_CORES) as f64)
    }

    /// Nanoseconds for `len` keys.
    pub(crate) fn of(&self, len: usize, key_bytes: usize, payload_bytes: usize) -> f64 {
        let up = |sizes: &[usize], bytes| *sizes.iter().find(|&&size| size >= bytes).unwrap_or(&sizes[sizes.len() - 1]);
        let known = &self.0[&(up(&KEY_BYTES, key_bytes), up(&PAYLOAD_BYTES, payload_bytes))];
        let last = LENGTHS.len() - 1;
        match LENGTHS.iter().position(|&known| len <= known) {
            Some(0) => known[0],
            Some(above) => {
                let (from, to) = (LENGTHS[above - 1], LENGTHS[above]);
                let part = (len - from) as f64 / (to - from) as f64;
                known[above - 1] + part * (known[above] - known[above - 1])
            }
            None => known[last] * (len as f64 / LENGTHS[last] as f64),
        }
    }
}

/// The costs that were measured on a machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// The number of threads of the CPU's sorts.
    pub(crate) threads: usize,
    pub(crate) cores: Costs,
    /// The name of the GPU and its costs, if there was one.
    pub(crate) gpu: Option<(String, Costs)>,
}

#[cfg(feature = "calibration")]
impl Measured {
    /// The lines that [`parse`](Measured::parse) reads.
    pub(crate) fn text(&self) -> String {
        let name = self.gpu.as_ref().map_or_else(|| NO_GPU.into(), |(name, _)| format!("gpu {name}"));
        let mut text = format!("threads {}\n{name}\n", self.threads);
        let _ = writeln!(text, "nanoseconds by bytes of key and payload, for {LENGTHS:?} keys");
        for (device, costs) in [("cores", Some(&self.cores)), ("gpu", self.gpu.as_ref().map(|(_, costs)| costs))] {
            for ((key, payload), costs) in costs.iter().flat_map(|costs| &costs.0) {
                let costs: Vec<String> = costs.iter().map(|cost| format!("{cost:.0}")).collect();
                let _ = writeln!(text, "{device} {key} {payload} {}", costs.join(" "));
            }
        }
        text
    }

    /// Reads lines; `None` if they are malformed or incomplete.
    pub(crate) fn parse<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        let threads = lines.next()?.strip_prefix("threads ")?.parse().ok()?;
        let name = match lines.next()? {
            NO_GPU => None,
            line => Some(line.strip_prefix("gpu ")?),
        };
        // What the columns are.
        lines.next()?;
        let (mut cores, mut gpu) = (Costs::default(), Costs::default());
        for line in lines {
            let mut words = line.split(' ');
            let costs = match words.next()? {
                "cores" => &mut cores,
                "gpu" => &mut gpu,
                _ => return None,
            };
            let (key, payload) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let numbers = words.map(|word| word.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost >= 0.0));
            let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
            costs.0.insert((key, payload), numbers.try_into().ok()?);
        }
        let whole = |costs: &Costs| costs.0.keys().eq(Costs::even(0.0, 0.0).0.keys());
        let gpu = name.map(|name| (name.to_owned(), gpu));
        (whole(&cores) && gpu.as_ref().is_none_or(|(_, costs)| whole(costs))).then_some(Self { threads, cores, gpu })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_grow_between_and_beyond_what_is_known() {
        let cost = |len: usize, key, payload| {
            let place = LENGTHS.iter().position(|&known| known == len).ok_or(len)?;
            Ok::<_, usize>(1000.0 * (place + 1) as f64 + (100 * key + payload) as f64)
        };
        let costs = Costs::by(cost).expect("only what is known is asked for");
        assert_eq!(costs.of(0, 4, 0), 1400.0);
        assert_eq!(costs.of(1 << 10, 4, 0), 1400.0);
        assert_eq!(costs.of(((1 << 14) + (1 << 18)) / 2, 4, 0), 2900.0);
        assert_eq!(costs.of(1 << 24, 4, 0), 4.0 * 4400.0);
        // Sizes between count as the next larger one, and those beyond as the largest.
        assert_eq!(costs.of(1 << 10, 3, 5), 1408.0);
        assert_eq!(costs.of(1 << 10, 16, 999), 2616.0);
        assert_eq!(Costs::even(7.0, 2.0).of(1 << 14, 4, 4), 7.0 + 2.0 * 8.0 * 16384.0);
    }

    #[cfg(feature = "calibration")]
    #[test]
    fn a_text_is_read_as_it_was_written_or_not_at_all() {
        let costs = Costs::even(1000.0, 1.0);
        for gpu in [None, Some(("A card, of sorts (Vulkan)".to_owned(), Costs::even(9.0, 3.0)))] {
            let measured = Measured { threads: 3, cores: costs.clone(), gpu };
            let text = measured.text();
            assert_eq!(Measured::parse(text.lines()), Some(measured));
            let lines: Vec<&str> = text.lines().collect();
            for missing in 0..lines.len() {
                let rest = (0..lines.len()).filter(|&line| line != missing).map(|line| lines[line]);
                assert_eq!(Measured::parse(rest), None, "without {:?}", lines[missing]);
            }
            assert_eq!(Measured::parse(text.replace("cores 1 0 ", "cores 1 0 -").lines()), None);
        }
        assert_eq!(Measured::parse("".lines()), None);
    }
}
