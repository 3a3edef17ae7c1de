//! Tests of the runner with small kernels: correct kernels give correct results, and each planted mistake is reported.
#![cfg(unix)]

use polysort_msl::{Buffer, Counts, Error, Kernel, Mistake, Options, Schedule};

/// The first six lines of all kernels here.
const HEAD: &str = "#include <metal_stdlib>
using namespace metal;
constant uint N = (16 * 16); static_assert(N * 4 == 1024); constant uint TABLE[2] = {N * 2, 1};
typedef threadgroup atomic_uint *Counter;
kernel void unused(device uint *out [[buffer(0)]]) { out[0] = 1; }
// The kernel that is run:
";

/// Compiles a kernel `k` with this body. Its parameters are the buffers `out` and `state`, the thread's index `i`, its lane, its simdgroup
/// (`row`) and its threadgroup (`group`).
fn kernel(body: &str) -> Result<Kernel, Error> {
    let parameters = "device uint *out [[buffer(0)]], device atomic_uint *state [[buffer(1)]], \
                      uint i [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], \
                      uint row [[simdgroup_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]]";
    Kernel::compile(&format!("{HEAD}kernel void k({parameters}) {{\n{body}\n}}\n"), "k", Options::default())
}

/// Runs a body in `groups` threadgroups of 256 threads on several schedules. `out` has one word for each thread, and `state` has zeros.
fn each_schedule(body: &str, groups: u32, mut check: impl FnMut(Vec<u32>, Counts)) -> Result<(), Error> {
    let kernel = kernel(body)?;
    for seed in 0..20 {
        let mut out = Buffer::garbage(4 * 256 * groups as usize, seed);
        let mut state = Buffer::of(&[0_u32; 64]);
        let counts = kernel.run(&mut [&mut out, &mut state], (groups, 1), 256, Schedule::seeded(seed))?;
        check(out.values(), counts);
    }
    Ok(())
}

/// Returns the fault of a body, and its line in the body, counted from 1.
#[track_caller]
fn mistake(body: &str) -> (Mistake, Option<u32>) {
    let error = each_schedule(body, 2, |_, _| ()).expect_err("a mistake is reported");
    let Error::Fault(fault) = error else { panic!("{error}") };
    println!("{fault}");
    (fault.mistake, fault.line.map(|line| line - 7))
}

#[track_caller]
fn refused(body: &str) -> String {
    kernel(body).expect_err("it is refused").to_string()
}

#[test]
fn barriers_make_writes_visible() {
    let body = "threadgroup uint shared_[N];
        for (uint round = 0; round < 3; round++) {
            shared_[i] = i * (round + TABLE[1 - lane / 99]);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            out[group * N + i] = shared_[N - 1 - i];
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }";
    each_schedule(body, 3, |out, counts| {
        assert!((0..768).all(|i| out[i as usize] == (255 - i % 256) * 3));
        let expected = (3 * 3 * 1024, 2 * 3 * 768, 18);
        assert_eq!((counts.device_written, counts.threadgroup_accesses, counts.barriers), expected);
    })
    .unwrap();
}

