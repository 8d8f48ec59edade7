/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/attention.h"

#include "models/nn/formula.h"

#include <math.h>

const double ll_hidden_score = -1e9;

/* [batch, length, features] as [batch, heads, length, features / heads]. */
static struct ll_value *split_heads(struct ll_nn *nn, struct ll_value *x, uint64_t heads)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HEADS, LL_ROLE_HIDDEN};
    const uint64_t *dim = x->shape.dim;
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){dim[0], dim[1], heads, dim[2] / heads}, roles);
    return ll_transposed(nn, ll_seen_as(nn, x, &shape), 213);
}

/* And back. */
static struct ll_value *join_heads(struct ll_nn *nn, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t *dim = x->shape.dim;
    struct ll_shape shape = ll_nn_shape(nn, 3, (uint64_t[]){dim[0], dim[2], dim[1] * dim[3]}, roles);
    return ll_seen_as(nn, ll_transposed(nn, x, 213), &shape);
}

struct ll_value *ll_attention(struct ll_nn *nn, struct ll_value *queries, struct ll_value *keys,
                              struct ll_value *values, const struct ll_attention_options *options)
{
    uint64_t heads = options->heads, features = queries->shape.dim[2];
    if (nn->trouble)
        return &nn->nothing;
    if (heads == 0 || features % heads != 0) {
        ll_nn_fail(nn, "features cannot be shared out evenly among the heads of an attention");
        return &nn->nothing;
    }
    struct ll_value *q = ll_scaled(nn, queries, "head_scale", 1 / sqrt((double)(features / heads)));
    struct ll_value *k = split_heads(nn, keys, heads), *v = split_heads(nn, values, heads);
    struct ll_value *share = ll_matmul_transposed(nn, split_heads(nn, q, heads), k);
    if (options->bias)
        share = ll_add_of(nn, share, options->bias);
    share = ll_nn_do1(nn, LL_OP_SOFTMAX, share);
    if (options->chance)
        share = ll_dropout_layer(nn, "dropout", share, options->keep, options->chance);
    return join_heads(nn, ll_nn_do2(nn, LL_OP_BATCH_MATMUL, share, v));
}

struct ll_value *ll_causal_bias(struct ll_nn *nn, uint64_t length)
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){length, length}, NULL);
    double *list = ll_alloc(&nn->arena, ll_elements(&shape), sizeof *list);
    if (!list) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < length; i++)
        for (uint64_t j = i + 1; j < length; j++)
            list[i * length + j] = ll_hidden_score;
    return ll_nn_variable(nn, "causal_bias", &shape, LL_WORKSPACE, (struct ll_init){LL_INIT_LIST, 0, list});
}

struct ll_value *ll_layer_norm(struct ll_nn *nn, const char *name, struct ll_value *x, double epsilon)
{
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL}, one = {LL_INIT_CONSTANT, 1, NULL};
    static const enum ll_role role = LL_ROLE_HIDDEN;
    struct ll_shape shape = ll_nn_shape(nn, 1, &x->shape.dim[x->shape.rank ? x->shape.rank - 1 : 0], &role);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, epsilon);
    ll_nn_push(nn, name);
    struct ll_value *inputs[] = {x, ll_nn_variable(nn, "scale", &shape, LL_WEIGHT, one),
                                 ll_nn_variable(nn, "bias", &shape, LL_WEIGHT, zero)};
    struct ll_value *y = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_LAYER_NORM, .input_count = 3, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    ll_nn_pop(nn);
    return y;
}
