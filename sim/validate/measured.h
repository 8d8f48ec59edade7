/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times: rows of a CSV file with the header source,hardware,op,dtype,dims,time_s,notes.
 *
 * `dims` is key=value;key=value, time_s the seconds of one call. Data lives in the arena given and is
 * immutable once read. */
#ifndef LL_SIM_VALIDATE_MEASURED_H
#define LL_SIM_VALIDATE_MEASURED_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/ops.h"

#include <stddef.h>
#include <stdint.h>

struct ll_measured {
    const char *source, *hardware, *op, *dtype, *dims, *notes;
    double time_s;
    uint64_t line;
};

/* Reads a whole file's text; `file` stands for it in complaints. NULL after complaints; *count rows
 * otherwise.
 */
const struct ll_measured *ll_measured_read(const char *text, size_t length, const char *file,
                                           struct ll_arena *arena, struct ll_diags *diags, size_t *count);

/* What a row asks of a machine: one or two pieces of work, one after the other. */
enum { LL_MOST_WORKS = 2 };
struct ll_measured_works {
    const char *family; /* it is scored with: "gemm", "conv", ... */
    struct ll_work works[LL_MOST_WORKS];
    enum ll_op_kind kinds[LL_MOST_WORKS]; /* which units are meant for it */
    size_t count;
};

/* NULL when the row became work; otherwise why it cannot be scored, static storage. */
const char *ll_measured_works(const struct ll_measured *row, struct ll_measured_works *works);

#endif
