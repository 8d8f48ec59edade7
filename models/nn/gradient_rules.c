/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of each op kind, as ops. dy is what flows into the first result unless a rule says otherwise.
 */
#include "models/nn/training.h"
#include "models/nn/nn.h"
#include "tracer/transform/dtype.h"

LL_GRADIENT(NONE)
{
    (void)nn;
    (void)call;
}

LL_GRADIENT(UNKNOWN)
{
    const char *scope = call->op->scope;
    ll_nn_fail(nn, "%s%s%s: no gradient is known of it", ll_op_name(call->op->view.kind),
               *scope ? " in " : "", scope);
}

/* Of matrices, or of each two of stacks, where the op says of both how they lie. */
static struct ll_value *product(struct ll_nn *nn, struct ll_value *a, bool transpose_a, struct ll_value *b,
                                bool transpose_b)
{
    const bool stacks = a->shape.rank > 2;
    struct ll_value *inputs[] = {a, b};
    struct ll_attr attrs[2];
    uint32_t attr_count = 0;
    if (stacks || transpose_a)
        attrs[attr_count++] = ll_attr_of_count(LL_ATTR_TRANSPOSE_A, transpose_a);
    if (stacks || transpose_b)
        attrs[attr_count++] = ll_attr_of_count(LL_ATTR_TRANSPOSE_B, transpose_b);
    const struct ll_nn_call call = {.kind = stacks ? LL_OP_BATCH_MATMUL : LL_OP_MATMUL,
                                    .input_count = 2,
                                    .inputs = inputs,
                                    .attr_count = attr_count,
                                    .attrs = attrs};
    return ll_weight_gemm(nn, &call, a->shape.dtype == LL_F8 || b->shape.dtype == LL_F8);
}

/* C = op(A) op(B), or each of a stack: dop(A) = dC op(B)^T and dop(B) = op(A)^T dC; where A is read
 * transposed, so is its gradient: dA = op(B) dC^T. */
LL_GRADIENT(MATMUL)
{
    const struct ll_nn_op *op = call->op;
    bool ta = ll_attr_count(&op->view, LL_ATTR_TRANSPOSE_A, 0) != 0,
         tb = ll_attr_count(&op->view, LL_ATTR_TRANSPOSE_B, 0) != 0;
    struct ll_value *a = op->inputs[0], *b = op->inputs[1], *dy = call->dy[0];
    if (call->wanted[0])
        call->dx[0] = ta ? product(nn, b, tb, dy, true) : product(nn, dy, false, b, !tb);
    if (call->wanted[1])
        call->dx[1] = tb ? product(nn, dy, true, a, ta) : product(nn, a, !ta, dy, false);
}

LL_GRADIENT(CONV2D)
{
    struct ll_value *x = call->op->inputs[0], *filter = call->op->inputs[1], *dy = call->dy[0];
    if (call->wanted[0])
        call->dx[0] =
            ll_with_attrs(nn, LL_OP_CONV2D_DATA, call->op, 2, (struct ll_value *[]){dy, filter}, &x->shape);
    if (call->wanted[1])
        call->dx[1] =
            ll_with_attrs(nn, LL_OP_CONV2D_FILTER, call->op, 2, (struct ll_value *[]){x, dy}, &filter->shape);
}

LL_GRADIENT(BIAS_ADD)
{
    if (call->wanted[0])
        call->dx[0] = call->dy[0];
    if (call->wanted[1])
        call->dx[1] = ll_nn_do1(nn, LL_OP_BIAS_GRAD, call->dy[0]);
}

LL_GRADIENT(SUM)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_TILE, call->op, 1, call->dy, &call->op->inputs[0]->shape);
}

LL_GRADIENT(TILE)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_SUM, call->op, 1, call->dy, NULL);
}

LL_GRADIENT(MEAN)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_MEAN_GRAD, call->op, 1, call->dy, &call->op->inputs[0]->shape);
}

/* Gradients that read dy, the forward op's input and its result. */
static struct ll_value *from_both_ends(struct ll_nn *nn, enum ll_op_kind kind,
                                       const struct ll_gradient_call *call)
{
    struct ll_value *inputs[] = {call->dy[0], call->op->inputs[0], call->op->outputs[0]};
    return ll_with_attrs(nn, kind, call->op, 3, inputs, NULL);
}

