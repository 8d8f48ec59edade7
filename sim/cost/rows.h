/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that go along rows of elements which depend on one another, as a softmax or a norm does.
 *
 * A row is not shared by units, so that with fewer rows than units some stay idle:
 *
 *       imbalance = max(1, units / rows)
 *
 * Where a row mostly waits, for what it loads and for its parts to be joined, a unit works on several side by
 * side, all units in rounds; a last round of a few rows takes as long as a full one:
 *
 *       imbalance = ceil(rows / (units * side)) * units * side / rows
 *
 * A row too long to be kept at hand is read several times. Memories inside the cache in front of the
 * outermost one see all of it. The outermost sees again what this cache has lost in between. It is passed by
 * three streams, rows being read again, results, and the rows to come, so that nothing is lost while three
 * times the rows in progress fit, and everything when these alone fill it, where `kept` is 3 / 2:
 *
 *       share = min(1, kept * (1 - rows in progress / capacity))
 *
 * Where software fills the memory in front of the outermost one, it keeps all rows there, or none where they
 * do not find room. */
#ifndef LL_SIM_COST_ROWS_H
#define LL_SIM_COST_ROWS_H

#include "sim/cost/cost.h"

/* Whether the work is rows that the kernel keeps at hand: what it moves or computes more than once it does
 * for longer ones only. Pure, as the rest. */
bool ll_rows_at_hand(const struct ll_kernel *kernel, const struct ll_work *work);

/* How often the kernel moves its operands, and machine operations for each algorithmic FLOP. */
double ll_rows_passes(const struct ll_kernel *kernel, const struct ll_work *work);
double ll_rows_work(const struct ll_kernel *kernel, const struct ll_work *work);

/* Bytes that pass through a unit for such work, what the kernel moves more than once as often. */
double ll_rows_bytes(const struct ll_kernel *kernel, const struct ll_work *work, struct ll_explain *why);

/* How many times as long as evenly dealt the unit computes that gets most rows, at least 1; 1 where the
 * kernel does not say how many rows a unit works on. */
double ll_rows_imbalance(const struct ll_kernel *kernel, const struct ll_work *work,
                         const struct ll_unit *unit, struct ll_explain *why);

/* Adds to the levels' traffic what the kernel moves more than once, by passes and by reading rows again, on
 * so many units. Nothing for products. */
void ll_rows_again(const struct ll_machine *machine, const struct ll_kernel *kernel,
                   const struct ll_work *work, uint64_t units, struct ll_cost *cost, struct ll_explain *why);

#endif
