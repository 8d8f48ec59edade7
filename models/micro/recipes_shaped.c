/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on images, on rows picked by index, and ops that only move. */
#include <math.h>

#include "models/micro/recipes.h"

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
    struct ll_value *x = ll_bench_noise(bench, "image", 4, image.dim);
    struct ll_value *y = ll_bench_noise(bench, "pooled", 4, pooled.dim);
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
    struct ll_value *inputs[] = {ll_bench_real(bench, "dy", 4, image.dim),
                                 ll_bench_noise(bench, "image", 4, image.dim),
                                 ll_bench_real(bench, "normed", 4, image.dim)};
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
        inputs[count++] = ll_bench_real(bench, "dy", 4, image.dim);
    inputs[count++] = ll_bench_noise(bench, "image", 4, image.dim);
    for (uint32_t i = 0; count < wanted; i++)
        inputs[count++] = ll_bench_real(bench, names[i], 1, &image.dim[3]);
    do_with(bench, kind, count, inputs, 0, NULL);
}

/* A table of rows, so many rows, and their numbers: eight times as many rows in the table as are picked. */
struct picked {
    struct ll_value *table, *rows, *indices;
};

static struct picked pick(struct ll_bench *bench, uint64_t elements)
{
    struct ll_matrix_size rows = ll_bench_grid(elements), table = rows;
    table.dim[0] *= 8;
    return (struct picked){ll_bench_state(bench, "table", 2, table.dim),
                           ll_bench_real(bench, "x", 2, rows.dim),
                           ll_bench_indices(bench, 1, rows.dim, table.dim[0])};
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
    struct ll_value *inputs[] = {ll_bench_real(bench, "rows", 2, (uint64_t[]){count, table[1]}),
                                 ll_bench_indices(bench, 1, &count, table[0])};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = inputs, .given_count = 1, .given = &shape});
}

/* A quarter of the elements come as rows, the rest are the table that they are added up in. */
void ll_recipe_segments(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size table = ll_bench_grid(elements);
    sum_segments(bench, kind, ll_max(1, table.dim[0] / 4), table.dim);
}

/* A small vocabulary in short rows, asked for often, as in models of stories; and its gradient. */
enum { WORDS = 64, WORD = 24 };
static const uint64_t vocabulary[] = {WORDS, WORD};

void ll_recipe_words_gathered(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = ll_max(1, elements / WORD);
    ll_nn_do2(bench->nn, kind, ll_bench_real(bench, "words", 2, vocabulary),
              ll_bench_indices(bench, 1, &count, WORDS));
}

void ll_recipe_words_summed(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    sum_segments(bench, kind, ll_max(1, elements / WORD), vocabulary);
}

void ll_recipe_one_hot(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    struct ll_attr depth = ll_attr_of_count(LL_ATTR_DEPTH, (int64_t)grid.dim[1]);
    struct ll_shape shape = ll_nn_shape(bench->nn, 2, grid.dim, NULL);
    struct ll_value *indices = ll_bench_indices(bench, 1, grid.dim, grid.dim[1]);
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
    struct ll_value *x = ll_bench_real(bench, "box", rank, dims);
    do_with(bench, kind, 1, &x, 1, &attr);
}

void ll_recipe_turned(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    transpose(bench, kind, 2, ll_bench_grid(elements).dim, 10);
}

/* Stacks of four lines change places with lines. */
void ll_recipe_lines_swapped(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    transpose(bench, kind, 3, (uint64_t[]){4, ll_max(1, grid.dim[0] / 4), grid.dim[1]}, 102);
}

/* Along lines, so that every piece is one. */
void ll_recipe_joined(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size half = ll_bench_grid(elements / 2);
    struct ll_attr axis = ll_attr_of_count(LL_ATTR_AXIS, 1);
    struct ll_value *inputs[] = {ll_bench_real(bench, "x", 2, half.dim),
                                 ll_bench_real(bench, "y", 2, half.dim)};
    do_with(bench, kind, 2, inputs, 1, &axis);
}

void ll_recipe_parted(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_PARTS, 4)};
    struct ll_value *x = ll_bench_real(bench, "x", 2, ll_bench_grid(elements).dim);
    do_with(bench, kind, 1, &x, 2, attrs);
}

/* The op moves so many elements out of twice as many. */
void ll_recipe_sliced(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    uint64_t size = grid.dim[1] / 2;
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_BEGIN, 1),
                              ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size)};
    struct ll_value *x = ll_bench_real(bench, "x", 2, grid.dim);
    do_with(bench, kind, 1, &x, 3, attrs);
}

void ll_recipe_padded(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1),
                              ll_attr_of_count(LL_ATTR_BEFORE, (int64_t)grid.dim[1] / 2),
                              ll_attr_of_count(LL_ATTR_AFTER, (int64_t)grid.dim[1] / 2)};
    struct ll_value *x = ll_bench_real(bench, "x", 2, grid.dim);
    do_with(bench, kind, 1, &x, 3, attrs);
}

