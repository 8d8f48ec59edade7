/* SPDX-License-Identifier: Apache-2.0 */
/* Where standing first in the search for symbols is not enough, in this order: slots that hold addresses are
 * rewritten, entries of routines become jumps, dlsym gets answers of ours, and libraries are scanned for all
 * of these when they are loaded.
 *
 * Each library keeps the addresses of what it calls in slots, which the loader fills and its relocations
 * name. A slot that holds the address of a routine gets that of our wrapper instead; what it held is
 * remembered, as the wrapper must call just that: another library may have had another routine of the same
 * name in view.
 *
 * A slot that the loader would fill at the first call still leads into the library itself; then the wrapper
 * finds the real function as it does without slots.
 *
 * A slot within data is a variable of the program, which may have put something else there since: it is
 * rewritten only while it holds a function of that name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/interpose/patch/instruction.h"
#include "tracer/interpose/preload/loaded.h"
#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/ring.h"

/* What is looked for in libraries, and what is to be called instead. */
struct target {
    const char *name;
    void *wrapper;
    uint32_t symbol; /* OTHER: no routine of symbols.def */
};
#define OTHER UINT32_MAX

#if defined(__x86_64__)
enum { CALL = R_X86_64_JUMP_SLOT, ADDRESS = R_X86_64_GLOB_DAT, DATA = R_X86_64_64 };
#elif defined(__aarch64__)
enum { CALL = R_AARCH64_JUMP_SLOT, ADDRESS = R_AARCH64_GLOB_DAT, DATA = R_AARCH64_ABS64 };
#else
enum { CALL = -1, ADDRESS = -1, DATA = -1 };
#endif

enum { MOST_KNOWN = 16384, PAGE_BYTES = 4096 };

/* What the slots of a library held. */
static struct known {
    uintptr_t begin, end; /* of the library */
    uint32_t symbol;
    void *real;
} known[MOST_KNOWN];
static _Atomic uint32_t known_count;

static void remember(const struct ll_loaded *library, uint32_t symbol, void *real)
{
    uint32_t count = atomic_load_explicit(&known_count, memory_order_relaxed);
    if (count == MOST_KNOWN)
        return;
    known[count] = (struct known){library->begin, library->end, symbol, real};
    atomic_store_explicit(&known_count, count + 1, memory_order_release);
}

/* A library that was just given a wrapper by the audit interface. */
struct bound {
    const struct target *wanted;
    uintptr_t within;
    void *real;
};

static int note_bound(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct bound *bound = context;
    struct ll_loaded library;
    (void)size;
    ll_loaded_read(&library, info);
    if (bound->within < library.begin || bound->within >= library.end)
        return 0;
    remember(&library, bound->wanted->symbol, bound->real);
    return 1;
}

static const struct target *patch_target_find(const char *name);

void ll_interpose_bound(const char *name, const void *library, void *real)
{
    struct bound bound = {patch_target_find(name), (uintptr_t)library, real};
    if (bound.wanted && bound.wanted->symbol != OTHER)
        dl_iterate_phdr(note_bound, &bound);
}

/* The latest is the true one: an older one may be of a library that was closed. */
void *ll_slot_real(uint32_t symbol, const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    for (uint32_t i = atomic_load_explicit(&known_count, memory_order_acquire); i > 0; i--)
        if (known[i - 1].symbol == symbol && at >= known[i - 1].begin && at < known[i - 1].end)
            return known[i - 1].real;
    return NULL;
}

