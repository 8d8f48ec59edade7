/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and reading machine files. */
#define _POSIX_C_SOURCE 200809L
#include "sim/machine/steps.h"
#include "tracer/base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char suffix[] = ".yaml";

static bool has_suffix(const char *name)
{
    size_t length = strlen(name), wanted = strlen(suffix);
    return length > wanted && !strcmp(name + length - wanted, suffix);
}

static bool is_file(const char *path)
{
    struct stat status;
    return path && !stat(path, &status) && S_ISREG(status.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat status;
    return path && !stat(path, &status) && S_ISDIR(status.st_mode);
}

/* Whatever can be read, as a pipe can, once. */
static bool is_readable(const char *path)
{
    struct stat status;
    return path && !stat(path, &status) && !S_ISDIR(status.st_mode);
}

/* The file of this name in the folder that another file is in. */
static const char *path_beside(const char *which, const char *beside, struct ll_arena *arena)
{
    const char *slash = beside && which[0] != '/' ? strrchr(beside, '/') : NULL;
    return slash ? ll_format(arena, "%.*s/%s", (int)(slash - beside), beside, which)
                 : ll_copy_text(arena, which, strlen(which));
}

/* A stem there, or the name of a file. */
static const char *path_in_folders(const char *which, const char *const *folders, struct ll_arena *arena)
{
    for (; which[0] != '/' && folders && *folders; folders++) {
        const char *path = ll_format(arena, "%s/%s%s", *folders, which, has_suffix(which) ? "" : suffix);
        if (is_file(path))
            return path;
    }
    return NULL;
}

/* How long the part of a name is that names a folder, with its slash; 0: none. */
static size_t folder_length(const char *which)
{
    return (size_t)(ll_base_name(which) - which);
}

/* Adds the machines of these folders: what the name has in front, their stems, an ending. */
static void add_known(const char *which, const char *const *folders, const char *ending,
                      struct ll_arena *arena, struct ll_near_words *words)
{
    const char **stems;
    size_t count;
    if (!ll_machine_list(folders, arena, &stems, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *name = ll_format(arena, "%.*s%s%s", (int)folder_length(which), which, stems[i], ending);
        if (name)
            ll_near_words_add(words, name);
    }
}

/* The folder of such a name, where its path begins; NULL-terminated. */
static void add_known_beside(const char *which, const char *beside, struct ll_arena *arena,
                             struct ll_near_words *words)
{
    const char *path = path_beside(which, beside, arena);
    const char *folder = path ? ll_copy_text(arena, path, folder_length(path)) : NULL;
    const char *const folders[] = {folder, NULL};
    add_known(which, folders, suffix, arena, words);
}

/* As `stacks/xla_tpu` is one of a folder below. */
static void add_known_below(const char *which, const char *const *folders, struct ll_arena *arena,
                            struct ll_near_words *words)
{
    for (; folders && *folders; folders++) {
        const char *below = ll_format(arena, "%s/%.*s", *folders, (int)folder_length(which), which);
        add_known(which, (const char *const[]){below, NULL}, "", arena, words);
    }
}

/* A name with a folder: the nearest that is in it, else all. */
static const char *suggest_in_folder(const char *which, const char *beside, const char *const *folders,
                                     struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_near_words known = {.count = 0}, names = {.count = 0};
    add_known_beside(which, beside, arena, &known);
    if (which[0] != '/' && which[0] != '.')
        add_known_below(which, folders, arena, &known);
    for (size_t i = 0; i < known.count; i++)
        ll_near_words_add(&names, ll_base_name(known.words[i]));
    const char *nearest = ll_nearest(ll_base_name(which), names.words, names.count);
    const char *meant =
        nearest ? ll_format(arena, "; did you mean `%s`?", nearest - folder_length(which)) : NULL;
    return meant ? meant : ll_suggest(diags, which, &known);
}

/* Where machines were looked for, none of which is there. */
static const char *suggest_folders(const char *const *folders, struct ll_arena *arena)
{
    const char *text = "; no folder of machines was found";
    for (size_t i = 0; text && folders && folders[i]; i++)
        text = ll_format(arena, "%s%s%s", text, i ? ", " : ": looked in ", folders[i]);
    text = text ? ll_format(arena, "%s; LEADLINE_PATH may name one", text) : NULL;
    return text ? text : "";
}

/* Whether a word begins so, in capitals or not. */
static bool begins(const char *word, const char *with)
{
    while (*with && tolower((unsigned char)*word) == tolower((unsigned char)*with)) {
        word++;
        with++;
    }
    return *with == '\0';
}

/* What may have been meant: those that begin so, else the nearest name; else where the names are. */
static const char *suggest_name(const char *which, const char *const *folders, struct ll_arena *arena,
                                struct ll_diags *diags)
{
    struct ll_near_words known = {.count = 0}, longer = {.count = 0};
    add_known(which, folders, "", arena, &known);
    for (size_t i = 0; *which && i < known.count; i++)
        if (begins(known.words[i], which))
            ll_near_words_add(&longer, known.words[i]);
    if (!known.count)
        return suggest_folders(folders, arena);
    if (longer.count)
        return ll_suggest(diags, which, &longer);
    return ll_nearest(which, known.words, known.count) ? ll_suggest(diags, which, &known)
                                                       : "; `leadline machines` lists them";
}

static const char *no_file(const char *which, const char *beside, const char *const *folders,
                           struct ll_place place, struct ll_arena *arena, struct ll_diags *diags)
{
    const char *suggestion = folder_length(which) ? suggest_in_folder(which, beside, folders, arena, diags)
                                                  : suggest_name(which, folders, arena, diags);
    ll_complain(diags, place, "no file and no known machine `%s`%s", ll_shown_text(which).text, suggestion);
    return NULL;
}

const char *ll_file_find(const char *which, const char *beside, const char *const *folders,
                         struct ll_place place, struct ll_arena *arena, struct ll_diags *diags)
{
    const char *named = path_beside(which, beside, arena), *path = named;
    if (is_readable(path))
        return path;
    path = beside && path ? ll_format(arena, "%s%s", path, suffix) : NULL;
    if (is_file(path))
        return path;
    path = path_in_folders(which, folders, arena);
    if (!path && is_folder(named)) {
        ll_complain(diags, place, "`%s` is a folder; expected a machine file, or the name of a machine",
                    ll_shown_text(which).text);
        return NULL;
    }
    return path ? path : no_file(which, beside, folders, place, arena, diags);
}

const char *ll_file_find_data(const char *which, struct ll_place place, const char *const *folders,
                              struct ll_arena *arena, struct ll_diags *diags)
{
    const char *path = path_beside(which, place.file, arena);
    for (; which[0] != '/' && folders && *folders && !is_file(path); folders++)
        path = ll_format(arena, "%s/%s", *folders, which);
    if (is_file(path))
        return path;
    ll_complain(diags, place, "no file `%s`, neither beside this one nor where machines are",
                ll_shown_text(which).text);
    return NULL;
}

const char *ll_file_read(const char *path, struct ll_place place, struct ll_arena *arena,
                         struct ll_diags *diags, size_t *length)
{
    struct ll_contents text;
    enum ll_status status = ll_read_whole(path, LL_YAML_LIMIT_BYTES, arena, &text);
    if (status != LL_OK) {
        ll_complain(diags, place, "%s: %s", path, ll_status_text(status));
        return NULL;
    }
    *length = text.length;
    return text.bytes;
}

const char *ll_file_stem(const char *path, struct ll_arena *arena)
{
    const char *name = ll_base_name(path);
    size_t length = strlen(name) - (has_suffix(name) ? strlen(suffix) : 0);
    return ll_copy_text(arena, name, length);
}

/* Stems of one folder are added to the list; a folder that is not there has none. */
static bool list_folder(const char *folder, struct ll_arena *arena, const char ***stems, uint64_t *capacity,
                        size_t *count)
{
    DIR *entries = opendir(folder);
    bool right = true;
    for (struct dirent *entry; entries && right && (entry = readdir(entries));) {
        if (!has_suffix(entry->d_name) || entry->d_name[0] == '.')
            continue;
        right = ll_grow(stems, capacity, *count + 1, sizeof **stems);
        if (right)
            (*stems)[(*count)++] = ll_file_stem(entry->d_name, arena);
        right = right && (*stems)[*count - 1];
    }
    if (entries)
        closedir(entries);
    return right;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t drop_doubles(const char **sorted, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(sorted[kept - 1], sorted[i]))
            sorted[kept++] = sorted[i];
    return kept;
}

bool ll_machine_list(const char *const *folders, struct ll_arena *arena, const char ***stems, size_t *count)
{
    const char **found = NULL;
    uint64_t capacity = 0;
    bool right = true;
    *count = 0;
    for (; folders && *folders && right; folders++)
        right = list_folder(*folders, arena, &found, &capacity, count);
    if (right && *count) {
        qsort(found, *count, sizeof *found, compare_texts);
        *count = drop_doubles(found, *count);
    }
    *stems = right ? ll_alloc(arena, *count, sizeof **stems) : NULL;
    if (*stems && *count)
        memcpy(*stems, found, *count * sizeof *found);
    free(found);
    return *stems != NULL;
}
