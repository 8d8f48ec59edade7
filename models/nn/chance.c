/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/chance.h"

struct ll_chance ll_chance_begin(struct ll_nn *nn, uint64_t seed)
{
    static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL}, one = {LL_INIT_CONSTANT, 1, NULL};
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_UPDATE;
    ll_nn_push(nn, "chance");
    struct ll_value *counter = ll_nn_variable(nn, "step", &scalar, LL_WORKSPACE, zero);
    struct ll_value *step =
        ll_nn_do2(nn, LL_OP_ADD, counter, ll_nn_variable(nn, "one", &scalar, LL_WORKSPACE, one));
    ll_nn_carry(nn, counter, step);
    ll_nn_pop(nn);
    nn->phase = phase;
    return (struct ll_chance){step, seed, 0};
}

static struct ll_value *drawn(struct ll_nn *nn, enum ll_op_kind kind, struct ll_chance *chance,
                              const struct ll_shape *shape)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)chance->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)chance->streams++),
    };
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 1,
                                             .inputs = &chance->step,
                                             .attr_count = sizeof attrs / sizeof *attrs,
                                             .attrs = attrs,
                                             .given_count = 1,
                                             .given = shape});
}

struct ll_value *ll_random_normal(struct ll_nn *nn, struct ll_chance *chance, const struct ll_shape *shape)
{
    return drawn(nn, LL_OP_RANDOM_NORMAL, chance, shape);
}

struct ll_value *ll_random_uniform(struct ll_nn *nn, struct ll_chance *chance, const struct ll_shape *shape)
{
    return drawn(nn, LL_OP_RANDOM_UNIFORM, chance, shape);
}

struct ll_value *ll_dropout_layer(struct ll_nn *nn, const char *name, struct ll_value *x, double keep,
                                  struct ll_chance *chance)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)chance->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)chance->streams++),
        ll_attr_of_real(LL_ATTR_KEEP, keep),
    };
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_DROPOUT,
                                                           .input_count = 2,
                                                           .inputs = (struct ll_value *[]){x, chance->step},
                                                           .attr_count = sizeof attrs / sizeof *attrs,
                                                           .attrs = attrs});
    ll_nn_pop(nn);
    return y;
}
