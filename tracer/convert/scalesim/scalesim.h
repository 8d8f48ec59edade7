/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim's topologies (Samajdar et al., ISPASS 2020): layers of a network, a row each. Whoever simulates
 * them as SCALE-Sim does (sim/scalesim) and whoever makes a trace of them reads them here. */
#ifndef LL_TRACER_CONVERT_SCALESIM_SCALESIM_H
#define LL_TRACER_CONVERT_SCALESIM_SCALESIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/ir/tensor.h"

/* A row of a topology. A GEMM of m, n, k is a convolution of an m x k image by n filters of 1 x k. */
struct ll_scalesim_layer {
    const char *name;
    /* Rows of the report that it stands for: the channels of a depthwise (DP) layer, else 1. */
    uint64_t copies;
    uint64_t in_h, in_w, filter_h, filter_w, channels, filters, stride_h, stride_w;
    uint64_t line;           /* of the topology, 0 when it comes from elsewhere */
    uint64_t batch;          /* samples, where a column tells them; else 1 or 0 */
    struct ll_pattern zeros; /* of the filters, along what is summed over; 0 of 0: none */
};

/* How many windows SCALE-Sim slides over one side: where the stride does not divide there is one more,
 * part of which lies outside. */
static inline uint64_t ll_scalesim_windows(uint64_t in, uint64_t filter, uint64_t stride)
{
    return ll_ceil_div(ll_add(ll_sub(in, filter), stride), stride);
}

enum { LL_SCALESIM_MOST_LAYERS = 1000000 };

/* Whether a topology holds products: by the names of its columns, else by rows of several fields, none with
 * as many as a convolution needs. */
bool ll_scalesim_holds_products(const char *text, size_t length);

/* Whether a file of rows is a layout of version 3, which tells how tensors lie in buffers: by the names of
 * its columns, else by rows of 21 fields. */
bool ll_scalesim_is_layout(const char *text, size_t length);

/* Reads a topology of convolutions (name, ifmap height and width, filter height and width, channels, filters,
 * stride, or strides of height and width) or of products (name, m, n, k). A first row whose second field is
 * no number is the header; one before it that names no column is a title. Columns are found by the header's
 * names, also `Batch Size` and `Sparsity`, and else by their places. What is left out of the file is noted
 * (notes may be NULL). NULL after complaints or when memory ran out; *count is at least 1 otherwise. */
const struct ll_scalesim_layer *ll_scalesim_read_topology(const char *text, size_t length, const char *name,
                                                          bool products, struct ll_arena *arena,
                                                          struct ll_diags *diags, struct ll_diags *notes,
                                                          size_t *count);

#endif
