// The interface between kernels and the runtime. The shim's metal_stdlib and runtime.cpp include it, after uint32_t and similar types.
#pragma once

namespace msl {

struct Position {
    uint32_t x, y, z;
};

// The indices that a thread gets.
struct Thread {
    Position in_grid, in_group, group, group_size, groups, grid;
    uint32_t index, lane, simdgroup, simdgroups;
};

enum Atomic : uint32_t { LOAD, STORE, EXCHANGE, ADD, SUB, MIN, MAX, AND, OR, XOR };

enum Flags : uint32_t { DEVICE = 1, THREADGROUP = 2 };

// The kinds of simdgroup operations, which distinguish two operations on one line.
enum Simd : uint32_t { BARRIER, BALLOT, SUM, PREFIX, SHUFFLE, BROADCAST, EXTREME, BITS };

constexpr uint32_t LANES = 32;

// A value that a lane passes to the others.
struct alignas(16) Slot {
    uint32_t words[4];
};

// The values of all lanes, and the lowest bit of each.
struct Exchanged {
    const Slot *slots;
    uint32_t votes, lane;
};

extern "C" {
// Returns the memory of a threadgroup variable.
void *msl_threadgroup(uint32_t id, const char *name, uint64_t bytes);
void msl_barrier(uint32_t flags, uint32_t line);
// Waits for all lanes of the simdgroup at this operation. `flags` is the memory that a simdgroup_barrier orders.
Exchanged msl_simd(const Slot *mine, Simd what, uint32_t flags, uint32_t line);
// Returns the value before the operation.
uint32_t msl_atomic(volatile uint32_t *word, Atomic what, uint32_t operand, uint32_t line);
bool msl_compare_exchange(volatile uint32_t *word, uint32_t *expected, uint32_t desired, uint32_t line);
void msl_fence();
[[noreturn]] void msl_no_such_lane(uint32_t lane, uint32_t line);
}

} // namespace msl
