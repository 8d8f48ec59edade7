/* SPDX-License-Identifier: Apache-2.0 */
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
#include "sim/machine/steps.h"

#include "tracer/base/map.h"

#include <stdlib.h>
#include <string.h>

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
