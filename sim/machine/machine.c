/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to a machine: inheritance (first section), finding and reading files (second), and the steps in
 * their order (third). The last functions answer what other rooms ask of a machine: peaks, kernels, which
 * levels hold what. */
#define _POSIX_C_SOURCE 200809L
#include "sim/machine/machine.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/machine/steps.h"
#include "tracer/base/file.h"
#include "tracer/base/map.h"

/* A description laid over another.
 *
 *     base            own              merged
 *     clock: 1GHz     clock: 2GHz      clock: 2GHz           the own value, at its own place
 *     units:          units:           units:
 *       - name: a       - name: a        - name: a           items of one name merge by key
 *         rows: 8         rows: 16         rows: 16
 *       - name: b       - name: c        - name: b           others of the base stay where they were,
 *                                        - name: c           new ones come last, or before the next one in
 *                                                            `own` that the base has as well
 *
 * Several bases are laid over one another first, so each wins over those named before it.
 *
 * Own values win because the base is changed in place: it is read for this purpose and belongs to nobody
 * else. */

enum { MOST_FILES = 8, MOST_READ = 64 }; /* one inheriting the other; altogether */

static const char expected[] = "`%s`: expected a file or the stem of a known machine, or a list of them";

/* The files that are being read, the newest first. */
struct chain {
    const char *path;
    const struct chain *from;
    size_t length;
};

struct merger {
    const char *const *folders;
    struct ll_arena *arena;
    struct ll_diags *diags;
    size_t files; /* read so far */
};

/* What a child is found by: the key in a map, the name in a list; NULL when it has none. */
static const char *label_of(const struct ll_node *parent, const struct ll_node *child)
{
    return parent->type == LL_NODE_MAP ? child->key : ll_node_get_text(child, "name");
}

/* Maps, and lists of named items: what can be merged child by child. */
static bool labelled(const struct ll_node *node)
{
    for (const struct ll_node *child = node->first; child; child = child->next)
        if (!label_of(node, child))
            return false;
    return node->type == LL_NODE_MAP || (node->type == LL_NODE_LIST && node->count > 0);
}

/* Finding children by their label without looking at all of them each time. */
struct labels {
    struct ll_map ids;
    struct ll_node **children; /* by id */
    struct ll_node *ahead;     /* by id: new items that stand before this one */
    bool *met;                 /* by id: whether something was laid over it */
};

static bool index_children(const struct ll_node *parent, struct labels *labels)
{
    *labels = (struct labels){.children = calloc(parent->count + 1, sizeof *labels->children),
                              .ahead = calloc(parent->count + 1, sizeof *labels->ahead),
                              .met = calloc(parent->count + 1, sizeof *labels->met)};
    bool right = labels->children != NULL && labels->ahead != NULL && labels->met != NULL;
    for (struct ll_node *child = parent->first; child && right; child = child->next) {
        const char *label = label_of(parent, child);
        bool is_new;
        uint32_t id = ll_map_intern(&labels->ids, label, strlen(label), &is_new);
        right = id != LL_NO_ID;
        if (right && is_new) /* of doubled ones, which were complained of, the first counts */
            labels->children[id] = child;
    }
    return right;
}

static uint32_t find_child(const struct labels *labels, const char *label)
{
    return ll_map_find(&labels->ids, label, strlen(label));
}

static void release(struct labels *labels)
{
    ll_map_release(&labels->ids);
    free(labels->children);
    free(labels->ahead);
    free(labels->met);
}

static bool merge(struct ll_node *base, struct ll_node *own);

/* The value of own, at the place in the tree where base is. */
static void replace(struct ll_node *base, const struct ll_node *own)
{
    struct ll_node *next = base->next;
    *base = *own;
    base->next = next;
}

/* Moves all children of one list behind those of another. */
static void move_children(struct ll_node *from, struct ll_node *to)
{
    for (struct ll_node *child = from->first, *next; child; child = next) {
        next = child->next;
        ll_node_add(to, child);
    }
}

/* The base's children again, each behind the new ones that stand before it; those at the end last. */
static void put_in_order(struct ll_node *base, const struct labels *labels, struct ll_node *last)
{
    struct ll_node *child = base->first, *next;
    base->first = base->last = NULL;
    base->count = 0;
    for (; child; child = next) {
        next = child->next;
        uint32_t id = find_child(labels, label_of(base, child));
        if (labels->children[id] == child)
            move_children(&labels->ahead[id], base);
        ll_node_add(base, child);
    }
    move_children(last, base);
}

