//! Records the steps of a sort, so that tests can check them. Most choices between algorithms change only the time, which no result shows.
//!
//! Code calls [`took`] where it takes a step. Outside of this crate's tests, that does nothing.

/// A step of a sort, a selection, a merge or a vector search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Records were in the opposite order and were reversed. `ties`: before that, each run of equal records was.
    Reversed { ties: bool },
    /// `threads` threads looked for equal neighbors among `len` records in descending order.
    Ties { len: usize, threads: usize },
    /// One task took this many segments.
    Segments(usize),
    /// Two sorted halves of so many records were merged.
    Merged(usize),
    /// A merge of runs was cut into this many shares.
    Shares(usize),
    /// A thread merged the runs of so many records in its cache.
    Block(usize),
    /// A network sorted so many words.
    Network(usize),
    /// A network sorted `len` tickets of `bits` bits.
    Tickets { len: usize, bits: u32 },
    /// So many passes by all bits of a narrow window moved `len` records.
    Narrow { len: usize, passes: usize },
    /// Two passes or more by the top `bits` bits in which keys differ moved `len` records.
    Passes { len: usize, bits: u32 },
    /// One thread moved `len` records by a digit of `digits` values.
    Cached { len: usize, digits: usize },
    /// `chunks` tasks moved `len` records to `buckets` buckets; `stream`: past the cache.
    Partition { len: usize, chunks: usize, buckets: usize, stream: bool },
    /// A dictionary counted so many keys.
    Dictionary(usize),
    /// Keys of 8 or 16 bits, this many, were counted by value.
    Counted(usize),
    /// Quicksort split this many words at a pivot.
    Split(usize),
    /// A partial sort split this many keys at a pivot.
    Parted(usize),
    /// One number of each cache line of so many vectors was read.
    #[cfg(feature = "vector")]
    Touched(usize),
    /// One task kept the best of so many candidates.
    #[cfg(feature = "vector")]
    Candidates(usize),
    /// A cosine was computed in double precision.
    #[cfg(feature = "vector")]
    Double,
    /// std's selection went through so many keys.
    Selected(usize),
}

/// Notes a step that the calling thread takes.
#[inline(always)]
pub(crate) fn took(step: Step) {
    #[cfg(test)]
    tests::keep(step);
    let _ = step;
}

#[cfg(test)]
pub(crate) use tests::steps_of;

#[cfg(test)]
mod tests {
    use super::Step;
    use std::cell::RefCell;

    thread_local! {
        /// The steps of this thread while a test asks for them.
        static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
    }

    pub(super) fn keep(step: Step) {
        STEPS.with_borrow_mut(|steps| {
            if let Some(steps) = steps {
                steps.push(step);
            }
        });
    }

    /// The steps that the calling thread takes in `work`, in their order.
    pub(crate) fn steps_of(work: impl FnOnce()) -> Vec<Step> {
        STEPS.set(Some(vec![]));
        work();
        STEPS.take().unwrap_or_default()
    }
}
