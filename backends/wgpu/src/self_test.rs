//! Self-tests: each device sorts known keys before it gets a caller's data.

use crate::data::{Data, Lists};
use crate::engine::Engine;
use crate::gpu::Gpu;
use crate::wait::Waiting;
use crate::way::Way;
use polysort_core::{Error, Masks, Spec, Word};
use polysort_shaders::abi;
use polysort_shaders::plan::tuning::SELECT_SEGMENT;
use polysort_shaders::plan::{Algorithm, Blocked, Facts, FindRuns, Gather, Payload, Place, Request, Segmented, SortPlan, Top};
use std::sync::Arc;

/// The engine and the kernels to test.
struct Trial<'a> {
    engine: &'a Arc<Engine>,
    waiting: Waiting,
    /// Whether to test native kernels.
    native: bool,
}

impl Trial<'_> {
    fn gpu(&self) -> &Gpu {
        self.engine.gpu()
    }

    async fn sort(&self, request: Request, data: Data<'_>, lists: Option<Lists<'_>>) -> Result<(), Error> {
        self.engine.sort_untested(self.waiting, (request, self.native), data, lists).await
    }
}

/// Fails if the algorithm and kernels of `way` sort requests of this kind wrongly. It tests the kernels that requests of
/// `least` keys or more use.
pub(crate) async fn check(engine: &Arc<Engine>, waiting: Waiting, request: Request, least: u64, way: Way) -> Result<(), Error> {
    let start = Place::default();
    let wide_indices = request.wide_indices.map(|_| start);
    let request = Request { algorithm: way.algorithm, keys: start, values: start, wide_indices, aliased: false, ..request };
    let trial = Trial { engine, waiting, native: way.native };
    match request.key_bits {
        8 => check_words::<u8>(&trial, request, least).await,
        16 => check_words::<u16>(&trial, request, least).await,
        32 => check_words::<u32>(&trial, request, least).await,
        64 => check_words::<u64>(&trial, request, least).await,
        _ => check_words::<u128>(&trial, request, least).await,
    }
}

/// Sorts, selects or moves keys of few values, in descending order.
async fn check_words<W: Word>(trial: &Trial<'_>, request: Request, least: u64) -> Result<(), Error> {
    let masks = Masks::float(W::BITS).reversed(W::BITS);
    let end = if request.has_partial_keys() { W::BITS - 6 } else { W::BITS };
    let request = Request { spec: Spec::new::<W>(masks, 0, end)?, ..request };
    if let Some(top) = request.top {
        let facts = trial.gpu().facts;
        let Some(then) = SortPlan::new(request, &facts)?.then else { return check_top::<W>(trial, request, top).await };
        // Selects two numbers of keys: one that a single launch sorts afterwards, and a larger one.
        for k in [facts.most_selected() + 1, SELECT_SEGMENT + 17] {
            let top = Top { k, ..top };
            check_top::<W>(trial, Request { top: Some(top), ..request }, top).await?;
        }
        // The sort of the selected keys, by itself: with as few and with as many keys as it may get.
        let then = Request { values: Place::default(), ..then.request };
        return match then.key_bits {
            32 => check_sorts::<u32>(trial, then, least).await,
            64 => check_sorts::<u64>(trial, then, least).await,
            _ => check_sorts::<u128>(trial, then, least).await,
        };
    }
    if request.segments.is_some() {
        return check_segments::<W>(trial, request, least).await;
    }
    if let Some(gather) = request.gather {
        return check_gather(trial, request, gather).await;
    }
    if let Some(runs) = request.runs {
        return check_runs::<W>(trial, request, runs, least).await;
    }
    check_sorts::<W>(trial, request, least).await
}

