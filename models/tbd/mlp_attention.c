/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/mlp_attention.h"

#include "models/nn/formula.h"

#include <math.h>

static struct ll_value *weight(struct ll_nn *nn, const char *name, unsigned rank, const uint64_t *dims,
                               uint64_t inputs)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(nn, rank, dims, roles);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT,
                          (struct ll_init){LL_INIT_UNIFORM, sqrt(3 / (double)inputs), NULL});
}

struct ll_mlp_attention ll_mlp_attention_begin(struct ll_nn *nn, const char *name, struct ll_value *memory,
                                               struct ll_value *bias, uint64_t query_features)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    const uint64_t batch = memory->shape.dim[0], steps = memory->shape.dim[1], units = memory->shape.dim[2];
    const uint64_t square[] = {units, units}, query[] = {query_features, units};
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){batch * steps, units},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_shape keys = ll_nn_shape(nn, 4, (uint64_t[]){batch, 1, steps, units}, roles);
    struct ll_shape line = ll_nn_shape(nn, 3, (uint64_t[]){batch, 1, steps}, roles);
    struct ll_mlp_attention a = {.name = name, .memory = memory};
    ll_nn_push(nn, name);
    struct ll_value *x = ll_seen_as(nn, memory, &rows);
    a.keys = ll_seen_as(nn, ll_nn_do2(nn, LL_OP_MATMUL, x, weight(nn, "key", 2, square, units)), &keys);
    a.bias = ll_seen_as(nn, bias, &line);
    a.query = weight(nn, "query", 2, query, query_features);
    a.vector = weight(nn, "vector", 1, &units, units);
    ll_nn_pop(nn);
    return a;
}

/* The shares of a memory's steps: [batch, width, steps]. */
static struct ll_value *shares(struct ll_nn *nn, const struct ll_mlp_attention *a, struct ll_value *queries)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    const uint64_t batch = a->memory->shape.dim[0], width = queries->shape.dim[0] / batch;
    const uint64_t units = a->vector->shape.dim[0];
    struct ll_shape shape = ll_nn_shape(nn, 4, (uint64_t[]){batch, width, 1, units}, roles);
    struct ll_value *y = ll_nn_do2(nn, LL_OP_MATMUL, queries, a->query);
    y = ll_add_of(nn, a->keys, ll_seen_as(nn, y, &shape));
    y = ll_mul_of(nn, ll_nn_do1(nn, LL_OP_TANH, y), a->vector);
    return ll_nn_do1(nn, LL_OP_SOFTMAX, ll_add_of(nn, ll_sum_over(nn, y, 3, 1), a->bias));
}

struct ll_value *ll_mlp_attend(struct ll_nn *nn, const struct ll_mlp_attention *a, struct ll_value *queries)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape rows =
        ll_nn_shape(nn, 2, (uint64_t[]){queries->shape.dim[0], a->memory->shape.dim[2]}, roles);
    ll_nn_push(nn, a->name);
    struct ll_value *context = ll_nn_do2(nn, LL_OP_BATCH_MATMUL, shares(nn, a, queries), a->memory);
    context = ll_seen_as(nn, context, &rows);
    ll_nn_pop(nn);
    return context;
}
