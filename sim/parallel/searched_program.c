/* SPDX-License-Identifier: Apache-2.0 */
/* The program of one device that a search measures: what a plan makes of a step before it is cut into stages
 * and given to replicas, in the order of spread.c. */
#include "sim/parallel/exchange.h"
#include "sim/parallel/framework.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/shard.h"

static struct ll_trace *take(struct ll_trace *old, struct ll_trace *next)
{
    ll_trace_free(old);
    return next;
}

struct ll_trace *ll_shared_program(const struct ll_trace *trace, const struct ll_parallel *plan, bool *failed)
{
    const char *trouble = NULL;
    struct ll_diags diags = {0};
    const bool narrow = plan->low_precision.recipe != LL_RECIPE_NONE;
    struct ll_trace *program = ll_shard(trace, plan, &diags);
    bool divided = plan->tensor == 1 || (program && ll_is_divided(trace, program));
    if (program && plan->context > 1)
        program = take(program, ll_share_context(program, plan, &diags));
    if (program && plan->expert > 1)
        program = take(program, ll_spread_experts(program, plan, &diags));
    if (program && narrow)
        program = take(program, ll_complete_casts(program, plan, &trouble));
    uint64_t ops = program ? program->op_count : 0;
    if (program && plan->recompute == LL_RECOMPUTE_SELECTIVE)
        program = take(program, ll_recompute(program, plan->recompute, &trouble));
    bool new = divided && (plan->recompute != LL_RECOMPUTE_SELECTIVE || (program && program->op_count > ops));
    if (program && new && plan->main_grads)
        program = take(program, ll_main_gradients(program, &trouble));
    if (program && new && plan->tensor_overlap)
        program = take(program, ll_cut_exchanges(program, plan, &trouble));
    if (program && new && !plan->pass_overlap)
        program = take(program, ll_wait_for_exchanges(program, &trouble));
    *failed |= !program && !trouble && diags.count == 0;
    ll_diags_release(&diags);
    if (!program || new)
        return program;
    ll_trace_free(program); /* it does what another one does: that has been seen */
    return NULL;
}
