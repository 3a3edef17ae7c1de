//! Buffers of one type of keys and one of values, and the calls on them.

use super::modeled::{Modeled, gathered, is_sorted, order, order_in, runs};
use super::prepared::{Kept, Recorded, Target};
use super::script::Script;
use super::{Site, comes_out};
use crate::support::{ensure, failed};
use bytemuck::Pod;
use libtest_mimic::Failed;
use polysort_core::{MaskKey, Options, Segments, Sort};
use polysort_kit::TestKey;
use polysort_wgpu::SortBuffer;

/// The capacity of long buffers: several tiles on every software device.
pub(super) const LONG: usize = 20_000;

/// The capacity of short buffers.
const SHORT: usize = 1000;

/// The most segments of a prepared sort.
pub(super) const SEGMENTS: usize = 32;

/// The words of `numbers` that are numbers of keys, the word that is a number of segments, and the first offset of a segment.
pub(super) const COUNTS: usize = 4;
pub(super) const SEGMENT_COUNT: usize = COUNTS;
pub(super) const OFFSETS: usize = COUNTS + 1;

/// The words of `runs`: the number of runs, before the first offset, and before the first length.
pub(super) const RUN_OFFSETS: usize = 3;
pub(super) const RUN_LENGTHS: usize = RUN_OFFSETS + LONG + 1;

