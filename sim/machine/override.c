/* SPDX-License-Identifier: Apache-2.0 */
/* --set units.array.rows=128: a value of the tree is replaced, or put where it could have stood. */
#include "sim/machine/path.h"
#include "sim/machine/steps.h"

#include <string.h>

/* An item as a whole has no key of its own in the tree, and its list would lose it. */
static bool refuse_item(const char *path, struct ll_place place, struct ll_diags *diags)
{
    return ll_complain(diags, place, "`%s` is more than one value; set one of its keys",
                       ll_shown_text(path).text);
}

static void put(const struct ll_machine_path *found, struct ll_node *value)
{
    struct ll_node *there = ll_node_get(found->map, found->key);
    value->key = found->key;
    value->key_place = value->place;
    if (there) {
        value->next = there->next;
        *there = *value;
    } else {
        ll_node_add(found->map, value);
    }
}

bool ll_override_apply(struct ll_node *tree, const struct ll_override *override, struct ll_arena *arena,
                       struct ll_diags *diags)
{
    struct ll_machine_path found;
    const char *label = ll_format(arena, "--set %s=%s", override->path, override->value);
    struct ll_place place = {.file = label};
    if (!label)
        return ll_complain(diags, place, "memory ran out");
    if (!ll_machine_path_find(tree, override->path, true, place, arena, diags, &found))
        return false;
    if (!found.key)
        return refuse_item(override->path, place, diags);
    if (!found.map || found.map->type != LL_NODE_MAP)
        return ll_complain(diags, place, "`%s`: what should hold it is not a map in the file",
                           ll_shown_text(override->path).text);
    struct ll_node *value = ll_node_parse_value(arena, override->value, label, diags);
    if (!value)
        return false;
    put(&found, value);
    return found.map == ll_node_get(tree, "sources") ||
           ll_sources_set(tree, override->path, &found, place, arena) ||
           ll_complain(diags, place, "memory ran out");
}
