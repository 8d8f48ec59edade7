/* SPDX-License-Identifier: Apache-2.0 */
/* How long devices take to exchange data together.
 *
 * An algorithm is a list of steps, each a set of messages that start at once (sim/network/flow.h); a step
 * begins when the one before has ended everywhere. On a network where nobody waits for anybody that gives the
 * closed forms of the literature (Thakur, Rabenseifner, Gropp, 2005; Sanders, Speck, Traeff, 2009): a ring's
 * all-reduce takes
 *
 *       2 (n - 1) (latency + M / (n B))
 *
 * Time for adding up is not counted: it hides behind the links. Deterministic; one thread at a time. */
#ifndef LL_SIM_NETWORK_COLLECTIVE_H
#define LL_SIM_NETWORK_COLLECTIVE_H

#include "sim/network/flow.h"
#include "sim/network/topology.h"
#include "tracer/base/str.h"

enum ll_collective {
#define LL_COLLECTIVE(word, ...) LL_COLLECTIVE_##word,
#include "sim/network/collectives.def"
#undef LL_COLLECTIVE
    LL_COLLECTIVE_COUNT
};

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
};

enum { LL_NO_LEVEL = LL_MAX_LINKS };

struct ll_exchanged {
    double time_s;               /* with what starting costs */
    double overhead_s;           /* of that, what starting costs */
    double sent_bytes;           /* by all devices of one group together, over all steps */
    double links_j;              /* what the links take that these cross */
    double rounds;               /* messages one behind the other, each with its latency */
    enum ll_algorithm algorithm; /* LL_ALGORITHM_COUNT where the time was measured; then rounds is 0 */
    uint32_t busiest;            /* the level whose link held the last step back; LL_NO_LEVEL: none */
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

/* An exchange, by itself. */
enum ll_exchange_trouble ll_exchange(const struct ll_net *net, const struct ll_exchange *exchange,
                                     struct ll_exchanged *exchanged);

/* The same as the machine's software does it: with its `collective_overhead` or `message_overhead`; by what
 * `samples` of the level that a group of an all-reduce lies in say, where there are some of as many devices
 * or of fewer and of more; else by the way that it prefers, where that one serves; else by the fastest.
 * exchange->algorithm is not looked at. */
enum ll_exchange_trouble ll_exchange_by_software(struct ll_solver *solver, const struct ll_exchange *exchange,
                                                 struct ll_exchanged *exchanged);

/* Says why an exchange that came out like this takes its time, in lines for a pocket calculator
 * (sim/cost/cost.h), each ending in a line break: what was compared or expected where there was a choice;
 * then messages, links and latencies, so that the last line has the time, without what starting costs. */
enum ll_exchange_trouble ll_exchange_tell(struct ll_solver *solver, const struct ll_exchange *exchange,
                                          const struct ll_exchanged *exchanged, struct ll_str *lines);

/* What the steps of an exchange say of themselves: lines for a pocket calculator, as sim/cost/cost.h has
 * them, each ending in a line break. Every function does nothing where nobody listens (NULL). */

struct ll_told_message {
    uint64_t from, to; /* devices */
    double bytes;
    bool first; /* others are like it, in other groups */
};

/* Starts as {.lines, .net, .exchange}, is released by who made it. */
struct ll_told {
    struct ll_str *lines;
    const struct ll_net *net;
    const struct ll_exchange *exchange;
    struct ll_told_message *messages; /* of the step under way, of all groups */
    uint64_t count, capacity;
    struct ll_str sum; /* of what was done so far */
    uint64_t parts;
};
void ll_told_release(struct ll_told *told);

/* Adds a line, printf style. */
void ll_told_say(struct ll_told *told, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One more message of the step under way, of a group; UINT64_MAX: of each. */
void ll_told_send(struct ll_told *told, uint64_t group, uint64_t from_rank, uint64_t to_rank, double bytes);

/* Which latencies count: the longest; the mean, and with it pass_s, which adds what passing half a chunk on
 * costs; that of the message which is there last. */
enum { LL_TOLD_LONGEST = 1, LL_TOLD_MEAN = 2, LL_TOLD_LAST = 4 };

/* What the messages are and what flows made of them: bytes on the fullest link, latencies. Forgets them. */
void ll_told_flow(struct ll_told *told, const struct ll_flow_times *flow, double pass_s, unsigned latencies);

/* Something that took so long is done. */
void ll_told_part(struct ll_told *told, double time_s);

/* All of it, where it has several parts. */
void ll_told_end(struct ll_told *told, double time_s);

#endif
