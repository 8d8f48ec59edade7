/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the steps from a name to a machine. machine.c walks them in this order. */
#ifndef LL_SIM_MACHINE_STEPS_H
#define LL_SIM_MACHINE_STEPS_H

#include "sim/machine/path.h"
#include "sim/machine/schema.h"

/* Where files are looked for, and who owns and hears what comes of it. */
struct ll_lookup {
    const char *const *folders; /* NULL-terminated; NULL: none */
    struct ll_arena *arena;
    struct ll_diags *diags;
};

/* What a word such as `h100_sxm+pytorch` names. */
enum { LL_MOST_STACKS = 4 };
#define LL_DEFAULT_STACK "kernels"
struct ll_machine_words {
    const char *base; /* the word in front of the first `+`, an alias resolved */
    const char *path; /* of its file */
    const char *stacks[LL_MOST_STACKS];
    size_t stack_count; /* 0: the word names none */
};

/* names.c: the files that a word names: a path, or a name in the folders. `beside`, when it is not NULL, is
 * the file in which the word stands: files beside it come first, then those of the folder of machines that it
 * belongs to. Remarks what an alias stands for. False after a complaint at `place`. In the lookup's arena. */
bool ll_name_resolve(const struct ll_lookup *lookup, const char *which, const char *beside,
                     struct ll_place place, struct ll_machine_words *named);

/* names.c: how `-c` calls that: the name of the file and what follows it, without the default stack. NULL
 * when memory ran out. */
const char *ll_machine_words_stem(const struct ll_machine_words *named, struct ll_arena *arena);

/* names.c: the file that says how a family's libraries use its devices; of a family that has none, that of
 * the one that it belongs to (nvidia_hopper belongs to nvidia). NULL: there is none. */
const char *ll_library_find(const struct ll_lookup *lookup, const char *beside, const char *family);

/* names.c: the file of a stack: the part for a device, by the name of its file, or for its family, or for one
 * that this belongs to, or else the one for all. NULL: there is none. */
const char *ll_stack_find(const struct ll_lookup *lookup, const char *device, const char *stack,
                          const char *family);

/* names.c: says that there is no such stack, or none for this family, and which there are. False. */
bool ll_stack_complain(const struct ll_lookup *lookup, const char *beside, const char *stack,
                       const char *family, struct ll_place place);

/* names.c: whether a family is `wider` or belongs to it. */
bool ll_family_is_of(const char *family, const char *wider);

/* names.c: the path of a file of numbers that a value names, beside the file in which it stands at `place`,
 * or in the folders. NULL after a complaint there. In the arena. */
const char *ll_file_find_data(const char *which, struct ll_place place, const char *const *folders,
                              struct ll_arena *arena, struct ll_diags *diags);

/* names.c: the whole text of a file of at most LL_YAML_LIMIT_BYTES. NULL after a complaint at `place`. */
const char *ll_file_read(const char *path, struct ll_place place, struct ll_arena *arena,
                         struct ll_diags *diags, size_t *length);

/* names.c: "hwconfigs/v100.yaml" to "v100". NULL when memory ran out. */
const char *ll_file_stem(const char *path, struct ll_arena *arena);

/* What reading a machine's files tells beside their tree. */
struct ll_origin {
    const char *path, *stem; /* of the file that was named; how -c calls it, its stacks behind it */
    const char *base;        /* how -c calls the one machine that the file inherits; NULL: none, or several */
    const char *device, *family; /* of the device that has a family; NULL: none has */
};

/* machine.c: reads what a word names and lays it over the files that it inherits, which are read and merged
 * first. Maps merge by key, lists of named items by name, everything else is replaced; every value keeps the
 * place where it stands. A device of a family lies over that family's library, and its stacks over it. The
 * merged tree, or NULL after complaints. In the lookup's arena. */
struct ll_node *ll_tree_read(const struct ll_lookup *lookup, const char *which, struct ll_origin *origin);

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

/* cores.c: what cores have, and whether links join them with each other and with the outermost memory. False
 * after complaints. */
bool ll_check_cores(struct ll_reading *reading);

/* cores.c: whether some core has both levels, or one of them is the outermost; true without cores. */
bool ll_levels_meet(const struct ll_machine *machine, uint64_t one, uint64_t other);

/* The items of a list in the file, in the order in which they were read; NULL past the last. */
const struct ll_node *ll_item_node(const struct ll_reading *reading, const char *list, uint64_t index);

/* old_keys.c: gives the keys of a file's tree the names that they have now, and takes out those that are
 * ignored; remarks on both. */
void ll_old_keys_modernize(struct ll_node *tree, struct ll_arena *arena, struct ll_diags *diags);

/* schema.c: sets config_hash. False when memory ran out. */
bool ll_machine_hash(struct ll_machine *machine);

#endif
