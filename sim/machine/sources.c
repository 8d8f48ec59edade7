/* SPDX-License-Identifier: Apache-2.0 */
/* A source goes with its value: when a value is replaced, what was said of the old one is no longer true. */
#include "sim/machine/path.h"
#include "sim/machine/steps.h"

#include <string.h>

/* Follows a path without complaints. */
static bool find(const struct ll_node *tree, const char *path, struct ll_arena *arena,
                 struct ll_machine_path *found)
{
    struct ll_diags unheard = {0};
    struct ll_place nowhere = {0};
    bool right = ll_machine_path_find((struct ll_node *)tree, path, false, nowhere, arena, &unheard, found);
    ll_diags_release(&unheard);
    return right;
}

/* Whether the path leads to a value of its own in this tree: not to a part, which may be replaced in part. */
static bool says(const struct ll_node *tree, const char *path, struct ll_arena *arena)
{
    struct ll_machine_path found;
    if (!find(tree, path, arena, &found) || !found.key)
        return false;
    const struct ll_node *value = ll_node_get(found.map, found.key);
    return value && value->type == LL_NODE_SCALAR;
}

void ll_sources_outdate(struct ll_node *base, const struct ll_node *own, struct ll_arena *arena)
{
    struct ll_node *sources = ll_node_get(base, "sources");
    for (struct ll_node *source = sources ? sources->first : NULL, *next; source; source = next) {
        next = source->next;
        if (sources->type == LL_NODE_MAP && says(own, source->key, arena))
            ll_node_remove(sources, source->key);
    }
}

static struct ll_node *sources_of(struct ll_node *tree, struct ll_place place, struct ll_arena *arena)
{
    struct ll_node *sources = ll_node_get(tree, "sources");
    if (sources || tree->type != LL_NODE_MAP)
        return sources;
    sources = ll_node_new(arena, LL_NODE_MAP, place);
    if (sources) {
        sources->key = "sources";
        sources->key_place = place;
        ll_node_add(tree, sources);
    }
    return sources;
}

static void drop_same(struct ll_node *tree, struct ll_node *sources, const struct ll_machine_path *target,
                      struct ll_arena *arena)
{
    for (struct ll_node *source = sources->first, *next; source; source = next) {
        struct ll_machine_path found;
        next = source->next;
        if (find(tree, source->key, arena, &found) && found.map == target->map && found.key &&
            !strcmp(found.key, target->key))
            ll_node_remove(sources, source->key);
    }
}

bool ll_sources_set(struct ll_node *tree, const char *path, const struct ll_machine_path *target,
                    struct ll_place place, struct ll_arena *arena)
{
    struct ll_node *sources = sources_of(tree, place, arena);
    struct ll_node *source = sources ? ll_node_new(arena, LL_NODE_SCALAR, place) : NULL;
    if (!source || sources->type != LL_NODE_MAP)
        return source != NULL; /* what is no map is complained of when it is read */
    drop_same(tree, sources, target, arena);
    source->key = path;
    source->key_place = place;
    source->text = "given by --set";
    ll_node_add(sources, source);
    return true;
}
