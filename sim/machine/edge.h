/* SPDX-License-Identifier: Apache-2.0 */
/* An edge of a network as machine files write it: "0-1", "0>1" (one way), "0-1x2.5" (of 2.5 links). */
#ifndef LL_SIM_MACHINE_EDGE_H
#define LL_SIM_MACHINE_EDGE_H

#include <stdbool.h>
#include <stdint.h>

struct ll_network_edge {
    uint64_t from, to;
    double links; /* multiples of the level's bandwidth */
    bool both_ways;
};

/* False when the text is no edge, its ends are the same or it has no bandwidth. Pure. */
bool ll_edge_parse(const char *text, struct ll_network_edge *edge);

#endif