LL_GRADIENT(MAX_POOL)
{
    call->dx[0] = from_both_ends(nn, LL_OP_MAX_POOL_GRAD, call);
}

LL_GRADIENT(AVG_POOL)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_AVG_POOL_GRAD, call->op, 1, call->dy, &call->op->inputs[0]->shape);
}

/* Linear in dy: what a window gave to its taps, it takes from there. */
LL_GRADIENT(AVG_POOL_GRAD)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_AVG_POOL, call->op, 1, call->dy, NULL);
}

LL_GRADIENT(LRN)
{
    call->dx[0] = from_both_ends(nn, LL_OP_LRN_GRAD, call);
}

/* Nothing flows into mean and variance: they are for the moving averages. */
LL_GRADIENT(BATCH_NORM)
{
    const struct ll_nn_op *op = call->op;
    if (!call->dy[0] || call->dy[1] || call->dy[2]) {
        ll_gradient_UNKNOWN(nn, call);
        return;
    }
    struct ll_value *inputs[] = {call->dy[0], op->inputs[0], op->inputs[1], op->outputs[1], op->outputs[2]};
    const struct ll_nn_op *gradient = ll_with_attrs(nn, LL_OP_BATCH_NORM_GRAD, op, 5, inputs, NULL)->producer;
    for (int i = 0; gradient && i < 3; i++)
        call->dx[i] = gradient->outputs[i];
}

/* Reads x, not y: y does not tell on which side of zero it was. */
LL_GRADIENT(SMOOTH_L1)
{
    struct ll_value *inputs[] = {call->dy[0], call->op->inputs[0]};
    call->dx[0] = ll_with_attrs(nn, LL_OP_SMOOTH_L1_GRAD, call->op, 2, inputs, NULL);
}

LL_GRADIENT(UPSAMPLE)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_UPSAMPLE_GRAD, call->op, 1, call->dy, NULL);
}

LL_GRADIENT(UPSAMPLE_GRAD)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_UPSAMPLE, call->op, 1, call->dy, NULL);
}

/* The second result says where each element came from; boxes have no gradient. */
LL_GRADIENT(ROI_POOL)
{
    struct ll_value *inputs[] = {call->dy[0], call->op->outputs[1]};
    if (call->wanted[0])
        call->dx[0] =
            ll_with_attrs(nn, LL_OP_ROI_POOL_GRAD, call->op, 2, inputs, &call->op->inputs[0]->shape);
}

/* As many results as the forward op has inputs: x, gamma and perhaps beta. */
static void norm_of_rows(struct ll_nn *nn, enum ll_op_kind kind, const struct ll_gradient_call *call)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *inputs[] = {call->dy[0], op->inputs[0], op->inputs[1]};
    const struct ll_nn_op *gradient = ll_with_attrs(nn, kind, op, 3, inputs, NULL)->producer;
    for (uint32_t i = 0; gradient && i < op->view.input_count; i++)
        call->dx[i] = gradient->outputs[i];
}

LL_GRADIENT(LAYER_NORM)
{
    norm_of_rows(nn, LL_OP_LAYER_NORM_GRAD, call);
}

LL_GRADIENT(RMS_NORM)
{
    norm_of_rows(nn, LL_OP_RMS_NORM_GRAD, call);
}

LL_GRADIENT(GROUP_NORM)
{
    norm_of_rows(nn, LL_OP_GROUP_NORM_GRAD, call);
}

/* Mean and variance are those of other steps: nothing flows into them. */
LL_GRADIENT(BATCH_NORM_FIXED)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *inputs[] = {call->dy[0], op->inputs[0], op->inputs[1], op->inputs[3], op->inputs[4]};
    const struct ll_nn_op *gradient =
        ll_with_attrs(nn, LL_OP_BATCH_NORM_FIXED_GRAD, op, 5, inputs, NULL)->producer;
    for (int i = 0; gradient && i < 3; i++)
        call->dx[i] = gradient->outputs[i];
}

