/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to a machine: files laid over one another (first section), and the steps in their order
 * (second). The last functions answer what other rooms ask of a machine: peaks, kernels, which levels hold
 * what. */
#include "sim/machine/machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/steps.h"
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
 * Several bases are laid over one another first, so each wins over those named before it. A device that says
 * of which family it is lies over what that family's libraries do, and under the stacks that run on it:
 *
 *     stacks/libraries/nvidia_hopper    h100_sxm, with what it inherits    stacks/pytorch
 *                        below  <-----------------------------------------> above
 *
 * A system or a variant that inherits a device inherits all of that, so what it says itself is said last.
 *
 * Own values win because the base is changed in place: it is read for this purpose and belongs to nobody
 * else. */

enum { MOST_FILES = 8, MOST_READ = 64 }; /* one inheriting the other; altogether */

static const char expected[] = "`%s`: expected a file or the name of a machine, or a list of them";

/* The files that are being read, the newest first. */
struct chain {
    const char *path;
    const struct chain *from;
    size_t length;
};

struct merger {
    const struct ll_lookup *lookup;
    struct ll_arena *arena;
    struct ll_diags *diags;
    size_t files; /* read so far */
    /* The stacks to lay over a device: those that were asked for first win over those that a file names. */
    struct ll_machine_words stacks;
    bool stacks_given;
    const char *device, *family; /* the file of the device that was met, and its family; NULL: none yet */
    bool raw;         /* what is read now is a part of a device or stack: its family is not its own affair */
    const char *base; /* how -c calls the machine that the outermost file inherits; NULL: none, or several */
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

static struct ll_node *read_tree(struct merger *merger, const char *path, struct ll_place place,
                                 const struct chain *chain)
{
    size_t length;
    const char *text = ll_file_read(path, place, merger->arena, merger->diags, &length);
    struct ll_node *tree = text ? ll_node_parse(merger->arena, text, length, path, merger->diags) : NULL;
    struct chain longer = {path, chain, chain ? chain->length + 1 : 1};
    if (tree)
        ll_old_keys_modernize(tree, merger->arena, merger->diags);
    return tree ? inherit(merger, tree, &longer) : NULL;
}

/* A stack may inherit another one by its name, which then is that for the same family. */
static const char *stack_base(struct merger *merger, const char *name)
{
    return merger->raw && merger->family ? ll_stack_find(merger->lookup, merger->device, name, merger->family)
                                         : NULL;
}

static struct ll_node *read_base(struct merger *merger, const struct ll_node *key, bool alone,
                                 const struct chain *chain)
{
    const char *beside = chain->path[0] ? chain->path : NULL;
    struct ll_machine_words named = {.path = stack_base(merger, key->text)};
    if (!named.path && !ll_name_resolve(merger->lookup, key->text, beside, key->place, &named))
        return NULL;
    if (!check_chain(merger, chain, named.path, key->place))
        return NULL;
    const struct ll_machine_words around = merger->stacks;
    if (merger->stacks.stack_count == 0)
        merger->stacks = named;
    struct ll_node *base = read_tree(merger, named.path, key->place, chain);
    if (alone && chain->length == 1 && !strstr(named.path, "technology/")) { /* tables are no machine */
        memcpy(named.stacks, merger->stacks.stacks, sizeof named.stacks);
        named.stack_count = merger->stacks.stack_count;
        merger->base = ll_machine_words_stem(&named, merger->arena);
    }
    merger->stacks = around;
    return base;
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
        struct ll_node *base = right ? read_base(merger, name, !listed || key->count == 1, chain) : NULL;
        bases = base ? lay_over(merger, bases, base, name->place) : NULL;
        right = bases != NULL;
    }
    return bases;
}

/* Whether a stack, whose file may list families, is for this one. */
static bool serves(struct ll_node *stack, const char *family)
{
    const struct ll_node *families = ll_node_remove(stack, "families");
    bool serves = !families;
    for (const struct ll_node *it = families ? families->first : NULL; it && !serves; it = it->next)
        serves = it->text && ll_family_is_of(family, it->text);
    return serves;
}

/* Lays a stack over a device. The default one need not have a file: then the libraries are all there is. What
 * is no stack by itself says over which it lies where it comes first (`over`). */
