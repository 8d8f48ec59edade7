/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on matrices of numbers, element by element and line by line. */
#include "models/micro/recipes.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void do_op(struct ll_bench *bench, enum ll_op_kind kind, uint32_t count,
                  struct ll_value *const *inputs)
{
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind, .input_count = count, .inputs = inputs});
}

static struct ll_value *bench_real(struct ll_bench *bench, const char *name, unsigned rank,
                                   const uint64_t *dims);

static struct ll_matrix_size bench_grid(uint64_t elements);

static struct ll_value *matrix(struct ll_bench *bench, const char *name, uint64_t elements)
{
    return bench_real(bench, name, 2, bench_grid(elements).dim);
}

/* An op over so many dimensions of x from this one on; `whole` is its result's shape where that does not
 * follow. */
static void over(struct ll_bench *bench, enum ll_op_kind kind, struct ll_value *x, int64_t axis, int64_t axes,
                 const struct ll_shape *whole)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis), ll_attr_of_count(LL_ATTR_AXES, axes)};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 1,
                                             .inputs = &x,
                                             .attr_count = 2,
                                             .attrs = attrs,
                                             .given_count = whole ? 1 : 0,
                                             .given = whole});
}

void ll_recipe_one(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    ll_nn_do1(bench->nn, kind, matrix(bench, "x", elements));
}

void ll_recipe_pair(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements), matrix(bench, "y", elements));
}

void ll_recipe_four(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *inputs[] = {matrix(bench, "x", elements), matrix(bench, "y", elements),
                                 matrix(bench, "z", elements), matrix(bench, "w", elements)};
    do_op(bench, kind, 4, inputs);
}

void ll_recipe_by_scalar(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements), bench_real(bench, "scalar", 0, NULL));
}

/* Rows as short as what is attended to in a story of some sentences. */
void ll_recipe_short_rows(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { ROW = 12 };
    ll_nn_do1(bench->nn, kind, bench_real(bench, "short", 2, (uint64_t[]){ll_max(1, elements / ROW), ROW}));
}

static struct ll_value *bench_two(struct ll_bench *bench);

/* Powers in networks are squares and roots, and mostly squares. */
void ll_recipe_squared(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements), bench_two(bench));
}

/* As attention over a memory has it: stacks of short lines, of two lengths. */
struct box {
    uint64_t dim[3];
};
enum { BOXES = 2 };

static struct box box_of(uint64_t elements, int which)
{
    static const uint64_t lengths[BOXES] = {24, 12}, counts[BOXES] = {40, 18};
    uint64_t lines = elements < counts[which] * lengths[which] ? 4 : counts[which];
    return (struct box){{ll_max(1, elements / (lines * lengths[which])), lines, lengths[which]}};
}

void ll_recipe_along_middle(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    for (int i = 0; i < BOXES; i++) {
        struct box box = box_of(elements, i);
        ll_nn_do2(bench->nn, kind, bench_real(bench, "box", 3, box.dim),
                  bench_real(bench, "lines", 3, (uint64_t[]){box.dim[0], 1, box.dim[2]}));
    }
}

void ll_recipe_narrow_lines(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    for (int i = 0; i < BOXES; i++) {
        struct box box = box_of(elements, i);
        ll_nn_do2(bench->nn, kind, bench_real(bench, "box", 3, box.dim),
                  bench_real(bench, "places", 3, (uint64_t[]){box.dim[0], box.dim[1], 1}));
    }
}

static void reduce_box(struct ll_bench *bench, enum ll_op_kind kind, struct box box, int64_t axis)
{
    over(bench, kind, bench_real(bench, "box", 3, box.dim), axis, 1, NULL);
}

void ll_recipe_reduced_middle(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    for (int i = 0; i < BOXES; i++)
        reduce_box(bench, kind, box_of(elements, i), 1);
}

/* As many numbers become fewer, several at a time. */
void ll_recipe_short_middle(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { MIDDLE = 5, INNER = 24 };
    struct box box = {{ll_max(1, elements / (MIDDLE * INNER)), MIDDLE, INNER}};
    reduce_box(bench, kind, box, 1);
}

void ll_recipe_narrow_sum(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    for (int i = 0; i < BOXES; i++)
        reduce_box(bench, kind, box_of(elements, i), 2);
}

/* Along an axis, what is repeated: all of a box but that. */
static void fill_boxes(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements, unsigned axis)
{
    for (int i = 0; i < BOXES; i++) {
        struct box box = box_of(elements, i);
        struct ll_shape whole = ll_nn_shape(bench->nn, 3, box.dim, NULL);
        uint64_t flat[] = {box.dim[0], box.dim[3 - axis]};
        over(bench, kind, bench_real(bench, "flat", 2, flat), axis, 1, &whole);
    }
}

void ll_recipe_middle_filled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    fill_boxes(bench, kind, elements, 1);
}

void ll_recipe_lines_filled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    fill_boxes(bench, kind, elements, 2);
}

