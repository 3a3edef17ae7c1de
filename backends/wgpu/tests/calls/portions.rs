//! Sorts of more keys than fit a binding, in portions that are merged. Bindings of 64 KiB make a few thousand keys many.

use crate::{recording, support};
use bytemuck::Pod;
use core::fmt::Debug;
use libtest_mimic::Failed;
use polysort_core::{Error, MaskKey, Options, Spec};
use polysort_wgpu::testing::{self, Knobs};
use polysort_wgpu::wgpu::CommandEncoderDescriptor;
use polysort_wgpu::{Algorithm, Ask, Config, Count, Part, SortBuffer, WgpuBackend};
use support::{ensure, failed};

/// The most bytes of a binding. The state of a sort takes a quarter of it.
const BINDING: u64 = 64 << 10;

/// Opens a backend whose device binds no more than [`BINDING`].
pub(crate) fn open(config: Config) -> Result<WgpuBackend, Failed> {
    testing::open(config, Knobs { max_binding: Some(BINDING), ..Knobs::default() }).map_err(failed)
}

fn keys<K: MaskKey>(len: usize, seed: u64, bits: u32) -> Vec<K> {
    let mut random = support::random(seed);
    let mut key = || {
        let words = [(); 2].map(|()| random().checked_shr(64 - bits).unwrap_or(0).wrapping_mul(0x0100_0001));
        bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&words)[..size_of::<K>()])
    };
    (0..len).map(|_| key()).collect()
}

/// Sorts keys, alone and with values, and compares the result with std's stable sort.
fn check<K: MaskKey + Debug, V: Pod>(backend: &WgpuBackend, len: usize, bits: u32, options: Options) -> Result<(), Failed> {
    let spec = Spec::of_masks::<K>(options).map_err(failed)?;
    let input = keys::<K>(len, len as u64, bits);
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by_key(|&i| spec.rank(bytemuck::cast::<K, K::Bits>(input[i])));
    let value = |i: usize| -> V {
        let words = [i as u32, !(i as u32), 5 * i as u32, i as u32];
        bytemuck::pod_read_unaligned(&bytemuck::bytes_of(&words)[..size_of::<V>()])
    };
    let what = |what: &str| format!("{what} of {len} {}, {bits} bits, {options:?}", std::any::type_name::<K>());
    let is = |buffer: &SortBuffer<K>| -> Result<bool, Failed> {
        let found = buffer.read().map_err(failed)?;
        Ok(found.len() == len
            && found.iter().zip(&order).all(|(key, &i)| bytemuck::bytes_of(key) == bytemuck::bytes_of(&input[i])))
    };
    let from = SortBuffer::from_slice(backend, &input).map_err(failed)?;
    let mut sorted = SortBuffer::with_capacity(backend, len + 3).map_err(failed)?;
    backend.sort_buffer_into(&from, &mut sorted, options).map_err(failed)?;
    ensure(is(&sorted)?, || what("the keys"))?;
    let mut values = SortBuffer::from_slice(backend, &(0..len).map(value).collect::<Vec<V>>()).map_err(failed)?;
    let mut keys = from;
    pollster::block_on(backend.sort_pairs_buffer_async(&mut keys, &mut values, options)).map_err(failed)?;
    ensure(is(&keys)?, || what("the keys with values"))?;
    let values = values.read().map_err(failed)?;
    let moved = values.iter().zip(&order).all(|(found, &i)| bytemuck::bytes_of(found) == bytemuck::bytes_of(&value(i)));
    ensure(moved, || what("the values"))
}

/// Lengths on both sides of the borders: one sort, two portions, three, and five.
pub(crate) fn sorted() -> Result<(), Failed> {
    let backend = open(support::config())?;
    let longest = BINDING as usize / 4;
    for (len, bits) in [(longest, 32), (longest + 1, 32), (2 * longest + 700, 3), (70_001, 9)] {
        check::<u32, u32>(&backend, len, bits, Options::ascending())?;
    }
    check::<u8, u32>(&backend, 50_001, 64, Options::descending())?;
    if support::is_software(&backend) {
        // The kernels of the other kinds take long to compile.
        return Ok(());
    }
    check::<f32, u32>(&backend, 40_000, 64, Options::descending())?;
    check::<u16, u32>(&backend, 40_003, 64, Options::descending().bits(3..11))?;
    check::<u64, [u32; 3]>(&backend, 30_001, 64, Options::ascending().bits(7..44))?;
    check::<i128, [u32; 4]>(&backend, 9_001, 64, Options::descending())
}

/// An algorithm that the caller requests sorts the portions, too.
pub(crate) fn without_subgroups() -> Result<(), Failed> {
    let mut config = support::config_without_subgroups();
    config.algorithm = Some(Algorithm::ReduceThenScan);
    check::<u32, u32>(&open(config)?, 40_000, 32, Options::ascending())
}

