/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN: for each direction one product of all steps with the input's weights, the bias, and the
 * steps themselves, each of which waits for the one before.
 *
 * ONNX stacks directions: X[steps, batch, in], W[directions, gates hidden, in], R[directions, gates hidden,
 * hidden], B[directions, 2 gates hidden], h and c[directions, batch, hidden]; results Y[steps, directions,
 * batch, hidden], h and c. With layout 1 the batch of X, Y, h and c comes first. */
#include "tracer/convert/onnx_rules.h"

struct recurrent {
    struct onnx_value *x, *w, *r, *bias, *state[2];
    uint64_t steps, batch, in, hidden, gates, directions;
    bool batch_first;
};

static bool check(struct onnx *o, struct recurrent *n)
{
    const struct ll_shape *x = &n->x->shape, *w = &n->w->shape, *r = &n->r->shape;
    if (x->rank != 3 || w->rank != 3 || r->rank != 3)
        return onnx_refuse(o, "its inputs must have three dimensions");
    n->batch_first = onnx_attr_integer(o, "layout", 0) != 0;
    n->steps = x->dim[n->batch_first];
    n->batch = x->dim[!n->batch_first];
    n->in = x->dim[2];
    n->hidden = r->dim[2];
    n->directions = w->dim[0];
    n->gates = n->hidden ? w->dim[1] / n->hidden : 0;
    uint64_t gates = o->row->type[0] == 'L' ? 4 : o->row->type[0] == 'G' ? 3 : 1;
    if (n->gates != gates || ll_mul(gates, n->hidden) != w->dim[1] || r->dim[1] != w->dim[1] ||
        w->dim[2] != n->in || r->dim[0] != n->directions || n->directions < 1 || n->directions > 2)
        return onnx_refuse(o, "its weights do not belong together");
    if (n->bias && ll_elements(&n->bias->shape) != ll_mul(2 * n->directions, w->dim[1]))
        return onnx_refuse(o, "its bias does not belong to its weights");
    for (unsigned i = 0; i < 2; i++)
        if (n->state[i] &&
            ll_elements(&n->state[i]->shape) != ll_mul(n->directions, ll_mul(n->batch, n->hidden)))
            return onnx_refuse(o, "its states do not belong to its weights");
    return true;
}

/* The part of a stack that belongs to one direction, in these dimensions. */
static struct ll_imported part(struct onnx *o, struct onnx_value *value, const struct recurrent *n,
                               const struct ll_shape *shape)
{
    return n->directions == 1 ? onnx_view(o, onnx_take(o, value, ONNX_PLAIN), shape)
                              : onnx_take_part(o, value, shape);
}

/* x W + b for all steps: [steps, batch, gates hidden]. Of the bias's two halves libraries make one. */
static bool project(struct onnx *o, const struct recurrent *n, struct ll_imported *out)
{
    uint64_t all = ll_mul(n->gates, n->hidden);
    const struct ll_gemm gemm = {1, ll_mul(n->steps, n->batch), all, n->in};
    const struct ll_shape matrix = {.rank = 2, .dtype = n->w->shape.dtype, .dim = {all, n->in}};
    const struct ll_shape steps = {.rank = 3, .dtype = n->x->shape.dtype, .dim = {n->steps, n->batch, all}};
    const struct ll_shape both = {.rank = 2, .dtype = n->x->shape.dtype, .dim = {2, all}};
    struct ll_imported in[2];
    if (!onnx_product(o, onnx_take(o, n->x, ONNX_PLAIN), part(o, n->w, n, &matrix), &gemm, true, out))
        return false;
    if (n->bias) {
        const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 0},
                                         {.key = LL_ATTR_AXES, .count = 1}};
        struct ll_imported halves = part(o, n->bias, n, &both), sum[LL_MAX_OUTPUTS];
        const struct ll_import_op op = {
            .kind = LL_OP_SUM, .in = &halves, .in_count = 1, .attrs = attrs, .attr_count = 2};
        if (!onnx_emit(o, &op, sum))
            return false;
        in[0] = *out;
        in[1] = sum[0];
        if (!onnx_emit_simple(o, LL_OP_BIAS_ADD, in, 2, NULL, out))
            return false;
    }
    *out = onnx_view(o, *out, &steps);
    return true;
}

/* All steps of one direction: what comes out of each, and the states at the end. */
static bool run(struct onnx *o, const struct recurrent *n, struct ll_imported out[3])
{
    uint8_t dtype = n->x->shape.dtype;
    uint32_t states = n->gates == 4 ? 2 : 1, count = 2;
    const struct ll_shape weights = {
        .rank = 2, .dtype = dtype, .dim = {ll_mul(n->gates, n->hidden), n->hidden}};
    const struct ll_shape state = {.rank = 2, .dtype = dtype, .dim = {n->batch, n->hidden}};
    const struct ll_shape given[3] = {
        {.rank = 3, .dtype = dtype, .dim = {n->steps, n->batch, n->hidden}}, state, state};
    struct ll_imported in[4], outs[LL_MAX_OUTPUTS];
    if (!project(o, n, &in[0]))
        return false;
    in[1] = part(o, n->r, n, &weights);
    for (uint32_t i = 0; i < states; i++)
        if (n->state[i])
            in[count++] = part(o, n->state[i], n, &state);
    const struct ll_import_op op = {.kind = LL_OP_RECURRENT_STEPS,
                                    .in = in,
                                    .in_count = count,
                                    .given = given,
                                    .given_count = 1 + states};
    if (!onnx_emit(o, &op, outs))
        return false;
    for (uint32_t i = 0; i < 1 + states; i++)
        out[i] = outs[i];
    return true;
}

/* Both directions' results side by side. */
static bool join(struct onnx *o, const struct recurrent *n, const struct ll_imported parts[2],
                 struct ll_imported *out)
{
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = 0};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = parts, .in_count = 2, .attrs = &attr, .attr_count = 1};
    struct ll_imported outs[LL_MAX_OUTPUTS];
    *out = parts[0];
    if (n->directions == 1)
        return true;
    if (!onnx_emit(o, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

bool onnx_rule_RECURRENT(struct onnx *o)
{
    struct recurrent n = {.x = onnx_need(o, 0),
                          .w = onnx_need(o, 1),
                          .r = onnx_need(o, 2),
                          .bias = onnx_input(o, 3),
                          .state = {onnx_input(o, 5), onnx_input(o, 6)}};
    struct ll_imported all[3][2] = {{{0}}}, one[3], out;
    if (!n.x || !n.w || !n.r || !check(o, &n))
        return false;
    for (uint64_t direction = 0; direction < n.directions; direction++) {
        if (!run(o, &n, one))
            return false;
        for (unsigned i = 0; i < 3; i++)
            all[i][direction] = one[i];
    }
    const struct ll_shape steps = {.rank = 4, .dim = {n.steps, n.directions, n.batch, n.hidden}};
    const struct ll_shape turned = {.rank = 4, .dim = {n.batch, n.steps, n.directions, n.hidden}};
    const struct ll_shape state = {.rank = 3, .dim = {n.directions, n.batch, n.hidden}};
    const struct ll_shape *const shapes[3] = {n.batch_first ? &turned : &steps, &state, &state};
    for (uint32_t i = 0; i < (n.gates == 4 ? 3u : 2u); i++) {
        if (!join(o, &n, all[i], &out))
            return false;
        onnx_put(o, i, onnx_view(o, out, shapes[i]), ONNX_PLAIN, shapes[i]);
    }
    return true;
}
