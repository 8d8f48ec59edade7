/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder knows of foreign routines: families of routines, what they take, and under which names
 * libraries export them. The tables are generated from routines.def and symbols.def; all data is constant. */
#ifndef LL_INTERPOSE_ROUTINES_H
#define LL_INTERPOSE_ROUTINES_H

#include "tracer/interpose/call.h"

/* The words in which routines give their numbers. Transpositions are 0 or 1 (2: conjugated as well), sides 0
 * for left, triangles 0 for upper, diagonals 1 for one of ones; alpha and beta are enum ll_ring_scalar
 * (ring.h): 0 where they are zero; jobs are LAPACK's letters. */
#define LL_NUMBER_LIST(X)                                                                                    \
    X(transa)                                                                                                \
    X(transb)                                                                                                \
    X(side)                                                                                                  \
    X(uplo)                                                                                                  \
    X(diag)                                                                                                  \
    X(m)                                                                                                     \
    X(n)                                                                                                     \
    X(k)                                                                                                     \
    X(p)                                                                                                     \
    X(kl)                                                                                                    \
    X(ku)                                                                                                    \
    X(nrhs)                                                                                                  \
    X(alpha)                                                                                                 \
    X(beta)                                                                                                  \
    X(incx)                                                                                                  \
    X(incy)                                                                                                  \
    X(batch)                                                                                                 \
    X(jobu)                                                                                                  \
    X(jobv)                                                                                                  \
    X(ilo)                                                                                                   \
    X(ihi)                                                                                                   \
    LL_PRIMITIVE_NUMBERS(X)

/* What every primitive of oneDNN gives, in this order; 0 where it has no such thing. Spatial dimensions are
 * depth, height and width; a dilation of 1 is none; paddings before the first and behind the last element.
 * The algorithm is that of version 2, whatever the version; the parameter a normalisation's flags (1:
 * statistics are given) or the extent of a local one. */
#define LL_PRIMITIVE_NUMBERS(X)                                                                              \
    X(algorithm)                                                                                             \
    X(post_ops)                                                                                              \
    X(parameter)                                                                                             \
    X(groups)                                                                                                \
    X(stride_d)                                                                                              \
    X(stride_h)                                                                                              \
    X(stride_w)                                                                                              \
    X(dilation_d)                                                                                            \
    X(dilation_h)                                                                                            \
    X(dilation_w)                                                                                            \
    X(before_d)                                                                                              \
    X(before_h)                                                                                              \
    X(before_w)                                                                                              \
    X(behind_d)                                                                                              \
    X(behind_h)                                                                                              \
    X(behind_w)                                                                                              \
    X(kernel_d)                                                                                              \
    X(kernel_h)                                                                                              \
    X(kernel_w)

/* The words for what an operand is: of BLAS and LAPACK, then of oneDNN. Operands of primitives have their
 * logical dimensions (batch, channels, depth, height, width; weights: [groups,] to, from, ...; recurrent
 * ones: time, batch, channels and layers, directions, from, gates, to) whatever their layout in memory. */
#define LL_ARGUMENT_LIST(X)                                                                                  \
    X(A)                                                                                                     \
    X(B)                                                                                                     \
    X(C)                                                                                                     \
    X(X)                                                                                                     \
    X(Y)                                                                                                     \
    X(PIVOTS)                                                                                                \
    X(VALUES)                                                                                                \
    X(U)                                                                                                     \
    X(V)                                                                                                     \
    X(SRC)                                                                                                   \
    X(SRC_ITER)                                                                                              \
    X(SRC_ITER_C)                                                                                            \
    X(WEIGHTS)                                                                                               \
    X(WEIGHTS_ITER)                                                                                          \
    X(WEIGHTS_OTHER)                                                                                         \
    X(BIAS)                                                                                                  \
    X(DST)                                                                                                   \
    X(DST_ITER)                                                                                              \
    X(DST_ITER_C)                                                                                            \
    X(MEAN)                                                                                                  \
    X(VARIANCE)                                                                                              \
    X(SCALE)                                                                                                 \
    X(SHIFT)                                                                                                 \
    X(WORKSPACE)                                                                                             \
    X(SCRATCHPAD)                                                                                            \
    X(DIFF_SRC)                                                                                              \
    X(DIFF_SRC_ITER)                                                                                         \
    X(DIFF_SRC_ITER_C)                                                                                       \
    X(DIFF_DST)                                                                                              \
    X(DIFF_DST_ITER)                                                                                         \
    X(DIFF_DST_ITER_C)                                                                                       \
    X(DIFF_WEIGHTS)                                                                                          \
    X(DIFF_WEIGHTS_ITER)                                                                                     \
    X(DIFF_BIAS)                                                                                             \
    X(DIFF_SCALE)                                                                                            \
    X(DIFF_SHIFT)

enum ll_number {
#define X(word) LL_NUMBER_##word,
    LL_NUMBER_LIST(X)
#undef X
        LL_NUMBER_COUNT
};

enum ll_argument {
#define X(word) LL_ARGUMENT_##word,
    LL_ARGUMENT_LIST(X)
#undef X
        LL_ARGUMENT_COUNT
};

enum ll_routine {
#define LL_ROUTINE(word, name, mirror, numbers, operands) LL_ROUTINE_##word,
#include "tracer/interpose/routines.def"
#define LL_PRIMITIVE(word, name, kind2, kind3, propagation, algorithm) LL_ROUTINE_DNN_##word,
#include "tracer/interpose/primitives.def"
    LL_ROUTINE_COUNT
};

enum ll_symbol {
#define LL_SYMBOL(name, routine, signature, letter, abi, result) LL_SYMBOL_##name,
#include "tracer/interpose/symbols.def"
    LL_SYMBOL_COUNT
};

struct ll_symbol_row {
    const char *name;
    uint16_t routine; /* enum ll_routine */
    uint8_t dtype;    /* enum ll_dtype of a real number, or of each part of a complex one */
    bool complex;
};

/* The name, as reports spell it; static storage. The argument is in range. */
const char *ll_routine_name(enum ll_routine routine);

/* The row of a symbol, static storage; NULL past the last one. */
const struct ll_symbol_row *ll_symbol_row(uint32_t symbol);

/* A number of a call by its word; 0 where the routine gives none of that word. */
int64_t ll_call_number(const struct ll_call *call, enum ll_number number);

#endif
