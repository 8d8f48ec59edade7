/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of element-wise arithmetic, as ops. */
#include "models/nn/formula.h"
#include "models/nn/gradient_rule.h"
#include "tracer/transform/dtype.h"

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

struct ll_value *ll_through_softmax(struct ll_nn *nn, struct ll_value *y, struct ll_value *dy)
{
    if (nn->trouble || y->shape.rank == 0)
        return &nn->nothing;
    struct ll_value *sum = sum_along(nn, ll_mul_of(nn, dy, y), y->shape.rank - 1u);
    return ll_mul_of(nn, y, ll_sub_of(nn, dy, sum));
}

LL_GRADIENT(SOFTMAX)
{
    call->dx[0] = ll_through_softmax(nn, call->op->outputs[0], call->dy[0]);
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
