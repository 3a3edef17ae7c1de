//! Distances of vectors in slots from one query.

use super::kept::{BLOCK, Kept};
use super::sums::{LANES, add, blocks, sum, total};
use crate::trace::{Step, took};
use crate::tuning::vector::{CACHE_LINE, TOUCHED, TOUCHED_BYTES};
use crate::wide::Wide;
use core::ops::RangeInclusive;
use polysort_vector::Metric;

/// The sums of squares for which a cosine in single precision is as accurate as the contract of [`VectorSearch`] demands. A term below 2⁻¹²⁶ may be
/// lost: in all less than 2⁻⁹⁴ of 2³² terms, which is less than 2⁻³⁴ of each sum of squares in this range.
const PLAIN_SQUARES: RangeInclusive<f32> = 1.0 / (1_u64 << 60) as f32..=f32::MAX;

/// One query, with the values that all of its distances share.
pub(super) struct Query<'a> {
    metric: Metric,
    numbers: &'a [f32],
    /// Its norm for [`Metric::Cosine`], if single precision holds the squares.
    norm: Option<f32>,
}

impl<'a> Query<'a> {
    pub(super) fn new(metric: Metric, numbers: &'a [f32]) -> Self {
        let norm = if metric == Metric::Cosine {
            let squares = sum(
                numbers,
                numbers,
                &mut [0.0; BLOCK],
                #[inline(always)]
                |a, b| a * b,
            );
            PLAIN_SQUARES.contains(&squares).then(|| squares.sqrt())
        } else {
            None
        };
        Self { metric, numbers, norm }
    }

    /// The distance of a vector from the query.
    #[inline(always)]
    fn distance<T: Kept>(&self, vector: &[T], buffer: &mut [f32; BLOCK]) -> f32 {
        let distance = match self.metric {
            Metric::L2 => sum(
                self.numbers,
                vector,
                buffer,
                #[inline(always)]
                |a, b| (a - b) * (a - b),
            ),
            Metric::InnerProduct => -sum(
                self.numbers,
                vector,
                buffer,
                #[inline(always)]
                |a, b| a * b,
            ),
            Metric::Cosine => {
                let (mut products, mut squares) = ([0.0; LANES], [0.0; LANES]);
                blocks(
                    self.numbers,
                    vector,
                    buffer,
                    #[inline(always)]
                    |query, vector| {
                        add(
                            &mut products,
                            query,
                            vector,
                            #[inline(always)]
                            |a, b| a * b,
                        );
                        add(
                            &mut squares,
                            query,
                            vector,
                            #[inline(always)]
                            |_, b| b * b,
                        );
                    },
                );
                let squares = total(&squares);
                match self.norm {
                    Some(norm) if PLAIN_SQUARES.contains(&squares) => 1.0 - total(&products) / (norm * squares.sqrt()),
                    _ => cosine_in_double(self.numbers, vector, buffer),
                }
            }
            other => unreachable!("a search by {other:?} is refused"),
        };
        // Processors differ in the sign of a NaN, and the sign decides where a NaN is sorted: here it is always clear.
        if distance.is_nan() { f32::NAN } else { distance }
    }
}

/// One minus the cosine of two vectors whose squares may be too large or too small for single precision, or all zero. Double precision holds the
/// squares of every number.
#[cold]
#[inline(never)]
fn cosine_in_double<T: Kept>(query: &[f32], vector: &[T], buffer: &mut [f32; BLOCK]) -> f32 {
    took(Step::Double);
    let (mut product, mut query_squares, mut vector_squares) = (0.0, 0.0, 0.0);
    blocks(query, vector, buffer, |query, vector| {
        for (&a, &b) in query.iter().zip(vector) {
            let (a, b) = (f64::from(a), f64::from(b));
            product += a * b;
            query_squares += a * a;
            vector_squares += b * b;
        }
    });
    let norms = query_squares.sqrt() * vector_squares.sqrt();
    if norms == 0.0 { 1.0 } else { (1.0 - product / norms) as f32 }
}

/// The distances of vectors in slots from a query.
pub(super) struct Measured<'a, T> {
    pub(super) query: Query<'a>,
    pub(super) vectors: &'a [T],
    pub(super) slots: &'a [u32],
    pub(super) distances: &'a mut [f32],
}

impl<T: Kept> Wide for Measured<'_, T> {
    #[inline(always)]
    fn run(self) {
        let (dimension, mut buffer) = (self.query.numbers.len(), [0.0; BLOCK]);
        let together = (TOUCHED_BYTES / (dimension * size_of::<T>())).clamp(1, TOUCHED);
        for (slots, distances) in self.slots.chunks(together).zip(self.distances.chunks_mut(together)) {
            if !slots.is_sorted_by(|&before, &after| before.wrapping_add(1) == after) {
                took(Step::Touched(slots.len()));
                core::hint::black_box(touched(self.vectors, dimension, slots));
            }
            for (&slot, distance) in slots.iter().zip(distances) {
                *distance = match vector(self.vectors, dimension, slot) {
                    Some(vector) => self.query.distance(vector, &mut buffer),
                    None => f32::INFINITY,
                };
            }
        }
    }
}

/// The vector in a slot, unless that is [`NO_SLOT`].
#[inline(always)]
fn vector<T>(vectors: &[T], dimension: usize, slot: u32) -> Option<&[T]> {
    let start = (slot as usize).checked_mul(dimension)?;
    vectors.get(start..start.checked_add(dimension)?)
}

