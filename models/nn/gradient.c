/* SPDX-License-Identifier: Apache-2.0 */
/* Going backward through the list of ops. First one pass forward marks what depends on the values asked for:
 * only there gradients flow. Then from the loss to the front, each op's rule turns what arrived at its
 * results into what its inputs get. */
#define LL_ALL_OP_KINDS /* op_table.def is bound here */
#include "models/nn/nn.h"
#include "models/nn/gradient.h"

#include <assert.h>
#include <stdlib.h>

#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs)                      \
    ll_gradient_rule ll_gradient_##gradient;
#include "tracer/ir/op_table.def"
#undef LL_OP

static ll_gradient_rule *const rules[LL_OP_NONE] = {
#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs)                      \
    [LL_OP_##word] = ll_gradient_##gradient,
#include "tracer/ir/op_table.def"
#undef LL_OP
};

/* Rows that have arrived at a value; the newest first. */
struct rows {
    struct ll_nn_gradient piece;
    uint32_t count; /* of the list from here on */
    struct rows *next;
};

/* Whole gradients that wait to be added; the newest first. */
struct pieces {
    struct ll_value *value;
    uint32_t count; /* of the list from here on */
    struct pieces *next;
};

/* By value index, for the values there were when the pass began. */
struct pass {
    bool *needed;               /* depends on a value asked for */
    struct ll_value **gradient; /* what has arrived whole so far */
    struct rows **rows;
    bool *is_sum;           /* of pieces that were added here: nobody else has seen it */
    struct pieces **pieces; /* as_tensorflow: what has not been added to it yet */
    uint32_t *readers;      /* how many inputs of ops on the way a value is */
};

/* Of the program being built: nothing that is read here was made by another. */
static uint64_t first_op(const struct ll_nn *nn)
{
    return nn->programs[nn->program_count - 1].first_op;
}

static void mark_needed(const struct ll_nn *nn, struct ll_value *const *values, size_t count,
                        struct pass *pass)
{
    for (size_t i = 0; i < count; i++)
        pass->needed[values[i]->index] = true;
    for (uint64_t i = 0; nn->as_tensorflow && i < nn->value_count; i++) /* states, and constants of loops */
        pass->needed[i] |= nn->values[i]->loop == LL_ENTERS_LOOP || nn->values[i]->loop == LL_READ_BY_LOOP;
    for (uint64_t i = first_op(nn); i < nn->op_count; i++) {
        const struct ll_nn_op *op = nn->ops[i];
        bool depends = false, flows = rules[op->view.kind] != ll_gradient_NONE;
        for (uint32_t j = 0; flows && j < op->view.input_count; j++)
            depends |= pass->needed[op->inputs[j]->index];
        for (uint32_t j = 0; depends && j < op->view.output_count; j++)
            pass->needed[op->outputs[j]->index] = true;
        for (uint32_t j = 0; depends && j < op->view.input_count; j++)
            pass->readers[op->inputs[j]->index]++;
    }
}

/* Whether each step of a loop adds to the gradient of a value that all of them read. */
static bool is_read_by_loop(const struct ll_nn *nn, const struct pass *pass, const struct ll_value *at)
{
    bool weight = !at->producer && at->memory == LL_WEIGHT;
    return nn->as_tensorflow && (at->loop == LL_READ_BY_LOOP || (weight && pass->readers[at->index] > 1));
}

/* Zeros to which they add; they are made before the loop. */
static struct ll_value *accumulator(struct ll_nn *nn, const struct ll_value *at)
{
    const char *scope = nn->scope;
    nn->scope = at->producer ? at->producer->scope : ll_nn_scope_of(nn, at);
    struct ll_value *zeros = ll_made_zeros(nn, &at->shape);
    nn->scope = scope;
    return zeros;
}

/* Over the sum, as PyTorch's autograd adds; TensorFlow's has memory of its own for each. */
static struct ll_value *add_over(struct ll_nn *nn, struct ll_value *sum, struct ll_value *dx)
{
    const struct ll_attr over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ADD,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){sum, dx},
                                             .attr_count = 1,
                                             .attrs = &over});
}

/* Adds it to what has arrived before. */
static void add(struct ll_nn *nn, struct pass *pass, const struct ll_value *at, struct ll_value *dx)
{
    struct ll_value **sum = &pass->gradient[at->index];
    if (!*sum && is_read_by_loop(nn, pass, at))
        *sum = accumulator(nn, at);
    if (!*sum) {
        *sum = dx;
        return;
    }
    bool over = pass->is_sum[at->index] && !nn->as_tensorflow;
    *sum = over ? add_over(nn, *sum, dx) : ll_nn_do2(nn, LL_OP_ADD, *sum, dx);
    pass->is_sum[at->index] = true;
}

