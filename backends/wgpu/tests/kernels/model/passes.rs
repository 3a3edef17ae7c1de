//! Models of the passes over one digit: the histogram, OneSweep, reduce-then-scan, the sort of a single tile, and the last copy.

use super::{Model, next_of};
use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::{Buffer, KernelShape, Payload};

impl Model<'_> {
    pub(super) fn histogram(&self, on: &mut Contents) {
        let keys: Vec<u128> = (0..self.count).map(|i| self.source_key(on, self.command.bindings[2], i)).collect();
        let state = self.state(on);
        for (d, digit) in self.plan.digits.iter().enumerate() {
            keys.iter().for_each(|&key| state[self.histogram_of(d) + self.digit_of(key, digit)] += 1);
        }
        if keys.windows(2).any(|pair| self.rank(pair[1]) < self.rank(pair[0])) {
            state[abi::STATE_DESCENTS as usize] = 1;
        }
        if let KernelShape::Histogram { status_tile: Some(tile), .. } = self.command.variant.shape {
            let tiles = self.count.div_ceil(tile as usize);
            self.buffer(on, 3)[..tiles * self.radix()].fill(0);
        }
    }

    pub(super) fn scan(&self, on: &mut Contents) {
        let state = self.state(on);
        for d in 0..self.plan.digits.len() {
            let counts: Vec<u32> = state[self.histogram_of(d)..][..self.radix()].to_vec();
            if counts.iter().filter(|&&count| count > 0).count() > 1 {
                state[abi::STATE_VARIES as usize] |= 1 << d;
            }
            for value in 0..self.radix() {
                state[self.histogram_of(d) + value] = counts[..value].iter().sum();
            }
        }
    }

    /// Models a pass. Each tile has published the inclusive counts up to its end, and the status words of the next pass are 0. Workgroups have
    /// taken a ticket for each tile, and each workgroup one more.
    pub(super) fn onesweep(&self, on: &mut Contents, groups: u32) {
        self.state(on)[abi::STATE_TICKETS as usize + self.number(0)] += groups;
        let Some(d) = self.scheduled(on) else { return };
        let digits = self.digits(on, d);
        let tiles = digits.len().div_ceil(self.tile());
        self.state(on)[abi::STATE_TICKETS as usize + self.number(0)] += tiles as u32;
        self.buffer(on, 4)[..tiles * self.radix()].fill(0);
        let status = self.buffer(on, 3);
        let mut sums = vec![0_u32; self.radix()];
        for (t, tile) in digits.chunks(self.tile()).enumerate() {
            tile.iter().for_each(|&digit| sums[digit] += 1);
            for (value, sum) in sums.iter().enumerate() {
                assert_eq!(status[t * self.radix() + value], 0, "the pass before, or the histogram, clears it");
                status[t * self.radix() + value] = 2 << 30 | sum;
            }
        }
        let mut places: Vec<u32> = self.state(on)[self.histogram_of(d)..][..self.radix()].to_vec();
        let places = digits.iter().map(|&digit| next_of(&mut places[digit])).collect::<Vec<_>>();
        self.scatter(on, &places);
    }

    pub(super) fn upsweep(&self, on: &mut Contents) {
        let Some(d) = self.scheduled(on) else { return };
        let digits = self.digits(on, d);
        let tiles = digits.len().div_ceil(self.tile());
        let status = self.buffer(on, 3);
        status[..tiles * self.radix()].fill(0);
        digits.iter().enumerate().for_each(|(i, &digit)| status[digit * tiles + i / self.tile()] += 1);
    }

    pub(super) fn spine(&self, on: &mut Contents) {
        let Some(d) = self.scheduled_in(on, 1) else { return };
        let tiles = self.count.div_ceil(self.tile());
        for value in 0..self.radix() {
            let mut start = on[&Buffer::State][self.histogram_of(d) + value];
            for found in &mut self.buffer(on, 2)[value * tiles..][..tiles] {
                (start, *found) = (start + *found, start);
            }
        }
    }

    pub(super) fn downsweep(&self, on: &mut Contents) {
        let Some(d) = self.scheduled(on) else { return };
        let digits = self.digits(on, d);
        let tiles = digits.len().div_ceil(self.tile());
        let mut starts = on[&Buffer::Status].clone();
        let place = |(i, &digit): (usize, &usize)| next_of(&mut starts[digit * tiles + i / self.tile()]);
        let places: Vec<u32> = digits.iter().enumerate().map(place).collect();
        self.scatter(on, &places);
    }

    pub(super) fn single_tile(&self, on: &mut Contents) {
        let keys_from = self.command.bindings[5];
        let keys: Vec<u128> = (0..self.count).map(|i| self.source_key(on, keys_from, i)).collect();
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by_key(|&i| self.rank(keys[i]));
        let payload = self.plan.request.payload;
        if payload == Payload::Indices {
            let first = self.first(self.command.bindings[6]);
            let indices = self.buffer(on, 6);
            order.iter().enumerate().for_each(|(to, &i)| indices[first + to] = i as u32);
            return;
        }
        for (to, &i) in order.iter().enumerate() {
            if self.plan.request.is_packed() {
                self.put_packed(on, to, keys[i] as u32);
            } else {
                self.put_key(on, keys_from, to, keys[i]);
            }
        }
        if payload != Payload::None {
            let (words, first) = (payload.words() as usize, self.first(self.command.bindings[6]));
            let values = self.buffer(on, 6);
            let before = values.clone();
            for (to, &i) in order.iter().enumerate() {
                values[(first + to) * words..][..words].copy_from_slice(&before[(first + i) * words..][..words]);
            }
        }
    }

    pub(super) fn copy(&self, on: &mut Contents) {
        let [when, width, from_first, to_first] = [0, 1, 2, 3].map(|i| self.number(i));
        let due = match when {
            0 => self.passes(on) % 2 == 1,
            1 => self.passes(on).is_multiple_of(2),
            _ => true,
        };
        if due {
            let count = self.state(on)[abi::STATE_COUNT as usize] as usize;
            let words = on[&self.command.bindings[5]][from_first..][..count * width].to_vec();
            self.buffer(on, 6)[to_first..][..words.len()].copy_from_slice(&words);
        }
    }
}
