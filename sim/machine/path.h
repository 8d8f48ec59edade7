/* SPDX-License-Identifier: Apache-2.0 */
/* Paths name a value of a machine file: `units.array.rows`, `memory.hbm.bandwidth`, `software.fusion`.
 *
 * List items go by their name; the name of the list may be left out (`hbm.bandwidth`), for no two items of a
 * machine share a name. `sources` and --set use paths. */
#ifndef LL_SIM_MACHINE_PATH_H
#define LL_SIM_MACHINE_PATH_H

#include "sim/machine/machine.h"
#include "sim/machine/quantity.h"
#include "sim/machine/schema.h"

struct ll_machine_path {
    const struct ll_field *field; /* the row that the path ends at; of an item as a whole: its list */
    struct ll_node *map;          /* the map whose member the path ends at; NULL when that map is not there */
    const char *key;              /* the member's key; NULL for an item as a whole */
    bool ignored;                 /* the model has this key no more (old_keys.def): the rest is not filled */
};

/* Follows a path down the tree of a machine file, from the schema's point of view: a key that the file does
 * not have but could have is found too. With create, missing maps on the way are made. False after a
 * complaint at `place` that suggests the nearest right path; diags NULL: nobody wants to hear it. key lives
 * in the arena. */
bool ll_machine_path_find(struct ll_node *root, const char *path, bool create, struct ll_place place,
                          struct ll_arena *arena, struct ll_diags *diags, struct ll_machine_path *found);

/* The numbers of a machine by their paths: for whoever reads them many times. Pure. */

/* Where a number of a machine stands. */
struct ll_location {
    size_t offset; /* in struct ll_machine */
    bool whole;    /* uint64_t, else double */
    enum ll_dimension dimension;
};

/* Finds the number at a path; false when there is none. Machines of one file have them at the same place. */
bool ll_machine_locate(const struct ll_machine *machine, const char *path, struct ll_location *location);

/* Its value in the base unit. */
double ll_located(const struct ll_machine *machine, const struct ll_location *location);

/* The numbers of a machine, by the paths that --set takes: for whoever wants to turn many of them many times,
 * as a fit does, without reading the file again. */

/* The deepest path: software.transforms.winograd.rate.f32. */
enum { LL_MOST_SEGMENTS = 8 };

struct ll_machine_number {
    const char *path;
    const char *segments[LL_MOST_SEGMENTS]; /* of the path */
    size_t segment_count;
    bool is_item[LL_MOST_SEGMENTS]; /* the segment names an item of a list */
    size_t offset;                  /* in struct ll_machine: a double, in the base unit */
    double min, max;                /* that the schema allows */
    enum ll_dimension dimension;
    const char *unit; /* that the key means; NULL: the text says it */
};

/* All quantities and numbers of units, memory, software, host and network, in the order of the schema; the
 * machine's own clock is not among them, for others follow from it. In the arena, texts of the machine are
 * referred to. NULL when memory ran out. */
const struct ll_machine_number *ll_machine_numbers(const struct ll_machine *machine, struct ll_arena *arena,
                                                   size_t *count);

/* Its value in this machine, in the base unit; the machine has the shape of the one that was listed. */
double ll_number_get(const struct ll_machine *machine, const struct ll_machine_number *number);

/* Without any check. Nothing that followed from the number when the file was read follows now. */
void ll_number_set(struct ll_machine *machine, const struct ll_machine_number *number, double value);

/* As a machine file has it. */
struct ll_quantity_text ll_number_words(const struct ll_machine_number *number, double value);

#endif
