/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen of an external program: calls of its libraries, memory that came and went, marks.
 *
 * This room puts events into rings; `ll_ring_next` gives them out of the rings in the order in which they
 * began, as the plain data below; tracer/capture makes ops, tensors and edges of them. Nothing there knows a
 * machine word of the ring, nothing here knows an op. */
#ifndef LL_TRACER_INTERPOSE_CALL_H
#define LL_TRACER_INTERPOSE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/interpose/ring.h"
#include "tracer/ir/tensor.h"

enum ll_event_kind {
    LL_EVENT_CALL,     /* of a routine; `call` says which */
    LL_EVENT_ALLOCATE, /* memory: address, size_bytes */
    LL_EVENT_RELEASE,  /* memory: address */
    LL_EVENT_STEP,     /* a mark: a step of the program begins */
    LL_EVENT_WAIT,     /* waited_ns: so long this thread waited for its recorder */
    LL_EVENT_LOST      /* lost: so many events of this thread found no room */
};

enum { LL_MAX_OPERANDS = 20, LL_MAX_CALL_NUMBERS = 32 };

enum ll_access { LL_ACCESS_READ = 1, LL_ACCESS_WRITE = 2, LL_ACCESS_BOTH = 3 };

/* Memory that a call touched: `rows` runs of `row_bytes`, `stride_bytes` apart. A dense tensor is one run. */
struct ll_call_operand {
    uint64_t address, rows, row_bytes, stride_bytes;
    struct ll_shape shape; /* logical, without the leading dimension's gaps */
    uint8_t access;        /* enum ll_access */
    uint8_t role; /* which argument: enum ll_argument of the routine's family, in interpose/routines.def */
};

/* One call. `number` holds what the routine's row in interpose/routines.def names, in its order: sizes,
 * transpositions as 0 and 1, whether beta is zero, strides and paddings of a convolution, ... */
struct ll_call {
    /* enum ll_routine: GEMM, SYRK, GESV, CONVOLUTION_FORWARD, ... whatever the name and type. */
    uint32_t routine;
    uint32_t symbol;  /* row of interpose/symbols.def: dgemm_, cblas_sgemm, ... */
    uint32_t form;    /* equal for calls that differ in times and addresses alone; 0: not known */
    uint8_t dtype;    /* enum ll_dtype of the arithmetic */
    uint32_t depth;   /* 0: called by the program; more: from within another recorded call */
    uint64_t caller;  /* where the call returns to */
    uint32_t mapping; /* how often the library that lay there had been replaced by another one */
    uint64_t duration_ns;
    uint32_t operand_count, number_count;
    struct ll_call_operand operand[LL_MAX_OPERANDS];
    int64_t number[LL_MAX_CALL_NUMBERS];
};

struct ll_event {
    enum ll_event_kind kind;
    uint32_t thread;   /* from 0, in the order in which threads were first seen */
    uint64_t start_ns; /* ll_now_ns of this machine */
    union {
        struct ll_call call;
        struct {
            uint64_t address, size_bytes;
        } memory;
        uint64_t lost, waited_ns;
    };
};

/* What the recorder knows of external routines: families of routines, what they take, and under which names
 * libraries export them. The tables are generated from routines.def and symbols.def; all data is constant. */

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

/* A record's words as a call. Inner to this room. */

/* Which of the arguments of a call of this symbol are addresses: bit i for word i. Pure. */
uint64_t ll_address_words(uint32_t symbol);

/* Fills in routine, dtype, numbers and operands of a call of this symbol from `count` words of arguments.
 * False when there are not as many as the routine takes, or the symbol is none. Pure. */
bool ll_decode_call(uint32_t symbol, const uint64_t *words, unsigned count, struct ll_call *call);

/* A described primitive of oneDNN as a call. Inner to this room. */

/* A description, ready for its executions: the call with offsets in place of addresses, and which argument
 * each operand is. */
struct ll_described {
    struct ll_call call;
    uint64_t argument[LL_MAX_OPERANDS]; /* in oneDNN's numbers */
};

/* From an entry of the log, of `count` words. False when it is not whole. Pure. */
bool ll_describe(const uint64_t *entry, unsigned count, struct ll_described *described);

/* Fills in routine, dtype, numbers and operands of an execution from its pairs of argument and address;
 * operands without an address are left out. Pure. */
void ll_decode_execution(const struct ll_described *described, const uint64_t *pairs, unsigned pair_count,
                         struct ll_call *call);

#endif