void ll_recipe_narrow_turned(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_PERMUTATION, 21);
    for (int i = 0; i < BOXES; i++) {
        struct ll_value *x = bench_real(bench, "box", 3, box_of(elements, i).dim);
        ll_nn_do(bench->nn,
                 &(struct ll_nn_call){
                     .kind = kind, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
    }
}

void ll_recipe_along_columns(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements), bench_real(bench, "row", 1, &grid.dim[1]));
}

void ll_recipe_line_norm(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_value *row = bench_real(bench, "row", 1, &grid.dim[1]);
    do_op(bench, kind, kind == LL_OP_RMS_NORM ? 2 : 3,
          (struct ll_value *[]){matrix(bench, "x", elements), row, row});
}

void ll_recipe_line_norm_grad(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_value *inputs[] = {matrix(bench, "y", elements), matrix(bench, "x", elements),
                                 bench_real(bench, "row", 1, &grid.dim[1])};
    do_op(bench, kind, 3, inputs);
}

void ll_recipe_along_rows(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t rows = bench_grid(elements).dim[0];
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements),
              bench_real(bench, "column", 2, (uint64_t[]){rows, 1}));
}

void ll_recipe_lines_scaled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements), bench_real(bench, "factors", 1, grid.dim));
}

void ll_recipe_clipped(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_attr limit = ll_attr_of_real(LL_ATTR_LIMIT, 0.6);
    struct ll_value *inputs[] = {matrix(bench, "x", elements), matrix(bench, "y", elements)};
    ll_nn_do(bench->nn, &(struct ll_nn_call){
                            .kind = kind,
                            .input_count = kind == LL_OP_RELU_CLIPPED || kind == LL_OP_SMOOTH_L1 ? 1 : 2,
                            .inputs = inputs,
                            .attr_count = 1,
                            .attrs = &limit});
}

void ll_recipe_choice(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *x = matrix(bench, "x", elements), *y = matrix(bench, "y", elements);
    struct ll_value *inputs[] = {ll_nn_do2(bench->nn, LL_OP_LESS, x, y), x, y};
    do_op(bench, kind, 3, inputs);
}

void ll_recipe_kept(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *x = matrix(bench, "x", elements), *y = matrix(bench, "y", elements);
    struct ll_value *inputs[] = {x, ll_nn_do2(bench->nn, LL_OP_LESS, x, y)};
    do_op(bench, kind, 2, inputs);
}

static struct ll_value *bench_noise(struct ll_bench *bench, const char *name, unsigned rank,
                                    const uint64_t *dims);

void ll_recipe_where_it_holds(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *x = bench_noise(bench, "line", 1, &elements);
    ll_nn_do1(bench->nn, kind, ll_nn_do2(bench->nn, LL_OP_GREATER, x, bench_two(bench)));
}

void ll_recipe_cast(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *x = matrix(bench, "x", elements), *y = matrix(bench, "y", elements);
    struct ll_value *truth = ll_nn_do2(bench->nn, LL_OP_LESS, x, y);
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 1, .inputs = &truth, .given_count = 1, .given = &x->shape});
}

/* Blocks of 32 numbers of 8 bits. */
void ll_recipe_quantized(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *x = matrix(bench, "x", elements);
    struct ll_shape narrow = x->shape;
    narrow.dtype = LL_F8;
    narrow.scales = LL_SCALES_E8M0;
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 1, .inputs = &x, .given_count = 1, .given = &narrow});
}

void ll_recipe_dequantized(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    assert(kind == LL_OP_DEQUANTIZE), (void)kind;
    ll_nn_quantized(bench->nn, matrix(bench, "x", elements), LL_F8, LL_SCALES_E8M0);
}

void ll_recipe_reduced_all(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    over(bench, kind, matrix(bench, "x", elements), 0, 2, NULL);
}

void ll_recipe_reduced_rows(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    over(bench, kind, matrix(bench, "x", elements), 0, 1, NULL);
}

void ll_recipe_reduced_lines(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    over(bench, kind, matrix(bench, "x", elements), 1, 1, NULL);
}

void ll_recipe_expanded(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_shape whole = ll_nn_shape(bench->nn, 2, grid.dim, NULL);
    over(bench, kind, bench_real(bench, "factors", 1, grid.dim), 1, 1, &whole);
}

static struct ll_value *bench_indices(struct ll_bench *bench, unsigned rank, const uint64_t *dims,
                                      uint64_t limit);

void ll_recipe_labelled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    ll_nn_do2(bench->nn, kind, matrix(bench, "x", elements), bench_indices(bench, 1, grid.dim, grid.dim[1]));
}

/* As many as a beam keeps. */
void ll_recipe_best_of_lines(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *x = matrix(bench, "x", elements);
    struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)ll_min(10, x->shape.dim[1]));
    ll_nn_do(bench->nn, &(struct ll_nn_call){
                            .kind = kind, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &size});
}

void ll_recipe_unravelled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { PIECE = 100, PIECES = 10 };
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_value *indices = bench_indices(bench, 2, grid.dim, PIECE * PIECES);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, PIECE),
                              ll_attr_of_count(LL_ATTR_RANGE, PIECE * PIECES)};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 1, .inputs = &indices, .attr_count = 2, .attrs = attrs});
}

