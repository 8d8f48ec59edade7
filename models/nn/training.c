/* SPDX-License-Identifier: Apache-2.0 */
/* Training: gradients, then optimizers.
 *
 * Gradients come of going backward through the list of ops. First one pass forward marks what depends on the
 * values asked for: only there gradients flow. Then from the loss to the front, each op's rule turns what
 * arrived at its results into what its inputs get. */
#define LL_ALL_OP_KINDS /* op_table.def is bound here */
#include "models/nn/training.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/nn/nn.h"

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

/* Gradients of parts of a value that ops see where they lie; by where the parts begin. */
struct parts {
    struct ll_value *value;
    uint64_t begin, size;
    struct parts *next;
};

/* By value index, for the values there were when the pass began. */
struct pass {
    bool *needed;               /* depends on a value asked for */
    struct ll_value **gradient; /* what has arrived whole so far */
    struct rows **rows;
    bool *is_sum;           /* of pieces that were added here: nobody else has seen it */
    struct pieces **pieces; /* as_tensorflow: what has not been added to it yet */
    struct parts **parts;   /* of views of some of its columns */
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

/* The whole gradient, of this shape. */
static struct ll_value *gradient_whole(struct ll_nn *nn, struct ll_nn_gradient gradient,
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

/* Whether an op sees some columns of what it reads. */
static bool sees_part(const struct ll_nn_op *op)
{
    return op->view.kind == LL_OP_SEEN_AS && op->view.input_count == 1 &&
           ll_attr_count(&op->view, LL_ATTR_SIZE, 0) > 0 &&
           ll_attr_count(&op->view, LL_ATTR_AXIS, -1) == op->view.in[0].rank - 1;
}

static void arrive_part(struct ll_nn *nn, struct pass *pass, const struct ll_nn_op *op)
{
    struct parts **at = &pass->parts[op->inputs[0]->index], *part = ll_alloc(&nn->arena, 1, sizeof *part);
    if (!part) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    uint64_t begin = (uint64_t)ll_attr_count(&op->view, LL_ATTR_BEGIN, 0);
    while (*at && (*at)->begin < begin)
        at = &(*at)->next;
    *part = (struct parts){pass->gradient[op->outputs[0]->index], begin,
                           (uint64_t)ll_attr_count(&op->view, LL_ATTR_SIZE, 0), *at};
    *at = part;
}

/* Parts side by side, as backward ops write them, seen as one. */
static struct ll_value *joined_parts(struct ll_nn *nn, const struct parts *parts,
                                     const struct ll_value *whole)
{
    struct ll_value *values[LL_MAX_OUTPUTS];
    uint32_t count = 0;
    uint64_t end = 0;
    for (; parts && parts->begin == end && count < LL_MAX_OUTPUTS; parts = parts->next) {
        values[count++] = parts->value;
        end += parts->size;
    }
    if (parts || end != whole->shape.dim[whole->shape.rank - 1])
        ll_nn_fail(nn, "of a value that is read in parts, some column is read twice or never");
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SEEN_AS,
                                             .input_count = count,
                                             .inputs = values,
                                             .given_count = 1,
                                             .given = &whole->shape});
}

/* Makes what has arrived at a value whole. */
static void settle(struct ll_nn *nn, struct pass *pass, const struct ll_value *at)
{
    const struct rows *rows = pass->rows[at->index];
    const struct pieces *pieces;
    pass->rows[at->index] = NULL;
    if (rows)
        arrive(nn, pass, at, gradient_whole(nn, join(nn, rows), &at->shape));
    pieces = pass->pieces[at->index];
    pass->pieces[at->index] = NULL;
    if (pieces)
        add(nn, pass, at, sum_of(nn, pieces));
    const struct parts *parts = pass->parts[at->index];
    pass->parts[at->index] = NULL;
    if (parts)
        arrive(nn, pass, at, joined_parts(nn, parts, at));
}

