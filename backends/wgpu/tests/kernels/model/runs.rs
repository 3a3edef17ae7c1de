//! Models of the search for runs of equal keys, and of the gather.

use super::Model;
use crate::run::Contents;
use polysort_shaders::abi;
use polysort_shaders::plan::{Buffer, Command, KernelShape};

impl Model<'_> {
    pub(super) fn begin_runs(&self, on: &mut Contents) {
        let count = self.count;
        let state = self.state(on);
        state[..abi::STATE_HISTOGRAM as usize].fill(0);
        state[abi::STATE_COUNT as usize] = count as u32;
        let tiles = count.div_ceil(self.tile());
        self.buffer(on, 8)[..2 * tiles].fill(0);
        if count == 0 {
            let (offsets, count) = (self.number(3), self.number(4));
            self.contents(on, Buffer::RunCount)[count] = 0;
            if matches!(self.command.variant.shape, KernelShape::BeginRuns { offsets: true, .. }) {
                self.contents(on, Buffer::RunOffsets)[offsets] = 0;
            }
        }
    }

    /// Models the search for runs. Each tile has published the inclusive words up to its end. Workgroups have taken a ticket for each tile,
    /// and each workgroup has taken one more.
    pub(super) fn runs(&self, on: &mut Contents, groups: u32) {
        let KernelShape::Runs { outputs, .. } = self.command.variant.shape else { unreachable!("a search for runs") };
        let count = self.count;
        let keys: Vec<u128> = (0..count).map(|i| self.source_key(on, self.command.bindings[7], i)).collect();
        let begins: Vec<usize> = (0..count).filter(|&i| i == 0 || self.rank(keys[i - 1]) != self.rank(keys[i])).collect();
        let tiles = count.div_ceil(self.tile());
        let state = self.state(on);
        state[abi::STATE_TICKETS as usize] += tiles as u32 + groups;
        if count == 0 {
            return;
        }
        state[abi::STATE_RUNS as usize] = begins.len() as u32;
        for tile in 0..tiles {
            let before = begins.partition_point(|&begin| begin < (tile + 1) * self.tile());
            let words = [before, begins[before - 1] + 1].map(|word| 2 << 30 | word as u32);
            self.buffer(on, 6)[2 * tile..][..2].copy_from_slice(&words);
        }
        let [unique, offsets, lengths, counter] = [0, 1, 2, 3].map(|number| self.number(number));
        self.contents(on, Buffer::RunCount)[counter] = begins.len() as u32;
        let ends: Vec<u32> = begins.iter().copied().chain([count]).map(|end| end as u32).collect();
        if outputs.unique {
            let words = self.plan.request.key_words() as usize;
            for (run, &begin) in begins.iter().enumerate() {
                let to = &mut self.contents(on, Buffer::Unique)[(unique + run) * words..][..words];
                to.iter_mut().enumerate().for_each(|(word, to)| *to = (keys[begin] >> (32 * word)) as u32);
            }
        }
        if outputs.offsets {
            self.contents(on, Buffer::RunOffsets)[offsets..][..ends.len()].copy_from_slice(&ends);
        }
        if outputs.lengths {
            let all = &mut self.contents(on, Buffer::RunLengths)[lengths..];
            ends.windows(2).zip(all).for_each(|(ends, length)| *length = ends[1] - ends[0]);
        }
    }

    /// Models a gather, byte by byte.
    pub(super) fn gather(&self, on: &mut Contents) {
        let [counted_at, width, from, indices, to] = [0, 1, 2, 3, 4].map(|number| self.number(number));
        let Command { bindings, variant, .. } = self.command;
        let bytes = if variant.is_packed() { variant.key_bits as usize / 8 } else { 4 * width };
        let count = self.state(on)[counted_at] as usize;
        let source: Vec<u8> = bytemuck::pod_collect_to_vec(&on[&bindings[7]][from..]);
        let indices: Vec<u32> = on[&bindings[8]][indices..][..count].to_vec();
        let elements = abi::Sort::of(self.plan).k;
        let target: &mut [u8] = bytemuck::cast_slice_mut(&mut self.buffer(on, 9)[to..]);
        for (element, index) in target.chunks_exact_mut(bytes).zip(indices) {
            match index < elements {
                true => element.copy_from_slice(&source[index as usize * bytes..][..bytes]),
                false => element.fill(0),
            }
        }
    }
}
