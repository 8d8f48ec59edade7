/* SPDX-License-Identifier: Apache-2.0 */
/* The first instructions of a function make room for a jump:
 *
 *     function:   jmp near ------------> near:  r11 = behind         a wrapper may serve functions of several
 *                                               ll_entered = r11     libraries; this tells it which one to
 *                                               jmp wrapper          call
 *     function+n: ...  <------- jmp      behind: the n bytes that stood there
 *
 * Only where what is moved does not depend on its place, or its distances can be corrected; where nothing in
 * the function jumps into the moved bytes; and where memory is free within the reach of a jump (2 GiB).
 * Between functions r11 belongs to nobody (System V ABI, x86-64, 3.2.1). */
#define _GNU_SOURCE
#include "tracer/interpose/patch/patch.h"

#include "tracer/interpose/patch/instruction.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

__thread void *ll_entered;

#if defined(__x86_64__)

enum {
    JUMP_BYTES = 5,    /* e9 and a distance */
    MOST_MOVED = 40,   /* four bytes and one instruction, short jumps lengthened */
    SHORT_REACH = 160, /* a short jump from farther away cannot reach the first bytes */
    POOL_BYTES = 1 << 16,
    MOST_ENTRIES = 4096,
    PAGE_BYTES = 4096
};

/* One patched function's code, near it. */
struct bridge {
    uint8_t behind[MOST_MOVED + 16];
    uint8_t near[48];
};

static struct entry {
    uint8_t *function;
    struct bridge *bridge;
    uint8_t jump[JUMP_BYTES]; /* gone when another library was loaded at the same place */
} entries[MOST_ENTRIES];
static _Atomic uint32_t entry_count;
static struct bridge *pool, *pool_end;

static bool is_near(const void *from, const void *to)
{
    intptr_t distance = (intptr_t)((uintptr_t)to - (uintptr_t)from);
    return distance > INT32_MIN + (1 << 20) && distance < INT32_MAX - (1 << 20);
}

/* Looks for free memory, farther and farther away from the function. */
static bool find_pool(uint8_t *function)
{
    if (pool && pool < pool_end && is_near(function, pool))
        return true;
    uintptr_t at = (uintptr_t)function & ~(uintptr_t)(POOL_BYTES - 1);
    for (intptr_t step = 1 << 20; step < (INT32_MAX >> 1); step *= 2) {
        for (int sign = -1; sign <= 1; sign += 2) {
            void *hint = (void *)(at + (uintptr_t)(sign * step));
            void *memory = mmap(hint, POOL_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED)
                return false;
            pool = memory;
            pool_end = pool + POOL_BYTES / sizeof *pool;
            if (is_near(function, memory))
                return true;
            munmap(memory, POOL_BYTES);
            pool = pool_end = NULL;
        }
    }
    return false;
}

static uint8_t *put(uint8_t *to, const void *bytes, size_t count)
{
    memcpy(to, bytes, count);
    return to + count;
}

/* jmp *0(%rip), and the address. */
static uint8_t *put_far_jump(uint8_t *to, const void *target)
{
    to = put(to, (const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}, 6);
    return put(to, &target, sizeof target);
}

/* Moves whole instructions until there is room for the jump. Of `taken` bytes `placed` became, which differ
 * where short jumps were among them. */
static bool move_beginning(const uint8_t *function, uint64_t size_bytes, uint8_t *to, size_t *taken,
                           size_t *placed)
{
    for (*taken = *placed = 0; *taken < JUMP_BYTES;) {
        struct ll_instruction instruction;
        if (!ll_read_instruction(function + *taken, size_bytes - *taken, &instruction))
            return false;
        uint8_t *place = to + *placed;
        size_t bytes = ll_move_instruction(place, (uintptr_t)place, function + *taken,
                                           (uintptr_t)(function + *taken), &instruction);
        if (bytes == 0)
            return false;
        *taken += instruction.bytes;
        *placed += bytes;
    }
    return true;
}

static bool within(const uint8_t *target, const uint8_t *function, size_t moved)
{
    return target > function && target < function + moved;
}

/* Whether a jump of four bytes could begin at any byte from here on that leads into the moved ones. */
static bool far_jump_leads_back(const uint8_t *function, uint64_t size_bytes, size_t moved)
{
    for (uint64_t at = moved; at + 4 < size_bytes; at++) {
        int32_t distance;
        memcpy(&distance, function + at + 1, sizeof distance);
        if (within(function + at + 5 + distance, function, moved))
            return true;
    }
    return false;
}

