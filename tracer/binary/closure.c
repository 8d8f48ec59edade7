/* SPDX-License-Identifier: Apache-2.0 */
/* Breadth first, as the loader does it. For a name without a slash it looks, in this order,
 *
 *     among what is loaded already
 *     into RPATH of the library that asks, of the one that asked for that, ... up to the program,
 *         unless the library that asks has a RUNPATH
 *     into LD_LIBRARY_PATH
 *     into RUNPATH of the library that asks
 *     into the cache, then the default folders                                           (ld.so(8)) */
#define _GNU_SOURCE
#include "tracer/binary/closure.h"

#include <string.h>
#include <sys/stat.h>

enum { MOST_BINARIES = 4096, MOST_SCRIPTS = 4 };

/* A closure while it grows. */
struct growing {
    struct ll_arena *arena;
    const struct ll_file_search *search;
    struct ll_closure *closure;
};

static const char *search_rpaths(const struct growing *growing, const char *name, size_t by,
                                 const struct ll_elf **found)
{
    const struct ll_binary *binaries = growing->closure->binaries;
    for (;; by = binaries[by].loader) {
        const struct ll_elf *elf = binaries[by].elf;
        const char *path = elf->rpath && !elf->runpath
                               ? ll_search_folders(growing->arena, elf->rpath, binaries[by].path, name,
                                                   binaries[0].elf, found)
                               : NULL;
        if (path || by == 0)
            return path;
    }
}

static const char *search_all(const struct growing *growing, const char *name, size_t by,
                              const struct ll_elf **found)
{
    const struct ll_binary *asking = &growing->closure->binaries[by];
    const struct ll_elf *like = growing->closure->binaries[0].elf;
    const char *library_path = growing->search->library_path, *path = NULL;
    if (strchr(name, '/'))
        return ll_try_library(growing->arena, name, like, found);
    if (!asking->elf->runpath)
        path = search_rpaths(growing, name, by, found);
    if (!path && library_path && *library_path)
        path = ll_search_folders(growing->arena, library_path, asking->path, name, like, found);
    if (!path && asking->elf->runpath)
        path = ll_search_folders(growing->arena, asking->elf->runpath, asking->path, name, like, found);
    if (!path && !asking->elf->only_paths)
        path = ll_search_cache(growing->arena, name, like, found);
    if (!path && !asking->elf->only_paths)
        path = ll_search_default(growing->arena, name, like, found);
    return path;
}

static bool answers_to(const struct ll_binary *binary, const char *name)
{
    const char *slash = strrchr(binary->path, '/');
    if (binary->elf->soname && strcmp(binary->elf->soname, name) == 0)
        return true;
    return strcmp(strchr(name, '/') || !slash ? binary->path : slash + 1, name) == 0;
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Finds and adds one library; one that is nowhere is noted. */
static void add(const struct growing *growing, const char *name, size_t by)
{
    struct ll_closure *closure = growing->closure;
    const struct ll_elf *elf = NULL;
    for (size_t i = 1; i < closure->count; i++)
        if (answers_to(&closure->binaries[i], name))
            return;
    const char *path = search_all(growing, name, by, &elf);
    for (size_t i = 0; path && i < closure->count; i++)
        if (same_file(closure->binaries[i].path, path))
            return;
    if (path && closure->count < MOST_BINARIES)
        closure->binaries[closure->count++] = (struct ll_binary){path, elf, by};
    for (size_t i = 0; !path && i < closure->missing_count; i++)
        if (strcmp(closure->missing[i].name, name) == 0)
            return;
    if (!path && closure->missing_count < MOST_BINARIES)
        closure->missing[closure->missing_count++] = (struct ll_missing){name, by};
}

static enum ll_status find_program(struct growing *growing, const char *name)
{
    struct ll_closure *closure = growing->closure;
    const char *path = ll_find_program(growing->arena, name, growing->search->path);
    for (int scripts = 0; path && scripts <= MOST_SCRIPTS; scripts++) {
        const struct ll_elf *elf = ll_elf_read(growing->arena, path);
        if (elf) {
            closure->binaries[closure->count++] = (struct ll_binary){path, elf, 0};
            return LL_OK;
        }
        if (!closure->script)
            closure->script = path;
        path = ll_find_interpreter(growing->arena, path, growing->search->path);
    }
    struct stat info;
    bool named = strchr(name, '/') && stat(name, &info) == 0;
    return closure->script                  ? LL_CANNOT_READ
           : named && S_ISDIR(info.st_mode) ? LL_IS_FOLDER
           : named                          ? LL_FORBIDDEN
                                            : LL_NO_FILE;
}

enum ll_status ll_closure_read(struct ll_arena *arena, const char *program,
                               const struct ll_file_search *search, struct ll_closure *closure)
{
    struct growing growing = {arena, search, closure};
    *closure = (struct ll_closure){
        .binaries = ll_alloc(arena, MOST_BINARIES, sizeof *closure->binaries),
        .missing = ll_alloc(arena, MOST_BINARIES, sizeof *closure->missing),
    };
    if (!closure->binaries || !closure->missing)
        return LL_NO_MEMORY;
    enum ll_status status = find_program(&growing, program);
    if (status != LL_OK || !closure->binaries[0].elf->dynamic)
        return status;
    const char *preload = search->preload, *name;
    while ((name = ll_next_part(arena, &preload, ": ")))
        if (*name)
            add(&growing, name, 0);
    for (size_t i = 0; i < closure->count; i++)
        for (size_t j = 0; j < closure->binaries[i].elf->needed_count; j++)
            add(&growing, closure->binaries[i].elf->needed[j], i);
    return LL_OK;
}
