/* SPDX-License-Identifier: Apache-2.0 */
/* Count rules: FLOPs, bytes and special functions of an op. */
#include <assert.h>
#include <string.h>

#include "tracer/ir/ops.h"
#include "tracer/ir/ops_rules.h"

/* FLOP and byte rules. Multiply and add are two FLOPs, anything else of an element one; bytes count every
 * input and every output once, whatever a cache or a tiling makes of it. */

static uint64_t per_out(const struct ll_op_view *op, uint64_t flops)
{
    return ll_mul(flops, ll_elements(&op->out[0]));
}

static uint64_t per_in(const struct ll_op_view *op, uint64_t flops)
{
    return ll_mul(flops, ll_elements(&op->in[0]));
}

uint64_t ll_flops_each_out(const struct ll_op_view *op)
{
    return per_out(op, ll_op_flops_each(op->kind));
}

uint64_t ll_flops_each_in(const struct ll_op_view *op)
{
    return per_in(op, ll_op_flops_each(op->kind));
}

uint64_t ll_flops_NONE(const struct ll_op_view *op)
{
    (void)op;
    return 0;
}

/* v = momentum v + g; w -= rate v; where weights decay, first g += decay w. */
uint64_t ll_flops_MOMENTUM(const struct ll_op_view *op)
{
    return per_out(op, ll_attr_real(op, LL_ATTR_DECAY, 0) == 0 ? 4 : 6);
}

/* A comparison an element with each of the steps of a search among those that are kept: log2 k, rounded up,
 * and one at least. */
uint64_t ll_flops_TOP_K(const struct ll_op_view *op)
{
    uint64_t kept = op->out[0].dim[op->out[0].rank - 1], steps = 1;
    while (steps < 63 && (UINT64_C(1) << steps) < kept)
        steps++;
    return per_in(op, steps);
}

/* k tensors: k - 1 additions an element. */
uint64_t ll_flops_ADD_N(const struct ll_op_view *op)
{
    return per_out(op, op->input_count - 1);
}

/* m elements into n: m - n operations; none where the n are what nothing adds up to. */
uint64_t ll_flops_REDUCE(const struct ll_op_view *op)
{
    uint64_t elements = ll_elements(&op->in[0]);
    return ll_sub(elements, ll_min(elements, ll_elements(&op->out[0])));
}

/* Of so many FLOPs, as many for each element of input 1, those of elements that are not known to be zero. */
static uint64_t without_zeros(const struct ll_op_view *op, uint64_t flops)
{
    const struct ll_shape *b = &op->in[1];
    if (b->of == 0 || !ll_fits(flops) || flops == 0)
        return flops;
    return flops / ll_elements(b) * ll_elements_kept(b);
}

uint64_t ll_flops_MATMUL(const struct ll_op_view *op)
{
    struct ll_gemm gemm = ll_matmul_dims(op);
    uint64_t flops = ll_mul(ll_mul(2, gemm.k), ll_mul(gemm.m, gemm.n));
    return without_zeros(op, ll_mul(ll_product_factor(op), flops));
}

/* 2 n (c / groups) kh kw for n elements of the result, also for both gradients: they do the same
 * multiplications in another order. Taps on padding count, as in every framework's count. */
static uint64_t conv_flops(const struct ll_op_view *op, enum ll_conv_pass pass)
{
    struct ll_conv conv = ll_conv_dims(op, pass);
    uint64_t results = ll_mul(ll_mul(conv.batch, conv.out_c), ll_mul(conv.out_h, conv.out_w));
    uint64_t taps = ll_mul(ll_mul(conv.kernel_h, conv.kernel_w), conv.in_c / conv.groups);
    return ll_mul(2, ll_mul(results, taps));
}

uint64_t ll_flops_CONV_FORWARD(const struct ll_op_view *op)
{
    return without_zeros(op, conv_flops(op, LL_CONV_FORWARD));
}