#[test]
fn simdgroups_have_32_lanes() {
    let body = "uint votes = uint((simd_vote::vote_t)simd_ballot(lane % 3 == row % 3));
        uint sum = simd_sum(lane) + simd_prefix_exclusive_sum(1u) + simd_prefix_inclusive_sum(lane);
        uint shuffled = simd_shuffle(i, 31 - lane) + simd_shuffle_xor(i, 5) + simd_shuffle_up(i, 1) + simd_shuffle_down(i, 1);
        uint all = simd_max(i) + simd_min(i) + simd_broadcast(i, 7) + simd_broadcast_first(i);
        uint bits = simd_or(1u << lane) ^ simd_and(lane | 64u);
        uint4 many = simd_shuffle(uint4(i, i + 1, i + 2, i + 3), 3);
        bool odd = simd_any(lane == 5) && !simd_all(lane == 5) && simd_is_first() == (lane == 0);
        out[group * N + i] = votes ^ sum ^ shuffled * 7 ^ all * 31 ^ bits ^ (many.x + many.w) ^ (odd ? 0u : 1u);";
    each_schedule(body, 1, |out, _| {
        for i in 0..256_u32 {
            let (lane, row, first) = (i % 32, i / 32, i / 32 * 32);
            let votes = (0..32).filter(|lane| lane % 3 == row % 3).map(|lane| 1_u32 << lane).sum::<u32>();
            let sum = 496 + lane + lane * (lane + 1) / 2;
            let (up, down) = (i - u32::from(lane > 0), i + u32::from(lane < 31));
            let shuffled = first + 31 - lane + (first + (lane ^ 5)) + up + down;
            let all = first + 31 + first + first + 7 + first;
            let expected = votes ^ sum ^ (shuffled * 7) ^ (all * 31) ^ (u32::MAX ^ 64) ^ (2 * (first + 3) + 3);
            assert_eq!(out[i as usize], expected, "thread {i}");
        }
    })
    .unwrap();
}

#[test]
fn functions_of_one_thread_give_the_results_of_rust() {
    let body = "uint x = i * 0x01000193u;
        uint4 v = uint4(x, x >> 3, x << 5, ~x) ^ uint4(1, 2, 3, 4);
        v = select(v, v + 1u, v > uint4(0x80000000u)) & 0x00ffffffu;
        packed_uint3 p = packed_uint3(v.x, v.y, v.z);
        uint3 q = min(uint3(p), uint3(0x0000ffffu)) + max(uint3(i), uint3(7u));
        uint bits = popcount(x) + clz(x) + ctz(x) + clamp(i, 10u, 20u) + extract_bits(x, 8, 8) + as_type<uint>(float(i));
        ulong wide = ulong(x) * ulong(x);
        out[group * N + i] = q.x ^ q.y ^ q.z ^ v[3] ^ bits ^ uint(wide >> 32) ^ mulhi(x, x);";
    each_schedule(body, 1, |out, _| {
        for i in 0..256_u32 {
            let x = i.wrapping_mul(0x0100_0193);
            let v = [x ^ 1, x >> 3 ^ 2, x << 5 ^ 3, !x ^ 4];
            let v = v.map(|v| if v > 0x8000_0000 { v.wrapping_add(1) } else { v } & 0x00ff_ffff);
            let q = [v[0], v[1], v[2]].map(|v| v.min(0xffff) + i.max(7));
            let bits = x.count_ones() + x.leading_zeros() + x.trailing_zeros() + i.clamp(10, 20) + (x >> 8 & 255);
            let expected = q[0] ^ q[1] ^ q[2] ^ v[3] ^ bits.wrapping_add((i as f32).to_bits());
            assert_eq!(out[i as usize], expected, "thread {i}");
        }
    })
    .unwrap();
}

#[test]
fn halves_become_floats() {
    let body = "for (uint k = i; k < 65536u; k += N) {
            float2 pair = float2(as_type<half2>(k << 16 | (65535u - k)));
            out[k] = as_type<uint>(pair.y);
            if (as_type<uint>(pair.x) != as_type<uint>(float2(as_type<half2>(65535u - k)).x)) out[0] = 1;
        }";
    let kernel = kernel(body).unwrap();
    let (mut out, mut state) = (Buffer::garbage(4 << 16, 0), Buffer::default());
    kernel.run(&mut [&mut out, &mut state], (1, 1), 256, Schedule::default()).unwrap();
    for (bits, found) in (0..=u16::MAX).zip(out.values::<u32>()) {
        let expected = half::f16::from_bits(bits).to_f32();
        let is_right = if expected.is_nan() { f32::from_bits(found).is_nan() } else { found == expected.to_bits() };
        assert!(is_right, "{bits:#x}: {found:#x}, not {expected}");
    }
}

