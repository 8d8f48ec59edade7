/* SPDX-License-Identifier: Apache-2.0 */
/* A line of oneDNN's log, and what its primitives mean. Private to tracer/convert/onednn. */
#ifndef LL_TRACER_CONVERT_ONEDNN_ONEDNN_H
#define LL_TRACER_CONVERT_ONEDNN_ONEDNN_H

#include "tracer/convert/convert.h"

enum { LL_DNNL_LONGEST_LINE = 1 << 14, LL_DNNL_WEIGHTS = 2 };

/* A line taken apart; texts live in `text`. */
struct ll_dnnl_line {
    char text[LL_DNNL_LONGEST_LINE];
    uint64_t number; /* in the file, from 1 */
    const char *primitive, *pass, *memory, *attributes, *extra, *problem, *time;
    bool graph;          /* of a partition of a graph; memory: its logical tensors, problem: the same */
    enum ll_dtype dtype; /* of what comes in */
};

/* What tells the steps of a log. */
struct ll_dnnl_look {
    uint64_t in, out; /* elements */
    bool backward, moves;
};

/* A primitive that ran: its time, and whether it is a product or a whole attention. */
struct ll_dnnl_ran {
    double time_ms;
    bool product, attention;
};

struct ll_dnnl_log {
    struct ll_import *import;
    const char *at, *end;    /* what is not read yet */
    uint64_t lines;          /* read so far */
    struct ll_dnnl_ran *ran; /* since the last partition of a graph */
    uint64_t ran_count, ran_capacity;
    uint64_t passed_over;                           /* partitions whose primitives are in the log */
    uint64_t period, primitives;                    /* of a step; so far */
    struct ll_series series;                        /* records the ops, one after the other */
    struct ll_imported (*weights)[LL_DNNL_WEIGHTS]; /* by the primitive's place in a step */
    uint64_t post_ops;        /* behind the line's primitive; taken by the first op that is recorded of it */
    struct ll_dnnl_line line; /* at work */
};

/* An extent of a problem: the digits behind this name, as in ic3oc64. Pure. */
uint64_t ll_dnnl_extent(const char *problem, const char *name, uint64_t otherwise);

/* The shape number `i` of a problem 64x128:128x32, behind `i` colons. False when there is none. Pure. */
bool ll_dnnl_shape(const struct ll_dnnl_line *line, unsigned i, struct ll_shape *shape);

/* The type of elements of a memory of the line: src, wei, bia, dst; `otherwise` where it has no such one.
 * Pure. */
enum ll_dtype ll_dnnl_dtype(const struct ll_dnnl_line *line, const char *name, enum ll_dtype otherwise);

/* The first memory of the line whose elements are of a type that is not known; NULL for none. Pure. */
const char *ll_dnnl_unknown(const struct ll_dnnl_line *line);

/* A logical tensor of a graph's line: in 0, out 0. False when there is no such, or nothing is known of it.
 * Pure. */
bool ll_dnnl_logical(const struct ll_dnnl_line *line, bool out, unsigned i, struct ll_shape *shape);

/* Whether the line is of a gradient. Pure. */
bool ll_dnnl_backward(const struct ll_dnnl_line *line);

/* Records what the log's line did. NULL, or why it cannot be said; as ll_import_record. */
const char *ll_dnnl_record(struct ll_dnnl_log *log);

#endif