/* The number of the step, a seed and a stream are all that chance depends on. */
void ll_recipe_drawn(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SEED, 1), ll_attr_of_count(LL_ATTR_STREAM, 1),
                              ll_attr_of_real(LL_ATTR_KEEP, 0.5)};
    struct ll_value *step = bench_real(bench, "scalar", 0, NULL), *x = matrix(bench, "x", elements);
    bool drops = kind == LL_OP_DROPOUT;
    struct ll_value *inputs[] = {drops ? x : step, step};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = drops ? 2 : 1,
                                             .inputs = inputs,
                                             .attr_count = 3,
                                             .attrs = attrs,
                                             .given_count = !drops,
                                             .given = &x->shape});
}

/* Classes drawn out of ten times as many; the op's elements are the classes drawn and those asked about. */
void ll_recipe_sample(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t half = elements / 2;
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SEED, 1), ll_attr_of_count(LL_ATTR_STREAM, 1),
                              ll_attr_of_count(LL_ATTR_SAMPLES, (int64_t)half),
                              ll_attr_of_count(LL_ATTR_RANGE, (int64_t)(10 * elements))};
    struct ll_value *inputs[] = {bench_real(bench, "scalar", 0, NULL),
                                 bench_indices(bench, 1, &half, elements)};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = inputs, .attr_count = 4, .attrs = attrs});
}

static struct ll_value *bench_state(struct ll_bench *bench, const char *name, unsigned rank,
                                    const uint64_t *dims);

/* Weights, what the optimizer remembers of them, the gradient. */
void ll_recipe_optimizer(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    static const char *const names[] = {"weight", "first moment", "second moment"};
    struct ll_attr attrs[] = {
        ll_attr_of_real(LL_ATTR_LEARNING_RATE, 1e-6), ll_attr_of_real(LL_ATTR_DECAY, 0.9),
        ll_attr_of_real(LL_ATTR_MOMENTUM, 0.9),       ll_attr_of_real(LL_ATTR_BETA1, 0.9),
        ll_attr_of_real(LL_ATTR_BETA2, 0.999),        ll_attr_of_real(LL_ATTR_EPSILON, 1e-3)};
    uint32_t states = kind == LL_OP_ADAM || kind == LL_OP_RMSPROP ? 3 : kind == LL_OP_MOMENTUM ? 2 : 1;
    struct ll_value *inputs[5];
    for (uint32_t i = 0; i < states; i++)
        inputs[i] = bench_state(bench, names[i], 1, &elements);
    inputs[states] = bench_real(bench, "gradient", 1, &elements);
    inputs[states + 1] = bench_real(bench, "powers", 1, (uint64_t[]){2});
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = states + 1 + (kind == LL_OP_ADAM),
                                             .inputs = inputs,
                                             .attr_count = sizeof attrs / sizeof *attrs,
                                             .attrs = attrs});
}

static struct ll_value *bench_counts(struct ll_bench *bench, uint64_t length, uint64_t number);

/* Four frames for each label, as many sequences as make the elements with 32 classes. */
void ll_recipe_ctc(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { CLASSES = 32, BATCH = 2 };
    uint64_t batch = BATCH, frames = ll_max(4, elements / (CLASSES * BATCH)), labels = frames / 4;
    struct ll_value *inputs[] = {
        bench_real(bench, "logits", 3, (uint64_t[]){frames, batch, CLASSES}),
        bench_indices(bench, 2, (uint64_t[]){batch, labels}, CLASSES - 1),
        bench_counts(bench, batch, labels),
        bench_counts(bench, batch, frames),
    };
    do_op(bench, kind, 4, inputs);
}

static struct ll_value *bench_rewritten(struct ll_bench *bench, struct ll_value *value);

/* GEMMs and convolutions. */

void ll_bench_gemm(struct ll_bench *bench, const struct ll_micro_gemm *p, bool handed)
{
    assert(p->m > 0 && p->n > 0 && p->k > 0);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_TRANSPOSE_A, p->transpose_a),
                              ll_attr_of_count(LL_ATTR_TRANSPOSE_B, p->transpose_b)};
    uint64_t a[] = {p->batch, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k};
    uint64_t b[] = {p->batch, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n};
    unsigned single = p->batch == 0;
    struct ll_value *inputs[] = {bench_noise(bench, "a", 3 - single, a + single),
                                 bench_noise(bench, "b", 3 - single, b + single)};
    for (int i = 0; i < 2 && handed; i++)
        inputs[i] = bench_rewritten(bench, inputs[i]);
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = single ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .attr_count = 2,
                                             .attrs = attrs});
}

