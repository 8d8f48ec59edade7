/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic by name: functions that each add one or a few ops to a network. */
#include "models/nn/formula.h"

#include <string.h>

/* Of the program being built, a variable of this whole name and these contents. */
static struct ll_value *find(const struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                             double value)
{
    uint64_t first = nn->programs[nn->program_count - 1].first_value;
    for (uint64_t i = 0; i < nn->variable_count; i++) {
        struct ll_value *v = nn->variables[i];
        if (v->index >= first && v->memory == LL_WORKSPACE && v->init.kind == LL_INIT_CONSTANT &&
            v->init.scale == value && v->overwrites == 0 && memcmp(&v->shape, shape, sizeof *shape) == 0 &&
            strcmp(v->name, name) == 0)
            return v;
    }
    return NULL;
}

struct ll_value *ll_filled(struct ll_nn *nn, const char *name, const struct ll_shape *shape, double value)
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
    return ll_filled(nn, name, &scalar, value);
}

struct ll_value *ll_zeros(struct ll_nn *nn, const struct ll_shape *shape)
{
    return ll_filled(nn, "zeros", shape, 0);
}

struct ll_value *ll_made_zeros(struct ll_nn *nn, const struct ll_shape *shape)
{
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    return ll_nn_broadcast(nn, ll_zeros(nn, &scalar), shape);
}

struct ll_value *ll_nn_mul_scalar(struct ll_nn *nn, struct ll_value *x, const char *name, double factor)
{
    return ll_mul_of(nn, x, ll_constant(nn, name, factor));
}

struct ll_value *ll_select(struct ll_nn *nn, struct ll_value *condition, struct ll_value *a,
                           struct ll_value *b)
{
    struct ll_value *inputs[] = {condition, a, b};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SELECT, .input_count = 3, .inputs = inputs});
}

struct ll_value *ll_sum_over(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned axes)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), ll_attr_of_count(LL_ATTR_AXES, axes)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SUM,
                                             .input_count = 1,
                                             .inputs = &x,
                                             .attr_count = axis == 0 ? 1 : 2,
                                             .attrs = axis == 0 ? &attrs[1] : attrs});
}

struct ll_value *ll_nn_broadcast(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape)
{
    struct ll_attr axes = ll_attr_of_count(LL_ATTR_AXES, shape->rank - x->shape.rank);
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_TILE,
                                             .input_count = 1,
                                             .inputs = &x,
                                             .attr_count = 1,
                                             .attrs = &axes,
                                             .given_count = 1,
                                             .given = shape});
}

struct ll_value *ll_nn_reshape(struct ll_nn *nn, struct ll_value *x, const struct ll_shape *shape)
{
    struct ll_shape seen = *shape;
    seen.dtype = x->shape.dtype;
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RESHAPE, .input_count = 1, .inputs = &x, .given_count = 1, .given = &seen});
}

struct ll_value *ll_cast_to(struct ll_nn *nn, struct ll_value *x, enum ll_dtype dtype)
{
    struct ll_shape shape = x->shape;
    shape.dtype = (uint8_t)dtype;
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_CAST, .input_count = 1, .inputs = &x, .given_count = 1, .given = &shape});
}

struct ll_value *ll_as_real(struct ll_nn *nn, struct ll_value *x)
{
    return ll_cast_to(nn, x, nn->real);
}

/* Cast once for all products that read it; what is cast of a weight lasts as long as the weight does. */
static struct ll_value *narrowed(struct ll_nn *nn, struct ll_value *x)
{
    if (x->shape.dtype == LL_F8)
        return x;
    if (!x->narrow || !ll_nn_is_readable(nn, x->narrow))
        x->narrow = ll_cast_to(nn, x, LL_F8);
    if (x->memory == LL_WEIGHT && !nn->trouble)
        x->narrow->memory = LL_WORKSPACE;
    return x->narrow;
}