static bool merge_children(struct ll_node *base, struct ll_node *own)
{
    struct labels labels;
    struct ll_node fresh = {.type = base->type}; /* since the last one that the base has, too */
    bool right = index_children(base, &labels);
    for (struct ll_node *child = own->first, *next; child && right; child = next) {
        next = child->next;
        uint32_t id = find_child(&labels, label_of(own, child));
        if (id == LL_NO_ID || labels.met[id]) { /* of one name twice: for whoever complains of it */
            ll_node_add(&fresh, child);
            continue;
        }
        if (base->type == LL_NODE_LIST) {
            labels.ahead[id].type = base->type;
            move_children(&fresh, &labels.ahead[id]);
            fresh = (struct ll_node){.type = base->type};
        }
        labels.met[id] = true;
        right = merge(labels.children[id], child);
    }
    if (right)
        put_in_order(base, &labels, &fresh);
    release(&labels);
    return right;
}

/* Depth is limited by that of the trees. False when memory ran out. */
static bool merge(struct ll_node *base, struct ll_node *own)
{
    if (base->type != own->type || !labelled(base) || !labelled(own)) {
        replace(base, own);
        return true;
    }
    base->place = own->place;
    base->key_place = own->key_place;
    return merge_children(base, own);
}

static bool check_chain(struct merger *merger, const struct chain *chain, const char *path,
                        struct ll_place place)
{
    for (const struct chain *file = chain; file; file = file->from)
        if (!strcmp(file->path, path))
            return ll_complain(merger->diags, place, "`inherits` comes back to %s", path);
    if (merger->files++ >= MOST_READ)
        return ll_complain(merger->diags, place, "more than %d files are inherited", MOST_READ);
    return chain->length < MOST_FILES ||
           ll_complain(merger->diags, place, "more than %d files inherit one another", MOST_FILES);
}

static struct ll_node *inherit(struct merger *merger, struct ll_node *tree, const struct chain *chain);

static struct ll_node *read_base(struct merger *merger, const struct ll_node *key, const struct chain *chain)
{
    size_t length;
    const char *beside = chain->path[0] ? chain->path : NULL;
    const char *path =
        ll_file_find(key->text, beside, merger->folders, key->place, merger->arena, merger->diags);
    if (!path || !check_chain(merger, chain, path, key->place))
        return NULL;
    const char *text = ll_file_read(path, key->place, merger->arena, merger->diags, &length);
    struct ll_node *base = text ? ll_node_parse(merger->arena, text, length, path, merger->diags) : NULL;
    struct chain longer = {path, chain, chain->length + 1};
    return base ? inherit(merger, base, &longer) : NULL;
}

/* Lays a tree over the base in front of it; without one it stays what it is. */
static struct ll_node *lay_over(struct merger *merger, struct ll_node *base, struct ll_node *own,
                                struct ll_place place)
{
    if (!base)
        return own;
    ll_node_remove(base, "aliases"); /* they name the base's hardware, not what is made of it here */
    ll_sources_outdate(base, own, merger->arena);
    if (merge(base, own))
        return base;
    ll_complain(merger->diags, place, "memory ran out");
    return NULL;
}

/* Lays the files that `inherits` names over one another, in their order. NULL after complaints. */
static struct ll_node *read_bases(struct merger *merger, const struct ll_node *key, const struct chain *chain)
{
    bool listed = key->type == LL_NODE_LIST, right = true;
    struct ll_node *bases = NULL;
    const struct ll_node *name = listed ? key->first : key;
    if (!name)
        ll_complain(merger->diags, key->place, expected, ll_node_shown(key).text);
    for (; name && right; name = listed ? name->next : NULL) {
        right = name->text && *name->text;
        if (!right)
            ll_complain(merger->diags, name->place, expected, ll_node_shown(key).text);
        struct ll_node *base = right ? read_base(merger, name, chain) : NULL;
        bases = base ? lay_over(merger, bases, base, name->place) : NULL;
        right = bases != NULL;
    }
    return bases;
}

static struct ll_node *inherit(struct merger *merger, struct ll_node *tree, const struct chain *chain)
{
    struct ll_node *key = ll_node_remove(tree, "inherits");
    struct ll_node *bases = key ? read_bases(merger, key, chain) : NULL;
    if (key && !bases)
        return NULL;
    return lay_over(merger, bases, tree, key ? key->place : tree->place);
}

