/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of several ranks, replayed together: each rank is a device, and they wait for one another.
 *
 * Such a trace says in its header how many `ranks` it has; the thread of an op is its rank (as imports of
 * Chakra's files have it). Each rank has streams as in sim/replay/engine.c, which ops take in recorded order,
 * or, where the header has a `ranks.order`, as they become ready: files of others tell what waits for what,
 * and the order of their nodes means nothing. A collective begins when all members of its group have come, a
 * receive ends when what was sent is there. That exchanges keep units of the device busy (`units_taken`) is
 * left out: each op takes as long as it does alone. */
#ifndef LL_SIM_PARALLEL_TOGETHER_H
#define LL_SIM_PARALLEL_TOGETHER_H

#include "sim/replay/replay.h"

/* False after a complaint where a trace has several ranks: what each of them does is not a step that other
 * devices could share. */
bool ll_is_of_one_rank(const struct ll_trace *trace, struct ll_diags *diags);

struct ll_rank_use {
    double end_s;  /* of its last op, all steps */
    double busy_s; /* the device works */
};

struct ll_together {
    const struct ll_result *result; /* times of all ops; sums and energy are those of a rank, on average,
                                       shares those of the chain that was waited for, memory that of the
                                       rank that needs most */
    const struct ll_rank_use *ranks;
    uint32_t rank_count;
    uint32_t last; /* rank to end */
};

/* As ll_replay_remembering. Complaints name ops that wait for each other, or for what never comes. */
const struct ll_together *ll_replay_together(const struct ll_prepared *prepared,
                                             const struct ll_machine *machine,
                                             struct ll_remembered *remembered, struct ll_arena *arena,
                                             struct ll_diags *diags);

/* What turning each knob of the machine gains, as ll_what_if. */
const struct ll_gain *ll_together_what_if(const struct ll_together *together,
                                          struct ll_remembered *remembered, struct ll_arena *arena,
                                          size_t *count);

#endif
