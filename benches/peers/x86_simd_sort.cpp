// C names for the sorts of x86-simd-sort that the benchmarks compare with.
#include "x86simdsort.h"
#include <cstddef>
#include <cstdint>

extern "C" {
void xss_u16(std::uint16_t *keys, std::size_t len) { x86simdsort::qsort(keys, len); }
void xss_u32(std::uint32_t *keys, std::size_t len) { x86simdsort::qsort(keys, len); }
void xss_i32(std::int32_t *keys, std::size_t len) { x86simdsort::qsort(keys, len); }
void xss_f32(float *keys, std::size_t len) { x86simdsort::qsort(keys, len); }
void xss_u64(std::uint64_t *keys, std::size_t len) { x86simdsort::qsort(keys, len); }
void xss_f64(double *keys, std::size_t len) { x86simdsort::qsort(keys, len); }
}
