// Runs a kernel: a fiber for each thread, all on one thread of the CPU, in an order that a seed decides.
//
//   start threadgroups, in a shuffled order, on the seats that are free
//   until all have ended: choose a seat; for each of its simdgroups
//     run each lane that is ready, until it waits, ends, or is preempted at an atomic operation
//     if all lanes wait at one simdgroup operation: let them continue
//   if all threads wait at one barrier: let them continue
//
// It is a fault if lanes wait at different operations, or for lanes that have returned.
#include "memory.h"

#include <cstdarg>
#include <dlfcn.h>
#include <sys/mman.h>

#define MSL_TEXT(word) MSL_TEXT_OF(word)
#define MSL_TEXT_OF(word) #word

extern "C" void msl_switch(void **saved, void *to) asm("msl_switch");
// The entry point of the kernel's library: calls the kernel with its arguments.
extern "C" void msl_entry(void **buffers, const msl::Thread *thread);

// Saves the registers that a call must preserve on the stack, and switches to another stack.
#if defined(__x86_64__)
asm(R"(
.text
.globl msl_switch
.hidden msl_switch
msl_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl msl_switch
msl_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
#else
#error "no stack switch for this processor"
#endif

namespace msl {

static uint32_t random(uint32_t below) {
    run.random ^= run.random << 13;
    run.random ^= run.random >> 7;
    run.random ^= run.random << 17;
    return uint32_t((run.random >> 32) * below >> 32);
}

static void resume(Fiber &fiber) {
    const Group &group = *fiber.group;
    const Simdgroup &simdgroup = group.simdgroups[fiber.thread.simdgroup];
    uint16_t who = uint16_t(fiber.thread.index);
    run.fiber = &fiber;
    run.stack = fiber.stack;
    run.local = {group.number, group.threadgroup_interval, simdgroup.threadgroup_interval, who};
    run.global = {group.number, group.device_interval, simdgroup.device_interval, who};
    msl_switch(&run.scheduler, fiber.stack_pointer);
    run.fiber = nullptr;
}

static void suspend(Fiber &fiber) { msl_switch(&fiber.stack_pointer, run.scheduler); }

static bool has_failed() { return run.report->fault != NONE; }

// Reports a fault of a threadgroup while none of its threads runs.
__attribute__((format(printf, 4, 5))) static void blame(const Fiber &fiber, Fault fault, uint32_t line, const char *format, ...) {
    Report &report = *run.report;
    report.fault = fault;
    report.line = line;
    report.thread = fiber.thread.index;
    report.group = fiber.group->position;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report.text, sizeof report.text, format, arguments);
    va_end(arguments);
}

static void fail(Fault fault, uint32_t line, const void *code, const char *format, ...) {
    Fiber &fiber = *run.fiber;
    run.fiber = nullptr;
    char text[sizeof run.report->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    blame(fiber, fault, line, "%s", text);
    Dl_info info;
    if (line == 0 && dladdr(code, &info)) run.report->offset = uint64_t(code) - uint64_t(info.dli_fbase) - 1;
    // The thread is never resumed.
    suspend(fiber);
    __builtin_unreachable();
}

static bool is_constant(const volatile void *pointer) {
    Dl_info there, here;
    if (!dladdr(const_cast<const void *>(pointer), &there) || !dladdr(reinterpret_cast<const void *>(&msl_entry), &here)) return false;
    return there.dli_fbase == here.dli_fbase;
}

static void fiber_main() {
    Fiber &fiber = *run.fiber;
    msl_entry(run.buffers, &fiber.thread);
    fiber.state = DONE;
    fiber.group->done++;
    fiber.group->simdgroups[fiber.thread.simdgroup].done++;
    suspend(fiber);
    __builtin_unreachable();
}

static Position position(uint64_t index, const Position &size) {
    return {uint32_t(index % size.x), uint32_t(index / size.x % size.y), uint32_t(index / size.x / size.y)};
}

// Fills a part of threadgroup memory with garbage.
static void spoil(Seat &seat, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i += 4) *reinterpret_cast<uint32_t *>(seat.arena + i) = random(0xffffffff);
}

static void start(Group &group, uint64_t index) {
    const Launch &launch = run.launch;
    uint32_t threads = launch.threads;
    group.used = true;
    group.number = ++run.machine->groups;
    group.at_barrier = group.done = group.threadgroup_interval = group.device_interval = 0;
    group.position = position(index, launch.groups);
    spoil(*group.seat, 0, run.arena_top);
    for (uint32_t s = 0; s < group.simdgroups.size(); s++) {
        group.simdgroups[s] = Simdgroup{};
        group.simdgroups[s].count = threads - s * LANES < LANES ? threads - s * LANES : LANES;
    }
    for (uint32_t i = 0; i < threads; i++) {
        Fiber &fiber = group.fibers[i];
        fiber.state = READY;
        fiber.exchanges = 0;
        Thread &thread = fiber.thread;
        const Position &at = group.position, &groups = launch.groups;
        thread.in_group = {i, 0, 0};
        thread.group = at;
        thread.group_size = {threads, 1, 1};
        thread.groups = groups;
        thread.in_grid = {at.x * threads + i, at.y, at.z};
        thread.grid = {groups.x * threads, groups.y, groups.z};
        thread.index = i;
        thread.lane = i % LANES;
        thread.simdgroup = i / LANES;
        thread.simdgroups = uint32_t(group.simdgroups.size());
        // The stacks begin at different offsets, so that they do not all use the same cache sets.
        uint64_t *top = reinterpret_cast<uint64_t *>(fiber.stack + STACK - i % 32 * 128);
#if defined(__x86_64__)
        *--top = 0;
        *--top = reinterpret_cast<uint64_t>(fiber_main);
        for (uint32_t saved = 0; saved < 6; saved++) *--top = 0;
#else
        top -= 20;
        for (uint32_t saved = 0; saved < 20; saved++) top[saved] = 0;
        top[11] = reinterpret_cast<uint64_t>(fiber_main);
#endif
        fiber.stack_pointer = top;
    }
}

// Runs the lanes of a simdgroup until all of them wait at a barrier or have ended, or one is preempted.
static void turn(Group &group, uint32_t number) {
    Simdgroup &simdgroup = group.simdgroups[number];
    Fiber *lanes = &group.fibers[number * LANES];
    bool backwards = run.launch.seed && random(2);
    for (;;) {
        bool preempted = false;
        for (uint32_t i = 0; i < simdgroup.count; i++) {
            Fiber &fiber = lanes[backwards ? simdgroup.count - 1 - i : i];
            if (fiber.state != READY) continue;
            resume(fiber);
            if (has_failed()) return;
            preempted = preempted || fiber.state == READY;
        }
        if (preempted || simdgroup.arrived == 0) return;
        if (simdgroup.arrived < simdgroup.count) {
            const Fiber *waiting = lanes;
            while (waiting->state != AT_SIMD) waiting++;
            bool returned = simdgroup.done > 0;
            uint32_t others = simdgroup.count - simdgroup.arrived;
            return blame(*waiting, returned ? AFTER_RETURN : DIVERGED, simdgroup.site >> 8,
                         "is at a simdgroup operation that %u of the lanes do not come to: they %s", others,
                         returned ? "have returned" : "wait at a threadgroup barrier");
        }
        simdgroup.arrived = 0;
        simdgroup.votes[(lanes->exchanges + 1) & 1] = 0;
        if (simdgroup.flags & THREADGROUP) simdgroup.threadgroup_interval++;
        if (simdgroup.flags & DEVICE) simdgroup.device_interval++;
        for (uint32_t i = 0; i < simdgroup.count; i++) lanes[i].state = READY;
    }
}

// Ends the threadgroup, or its barrier, if all of its threads have ended, or wait at the barrier.
static bool settle(Group &group) {
    uint32_t threads = run.launch.threads;
    if (group.done == threads) {
        group.used = false;
        return true;
    }
    if (group.at_barrier == 0 || group.at_barrier + group.done < threads) return false;
    if (group.done > 0) {
        const Fiber *waiting = group.fibers.data();
        while (waiting->state != AT_BARRIER) waiting++;
        blame(*waiting, AFTER_RETURN, group.barrier_line, "is at a barrier that %u of the threads do not come to: they have returned", group.done);
        return false;
    }
    group.at_barrier = 0;
    if (group.barrier_flags & THREADGROUP) group.threadgroup_interval++;
    if (group.barrier_flags & DEVICE) group.device_interval++;
    run.counts.barriers++;
    for (Fiber &fiber : group.fibers) fiber.state = READY;
    return false;
}

static void schedule() {
    const Launch &launch = run.launch;
    uint64_t total = uint64_t(launch.groups.x) * launch.groups.y * launch.groups.z, next = 0, ended = 0;
    std::vector<uint32_t> order(total);
    for (uint64_t i = 0; i < total; i++) order[i] = uint32_t(i);
    if (launch.seed) {
        for (uint64_t i = total; i > 1; i--) std::swap(order[i - 1], order[random(uint32_t(i))]);
    }
    uint32_t resident = total < launch.resident ? uint32_t(total) : launch.resident;
    std::vector<Group> groups(resident);
    for (uint32_t i = 0; i < resident; i++) {
        Group &group = groups[i];
        group.seat = &run.machine->seats[i];
        group.fibers.resize(launch.threads);
        group.simdgroups.resize((launch.threads + LANES - 1) / LANES);
        for (uint32_t t = 0; t < launch.threads; t++) {
            group.fibers[t].group = &group;
            group.fibers[t].stack = group.seat->stacks + uint64_t(t) * STACK;
        }
        start(group, order[next++]);
    }
    for (uint32_t turns = 0; ended < total; turns++) {
        Group &group = groups[launch.seed ? random(resident) : turns % resident];
        if (!group.used) continue;
        uint32_t count = uint32_t(group.simdgroups.size()), first = launch.seed ? random(count) : 0;
        for (uint32_t i = 0; i < count; i++) {
            turn(group, (first + i) % count);
            if (has_failed()) return;
        }
        if (settle(group)) {
            ended++;
            if (next < total) start(group, order[next++]);
        }
        if (has_failed()) return;
    }
}

static void step(uint32_t line, const void *code) {
    if (++run.steps > run.launch.budget) fail(NO_PROGRESS, line, code, "has not ended within the budget of steps");
}

// Reserves memory. The system allocates a page at its first access.
static uint8_t *mapped(uint64_t bytes, int protection = PROT_READ | PROT_WRITE) {
    void *memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
}

static bool mapped_cells(Cells &cells, uint64_t bytes) {
    if (cells.limit >= bytes) return true;
    if (cells.limit > 0) {
        munmap(cells.words, cells.limit / 4 * sizeof(Cell));
        munmap(cells.bytes, cells.limit * sizeof(Cell));
    }
    uint64_t limit = (bytes + 0xffff) & ~uint64_t(0xffff);
    cells.words = reinterpret_cast<Cell *>(mapped(limit / 4 * sizeof(Cell)));
    cells.bytes = reinterpret_cast<Cell *>(mapped(limit * sizeof(Cell)));
    cells.limit = cells.words && cells.bytes ? limit : 0;
    return cells.limit > 0;
}

// Prepares the machine for a run.
static bool is_prepared(Machine &machine, const Launch &launch, const Buffer *buffers, uint32_t count) {
    if (!machine.device && !(machine.device = mapped(BINDINGS * SPAN, PROT_NONE))) return false;
    for (; machine.seat_count < launch.resident; machine.seat_count++) {
        Seat &seat = machine.seats[machine.seat_count];
        seat.arena = mapped(ARENA);
        seat.stacks = mapped(uint64_t(STACK) * MAX_THREADS);
        if (!seat.arena || !seat.stacks || !mapped_cells(seat.cells, ARENA)) return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *start = machine.device + i * SPAN + SPAN / 2;
        uint64_t length = buffers[i].length;
        if (length > machine.committed[i]) {
            if (mprotect(start, length, PROT_READ | PROT_WRITE) != 0) return false;
            machine.committed[i] = length;
        }
        if (length > 0 && !mapped_cells(machine.cells[i], length)) return false;
        run.lengths[i] = length;
        run.buffers[i] = start;
        for (uint64_t b = 0; b < length; b++) start[b] = buffers[i].bytes[b];
    }
    return true;
}

} // namespace msl

