// The checks of each memory access.
//
// Kernels are compiled with -fsanitize=thread, so the compiler calls `__tsan_read4` and similar functions before each access that is not to a
// variable of one thread. This file defines these functions. They check: an access is within a buffer or a threadgroup variable; threadgroup
// memory is written before it is read; if two threads access a byte, one writes and one access is not atomic, a barrier orders them.
//
// The cell of a word has four stamps: for the last plain write, plain read, atomic write and atomic read. A stamp represents all threads that
// made such an access since the last barrier that could order it: one thread, several of a simdgroup (MANY + its number), several of a
// threadgroup (EVERYONE), or several of different threadgroups (group ANY).
#pragma once
#include "machine.h"

namespace msl {

static Run run;

// Ends the run. The message's subject is the thread.
[[noreturn]] static void fail(Fault fault, uint32_t line, const void *code, const char *format, ...) __attribute__((format(printf, 4, 5)));

constexpr uint16_t MANY = 0x8000, EVERYONE = 0xffff;
constexpr uint32_t ANY = 0xffffffff;

enum Access { READ, WRITE, ATOMIC_READ, ATOMIC_WRITE, ATOMIC_UPDATE };

static bool same_simdgroup(uint16_t who, uint16_t me) {
    return who < MANY ? who / LANES == me / LANES : who != EVERYONE && uint32_t(who - MANY) == me / LANES;
}

// Whether no barrier orders an earlier access by another thread before `me`. In threadgroup memory, accesses of other threadgroups do not
// count.
static bool unordered(const Stamp &stamp, const Stamp &me, bool device) {
    if (stamp.group == ANY) return stamp.interval == run.number && !run.fenced;
    if (stamp.group < run.first_group) return false;
    if (stamp.group != me.group) return device && !run.fenced;
    if (stamp.interval != me.interval || stamp.who == me.who) return false;
    return !same_simdgroup(stamp.who, me.who) || stamp.simd_interval == me.simd_interval;
}

// Returns a stamp that represents `me` and the threads of `stamp` that are still concurrent with it.
static Stamp joined(const Stamp &stamp, Stamp me, bool device) {
    if (stamp.group < run.first_group || !unordered(stamp, me, device)) return me;
    if (stamp.group != me.group) return {ANY, run.number, 0, EVERYONE};
    me.who = same_simdgroup(stamp.who, me.who) ? MANY + me.who / LANES : EVERYONE;
    return me;
}

// An access, and its location.
struct Touch {
    Access access;
    uint32_t line;
    const void *code;
    // The threadgroup variable, or the binding.
    const Variable *variable;
    uint32_t binding;
    uint64_t offset;

    bool device() const { return variable == nullptr; }
    bool reads() const { return access != WRITE && access != ATOMIC_WRITE; }
    bool writes() const { return access != READ && access != ATOMIC_READ; }
    bool atomic() const { return access != READ && access != WRITE; }

    [[noreturn]] void fail(Fault fault, const char *why, uint64_t number = 0) const {
        char name[80];
        if (variable) snprintf(name, sizeof name, "`%s`", variable->name);
        else snprintf(name, sizeof name, "buffer(%u)", binding);
        char reason[120];
        snprintf(reason, sizeof reason, why, (unsigned long long)number);
        const char *verb = access == ATOMIC_UPDATE ? "updates" : writes() ? "writes" : "reads";
        const char *how = atomic() ? ", atomically" : "";
        msl::fail(fault, line, code, "%s %s at byte %lld%s, %s", verb, name, (long long)offset, how, reason);
    }
};

static void check(Cell &cell, const Stamp &me, const Touch &touch) {
    bool device = touch.device();
    // In the usual case, this threadgroup has not accessed the cell before.
    auto with = [&](const Stamp &stamp) { return stamp.group >= run.first_group && unordered(stamp, me, device); };
    bool races = with(cell.wrote);
    if (!touch.atomic()) races = races || with(cell.atomic_wrote);
    if (touch.writes()) races = races || with(cell.read);
    if (touch.access == WRITE) races = races || with(cell.atomic_read);
    if (races && !(device && run.launch.races)) touch.fail(RACE, "which another thread uses as well, with no barrier in between");
    if (!device && touch.reads() && !run.launch.garbage && cell.wrote.group != me.group && cell.atomic_wrote.group != me.group) {
        touch.fail(NEVER_WRITTEN, "which nothing has written");
    }
    switch (touch.access) {
    case READ:
        cell.read = joined(cell.read, me, device);
        break;
    case WRITE:
        cell.wrote = me;
        break;
    case ATOMIC_READ:
        cell.atomic_read = joined(cell.atomic_read, me, device);
        break;
    case ATOMIC_WRITE:
    case ATOMIC_UPDATE:
        cell.atomic_wrote = joined(cell.atomic_wrote, me, device);
        break;
    }
}

static void check_all(const Cells &cells, uint64_t offset, uint64_t size, const Stamp &me, const Touch &touch) {
    for (uint64_t at = offset; at < offset + size;) {
        Cell &cell = cells.words[at / 4];
        uint64_t end = at / 4 * 4 + 4 < offset + size ? at / 4 * 4 + 4 : offset + size;
        if (end - at < 4 && cell.split != run.number) {
            cell.split = run.number;
            for (uint64_t i = 0; i < 4; i++) cells.bytes[at / 4 * 4 + i] = cell;
        }
        if (cell.split != run.number) {
            check(cell, me, touch);
        } else {
            for (uint64_t i = at; i < end; i++) check(cells.bytes[i], me, touch);
        }
        at = end;
    }
}

// Whether an address is a constant of the kernel's library.
static bool is_constant(const volatile void *pointer);

static void touch(const volatile void *pointer, uint64_t size, Access access, uint32_t line, const void *code) {
    Fiber *fiber = run.fiber;
    uint64_t address = uint64_t(pointer);
    if (!fiber || address - uint64_t(run.stack) < STACK) return;
    if (++run.steps > run.launch.budget) fail(NO_PROGRESS, line, code, "has not ended within the budget of steps");
    Touch touch{access, line, code, nullptr, 0, 0};
    uint64_t in_arena = address - uint64_t(fiber->group->seat->arena);
    if (in_arena < ARENA) {
        uint32_t owner = run.owner[in_arena / 16];
        static const Variable NOWHERE = {0, 0, "threadgroup memory"};
        touch.variable = owner ? &run.variables[owner - 1] : &NOWHERE;
        touch.offset = in_arena - touch.variable->offset;
        if (touch.offset + size > touch.variable->bytes) touch.fail(OUT_OF_BOUNDS, "which is outside of every variable");
        ++(touch.atomic() ? run.counts.threadgroup_atomics : run.counts.threadgroup_accesses);
        check_all(fiber->group->seat->cells, in_arena, size, run.local, touch);
        return;
    }
    uint64_t in_device = address - uint64_t(run.machine->device);
    if (in_device < BINDINGS * SPAN) {
        touch.binding = uint32_t(in_device / SPAN);
        touch.offset = in_device % SPAN - SPAN / 2;
        uint64_t length = run.lengths[touch.binding];
        if (touch.offset > length || length - touch.offset < size) touch.fail(OUT_OF_BOUNDS, "which has %llu bytes", length);
        if (length >= COUNTED) (touch.atomic() ? run.counts.device_atomics : touch.writes() ? run.counts.device_written : run.counts.device_read) +=
            touch.atomic() ? 1 : size;
        check_all(run.machine->cells[touch.binding], touch.offset, size, run.global, touch);
        return;
    }
    if (!touch.writes() && is_constant(pointer)) return;
    fail(OUT_OF_BOUNDS, line, code, "%s memory that is neither its own nor shared", touch.writes() ? "writes" : "reads");
}

} // namespace msl

