/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the steps from a name to a machine. machine.c walks them in this order. */
#ifndef LL_SIM_MACHINE_STEPS_H
#define LL_SIM_MACHINE_STEPS_H

#include "sim/machine/path.h"
#include "sim/machine/schema.h"

/* machine.c: the path of what was asked for, a file or the stem of one in the folders. Beside the file
 * `beside`, when it is not NULL, files and stems are looked for first. NULL after a complaint at `place`. In
 * the arena. */
const char *ll_file_find(const char *which, const char *beside, const char *const *folders,
                         struct ll_place place, struct ll_arena *arena, struct ll_diags *diags);

/* machine.c: the path of a file of numbers that a value names, beside the file in which it stands at `place`,
 * or in the folders. NULL after a complaint there. In the arena. */
const char *ll_file_find_data(const char *which, struct ll_place place, const char *const *folders,
                              struct ll_arena *arena, struct ll_diags *diags);

/* machine.c: the whole text of a file of at most LL_YAML_LIMIT_BYTES. NULL after a complaint at `place`. */
const char *ll_file_read(const char *path, struct ll_place place, struct ll_arena *arena,
                         struct ll_diags *diags, size_t *length);

/* machine.c: "hwconfigs/v100.yaml" to "v100". NULL when memory ran out. */
const char *ll_file_stem(const char *path, struct ll_arena *arena);

/* machine.c: lays a tree over the files that it inherits, which are read and merged first. Maps merge by key,
 * lists of named items by name, everything else is replaced; every value keeps the place where it stands.
 * path is where the tree was read, NULL when it was not read from a file. The merged tree, or NULL after
 * complaints. */
struct ll_node *ll_inherit(struct ll_node *tree, const char *path, const char *const *folders,
                           struct ll_arena *arena, struct ll_diags *diags);

/* schema.c: takes out of base's `sources` what they say of values that own says anew. */
void ll_sources_outdate(struct ll_node *base, const struct ll_node *own, struct ll_arena *arena);

/* schema.c: says of the value at a path, which leads to target, that it was given by --set. False when
 * memory ran out. */
bool ll_sources_set(struct ll_node *tree, const char *path, const struct ll_machine_path *target,
                    struct ll_place place, struct ll_arena *arena);

/* path.c: sets path=value in the tree. False after complaints. */
bool ll_override_apply(struct ll_node *tree, const struct ll_override *override, struct ll_arena *arena,
                       struct ll_diags *diags);

/* check.c: what no single row can say: names, scopes, sizes, and who runs what. Fills what follows from other
 * values (a unit's clock). False after complaints. */
bool ll_machine_check(struct ll_reading *reading);

/* Its part for the network, and for keys that are given and change nothing, likewise. */
bool ll_check_networks(struct ll_reading *reading);
bool ll_check_idle(struct ll_reading *reading);

/* The items of a list in the file, in the order in which they were read; NULL past the last. */
const struct ll_node *ll_item_node(const struct ll_reading *reading, const char *list, uint64_t index);

/* catalogue.c: the catalogue whose file a text names; files that the machine's reading met before are not
 * read again. NULL after complaints. In the machine's arena. */
const struct ll_catalogue *ll_catalogue_read(const struct ll_node *node, struct ll_reading *reading);

/* schema.c: sets config_hash. False when memory ran out. */
bool ll_machine_hash(struct ll_machine *machine);

#endif