/// What a sequence does with buffers of any type.
pub(super) trait Calls {
    /// Makes one call.
    fn step(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed>;

    /// Records a kept sort, and returns what it does, one thing after the other.
    fn record(&self, script: &mut Script, target: &mut Target<'_>) -> Result<Vec<Recorded>, Failed>;

    /// Applies a recording to the model.
    fn apply(&mut self, recorded: &Recorded);

    /// Compares all buffers with the model.
    fn check(&mut self) -> Result<(), Failed>;
}

/// The buffers. Those that were dropped stay in the lists.
pub(super) struct Buffers<K, V> {
    pub(super) keys: Vec<Modeled<K>>,
    pub(super) values: Vec<Modeled<V>>,
    pub(super) indices: Vec<Modeled<u32>>,
    /// Numbers of keys, a number of segments, and the offsets of segments.
    pub(super) numbers: Modeled<u32>,
    /// Runs of equal keys that a recorded search has found.
    pub(super) runs: Modeled<u32>,
    pub(super) prepared: Vec<Kept>,
}

impl<K: TestKey + MaskKey, V: Pod + core::fmt::Debug> Calls for Buffers<K, V> {
    fn step(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        match script.below(16) {
            0 => self.write(script),
            1 => self.set_len(script),
            2 => self.sort(site, script),
            3 => self.sort_pairs(site, script),
            4 => self.argsort(site, script),
            5 => self.sort_into(site, script),
            6 => self.sort_pairs_into(site, script),
            7 => self.merge(site, script),
            8 => self.on_slices(site, script),
            9 => self.renew(site, script),
            10 => self.write_numbers(script),
            11..=13 => self.prepare(site, script),
            _ => self.wrong(site, script),
        }
    }

    fn record(&self, script: &mut Script, target: &mut Target<'_>) -> Result<Vec<Recorded>, Failed> {
        self.record_kept(script, target)
    }

    fn apply(&mut self, recorded: &Recorded) {
        self.apply_recorded(recorded);
    }

    fn check(&mut self) -> Result<(), Failed> {
        self.keys.iter_mut().try_for_each(Modeled::check)?;
        self.values.iter_mut().try_for_each(Modeled::check)?;
        self.indices.iter_mut().try_for_each(Modeled::check)?;
        self.numbers.check()?;
        self.runs.check()
    }
}

impl<K: TestKey + MaskKey, V: Pod + core::fmt::Debug> Buffers<K, V> {
    pub(super) fn new(site: &Site, script: &mut Script) -> Result<Self, Failed> {
        let name = |what: &str, i: usize| format!("{} {what} {i}", K::NAME);
        let mut buffers = Self {
            keys: vec![],
            values: vec![],
            indices: vec![],
            numbers: Modeled::new(site, name("numbers", 0), vec![0; OFFSETS + SEGMENTS + 1])?,
            runs: Modeled::new(site, name("runs", 0), vec![0; RUN_LENGTHS + LONG])?,
            prepared: vec![],
        };
        for (i, capacity) in [LONG, LONG, LONG, SHORT].into_iter().enumerate() {
            buffers.keys.push(Modeled::new(site, name("keys", i), script.keys(capacity))?);
            buffers.values.push(Modeled::new(site, name("values", i), script.values(capacity))?);
        }
        for (i, capacity) in [LONG, SHORT].into_iter().enumerate() {
            buffers.indices.push(Modeled::new(site, name("indices", i), script.values(capacity))?);
        }
        (0..3).try_for_each(|_| buffers.prepare(site, script))?;
        Ok(buffers)
    }

    fn write(&mut self, script: &mut Script) -> Result<(), Failed> {
        if script.chance(30) {
            let values = one_of(&mut self.values, script);
            let len = script.len(values.capacity());
            let elements = script.values(len);
            script.says(format!("write {len} {}", values.name));
            values.buffer_mut().copy_from_slice(&elements).map_err(failed)?;
            return values.replace(&elements);
        }
        let keys = one_of(&mut self.keys, script);
        let len = script.len(keys.capacity());
        let elements = script.keys(len);
        script.says(format!("write {len} {}", keys.name));
        if script.chance(50) {
            keys.buffer_mut().write_with(len, |room| room.copy_from_slice(&elements)).map_err(failed)?;
        } else {
            keys.buffer_mut().copy_from_slice(&elements).map_err(failed)?;
        }
        keys.replace(&elements)
    }

    fn set_len(&mut self, script: &mut Script) -> Result<(), Failed> {
        let keys = one_of(&mut self.keys, script);
        let len = script.len(keys.capacity());
        script.says(format!("set the length of {} to {len}", keys.name));
        keys.buffer_mut().set_len(len).map_err(failed)?;
        keys.len = len;
        Ok(())
    }

    fn sort(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let (keys, options) = (one_of(&mut self.keys, script), script.options::<K>());
        script.says(format!("sort {}, {options:?}", keys.name));
        keys.sort(site, options)
    }

    /// Values of another length are refused. Mostly they get the length of the keys.
    fn sort_pairs(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let (keys, values, options) = self.pairs(script)?;
        script.says(format!("sort {} with {}, {options:?}", keys.name, values.name));
        let result = site.backend.sort_pairs_buffer(keys.buffer_mut(), values.buffer_mut(), options);
        if keys.len != values.len {
            return comes_out(result, "LengthMismatch");
        }
        comes_out(result, "Ok")?;
        let order = order(keys.elements(), options);
        keys.write(0, &gathered(keys.elements(), &order));
        values.write(0, &gathered(values.elements(), &order));
        Ok(())
    }

    fn argsort(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let (keys, indices) = (one_of(&mut self.keys, script), one_of(&mut self.indices, script));
        let options = script.options::<K>();
        script.says(format!("argsort {} into {}, {options:?}", keys.name, indices.name));
        let result = site.backend.argsort_buffer(keys.buffer(), indices.buffer_mut(), options);
        if keys.len > indices.capacity() {
            return comes_out(result, "TooLong");
        }
        comes_out(result, "Ok")?;
        indices.replace(&order(keys.elements(), options))
    }

    fn sort_into(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let ([from, to], options) = (two_of(&mut self.keys, script), script.options::<K>());
        script.says(format!("sort {} into {}, {options:?}", from.name, to.name));
        let result = site.backend.sort_buffer_into(from.buffer(), to.buffer_mut(), options);
        if from.len > to.capacity() {
            return comes_out(result, "TooLong");
        }
        comes_out(result, "Ok")?;
        to.replace(&gathered(from.elements(), &order(from.elements(), options)))
    }

    fn sort_pairs_into(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let ([from, to], options) = (two_of(&mut self.keys, script), script.options::<K>());
        let [values, moved] = two_of(&mut self.values, script);
        fit(values, from.len, script)?;
        script.says(format!("sort {} with {} into {}, {}, {options:?}", from.name, values.name, to.name, moved.name));
        let into = (to.buffer_mut(), moved.buffer_mut());
        let result = site.backend.sort_pairs_buffer_into(from.buffer(), values.buffer(), into, options);
        if from.len != values.len {
            return comes_out(result, "LengthMismatch");
        }
        if from.len > to.capacity().min(moved.capacity()) {
            return comes_out(result, "TooLong");
        }
        comes_out(result, "Ok")?;
        let order = order(from.elements(), options);
        to.replace(&gathered(from.elements(), &order))?;
        moved.replace(&gathered(values.elements(), &order))
    }

    /// Merges two runs, or one with itself, with values or without. Runs that are not sorted yet are sorted first.
    fn merge(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let options = script.options::<K>();
        let to = one_live(&self.keys, script);
        let others: Vec<usize> = live(&self.keys).into_iter().filter(|&at| at != to).collect();
        let runs = [script.one(&others), script.one(&others)];
        for at in runs {
            let keys = &mut self.keys[at];
            // Two runs that fit the output.
            let most = if script.chance(85) { LONG / 2 } else { LONG };
            if keys.len > most {
                script.says(format!("set the length of {} to {most}", keys.name));
                keys.buffer_mut().set_len(most).map_err(failed)?;
                keys.len = most;
            }
            if !is_sorted(keys.elements(), options) {
                script.says(format!("sort {}", keys.name));
                keys.sort(site, options)?;
            }
        }
        let lens = runs.map(|at| self.keys[at].len);
        let all: Vec<K> = runs.iter().flat_map(|&at| self.keys[at].elements().iter().copied()).collect();
        let order = order(&all, options);
        let room = self.keys[to].capacity();
        // The output leaves its list during the call.
        let mut merged = self.keys[to].buffer.take().expect("a live buffer");
        let inputs = runs.map(|at| self.keys[at].buffer());
        let names = format!("{} and {} into {}", self.keys[runs[0]].name, self.keys[runs[1]].name, self.keys[to].name);
        if script.chance(50) {
            script.says(format!("merge {names}, {options:?}"));
            let result = site.backend.merge_buffers_into(inputs, &mut merged, options);
            self.keys[to].buffer = Some(merged);
            if all.len() > room {
                return comes_out(result, "TooLong");
            }
            comes_out(result, "Ok")?;
            return self.keys[to].replace(&gathered(&all, &order));
        }
        // Values of the lengths of the runs, which are drawn anew.
        let values: Vec<V> = script.values(all.len());
        let buffer = |values: &[V]| SortBuffer::from_slice(&site.backend, values).map_err(failed);
        let moved = [buffer(&values[..lens[0]])?, buffer(&values[lens[0]..])?];
        let target = one_of(&mut self.values, script);
        script.says(format!("merge {names}, with values into {}, {options:?}", target.name));
        let pairs = [(inputs[0], &moved[0]), (inputs[1], &moved[1])];
        let result = site.backend.merge_pairs_buffers_into(pairs, (&mut merged, target.buffer_mut()), options);
        self.keys[to].buffer = Some(merged);
        if all.len() > room.min(target.capacity()) {
            return comes_out(result, "TooLong");
        }
        comes_out(result, "Ok")?;
        self.keys[to].replace(&gathered(&all, &order))?;
        target.replace(&gathered(&values, &order))
    }

    /// Makes a call on copies of the elements in slices of the host. It shares the memory that the backend keeps with calls on buffers.
    fn on_slices(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        let (keys, options) = (one_of(&mut self.keys, script).elements(), script.options::<K>());
        let whole = order(keys, options);
        let same = |what: &str, found: &[K], expected: &[K]| {
            ensure(found.iter().map(|key| key.raw()).eq(expected.iter().map(|key| key.raw())), || format!("{what} is wrong"))
        };
        let backend = &site.backend;
        let kind = script.one(&["a sort", "pairs", "an argsort", "a selection", "segments", "runs"]);
        script.says(format!("{kind} of {} keys in a slice, {options:?}", keys.len()));
        let mut copy = keys.to_vec();
        match kind {
            "a sort" => {
                backend.sort_with(&mut copy, options).map_err(failed)?;
                same(kind, &copy, &gathered(keys, &whole))
            }
            "pairs" => {
                let values: Vec<V> = script.values(keys.len());
                let mut moved = values.clone();
                backend.sort_pairs_with(&mut copy, &mut moved, options).map_err(failed)?;
                let expected = gathered(&values, &whole);
                let is_moved = bytemuck::cast_slice::<V, u8>(&moved) == bytemuck::cast_slice::<V, u8>(&expected);
                ensure(is_moved, || "the values in a slice are wrong".into())?;
                same(kind, &copy, &gathered(keys, &whole))
            }
            "an argsort" => {
                let found = backend.argsort_with(keys, options).map_err(failed)?;
                ensure(found == whole, || "the indices in a slice are wrong".into())
            }
            "a selection" => {
                let k = script.one(&[1, 40, 700]).min(keys.len());
                let found = backend.top_k_with(keys, k, options).map_err(failed)?;
                ensure(found.indices == whole[..k], || format!("the first {k} are wrong"))?;
                same(kind, &found.keys, &gathered(keys, &whole[..k]))
            }
            "segments" => {
                let mut offsets: Vec<usize> = (0..10).map(|_| script.below(keys.len() + 1)).collect();
                offsets.sort_unstable();
                let segments = Segments::Offsets(&offsets);
                let ranges: Vec<_> = segments.ranges().collect();
                backend.sort_segments_with(&mut copy, segments, options).map_err(failed)?;
                same(kind, &copy, &gathered(keys, &order_in(&ranges, keys, options)))
            }
            _ => {
                let expected: Vec<usize> = runs(keys, options).into_iter().map(|at| at as usize).collect();
                let found = backend.runs_with(keys, options).map_err(failed)?;
                ensure(found.offsets == expected, || "the runs of a slice are wrong".into())
            }
        }
    }

    /// Drops a buffer of keys or of values, and makes another one of its length. Prepared sorts and recordings may still use the old one.
    fn renew(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        match script.chance(50) {
            true => renew_one(&mut self.keys, &format!("{} keys", K::NAME), Script::keys, site, script),
            false => renew_one(&mut self.values, &format!("{} values", K::NAME), Script::values, site, script),
        }
    }

    /// Writes counts and segments for recorded sorts. Some counts are larger than any prepared maximum.
    fn write_numbers(&mut self, script: &mut Script) -> Result<(), Failed> {
        let mut words: Vec<u32> = (0..COUNTS).map(|_| script.len(LONG) as u32).collect();
        if script.chance(30) {
            words[0] = u32::MAX - script.below(3) as u32;
        }
        words.push(script.below(SEGMENTS + 8) as u32);
        let mut offsets: Vec<u32> = (0..=SEGMENTS).map(|_| script.below(LONG + 100) as u32).collect();
        offsets.sort_unstable();
        words.extend(offsets);
        script.says(format!("write the {}: {words:?}", self.numbers.name));
        self.numbers.buffer_mut().copy_from_slice(&words).map_err(failed)?;
        self.numbers.replace(&words)
    }

    /// Draws keys, values that mostly have their length, and options.
    fn pairs(&mut self, script: &mut Script) -> Result<(&mut Modeled<K>, &mut Modeled<V>, Options), Failed> {
        let (keys, values) = (one_of(&mut self.keys, script), one_of(&mut self.values, script));
        fit(values, keys.len, script)?;
        Ok((keys, values, script.options::<K>()))
    }
}

impl<K: TestKey + MaskKey> Modeled<K> {
    fn sort(&mut self, site: &Site, options: Options) -> Result<(), Failed> {
        site.backend.sort_buffer(self.buffer_mut(), options).map_err(failed)?;
        let order = order(self.elements(), options);
        self.write(0, &gathered(self.elements(), &order));
        Ok(())
    }
}

/// Mostly sets the length of values to that of the keys, if they have room.
fn fit<V: Pod>(values: &mut Modeled<V>, len: usize, script: &mut Script) -> Result<(), Failed> {
    if script.chance(85) && len <= values.capacity() {
        script.says(format!("set the length of {} to {len}", values.name));
        values.buffer_mut().set_len(len).map_err(failed)?;
        values.len = len;
    }
    Ok(())
}

/// Drops one of the buffers, and adds another one of its length, with elements that `draw` returns.
fn renew_one<T: Pod>(
    all: &mut Vec<Modeled<T>>,
    kind: &str,
    draw: fn(&mut Script, usize) -> Vec<T>,
    site: &Site,
    script: &mut Script,
) -> Result<(), Failed> {
    let at = one_live(all, script);
    let (name, dropped) = (format!("{kind} {}", all.len()), &mut all[at]);
    let elements = draw(script, dropped.capacity());
    script.says(format!("drop {}, make {name}", dropped.name));
    dropped.buffer = None;
    all.push(Modeled::new(site, name, elements)?);
    Ok(())
}

/// Returns the indices of the buffers that were not dropped.
pub(super) fn live<T>(modeled: &[Modeled<T>]) -> Vec<usize> {
    (0..modeled.len()).filter(|&at| modeled[at].buffer.is_some()).collect()
}

/// Draws the index of a buffer that was not dropped.
pub(super) fn one_live<T>(modeled: &[Modeled<T>], script: &mut Script) -> usize {
    script.one(&live(modeled))
}

/// Draws a buffer that was not dropped.
pub(super) fn one_of<'a, T>(modeled: &'a mut [Modeled<T>], script: &mut Script) -> &'a mut Modeled<T> {
    let at = one_live(modeled, script);
    &mut modeled[at]
}

/// Draws two buffers that were not dropped.
fn two_of<'a, T>(modeled: &'a mut [Modeled<T>], script: &mut Script) -> [&'a mut Modeled<T>; 2] {
    let first = one_live(modeled, script);
    let others: Vec<usize> = live(modeled).into_iter().filter(|&at| at != first).collect();
    modeled.get_disjoint_mut([first, script.one(&others)]).expect("two different buffers")
}
