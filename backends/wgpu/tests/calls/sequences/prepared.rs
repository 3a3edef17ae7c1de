//! Prepared sorts that a sequence keeps, their recordings, and what a recording does to the model when it is submitted.

use super::buffers::{Buffers, COUNTS, LONG, OFFSETS, RUN_LENGTHS, RUN_OFFSETS, SEGMENT_COUNT, SEGMENTS, live, one_live};
use super::modeled::{Modeled, gathered, order, order_in, runs};
use super::script::Script;
use super::{Site, comes_out};
use crate::support::failed;
use bytemuck::Pod;
use libtest_mimic::Failed;
use polysort_core::{Error, MaskKey, Options};
use polysort_kit::TestKey;
use polysort_wgpu::wgpu::{CommandEncoder, ComputePass};
use polysort_wgpu::{Ask, Column, Count, MergeAsk, Part, Prepared, PreparedMerge, RunBuffers};
use std::iter::once;
use std::ops::Range;

/// The prepared sorts that are kept at a time.
const KEPT: usize = 8;

/// Receives recordings.
pub(super) enum Target<'a> {
    Encoder(&'a mut CommandEncoder),
    Pass(Box<ComputePass<'a>>),
}

/// A prepared sort; for a merge, the sorts of both runs and the merge, which are recorded one after the other.
pub(super) struct Kept {
    ready: Vec<(Ready, Work)>,
    /// The largest count; of a merge, the largest count of each run.
    max: [usize; 2],
    /// The counts on the device that the sort was prepared with.
    on_device: Option<[Number; 2]>,
    /// The sort takes no other count than that on the device.
    only_on_device: bool,
}

enum Ready {
    Sort(Prepared),
    Merge(Box<PreparedMerge>),
}

/// Elements of a buffer: the index of the buffer in its list, and the first element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    at: usize,
    first: usize,
}

/// Where indices go: words of a buffer. An index of 64 bits takes two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indices {
    place: Place,
    are_wide: bool,
}

/// What a recording does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Sort { keys: Place, values: Option<Place>, max: usize, segments: Segmented, options: Options },
    Argsort { keys: Place, indices: Indices, max: usize, segments: Segmented, options: Options },
    First { keys: Place, indices: Indices, max: usize, k: usize, segments: Segmented, options: Options },
    Gather { from: Place, len: usize, indices: Place, to: Place, max: usize },
    Runs { keys: Place, unique: Option<Place>, max: usize, options: Options },
    Merge { runs: [(Place, Option<Place>); 2], to: (Place, Option<Place>), max: [usize; 2], options: Options },
    Copy { from: usize, to: usize },
}

/// Where the segments of a recorded sort come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Segmented {
    /// All keys are one segment, and the count is their number.
    No,
    /// Offsets that the host writes.
    Numbers,
    /// Offsets of runs that a recorded search writes.
    Runs,
    Rows {
        rows: usize,
        len: usize,
        stride: usize,
    },
}

/// The count of a recording.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Fixed(usize),
    /// A word of `Buffers::numbers` when the commands run.
    Word(usize),
    /// The number of runs when the commands run.
    Runs,
}

/// A recording: what it does, and its count; of a merge, both counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    work: Work,
    counts: [Number; 2],
}

impl Number {
    fn count(self) -> Count {
        match self {
            Self::Fixed(count) => Count::Fixed(count as u32),
            Self::Word(_) | Self::Runs => Count::OnDevice,
        }
    }
}

impl Ready {
    fn record(&self, target: &mut Target<'_>, counts: [Count; 2]) -> Result<(), Error> {
        match (self, target) {
            (Self::Sort(sort), Target::Encoder(encoder)) => sort.record_in(encoder, counts[0]),
            (Self::Sort(sort), Target::Pass(pass)) => sort.record(pass, counts[0]),
            (Self::Merge(merge), Target::Encoder(encoder)) => merge.record_in(encoder, counts),
            (Self::Merge(merge), Target::Pass(pass)) => merge.record(pass, counts),
        }
    }
}