/// Sorts twice. The first sort has a number of keys that one launch sorts. If the kind has passes, a second sort has three tiles and a part of a fourth; its second tile is
/// blocked.
async fn check_sorts<W: Word>(trial: &Trial<'_>, request: Request, least: u64) -> Result<(), Error> {
    let facts = trial.gpu().facts;
    let most = facts.limits(request.value_words()).longest(size_of::<W>());
    let plan = SortPlan::new(Request { max: least, ..request }, &facts)?;
    let (short, long) = lengths(&plan, least, &facts);
    let mut cases = vec![(request, short, Blocked::NONE)];
    if let Some(long) = long {
        let blocked = if plan.algorithm.looks_back() { Blocked::run(1, 2) } else { Blocked::NONE };
        cases.push((request, long.min(most as usize), blocked));
    }
    if plan.algorithm == Algorithm::MsdHybrid {
        // A highest digit of two bits makes four buckets, each of several tiles.
        let spec = Spec::new::<W>(request.spec.masks, 0, W::BITS - 6)?;
        let count = (12 * plan.tile as usize + 17).min(most as usize);
        cases.push((Request { spec, small_bucket: Some(0), ..request }, count, Blocked::run(1, 2)));
    }
    for (request, count, blocked) in cases {
        let request = Request { max: least.max(count as u64), blocked, ..request };
        let what = format!("{:?}", plan.algorithm);
        check_sort::<W>(trial, request, &what, count, &[[0, count as u32]]).await?;
    }
    Ok(())
}

/// Returns the numbers of keys for a test of the kernels for `least` keys or more: one that a single launch sorts, and,
/// if the kind has passes, one that passes sort.
fn lengths(plan: &SortPlan, least: u64, facts: &Facts) -> (usize, Option<usize>) {
    let more = u64::from(plan.single_tile) + 1;
    let passes = least >= more || facts.least_alike(&Request { max: more, ..plan.request }) == least;
    let (tile, single_tile) = (plan.tile as usize, plan.single_tile as usize);
    (single_tile / 2 + 3, passes.then_some(17 + single_tile.max(3 * tile)))
}

/// Sorts segments of all classes.
async fn check_segments<W: Word>(trial: &Trial<'_>, request: Request, least: u64) -> Result<(), Error> {
    let Some((request, bounds)) = in_segments(request, least, &trial.gpu().facts)? else { return Ok(()) };
    check_sort::<W>(trial, request, "segments", up_to_end(&bounds) as usize, &bounds).await
}

/// The begin and the end of each segment.
type Bounds = Vec<[u32; 2]>;

/// Returns a number of keys for these segments. Three keys follow the last one.
fn up_to_end(bounds: &Bounds) -> u32 {
    bounds.last().map_or(0, |last| last[1]) + 3
}

/// Returns a request to sort segments of all classes with the kernels for `least` keys or more, and the segments' begins and ends. The longest segment has
/// three tiles and a part of a fourth; its second tile is blocked.
fn in_segments(request: Request, least: u64, facts: &Facts) -> Result<Option<(Request, Bounds)>, Error> {
    let key_bytes = (request.key_bits as usize / 8).max(4);
    let most = facts.limits(request.value_words()).longest(key_bytes).min(1 << 20) as u32;
    let plan = SortPlan::new(Request { max: least, ..request }, facts)?;
    let Some(lists) = plan.segment_lists() else { return Ok(None) };
    let (network, tile) = (lists.network(), plan.tile);
    let mut bounds: Bounds = vec![];
    let others = 2 * network + 200;
    let long = (3 * tile.max(lists.small) + 17).min(most.saturating_sub(others));
    for keys in [2, 9, 40, 100, network, network + 1, long, 0, 5] {
        let begin = bounds.last().map_or(3, |last| last[1] + 1);
        bounds.push([begin, begin + keys]);
    }
    let of = Segmented { max: bounds.len() as u32, begins: Place::default(), ends: Place::default() };
    let request = Request { max: least.max(up_to_end(&bounds).into()), blocked: Blocked::run(1, 2), ..request }.in_segments(of);
    Ok(Some((request, bounds)))
}

