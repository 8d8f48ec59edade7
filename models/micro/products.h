/* SPDX-License-Identifier: Apache-2.0 */
/* How to make products and convolutions, by their shapes (products.def, convolutions.def). */
#ifndef LL_MICRO_PRODUCTS_H
#define LL_MICRO_PRODUCTS_H

#include "models/micro/recipes.h"

/* C[m,n] = op(A) op(B), `batch` of them; batch 0 is one matmul. */
struct ll_micro_product {
    uint64_t batch, m, n, k;
    bool transpose_a, transpose_b;
};
/* handed: of operands that were just written. */
void ll_bench_product(struct ll_bench *bench, const struct ll_micro_product *product, bool handed);

/* Square images and kernels, padded by half a kernel. */
struct ll_micro_convolution {
    uint64_t batch, side, in, out, kernel, stride;
};

/* Kind: the convolution or one of its gradients. */
void ll_bench_convolution(struct ll_bench *bench, enum ll_op_kind kind,
                          const struct ll_micro_convolution *convolution);

#endif
