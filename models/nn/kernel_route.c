/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens find their places with the experts that they chose, the first choices of all tokens before the
 * second ones, and in the order of the tokens (Lepikhin et al., GShard, 2020): who comes when an expert has
 * no place left is turned away. A place that stays empty names no token. */
#include "models/nn/kernel.h"

#include <string.h>

#ifndef LL_DOUBLE
/* How many have come to each expert. */
uint64_t ll_route_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    return ll_mul(op->out[0].dim[0], sizeof(uint64_t));
}
#endif

LL_KERNEL(ROUTE)
{
    const struct ll_shape *in = &call->op->in[0], *out = &call->op->out[0];
    const uint64_t tokens = in->dim[0], choices = in->dim[1], places = out->dim[1];
    const int32_t *experts = call->in[0];
    int32_t *token = call->out[0], *choice = call->out[1];
    uint8_t *taken = call->out[2];
    uint64_t *came = call->workspace;
    memset(came, 0, out->dim[0] * sizeof *came);
    for (uint64_t i = 0; i < ll_elements(out); i++)
        token[i] = LL_NO_ROW;
    memset(choice, 0, ll_size_bytes(out));
    memset(taken, 0, ll_elements(out));
    for (uint64_t i = 0; i < tokens * choices; i++) {
        uint64_t t = i % tokens, number = t * choices + i / tokens;
        int32_t expert = experts[number];
        if (!ll_index_fits(call, expert, out->dim[0]) || came[expert] == places)
            continue;
        uint64_t at = (uint64_t)expert * places + came[expert]++;
        token[at] = (int32_t)t;
        choice[at] = (int32_t)number;
        taken[at] = 1;
    }
}