impl<K: TestKey + MaskKey, V: Pod + core::fmt::Debug> Buffers<K, V> {
    /// Prepares a sort, and keeps it. If there are too many, drops one, which may be recorded and not submitted yet.
    pub(super) fn prepare(&mut self, site: &Site, script: &mut Script) -> Result<(), Failed> {
        if self.prepared.len() == KEPT {
            let dropped = script.below(KEPT);
            script.says(format!("drop {:?}", self.prepared[dropped].work()));
            self.prepared.remove(dropped);
        }
        let kept = match script.below(8) {
            0..=4 => self.prepare_sort(site, script)?,
            5 => self.prepare_gather(site, script)?,
            6 => self.prepare_runs(site, script)?,
            _ => self.prepare_merge(site, script)?,
        };
        self.prepared.push(kept);
        Ok(())
    }

    /// Prepares a sort of keys or of pairs, an argsort or a selection, with segments or without.
    fn prepare_sort(&mut self, site: &Site, script: &mut Script) -> Result<Kept, Failed> {
        let (keys, room) = place(&self.keys, script);
        let options = script.options::<K>();
        let kind = script.one(&["keys", "pairs", "argsort", "first"]);
        let (values, values_room) = place(&self.values, script);
        let (into, indices_room) = place(&self.indices, script);
        let indices = Indices { place: into, are_wide: matches!(kind, "argsort" | "first") && script.chance(40) };
        let indices_room = if indices.are_wide { indices_room / 2 } else { indices_room };
        let most = match kind {
            "pairs" => room.min(values_room),
            "argsort" => room.min(indices_room),
            _ => room,
        };
        let max = if script.chance(60) { most } else { most.min(script.one(&[900, 40, 1])) };
        let rows = rows(max, script);
        let segments = match script.below(6) {
            0 => Segmented::Numbers,
            // The selection would take room for a number from each of 20,000 segments.
            1 if kind != "first" => Segmented::Runs,
            2 => rows,
            _ => Segmented::No,
        };
        let (most_segments, segment_count) = match segments {
            Segmented::No => (1, Number::Word(script.below(COUNTS))),
            Segmented::Numbers => (SEGMENTS, Number::Word(SEGMENT_COUNT)),
            Segmented::Runs => (LONG, Number::Runs),
            Segmented::Rows { rows, .. } => (rows, Number::Word(SEGMENT_COUNT)),
        };
        let k = script.one(&[1, 20, 300]).min(indices_room / most_segments.max(1)).max(1);
        let ask = match segments {
            Segmented::No => Ask::up_to(max as u32),
            Segmented::Numbers => Ask::up_to(max as u32).segments(self.numbers.part(OFFSETS), SEGMENTS as u32),
            Segmented::Runs => Ask::up_to(max as u32).segments(self.runs.part(RUN_OFFSETS), LONG as u32),
            Segmented::Rows { rows, len, stride } => Ask::rows(rows as u32, len as u32, stride as u32),
        };
        // The offsets of runs fit together with the number of runs only.
        let only_on_device = matches!(segments, Segmented::Runs);
        let is_counted = only_on_device || script.chance(60);
        let ask = match segment_count {
            Number::Word(word) if is_counted => ask.counted_by(self.numbers.buffer().raw(), word as u32),
            Number::Runs => ask.counted_by(self.runs.buffer().raw(), 0),
            _ => ask,
        };
        let ask = ask.options(options);
        let ask = if indices.are_wide { ask.wide_indices() } else { ask };
        let is_quick = script.chance(20);
        let ask = if is_quick { ask.quick_to_compile() } else { ask };
        let max = match segments {
            Segmented::Rows { rows: 0, .. } => 0,
            Segmented::Rows { rows, len, stride } => (rows - 1) * stride + len,
            _ => max,
        };
        let part = self.keys[keys.at].part(keys.first);
        let (prepared, work) = match kind {
            "keys" => (site.sorter.prepare_sort::<K>(part, ask), Work::Sort { keys, values: None, max, segments, options }),
            "pairs" => {
                let moved = self.values[values.at].part(values.first);
                let work = Work::Sort { keys, values: Some(values), max, segments, options };
                (site.sorter.prepare_sort_pairs::<K, V>(part, moved, ask), work)
            }
            "argsort" => {
                let to = self.indices[into.at].part(into.first);
                (site.sorter.prepare_argsort::<K>(part, to, ask), Work::Argsort { keys, indices, max, segments, options })
            }
            _ => {
                let to = self.indices[into.at].part(into.first);
                let work = Work::First { keys, indices, max, k, segments, options };
                (site.sorter.prepare_top_k::<K>(part, to, k as u32, ask), work)
            }
        };
        script.says(format!("prepare {work:?}, counted by {segment_count:?}: {is_counted}"));
        let prepared = prepared.map_err(failed)?;
        assert_eq!(prepared.plan().request.quick, is_quick, "the plan is that of the ask");
        let most = if matches!(segments, Segmented::No) { max } else { most_segments };
        Ok(Kept {
            ready: vec![(Ready::Sort(prepared), work)],
            max: [most; 2],
            on_device: is_counted.then_some([segment_count; 2]),
            only_on_device,
        })
    }