void ll_bench_convolution(struct ll_bench *bench, enum ll_op_kind kind, const struct ll_micro_convolution *c)
{
    assert(c->in > 0 && c->out > 0 && c->kernel > 0);
    int64_t pad = (int64_t)(c->kernel - 1) / 2, stride = (int64_t)c->stride;
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_STRIDE_H, stride), ll_attr_of_count(LL_ATTR_STRIDE_W, stride),
        ll_attr_of_count(LL_ATTR_PAD_TOP, pad),     ll_attr_of_count(LL_ATTR_PAD_LEFT, pad),
        ll_attr_of_count(LL_ATTR_PAD_BOTTOM, pad),  ll_attr_of_count(LL_ATTR_PAD_RIGHT, pad)};
    uint64_t side = (c->side + 2 * (uint64_t)pad - c->kernel) / c->stride + 1;
    struct ll_value *x = bench_noise(bench, "image", 4, (uint64_t[]){c->batch, c->side, c->side, c->in});
    struct ll_value *w = bench_noise(bench, "filter", 4, (uint64_t[]){c->kernel, c->kernel, c->in, c->out});
    struct ll_value *y = bench_noise(bench, "dy", 4, (uint64_t[]){c->batch, side, side, c->out});
    struct ll_value *inputs[] = {kind == LL_OP_CONV2D_DATA ? y : x, kind == LL_OP_CONV2D_FILTER ? y : w};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 2,
                                             .inputs = inputs,
                                             .attr_count = 6,
                                             .attrs = attrs,
                                             .given_count = kind != LL_OP_CONV2D,
                                             .given = kind == LL_OP_CONV2D_DATA ? &x->shape : &w->shape});
}

static struct ll_value *find(const struct ll_bench *bench, const char *name, uint64_t turn,
                             const struct ll_shape *shape)
{
    for (uint64_t i = 0; i < bench->operand_count; i++) {
        const struct ll_recipe_operand *operand = &bench->operands[i];
        if (operand->turn == turn && strcmp(operand->name, name) == 0 &&
            memcmp(&operand->value->shape, shape, sizeof *shape) == 0)
            return operand->value;
    }
    return NULL;
}

static struct ll_value *keep(struct ll_bench *bench, const char *name, uint64_t turn, struct ll_value *value)
{
    if (!ll_grow(&bench->operands, &bench->operand_capacity, bench->operand_count + 1,
                 sizeof *bench->operands))
        ll_nn_fail(bench->nn, "memory ran out");
    else
        bench->operands[bench->operand_count++] = (struct ll_recipe_operand){name, turn, value};
    return value;
}

static struct ll_value *variable(struct ll_bench *bench, const char *name, unsigned rank,
                                 const uint64_t *dims, struct ll_init init)
{
    struct ll_shape shape = ll_nn_shape(bench->nn, rank, dims, NULL);
    struct ll_value *value = find(bench, name, bench->turn, &shape);
    if (value)
        return value;
    const char *whole = ll_format(&bench->nn->arena, "%s.%" PRIu64, name, bench->operand_count);
    if (!whole)
        ll_nn_fail(bench->nn, "memory ran out");
    return keep(bench, name, bench->turn,
                ll_nn_variable(bench->nn, whole ? whole : name, &shape, LL_WEIGHT, init));
}

/* A variable of real numbers of this shape, that of this name and of the bench's turn: all 0.75, so that
 * roots, logarithms and quotients are ordinary numbers, or uniform from -1 to 1. Dims may be NULL with rank
 * 0. */
static struct ll_value *bench_real(struct ll_bench *bench, const char *name, unsigned rank,
                                   const uint64_t *dims)
{
    return variable(bench, name, rank, dims, (struct ll_init){LL_INIT_CONSTANT, 0.75, NULL});
}

static struct ll_value *bench_noise(struct ll_bench *bench, const char *name, unsigned rank,
                                    const uint64_t *dims)
{
    return variable(bench, name, rank, dims, (struct ll_init){LL_INIT_UNIFORM, 1, NULL});
}

/* The scalar two, rank 0. */
static struct ll_value *bench_two(struct ll_bench *bench)
{
    return variable(bench, "two", 0, NULL, (struct ll_init){LL_INIT_CONSTANT, 2, NULL});
}

/* The same numbers in a new value of the same shape, just written by an op that is not measured, in the
 * scope "again". */
static struct ll_value *bench_rewritten(struct ll_bench *bench, struct ll_value *value)
{
    ll_nn_push(bench->nn, "again");
    struct ll_value *one = variable(bench, "one", 0, NULL, (struct ll_init){LL_INIT_CONSTANT, 1, NULL});
    struct ll_value *same = ll_nn_do2(bench->nn, LL_OP_MUL, value, one);
    ll_nn_pop(bench->nn);
    return same;
}

/* What ops in place have made of such a variable (ll_bench_real) so far. */
static struct ll_value *bench_state(struct ll_bench *bench, const char *name, unsigned rank,
                                    const uint64_t *dims)
{
    return bench_real(bench, name, rank, dims)->next;
}

/* Any two neighbours are far apart, and all numbers below the limit come. */
static void fill_indices(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0, count = ll_elements(shape); i < count; i++)
        ((int32_t *)data)[i] = (int32_t)(i * UINT64_C(2654435761) % feed->classes);
}

static void fill_counts(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)step;
    for (uint64_t i = 0, count = ll_elements(shape); i < count; i++)
        ((int32_t *)data)[i] = (int32_t)feed->classes;
}

