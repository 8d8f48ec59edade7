/* SPDX-License-Identifier: Apache-2.0 */
/* Operation counts of LAPACK's building blocks, of which the FLOP rules of its drivers are made. Private to
 * tracer/ir/ops_*.c; pure. Matrices have m rows and n columns, r is the number of right-hand sides; sizes
 * past 64 bits are LL_NO_FIT. */
#ifndef LL_TRACER_IR_OPS_LAPACK_H
#define LL_TRACER_IR_OPS_LAPACK_H

#include "tracer/ir/ops_rules.h"

struct ll_counted {
    uint64_t multiplications, additions;
};

/* FLOPs: of complex numbers six for a multiplication and two for an addition. */
uint64_t ll_weigh(const struct ll_op_view *op, struct ll_counted counted);

/* One after the other. */
struct ll_counted ll_both(struct ll_counted a, struct ll_counted b);

/* As many multiplications as additions, sixths / 6 of them together. */
struct ll_counted ll_halves(uint64_t sixths);

/* a b c; and (more - less) / 6, nothing where a formula made for large matrices falls below. */
uint64_t ll_mul3(uint64_t a, uint64_t b, uint64_t c);

/* The order of a square matrix, also of one that is stored packed, as its triangle alone. */
uint64_t ll_order(const struct ll_op_view *op, uint32_t input);

/* Factorizations and reductions, named as LAPACK names them (LAPACK Working Note 41, appendix C). */
struct ll_counted ll_counted_potrf(uint64_t n);
struct ll_counted ll_counted_geqrf(uint64_t m, uint64_t n);
struct ll_counted ll_counted_ormqr(uint64_t q, uint64_t p, uint64_t k);
struct ll_counted ll_counted_sytrd(uint64_t n);
struct ll_counted ll_counted_gebrd(uint64_t m, uint64_t n);

/* Cholesky of a band matrix with k diagonals beside the main one. */
struct ll_counted ll_counted_pbtrf(uint64_t n, uint64_t k);

#endif
