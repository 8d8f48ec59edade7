/* SPDX-License-Identifier: Apache-2.0 */
/* The loader's cache, as ldconfig writes it (after an old table that is skipped where there is one):
 *
 *     "glibc-ld.so.cache1.1"  count  bytes of text  ...  | count times: flags key value os hwcap | text
 *     0                       20     24             48     24 bytes each
 *
 * Keys and values are places of text, from the beginning of the magic on. */
#define _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "tracer/binary/coverage.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tracer/base/file.h"
#include "tracer/base/map.h"
#include "tracer/interpose/ring.h"

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
    if (elf && elf->unread) { /* it may be the one */
        *found = elf;
        return path;
    }
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
static struct ll_contents read_cache(struct ll_arena *arena, bool *unread)
{
    struct ll_contents whole = {0};
    enum ll_status status = ll_read_whole("/etc/ld.so.cache", MOST_CACHE_BYTES, arena, &whole);
    *unread |= status != LL_OK && status != LL_NO_FILE;
    if (status != LL_OK)
        return (struct ll_contents){0};
    const char *magic = memmem(whole.bytes, whole.length, CACHE_MAGIC, strlen(CACHE_MAGIC));
    if (!magic)
        return (struct ll_contents){0};
    return (struct ll_contents){magic, whole.length - (size_t)(magic - whole.bytes)};
}

/* The same in the loader's cache (/etc/ld.so.cache); variants for special processors are left out. */
static const char *search_cache(struct ll_arena *arena, const char *name, const struct ll_elf *like,
                                const struct ll_elf **found, bool *unread)
{
    struct ll_arena scratch = {0};
    struct ll_contents cache = read_cache(&scratch, unread);
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
    bool unread; /* a file that may belong to it could not be read */
};

