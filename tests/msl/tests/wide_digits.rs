//! Sorts by wide digits over many tiles: equal keys keep their order, whoever counts a tile, and a word takes three passes.
#![cfg(unix)]

mod each;

use polysort_core::plan::{Algorithm, Blocked, Buffer, Command, Digit, Kernel, Number, Payload, Request, SortPlan};
use polysort_core::{MaskKey, Masks, Options, Sort, Sortable, Spec, Word};
use polysort_msl::{Buffer as Bytes, Config, FACTS, Memory, MslBackend, Options as Compiled, Source, Traffic};
use polysort_shaders::abi;

const WIDE: Option<Algorithm> = Some(Algorithm::WideDigits);

fn backend(source: Source, blocked: Blocked) -> MslBackend {
    MslBackend::open_with(Config { algorithm: WIDE, blocked, ..Config::of(source) }).unwrap()
}

/// Tiles of a sort of so many keys.
fn tiles<K: Sortable>(max: usize, values: u32) -> usize {
    let request = Request::keys(K::WIDTH, Spec::of::<K>(Options::ascending()).unwrap(), max as u64).with_values(values);
    let plan = SortPlan::new(Request { algorithm: WIDE, ..request }, &FACTS).unwrap();
    max.div_ceil(plan.tile as usize)
}

/// Sorts so many tiles in both directions.
fn is_stable<K: MaskKey + PartialEq>(source: Source, keys: &[K], blocked: Blocked, least_tiles: usize) {
    let tiles = tiles::<K>(keys.len(), 1);
    assert!(tiles >= least_tiles, "{tiles} tiles");
    for options in [Options::ascending(), Options::descending()] {
        sorts(source, keys, blocked, options);
    }
}

/// Sorts unsigned keys with their positions, and by themselves.
fn sorts<K: MaskKey + PartialEq>(source: Source, keys: &[K], blocked: Blocked, options: Options) {
    let (backend, spec) = (backend(source, blocked), Spec::of::<K>(options).unwrap());
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by_key(|&i| spec.rank(keys[i as usize].to_bits()));
    let ordered: Vec<K> = expected.iter().map(|&i| keys[i as usize]).collect();
    let (mut sorted, mut values) = (keys.to_vec(), (0..keys.len() as u32).collect::<Vec<_>>());
    backend.sort_pairs_with(&mut sorted, &mut values, options).unwrap();
    assert!(values == expected && sorted == ordered, "{options:?}, {blocked:?}");
    assert!(backend.argsort_with(keys, options).unwrap() == expected, "indices: {options:?}, {blocked:?}");
    let mut alone = keys.to_vec();
    backend.sort_with(&mut alone, options).unwrap();
    assert!(alone == ordered, "keys alone: {options:?}, {blocked:?}");
}

fn few_distinct_keys_keep_their_order(source: Source) {
    // Three values of each digit: those at the ends, whose counts share a word with others, and one between.
    let few = |i: u32| {
        let digit = |at: u32| [0, 1023, 2047][(i.wrapping_mul(0x9e37_79b9) >> at) as usize % 3];
        digit(9) | digit(15) << 11 | digit(21) << 22
    };
    let keys: Vec<u32> = (0..30_000).map(few).collect();
    is_stable(source, &keys, Blocked::NONE, 20);
    is_stable(source, &keys, Blocked::one_of(2), 20);
    is_stable(source, &keys, Blocked::run(0, 19), 20);
    let keys: Vec<u64> = (0..12_000).map(|i| u64::from(few(i)) << 32 | u64::from(few(i / 7))).collect();
    is_stable(source, &keys, Blocked::one_of(3), 8);
    // As the source of the idea has it: one digit that repeats, below the position.
    let keys: Vec<u32> = (0..20_000).rev().map(|i: u32| (i / 500) << 11 | (i % 3)).collect();
    is_stable(source, &keys, Blocked::one_of(4), 10);
}