static bool arrived(const struct pass *pass, const struct ll_nn_op *op)
{
    for (uint32_t i = 0; i < op->view.output_count; i++) {
        uint32_t at = op->outputs[i]->index;
        if (pass->gradient[at] || pass->rows[at] || pass->pieces[at] || pass->parts[at])
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
    if (sees_part(op)) {
        arrive_part(nn, pass, op);
        return;
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
        calloc(nn->value_count, sizeof(struct pieces *)), calloc(nn->value_count, sizeof(struct parts *)),
        calloc(nn->value_count, sizeof *pass.readers)};
    nn->phase = LL_PHASE_BACKWARD;
    if (!pass.needed || !pass.gradient || !pass.rows || !pass.is_sum || !pass.pieces || !pass.parts ||
        !pass.readers)
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
    free(pass.parts);
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
        gradients[i] = gradient_whole(nn, found[i], &values[i]->shape);
    nn->phase = phase;
    free(found);
}

/* Attributes of an op must not change from step to step, so that a trace's forms repeat: Adam's powers of
 * beta1 and beta2 are a tensor of two elements that one `mul` op advances each step. */

/* What all weights share: Adam's powers. */
struct update {
    const struct ll_optimizer *optimizer;
    struct ll_value *powers;
    struct ll_value *factor; /* of the rate; NULL: none */
};

static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL}, from_one = {LL_INIT_CONSTANT, 1, NULL};

/* Where weights have few bits, what adds up over the steps is kept in 32 (Micikevicius et al., 2018). */
static enum ll_dtype wide(uint8_t dtype)
{
    return ll_dtype_bytes((enum ll_dtype)dtype) < ll_dtype_bytes(LL_F32) ? LL_F32 : (enum ll_dtype)dtype;
}

/* A variable of the weight's shape, named after it: "conv1/weights/momentum". */
static struct ll_value *state_from(struct ll_nn *nn, const struct ll_value *weight, const char *suffix,
                                   struct ll_init first)
{
    const char *slash = strrchr(weight->name, '/');
    const char *name = ll_format(&nn->arena, "%s/%s", slash ? slash + 1 : weight->name, suffix);
    struct ll_shape shape = weight->shape;
    shape.dtype = (uint8_t)wide(shape.dtype);
    return ll_nn_variable(nn, name ? name : suffix, &shape, LL_OPTIMIZER, first);
}

static struct ll_value *state_of(struct ll_nn *nn, const struct ll_value *weight, const char *suffix)
{
    return state_from(nn, weight, suffix, zero);
}

static void do_update(struct ll_nn *nn, enum ll_op_kind kind, uint32_t input_count,
                      struct ll_value *const *inputs, uint32_t attr_count, const struct ll_attr *attrs)
{
    ll_nn_do(nn, &(struct ll_nn_call){.kind = kind,
                                      .input_count = input_count,
                                      .inputs = inputs,
                                      .attr_count = attr_count,
                                      .attrs = attrs});
}

static void update_SGD(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                       struct ll_nn_gradient gradient)
{
    struct ll_attr rate = ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate);
    struct ll_value *inputs[] = {weight, gradient.value, gradient.indices};
    if (gradient.indices)
        do_update(nn, LL_OP_SGD_ROWS, 3, inputs, 1, &rate);
    else
        do_update(nn, LL_OP_SGD, 2, inputs, 1, &rate);
}

static void update_MOMENTUM(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                            struct ll_nn_gradient gradient)
{
    struct ll_attr attrs[] = {
        ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate),
        ll_attr_of_real(LL_ATTR_MOMENTUM, update->optimizer->momentum),
        ll_attr_of_real(LL_ATTR_DECAY, update->optimizer->weight_decay),
    };
    struct ll_value *inputs[] = {weight, state_of(nn, weight, "momentum"), gradient.value};
    bool decays = update->optimizer->weight_decay > 0 && weight->shape.rank > 1;
    do_update(nn, LL_OP_MOMENTUM, 3, inputs, decays ? 3 : 2, attrs);
}