/* Slots that the loader has sealed are opened for a moment. */
static bool write_slot(const struct ll_loaded *library, void **slot, void *value)
{
    uintptr_t page = (uintptr_t)slot & ~(uintptr_t)(PAGE_BYTES - 1);
    bool sealed = (uintptr_t)slot >= library->sealed_begin && (uintptr_t)slot < library->sealed_end;
    if (sealed && mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (sealed)
        mprotect((void *)page, PAGE_BYTES, PROT_READ);
    return true;
}

/* Whether some library defines the function of this name at that address. */
struct definition {
    const char *name;
    uintptr_t address;
    bool found;
};

static int look_for_definition(struct dl_phdr_info *info, size_t size, void *context)
{
    struct definition *definition = context;
    struct ll_loaded library;
    (void)size;
    ll_loaded_read(&library, info);
    if (definition->address < library.begin || definition->address >= library.end)
        return 0;
    const ElfW(Sym) *symbol = ll_loaded_find(&library, definition->name);
    definition->found = symbol && library.base + symbol->st_value == definition->address;
    return 1;
}

static bool is_function(const char *name, const void *address)
{
    struct definition definition = {name, (uintptr_t)address, false};
    dl_iterate_phdr(look_for_definition, &definition);
    return definition.found;
}

static void patch_slot(const struct ll_loaded *library, const ElfW(Rela) * relocation)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(relocation->r_info);
    if ((type != CALL && type != ADDRESS && type != DATA) || (type == DATA && relocation->r_addend))
        return;
    const ElfW(Sym) *symbol = &library->symbols[ELF64_R_SYM(relocation->r_info)];
    const struct target *wanted = patch_target_find(library->strings + symbol->st_name);
    if (!wanted)
        return;
    void **slot = (void **)(library->base + relocation->r_offset), *held = *slot;
    uintptr_t own = symbol->st_shndx == SHN_UNDEF ? 0 : library->base + symbol->st_value;
    bool unbound =
        (uintptr_t)held >= library->begin && (uintptr_t)held < library->end && (uintptr_t)held != own;
    if (type == DATA && !is_function(wanted->name, held))
        return;
    if (!held || held == wanted->wrapper || !write_slot(library, slot, wanted->wrapper))
        return;
    if (wanted->symbol != OTHER && !unbound)
        remember(library, wanted->symbol, held);
}

static void patch_table(const struct ll_loaded *library, const ElfW(Rela) * relocations, size_t count)
{
    for (size_t i = 0; relocations && i < count; i++)
        patch_slot(library, &relocations[i]);
}

/* Asked for weakly and found nowhere but here. */
static bool is_ours_alone(const struct ll_loaded *library, const ElfW(Sym) * symbol, void *held)
{
    if (symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_WEAK || !ll_is_ours(held))
        return false;
    const char *name = library->strings + symbol->st_name;
    return held == ll_interpose_wrapper(name) && !ll_module_has(name);
}

static void unbind_table(const struct ll_loaded *library, const ElfW(Rela) * relocations, size_t count)
{
    for (size_t i = 0; relocations && i < count; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(relocations[i].r_info);
        void **slot = (void **)(library->base + relocations[i].r_offset);
        if ((type == CALL || type == ADDRESS || (type == DATA && !relocations[i].r_addend)) &&
            is_ours_alone(library, &library->symbols[ELF64_R_SYM(relocations[i].r_info)], *slot))
            write_slot(library, slot, NULL);
    }
}

/* The same: makes NULL again what the library asked for weakly and would not have found without us, so that
 * it takes the other way that it has for that. */
static void slots_unbind(const struct ll_loaded *library)
{
    unbind_table(library, library->calls, library->call_count);
    unbind_table(library, library->relocations, library->relocation_count);
}

/* slots.c: makes all slots of the library that hold the address of a wanted function hold its wrapper's.
 * Slots that cannot be written stay. */
static void slots_patch(const struct ll_loaded *library)
{
    patch_table(library, library->calls, library->call_count);
    patch_table(library, library->relocations, library->relocation_count);
}

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

__thread void *ll_entered;

#if defined(__x86_64__)

