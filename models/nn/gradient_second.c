/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients of gradients, as ops: what the rules of the other files add can be derived once more, as far
 * as it is said here. v is what flows into an op's result. Gradient ops are linear in dy: with respect to it
 * theirs are the op that they are a gradient of, or themselves. */
#include "models/nn/formula.h"
#include "models/nn/gradient_rule.h"

/* dx = C(filter)^T dy: with respect to dy the convolution, with respect to the filter its gradient for the
 * image v. */
void ll_gradient_CONV_DATA(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *dy = call->op->inputs[0], *filter = call->op->inputs[1], *v = call->dy[0];
    if (call->wanted[0])
        call->dx[0] = ll_with_attrs(nn, LL_OP_CONV2D, call->op, 2, (struct ll_value *[]){v, filter}, NULL);
    if (call->wanted[1])
        call->dx[1] =
            ll_with_attrs(nn, LL_OP_CONV2D_FILTER, call->op, 2, (struct ll_value *[]){v, dy}, &filter->shape);
}

/* dfilter is linear in the image x and in dy: v takes the filter's place. */
void ll_gradient_CONV_FILTER(struct ll_nn *nn, const struct ll_gradient_call *call)
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
void ll_gradient_RELU_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
}

/* dx = dy / 2y: with respect to y it is -(v / 2y) dy / y. */
void ll_gradient_SQRT_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *dy = call->op->inputs[0], *y = call->op->inputs[1], *half = same_of(nn, call);
    if (call->wanted[0])
        call->dx[0] = half;
    if (call->wanted[1])
        call->dx[1] = ll_neg(nn, ll_div_of(nn, ll_mul_of(nn, half, dy), y));
}

/* dx = dy y (1 - y): with respect to y it is v dy (1 - 2y). */
void ll_gradient_SIGMOID_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *dy = call->op->inputs[0], *y = call->op->inputs[1];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1]) {
        struct ll_value *twice = ll_scaled(nn, y, "two", 2);
        struct ll_value *slope = ll_sub_of(nn, ll_constant(nn, "one", 1), twice);
        call->dx[1] = ll_mul_of(nn, ll_mul_of(nn, call->dy[0], dy), slope);
    }
}

/* dx = dy (1 - y^2): with respect to y it is -2 v dy y. */
void ll_gradient_TANH_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *dy = call->op->inputs[0], *y = call->op->inputs[1];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1]) {
        struct ll_value *slope = ll_scaled(nn, y, "minus_two", -2);
        call->dx[1] = ll_mul_of(nn, ll_mul_of(nn, call->dy[0], dy), slope);
    }
}

/* dx = dy (F(x) + x f(x)), f being the normal density and F its integral: with respect to x it is
 * v dy f(x) (2 - x^2). */
void ll_gradient_GELU_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    const double root = 0.39894228040143268; /* 1 / sqrt(2 pi) */
    struct ll_value *dy = call->op->inputs[0], *x = call->op->inputs[1];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1]) {
        struct ll_value *square = ll_nn_do1(nn, LL_OP_SQUARE, x);
        struct ll_value *bell = ll_nn_do1(nn, LL_OP_EXP, ll_scaled(nn, square, "minus_half", -0.5));
        struct ll_value *slope = ll_sub_of(nn, ll_constant(nn, "two", 2), square);
        slope = ll_mul_of(nn, ll_scaled(nn, bell, "normal_density", root), slope);
        call->dx[1] = ll_mul_of(nn, ll_mul_of(nn, call->dy[0], dy), slope);
    }
}

/* A sum over all dimensions but the last. */
void ll_gradient_BIAS_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    call->dx[0] = ll_repeated(nn, call->dy[0], &call->op->inputs[0]->shape);
}

/* dy over the count, repeated: the sum over the count. */
void ll_gradient_MEAN_GRAD(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    call->dx[0] = ll_with_attrs(nn, LL_OP_MEAN, call->op, 1, call->dy, NULL);
}

/* Rows times a factor each. */
void ll_gradient_ROW_SCALE(struct ll_nn *nn, const struct ll_gradient_call *call)
{
    struct ll_value *rows = call->op->inputs[0], *v = call->dy[0];
    if (call->wanted[0])
        call->dx[0] = same_of(nn, call);
    if (call->wanted[1] && !nn->trouble)
        call->dx[1] = ll_sum_over(nn, ll_mul_of(nn, v, rows), v->shape.rank - 1u, 1);
}