/* What a feed with this number brings, under a name that says so. */
static struct ll_value *loaded(struct ll_bench *bench, const char *what, unsigned rank, const uint64_t *dims,
                               struct ll_feed feed)
{
    struct ll_shape shape = ll_nn_shape(bench->nn, rank, dims, NULL);
    shape.dtype = LL_I32;
    const char *name = ll_format(&bench->nn->arena, "%s %" PRIu64, what, feed.classes);
    struct ll_value *value = name ? find(bench, name, 0, &shape) : NULL;
    if (value)
        return value;
    struct ll_nn_call call = {.kind = LL_OP_HOST_INPUT, .given_count = 1, .given = &shape, .feed = feed};
    return keep(bench, name ? name : what, 0, ll_nn_do(bench->nn, &call));
}

/* Indices, i32, below `limit` in no order, loaded at the beginning of each step, the same in each. */
static struct ll_value *bench_indices(struct ll_bench *bench, unsigned rank, const uint64_t *dims,
                                      uint64_t limit)
{
    return loaded(bench, "below", rank, dims, (struct ll_feed){.fill = fill_indices, .classes = limit});
}

/* A list [length] of the same number, i32, loaded likewise. */
static struct ll_value *bench_counts(struct ll_bench *bench, uint64_t length, uint64_t number)
{
    return loaded(bench, "all", 1, &length, (struct ll_feed){.fill = fill_counts, .classes = number});
}

static struct ll_matrix_size bench_grid(uint64_t elements)
{
    uint64_t columns = elements >= 1 << 16 ? 256 : elements >= 1 << 12 ? 64 : 16;
    return (struct ll_matrix_size){{ll_max(1, elements / columns), columns}};
}

/* Ops on images, on rows picked by index, and ops that only move. */

/* Images of 64 channels, square and few; the smaller side is even, so that windows of two fit. */
struct image {
    uint64_t dim[4];
};

static struct image image_of(uint64_t elements)
{
    enum { CHANNELS = 64, MOST_SIDE = 56 };
    uint64_t side = 2;
    while (side < MOST_SIDE && (side + 2) * (side + 2) * CHANNELS <= elements)
        side += 2;
    uint64_t channels = elements < 4 * CHANNELS ? elements / 4 : CHANNELS;
    return (struct image){{ll_max(1, elements / (side * side * channels)), side, side, channels}};
}

static void do_with(struct ll_bench *bench, enum ll_op_kind kind, uint32_t count,
                    struct ll_value *const *inputs, uint32_t attr_count, const struct ll_attr *attrs)
{
    ll_nn_do(
        bench->nn,
        &(struct ll_nn_call){
            .kind = kind, .input_count = count, .inputs = inputs, .attr_count = attr_count, .attrs = attrs});
}

/* Windows of two by two, two apart. */
void ll_recipe_pool(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct image image = image_of(elements), pooled = image;
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_STRIDE_H, 2), ll_attr_of_count(LL_ATTR_STRIDE_W, 2),
                              ll_attr_of_count(LL_ATTR_KERNEL_H, 2), ll_attr_of_count(LL_ATTR_KERNEL_W, 2)};
    pooled.dim[1] /= 2;
    pooled.dim[2] /= 2;
    struct ll_value *x = bench_noise(bench, "image", 4, image.dim);
    struct ll_value *y = bench_noise(bench, "pooled", 4, pooled.dim);
    bool forward = kind == LL_OP_MAX_POOL || kind == LL_OP_AVG_POOL, average = kind == LL_OP_AVG_POOL_GRAD;
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = forward || average ? 1 : 3,
                                             .inputs = forward ? &x : (struct ll_value *[]){y, x, y},
                                             .attr_count = 4,
                                             .attrs = attrs,
                                             .given_count = average,
                                             .given = &x->shape});
}

void ll_recipe_lrn(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct image image = image_of(elements);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_RADIUS, 2), ll_attr_of_real(LL_ATTR_BIAS, 1),
                              ll_attr_of_real(LL_ATTR_ALPHA, 1e-4), ll_attr_of_real(LL_ATTR_BETA, 0.75)};
    struct ll_value *inputs[] = {bench_real(bench, "dy", 4, image.dim),
                                 bench_noise(bench, "image", 4, image.dim),
                                 bench_real(bench, "normed", 4, image.dim)};
    bool forward = kind == LL_OP_LRN;
    do_with(bench, kind, forward ? 1 : 3, inputs + forward, 4, attrs);
}

void ll_recipe_norm(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    static const char *const names[] = {"gamma", "beta", "mean", "variance"};
    struct image image = image_of(elements);
    struct ll_value *inputs[5];
    uint32_t count = 0, wanted = kind == LL_OP_BATCH_NORM ? 3 : 5;
    if (kind == LL_OP_BATCH_NORM_GRAD || kind == LL_OP_BATCH_NORM_FIXED_GRAD)
        inputs[count++] = bench_real(bench, "dy", 4, image.dim);
    inputs[count++] = bench_noise(bench, "image", 4, image.dim);
    for (uint32_t i = 0; count < wanted; i++)
        inputs[count++] = bench_real(bench, names[i], 1, &image.dim[3]);
    do_with(bench, kind, count, inputs, 0, NULL);
}

/* A table of rows, so many rows, and their numbers: eight times as many rows in the table as are picked. */
struct picked {
    struct ll_value *table, *rows, *indices;
};