/// Reads one number of each cache line of some vectors, and returns all their bits in one word. No read waits for another one.
fn touched<T: Kept>(vectors: &[T], dimension: usize, slots: &[u32]) -> u32 {
    slots
        .iter()
        .filter_map(|&slot| vector(vectors, dimension, slot))
        .fold(0, |bits, vector| vector.chunks(CACHE_LINE / size_of::<T>()).fold(bits, |bits, line| bits ^ line[0].bits()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::steps_of;
    use crate::vector::samples::{expected, numbers};
    use half::f16;
    use polysort_vector::NO_SLOT;

    #[test]
    fn distances_are_those_of_the_definition_whatever_the_dimension() {
        for dimension in (1..70).chain([255, 256, 257, 272, 273, 511, 512, 531]) {
            let (query, vector) = (numbers(0..dimension), numbers(dimension..2 * dimension));
            let halves = Vec::from_iter(vector.iter().map(|&number| f16::from_f32(number)));
            let widened = Vec::from_iter(halves.iter().map(|half| half.to_f32()));
            for metric in [Metric::L2, Metric::InnerProduct, Metric::Cosine] {
                let (whole, mut buffer) = (Query::new(metric, &query), [0.0; BLOCK]);
                for (found, vector) in
                    [(whole.distance(&vector, &mut buffer), &vector), (whole.distance(&halves, &mut buffer), &widened)]
                {
                    let error = (f64::from(found) - expected(metric, &query, vector)).abs();
                    assert!(error < 1e-5 * dimension as f64, "{found} by {metric:?} of {dimension} numbers");
                }
            }
        }
    }

    #[test]
    fn a_nan_has_no_sign() {
        let infinite = [f32::MAX; 40];
        for (metric, query) in [(Metric::L2, f32::NAN), (Metric::L2, -f32::NAN), (Metric::InnerProduct, f32::NAN)] {
            let distance = Query::new(metric, &[query; 40]).distance(&infinite, &mut [0.0; BLOCK]);
            assert_eq!(distance.to_bits(), f32::NAN.to_bits());
        }
    }

    #[test]
    fn a_cosine_is_computed_in_double_precision_only_if_single_does_not_hold_its_squares() {
        let of = |query: f32, vector: f32| {
            let (query, vector) = ([query, 0.0], [vector, vector]);
            let mut distance = 0.0;
            let steps = steps_of(|| distance = Query::new(Metric::Cosine, &query).distance(&vector, &mut [0.0; BLOCK]));
            assert!((distance - expected(Metric::Cosine, &query, &vector) as f32).abs() < 1e-6, "{distance}");
            steps == [Step::Double]
        };
        let (small, large) = (2.0_f32.powi(-29), 2.0_f32.powi(62));
        for plain in [small, 0.1, 1.0, 10.0, large] {
            assert!(!of(plain, 1.0) && !of(1.0, plain) && !of(plain, -1.0), "{plain}");
        }
        for other in [1e-30, small / 8.0, 8.0 * large] {
            assert!(of(other, 1.0) && of(1.0, other) && of(other, -other), "{other}");
        }
        let zero = Query::new(Metric::Cosine, &[0.0; 3]).distance(&[1.0_f32, 2.0, 3.0], &mut [0.0; BLOCK]);
        assert_eq!(zero, 1.0);
    }

    #[test]
    fn terms_of_a_cosine_in_double_precision_are_those_of_the_definition() {
        for dimension in [1, 2, 7, 300] {
            let (query, vector) = (numbers(5..5 + dimension), numbers(400..400 + dimension));
            let found = cosine_in_double(&query, &vector, &mut [0.0; BLOCK]);
            assert!((f64::from(found) - expected(Metric::Cosine, &query, &vector)).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn vectors_in_scattered_slots_are_touched_some_at_a_time() {
        fn touches<T: Kept>(vectors: &[T], dimension: usize, slots: &[u32]) -> Vec<Step> {
            let (query, mut distances) = (vec![1.0; dimension], vec![0.0; slots.len()]);
            let query = Query::new(Metric::L2, &query);
            steps_of(|| Measured { query, vectors, slots, distances: &mut distances }.run())
        }
        let adjacent = Vec::from_iter(0..100);
        let scattered = Vec::from_iter((0..100).rev());
        assert_eq!(touches(&[0.0_f32; 1600], 16, &adjacent), []);
        assert_eq!(touches(&[0.0_f32; 1600], 16, &scattered), [TOUCHED, TOUCHED, TOUCHED, 100 % TOUCHED].map(Step::Touched));
        let wide = TOUCHED_BYTES / size_of::<f32>() / 5;
        assert_eq!(touches(&vec![0.0_f32; 10 * wide], wide, &scattered[90..]), [Step::Touched(5); 2]);
        assert_eq!(touches(&vec![f16::ZERO; 10 * wide], wide, &scattered[90..]), [Step::Touched(10)]);
        let wide = 2 * TOUCHED_BYTES;
        assert_eq!(touches(&vec![0.0_f32; 2 * wide], wide, &[1, 0]), []);
    }

    #[test]
    fn one_number_of_each_cache_line_is_touched() {
        let numbers = numbers(0..200);
        let bits = |touched: &[usize]| touched.iter().fold(0, |bits, &at| bits ^ numbers[at].to_bits());
        assert_eq!(touched(&numbers, 40, &[0, 3, NO_SLOT, 9]), bits(&[0, 16, 32, 120, 136, 152]));
        let halves = Vec::from_iter(numbers.iter().map(|&number| f16::from_f32(number)));
        let bits = |touched: &[usize]| touched.iter().fold(0, |bits, &at| bits ^ u32::from(halves[at].to_bits()));
        assert_eq!(touched(&halves, 40, &[0, 3]), bits(&[0, 32, 120, 152]));
    }
}
