/* SPDX-License-Identifier: Apache-2.0 */
/* The mapping of a problem on a machine's array: the one that its file gives, or the best within its limits.
 *
 * Pure and thread-safe. */
#ifndef LL_SIM_ARRAY_CHOOSE_H
#define LL_SIM_ARRAY_CHOOSE_H

#include "sim/array/search.h"
#include "sim/machine/machine.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"

/* Whether all mappings and limits in the array's part of a file can be read; complains of each that
 * cannot. True of machines without an array. */
bool ll_array_check(const struct ll_machine *machine, struct ll_diags *diags);

/* Gives the machine's array the mappings of a text, a line each as in `mapping` (empty ones and those that
 * begin with # are skipped), before those of its file. Lines are copied into the machine's arena. False
 * after complaints, which name the file and the line. */
bool ll_array_give(struct ll_machine *machine, const char *text, const char *file, struct ll_diags *diags);

/* "K=64 C=3 OX=8 => @dram K4 ...": whether this text is for the problem; then *mapping is filled. *right
 * is false after a sentence of what is wrong was added to *complaint. */
bool ll_array_read_given(const struct ll_array *array, const struct ll_array_problem *problem,
                         const char *text, struct ll_array_mapping *mapping, bool *right,
                         struct ll_str *complaint);

/* The limits that the unit's `unroll` and `limits` set, for a problem. False after a sentence was added. */
bool ll_array_read_limits(const struct ll_array_unit *unit, const struct ll_array *array,
                          const struct ll_array_problem *problem, struct ll_array_limits *limits,
                          struct ll_str *complaint);

/* A given mapping, costed (evaluated 1), or the best that the search finds. False when nothing fits.
 * *given tells which. The file has passed ll_array_check. */
bool ll_array_choose(const struct ll_machine *machine, uint64_t u, const struct ll_array *array,
                     const struct ll_array_problem *problem, enum ll_array_aim aim,
                     struct ll_array_found *found, bool *given);

/* What the software's objective asks of an array. */
enum ll_array_aim ll_array_aim_of(const struct ll_machine *machine);

#endif
