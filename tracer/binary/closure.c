/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's cache, as ldconfig writes it (after an old table that is skipped where there is one):
 *
 *     "glibc-ld.so.cache1.1"  count  bytes of text  ...  | count times: flags key value os hwcap | text
 *     0                       20     24             48     24 bytes each
 *
 * Keys and values are places of text, from the beginning of the magic on. */
#define _GNU_SOURCE
#include "tracer/binary/closure.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/file.h"

#define CACHE_MAGIC "glibc-ld.so.cache1.1"

enum { CACHE_HEAD = 48, CACHE_ENTRY = 24, MOST_CACHE_BYTES = 64 << 20, FIRST_LINE = 256 };

const char *ll_next_part(struct ll_arena *arena, const char **list, const char *separators)
{
    if (!*list)
        return NULL;
    size_t length = strcspn(*list, separators);
    const char *part = ll_copy_text(arena, *list, length);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return part;
}

static bool may_run(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

const char *ll_find_program(struct ll_arena *arena, const char *name, const char *path)
{
    if (strchr(name, '/'))
        return may_run(name) ? name : NULL;
    const char *folders = path ? path : "/bin:/usr/bin", *folder;
    while ((folder = ll_next_part(arena, &folders, ":"))) {
        const char *file = ll_format(arena, "%s/%s", *folder ? folder : ".", name);
        if (may_run(file))
            return file;
    }
    return NULL;
}

/* The program that `env [-options] [NAME=VALUE...] WORD ...` starts. */
static const char *behind_env(struct ll_arena *arena, const char *words, const char *path)
{
    const char *word;
    while ((word = ll_next_part(arena, &words, " \t")))
        if (*word && *word != '-' && !strchr(word, '='))
            return ll_find_program(arena, word, path);
    return NULL;
}

/* What a script's first line asks for, as a path: through env it is the program that env will start. NULL
 * when the file is no script. A file that is none of the kernel's formats is one of sh, as execvp has it. */
static const char *find_interpreter(struct ll_arena *arena, const char *file, const char *path)
{
    char line[FIRST_LINE] = {0};
    int input = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = input >= 0 ? read(input, line, sizeof line - 1) : -1;
    if (input >= 0)
        close(input);
    if (length < 0 || memcmp(line, ELFMAG, SELFMAG) == 0)
        return NULL;
    if (line[0] != '#' || line[1] != '!')
        return ll_find_program(arena, "/bin/sh", path);
    line[strcspn(line, "\n")] = 0;
    const char *words = line + 2 + strspn(line + 2, " \t");
    const char *program = ll_next_part(arena, &words, " \t");
    if (program && words && strcmp(ll_base_name(program), "env") == 0)
        return behind_env(arena, words, path);
    return program ? ll_find_program(arena, program, path) : NULL;
}

/* `path` when it is a library for the same machine as `like`. */
static const char *try_library(struct ll_arena *arena, const char *path, const struct ll_elf *like,
                               const struct ll_elf **found)
{
    if (!path || access(path, R_OK) != 0)
        return NULL;
    const struct ll_elf *elf = ll_elf_read(arena, path);
    if (!elf || elf->machine != like->machine || elf->bits != like->bits || !elf->movable)
        return NULL;
    *found = elf;
    return path;
}

/* The folder of a file, a program's with all links followed. */
static const char *origin(struct ll_arena *arena, const char *file)
{
    char *resolved = realpath(file, NULL);
    const char *path = resolved ? resolved : file, *slash = strrchr(path, '/');
    const char *folder = slash ? ll_copy_text(arena, path, (size_t)(slash - path)) : ".";
    free(resolved);
    return folder;
}

/* A folder with $ORIGIN and ${ORIGIN} replaced; NULL when something else is to be replaced. */
static const char *expand(struct ll_arena *arena, const char *folder, const char *owner)
{
    static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(folder, tokens[i]);
        if (at)
            folder = ll_format(arena, "%.*s%s%s", (int)(at - folder), folder, origin(arena, owner),
                               at + strlen(tokens[i]));
        if (!folder)
            return NULL;
    }
    return strchr(folder, '$') ? NULL : folder;
}

/* A list of folders as RPATH and RUNPATH have it, with $ORIGIN standing for the folder of `owner`; what has
 * $LIB or $PLATFORM is left out. The library's path in the first folder that has it for the same machine as
 * `like`, and what it holds in *found; NULL when none. */