static struct ll_node *lay_stack(struct merger *merger, struct ll_node *device, const char *stack, bool first,
                                 struct ll_place place, const struct chain *chain)
{
    const char *path = ll_stack_find(merger->lookup, merger->device, stack, merger->family);
    if (!path && !strcmp(stack, LL_DEFAULT_STACK))
        return device;
    struct ll_node *tree = path ? read_tree(merger, path, place, chain) : NULL;
    if (path && !tree)
        return NULL;
    if (!tree || !serves(tree, merger->family)) {
        ll_stack_complain(merger->lookup, merger->device, stack, merger->family, place);
        return NULL;
    }
    const struct ll_node *over = ll_node_remove(tree, "over");
    if (over && !over->text) {
        ll_complain(merger->diags, over->place, "`%s`: expected the name of a stack",
                    ll_node_shown(over).text);
        return NULL;
    }
    if (over && first)
        device = lay_stack(merger, device, over->text, false, over->place, chain);
    return device ? lay_over(merger, device, tree, place) : NULL;
}

/* A device over its family's library, and the stacks that were asked for over both. */
static struct ll_node *compose(struct merger *merger, struct ll_node *device, const struct ll_node *family,
                               const struct chain *chain)
{
    const char *library = ll_library_find(merger->lookup, chain->path[0] ? chain->path : NULL, family->text);
    if (!library) {
        ll_complain(merger->diags, family->place, "`%s`: no library is described for this family",
                    ll_node_shown(family).text);
        return NULL;
    }
    struct ll_place place = family->place, nowhere = {0};
    bool was_raw = merger->raw;
    assert(!was_raw); /* one device, one family: what a device inherits composes nothing */
    merger->raw = true;
    merger->device = chain->path[0] ? chain->path : NULL;
    merger->family = ll_copy_text(merger->arena, family->text, strlen(family->text));
    struct ll_node *tree = read_tree(merger, library, place, chain);
    if (tree)
        ll_node_remove(tree, "families");
    tree = tree ? lay_over(merger, tree, device, place) : NULL;
    if (merger->stacks.stack_count == 0)
        tree = tree ? lay_stack(merger, tree, LL_DEFAULT_STACK, true, place, chain) : NULL;
    for (size_t i = 0; i < merger->stacks.stack_count && tree; i++)
        tree = lay_stack(merger, tree, merger->stacks.stacks[i], i == 0, nowhere, chain);
    merger->raw = was_raw;
    return tree;
}

static struct ll_node *inherit(struct merger *merger, struct ll_node *tree, const struct chain *chain)
{
    struct ll_node *key = ll_node_remove(tree, "inherits"), *family = ll_node_remove(tree, "family");
    if (family && !family->text) {
        ll_complain(merger->diags, family->place, "`%s`: expected the name of a family",
                    ll_node_shown(family).text);
        return NULL;
    }
    bool composes = family && !merger->raw, was_raw = merger->raw;
    merger->raw |= composes;
    struct ll_node *bases = key ? read_bases(merger, key, chain) : NULL;
    merger->raw = was_raw;
    if (key && !bases)
        return NULL;
    tree = lay_over(merger, bases, tree, key ? key->place : tree->place);
    return tree && composes ? compose(merger, tree, family, chain) : tree;
}

/* A stack that was asked for has to lie over something. */
static bool all_laid(const struct merger *merger, const char *which)
{
    return merger->family || !merger->stacks_given ||
           ll_complain(
               merger->diags, (struct ll_place){0},
               "`%s` is of no family that stacks are for: what software costs on it, its own file says",
               which);
}

static const char *device_name(const struct merger *merger)
{
    return merger->device ? ll_file_stem(merger->device, merger->arena) : NULL;
}

struct ll_node *ll_tree_read(const struct ll_lookup *lookup, const char *which, struct ll_origin *origin)
{
    struct merger merger = {.lookup = lookup, .arena = lookup->arena, .diags = lookup->diags};
    struct ll_place nowhere = {0};
    *origin = (struct ll_origin){.path = NULL};
    if (!ll_name_resolve(lookup, which, NULL, nowhere, &merger.stacks))
        return NULL;
    const struct ll_machine_words named = merger.stacks;
    merger.stacks_given = named.stack_count > 0;
    struct ll_node *tree = read_tree(&merger, named.path, nowhere, NULL);
    if (!tree || !all_laid(&merger, named.base))
        return NULL;
    *origin = (struct ll_origin){named.path, ll_machine_words_stem(&named, lookup->arena), merger.base,
                                 device_name(&merger), merger.family};
    return origin->stem ? tree : NULL;
}

/* From a name to a machine: find the file, read the tree, lay it over what it inherits, set the overrides,
 * read the tree by the schema, check the whole. Complaints of one step do not keep the next from finding
 * more. */

/* What is asked for, for all steps. The tree lives in a scratch arena that is released at the end. */
struct request {
    const char *name; /* of the file, or what stands for it in complaints */
    struct ll_lookup lookup;
    const struct ll_override *overrides;
    size_t override_count;
};

