/* SPDX-License-Identifier: Apache-2.0 */
/* From a word to files. A machine is named by its file, or by words that these folders give a meaning:
 *
 *     h100_sxm                  devices/h100_sxm.yaml, with the stack `kernels`
 *     h100_sxm+pytorch          the same under stacks/pytorch/nvidia_hopper.yaml, else stacks/pytorch.yaml
 *     dgx_h100+archive/vidur    systems/dgx_h100.yaml under archive/vidur.yaml
 *     h100                      whatever aliases.yaml says, which is remarked
 *
 * The first section finds files, the second the files of a stack, the third looks words up in aliases.yaml;
 * then words become files, and what cannot be found is complained of with the nearest right words. */
#define _POSIX_C_SOURCE 200809L
#include "sim/machine/steps.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tracer/base/file.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"

static const char suffix[] = ".yaml";

/* Where machines lie in a folder of machines; stacks and what else is not a machine lies beside. */
static const char *const parts[] = {"", "devices/", "systems/", "accelerators/", NULL};
static const char *const top[] = {"", NULL};

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

/* The folder of machines that a file belongs to: the nearest one above it that has stacks. NULL: none. */
static const char *home_of(const char *path, struct ll_arena *arena)
{
    const char *home = path;
    for (int level = 0; home && level < 3; level++) {
        const char *slash = strrchr(home, '/');
        if (!slash && home != path)
            return NULL;
        home = slash ? ll_copy_text(arena, home, (size_t)(slash - home)) : ".";
        if (is_folder(ll_format(arena, "%s/stacks", home)))
            return home;
    }
    return NULL;
}

/* The folders in which files named by a file are looked for: those of the lookup, behind its own home. */
static const char *const *roots_of(const struct ll_lookup *lookup, const char *beside)
{
    size_t count = 0;
    while (lookup->folders && lookup->folders[count])
        count++;
    const char *home = home_of(beside, lookup->arena);
    const char **roots = ll_alloc(lookup->arena, count + 2, sizeof *roots);
    if (!roots)
        return NULL;
    roots[0] = home;
    if (count)
        memcpy(roots + (home ? 1 : 0), lookup->folders, count * sizeof *roots);
    return roots;
}

/* The first of the roots that has such a file in the first of these folders; NULL: none. */
static const char *in_roots(const struct ll_lookup *lookup, const char *const *roots,
                            const char *const *folders, const char *name)
{
    for (; roots && *roots && name[0] != '/'; roots++)
        for (const char *const *folder = folders; *folder; folder++) {
            const char *path =
                ll_format(lookup->arena, "%s/%s%s%s", *roots, *folder, name, has_suffix(name) ? "" : suffix);
            if (is_file(path))
                return path;
        }
    return NULL;
}

/* A file beside another one, or a machine's of the roots; NULL: none. */
static const char *find_file(const struct ll_lookup *lookup, const char *which, const char *beside)
{
    const char *path = path_beside(which, beside, lookup->arena);
    if (is_readable(path))
        return path;
    path = beside && path ? ll_format(lookup->arena, "%s%s", path, suffix) : NULL;
    if (is_file(path))
        return path;
    return in_roots(lookup, roots_of(lookup, beside), parts, which);
}

const char *ll_file_find_data(const char *which, struct ll_place place, const char *const *folders,
                              struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_lookup lookup = {folders, arena, diags};
    const char *path = path_beside(which, place.file, arena);
    const char *const *roots = is_file(path) ? NULL : roots_of(&lookup, place.file);
    for (; which[0] != '/' && roots && *roots && !is_file(path); roots++)
        path = ll_format(arena, "%s/%s", *roots, which);
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

/* Lists of names: what lies in folders. */

struct names {
    const char **at;
    uint64_t capacity;
    size_t count;
};

static bool add_name(struct names *names, const char *name)
{
    bool right = name && ll_grow(&names->at, &names->capacity, names->count + 1, sizeof *names->at);
    if (right)
        names->at[names->count++] = name;
    return right;
}

/* Stems of a folder's files, and names of the folders in it where these are wanted too; a folder that is not
 * there has none. False when memory ran out, already for the folder's name too (NULL). */
static bool list_folder(const char *folder, bool with_folders, struct ll_arena *arena, struct names *names)
{
    DIR *entries = folder ? opendir(folder) : NULL;
    bool right = folder != NULL;
    for (struct dirent *entry; entries && right && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "aliases.yaml") ||
            !strcmp(entry->d_name, "served.yaml"))
            continue;
        if (has_suffix(entry->d_name))
            right = add_name(names, ll_file_stem(entry->d_name, arena));
        else if (with_folders && is_folder(ll_format(arena, "%s/%s", folder, entry->d_name)))
            right = add_name(names, ll_copy_text(arena, entry->d_name, strlen(entry->d_name)));
    }
    if (entries)
        closedir(entries);
    return right;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, each once, in the arena; the list is released. NULL when memory ran out. */
