/* SPDX-License-Identifier: Apache-2.0 */
/* Where shipped files lie. */
#define _GNU_SOURCE /* dladdr */
#include "sim/cli/load.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No path is compiled in, so that an installed tree can be moved and a build leaves no trace of where it
 * was made: all follows from where the running program lies. */

/* The build puts the program into BUILD/sim/cli, and makes BUILD/source a link to the source tree. */
static const char build_folder[] = "/sim/cli";
enum { FROM_BIN = 2, FROM_TREE = 3 }; /* names to drop from the program's path */
enum { LIBRARY_PLACES = 4 };          /* where machines may lie beside the library */

static size_t colons(const char *path)
{
    size_t count = 0;
    for (; (path = strchr(path, ':')); path++)
        count++;
    return count;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* The path without its last names, then `rest`: plain to read in messages, unlike "..". */
static const char *climb(struct ll_arena *arena, const char *path, unsigned names, const char *rest)
{
    size_t length = strlen(path);
    while (names && length)
        names -= path[--length] == '/';
    return ll_format(arena, "%.*s/%s", (int)length, path, rest);
}

const char *const *ll_machine_folders_of(struct ll_arena *arena, const char *program, const char *path)
{
    path = path ? path : "";
    const char **folders = ll_alloc(arena, colons(path) + 4, sizeof *folders);
    if (!folders)
        return NULL;
    size_t count = 0;
    for (size_t length; *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        if (length && !(folders[count++] = ll_copy_text(arena, path, length)))
            return NULL;
    }
    const char *slash = program ? strrchr(program, '/') : NULL;
    if (!slash)
        return folders;
    if (!(folders[count++] = climb(arena, program, FROM_BIN, "share/leadline/hwconfigs")))
        return NULL;
    if (ends_with(program, (size_t)(slash - program), build_folder)) {
        const char *linked = climb(arena, program, FROM_TREE, "source/hwconfigs");
        char plain[PATH_MAX]; /* how messages name it */
        if (!linked)
            return NULL;
        if (realpath(linked, plain) && !(folders[count++] = ll_copy_text(arena, plain, strlen(plain))))
            return NULL;
    }
    return folders;
}

/* Where this program lies; false when the system does not say. */
static bool find_program(char program[static PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
    if (length > 0)
        program[length] = '\0';
    return length > 0;
}

/* The same of the library that this code is in; of the program where it is no library. */
static bool find_library(char library[static PATH_MAX])
{
    static const char inside;
    Dl_info info;
    return dladdr(&inside, &info) != 0 && info.dli_fname && realpath(info.dli_fname, library);
}

/* Behind `count` folders those that are there beside the library: in PREFIX/lib or in PREFIX/lib/TRIPLET, in
 * a package of Python beside its share/, where the build puts it. False when memory ran out. */
static bool add_folders_of_library(struct ll_arena *arena, const char *library, const char **folders,
                                   size_t *count)
{
    static const struct {
        unsigned names;
        const char *rest;
    } places[LIBRARY_PLACES] = {{2, "share/leadline/hwconfigs"},
                                {3, "share/leadline/hwconfigs"},
                                {1, "share/leadline/hwconfigs"},
                                {3, "source/hwconfigs"}};
    for (size_t i = 0; i < LIBRARY_PLACES; i++) {
        const char *folder = climb(arena, library, places[i].names, places[i].rest);
        char plain[PATH_MAX];
        if (!folder)
            return false;
        if (realpath(folder, plain) && !(folders[(*count)++] = ll_copy_text(arena, plain, strlen(plain))))
            return false;
    }
    return true;
}

const char *const *ll_machine_folders(struct ll_arena *arena)
{
    char program[PATH_MAX], library[PATH_MAX];
    const char *path = getenv("LEADLINE_PATH");
    const char *const *named = ll_machine_folders_of(arena, NULL, path);
    const char *const *of_program =
        ll_machine_folders_of(arena, find_program(program) ? program : NULL, NULL);
    const char **folders = ll_alloc(arena, colons(path ? path : "") + LIBRARY_PLACES + 8, sizeof *folders);
    size_t count = 0;
    if (!named || !of_program || !folders)
        return NULL;
    for (; named[count]; count++)
        folders[count] = named[count];
    const size_t first = count;
    if (find_library(library) && !add_folders_of_library(arena, library, folders, &count))
        return NULL;
    for (; *of_program; of_program++) {
        bool known = false;
        for (size_t i = first; i < count; i++)
            known |= strcmp(folders[i], *of_program) == 0;
        if (!known)
            folders[count++] = *of_program;
    }
    return folders;
}

const char *const *ll_folders_before(struct ll_arena *arena, const char *folder, const char *const *folders)
{
    assert(folder && folders);
    size_t count = 0;
    while (folders[count])
        count++;
    const char **all = ll_alloc(arena, count + 2, sizeof *all);
    for (size_t i = 0; all && i < count; i++)
        all[i + 1] = folders[i];
    if (all)
        all[0] = folder;
    return all;
}

const char *ll_preload_library(struct ll_arena *arena)
{
    char program[PATH_MAX];
    if (!find_program(program))
        return NULL;
    const char *const places[] = {
        climb(arena, program, FROM_BIN, "lib/leadline/libleadline-preload.so"),
        climb(arena, program, FROM_TREE, "tracer/interpose/preload/libleadline-preload.so")};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (places[i] && access(places[i], R_OK) == 0)
            return places[i];
    return NULL;
}
