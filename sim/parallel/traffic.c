/* SPDX-License-Identifier: Apache-2.0 */
/* What an exchange of a program is for: which kind of parallelism asks for it. */
#include <assert.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"

const char *ll_traffic_name(enum ll_traffic_kind traffic)
{
    assert(traffic < LL_TRAFFIC_COUNT);
    static const char *const names[LL_TRAFFIC_COUNT] = {
#define X(word, name, help) name,
        LL_TRAFFIC_LIST(X)
#undef X
    };
    return names[traffic];
}

/* Weights and their gradients go among as many devices in a pass, too, of which parts are vectors. */
static bool is_of_context(const struct ll_parallel *plan, const struct ll_op_signature *signature)
{
    const struct ll_op_view *view = &signature->view;
    bool vectors = view->input_count == 0 || view->in[0].rank != view->out[0].rank || view->in[0].rank == 1;
    return plan->context > 1 && signature->phase != LL_PHASE_COMM && !vectors &&
           ll_attr_count(view, LL_ATTR_DEVICES, 0) == (int64_t)plan->context &&
           ll_attr_count(view, LL_ATTR_STRIDE, 1) == (int64_t)plan->tensor;
}

/* What goes to experts are rows; what goes from positions to heads has a dimension of these. */
static bool is_of_heads(const struct ll_op_view *view)
{
    return view->input_count > 0 && view->in[0].rank == 4 && view->in[0].role[1] == LL_ROLE_HEADS;
}

enum ll_traffic_kind ll_traffic_of(const struct ll_parallel *plan, const struct ll_op_signature *signature)
{
    const struct ll_op_view *view = &signature->view;
    if (view->kind == LL_OP_SEND || view->kind == LL_OP_RECEIVE)
        return LL_TRAFFIC_PIPELINE;
    if (view->kind == LL_OP_ALL_TO_ALL)
        return is_of_heads(view) ? LL_TRAFFIC_CONTEXT : LL_TRAFFIC_EXPERT;
    /* Stages that hold the same weight are at least so far apart, replicas never. */
    if (plan->pipeline > 1 &&
        ll_attr_count(view, LL_ATTR_STRIDE, 1) >= (int64_t)(plan->tensor * ll_replicas(plan)))
        return LL_TRAFFIC_PIPELINE;
    bool within = plan->tensor > 1 && ll_attr_count(view, LL_ATTR_STRIDE, 1) == 1 &&
                  ll_attr_count(view, LL_ATTR_DEVICES, 0) > 1; /* some, where these hold the same key heads */
    if (within && signature->phase != LL_PHASE_COMM)
        return LL_TRAFFIC_TENSOR;
    return is_of_context(plan, signature) ? LL_TRAFFIC_CONTEXT : LL_TRAFFIC_DATA;
}
