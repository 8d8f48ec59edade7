/* SPDX-License-Identifier: Apache-2.0 */
/* Paths name a value of a machine file: `units.array.rows`, `memory.hbm.bandwidth`, `software.fusion`.
 *
 * List items go by their name; the name of the list may be left out (`hbm.bandwidth`), for no two items of a
 * machine share a name. `sources` and --set use paths. */
#ifndef LL_SIM_MACHINE_PATH_H
#define LL_SIM_MACHINE_PATH_H

#include "sim/machine/schema.h"

struct ll_machine_path {
    const struct ll_field *field; /* the row that the path ends at; of an item as a whole: its list */
    struct ll_node *map;          /* the map whose member the path ends at; NULL when that map is not there */
    const char *key;              /* the member's key; NULL for an item as a whole */
};

/* Follows a path down the tree of a machine file, from the schema's point of view: a key that the file does
 * not have but could have is found too. With create, missing maps on the way are made. False after a
 * complaint at `place` that suggests the nearest right path. key lives in the arena. */
bool ll_machine_path_find(struct ll_node *root, const char *path, bool create, struct ll_place place,
                          struct ll_arena *arena, struct ll_diags *diags, struct ll_machine_path *found);

#endif