enum {
    JUMP_BYTES = 5,    /* e9 and a distance */
    MOST_MOVED = 40,   /* four bytes and one instruction, short jumps lengthened */
    SHORT_REACH = 160, /* a short jump from farther away cannot reach the first bytes */
    POOL_BYTES = 1 << 16,
    MOST_ENTRIES = 4096
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

/* From now on calls of the function reach the wrapper, with the function's beginning in ll_entered.
 * False when its first instructions cannot be moved, or when there is no memory near it. Not for two threads
 * at a time. */
static bool entry_patch(void *address, uint64_t size_bytes, void *wrapper)
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
static bool entry_patch(void *function, uint64_t size_bytes, void *wrapper)
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

/* Pointers that dlsym and dlvsym give: a program that asks for a routine gets a piece of code that jumps to
 * the wrapper, and tells it, as a patched entry does, which function it stands for (ll_entered). Two
 * libraries that export the same name have two such pieces.
 *
 *     piece i:   i -> register       common:   ll_entered = pieces[i].real
 *                jmp common                    jmp pieces[i].wrapper
 *
 * What dlsym answers depends on who asks (RTLD_NEXT, RTLD_DEFAULT). Our dlsym is therefore written so that
 * the real one, where it is to answer, finds the caller's return address where it expects it. Registers r10
 * and r11 belong to nobody between functions (System V ABI, x86-64, 3.2.1), nor do x9 to x17 (AAPCS64,
 * 6.1.1). */

#define PIECES 4096
#define PIECE_BYTES 16
#define MOST_TRIES 100000000
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define HIDDEN __attribute__((visibility("hidden")))

struct piece {
    _Atomic(void *) real; /* written last; NULL: free */
    void *wrapper;
};

HIDDEN struct piece ll_pieces[PIECES];
extern const char ll_piece_code[] HIDDEN;

static void *no_answer(void *handle, const char *name, const char *version)
{
    (void)handle, (void)name, (void)version;
    return NULL;
}

/* As dlsym and dlvsym. */
typedef void *answer(void *handle, const char *name, const char *version);
HIDDEN answer *ll_real_dlsym = no_answer, *ll_real_dlvsym = no_answer;
HIDDEN void *ll_pointer_for(void *handle, const char *name, const char *version, void *caller);

/* Both ask ll_pointer_for(handle, name, version, caller), and where it has no answer jump on. */
#if defined(__x86_64__)
#define ASKING(name, version, real)                                                                          \
    ".globl " name "\n.type " name ", @function\n" name                                                      \
    ":\n endbr64\n push %rdi\n push %rsi\n push %rdx\n " version                                             \
    "mov 24(%rsp), %rcx\n call ll_pointer_for\n pop %rdx\n pop %rsi\n pop %rdi\n"                            \
    " test %rax, %rax\n jz 1f\n ret\n1: jmp *" real "(%rip)\n.size " name ", . - " name "\n"
__asm__(".text\n" ASKING("dlsym", "xor %edx, %edx\n ", "ll_real_dlsym") ASKING(
    "dlvsym", "",
    "ll_real_dlvsym") ".balign 16\n.hidden ll_piece_code\n.globl ll_piece_code\nll_piece_code:\n"
                      ".set piece, 0\n"
                      ".rept " TEXT(
                          PIECES) "\n"
                                  ".balign " TEXT(
                                      PIECE_BYTES) "\n"
                                                   " endbr64\n mov $piece, %r11d\n jmp common_piece\n"
                                                   ".set piece, piece + 1\n"
                                                   ".endr\n"
                                                   "common_piece:\n"
                                                   " lea ll_pieces(%rip), %r10\n shl $4, %r11\n add %r11, "
                                                   "%r10\n mov (%r10), %r11\n"
                                                   " push %rax\n mov ll_entered@gottpoff(%rip), %rax\n mov "
                                                   "%r11, %fs:(%rax)\n pop %rax\n"
                                                   " jmp *8(%r10)\n");
#elif defined(__aarch64__)
#define ASKING(name, version, real)                                                                          \
    ".globl " name "\n.type " name ", %function\n" name ":\n stp x0, x1, [sp, #-32]!\n"                      \
    " stp x2, x30, [sp, #16]\n " version "mov x3, x30\n bl ll_pointer_for\n mov x9, x0\n"                    \
    " ldp x2, x30, [sp, #16]\n ldp x0, x1, [sp], #32\n cbz x9, 1f\n mov x0, x9\n ret\n"                      \
    "1: adrp x16, " real "\n ldr x16, [x16, :lo12:" real "]\n br x16\n.size " name ", . - " name "\n"
__asm__(".text\n" ASKING("dlsym", "mov x2, #0\n ", "ll_real_dlsym") ASKING(
    "dlvsym", "",
    "ll_real_dlvsym") ".balign 16\n.hidden ll_piece_code\n.globl ll_piece_code\nll_piece_code:\n"
                      ".set piece, 0\n"
                      ".rept " TEXT(
                          PIECES) "\n"
                                  ".balign " TEXT(
                                      PIECE_BYTES) "\n"
                                                   " mov w16, #piece\n b common_piece\n"
                                                   ".set piece, piece + 1\n"
                                                   ".endr\n"
                                                   "common_piece:\n"
                                                   " adrp x17, ll_pieces\n add x17, x17, :lo12:ll_pieces\n "
                                                   "add x17, x17, x16, lsl #4\n ldr x9, [x17]\n"
                                                   " mrs x10, tpidr_el0\n adrp x11, :gottprel:ll_entered\n "
                                                   "ldr x11, [x11, :gottprel_lo12:ll_entered]\n"
                                                   " str x9, [x10, x11]\n ldr x16, [x17, #8]\n br x16\n");
#endif

/* One at a time, as dlsym itself takes the loader's lock. A child of a fork amid this gets no new pieces. */
static void *piece_for(void *real, void *wrapper)
{
    static _Atomic uint32_t count;
    static _Atomic bool busy;
    uint32_t made = atomic_load_explicit(&count, memory_order_acquire), at = 0;
    while (at < made && (atomic_load(&ll_pieces[at].real) != real || ll_pieces[at].wrapper != wrapper))
        at++;
    if (at < made)
        return (void *)(uintptr_t)(ll_piece_code + (size_t)at * PIECE_BYTES);
    for (int tries = 0; atomic_exchange(&busy, true); tries++)
        if (tries == MOST_TRIES)
            return NULL;
    at = atomic_load(&count);
    if (at < PIECES) {
        ll_pieces[at].wrapper = wrapper;
        atomic_store(&ll_pieces[at].real, real);
        atomic_store_explicit(&count, at + 1, memory_order_release);
    }
    atomic_store(&busy, false);
    return at < PIECES ? (void *)(uintptr_t)(ll_piece_code + (size_t)at * PIECE_BYTES) : NULL;
}

static void find_real(void)
{
    static _Atomic bool found;
    if (atomic_load_explicit(&found, memory_order_acquire))
        return;
    void *plain = ll_module_symbol_anywhere("dlsym"), *versioned = ll_module_symbol_anywhere("dlvsym");
    if (plain)
        memcpy(&ll_real_dlsym, &plain, sizeof plain);
    if (versioned)
        memcpy(&ll_real_dlvsym, &versioned, sizeof versioned);
    atomic_store_explicit(&found, true, memory_order_release);
}

/* RTLD_DEFAULT finds the wrapper itself. What an entry was patched of is seen as it is. */
void *ll_pointer_for(void *handle, const char *name, const char *version, void *caller)
{
    int error = errno;
    find_real();
    const struct target *wanted =
        name && handle != RTLD_DEFAULT && ll_process_control() && !ll_is_ours(caller)
            ? patch_target_find(name)
            : NULL;
    void *real = NULL;
    if (wanted && wanted->symbol != OTHER) {
        if (handle == RTLD_NEXT)
            real = ll_module_symbol_behind(name, caller);
        else
            real = version ? ll_real_dlvsym(handle, name, version) : ll_real_dlsym(handle, name, NULL);
    }
    if (real && (ll_is_ours(real) || ll_entry_behind(real) != real))
        real = NULL;
    void *pointer = real ? piece_for(real, wanted->wrapper) : NULL;
    errno = error;
    return pointer;
}

/* Which libraries are patched, and when: all that are there before main, and what dlopen brings, before it
 * returns. Whatever the mechanism, those that are there before main get back what they asked for weakly in
 * vain. The loader calls no one when it has loaded something, so dlopen's own slots are rewritten too.
 *
 * dlopen looks for libraries where its caller wants them (RPATH, RUNPATH), and would take us for the caller.
 * What is not loaded already is therefore searched in the caller's folders first, as the loader does. */

enum { WANTED_SLOTS = 8192, MOST_DONE = 4096, PATH_BYTES = 4096, LINE_BYTES = 8192 };

static struct target routines[] = {
#define LL_SYMBOL(name, ...) {#name, NULL, LL_SYMBOL_##name},
#include "tracer/interpose/symbols.def"
};

static const struct target *wanted[WANTED_SLOTS]; /* by hash; at least half of it stays free */
_Static_assert(2 * sizeof routines / sizeof routines[0] < WANTED_SLOTS, "more slots are needed");
static bool with_entries;

static void *open_library(const char *name, int flags);
static const struct target opener = {"dlopen", (void *)(uintptr_t)open_library, OTHER};

static uint32_t slot_of(const char *name)
{
    return ll_digest(name, strlen(name)) % WANTED_SLOTS;
}

static void want(const struct target *it)
{
    uint32_t at = slot_of(it->name);
    while (wanted[at])
        at = (at + 1) % WANTED_SLOTS;
    wanted[at] = it;
}

/* scan.c: what stands for this name, NULL when nothing does. */
static const struct target *patch_target_find(const char *name)
{
    uint32_t at = slot_of(name);
    while (wanted[at] && strcmp(wanted[at]->name, name) != 0)
        at = (at + 1) % WANTED_SLOTS;
    return wanted[at];
}

static void patch_exports(const struct ll_loaded *library)
{
    for (size_t i = 0; i < sizeof routines / sizeof routines[0]; i++) {
        const ElfW(Sym) *symbol = ll_loaded_find(library, routines[i].name);
        if (symbol)
            entry_patch((void *)(library->base + symbol->st_value), symbol->st_size, routines[i].wrapper);
    }
}

/* Libraries that were patched, by their dynamic sections; all are forgotten when one was closed, as another
 * may lie in its place. */
static const void *done[MOST_DONE];
static size_t done_count;

static bool is_done(const struct dl_phdr_info *info, const void *dynamic)
{
    static unsigned long long closed;
    if (info->dlpi_subs != closed)
        done_count = 0;
    closed = info->dlpi_subs;
    for (size_t i = 0; i < done_count; i++)
        if (done[i] == dynamic)
            return true;
    if (done_count < MOST_DONE)
        done[done_count++] = dynamic;
    return false;
}

/* Whether it has tables that concern us. */
static bool binds(const struct ll_loaded *library)
{
    return library->dynamic && library->symbols && library->strings && !ll_is_ours(library->dynamic);
}

static int unbind_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct ll_loaded library;
    (void)size, (void)context;
    ll_loaded_read(&library, info);
    if (binds(&library))
        slots_unbind(&library);
    return 0;
}