static struct ll_value *kept_of(struct ll_nn *nn, const struct ll_gradient_call *call, struct ll_value *kept)
{
    struct ll_value *inputs[] = {call->dy[0], kept};
    struct ll_attr keep = ll_attr_of_real(LL_ATTR_KEEP, ll_attr_real(&call->op->view, LL_ATTR_KEEP, 1));
    return ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_DROPOUT_GRAD, .input_count = 2, .inputs = inputs, .attr_count = 1, .attrs = &keep});
}

/* What is kept does not depend on x, and the step has no gradient. */
LL_GRADIENT(DROPOUT)
{
    if (call->wanted[0] && call->dy[0])
        call->dx[0] = kept_of(nn, call, call->op->outputs[1]);
}

LL_GRADIENT(DROPOUT_GRAD)
{
    if (call->wanted[0] && call->dy[0])
        call->dx[0] = kept_of(nn, call, call->op->inputs[1]);
}

static struct ll_value *through_softmax(struct ll_nn *nn, struct ll_value *y, struct ll_value *dy);

/* What flows into the gradient of a cross entropy, from the gradient of a gradient, goes on through the
 * softmax in it. */
static struct ll_value *through_xent(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    return through_softmax(nn, ll_nn_do1(nn, LL_OP_SOFTMAX, call->op->inputs[0]), call->dy[1]);
}

/* The second result is the gradient already, for a loss of weight one; `second` is what flows through it. */
static void join_xent(struct ll_nn *nn, const struct ll_gradient_call *call, struct ll_value *second)
{
    struct ll_value *first = NULL;
    if (call->dy[0])
        first = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT_GRAD, call->op->outputs[1], call->dy[0]);
    call->dx[0] = first && second ? ll_add_of(nn, first, second) : first ? first : second;
}

/* TensorFlow makes zeros for the second result, where nothing flows into it, and reads them nowhere. */
LL_GRADIENT(SOFTMAX_XENT)
{
    if (nn->as_tensorflow && !call->dy[1])
        ll_made_zeros(nn, &call->op->outputs[1]->shape);
    join_xent(nn, call, call->dy[1] ? through_xent(nn, call) : NULL);
}

/* The softmax counts as often as all targets of a row together. */
LL_GRADIENT(SOFTMAX_XENT_DENSE)
{
    struct ll_value *second = NULL, *targets = call->op->inputs[1];
    if (call->dy[1] && !nn->trouble) {
        unsigned last = targets->shape.rank - 1u;
        struct ll_shape column = targets->shape;
        column.dim[last] = 1;
        struct ll_value *weight = ll_nn_reshape(nn, ll_sum_over(nn, targets, last, 1), &column);
        second = ll_mul_of(nn, through_xent(nn, call), weight);
    }
    join_xent(nn, call, second);
}

/* Like a cross entropy's, but for what would flow through its slope. */
LL_GRADIENT(FOCAL_LOSS)
{
    if (call->dy[1])
        ll_gradient_UNKNOWN(nn, call);
    else
        join_xent(nn, call, NULL);
}

LL_GRADIENT(RESHAPE)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_RESHAPE, call->op, 1, call->dy, &call->op->inputs[0]->shape);
}

/* The gradients of what moves, is picked by index or is multiplied in stacks, as ops. */

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
LL_GRADIENT(TRANSPOSE)
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

LL_GRADIENT(REVERSE)
{
    call->dx[0] = ll_nn_do1(nn, LL_OP_REVERSE, call->dy[0]);
}

LL_GRADIENT(CONCAT)
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

LL_GRADIENT(SPLIT)
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

LL_GRADIENT(SLICE)
{
    int64_t axis = axis_of(call->op), begin = ll_attr_count(&call->op->view, LL_ATTR_BEGIN, 0);
    int64_t size = ll_attr_count(&call->op->view, LL_ATTR_SIZE, 0);
    int64_t whole = (int64_t)call->op->inputs[0]->shape.dim[axis];
    call->dx[0] = with_axis(nn, LL_OP_PAD, call->dy[0], axis, ll_attr_of_count(LL_ATTR_BEFORE, begin),
                            ll_attr_of_count(LL_ATTR_AFTER, whole - begin - size));
}