static struct picked pick(struct ll_bench *bench, uint64_t elements)
{
    struct ll_matrix_size rows = bench_grid(elements), table = rows;
    table.dim[0] *= 8;
    return (struct picked){bench_state(bench, "table", 2, table.dim), bench_real(bench, "x", 2, rows.dim),
                           bench_indices(bench, 1, rows.dim, table.dim[0])};
}

void ll_recipe_gathered(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct picked picked = pick(bench, elements);
    ll_nn_do2(bench->nn, kind, picked.table, picked.indices);
}

void ll_recipe_rows_updated(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct picked picked = pick(bench, elements);
    struct ll_attr rate = ll_attr_of_real(LL_ATTR_LEARNING_RATE, 1e-6);
    do_with(bench, kind, 3, (struct ll_value *[]){picked.table, picked.rows, picked.indices}, 1, &rate);
}

/* So many rows are added up in a table of so many, each where its index says. */
static void sum_segments(struct ll_bench *bench, enum ll_op_kind kind, uint64_t count,
                         const uint64_t table[2])
{
    struct ll_shape shape = ll_nn_shape(bench->nn, 2, table, NULL);
    struct ll_value *inputs[] = {bench_real(bench, "rows", 2, (uint64_t[]){count, table[1]}),
                                 bench_indices(bench, 1, &count, table[0])};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = inputs, .given_count = 1, .given = &shape});
}

/* A quarter of the elements come as rows, the rest are the table that they are added up in. */
void ll_recipe_segments(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size table = bench_grid(elements);
    sum_segments(bench, kind, ll_max(1, table.dim[0] / 4), table.dim);
}

/* A small vocabulary in short rows, asked for often, as in models of stories; and its gradient. */
enum { WORDS = 64, WORD = 24 };
static const uint64_t vocabulary[] = {WORDS, WORD};

void ll_recipe_words_gathered(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = ll_max(1, elements / WORD);
    ll_nn_do2(bench->nn, kind, bench_real(bench, "words", 2, vocabulary),
              bench_indices(bench, 1, &count, WORDS));
}

void ll_recipe_words_summed(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    sum_segments(bench, kind, ll_max(1, elements / WORD), vocabulary);
}

void ll_recipe_one_hot(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_attr depth = ll_attr_of_count(LL_ATTR_DEPTH, (int64_t)grid.dim[1]);
    struct ll_shape shape = ll_nn_shape(bench->nn, 2, grid.dim, NULL);
    struct ll_value *indices = bench_indices(bench, 1, grid.dim, grid.dim[1]);
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind,
                                             .input_count = 1,
                                             .inputs = &indices,
                                             .attr_count = 1,
                                             .attrs = &depth,
                                             .given_count = 1,
                                             .given = &shape});
}

static void transpose(struct ll_bench *bench, enum ll_op_kind kind, unsigned rank, const uint64_t *dims,
                      int64_t permutation)
{
    struct ll_attr attr = ll_attr_of_count(LL_ATTR_PERMUTATION, permutation);
    struct ll_value *x = bench_real(bench, "box", rank, dims);
    do_with(bench, kind, 1, &x, 1, &attr);
}

void ll_recipe_turned(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    transpose(bench, kind, 2, bench_grid(elements).dim, 10);
}

/* Stacks of four lines change places with lines. */
void ll_recipe_lines_swapped(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    transpose(bench, kind, 3, (uint64_t[]){4, ll_max(1, grid.dim[0] / 4), grid.dim[1]}, 102);
}

/* Along lines, so that every piece is one. */
void ll_recipe_joined(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size half = bench_grid(elements / 2);
    struct ll_attr axis = ll_attr_of_count(LL_ATTR_AXIS, 1);
    struct ll_value *inputs[] = {bench_real(bench, "x", 2, half.dim), bench_real(bench, "y", 2, half.dim)};
    do_with(bench, kind, 2, inputs, 1, &axis);
}

void ll_recipe_parted(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_PARTS, 4)};
    struct ll_value *x = bench_real(bench, "x", 2, bench_grid(elements).dim);
    do_with(bench, kind, 1, &x, 2, attrs);
}

/* The op moves so many elements out of twice as many. */
void ll_recipe_sliced(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    uint64_t size = grid.dim[1] / 2;
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_BEGIN, 1),
                              ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size)};
    struct ll_value *x = bench_real(bench, "x", 2, grid.dim);
    do_with(bench, kind, 1, &x, 3, attrs);
}

void ll_recipe_padded(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1),
                              ll_attr_of_count(LL_ATTR_BEFORE, (int64_t)grid.dim[1] / 2),
                              ll_attr_of_count(LL_ATTR_AFTER, (int64_t)grid.dim[1] / 2)};
    struct ll_value *x = bench_real(bench, "x", 2, grid.dim);
    do_with(bench, kind, 1, &x, 3, attrs);
}

