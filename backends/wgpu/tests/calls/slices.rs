//! Sorts of host slices into other slices: the inputs stay as they are.

use crate::async_variants::{LONG, on_any_thread};
use crate::{keys, open, support};
use bytemuck::Pod;
use libtest_mimic::Failed;
use polysort_core::{Error, Options, Sort, SortAsync};
use polysort_wgpu::WgpuBackend;
use support::{ensure, failed};

pub(crate) fn sorted_into() -> Result<(), Failed> {
    let backend = open()?;
    for len in [0, 1, 700, LONG] {
        let input = keys(len);
        let values: Vec<u32> = (0..len as u32).map(|i| !i).collect();
        keys_into(&backend, &input)?;
        pairs_into(&backend, &input, &values)?;
        let wide: Vec<[u64; 2]> = values.iter().map(|&value| [u64::from(value), 7]).collect();
        pairs_into(&backend, &input, &wide)?;
        // The host maps these keys to words and back.
        let flags: Vec<bool> = input.iter().map(|key| key % 3 == 0).collect();
        pairs_into(&backend, &flags, &values)?;
    }
    let (mut sorted, mut moved) = ([7; 3], [7_u8; 2]);
    let refused = backend.sort_pairs_into(&[3, 1, 2], &[0_u8; 3], &mut sorted, &mut moved);
    ensure(matches!(refused, Err(Error::LengthMismatch { .. })), || format!("{refused:?}"))?;
    ensure((sorted, moved) == ([7; 3], [7; 2]), || "a refused call changed its outputs".into())
}

fn keys_into(backend: &WgpuBackend, input: &[u32]) -> Result<(), Failed> {
    let mut expected = input.to_vec();
    expected.sort_unstable_by_key(|&key| std::cmp::Reverse(key));
    let (mut sorted, mut of_future) = (vec![7; input.len()], vec![7; input.len()]);
    backend.sort_into_with(input, &mut sorted, Options::descending()).map_err(failed)?;
    ensure(sorted == expected, || format!("{} keys", input.len()))?;
    on_any_thread(backend.sort_into_async(input, &mut of_future, Options::descending())).map_err(failed)?;
    ensure(of_future == expected, || format!("{} keys of a future", input.len()))
}

fn pairs_into<K, V>(backend: &WgpuBackend, input: &[K], values: &[V]) -> Result<(), Failed>
where
    K: polysort_core::Sortable + Default + Ord + Send + Sync,
    V: Pod + PartialEq + Send + Sync,
{
    let what = || format!("{} keys of {} with values of {} bytes", input.len(), std::any::type_name::<K>(), size_of::<V>());
    let mut order: Vec<usize> = (0..input.len()).collect();
    order.sort_by_key(|&i| &input[i]);
    let outputs = || (vec![K::default(); input.len()], vec![V::zeroed(); input.len()]);
    let (mut of_call, mut of_future) = (outputs(), outputs());
    backend.sort_pairs_into(input, values, &mut of_call.0, &mut of_call.1).map_err(failed)?;
    let (sorted, moved) = (&mut of_future.0, &mut of_future.1);
    on_any_thread(backend.sort_pairs_into_async(input, values, sorted, moved, Options::ascending())).map_err(failed)?;
    for (name, (sorted, moved)) in [("a call", of_call), ("a future", of_future)] {
        ensure(sorted.iter().zip(&order).all(|(key, &i)| *key == input[i]), || format!("{name}: the keys of {}", what()))?;
        ensure(moved.iter().zip(&order).all(|(value, &i)| *value == values[i]), || format!("{name}: the values of {}", what()))?;
    }
    Ok(())
}
