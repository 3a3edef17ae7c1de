//! The systems that a case compares: polysort's backends, std and rayon.

use super::case::{Algorithm, Case, Op, Payload, TOP_K};
use super::peers;
use super::system::{OURS, Run, System};
use crate::dtype::Key;
use crate::order::Direction;
use polysort::{AnyBackend, Options, Sort};

/// Returns all systems for a case: polysort on each backend with each algorithm, then its peers.
pub(crate) fn systems<K: Key>(case: &Case, backends: &[(AnyBackend, Algorithm)]) -> Vec<System<K>> {
    let ours = |(backend, algorithm): &(AnyBackend, Algorithm)| System {
        system: OURS,
        backend: backend.kind(),
        algorithm: *algorithm,
        run: on_backend(case, backend.clone()),
    };
    let peers = match case.direction {
        Direction::Asc => peers::peers::<K, false>(case),
        Direction::Desc => peers::peers::<K, true>(case),
    };
    backends.iter().map(ours).chain(peers).collect()
}

fn on_backend<K: Key>(case: &Case, backend: AnyBackend) -> Run<K> {
    let options = Options::ordered(case.direction.into());
    match (case.op, case.payload) {
        (Op::Sort, _) => Run::Keys(Box::new(move |keys, _| backend.sort_with(keys, options))),
        (Op::SortSegments, _) => Run::Keys(Box::new(move |keys, offsets| backend.sort_segments_with(keys, offsets, options))),
        (Op::SortPairs, Payload::U64) => {
            Run::Columns64(Box::new(move |keys, values| backend.sort_pairs_with(keys, values, options)))
        }
        (Op::SortPairs, _) => Run::Columns32(Box::new(move |keys, values| backend.sort_pairs_with(keys, values, options))),
        (Op::Argsort, _) => Run::Shared(Box::new(move |keys| backend.argsort_with(keys, options))),
        (Op::TopK, _) => Run::Shared(Box::new(move |keys| Ok(backend.top_k_with(keys, TOP_K, options)?.indices))),
    }
}
