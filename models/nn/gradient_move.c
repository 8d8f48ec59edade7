/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of what moves, is picked by index or is multiplied in stacks, as ops. */
#include "models/nn/formula.h"
#include "models/nn/gradient_rule.h"

static int64_t axis_of(const struct ll_nn_op *op)
{
    return ll_attr_count(&op->view, LL_ATTR_AXIS, 0);
}

static struct ll_value *with_axis(struct ll_nn *nn, enum ll_op_kind kind, struct ll_value *x, int64_t axis,
                                  struct ll_attr first, struct ll_attr second)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), first, second};
    return ll_nn_do(nn, &(struct ll_nn_call){
                            .kind = kind, .input_count = 1, .inputs = &x, .attr_count = 3, .attrs = attrs});
}

static struct ll_value *slice(struct ll_nn *nn, struct ll_value *x, int64_t axis, uint64_t begin,
                              uint64_t size)
{
    return with_axis(nn, LL_OP_SLICE, x, axis, ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)begin),
                     ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size));
}

/* Digit i of the inverse is where digit i stands. */
void ll_gradient_TRANSPOSE(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    unsigned rank = call->op->view.in[0].rank, place[LL_MAX_RANK] = {0};
    int64_t digits = ll_attr_count(&call->op->view, LL_ATTR_PERMUTATION, 0), inverse = 0;
    for (unsigned i = rank; i-- > 0; digits /= 10)
        place[digits % 10] = i;
    for (unsigned i = 0; i < rank; i++)
        inverse = inverse * 10 + place[i];
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_PERMUTATION, inverse);
    call->dx[0] = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_TRANSPOSE, .input_count = 1, .inputs = call->dy, .attr_count = 1, .attrs = &attr});
}

void ll_gradient_REVERSE(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    call->dx[0] = ll_nn_do1(nn, LL_OP_REVERSE, call->dy[0]);
}

void ll_gradient_CONCAT(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    int64_t axis = axis_of(call->op);
    uint64_t begin = 0;
    for (uint32_t i = 0; i < call->op->view.input_count; i++) {
        uint64_t size = call->op->inputs[i]->shape.dim[axis];
        if (call->wanted[i])
            call->dx[i] = slice(nn, call->dy[0], axis, begin, size);
        begin += size;
    }
}

/* What flows into each result, zeros where nothing does; in the arena. */
static struct ll_value **all_dy(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    uint32_t count = call->op->view.output_count;
    struct ll_value **dy = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    if (!dy)
        ll_nn_fail(nn, "memory ran out");
    for (uint32_t i = 0; dy && i < count; i++)
        dy[i] = call->dy[i] ? call->dy[i] : ll_zero_flow(nn, &call->op->outputs[i]->shape);
    return dy;
}

void ll_gradient_SPLIT(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_attr axis = ll_attr_of_count(LL_ATTR_AXIS, axis_of(call->op));
    struct ll_value **dy = all_dy(nn, call);
    if (dy)
        call->dx[0] = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CONCAT,
                                                        .input_count = call->op->view.output_count,
                                                        .inputs = dy,
                                                        .attr_count = 1,
                                                        .attrs = &axis});
}

void ll_gradient_SLICE(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    int64_t axis = axis_of(call->op), begin = ll_attr_count(&call->op->view, LL_ATTR_BEGIN, 0);
    int64_t size = ll_attr_count(&call->op->view, LL_ATTR_SIZE, 0);
    int64_t whole = (int64_t)call->op->inputs[0]->shape.dim[axis];
    call->dx[0] = with_axis(nn, LL_OP_PAD, call->dy[0], axis, ll_attr_of_count(LL_ATTR_BEFORE, begin),
                            ll_attr_of_count(LL_ATTR_AFTER, whole - begin - size));
}

void ll_gradient_PAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    int64_t axis = axis_of(call->op), before = ll_attr_count(&call->op->view, LL_ATTR_BEFORE, 0);
    call->dx[0] = slice(nn, call->dy[0], axis, (uint64_t)before, call->op->inputs[0]->shape.dim[axis]);
}

