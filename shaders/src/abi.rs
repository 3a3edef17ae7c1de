//! What the host and the kernels must agree on: constants that go into the prelude, and structures that lie in buffers.

use crate::plan::{MAX_DIGITS, Number, Payload, STATE_HEADER, SortPlan, count_digit};
use bytemuck::{Pod, Zeroable};
use polysort_core::vector::NO_SLOT;

/// The word of the state that holds the number of keys.
pub const STATE_COUNT: u32 = 0;

/// The word of the state that is 1 if any key is smaller than the one before it.
pub const STATE_DESCENTS: u32 = 1;

/// The word of the state with a bit for each digit in which keys differ.
pub const STATE_VARIES: u32 = 2;

/// The word of the state that counts the tiles that were counted on behalf of others.
pub const STATE_RECOUNTS: u32 = 3;

/// The first of the words of the state that hand out tiles, one for each pass.
pub const STATE_TICKETS: u32 = 4;

/// The first of the words of the state that hold the histogram: for each digit, how many keys have each value of it, or a smaller one.
pub const STATE_HISTOGRAM: u32 = STATE_HEADER;

/// Added to the number of a pass: the word of a batch that hands out its tiles. Pass 0 has none.
pub const BATCH_TICKETS: u32 = 1;

/// Numbers that a recorded launch can be given: an entry each of a table that is bound by dynamic offsets.
pub const NUMBERS: u32 = 1025;

/// Bytes from one entry of the table of numbers to the next: any device's alignment of dynamic offsets.
pub const NUMBER_STRIDE: u32 = 256;

/// What fills up the positions that a selection has too few keys for.
pub const NOTHING: u32 = NO_SLOT;

/// The highest digit of a number of keys that says that it lies in a buffer.
pub const COUNT_ON_DEVICE: u32 = 1024;

/// What a number of a command is in a sort of so many keys; of none, if a buffer says how many: an entry of the table.
pub fn value(number: Number, keys: Option<u32>) -> u32 {
    match (number, keys) {
        (Number::Is(number), _) => number,
        (Number::CountDigit(digit), Some(keys)) => count_digit(keys, digit),
        (Number::CountDigit(2), None) => COUNT_ON_DEVICE,
        (Number::CountDigit(_), None) => 0,
    }
}

/// The bits of infinity: how far what is not there is.
pub const INFINITY_BITS: u32 = f32::INFINITY.to_bits();

/// The bits of a distance that is not a number.
pub const NOT_A_NUMBER: u32 = 0x7fc0_0000;

/// The bits of the least and of the largest sum of squares, 2⁻⁶⁰ and 2¹²⁶, of which a cosine is computed as it is. Of a smaller sum, single precision
/// may have lost terms; a larger one may be infinite, or the product of two norms. The kernels scale such vectors first.
pub const PLAIN_SQUARES: [u32; 2] = [(127 - 60) << 23, (127 + 126) << 23];

/// What a search for vectors is: the uniform that its kernels read.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Search {
    /// Queries.
    pub queries: u32,
    /// Numbers of a vector.
    pub dimension: u32,
    /// Candidates of all queries.
    pub candidates: u32,
    /// Entries.
    pub entries: u32,
    /// Slots of all pages.
    pub capacity: u32,
    /// Slots of this page.
    pub page_slots: u32,
    /// Slots before this page.
    pub page_first: u32,
    /// From one vector of the page to the next, in parts: four numbers, if the dimension is a multiple of that, or one.
    pub stride: u32,
    /// How many candidates are selected in all, places that stay empty included.
    pub selected: u32,
}

/// What a sort is: the uniform that all its kernels read.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Sort {
    /// Per word of the key, least significant first: what to flip.
    pub clear: [u32; 4],
    /// What to flip besides if the sign is set.
    pub flip: [u32; 4],
    /// The bits of each word that are sorted by.
    pub window: [u32; 4],
    /// Word, shift and mask of each digit, and whether keys that agree in all digits are the same: 1 or 0.
    pub digits: [[u32; 4]; MAX_DIGITS as usize],
    /// How many there are.
    pub digit_count: u32,
    /// The most keys that the buffers hold.
    pub max: u32,
    /// Where the number of keys lies in the count buffer, in words.
    pub count_index: u32,
    /// Where keys of 8 or 16 bits start in their binding, in keys.
    pub packed_first: u32,
    /// Where the keys start that the first pass reads, in keys.
    pub keys_source: u32,
    /// Where the keys start that an even number of passes leaves, in keys.
    pub keys_home: u32,
    /// Where the values start, in values.
    pub values_home: u32,
    /// How many keys to select, where not all are sorted; the most segments, where these are; else 0.
    pub k: u32,
    /// The tiles that publish nothing: from, until, every, phase.
    pub blocked: [u32; 4],
}

impl Sort {
    /// The uniform of a plan.
    pub fn of(plan: &SortPlan) -> Self {
        let request = &plan.request;
        let (key_words, value_words) = (request.key_words(), request.payload.words().max(1));
        let word = |wide: u128, word: usize| (wide >> (32 * word)) as u32;
        let words = |wide: u128| core::array::from_fn(|i| word(wide, i));
        let (begin, end) = plan.window;
        let below = |bit: u32| 1_u128.checked_shl(bit).map_or(u128::MAX, |above| above - 1);
        let whole = u32::from(request.spec.width() == request.key_bits);
        let mut digits = [[0; 4]; MAX_DIGITS as usize];
        for (entry, digit) in digits.iter_mut().zip(&plan.digits) {
            *entry = [digit.word, digit.shift, (1 << digit.bits) - 1, whole];
        }
        let first = if plan.keys_move() || request.is_packed() { 0 } else { request.keys.first / key_words };
        Self {
            clear: words(plan.masks.clear),
            flip: words(plan.masks.clear ^ plan.masks.set),
            window: words(below(end) ^ below(begin)),
            digits,
            digit_count: plan.digits.len() as u32,
            max: request.max as u32,
            count_index: 0,
            packed_first: if request.is_packed() { request.keys.first * (32 / request.key_bits) } else { 0 },
            keys_source: first,
            keys_home: if request.payload == Payload::Indices { 0 } else { first },
            values_home: if plan.values_move() { 0 } else { request.values.first / value_words },
            k: request.top.map_or(request.segments.map_or(0, |segments| segments.max), |top| top.k),
            blocked: [request.blocked.from, request.blocked.until, request.blocked.every, request.blocked.phase],
        }
    }
}
