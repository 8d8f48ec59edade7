/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen of a program that we did not write: calls of its libraries, memory that came and went, marks.
 *
 * This room puts events into rings; `ll_ring_next` gives them out of the rings in the order in which they
 * began, as the plain data below; tracer/capture makes ops, tensors and edges of them. Nothing there knows a
 * machine word of the ring, nothing here knows an op. */
#ifndef LL_TRACER_INTERPOSE_CALL_H
#define LL_TRACER_INTERPOSE_CALL_H

#include "tracer/ir/tensor.h"

#include <stdbool.h>
#include <stdint.h>

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

#endif
