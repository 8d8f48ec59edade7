/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel on ordinary cores does beside its arithmetic: it wakes and joins threads, deals a product's
 * result to them in whole slices, and copies operands into the order in which multiplications read them. */
#ifndef LL_SIM_COST_LAYOUT_H
#define LL_SIM_COST_LAYOUT_H

#include "sim/cost/explain.h"
#include "sim/cost/unit_model.h"

struct ll_layout {
    uint64_t units;   /* that get a slice */
    double imbalance; /* the busiest unit's share over that of a unit at work, at least 1 */
    double layout_s;  /* of the busiest unit, copying operands */
};

/* For a product, on so many units, of which `at_work` are in the mean; without `slice`, `packing` and `line`
 * of the kernel it is dealt evenly and nothing is copied. Pure. */
struct ll_layout ll_layout_of(const struct ll_kernel *kernel, const struct ll_task *task, uint64_t units,
                              double at_work, struct ll_explain *why);

/* The most of `units` among which the kernel can share an op's work. Pure. */
uint64_t ll_layout_most_units(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units);

/* What waking and joining the units that share an op takes: a tree of as many layers as their number has
 * doublings, `each_s` for each layer. */
double ll_layout_barrier_s(double each_s, uint64_t units, struct ll_explain *why);

/* How much longer a level takes for work whose result is moved again (`rewrites`), at least 1: a product's at
 * every level; other work's where it does not overwrite what was read, and not next to the unit, since it is
 * caches that fetch the lines that are written. once: bytes of all that passes the level, the result among
 * them, each counted once. Pure. */
double ll_layout_rewriting(const struct ll_kernel *kernel, const struct ll_task *task, uint64_t level,
                           double once);

#endif
