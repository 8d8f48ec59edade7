/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs and libraries lie, found by the rules of the shell, of the kernel and of the loader. */
#ifndef LL_TRACER_BINARY_CLOSURE_H
#define LL_TRACER_BINARY_CLOSURE_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/record/elf.h"

/* What the environment says; each may be NULL. */
struct ll_file_search {
    const char *path;         /* PATH */
    const char *library_path; /* LD_LIBRARY_PATH */
    const char *preload;      /* LD_PRELOAD */
};

/* The next part of a list, up to one of the separators; *list moves behind it, and is NULL after the last. In
 * the arena; NULL at the end or when memory ran out. */
const char *ll_next_part(struct ll_arena *arena, const char **list, const char *separators);

/* The file that a command names, as execvp finds it; NULL when there is none that may be run. */
const char *ll_find_program(struct ll_arena *arena, const char *name, const char *path);

/* A program and all that the loader will load with it before main: its own libraries, theirs, and so on, each
 * found where the loader finds it. What the program opens while it runs (dlopen) is not known before. */

struct ll_binary {
    const char *path;
    const struct ll_elf *elf;
    size_t loader; /* the binary that asked first; of the program, itself */
};

struct ll_missing {
    const char *name;
    size_t loader;
};

/* All in the arena. The program is the first; the rest stand in the order in which they are loaded. */
struct ll_closure {
    struct ll_binary *binaries;
    size_t count;
    struct ll_missing *missing; /* libraries that are nowhere: the program will not start */
    size_t missing_count;
    const char *script; /* the file that was named, when it is one that another program reads; or NULL */
};

/* `program` is a path or a name to be found in search->path. LL_NO_FILE when it is nowhere, LL_FORBIDDEN or
 * LL_IS_FOLDER when it is a path of what may not be run, LL_CANNOT_READ when it is no program of a format
 * that we know, LL_NO_MEMORY. */
enum ll_status ll_closure_read(struct ll_arena *arena, const char *program,
                               const struct ll_file_search *search, struct ll_closure *closure);

#endif
