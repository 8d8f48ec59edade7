/* SPDX-License-Identifier: Apache-2.0 */
/* Where a call came from: an address of a process that may be gone, told as library, build, symbol and line.
 *
 * Only the files that were loaded are read, never the process. Symbols are those of the dynamic symbol table,
 * of .symtab, and of debug information that lies in the file or where the system keeps such files; without
 * any of them library, build id and offset still say which instruction it was. What was found for an address
 * is kept, so that asking again costs a search among addresses. One thread at a time. */
#ifndef LL_BINARY_CALLSITE_H
#define LL_BINARY_CALLSITE_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

/* What was loaded: the file, and what its addresses were moved by (dlpi_addr; 0 for a program at its place).
 */
struct ll_module {
    const char *path;
    uint64_t bias;
};

/* What cannot be found is NULL or 0. All text lives as long as the struct ll_callsites. */
struct ll_callsite {
    const char *library;  /* path of the file, as the module has it; NULL: code of no file */
    const char *build_id; /* in hexadecimal */
    uint64_t offset;      /* of the address in the file's own addresses; the address itself without library */
    const char *symbol;   /* the function, the nearest symbol below the address */
    uint64_t symbol_offset; /* from where the symbol begins */
    const char *file;       /* of the source */
    uint32_t line;
};

struct ll_callsites;

/* Ready to answer for these modules, which are copied. They are those of one moment: where two overlap,
 * either may answer. One whose file cannot be read is left out. LL_NO_MEMORY. The owner ends it with
 * ll_callsites_release. */
enum ll_status ll_callsites_open(const struct ll_module *modules, size_t count, struct ll_callsites **sites);

/* The site that a call returns to `address`; symbol and line are those of the instruction before it. NULL
 * when memory ran out. */
const struct ll_callsite *ll_callsite_find(struct ll_callsites *sites, uint64_t address);

/* "libtorch_cpu.so+0x108edf0", with symbol "liblapack.so.3:dlabrd_+0x282", with lines "a.out:main at
 * gemm.c:12", the address alone without library. In the arena; NULL when memory ran out. */
const char *ll_callsite_text(struct ll_arena *arena, const struct ll_callsite *site);

/* With all answers. NULL is fine. */
void ll_callsites_release(struct ll_callsites *sites);

#endif