using namespace msl;

extern "C" {

void *msl_threadgroup(uint32_t id, const char *name, uint64_t bytes) {
    Variable &variable = run.variables[id];
    if (variable.bytes == 0) {
        run.variable_bytes += uint32_t((bytes + 15) & ~uint64_t(15));
        const uint32_t memory = run.launch.memory;
        if (bytes > memory || run.variable_bytes > memory || run.arena_top + bytes + GAP > ARENA) {
            fail(TOO_MUCH_MEMORY, 0, __builtin_return_address(0), "declares `%s`, with which there are %u bytes of threadgroup memory, of %u", name,
                 run.variable_bytes, memory);
        }
        variable = {run.arena_top, uint32_t(bytes), name};
        for (uint64_t at = 0; at < bytes; at += 16) run.owner[(run.arena_top + at) / 16] = uint8_t(id + 1);
        run.arena_top += uint32_t((bytes + GAP + 127) & ~uint64_t(127));
        for (uint32_t i = 0; i < run.launch.resident; i++) spoil(run.machine->seats[i], variable.offset, run.arena_top);
    }
    return run.fiber->group->seat->arena + variable.offset;
}

void msl_barrier(uint32_t flags, uint32_t line) {
    Fiber &fiber = *run.fiber;
    Group &group = *fiber.group;
    step(line, nullptr);
    if (group.at_barrier > 0 && group.barrier_line != line) {
        fail(DIVERGED, line, nullptr, "is at this barrier, but another thread is at that of line %u", group.barrier_line);
    }
    group.at_barrier++;
    group.barrier_line = line;
    group.barrier_flags = flags;
    fiber.state = AT_BARRIER;
    suspend(fiber);
}

Exchanged msl_simd(const Slot *mine, Simd what, uint32_t flags, uint32_t line) {
    Fiber &fiber = *run.fiber;
    Simdgroup &simdgroup = fiber.group->simdgroups[fiber.thread.simdgroup];
    uint32_t lane = fiber.thread.lane, site = line << 8 | what, parity = ++fiber.exchanges & 1;
    step(line, nullptr);
    if (simdgroup.arrived > 0 && simdgroup.site != site) {
        fail(DIVERGED, line, nullptr, "is at this simdgroup operation, but another lane is at that of line %u", simdgroup.site >> 8);
    }
    simdgroup.arrived++;
    simdgroup.site = site;
    simdgroup.flags = flags;
    simdgroup.slots[parity][lane] = *mine;
    simdgroup.votes[parity] |= (mine->words[0] & 1) << lane;
    run.counts.simd_operations++;
    fiber.state = AT_SIMD;
    suspend(fiber);
    return {simdgroup.slots[parity], simdgroup.votes[parity], lane};
}

// A point at which the scheduler may switch to another thread.
static void preempt() {
    if (run.launch.preempt && random(run.launch.preempt) == 0) suspend(*run.fiber);
}

uint32_t msl_atomic(volatile uint32_t *word, Atomic what, uint32_t operand, uint32_t line) {
    preempt();
    touch(word, 4, what == LOAD ? ATOMIC_READ : what == STORE ? ATOMIC_WRITE : ATOMIC_UPDATE, line, nullptr);
    uint32_t old = *word;
    switch (what) {
    case LOAD: break;
    case STORE:
    case EXCHANGE: *word = operand; break;
    case ADD: *word = old + operand; break;
    case SUB: *word = old - operand; break;
    case MIN: *word = operand < old ? operand : old; break;
    case MAX: *word = operand > old ? operand : old; break;
    case AND: *word = old & operand; break;
    case OR: *word = old | operand; break;
    case XOR: *word = old ^ operand; break;
    }
    return old;
}

bool msl_compare_exchange(volatile uint32_t *word, uint32_t *expected, uint32_t desired, uint32_t line) {
    // A weak exchange may fail spuriously.
    bool fails = run.launch.preempt && random(8) == 0;
    uint32_t old = msl_atomic(word, LOAD, 0, line);
    bool same = !fails && old == *expected;
    if (same) {
        touch(word, 4, ATOMIC_WRITE, line, nullptr);
        *word = desired;
    }
    *expected = old;
    return same;
}

void msl_fence() {
    run.fenced = true;
    preempt();
}

void msl_no_such_lane(uint32_t lane, uint32_t line) { fail(NO_SUCH_LANE, line, nullptr, "asks for the value of lane %u", lane); }

__attribute__((visibility("default"))) Machine *msl_machine() { return new Machine(); }

// Returns when all threads have ended, or at the first fault.
__attribute__((visibility("default"))) void msl_run(Machine *machine, const Launch *launch, const Buffer *buffers, uint32_t count,
                                                    Report *report) {
    run = Run{};
    run.machine = machine;
    run.report = report;
    run.launch = *launch;
    run.random = (launch->seed + 1) * 0x9e3779b97f4a7c15 | 1;
    run.number = ++machine->runs;
    run.first_group = machine->groups + 1;
    if (!is_prepared(*machine, *launch, buffers, count)) {
        report->fault = NO_MEMORY;
        snprintf(report->text, sizeof report->text, "the system gives no memory");
        return;
    }
    schedule();
    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t b = 0; b < buffers[i].length; b++) buffers[i].bytes[b] = static_cast<uint8_t *>(run.buffers[i])[b];
    }
    report->counts = run.counts;
}
}
