/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes whose time was measured, and shapes between them.
 *
 * A kernel has few figures, the same for all shapes; what they leave unexplained is told by shapes that were
 * measured (struct ll_seen): how many times as long they took as the figures say, what is done near the unit
 * and what passes the outermost memory each for itself. Work takes the mean of these ratios, in logarithms,
 * each weighed by how like its shape is, beside a ratio of 1 that is always there:
 *
 *       weight = (distance^2 + blur^2)^-1.5,  distance^2 = sum over the sides of (log2 of the sides' ratio)^2
 *       ratio  = exp(sum of weight * ln(ratio) / (sum of weight + weight of none))
 *
 * (Shepard, "A two-dimensional interpolation function for irregularly-spaced data", ACM National Conference
 * 1968; the blur, 1/4, keeps one noisy measurement from ruling alone). The weight of none is 1/16: far from
 * all that was measured the ratio is 1. Ratios belong to shapes alone, so that more bandwidth, a larger
 * buffer or a higher clock never make a machine slower. */
#ifndef LL_SIM_COST_SEEN_H
#define LL_SIM_COST_SEEN_H

#include "sim/cost/cost.h"

/* What stands for a shape: of a product m, n and k, its batch with m; of other work its lines and the bytes
 * that it reads and writes. Each side at least 1. Pure. */
void ll_seen_shape(const struct ll_work *work, uint64_t shape[3]);

/* Multiplies the times that the kernel's figures give, down to those at the unit's peak and at a level's
 * whole bandwidth. Nothing for a kernel without measured shapes. */
void ll_seen_apply(const struct ll_machine *machine, const struct ll_kernel *kernel,
                   const struct ll_work *work, struct ll_cost *cost, struct ll_explain *why);

#endif
