/* SPDX-License-Identifier: Apache-2.0 */
/* Which build of a program or library ran: the build id that linkers write into it. The only file that knows
 * libelf. Whatever an ELF file holds, the worst that happens is that it has no build id. Thread-safe. */
#ifndef LL_TRACER_ELF_H
#define LL_TRACER_ELF_H

#include "tracer/facts.h"

/* The build id in hexadecimal, in the arena; NULL when the file cannot be read, is no ELF file or has none,
 * or memory ran out. */
const char *ll_elf_build_id(struct ll_arena *arena, const char *path);

/* The same for a file in memory. */
const char *ll_elf_build_id_of(struct ll_arena *arena, const void *bytes, size_t size);

/* Adds library.NAME = build id for each shared library that is loaded now, in the order of loading, and
 * program.build_id for the program itself. What has no build id is left out. */
void ll_library_facts(struct ll_facts *facts);

#endif
