/* SPDX-License-Identifier: Apache-2.0 */
/* First contents of variables, and random ops that repeat from run to run. */
#include "models/nn/init.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/random.h"

/* Normal numbers by Box and Muller (1958), two from 64 random bits. A truncated draw outside of two
 * deviations is drawn again, from the next numbers of a stream of the element's own. */

enum { GRAIN = 1 << 14 };

struct filling {
    struct ll_init init;
    uint64_t key;
    bool wide; /* double */
    void *data;
};

static void put(const struct filling *f, uint64_t i, double value)
{
    if (f->wide)
        ((double *)f->data)[i] = value;
    else
        ((float *)f->data)[i] = (float)value;
}

static void normal_pair(uint64_t bits, float pair[2])
{
    float radius = sqrtf(-2 * logf(ll_random_unit((uint32_t)(bits >> 32))));
    float angle = 6.28318530718f * ll_random_unit((uint32_t)bits);
    pair[0] = radius * cosf(angle);
    pair[1] = radius * sinf(angle);
}

static void fill_normal(const struct filling *f, uint64_t begin, uint64_t end)
{
    assert(begin % 2 == 0);
    for (uint64_t i = begin; i < end; i += 2) {
        float pair[2];
        normal_pair(ll_random_bits(f->key, i / 2), pair);
        put(f, i, f->init.scale * (double)pair[0]);
        if (i + 1 < end)
            put(f, i + 1, f->init.scale * (double)pair[1]);
    }
}

static void fill_truncated(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        float pair[2];
        uint64_t own = ll_random_key(f->key, i), draw = 0;
        do
            normal_pair(ll_random_bits(own, draw++), pair);
        while (fabsf(pair[0]) > 2);
        put(f, i, f->init.scale * (double)pair[0]);
    }
}

static void fill_uniform(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++) {
        double unit = (double)ll_random_unit((uint32_t)ll_random_bits(f->key, i));
        put(f, i, f->init.scale * (2 * unit - 1));
    }
}

static void fill_constant(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        put(f, i, f->init.scale);
}

static void fill_list(const struct filling *f, uint64_t begin, uint64_t end)
{
    for (uint64_t i = begin; i < end; i++)
        put(f, i, f->init.list[i]);
}

static void fill(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    static void (*const fills[])(const struct filling *, uint64_t, uint64_t) = {
        [LL_INIT_CONSTANT] = fill_constant,
        [LL_INIT_NORMAL] = fill_normal,
        [LL_INIT_TRUNCATED_NORMAL] = fill_truncated,
        [LL_INIT_UNIFORM] = fill_uniform,
        [LL_INIT_LIST] = fill_list,
    };
    (void)chunk;
    const struct filling *f = context;
    fills[f->init.kind](f, begin, end);
}

struct ll_init ll_init_fan_in(uint64_t inputs, double gain)
{
    return (struct ll_init){LL_INIT_NORMAL, sqrt(gain / (double)inputs), NULL};
}

void ll_init_fill(const struct ll_value *variable, uint64_t seed, struct ll_pool *pool, void *data)
{
    assert(variable->shape.dtype == LL_F32 || variable->shape.dtype == LL_F64);
    uint64_t key = seed;
    for (const char *c = variable->name; *c; c++)
        key = ll_random_key(key, (uint64_t)*c);
    struct filling filling = {variable->init, key, variable->shape.dtype == LL_F64, data};
    ll_pool_run(pool, ll_elements(&variable->shape), GRAIN, fill, &filling);
}

struct ll_rng ll_rng_begin(struct ll_nn *nn, uint64_t seed)
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
    return (struct ll_rng){step, seed, 0};
}

static struct ll_value *drawn(struct ll_nn *nn, enum ll_op_kind kind, struct ll_rng *rng,
                              const struct ll_shape *shape)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)rng->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)rng->streams++),
    };
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 1,
                                             .inputs = &rng->step,
                                             .attr_count = sizeof attrs / sizeof *attrs,
                                             .attrs = attrs,
                                             .given_count = 1,
                                             .given = shape});
}

struct ll_value *ll_random_normal(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape)
{
    return drawn(nn, LL_OP_RANDOM_NORMAL, rng, shape);
}

struct ll_value *ll_random_uniform(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape)
{
    return drawn(nn, LL_OP_RANDOM_UNIFORM, rng, shape);
}

struct ll_value *ll_dropout_layer(struct ll_nn *nn, const char *name, struct ll_value *x, double keep,
                                  struct ll_rng *rng)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)rng->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)rng->streams++),
        ll_attr_of_real(LL_ATTR_KEEP, keep),
    };
    ll_nn_push(nn, name);
    struct ll_value *y = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_DROPOUT,
                                                           .input_count = 2,
                                                           .inputs = (struct ll_value *[]){x, rng->step},
                                                           .attr_count = sizeof attrs / sizeof *attrs,
                                                           .attrs = attrs});
    ll_nn_pop(nn);
    return y;
}
