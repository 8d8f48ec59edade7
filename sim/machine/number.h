/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a machine, by the paths that --set takes: for whoever wants to turn many of them many times,
 * as a fit does, without reading the file again. */
#ifndef LL_SIM_MACHINE_NUMBER_H
#define LL_SIM_MACHINE_NUMBER_H

#include "sim/machine/machine.h"
#include "sim/machine/quantity.h"

/* The deepest path: software.transforms.winograd.rate.f32. */
enum { LL_MOST_SEGMENTS = 5 };

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