#[test]
fn fast_math_assumes_that_no_number_is_nan() {
    let text = "#include <metal_stdlib>
        using namespace metal;
        kernel void k(device uint *out [[buffer(0)]], device float *in [[buffer(1)]], uint i [[thread_position_in_grid]]) {
            float sum = in[i] - in[i + 1];
            out[i] = (sum != sum ? 1u : 0u) | ((as_type<uint>(sum) & 0x7fffffffu) > 0x7f800000u ? 2u : 0u);
        }";
    for (fast, expected) in [(false, 3), (true, 2)] {
        let kernel = Kernel::compile(text, "k", Options::default().fast_math(fast)).unwrap();
        let (mut out, mut input) = (Buffer::garbage(4, 0), Buffer::of(&[f32::INFINITY; 2]));
        kernel.run(&mut [&mut out, &mut input], (1, 1), 1, Schedule::default()).unwrap();
        assert_eq!(out.values::<u32>(), [expected], "fast math {fast}");
    }
}

#[test]
fn atomics_add_up() {
    let body = "threadgroup atomic_uint counts[4];
        if (i < 4) atomic_store_explicit(&counts[i], 0u, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        Counter own = &counts[i % 4];
        atomic_fetch_add_explicit(own, i, memory_order_relaxed);
        atomic_fetch_max_explicit(&state[1], i, memory_order_relaxed);
        atomic_fetch_or_explicit(&state[2], 1u << lane, memory_order_relaxed);
        uint old = atomic_load_explicit(&state[3], memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&state[3], &old, old + 2, memory_order_relaxed, memory_order_relaxed)) {}
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (i < 4) atomic_fetch_add_explicit(&state[4 + i], atomic_load_explicit(&counts[i], memory_order_relaxed), memory_order_relaxed);
        out[group * N + i] = old;";
    let kernel = kernel(body).unwrap();
    for seed in 0..20 {
        let (mut out, mut state) = (Buffer::garbage(4096, seed), Buffer::of(&[0_u32; 8]));
        kernel.run(&mut [&mut out, &mut state], (4, 1), 256, Schedule::seeded(seed)).unwrap();
        let sums: Vec<u32> = (0..4).map(|k| (0..64).map(|i| 4 * (4 * i + k)).sum()).collect();
        assert_eq!(state.values::<u32>(), [[0, 255, u32::MAX, 2048].as_slice(), &sums].concat());
        let mut seen = out.values::<u32>();
        seen.sort_unstable();
        assert!(seen.iter().copied().eq((0..1024).map(|old| 2 * old)), "each increment is seen by one thread");
    }
}

#[test]
fn a_threadgroup_can_wait_for_those_with_earlier_tickets() {
    let body = "threadgroup uint ticket;
        if (i == 0) {
            ticket = atomic_fetch_add_explicit(&state[0], 1u, memory_order_relaxed);
            uint before = 0;
            if (ticket > 0) {
                do {
                    before = atomic_load_explicit(&state[ticket], memory_order_relaxed);
                } while (before == 0);
            }
            atomic_store_explicit(&state[ticket + 1], before + ticket + 1, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[ticket * N + i] = atomic_load_explicit(&state[ticket + 1], memory_order_relaxed);";
    each_schedule(body, 40, |out, _| assert!((0..40_u32).all(|t| out[256 * t as usize + 9] == (t + 1) * (t + 2) / 2))).unwrap();
}

#[test]
fn a_simdgroup_barrier_orders_the_memory_that_it_names() {
    let body = "threadgroup uint rows[N];
        rows[i] = i;
        simdgroup_barrier(mem_flags::mem_threadgroup);
        out[group * N + i] = rows[i ^ 31];";
    each_schedule(body, 1, |out, _| assert!((0..256).all(|i| out[i as usize] == i ^ 31))).unwrap();
    // The barrier does not order accesses of different simdgroups, nor of a memory that it does not name.
    let (found, line) = mistake(&body.replace("i ^ 31", "i ^ 32"));
    assert!(matches!(found, Mistake::Race | Mistake::NeverWritten) && line == Some(4));
    assert_eq!(mistake(&body.replace("mem_threadgroup", "mem_device")), (Mistake::Race, Some(4)));
}

#[test]
fn equal_seeds_give_equal_runs() {
    let body = "out[group * N + i] = atomic_fetch_add_explicit(&state[0], 1u, memory_order_relaxed);";
    let (mut first, mut second) = (vec![], vec![]);
    each_schedule(body, 8, |out, _| first.push(out)).unwrap();
    each_schedule(body, 8, |out, _| second.push(out)).unwrap();
    assert!(first == second);
    first.dedup();
    assert_eq!(first.len(), 20, "another seed gives another order");
}

#[test]
fn four_threads_can_compile_and_run_one_text_at_a_time() {
    let body = "threadgroup uint shared_[N];
        shared_[i] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[group * N + i] = shared_[N - 1 - i];";
    let run = || each_schedule(body, 2, |out, _| assert!((0..512).all(|i| out[i as usize] == 255 - i % 256))).unwrap();
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(run))));
}

