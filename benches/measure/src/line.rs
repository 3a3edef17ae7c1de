//! The row that programs print that time sorts on a GPU, and their peers in `benches/gpu`.

use crate::row::csv_line;
use crate::times::Times;

/// What a printed row is about. The row has the columns system, backend, algorithm, key, payload, n, the median, the 5th and the 95th percentile in
/// nanoseconds, the speed, and whether the result is right.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The author of the code: `polysort`, or a peer.
    pub system: &'a str,
    /// Our backend, or that of a peer.
    pub backend: &'a str,
    /// The algorithm, or the function.
    pub algorithm: &'a str,
    /// The type of the keys.
    pub key: &'a str,
    /// The type of the values, or `none`.
    pub payload: &'a str,
    /// The number of keys.
    pub n: usize,
}

impl Line<'_> {
    /// Returns the row, with the end of its line. The speed is in 10⁹ keys per second.
    pub fn text(&self, times: &Times, is_right: bool) -> String {
        self.text_of(times, self.n as f64, is_right)
    }

    /// Returns the row, with the end of its line. The speed is in 10⁹ units per second, of which a trial processes `amount`: keys, or bytes.
    pub fn text_of(&self, times: &Times, amount: f64, is_right: bool) -> String {
        let Self { system, backend, algorithm, key, payload, n } = *self;
        let [median, p5, p95, ..] = times.of_one(1).map(|nanos| nanos.to_string());
        let speed = format!("{:.2}", times.per_nanosecond(amount));
        csv_line([system, backend, algorithm, key, payload, &n.to_string(), &median, &p5, &p95, &speed, &is_right.to_string()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_has_percentiles_and_the_speed_of_the_median() {
        let line = Line { system: "polysort", backend: "wgpu", algorithm: "OneSweep", key: "u32", payload: "none", n: 1024 };
        let times: Times = (1..=40).map(|i| Duration::from_nanos(100 * i)).collect();
        assert_eq!(line.text(&times, true), "polysort,wgpu,OneSweep,u32,none,1024,2000,200,3800,0.51,true\n");
        assert_eq!(line.text_of(&times, 8192.0, false), "polysort,wgpu,OneSweep,u32,none,1024,2000,200,3800,4.10,false\n");
    }
}