static bool no_memory(const struct request *request)
{
    return ll_complain(request->lookup.diags, (struct ll_place){.file = request->name}, "memory ran out");
}

static const char *copy(struct ll_machine *machine, const char *text)
{
    return text ? ll_copy_text(&machine->arena, text, strlen(text)) : NULL;
}

/* Reads and checks a whole tree. False after complaints. */
static bool fill(const struct request *request, struct ll_node *root, const struct ll_origin *origin,
                 struct ll_machine *machine)
{
    struct ll_diags *diags = request->lookup.diags;
    struct ll_reading reading = {.arena = &machine->arena,
                                 .diags = diags,
                                 .root = root,
                                 .machine = machine,
                                 .folders = request->lookup.folders};
    size_t before = diags->count;
    for (size_t i = 0; i < request->override_count; i++)
        ll_override_apply(root, &request->overrides[i], request->lookup.arena, diags);
    if (ll_field_table_read(&ll_machine_table, root, machine, &reading) || root->type == LL_NODE_MAP)
        ll_machine_check(&reading);
    if (diags->count > before)
        return false; /* what was not read well cannot be written either, hence not hashed */
    assert(machine->unit_count > 0 && machine->level_count > 0); /* what the schema requires is there */
    machine->path = copy(machine, origin->path);
    machine->stem = copy(machine, origin->stem);
    machine->base = copy(machine, origin->base);
    machine->device = copy(machine, origin->device);
    machine->family = copy(machine, origin->family);
    if (machine->alias_count > 0)
        ll_remark(
            diags, (struct ll_place){.file = request->name},
            "`aliases` is read for one more minor version: a file aliases.yaml in the same folder says which "
            "machine a name in data means");
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

static struct ll_machine *build(const struct request *request, struct ll_node *root,
                                const struct ll_origin *origin)
{
    size_t before = request->lookup.diags->count;
    struct ll_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        no_memory(request);
    else if (!fill(request, root, origin, machine) || request->lookup.diags->count > before) {
        ll_machine_free(machine);
        machine = NULL;
    }
    return machine;
}

struct ll_machine *ll_machine_read(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count,
                                   struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    struct ll_origin origin;
    size_t before = diags->kept_count, complaints = diags->count;
    struct request request = {which, {folders, &scratch, diags}, overrides, override_count};
    struct ll_node *root = ll_tree_read(&request.lookup, which, &origin);
    request.name = root ? origin.path : which;
    struct ll_machine *machine = root ? build(&request, root, &origin) : NULL;
    sort_complaints(diags, before);
    if (machine && diags->count > complaints) { /* such as a doubled key, which leaves a tree to go on with */
        ll_machine_free(machine);
        machine = NULL;
    }
    ll_arena_release(&scratch);
    return machine;
}

struct ll_machine *ll_machine_parse(const char *text, size_t length, const char *name,
                                    const char *const *folders, const struct ll_override *overrides,
                                    size_t override_count, struct ll_diags *diags)
{
    struct ll_arena scratch = {0};
    size_t before = diags->kept_count, complaints = diags->count;
    struct request request = {name, {folders, &scratch, diags}, overrides, override_count};
    struct merger merger = {.lookup = &request.lookup, .arena = &scratch, .diags = diags};
    struct ll_node *root = ll_node_parse(&scratch, text, length, name, diags);
    struct chain chain = {name, NULL, 1};
    if (root)
        ll_old_keys_modernize(root, &scratch, diags);
    root = root ? inherit(&merger, root, &chain) : NULL;
    struct ll_origin origin = {name, ll_file_stem(name, &scratch), merger.base, device_name(&merger),
                               merger.family};
    struct ll_machine *machine = root ? build(&request, root, &origin) : NULL;
    sort_complaints(diags, before);
    if (machine && diags->count > complaints) {
        ll_machine_free(machine);
        machine = NULL;
    }
    ll_arena_release(&scratch);
    return machine;
}

void ll_machine_free(struct ll_machine *machine)
{
    if (!machine)
        return;
    struct ll_arena arena = machine->arena;
    for (uint64_t i = 0; i < machine->pool_count; i++)
        ll_machine_free(machine->pools[i]);
    ll_arena_release(&arena);
    free(machine);
}

const char *ll_machine_title(const struct ll_machine *machine)
{
    return machine->title ? machine->title : machine->stem;
}

bool ll_machine_add_pool(struct ll_machine *machine, struct ll_machine *pool)
{
    struct ll_machine **pools = ll_alloc(&machine->arena, machine->pool_count + 1, sizeof *pools);
    machine->title = ll_format(&machine->arena, "%s,%s", ll_machine_title(machine), pool->stem);
    if (!pools || !machine->title) {
        ll_machine_free(pool);
        return false;
    }
    for (uint64_t i = 0; i < machine->pool_count; i++)
        pools[i] = machine->pools[i];
    pools[machine->pool_count++] = pool;
    machine->pools = pools;
    return true;
}

double ll_machine_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype)
{
    double peak = 0;
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        double count = (double)unit->count * (double)ll_machine_cores_with(machine, i);
        double flops = ll_unit_flops_per_cycle(unit, dtype) * count * unit->clock_hz;
        peak = flops > peak ? flops : peak;
    }
    return peak;
}