#[test]
fn fences_exist_from_metal_3_2_on() {
    let text = "#include <metal_stdlib>
        using namespace metal;
        kernel void k(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
        #if __METAL_VERSION__ >= 320
            out[i] = 320;
            atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        #else
            out[i] = 310;
        #endif
        }";
    for version in [310, 320] {
        let mut out = Buffer::garbage(256, 1);
        let kernel = Kernel::compile(text, "k", Options::metal(version)).unwrap();
        kernel.run(&mut [&mut out], (2, 1), 32, Schedule::default()).unwrap();
        assert_eq!(out.values::<u32>(), [version; 64]);
    }
    let fence = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);";
    assert!(refused(fence).contains("atomic_thread_fence"));
}

#[test]
fn a_barrier_that_some_threads_do_not_reach_is_a_fault() {
    let two = "if (i < 128)
            threadgroup_barrier(mem_flags::mem_threadgroup);
        else
            threadgroup_barrier(mem_flags::mem_threadgroup);";
    assert_eq!(mistake(two).0, Mistake::Divergence);
    let returned = "if (i == 77) return;
        threadgroup_barrier(mem_flags::mem_threadgroup);";
    assert_eq!(mistake(returned), (Mistake::AfterReturn, Some(2)));
}

#[test]
fn a_simdgroup_operation_that_some_lanes_do_not_reach_is_a_fault() {
    let two = "out[0 * i] = lane < 5
            ? simd_sum(lane)
            : simd_sum(lane + 1);";
    assert_eq!(mistake(two).0, Mistake::Divergence);
    let barrier = "if (lane < 5)
            simdgroup_barrier(mem_flags::mem_none);
        threadgroup_barrier(mem_flags::mem_none);";
    assert_eq!(mistake(barrier), (Mistake::Divergence, Some(2)));
    let returned = "if (lane == 7) return;
        bool any = simd_any(lane == 3);
        if (any) out[group * N + i] = 0;";
    assert_eq!(mistake(returned), (Mistake::AfterReturn, Some(2)));
    assert_eq!(mistake("\nout[group * N + i] = simd_shuffle(lane, lane + 1);"), (Mistake::NoSuchLane, Some(2)));
}

#[test]
fn a_read_of_unwritten_threadgroup_memory_is_a_fault() {
    let body = "threadgroup uint shared_[N];
        if (i != 9) shared_[i] = i;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[group * N + i] = shared_[i];";
    assert_eq!(mistake(body), (Mistake::NeverWritten, Some(4)));
    let atomic = "threadgroup atomic_uint count;
        atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);";
    assert_eq!(mistake(atomic), (Mistake::NeverWritten, Some(2)));
}

