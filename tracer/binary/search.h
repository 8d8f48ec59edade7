/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs and libraries lie, found by the rules of the shell, of the kernel and of the loader. */
#ifndef LL_BINARY_SEARCH_H
#define LL_BINARY_SEARCH_H

#include "tracer/base/arena.h"
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

/* What a script's first line asks for, as a path: through env it is the program that env will start. NULL
 * when the file is no script. A file that is none of the kernel's formats is one of sh, as execvp has it. */
const char *ll_find_interpreter(struct ll_arena *arena, const char *file, const char *path);

/* A list of folders as RPATH and RUNPATH have it, with $ORIGIN standing for the folder of `owner`; what has
 * $LIB or $PLATFORM is left out. The library's path in the first folder that has it for the same machine as
 * `like`, and what it holds in *found; NULL when none. */
const char *ll_search_folders(struct ll_arena *arena, const char *folders, const char *owner,
                              const char *name, const struct ll_elf *like, const struct ll_elf **found);

/* The same in the loader's cache (/etc/ld.so.cache); variants for special processors are left out. */
const char *ll_search_cache(struct ll_arena *arena, const char *name, const struct ll_elf *like,
                            const struct ll_elf **found);

/* The same in the folders that every loader searches last. */
const char *ll_search_default(struct ll_arena *arena, const char *name, const struct ll_elf *like,
                              const struct ll_elf **found);

/* `path` when it is a library for the same machine as `like`. */
const char *ll_try_library(struct ll_arena *arena, const char *path, const struct ll_elf *like,
                           const struct ll_elf **found);

#endif
