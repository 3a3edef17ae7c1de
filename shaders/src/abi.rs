//! Constants and structures that the host and the kernels share. The prelude writes the constants into the kernels.

use crate::plan::{COUNT_DIGIT_BITS, MAX_DIGITS, MergePlan, MergeStep, Number, Payload, STATE_HEADER, SortPlan, count_digit};
use bytemuck::{Pod, Zeroable};
use polysort_vector::NO_SLOT;

/// The word of the state with the number of keys.
pub const STATE_COUNT: u32 = 0;

/// The word of the state that becomes 1 if any key is smaller than the key before it.
pub const STATE_DESCENTS: u32 = 1;

/// The word of the state with a bit for each digit. A digit's bit is set if not all keys share it.
pub const STATE_VARIES: u32 = 2;

/// The word of the state with the number of recounts: tiles that one workgroup has counted in place of another.
pub const STATE_RECOUNTS: u32 = 3;

/// The word of the state with the first ticket counter. Each pass has one: workgroups take their tiles from it.
pub const STATE_TICKETS: u32 = 4;

/// The word of the state with the number of runs of equal keys that have been found.
pub const STATE_RUNS: u32 = STATE_TICKETS + MAX_DIGITS;

const _: () = assert!(STATE_RUNS < STATE_HEADER);

/// The first word of the histogram in the state. The histogram has RADIX words for each digit, one for each value: the
/// number of keys with this value, and after the scan the number of keys with a smaller value.
pub const STATE_HISTOGRAM: u32 = STATE_HEADER;

/// The word of the ticket counter of pass `p` in the record of a batch is `BATCH_TICKETS + p`. Pass 0 has no counter.
pub const BATCH_TICKETS: u32 = 1;

/// The entries of the table of numbers: one for each digit of a number of keys. A recorded launch gets a number by binding an
/// entry with a dynamic offset.
pub const NUMBERS: u32 = 1 << COUNT_DIGIT_BITS;

/// Bytes from one entry of the table of numbers to the next: the largest alignment that a device may require.
pub const NUMBER_STRIDE: u32 = 256;

/// The index that a selection writes if there are fewer than `k` keys.
pub const NOTHING: u32 = NO_SLOT;

/// The value of the highest digit of a recorded number of keys. It means that the number lies in a buffer.
pub const COUNT_ON_DEVICE: u32 = 1024;

/// Returns the value of a command's number in a sort of `keys` keys. It is an index of the table of numbers. `keys` is
/// `None` if the number of keys lies in a buffer. For a merge, `keys` is the number that `number` is a digit of.
pub fn value(number: Number, keys: Option<u32>) -> u32 {
    match (number, keys) {
        (Number::Is(number), _) => number,
        (Number::CountDigit(digit) | Number::SecondCountDigit(digit), Some(keys)) => count_digit(keys, digit),
        (Number::CountDigit(2) | Number::SecondCountDigit(2), None) => COUNT_ON_DEVICE,
        (Number::CountDigit(_) | Number::SecondCountDigit(_), None) => 0,
    }
}

/// The bits of infinity: the distance of a candidate without a vector.
pub const INFINITY_BITS: u32 = f32::INFINITY.to_bits();

/// The bits of a distance that is not a number.
pub const NOT_A_NUMBER: u32 = 0x7fc0_0000;

/// The bits of 2⁻⁶⁰ and 2¹²⁶: the smallest and the largest sum of squares from which the kernels compute a cosine
/// without scaling. A smaller sum may have lost terms in single precision. A larger sum, or the product of two norms,
/// may be infinite. So the kernels scale the vectors of smaller and larger sums first.
pub const PLAIN_SQUARES: [u32; 2] = [(127 - 60) << 23, (127 + 126) << 23];

/// The parameters of a vector search: the uniform of its kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Search {
    /// Number of queries.
    pub queries: u32,
    /// Numbers per vector.
    pub dimension: u32,
    /// Candidates of all queries.
    pub candidates: u32,
    /// Entries of the store.
    pub entries: u32,
    /// Slots of all pages.
    pub capacity: u32,
    /// Slots of the bound page.
    pub page_slots: u32,
    /// Slots of the pages before it.
    pub page_first: u32,
    /// The distance from one vector of the page to the next, in parts. A part is four numbers if the dimension is a
    /// multiple of four, else one.
    pub stride: u32,
    /// The number of results of all queries, empty ones included.
    pub selected: u32,
}

/// The parameters of a sort: the uniform of its kernels.
///
/// What most launches read lies at the start, so that it takes few lines of the cache for constants. Measured: an H200 sorts 2^10 to 2^20 `u32` in 0.5 to 1.7 % less time than
/// if `digits` come first (`benches/record/nvidia-h200/2026-11-29-versions.txt`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Sort {
    /// An XOR mask for each word of the key, least significant first. It always applies.
    pub clear: [u32; 4],
    /// An XOR mask for each word that also applies if the sign bit is set.
    pub flip: [u32; 4],
    /// The bits of each word that the sort compares: the window.
    pub window: [u32; 4],
    /// Number of digits.
    pub digit_count: u32,
    /// The largest number of keys that fit the buffers, or of segments to select from.
    pub max: u32,
    /// The index of the word with the number of keys, in the count buffer.
    pub count_index: u32,
    /// The offset of the first packed key of 8 or 16 bits in its binding, in keys.
    pub packed_first: u32,
    /// The offset of the first key that pass 0 reads in its binding, in keys.
    pub keys_source: u32,
    /// The offset of the first key after an even number of passes in its binding, in keys.
    pub keys_home: u32,
    /// The offset of the first value after an even number of passes in its binding, in values.
    pub values_home: u32,
    /// The number of keys to select, the largest number of segments, or the number of elements to gather from; 0 if there
    /// are none of these.
    pub k: u32,
    /// First the number of keys before these in the array whose number of keys the count buffer has. The others are unused.
    pub portion: [u32; 4],
    /// The fields of [`Blocked`](crate::plan::Blocked): from, until, every, phase.
    pub blocked: [u32; 4],
    /// For each digit: its word, its shift, its mask, and 1 if keys that agree in all digits are identical, else 0.
    pub digits: [[u32; 4]; MAX_DIGITS as usize],
}

