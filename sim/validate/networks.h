/* SPDX-License-Identifier: Apache-2.0 */
/* The networks of networks.def, their layers one by one, and the parts that layers are made of. Private to
 * sim/validate. */
#ifndef LL_SIM_VALIDATE_NETWORKS_H
#define LL_SIM_VALIDATE_NETWORKS_H

#include <stdbool.h>

#include "sim/validate/row.h"

struct ll_row_layers {
    const char *name;
    uint64_t image; /* rows and columns, where a row does not say them */
    const char *layers;
};

/* A letter of networks.def and the numbers behind it. */
struct ll_layer {
    char what;
    uint64_t number, kernel, stride, padding, groups, times, before3, before5, behind5, behind_pool, expanded;
};

/* The network that a row names; NULL when it is none of ours. Static storage. */
const struct ll_row_layers *ll_row_layers(const struct ll_row_works *r);

/* What the layers of networks.c are made of: each part asks a machine for some ops, in the passes that are
 * wanted, on an image that is on its way through a network. Private to sim/validate.
 *
 * A part adds its ops to the row's works, and leaves the walk with the image that comes out of it. The order
 * is that of the layers, forward and backward side by side: times are summed. */

enum ll_row_pass { LL_ROW_FORWARD = 1, LL_ROW_BACKWARD = 2, LL_ROW_UPDATE = 4 };

/* What follows a convolution or GEMM, element by element, and what flows back through it. */
struct ll_row_activation {
    enum ll_op_kind kind, gradient;
    uint64_t flops, gradient_flops; /* of an element */
};

/* The image between two layers, and what is wanted of each of them. A copy goes another way from there. */
struct ll_row_walk {
    struct ll_row_works *r;
    unsigned passes; /* bits of enum ll_row_pass */
    uint64_t batch, c, h, w;
    enum ll_op_kind optimizer;
    const struct ll_row_activation *activation; /* where a layer does not have another one; static storage */
    bool first;                                 /* nothing flows back through the first layer */
    bool trains;                                /* statistics of normalisation are those of the batch */
    bool casts; /* weights become the computed type, where that is narrower, at each use */
};

#endif
