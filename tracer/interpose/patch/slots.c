/* SPDX-License-Identifier: Apache-2.0 */
/* Each library keeps the addresses of what it calls in slots, which the loader fills and its relocations
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
#include "tracer/interpose/patch/patch.h"

#include "tracer/interpose/preload/api.h"
#include "tracer/interpose/preload/loaded.h"
#include "tracer/interpose/preload/preload.h"

#include <stdatomic.h>
#include <sys/mman.h>

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
    const struct ll_patch_target *wanted;
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

void ll_interpose_bound(const char *name, const void *library, void *real)
{
    struct bound bound = {ll_patch_target_find(name), (uintptr_t)library, real};
    if (bound.wanted && bound.wanted->symbol != LL_PATCH_OTHER)
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
    const struct ll_patch_target *wanted = ll_patch_target_find(library->strings + symbol->st_name);
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
    if (wanted->symbol != LL_PATCH_OTHER && !unbound)
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

void ll_slots_unbind(const struct ll_loaded *library)
{
    unbind_table(library, library->calls, library->call_count);
    unbind_table(library, library->relocations, library->relocation_count);
}

void ll_slots_patch(const struct ll_loaded *library)
{
    patch_table(library, library->calls, library->call_count);
    patch_table(library, library->relocations, library->relocation_count);
}
