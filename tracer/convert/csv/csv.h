/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times: rows of a CSV file with the header source,hardware,op,dtype,dims,time_s,notes.
 *
 * `dims` is key=value;key=value, time_s the seconds of one call. Data lives in the arena given and is
 * immutable once read. */
#ifndef LL_TRACER_CONVERT_CSV_CSV_H
#define LL_TRACER_CONVERT_CSV_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/str.h"
#include "tracer/ir/tensor.h"

struct ll_measured {
    const char *source, *hardware, *op, *dtype, *dims, *notes;
    double time_s; /* 0: none was measured (the field is empty, 0, nan or inf) */
    uint64_t line;
};

/* Reads a whole file's text; `file` stands for it in complaints. NULL after complaints; *count rows
 * otherwise.
 */
const struct ll_measured *ll_measured_read(const char *text, size_t length, const char *file,
                                           struct ll_arena *arena, struct ll_diags *diags, size_t *count);

/* The text behind `key=` in the row's dims, up to the next `;` or the end; NULL when it has no such key. */
const char *ll_measured_text(const struct ll_measured *row, const char *key);

/* Whether the dims say key=value. */
bool ll_measured_says(const struct ll_measured *row, const char *key, const char *value);

/* The whole number behind `key=`; false, and *value untouched, where there is none up to `most`. */
enum { LL_DIM_BITS = 40 }; /* of the largest dimension that is taken: 2^40 */
bool ll_measured_number(const struct ll_measured *row, const char *key, uint64_t most, uint64_t *value);
#define LL_IMPOSSIBLE_DIMENSION "a dimension is missing or impossible"

/* What data calls an element type, or we do (fp32 or f32): what computes, and how many bytes an element takes
 * in memory. False when there is no such type, which this then says. */
#define LL_UNKNOWN_ELEMENTS                                                                                  \
    "the element type is not known: expected fp32, tf32, fp16, bf16, fp8, int8, fp64, or one of f32, f16, "  \
    "i32 and the like"
bool ll_measured_dtype(const struct ll_measured *row, enum ll_dtype *arithmetic, uint64_t *element_bytes);

#endif
