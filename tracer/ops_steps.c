/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a recurrent layer as one op: what the input contributes has been computed for all steps
 * before.
 *
 *     x[steps, batch, gates hidden], weights[gates hidden, hidden], states[batch, hidden]... -> given
 *
 * Four gates make an LSTM (Hochreiter and Schmidhuber, 1997), three a GRU (Cho et al., 2014), one is a plain
 * layer. A step is one product of the hidden state with all gates' weights, which stay where they are, and a
 * few operations on each element of the state. */
#include "tracer/ops_rules.h"

const char *ll_shape_STEPS(struct ll_op_view *op)
{
    if (op->input_count < 2 || op->output_count == 0)
        return "recurrent steps take what comes in and weights, and their results are given";
    const struct ll_shape *x = &op->in[0], *weights = &op->in[1];
    if (x->rank != 3 || weights->rank != 2 || weights->dim[0] != x->dim[2])
        return "what comes in must be steps, batch and gates, and the weights a row for each gate";
    uint64_t hidden = weights->dim[1], gates = hidden ? weights->dim[0] / hidden : 0;
    if (gates * hidden != weights->dim[0] || (gates != 1 && gates != 3 && gates != 4))
        return "there must be one, three or four gates, each as wide as the hidden state";
    ll_give_roles_of_steps(op);
    return NULL;
}

static struct ll_gemm step_of(const struct ll_op_view *op)
{
    return (struct ll_gemm){.batch = 1, .m = op->in[0].dim[1], .n = op->in[1].dim[0], .k = op->in[1].dim[1]};
}

/* Of each element of the state, beside the product. LSTM: the product added for four gates, three logistic
 * functions of 4, the hyperbolic tangent (6) of the candidate and of the cell, c = f c + i g, h = o tanh c.
 * GRU: added for three, two logistic functions, a tangent, the reset's product, h = (1 - z) n + z h. Plain:
 * added, a tangent. */
static uint64_t cell_flops(uint64_t gates)
{
    return gates == 4 ? 4 + 3 * 4 + 2 * 6 + 3 + 1 : gates == 3 ? 3 + 2 * 4 + 6 + 1 + 4 : 1 + 6;
}

/* Of these, an exponential and a quotient for each logistic function and each tangent. */
static uint64_t cell_specials(uint64_t gates)
{
    return gates == 4 ? 2 * (3 + 2) : gates == 3 ? 2 * (2 + 1) : 2;
}

uint64_t ll_flops_STEPS(const struct ll_op_view *op)
{
    struct ll_gemm step = step_of(op);
    uint64_t product = ll_mul(2, ll_mul(step.m, ll_mul(step.n, step.k)));
    uint64_t cell = ll_mul(cell_flops(step.n / step.k), ll_mul(step.m, step.k));
    return ll_mul(op->in[0].dim[0], ll_add(product, cell));
}

bool ll_work_STEPS(const struct ll_op_view *op, struct ll_work *work)
{
    work->kind = LL_WORK_SEQUENCE;
    work->sequence.steps = op->in[0].dim[0];
    const struct ll_gemm step = work->sequence.step = step_of(op);
    work->specials =
        ll_mul(ll_mul(work->sequence.steps, cell_specials(step.n / step.k)), ll_mul(step.m, step.k));
    work->b_bytes = ll_size_bytes(&op->in[1]);
    work->a_bytes = ll_sub(work->a_bytes, work->b_bytes);
    return ll_fits(work->a_bytes); /* specials are fewer than FLOPs */
}