static const char **sorted(struct names *names, bool right, struct ll_arena *arena, size_t *count)
{
    size_t kept = 0;
    if (right && names->count)
        qsort(names->at, names->count, sizeof *names->at, compare_texts);
    for (size_t i = 0; i < names->count; i++)
        if (kept == 0 || strcmp(names->at[kept - 1], names->at[i]))
            names->at[kept++] = names->at[i];
    const char **list = right ? ll_alloc(arena, kept, sizeof *list) : NULL;
    if (list && kept)
        memcpy(list, names->at, kept * sizeof *list);
    free(names->at);
    *count = list ? kept : 0;
    return list;
}

bool ll_machine_list(const char *const *folders, const char *part, struct ll_arena *arena,
                     const char ***stems, size_t *count)
{
    struct names found = {NULL, 0, 0};
    bool right = true;
    for (; folders && *folders && right; folders++)
        for (size_t i = 0; parts[i] && right; i++)
            if (!part || !strcmp(part, parts[i]))
                right = list_folder(ll_format(arena, "%s/%s", *folders, parts[i]), false, arena, &found);
    *stems = sorted(&found, right, arena, count);
    return *stems != NULL;
}

/* The files of a stack. */

enum { MOST_FAMILY = 64 };

/* "nvidia_hopper" to "nvidia": the family that a family belongs to. False: to none. */
static bool widen(char family[MOST_FAMILY])
{
    char *last = strrchr(family, '_');
    if (last)
        *last = '\0';
    return last != NULL;
}

/* The part of a stack for a family, or for one that it belongs to, in the first of these folders, which NULL
 * ends; NULL: none. */
static const char *find_part(const struct ll_lookup *lookup, const char *const *roots,
                             const char *const *stacks, const char *family)
{
    char wide[MOST_FAMILY];
    snprintf(wide, sizeof wide, "%s", family);
    const char *path = NULL;
    do
        path = in_roots(lookup, roots, stacks, wide);
    while (!path && widen(wide));
    return path;
}

const char *ll_library_find(const struct ll_lookup *lookup, const char *beside, const char *family)
{
    static const char *const libraries[] = {"stacks/libraries/", "archive/libraries/", NULL};
    return find_part(lookup, roots_of(lookup, beside), libraries, family);
}

const char *ll_stack_find(const struct ll_lookup *lookup, const char *device, const char *stack,
                          const char *family)
{
    const char *const *roots = roots_of(lookup, device);
    const char *name = strchr(stack, '/') ? stack : ll_format(lookup->arena, "stacks/%s", stack);
    const char *const folder[] = {name ? ll_format(lookup->arena, "%s/", name) : NULL, NULL};
    if (!folder[0])
        return NULL;
    const char *path = device ? in_roots(lookup, roots, folder, ll_file_stem(device, lookup->arena)) : NULL;
    path = path ? path : find_part(lookup, roots, folder, family);
    path = path ? path : in_roots(lookup, roots, top, name);
    return path || !has_suffix(stack) || !is_readable(stack) ? path : stack;
}

bool ll_family_is_of(const char *family, const char *wider)
{
    size_t length = strlen(wider);
    return strncmp(family, wider, length) == 0 && (family[length] == '\0' || family[length] == '_');
}

/* Whether a file of a stack that is for several families is for this one: it lists it, or none at all. */
static bool lists_family(const struct ll_lookup *lookup, const char *path, const char *family)
{
    size_t length;
    const char *text = ll_file_read(path, (struct ll_place){0}, lookup->arena, lookup->diags, &length);
    struct ll_node *tree = text ? ll_node_parse(lookup->arena, text, length, path, lookup->diags) : NULL;
    const struct ll_node *families = tree ? ll_node_get(tree, "families") : NULL;
    bool listed = !families;
    for (const struct ll_node *it = families ? families->first : NULL; it && !listed; it = it->next)
        listed = it->text && ll_family_is_of(family, it->text);
    return listed;
}