/* The loader's lock is held. */
static int patch_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct ll_loaded library;
    (void)size, (void)context;
    ll_loaded_read(&library, info);
    if (is_done(info, library.dynamic) || !binds(&library))
        return 0;
    slots_unbind(&library);
    slots_patch(&library);
    if (with_entries)
        patch_exports(&library);
    return 0;
}

/* One at a time; a thread that comes meanwhile waits, as dlopen itself makes it wait. */
static void patch_all(void)
{
    int error = errno;
    dl_iterate_phdr(patch_library, NULL);
    errno = error;
}

/* The folder of a library, into a text of PATH_BYTES. */
static bool copy_folder(const struct link_map *library, char *to)
{
    if (*library->l_name) {
        const char *slash = strrchr(library->l_name, '/');
        size_t length = slash ? (size_t)(slash - library->l_name) : 0;
        return slash && snprintf(to, PATH_BYTES, "%.*s", (int)length, library->l_name) < PATH_BYTES;
    }
    ssize_t length = readlink("/proc/self/exe", to, PATH_BYTES - 1);
    if (length <= 0)
        return false;
    to[length] = '\0';
    *strrchr(to, '/') = '\0';
    return true;
}

/* How much of a folder's name stands for the folder of its library. */
static size_t origin_bytes(const char *folder)
{
    static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        if (strncmp(folder, tokens[i], strlen(tokens[i])) == 0)
            return strlen(tokens[i]);
    return 0;
}

