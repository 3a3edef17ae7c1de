//! Plans vector searches on a GPU: distances page by page, a selection for each query, and its distances and slots.
//!
//! ```text
//! ivf_distance   queries, a page of vectors, candidates ──▶ a distance and a slot each      once for each page
//! top_k          distances, bounds of the candidates of each query ──▶ indices of the nearest candidates
//! nearest        these indices ──▶ their distances and slots
//! ```

use super::command::{Buffer, Command, Groups};
use super::facts::Facts;
use super::kernel_shape::{KernelShape, Vectors};
use super::request::{Request, Top};
use super::tuning::{DISTANCE_RUN, DISTANCE_TEAM, GROUP};
use super::variant::Variant;
use polysort_vector::{BY_DISTANCE, Metric, Precision, Shape};

/// The launches of a search. The number of workgroups depends on the number of candidates for `distances`, of queries for
/// the selection, and of results for `nearest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPlan {
    /// Computes the distances of all candidates, one page at a time.
    pub distances: Command,
    /// Writes the distances and slots of the selected candidates.
    pub nearest: Command,
}

impl SearchPlan {
    /// Plans searches in a store of this `shape`.
    pub fn new(shape: Shape, metric: Metric, facts: &Facts) -> Self {
        let group = GROUP.min(facts.max_group);
        let vectors = Vectors {
            metric,
            precision: shape.precision,
            quads: shape.dimension.is_multiple_of(4),
            team: (shape.dimension.div_ceil(4) as u32).next_power_of_two().min(DISTANCE_TEAM),
        };
        let tile = group / vectors.team * DISTANCE_RUN;
        let variant = Variant::of(KernelShape::IvfDistance(vectors), 32, group);
        let bindings = vec![
            Buffer::Search,
            Buffer::Queries,
            Buffer::Vectors,
            Buffer::Entries,
            Buffer::Listed,
            Buffer::Offsets,
            Buffer::Distances,
            Buffer::Slots,
            Buffer::Faults,
        ];
        let distances = Command { variant, bindings, numbers: vec![], groups: Groups::Each { units: 1, of: tile } };
        let bindings =
            vec![Buffer::Search, Buffer::Positions, Buffer::Distances, Buffer::Slots, Buffer::NearDistances, Buffer::NearSlots];
        let variant = Variant::of(KernelShape::Nearest, 32, group);
        let nearest = Command { variant, bindings, numbers: vec![], groups: Groups::Each { units: 1, of: group } };
        Self { distances, nearest }
    }

    /// Returns the request of the selection between the two launches: the `k` nearest candidates of each of up to `queries`
    /// queries.
    pub fn select(k: u32, queries: u64) -> Request {
        Request::keys(32, BY_DISTANCE, queries).select(Top { k, segmented: true })
    }

    /// Returns the distance from one vector of a page to the next, in parts. A thread reads a part at a time: four
    /// numbers, or one.
    pub fn stride(shape: Shape) -> u32 {
        let dimension = shape.dimension as u32;
        match shape.precision {
            _ if dimension.is_multiple_of(4) => dimension / 4,
            // Vectors start at whole words.
            Precision::F16 => dimension.next_multiple_of(2),
            _ => dimension,
        }
    }

    /// Returns the bytes from one vector of a page to the next.
    pub fn stride_bytes(shape: Shape) -> u64 {
        let numbers = Self::stride(shape) * if shape.dimension.is_multiple_of(4) { 4 } else { 1 };
        u64::from(numbers) * if shape.precision == Precision::F16 { 2 } else { 4 }
    }
}