void ll_gradient_UNSTACK(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value **dy = all_dy(nn, call);
    if (dy)
        call->dx[0] =
            ll_nn_do(nn, &(struct ll_nn_call){
                             .kind = LL_OP_STACK, .input_count = call->op->view.output_count, .inputs = dy});
}

void ll_gradient_STACK(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value **layers = ll_unstacked(nn, call->dy[0]);
    for (uint32_t i = 0; layers && i < call->op->view.input_count; i++)
        if (call->wanted[i])
            call->dx[i] = layers[i];
}

/* Only the rows that were picked have a gradient. */
void ll_gradient_GATHER(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    const struct ll_value *table = call->op->inputs[0];
    struct ll_value *indices = call->op->inputs[1];
    struct ll_shape flat = {.rank = 1, .dtype = LL_I32, .dim = {ll_elements(&indices->shape)}};
    struct ll_shape rows = table->shape;
    rows.dim[0] = flat.dim[0];
    rows.role[0] = LL_ROLE_PLAIN;
    if (!call->wanted[0])
        return;
    bool is_flat = indices->shape.rank == 1 && !nn->as_tensorflow;
    call->dx[0] = is_flat ? call->dy[0] : ll_seen_as(nn, call->dy[0], &rows);
    call->indices[0] = is_flat ? indices : ll_seen_as(nn, indices, &flat);
}

void ll_gradient_SEGMENT_SUM(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    if (call->wanted[0])
        call->dx[0] = ll_nn_do2(nn, LL_OP_GATHER, call->dy[0], call->op->inputs[1]);
}

void ll_gradient_CAUSAL_ATTENTION(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *inputs[] = {call->dy[0],   op->inputs[0],  op->inputs[1],
                                 op->inputs[2], op->outputs[0], op->outputs[1]};
    if (!call->dy[0] || call->dy[1]) {
        ll_gradient_UNKNOWN(nn, call);
        return;
    }
    const struct ll_nn_op *gradient =
        ll_with_attrs(nn, LL_OP_CAUSAL_ATTENTION_GRAD, op, 6, inputs, NULL)->producer;
    for (int i = 0; gradient && i < 3; i++)
        call->dx[i] = gradient->outputs[i];
}

/* What is turned by an angle is turned back. */
void ll_gradient_ROTARY(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_attr attrs[LL_MAX_ATTRS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->op->view.attr_count; i++)
        if (call->op->view.attrs[i].key != LL_ATTR_SCALE)
            attrs[count++] = call->op->view.attrs[i];
    attrs[count++] = ll_attr_of_real(LL_ATTR_SCALE, -ll_attr_real(&call->op->view, LL_ATTR_SCALE, 1));
    call->dx[0] = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_ROTARY, .input_count = 1, .inputs = call->dy, .attr_count = count, .attrs = attrs});
}

/* The best go back to where they came from. */
void ll_gradient_TOP_K(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    const struct ll_value *x = call->op->inputs[0];
    struct ll_value *dy = call->dy[0], *places = call->op->outputs[1];
    if (!dy || nn->trouble)
        return;
    unsigned rank = x->shape.rank;
    struct ll_shape column = dy->shape, hot = dy->shape;
    column.dim[rank] = 1;
    column.rank++;
    hot.dim[rank] = x->shape.dim[rank - 1];
    hot.role[rank] = x->shape.role[rank - 1];
    hot.rank++;
    struct ll_attr depth = ll_attr_of_count(LL_ATTR_DEPTH, (int64_t)x->shape.dim[rank - 1]);
    struct ll_value *where = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ONE_HOT,
                                                               .input_count = 1,
                                                               .inputs = &places,
                                                               .attr_count = 1,
                                                               .attrs = &depth,
                                                               .given_count = 1,
                                                               .given = &hot});
    call->dx[0] = ll_sum_over(nn, ll_mul_of(nn, where, ll_seen_as(nn, dy, &column)), rank - 1, 1);
}