/// Sorts `count` keys, and fails if a segment of `bounds` comes out wrong.
async fn check_sort<W: Word>(
    trial: &Trial<'_>,
    request: Request,
    what: &str,
    count: usize,
    bounds: &[[u32; 2]],
) -> Result<(), Error> {
    let keys: Vec<W> = (0..count).map(few).collect();
    let mut order: Vec<usize> = (0..count).collect();
    for [begin, end] in bounds {
        order[*begin as usize..*end as usize].sort_by_key(|&i| request.spec.rank(keys[i]));
    }
    let mut sorted = keys.clone();
    let words = request.value_words() as usize;
    let are_indices = request.payload == Payload::Indices;
    // The upper word of an index is 0.
    let value = |i: usize| (0..words).map(move |word| if are_indices && word > 0 { 0 } else { (i + word) as u32 });
    let mut values: Vec<u32> = match request.payload {
        Payload::Indices => vec![0; count * words],
        _ => (0..count).flat_map(value).collect(),
    };
    let data = match request.payload {
        Payload::None => Data::Keys(bytemuck::cast_slice_mut(&mut sorted)),
        Payload::Words(_) => Data::Pairs(bytemuck::cast_slice_mut(&mut sorted), bytemuck::cast_slice_mut(&mut values)),
        Payload::Indices => Data::Indices(bytemuck::cast_slice(&sorted), bytemuck::cast_slice_mut(&mut values)),
    };
    let ends = [0, 1].map(|end| bounds.iter().map(|bounds| bounds[end]).collect::<Vec<u32>>());
    let lists = Lists { begins: bytemuck::cast_slice(&ends[0]), ends: bytemuck::cast_slice(&ends[1]) };
    trial.sort(request, data, request.segments.map(|_| lists)).await?;
    let right_keys = match request.payload {
        Payload::Indices => sorted == keys,
        _ => sorted.iter().zip(&order).all(|(&key, &i)| key == keys[i]),
    };
    let right =
        right_keys && values.iter().copied().eq(order.iter().take(if words > 0 { count } else { 0 }).flat_map(|&i| value(i)));
    if right {
        return Ok(());
    }
    Err(Error::SelfTest {
        backend: trial.gpu().name(),
        what: format!(
            "{what} of keys of {} bits with payload {:?}, native kernels: {}",
            request.key_bits, request.payload, trial.native
        ),
        why: format!("{count} keys came out wrong"),
    })
}