/* The same for short ones, instruction by instruction; what cannot be read is taken to lead back. */
static bool short_jump_leads_back(const uint8_t *function, uint64_t size_bytes, size_t moved)
{
    struct ll_instruction instruction;
    for (uint64_t at = 0; at < size_bytes && at < SHORT_REACH; at += instruction.bytes) {
        if (!ll_read_instruction(function + at, size_bytes - at, &instruction))
            return true;
        int32_t distance = instruction.jumps ? ll_instruction_distance(function + at, &instruction) : 0;
        if (instruction.jumps && within(function + at + instruction.bytes + distance, function, moved))
            return true;
    }
    return false;
}

static bool write_jump(uint8_t *function, const uint8_t jump[JUMP_BYTES])
{
    uintptr_t page = (uintptr_t)function & ~(uintptr_t)(PAGE_BYTES - 1);
    size_t bytes = (uintptr_t)function + JUMP_BYTES - page;
    if (mprotect((void *)page, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(function, jump, JUMP_BYTES);
    mprotect((void *)page, bytes, PROT_READ | PROT_EXEC);
    return true;
}

/* Where ll_entered lies, seen from a thread's own pointer: the same in all threads. */
static int32_t entered_offset(void)
{
    return (int32_t)((intptr_t)&ll_entered - (intptr_t)__builtin_thread_pointer());
}

static void build_near(struct bridge *bridge, const void *wrapper)
{
    const void *behind = bridge->behind;
    int32_t offset = entered_offset();
    uint8_t *at = put(bridge->near, (const uint8_t[]){0x49, 0xbb}, 2); /* movabs $behind,%r11 */
    at = put(at, &behind, sizeof behind);
    at = put(at, (const uint8_t[]){0x64, 0x4c, 0x89, 0x1c, 0x25}, 5); /* mov %r11,%fs:offset */
    at = put(at, &offset, sizeof offset);
    put_far_jump(at, wrapper);
}

static struct entry *find_entry(const void *function)
{
    uint32_t count = atomic_load_explicit(&entry_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].function == function && memcmp(function, entries[i].jump, JUMP_BYTES) == 0)
            return &entries[i];
    return NULL;
}

/* Of a function that lay at the same address in a library that was closed: its bridge may be built anew. */
static struct entry *find_stale(const void *function)
{
    uint32_t count = atomic_load_explicit(&entry_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].function == function)
            return &entries[i];
    return NULL;
}

bool ll_entry_patch(void *address, uint64_t size_bytes, void *wrapper)
{
    uint8_t *function = address;
    uint32_t count = atomic_load_explicit(&entry_count, memory_order_relaxed);
    if (find_entry(function))
        return true;
    struct entry *entry = find_stale(function);
    if (!entry && (count == MOST_ENTRIES || !find_pool(function)))
        return false;
    struct bridge *bridge = entry ? entry->bridge : pool;
    size_t moved, placed;
    if (!move_beginning(function, size_bytes, bridge->behind, &moved, &placed) ||
        far_jump_leads_back(function, size_bytes, moved) ||
        short_jump_leads_back(function, size_bytes, moved))
        return false;
    put_far_jump(bridge->behind + placed, function + moved);
    build_near(bridge, wrapper);
    int32_t distance = (int32_t)(bridge->near - (function + JUMP_BYTES));
    bool is_new = !entry;
    entry = entry ? entry : &entries[count];
    *entry = (struct entry){.function = function, .bridge = bridge, .jump = {0xe9}};
    memcpy(entry->jump + 1, &distance, sizeof distance);
    if (!write_jump(function, entry->jump))
        return false;
    pool += is_new;
    atomic_store_explicit(&entry_count, count + is_new, memory_order_release);
    return true;
}

void *ll_entry_behind(void *function)
{
    struct entry *entry = find_entry(function);
    return entry ? (void *)entry->bridge->behind : function;
}

const void *ll_entry_origin(const void *behind)
{
    uint32_t count = atomic_load_explicit(&entry_count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++)
        if (entries[i].bridge->behind == behind)
            return entries[i].function;
    return behind;
}

#else

/* Other machines' instructions are not known here. */
bool ll_entry_patch(void *function, uint64_t size_bytes, void *wrapper)
{
    (void)function, (void)size_bytes, (void)wrapper;
    return false;
}

void *ll_entry_behind(void *function)
{
    return function;
}

const void *ll_entry_origin(const void *behind)
{
    return behind;
}

#endif