bool ll_stack_list(const char *const *folders, const char *beside, const char *family, struct ll_arena *arena,
                   const char ***stacks, size_t *count)
{
    struct ll_diags unheard = {0};
    const struct ll_lookup lookup = {folders, arena, &unheard};
    struct names found = {NULL, 0, 0}, fitting = {NULL, 0, 0};
    bool right = true;
    for (const char *const *root = roots_of(&lookup, beside); root && *root && right; root++)
        right = list_folder(ll_format(arena, "%s/stacks", *root), true, arena, &found);
    for (size_t i = 0; i < found.count && right; i++) {
        bool is_library = !strcmp(found.at[i], "libraries");
        const char *path = family && !is_library ? ll_stack_find(&lookup, beside, found.at[i], family) : NULL;
        bool is_default =
            !strcmp(found.at[i], LL_DEFAULT_STACK); /* which need not have a file for everybody */
        if (!is_library && (!family || is_default || (path && lists_family(&lookup, path, family))))
            right = add_name(&fitting, found.at[i]);
    }
    free(found.at);
    ll_diags_release(&unheard);
    *stacks = sorted(&fitting, right, arena, count);
    return *stacks != NULL;
}

/* The table of names, aliases.yaml. */

static struct ll_node *read_table(const struct ll_lookup *lookup, const char *folder)
{
    const char *path = ll_format(lookup->arena, "%s/aliases.yaml", folder);
    size_t length;
    if (!is_file(path))
        return NULL;
    const char *text = ll_file_read(path, (struct ll_place){0}, lookup->arena, lookup->diags, &length);
    return text ? ll_node_parse(lookup->arena, text, length, path, lookup->diags) : NULL;
}

struct ll_aliases {
    struct ll_map keys; /* names of hardware, in small letters */
    const char **targets;
    uint64_t capacity;
    struct ll_arena *arena;
};