uint64_t ll_flops_CONV_DATA(const struct ll_op_view *op)
{
    return without_zeros(op, conv_flops(op, LL_CONV_DATA));
}

uint64_t ll_flops_CONV_FILTER(const struct ll_op_view *op)
{
    return conv_flops(op, LL_CONV_FILTER);
}

static uint64_t window_of(const struct ll_op_view *op)
{
    return ll_mul((uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_H, 1),
                  (uint64_t)ll_attr_count(op, LL_ATTR_KERNEL_W, 1));
}

/* One comparison or addition for each element of each window. */
uint64_t ll_flops_POOL(const struct ll_op_view *op)
{
    return per_out(op, window_of(op));
}

/* One addition for each element of each window. */
uint64_t ll_flops_SPREAD(const struct ll_op_view *op)
{
    return per_in(op, window_of(op));
}

/* One addition for each element of dy, to wherever its maximum came from. */
uint64_t ll_flops_POOL_GRAD(const struct ll_op_view *op)
{
    return per_in(op, 1);
}

/* y = x / (bias + alpha sum x^2)^beta over 2 radius + 1 channels: the sum, then four operations more. */
uint64_t ll_flops_LRN(const struct ll_op_view *op)
{
    return per_out(op, (uint64_t)(2 * ll_attr_count(op, LL_ATTR_RADIUS, 0) + 5));
}

uint64_t ll_flops_LRN_GRAD(const struct ll_op_view *op)
{
    return ll_mul(2, ll_flops_LRN(op));
}

static uint64_t per_out_and_channel(const struct ll_op_view *op, uint64_t per_element, uint64_t per_channel)
{
    return ll_add(per_out(op, per_element), ll_mul(per_channel, ll_elements(&op->out[1])));
}

/* Of each element: add to the mean, subtract the mean, square, add to the variance, scale, shift. Of each
 * channel: add epsilon, root, divide. */
uint64_t ll_flops_BATCH_NORM(const struct ll_op_view *op)
{
    return per_out_and_channel(op, 6, 3);
}

/* As frameworks count it: 6 for each element, 1 for each channel. */
uint64_t ll_flops_NORM_GRAD(const struct ll_op_view *op)
{
    return per_out_and_channel(op, 6, 1);
}

/* Of each sample: a number, times the logarithm of the range, exp, rounded down. Of each expected count: its
 * class's share by two divisions and a logarithm, then 1 - (1 - share)^tries by log, product and exp. Samples
 * that come twice and are drawn again count once. */
uint64_t ll_flops_SAMPLE(const struct ll_op_view *op)
{
    uint64_t samples = ll_elements(&op->out[0]), classes = ll_elements(&op->out[1]);
    return ll_add(ll_mul(4, samples), ll_mul(6, ll_add(samples, classes)));
}

/* For each frame and each of the 2 L + 1 cells of the labels, two recursions of three sums of logarithms
 * (maximum, subtract, exp, log, add: 15) and 3 for the gradient; for each logit 3 of the softmax and 2 of the
 * gradient. As if every utterance had all frames and labels. */
uint64_t ll_flops_CTC(const struct ll_op_view *op)
{
    uint64_t frames = ll_mul(op->in[0].dim[0], op->in[0].dim[1]);
    uint64_t cells = ll_add(ll_mul(2, op->in[1].dim[1]), 1);
    return ll_mul(frames, ll_add(ll_mul(33, cells), ll_mul(5, op->in[0].dim[2])));
}

uint64_t ll_flops_BATCH_MATMUL(const struct ll_op_view *op)
{
    struct ll_gemm gemm = ll_batch_matmul_dims(op);
    uint64_t flops = ll_mul(ll_mul(2, gemm.batch), ll_mul(gemm.k, ll_mul(gemm.m, gemm.n)));
    return without_zeros(op, ll_mul(ll_product_factor(op), flops));
}

/* Rows of a gradient scaled and subtracted from those of the weight. */
uint64_t ll_flops_ROWS_2(const struct ll_op_view *op)
{
    return ll_mul(2, ll_elements(&op->in[1]));
}

