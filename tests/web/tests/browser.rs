//! Sorts in a browser, with WebGPU: `scripts/test-web.sh` runs them.
#![cfg(target_arch = "wasm32")]

use polysort::gpu::{Ask, Config, Count, DeviceSorter, SortBuffer};
use polysort::{Backend, Error, Options, RayonBackend, Sort, SortAsync, WgpuBackend};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

async fn open() -> WgpuBackend {
    let mut config = Config::default();
    config.software = true;
    let backend = WgpuBackend::open_async(config).await.expect("the browser has WebGPU");
    console_log!("{}", backend.name());
    backend
}

fn keys(len: u32) -> Vec<u32> {
    (0..len).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i << 13).collect()
}

#[wasm_bindgen_test]
async fn slices() {
    let (gpu, cpu) = (open().await, RayonBackend::global().expect("a thread"));
    for len in [0, 1, 3, 1000, 1 << 16] {
        for options in [Options::ascending(), Options::descending()] {
            let floats: Vec<f32> = keys(len).into_iter().map(f32::from_bits).collect();
            let bits = |keys: &[f32]| keys.iter().map(|key| key.to_bits()).collect::<Vec<_>>();
            let (mut ours, mut theirs) = (floats.clone(), floats.clone());
            gpu.sort_async(&mut ours, options).await.expect("sorted");
            cpu.sort_with(&mut theirs, options).expect("sorted");
            assert_eq!(bits(&ours), bits(&theirs), "{len} keys");
            let order = gpu.argsort_async(&floats, options).await.expect("sorted");
            assert_eq!(order, cpu.argsort_with(&floats, options).expect("sorted"), "{len} indices");
        }
    }
    let wide: Vec<u64> = keys(5000).into_iter().map(|key| u64::from(key) << 20 ^ u64::from(key)).collect();
    let mut sorted = wide.clone();
    gpu.sort_async(&mut sorted, Options::ascending()).await.expect("sorted");
    assert!(sorted.is_sorted());
    let (mut bytes, mut values): (Vec<u8>, Vec<u64>) = wide.iter().map(|&key| (key as u8, key)).unzip();
    gpu.sort_pairs_async(&mut bytes, &mut values, Options::ascending()).await.expect("sorted");
    assert!(bytes.is_sorted() && bytes.iter().zip(&values).all(|(&byte, &value)| byte == value as u8));
}

#[wasm_bindgen_test]
async fn on_the_device() {
    let gpu = open().await;
    let input = keys(1 << 16);
    let mut buffer = SortBuffer::from_slice(&gpu, &input).expect("room");
    let mut indices = SortBuffer::with_capacity(&gpu, input.len()).expect("room");
    gpu.argsort_buffer_async(&buffer, &mut indices, Options::ascending()).await.expect("sorted");
    let order = indices.read_async().await.expect("read");
    assert!(order.is_sorted_by_key(|&i| input[i as usize]));
    gpu.sort_buffer_async(&mut buffer, Options::descending()).await.expect("sorted");
    assert!(buffer.read_async().await.expect("read").is_sorted_by_key(|&key| !key));

    let sorter = DeviceSorter::new(gpu.device(), gpu.queue()).expect("a sorter");
    let sort = sorter.prepare_sort_async::<u32>(buffer.raw(), Ask::up_to(1 << 16)).await.expect("prepared");
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    sort.record_in(&mut encoder, Count::Fixed(1 << 16)).expect("recorded");
    gpu.queue().submit([encoder.finish()]);
    assert!(buffer.read_async().await.expect("read").is_sorted());
}

#[wasm_bindgen_test]
async fn what_would_block_is_refused() {
    assert!(matches!(WgpuBackend::open(), Err(Error::Unsupported { .. })));
    let gpu = open().await;
    let mut unsorted = keys(1000);
    let refused = gpu.sort(&mut unsorted);
    assert!(matches!(refused, Err(Error::Unsupported { .. })), "{refused:?}");
    assert_eq!(unsorted, keys(1000));
    gpu.sort_async(&mut unsorted, Options::ascending()).await.expect("sorted");
    assert!(unsorted.is_sorted());
    // What is wrong with a call is told all the same.
    let short = gpu.sort_pairs_async(&mut [2, 1], &mut [0], Options::ascending()).await;
    assert!(matches!(short, Err(Error::LengthMismatch { .. })), "{short:?}");
}
