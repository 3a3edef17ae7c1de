// The memory of a machine, and the state of a run. A machine outlives kernels; one run at a time uses it.
//
//   device       a reservation with room for BINDINGS buffers, each in the middle of SPAN bytes: so an address that a 32-bit index
//                reaches from one buffer is never reached from another
//   cells        for each word of memory, the threads that accessed it last: see memory.h
//   seats        one for each running threadgroup: its threadgroup memory, and a stack for each thread
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime.h"

namespace msl {

constexpr uint32_t BINDINGS = 31, VARIABLES = 64, MAX_THREADS = 1024, MAX_RESIDENT = 16;
constexpr uint64_t SPAN = uint64_t(1) << 35;
// Bytes reserved for threadgroup memory. They are more than a kernel has, so that there are gaps between variables.
constexpr uint32_t ARENA = 64 << 10, GAP = 64;
constexpr uint32_t STACK = 64 << 10, STACK_RESERVE = 8 << 10;

// The thread or threads that accessed a word in an interval between barriers.
struct Stamp {
    uint32_t group, interval;
    uint16_t simd_interval, who;
};

struct Cell {
    Stamp wrote, read, atomic_wrote, atomic_read;
    // The run in which threads accessed parts of the word. The parts then have cells of their own.
    uint32_t split;
};

struct Cells {
    Cell *words, *bytes;
    uint64_t limit;
};

struct Seat {
    uint8_t *arena, *stacks;
    Cells cells;
};

struct Machine {
    uint8_t *device;
    uint64_t committed[BINDINGS];
    Cells cells[BINDINGS];
    Seat seats[MAX_RESIDENT];
    uint32_t seat_count;
    // Counters that only grow, so that cells need not be cleared.
    uint32_t runs, groups;
};

enum State : uint8_t { READY, AT_BARRIER, AT_SIMD, DONE };

struct Group;

struct Fiber {
    void *stack_pointer;
    uint8_t *stack;
    Group *group;
    uint32_t exchanges;
    State state;
    Thread thread;
};

struct Simdgroup {
    uint32_t arrived, done, at_barrier, site, flags, count;
    // The values of the two latest exchanges.
    Slot slots[2][LANES];
    uint32_t votes[2];
    uint16_t threadgroup_interval, device_interval;
};

struct Group {
    Seat *seat;
    bool used;
    uint32_t number, at_barrier, done, barrier_line, barrier_flags;
    uint32_t threadgroup_interval, device_interval;
    Position position;
    std::vector<Fiber> fibers;
    std::vector<Simdgroup> simdgroups;
};

struct Variable {
    uint32_t offset, bytes;
    const char *name;
};

// As in `src/loaded.rs`.
enum Fault : uint32_t {
    NONE,
    DIVERGED,
    AFTER_RETURN,
    OUT_OF_BOUNDS,
    NEVER_WRITTEN,
    RACE,
    NO_PROGRESS,
    TOO_MUCH_MEMORY,
    STACK_OVERFLOW,
    NO_SUCH_LANE,
    NO_MEMORY,
};

// The smallest buffer whose accesses are counted, in bytes. Shorter buffers are uniforms, for which a GPU has a separate cache.
constexpr uint64_t COUNTED = 1024;

struct Counts {
    uint64_t device_read, device_written, device_atomics, threadgroup_accesses, threadgroup_atomics, barriers, simd_operations;
};

// As in `src/loaded.rs`.
struct Report {
    Counts counts;
    uint32_t fault, line, thread;
    Position group;
    // The offset in the library of a fault without a line.
    uint64_t offset;
    char text[400];
};

struct Launch {
    Position groups;
    uint32_t threads, resident, preempt;
    uint64_t seed, budget;
    // Whether threads may read threadgroup memory that no thread has written.
    uint32_t garbage;
    // Whether data races in buffers are allowed.
    uint32_t races;
    // The limit of threadgroup memory, in bytes.
    uint32_t memory;
};

struct Buffer {
    uint8_t *bytes;
    uint64_t length;
};

struct Run {
    Machine *machine;
    Report *report;
    Launch launch;
    Counts counts;
    uint64_t random, steps, lengths[BINDINGS];
    void *buffers[BINDINGS];
    uint32_t number, first_group;
    // Whether the kernel has fences, which order device memory in addition to barriers.
    bool fenced;
    // The running thread; none while the scheduler runs.
    Fiber *fiber;
    uint8_t *stack;
    // The stamps of its accesses to threadgroup memory and to buffers, until it waits.
    Stamp local, global;
    void *scheduler;
    Variable variables[VARIABLES];
    uint32_t variable_bytes, arena_top;
    // The variable to which each 16 bytes of threadgroup memory belong, counted from 1.
    uint8_t owner[ARENA / 16];
};

} // namespace msl