/* folder/name with $ORIGIN replaced; whether there is such a file. */
static bool is_in(const char *folder, size_t length, const struct link_map *library, const char *name,
                  char *path)
{
    char origin[PATH_BYTES] = "";
    size_t skipped = origin_bytes(folder);
    if (length == 0 || length < skipped || (skipped && !copy_folder(library, origin)))
        return false;
    int bytes =
        snprintf(path, PATH_BYTES, "%s%.*s/%s", origin, (int)(length - skipped), folder + skipped, name);
    return bytes > 0 && bytes < PATH_BYTES && access(path, R_OK) == 0;
}

static bool is_in_one(const char *folders, const struct link_map *library, const char *name, char *path)
{
    while (folders) {
        size_t length = strcspn(folders, ":;");
        if (is_in(folders, length, library, name, path))
            return true;
        folders = folders[length] ? folders + length + 1 : NULL;
    }
    return false;
}

/* The caller's RUNPATH or RPATH, NULL without one. */
static const char *folders_of(const struct link_map *library, bool *is_runpath)
{
    const char *strings = NULL;
    ElfW(Xword) at = 0;
    *is_runpath = false;
    for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = (const char *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !at))
            at = entry->d_un.d_val;
        *is_runpath |= entry->d_tag == DT_RUNPATH;
    }
    return strings && at ? strings + at : NULL;
}

