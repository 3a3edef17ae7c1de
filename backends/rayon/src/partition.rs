//! A partition of what does not fit in a cache, by all threads, and how it is laid out.
//!
//! One read counts a digit of many bits. Buckets are then chosen to be of even size, not of even width: a range of digits that share
//! their top bits is one bucket if its records are few enough, else it is halved. So records crowd no bucket where keys are
//! crowded, as floats are in a few exponents, and each bucket still knows which bits are left to sort by.
//!
//! ```text
//! digit    000 001 010 011 100 101 110 111
//! records    1   0   9   9   2   0   1   1        at most 10 a bucket
//! buckets  |---0--| |1| |2| |------3------|       left to sort: two bits more, none, none, …
//! ```

use crate::classify::{Bits, Clamped, Classify};
use crate::digit::{Class, Digit, DigitBits, RangeDigit};
use crate::frequent::Frequent;
use crate::scatter::{Counters, MAX_DIGITS, Places, block, count, scatter_chunk, stream_chunk};
use crate::source::{Key, Source};
use crate::threads::Threads;
use crate::trace::{Step, took};
use crate::tuning::{BUCKETS_A_THREAD, COUNTED_BITS, COUNTED_RECORDS, MAX_BUCKETS, SHARE_BYTES, STREAM_BLOCKS, tuning};
use crate::window::Window;
use core::ops::Range;
use polysort_core::Word;

/// Records that agree in all bits above `window`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) len: usize,
    /// The bits they are still to be sorted by.
    pub(crate) window: Window,
}

/// How to compute the bucket of a key: a digit of fewer bits, a table with the bucket of each digit, or a digit that is the bucket.
enum BucketClass<'a, W> {
    Bits(Bits),
    Table(Clamped<W>, Box<[u16; MAX_DIGITS]>),
    Values(&'a Frequent<W>),
}

/// A digit, and the bucket of each.
#[derive(Clone, Copy)]
struct Looked<'a, W> {
    digit: Clamped<W>,
    table: &'a [u16; MAX_DIGITS],
}

impl<W: Word> Classify<W> for Looked<'_, W> {
    #[inline(always)]
    fn class(self, key: W) -> usize {
        // The mask changes nothing, but shows that the index is in bounds.
        self.table[self.digit.class(key) & (MAX_DIGITS - 1)] as usize
    }
}

/// Moves the records of `source` to `target`, stably by buckets, and gives these; `None` if all records are equal in `window`: then none
/// was moved. `even` as in [`Digit::choose`].
pub(crate) fn partition<S: Source + ?Sized>(
    source: &S,
    target: &mut [S::Record],
    window: Window,
    threads: Threads,
    even: bool,
) -> Option<Vec<Bucket>> {
    let bits = DigitBits { few: counted_bits::<S::Record>(source.len(), threads), many: COUNTED_BITS };
    let digit = Digit::choose(source, window, bits, even, threads)?;
    let chunks = chunks(source.len(), threads);
    let counts = match digit.class() {
        Class::Bits(class) => count_chunks(source, &chunks, threads, class),
        Class::Clamped(class) => count_chunks(source, &chunks, threads, class),
        Class::Values(class) => count_chunks(source, &chunks, threads, class),
    };
    let limits = Limits::of::<S::Record>(source.len(), chunks.len(), threads);
    let layout = Layout::of(&digit, &counts, limits);
    let places = layout.places(&counts, target);
    let (stream, buckets) = (limits.stream, layout.buckets.len());
    took(Step::Partition { len: source.len(), chunks: chunks.len(), buckets, stream });
    let tasks = chunks.into_iter().zip(places).collect();
    match layout.class {
        BucketClass::Bits(class) => scatter_chunks(source, tasks, threads, class, stream),
        BucketClass::Table(digit, ref table) => scatter_chunks(source, tasks, threads, Looked { digit, table }, stream),
        BucketClass::Values(class) => scatter_chunks(source, tasks, threads, class, stream),
    }
    Some(layout.buckets)
}

/// Bits of a digit of even keys: enough to choose buckets by, and as many more as cost little beside the records of a chunk.
fn counted_bits<R>(len: usize, threads: Threads) -> u32 {
    let buckets = (threads.count() * BUCKETS_A_THREAD).max(len * size_of::<R>() / tuning().bucket_bytes);
    let digits = (len / threads.count() / COUNTED_RECORDS).max(4 * buckets);
    digits.next_power_of_two().ilog2().min(COUNTED_BITS)
}

/// The chunks of a source: one for each thread, and several of a long one, so that a slow thread does not hold up the others.
fn chunks(len: usize, threads: Threads) -> Vec<Range<usize>> {
    let count = if threads.is_one() { 1 } else { threads.count() * (len >> 22).clamp(1, 4) };
    // Counters have 32 bits.
    let count = count.max(len >> 31);
    let bound = |chunk: usize| (len as u128 * chunk as u128 / count as u128) as usize;
    (0..count).map(|chunk| bound(chunk)..bound(chunk + 1)).collect()
}

fn count_chunks<S: Source + ?Sized>(
    source: &S,
    chunks: &[Range<usize>],
    threads: Threads,
    class: impl Classify<Key<S>>,
) -> Vec<Box<Counters>> {
    threads.map(chunks.len(), |chunk| {
        let mut counts = Box::new([0; MAX_DIGITS]);
        source.read_keys(chunks[chunk].clone(), |keys| count(keys, class, &mut counts));
        counts
    })
}

/// A chunk of the source, and its places in each bucket.
type Chunk<'a, R> = (Range<usize>, Vec<Places<'a, R>>);