LL_GRADIENT(PAD)
{
    int64_t axis = axis_of(call->op), before = ll_attr_count(&call->op->view, LL_ATTR_BEFORE, 0);
    call->dx[0] = slice(nn, call->dy[0], axis, (uint64_t)before, call->op->inputs[0]->shape.dim[axis]);
}

LL_GRADIENT(UNSTACK)
{
    struct ll_value **dy = all_dy(nn, call);
    if (dy)
        call->dx[0] =
            ll_nn_do(nn, &(struct ll_nn_call){
                             .kind = LL_OP_STACK, .input_count = call->op->view.output_count, .inputs = dy});
}

LL_GRADIENT(STACK)
{
    struct ll_value **layers = ll_nn_unstack(nn, call->dy[0]);
    for (uint32_t i = 0; layers && i < call->op->view.input_count; i++)
        if (call->wanted[i])
            call->dx[i] = layers[i];
}

/* Only the rows that were picked have a gradient. */
LL_GRADIENT(GATHER)
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
    call->dx[0] = is_flat ? call->dy[0] : ll_nn_reshape(nn, call->dy[0], &rows);
    call->indices[0] = is_flat ? indices : ll_nn_reshape(nn, indices, &flat);
}

LL_GRADIENT(SEGMENT_SUM)
{
    if (call->wanted[0])
        call->dx[0] = ll_nn_do2(nn, LL_OP_GATHER, call->dy[0], call->op->inputs[1]);
}

/* The best go back to where they came from. */
LL_GRADIENT(TOP_K)
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
    call->dx[0] = ll_sum_over(nn, ll_mul_of(nn, where, ll_nn_reshape(nn, dy, &column)), rank - 1, 1);
}

/* The gradients of element-wise arithmetic, as ops. */

/* Sums dy over dimension i of its shape. The dimension stays, with length 1. */
static struct ll_value *sum_along(struct ll_nn *nn, struct ll_value *dy, unsigned i)
{
    struct ll_shape shape = dy->shape;
    shape.dim[i] = 1;
    shape.role[i] = LL_ROLE_PLAIN;
    return ll_nn_reshape(nn, ll_sum_over(nn, dy, i, 1), &shape);
}

/* As TensorFlow's graph has it: one sum over the dimensions from the first to the last that the input lacks
 * or repeats along, over none where there are none, and the input's shape. */
static struct ll_value *reshaped_sum(struct ll_nn *nn, struct ll_value *dy, const struct ll_value *input)
{
    unsigned missing = (unsigned)(dy->shape.rank - input->shape.rank), first = 0, end = 0;
    for (unsigned i = 0; i < dy->shape.rank; i++)
        if (i < missing || input->shape.dim[i - missing] != dy->shape.dim[i]) {
            first = end > 0 ? first : i;
            end = i + 1;
        }
    return ll_nn_reshape(nn, ll_sum_over(nn, dy, first, end - first), &input->shape);
}

/* What flows into an input that repeats along some dimensions of the result is the sum over these: first
 * those in front that it has not at all, then those along which it has 1. */
static struct ll_value *collected(struct ll_nn *nn, struct ll_value *dy, const struct ll_value *input)
{
    unsigned missing = (unsigned)(dy->shape.rank - input->shape.rank);
    if (nn->trouble)
        return dy;
    if (nn->as_tensorflow)
        return reshaped_sum(nn, dy, input);
    if (missing > 0)
        dy = ll_sum_over(nn, dy, 0, missing);
    for (unsigned i = 0; i < input->shape.rank; i++)
        if (input->shape.dim[i] == 1 && dy->shape.dim[i] != 1)
            dy = sum_along(nn, dy, i);
    return dy;
}

static bool is_known_before(const struct ll_shape *shape)
{
    bool known = shape->rank > 0;
    for (unsigned i = 0; i < shape->rank; i++)
        known &= shape->role[i] != LL_ROLE_BATCH && shape->role[i] != LL_ROLE_SEQUENCE;
    return known;
}