    fn prepare_gather(&mut self, site: &Site, script: &mut Script) -> Result<Kept, Failed> {
        let (from, len) = place(&self.values, script);
        let (to, room) = place_apart(&self.values, &[from.at], script);
        let (indices, indices_room) = place(&self.indices, script);
        let (max, len) = (room.min(indices_room), len - script.below(len / 2));
        let work = Work::Gather { from, len, indices, to, max };
        let word = script.below(COUNTS);
        script.says(format!("prepare {work:?}, counted by word {word}"));
        let ask = Ask::up_to(max as u32).counted_by(self.numbers.buffer().raw(), word as u32);
        let column = Column { elements: self.values[from.at].part(from.first), len: len as u32 };
        let (by, result) = (self.indices[indices.at].part(indices.first), self.values[to.at].part(to.first));
        let prepared = site.sorter.prepare_gather::<V>(column, by, result, ask).map_err(failed)?;
        let on_device = Some([Number::Word(word); 2]);
        Ok(Kept { ready: vec![(Ready::Sort(prepared), work)], max: [max; 2], on_device, only_on_device: false })
    }

    fn prepare_runs(&mut self, site: &Site, script: &mut Script) -> Result<Kept, Failed> {
        let (keys, room) = place(&self.keys, script);
        let (unique, unique_room) = place_apart(&self.keys, &[keys.at], script);
        let unique = (script.chance(50) && unique_room >= room).then_some(unique);
        let (max, options, word) = (room, script.options::<K>(), script.below(COUNTS));
        let work = Work::Runs { keys, unique, max, options };
        script.says(format!("prepare {work:?}, counted by word {word}"));
        let outputs =
            RunBuffers::counted_in(self.runs.part(0)).offsets(self.runs.part(RUN_OFFSETS)).lengths(self.runs.part(RUN_LENGTHS));
        let outputs = unique.map_or(outputs, |unique| outputs.unique(self.keys[unique.at].part(unique.first)));
        let ask = Ask::up_to(max as u32).options(options).counted_by(self.numbers.buffer().raw(), word as u32);
        let part = self.keys[keys.at].part(keys.first);
        let prepared = site.sorter.prepare_runs::<K>(part, outputs, ask).map_err(failed)?;
        let on_device = Some([Number::Word(word); 2]);
        Ok(Kept { ready: vec![(Ready::Sort(prepared), work)], max: [max; 2], on_device, only_on_device: false })
    }