/// Recordings with several counts from host and device, with keys at any word. Nothing around the keys changes.
pub(crate) fn recorded() -> Result<(), Failed> {
    let backend = open(support::config())?;
    let sorter = testing::sorter(&backend);
    let (max, start) = (45_001_u32, 7_usize);
    let words: Vec<u32> = keys(max as usize + 40, 3, 32);
    for count in [max, 30_000, 15_104, 15_105, 700, 0] {
        let buffer = SortBuffer::from_slice(&backend, &words).map_err(failed)?;
        let again = SortBuffer::from_slice(&backend, &words).map_err(failed)?;
        let counts = SortBuffer::from_slice(&backend, &[9, 9, count, 9]).map_err(failed)?;
        let ask = Ask::up_to(max).counted_by(counts.raw(), 2);
        let mut encoder = backend.device().create_command_encoder(&CommandEncoderDescriptor::default());
        for (buffer, count) in [(&buffer, Count::OnDevice), (&again, Count::Fixed(count))] {
            let keys = Part { buffer: buffer.raw(), offset: 4 * start as u64 };
            let sort = sorter.prepare_sort::<u32>(keys, ask).map_err(failed)?;
            let plan = sort.portions().ok_or("the sort has no portions")?;
            ensure(plan.portions.len() == 3, || format!("{plan}"))?;
            // The scratch has the size of the keys, and that of some counts.
            let scratch = sorter.scratch_bytes::<u32>(0, max).map_err(failed)?;
            ensure(scratch < 4 * u64::from(max) + (100 << 10), || format!("{scratch} bytes of scratch: {plan}"))?;
            sort.record_in(&mut encoder, count).map_err(failed)?;
            let refused = sort.record_in(&mut encoder, Count::Fixed(max + 1));
            ensure(matches!(refused, Err(Error::TooLong { .. })), || format!("{refused:?}"))?;
        }
        backend.queue().submit([encoder.finish()]);
        let mut expected = words.clone();
        expected[start..][..count as usize].sort_unstable();
        ensure(*buffer.read().map_err(failed)? == expected, || format!("{count} keys, counted on the device"))?;
        ensure(*again.read().map_err(failed)? == expected, || format!("{count} keys"))?;
    }
    Ok(())
}

/// Arrays that are longer than a buffer lie in several. The shortest page of keys and values limits the portions.
pub(crate) fn in_pages() -> Result<(), Failed> {
    let knobs = Knobs { max_binding: Some(BINDING), max_buffer: Some(40 << 10), ..Knobs::default() };
    let backend = testing::open(support::config(), knobs).map_err(failed)?;
    for (len, bits) in [(8192, 32), (10_241, 5), (40_000, 32), (70_001, 9)] {
        check::<u32, u32>(&backend, len, bits, Options::ascending())?;
    }
    check::<u32, [u32; 4]>(&backend, 9_001, 4, Options::descending())?;
    check::<u8, u32>(&backend, 50_001, 64, Options::descending())?;
    let mut random = support::random(17);
    for _ in 0..if polysort_kit::is_thorough() { 12 } else { 4 } {
        let (len, bits) = ((random() % 60_000) as usize, (random() % 33) as u32);
        check::<u32, u32>(&backend, len, bits, Options::descending())?;
    }
    // The keys lie in one buffer, the sorted keys in pages; some pages of that are left over.
    let input = keys::<u32>(10_000, 9, 32);
    let from = SortBuffer::from_slice(&backend, &input).map_err(failed)?;
    let mut sorted = SortBuffer::from_slice(&backend, &keys::<u32>(30_000, 1, 32)).map_err(failed)?;
    ensure(from.pages().len() == 1 && sorted.pages().len() == 4 && sorted.page_len() == 8192, || format!("{sorted:?}"))?;
    backend.sort_buffer_into(&from, &mut sorted, Options::ascending()).map_err(failed)?;
    let mut expected = input.clone();
    expected.sort_unstable();
    ensure(*sorted.read().map_err(failed)? == expected, || "keys of one buffer, sorted into pages".into())?;
    // New contents end within a page.
    sorted.copy_from_slice(&input[..9000]).map_err(failed)?;
    let mut back = vec![0; 9000];
    sorted.copy_to_slice(&mut back).map_err(failed)?;
    ensure(back == input[..9000], || "contents of pages".into())?;
    let mut indices = SortBuffer::with_capacity(&backend, 9000).map_err(failed)?;
    let refused = backend.argsort_buffer(&sorted, &mut indices, Options::ascending());
    ensure(matches!(refused, Err(Error::Unsupported { .. })), || format!("{refused:?}"))?;
    // The keys of a long buffer that lie in its first page.
    sorted.copy_from_slice(&input[..5000]).map_err(failed)?;
    backend.argsort_buffer(&sorted, &mut indices, Options::ascending()).map_err(failed)?;
    let order = indices.read().map_err(failed)?;
    ensure(order.windows(2).all(|pair| input[pair[0] as usize] <= input[pair[1] as usize]), || "an argsort of one page".into())
}

/// What has no portions is refused as before.
pub(crate) fn refused() -> Result<(), Failed> {
    let backend = open(support::config())?;
    let keys = SortBuffer::from_slice(&backend, &keys::<u32>(20_000, 1, 32)).map_err(failed)?;
    let mut indices = SortBuffer::with_capacity(&backend, 20_000).map_err(failed)?;
    let refused = backend.argsort_buffer(&keys, &mut indices, Options::ascending());
    ensure(matches!(refused, Err(Error::TooLong { asked: 20_000, limit: 16_384, .. })), || format!("{refused:?}"))?;
    // Without the knob, the same keys need no portions.
    let (_, sorter) = recording::open()?;
    ensure(sorter.scratch_bytes::<u32>(0, 20_000).is_ok(), || "20 000 keys are refused".into())?;
    let short = testing::sorter(&backend).prepare_sort::<u32>(keys.raw(), Ask::up_to(20_001));
    ensure(matches!(short, Err(Error::InvalidBuffer { .. })), || format!("{:?}", short.map(|_| ())))
}
