//! The example `kernel` prints every kernel in every language that it exists in.

#[path = "../examples/kernel.rs"]
#[allow(dead_code, reason = "the example's `main` is not called")]
mod example;

use polysort_shaders::plan::Kernel;

/// The key bits with which a plan has the kernel: only keys of 8 and 16 bits are counted, widened and narrowed.
fn key_bits(kernel: Kernel) -> u32 {
    [32, 16].into_iter().find(|&bits| example::text(kernel, "wgsl", bits, 0).is_ok()).unwrap_or_default()
}

#[test]
fn every_kernel_can_be_printed() {
    for kernel in Kernel::ALL {
        let text = |language| example::text(kernel, language, key_bits(kernel), 0);
        let entry = format!("fn {}(", kernel.name());
        assert!(text("wgsl").is_ok_and(|text| text.contains(&entry)), "{kernel:?}");
        let entry = format!("kernel void {}(", kernel.name());
        assert!(text("translated").is_ok_and(|text| text.contains(&entry)), "{kernel:?}");
        match text("msl") {
            Ok(text) => assert!(kernel.entry().msl.is_some() && text.contains(&entry), "{kernel:?}"),
            Err(error) => assert!(kernel.entry().msl.is_none() && error.contains("no hand-written version"), "{error}"),
        }
    }
}

#[test]
fn the_text_is_that_of_the_keys_and_values() {
    let text = |bits, words| example::text(Kernel::Onesweep, "wgsl", bits, words);
    for bits in [32, 64, 128] {
        for words in 0..=4 {
            let text = text(bits, words).unwrap();
            assert!(text.contains(&format!("const KEY_BITS: u32 = {bits}u;")), "{bits}");
            assert_eq!(text.contains("values_from: array"), words > 0, "{words}");
        }
    }
    assert!(text(24, 0).unwrap_err().contains("24 bits"));
    assert!(text(32, 5).unwrap_err().contains("5 words"));
    assert!(example::text(Kernel::Widen, "wgsl", 32, 0).unwrap_err().contains("`widen`"));
    assert!(example::text(Kernel::Widen, "hlsl", 16, 0).unwrap_err().contains("`hlsl`"));
}
