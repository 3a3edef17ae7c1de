//! Async variants of calls.

use crate::{keys, open, open_alone, portions, support};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use libtest_mimic::Failed;
use polysort_core::{Options, Sort, SortAsync};
use polysort_wgpu::{Ask, Column, Count, DeviceSorter, MergeAsk, RunBuffers, Setup, SortBuffer, testing};
use support::spans::spans;
use support::{ensure, failed};

/// Enough keys that uploads use chunks.
pub(crate) const LONG: usize = 70_000;

pub(crate) fn same_results() -> Result<(), Failed> {
    let backend = open()?;
    let answers = async {
        let [up, down] = [Options::ascending(), Options::descending()];
        let cases = [(0, up), (5, down), (3000, up), (3000, down), (LONG, down), (0, down), (5, up), (LONG, up)];
        for &(len, options) in &cases[..if polysort_kit::is_thorough() { cases.len() } else { 5 }] {
            let input: Vec<f32> = keys(len).into_iter().map(|key| key as f32 - 1.0e6).collect();
            let values: Vec<[u8; 6]> = (0..len).map(|i| [i as u8, 1, 2, 3, (i >> 8) as u8, (i >> 16) as u8]).collect();
            let (mut ours, mut theirs) = (input.clone(), input.clone());
            backend.sort_async(&mut ours, options).await?;
            backend.sort_with(&mut theirs, options)?;
            assert_eq!(ours, theirs);
            let (mut ours, mut theirs) = ((input.clone(), values.clone()), (input.clone(), values.clone()));
            backend.sort_pairs_async(&mut ours.0, &mut ours.1, options).await?;
            backend.sort_pairs_with(&mut theirs.0, &mut theirs.1, options)?;
            assert_eq!(ours, theirs);
            assert_eq!(backend.argsort_async(&input, options).await?, backend.argsort_with(&input, options)?);
            assert_eq!(backend.top_k_async(&input, 7, options).await?, backend.top_k_with(&input, 7, options)?);
            let offsets = [0, len / 7, len / 7, len / 2, len];
            let (mut ours, mut theirs) = ((input.clone(), values.clone()), (input.clone(), values.clone()));
            backend.sort_pairs_segments_async(&mut ours.0, &mut ours.1, &offsets, options).await?;
            backend.sort_pairs_segments_with(&mut theirs.0, &mut theirs.1, &offsets, options)?;
            assert_eq!(ours, theirs);
            backend.sort_segments_async(&mut ours.0, &offsets, options).await?;
            assert_eq!(ours.0, theirs.0);
            let order = backend.argsort_segments_async(&input, &offsets, options).await?;
            assert_eq!(order, backend.argsort_segments_with(&input, &offsets, options)?);
            // Keys that the host maps to words, and elements that the host moves by an argsort.
            let mut flags: Vec<bool> = input.iter().map(|&key| key > 0.0).collect();
            backend.sort_async(&mut flags, options).await?;
            assert_eq!(flags.iter().filter(|&&flag| flag).count(), input.iter().filter(|&&key| key > 0.0).count());
            assert!(flags.is_sorted_by_key(|&flag| flag == (options == up)));
            let mut ours: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            backend.sort_by_key_async(&mut ours, |text| text.len() as u32, options).await?;
            assert!(ours.is_sorted_by_key(|text| if options == up { text.len() } else { 99 - text.len() }));
        }
        let mut buffer = SortBuffer::with_capacity(&backend, LONG)?;
        let mut indices = SortBuffer::with_capacity(&backend, LONG)?;
        buffer.copy_from_slice_async(&keys(LONG)).await?;
        backend.argsort_buffer_async(&buffer, &mut indices, Options::ascending()).await?;
        let order = indices.read_async().await?;
        assert_eq!(*order, backend.argsort(&keys(LONG))?);
        drop(order);
        backend.sort_pairs_buffer_async(&mut buffer, &mut indices, Options::ascending()).await?;
        backend.sort_buffer_async(&mut buffer, Options::descending()).await?;
        let mut sorted = vec![0; LONG];
        buffer.copy_to_slice_async(&mut sorted).await?;
        assert!(sorted.is_sorted_by_key(|&key| std::cmp::Reverse(key)));
        let sorter = DeviceSorter::new(backend.device(), backend.queue())?;
        let prepared = sorter.prepare_sort_async::<u32>(buffer.raw(), Ask::up_to(LONG as u32)).await?;
        let mut encoder = backend.device().create_command_encoder(&Default::default());
        prepared.record_in(&mut encoder, Count::Fixed(LONG as u32))?;
        backend.queue().submit([encoder.finish()]);
        assert!(buffer.read_async().await?.is_sorted());
        Ok::<(), polysort_core::Error>(())
    };
    on_any_thread(answers).map_err(failed)
}

/// Runs a future that is `Send`, so that any executor can run it.
pub(crate) fn on_any_thread<T>(future: impl Future<Output = T> + Send) -> T {
    pollster::block_on(future)
}