void ll_recipe_unstacked(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size layer = bench_grid(elements / 4);
    struct ll_shape given[4];
    struct ll_value *x = bench_real(bench, "layers", 3, (uint64_t[]){4, layer.dim[0], layer.dim[1]});
    for (unsigned i = 0; i < 4; i++)
        given[i] = ll_nn_shape(bench->nn, 2, layer.dim, NULL);
    ll_nn_do(bench->nn, &(struct ll_nn_call){
                            .kind = kind, .input_count = 1, .inputs = &x, .given_count = 4, .given = given});
}

void ll_recipe_assigned(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    ll_nn_do2(bench->nn, kind, bench_state(bench, "target", 1, &elements),
              bench_real(bench, "gradient", 1, &elements));
}

/* A list in place of a matrix: the same numbers, which nobody moves. */
void ll_recipe_seen_as(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_value *x = bench_real(bench, "x", 2, grid.dim);
    struct ll_shape list = {.rank = 1, .dim = {grid.dim[0] * grid.dim[1]}, .dtype = LL_F32};
    ll_nn_do(bench->nn, &(struct ll_nn_call){
                            .kind = kind, .input_count = 1, .inputs = &x, .given_count = 1, .given = &list});
}

/* What detectors do beside convolving. */

/* So many boxes of four numbers. */
static uint64_t boxes_of(uint64_t elements)
{
    return ll_max(2, elements / 4);
}

static struct ll_value *some_boxes(struct ll_bench *bench, uint64_t count)
{
    return bench_noise(bench, "boxes", 3, (uint64_t[]){1, count, 4});
}

/* Images of 64 channels, twice as high and wide as before or half. */
void ll_recipe_enlarged(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t side = 2;
    while (side < 28 && 4 * (side + 2) * (side + 2) * 64 <= elements)
        side += 2;
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_KERNEL_H, 2),
                                    ll_attr_of_count(LL_ATTR_KERNEL_W, 2)};
    side = kind == LL_OP_UPSAMPLE_GRAD ? 2 * side : side;
    uint64_t batch = ll_max(1, elements / (4 * side * side * 64));
    struct ll_value *x = bench_noise(bench, "image", 4, (uint64_t[]){batch, side, side, 64});
    do_with(bench, kind, 1, &x, 2, attrs);
}

/* Regions of 7 by 7 bins and 64 channels, from images of 14 by 14. */
void ll_recipe_regions(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { SIZE = 7, SIDE = 14, RECIPES_DETECT_CHANNELS = 64 };
    uint64_t count = ll_max(1, elements / (SIZE * SIZE * RECIPES_DETECT_CHANNELS));
    uint64_t pooled[] = {count, SIZE, SIZE, RECIPES_DETECT_CHANNELS};
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, SIZE), ll_attr_of_real(LL_ATTR_SCALE, 4)};
    struct ll_value *x = bench_noise(bench, "image", 4, (uint64_t[]){1, SIDE, SIDE, RECIPES_DETECT_CHANNELS});
    struct ll_value *forward[] = {x, some_boxes(bench, count)};
    if (kind == LL_OP_ROI_POOL) {
        do_with(bench, kind, 2, forward, 2, attrs);
        return;
    }
    struct ll_value *backward[] = {bench_noise(bench, "pooled", 4, pooled),
                                   bench_indices(bench, 4, pooled, SIDE * SIDE)};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = backward, .given_count = 1, .given = &x->shape});
}

void ll_recipe_decoded(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = boxes_of(elements);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_HEIGHT, 10),
                                    ll_attr_of_count(LL_ATTR_WIDTH, 10)};
    struct ll_value *inputs[] = {bench_noise(bench, "anchors", 2, (uint64_t[]){count, 4}),
                                 some_boxes(bench, count)};
    do_with(bench, kind, 2, inputs, 2, attrs);
}

/* At most 128 are kept. */
void ll_recipe_suppressed(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, 128),
                                    ll_attr_of_real(LL_ATTR_OVERLAP, 0.7)};
    struct ll_value *boxes = some_boxes(bench, boxes_of(elements));
    do_with(bench, kind, 1, &boxes, 2, attrs);
}

/* Half of them, eight truths, two classes. */
void ll_recipe_boxes_sampled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = boxes_of(elements);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)(count / 2)),
                                    ll_attr_of_count(LL_ATTR_CLASSES, 3)};
    struct ll_value *inputs[] = {some_boxes(bench, count),
                                 bench_real(bench, "truth", 3, (uint64_t[]){1, 8, 5}),
                                 bench_real(bench, "scalar", 0, NULL)};
    do_with(bench, kind, 3, inputs, 2, attrs);
}

/* What networks do that write one word after the other. */

/* Square scores, as many as there is room for. */
void ll_recipe_causal(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t side = ll_min(256, (uint64_t)sqrt((double)elements));
    ll_nn_do1(bench->nn, kind,
              bench_real(bench, "scores", 3, (uint64_t[]){elements / (side * side), side, side}));
}

/* A fourth of it is overwritten. */
void ll_recipe_put(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_value *inputs[] = {
        bench_state(bench, "target", 2, grid.dim),
        bench_real(bench, "part", 2, (uint64_t[]){grid.dim[0], ll_max(1, grid.dim[1] / 4)})};
    struct ll_attr axis = ll_attr_of_count(LL_ATTR_AXIS, 1);
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = inputs, .attr_count = 1, .attrs = &axis});
}

