//! The distances that a search can compute.

/// The distance between two vectors. For every metric, nearer vectors have a smaller distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// The sum of the squares of the differences.
    #[default]
    L2,
    /// The inner product, negated.
    InnerProduct,
    /// One minus the cosine of the angle between the vectors; 1 if one of them is zero.
    Cosine,
}