static void update_ADAM(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                        struct ll_nn_gradient gradient)
{
    struct ll_attr attrs[] = {
        ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate),
        ll_attr_of_real(LL_ATTR_BETA1, update->optimizer->beta1),
        ll_attr_of_real(LL_ATTR_BETA2, update->optimizer->beta2),
        ll_attr_of_real(LL_ATTR_EPSILON, update->optimizer->epsilon),
    };
    bool mixed = wide(weight->shape.dtype) != weight->shape.dtype;
    struct ll_value *inputs[7];
    uint32_t count = 0;
    inputs[count++] = weight;
    if (mixed)
        inputs[count++] = state_of(nn, weight, "master");
    inputs[count++] = state_of(nn, weight, "m");
    inputs[count++] = state_of(nn, weight, "v");
    inputs[count++] = gradient.value;
    inputs[count++] = update->powers;
    if (update->factor)
        inputs[count++] = update->factor;
    do_update(nn, mixed ? LL_OP_ADAM_MIXED : LL_OP_ADAM, count, inputs, 4, attrs);
}

static void update_RMSPROP(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                           struct ll_nn_gradient gradient)
{
    struct ll_attr attrs[] = {
        ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate),
        ll_attr_of_real(LL_ATTR_DECAY, update->optimizer->decay),
        ll_attr_of_real(LL_ATTR_MOMENTUM, update->optimizer->momentum),
        ll_attr_of_real(LL_ATTR_EPSILON, update->optimizer->epsilon),
    };
    struct ll_value *inputs[] = {weight, state_from(nn, weight, "mean_square", from_one),
                                 state_of(nn, weight, "momentum"), gradient.value};
    do_update(nn, LL_OP_RMSPROP, 4, inputs, 4, attrs);
}

/* min(t warmup^-1.5, t^-0.5) in step t. */
static struct ll_value *warming_up(struct ll_nn *nn, uint64_t warmup)
{
    assert(warmup > 0);
    struct ll_shape scalar = ll_nn_shape(nn, 0, NULL, NULL);
    struct ll_value *counter = ll_nn_variable(nn, "step", &scalar, LL_OPTIMIZER, zero);
    struct ll_value *unit = ll_constant(nn, "one", 1), *step = ll_add_of(nn, counter, unit);
    ll_nn_carry(nn, counter, step);
    struct ll_value *rising = ll_nn_mul_scalar(nn, step, "warmup", pow((double)warmup, -1.5));
    struct ll_value *falling = ll_div_of(nn, unit, ll_nn_do1(nn, LL_OP_SQRT, step));
    return ll_nn_do2(nn, LL_OP_MINIMUM, rising, falling);
}

/* Both powers start at one and are multiplied before their first use. */
static void advance_powers(struct ll_nn *nn, struct update *update)
{
    const struct ll_optimizer *optimizer = update->optimizer;
    double *betas = ll_copy(&nn->arena, (double[]){optimizer->beta1, optimizer->beta2}, 2 * sizeof *betas);
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){2}, NULL);
    shape.dtype = (uint8_t)wide(shape.dtype);
    ll_nn_push(nn, "adam");
    struct ll_value *powers = ll_nn_variable(nn, "powers", &shape, LL_OPTIMIZER, from_one);
    struct ll_init list = betas ? (struct ll_init){LL_INIT_LIST, 0, betas} : from_one;
    struct ll_value *factors = ll_nn_variable(nn, "betas", &shape, LL_OPTIMIZER, list);
    update->powers = ll_nn_do2(nn, LL_OP_MUL, powers, factors);
    ll_nn_carry(nn, powers, update->powers);
    update->factor = optimizer->warmup ? warming_up(nn, optimizer->warmup) : NULL;
    ll_nn_pop(nn);
    if (!betas)
        ll_nn_fail(nn, "memory ran out");
}

