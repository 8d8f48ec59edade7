/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/formula.h"

#include <string.h>

/* Of the program being built, a variable of this whole name and these contents. */
static struct ll_value *find(const struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                             double value)
{
    for (uint64_t i = nn->programs[nn->program_count - 1].first_value; i < nn->value_count; i++) {
        struct ll_value *v = nn->values[i];
        if (!v->producer && v->memory == LL_WORKSPACE && v->init.kind == LL_INIT_CONSTANT &&
            v->init.scale == value && v->overwrites == 0 && memcmp(&v->shape, shape, sizeof *shape) == 0 &&
            strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

static struct ll_value *unchanging(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                   double value)
{
    const char *scope = nn->scope;
    nn->scope = "constants";
    const char *whole = ll_format(&nn->arena, "constants/%s", name);
    struct ll_value *found = whole ? find(nn, whole, shape, value) : NULL;
    if (!found)
        found =
            ll_nn_variable(nn, name, shape, LL_WORKSPACE, (struct ll_init){LL_INIT_CONSTANT, value, NULL});
    nn->scope = scope;
    return found;
}

struct ll_value *ll_constant(struct ll_nn *nn, const char *name, double value)
{
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    return unchanging(nn, name, &scalar, value);
}

struct ll_value *ll_zeros(struct ll_nn *nn, const struct ll_shape *shape)
{
    return unchanging(nn, "zeros", shape, 0);
}

struct ll_value *ll_scaled(struct ll_nn *nn, struct ll_value *x, const char *name, double factor)
{
    return ll_mul_of(nn, x, ll_constant(nn, name, factor));
}

struct ll_value *ll_select(struct ll_nn *nn, struct ll_value *condition, struct ll_value *a,
                           struct ll_value *b)
{
    struct ll_value *inputs[] = {condition, a, b};
    return ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_SELECT, .input_count = 3, .inputs = inputs});
}

struct ll_value *ll_sum_over(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned axes)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), ll_attr_of_count(LL_ATTR_AXES, axes)};
    return ll_nn_do(nn, &(struct ll_call){.kind = LL_OP_SUM,
                                          .input_count = 1,
                                          .inputs = &x,
                                          .attr_count = axis == 0 ? 1 : 2,
                                          .attrs = axis == 0 ? &attrs[1] : attrs});
}

struct ll_value *ll_seen_as(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape)
{
    struct ll_shape seen = *shape;
    seen.dtype = x->shape.dtype;
    return ll_nn_do(
        nn, &(struct ll_call){
                .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &x, .given_count = 1, .given = &seen});
}

struct ll_value *ll_as_real(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape shape = x->shape;
    shape.dtype = (uint8_t)nn->real;
    return ll_nn_do(
        nn, &(struct ll_call){
                .kind = LL_OP_CAST, .input_count = 1, .inputs = &x, .given_count = 1, .given = &shape});
}
