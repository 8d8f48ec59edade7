/* SPDX-License-Identifier: Apache-2.0 */
/* A description laid over another.
 *
 *     base            own              merged
 *     clock: 1GHz     clock: 2GHz      clock: 2GHz           the own value, at its own place
 *     units:          units:           units:
 *       - name: a       - name: a        - name: a           items of one name merge by key
 *         rows: 8         rows: 16         rows: 16
 *       - name: b       - name: c        - name: b           others of the base stay where they were,
 *                                        - name: c           new ones come last
 *
 * Own values win because the base is changed in place: it is read for this purpose and belongs to nobody
 * else. */
#include "sim/machine/steps.h"

#include "tracer/base/map.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 8 };

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
};

static bool index_children(const struct ll_node *parent, struct labels *labels)
{
    *labels = (struct labels){.children = calloc(parent->count + 1, sizeof *labels->children)};
    bool right = labels->children != NULL;
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

static struct ll_node *find_child(const struct labels *labels, const char *label)
{
    uint32_t id = ll_map_find(&labels->ids, label, strlen(label));
    return id == LL_NO_ID ? NULL : labels->children[id];
}

static void release(struct labels *labels)
{
    ll_map_release(&labels->ids);
    free(labels->children);
}

static bool merge(struct ll_node *base, struct ll_node *own);

/* The value of own, at the place in the tree where base is. */
static void replace(struct ll_node *base, const struct ll_node *own)
{
    struct ll_node *next = base->next;
    *base = *own;
    base->next = next;
}

static bool merge_children(struct ll_node *base, struct ll_node *own)
{
    struct labels labels;
    bool right = index_children(base, &labels);
    for (struct ll_node *child = own->first, *next; child && right; child = next) {
        next = child->next;
        struct ll_node *same = find_child(&labels, label_of(own, child));
        if (same)
            right = merge(same, child);
        else
            ll_node_add(base, child);
    }
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

static bool check_chain(const struct merger *merger, const struct chain *chain, const char *path,
                        struct ll_place place)
{
    for (const struct chain *file = chain; file; file = file->from)
        if (!strcmp(file->path, path))
            return ll_complain(merger->diags, place, "`inherits` comes back to %s", path);
    return chain->length < MOST_FILES ||
           ll_complain(merger->diags, place, "more than %d files inherit one another", MOST_FILES);
}

static struct ll_node *inherit(const struct merger *merger, struct ll_node *tree, const struct chain *chain);

static struct ll_node *read_base(const struct merger *merger, const struct ll_node *key,
                                 const struct chain *chain)
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

static struct ll_node *inherit(const struct merger *merger, struct ll_node *tree, const struct chain *chain)
{
    struct ll_node *key = ll_node_remove(tree, "inherits");
    if (!key)
        return tree;
    if (!key->text || !*key->text) {
        ll_complain(merger->diags, key->place, "`%s`: expected a file or the stem of a known machine",
                    ll_node_shown(key).text);
        return NULL;
    }
    struct ll_node *base = read_base(merger, key, chain);
    if (!base)
        return NULL;
    ll_node_remove(base, "aliases"); /* they name the base's hardware, not what is made of it here */
    ll_sources_outdate(base, tree, merger->arena);
    if (!merge(base, tree)) {
        ll_complain(merger->diags, key->place, "memory ran out");
        return NULL;
    }
    return base;
}

struct ll_node *ll_inherit(struct ll_node *tree, const char *path, const char *const *folders,
                           struct ll_arena *arena, struct ll_diags *diags)
{
    struct merger merger = {folders, arena, diags};
    struct chain chain = {path ? path : "", NULL, 1};
    return inherit(&merger, tree, &chain);
}