void ll_recipe_gated(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = bench_grid(elements);
    struct ll_value *inputs[] = {bench_real(bench, "x", 2, grid.dim), bench_real(bench, "y", 2, grid.dim),
                                 bench_real(bench, "z", 2, grid.dim)};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind, .input_count = 3, .inputs = inputs});
}

/* Eight heads a position. */
void ll_recipe_rotated(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { HEADS = 8 };
    uint64_t features = elements < 4096 ? 2 : 64;
    ll_nn_do1(bench->nn, kind,
              bench_real(bench, "heads", 3, (uint64_t[]){elements / (HEADS * features), HEADS, features}));
}

/* Two choices of a token among eight experts, who have places for all if they choose evenly. */
void ll_recipe_routed(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { EXPERTS = 8, CHOICES = 2 };
    uint64_t tokens = elements / CHOICES;
    struct ll_value *choices = bench_indices(bench, 2, (uint64_t[]){tokens, CHOICES}, EXPERTS);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_CLASSES, EXPERTS),
                              ll_attr_of_count(LL_ATTR_SIZE, (int64_t)ll_ceil_div(elements, EXPERTS))};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 1, .inputs = &choices, .attr_count = 2, .attrs = attrs});
}

/* Heads of 64 features, as many words of 64 as there are elements for. */
static struct ll_value *head(struct ll_bench *bench, const char *name, uint64_t elements)
{
    enum { RECIPES_DECODER_WORDS = 64 };
    uint64_t features = elements < 4096 ? 1 : 64;
    return bench_real(
        bench, name, 3,
        (uint64_t[]){elements / (RECIPES_DECODER_WORDS * features), RECIPES_DECODER_WORDS, features});
}

void ll_recipe_attended(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *inputs[] = {head(bench, "q", elements), head(bench, "k", elements),
                                 head(bench, "v", elements)};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind, .input_count = 3, .inputs = inputs});
}

void ll_recipe_attended_back(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_value *y = head(bench, "y", elements);
    struct ll_value *sums = bench_real(bench, "sums", 2, y->shape.dim);
    struct ll_value *inputs[] = {head(bench, "dy", elements),
                                 head(bench, "q", elements),
                                 head(bench, "k", elements),
                                 head(bench, "v", elements),
                                 y,
                                 sums};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind, .input_count = 6, .inputs = inputs});
}

/* A token of each sequence, in four heads, to the vectors of up to 64, most of which are values. */
void ll_recipe_latent(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { HEADS = 4, TOKENS = 64 };
    const uint64_t width = elements < 64 * TOKENS ? 4 : 64, tokens = ll_min(TOKENS, elements / width),
                   batch = elements / (tokens * width);
    const struct ll_attr size = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)(width / 4 * 3));
    struct ll_value *inputs[] = {bench_real(bench, "q", 4, (uint64_t[]){batch, HEADS, 1, width}),
                                 bench_real(bench, "vectors", 3, (uint64_t[]){batch, tokens, width})};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = inputs, .attr_count = 1, .attrs = &size});
}

/* Of a few sequences with four heads of 16 x 16, whose keys two heads share; what flows back first. */
static void scanned(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements, bool back)
{
    enum { BATCH = 2, HEADS = 4, KEYS = 2, SIZE = 16 };
    const uint64_t rows = BATCH * ll_max(1, elements / (BATCH * HEADS * SIZE));
    struct ll_value *inputs[] = {bench_real(bench, "dy", 2, (uint64_t[]){rows, HEADS * SIZE}),
                                 bench_real(bench, "state", 4, (uint64_t[]){BATCH, HEADS, SIZE, SIZE}),
                                 bench_real(bench, "keys", 2, (uint64_t[]){rows, KEYS * SIZE}),
                                 bench_real(bench, "queries", 2, (uint64_t[]){rows, KEYS * SIZE}),
                                 bench_real(bench, "values", 2, (uint64_t[]){rows, HEADS * SIZE}),
                                 bench_real(bench, "gates", 2, (uint64_t[]){rows, HEADS})};
    do_op(bench, kind, back ? 6 : 5, inputs + !back);
}

void ll_recipe_scan(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    scanned(bench, kind, elements, false);
}

void ll_recipe_scan_back(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    scanned(bench, kind, elements, true);
}

/* Four taps of 64 channels. */
void ll_recipe_taps(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { BATCH = 2, TAPS = 4, CHANNELS = 64 };
    const bool back = kind == LL_OP_CAUSAL_CONV_GRAD;
    const uint64_t rows = BATCH * ll_max(1, elements / (BATCH * CHANNELS));
    struct ll_value *inputs[] = {bench_real(bench, "dy", 2, (uint64_t[]){rows, CHANNELS}),
                                 bench_real(bench, "state", 3, (uint64_t[]){BATCH, TAPS - 1, CHANNELS}),
                                 bench_real(bench, "x", 2, (uint64_t[]){rows, CHANNELS}),
                                 bench_real(bench, "filter", 2, (uint64_t[]){TAPS, CHANNELS})};
    do_op(bench, kind, back ? 4 : 3, inputs + !back);
}
