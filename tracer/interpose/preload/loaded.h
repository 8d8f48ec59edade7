/* SPDX-License-Identifier: Apache-2.0 */
/* A library of this process as the loader has it: its tables, read in place. Nothing is copied, nothing
 * locked; valid while the library stays loaded. */
#ifndef LL_INTERPOSE_LOADED_H
#define LL_INTERPOSE_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_loaded {
    uintptr_t base, begin, end;          /* what its addresses were moved by; where it lies */
    uintptr_t sealed_begin, sealed_end;  /* what the loader made read-only after filling it */
    const char *path, *soname, *strings; /* strings: the table that names are offsets in */
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;       /* NULL: it has none */
    const uint32_t *gnu_hash, *hash; /* tables by which symbols are found; either may be NULL */
    const ElfW(Rela) * calls, *relocations;
    size_t call_count, relocation_count;
};

/* What the loader tells of one library. */
void ll_loaded_read(struct ll_loaded *loaded, const struct dl_phdr_info *info);

/* What its dynamic section tells, of a library that was moved by `base`; where it lies stays unknown. */
void ll_loaded_read_dynamic(struct ll_loaded *loaded, uintptr_t base, const ElfW(Dyn) * dynamic);

/* The function of this name that the library defines for others, by its hash table; NULL: it has none, or
 * none that is plain code. */
const ElfW(Sym) * ll_loaded_find(const struct ll_loaded *loaded, const char *name);

/* Whether it defines one for others, also one that is picked when it is asked for. */
bool ll_loaded_defines(const struct ll_loaded *loaded, const char *name);

#endif
