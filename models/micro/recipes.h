/* SPDX-License-Identifier: Apache-2.0 */
/* How to make one op of a kind: which inputs it takes, at what size.
 *
 * A bench is a network under construction. Its operands are shared: asked for again in the same shape, an
 * operand is the same value, so a whole list of ops needs little more memory than its largest op. A bench
 * starts with its network and else {0}; values are the network's, the list of operands is freed by whoever
 * has the bench. One thread at a time; trouble is the network's. */
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

/* Adds one op of the kind that works on about so many elements, at least 64, of its largest operand: a
 * recipe rounds to what its shapes allow, and may add ops of other kinds before it that prepare. */
typedef void ll_recipe(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements);

#define LL_MICRO(kind, recipe, most) ll_recipe ll_recipe_##recipe;
#include "models/micro/micro.def"
#undef LL_MICRO

/* A variable of real numbers of this shape, that of this name and of the bench's turn: all 0.75, so that
 * roots, logarithms and quotients are ordinary numbers, or uniform from -1 to 1. Dims may be NULL with rank
 * 0. */
struct ll_value *ll_bench_real(struct ll_bench *bench, const char *name, unsigned rank, const uint64_t *dims);
struct ll_value *ll_bench_noise(struct ll_bench *bench, const char *name, unsigned rank,
                                const uint64_t *dims);

/* The scalar two, rank 0. */
struct ll_value *ll_bench_two(struct ll_bench *bench);

/* The same numbers in a new value of the same shape, just written by an op that is not measured, in the
 * scope "again". */
struct ll_value *ll_bench_rewritten(struct ll_bench *bench, struct ll_value *value);

/* What ops in place have made of such a variable (ll_bench_real) so far. */
struct ll_value *ll_bench_state(struct ll_bench *bench, const char *name, unsigned rank,
                                const uint64_t *dims);

/* Indices, i32, below `limit` in no order, loaded at the beginning of each step, the same in each. */
struct ll_value *ll_bench_indices(struct ll_bench *bench, unsigned rank, const uint64_t *dims,
                                  uint64_t limit);

/* A list [length] of the same number, i32, loaded likewise. */
struct ll_value *ll_bench_counts(struct ll_bench *bench, uint64_t length, uint64_t number);

/* Rows of a matrix with about so many elements, and its columns, 16, 64 or 256: long lines, but several of
 * them. Pure. */
struct ll_matrix_size {
    uint64_t dim[2];
};
struct ll_matrix_size ll_bench_grid(uint64_t elements);

#endif
