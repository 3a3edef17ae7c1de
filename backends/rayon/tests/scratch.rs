//! The scratch of the process, in a process of its own: other tests would be using it.

use polysort_core::Sort;
use polysort_rayon::{RayonBackend, Scratch};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MIB: usize = 1 << 20;

/// Lets one test at a time use the scratch, of which none is kept.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    RayonBackend::release_scratch();
    assert_eq!(RayonBackend::scratch_bytes(), 0);
    alone
}

/// Where a buffer lies. The buffer is kept.
fn keep(bytes: usize) -> *const u8 {
    Scratch::room::<u8>(bytes).elements::<u8>(bytes).as_ptr()
}

/// Calls an operation that needs no scratch.
fn call(times: usize) {
    let backend = RayonBackend::with_threads(1).unwrap();
    for _ in 0..times {
        backend.sort(&mut [2_u32, 1]).unwrap();
    }
}

#[test]
fn scratch_is_kept_and_released() {
    let _alone = alone();
    let backend = RayonBackend::with_threads(1).unwrap();
    let mut keys: Vec<u64> = (0..1_000_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    backend.sort(&mut keys).unwrap();
    assert!(keys.is_sorted());
    assert!(RayonBackend::scratch_bytes() >= 8_000_000, "{}", RayonBackend::scratch_bytes());
    RayonBackend::release_scratch();
    assert_eq!(RayonBackend::scratch_bytes(), 0);
}

#[test]
fn kept_bytes_are_those_of_buffers_that_no_call_uses() {
    let _alone = alone();
    let (mut first, second) = (Scratch::room::<u64>(128), Scratch::room::<u8>(100));
    assert_eq!(RayonBackend::scratch_bytes(), 0);
    assert_eq!(first.elements::<u64>(128).len(), 128);
    drop(first);
    assert_eq!(RayonBackend::scratch_bytes(), 1024);
    drop(second);
    assert_eq!(RayonBackend::scratch_bytes(), 1024 + 128);
    let again = Scratch::room::<u8>(1024);
    assert_eq!(RayonBackend::scratch_bytes(), 128);
    drop(Scratch::room::<u64>(0));
    assert_eq!(RayonBackend::scratch_bytes(), 128);
    drop(again);
    assert_eq!(RayonBackend::scratch_bytes(), 1024 + 128);
}

#[test]
fn the_smallest_buffer_that_is_large_enough_is_used_again() {
    let _alone = alone();
    let buffers = [2048, 1024, 4096].map(Scratch::room::<u8>);
    let [large, small, _] = buffers.map(|mut buffer| buffer.elements::<u8>(1).as_ptr());
    assert_eq!(keep(500), small);
    assert_eq!(keep(1024), small);
    assert_eq!(keep(1025), large);
    assert_eq!(RayonBackend::scratch_bytes(), 2048 + 1024 + 4096);
}

#[test]
fn small_sorts_leave_a_large_buffer_to_its_age() {
    let _alone = alone();
    let large = keep(8 * MIB);
    // Up to 1 MiB is small. It neither uses nor frees the large buffer.
    keep(MIB);
    assert_eq!(RayonBackend::scratch_bytes(), 9 * MIB);
    // A quarter of the large buffer or more uses it.
    assert_eq!(keep(8 * MIB), large);
    assert_eq!(keep(2 * MIB), large);
    assert_eq!(RayonBackend::scratch_bytes(), 9 * MIB);
    // A small buffer of up to 1 MiB serves every small sort.
    keep(1);
    assert_eq!(RayonBackend::scratch_bytes(), 9 * MIB);
}

#[test]
fn a_large_buffer_replaces_other_large_ones() {
    let _alone = alone();
    keep(MIB);
    drop([2 * MIB, 8 * MIB].map(Scratch::room::<u8>));
    assert_eq!(RayonBackend::scratch_bytes(), 11 * MIB);
    keep(16 * MIB);
    assert_eq!(RayonBackend::scratch_bytes(), 17 * MIB);
    // One that is more than four times as large as needed is not used.
    keep(4 * MIB - 64);
    assert_eq!(RayonBackend::scratch_bytes(), 5 * MIB);
}

/// Calls are counted 16 at a time. On a thread of its own, none has been counted.
#[test]
fn buffers_are_freed_when_64_calls_have_not_used_them() {
    let _alone = alone();
    let ages = || {
        keep(1024);
        call(64);
        assert_eq!(RayonBackend::scratch_bytes(), 1024);
        // A use begins another age.
        keep(1024);
        call(64);
        assert_eq!(RayonBackend::scratch_bytes(), 1024);
        call(15);
        assert_eq!(RayonBackend::scratch_bytes(), 1024);
        call(1);
        assert_eq!(RayonBackend::scratch_bytes(), 0);
        // One that is used stays, and the others are freed.
        keep(1024);
        let used = Scratch::room::<u8>(1024);
        keep(2048);
        call(80);
        assert_eq!(RayonBackend::scratch_bytes(), 0);
        drop(used);
        assert_eq!(RayonBackend::scratch_bytes(), 1024);
    };
    std::thread::scope(|scope| scope.spawn(ages).join()).unwrap();
}
