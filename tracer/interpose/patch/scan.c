/* SPDX-License-Identifier: Apache-2.0 */
/* Which libraries are patched, and when: all that are there before main, and what dlopen brings, before it
 * returns. Whatever the mechanism, those that are there before main get back what they asked for weakly in
 * vain. The loader calls no one when it has loaded something, so dlopen's own slots are rewritten too.
 *
 * dlopen looks for libraries where its caller wants them (RPATH, RUNPATH), and would take us for the caller.
 * What is not loaded already is therefore searched in the caller's folders first, as the loader does. */
#define _GNU_SOURCE
#include "tracer/interpose/patch/patch.h"

#include "tracer/base/hash.h"
#include "tracer/interpose/preload/api.h"
#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/ring.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WANTED_SLOTS = 8192, MOST_DONE = 4096, PATH_BYTES = 4096, LINE_BYTES = 8192 };

static struct ll_patch_target routines[] = {
#define LL_SYMBOL(name, ...) {#name, NULL, LL_SYMBOL_##name},
#include "tracer/interpose/symbols.def"
};

static const struct ll_patch_target *wanted[WANTED_SLOTS]; /* by hash; at least half of it stays free */
_Static_assert(2 * sizeof routines / sizeof routines[0] < WANTED_SLOTS, "more slots are needed");
static bool with_entries;

static void *open_library(const char *name, int flags);
static const struct ll_patch_target opener = {"dlopen", (void *)(uintptr_t)open_library, LL_PATCH_OTHER};

static uint32_t slot_of(const char *name)
{
    return ll_digest(name, strlen(name)) % WANTED_SLOTS;
}

static void want(const struct ll_patch_target *it)
{
    uint32_t at = slot_of(it->name);
    while (wanted[at])
        at = (at + 1) % WANTED_SLOTS;
    wanted[at] = it;
}

const struct ll_patch_target *ll_patch_target_find(const char *name)
{
    uint32_t at = slot_of(name);
    while (wanted[at] && strcmp(wanted[at]->name, name) != 0)
        at = (at + 1) % WANTED_SLOTS;
    return wanted[at];
}

static void patch_exports(const struct ll_loaded *library)
{
    for (size_t i = 0; i < sizeof routines / sizeof routines[0]; i++) {
        const ElfW(Sym) *symbol = ll_loaded_find(library, routines[i].name);
        if (symbol)
            ll_entry_patch((void *)(library->base + symbol->st_value), symbol->st_size, routines[i].wrapper);
    }
}

/* Libraries that were patched, by their dynamic sections; all are forgotten when one was closed, as another
 * may lie in its place. */
static const void *done[MOST_DONE];
static size_t done_count;

static bool is_done(const struct dl_phdr_info *info, const void *dynamic)
{
    static unsigned long long closed;
    if (info->dlpi_subs != closed)
        done_count = 0;
    closed = info->dlpi_subs;
    for (size_t i = 0; i < done_count; i++)
        if (done[i] == dynamic)
            return true;
    if (done_count < MOST_DONE)
        done[done_count++] = dynamic;
    return false;
}

/* Whether it has tables that concern us. */
static bool binds(const struct ll_loaded *library)
{
    return library->dynamic && library->symbols && library->strings && !ll_is_ours(library->dynamic);
}

static int unbind_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct ll_loaded library;
    (void)size, (void)context;
    ll_loaded_read(&library, info);
    if (binds(&library))
        ll_slots_unbind(&library);
    return 0;
}

/* The loader's lock is held. */
static int patch_library(struct dl_phdr_info *info, size_t size, void *context)
{
    struct ll_loaded library;
    (void)size, (void)context;
    ll_loaded_read(&library, info);
    if (is_done(info, library.dynamic) || !binds(&library))
        return 0;
    ll_slots_unbind(&library);
    ll_slots_patch(&library);
    if (with_entries)
        patch_exports(&library);
    return 0;
}

/* One at a time; a thread that comes meanwhile waits, as dlopen itself makes it wait. */
static void patch_all(void)
{
    int error = errno;
    dl_iterate_phdr(patch_library, NULL);
    errno = error;
}

/* The folder of a library, into a text of PATH_BYTES. */
static bool copy_folder(const struct link_map *library, char *to)
{
    if (*library->l_name) {
        const char *slash = strrchr(library->l_name, '/');
        size_t length = slash ? (size_t)(slash - library->l_name) : 0;
        return slash && snprintf(to, PATH_BYTES, "%.*s", (int)length, library->l_name) < PATH_BYTES;
    }
    ssize_t length = readlink("/proc/self/exe", to, PATH_BYTES - 1);
    if (length <= 0)
        return false;
    to[length] = '\0';
    *strrchr(to, '/') = '\0';
    return true;
}

/* How much of a folder's name stands for the folder of its library. */
static size_t origin_bytes(const char *folder)
{
    static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
        if (strncmp(folder, tokens[i], strlen(tokens[i])) == 0)
            return strlen(tokens[i]);
    return 0;
}