    /// Prepares the sorts of two runs, and their merge into a third buffer: with values or without.
    fn prepare_merge(&mut self, site: &Site, script: &mut Script) -> Result<Kept, Failed> {
        let (first, first_room) = place(&self.keys, script);
        let (second, second_room) = place_apart(&self.keys, &[first.at], script);
        let (to, mut room) = place_apart(&self.keys, &[first.at, second.at], script);
        let (first_values, first_values_room) = place(&self.values, script);
        let (second_values, second_values_room) = place_apart(&self.values, &[first_values.at], script);
        let (to_values, to_values_room) = place_apart(&self.values, &[first_values.at, second_values.at], script);
        let with_values = script.chance(50);
        let mut rooms = [first_room, second_room];
        if with_values {
            rooms = [rooms[0].min(first_values_room), rooms[1].min(second_values_room)];
            room = room.min(to_values_room);
        }
        let max = [rooms[0].min(room * 2 / 3), rooms[1].min(room / 3)];
        let (options, words) = (script.options::<K>(), [script.below(COUNTS), script.below(COUNTS)]);
        let values = |place: Place| with_values.then_some(place);
        let runs = [(first, values(first_values)), (second, values(second_values))];
        let work = Work::Merge { runs, to: (to, values(to_values)), max, options };
        script.says(format!("prepare {work:?}, counted by words {words:?}"));
        let counts = self.numbers.buffer().raw();
        let mut ready = vec![];
        for ((keys, values), (max, word)) in runs.into_iter().zip(max.into_iter().zip(words)) {
            let ask = Ask::up_to(max as u32).options(options).counted_by(counts, word as u32);
            let part = self.keys[keys.at].part(keys.first);
            let sort = match values {
                None => site.sorter.prepare_sort::<K>(part, ask),
                Some(values) => site.sorter.prepare_sort_pairs::<K, V>(part, self.values[values.at].part(values.first), ask),
            };
            let work = Work::Sort { keys, values, max, segments: Segmented::No, options };
            ready.push((Ready::Sort(sort.map_err(failed)?), work));
        }
        let ask = MergeAsk::up_to(max[0] as u32, max[1] as u32).options(options);
        let ask = ask.first_counted_by(counts, words[0] as u32).second_counted_by(counts, words[1] as u32);
        let keys = |place: Place| self.keys[place.at].part(place.first);
        let values = |place: Place| self.values[place.at].part(place.first);
        let merge = if with_values {
            let pairs = [(keys(first), values(first_values)), (keys(second), values(second_values))];
            site.sorter.prepare_merge_pairs::<K, V>(pairs, keys(to), values(to_values), ask)
        } else {
            site.sorter.prepare_merge::<K>([keys(first), keys(second)], keys(to), ask)
        };
        ready.push((Ready::Merge(Box::new(merge.map_err(failed)?)), work));
        Ok(Kept { ready, max, on_device: Some(words.map(Number::Word)), only_on_device: false })
    }

