/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of what networks do that write one word after the other; see twins.h. */
#ifndef LL_TESTS_TWINS_DECODER_H
#define LL_TESTS_TWINS_DECODER_H

#include "twins.h"

/* For each score, hidden or not: multiply, compare, subtract, exp, add, divide. */
static inline uint64_t twin_CAUSAL_SOFTMAX(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t keys = x->dim[x->rank - 1], rows = x->dim[x->rank - 2], flops = 0;
    uint64_t groups = (uint64_t)ll_attr_count(op, LL_ATTR_GROUPS, 1);
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (uint64_t i = 0; i < ll_elements(x); i++, flops += 6) {
        uint64_t position = i / keys % rows / groups, last = keys - rows / groups + position;
        const double *line = in[0] + i / keys * keys;
        double sum = 0;
        for (uint64_t k = 0; k <= last; k++)
            sum += exp(scale * (line[k] - in[0][i]));
        out[0][i] = i % keys <= last ? 1 / sum : 0;
    }
    return flops;
}

/* For each score: a product and a sum, a difference, two products. */
static inline uint64_t twin_CAUSAL_SOFTMAX_GRAD(const struct ll_op_view *op, double *const *in,
                                                double *const *out)
{
    uint64_t keys = op->in[0].dim[op->in[0].rank - 1], flops = 0;
    double scale = ll_attr_real(op, LL_ATTR_SCALE, 1);
    for (uint64_t i = 0; i < ll_elements(&op->in[0]); i++, flops += 5) {
        double sum = 0;
        for (uint64_t k = i / keys * keys; k < (i / keys + 1) * keys; k++)
            sum += in[0][k] * in[1][k];
        out[0][i] = scale * in[1][i] * (in[0][i] - sum);
    }
    return flops;
}

static inline uint64_t twin_PUT(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const struct ll_shape *all = &op->in[0], *part = &op->in[1];
    uint64_t axis = (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0), inner = 1;
    uint64_t begin = (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0);
    for (uint64_t i = axis + 1; i < all->rank; i++)
        inner *= all->dim[i];
    for (uint64_t i = 0; i < ll_elements(all); i++) {
        uint64_t at = i / inner % all->dim[axis], outer = i / inner / all->dim[axis];
        bool put = at >= begin && at < begin + part->dim[axis];
        out[0][i] = put ? in[1][(outer * part->dim[axis] + at - begin) * inner + i % inner] : in[0][i];
    }
    return 0;
}

#endif
