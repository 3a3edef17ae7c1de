//! A partition of what does not fit in a cache, by all threads, and how it is laid out.
//!
//! One read counts a digit of many bits. Buckets are then chosen to be of even size, not of even width: a range of
//! neighboring digits is one bucket if its records are few enough; otherwise it is halved. So records crowd no bucket where keys are
//! crowded, as floats are in a few exponents, and each bucket still knows which bits are left to sort by.
//!
//! ```text
//! digit    000 001 010 011 100 101 110 111
//! records    1   0   9   9   2   0   1   1        at most 10 a bucket
//! buckets  |---0--| |1| |2| |------3------|       left to sort: two bits more, none, none, …
//! ```

use crate::classify::{Bits, Clamped, Classify};
use crate::digit::{Class, Digit, DigitBits};
use crate::frequent::Frequent;
use crate::range_digit::RangeDigit;
use crate::scatter::{Counters, MAX_DIGITS, Places, block, count, scatter_chunk, stream_chunk};
use crate::source::{Key, Keyed, Source};
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
    let digit = Digit::choose(&source, window, bits, even, threads)?;
    let chunks = chunks(source.len(), threads);
    let counts = match digit.class() {
        Class::Bits(class) => count_chunks(&source, &chunks, threads, class),
        Class::Clamped(class) => count_chunks(&source, &chunks, threads, class),
        Class::Values(class) => count_chunks(&source, &chunks, threads, class),
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

fn count_chunks<W: Word>(
    source: &dyn Keyed<Key = W>,
    chunks: &[Range<usize>],
    threads: Threads,
    class: impl Classify<W>,
) -> Vec<Box<Counters>> {
    threads.map(chunks.len(), &|chunk| {
        let mut counts = Box::new([0; MAX_DIGITS]);
        source.read_keys(chunks[chunk].clone(), &mut |keys| count(keys, class, &mut counts));
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
    threads.for_each(tasks, &|| (), &|(), (chunk, places)| match stream {
        true => stream_chunk(source, chunk, class, places),
        false => scatter_chunk(source, chunk, class, places),
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Pair, Record};
    use crate::testing::spread;
    use crate::trace::steps_of;

    const WHOLE: Window = Window { low: 0, high: 32 };

    /// The window of records that agree in bits `high..`.
    fn below(high: u32) -> Window {
        Window { low: 0, high }
    }

    /// The buckets of a partition of these keys by all their bits, and its step. Records are in stable order by buckets, and those of a
    /// bucket agree in all bits above its window.
    fn check(keys: &[u32], threads: Threads, even: bool) -> (Vec<Bucket>, Step) {
        let records: Vec<Pair<u32, u32>> = keys.iter().zip(0..).map(|(&key, value)| Pair { key, value }).collect();
        let (mut target, mut buckets) = (vec![Pair { key: 0, value: 0 }; keys.len()], None);
        let steps = steps_of(|| buckets = partition(&records[..], &mut target, WHOLE, threads, even));
        let buckets = buckets.expect("different keys");
        assert_eq!(buckets.iter().map(|bucket| bucket.len).sum::<usize>(), keys.len());
        assert!(target.iter().all(|record| { record.key } == keys[record.value as usize]));
        let (mut rest, mut last) = (&target[..], None);
        for bucket in &buckets {
            let (own, others) = rest.split_at(bucket.len);
            rest = others;
            assert!(own.windows(2).all(|pair| { pair[0].value } < { pair[1].value }), "not stable");
            let agreed = !bucket.window.ones::<u32>();
            let is_whole = bucket.window.high == 32 || own.iter().all(|record| (record.key ^ own[0].key) & agreed == 0);
            assert!(is_whole, "{bucket:?}");
            let least = own.iter().map(|record| record.key).min();
            assert!(least.is_none() || least > last, "{bucket:?}");
            last = own.iter().map(|record| record.key).max().or(last);
        }
        let [step] = steps[..] else { panic!("{steps:?}") };
        (buckets, step)
    }

    #[test]
    fn even_keys_have_as_many_buckets_as_threads_want() {
        let keys: Vec<u32> = (0..40_000).map(spread).collect();
        for count in [1, 3, 8] {
            let (buckets, step) = check(&keys, Threads::several(count), true);
            let Step::Partition { len, chunks, buckets: number, stream } = step else { panic!("{step:?}") };
            assert_eq!((len, chunks, number), (keys.len(), count, buckets.len()));
            assert_eq!(stream, len * size_of::<Pair<u32, u32>>() >= tuning().stream_bytes);
            assert!(number >= count * BUCKETS_A_THREAD, "{number} buckets");
            let most = len / (count * BUCKETS_A_THREAD) * 5 / 4;
            assert!(buckets.iter().all(|bucket| bucket.len <= most), "{buckets:?}");
        }
    }

    #[test]
    fn any_keys_are_in_the_order_of_their_buckets() {
        let keys = |key: fn(usize) -> u32| Vec::from_iter((0..20_000).map(key));
        for threads in [1, 3].map(Threads::several) {
            for even in [true, false] {
                check(&keys(|i| spread(i) >> (i % 32)), threads, even);
                check(&keys(|i| (spread(i) as f32).to_bits()), threads, even);
                check(&keys(|i| spread(i) >> 9 | 0x1000_0000), threads, even);
                check(&keys(|i| (1 << 31) + (spread(i) >> 10) - (1 << 20)), threads, even);
                check(&keys(|i| i as u32 % 3), threads, even);
            }
        }
    }

    #[test]
    fn small_numbers_but_for_a_few_crowd_no_bucket() {
        // Or numbers around zero.
        for least in [0, (1 << 31) - 200_000] {
            let key = |i| if i % 100 == 3 { spread(i) | 1 << 31 } else { least + (spread(i) >> 14) };
            let keys: Vec<u32> = (0..40_000).map(key).collect();
            for count in [1, 4] {
                let (buckets, _) = check(&keys, Threads::several(count), true);
                assert!(buckets.len() > count * BUCKETS_A_THREAD);
                let most = keys.len() / (count * BUCKETS_A_THREAD) * 5 / 4;
                assert!(buckets.iter().all(|bucket| bucket.len <= most), "{buckets:?}");
            }
        }
    }

    #[test]
    fn frequent_values_have_buckets_that_are_sorted() {
        let keys: Vec<u32> = (0..40_000).map(|i| if i % 50 == 7 { spread(i) } else { (spread(i) >> 29) * 0x0123_4567 }).collect();
        let (buckets, _) = check(&keys, Threads::several(4), true);
        assert_eq!(buckets.len(), 17);
        assert!(buckets.iter().enumerate().all(|(at, bucket)| bucket.window.is_empty() == (at % 2 == 1)), "{buckets:?}");
    }

    #[test]
    fn equal_records_are_not_moved() {
        let (keys, mut target) = (vec![7_u32; 1000], vec![0; 1000]);
        let steps = steps_of(|| assert!(partition(&keys[..], &mut target, WHOLE, Threads::ONE, true).is_none()));
        assert!(steps.is_empty() && target.iter().all(|&key| key == 0));
    }

    #[test]
    fn each_bucket_that_threads_want_has_four_digits_to_be_chosen_by() {
        assert_eq!(counted_bits::<u32>(64, Threads::ONE), 4);
        assert_eq!(counted_bits::<u32>(64, Threads::several(4)), 6);
        // Of three threads, four times twelve.
        assert_eq!(counted_bits::<u32>(64, Threads::several(3)), 6);
    }

    #[test]
    fn each_bucket_of_a_cache_has_four_digits_to_be_chosen_by() {
        type Large = Pair<u64, [[u8; 4096]; 64]>;
        // At least 22 and at most 32 buckets.
        let len = 32 * tuning().bucket_bytes / size_of::<Large>();
        assert_eq!(counted_bits::<Large>(len, Threads::ONE), 7);
    }

    #[test]
    fn long_chunks_have_more_digits() {
        let bits = |len: usize, count: usize| counted_bits::<u8>(len, Threads::several(count));
        assert_eq!(bits(COUNTED_RECORDS << 9, 1), 9);
        assert_eq!(bits((COUNTED_RECORDS << 9) + COUNTED_RECORDS, 1), 10);
        assert_eq!(bits(COUNTED_RECORDS << 11, 4), 9);
        assert_eq!(bits(1 << 30, 1), COUNTED_BITS);
    }

    #[test]
    fn chunks_are_even_and_as_many_as_keep_all_threads_busy() {
        let check = |len: usize, count: usize, expected: usize| {
            let chunks = chunks(len, Threads::several(count));
            assert_eq!(chunks.len(), expected, "{len} records, {count} threads");
            assert!(chunks[0].start == 0 && chunks[expected - 1].end == len);
            assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
            let lens = chunks.iter().map(ExactSizeIterator::len);
            assert!(lens.clone().max() <= lens.min().map(|least| least + 1), "{chunks:?}");
        };
        // One for each thread, however few records there are.
        for len in [0, 1, 1000, 1003, 4 << 20] {
            check(len, 1, 1);
            check(len, 4, 4);
        }
        // Several of a long source.
        check(8 << 20, 4, 8);
        check((12 << 20) - 1, 4, 8);
        check(12 << 20, 4, 12);
        check(100 << 20, 4, 16);
        check(100 << 20, 1, 1);
        // Counters have 32 bits.
        check(5 << 31, 1, 5);
        check(50 << 31, 4, 50);
    }

    /// Twelve bytes, so that a block is not as large as for other records.
    type Twelve = Pair<u64, u32>;

    #[test]
    fn what_a_cache_does_not_hold_is_written_past_it() {
        let least = tuning().stream_bytes.div_ceil(size_of::<u32>());
        assert!(Limits::of::<u32>(least, 1, Threads::ONE).stream);
        assert!(!Limits::of::<u32>(least - 1, 1, Threads::ONE).stream);
    }

    #[test]
    fn each_chunk_has_its_share_of_each_bucket() {
        // Less than is written past any cache.
        let buckets = |chunks| Limits::of::<u32>((64 << 10) / size_of::<u32>(), chunks, Threads::ONE).buckets;
        assert_eq!(buckets(1), (64 << 10) / SHARE_BYTES);
        assert_eq!(buckets(4), (16 << 10) / SHARE_BYTES);
        // Two at least: one would be no step ahead.
        assert_eq!(buckets(1000), 2);
        // Past the cache, whole blocks.
        let (len, block_bytes) = (tuning().stream_bytes, block::<Twelve>() * size_of::<Twelve>());
        let chunks = len * size_of::<Twelve>() / (20 * STREAM_BLOCKS * block_bytes);
        let limits = Limits::of::<Twelve>(len, chunks, Threads::ONE);
        let bytes_of_buckets = |buckets: usize| buckets * chunks * STREAM_BLOCKS * block_bytes;
        assert!(limits.stream && bytes_of_buckets(limits.buckets) <= len * size_of::<Twelve>());
        assert!(bytes_of_buckets(limits.buckets + 1) > len * size_of::<Twelve>());
    }

    #[test]
    fn blocks_of_all_buckets_fit_in_the_cache() {
        fn check<R: Record>() {
            let (buckets, block_bytes) = (Limits::of::<R>(1 << 40, 1, Threads::ONE).buckets, block::<R>() * size_of::<R>());
            assert!(buckets * block_bytes <= tuning().buffer_bytes && buckets <= MAX_BUCKETS);
            assert!(buckets == MAX_BUCKETS || (buckets + 1) * block_bytes > tuning().buffer_bytes);
        }
        check::<u32>();
        check::<Twelve>();
        check::<Pair<u128, u128>>();
    }

    #[test]
    fn buckets_are_a_quarter_larger_than_a_share_at_most() {
        let records = |len: usize, count: usize| Limits::of::<u32>(len, 1, Threads::several(count)).len;
        assert_eq!(records(1600, 1), 400 * 5 / 4);
        assert_eq!(records(1600, 4), 100 * 5 / 4);
        assert_eq!(records(0, 4), 1);
        // However many records there are, those of a bucket fit in the cache.
        assert_eq!(records(1 << 40, 4), tuning().bucket_bytes / size_of::<u32>() * 5 / 4);
    }

    /// `sums[d]` of these counts.
    fn sums(counts: &[usize]) -> Vec<usize> {
        let sum = |digit: usize| counts[..digit].iter().sum();
        (0..=counts.len()).map(sum).collect()
    }

    #[test]
    fn digits_are_halved_until_parts_are_short_enough() {
        let halve = |counts: &[usize], digits: Range<usize>, len| {
            let mut parts = vec![];
            halve(&sums(counts), digits, len, &mut parts);
            parts
        };
        // The example at the top of this file.
        assert_eq!(halve(&[1, 0, 9, 9, 2, 0, 1, 1], 0..8, 10), [0..2, 2..3, 3..4, 4..8]);
        // Exactly as many as may be, and one more.
        assert_eq!(halve(&[5, 5, 6, 5], 0..4, 10), [0..2, 2..3, 3..4]);
        // One digit is not split, however many records have it.
        assert_eq!(halve(&[50, 0, 0, 50], 0..4, 10), [0..1, 1..2, 2..3, 3..4]);
        // Digits beside those that are halved do not count.
        assert_eq!(halve(&[50, 1, 1, 50, 50], 1..5, 52), [1..3, 3..4, 4..5]);
    }

    /// The layout of a plain digit of the bits from 5 on.
    fn layout(counts: &[usize], limits: Limits) -> Layout<'static, u32> {
        let bits = counts.len().ilog2();
        let digit = RangeDigit::plain(below(5 + bits), bits);
        Layout::of_range(digit, &sums(counts), limits)
    }

    fn lens<W>(layout: &Layout<'_, W>) -> Vec<usize> {
        layout.buckets.iter().map(|bucket| bucket.len).collect()
    }

    #[test]
    fn a_bucket_knows_the_bits_that_are_left() {
        let layout = layout(&[1, 0, 9, 9, 2, 0, 1, 1], Limits { len: 10, buckets: 8, stream: false });
        let expected = [(1, 6), (9, 5), (9, 5), (4, 7)].map(|(len, high)| Bucket { len, window: below(high) });
        assert_eq!(layout.buckets, expected);
        assert_eq!(layout.digits, [0..2, 2..3, 3..4, 4..8]);
        assert!(matches!(layout.class, BucketClass::Table(..)));
    }

    #[test]
    fn the_digits_at_the_ends_are_buckets_to_be_sorted_by_all_bits() {
        let digit = RangeDigit::clamped(WHOLE, 0x1234_u32, 8, 2);
        let layout = Layout::of_range(digit, &sums(&[2, 5, 5, 5, 5, 3]), Limits { len: 10, buckets: 8, stream: false });
        assert_eq!(layout.digits, [0..1, 1..3, 3..5, 5..6]);
        assert_eq!(lens(&layout), [2, 10, 10, 3]);
        assert_eq!(layout.buckets.iter().map(|bucket| bucket.window).collect::<Vec<_>>(), [WHOLE, below(7), below(7), WHOLE]);
        assert!(matches!(layout.class, BucketClass::Table(..)));
    }

    #[test]
    fn buckets_of_the_same_width_need_no_table() {
        let layout = layout(&[5; 8], Limits { len: 10, buckets: 8, stream: false });
        assert_eq!(lens(&layout), [10; 4]);
        let BucketClass::Bits(bits) = layout.class else { panic!("{:?}", layout.buckets) };
        assert_eq!((bits.shift, bits.mask), (6, 3));
    }

    #[test]
    fn no_bucket_has_all_records() {
        let layout = |counts: &[usize]| layout(counts, Limits { len: 100, buckets: 8, stream: false });
        assert_eq!(lens(&layout(&[5, 0, 0, 5])), [5, 5]);
        assert_eq!(lens(&layout(&[5, 1, 0, 0])), [5, 1, 0]);
    }

    #[test]
    fn buckets_are_larger_rather_than_too_many() {
        let layout = |buckets| layout(&[10; 8], Limits { len: 12, buckets, stream: false });
        assert_eq!(lens(&layout(8)), [10; 8]);
        assert_eq!(lens(&layout(7)), [20; 4]);
        assert_eq!(lens(&layout(4)), [20; 4]);
        assert_eq!(lens(&layout(3)), [40; 2]);
        // Two halves are the fewest that there can be.
        assert_eq!(lens(&layout(1)), [40; 2]);
    }

    fn counters(counts: &[u32]) -> Box<Counters> {
        let mut counters = Box::new([0; MAX_DIGITS]);
        counters[..counts.len()].copy_from_slice(counts);
        counters
    }

    #[test]
    fn chunks_fill_each_bucket_one_behind_another() {
        let digit = Digit::Range(RangeDigit::<u32>::plain(below(7), 2));
        let counts = [counters(&[3, 0, 2, 4]), counters(&[1, 1, 5, 2])];
        let layout = Layout::of(&digit, &counts, Limits { len: 8, buckets: 4, stream: false });
        // The digits 0 and 1 make one bucket.
        assert_eq!(lens(&layout), [5, 7, 6]);
        let mut target: Vec<usize> = (0..18).collect();
        let places = layout.places(&counts, &mut target);
        let ranges = |places: &[Places<'_, usize>]| -> Vec<_> {
            places.iter().map(|places| places.start..places.start + places.target.len()).collect()
        };
        assert_eq!(ranges(&places[0]), [0..3, 5..7, 12..16]);
        assert_eq!(ranges(&places[1]), [3..5, 7..12, 16..18]);
        assert!(places.iter().flatten().all(|places| places.target.first() == Some(&places.start)));
    }
}