static void arrive(struct ll_nn *nn, struct pass *pass, const struct ll_value *at, struct ll_value *dx)
{
    struct pieces **list = &pass->pieces[at->index], *piece;
    if (!nn->as_tensorflow || is_read_by_loop(nn, pass, at)) {
        add(nn, pass, at, dx);
        return;
    }
    piece = ll_alloc(&nn->arena, 1, sizeof *piece);
    if (!piece) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    *piece = (struct pieces){dx, *list ? (*list)->count + 1 : 1, *list};
    *list = piece;
}

/* The sum of all pieces, in the order in which they came. */
static struct ll_value *sum_of(struct ll_nn *nn, const struct pieces *pieces)
{
    assert(pieces->count > 0);
    uint32_t count = pieces->count;
    struct ll_value **values = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    if (!values) {
        ll_nn_fail(nn, "memory ran out");
        return pieces->value;
    }
    for (; pieces; pieces = pieces->next)
        values[pieces->count - 1] = pieces->value;
    return count == 1
               ? values[0]
               : ll_nn_do(nn,
                          &(struct ll_nn_call){.kind = LL_OP_ADD_N, .input_count = count, .inputs = values});
}

static void arrive_rows(struct ll_nn *nn, struct pass *pass, const struct ll_value *at,
                        struct ll_nn_gradient piece)
{
    struct rows **list = &pass->rows[at->index], *rows = ll_alloc(&nn->arena, 1, sizeof *rows);
    if (!rows) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    *rows = (struct rows){piece, *list ? (*list)->count + 1 : 1, *list};
    *list = rows;
}

static struct ll_value *joined(struct ll_nn *nn, struct ll_value *const *parts, uint32_t count)
{
    return count == 1
               ? parts[0]
               : ll_nn_do(nn,
                          &(struct ll_nn_call){.kind = LL_OP_CONCAT, .input_count = count, .inputs = parts});
}

/* All rows that have arrived, as one piece, in the order in which they came. */
static struct ll_nn_gradient join(struct ll_nn *nn, const struct rows *rows)
{
    assert(rows->count > 0);
    uint32_t count = rows->count;
    struct ll_value **values = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    struct ll_value **indices = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    if (!values || !indices) {
        ll_nn_fail(nn, "memory ran out");
        return rows->piece;
    }
    for (; rows; rows = rows->next) {
        values[rows->count - 1] = rows->piece.value;
        indices[rows->count - 1] = rows->piece.indices;
    }
    return (struct ll_nn_gradient){joined(nn, values, count), joined(nn, indices, count)};
}

struct ll_value *ll_gradient_whole(struct ll_nn *nn, struct ll_nn_gradient gradient,
                                   const struct ll_shape *shape)
{
    if (!gradient.value || !gradient.indices)
        return gradient.value;
    struct ll_value *inputs[] = {gradient.value, gradient.indices};
    return ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_SEGMENT_SUM, .input_count = 2, .inputs = inputs, .given_count = 1, .given = shape});
}

/* Makes what has arrived at a value whole. */
static void settle(struct ll_nn *nn, struct pass *pass, const struct ll_value *at)
{
    const struct rows *rows = pass->rows[at->index];
    const struct pieces *pieces;
    pass->rows[at->index] = NULL;
    if (rows)
        arrive(nn, pass, at, ll_gradient_whole(nn, join(nn, rows), &at->shape));
    pieces = pass->pieces[at->index];
    pass->pieces[at->index] = NULL;
    if (pieces)
        add(nn, pass, at, sum_of(nn, pieces));
}

static bool arrived(const struct pass *pass, const struct ll_nn_op *op)
{
    for (uint32_t i = 0; i < op->view.output_count; i++) {
        uint32_t at = op->outputs[i]->index;
        if (pass->gradient[at] || pass->rows[at] || pass->pieces[at])
            return true;
    }
    return false;
}

/* Whether an input has a gradient though nobody asks for it. */
static bool gives_all(const struct ll_nn *nn, const struct ll_nn_op *op, uint32_t input)
{
    return nn->as_tensorflow && op->view.in[input].dtype == nn->real;
}

/* One op of the walk backwards: what arrived at its results is summed, its rule adds the ops that give the
 * gradients of its inputs, and these arrive there. */
static void through_op(struct ll_nn *nn, struct pass *pass, const struct ll_nn_op *op)
{
    if (!arrived(pass, op))
        return;
    uint32_t count = op->view.input_count, results = op->view.output_count;
    bool *wanted = ll_alloc(&nn->arena, count, sizeof *wanted);
    struct ll_value **dx = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    struct ll_value **dy = ll_alloc(&nn->arena, results, sizeof(struct ll_value *));
    struct ll_value **indices = ll_alloc(&nn->arena, count, sizeof(struct ll_value *));
    if (!wanted || !dx || !dy || !indices) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    nn->scope = op->scope;
    for (uint32_t i = 0; i < results; i++) {
        settle(nn, pass, op->outputs[i]);
        dy[i] = pass->gradient[op->outputs[i]->index];
    }
    for (uint32_t i = 0; i < count; i++)
        wanted[i] = pass->needed[op->inputs[i]->index] || gives_all(nn, op, i);
    rules[op->view.kind](nn, &(struct ll_gradient_call){op, dy, wanted, dx, indices});
    for (uint32_t i = 0; i < count; i++)
        if (pass->needed[op->inputs[i]->index] && dx[i] && indices[i])
            arrive_rows(nn, pass, op->inputs[i], (struct ll_nn_gradient){dx[i], indices[i]});
        else if (pass->needed[op->inputs[i]->index] && dx[i])
            arrive(nn, pass, op->inputs[i], dx[i]);
}

