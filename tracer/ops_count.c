/* SPDX-License-Identifier: Apache-2.0 */
/* FLOP and byte rules. Multiply and add are two FLOPs, anything else of an element one; bytes count every
 * input and every output once, whatever a cache or a tiling makes of it. */
#include "tracer/ops_rules.h"

static uint64_t per_out(const struct ll_op_view *op, uint64_t flops)
{
    return ll_mul(flops, ll_elements(&op->out[0]));
}

static uint64_t per_in(const struct ll_op_view *op, uint64_t flops)
{
    return ll_mul(flops, ll_elements(&op->in[0]));
}

uint64_t ll_flops_NONE(const struct ll_op_view *op)
{
    (void)op;
    return 0;
}

uint64_t ll_flops_PER_OUT_1(const struct ll_op_view *op)
{
    return per_out(op, 1);
}

uint64_t ll_flops_PER_OUT_2(const struct ll_op_view *op)
{
    return per_out(op, 2);
}

/* A moving average: average -= (1 - decay) (average - x). */
uint64_t ll_flops_PER_OUT_3(const struct ll_op_view *op)
{
    return per_out(op, 3);
}

uint64_t ll_flops_PER_OUT_4(const struct ll_op_view *op)
{
    return per_out(op, 4);
}

/* v = momentum v + g; w -= rate v; where weights decay, first g += decay w. */
uint64_t ll_flops_MOMENTUM(const struct ll_op_view *op)
{
    return per_out(op, ll_attr_real(op, LL_ATTR_DECAY, 0) == 0 ? 4 : 6);
}

/* Dropout: draw, add and round down to keep or not, divide by the share, multiply. */
uint64_t ll_flops_PER_OUT_5(const struct ll_op_view *op)
{
    return per_out(op, 5);
}

/* The hyperbolic tangent, as TensorFlow's profiler weighs it; the logistic function (4) of one factor, and
 * two products. */
uint64_t ll_flops_PER_OUT_6(const struct ll_op_view *op)
{
    return per_out(op, 6);
}

uint64_t ll_flops_PER_OUT_7(const struct ll_op_view *op)
{
    return per_out(op, 7);
}

/* A normal number by Box and Muller: two draws, a logarithm, a root, a cosine, and what joins them. A GELU
 * (Hendrycks and Gimpel, 2016): x times half of one more than the error function of x over the root of two,
 * that function weighed as the hyperbolic tangent. */
uint64_t ll_flops_PER_OUT_10(const struct ll_op_view *op)
{
    return per_out(op, 10);
}

/* Adam (Kingma and Ba, 2015): two moving averages of three operations and a square more, then a square root,
 * an addition, a division, a multiplication and a subtraction. */
uint64_t ll_flops_PER_OUT_12(const struct ll_op_view *op)
{
    return per_out(op, 12);
}

/* The focal loss of a logit and its gradient: turn it the way of its label, two logistic functions from one
 * exp and one log, a power, the loss, the slope. */
uint64_t ll_flops_PER_IN_12(const struct ll_op_view *op)
{
    return per_in(op, 12);
}

/* The gradient of a GELU: of the normal distribution function of x (9) and of x times its density (5) the
 * sum, times what flows in; the density is a square, scaled, an exponential, scaled. */
uint64_t ll_flops_PER_OUT_16(const struct ll_op_view *op)
{
    return per_out(op, 16);
}

uint64_t ll_flops_PER_IN_1(const struct ll_op_view *op)
{
    return per_in(op, 1);
}

/* Half the sum of squares: square and add. */
uint64_t ll_flops_PER_IN_2(const struct ll_op_view *op)
{
    return per_in(op, 2);
}

/* As PER_IN_6, and a product with the target. */
uint64_t ll_flops_PER_IN_7(const struct ll_op_view *op)
{
    return per_in(op, 7);
}

/* With smoothed labels: as PER_IN_6, and a product with a target and its sum. */
uint64_t ll_flops_PER_IN_8(const struct ll_op_view *op)
{
    return per_in(op, 8);
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

/* Softmax with its loss: maximum, subtract, exp, sum, divide, and the subtraction that gives dlogits. */
uint64_t ll_flops_PER_IN_6(const struct ll_op_view *op)
{
    return per_in(op, 6);
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

/* RMSProp (Tieleman and Hinton, 2012, as TensorFlow has it): square, subtract, scale and add to the mean
 * square; add epsilon and take the root; then momentum's product, quotient and sum less what the step takes.
 */
uint64_t ll_flops_PER_OUT_9(const struct ll_op_view *op)
{
    return per_out(op, 9);
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