void ll_recipe_unstacked(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size layer = ll_bench_grid(elements / 4);
    struct ll_shape given[4];
    struct ll_value *x = ll_bench_real(bench, "layers", 3, (uint64_t[]){4, layer.dim[0], layer.dim[1]});
    for (unsigned i = 0; i < 4; i++)
        given[i] = ll_nn_shape(bench->nn, 2, layer.dim, NULL);
    ll_nn_do(bench->nn, &(struct ll_nn_call){
                            .kind = kind, .input_count = 1, .inputs = &x, .given_count = 4, .given = given});
}

void ll_recipe_assigned(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    ll_nn_do2(bench->nn, kind, ll_bench_state(bench, "target", 1, &elements),
              ll_bench_real(bench, "gradient", 1, &elements));
}

/* A list in place of a matrix: the same numbers, which nobody moves. */
void ll_recipe_seen_as(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    struct ll_value *x = ll_bench_real(bench, "x", 2, grid.dim);
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
    return ll_bench_noise(bench, "boxes", 3, (uint64_t[]){1, count, 4});
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
    struct ll_value *x = ll_bench_noise(bench, "image", 4, (uint64_t[]){batch, side, side, 64});
    do_with(bench, kind, 1, &x, 2, attrs);
}

/* Regions of 7 by 7 bins and 64 channels, from images of 14 by 14. */
void ll_recipe_regions(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { SIZE = 7, SIDE = 14, RECIPES_DETECT_CHANNELS = 64 };
    uint64_t count = ll_max(1, elements / (SIZE * SIZE * RECIPES_DETECT_CHANNELS));
    uint64_t pooled[] = {count, SIZE, SIZE, RECIPES_DETECT_CHANNELS};
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, SIZE), ll_attr_of_real(LL_ATTR_SCALE, 4)};
    struct ll_value *x =
        ll_bench_noise(bench, "image", 4, (uint64_t[]){1, SIDE, SIDE, RECIPES_DETECT_CHANNELS});
    struct ll_value *forward[] = {x, some_boxes(bench, count)};
    if (kind == LL_OP_ROI_POOL) {
        do_with(bench, kind, 2, forward, 2, attrs);
        return;
    }
    struct ll_value *backward[] = {ll_bench_noise(bench, "pooled", 4, pooled),
                                   ll_bench_indices(bench, 4, pooled, SIDE * SIDE)};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = backward, .given_count = 1, .given = &x->shape});
}

void ll_recipe_decoded(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = boxes_of(elements);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_HEIGHT, 10),
                                    ll_attr_of_count(LL_ATTR_WIDTH, 10)};
    struct ll_value *inputs[] = {ll_bench_noise(bench, "anchors", 2, (uint64_t[]){count, 4}),
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
                                 ll_bench_real(bench, "truth", 3, (uint64_t[]){1, 8, 5}),
                                 ll_bench_real(bench, "scalar", 0, NULL)};
    do_with(bench, kind, 3, inputs, 2, attrs);
}

/* What networks do that write one word after the other. */

/* Square scores, as many as there is room for. */
void ll_recipe_causal(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t side = ll_min(256, (uint64_t)sqrt((double)elements));
    ll_nn_do1(bench->nn, kind,
              ll_bench_real(bench, "scores", 3, (uint64_t[]){elements / (side * side), side, side}));
}

/* A fourth of it is overwritten. */
void ll_recipe_put(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    struct ll_value *inputs[] = {
        ll_bench_state(bench, "target", 2, grid.dim),
        ll_bench_real(bench, "part", 2, (uint64_t[]){grid.dim[0], ll_max(1, grid.dim[1] / 4)})};
    struct ll_attr axis = ll_attr_of_count(LL_ATTR_AXIS, 1);
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = inputs, .attr_count = 1, .attrs = &axis});
}

void ll_recipe_gated(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    struct ll_matrix_size grid = ll_bench_grid(elements);
    struct ll_value *inputs[] = {ll_bench_real(bench, "x", 2, grid.dim),
                                 ll_bench_real(bench, "y", 2, grid.dim),
                                 ll_bench_real(bench, "z", 2, grid.dim)};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind, .input_count = 3, .inputs = inputs});
}

/* Eight heads a position. */
void ll_recipe_rotated(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { HEADS = 8 };
    uint64_t features = elements < 4096 ? 2 : 64;
    ll_nn_do1(bench->nn, kind,
              ll_bench_real(bench, "heads", 3, (uint64_t[]){elements / (HEADS * features), HEADS, features}));
}

/* Two choices of a token among eight experts, who have places for all if they choose evenly. */
void ll_recipe_routed(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { EXPERTS = 8, CHOICES = 2 };
    uint64_t tokens = elements / CHOICES;
    struct ll_value *choices = ll_bench_indices(bench, 2, (uint64_t[]){tokens, CHOICES}, EXPERTS);
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
    return ll_bench_real(
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
    struct ll_value *sums = ll_bench_real(bench, "sums", 2, y->shape.dim);
    struct ll_value *inputs[] = {head(bench, "dy", elements),
                                 head(bench, "q", elements),
                                 head(bench, "k", elements),
                                 head(bench, "v", elements),
                                 y,
                                 sums};
    ll_nn_do(bench->nn, &(struct ll_nn_call){.kind = kind, .input_count = 6, .inputs = inputs});
}
