/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as graphs of links: one level by itself (ll_fabric), all levels of a machine together
 * (ll_net), and the collectives that devices exchange data by (ll_exchange). */
#ifndef LL_SIM_NETWORK_NETWORK_H
#define LL_SIM_NETWORK_NETWORK_H

#include "sim/machine/machine.h"
#include "tracer/base/str.h"

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

/* How long devices take to exchange data together.
 *
 * An algorithm is a list of steps, each a set of messages that start at once (sim/network/steps.h); a step
 * begins when the one before has ended everywhere. On a network where nobody waits for anybody that gives the
 * closed forms of the literature (Thakur, Rabenseifner, Gropp, 2005; Sanders, Speck, Traeff, 2009): a ring's
 * all-reduce takes
 *
 *       2 (n - 1) (latency + M / (n B))
 *
 * Time for adding up is not counted: it hides behind the links. Deterministic; one thread at a time. */

/* Names as files and reports spell them; static storage. Arguments are in range. */
const char *ll_collective_name(enum ll_collective collective);
const char *ll_algorithm_name(enum ll_algorithm algorithm);

/* `groups` groups of `size` devices do the same at the same time: group g has the devices
 * members[g * size ...], in the order of their ranks. Each device is in one group at most. */
struct ll_exchange {
    enum ll_collective collective;
    enum ll_algorithm algorithm;
    double bytes; /* M, as collectives.def says */
    const uint64_t *members;
    uint64_t size, groups;
    const struct ll_collective_kernel *kernel; /* the stack's own that does it; NULL: the library */
    uint64_t copies; /* of an all-to-all: each row goes to so many devices; 0: not known */
    bool integers;   /* elements that switches cannot add up */
    bool by_library; /* by the library (NCCL), although the stack has kernels of its own */
    bool eager;      /* in no captured graph: the host starts it, data are copied into a registered buffer */
};

enum { LL_NO_LEVEL = LL_MAX_LINKS };

struct ll_exchanged {
    double time_s;     /* of the exchange, launch overhead included */
    double overhead_s; /* launch overhead, a part of time_s */
    double sent_bytes; /* by all devices of one group together, over all steps */
    double links_j;    /* energy of the links that the messages cross */
    double rounds;     /* dependent messages, each with its latency; 0 where the time was measured */
    enum ll_algorithm algorithm; /* the algorithm that was taken; LL_ALGORITHM_COUNT: the time was measured */
    const struct ll_collective_kernel *kernel; /* the stack's own that did it; NULL: the library */
    bool in_protocol;                          /* one of the library's own, which its tuner chose */
    uint32_t busiest; /* the level of the last step's bottleneck link; LL_NO_LEVEL: none */
};

enum ll_exchange_trouble {
    LL_EXCHANGE_DONE,
    LL_EXCHANGE_NO_WAY, /* the algorithm has none for this collective and number of devices */
    LL_EXCHANGE_NO_MEMORY
};

/* A net, and what is known of exchanges on it; the net outlives it. NULL when memory ran out. */
struct ll_solver;
struct ll_solver *ll_solver_new(const struct ll_net *net);
void ll_solver_free(struct ll_solver *solver);
const struct ll_net *ll_solver_net(const struct ll_solver *solver);

/* Times an exchange with exchange->algorithm (LL_ALGORITHM_COUNT: the fastest), nothing else on the network.
 * Without launch overhead. size, groups at least 1, bytes at least 0. */
enum ll_exchange_trouble ll_exchange(const struct ll_net *net, const struct ll_exchange *exchange,
                                     struct ll_exchanged *exchanged);

/* Times an exchange as the machine's software runs it, with its `collective_overhead` or `message_overhead`
 * and `collective_dispatch`: by the first of the stack's `collective_kernels` that serves it, else by the
 * preferred algorithm where that serves this collective, else by the fastest one. Of an all-reduce, the
 * fastest of the stack's kernels that serve it and of the library is taken, and none is faster than a smaller
 * one. exchange->algorithm and ->kernel are ignored. An eager exchange takes at least the host's time for it,
 * and a copy more. */
enum ll_exchange_trouble ll_exchange_by_software(struct ll_solver *solver, const struct ll_exchange *exchange,
                                                 struct ll_exchanged *exchanged);

/* Explains the time of an exchange that came out as *exchanged, in lines that can be recomputed by hand
 * (sim/cost/cost.h): the algorithms that were compared where there was a choice, then messages, links and
 * latencies. The last line has the time without launch overhead. */
enum ll_exchange_trouble ll_exchange_explain(struct ll_solver *solver, const struct ll_exchange *exchange,
                                             const struct ll_exchanged *exchanged, struct ll_str *lines);

#endif
