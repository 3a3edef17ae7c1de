//! The checks of vector search catch bugs: each one planted here makes them fail, and the same backend without the bug passes.

use polysort_core::{Backend, Error, Limits, Spec, Word};
use polysort_kit::{StdBackend, StdStore, VectorCheck, vector_checks};
use polysort_vector::{Distances, Metric, Nearest, Precision, Search, Shape, VectorError, VectorSearch, VectorStore};

/// A way to be wrong. A backend has it as a value and not as a type, so that the checks are compiled once.
trait Bug: Sync {
    /// What the search reads in the place of the store.
    fn store(&self, _store: &mut StdStore) {}

    /// What becomes of the distances.
    fn distances(&self, _store: &StdStore, _search: &Search<'_>, _found: &mut Distances) {}

    /// What becomes of an error.
    fn error(&self, error: VectorError) -> VectorError {
        error
    }

    /// What becomes of slots and distances of a query.
    fn nearest(&self, _slots: &mut [u32], _distances: &mut [f32]) {}
}

struct NoBug;

impl Bug for NoBug {}

/// `std`'s sorts and searches, with a bug in the searches.
#[derive(Clone)]
struct Buggy(&'static dyn Bug);

impl Backend for Buggy {
    fn open() -> Result<Self, Error> {
        Ok(Self(&NoBug))
    }

    fn name(&self) -> String {
        "buggy".into()
    }

    fn limits(&self) -> Limits {
        Limits::default()
    }

    fn sort_bits<W: Word>(&self, keys: &mut [W], spec: Spec) -> Result<(), Error> {
        StdBackend.sort_bits(keys, spec)
    }

    fn sort_pairs_bits<W: Word, V: bytemuck::Pod>(&self, keys: &mut [W], values: &mut [V], spec: Spec) -> Result<(), Error> {
        StdBackend.sort_pairs_bits(keys, values, spec)
    }
}

impl VectorSearch for Buggy {
    type Store = StdStore;

    fn vector_store(&self, shape: Shape) -> Result<StdStore, VectorError> {
        StdBackend.vector_store(shape)
    }

    fn distances(&self, store: &StdStore, search: &Search<'_>) -> Result<Distances, VectorError> {
        let mut store = store.clone();
        self.0.store(&mut store);
        let mut found = StdBackend.distances(&store, search).map_err(|error| self.0.error(error))?;
        self.0.distances(&store, search, &mut found);
        Ok(found)
    }

    fn nearest(&self, store: &StdStore, search: &Search<'_>, k: usize) -> Result<Nearest, VectorError> {
        let nearest = StdBackend.nearest(store, search, k).map_err(|error| self.0.error(error))?;
        let queries = search.candidate_offsets.len().saturating_sub(1);
        let (mut slots, mut distances) = (vec![], vec![]);
        let most = (0..queries).map(|query| nearest.of(query).0.len()).max().unwrap_or(0);
        for query in 0..queries {
            let mut own = (nearest.of(query).0.to_vec(), nearest.of(query).1.to_vec());
            self.0.nearest(&mut own.0, &mut own.1);
            own.0.resize(most, u32::MAX);
            own.1.resize(most, f32::INFINITY);
            slots.extend(own.0);
            distances.extend(own.1);
        }
        Nearest::new(most, distances, slots)
    }
}

/// The names of the checks that fail with a bug.
fn failures(bug: &'static dyn Bug) -> Vec<&'static str> {
    let fails = |check: &VectorCheck<Buggy>| (check.run)(&Buggy(bug)).is_err();
    vector_checks().into_iter().filter(fails).map(|check| check.name).collect()
}

macro_rules! bugs {
    ($($(#[$doc:meta])* $bug:ident { $($body:tt)* } $test:ident: $($caught:literal)*;)*) => {$(
        $(#[$doc])*
        struct $bug;
        impl Bug for $bug { $($body)* }

        #[test]
        fn $test() {
            let caught = failures(&$bug);
            for check in [$($caught),*] {
                assert!(caught.contains(&check), "{check}: {caught:?}");
            }
        }
    )*};
}
bugs! {
    /// Vectors are read column by column.
    ColumnMajor {
        fn store(&self, store: &mut StdStore) {
            let shape = store.shape();
            let rows = store.vectors.clone();
            for (at, number) in store.vectors.iter_mut().enumerate() {
                *number = rows[at % shape.dimension * shape.capacity + at / shape.dimension];
            }
        }
    } columns_for_rows_are_caught: "a small search by hand" "slots with gaps between them" "random shapes";

    /// Entries are taken for slots.
    NoIndirection {
        fn store(&self, store: &mut StdStore) {
            (0..).zip(&mut store.entries).for_each(|(entry, slot)| *slot = entry);
        }
    } entries_for_slots_are_caught: "a small search by hand" "one query with 1000 candidates" "slots with gaps between them";

    /// The distances are right, the slots are the candidates.
    WrongSlots {
        fn distances(&self, _: &StdStore, search: &Search<'_>, found: &mut Distances) {
            found.slots.copy_from_slice(search.candidate_indices);
        }
    } candidates_for_slots_are_caught: "a small search by hand" "one query with 1000 candidates";

    /// The first candidate of a query gets what the last of the one before has.
    OffByOne {
        fn distances(&self, _: &StdStore, search: &Search<'_>, found: &mut Distances) {
            let before = found.distances.clone();
            for begin in search.candidate_offsets.iter().map(|&begin| begin as usize) {
                if begin > 0 && begin < before.len() {
                    found.distances[begin] = before[begin - 1];
                }
            }
        }
    } distances_of_another_query_are_caught: "a small search by hand" "100 queries with 10 candidates each";

    /// What is left of a dimension after fours is dropped.
    DroppedRemainder {
        fn store(&self, store: &mut StdStore) {
            let dimension = store.shape().dimension;
            store.vectors.chunks_mut(dimension).for_each(|vector| vector[dimension - dimension % 4..].fill(0.0));
        }
    } dropped_remainders_are_caught: "dimensions with every remainder" "random shapes";

    /// Half precision is forgotten, or rounded towards zero: one unit in its last place.
    Truncated {
        fn store(&self, store: &mut StdStore) {
            if store.shape().precision == Precision::F16 {
                store.vectors.iter_mut().for_each(|number| *number *= 1.0 - 1.0 / 2048.0);
            }
        }
    } wrong_rounding_is_caught: "one query with 1000 candidates" "dimensions with every remainder";

    /// Distances of what is no number have a sign.
    SignedNan {
        fn distances(&self, _: &StdStore, _: &Search<'_>, found: &mut Distances) {
            found.distances.iter_mut().filter(|distance| distance.is_nan()).for_each(|distance| *distance = -f32::NAN);
        }
    } a_sign_on_no_number_is_caught: "sums beyond single precision";

    /// Squares are added up in single precision as they are: the norms of large and small vectors become infinite or zero.
    Unscaled {
        fn distances(&self, store: &StdStore, search: &Search<'_>, found: &mut Distances) {
            if search.metric != Metric::Cosine {
                return;
            }
            let dimension = store.shape().dimension;
            let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            for (query, ends) in search.queries.chunks(dimension).zip(search.candidate_offsets.windows(2)) {
                for at in ends[0] as usize..ends[1] as usize {
                    let vector = &store.vectors[found.slots[at] as usize * dimension..][..dimension];
                    let norms = sum(query, query).sqrt() * sum(vector, vector).sqrt();
                    let distance = if norms == 0.0 { 1.0 } else { 1.0 - sum(query, vector) / norms };
                    found.distances[at] = if distance.is_nan() { f32::NAN } else { distance };
                }
            }
        }
    } squares_that_overflow_are_caught: "cosines of huge and tiny vectors";

    /// Equally near ones come in the opposite order.
    UnstableTies {
        fn nearest(&self, slots: &mut [u32], distances: &mut [f32]) {
            let mut from = 0;
            for run in distances.chunk_by(|a, b| a == b) {
                slots[from..from + run.len()].reverse();
                from += run.len();
            }
        }
    } unstable_ties_are_caught: "the nearest in order" "thousands of nearest";

    /// The farthest of the nearest is missed once there are many.
    LimitedSelection {
        fn nearest(&self, slots: &mut [u32], distances: &mut [f32]) {
            if distances.len() > 4096 {
                slots[4096] ^= 1;
            }
        }
    } a_limit_of_the_selection_is_caught: "thousands of nearest";

    /// Only the first wrong candidate is counted.
    Miscounted {
        fn error(&self, error: VectorError) -> VectorError {
            match error {
                VectorError::BadCandidates { .. } => VectorError::BadCandidates { count: 1 },
                error => error,
            }
        }
    } a_wrong_count_is_caught: "wrong candidates are told or counted";
}

#[test]
fn a_right_backend_passes() {
    assert_eq!(failures(&NoBug), [""; 0]);
    for check in vector_checks::<StdBackend>() {
        (check.run)(&StdBackend).unwrap_or_else(|failure| panic!("{}: {failure}", check.name));
    }
}