static const char *search_rpaths(const struct growing *growing, const char *name, size_t by,
                                 const struct ll_elf **found)
{
    const struct ll_format_binary *binaries = growing->closure->binaries;
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

static const char *search_all(struct growing *growing, const char *name, size_t by,
                              const struct ll_elf **found)
{
    const struct ll_format_binary *asking = &growing->closure->binaries[by];
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
        path = search_cache(growing->arena, name, like, found, &growing->unread);
    if (!path && !asking->elf->only_paths)
        path = search_default(growing->arena, name, like, found);
    return path;
}

static bool answers_to(const struct ll_format_binary *binary, const char *name)
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
static void add(struct growing *growing, const char *name, size_t by)
{
    struct ll_closure *closure = growing->closure;
    const struct ll_elf *elf = NULL;
    for (size_t i = 1; i < closure->count; i++)
        if (answers_to(&closure->binaries[i], name))
            return;
    const char *path = search_all(growing, name, by, &elf);
    growing->unread |= elf && elf->unread;
    for (size_t i = 0; path && i < closure->count; i++)
        if (same_file(closure->binaries[i].path, path))
            return;
    if (path && closure->count < MOST_BINARIES)
        closure->binaries[closure->count++] = (struct ll_format_binary){path, elf, by};
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
        growing->unread |= elf && elf->unread;
        if (elf) {
            closure->binaries[closure->count++] = (struct ll_format_binary){path, elf, 0};
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
    struct growing growing = {arena, search, closure, false};
    *closure = (struct ll_closure){
        .binaries = ll_alloc(arena, MOST_BINARIES, sizeof *closure->binaries),
        .missing = ll_alloc(arena, MOST_BINARIES, sizeof *closure->missing),
    };
    if (!closure->binaries || !closure->missing)
        return LL_NO_MEMORY;
    enum ll_status status = find_program(&growing, program);
    if (status == LL_OK && growing.unread)
        return LL_READ_FAILED;
    if (status != LL_OK || !closure->binaries[0].elf->dynamic)
        return status;
    const char *preload = search->preload, *name;
    while ((name = ll_next_part(arena, &preload, ": ")))
        if (*name)
            add(&growing, name, 0);
    for (size_t i = 0; i < closure->count; i++)
        for (size_t j = 0; j < closure->binaries[i].elf->needed_count; j++)
            add(&growing, closure->binaries[i].elf->needed[j], i);
    return growing.unread ? LL_READ_FAILED : LL_OK;
}

/* What will be seen of a program: its kinds of call, collected from its binaries, against the mechanisms
 * (reach.def); the report as text and JSON; and what the program must be started with. */

static const char *const mechanisms[] = {
#define X(word, name, help) name,
    LL_MECHANISM_LIST(X)
#undef X
};

enum { NOT, SEEN };

static const struct {
    const char *word, *text;
    bool seen[LL_MECHANISM_COUNT];
} reaches[] = {
#define LL_REACH(word, sentence, preload, audit, patch, entry, probe)                                        \
    {#word, sentence, {preload, audit, patch, entry, probe}},
#include "tracer/binary/reach.def"
};

const char *ll_mechanism_name(enum ll_mechanism mechanism)
{
    return mechanisms[mechanism];
}

bool ll_mechanism_find(const char *name, enum ll_mechanism *mechanism)
{
    for (*mechanism = 0; *mechanism < LL_MECHANISM_COUNT; (*mechanism)++)
        if (strcmp(mechanisms[*mechanism], name) == 0)
            return true;
    return false;
}

/* How the call is made, in half a sentence, and the row's word in reach.def; static storage. */
static const char *reach_text(enum ll_reach reach)
{
    return reaches[reach].text;
}

const char *ll_reach_word(enum ll_reach reach)
{
    return reaches[reach].word;
}

bool ll_reach_seen(enum ll_reach reach, enum ll_mechanism mechanism)
{
    return reaches[reach].seen[mechanism];
}

/* A binary that is asked for routines by others is a library that offers them: what it calls within itself
 * happens inside of calls that are seen, and is left alone. A binary that is used for other things, and
 * defines routines which nobody asks for, has them for itself (a product with BLAS linked in): its direct
 * calls are what there is to see. */

enum { MOST_TEXT_BYTES = 16 << 20 };

/* A coverage while it grows. */
struct coverage_growing {
    struct ll_coverage *coverage;
    struct ll_map names;    /* that we look for */
    struct ll_map imported; /* whatever some binary asks for */
    uint64_t route_capacity, offer_capacity;
    struct ll_symbol_route *routes;
    struct ll_offer *offers;
    bool failed;
};

static void add_route(struct coverage_growing *growing, uint32_t binary, uint32_t symbol, enum ll_reach reach)
{
    struct ll_coverage *coverage = growing->coverage;
    if (!ll_grow(&growing->routes, &growing->route_capacity, coverage->route_count + 1,
                 sizeof *growing->routes))
        growing->failed = true;
    else
        growing->routes[coverage->route_count++] = (struct ll_symbol_route){binary, symbol, reach};
}

static void add_offer(struct coverage_growing *growing, uint32_t binary, uint32_t symbol)
{
    struct ll_coverage *coverage = growing->coverage;
    if (!ll_grow(&growing->offers, &growing->offer_capacity, coverage->offer_count + 1,
                 sizeof *growing->offers))
        growing->failed = true;
    else
        growing->offers[coverage->offer_count++] = (struct ll_offer){binary, symbol};
}

static uint32_t find_name(const struct coverage_growing *growing, const struct ll_elf_symbol *symbol)
{
    return symbol->function ? ll_map_find(&growing->names, symbol->name, strlen(symbol->name)) : LL_NO_ID;
}

/* What a binary asks of others, a route for each kind of slot. */
static void follow_imports(struct coverage_growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    static const struct {
        enum ll_elf_slot slot;
        enum ll_reach reach;
    } kinds[] = {{LL_SLOT_CALL, LL_REACH_CALL_SLOT},
                 {LL_SLOT_ADDRESS, LL_REACH_ADDRESS_SLOT},
                 {LL_SLOT_DATA, LL_REACH_DATA_SLOT}};
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const struct ll_elf_symbol *symbol = &elf->symbols[i];
        if (symbol->defined)
            continue;
        uint32_t name = find_name(growing, symbol);
        if (ll_map_intern(&growing->imported, symbol->name, strlen(symbol->name), NULL) == LL_NO_ID)
            growing->failed = true;
        for (size_t k = 0; name != LL_NO_ID && k < sizeof kinds / sizeof kinds[0]; k++)
            if (symbol->slots & kinds[k].slot)
                add_route(growing, binary, name, kinds[k].reach);
    }
}

static void note_opening(struct ll_coverage *coverage, const struct ll_elf *elf)
{
    const struct ll_elf_symbol *symbol = ll_elf_find(elf, "dlopen");
    coverage->opening_count += symbol && !symbol->defined;
}

/* Whether a binary that has this name as text may give it to dlsym: not where it has the routine itself, nor
 * where the text may be how it asks for it. */
static bool may_ask_for(const struct ll_elf *elf, const char *name)
{
    const struct ll_elf_symbol *symbol = ll_elf_find(elf, name);
    bool asked = symbol && !symbol->defined && elf->data_count > 0;
    return (!symbol || asked) && !ll_elf_find_function(elf, name);
}

/* Texts lie between NULs. */
static void follow_texts_in(struct coverage_growing *growing, uint32_t binary, const char *bytes,
                            uint64_t length)
{
    const struct ll_elf *elf = growing->coverage->closure->binaries[binary].elf;
    for (uint64_t at = 0; at < length;) {
        size_t text = strnlen(bytes + at, length - at);
        uint32_t name = at + text < length ? ll_map_find(&growing->names, bytes + at, text) : LL_NO_ID;
        if (name != LL_NO_ID && may_ask_for(elf, bytes + at))
            add_route(growing, binary, name, LL_REACH_POINTER);
        at += text + 1;
    }
}

/* A name that a binary has among its data is one that it gives to dlsym. */
static void follow_texts(struct coverage_growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    struct ll_arena scratch = {0};
    struct ll_contents file = {0};
    const struct ll_elf_symbol *asks = ll_elf_find(elf, "dlsym");
    const char *path = growing->coverage->closure->binaries[binary].path;
    if (!asks || asks->defined || ll_read_whole(path, MOST_TEXT_BYTES, &scratch, &file) != LL_OK)
        file.length = 0;
    for (size_t i = 0; i < elf->data_count; i++) {
        const struct ll_elf_range *data = &elf->data[i];
        if (data->offset <= file.length && data->bytes <= file.length - data->offset)
            follow_texts_in(growing, binary, file.bytes + data->offset, data->bytes);
    }
    if (elf->data_count == 0)
        follow_texts_in(growing, binary, file.bytes, file.length);
    ll_arena_release(&scratch);
}

/* Whether the binary is there for others' sake, or has its routines for itself. */
static bool is_embedding(const struct coverage_growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    bool used = binary == 0;
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const char *name = elf->symbols[i].name;
        if (!elf->symbols[i].defined || ll_map_find(&growing->imported, name, strlen(name)) == LL_NO_ID)
            continue;
        if (find_name(growing, &elf->symbols[i]) != LL_NO_ID)
            return false;
        used = true;
    }
    return used;
}

static void follow_exports(struct coverage_growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    bool embedding = is_embedding(growing, binary, elf);
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const struct ll_elf_symbol *symbol = &elf->symbols[i];
        uint32_t name = symbol->defined ? find_name(growing, symbol) : LL_NO_ID;
        if (name == LL_NO_ID)
            continue;
        add_offer(growing, binary, name);
        if (embedding)
            add_route(growing, binary, name,
                      symbol->slots && !elf->symbolic ? LL_REACH_INTERNAL : LL_REACH_INTERNAL_BOUND);
    }
}

