/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of the kernels that draw; see twins.h. */
#ifndef LL_TESTS_TWINS_RANDOM_H
#define LL_TESTS_TWINS_RANDOM_H

#include "tracer/base/random.h"
#include "twins.h"

/* Number i of the stream that the seed, the op's stream and the step name. */
static inline uint64_t drawn_bits(const struct ll_op_view *op, double step, uint64_t i)
{
    uint64_t seed = (uint64_t)ll_attr_count(op, LL_ATTR_SEED, 0);
    uint64_t stream = (uint64_t)ll_attr_count(op, LL_ATTR_STREAM, 0);
    return ll_random_bits(ll_random_key(ll_random_key(seed, stream), (uint64_t)(int64_t)step), i);
}

/* Draw, add to the share, round down, which is to compare. Divide, multiply. */
static inline uint64_t twin_DROPOUT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    double keep = ll_attr_real(op, LL_ATTR_KEEP, 1);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += 5) {
        double unit = (double)ll_random_unit((uint32_t)drawn_bits(op, in[1][0], i));
        out[1][i] = unit < keep;
        out[0][i] = in[0][i] * (out[1][i] / keep);
    }
    return flops;
}

/* A product with what is kept, and one over the share. */
static inline uint64_t twin_DROPOUT_GRAD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    double keep = ll_attr_real(op, LL_ATTR_KEEP, 1);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += 2)
        out[0][i] = in[0][i] * in[1][i] / keep;
    return flops;
}

static inline uint64_t twin_RANDOM_UNIFORM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++)
        out[0][i] = (double)ll_random_unit((uint32_t)drawn_bits(op, in[0][0], i));
    return ll_elements(&op->out[0]);
}

/* Box and Muller, 1958. Two draws, a logarithm, a root, a cosine, two products: counted as ten. */
static inline uint64_t twin_RANDOM_NORMAL(const struct ll_op_view *op, double *const *in, double *const *out)
{
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        uint64_t bits = drawn_bits(op, in[0][0], i);
        double u = (double)ll_random_unit((uint32_t)bits), v = (double)ll_random_unit((uint32_t)(bits >> 32));
        out[0][i] = sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
    }
    return 10 * ll_elements(&op->out[0]);
}

/* Draws until enough classes were met, each by its share of the range; then counts what was to be expected.
 * Draw, product, exp, floor; of each count two divisions and a log, then log, product, exp. */
static inline uint64_t twin_LOG_UNIFORM_SAMPLE(const struct ll_op_view *op, double *const *in,
                                               double *const *out)
{
    uint64_t samples = op->out[0].dim[0], tries = 0, flops = 0, found = 0;
    double range = (double)ll_attr_count(op, LL_ATTR_RANGE, 0);
    while (found < samples) {
        double u = ((double)(drawn_bits(op, in[0][0], tries++) >> 11) + 0.5) / 9007199254740992.0;
        double drawn = floor(pow(range + 1, u)) - 1;
        bool is_new = true;
        for (uint64_t i = 0; i < found; i++)
            is_new &= out[0][i] != drawn;
        if (is_new)
            out[0][found++] = drawn, flops += 4;
    }
    for (int n = 1; n <= 2; n++)
        for (uint64_t i = 0; i < op->out[n].dim[0]; i++, flops += 6) {
            double of = n == 1 ? in[1][i] : out[0][i], share = log((of + 2) / (of + 1)) / log(range + 1);
            out[n][i] = 1 - pow(1 - share, (double)tries);
        }
    return flops;
}

#endif