/* Of a shape that TensorFlow knows before it runs and sees to be that of the other input: nothing repeats. */
static bool stands_alone(const struct ll_nn_op *op)
{
    const struct ll_shape *a = &op->inputs[0]->shape, *b = &op->inputs[1]->shape;
    bool same = a->rank == b->rank && is_known_before(a) && is_known_before(b);
    for (unsigned i = 0; same && i < a->rank; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

/* Gives input i its gradient, collected, where it is wanted; `dx` has the result's shape. */
static void flow(struct ll_nn *nn, const struct ll_gradient_call *call, int i, struct ll_value *dx)
{
    if (nn->as_tensorflow && stands_alone(call->op))
        call->dx[i] = dx;
    else
        call->dx[i] = collected(nn, dx, call->op->inputs[i]);
}

LL_GRADIENT(ADD)
{
    for (int i = 0; i < 2; i++)
        if (call->wanted[i])
            flow(nn, call, i, call->dy[0]);
}

LL_GRADIENT(SUB)
{
    if (call->wanted[0])
        flow(nn, call, 0, call->dy[0]);
    if (call->wanted[1])
        call->dx[1] = ll_neg(nn, collected(nn, call->dy[0], call->op->inputs[1]));
}

LL_GRADIENT(MUL)
{
    for (int i = 0; i < 2; i++)
        if (call->wanted[i])
            flow(nn, call, i, ll_mul_of(nn, call->dy[0], call->op->inputs[1 - i]));
}

/* Back in the type that came. Nothing flows into numbers of classes and into truth values. */
LL_GRADIENT(CAST)
{
    const struct ll_shape *came = &call->op->inputs[0]->shape;
    if (call->dy[0]->shape.dtype == came->dtype)
        call->dx[0] = call->dy[0]; /* of a product of 8 bits, whose gradients are none */
    else if (ll_dtype_is_floating((enum ll_dtype)came->dtype))
        call->dx[0] = ll_cast_to(nn, call->dy[0], (enum ll_dtype)came->dtype);
}

/* What flows into the divisor b, as TensorFlow computes it: dy (-a / b / b). */
static struct ll_value *into_divisor(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *a = call->op->inputs[0], *b = call->op->inputs[1];
    return ll_mul_of(nn, call->dy[0], ll_div_of(nn, ll_div_of(nn, ll_neg(nn, a), b), b));
}

/* d(a / b) = da / b - (a / b) db / b */
LL_GRADIENT(DIV)
{
    struct ll_value *b = call->op->inputs[1], *quotient = call->op->outputs[0];
    struct ll_value *over_b = ll_div_of(nn, call->dy[0], b);
    if (call->wanted[0])
        flow(nn, call, 0, over_b);
    if (call->wanted[1])
        flow(nn, call, 1,
             nn->as_tensorflow ? into_divisor(nn, call) : ll_neg(nn, ll_mul_of(nn, over_b, quotient)));
}

/* What flows goes to the input that the result was taken from, to the second of equals. */
static void choose(struct ll_nn *nn, const struct ll_gradient_call *call, enum ll_op_kind first_wins)
{
    struct ll_value *zero = ll_zero_flow(nn, &call->dy[0]->shape);
    struct ll_value *won = ll_nn_do2(nn, first_wins, call->op->inputs[0], call->op->inputs[1]);
    if (call->wanted[0])
        flow(nn, call, 0, ll_select(nn, won, call->dy[0], zero));
    if (call->wanted[1])
        flow(nn, call, 1, ll_select(nn, won, zero, call->dy[0]));
}

LL_GRADIENT(MAXIMUM)
{
    choose(nn, call, LL_OP_GREATER);
}

LL_GRADIENT(MINIMUM)
{
    choose(nn, call, LL_OP_LESS);
}

/* d x^p = p x^(p-1) dx + x^p log x dp, the second term where x is above zero. */
LL_GRADIENT(POW)
{
    struct ll_value *x = call->op->inputs[0], *p = call->op->inputs[1], *dy = call->dy[0];
    if (call->wanted[0]) {
        struct ll_value *less = ll_sub_of(nn, p, ll_constant(nn, "one", 1));
        struct ll_value *slope = ll_mul_of(nn, p, ll_nn_do2(nn, LL_OP_POW, x, less));
        flow(nn, call, 0, ll_mul_of(nn, dy, slope));
    }
    if (call->wanted[1]) {
        struct ll_value *zero = ll_zeros(nn, &x->shape);
        struct ll_value *log = ll_nn_do1(nn, LL_OP_LOG, x);
        log = ll_select(nn, ll_nn_do2(nn, LL_OP_GREATER, x, ll_constant(nn, "zero", 0)), log, zero);
        flow(nn, call, 1, ll_mul_of(nn, dy, ll_mul_of(nn, call->op->outputs[0], log)));
    }
}

LL_GRADIENT(ADD_N)
{
    (void)nn;
    for (uint32_t i = 0; i < call->op->view.input_count; i++)
        if (call->wanted[i])
            call->dx[i] = call->dy[0];
}

LL_GRADIENT(SELECT)
{
    struct ll_value *zero = ll_zero_flow(nn, &call->dy[0]->shape), *condition = call->op->inputs[0];
    if (call->wanted[1])
        call->dx[1] = ll_select(nn, condition, call->dy[0], zero);
    if (call->wanted[2])
        call->dx[2] = ll_select(nn, condition, zero, call->dy[0]);
}

LL_GRADIENT(NEG)
{
    call->dx[0] = ll_neg(nn, call->dy[0]);
}

LL_GRADIENT(ABS)
{
    call->dx[0] = ll_mul_of(nn, call->dy[0], ll_nn_do1(nn, LL_OP_SIGN, call->op->inputs[0]));
}

LL_GRADIENT(SQUARE)
{
    struct ll_value *twice = ll_mul_of(nn, call->op->inputs[0], ll_constant(nn, "two", 2));
    call->dx[0] = ll_mul_of(nn, call->dy[0], twice);
}

LL_GRADIENT(EXP)
{
    call->dx[0] = ll_mul_of(nn, call->dy[0], call->op->outputs[0]);
}

LL_GRADIENT(LOG)
{
    call->dx[0] = ll_div_of(nn, call->dy[0], call->op->inputs[0]);
}

/* A gradient op of dy and of what the forward op gave, with the attributes of the latter. */
static void from_result(struct ll_nn *nn, const struct ll_gradient_call *call, enum ll_op_kind kind)
{
    struct ll_value *inputs[] = {call->dy[0], call->op->outputs[0]};
    call->dx[0] = ll_nn_do(nn, &(struct ll_nn_call){.kind = kind,
                                                    .input_count = 2,
                                                    .inputs = inputs,
                                                    .attr_count = call->op->view.attr_count,
                                                    .attrs = call->op->view.attrs});
}

LL_GRADIENT(SQRT)
{
    from_result(nn, call, LL_OP_SQRT_GRAD);
}

LL_GRADIENT(SIGMOID)
{
    from_result(nn, call, LL_OP_SIGMOID_GRAD);
}

LL_GRADIENT(TANH)
{
    from_result(nn, call, LL_OP_TANH_GRAD);
}

LL_GRADIENT(RELU)
{
    from_result(nn, call, LL_OP_RELU_GRAD);
}

LL_GRADIENT(RELU_CLIPPED)
{
    from_result(nn, call, LL_OP_RELU_CLIPPED_GRAD);
}

LL_GRADIENT(GELU)
{
    call->dx[0] = ll_nn_do2(nn, LL_OP_GELU_GRAD, call->dy[0], call->op->inputs[0]);
}

/* What flows into x where dy flows into y = softmax(x): y (dy - sum dy y), the sum over the last dimension.
 */
static struct ll_value *through_softmax(struct ll_nn *nn, struct ll_value *y, struct ll_value *dy)
{
    if (nn->trouble || y->shape.rank == 0)
        return &nn->nothing;
    struct ll_value *sum = sum_along(nn, ll_mul_of(nn, dy, y), y->shape.rank - 1u);
    return ll_mul_of(nn, y, ll_sub_of(nn, dy, sum));
}

LL_GRADIENT(SOFTMAX)
{
    call->dx[0] = through_softmax(nn, call->op->outputs[0], call->dy[0]);
}

LL_GRADIENT(CAUSAL_SOFTMAX)
{
    struct ll_value *inputs[] = {call->dy[0], call->op->outputs[0]};
    call->dx[0] = ll_with_attrs(nn, LL_OP_CAUSAL_SOFTMAX_GRAD, call->op, 2, inputs, NULL);
}

LL_GRADIENT(SILU_MUL)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *inputs[] = {call->dy[0], op->inputs[0], op->inputs[1]};
    const struct ll_nn_op *gradient = ll_with_attrs(nn, LL_OP_SILU_MUL_GRAD, op, 3, inputs, NULL)->producer;
    for (int i = 0; gradient && i < 2; i++)
        call->dx[i] = gradient->outputs[i];
}

/* dL/dx = dL/d(loss) x */
LL_GRADIENT(L2_LOSS)
{
    call->dx[0] = ll_mul_of(nn, call->op->inputs[0], call->dy[0]);
}

/* What flows is shared by all that are as large as the largest, as TensorFlow has it. */
LL_GRADIENT(MAX)
{
    const struct ll_nn_op *op = call->op;
    struct ll_value *x = op->inputs[0];
    struct ll_nn_call repeat = {.kind = LL_OP_TILE,
                                .input_count = 1,
                                .attr_count = op->view.attr_count,
                                .attrs = op->view.attrs,
                                .given_count = 1,
                                .given = &x->shape};
    repeat.inputs = &op->outputs[0];
    struct ll_value *is_largest = ll_nn_do2(nn, LL_OP_EQUAL, x, ll_nn_do(nn, &repeat));
    struct ll_value *mask = ll_as_real(nn, is_largest);
    struct ll_value *ties = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SUM,
                                                              .input_count = 1,
                                                              .inputs = &mask,
                                                              .attr_count = op->view.attr_count,
                                                              .attrs = op->view.attrs});
    struct ll_value *share = ll_div_of(nn, call->dy[0], ties);
    repeat.inputs = &share;
    call->dx[0] = ll_mul_of(nn, mask, ll_nn_do(nn, &repeat));
}