static const char *search_folders(struct ll_arena *arena, const char *folders, const char *owner,
                                  const char *name, const struct ll_elf *like, const struct ll_elf **found)
{
    const char *part;
    while ((part = ll_next_part(arena, &folders, ":;"))) {
        const char *folder = expand(arena, *part ? part : ".", owner);
        const char *path = folder ? ll_format(arena, "%s/%s", folder, name) : NULL;
        if (try_library(arena, path, like, found))
            return path;
    }
    return NULL;
}

static uint32_t word_at(const struct ll_contents *cache, uint64_t at)
{
    uint32_t word = 0;
    if (at <= cache->length && cache->length - at >= sizeof word)
        memcpy(&word, cache->bytes + at, sizeof word);
    return word;
}

static const char *text_at(const struct ll_contents *cache, uint64_t at)
{
    return at < cache->length ? cache->bytes + at : ""; /* a NUL lies behind the last byte */
}

/* The cache from its magic on; of length 0 when there is none. */
static struct ll_contents read_cache(struct ll_arena *arena)
{
    struct ll_contents whole = {0};
    if (ll_read_whole("/etc/ld.so.cache", MOST_CACHE_BYTES, arena, &whole) != LL_OK)
        return (struct ll_contents){0};
    const char *magic = memmem(whole.bytes, whole.length, CACHE_MAGIC, strlen(CACHE_MAGIC));
    if (!magic)
        return (struct ll_contents){0};
    return (struct ll_contents){magic, whole.length - (size_t)(magic - whole.bytes)};
}

/* The same in the loader's cache (/etc/ld.so.cache); variants for special processors are left out. */
static const char *search_cache(struct ll_arena *arena, const char *name, const struct ll_elf *like,
                                const struct ll_elf **found)
{
    struct ll_arena scratch = {0};
    struct ll_contents cache = read_cache(&scratch);
    const char *path = NULL;
    uint64_t count = word_at(&cache, sizeof CACHE_MAGIC - 1), room = cache.length / CACHE_ENTRY;
    for (uint64_t i = 0; !path && i < count && i < room; i++) {
        uint64_t entry = CACHE_HEAD + i * CACHE_ENTRY;
        bool special = word_at(&cache, entry + 16) || word_at(&cache, entry + 20);
        if (special || strcmp(text_at(&cache, word_at(&cache, entry + 4)), name) != 0)
            continue;
        const char *value = text_at(&cache, word_at(&cache, entry + 8));
        path = try_library(arena, ll_copy_text(arena, value, strlen(value)), like, found);
    }
    ll_arena_release(&scratch);
    return path;
}

/* The same in the folders that every loader searches last. */
static const char *search_default(struct ll_arena *arena, const char *name, const struct ll_elf *like,
                                  const struct ll_elf **found)
{
    const char *triplet = like->machine == EM_X86_64    ? "x86_64-linux-gnu"
                          : like->machine == EM_AARCH64 ? "aarch64-linux-gnu"
                          : like->machine == EM_386     ? "i386-linux-gnu"
                                                        : ".";
    const char *folders = ll_format(arena, "/lib/%s:/usr/lib/%s%s:/lib:/usr/lib", triplet, triplet,
                                    like->bits == 64 ? ":/lib64:/usr/lib64" : "");
    return search_folders(arena, folders, "", name, like, found);
}

/* Breadth first, as the loader does it. For a name without a slash it looks, in this order,
 *
 *     among what is loaded already
 *     into RPATH of the library that asks, of the one that asked for that, ... up to the program,
 *         unless the library that asks has a RUNPATH
 *     into LD_LIBRARY_PATH
 *     into RUNPATH of the library that asks
 *     into the cache, then the default folders                                           (ld.so(8)) */

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
        const char *path =
            elf->rpath && !elf->runpath
                ? search_folders(growing->arena, elf->rpath, binaries[by].path, name, binaries[0].elf, found)
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
        return try_library(growing->arena, name, like, found);
    if (!asking->elf->runpath)
        path = search_rpaths(growing, name, by, found);
    if (!path && library_path && *library_path)
        path = search_folders(growing->arena, library_path, asking->path, name, like, found);
    if (!path && asking->elf->runpath)
        path = search_folders(growing->arena, asking->elf->runpath, asking->path, name, like, found);
    if (!path && !asking->elf->only_paths)
        path = search_cache(growing->arena, name, like, found);
    if (!path && !asking->elf->only_paths)
        path = search_default(growing->arena, name, like, found);
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
        path = find_interpreter(growing->arena, path, growing->search->path);
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
