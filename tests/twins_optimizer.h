/* SPDX-License-Identifier: Apache-2.0 */
/* Dumb twins of the optimizers' kernels; see twins.h. */
#ifndef LL_TESTS_TWINS_OPTIMIZER_H
#define LL_TESTS_TWINS_OPTIMIZER_H

#include "twins.h"

/* Tieleman and Hinton, 2012, with momentum as TensorFlow has it: square, subtract, scale, add; add, root;
 * scale, product and quotient with their sum; subtract: counted as nine. */
static inline uint64_t twin_RMSPROP(const struct ll_op_view *op, double *const *in, double *const *out)
{
    double rate = ll_attr_real(op, LL_ATTR_LEARNING_RATE, 0), decay = ll_attr_real(op, LL_ATTR_DECAY, 0);
    double momentum = ll_attr_real(op, LL_ATTR_MOMENTUM, 0), epsilon = ll_attr_real(op, LL_ATTR_EPSILON, 0);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++) {
        double g = in[3][i];
        out[1][i] = decay * in[1][i] + (1 - decay) * g * g;
        out[2][i] = momentum * in[2][i] + rate * g / sqrt(out[1][i] + epsilon);
        out[0][i] = in[0][i] - out[2][i];
    }
    return 9 * ll_elements(&op->out[0]);
}

static inline uint64_t twin_SGD(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += 2)
        out[0][i] = in[0][i] - ll_attr_real(op, LL_ATTR_LEARNING_RATE, 0) * in[1][i];
    return flops;
}

static inline uint64_t twin_MOMENTUM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    const double decay = ll_attr_real(op, LL_ATTR_DECAY, 0);
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += decay == 0 ? 4 : 6) {
        double v = ll_attr_real(op, LL_ATTR_MOMENTUM, 0) * in[1][i] + in[2][i] + decay * in[0][i];
        out[0][i] = in[0][i] - ll_attr_real(op, LL_ATTR_LEARNING_RATE, 0) * v;
        out[1][i] = v;
    }
    return flops;
}

/* Kingma and Ba, 2015, algorithm 1 with the order of computation at the end of section 2: three operations
 * for m, four for v, five for w. */
static inline uint64_t twin_ADAM(const struct ll_op_view *op, double *const *in, double *const *out)
{
    double b1 = ll_attr_real(op, LL_ATTR_BETA1, 0), b2 = ll_attr_real(op, LL_ATTR_BETA2, 0);
    double rate = ll_attr_real(op, LL_ATTR_LEARNING_RATE, 0) * sqrt(1 - in[4][1]) / (1 - in[4][0]);
    rate *= op->input_count > 5 ? in[5][0] : 1;
    uint64_t flops = 0;
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += 3 + 4 + 5) {
        double g = in[3][i], m = b1 * in[1][i] + (1 - b1) * g, v = b2 * in[2][i] + (1 - b2) * g * g;
        out[0][i] = in[0][i] - rate * m / (sqrt(v) + ll_attr_real(op, LL_ATTR_EPSILON, 0));
        out[1][i] = m;
        out[2][i] = v;
    }
    return flops;
}

static inline uint64_t twin_MOVING_AVERAGE(const struct ll_op_view *op, double *const *in, double *const *out)
{
    uint64_t flops = 0;
    double decay = ll_attr_real(op, LL_ATTR_DECAY, 0);
    for (uint64_t i = 0; i < ll_elements(&op->out[0]); i++, flops += 3)
        out[0][i] = decay * in[0][i] + (1 - decay) * in[1][i];
    return flops;
}

#endif
