/* SPDX-License-Identifier: Apache-2.0 */
/* What networks do that write one word after the other. */
#include "models/micro/recipes.h"

#include <math.h>

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
    enum { WORDS = 64 };
    uint64_t features = elements < 4096 ? 1 : 64;
    return ll_bench_real(bench, name, 3, (uint64_t[]){elements / (WORDS * features), WORDS, features});
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
