/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a file that knows no tensors: each waits for the one before it, and reads what was there. */
#ifndef LL_CONVERT_SERIES_H
#define LL_CONVERT_SERIES_H

#include "tracer/convert/convert.h"

struct ll_series {
    struct ll_import *import;
    uint32_t ops;
    uint64_t clock_ns; /* when the next op begins; 0 while nobody has measured any */
    /* Of the op to record. */
    const char *scope;
    enum ll_phase phase;
    uint64_t duration_ns; /* taken by the next op that is recorded, zero afterwards */
};

/* Records an op, with the scope, phase and time of the series; `out` may be NULL. As ll_import_record. */
const char *ll_series_record(struct ll_series *series, const struct ll_import_op *op,
                             struct ll_imported *out);

/* Whole nanoseconds of a time that a file tells, zero for what is no time; LL_NO_FIT past 64 bits, with which
 * no op is recorded. */
uint64_t ll_series_ns(double time_ns);

/* A tensor that no op made, of these dimensions. */
struct ll_imported ll_series_tensor(struct ll_series *series, enum ll_memory_class memory,
                                    enum ll_dtype dtype, unsigned rank, const uint64_t *dims);

/* The choice `dtype`, or otherwise. False after a complaint. */
bool ll_series_dtype(struct ll_import *import, enum ll_dtype otherwise, enum ll_dtype *dtype);

/* The name of the first input file, without folders and what is behind its first dot; `otherwise` when
 * nothing is left, or memory ran out. */
const char *ll_import_stem(struct ll_import *import, const char *otherwise);

#endif