static const struct {
    void (*begin)(struct ll_nn *nn, struct update *update); /* NULL: nothing to do */
    void (*update)(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                   struct ll_nn_gradient gradient);
    bool takes_rows;
} kinds[] = {
    [LL_SGD] = {NULL, update_SGD, true},
    [LL_MOMENTUM] = {NULL, update_MOMENTUM, false},
    [LL_ADAM] = {advance_powers, update_ADAM, false},
    [LL_RMSPROP] = {NULL, update_RMSPROP, false},
};

/* g c / max(|g|, c) */
static struct ll_value *clip_norm(struct ll_nn *nn, struct ll_value *g, double most)
{
    assert(most > 0);
    struct ll_value *limit = ll_constant(nn, "clip_norm", most);
    struct ll_value *norm =
        ll_nn_do1(nn, LL_OP_SQRT, ll_nn_do1(nn, LL_OP_SUM, ll_nn_do1(nn, LL_OP_SQUARE, g)));
    struct ll_value *larger = ll_nn_do2(nn, LL_OP_MAXIMUM, norm, limit);
    return ll_div_of(nn, ll_mul_of(nn, g, limit), larger);
}

/* Whether the weight's gradient is one of those that have a norm together. */
static bool is_clipped(const struct ll_optimizer *optimizer, const struct ll_value *weight)
{
    const char *unclipped = optimizer->unclipped;
    return !unclipped || strncmp(weight->name, unclipped, strlen(unclipped)) != 0;
}

/* The norm of all clipped gradients together: the root of twice the sum of half their squares. */
static struct ll_value *global_norm(struct ll_nn *nn, const struct ll_optimizer *optimizer,
                                    const struct ll_descent *descent)
{
    struct ll_value **halves = ll_alloc(&nn->arena, descent->count, sizeof(struct ll_value *));
    uint32_t found = 0;
    for (size_t i = 0; halves && i < descent->count; i++)
        if (descent->gradients[i].value && is_clipped(optimizer, descent->weights[i]))
            halves[found++] = ll_nn_do1(nn, LL_OP_L2_LOSS, descent->gradients[i].value);
    if (!halves)
        ll_nn_fail(nn, "memory ran out");
    struct ll_value *sum =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ADD_N, .input_count = found, .inputs = halves});
    return ll_nn_do1(nn, LL_OP_SQRT, ll_nn_mul_scalar(nn, sum, "two", 2));
}

/* c min(1 / n, 1 / c), n being that norm. */
static struct ll_value *global_factor(struct ll_nn *nn, const struct ll_optimizer *optimizer,
                                      const struct ll_descent *descent)
{
    assert(optimizer->clip_norm > 0);
    const double most = optimizer->clip_norm;
    struct ll_value *norm = global_norm(nn, optimizer, descent);
    struct ll_value *inverse = ll_div_of(nn, ll_constant(nn, "one", 1), norm);
    struct ll_value *least =
        ll_nn_do2(nn, LL_OP_MINIMUM, inverse, ll_constant(nn, "inverse_clip_norm", 1 / most));
    return ll_nn_mul_scalar(nn, least, "clip_norm", most);
}

/* min(max(g, -c), c) */
static struct ll_value *clip_value(struct ll_nn *nn, struct ll_value *g, double most)
{
    struct ll_value *above = ll_nn_do2(nn, LL_OP_MAXIMUM, g, ll_constant(nn, "least_gradient", -most));
    return ll_nn_do2(nn, LL_OP_MINIMUM, above, ll_constant(nn, "most_gradient", most));
}

static struct ll_value *changed(struct ll_nn *nn, const struct ll_optimizer *optimizer,
                                const struct ll_value *weight, struct ll_value *gradient)
{
    if (optimizer->clip == LL_CLIP_NORM)
        gradient = clip_norm(nn, gradient, optimizer->clip_norm);
    if (optimizer->clip == LL_CLIP_VALUE)
        gradient = clip_value(nn, gradient, optimizer->clip_norm);
    if (optimizer->transform)
        gradient = optimizer->transform(optimizer->context, nn, weight, gradient);
    return gradient;
}