/// Returns one of 23 values, which differ in all bits.
pub(crate) fn few<W: Word>(i: usize) -> W {
    W::truncate((i as u128 % 23).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// Selects from segments of many lengths, or from an array of two segments and a part of a third. Many keys equal the
/// last selected key.
async fn check_top<W: Word>(trial: &Trial<'_>, request: Request, top: Top) -> Result<(), Error> {
    let (k, segment) = (top.k as usize, SELECT_SEGMENT as usize);
    let mut bounds: Vec<[u32; 2]> = vec![];
    if top.segmented {
        for len in [0, 1, k / 2, k, k + 1, 3 * k + 1000] {
            let begin = bounds.last().map_or(3, |last| last[1]);
            bounds.push([begin, begin + len as u32]);
        }
    }
    let count = bounds.last().map_or(2 * segment + segment / 3, |last| last[1] as usize);
    let keys: Vec<W> = (0..count).map(few).collect();
    let ranges = if bounds.is_empty() { vec![[0, count as u32]] } else { bounds.clone() };
    let mut expected = vec![];
    for [begin, end] in ranges {
        let mut order: Vec<u32> = (begin..end).collect();
        order.sort_by_key(|&i| request.spec.rank(keys[i as usize]));
        order.resize(order.len().max(k), abi::NOTHING);
        let number = |&index: &u32| [index, 0].into_iter().take(request.value_words() as usize);
        expected.extend(order[..k].iter().flat_map(number));
    }
    let mut found = vec![0_u32; expected.len()];
    let segments =
        request.segments.map(|_| Segmented { max: bounds.len() as u32, begins: Place::default(), ends: Place::default() });
    let max = if top.segmented && segments.is_none() { bounds.len() } else { count };
    let request = Request { max: max as u64, blocked: Blocked::NONE, segments, ..request };
    let ends = [0, 1].map(|end| bounds.iter().map(|bounds| bounds[end]).collect::<Vec<u32>>());
    let lists = Lists { begins: bytemuck::cast_slice(&ends[0]), ends: bytemuck::cast_slice(&ends[1]) };
    // The bounds lie in one list, or the begins and the ends in two.
    let bounds: &[u8] = if segments.is_some() { &[] } else { bytemuck::cast_slice(&bounds) };
    let data = Data::Top(bytemuck::cast_slice(&keys), bounds, bytemuck::cast_slice_mut(&mut found));
    trial.sort(request, data, segments.map(|_| lists)).await?;
    if found == expected {
        return Ok(());
    }
    Err(Error::SelfTest {
        backend: trial.gpu().name(),
        what: format!("{top:?} of keys of {} bits, native kernels: {}", request.key_bits, trial.native),
        why: format!("the selection of {count} keys came out wrong"),
    })
}

/// Finds runs in four tiles and a part of a fifth. The second tile is blocked, and a run covers the third. Of the other runs,
/// some have one key, and some have many.
async fn check_runs<W: Word>(trial: &Trial<'_>, request: Request, runs: FindRuns, least: u64) -> Result<(), Error> {
    let facts = trial.gpu().facts;
    let plan = SortPlan::new(Request { max: least, ..request }, &facts)?;
    let tile = plan.tile as usize;
    let count = (4 * tile + 17).min(facts.limits(1).longest(size_of::<W>().max(4)) as usize - 1);
    let value = |i: usize| if (2 * tile - 3..3 * tile + 9).contains(&i) { 1 } else { i >> (i / 300 % 7) };
    let keys: Vec<W> = (0..count).map(|i| few(value(i))).collect();
    let start = Some(Place::default());
    let [unique, offsets, lengths] = [runs.unique, runs.offsets, runs.lengths].map(|place| place.and(start));
    let request = Request { max: least.max(count as u64), blocked: Blocked::run(1, 2), ..request };
    let request = request.find_runs(FindRuns { count: Place::default(), unique, offsets, lengths });
    let found = trial.engine.runs_untested(trial.waiting, (request, trial.native), bytemuck::cast_slice(&keys), count).await?;
    let begins: Vec<usize> = (0..count).filter(|&i| i == 0 || !request.spec.is_same(keys[i - 1], keys[i])).collect();
    let ends: Vec<u32> = begins.iter().copied().chain([count]).map(|end| end as u32).collect();
    let firsts: Vec<W> = begins.iter().map(|&begin| keys[begin]).collect();
    let right = found.count == begins.len()
        && (unique.is_none() || found.unique == bytemuck::cast_slice::<W, u8>(&firsts))
        && (offsets.is_none() || found.offsets == ends)
        && (lengths.is_none() || found.lengths.iter().copied().eq(ends.windows(2).map(|ends| ends[1] - ends[0])));
    if right {
        return Ok(());
    }
    Err(Error::SelfTest {
        backend: trial.gpu().name(),
        what: format!("runs of keys of {} bits, native kernels: {}", request.key_bits, trial.native),
        why: format!("the runs of {count} keys came out wrong"),
    })
}

/// Gathers elements in another order, some twice, and elements that do not exist.
async fn check_gather(trial: &Trial<'_>, request: Request, gather: Gather) -> Result<(), Error> {
    let (size, elements) = (gather.element_bytes as usize, 5000);
    let from: Vec<u8> = (0..elements * size).map(|i| ((i * 37) >> 3) as u8).collect();
    let indices: Vec<u32> = (0..elements as u32 - 3).map(|i| i.wrapping_mul(2_654_435_761) >> 19).collect();
    let element = |&index: &u32| from.chunks_exact(size).nth(index as usize).map_or(vec![0; size], <[u8]>::to_vec);
    let expected: Vec<u8> = indices.iter().flat_map(element).collect();
    let place = Place::default();
    let gather = Gather { elements: elements as u32, from: place, to: place, ..gather };
    let request = Request { max: indices.len() as u64, gather: Some(gather), ..request };
    let mut found = vec![1; expected.len()];
    trial.engine.gather_untested(trial.waiting, (request, trial.native), (&from, &indices), &mut found).await?;
    if found == expected {
        return Ok(());
    }
    Err(Error::SelfTest {
        backend: trial.gpu().name(),
        what: format!("a gather of elements of {size} bytes, native kernels: {}", trial.native),
        why: format!("{} elements came out wrong", indices.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polysort_shaders::plan::tuning::PassShape;
    use polysort_shaders::plan::{Class, Kernel, Length, PassKind, Tuned, Variant};

    /// Returns the kernels that move keys in a sort of `count` keys.
    fn moving(request: Request, facts: &Facts, count: u64) -> Vec<Variant> {
        let plan = SortPlan::new(Request { max: request.max.max(count), ..request }, facts).unwrap();
        let commands = match plan.length(Some(count)) {
            Length::Nothing => &[],
            Length::Short => plan.short_commands(),
            Length::Long => plan.long_commands(),
        };
        let kernels = [Kernel::SingleTile, Kernel::Onesweep, Kernel::Downsweep, Kernel::CountValues, Kernel::Fill];
        commands.iter().map(|command| command.variant).filter(|variant| kernels.contains(&variant.kernel())).collect()
    }

    /// Fails if a kernel that moves keys is not part of the self-test. It checks the kernels of sorts of `request.max` keys
    /// and of half of them.
    fn is_tried(request: Request, facts: &Facts) {
        let least = facts.least_alike(&request);
        let least_request = Request { max: least, ..request };
        let (short, long) = lengths(&SortPlan::new(least_request, facts).unwrap(), least, facts);
        let tried = [Some(short), long].into_iter().flatten().map(|count| moving(least_request, facts, count as u64));
        let tried = tried.collect::<Vec<_>>().concat();
        for count in [request.max, request.max / 2 + 1] {
            let used = moving(request, facts, count);
            let missed = used.iter().find(|variant| !tried.contains(variant));
            assert_eq!(missed, None, "{count} of {} keys, tried {short}, {long:?} by {least}", request.max);
        }
    }

    /// Returns the request with a window of bits that ends at `end`.
    fn up_to_bit(mut request: Request, end: u32) -> Request {
        request.spec.end = end;
        request
    }

    /// Fails if a kernel that sorts segments is not part of the self-test, or if the test has no segments for it.
    fn segments_are_tried(request: Request, facts: &Facts) {
        let least = facts.least_alike(&request);
        // A self-test has a spec of its own, which is partial if that of the request is.
        let end = if request.has_partial_keys() { request.key_bits - 6 } else { request.key_bits };
        let (trial, bounds) = in_segments(up_to_bit(request, end), least, facts).unwrap().unwrap();
        let variants = |request| -> Vec<Variant> {
            SortPlan::new(request, facts).unwrap().long_commands().iter().map(|command| command.variant).collect()
        };
        let tried = variants(trial);
        let missed = variants(request).into_iter().find(|variant| !tried.contains(variant));
        assert_eq!(missed, None, "{} keys, tried {} by {least}", request.max, trial.max);
        let plan = SortPlan::new(trial, facts).unwrap();
        let (small, network) = (plan.small_bucket, plan.segment_lists().unwrap().network());
        let has = |keys: std::ops::RangeInclusive<u32>| bounds.iter().any(|[begin, end]| keys.contains(&(end - begin)));
        assert!(has(2..=network) && has(small.max(network) + 1..=u32::MAX), "{bounds:?}");
        assert!(small <= network || has(network + 1..=small), "{bounds:?}");
    }

    #[test]
    fn every_kernel_that_moves_keys_is_tested() {
        let lanes = |lanes| Facts::new(Some((lanes, lanes)), 48 << 10, 1024);
        let apple = Facts { class: Class::Apple, ..Facts::new(Some((32, 32)), 32 << 10, 1024) };
        let tuned = Tuned::NONE.with(PassKind::new(1, 0), PassShape { group: 256, keys: 24, slices: 2 }).unwrap();
        let spec = |bits| match bits {
            8 => Spec::new::<u8>(Masks::UNSIGNED, 0, 8),
            16 => Spec::new::<u16>(Masks::UNSIGNED, 0, 16),
            32 => Spec::new::<u32>(Masks::UNSIGNED, 0, 32),
            64 => Spec::new::<u64>(Masks::UNSIGNED, 0, 64),
            _ => Spec::new::<u128>(Masks::UNSIGNED, 0, 128),
        };
        let payloads = [Payload::None, Payload::Words(1), Payload::Words(2), Payload::Indices];
        let forced =
            [Algorithm::ReduceThenScan, Algorithm::OneSweep, Algorithm::WideDigits].map(|wanted| (Payload::None, Some(wanted)));
        let kinds: Vec<_> = payloads.map(|payload| (payload, None)).into_iter().chain(forced).collect();
        let nvidia = Facts { class: Class::Nvidia, ..lanes(32) };
        let devices = [lanes(4), lanes(32), nvidia, apple, Facts { tuned, ..apple }, Facts::new(None, 16 << 10, 256)];
        for (facts, bits) in devices.iter().flat_map(|facts| [8, 16, 32, 64, 128].map(|bits| (facts, bits))) {
            for max in (1..25).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]) {
                let keys = Request { quick: max % 2 == 0, ..Request::keys(bits, spec(bits).unwrap(), max) };
                for &(payload, algorithm) in &kinds {
                    let request = Request { payload, algorithm, ..keys };
                    if SortPlan::new(request, facts).is_ok() {
                        is_tried(request, facts);
                    }
                    let of = Segmented { max: 1000, begins: Place::default(), ends: Place::default() };
                    for request in [request, up_to_bit(request, bits - 1)] {
                        let request = request.in_segments(of);
                        if SortPlan::new(request, facts).is_ok() {
                            segments_are_tried(request, facts);
                        }
                    }
                }
            }
        }
    }
}