// ---- functions that the compiler calls

#define MSL_CALLED_AT __builtin_return_address(0)
#define MSL_HOOKS(size)                                                                                                                    \
    void __tsan_read##size(void *p) { msl::touch(p, size, msl::READ, 0, MSL_CALLED_AT); }                                                  \
    void __tsan_write##size(void *p) { msl::touch(p, size, msl::WRITE, 0, MSL_CALLED_AT); }                                                \
    void __tsan_unaligned_read##size(void *p) { msl::touch(p, size, msl::READ, 0, MSL_CALLED_AT); }                                        \
    void __tsan_unaligned_write##size(void *p) { msl::touch(p, size, msl::WRITE, 0, MSL_CALLED_AT); }                                      \
    void __tsan_volatile_read##size(void *p) { msl::touch(p, size, msl::READ, 0, MSL_CALLED_AT); }                                         \
    void __tsan_volatile_write##size(void *p) { msl::touch(p, size, msl::WRITE, 0, MSL_CALLED_AT); }

extern "C" {
MSL_HOOKS(1)
MSL_HOOKS(2)
MSL_HOOKS(4)
MSL_HOOKS(8)
MSL_HOOKS(16)

void __tsan_read_range(void *p, size_t size) { msl::touch(p, size, msl::READ, 0, MSL_CALLED_AT); }
void __tsan_write_range(void *p, size_t size) { msl::touch(p, size, msl::WRITE, 0, MSL_CALLED_AT); }

void __tsan_init() {}

void __tsan_func_entry(void *) {
    uint64_t left = uint64_t(__builtin_frame_address(0)) - uint64_t(msl::run.stack);
    if (msl::run.fiber && left < msl::STACK_RESERVE) msl::fail(msl::STACK_OVERFLOW, 0, MSL_CALLED_AT, "needs too much memory of its own");
}

void __tsan_func_exit() {}

// The compiler replaces some assignments by calls of these functions.
void *memcpy(void *to, const void *from, size_t size) {
    msl::touch(from, size, msl::READ, 0, MSL_CALLED_AT);
    msl::touch(to, size, msl::WRITE, 0, MSL_CALLED_AT);
    for (size_t i = 0; i < size; i++) static_cast<volatile char *>(to)[i] = static_cast<const char *>(from)[i];
    return to;
}

void *memmove(void *to, const void *from, size_t size) {
    msl::touch(from, size, msl::READ, 0, MSL_CALLED_AT);
    msl::touch(to, size, msl::WRITE, 0, MSL_CALLED_AT);
    bool up = uint64_t(to) - uint64_t(from) >= size;
    for (size_t n = 0; n < size; n++) {
        size_t i = up ? n : size - 1 - n;
        static_cast<volatile char *>(to)[i] = static_cast<const char *>(from)[i];
    }
    return to;
}

void *memset(void *to, int byte, size_t size) {
    msl::touch(to, size, msl::WRITE, 0, MSL_CALLED_AT);
    for (size_t i = 0; i < size; i++) static_cast<volatile char *>(to)[i] = char(byte);
    return to;
}
}