/* dlogits[frames, batch, classes] times one factor for each of the batch. */
LL_GRADIENT(CTC)
{
    if (!call->dy[0] || call->dy[1]) {
        ll_gradient_UNKNOWN(nn, call);
        return;
    }
    struct ll_shape factors = call->dy[0]->shape;
    factors.rank = 3;
    factors.dim[1] = factors.dim[0];
    factors.dim[0] = factors.dim[2] = 1;
    factors.role[1] = factors.role[0];
    factors.role[0] = LL_ROLE_PLAIN;
    call->dx[0] = ll_mul_of(nn, call->op->outputs[1], ll_nn_reshape(nn, call->dy[0], &factors));
}

/* The gradients of gradients, as ops: what the rules of the other files add can be derived once more, as far
 * as it is said here. v is what flows into an op's result. Gradient ops are linear in dy: with respect to it
 * theirs are the op that they are a gradient of, or themselves. */

/* dx = C(filter)^T dy: with respect to dy the convolution, with respect to the filter its gradient for the
 * image v. */
LL_GRADIENT(CONV_DATA)
{
    struct ll_value *dy = call->op->inputs[0], *filter = call->op->inputs[1], *v = call->dy[0];
    if (call->wanted[0])
        call->dx[0] = ll_with_attrs(nn, LL_OP_CONV2D, call->op, 2, (struct ll_value *[]){v, filter}, NULL);
    if (call->wanted[1])
        call->dx[1] =
            ll_with_attrs(nn, LL_OP_CONV2D_FILTER, call->op, 2, (struct ll_value *[]){v, dy}, &filter->shape);
}