/* A moving average of what the weight has become, from zero on. */
static void follow(struct ll_nn *nn, const struct ll_value *weight, double decay)
{
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_DECAY, decay);
    struct ll_value *inputs[] = {state_of(nn, weight, "average"), weight->next};
    do_update(nn, LL_OP_MOVING_AVERAGE, 2, inputs, 1, &attr);
}

/* Scales all gradients by one factor, each in its weight's scope. */
static struct ll_value *scaled(struct ll_nn *nn, struct ll_value *gradient, struct ll_value *factor,
                               bool in_place)
{
    const struct ll_attr over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_MUL,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){gradient, factor},
                                             .attr_count = in_place ? 1 : 0,
                                             .attrs = &over});
}

static void clip_together(struct ll_nn *nn, const struct ll_optimizer *optimizer, struct ll_descent *descent)
{
    const char *scope = nn->scope;
    ll_nn_push(nn, "clip");
    struct ll_value *factor = global_factor(nn, optimizer, descent);
    for (size_t i = 0; i < descent->count && !nn->trouble; i++) {
        struct ll_value **gradient = &descent->gradients[i].value;
        nn->scope = ll_nn_scope_of(nn, descent->weights[i]);
        if (*gradient && is_clipped(optimizer, descent->weights[i]))
            *gradient = scaled(nn, *gradient, factor, optimizer->clips_in_place);
    }
    if (optimizer->tells_norm)
        global_norm(nn, optimizer, descent);
    ll_nn_pop(nn);
    nn->scope = scope;
}

static void update_all(struct ll_nn *nn, const struct ll_optimizer *optimizer, struct ll_descent *descent)
{
    struct update update = {.optimizer = optimizer};
    if (kinds[optimizer->kind].begin)
        kinds[optimizer->kind].begin(nn, &update);
    if (optimizer->clip == LL_CLIP_GLOBAL_NORM)
        clip_together(nn, optimizer, descent);
    for (size_t i = 0; i < descent->count && !nn->trouble; i++) {
        struct ll_nn_gradient gradient = descent->gradients[i];
        const struct ll_value *weight = descent->weights[i];
        if (!gradient.value)
            continue;
        nn->scope = ll_nn_scope_of(nn, weight);
        gradient.value = changed(nn, optimizer, weight, gradient.value);
        kinds[optimizer->kind].update(nn, &update, descent->weights[i]->next, gradient);
        if (optimizer->average > 0)
            follow(nn, weight, optimizer->average);
    }
}

/* Makes a gradient whole that the optimizer cannot take as rows. */
static struct ll_nn_gradient settled(struct ll_nn *nn, const struct ll_optimizer *optimizer,
                                     const struct ll_value *weight, struct ll_nn_gradient gradient)
{
    bool takes_rows =
        kinds[optimizer->kind].takes_rows && !optimizer->transform &&
        optimizer->clip != LL_CLIP_VALUE; /* of rows that come twice it is the sum that counts */
    if (!gradient.indices || takes_rows)
        return gradient;
    nn->scope = ll_nn_scope_of(nn, weight);
    return (struct ll_nn_gradient){gradient_whole(nn, gradient, &weight->shape), NULL};
}

/* The sum of a gradient and those before it, whole where there are both; either may be none. */
static struct ll_nn_gradient add_gradients(struct ll_nn *nn, const struct ll_value *weight,
                                           struct ll_nn_gradient before, struct ll_nn_gradient gradient)
{
    if (!before.value || !gradient.value)
        return before.value ? before : gradient;
    nn->scope = ll_nn_scope_of(nn, weight);
    struct ll_value *whole = gradient_whole(nn, gradient, &weight->shape);
    return (struct ll_nn_gradient){ll_add_of(nn, gradient_whole(nn, before, &weight->shape), whole), NULL};
}

