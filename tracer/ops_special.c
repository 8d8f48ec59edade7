/* SPDX-License-Identifier: Apache-2.0 */
/* Of an op's operations, those that no adder or multiplier does: exponentials, logarithms, roots, quotients,
 * sines. A logistic function is an exponential and a quotient, and so is a hyperbolic tangent or an error
 * function; a power is a logarithm and an exponential. Those of whole rows or channels, as a norm's root, are
 * too few to count. What is not here has none, or nobody knows. */
#include "tracer/ops.h"

#include <assert.h>

enum { LOGISTIC = 2, TANGENT = 2, POWER = 2 };

static const uint8_t specials[LL_OP_COUNT] = {
    [LL_OP_DIV] = 1,
    [LL_OP_RECIPROCAL] = 1,
    [LL_OP_MODULO] = 1,
    [LL_OP_POW] = POWER,
    [LL_OP_SQRT] = 1,
    [LL_OP_SQRT_GRAD] = 1, /* half of what flows in over the root */
    [LL_OP_EXP] = 1,
    [LL_OP_LOG] = 1,
    [LL_OP_SINE] = 1,
    [LL_OP_SIGMOID] = LOGISTIC,
    [LL_OP_TANH] = TANGENT,
    [LL_OP_ERF] = TANGENT,
    [LL_OP_GELU] = TANGENT,
    [LL_OP_GELU_GRAD] = TANGENT + 1, /* and the density */
    [LL_OP_SILU_MUL] = LOGISTIC,
    [LL_OP_SILU_MUL_GRAD] = LOGISTIC,
    [LL_OP_ELU] = 1,
    [LL_OP_SOFTPLUS] = 2,
    [LL_OP_LRN] = POWER,
    [LL_OP_LRN_GRAD] = POWER,
    [LL_OP_SOFTMAX] = 1, /* the sum's quotient is one a row */
    [LL_OP_CAUSAL_SOFTMAX] = 1,
    [LL_OP_SOFTMAX_XENT] = 1,
    [LL_OP_SOFTMAX_XENT_SMOOTH] = 1,
    [LL_OP_SOFTMAX_XENT_DENSE] = 1,
    [LL_OP_FOCAL_LOSS] = 3 + POWER, /* two logistic functions of one exponential, its logarithm, a power */
    [LL_OP_RANDOM_NORMAL] = 3,      /* Box and Muller: logarithm, root, cosine */
    [LL_OP_ADAM] = 2,               /* root, quotient */
    [LL_OP_ADAM_MIXED] = 2,
    [LL_OP_RMSPROP] = 2,
};

uint64_t ll_op_specials(enum ll_op_kind kind)
{
    assert(kind < LL_OP_COUNT);
    return specials[kind];
}