/* dfilter is linear in the image x and in dy: v takes the filter's place. */
LL_GRADIENT(CONV_FILTER)
{
    struct ll_value *x = call->op->inputs[0], *dy = call->op->inputs[1], *v = call->dy[0];
    if (call->wanted[0])
        call->dx[0] =
            ll_with_attrs(nn, LL_OP_CONV2D_DATA, call->op, 2, (struct ll_value *[]){dy, v}, &x->shape);
    if (call->wanted[1])
        call->dx[1] = ll_with_attrs(nn, LL_OP_CONV2D, call->op, 2, (struct ll_value *[]){x, v}, NULL);
}

/* What flows into dy of an op that multiplies it with a function of y: the op itself, of v. */
static struct ll_value *same_of(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *inputs[] = {call->dy[0], call->op->inputs[1]};
    return ll_with_attrs(nn, call->op->view.kind, call->op, 2, inputs, NULL);
}

/* Whether y is above its bounds does not change with y but at a kink. */
LL_GRADIENT(RELU_GRAD)
{
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
}

/* dx = dy / 2y: with respect to y it is -(v / 2y) dy / y. */
LL_GRADIENT(SQRT_GRAD)
{
    struct ll_value *dy = call->op->inputs[0], *y = call->op->inputs[1], *half = same_of(nn, call);
    if (call->wanted[0])
        call->dx[0] = half;
    if (call->wanted[1])
        call->dx[1] = ll_neg(nn, ll_div_of(nn, ll_mul_of(nn, half, dy), y));
}