struct ll_value *ll_weight_gemm(struct ll_nn *nn, const struct ll_nn_call *product, bool narrow)
{
    if (!narrow || nn->trouble)
        return ll_nn_do(nn, product);
    struct ll_nn_call call = *product;
    call.inputs = (struct ll_value *[]){narrowed(nn, call.inputs[0]), narrowed(nn, call.inputs[1])};
    call.dtype = &nn->real;
    return ll_nn_do(nn, &call);
}

struct ll_value **ll_nn_unstack(struct ll_nn *nn, struct ll_value *stack)
{
    struct ll_shape layer = {.dtype = stack->shape.dtype};
    uint64_t count = nn->trouble || stack->shape.rank == 0 ? 0 : stack->shape.dim[0];
    for (unsigned i = 1; i < stack->shape.rank; i++) {
        layer.dim[layer.rank] = stack->shape.dim[i];
        layer.role[layer.rank++] = stack->shape.role[i];
    }
    if (count > LL_MAX_OP_REFS)
        ll_nn_fail(nn, "a stack of more than %d layers cannot be taken apart", LL_MAX_OP_REFS);
    struct ll_shape *given = nn->trouble ? NULL : ll_alloc(&nn->arena, count, sizeof *given);
    for (uint64_t i = 0; given && i < count; i++)
        given[i] = layer;
    const struct ll_value *first =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_UNSTACK,
                                          .input_count = 1,
                                          .inputs = &stack,
                                          .given_count = given ? (uint32_t)count : 0,
                                          .given = given});
    return nn->trouble ? NULL : first->producer->outputs;
}

struct ll_value *ll_nn_stack(struct ll_nn *nn, struct ll_value *const *layers, uint32_t count)
{
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_STACK, .input_count = count, .inputs = layers});
}

struct ll_value *ll_nn_concat(struct ll_nn *nn, struct ll_value *const *parts, uint32_t count, unsigned axis)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_AXIS, axis);
    return ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_CONCAT, .input_count = count, .inputs = parts, .attr_count = 1, .attrs = &attr});
}

struct ll_value *ll_nn_transpose(struct ll_nn *nn, struct ll_value *x, int64_t permutation)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_PERMUTATION, permutation);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_TRANSPOSE, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
}

struct ll_value *const *ll_nn_split(struct ll_nn *nn, struct ll_value *x, unsigned axis, unsigned parts)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), ll_attr_of_count(LL_ATTR_PARTS, parts)};
    const struct ll_value *first = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SPLIT, .input_count = 1, .inputs = &x, .attr_count = 2, .attrs = attrs});
    return first->producer ? first->producer->outputs : nn->nothings;
}

struct ll_value *ll_nn_slice(struct ll_nn *nn, struct ll_value *x, unsigned axis, uint64_t begin,
                             uint64_t size)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis),
                              ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)begin),
                              ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SLICE, .input_count = 1, .inputs = &x, .attr_count = 3, .attrs = attrs});
}

struct ll_value *ll_nn_gather(struct ll_nn *nn, struct ll_value *table, struct ll_value *indices)
{
    return ll_nn_do2(nn, LL_OP_GATHER, table, indices);
}

struct ll_value *ll_relu_clipped(struct ll_nn *nn, struct ll_value *x, double limit)
{
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_LIMIT, limit);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RELU_CLIPPED, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
}

struct ll_value *ll_matmul_transposed(struct ll_nn *nn, struct ll_value *a, struct ll_value *b)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_TRANSPOSE_B, 1);
    struct ll_value *inputs[] = {a, b};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = a->shape.rank > 2 ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .attr_count = 1,
                                             .attrs = &attr});
}

struct ll_value *ll_nn_upsample(struct ll_nn *nn, struct ll_value *image, uint64_t factor)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_KERNEL_H, (int64_t)factor),
                              ll_attr_of_count(LL_ATTR_KERNEL_W, (int64_t)factor)};
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_UPSAMPLE, .input_count = 1, .inputs = &image, .attr_count = 2, .attrs = attrs});
}