static uint64_t total_bytes(const struct ll_shape *shapes, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes = ll_add(bytes, ll_size_bytes(&shapes[i]));
    return bytes;
}

uint64_t ll_read_NONE(const struct ll_op_view *op)
{
    (void)op;
    return 0;
}

uint64_t ll_written_NONE(const struct ll_op_view *op)
{
    (void)op;
    return 0;
}

uint64_t ll_read_IN_OUT(const struct ll_op_view *op)
{
    return total_bytes(op->in, op->input_count);
}

uint64_t ll_written_IN_OUT(const struct ll_op_view *op)
{
    return total_bytes(op->out, op->output_count);
}

/* Of the matrices that are computed. */
uint64_t ll_read_STACK(const struct ll_op_view *op)
{
    return ll_add(ll_stack_bytes(op, &op->in[0]), ll_stack_bytes(op, &op->in[1]));
}

uint64_t ll_written_STACK(const struct ll_op_view *op)
{
    return ll_stack_bytes(op, &op->out[0]);
}

uint64_t ll_read_OUT(const struct ll_op_view *op)
{
    (void)op;
    return 0;
}

uint64_t ll_written_OUT(const struct ll_op_view *op)
{
    return total_bytes(op->out, op->output_count);
}

/* Only the rows that are picked are read. */
uint64_t ll_read_GATHER(const struct ll_op_view *op)
{
    return ll_add(ll_size_bytes(&op->in[1]), ll_size_bytes(&op->out[0]));
}

uint64_t ll_written_GATHER(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->out[0]);
}

/* The gradient's rows, their indices, and the rows of the weight that they change. */
uint64_t ll_read_ROWS(const struct ll_op_view *op)
{
    return ll_add(ll_mul(2, ll_size_bytes(&op->in[1])), ll_size_bytes(&op->in[2]));
}

uint64_t ll_written_ROWS(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->in[1]);
}

/* What was there before is not read. */
uint64_t ll_read_ASSIGN(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->in[1]);
}

uint64_t ll_written_ASSIGN(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->out[0]);
}

/* The weight is the rounding of its master copy: it is written, not read. */
uint64_t ll_read_ADAM_MIXED(const struct ll_op_view *op)
{
    return total_bytes(op->in + 1, op->input_count - 1);
}

uint64_t ll_written_ADAM_MIXED(const struct ll_op_view *op)
{
    return total_bytes(op->out, op->output_count);
}

/* Of the target only what is overwritten. */
uint64_t ll_read_PART(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->in[1]);
}

uint64_t ll_written_PART(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->in[1]);
}

/* In place nothing is read or written but what comes; a copy is read and written whole. */
uint64_t ll_read_PLACED(const struct ll_op_view *op)
{
    bool copied = ll_attr_count(op, LL_ATTR_IN_PLACE, -1) < 0;
    return total_bytes(op->in + !copied, op->input_count - !copied);
}

uint64_t ll_written_PLACED(const struct ll_op_view *op)
{
    return ll_size_bytes(ll_attr_count(op, LL_ATTR_IN_PLACE, -1) < 0 ? &op->out[0] : &op->in[2]);
}

/* As much is read as is written. */
uint64_t ll_read_SLICE(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->out[0]);
}

uint64_t ll_written_SLICE(const struct ll_op_view *op)
{
    return ll_size_bytes(&op->out[0]);
}

/* The steps of a recurrent layer as one op: what the input contributes has been computed for all steps
 * before.
 *
 *     x[steps, batch, gates hidden], weights[gates hidden, hidden], states[batch, hidden]... -> given
 *
 * Four gates make an LSTM (Hochreiter and Schmidhuber, 1997), three a GRU (Cho et al., 2014), one is a plain
 * layer. A step is one product of the hidden state with all gates' weights, which stay where they are, and a
 * few operations on each element of the state. */

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
