/* SPDX-License-Identifier: Apache-2.0 */
/* How to make one op of a kind: which inputs it takes, at what size.
 *
 * A bench is a network under construction. Its operands are shared: asked for again in the same shape, an
 * operand is the same value, so a whole list of ops needs little more memory than its largest op. A bench
 * starts with its network and else {0}; values are the network's, the list of operands is freed by whoever
 * has the bench. One thread at a time; trouble is the network's. */
#ifndef LL_MODELS_MICRO_RECIPES_H
#define LL_MODELS_MICRO_RECIPES_H

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

/* Rows of a matrix with about so many elements, and its columns, 16, 64 or 256: long lines, but several of
 * them. Pure. */
struct ll_matrix_size {
    uint64_t dim[2];
};

/* How to make GEMMs and convolutions, by their shapes (products.def, convolutions.def). */

/* C[m,n] = op(A) op(B), `batch` of them; batch 0 is one matmul. */
struct ll_micro_gemm {
    uint64_t batch, m, n, k;
    bool transpose_a, transpose_b;
};
/* handed: of operands that were just written. */
void ll_bench_gemm(struct ll_bench *bench, const struct ll_micro_gemm *product, bool handed);

/* Square images and kernels, padded by half a kernel. */
struct ll_micro_convolution {
    uint64_t batch, side, in, out, kernel, stride;
};

/* Kind: the convolution or one of its gradients. */
void ll_bench_convolution(struct ll_bench *bench, enum ll_op_kind kind,
                          const struct ll_micro_convolution *convolution);

#endif
