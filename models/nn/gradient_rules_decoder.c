/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the ops that language models are made of: attention, rotary positions, experts, recurrences,
 * and views of memory. As in gradient_rules.c dy is what flows into the first result unless a rule says
 * otherwise. */
#include "models/nn/nn.h"
#include "models/nn/training.h"

LL_GRADIENT(CAUSAL_ATTENTION)
{
    const struct ll_nn_op *op = call->op;
    uint32_t count = op->view.input_count; /* with sinks four */
    struct ll_value *inputs[] = {call->dy[0],
                                 op->inputs[0],
                                 op->inputs[1],
                                 op->inputs[2],
                                 op->outputs[0],
                                 op->outputs[1],
                                 count > 3 ? op->inputs[3] : NULL};
    if (!call->dy[0] || call->dy[1]) {
        ll_gradient_UNKNOWN(nn, call);
        return;
    }
    const struct ll_nn_op *gradient =
        ll_with_attrs(nn, LL_OP_CAUSAL_ATTENTION_GRAD, op, count + 3, inputs, NULL)->producer;
    for (uint32_t i = 0; gradient && i < count; i++)
        call->dx[i] = gradient->outputs[i];
}

/* Heads and positions [batch, heads, positions, features], exchanged. */
static struct ll_value *exchanged(struct ll_nn *nn, struct ll_value *x)
{
    enum { SECOND_BY_THIRD = 213 }; /* 0, 2, 1, 3 */
    return ll_nn_transpose(nn, x, SECOND_BY_THIRD);
}

/* All heads of a position one below the other, [batch, positions heads, features], and apart again. */
static struct ll_value *heads_below(struct ll_nn *nn, struct ll_value *x)
{
    if (nn->trouble)
        return x;
    struct ll_shape rows = x->shape;
    rows.rank = 3;
    rows.dim[1] = x->shape.dim[2] * x->shape.dim[1];
    rows.dim[2] = x->shape.dim[3];
    rows.dim[3] = 0;
    rows.role[3] = LL_ROLE_PLAIN;
    return ll_nn_reshape(nn, exchanged(nn, x), &rows);
}

static struct ll_value *heads_apart(struct ll_nn *nn, struct ll_value *rows, const struct ll_shape *q)
{
    struct ll_shape apart = *q;
    apart.dim[1] = q->dim[2];
    apart.dim[2] = q->dim[1];
    return exchanged(nn, ll_nn_reshape(nn, rows, &apart));
}

/* Attention whose query heads are rows that share the one key head; of the keys the first part is values. Its
 * sums are computed again. */
LL_GRADIENT(LATENT)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *q = op->inputs[0], *cache = op->inputs[1];
    const uint64_t width = q->shape.dim[3], size = op->view.out[0].dim[3];
    const struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_GROUPS, (int64_t)q->shape.dim[1]),
        ll_attr_of_real(LL_ATTR_SCALE, ll_attr_real(&op->view, LL_ATTR_SCALE, 1))};
    const struct ll_attr behind[] = {ll_attr_of_count(LL_ATTR_AXIS, 2), ll_attr_of_count(LL_ATTR_BEFORE, 0),
                                     ll_attr_of_count(LL_ATTR_AFTER, (int64_t)(width - size))};
    struct ll_value *inputs[] = {heads_below(nn, call->dy[0]),
                                 heads_below(nn, q),
                                 cache,
                                 ll_nn_slice(nn, cache, 2, 0, size),
                                 NULL,
                                 NULL};
    struct ll_nn_call again = {.kind = LL_OP_CAUSAL_ATTENTION,
                               .input_count = 3,
                               .inputs = inputs + 1,
                               .attr_count = 2,
                               .attrs = attrs};
    inputs[4] = ll_nn_do(nn, &again);
    if (nn->trouble)
        return;
    inputs[5] = inputs[4]->producer->outputs[1];
    again.kind = LL_OP_CAUSAL_ATTENTION_GRAD;
    again.input_count = 6;
    again.inputs = inputs;
    struct ll_value *dq = ll_nn_do(nn, &again);
    if (nn->trouble)
        return;
    struct ll_value *dk = dq->producer->outputs[1], *dv = dq->producer->outputs[2];
    call->dx[0] = heads_apart(nn, dq, &q->shape);
    if (size < width)
        dv = ll_nn_do(
            nn, &(struct ll_nn_call){
                    .kind = LL_OP_PAD, .input_count = 1, .inputs = &dv, .attr_count = 3, .attrs = behind});
    call->dx[1] = ll_add_of(nn, dk, dv);
}

/* Straight through (Bengio, Leonard and Courville, 2013, section 4): rounding has no slope but across many
 * steps, where it is that of a line. What flows is real on both sides. */
LL_GRADIENT(QUANTIZE)
{
    (void)nn;
    call->dx[0] = call->dy[0];
}

/* What is turned by an angle is turned back. */
LL_GRADIENT(ROTARY)
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

/* A gradient op of an op that reads what comes in and all that the op itself read; its results are the
 * gradients of the inputs of these numbers, -1 of which nobody wants. */