/* folder/name with $ORIGIN replaced; whether there is such a file. */
static bool is_in(const char *folder, size_t length, const struct link_map *library, const char *name,
                  char *path)
{
    char origin[PATH_BYTES] = "";
    size_t skipped = origin_bytes(folder);
    if (length == 0 || length < skipped || (skipped && !copy_folder(library, origin)))
        return false;
    int bytes =
        snprintf(path, PATH_BYTES, "%s%.*s/%s", origin, (int)(length - skipped), folder + skipped, name);
    return bytes > 0 && bytes < PATH_BYTES && access(path, R_OK) == 0;
}

static bool is_in_one(const char *folders, const struct link_map *library, const char *name, char *path)
{
    while (folders) {
        size_t length = strcspn(folders, ":;");
        if (is_in(folders, length, library, name, path))
            return true;
        folders = folders[length] ? folders + length + 1 : NULL;
    }
    return false;
}

/* The caller's RUNPATH or RPATH, NULL without one. */
static const char *folders_of(const struct link_map *library, bool *is_runpath)
{
    const char *strings = NULL;
    ElfW(Xword) at = 0;
    *is_runpath = false;
    for (const ElfW(Dyn) *entry = library->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_STRTAB)
            strings = (const char *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !at))
            at = entry->d_un.d_val;
        *is_runpath |= entry->d_tag == DT_RUNPATH;
    }
    return strings && at ? strings + at : NULL;
}

/* LD_LIBRARY_PATH as it was when the loader read it; it stands between RPATH and RUNPATH (ld.so(8)). */
static char library_path[LINE_BYTES];

static bool search_for_caller(const void *caller, const char *name, char *path)
{
    Dl_info info;
    struct link_map *library = NULL;
    bool is_runpath;
    if (!dladdr1(caller, &info, (void **)&library, RTLD_DL_LINKMAP) || !library)
        return false;
    const char *folders = folders_of(library, &is_runpath);
    if (folders && is_runpath && is_in_one(library_path, library, name, path))
        return false;
    return is_in_one(folders, library, name, path);
}

static void *open_library(const char *name, int flags)
{
    char path[PATH_BYTES];
    void *handle = NULL;
    if (name && *name && !strchr(name, '/')) {
        handle = dlopen(name, flags | RTLD_NOLOAD);
        if (!handle)
            dlerror(); /* the failure was ours */
        if (!handle && search_for_caller(__builtin_return_address(0), name, path))
            name = path;
    }
    if (!handle)
        handle = dlopen(name, flags);
    if (handle && !(flags & RTLD_NOLOAD))
        patch_all();
    return handle;
}

/* Functions that only files know. */
struct hidden {
    uint64_t address, size_bytes;
    const struct ll_patch_target *wanted;
    struct stat file;
};

static int patch_hidden(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct hidden *hidden = context;
    struct stat file;
    (void)size;
    if (stat(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", &file) != 0 ||
        file.st_dev != hidden->file.st_dev || file.st_ino != hidden->file.st_ino)
        return 0;
    ll_entry_patch((void *)(info->dlpi_addr + hidden->address), hidden->size_bytes, hidden->wanted->wrapper);
    return 1;
}

/* The lines of LL_ENTRIES_FILE. */
static void patch_listed(const char *folder)
{
    char line[LINE_BYTES], symbol[64], path[PATH_BYTES];
    struct hidden hidden;
    snprintf(path, sizeof path, "%s/" LL_ENTRIES_FILE, folder);
    FILE *lines = fopen(path, "re");
    while (lines && fgets(line, sizeof line, lines)) {
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%63s %" SCNx64 " %" SCNu64 " %n", symbol, &hidden.address, &hidden.size_bytes,
                   &path_at) != 3 ||
            !path_at)
            continue;
        hidden.wanted = ll_patch_target_find(symbol);
        if (hidden.wanted && stat(line + path_at, &hidden.file) == 0)
            dl_iterate_phdr(patch_hidden, &hidden);
    }
    if (lines)
        fclose(lines);
}

__attribute__((constructor)) static void start(void)
{
    const char *mechanism = getenv(LL_MECHANISM_VARIABLE), *folder = getenv(LL_RING_FOLDER_VARIABLE);
    int error = errno;
    dl_iterate_phdr(unbind_library, NULL);
    errno = error;
    if (!folder)
        return;
    for (size_t i = 0; i < sizeof routines / sizeof routines[0]; i++) {
        routines[i].wrapper = ll_wrapper_of(routines[i].symbol);
        want(&routines[i]);
    }
    if (!mechanism)
        return;
    const char *folders = getenv("LD_LIBRARY_PATH");
    size_t bytes = folders ? strlen(folders) + 1 : 0;
    if (bytes <= sizeof library_path)
        memcpy(library_path, folders ? folders : "", bytes);
    want(&opener);
    with_entries = strcmp(mechanism, "entry") == 0;
    if (with_entries || strcmp(mechanism, "patch") == 0)
        patch_all();
    if (with_entries)
        patch_listed(folder);
    errno = error;
}
