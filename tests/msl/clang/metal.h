// Metal Shading Language as clang's C++ for OpenCL 2021, which has the same address spaces. It serves to check types, not to run kernels.
// The kernels may use only the declarations of this file.

#define device __global
#define constant __constant
#define threadgroup __local
#define thread __private
#define kernel __kernel

namespace metal {
enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
    return static_cast<mem_flags>(static_cast<uint>(a) | static_cast<uint>(b));
}
void threadgroup_barrier(mem_flags) __attribute__((convergent));
void simdgroup_barrier(mem_flags) __attribute__((convergent));

// It has no implicit conversions, as in Metal.
struct simd_vote {
    typedef ulong vote_t;
};
enum class votes : ulong {};
votes simd_ballot(bool) __attribute__((convergent));
uint simd_prefix_exclusive_sum(uint) __attribute__((convergent));
uint simd_shuffle(uint, ushort) __attribute__((convergent));
uint simd_shuffle_xor(uint, ushort) __attribute__((convergent));
uint2 simd_shuffle_xor(uint2, ushort) __attribute__((convergent));
uint4 simd_shuffle_xor(uint4, ushort) __attribute__((convergent));
float simd_shuffle_down(float, ushort) __attribute__((convergent));

namespace precise {
float sqrt(float);
}

template <class To, class From>
To as_type(From) {
    static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
    return To{};
}
// Converts two halves to floats.
float2 from_halves(half2);

// Atomics have no value that can be read directly.
struct atomic_uint {
private:
    uint word __attribute__((unused));
};
enum memory_order { memory_order_relaxed };
#define ATOMICS(space)                                                                          \
    uint atomic_load_explicit(const volatile space atomic_uint*, memory_order);                 \
    void atomic_store_explicit(volatile space atomic_uint*, uint, memory_order);                \
    uint atomic_fetch_add_explicit(volatile space atomic_uint*, uint, memory_order);            \
    uint atomic_fetch_or_explicit(volatile space atomic_uint*, uint, memory_order);             \
    uint atomic_fetch_max_explicit(volatile space atomic_uint*, uint, memory_order);
ATOMICS(__global)
ATOMICS(__local)
#undef ATOMICS
}

// OpenCL defines some of these names itself.
#define atomic_uint metal::atomic_uint
#define memory_order_relaxed metal::memory_order_relaxed
#define atomic_load_explicit metal::atomic_load_explicit
#define atomic_store_explicit metal::atomic_store_explicit
#define atomic_fetch_add_explicit metal::atomic_fetch_add_explicit
#define atomic_fetch_or_explicit metal::atomic_fetch_or_explicit
#define atomic_fetch_max_explicit metal::atomic_fetch_max_explicit
typedef uint3 packed_uint3;
#define packed_uint3(...) ((packed_uint3)(__VA_ARGS__))
#define uint2(...) ((uint2)(__VA_ARGS__))
#define uint3(...) ((uint3)(__VA_ARGS__))
#define uint4(...) ((uint4)(__VA_ARGS__))
#define float2(...) metal::from_halves(__VA_ARGS__)
#define float4(...) ((float4)(__VA_ARGS__))
