//! Calls that must return an error, and change nothing.

use super::buffers::{Buffers, one_live, one_of};
use super::script::Script;
use super::{Site, comes_out};
use crate::support::{failed, is_software};
use bytemuck::Pod;
use libtest_mimic::Failed;
use polysort_core::{MaskKey, Options, Segments, Sort};
use polysort_kit::TestKey;
use polysort_wgpu::{Ask, Column, MergeAsk, Part, RunBuffers, SortBuffer};

impl<K: TestKey + MaskKey, V: Pod + core::fmt::Debug> Buffers<K, V> {
    /// Makes one wrong call.
    pub(super) fn wrong(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let options = script.options::<K>();
        match script.below(5) {
            0 => self.wrong_elements(script),
            1 => self.of_another_device(site, script, options),
            2 => self.wrong_preparation(site, script),
            3 => self.while_read(site, script, options),
            _ => self.wrong_sort(site, script, options),
        }
    }

    /// Lengths that a buffer does not take.
    fn wrong_elements(&mut self, script: &mut Script) -> Result<(), Failed> {
        let keys = one_of(&mut self.keys, script);
        let (room, len) = (keys.capacity() + 1, keys.len);
        script.says(format!("{}: too many elements, and a slice of another length", keys.name));
        let elements: Vec<K> = script.keys(room);
        comes_out(keys.buffer_mut().copy_from_slice(&elements), "TooLong")?;
        comes_out(keys.buffer_mut().write_with(room, |_| ()), "TooLong")?;
        comes_out(keys.buffer_mut().set_len(room), "TooLong")?;
        comes_out(keys.buffer().copy_to_slice(&mut elements.clone()[..(len + 1).min(room)]), "LengthMismatch")
    }

    /// A backend gets a buffer of another device, as each of the arguments.
    fn of_another_device(&mut self, site: &Site, script: &mut Script, options: Options) -> Result<(), Failed> {
        let backend = &site.backend;
        let (keys, indices) = (one_of(&mut self.keys, script), one_of(&mut self.indices, script));
        script.says(format!("buffers of another device beside {} and {}", keys.name, indices.name));
        let elements = keys.elements().to_vec();
        let foreign = |len: usize| SortBuffer::<K>::with_capacity(&site.stranger, len).map_err(failed);
        let mut other = foreign(keys.capacity())?;
        comes_out(site.stranger.sort_buffer(keys.buffer_mut(), options), "InvalidBuffer")?;
        comes_out(backend.sort_buffer(&mut other, options), "InvalidBuffer")?;
        comes_out(backend.sort_buffer_into(keys.buffer(), &mut other, options), "InvalidBuffer")?;
        comes_out(backend.sort_buffer_into(&other, keys.buffer_mut(), options), "InvalidBuffer")?;
        comes_out(
            backend.merge_buffers_into([keys.buffer(), keys.buffer()], &mut foreign(2 * keys.len)?, options),
            "InvalidBuffer",
        )?;
        comes_out(backend.argsort_buffer(&other, indices.buffer_mut(), options), "InvalidBuffer")?;
        let mut values = SortBuffer::from_slice(&site.stranger, &vec![0_u32; elements.len()]).map_err(failed)?;
        comes_out(backend.sort_pairs_buffer(keys.buffer_mut(), &mut values, options), "InvalidBuffer")
    }