/* What only .symtab knows. */
static void follow_functions(struct coverage_growing *growing, uint32_t binary, const struct ll_elf *elf,
                             enum ll_reach reach)
{
    for (size_t i = 0; i < elf->function_count; i++) {
        uint32_t name = find_name(growing, &elf->functions[i]);
        if (name != LL_NO_ID && !ll_elf_find(elf, elf->functions[i].name))
            add_route(growing, binary, name, reach);
    }
}

static void follow_all(struct coverage_growing *growing)
{
    struct ll_coverage *coverage = growing->coverage;
    const struct ll_closure *closure = coverage->closure;
    for (uint32_t i = 0; i < closure->count; i++) {
        follow_imports(growing, i, closure->binaries[i].elf);
        follow_texts(growing, i, closure->binaries[i].elf);
        note_opening(coverage, closure->binaries[i].elf);
    }
    for (uint32_t i = 0; i < closure->count; i++) {
        follow_exports(growing, i, closure->binaries[i].elf);
        follow_functions(growing, i, closure->binaries[i].elf,
                         coverage->is_static ? LL_REACH_STATIC_NAMED : LL_REACH_HIDDEN);
    }
}

/* The mildest mechanism of those that see most. */
static void choose(struct ll_coverage *coverage)
{
    if (coverage->is_static) {
        coverage->mechanism = LL_MECHANISM_PROBE;
        coverage->possible = coverage->route_count > 0;
        return;
    }
    coverage->possible = true;
    for (enum ll_mechanism m = LL_MECHANISM_PRELOAD; m < LL_MECHANISM_PROBE; m++)
        if (ll_coverage_seen(coverage, m) > ll_coverage_seen(coverage, coverage->mechanism))
            coverage->mechanism = m;
}