struct ll_node *ll_inherit(struct ll_node *tree, const char *path, const char *const *folders,
                           struct ll_arena *arena, struct ll_diags *diags)
{
    struct merger merger = {folders, arena, diags, 0};
    struct chain chain = {path ? path : "", NULL, 1};
    return inherit(&merger, tree, &chain);
}

/* Finding and reading machine files. */

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

/* From a name to a machine: find the file, read the tree, lay it over what it inherits, set the overrides,
 * read the tree by the schema, check the whole. Complaints of one step do not keep the next from finding
 * more. */

/* What is asked for, for all steps. The tree lives in a scratch arena that is released at the end. */
struct request {
    const char *name; /* of the file, or what stands for it in complaints */
    const char *path; /* NULL when it was not read from a file */
    const char *const *folders;
    const struct ll_override *overrides;
    size_t override_count;
    struct ll_arena *scratch;
    struct ll_diags *diags;
};

static bool no_memory(const struct request *request)
{
    return ll_complain(request->diags, (struct ll_place){.file = request->name}, "memory ran out");
}

/* Reads and checks a whole tree. False after complaints. */
static bool fill(const struct request *request, struct ll_node *root, struct ll_machine *machine)
{
    struct ll_reading reading = {.arena = &machine->arena,
                                 .diags = request->diags,
                                 .root = root,
                                 .machine = machine,
                                 .folders = request->folders};
    size_t before = request->diags->count;
    for (size_t i = 0; i < request->override_count; i++)
        ll_override_apply(root, &request->overrides[i], request->scratch, request->diags);
    if (ll_field_table_read(&ll_machine_table, root, machine, &reading) || root->type == LL_NODE_MAP)
        ll_machine_check(&reading);
    if (request->diags->count > before)
        return false; /* what was not read well cannot be written either, hence not hashed */
    machine->path = ll_copy_text(&machine->arena, request->name, strlen(request->name));
    machine->stem = ll_file_stem(request->name, &machine->arena);
    return (machine->path && machine->stem && ll_machine_hash(machine)) || no_memory(request);
}

static bool comes_before(const struct ll_place *a, const struct ll_place *b)
{
    int files = a->file && b->file ? strcmp(a->file, b->file) : 0;
    if (files || a->line == b->line)
        return files ? files < 0 : a->column < b->column;
    return a->line < b->line;
}

/* Complaints in the order of the file, not of the steps that found them. */
static void sort_complaints(struct ll_diags *diags, size_t first)
{
    for (size_t i = first + 1; i < diags->kept_count; i++) {
        struct ll_diag late = diags->kept[i];
        size_t j = i;
        for (; j > first && comes_before(&late.place, &diags->kept[j - 1].place); j--)
            diags->kept[j] = diags->kept[j - 1];
        diags->kept[j] = late;
    }
}

static struct ll_machine *build_unsorted(const struct request *request, const char *text, size_t length)
{
    size_t before = request->diags->count;
    struct ll_node *root = ll_node_parse(request->scratch, text, length, request->name, request->diags);
    root = root ? ll_inherit(root, request->path, request->folders, request->scratch, request->diags) : NULL;
    if (!root)
        return NULL;
    struct ll_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        no_memory(request);
    else if (!fill(request, root, machine) || request->diags->count > before) {
        ll_machine_free(machine);
        machine = NULL;
    }
    return machine;
}

static struct ll_machine *build(const struct request *request, const char *text, size_t length)
{
    size_t before = request->diags->kept_count;
    struct ll_machine *machine = build_unsorted(request, text, length);
    sort_complaints(request->diags, before);
    return machine;
}

struct ll_machine *ll_machine_read(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count,
                                   struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct ll_machine *machine = NULL;
    struct ll_place nowhere = {0};
    size_t length;
    const char *path = ll_file_find(which, NULL, folders, nowhere, &scratch, diags);
    const char *text = path ? ll_file_read(path, nowhere, &scratch, diags, &length) : NULL;
    if (text) {
        struct request request = {path, path, folders, overrides, override_count, &scratch, diags};
        machine = build(&request, text, length);
    }
    ll_arena_release(&scratch);
    return machine;
}

struct ll_machine *ll_machine_parse(const char *text, size_t length, const char *name,
                                    const char *const *folders, const struct ll_override *overrides,
                                    size_t override_count, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct request request = {name, NULL, folders, overrides, override_count, &scratch, diags};
    struct ll_machine *machine = build(&request, text, length);
    ll_arena_release(&scratch);
    return machine;
}

void ll_machine_free(struct ll_machine *machine)
{
    if (!machine)
        return;
    struct ll_arena arena = machine->arena;
    ll_arena_release(&arena);
    free(machine);
}