/// Ranges of as many digits as all bits have, of fewer, across words, and of bits that two digits of a whole key share.
fn ranges_of_bits(source: Source) {
    let keys: Vec<u64> = (1..6000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let words: Vec<u32> = keys.iter().map(|&key| (key >> 32) as u32).collect();
    for bits in [0..31, 0..23, 0..22, 1..32, 10..12, 11..32] {
        sorts(source, &words, Blocked::one_of(2), Options::ascending().bits(bits));
    }
    for bits in [0..63, 0..55, 32..64, 31..33, 9..60] {
        sorts(source, &keys, Blocked::one_of(2), Options::descending().bits(bits));
    }
}

/// One key in a digit of a tile, or all of them: a count of 16 bits takes both, and what shares its word stays as it is.
fn a_digit_that_has_all_keys(source: Source) {
    let tile = {
        let request = Request::keys(32, Spec::of::<u32>(Options::ascending()).unwrap(), 1 << 24);
        SortPlan::new(Request { algorithm: WIDE, ..request }, &FACTS).unwrap().tile as usize
    };
    let backend = MslBackend::open_with(Config { algorithm: WIDE, planned_for: 1 << 24, ..Config::of(source) }).unwrap();
    for rare in [0, tile - 1, tile, 2 * tile + 3] {
        for (most, few) in [(0, 1024), (1024, 0), (2047, 1023), (1023, 2047)] {
            let mut keys = vec![most << 11; 2 * tile + 5];
            keys[rare] = few << 11;
            let mut expected = keys.clone();
            expected.sort_unstable();
            backend.sort(&mut keys).unwrap();
            assert!(keys == expected, "{few} at {rare}");
        }
    }
}

fn a_word_takes_three_passes(source: Source) {
    let launches = |algorithm| {
        let backend = MslBackend::open_with(Config { algorithm, ..Config::of(source) }).unwrap();
        let mut keys: Vec<u32> = (0..9000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        backend.sort(&mut keys).unwrap();
        let Traffic { launches, .. } = backend.traffic();
        launches
    };
    assert_eq!((launches(WIDE), launches(Some(Algorithm::OneSweep))), (3 + 4, 4 + 4));
}

/// What the kernels of a sort do, in plain Rust.
struct Model<'a, W> {
    plan: &'a SortPlan,
    keys: &'a [W],
    /// The digits that the passes sort by.
    schedule: Vec<Digit>,
    /// The positions of the keys, after the passes so far.
    positions: Vec<usize>,
}

impl<'a, W: Word> Model<'a, W> {
    fn new(plan: &'a SortPlan, keys: &'a [W]) -> Self {
        let rank = |key: &W| plan.request.spec.rank(*key);
        let descends = keys.windows(2).any(|pair| rank(&pair[1]) < rank(&pair[0]));
        let varies = |digit: &&Digit| keys.iter().any(|&key| each::digit(plan, key, digit) != each::digit(plan, keys[0], digit));
        let schedule = plan.digits.iter().filter(|digit| descends && varies(digit)).copied().collect();
        Self { plan, keys, schedule, positions: (0..keys.len()).collect() }
    }

    fn check(&mut self, command: &Command, memory: &Memory) {
        let (plan, radix) = (self.plan, 1_usize << self.plan.radix_bits);
        let state = memory[&Buffer::State].values::<u32>();
        let rows = |state: &[u32]| -> Vec<Vec<u32>> {
            state[abi::STATE_HISTOGRAM as usize..].chunks_exact(radix).take(plan.digits.len()).map(<[u32]>::to_vec).collect()
        };
        let status = |buffer| memory[&buffer].values::<u32>()[..self.keys.len().div_ceil(plan.tile as usize) * radix].to_vec();
        match command.variant.kernel {
            Kernel::Begin => {
                let mut expected = vec![0; state.len()];
                expected[abi::STATE_COUNT as usize] = self.keys.len() as u32;
                assert!(state == expected);
            }
            Kernel::Histogram => {
                assert!(rows(&state) == self.counts());
                let rank = |key: &W| plan.request.spec.rank(*key);
                let descends = self.keys.windows(2).any(|pair| rank(&pair[1]) < rank(&pair[0]));
                assert_eq!(state[abi::STATE_DESCENTS as usize], u32::from(descends));
                assert!(status(Buffer::Status).iter().all(|&word| word == 0));
            }
            Kernel::Scan => {
                let mut expected = self.counts();
                let mut varies = 0;
                for (d, row) in expected.iter_mut().enumerate() {
                    varies |= u32::from(row.iter().filter(|&&count| count > 0).count() > 1) << d;
                    let mut before = 0;
                    row.iter_mut().for_each(|count| before += std::mem::replace(count, before));
                }
                assert!(rows(&state) == expected);
                assert_eq!(state[abi::STATE_VARIES as usize], varies);
            }
            Kernel::Onesweep => self.check_pass(command, memory),
            Kernel::Copy => {}
            kernel => panic!("{kernel:?} is no part of the sort"),
        }
    }

    fn check_pass(&mut self, command: &Command, memory: &Memory) {
        let [Number::Is(slot)] = command.numbers[..] else { panic!("{command}") };
        let Some(digit) = self.schedule.get(slot as usize) else { return };
        self.positions.sort_by_key(|&i| each::digit(self.plan, self.keys[i], digit));
        let length = self.keys.len();
        let expected: Vec<W> = self.positions.iter().map(|&i| self.keys[i]).collect();
        let found = &memory[&command.bindings[6]].values::<W>()[..length];
        if command.variant.value_words > 0 {
            let values = memory[&command.bindings[8]].values::<u32>();
            assert!(values[..length].iter().zip(&self.positions).all(|(&value, &i)| value as usize == i), "values: {command}");
            assert!(found == expected, "keys: {command}");
        } else {
            // Those that agree in the digits so far may be in any order.
            let sorted_by = &self.schedule[..=slot as usize];
            let rank = |key: &W| sorted_by.iter().rev().map(|digit| each::digit(self.plan, *key, digit)).collect::<Vec<_>>();
            assert!(found.iter().map(rank).eq(expected.iter().map(rank)), "digits: {command}");
            let [mut found, mut expected] = [found.to_vec(), expected];
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected, "keys: {command}");
        }
        let next = memory[&command.bindings[4]].values::<u32>();
        assert!(next[..length.div_ceil(self.plan.tile as usize) << self.plan.radix_bits].iter().all(|&word| word == 0));
    }

    /// Of each digit, the keys of each value.
    fn counts(&self) -> Vec<Vec<u32>> {
        let row = |digit: &Digit| {
            let mut row = vec![0; 1 << self.plan.radix_bits];
            self.keys.iter().for_each(|&key| row[each::digit(self.plan, key, digit)] += 1);
            row
        };
        self.plan.digits.iter().map(row).collect()
    }
}