#[test]
fn a_schedule_can_allow_reads_of_unwritten_memory() {
    let kernel = kernel("threadgroup uint shared_[N];\nout[i] = shared_[i];").unwrap();
    let run = |seed| {
        let (mut out, mut state) = (Buffer::garbage(1024, 0), Buffer::default());
        let schedule = Schedule { reads_garbage: true, ..Schedule::seeded(seed) };
        kernel.run(&mut [&mut out, &mut state], (1, 1), 256, schedule).unwrap();
        out
    };
    assert!(run(1) == run(1) && run(1) != run(2));
}

#[test]
fn an_access_past_either_end_is_a_fault() {
    for index in ["2 * N + i", "i - 1", "0x80000000u", "0xffffffffu", "int(i) - 1"] {
        assert_eq!(mistake(&format!("out[{index}] = 0;")), (Mistake::OutOfBounds, Some(1)), "{index}");
        let read = format!("if (out[{index}] == 5)\nout[group * N + i] = 0;");
        assert_eq!(mistake(&read), (Mistake::OutOfBounds, Some(1)), "{index}");
    }
    assert_eq!(mistake("\n\nreinterpret_cast<device ushort *>(out)[4 * N + 2 * i] = 0;"), (Mistake::OutOfBounds, Some(3)));
    let atomic = "atomic_fetch_add_explicit(&state[64], 1u, memory_order_relaxed);";
    assert_eq!(mistake(atomic), (Mistake::OutOfBounds, Some(1)));
    for index in ["i + 1", "i - 1", "i + 0x10000000u"] {
        let body =
            format!("threadgroup uint before[8]; threadgroup uint shared_[N]; threadgroup uint after[8];\nshared_[{index}] = 0;");
        assert_eq!(mistake(&body), (Mistake::OutOfBounds, Some(2)), "{index}");
    }
}