const struct ll_overlay *ll_machine_overlay(const struct ll_machine *machine, const struct ll_kernel *kernel)
{
    for (uint64_t i = 0; kernel->name && i < machine->overlay_count; i++)
        if (!strcmp(machine->overlays[i].name, kernel->name))
            return &machine->overlays[i];
    return NULL;
}

const struct ll_kernel *ll_machine_kernel(const struct ll_machine *machine, enum ll_op_kind kind,
                                          const struct ll_work *work)
{
    static const struct ll_kernel perfect = {.compute_efficiency = 1, .bandwidth_efficiency = 1, .passes = 1};
    for (uint64_t i = 0; i < machine->software.kernel_count; i++) {
        const struct ll_kernel *kernel = &machine->software.kernels[i];
        if (kernel->ops[kind] && (kernel->dtype == 0 || kernel->dtype == 1u + work->dtype))
            return kernel;
    }
    return &perfect;
}

struct ll_cache_level ll_machine_cache(const struct ll_level *level)
{
    struct ll_cache_level cache = level->cache;
    assert(cache.line_bytes > 0);
    uint64_t lines = level->size_bytes / cache.line_bytes;
    if (cache.ways == 0)
        cache.ways = lines;
    cache.sets = cache.ways ? lines / cache.ways : 0;
    cache.stride_pages = LL_STRIDE_PAGES;
    cache.stride_page_bytes = LL_STRIDE_PAGE_BYTES;
    return cache;
}

uint64_t ll_level_instances(const struct ll_level *level, uint64_t units)
{
    uint64_t sharing = level->scope == LL_SCOPE_UNIT      ? 1
                       : level->scope == LL_SCOPE_CLUSTER ? ll_max(level->share, 1)
                                                          : UINT64_MAX;
    return units > sharing ? ll_ceil_div(units, sharing) : 1;
}

int ll_destination_level(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    int inside = (int)level - 1;
    while (inside > LL_CATCHER_UNIT && !ll_level_holds(&machine->levels[inside], operand))
        inside--;
    return inside;
}

bool ll_destination_is_shared(const struct ll_machine *machine, int catcher)
{
    return catcher > LL_CATCHER_UNIT && machine->levels[catcher].scope == LL_SCOPE_DEVICE;
}

uint64_t ll_private_levels(const struct ll_machine *machine)
{
    uint64_t near = 1;
    for (uint64_t l = 1; l < machine->level_count; l++)
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            if (ll_level_holds(&machine->levels[l], i) &&
                !ll_destination_is_shared(machine, ll_destination_level(machine, l, i)))
                near = l + 1;
    return near;
}

struct ll_levels ll_nested_levels(const struct ll_machine *machine, enum ll_scope scope)
{
    uint64_t l = scope == LL_SCOPE_DEVICE ? ll_private_levels(machine) : 1, end;
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
    for (uint64_t i = 0; i < machine->pool_count; i++)
        devices = ll_min(devices, ll_machine_devices(machine->pools[i]));
    return devices;
}

const char *ll_machine_system(const struct ll_machine *machine, struct ll_arena *arena)
{
    const char *stacks = strchr(machine->stem, '+');
    size_t length = stacks ? (size_t)(stacks - machine->stem) : strlen(machine->stem);
    bool plain = machine->device && strlen(machine->device) == length && !machine->base &&
                 strncmp(machine->device, machine->stem, length) == 0;
    if (machine->network_count > 0 || !machine->system || !plain)
        return NULL;
    return ll_format(arena, "%s%s", machine->system, stacks ? stacks : "");
}

double ll_machine_level_Bps(const struct ll_machine *machine, uint64_t level)
{
    assert(level < machine->level_count);
    const struct ll_level *at = &machine->levels[level];
    return at->bandwidth_Bps * at->efficiency * (double)ll_machine_instances(machine, level);
}

double ll_machine_memory_Bps(const struct ll_machine *machine)
{
    assert(machine->level_count > 0);
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    return outermost->bandwidth_Bps * outermost->efficiency;
}