double ll_machine_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype)
{
    double peak = 0;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        double flops = ll_unit_flops_per_cycle(unit, dtype) * (double)unit->count * unit->clock_hz;
        peak = flops > peak ? flops : peak;
    }
    return peak;
}

static bool takes(const struct ll_kernel *kernel, enum ll_op_kind kind, const struct ll_work *work)
{
    bool product = work->kind == LL_WORK_GEMM, is_long = product && work->gemm.m > kernel->rows;
    bool plain = product && !(work->along_k & LL_LINES_OF_B);
    bool many = product && (work->gemm.k > kernel->terms || work->along_k);
    bool folds = work->kind == LL_WORK_REDUCE && work->reduce.folds;
    uint64_t row = work->kind == LL_WORK_VECTOR ? work->vector.row : 0;
    bool uneven = kernel->row_multiple > 0 && row % kernel->row_multiple != 0;
    bool other = kernel->dtype > 0 && kernel->dtype != 1u + work->dtype;
    return kernel->ops[kind] && !other && !(kernel->rows > 0 && is_long) && !(kernel->transposed && plain) &&
           !(kernel->terms > 0 && many) && !(kernel->folds && !folds) && !uneven;
}

const struct ll_kernel *ll_machine_kernel(const struct ll_machine *machine, enum ll_op_kind kind,
                                          const struct ll_work *work)
{
    static const struct ll_kernel perfect = {.compute = 1, .memory = 1, .passes = 1, .reads = 1, .work = 1};
    for (uint64_t i = 0; i < machine->software.kernel_count; i++)
        if (takes(&machine->software.kernels[i], kind, work))
            return &machine->software.kernels[i];
    return &perfect;
}

struct ll_cache_level ll_machine_cache(const struct ll_level *level)
{
    struct ll_cache_level cache = level->cache;
    uint64_t lines = level->size_bytes / cache.line_bytes;
    if (cache.ways == 0)
        cache.ways = lines;
    cache.sets = cache.ways ? lines / cache.ways : 0;
    return cache;
}

uint64_t ll_level_instances(const struct ll_level *level, uint64_t units)
{
    uint64_t sharing = level->scope == LL_SCOPE_UNIT      ? 1
                       : level->scope == LL_SCOPE_CLUSTER ? ll_max(level->share, 1)
                                                          : UINT64_MAX;
    return units > sharing ? ll_ceil_div(units, sharing) : 1;
}

int ll_catcher(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    int inside = (int)level - 1;
    while (inside > LL_CATCHER_UNIT && !ll_level_holds(&machine->levels[inside], operand))
        inside--;
    return inside;
}

bool ll_catcher_is_shared(const struct ll_machine *machine, int catcher)
{
    return catcher > LL_CATCHER_UNIT && machine->levels[catcher].scope == LL_SCOPE_DEVICE;
}

uint64_t ll_near_levels(const struct ll_machine *machine)
{
    uint64_t near = 1;
    for (uint64_t l = 1; l < machine->level_count; l++)
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            if (ll_level_holds(&machine->levels[l], i) &&
                !ll_catcher_is_shared(machine, ll_catcher(machine, l, i)))
                near = l + 1;
    return near;
}

struct ll_levels ll_nested_levels(const struct ll_machine *machine, enum ll_scope scope)
{
    uint64_t l = scope == LL_SCOPE_DEVICE ? ll_near_levels(machine) : 1, end;
    while (l < machine->level_count && machine->levels[l - 1].scope != scope)
        l++;
    for (end = l; end < machine->level_count && machine->levels[end - 1].scope == scope; end++)
        if (!ll_level_holds_all(&machine->levels[end - 1]) || !ll_level_holds_all(&machine->levels[end]))
            break;
    return (struct ll_levels){l, end};
}

uint64_t ll_machine_instances(const struct ll_machine *machine, uint64_t level)
{
    uint64_t instances = 1;
    for (uint64_t u = 0; u < machine->unit_count; u++)
        instances = ll_max(instances, ll_level_instances(&machine->levels[level], machine->units[u].count));
    return instances;
}

uint64_t ll_machine_devices(const struct ll_machine *machine)
{
    uint64_t devices = 1;
    for (uint64_t i = 0; i < machine->network_count; i++)
        devices = ll_mul(devices, machine->networks[i].devices);
    return devices;
}

double ll_machine_memory_Bps(const struct ll_machine *machine)
{
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    return outermost->bandwidth_Bps * outermost->efficiency;
}
