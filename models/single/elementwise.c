/* SPDX-License-Identifier: Apache-2.0 */
/* One op on each of b x h elements, or on pairs of them. */
#include "models/single/single.h"

enum { OP, B, H, DTYPE, PARAMS };

/* The words of `op`: the kinds they stand for, and how many operands these have. */
#define LL_ELEMENTWISE_LIST(X)                                                                               \
    X(ADD, "add", 2)                                                                                         \
    X(SUB, "sub", 2)                                                                                         \
    X(MUL, "mul", 2)                                                                                         \
    X(DIV, "div", 2)                                                                                         \
    X(MAXIMUM, "maximum", 2)                                                                                 \
    X(POW, "pow", 2)                                                                                         \
    X(RELU, "relu", 1)                                                                                       \
    X(TANH, "tanh", 1)                                                                                       \
    X(EXP, "exp", 1)                                                                                         \
    X(SIGMOID, "sigmoid", 1)                                                                                 \
    X(SQRT, "sqrt", 1)                                                                                       \
    X(SQUARE, "square", 1)                                                                                   \
    X(ABS, "abs", 1)                                                                                         \
    X(GELU, "gelu", 1)                                                                                       \
    X(SILU_MUL, "silu_mul", 2)

#define X(kind, name, operands) name,
static const char *const names[] = {LL_ELEMENTWISE_LIST(X) NULL};
#undef X
static const struct {
    enum ll_op_kind kind;
    uint32_t operands;
} ops[] = {
#define X(kind, name, operands) {LL_OP_##kind, operands},
    LL_ELEMENTWISE_LIST(X)
#undef X
};
enum { OPS = sizeof ops / sizeof *ops };

static const struct ll_model_param params[PARAMS] = {
    [OP] = {"op", 0, 0, OPS - 1, "what is done to each element, or to two"},
    [B] = {"b", 1024, 1, 1 << 30, "rows"},
    [H] = {"h", 1024, 1, 1 << 30, "elements of a row"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[OP] = names, [DTYPE] = ll_single_dtypes};

/* Of bases of powers and what roots are taken of, half of the normal numbers would give none. */
static bool wants_positive(enum ll_op_kind kind)
{
    return kind == LL_OP_POW || kind == LL_OP_SQRT;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    const uint64_t dims[] = {build->batch, (uint64_t)build->params[H]};
    uint32_t count = ops[build->params[OP]].operands;
    struct ll_value *inputs[2] = {ll_single_operand(&single, "x", LL_INPUT, 2, dims, roles)};
    if (wants_positive(ops[build->params[OP]].kind))
        inputs[0]->init = (struct ll_init){LL_INIT_CONSTANT, 2, NULL};
    if (count == 2)
        inputs[1] = ll_single_operand(&single, "y", LL_INPUT, 2, dims, roles);
    struct ll_nn_call call = {.kind = ops[build->params[OP]].kind, .input_count = count, .inputs = inputs};
    return ll_single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_elementwise = {
    .name = "elementwise",
    .suite = "micro",
    .doc = "one op on every element; a sample is a row",
    .default_batch = 1024,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .batch_param = "b",
    .infers = true,
    .counts_every_op = true,
    .build = build,
};
