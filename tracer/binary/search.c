/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's cache, as ldconfig writes it (after an old table that is skipped where there is one):
 *
 *     "glibc-ld.so.cache1.1"  count  bytes of text  ...  | count times: flags key value os hwcap | text
 *     0                       20     24             48     24 bytes each
 *
 * Keys and values are places of text, from the beginning of the magic on. */
#define _GNU_SOURCE
#include "tracer/binary/search.h"

#include "tracer/base/file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

const char *ll_find_interpreter(struct ll_arena *arena, const char *file, const char *path)
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

const char *ll_try_library(struct ll_arena *arena, const char *path, const struct ll_elf *like,
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

const char *ll_search_folders(struct ll_arena *arena, const char *folders, const char *owner,
                              const char *name, const struct ll_elf *like, const struct ll_elf **found)
{
    const char *part;
    while ((part = ll_next_part(arena, &folders, ":;"))) {
        const char *folder = expand(arena, *part ? part : ".", owner);
        const char *path = folder ? ll_format(arena, "%s/%s", folder, name) : NULL;
        if (ll_try_library(arena, path, like, found))
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

const char *ll_search_cache(struct ll_arena *arena, const char *name, const struct ll_elf *like,
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
        path = ll_try_library(arena, ll_copy_text(arena, value, strlen(value)), like, found);
    }
    ll_arena_release(&scratch);
    return path;
}

const char *ll_search_default(struct ll_arena *arena, const char *name, const struct ll_elf *like,
                              const struct ll_elf **found)
{
    const char *triplet = like->machine == EM_X86_64    ? "x86_64-linux-gnu"
                          : like->machine == EM_AARCH64 ? "aarch64-linux-gnu"
                          : like->machine == EM_386     ? "i386-linux-gnu"
                                                        : ".";
    const char *folders = ll_format(arena, "/lib/%s:/usr/lib/%s%s:/lib:/usr/lib", triplet, triplet,
                                    like->bits == 64 ? ":/lib64:/usr/lib64" : "");
    return ll_search_folders(arena, folders, "", name, like, found);
}
