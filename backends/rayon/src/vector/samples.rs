//! Numbers for tests of this module, and distances by their definition.

use core::ops::Range;
use polysort_vector::Metric;

fn number(index: usize) -> f32 {
    (index as u32).wrapping_mul(2_654_435_761) as f32 / u32::MAX as f32 - 0.5
}

pub(super) fn numbers(range: Range<usize>) -> Vec<f32> {
    range.map(number).collect()
}

/// The distance by its definition, in double precision.
pub(super) fn expected(metric: Metric, query: &[f32], vector: &[f32]) -> f64 {
    let sum = |term: fn(f64, f64) -> f64| -> f64 { query.iter().zip(vector).map(|(&a, &b)| term(a.into(), b.into())).sum() };
    match metric {
        Metric::L2 => sum(|a, b| (a - b).powi(2)),
        Metric::InnerProduct => -sum(|a, b| a * b),
        _ => 1.0 - sum(|a, b| a * b) / (sum(|a, _| a * a).sqrt() * sum(|_, b| b * b).sqrt()),
    }
}