    /// Records a kept sort, or a copy of keys. A count that the sort does not take is refused, and records nothing.
    pub(super) fn record_kept(&self, script: &mut Script, target: &mut Target<'_>) -> Result<Vec<Recorded>, Failed> {
        if let Target::Encoder(encoder) = target
            && script.chance(15)
        {
            return Ok(self.record_copy(script, encoder));
        }
        if self.prepared.is_empty() {
            return Ok(vec![]);
        }
        let kept = &self.prepared[script.below(self.prepared.len())];
        let refuses = |target: &mut Target<'_>, script: &mut Script, counts: [Count; 2], expected| {
            script.says(format!("cannot record {:?} of {counts:?}", kept.work()));
            let (ready, _) = kept.ready.last().expect("there is always one");
            comes_out(ready.record(target, counts), expected)
        };
        if script.chance(8) {
            refuses(target, script, [Count::Fixed(kept.max[0] as u32 + 1), Count::Fixed(0)], "TooLong")?;
        }
        if kept.on_device.is_none() && script.chance(20) {
            refuses(target, script, [Count::OnDevice; 2], "Unsupported")?;
        }
        let fixed = kept.max.map(|max| Number::Fixed(script.len(max)));
        let counts = match kept.on_device {
            Some(on_device) if kept.only_on_device || script.chance(40) => on_device,
            _ => fixed,
        };
        let mut all = vec![];
        for (i, (ready, work)) in kept.ready.iter().enumerate() {
            // The sorts of the runs of a merge come before it.
            let counts = if i == 1 { [counts[1]; 2] } else { counts };
            script.says(format!("record {work:?} of {counts:?}"));
            comes_out(ready.record(target, counts.map(Number::count)), "Ok")?;
            all.push(Recorded { work: *work, counts });
        }
        Ok(all)
    }

    fn record_copy(&self, script: &mut Script, encoder: &mut CommandEncoder) -> Vec<Recorded> {
        let from = one_live(&self.keys, script);
        let others: Vec<usize> = live(&self.keys).into_iter().filter(|&at| at != from).collect();
        let to = script.one(&others);
        script.says(format!("record a copy of {} to {}", self.keys[from].name, self.keys[to].name));
        let bytes = self.keys[from].capacity().min(self.keys[to].capacity()) * size_of::<K>();
        let [source, target] = [from, to].map(|at| self.keys[at].buffer().raw());
        encoder.copy_buffer_to_buffer(source, 0, target, 0, bytes as u64);
        vec![Recorded { work: Work::Copy { from, to }, counts: [Number::Fixed(0); 2] }]
    }

    /// Applies a recording to the model, with the numbers that the buffers have now.
    pub(super) fn apply_recorded(&mut self, recorded: &Recorded) {
        let counts = recorded.counts.map(|number| match number {
            Number::Fixed(count) => count,
            Number::Word(word) => self.numbers.all[word] as usize,
            Number::Runs => self.runs.all[0] as usize,
        });
        match recorded.work {
            Work::Sort { keys, values, max, segments, options } => {
                let input = self.keys[keys.at].all[keys.first..][..max].to_vec();
                let order = order_in(&self.ranges(segments, max, counts[0]), &input, options);
                self.keys[keys.at].write(keys.first, &gathered(&input, &order));
                if let Some(values) = values {
                    let modeled = &mut self.values[values.at];
                    let moved = gathered(&modeled.all[values.first..], &order);
                    modeled.write(values.first, &moved);
                }
            }
            Work::Argsort { keys, indices, max, segments, options } => {
                let input = &self.keys[keys.at].all[keys.first..][..max];
                let order = order_in(&self.ranges(segments, max, counts[0]), input, options);
                // With segments, an index is written for each key, also for those outside.
                let written = if matches!(segments, Segmented::No) { counts[0].min(max) } else { max };
                self.write_indices(indices, &order[..written]);
            }
            Work::First { keys, indices, max, k, segments, options } => {
                let input = &self.keys[keys.at].all[keys.first..][..max];
                let ranges = self.ranges(segments, max, counts[0]);
                let mut found = vec![];
                for range in ranges {
                    let order = order(&input[range.clone()], options);
                    let mut first: Vec<u32> = order.into_iter().take(k).map(|i| i + range.start as u32).collect();
                    first.resize(k, u32::MAX);
                    found.extend(first);
                }
                self.write_indices(indices, &found);
            }
            Work::Gather { from, len, indices, to, max } => {
                let by = &self.indices[indices.at].all[indices.first..][..counts[0].min(max)];
                let elements = &self.values[from.at].all[from.first..][..len];
                let found: Vec<V> = by.iter().map(|&i| elements.get(i as usize).copied().unwrap_or_else(V::zeroed)).collect();
                self.values[to.at].write(to.first, &found);
            }
            Work::Runs { keys, unique, max, options } => {
                let input = &self.keys[keys.at].all[keys.first..][..counts[0].min(max)];
                let offsets = runs(input, options);
                let begins = &offsets[..offsets.len() - 1];
                let firsts = gathered(input, begins);
                let lengths: Vec<u32> = offsets.windows(2).map(|ends| ends[1] - ends[0]).collect();
                self.runs.write(0, &[begins.len() as u32]);
                self.runs.write(RUN_OFFSETS, &offsets);
                self.runs.write(RUN_LENGTHS, &lengths);
                if let Some(unique) = unique {
                    self.keys[unique.at].write(unique.first, &firsts);
                }
            }
            Work::Merge { runs, to, max, options } => {
                let lens = [counts[0].min(max[0]), counts[1].min(max[1])];
                let mut all = vec![];
                let mut values = vec![];
                for ((keys, moved), len) in runs.into_iter().zip(lens) {
                    all.extend_from_slice(&self.keys[keys.at].all[keys.first..][..len]);
                    values.extend(moved.into_iter().flat_map(|moved| &self.values[moved.at].all[moved.first..][..len]).copied());
                }
                let order = order(&all, options);
                self.keys[to.0.at].write(to.0.first, &gathered(&all, &order));
                if let Some(to) = to.1 {
                    self.values[to.at].write(to.first, &gathered(&values, &order));
                }
            }
            Work::Copy { from, to } => {
                let len = self.keys[from].capacity().min(self.keys[to].capacity());
                let copy = self.keys[from].all[..len].to_vec();
                self.keys[to].write(0, &copy);
            }
        }
    }

    fn write_indices(&mut self, Indices { place, are_wide }: Indices, indices: &[u32]) {
        let words: Vec<u32> = indices.iter().flat_map(|&index| [index, 0].into_iter().take(1 + usize::from(are_wide))).collect();
        self.indices[place.at].write(place.first, &words);
    }

    /// Returns the ranges of keys that are sorted, each by itself.
    fn ranges(&self, segments: Segmented, max: usize, count: usize) -> Vec<Range<usize>> {
        let between = |offsets: &[u32]| {
            let ends = offsets.windows(2).map(|ends| (ends[0] as usize).min(max)..(ends[1] as usize).min(max));
            ends.collect()
        };
        match segments {
            Segmented::No => once(0..count.min(max)).collect(),
            Segmented::Numbers => between(&self.numbers.all[OFFSETS..][..=count.min(SEGMENTS)]),
            Segmented::Runs => between(&self.runs.all[RUN_OFFSETS..][..=count.min(LONG)]),
            Segmented::Rows { rows, len, stride } => (0..count.min(rows)).map(|row| row * stride..row * stride + len).collect(),
        }
    }
}