static void one_op(struct ll_nn *nn, const struct ll_gradient_call *call, enum ll_op_kind kind,
                   uint32_t flows, uint32_t count, const uint8_t *of_input)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *inputs[LL_MAX_OUTPUTS + 4];
    if (!call->dy[flows] || (flows > 0 && call->dy[0])) { /* nothing flows through states from step to step */
        ll_gradient_UNKNOWN(nn, call);
        return;
    }
    inputs[0] = call->dy[flows];
    for (uint32_t i = 0; i < op->view.input_count; i++)
        inputs[i + 1] = op->inputs[i];
    const struct ll_nn_op *gradient =
        ll_with_attrs(nn, kind, op, op->view.input_count + 1, inputs, NULL)->producer;
    for (uint32_t i = 0; gradient && i < count; i++)
        call->dx[of_input[i]] = gradient->outputs[i];
}

LL_GRADIENT(EXPERTS)
{
    static const uint8_t of_input[] = {0, 1, 3, 4, 5, 6};
    one_op(nn, call, LL_OP_EXPERTS_GRAD, 0, call->op->view.input_count - 1, of_input);
}

static const uint8_t behind_state[] = {1, 2, 3, 4};

LL_GRADIENT(STATE_SPACE_SCAN)
{
    one_op(nn, call, LL_OP_STATE_SPACE_SCAN_GRAD, 1, 4, behind_state);
}

LL_GRADIENT(GATED_DELTA_RULE)
{
    one_op(nn, call, LL_OP_GATED_DELTA_RULE_GRAD, 1, 4, behind_state);
}

LL_GRADIENT(CAUSAL_CONV)
{
    one_op(nn, call, LL_OP_CAUSAL_CONV_GRAD, 1, call->op->view.input_count - 1, behind_state);
}

/* Columns of rows, which stay where they are. */
static struct ll_value *columns_of(struct ll_nn *nn, struct ll_value *rows, uint64_t begin, uint64_t count)
{
    if (nn->trouble || count == rows->shape.dim[1])
        return rows;
    struct ll_shape part = rows->shape;
    part.dim[1] = count;
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1),
                                    ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)begin),
                                    ll_attr_of_count(LL_ATTR_SIZE, (int64_t)count)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SEEN_AS,
                                             .input_count = 1,
                                             .inputs = &rows,
                                             .attr_count = 3,
                                             .attrs = attrs,
                                             .given_count = 1,
                                             .given = &part});
}

/* Pieces that are columns of the same rows, side by side, and lines that go along with each row, as the gates
 * of a scan have them: of columns the gradient is theirs, of a line the sum over rows of as many of the last
 * ones; of a table with a line for each state, which Mamba has, each line's is that. False when some piece is
 * none of these. */
static bool of_columns(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    const struct ll_nn_op *op = call->op;
    const struct ll_shape *out = &op->view.out[0];
    uint64_t columns = 0;
    if (out->rank != 2 || !call->dy[0])
        return false;
    for (uint32_t i = 0; i < op->view.input_count; i++) {
        const struct ll_shape *piece = &op->view.in[i];
        bool is_line = piece->rank == 1 && piece->dim[0] <= out->dim[1],
             is_part = piece->rank == 2 && piece->dim[0] == out->dim[0],
             is_table = piece->rank == 2 && !is_part && piece->dim[1] == out->dim[1];
        if (!is_line && !is_part && !is_table)
            return false;
        columns = ll_add(columns, is_part ? piece->dim[1] : 0);
    }
    if (columns != out->dim[1])
        return false;
    columns = 0;
    for (uint32_t i = 0; i < op->view.input_count; i++) {
        const struct ll_shape *piece = &op->view.in[i];
        const uint64_t width = piece->dim[piece->rank - 1u];
        const bool is_part = piece->rank == 2 && piece->dim[0] == out->dim[0];
        if (call->wanted[i] && is_part)
            call->dx[i] = columns_of(nn, call->dy[0], columns, width);
        else if (call->wanted[i])
            call->dx[i] =
                ll_nn_do1(nn, LL_OP_BIAS_GRAD, columns_of(nn, call->dy[0], out->dim[1] - width, width));
        if (call->wanted[i] && !is_part && piece->rank == 2)
            call->dx[i] = ll_nn_broadcast(nn, call->dx[i], piece);
        columns += is_part ? width : 0;
    }
    return true;
}

/* What is seen whole, in another shape, is seen so again. */
LL_GRADIENT(SEEN_AS)
{
    const struct ll_nn_op *op = call->op;
    if (op->view.input_count > 1 && of_columns(nn, call))
        return;
    if (op->view.input_count != 1 || ll_elements(&op->view.in[0]) != ll_elements(&op->view.out[0]) ||
        !call->dy[0]) {
        ll_gradient_UNKNOWN(nn, call);
        return;
    }
    call->dx[0] = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SEEN_AS,
                                                    .input_count = 1,
                                                    .inputs = call->dy,
                                                    .given_count = 1,
                                                    .given = &op->view.in[0]});
}