/* LD_LIBRARY_PATH as it was when the loader read it; it stands between RPATH and RUNPATH (ld.so(8)). */
static char library_path[LINE_BYTES];

static bool search_for_caller(const void *caller, const char *name, char *path)
{
    Dl_info info;
    struct link_map *library = NULL;
    bool is_runpath;
    if (!dladdr1(caller, &info, (void **)&library, RTLD_DL_LINKMAP) || !library)
        return false;
    const char *folders = folders_of(library, &is_runpath);
    if (folders && is_runpath && is_in_one(library_path, library, name, path))
        return false;
    return is_in_one(folders, library, name, path);
}

static void *open_library(const char *name, int flags)
{
    char path[PATH_BYTES];
    void *handle = NULL;
    if (name && *name && !strchr(name, '/')) {
        handle = dlopen(name, flags | RTLD_NOLOAD);
        if (!handle)
            dlerror(); /* the failure was ours */
        if (!handle && search_for_caller(__builtin_return_address(0), name, path))
            name = path;
    }
    if (!handle)
        handle = dlopen(name, flags);
    if (handle && !(flags & RTLD_NOLOAD))
        patch_all();
    return handle;
}

/* Functions that only files know. */
struct hidden {
    uint64_t address, size_bytes;
    const struct target *wanted;
    struct stat file;
};

static int patch_hidden(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct hidden *hidden = context;
    struct stat file;
    (void)size;
    if (stat(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", &file) != 0 ||
        file.st_dev != hidden->file.st_dev || file.st_ino != hidden->file.st_ino)
        return 0;
    entry_patch((void *)(info->dlpi_addr + hidden->address), hidden->size_bytes, hidden->wanted->wrapper);
    return 1;
}

/* The lines of LL_ENTRIES_FILE. */
static void patch_listed(const char *folder)
{
    char line[LINE_BYTES], symbol[64], path[PATH_BYTES];
    struct hidden hidden;
    snprintf(path, sizeof path, "%s/" LL_ENTRIES_FILE, folder);
    FILE *lines = fopen(path, "re");
    while (lines && fgets(line, sizeof line, lines)) {
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%63s %" SCNx64 " %" SCNu64 " %n", symbol, &hidden.address, &hidden.size_bytes,
                   &path_at) != 3 ||
            !path_at)
            continue;
        hidden.wanted = patch_target_find(symbol);
        if (hidden.wanted && stat(line + path_at, &hidden.file) == 0)
            dl_iterate_phdr(patch_hidden, &hidden);
    }
    if (lines)
        fclose(lines);
}

__attribute__((constructor)) static void start(void)
{
    const char *mechanism = getenv(LL_MECHANISM_VARIABLE), *folder = getenv(LL_RING_FOLDER_VARIABLE);
    int error = errno;
    dl_iterate_phdr(unbind_library, NULL);
    errno = error;
    if (!folder)
        return;
    for (size_t i = 0; i < sizeof routines / sizeof routines[0]; i++) {
        routines[i].wrapper = ll_wrapper_of(routines[i].symbol);
        want(&routines[i]);
    }
    if (!mechanism)
        return;
    const char *folders = getenv("LD_LIBRARY_PATH");
    size_t bytes = folders ? strlen(folders) + 1 : 0;
    if (bytes <= sizeof library_path)
        memcpy(library_path, folders ? folders : "", bytes);
    want(&opener);
    with_entries = strcmp(mechanism, "entry") == 0;
    if (with_entries || strcmp(mechanism, "patch") == 0)
        patch_all();
    if (with_entries)
        patch_listed(folder);
    errno = error;
}