/// While one call waits for the device, another one begins. They may end in any order.
pub(crate) fn side_by_side() -> Result<(), Failed> {
    let backend = open()?;
    backend.sort(&mut keys(LONG)).map_err(failed)?;
    let (mut one, mut two) = (keys(LONG), keys(LONG / 2));
    let (mut first, mut second) = (
        Box::pin(backend.sort_async(&mut one, Options::ascending())),
        Box::pin(backend.sort_async(&mut two, Options::ascending())),
    );
    let mut waits = 0;
    let mut done = (false, false);
    pollster::block_on(core::future::poll_fn(|context| {
        if !done.0 {
            done.0 = first.as_mut().poll(context).is_ready();
        }
        if !done.1 {
            done.1 = second.as_mut().poll(context).is_ready();
        }
        if done == (true, true) {
            return Poll::Ready(());
        }
        waits += 1;
        Poll::Pending
    }));
    drop((first, second));
    ensure(waits > 0, || "no call waited".into())?;
    ensure(one.is_sorted() && two.is_sorted(), || "not sorted".into())
}

pub(crate) fn dropped() -> Result<(), Failed> {
    let backend = open()?;
    backend.sort(&mut keys(LONG)).map_err(failed)?;
    for polls in 1..6 {
        let input = keys(LONG);
        let mut unsorted = input.clone();
        {
            let mut call = pin!(backend.sort_async(&mut unsorted, Options::ascending()));
            for _ in 0..polls {
                if call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(polls));
            }
        }
        ensure(unsorted == input || unsorted.is_sorted(), || "the slice is half sorted".into())?;
        let mut next = input.clone();
        backend.sort(&mut next).map_err(failed)?;
        ensure(next.is_sorted(), || format!("wrong keys after a call that was dropped at poll {polls}"))?;
    }
    Ok(())
}

/// Async calls compile no kernel on the thread that polls them: it would stop a program that draws frames.
pub(crate) fn compiled_elsewhere() -> Result<(), Failed> {
    const MAX: u32 = LONG as u32;
    let backend = open_alone()?;
    let buffer = || SortBuffer::from_slice(&backend, &keys(LONG)).map_err(failed);
    let (first, second, third, merged) =
        (buffer()?, buffer()?, buffer()?, SortBuffer::<u32>::with_capacity(&backend, 2 * LONG).map_err(failed)?);
    let [first, second, third, merged] = [&first, &second, &third, &merged].map(SortBuffer::raw);
    let ask = Ask::up_to(MAX);
    let sorter = DeviceSorter::new(backend.device(), backend.queue()).map_err(failed)?;
    let (here, prepared) = spans("compile", || sorter.prepare_sort::<u32>(first, ask));
    prepared.map_err(failed)?;
    ensure(here > 0, || "a blocking call has compiled no kernel in its thread, so this test would find none".into())?;

    // The first sorter compiles the kernels of a kind for its test, the second one when it prepares the sort.
    for setup in [Setup::tested_on(backend.queue()), Setup::untested()] {
        let sorter = DeviceSorter::with(backend.device(), setup).map_err(failed)?;
        let (here, prepared) = spans("compile", || {
            pollster::block_on(async {
                sorter.prepare_sort_async::<u32>(first, ask).await?;
                sorter.prepare_sort_pairs_async::<f32, u32>(first, second, ask).await?;
                sorter.prepare_argsort_async::<u32>(first, second, ask).await?;
                sorter.prepare_top_k_async::<u32>(first, second, 100, ask).await?;
                sorter.prepare_sort_async::<u32>(first, Ask::rows(100, 20, 30)).await?;
                sorter.prepare_runs_async::<u32>(first, RunBuffers::counted_in(second).offsets(merged), ask).await?;
                let column = Column { elements: first.into(), len: MAX };
                sorter.prepare_gather_async::<u32>(column, second, third, ask).await?;
                sorter.prepare_merge_async::<u32>([first, second], merged, MergeAsk::up_to(MAX, MAX)).await?;
                sorter.self_test_async(backend.queue()).await
            })
        });
        prepared.map_err(failed)?;
        ensure(here == 0, || format!("the thread of async calls has compiled {here} kernels"))?;
    }

    // Portions and their merges.
    for takes_it in ["a sort", "a prepared sort"] {
        let limited = portions::open(support::config())?;
        let mut long = SortBuffer::from_slice(&limited, &keys(LONG)).map_err(failed)?;
        let sorter = testing::sorter(&limited);
        let (here, outcome) = spans("compile", || {
            pollster::block_on(async {
                match takes_it {
                    "a sort" => limited.sort_buffer_async(&mut long, Options::ascending()).await,
                    _ => sorter.prepare_sort_async::<u32>(long.raw(), ask).await.map(|sort| assert!(sort.portions().is_some())),
                }
            })
        });
        outcome.map_err(failed)?;
        ensure(here == 0, || format!("the thread of {takes_it} in portions has compiled {here} kernels"))?;
    }

    let unused = open_alone()?;
    let mut resident = SortBuffer::from_slice(&unused, &keys(LONG)).map_err(failed)?;
    let (here, sorted) = spans("compile", || {
        pollster::block_on(async {
            unused.argsort_async(&keys(LONG), Options::ascending()).await?;
            unused.runs_async(&keys(LONG), Options::ascending()).await?;
            unused.sort_buffer_async(&mut resident, Options::ascending()).await
        })
    });
    sorted.map_err(failed)?;
    ensure(here == 0, || format!("the thread of async sorts has compiled {here} kernels"))
}