/* All weights made so far that the optimizer is to change. False when memory ran out. */
static bool find_weights(struct ll_nn *nn, const struct ll_optimizer *optimizer, struct ll_descent *descent)
{
    const char *only = optimizer->only ? optimizer->only : "";
    descent->weights = calloc(nn->value_count + 1, sizeof(struct ll_value *));
    descent->gradients = calloc(nn->value_count + 1, sizeof *descent->gradients);
    for (uint64_t i = 0; descent->weights && i < nn->value_count; i++) {
        struct ll_value *value = nn->values[i];
        if (!value->producer && value->memory == LL_WEIGHT && !value->frozen &&
            strncmp(value->name, only, strlen(only)) == 0)
            descent->weights[descent->count++] = value;
    }
    return descent->weights && descent->gradients;
}

/* The gradients of one loss, as each weight is now; allocated, NULL when memory ran out. */
static struct ll_nn_gradient *gradients_of(struct ll_nn *nn, struct ll_value *loss,
                                           const struct ll_descent *descent)
{
    struct ll_value **now = calloc(descent->count + 1, sizeof(struct ll_value *));
    struct ll_nn_gradient *gradients = calloc(descent->count + 1, sizeof *gradients);
    for (size_t i = 0; now && i < descent->count; i++)
        now[i] = descent->weights[i]->next;
    if (now && gradients)
        ll_nn_sparse_gradients(nn, loss, now, descent->count, gradients);
    else
        ll_nn_fail(nn, "memory ran out");
    free(now);
    return gradients;
}

/* Adds what came of one loss to the sums. */
static bool add_all(struct ll_nn *nn, struct ll_descent *descent, struct ll_nn_gradient *gradients,
                    const struct ll_optimizer *optimizer)
{
    bool found = false;
    for (size_t i = 0; i < descent->count && !nn->trouble; i++) {
        struct ll_value *weight = descent->weights[i];
        found |= gradients[i].value != NULL;
        gradients[i] = settled(nn, optimizer, weight, gradients[i]);
        descent->gradients[i] = add_gradients(nn, weight, descent->gradients[i], gradients[i]);
    }
    return found;
}

void ll_descent_add(struct ll_nn *nn, struct ll_descent *descent, struct ll_value *loss,
                    const struct ll_optimizer *optimizer)
{
    const char *scope = nn->scope;
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_BACKWARD;
    if (!descent->weights && !find_weights(nn, optimizer, descent))
        ll_nn_fail(nn, "memory ran out");
    struct ll_nn_gradient *gradients = nn->trouble ? NULL : gradients_of(nn, loss, descent);
    if (gradients && !add_all(nn, descent, gradients, optimizer))
        ll_nn_fail(nn, "the loss depends on no weight");
    free(gradients);
    nn->phase = phase;
    nn->scope = scope;
}

/* The first gradient that changes a weight is the weight's to know. */
void ll_descend(struct ll_nn *nn, struct ll_descent *descent, const struct ll_optimizer *optimizer)
{
    assert(nn->trouble || descent->weights);
    const char *scope = nn->scope;
    enum ll_phase phase = nn->phase;
    for (size_t i = 0; i < descent->count && !nn->trouble; i++)
        if (!descent->weights[i]->gradient) {
            descent->weights[i]->gradient = descent->gradients[i].value;
            descent->weights[i]->gradient_rows = descent->gradients[i].indices;
        }
    nn->phase = LL_PHASE_UPDATE;
    if (!nn->trouble)
        update_all(nn, optimizer, descent);
    nn->phase = phase;
    nn->scope = scope;
    free(descent->weights);
    free(descent->gradients);
    *descent = (struct ll_descent){0};
}

void ll_minimise(struct ll_nn *nn, struct ll_value *loss, const struct ll_optimizer *optimizer)
{
    struct ll_descent descent = {0};
    ll_descent_add(nn, &descent, loss, optimizer);
    ll_descend(nn, &descent, optimizer);
}