/* The gradient of the loss with respect to itself. */
static struct ll_value *one(struct ll_nn *nn, const struct ll_value *loss)
{
    assert(nn->trouble || loss->shape.rank == 0);
    return ll_nn_variable(nn, "one", &loss->shape, LL_GRADIENT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
}

/* Adds up what has arrived at the states with which loops began. */
static void end_loops(struct ll_nn *nn, struct pass *pass, uint64_t value_count)
{
    for (uint64_t i = 0; nn->as_tensorflow && i < value_count; i++)
        if (nn->values[i]->loop == LL_ENTERS_LOOP && nn->values[i]->producer)
            settle(nn, pass, nn->values[i]);
}

/* Zeros that flow into what leaves a loop. */
static void begin_loops(struct ll_nn *nn, struct pass *pass, uint64_t value_count)
{
    for (uint64_t i = 0; nn->as_tensorflow && i < value_count; i++)
        if (nn->values[i]->loop == LL_LEAVES_LOOP && pass->needed[i])
            arrive(nn, pass, nn->values[i], ll_made_zeros(nn, &nn->values[i]->shape));
}

static void go_backward(struct ll_nn *nn, struct pass *pass, struct ll_value *loss)
{
    const uint64_t op_count = nn->op_count, value_count = nn->value_count;
    begin_loops(nn, pass, value_count);
    pass->gradient[loss->index] = one(nn, loss);
    for (uint64_t i = op_count; i-- > first_op(nn) && !nn->trouble;)
        through_op(nn, pass, nn->ops[i]);
    end_loops(nn, pass, value_count);
}

/* What has arrived at a value: whole, unless it is rows alone. */
static struct ll_nn_gradient result(struct ll_nn *nn, struct pass *pass, const struct ll_value *value)
{
    const struct rows *rows = pass->rows[value->index];
    nn->scope = value->producer ? value->producer->scope : nn->scope;
    if (rows && !pass->gradient[value->index] && !pass->pieces[value->index])
        return join(nn, rows);
    settle(nn, pass, value);
    return (struct ll_nn_gradient){pass->gradient[value->index], NULL};
}

void ll_nn_sparse_gradients(struct ll_nn *nn, struct ll_value *loss, struct ll_value *const *values,
                            size_t count, struct ll_nn_gradient *gradients)
{
    assert(nn->trouble || loss->shape.rank == 0);
    for (size_t i = 0; i < count; i++)
        gradients[i] = (struct ll_nn_gradient){NULL, NULL};
    if (nn->trouble)
        return;
    const char *scope = nn->scope;
    enum ll_phase phase = nn->phase;
    struct pass pass = {
        calloc(nn->value_count, sizeof *pass.needed),     calloc(nn->value_count, sizeof(struct ll_value *)),
        calloc(nn->value_count, sizeof(struct rows *)),   calloc(nn->value_count, sizeof *pass.is_sum),
        calloc(nn->value_count, sizeof(struct pieces *)), calloc(nn->value_count, sizeof *pass.readers)};
    nn->phase = LL_PHASE_BACKWARD;
    if (!pass.needed || !pass.gradient || !pass.rows || !pass.is_sum || !pass.pieces || !pass.readers)
        ll_nn_fail(nn, "memory ran out");
    else {
        mark_needed(nn, values, count, &pass);
        go_backward(nn, &pass, loss);
        for (size_t i = 0; i < count && !nn->trouble; i++)
            gradients[i] = result(nn, &pass, values[i]);
    }
    nn->phase = phase;
    nn->scope = scope;
    free(pass.needed);
    free(pass.gradient);
    free(pass.rows);
    free(pass.is_sum);
    free(pass.pieces);
    free(pass.readers);
}

void ll_nn_gradients(struct ll_nn *nn, struct ll_value *loss, struct ll_value *const *values, size_t count,
                     struct ll_value **gradients)
{
    struct ll_nn_gradient *found = calloc(count + 1, sizeof *found);
    enum ll_phase phase = nn->phase;
    if (!found) {
        ll_nn_fail(nn, "memory ran out");
        count = 0;
    }
    ll_nn_sparse_gradients(nn, loss, values, count, found);
    nn->phase = LL_PHASE_BACKWARD;
    for (size_t i = 0; i < count; i++)
        gradients[i] = ll_gradient_whole(nn, found[i], &values[i]->shape);
    nn->phase = phase;
    free(found);
}
