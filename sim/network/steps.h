/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the room: messages that share links, the explanation of a step, the steps of an algorithm.
 *
 * Messages that share links: a fluid that gives each of them its max-min fair share.
 *
 * All start at once. A link divides what it carries fairly among the messages that cross it and that no other
 * link holds back further; when one has been sent, the others speed up (Bertsekas and Gallager, Data
 * Networks, 1992, section 6.5.2: progressive filling). So bytes times links never exceed what the links carry
 * in the time. Messages cut through: their latency comes once, on top. One thread at a time; deterministic.
 */
#ifndef LL_SIM_NETWORK_STEPS_H
#define LL_SIM_NETWORK_STEPS_H

#include "sim/network/network.h"

struct ll_flows;

/* Room for messages on this net, which outlives it. NULL when memory ran out. */
struct ll_flows *ll_flows_new(const struct ll_net *net);
void ll_flows_free(struct ll_flows *flows);

/* One more message. What a device sends itself takes no time. */
void ll_flows_add(struct ll_flows *flows, uint64_t from, uint64_t to, double bytes);

/* What comes of them: the longest latency, when the last byte left, and when the last message was there, in
 * seconds. `busiest` is the link that was the last to hold one back, UINT64_MAX when nothing crossed a link.
 */
struct ll_flow_times {
    double latency_s, sent_s, done_s;
    double mean_latency_s; /* of all messages */
    uint64_t busiest;
};

/* What they take at least, however links are shared: the bytes on a link over its bandwidth, of the link
 * where this is most. In seconds, without latencies. */
double ll_flows_least_s(struct ll_flows *flows);

/* False when memory ran out now or while messages were added. */
bool ll_flows_run(struct ll_flows *flows, struct ll_flow_times *times);

/* The moments at which messages had been sent, in this order, and the longest latency of those: with c times
 * the bytes the last one is there at the largest of c sent_s + latency_s. Of the last run, until the next. */
struct ll_flow_end {
    double sent_s, latency_s;
};

/* What the steps of an exchange say of themselves: lines for a pocket calculator, as sim/cost/cost.h has
 * them, each ending in a line break. Every function does nothing where nobody listens (NULL). */

struct ll_derivation_message {
    uint64_t from, to; /* devices */
    double bytes;
    bool first; /* others are like it, in other groups */
};

/* Starts as {.lines, .net, .exchange}, is released by who made it. */
struct ll_derivation {
    struct ll_str *lines;
    const struct ll_net *net;
    const struct ll_exchange *exchange;
    struct ll_derivation_message *messages; /* of the step under way, of all groups */
    uint64_t count, capacity;
    struct ll_str sum; /* of what was done so far */
    uint64_t parts;
};

