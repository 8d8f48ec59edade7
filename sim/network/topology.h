/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as graphs of links: one level by itself (ll_fabric), and all levels of a machine together
 * (ll_net). */
#ifndef LL_SIM_NETWORK_TOPOLOGY_H
#define LL_SIM_NETWORK_TOPOLOGY_H

#include "sim/machine/machine.h"

/* One level of a network by itself: its links, and which of them a message crosses.
 *
 * Devices are numbered from 0, links from 0; what a link's number means only its topology knows. Routes are
 * minimal and always the same. A fabric is immutable once prepared and may be shared by threads. */

/* The links of a message, in their order; grows as needed, is freed by its owner. */
struct ll_route {
    uint64_t *links;
    uint64_t count, capacity;
    bool failed; /* memory ran out: links are missing */
};

struct ll_fabric {
    const struct ll_network *level;
    uint64_t devices, links;
    /* Of listed edges: where each link leads, and for each pair the first link on the way. */
    uint64_t *link_from, *link_to;
    double *link_width;
    uint64_t *next;
};

/* What each row of topologies.def binds. */
#define LL_TOPOLOGY(word, ...)                                                                               \
    const char *ll_prepare_##word(struct ll_fabric *fabric);                                                 \
    double ll_width_##word(const struct ll_fabric *fabric, uint64_t link);                                   \
    void ll_route_##word(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path);
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY

/* All the devices of a machine and the links between them.
 *
 * The levels of the machine's `network`, innermost first, multiply: of levels of 8 and 16 devices there are
 * 128, and device 11 is the fourth (11 % 8 = 3) of the second group (11 / 8 = 1). A group has `links` links
 * into the next level (one a device, when not given), of which neighbours share one, and each set of links
 * with the same place in their groups is a network of its own: eight rails, or one, through which all eight
 * devices send.
 *
 * A message between groups goes along the outer levels first, then inwards. Immutable once made, to be shared
 * by threads. */

struct ll_net;

/* NULL, and *trouble says why in a static sentence, when the machine has no network, its parts do not fit
 * together or memory ran out. The machine outlives the net. */
struct ll_net *ll_net_new(const struct ll_machine *machine, const char **trouble);
void ll_net_free(struct ll_net *net);

/* How many devices it joins, how many links it has, and how many levels there are. */
uint64_t ll_net_devices(const struct ll_net *net);
uint64_t ll_net_links(const struct ll_net *net);
uint64_t ll_net_levels(const struct ll_net *net);

/* A link of the topology, or the port of a device or of a group into all of its links in a level. */
enum ll_link_kind { LL_LINK, LL_LINK_PORT, LL_LINK_GROUP_PORT };
enum ll_link_kind ll_net_link_kind(const struct ll_net *net, uint64_t link);

/* What a link carries of large messages, in bytes a second, one direction; ports are links too. The level
 * that it is of. */
double ll_net_link_Bps(const struct ll_net *net, uint64_t link);
const struct ll_network *ll_net_link_spec(const struct ll_net *net, uint64_t link);

/* Devices in a group that level `level` joins: 1 for the innermost. */
uint64_t ll_net_group(const struct ll_net *net, uint64_t level);

/* How many links such a group has into the level, which are networks of their own. */
uint64_t ll_net_rails(const struct ll_net *net, uint64_t level);

/* Through which of them a device sends. */
uint64_t ll_net_rail(const struct ll_net *net, uint64_t level, uint64_t device);

/* The outermost level in which two devices have different places; 0 of a device and itself. */
uint64_t ll_net_level_between(const struct ll_net *net, uint64_t from, uint64_t to);

/* Adds the links that a message crosses to the path; its latency in seconds. */
double ll_net_route(const struct ll_net *net, uint64_t from, uint64_t to, struct ll_route *path);

/* What a byte takes along these links, in J; ports of devices and groups take nothing. */
double ll_net_path_j(const struct ll_net *net, const struct ll_route *path);

/* The machine it was made of. */
const struct ll_machine *ll_net_machine(const struct ll_net *net);

#endif
