//! The kernels of an LSD sort, launch by launch: each must leave the same buffers as a plain model of it.
#![cfg(unix)]

mod digits;
mod sources;

use polysort_core::Word;
use polysort_kit::step;
use polysort_msl::{Buffer as Bytes, Config, FACTS, Memory, MslBackend, Options, Source};
use polysort_shaders::abi;
use polysort_shaders::plan::{Algorithm, Blocked, Buffer, Command, Digit, Kernel, Number, Payload, Request, SortPlan};

/// The model of a sort.
struct Model<'a, W> {
    plan: &'a SortPlan,
    keys: &'a [W],
    /// The digits of the passes.
    schedule: Vec<Digit>,
    /// The indices of the keys, in the order after the passes so far.
    positions: Vec<usize>,
}

impl<'a, W: Word> Model<'a, W> {
    fn new(plan: &'a SortPlan, keys: &'a [W]) -> Self {
        let rank = |key: &W| plan.request.spec.rank(*key);
        let descends = keys.windows(2).any(|pair| rank(&pair[1]) < rank(&pair[0]));
        let varies =
            |digit: &&Digit| keys.iter().any(|&key| digits::digit(plan, key, digit) != digits::digit(plan, keys[0], digit));
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
        match command.variant.kernel() {
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
        self.positions.sort_by_key(|&i| digits::digit(self.plan, self.keys[i], digit));
        let length = self.keys.len();
        let expected: Vec<W> = self.positions.iter().map(|&i| self.keys[i]).collect();
        let found = &memory[&command.bindings[6]].values::<W>()[..length];
        if command.variant.shape.value_words().is_some_and(|words| words > 0) {
            let values = memory[&command.bindings[8]].values::<u32>();
            assert!(values[..length].iter().zip(&self.positions).all(|(&value, &i)| value as usize == i), "values: {command}");
            assert!(found == expected, "keys: {command}");
        } else {
            // Keys that agree in the digits so far may be in any order.
            let sorted_by = &self.schedule[..=slot as usize];
            let rank = |key: &W| sorted_by.iter().rev().map(|digit| digits::digit(self.plan, *key, digit)).collect::<Vec<_>>();
            assert!(found.iter().map(rank).eq(expected.iter().map(rank)), "digits: {command}");
            let [mut found, mut expected] = [found.to_vec(), expected];
            found.sort_unstable();
            expected.sort_unstable();
            assert!(found == expected, "keys: {command}");
        }
        let next = memory[&command.bindings[4]].values::<u32>();
        assert!(next[..length.div_ceil(self.plan.tile as usize) << self.plan.radix_bits].iter().all(|&word| word == 0));
    }

    /// Returns the histogram of each digit.
    fn counts(&self) -> Vec<Vec<u32>> {
        let row = |digit: &Digit| {
            let mut row = vec![0; 1 << self.plan.radix_bits];
            self.keys.iter().for_each(|&key| row[digits::digit(self.plan, key, digit)] += 1);
            row
        };
        self.plan.digits.iter().map(row).collect()
    }
}

/// Sorts, and checks the buffers after each command.
fn check<W: Word>(source: Source, keys: &[W], request: Request, seed: u64) {
    let Request { payload, spec, .. } = request;
    let plan = SortPlan::new(request, &FACTS).unwrap();
    let backend =
        MslBackend::open_with(Config { seed, most_groups: [u32::MAX, 2, 1][seed as usize % 3], ..Config::of(source) }).unwrap();
    let positions: Vec<u32> = (0..keys.len() as u32 * payload.words()).collect();
    let mut memory = Memory::from([(Buffer::Keys, Bytes::of(keys)), (Buffer::Values, Bytes::of(&positions))]);
    let mut model = Model::new(&plan, keys);
    backend.launch_each(&plan, keys.len() as u64, &mut memory, |command, memory| model.check(command, memory)).unwrap();
    let mut expected = keys.to_vec();
    expected.sort_by_key(|&key| spec.rank(key));
    assert!(memory[&Buffer::Keys].values::<W>() == expected, "{} keys, seed {seed}", keys.len());
}

fn mixed(i: u64) -> u64 {
    (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Checks each kernel on 36 schedules, or on every fourth of them, in an older and a newer version of the language.
fn check_kernels(source: Source, algorithm: Algorithm) {
    for seed in (0..36).step_by(step(4)) {
        let pick = |what: u64, of: usize| (mixed(16 * seed + what) >> 40) as usize % of;
        let source = Source { options: Options::metal([310, 320][pick(0, 2)]), ..source };
        let count = [5000, 2, 20_000, 12_345, 900, 4096][pick(1, 6)];
        let pattern = pick(2, 5);
        let key = |i: u64| match pattern {
            0 | 1 => mixed(i),
            2 => mixed(i % 7),
            // One digit varies, or all keys are sorted.
            3 => (mixed(i) >> 40 & 0x7ff) << 43 | 5,
            _ => i << 40,
        };
        let payload = [Payload::None, Payload::Words(1)][pick(3, 2)];
        let blocked = [Blocked::NONE, Blocked::one_of(2)][pick(4, 2)];
        // The sorts have the tiles of short inputs, and of longer ones.
        let max = [count, 0x4_0001, 0x20_0001][pick(5, 3)];
        let request = |bits, spec| Request { algorithm: Some(algorithm), payload, blocked, ..Request::keys(bits, spec, max) };
        if pick(6, 3) == 0 {
            let keys: Vec<u64> = (0..count).map(key).collect();
            check(source, &keys, request(64, digits::spec::<u64>(pick(7, 30))), seed);
        } else {
            let keys: Vec<u32> = (0..count).map(|i| (key(i) >> 32) as u32).collect();
            check(source, &keys, request(32, digits::spec::<u32>(pick(7, 30))), seed);
        }
    }
}

fn kernels_of_narrow_digits_leave_the_buffers_of_the_model(source: Source) {
    check_kernels(source, Algorithm::OneSweep);
}

fn kernels_of_wide_digits_leave_the_buffers_of_the_model(source: Source) {
    check_kernels(source, Algorithm::WideDigits);
}

/// Keys that agree in all compared bits may differ in other bits. They must keep their order also without a payload.
fn keys_that_agree_in_the_window_keep_their_order(source: Source) {
    let keys: Vec<u32> = (0..20_000).map(|i| (mixed(i).wrapping_mul(mixed(i)) >> 32) as u32).collect();
    for algorithm in [Algorithm::OneSweep, Algorithm::WideDigits] {
        for number in [4, 9] {
            let request = Request::keys(32, digits::spec::<u32>(number), keys.len() as u64);
            check(source, &keys, Request { algorithm: Some(algorithm), ..request }, number as u64);
        }
    }
}

each_source!(
    kernels_of_narrow_digits_leave_the_buffers_of_the_model
    kernels_of_wide_digits_leave_the_buffers_of_the_model
    keys_that_agree_in_the_window_keep_their_order
);