impl Kept {
    fn work(&self) -> Work {
        self.ready.last().expect("there is always one").1
    }
}

impl<T: Pod> Modeled<T> {
    /// Returns the part of the buffer from an element on.
    pub(super) fn part(&self, first: usize) -> Part<'_> {
        Part { buffer: self.buffer().raw(), offset: (first * size_of::<T>()) as u64 }
    }
}

/// Draws a live buffer and its first element for a sort. Returns them with the number of elements from there on.
fn place<T: Pod>(modeled: &[Modeled<T>], script: &mut Script) -> (Place, usize) {
    place_apart(modeled, &[], script)
}

/// Draws as [`place`] does, in none of the buffers `others`.
fn place_apart<T: Pod>(modeled: &[Modeled<T>], others: &[usize], script: &mut Script) -> (Place, usize) {
    let at = script.one(&live(modeled).into_iter().filter(|at| !others.contains(at)).collect::<Vec<_>>());
    // A sort starts at a multiple of 4 bytes.
    let step = (4 / size_of::<T>()).max(1);
    let first = if script.chance(60) { 0 } else { step * script.below(100) };
    (Place { at, first }, modeled[at].capacity() - first)
}

/// Draws rows of up to `max` keys in all.
fn rows(max: usize, script: &mut Script) -> Segmented {
    let stride = 1 + script.one(&[30, 700, 6000]).min(max);
    let len = stride - script.below(stride / 2);
    let rows = if max < len { 0 } else { ((max - len) / stride + 1).min(SEGMENTS) };
    Segmented::Rows { rows, len, stride }
}
