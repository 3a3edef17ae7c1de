use polysort_core::*;
use polysort_wgpu::*;
#[test]
fn smoke() {
    for subgroups in [true, false] {
        let mut config = Config::default();
        config.software = true;
        config.subgroups = subgroups;
        let backend = WgpuBackend::open_with(config).unwrap();
        println!("{}", backend.name());
        for n in [2usize, 10, 1000, 5000, 100_000, 1_000_000] {
            let mut v: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(0x9e3779b9) ^ (i << 7)).collect();
            let mut w = v.clone();
            w.sort();
            let t = std::time::Instant::now();
            backend.sort(&mut v).unwrap();
            println!("{n} {:?} {} recounts {}", t.elapsed(), v == w, backend.recounts().unwrap());
        }
    }
}