/// Returns the words of a number of 128 bits, least significant first.
fn words(wide: u128) -> [u32; 4] {
    core::array::from_fn(|word| (wide >> (32 * word)) as u32)
}

/// Returns the bits of a window, which is given by its first and its end bit.
fn window_words((begin, end): (u32, u32)) -> [u32; 4] {
    let below = |bit: u32| 1_u128.checked_shl(bit).map_or(u128::MAX, |above| above - 1);
    words(below(end) ^ below(begin))
}

impl Sort {
    /// Returns the uniform of a plan.
    pub fn of(plan: &SortPlan) -> Self {
        let request = &plan.request;
        let (key_words, value_words) = (request.key_words(), request.payload.words().max(1));
        let whole = u32::from(request.spec.width() == request.key_bits);
        let mut digits = [[0; 4]; MAX_DIGITS as usize];
        for (entry, digit) in digits.iter_mut().zip(&plan.digits) {
            *entry = [digit.word, digit.shift, (1 << digit.bits) - 1, whole];
        }
        let first = if plan.keys_move() || request.is_packed() { 0 } else { request.keys.first / key_words };
        Self {
            clear: words(plan.masks.clear),
            flip: words(plan.masks.clear ^ plan.masks.set),
            window: window_words(plan.window),
            digits,
            digit_count: plan.digits.len() as u32,
            max: request.top.map_or(request.max, |_| request.units()) as u32,
            count_index: 0,
            packed_first: if request.is_packed() { request.keys.first * (32 / request.key_bits) } else { 0 },
            keys_source: first,
            keys_home: if request.payload == Payload::Indices { 0 } else { first },
            values_home: if plan.values_move() { 0 } else { request.values.first / value_words },
            k: match (request.top, request.segments, request.gather) {
                (Some(top), ..) => top.k,
                (None, Some(segments), _) => segments.max,
                (None, None, Some(gather)) => gather.elements,
                // First keys of runs may be gathered from all keys.
                (None, None, None) => request.runs.map_or(0, |_| request.max as u32),
            },
            blocked: [request.blocked.from, request.blocked.until, request.blocked.every, request.blocked.phase],
            portion: [request.skip as u32, 0, 0, 0],
        }
    }
}

/// The parameters of a step of a merge: the uniform of its kernels.
///
/// Offsets are in words, from the start of a binding to the first key, or value, of the part that is bound.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Merge {
    /// An XOR mask for each word of the key, least significant first. It always applies.
    pub clear: [u32; 4],
    /// An XOR mask for each word that also applies if the sign bit is set.
    pub flip: [u32; 4],
    /// The bits of each word that the merge compares: the window.
    pub window: [u32; 4],
    /// The first key of the first run's part.
    pub first_begin: u32,
    /// The key after the last of the first run's part.
    pub first_end: u32,
    /// The first key of the second run's part.
    pub second_begin: u32,
    /// The key after the last of the second run's part.
    pub second_end: u32,
    /// The first key of the output's part, modulo 2^32.
    pub merged_begin: u32,
    /// The key after the last of the output's part, modulo 2^32.
    pub merged_end: u32,
    /// The offset of the first run's keys.
    pub first_keys_word: u32,
    /// The offset of the second run's keys.
    pub second_keys_word: u32,
    /// The offset of the output's keys.
    pub merged_keys_word: u32,
    /// The offset of the first run's values.
    pub first_values_word: u32,
    /// The offset of the second run's values.
    pub second_values_word: u32,
    /// The offset of the output's values.
    pub merged_values_word: u32,
    /// The most keys of the first run.
    pub first_max: u32,
    /// The most keys of the second run.
    pub second_max: u32,
    /// The keys before the first run in the array whose number of keys is given.
    pub first_skip: u32,
    /// The keys before the second run in the array whose number of keys is given.
    pub second_skip: u32,
    /// The index of the word with the first number of keys, in its count buffer.
    pub first_count_index: u32,
    /// The index of the word with the second number of keys, in its count buffer.
    pub second_count_index: u32,
    /// The number of the step.
    pub step: u32,
    /// Nothing.
    pub unused: u32,
}

impl Merge {
    /// Returns the uniform of the step with this number.
    pub fn of(plan: &MergePlan, number: u32, step: &MergeStep) -> Self {
        let request = &plan.request;
        let (first, second) = (&request.first, &request.second);
        Self {
            clear: words(plan.masks.clear),
            flip: words(plan.masks.clear ^ plan.masks.set),
            window: window_words(plan.window),
            first_begin: step.first.start as u32,
            first_end: step.first.end as u32,
            second_begin: step.second.start as u32,
            second_end: step.second.end as u32,
            merged_begin: step.merged.start as u32,
            merged_end: step.merged.end as u32,
            first_keys_word: first.keys.first,
            second_keys_word: second.keys.first,
            merged_keys_word: request.keys.first,
            first_values_word: first.values.first,
            second_values_word: second.values.first,
            merged_values_word: request.values.first,
            first_max: first.max as u32,
            second_max: second.max as u32,
            first_skip: first.skip as u32,
            second_skip: second.skip as u32,
            step: number,
            ..Self::default()
        }
    }
}