/* Whether the program runs as another user or group than who starts it, or with rights of its own. */
static bool is_closed(const char *path)
{
    struct stat about;
    struct statvfs disk;
    if (stat(path, &about) != 0 || (statvfs(path, &disk) == 0 && disk.f_flag & ST_NOSUID))
        return false;
    return (about.st_mode & S_ISUID && about.st_uid != geteuid()) ||
           (about.st_mode & S_ISGID && about.st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

enum ll_status ll_coverage_find(struct ll_arena *arena, const struct ll_closure *closure,
                                const char *const *names, size_t name_count, struct ll_coverage *coverage)
{
    const struct ll_elf *program = closure->binaries[0].elf;
    struct coverage_growing growing = {.coverage = coverage};
    *coverage = (struct ll_coverage){.closure = closure,
                                     .names = names,
                                     .is_static = !program->dynamic,
                                     .closed = is_closed(closure->binaries[0].path),
                                     .stripped = program->function_count == 0};
    for (size_t i = 0; i < name_count && !growing.failed; i++)
        growing.failed = ll_map_intern(&growing.names, names[i], strlen(names[i]), NULL) == LL_NO_ID;
    if (!growing.failed)
        follow_all(&growing);
    coverage->routes = ll_copy(arena, growing.routes, coverage->route_count * sizeof *coverage->routes);
    coverage->offers = ll_copy(arena, growing.offers, coverage->offer_count * sizeof *coverage->offers);
    growing.failed |= !coverage->routes || !coverage->offers;
    choose(coverage);
    ll_map_release(&growing.names);
    ll_map_release(&growing.imported);
    free(growing.routes);
    free(growing.offers);
    return growing.failed ? LL_NO_MEMORY : LL_OK;
}

/* Whether a mechanism sees calls of the program that are made so. */
static bool coverage_sees(const struct ll_coverage *coverage, enum ll_reach reach,
                          enum ll_mechanism mechanism)
{
    return ll_reach_seen(reach, mechanism) && (!coverage->closed || mechanism == LL_MECHANISM_PROBE);
}

size_t ll_coverage_seen(const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    assert(coverage->route_count == 0 || coverage->routes);
    size_t seen = 0;
    for (size_t i = 0; i < coverage->route_count; i++)
        seen += coverage_sees(coverage, coverage->routes[i].reach, mechanism);
    return seen;
}

/* Routes of one binary and one kind are told together: "calls cblas_dgemm, cblas_sgemm and 12 more". */

enum { NAMES_SHOWN = 4 };

/* What helps where a mechanism is blind; NULL: nothing does. */
static const char *cure(const struct ll_coverage *coverage, enum ll_reach reach)
{
    for (enum ll_mechanism m = LL_MECHANISM_PRELOAD; m < LL_MECHANISM_COUNT; m++)
        if (coverage_sees(coverage, reach, m))
            return ll_mechanism_name(m);
    return NULL;
}

/* The routes of one binary that are of one kind. */
struct group {
    struct ll_str names;
    size_t count;
};

static struct group gather(const struct ll_coverage *coverage, uint32_t binary, enum ll_reach reach)
{
    struct group group = {0};
    for (size_t i = 0; i < coverage->route_count; i++) {
        const struct ll_symbol_route *route = &coverage->routes[i];
        if (route->binary != binary || route->reach != reach)
            continue;
        if (group.count++ < NAMES_SHOWN)
            ll_str_addf(&group.names, "%s%s", group.count > 1 ? ", " : "", coverage->names[route->symbol]);
    }
    if (group.count > NAMES_SHOWN)
        ll_str_addf(&group.names, " and %zu more", group.count - NAMES_SHOWN);
    return group;
}

static void tell_group(struct ll_str *out, const struct ll_coverage *coverage, const struct group *group,
                       enum ll_reach reach, enum ll_mechanism mechanism)
{
    bool seen = coverage_sees(coverage, reach, mechanism);
    ll_str_addf(out, "    %-8s %s\n             %s", seen ? "seen" : "NOT SEEN", group->names.text,
                reach_text(reach));
    if (!seen && cure(coverage, reach))
        ll_str_addf(out, "; remedy: --mech=%s", cure(coverage, reach));
    ll_str_add(out, "\n");
}

static size_t count_offers(const struct ll_coverage *coverage, uint32_t binary)
{
    size_t count = 0;
    for (size_t i = 0; i < coverage->offer_count; i++)
        count += coverage->offers[i].binary == binary;
    return count;
}

static bool has_routines(const struct ll_coverage *coverage, uint32_t binary)
{
    for (size_t i = 0; i < coverage->route_count; i++)
        if (coverage->routes[i].binary == binary)
            return true;
    return count_offers(coverage, binary) > 0;
}

static void tell_binary(struct ll_str *out, const struct ll_coverage *coverage, uint32_t binary,
                        enum ll_mechanism mechanism)
{
    const struct ll_format_binary *it = &coverage->closure->binaries[binary];
    const char *build_id = it->elf->build_id;
    ll_str_addf(out, "  %s%s%s\n", ll_base_name(it->path), build_id ? "  build " : "",
                build_id ? build_id : "");
    for (enum ll_reach reach = 0; reach < LL_REACH_COUNT; reach++) {
        struct group group = gather(coverage, binary, reach);
        if (group.count)
            tell_group(out, coverage, &group, reach, mechanism);
        ll_str_release(&group.names);
    }
    if (count_offers(coverage, binary))
        ll_str_addf(out, "    offers   %zu of the routines%s\n", count_offers(coverage, binary),
                    it->elf->symbolic ? ", bound within itself (-Bsymbolic)" : "");
}

static void tell_program(struct ll_str *out, const struct ll_coverage *coverage)
{
    const struct ll_closure *closure = coverage->closure;
    const struct ll_format_binary *program = &closure->binaries[0];
    if (closure->script)
        ll_str_addf(out, "%s is read by ", closure->script);
    ll_str_addf(out, "%s: %s%s, %zu librar%s loaded at the start\n", program->path,
                coverage->is_static ? "static" : "dynamic", coverage->stripped ? ", without .symtab" : "",
                closure->count - 1, closure->count == 2 ? "y" : "ies");
    if (coverage->closed)
        ll_str_add(out, "  it runs with the rights of another: the loader lets nobody into it\n");
    for (size_t i = 0; i < closure->missing_count; i++)
        ll_str_addf(out, "  %s, which %s needs, is nowhere: the program will not start\n",
                    closure->missing[i].name,
                    ll_base_name(closure->binaries[closure->missing[i].loader].path));
}

static void tell_opening(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    static const enum ll_reach late[] = {LL_REACH_OPENED, LL_REACH_OPENED_DEEP, LL_REACH_OPENED_DEEP_ADDRESS,
                                         LL_REACH_POINTER};
    if (!coverage->opening_count || coverage->is_static)
        return;
    ll_str_addf(out, "Libraries may be opened while it runs (%zu binar%s can); a routine is then\n",
                coverage->opening_count, coverage->opening_count == 1 ? "y" : "ies");
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        bool seen = coverage_sees(coverage, late[i], mechanism);
        ll_str_addf(out, "    %-8s %s%s%s\n", seen ? "seen" : "NOT SEEN", reach_text(late[i]),
                    seen ? "" : "; remedy: --mech=", seen ? "" : cure(coverage, late[i]));
    }
}

static void tell_verdict(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    if (coverage->is_static && !coverage->possible)
        ll_str_add(out, coverage->stripped
                            ? "Refused: the program is static and has no symbols, so nothing tells where its "
                              "routines begin. Cure: link it dynamically, or do not strip it.\n"
                            : "Refused: the program is static and holds none of the routines.\n");
    else if (coverage->route_count)
        ll_str_addf(out, "Mechanism %s sees %zu of %zu ways to a routine.\n", ll_mechanism_name(mechanism),
                    ll_coverage_seen(coverage, mechanism), coverage->route_count);
    else
        ll_str_addf(out, "Mechanism %s; nothing that is loaded at the start calls a routine.\n",
                    ll_mechanism_name(mechanism));
}

void ll_coverage_text(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    tell_program(out, coverage);
    for (uint32_t i = 0; i < coverage->closure->count; i++)
        if (has_routines(coverage, i))
            tell_binary(out, coverage, i, mechanism);
    tell_opening(out, coverage, mechanism);
    tell_verdict(out, coverage, mechanism);
}

static void put_routes(struct ll_json *json, const struct ll_coverage *coverage, uint32_t binary,
                       enum ll_mechanism mechanism)
{
    ll_json_key(json, "routes");
    ll_json_open_list(json);
    for (size_t i = 0; i < coverage->route_count; i++) {
        const struct ll_symbol_route *route = &coverage->routes[i];
        if (route->binary != binary)
            continue;
        ll_json_open_object(json);
        ll_json_put_text(json, "symbol", coverage->names[route->symbol]);
        ll_json_put_text(json, "reach", ll_reach_word(route->reach));
        bool seen = coverage_sees(coverage, route->reach, mechanism);
        ll_json_put_bool(json, "seen", seen);
        ll_json_put_text(json, "remedy", seen ? NULL : cure(coverage, route->reach));
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_offers(struct ll_json *json, const struct ll_coverage *coverage, uint32_t binary)
{
    ll_json_key(json, "offers");
    ll_json_open_list(json);
    for (size_t i = 0; i < coverage->offer_count; i++)
        if (coverage->offers[i].binary == binary)
            ll_json_text(json, coverage->names[coverage->offers[i].symbol]);
    ll_json_close_list(json);
}

static void put_binary(struct ll_json *json, const struct ll_coverage *coverage, uint32_t binary,
                       enum ll_mechanism mechanism)
{
    const struct ll_format_binary *it = &coverage->closure->binaries[binary];
    ll_json_open_object(json);
    ll_json_put_text(json, "path", it->path);
    ll_json_put_text(json, "build_id", it->elf->build_id);
    ll_json_put_bool(json, "symbolic", it->elf->symbolic);
    ll_json_put_bool(json, "bind_now", it->elf->bind_now);
    ll_json_put_bool(json, "position_independent", it->elf->movable);
    ll_json_put_bool(json, "symbols", it->elf->function_count > 0);
    ll_json_put_bool(json, "lines", it->elf->has_lines);
    put_routes(json, coverage, binary, mechanism);
    put_offers(json, coverage, binary);
    ll_json_close_object(json);
}

/* The same findings as ll_coverage_text prints, for programs. */
void ll_coverage_json(struct ll_json *json, const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    const struct ll_closure *closure = coverage->closure;
    ll_json_open_document(json, "coverage", 1);
    ll_json_put_text(json, "program", closure->binaries[0].path);
    ll_json_put_text(json, "script", closure->script);
    ll_json_put_bool(json, "static", coverage->is_static);
    ll_json_put_bool(json, "closed", coverage->closed);
    ll_json_put_bool(json, "possible", coverage->possible);
    ll_json_put_text(json, "mechanism", ll_mechanism_name(mechanism));
    ll_json_put_count(json, "routes", coverage->route_count);
    ll_json_put_count(json, "seen", ll_coverage_seen(coverage, mechanism));
    ll_json_put_bool(json, "opens_libraries", coverage->opening_count > 0);
    ll_json_key(json, "missing");
    ll_json_open_list(json);
    for (size_t i = 0; i < closure->missing_count; i++)
        ll_json_text(json, closure->missing[i].name);
    ll_json_close_list(json);
    ll_json_key(json, "binaries");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < closure->count; i++)
        put_binary(json, coverage, i, mechanism);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* NAME=FILE, and behind it what the variable holds already. */
static const char *ahead_of_others(struct ll_arena *arena, const char *name, const char *tools,
                                   const char *file)
{
    const char *before = getenv(name);
    bool has = before && *before;
    return ll_format(arena, "%s=%s/%s%s%s", name, tools, file, has ? ":" : "", has ? before : "");
}

/* The folder under a name that LD_PRELOAD and LD_AUDIT can hold: they end names at these characters, and
 * replace what begins with a dollar. Where its own is none, a link in the folder of rings leads there. */
static enum ll_status find_plain_name(struct ll_arena *arena, const char **tools, const char *rings)
{
    static const char special[] = " :;$";
    if (!strpbrk(*tools, special))
        return LL_OK;
    const char *link = ll_format(arena, "%s/tools", rings);
    if (!link)
        return LL_NO_MEMORY;
    if (strpbrk(link, special) || (symlink(*tools, link) != 0 && errno != EEXIST))
        return LL_CANNOT_WRITE;
    *tools = link;
    return LL_OK;
}

/* Routines that are linked in and hidden: where they begin, as libelf found it. */
static enum ll_status write_entries(struct ll_arena *arena, const struct ll_coverage *coverage,
                                    const char *rings)
{
    struct ll_str lines = {0};
    const char *path = ll_format(arena, "%s/" LL_ENTRIES_FILE, rings);
    for (size_t i = 0; i < coverage->route_count; i++) {
        const struct ll_symbol_route *route = &coverage->routes[i];
        const struct ll_format_binary *binary = &coverage->closure->binaries[route->binary];
        const char *name = coverage->names[route->symbol];
        if (route->reach != LL_REACH_HIDDEN)
            continue;
        const struct ll_elf_symbol *function = ll_elf_find_function(binary->elf, name);
        ll_str_addf(&lines, "%s %" PRIx64 " %" PRIu64 " %s\n", name, function->address, function->size_bytes,
                    binary->path);
    }
    enum ll_status status = !path || lines.failed ? LL_NO_MEMORY
                            : lines.length        ? ll_write_whole(path, &lines)
                                                  : LL_OK;
    ll_str_release(&lines);
    return status;
}

enum ll_status ll_launch_prepare(struct ll_arena *arena, const struct ll_coverage *coverage,
                                 enum ll_mechanism mechanism, const char *tools, const char *rings,
                                 struct ll_launch *launch)
{
    size_t count = 0;
    *launch = (struct ll_launch){0};
    launch->settings[count++] = ll_format(arena, LL_RING_FOLDER_VARIABLE "=%s", rings);
    if (mechanism == LL_MECHANISM_PROBE) {
        launch->prefix[0] = ll_format(arena, "%s/leadline-probe", tools);
        return launch->settings[0] && launch->prefix[0] ? LL_OK : LL_NO_MEMORY;
    }
    enum ll_status status = find_plain_name(arena, &tools, rings);
    if (status != LL_OK)
        return status;
    launch->settings[count++] = ahead_of_others(arena, "LD_PRELOAD", tools, "libleadline-preload.so");
    if (mechanism == LL_MECHANISM_AUDIT)
        launch->settings[count++] = ahead_of_others(arena, "LD_AUDIT", tools, "libleadline-audit.so");
    if (mechanism != LL_MECHANISM_PRELOAD)
        launch->settings[count++] =
            ll_format(arena, LL_MECHANISM_VARIABLE "=%s", ll_mechanism_name(mechanism));
    for (size_t i = 0; i < count; i++)
        if (!launch->settings[i])
            return LL_NO_MEMORY;
    return mechanism == LL_MECHANISM_ENTRY ? write_entries(arena, coverage, rings) : LL_OK;
}
