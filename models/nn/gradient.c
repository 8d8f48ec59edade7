/* SPDX-License-Identifier: Apache-2.0 */
/* Going backward through the list of ops. First one pass forward marks what depends on the values asked for:
 * only there gradients flow. Then from the loss to the front, each op's rule turns what arrived at its
 * results into what its inputs get. */
#include "models/nn/gradient.h"

#include <assert.h>
#include <stdlib.h>

#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs)                      \
    ll_gradient_rule ll_gradient_##gradient;
#include "tracer/op_table.def"
#undef LL_OP

static ll_gradient_rule *const rules[LL_OP_COUNT] = {
#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs)                      \
    [LL_OP_##word] = ll_gradient_##gradient,
#include "tracer/op_table.def"
#undef LL_OP
};

/* By value index, for the values there were when the pass began. */
struct pass {
    bool *needed;               /* depends on a value asked for */
    struct ll_value **gradient; /* what has arrived so far */
};

static void mark_needed(const struct ll_nn *nn, struct ll_value *const *values, size_t count, bool *needed)
{
    for (size_t i = 0; i < count; i++)
        needed[values[i]->index] = true;
    for (uint64_t i = 0; i < nn->op_count; i++) {
        const struct ll_nn_op *op = nn->ops[i];
        bool depends = false;
        for (uint32_t j = 0; j < op->view.input_count; j++)
            depends |= needed[op->inputs[j]->index];
        for (uint32_t j = 0; depends && j < op->view.output_count; j++)
            needed[op->outputs[j]->index] = true;
    }
}

static void arrive(struct ll_nn *nn, struct pass *pass, const struct ll_value *at, struct ll_value *dx)
{
    struct ll_value **sum = &pass->gradient[at->index];
    *sum = *sum ? ll_nn_do2(nn, LL_OP_ADD, *sum, dx) : dx;
}

static bool arrived(const struct pass *pass, const struct ll_nn_op *op)
{
    for (uint32_t i = 0; i < op->view.output_count; i++)
        if (pass->gradient[op->outputs[i]->index])
            return true;
    return false;
}

static void through_op(struct ll_nn *nn, struct pass *pass, const struct ll_nn_op *op)
{
    if (!arrived(pass, op))
        return;
    uint32_t count = op->view.input_count, results = op->view.output_count;
    bool *wanted = ll_alloc(&nn->arena, count, sizeof *wanted);
    struct ll_value **dx = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    struct ll_value **dy = ll_alloc(&nn->arena, results, sizeof(struct ll_value *));
    if (!wanted || !dx || !dy) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    for (uint32_t i = 0; i < results; i++)
        dy[i] = pass->gradient[op->outputs[i]->index];
    for (uint32_t i = 0; i < count; i++)
        wanted[i] = pass->needed[op->inputs[i]->index];
    nn->scope = op->scope;
    rules[op->view.kind](nn, &(struct ll_gradient_call){op, dy, wanted, dx});
    for (uint32_t i = 0; i < count; i++)
        if (wanted[i] && dx[i])
            arrive(nn, pass, op->inputs[i], dx[i]);
}

/* The gradient of the loss with respect to itself. */
static struct ll_value *one(struct ll_nn *nn, const struct ll_value *loss)
{
    assert(nn->trouble || loss->shape.rank == 0);
    return ll_nn_variable(nn, "one", &loss->shape, LL_GRADIENT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
}

static void go_backward(struct ll_nn *nn, struct pass *pass, struct ll_value *loss)
{
    const char *scope = nn->scope;
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_BACKWARD;
    pass->gradient[loss->index] = one(nn, loss);
    for (uint64_t i = nn->op_count; i-- > 0 && !nn->trouble;)
        through_op(nn, pass, nn->ops[i]);
    nn->phase = phase;
    nn->scope = scope;
}

void ll_nn_gradients(struct ll_nn *nn, struct ll_value *loss, struct ll_value *const *values, size_t count,
                     struct ll_value **gradients)
{
    for (size_t i = 0; i < count; i++)
        gradients[i] = NULL;
    if (nn->trouble)
        return;
    struct pass pass = {calloc(nn->value_count, sizeof *pass.needed),
                        calloc(nn->value_count, sizeof(struct ll_value *))};
    if (!pass.needed || !pass.gradient)
        ll_nn_fail(nn, "memory ran out");
    else {
        mark_needed(nn, values, count, pass.needed);
        go_backward(nn, &pass, loss);
        for (size_t i = 0; i < count && !nn->trouble; i++)
            gradients[i] = pass.gradient[values[i]->index];
    }
    free(pass.needed);
    free(pass.gradient);
}
