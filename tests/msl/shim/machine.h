// The memory of a machine, which outlives kernels and is used by one run at a time, and the state of a run.
//
//   device       a reservation with room for BINDINGS buffers, each in the middle of SPAN bytes: whatever a 32-bit index reaches from a
//                buffer is told from what it reaches from another
//   cells        for each word of memory, who touched it last: see memory.h
//   seats        a resident threadgroup each: its threadgroup memory, and a stack for every thread
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
// What is taken for threadgroup memory, so that variables have gaps between them.
constexpr uint32_t ARENA = 64 << 10, GAP = 64;
constexpr uint32_t STACK = 64 << 10, STACK_RESERVE = 8 << 10;

// Who touched a word: a thread, or several, in an interval between barriers.
struct Stamp {
    uint32_t group, interval;
    uint16_t simd_interval, who;
};

struct Cell {
    Stamp wrote, read, atomic_wrote, atomic_read;
    // The run in which parts of the word were touched, which have cells of their own then.
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
    // Numbers that never come again, so that cells need not be cleared.
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
    // Of the two latest exchanges.
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

// Bytes of a buffer from which on accesses are counted: what is shorter are uniforms, which a GPU has in a cache of their own.
constexpr uint64_t COUNTED = 1024;

struct Counts {
    uint64_t device_read, device_written, device_atomics, threadgroup_accesses, threadgroup_atomics, barriers, simd_operations;
};

// As in `src/loaded.rs`.
struct Report {
    Counts counts;
    uint32_t fault, line, thread;
    Position group;
    // Where in the library a fault without a line happened.
    uint64_t offset;
    char text[400];
};

struct Launch {
    Position groups;
    uint32_t threads, resident, preempt;
    uint64_t seed, budget;
    // Whether threadgroup memory that nothing has written may be read.
    uint32_t garbage;
    // Whether threads may race for buffers.
    uint32_t races;
    // Bytes of threadgroup memory that there are.
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
    // Whether a fence orders device memory in ways that no barrier tells.
    bool fenced;
    // The thread that runs; none while the scheduler does.
    Fiber *fiber;
    uint8_t *stack;
    // Of what it does to threadgroup memory and to buffers, until it waits.
    Stamp local, global;
    void *scheduler;
    Variable variables[VARIABLES];
    uint32_t variable_bytes, arena_top;
    // Which variable a piece of 16 bytes of threadgroup memory belongs to, counted from 1.
    uint8_t owner[ARENA / 16];
};

} // namespace msl
