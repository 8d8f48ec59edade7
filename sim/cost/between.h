/* SPDX-License-Identifier: Apache-2.0 */
/* What vector lanes compute between an op's products:
 *
 * - the gates of a recurrent step, which wait for its products; what other products have to add, their own
 *   unit does;
 * - the softmax within an attention, whose rows are so many that lanes and products work at the same time,
 *   each on rows of their own (Shah et al., FlashAttention-3, 2024, section 3.1): the slower of them counts.
 *
 *       seconds = operations / (operations per cycle * count * clock * efficiency)
 *
 * They are the lanes of the unit that would run such an op alone, in 32 bits where results are narrower, as
 * sums are. A machine without such a unit does it on the unit of the products, at their rate.
 *
 * And what special functions (tracer/ops_special.c) take where lanes have hardware of their own for them,
 * which works while lanes do the rest: of gates and softmax as above, with special functions for operations,
 * the slower of the two; of elements ceil(elements / lanes) times those of an element. Pure. */
#ifndef LL_SIM_COST_BETWEEN_H
#define LL_SIM_COST_BETWEEN_H

#include "sim/cost/unit_model.h"

struct ll_between {
    double after_s;     /* when the products are done */
    double meanwhile_s; /* at the same time as they, or as lanes go through elements */
    double flops;       /* of the work's, those that another unit does */
};

/* Whether work of this kind asks lanes of another unit for anything. */
bool ll_between_any(const struct ll_work *work);

/* unit: that multiplies, as many of it as the software employs; `dealt`: these are as many as the work is
 * worth, and no more lanes work than they. */
struct ll_between ll_between_of(const struct ll_machine *machine, const struct ll_task *task,
                                const struct ll_unit *unit, bool dealt, struct ll_explain *why);

#endif
