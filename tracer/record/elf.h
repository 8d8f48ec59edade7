/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and libraries as plain data: which build it is, what it asks of others, what it offers, and how
 * its calls find their way. Its .c file is the only one that knows libelf.
 *
 * What a loader reads is read here: segments and the dynamic table, not sections, but for .symtab and where
 * data lies. Whatever the file holds, the worst that happens is that something is not found. Thread-safe. */
#ifndef LL_TRACER_RECORD_ELF_H
#define LL_TRACER_RECORD_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/record/host.h"

/* The build id in hexadecimal, in the arena; NULL when the file cannot be read, is no ELF file or has none,
 * or memory ran out. */
const char *ll_elf_build_id(struct ll_arena *arena, const char *path);

/* Where the loader puts the address of a symbol, bits. */
enum ll_elf_slot {
    LL_SLOT_CALL = 1,    /* JUMP_SLOT: a call through the procedure linkage table */
    LL_SLOT_ADDRESS = 2, /* GLOB_DAT: a call by -fno-plt, or the address taken */
    LL_SLOT_DATA = 4     /* a pointer within data, as in a table of functions */
};

struct ll_elf_symbol {
    const char *name; /* never NULL */
    uint64_t address, size_bytes;
    bool defined;  /* here; else it is asked of others */
    bool function; /* or nothing is known of what it is */
    bool indirect; /* defined by a function that picks one */
    uint8_t slots; /* enum ll_elf_slot: by which this file itself finds it */
};

/* A stretch of the file. */
struct ll_elf_range {
    uint64_t offset, bytes;
};

struct ll_elf {
    uint16_t machine; /* EM_X86_64, ... */
    uint8_t bits;     /* 32 or 64 */
    uint64_t entry;   /* address at which a program begins */
    bool program;     /* to be started, not to be loaded by one */
    bool dynamic;     /* the loader binds its symbols */
    bool movable;     /* may lie anywhere: a library, a position independent program */
    bool symbolic;    /* its symbols are searched in itself first */
    bool bind_now;    /* all are searched before it runs */
    bool only_paths;  /* libraries are not searched in default folders */
    bool has_lines;   /* of source, as debug information */
    bool unread;      /* a disk or the like refused a part of it: what is here may lack something */
    const char *interpreter, *soname, *rpath, *runpath, *build_id; /* NULL where it has none */
    const char **needed;
    size_t needed_count;
    struct ll_elf_symbol *symbols; /* those that the loader knows, in their order */
    size_t symbol_count;
    struct ll_elf_symbol *functions; /* of .symtab, defined here, hidden ones as well; none when stripped */
    size_t function_count;
    struct ll_elf_range *data; /* what the program itself reads, code included: no names of symbols, no debug
                                * information; none when the file does not tell sections */
    size_t data_count;
};

/* All of it, in the arena. NULL when the file cannot be opened or is no ELF file, or memory ran out; `unread`
 * where reading it failed. */
const struct ll_elf *ll_elf_read(struct ll_arena *arena, const char *path);

/* The same for a file in memory. */
const struct ll_elf *ll_elf_read_bytes(struct ll_arena *arena, const void *bytes, size_t size);

/* The symbol of this name that the loader knows, one that is defined here before others; NULL when none. */
const struct ll_elf_symbol *ll_elf_find(const struct ll_elf *elf, const char *name);

/* The function of .symtab of this name, NULL when there is none. */
const struct ll_elf_symbol *ll_elf_find_function(const struct ll_elf *elf, const char *name);

/* Adds library.NAME = build id for each shared library that is loaded now, in the order of loading, and
 * program.build_id for the program itself. What has no build id is left out. */
void ll_library_facts(struct ll_facts *facts);

#endif