fn scatter_chunks<S: Source + ?Sized>(
    source: &S,
    tasks: Vec<Chunk<'_, S::Record>>,
    threads: Threads,
    class: impl Classify<Key<S>>,
    stream: bool,
) {
    threads.for_each(
        tasks,
        || (),
        |(), (chunk, places)| match stream {
            true => stream_chunk(source, chunk, class, places),
            false => scatter_chunk(source, chunk, class, places),
        },
    );
}

/// How large and how many buckets should be.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Records of a bucket, at most.
    len: usize,
    /// Buckets, at most, even if they are larger.
    buckets: usize,
    /// Whether records are written past the cache.
    stream: bool,
}

impl Limits {
    /// The limits of a partition of `len` records in `chunks`.
    fn of<R>(len: usize, chunks: usize, threads: Threads) -> Self {
        let (bytes, tuning) = (len * size_of::<R>(), tuning());
        let block_bytes = block::<R>() * size_of::<R>();
        // Where a thread writes few records of a bucket, it shares lines with others, or fills no blocks.
        let stream = bytes >= tuning.stream_bytes;
        let share = if stream { STREAM_BLOCKS * block_bytes } else { SHARE_BYTES };
        let buckets = MAX_BUCKETS.min(bytes / chunks / share).min(tuning.buffer_bytes / block_bytes).max(2);
        let each = len / (threads.count() * BUCKETS_A_THREAD);
        // A quarter more, as halves of even keys are never quite even.
        Self { len: (tuning.bucket_bytes / size_of::<R>()).min(each).max(1) * 5 / 4, buckets, stream }
    }
}

/// Which bucket each digit goes to, and which digits each bucket takes.
struct Layout<'a, W> {
    class: BucketClass<'a, W>,
    digits: Vec<Range<usize>>,
    buckets: Vec<Bucket>,
}

impl<'a, W: Word> Layout<'a, W> {
    /// Chooses buckets for records of which each chunk has counted how many have each digit.
    fn of(digit: &'a Digit<W>, counts: &[Box<Counters>], limits: Limits) -> Self {
        let mut sums = vec![0; digit.count() + 1];
        for counts in counts {
            sums[1..].iter_mut().zip(&counts[..]).for_each(|(sum, &count)| *sum += count as usize);
        }
        (1..sums.len()).for_each(|at| sums[at] += sums[at - 1]);
        match digit {
            Digit::Range(range) => Self::of_range(*range, &sums, limits),
            Digit::Values(frequent, _) => {
                let bucket = |digit_index: usize| Bucket {
                    len: sums[digit_index + 1] - sums[digit_index],
                    window: digit.left(digit_index),
                };
                let buckets = (0..digit.count()).map(bucket).collect();
                let digits = (0..digit.count()).map(|at| at..at + 1).collect();
                Self { class: BucketClass::Values(frequent), digits, buckets }
            }
        }
    }

    /// Chooses ranges of digits. `sums[d]` records have a digit below `d`.
    fn of_range(digit: RangeDigit<W>, sums: &[usize], limits: Limits) -> Self {
        let inner = digit.inner();
        // Never all records in one bucket: that would be no step ahead.
        let most = (sums[digit.count] - 1).max(1);
        let mut len = limits.len.min(most);
        let digits = loop {
            let mut digits: Vec<_> = (0..inner.start).map(|at| at..at + 1).collect();
            halve(sums, inner.clone(), len, &mut digits);
            digits.extend((inner.end..digit.count).map(|at| at..at + 1));
            if digits.len() <= limits.buckets || len == most {
                break digits;
            }
            len = (2 * len).min(most);
        };
        let bucket =
            |digits: &Range<usize>| Bucket { len: sums[digits.end] - sums[digits.start], window: digit.left(digits.clone()) };
        let buckets = digits.iter().map(bucket).collect();
        let width = digits[0].len();
        let class = match digit.as_bits() {
            Some(class) if digits.iter().all(|digits| digits.len() == width) => BucketClass::Bits(class.coarser(width.ilog2())),
            _ => {
                let mut table = Box::new([0; MAX_DIGITS]);
                digits.iter().enumerate().for_each(|(bucket, digits)| table[digits.clone()].fill(bucket as u16));
                BucketClass::Table(digit.as_clamped(), table)
            }
        };
        Self { class, digits, buckets }
    }

    /// The parts of `target` that each chunk fills: of each bucket one, behind that of the chunk before.
    fn places<'t, R>(&self, counts: &[Box<Counters>], target: &'t mut [R]) -> Vec<Vec<Places<'t, R>>> {
        let mut places: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(self.digits.len())).collect();
        let (mut rest, mut start) = (target, 0);
        for digits in &self.digits {
            for (places, counts) in places.iter_mut().zip(counts) {
                let len = counts[digits.clone()].iter().map(|&count| count as usize).sum();
                let (target, others) = rest.split_at_mut(len);
                places.push(Places { target, start });
                (rest, start) = (others, start + len);
            }
        }
        places
    }
}

/// Halves `digits` until no part but a single digit has more than `len` records. `sums[d]` records have a digit below `d`.
fn halve(sums: &[usize], digits: Range<usize>, len: usize, parts: &mut Vec<Range<usize>>) {
    if digits.len() == 1 || sums[digits.end] - sums[digits.start] <= len {
        return parts.push(digits);
    }
    let middle = digits.start + digits.len() / 2;
    halve(sums, digits.start..middle, len, parts);
    halve(sums, middle..digits.end, len, parts);
}
