/* SPDX-License-Identifier: Apache-2.0 */
/* How tokens spread over the experts of a served model, where they do not spread evenly: the device with
 * most of them is the one that all others wait for. One thread at a time. */
#ifndef LL_SIM_CLI_SERVED_EXPERTS_H
#define LL_SIM_CLI_SERVED_EXPERTS_H

#include "sim/replay/replay.h"

/* skew 0 and no shares: balanced. Else loads follow x^-skew (tracer/ir/experts.h), or expert i gets
 * shares[i] of all rows; shares sum to 1. */
struct ll_expert_load {
    double skew;
    const double *shares;
    uint64_t count; /* of shares */
};

/* "balanced", "power_law_1.2", or a file of the tokens that each expert had, one number a line, as many as
 * the model has experts in a layer. False after saying what is wrong. Shares live in the arena. */
bool ll_expert_load_read(const char *text, uint64_t experts, struct ll_arena *arena,
                         struct ll_expert_load *load);

/* What is replayed of a device, with its experts under the load: of all devices that share the experts of a
 * layer, `experts` in all, the one with most rows. Where it is balanced `prepared` itself; NULL when memory
 * ran out. Lives as long as `prepared` and the arena. */
const struct ll_prepared *ll_expert_load_put(const struct ll_prepared *prepared,
                                             const struct ll_expert_load *load, uint64_t experts,
                                             struct ll_arena *arena);

#endif
