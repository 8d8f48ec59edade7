/* SPDX-License-Identifier: Apache-2.0 */
/* From measured rows to a machine's table of measured kernels (sim/cost/kernel_table.h).
 *
 * A row of such a table is one kernel on one device: what is a step of a network, several kernels after one
 * another, or an exchange between devices has no place in it. The ratio of measured to modelled time is
 * formed on the machine that was measured: `on`, as its file describes it, without overrides. */
#ifndef LL_SIM_VALIDATE_TABLE_H
#define LL_SIM_VALIDATE_TABLE_H

#include "sim/cost/kernel_table.h"
#include "sim/validate/validate.h"

/* A row as a point of a table. NULL, or why it cannot be one, in static storage. `on` has no table of its own
 * (asserted). Pure, thread-safe. */
const char *ll_measured_point(const struct ll_measured *row, const struct ll_machine *on,
                              struct ll_kernel_point *point);

/* The one piece of work of a row that is a kernel of one device; NULL and *trouble, in static storage: what
 * else it is. Pure. */
const struct ll_measured_part *ll_measured_kernel(const struct ll_measured_works *works,
                                                  const char **trouble);

/* The fold of a row, below LL_MEASURED_FOLDS: of one block of shapes, whose dims are the same but for numbers
 * of the same power of two, all rows have the same. Pure. */
enum { LL_MEASURED_FOLDS = 5 };
unsigned ll_measured_fold(const struct ll_measured *row);

/* The table of a file's rows, all of which have to be kernels that were measured on the machine (aliases as
 * of ll_machine_measured), each at one time: everything else is complained of, with file and line. NULL after
 * complaints. Lives in the arena. */
const struct ll_kernel_table *ll_measured_table(const struct ll_measured *rows, size_t count,
                                                const char *file, const struct ll_machine *on,
                                                const struct ll_aliases *aliases, struct ll_arena *arena,
                                                struct ll_diags *diags);

/* A row with its work, and the fold that it is left out with. */
struct ll_table_sample {
    const struct ll_measured *row;
    const struct ll_measured_works *works;
    size_t fold;
};

/* What a table of the kernels of all other folds makes of a fold: log_errors[i] = log(predicted / measured)
 * for its samples, the others untouched, by a machine without a table (asserted). A sample that cannot be
 * predicted has NaN. False when memory ran out. Thread-safe. */
bool ll_table_held_out(const struct ll_table_sample *samples, size_t count, size_t fold,
                       const struct ll_machine *machine, double *log_errors);

#endif