static const char *small_letters(const char *text, struct ll_arena *arena)
{
    char *copy = ll_copy_text(arena, text, strlen(text));
    for (char *at = copy; at && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return copy;
}

static bool add_hardware(struct ll_aliases *aliases, const struct ll_node *entry, struct ll_diags *diags)
{
    bool is_new;
    const char *key = small_letters(entry->key, aliases->arena);
    if (!entry->text)
        return ll_complain(diags, entry->place, "`%s`: expected a machine", ll_shown_text(entry->key).text);
    uint32_t id = key ? ll_map_intern(&aliases->keys, key, strlen(key), &is_new) : LL_NO_ID;
    if (id == LL_NO_ID ||
        !ll_grow(&aliases->targets, &aliases->capacity, (uint64_t)id + 1, sizeof *aliases->targets))
        return ll_complain(diags, entry->place, "memory ran out");
    if (is_new) /* the folder that is named first wins */
        aliases->targets[id] = entry->text;
    return true;
}

struct ll_aliases *ll_aliases_read(const char *const *folders, struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_lookup lookup = {folders, arena, diags};
    struct ll_aliases *aliases = calloc(1, sizeof *aliases);
    size_t before = diags->count;
    if (aliases)
        aliases->arena = arena;
    for (; aliases && folders && *folders; folders++) {
        const struct ll_node *table = read_table(&lookup, *folders);
        const struct ll_node *hardware = table ? ll_node_get(table, "hardware") : NULL;
        for (const struct ll_node *entry = hardware ? hardware->first : NULL; entry; entry = entry->next)
            if (entry->key)
                add_hardware(aliases, entry, diags);
    }
    if (aliases && diags->count == before)
        return aliases;
    ll_aliases_free(aliases);
    return NULL;
}

void ll_aliases_free(struct ll_aliases *aliases)
{
    if (!aliases)
        return;
    ll_map_release(&aliases->keys);
    free(aliases->targets);
    free(aliases);
}

const char *ll_aliases_find(const struct ll_aliases *aliases, const char *hardware)
{
    char small[LL_MOST_HARDWARE];
    size_t length = 0;
    for (; hardware[length] && length + 1 < sizeof small; length++)
        small[length] = (char)tolower((unsigned char)hardware[length]);
    if (hardware[length])
        return NULL;
    uint32_t id = ll_map_find(&aliases->keys, small, length);
    return id == LL_NO_ID ? NULL : aliases->targets[id];
}

/* What a word stands for by a section of a table; NULL: nothing. */
static const char *look_up(const struct ll_node *table, const char *section, const char *word)
{
    const struct ll_node *entries = table ? ll_node_get(table, section) : NULL;
    return entries ? ll_node_get_text(entries, word) : NULL;
}

/* What a word stands for, which is remarked; NULL: nothing. */
static const char *alias_of(const struct ll_lookup *lookup, const char *word, const char *beside,
                            struct ll_place place)
{
    for (const char *const *root = roots_of(lookup, beside); root && *root; root++) {
        const struct ll_node *table = read_table(lookup, *root);
        const char *habit = look_up(table, "names", word), *renamed = look_up(table, "renamed", word);
        if (habit)
            ll_remark(lookup->diags, place, "`%s`: taken as `%s`", word, habit);
        else if (renamed)
            ll_remark(lookup->diags, place,
                      "`%s` is now called `%s`; the old name is read for one more minor version", word,
                      renamed);
        if (habit || renamed)
            return habit ? habit : renamed;
    }
    return NULL;
}

/* What may have been meant. */

/* How long the part of a name is that names a folder, with its slash; 0: none. */
static size_t folder_length(const char *which)
{
    return (size_t)(ll_base_name(which) - which);
}

/* Adds the files of a folder: what the name has in front, their stems, an ending. */
static void add_files(const char *which, const char *folder, const char *ending, struct ll_arena *arena,
                      struct ll_near_words *words)
{
    struct names names = {NULL, 0, 0};
    size_t count;
    bool right = folder && list_folder(folder, !*ending, arena, &names);
    const char **stems = sorted(&names, right, arena, &count);
    for (size_t i = 0; stems && i < count; i++) {
        const char *name = ll_format(arena, "%.*s%s%s", (int)folder_length(which), which, stems[i], ending);
        if (name)
            ll_near_words_add(words, name);
    }
}

/* A name with a folder: the nearest that is in it, beside the file that names it or below the roots; else
 * all. */
static const char *suggest_in_folder(const struct ll_lookup *lookup, const char *which, const char *beside)
{
    struct ll_near_words known = {.count = 0}, names = {.count = 0};
    const char *path = path_beside(which, beside, lookup->arena);
    add_files(which, path ? ll_copy_text(lookup->arena, path, folder_length(path)) : NULL, suffix,
              lookup->arena, &known);
    if (which[0] != '/' && which[0] != '.')
        for (const char *const *root = roots_of(lookup, beside); root && *root; root++)
            add_files(which, ll_format(lookup->arena, "%s/%.*s", *root, (int)folder_length(which), which), "",
                      lookup->arena, &known);
    for (size_t i = 0; i < known.count; i++)
        ll_near_words_add(&names, ll_base_name(known.words[i]));
    const char *nearest = ll_nearest(ll_base_name(which), names.words, names.count);
    const char *meant =
        nearest ? ll_format(lookup->arena, "; did you mean `%s`?", nearest - folder_length(which)) : NULL;
    return meant ? meant : ll_suggest(lookup->diags, which, &known);
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

/* Those machines that begin so, else the nearest name; else where the names are. */
static const char *suggest_name(const struct ll_lookup *lookup, const char *which)
{
    struct ll_near_words known = {.count = 0}, longer = {.count = 0};
    const char **stems;
    size_t count;
    if (!ll_machine_list(lookup->folders, NULL, lookup->arena, &stems, &count))
        return "";
    for (size_t i = 0; i < count; i++) {
        ll_near_words_add(&known, stems[i]);
        if (*which && begins(stems[i], which))
            ll_near_words_add(&longer, stems[i]);
    }
    if (!known.count)
        return suggest_folders(lookup->folders, lookup->arena);
    if (longer.count)
        return ll_suggest(lookup->diags, which, &longer);
    return ll_nearest(which, known.words, known.count) ? ll_suggest(lookup->diags, which, &known)
                                                       : "; `leadline machines` lists them";
}

static bool no_file(const struct ll_lookup *lookup, const char *which, const char *beside,
                    struct ll_place place)
{
    if (is_folder(path_beside(which, beside, lookup->arena)))
        return ll_complain(lookup->diags, place,
                           "`%s` is a folder; expected a machine file, or the name of a machine",
                           ll_shown_text(which).text);
    return ll_complain(lookup->diags, place, "no file and no known machine `%s`%s", ll_shown_text(which).text,
                       folder_length(which) ? suggest_in_folder(lookup, which, beside)
                                            : suggest_name(lookup, which));
}

/* Whether a stack's parts for several families lie in a folder of this name. */
static bool is_folder_of_roots(const struct ll_lookup *lookup, const char *beside, const char *name)
{
    bool found = false;
    for (const char *const *root = roots_of(lookup, beside); root && *root && !found; root++)
        found = is_folder(ll_format(lookup->arena, "%s/%s", *root, name));
    return found;
}

bool ll_stack_complain(const struct ll_lookup *lookup, const char *beside, const char *stack,
                       const char *family, struct ll_place place)
{
    struct ll_near_words words = {.count = 0};
    const char **stacks;
    size_t count;
    if (strchr(stack, '/') && is_folder_of_roots(lookup, beside, stack))
        return ll_complain(lookup->diags, place, "the stack `%s` has nothing for devices of the family %s",
                           ll_shown_text(stack).text, family);
    if (strchr(stack, '/'))
        return ll_complain(lookup->diags, place, "no stack `%s`%s", ll_shown_text(stack).text,
                           suggest_in_folder(lookup, stack, beside));
    if (!ll_stack_list(lookup->folders, beside, NULL, lookup->arena, &stacks, &count))
        return ll_complain(lookup->diags, place, "memory ran out");
    bool exists = false;
    for (size_t i = 0; i < count; i++)
        exists |= !strcmp(stacks[i], stack);
    if (exists && !ll_stack_list(lookup->folders, beside, family, lookup->arena, &stacks, &count))
        return ll_complain(lookup->diags, place, "memory ran out");
    for (size_t i = 0; i < count; i++)
        ll_near_words_add(&words, stacks[i]);
    if (!exists)
        return ll_complain(lookup->diags, place, "no stack `%s`%s", ll_shown_text(stack).text,
                           ll_suggest(lookup->diags, stack, &words));
    return ll_complain(lookup->diags, place, "the stack `%s` has nothing for devices of the family %s%s",
                       stack, family, ll_suggest(lookup->diags, "", &words));
}

/* Words to files. */

/* Cuts "device+stack+stack" up. False after a complaint. */
static bool cut_up(const struct ll_lookup *lookup, const char *which, struct ll_place place,
                   struct ll_machine_words *named)
{
    const char *plus = strchr(which, '+');
    named->base = ll_copy_text(lookup->arena, which, plus ? (size_t)(plus - which) : strlen(which));
    for (; plus; plus = strchr(plus + 1, '+')) {
        size_t length = strcspn(plus + 1, "+");
        if (!length || named->stack_count == LL_MOST_STACKS)
            return ll_complain(lookup->diags, place,
                               length ? "`%s`: at most four stacks over one another"
                                      : "`%s`: expected the name of a stack behind `+`",
                               ll_shown_text(which).text);
        named->stacks[named->stack_count++] = ll_copy_text(lookup->arena, plus + 1, length);
    }
    return named->base != NULL;
}

const char *ll_machine_words_stem(const struct ll_machine_words *named, struct ll_arena *arena)
{
    assert(named->path && named->stack_count <= LL_MOST_STACKS);
    const char *stem = ll_file_stem(named->path, arena), *folder = strstr(named->path, "archive/");
    if (folder && folder[strlen("archive/") + strlen(stem)] == '.')
        stem = ll_format(arena, "archive/%s", stem);
    bool is_default = named->stack_count == 1 && !strcmp(named->stacks[0], LL_DEFAULT_STACK);
    for (size_t i = 0; stem && i < named->stack_count && !is_default; i++)
        stem = ll_format(arena, "%s+%s", stem, named->stacks[i]);
    return stem;
}

/* Puts what an alias stands for in place of the base, or of all where it has stacks of its own. */
static bool follow(const struct ll_lookup *lookup, const char *target, struct ll_place place,
                   struct ll_machine_words *named)
{
    struct ll_machine_words meant = {.base = NULL};
    assert(!named->path); /* a name that a file has stands for itself */
    if (!cut_up(lookup, target, place, &meant))
        return false;
    named->base = meant.base;
    if (named->stack_count == 0) {
        named->stack_count = meant.stack_count;
        memcpy(named->stacks, meant.stacks, sizeof meant.stacks);
    }
    return true;
}

bool ll_name_resolve(const struct ll_lookup *lookup, const char *which, const char *beside,
                     struct ll_place place, struct ll_machine_words *named)
{
    *named = (struct ll_machine_words){.base = which};
    named->path = find_file(lookup, which, beside);
    if (named->path)
        return true;
    if (!cut_up(lookup, which, place, named))
        return false;
    named->path = find_file(lookup, named->base, beside);
    const char *target = named->path ? NULL : alias_of(lookup, named->base, beside, place);
    if (target && follow(lookup, target, place, named))
        named->path = find_file(lookup, named->base, beside);
    return named->path || no_file(lookup, named->base, beside, place);
}

bool ll_machine_is_known(const char *which, const char *const *folders)
{
    struct ll_arena arena = {0};
    struct ll_diags unheard = {0};
    const struct ll_lookup lookup = {folders, &arena, &unheard};
    struct ll_machine_words named = {.base = NULL};
    bool known = false;
    if (*which && cut_up(&lookup, which, (struct ll_place){0}, &named))
        known = in_roots(&lookup, folders, parts, named.base) ||
                alias_of(&lookup, named.base, NULL, (struct ll_place){0});
    ll_diags_release(&unheard);
    ll_arena_release(&arena);
    return known;
}
