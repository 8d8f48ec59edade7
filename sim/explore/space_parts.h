/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the steps of reading a sweep file. space.c walks them in this order. */
#ifndef LL_SIM_EXPLORE_SPACE_PARTS_H
#define LL_SIM_EXPLORE_SPACE_PARTS_H

#include "sim/explore/space.h"
#include "sim/machine/design.h"
#include "sim/machine/path.h"
#include "sim/machine/schema.h"
#include "tracer/base/map.h"

struct ll_space_reading {
    struct ll_space *space;
    struct ll_arena *arena; /* the space's */
    struct ll_diags *diags;
    const struct ll_node *root;
    enum ll_dtype dtype, products, weights; /* of all workloads, of their products, in which their weights are
                                             * stored; LL_DTYPE_COUNT: none */
    struct ll_pattern pruned;               /* weights of all workloads; 0 of 0: none are */
    double gaps;                            /* of all workloads: by which time in gaps is multiplied */
    struct ll_design *design;               /* of the base; NULL when that could not be read */
    const struct ll_machine_number *numbers; /* of the base: names that may have been meant */
    size_t number_count;
    struct ll_map definition_names; /* in the order of the space's definitions */
};

/* Items of which there is room for one more, in the arena; they move when their number is a power of two.
 * NULL when memory ran out. */
void *ll_space_one_more(struct ll_space_reading *reading, void *items, size_t count, size_t size);

/* Complains that memory ran out, with a place in the file; false. */
bool ll_space_no_memory(struct ll_space_reading *reading, struct ll_place place);

/* "`key: value`: expected ..."; false. */
bool ll_space_expected(struct ll_space_reading *reading, const struct ll_node *node, const char *what);

/* "no key `x` here; did you mean ..."; false. */
bool ll_space_unknown_key(struct ll_space_reading *reading, const struct ll_node *child, const char *where,
                          const char *const *keys, size_t count);

/* axes.c: the section `vary`: axes, and couplings, whose expressions are read later. False after complaints.
 */
bool ll_space_read_axes(struct ll_space_reading *reading, const struct ll_node *vary);

/* axes.c: the values of a range {from: 1, to: 10, by: 1}, an array in the arena. A field of the machine's
 * schema says how its numbers are written; NULL: whole numbers. NULL after complaints. */
const struct ll_axis_value *ll_space_range(struct ll_space_reading *reading, const struct ll_field *field,
                                           const struct ll_node *range, uint32_t *count);

/* axes.c: whether a value is one in bytes per cycle, of which only a machine's clock makes B/s. NULL: no. */
bool ll_space_counts_cycles(const char *text);

/* axes.c: the same as expressions have it (expression.h). */
double ll_space_value_shown(const struct ll_field *field, const char *text);

/* axes.c: reads an expression of the section; `until` rules of the couplings or definitions may be named.
 * NULL after complaints. */
struct ll_expression *ll_space_expression(struct ll_space_reading *reading, const char *text,
                                          struct ll_place place, bool coupling, size_t until);

/* evaluate.c: whether some design may have a value of a constraint or an objective, which stands at the
 * node. False after complaining that the machines do not describe what it asks for. */
bool ll_space_is_described(struct ll_space_reading *reading, const struct ll_expression *expression,
                           bool constraint, const struct ll_node *node);

/* evaluate.c: the section of machines without which an expression has no value, whatever varies; NULL: none.
 * Each definition knows what it lacks already. */
const char *ll_space_lack(const struct ll_space *space, const struct ll_expression *expression);

/* axes.c: what a name stands for already, in words: an axis, a coupling or a result; NULL: for none of them.
 */
const char *ll_space_meaning(const struct ll_space_reading *reading, const char *name);

/* space.c: the sections `traces` and `models`, into the space. False after complaints. */
bool ll_space_read_traces(struct ll_space_reading *reading, const struct ll_node *traces);
bool ll_space_read_models(struct ll_space_reading *reading, const struct ll_node *models);

#endif
