/* SPDX-License-Identifier: Apache-2.0 */
/* The networks of networks.def, and their layers one by one. Private to sim/validate. */
#ifndef LL_SIM_VALIDATE_LAYERS_H
#define LL_SIM_VALIDATE_LAYERS_H

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

/* Takes the next layer off a network's text, which is one of ours and right. */
struct ll_layer ll_next_layer(const char **at);

#endif