    /// Prepared sorts whose buffers do not fit them.
    fn wrong_preparation(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let (keys, values) = (one_live(&self.keys, script), one_live(&self.values, script));
        let (keys, values, indices) = (&self.keys[keys], &self.values[values], &self.indices[0]);
        script.says(format!("prepare what is wrong of {}, {} and {}", keys.name, values.name, indices.name));
        let sorter = &site.sorter;
        // A wgpu buffer may be a little larger than the capacity.
        let room = (keys.buffer().raw().size() / size_of::<K>() as u64) as u32;
        let values_room = (values.buffer().raw().size() / size_of::<V>() as u64) as u32;
        let (ask, few) = (Ask::up_to(room + 1), Ask::up_to(10));
        let odd = Part { offset: 2, ..keys.part(0) };
        comes_out(sorter.prepare_sort::<K>(keys.part(0), ask), "InvalidBuffer")?;
        comes_out(sorter.prepare_sort::<K>(odd, few), "InvalidBuffer")?;
        comes_out(sorter.prepare_sort::<K>(keys.part(0), few.counted_by(keys.buffer().raw(), 0)), "InvalidBuffer")?;
        comes_out(sorter.prepare_sort::<K>(keys.part(0), few.options(Options::ascending().bits(3..200))), "InvalidRange")?;
        comes_out(sorter.prepare_sort::<K>(keys.part(0), Ask::rows(3, 5, 4)), "InvalidOffsets")?;
        comes_out(sorter.prepare_sort_pairs::<K, [u8; 6]>(keys.part(0), values.part(0), few), "Unsupported")?;
        comes_out(sorter.prepare_sort_pairs::<K, V>(keys.part(0), keys.part(4), few), "InvalidBuffer")?;
        comes_out(sorter.prepare_argsort::<K>(keys.part(0), keys.part(0), few), "InvalidBuffer")?;
        comes_out(sorter.prepare_top_k::<K>(keys.part(0), indices.part(0), 0, few), "Unsupported")?;
        comes_out(sorter.prepare_sort::<K>(keys.part(0), few.wide_indices()), "Unsupported")?;
        let column = |len| Column { elements: values.part(0), len };
        comes_out(sorter.prepare_gather::<V>(column(values_room + 1), indices.part(0), keys.part(0), few), "InvalidBuffer")?;
        comes_out(sorter.prepare_gather::<V>(column(5), indices.part(0), values.part(1), few), "InvalidBuffer")?;
        let runs = RunBuffers::counted_in(self.runs.part(0));
        comes_out(sorter.prepare_runs::<K>(keys.part(0), runs.unique(keys.part(0)), few), "InvalidBuffer")?;
        let merge = MergeAsk::up_to(5, 5);
        comes_out(sorter.prepare_merge::<K>([keys.part(0), keys.part(8)], keys.part(0), merge), "InvalidBuffer")
    }

    /// Calls on a buffer while the host reads it. A software device shares its memory with the host.
    fn while_read(&mut self, site: &Site, script: &mut Script, options: Options) -> Result<(), Failed> {
        let (keys, indices) = (one_of(&mut self.keys, script), one_of(&mut self.indices, script));
        if keys.len == 0 || !is_software(&site.backend) {
            return Ok(());
        }
        script.says(format!("argsort and merge {} while the host reads it", keys.name));
        let mut into = SortBuffer::with_capacity(&site.backend, 2 * keys.len).map_err(failed)?;
        let elements = keys.buffer().read().map_err(failed)?;
        if keys.len <= indices.capacity() {
            comes_out(site.backend.argsort_buffer(keys.buffer(), indices.buffer_mut(), options), "InvalidBuffer")?;
        }
        comes_out(site.backend.sort_buffer_into(keys.buffer(), &mut into, options), "InvalidBuffer")?;
        comes_out(site.backend.merge_buffers_into([keys.buffer(), keys.buffer()], &mut into, options), "InvalidBuffer")?;
        drop(elements);
        Ok(())
    }

    /// Sorts of buffers and slices with wrong bits, segments and values.
    fn wrong_sort(&mut self, site: &Site, script: &mut Script, options: Options) -> Result<(), Failed> {
        let backend = &site.backend;
        let (keys, values) = (one_of(&mut self.keys, script), one_of(&mut self.values, script));
        script.says(format!("sort {} by bits that it does not have, in wrong segments, with wrong values", keys.name));
        let beyond = Options::ascending().bits(1..K::WIDTH + 1);
        comes_out(backend.sort_buffer(keys.buffer_mut(), beyond), "InvalidRange")?;
        let mut odd = SortBuffer::from_slice(backend, &vec![[1_u8; 6]; keys.len]).map_err(failed)?;
        comes_out(backend.sort_pairs_buffer(keys.buffer_mut(), &mut odd, options), "Unsupported")?;
        let mut slice = keys.elements().to_vec();
        let past = [0, keys.len + 1];
        comes_out(backend.sort_segments_with(&mut slice, Segments::Offsets(&past), options), "InvalidOffsets")?;
        let backwards = Segments::Ranges { begins: &[1, 0], ends: &[1, 0] };
        comes_out(backend.sort_segments_with(&mut slice, backwards, options), "InvalidOffsets")?;
        let mut longer: Vec<V> = script.values(keys.len + 1);
        comes_out(backend.sort_pairs_with(&mut slice, &mut longer, options), "LengthMismatch")?;
        let runs = [(keys.buffer(), values.buffer()); 2];
        if keys.len != values.len {
            let room = 2 * keys.len.max(values.len);
            let mut into = SortBuffer::with_capacity(backend, room).map_err(failed)?;
            let mut moved = SortBuffer::with_capacity(backend, room).map_err(failed)?;
            comes_out(backend.merge_pairs_buffers_into(runs, (&mut into, &mut moved), options), "LengthMismatch")?;
        }
        Ok(())
    }
}