/* dx = dy y (1 - y): with respect to y it is v dy (1 - 2y). */
LL_GRADIENT(SIGMOID_GRAD)
{
    struct ll_value *dy = call->op->inputs[0], *y = call->op->inputs[1];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1]) {
        struct ll_value *twice = ll_nn_mul_scalar(nn, y, "two", 2);
        struct ll_value *slope = ll_sub_of(nn, ll_constant(nn, "one", 1), twice);
        call->dx[1] = ll_mul_of(nn, ll_mul_of(nn, call->dy[0], dy), slope);
    }
}

/* dx = dy (1 - y^2): with respect to y it is -2 v dy y. */
LL_GRADIENT(TANH_GRAD)
{
    struct ll_value *dy = call->op->inputs[0], *y = call->op->inputs[1];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1]) {
        struct ll_value *slope = ll_nn_mul_scalar(nn, y, "minus_two", -2);
        call->dx[1] = ll_mul_of(nn, ll_mul_of(nn, call->dy[0], dy), slope);
    }
}

/* dx = dy (F(x) + x f(x)), f being the normal density and F its integral: with respect to x it is
 * v dy f(x) (2 - x^2). */
LL_GRADIENT(GELU_GRAD)
{
    const double root = 0.39894228040143268; /* 1 / sqrt(2 pi) */
    struct ll_value *dy = call->op->inputs[0], *x = call->op->inputs[1];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1]) {
        struct ll_value *square = ll_nn_do1(nn, LL_OP_SQUARE, x);
        struct ll_value *bell = ll_nn_do1(nn, LL_OP_EXP, ll_nn_mul_scalar(nn, square, "minus_half", -0.5));
        struct ll_value *slope = ll_sub_of(nn, ll_constant(nn, "two", 2), square);
        slope = ll_mul_of(nn, ll_nn_mul_scalar(nn, bell, "normal_density", root), slope);
        call->dx[1] = ll_mul_of(nn, ll_mul_of(nn, call->dy[0], dy), slope);
    }
}

/* A sum over all dimensions but the last. */
LL_GRADIENT(BIAS_GRAD)
{
    call->dx[0] = ll_nn_broadcast(nn, call->dy[0], &call->op->inputs[0]->shape);
}

/* dy over the count, repeated: the sum over the count. */
LL_GRADIENT(MEAN_GRAD)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_MEAN, call->op, 1, call->dy, NULL);
}

/* Rows times a factor each. */
LL_GRADIENT(ROW_SCALE)
{
    struct ll_value *rows = call->op->inputs[0], *v = call->dy[0];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1] && !nn->trouble)
        call->dx[1] = ll_sum_over(nn, ll_mul_of(nn, v, rows), v->shape.rank - 1u, 1);
}

LL_GRADIENT(COPY)
{
    (void)nn;
    call->dx[0] = call->dy[0];
}
