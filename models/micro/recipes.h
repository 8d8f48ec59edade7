/* SPDX-License-Identifier: Apache-2.0 */
/* How to make one op of a kind: which inputs it takes, at what size.
 *
 * A bench is a network under construction. Its operands are shared: asked for again in the same shape, an
 * operand is the same value, so a whole list of ops needs little more memory than its largest op. One thread
 * at a time; trouble is the network's. */
#ifndef LL_MICRO_RECIPES_H
#define LL_MICRO_RECIPES_H

#include "models/nn/nn.h"

struct ll_recipe_operand {
    const char *name;
    uint64_t turn;
    struct ll_value *value;
};

struct ll_bench {
    struct ll_nn *nn;
    struct ll_recipe_operand *operands; /* made so far */
    uint64_t operand_count, operand_capacity;
    uint64_t turn; /* variables of another turn are others */
};

/* Adds one op of the kind that works on about so many elements; there are 64 at least. */
typedef void ll_recipe(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements);

#define LL_MICRO(kind, recipe, most) ll_recipe ll_recipe_##recipe;
#include "models/micro/micro.def"
#undef LL_MICRO

/* A variable of real numbers of this shape, from 0.5 on or all over the place: the one of this name. */
struct ll_value *ll_bench_real(struct ll_bench *bench, const char *name, unsigned rank, const uint64_t *dims);
struct ll_value *ll_bench_noise(struct ll_bench *bench, const char *name, unsigned rank,
                                const uint64_t *dims);

/* The scalar two. */
struct ll_value *ll_bench_two(struct ll_bench *bench);

/* The same numbers, just written by an op that is not measured. */
struct ll_value *ll_bench_rewritten(struct ll_bench *bench, struct ll_value *value);

/* What ops in place have made of such a variable so far. */
struct ll_value *ll_bench_state(struct ll_bench *bench, const char *name, unsigned rank,
                                const uint64_t *dims);

/* Indices below `limit` in no order, loaded at the beginning of each step. */
struct ll_value *ll_bench_indices(struct ll_bench *bench, unsigned rank, const uint64_t *dims,
                                  uint64_t limit);

/* A list of the same number, loaded likewise. */
struct ll_value *ll_bench_counts(struct ll_bench *bench, uint64_t length, uint64_t number);

/* Rows of a matrix with about so many elements, and its columns: long lines, but several of them. */
struct ll_matrix_size {
    uint64_t dim[2];
};
struct ll_matrix_size ll_bench_grid(uint64_t elements);

#endif