/// Sorts, looking at the buffers after each command.
fn check<W: Word>(source: Source, keys: &[W], payload: Payload, spec: Spec, seed: u64) {
    let blocked = if seed.is_multiple_of(4) { Blocked::one_of(2) } else { Blocked::NONE };
    // By the tiles of short sorts, and of longer ones.
    let max = [keys.len() as u64, 0x4_0001, keys.len() as u64, 0x20_0001][seed as usize % 4];
    let plan = SortPlan::new(Request { algorithm: WIDE, blocked, payload, ..Request::keys(W::BITS, spec, max) }, &FACTS).unwrap();
    let backend = MslBackend::open_with(Config { seed, ..Config::of(source) }).unwrap();
    let positions: Vec<u32> = (0..keys.len() as u32 * payload.words()).collect();
    let mut memory = Memory::from([(Buffer::Keys, Bytes::of(keys)), (Buffer::Values, Bytes::of(&positions))]);
    let mut model = Model::new(&plan, keys);
    backend.launch_each(&plan, keys.len() as u64, &mut memory, |command, memory| model.check(command, memory)).unwrap();
    let mut expected = keys.to_vec();
    expected.sort_by_key(|&key| spec.rank(key));
    assert!(memory[&Buffer::Keys].values::<W>() == expected, "{} keys, seed {seed}", keys.len());
}

/// Each kernel on more than 32 schedules, by an older version of the language and a newer one.
fn each_kernel_does_what_its_model_does(source: Source) {
    for seed in 0..36 {
        let number = seed as usize;
        let source = Source { options: Compiled::metal([310, 320][number / 2 % 2]), ..source };
        let count = [5000, 2, 20_000, 12_345, 900, 4096][number % 6];
        let mixed = |i: usize| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let key = |i: usize| match number % 5 {
            0 | 1 => mixed(i),
            2 => mixed(i % 7),
            // One digit varies, or all are in order.
            3 => (mixed(i) >> 40 & 0x7ff) << 43 | 5,
            _ => (i as u64) << 40,
        };
        let payload = [Payload::None, Payload::Words(1)][number % 2];
        if number % 3 == 1 {
            let keys: Vec<u64> = (0..count).map(key).collect();
            check(source, &keys, payload, spec::<u64>(number), seed);
        } else {
            let keys: Vec<u32> = (0..count).map(|i| (key(i) >> 32) as u32).collect();
            check(source, &keys, payload, spec::<u32>(number), seed);
        }
    }
}

/// One of the orders, and bits of the key.
fn spec<W: Word>(number: usize) -> Spec {
    let masks = [Masks::UNSIGNED, Masks::float(W::BITS).reversed(W::BITS), Masks::signed(W::BITS)][number % 3];
    let (begin, end) = [(0, W::BITS), (0, W::BITS), (3, W::BITS), (5, W::BITS - 7)][number % 4];
    Spec::new::<W>(masks, begin, end).unwrap()
}

each_source!(
    few_distinct_keys_keep_their_order
    ranges_of_bits
    a_digit_that_has_all_keys
    a_word_takes_three_passes
    each_kernel_does_what_its_model_does
);