/* Adds a line, printf style. */
void ll_derivation_add(struct ll_derivation *derivation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One more message of the step under way, of a group; UINT64_MAX: of each. */
void ll_derivation_send(struct ll_derivation *derivation, uint64_t group, uint64_t from_rank,
                        uint64_t to_rank, double bytes);

/* Which latencies count: the longest; the mean, and with it pass_s, which adds what passing half a chunk on
 * costs; that of the message which is there last. */
enum { LL_LATENCY_LONGEST = 1, LL_LATENCY_MEAN = 2, LL_LATENCY_LAST = 4 };

/* What the messages are and what flows made of them: bytes on the fullest link, latencies. Forgets them. */
void ll_derivation_flow(struct ll_derivation *derivation, const struct ll_flow_times *flow, double pass_s,
                        unsigned latencies);

/* Something that took so long is done. */
void ll_derivation_part(struct ll_derivation *derivation, double time_s);

/* Inside the room: what an algorithm says, and what becomes of it. */

/* What flows make of the messages of a step (sim/network/steps.h), remembered: a program exchanges the same
 * way with other bytes again and again, and flows take as long as there are bytes. So each pattern of
 * messages is solved once, for one byte in the first of them, and what comes out does not depend on what was
 * solved before. Belongs to one thread at a time; deterministic. */

/* The number of an exchange's groups; LL_NO_ID when memory ran out. Members are copied. */
uint32_t ll_solver_groups(struct ll_solver *solver, const struct ll_exchange *exchange);

/* Forgets every pattern that was solved. */
void ll_solver_forget(struct ll_solver *solver);

/* What is worth solving: messages that cross so many links, one counted for each message on it, and whose
 * bytes take no longer than that on the link where they take longest. */
struct ll_worth {
    uint64_t links;
    double time_s;
};

/* What messages take, and how many links they cross. Of what is not worth it the times are zero; where links
 * are the reason, `links` is some number above those that are. */
struct ll_solved {
    struct ll_flow_times times;
    uint64_t links;
    bool too_slow;
};

/* One exchange under way. An algorithm adds messages between ranks, then ends the step; all groups do the
 * same. */
struct ll_steps {
    const struct ll_net *net;
    struct ll_solver *solver;
    struct ll_exchange exchange;
    uint32_t groups; /* their number, for the solver */
    double time_s, sent_bytes, links_j, rounds;
    struct ll_route *path; /* room for one, where links take energy that somebody described; else NULL */
    /* Of the step under way: bytes of all messages, what these take of their links, what passing half a chunk
     * on costs them, their number; the least chunk and the least share with flags of the levels that they
     * pass, 0 without. */
    double step_bytes, step_j, pass_s;
    uint64_t messages, chunk_bytes;
    double flagged;
    uint64_t busiest;
    struct ll_worth worth; /* links of all messages, and time, that are worth it */
    uint64_t links;        /* so far */
    bool exhausted;        /* it is not worth it: what was sent is not all */
    bool failed;
    struct ll_derivation *derivation; /* NULL: nobody listens */
};

/* One more message between two ranks of each group; of one group alone, where groups send differently. */
#define LL_EACH_GROUP UINT64_MAX
void ll_steps_send(struct ll_steps *steps, uint64_t from_rank, uint64_t to_rank, double bytes);
void ll_steps_send_in(struct ll_steps *steps, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                      double bytes);

/* The messages added since the last end are a step that comes `times` times. */
void ll_steps_end(struct ll_steps *steps, double times);

/* They are a stream through `hops` messages one behind the other: each latency comes once, and the bytes,
 * which are those of the whole stream, flow everywhere at the same time. */
void ll_steps_end_stream(struct ll_steps *steps, double hops);

/* They are hops of one kind that a longer stream takes; what one of them costs beside sending, without and
 * with waiting for pieces to be complete. They are forgotten. `hops`: of the whole stream. */
struct ll_steps_hop {
    double latency_s, pass_s;
};
struct ll_steps_hop ll_steps_end_hop(struct ll_steps *steps, double hops);

/* They are a stream whose `hops` hops cost that much together. */
void ll_steps_end_hops(struct ll_steps *steps, const struct ll_steps_hop *all, double hops);

/* They are a stream that `level` takes in, adds up and hands out again, piece by piece: two latencies, the
 * bytes at the share of the bandwidth that this reaches, and one piece of them before copies go out. */
void ll_steps_end_in_network(struct ll_steps *steps, const struct ll_network *level);

/* They are a stream in chunks, of a number that makes it fastest: hops + chunks - 1 rounds of a chunk each.
 */
void ll_steps_end_chunks(struct ll_steps *steps, double hops);

/* Another exchange, whose time is added to this one's: of other groups, or of other bytes. */
void ll_steps_nest(struct ll_steps *steps, const struct ll_exchange *exchange);

/* How a group's ranks lie in blocks of devices that an inner level joins: the first share one, then `width`
 * of them in a row each, and what is left the last. As many rings or trees as the smallest block has places
 * lead from block to block side by side. One block of one ring: the group is not cut so. */
struct ll_blocks {
    uint64_t size, first, width, rings;
};
struct ll_blocks ll_steps_blocks(const struct ll_steps *steps, uint64_t group);

/* How many groups have to be looked at: 1 where all lie in such blocks as the first one does, so that each
 * does what that does; else all. And whom messages are of that one of so many sends. */
uint64_t ll_steps_kinds(const struct ll_steps *steps);
uint64_t ll_steps_sender(uint64_t kinds, uint64_t group);

/* How many blocks there are, how many ranks one of them has, and which is its first. */
uint64_t ll_blocks_count(const struct ll_blocks *blocks);
uint64_t ll_blocks_places(const struct ll_blocks *blocks, uint64_t block);
uint64_t ll_blocks_begin(const struct ll_blocks *blocks, uint64_t block);

/* The place, of `places`, at which a ring or tree comes into a block: they are spread over all of them. */
uint64_t ll_blocks_entry(const struct ll_blocks *blocks, uint64_t places, uint64_t ring);

/* The level in which alone the members of each group have different places; LL_NO_LEVEL: there is none. */
uint64_t ll_common_level(const struct ll_net *net, const struct ll_exchange *exchange);

/* The exchange with as few groups as take as long as all; *owned is to be freed. */
struct ll_exchange ll_distinct_groups(const struct ll_net *net, const struct ll_exchange *e,
                                      uint64_t **owned);

/* How many devices of a ring in such blocks, in which all groups lie, tell what a step takes; all where it
 * depends. */
uint64_t ll_short_ring(const struct ll_steps *steps, const struct ll_blocks *blocks);

#define LL_ALGORITHM(word, ...) bool ll_send_##word(struct ll_steps *steps);
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM

#endif