#[test]
fn a_race_in_threadgroup_memory_is_a_fault() {
    let missing_barrier = "threadgroup uint shared_[N];
        shared_[i] = i;
        out[group * N + i] = shared_[N - 1 - i];";
    let (found, _) = mistake(missing_barrier);
    assert!(matches!(found, Mistake::Race | Mistake::NeverWritten));
    let second_round = "threadgroup uint shared_[N];
        for (uint round = 0; round < 2; round++) {
            shared_[i] = i;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            out[group * N + i] = shared_[N - 1 - i];
        }";
    assert_eq!(mistake(second_round).0, Mistake::Race);
    let many_readers = "threadgroup uint shared_;
        if (i == 0) shared_ = 1;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[group * N + i] = shared_;
        if (i == 3) shared_ = 2;";
    assert_eq!(mistake(many_readers).0, Mistake::Race);
    let half_atomic = "threadgroup atomic_uint count;
        if (i == 0) atomic_store_explicit(&count, 0u, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        atomic_fetch_add_explicit(&count, 1u, memory_order_relaxed);
        out[group * N + i] = *reinterpret_cast<threadgroup uint *>(&count);";
    assert_eq!(mistake(half_atomic).0, Mistake::Race);
    let wrong_memory = "threadgroup uint shared_[N];
        shared_[i] = i;
        threadgroup_barrier(mem_flags::mem_device);
        out[group * N + i] = shared_[N - 1 - i];";
    assert!(matches!(mistake(wrong_memory).0, Mistake::Race | Mistake::NeverWritten));
}

#[test]
fn a_race_in_device_memory_is_a_fault() {
    assert_eq!(mistake("out[5] = i;"), (Mistake::Race, Some(1)));
    assert_eq!(mistake("if (i == 0) out[5] = i;"), (Mistake::Race, Some(1)), "two threadgroups race");
    let ordered = "out[group * N + i] = i;
        threadgroup_barrier(mem_flags::mem_device);
        uint other = out[group * N + N - 1 - i];
        threadgroup_barrier(mem_flags::mem_device);
        out[group * N + i] = other;";
    each_schedule(ordered, 2, |out, _| assert!((0..512).all(|i| out[i as usize] == 255 - i % 256))).unwrap();
    assert_eq!(mistake(&ordered.replace("mem_device", "mem_threadgroup")).0, Mistake::Race);
}

/// Races in threadgroup memory are faults with every schedule.
#[test]
fn a_schedule_can_allow_races_in_device_memory() {
    let run = |body: &str| {
        let (mut out, mut state) = (Buffer::garbage(4096, 0), Buffer::default());
        let schedule = Schedule { races: true, ..Schedule::seeded(1) };
        let ran = kernel(body).unwrap().run(&mut [&mut out, &mut state], (2, 1), 256, schedule);
        ran.map(|_| out.values::<u32>()[5]).map_err(|error| error.mistake())
    };
    assert!(matches!(run("out[5] = i;"), Ok(0..256)));
    assert_eq!(run("threadgroup uint shared_[N];\nshared_[5] = i;"), Err(Some(Mistake::Race)));
}

#[test]
fn accesses_to_different_parts_of_a_word_do_not_race() {
    let body = "threadgroup ushort halves[N];
        halves[i] = ushort(i);
        reinterpret_cast<device uchar *>(out)[group * 4 * N + i] = uchar(i);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        reinterpret_cast<device uchar *>(out)[group * 4 * N + N + i] = uchar(halves[i ^ 1]);";
    each_schedule(body, 2, |out, _| {
        assert_eq!((out[256], out[256 + 64]), (0x0302_0100, 0x0203_0001));
    })
    .unwrap();
}

#[test]
fn a_loop_that_never_ends_is_a_fault() {
    let body = "while (atomic_load_explicit(&state[9], memory_order_relaxed) == 0) {}";
    let kernel = kernel(body).unwrap();
    let (mut out, mut state) = (Buffer::garbage(1024, 0), Buffer::of(&[0_u32; 16]));
    let schedule = Schedule { budget: 1000, ..Schedule::seeded(3) };
    let error = kernel.run(&mut [&mut out, &mut state], (1, 1), 256, schedule).unwrap_err();
    assert_eq!(error.mistake(), Some(Mistake::NoProgress));
}

#[test]
fn more_threadgroup_memory_than_the_limit_is_a_fault() {
    let body = "threadgroup uint most[8192 - 4]; threadgroup uint more[4];
        most[i] = i; more[i % 4 == i ? i : 0] = i;";
    assert_ne!(mistake(body).0, Mistake::ThreadgroupMemory, "32 KiB are allowed");
    assert_eq!(mistake(&body.replace("more[4]", "more[8]")).0, Mistake::ThreadgroupMemory);
}

#[test]
fn unsupported_declarations_are_refused() {
    for (body, line) in [
        ("threadgroup uint a[4], b[4];", 7),
        ("threadgroup uint a = 0;", 7),
        ("\nthreadgroup uint (*a)[4];", 8),
        ("constant uint a = 5;", 7),
        ("device uint a;", 7),
        ("uint *p = out;", 7),
        ("[[unroll]] for (uint k = 0; k < 4; k++) {}", 7),
    ] {
        let line = format!("line {}:", line + 1);
        let error = refused(body);
        assert!(error.starts_with(&line), "{body}: {error}");
    }
    for text in [
        "void f(uint *p) {}",
        "threadgroup uint a[4];",
        "constant uint A [[function_constant(0)]];",
        "kernel void g(uint a) {}",
        "kernel void g(texture2d<float> a [[texture(0)]]) {}",
        "#define SHARED threadgroup uint",
        "void f() { threadgroup uint a[4]; }",
    ] {
        let error = Kernel::compile(&format!("{HEAD}{text}\n"), "unused", Options::default()).expect_err(text);
        assert!(matches!(error, Error::Declaration { line: 7, .. }), "{text}: {error}");
    }
    assert!(refused("half x = 0.0;").contains("half"));
    assert!(refused("atomic_uint x; atomic_uint y = x;").contains("deleted"));
}
