/* SPDX-License-Identifier: Apache-2.0 */
/* One level of a network by itself: its links, and which of them a message crosses.
 *
 * Devices are numbered from 0, links from 0; what a link's number means only its topology knows. Routes are
 * minimal and always the same. A fabric is immutable once prepared and may be shared by threads. */
#ifndef LL_SIM_NET_FABRIC_H
#define LL_SIM_NET_FABRIC_H

#include "sim/machine/machine.h"

/* The links of a message, in their order; grows as needed, is freed by its owner. */
struct ll_route {
    uint64_t *links;
    uint64_t count, capacity;
    bool failed; /* memory ran out: links are missing */
};
void ll_route_add(struct ll_route *path, uint64_t link);

struct ll_fabric {
    const struct ll_network *level;
    uint64_t devices, links;
    /* Of listed edges: where each link leads, and for each pair the first link on the way. */
    uint64_t *link_from, *link_to;
    double *link_width;
    uint64_t *next;
};

/* Binds the topology of a level. NULL, or what is wrong with it as a static sentence (memory that ran out, a
 * listed network with devices out of reach). The level outlives the fabric. */
const char *ll_fabric_open(const struct ll_network *level, struct ll_fabric *fabric);
void ll_fabric_close(struct ll_fabric *fabric);

/* What a link carries, in multiples of the level's bandwidth. Pure. */
double ll_fabric_width(const struct ll_fabric *fabric, uint64_t link);

/* Adds the links from one device to another one to the path. */
void ll_fabric_route(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path);

/* What each row of topologies.def binds. */
#define LL_TOPOLOGY(word, ...)                                                                               \
    const char *ll_prepare_##word(struct ll_fabric *fabric);                                                 \
    double ll_width_##word(const struct ll_fabric *fabric, uint64_t link);                                   \
    void ll_route_##word(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path);
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY

#endif
