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
    struct ll_derivation_message *messages; /* messages of the current step, of all groups */
    uint64_t count, capacity;               /* length of `messages` and room in it */
    struct ll_str sum;                      /* the parts so far, as "a + b + c" */
    uint64_t parts;                         /* how many parts `sum` has */
};

/* Adds a line, printf style. */
void ll_derivation_add(struct ll_derivation *derivation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds a message to the current step, of one group, or with UINT64_MAX of each group. */
void ll_derivation_send(struct ll_derivation *derivation, uint64_t group, uint64_t from_rank,
                        uint64_t to_rank, double bytes);

/* Which latencies a derivation shows: the longest one; the mean, together with pass_s, the mean cost of
 * passing half a chunk on; the latency of the message that arrives last. */
enum { LL_LATENCY_LONGEST = 1, LL_LATENCY_MEAN = 2, LL_LATENCY_LAST = 4 };

/* Adds lines about the messages of the current step, the bytes on the bottleneck link and the latencies, then
 * empties the step. */
void ll_derivation_flow(struct ll_derivation *derivation, const struct ll_flow_times *flow, double pass_s,
                        unsigned latencies);

/* Adds a part of the exchange's time. */
void ll_derivation_part(struct ll_derivation *derivation, double time_s);

/* The steps of an algorithm.
 *
 * The solver remembers what flows make of the messages of a step: programs repeat the same exchange with
 * other bytes, and times are proportional to bytes. So each pattern of messages is solved once, for one byte
 * in its first message, and no result depends on what was solved before. One thread at a time; deterministic.
 */

/* The number by which the solver knows an exchange's groups; LL_NO_ID when memory ran out. Members are
 * copied. */
uint32_t ll_solver_groups(struct ll_solver *solver, const struct ll_exchange *exchange);

/* Forgets every pattern that was solved. */
void ll_solver_forget(struct ll_solver *solver);

/* The effort that is worth spending on an exchange: a faster algorithm is known already. */
struct ll_worth {
    uint64_t links; /* most link crossings, summed over all messages */
    double time_s;  /* longest time of the bytes on their bottleneck link, in seconds */
};

/* The times of a step's messages, and how many links they cross. */
struct ll_solved {
    struct ll_flow_times times; /* all 0 when the step is not worth solving */
    uint64_t links; /* link crossings of all messages; some number above the worth when there are more */
    bool too_slow;  /* the bytes take longer than the worth */
};

/* What the steps of an exchange take in a protocol of a library, or in a kernel of a stack's own
 * (library.c). */
struct ll_protocol {
    const char *name;
    double start_s;   /* before the first byte leaves, beside what every collective has */
    double latencies; /* 1: a step has its latency; 0: start_s has them all */
    double steps;     /* more steps, in which the pipeline fills and drains */
    double share;     /* of what links carry */
    double fill;      /* of a slot of the buffers, which is full before it goes on; on a ring times log2 n */
};

/* An exchange being timed. An algorithm adds messages between ranks, then ends the step; all groups do the
 * same at the same time. */
struct ll_steps {
    const struct ll_net *net;
    struct ll_solver *solver;
    struct ll_exchange exchange;
    uint32_t groups;       /* the solver's number of the exchange's groups */
    double time_s;         /* of all steps so far, without launch overhead */
    double sent_bytes;     /* by all devices of one group, in all steps so far */
    double links_j;        /* energy of the links, in all steps so far */
    double rounds;         /* dependent messages so far, each with its latency */
    struct ll_route *path; /* room for one route where the machine describes the links' energy; else NULL */
    double step_bytes;     /* current step: bytes of all messages of a group */
    double step_j;         /* current step: energy of the links */
    double pass_s;         /* current step: cost of passing half a chunk on, summed over messages */
    uint64_t messages;     /* current step: number of messages */
    uint64_t
        chunk_bytes; /* current step: the smallest Simple-protocol chunk of its levels; 0: none has chunks */
    double ll; /* current step: the smallest bandwidth share of the LL protocol of its levels; 0: none */
    bool in_protocol; /* the library's tuner chose a protocol */
    const struct ll_protocol
        *protocol;                    /* in which all steps are sent; NULL: by chunks or LL, as levels say */
    uint64_t busiest;                 /* the bottleneck link of the last step */
    struct ll_worth worth;            /* effort after which the exchange is given up */
    uint64_t links;                   /* link crossings so far */
    bool exhausted;                   /* the worth is spent: the sums are not of the whole exchange */
    bool failed;                      /* memory ran out */
    struct ll_derivation *derivation; /* lines that explain the time; NULL: none are wanted */
};

/* Adds a message between two ranks of each group, or of one group where groups send differently. */
#define LL_EACH_GROUP UINT64_MAX
void ll_steps_send(struct ll_steps *steps, uint64_t from_rank, uint64_t to_rank, double bytes);
void ll_steps_send_in(struct ll_steps *steps, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                      double bytes);

/* Ends a step: the messages since the last end are sent at once, `times` times in a row. */
void ll_steps_end(struct ll_steps *steps, double times);

/* Ends a step whose messages are a stream through `hops` dependent messages: each latency counts once, and
 * the bytes, those of the whole stream, flow on all links at the same time. */
void ll_steps_end_stream(struct ll_steps *steps, double hops);

/* The cost of one hop of a longer stream of `hops` hops, beside sending its bytes. The messages since the
 * last end are such hops, all of one kind; they are dropped. */
struct ll_steps_hop {
    double latency_s; /* with the LL protocol */
    double pass_s;    /* with the Simple protocol, which waits for a chunk to be complete */
};
struct ll_steps_hop ll_steps_end_hop(struct ll_steps *steps, double hops);

/* Ends a step whose messages are a stream through `hops` hops, which cost `all` together. */
void ll_steps_end_hops(struct ll_steps *steps, const struct ll_steps_hop *all, double hops);

/* Ends a step whose messages go into the switches of `level`, which sum them and send the result back, chunk
 * by chunk: two latencies, the bytes at level->in_network of the bandwidth, and one chunk before results go
 * out. */
void ll_steps_end_in_network(struct ll_steps *steps, const struct ll_network *level);

/* Ends a step whose messages are a stream in equal chunks, as many as make it fastest: hops + chunks - 1
 * rounds of one chunk each. */
void ll_steps_end_chunks(struct ll_steps *steps, double hops);

/* Ends a step of which the caller works out the time; what its messages take without latencies, in
 * seconds. */
double ll_steps_end_sent(struct ll_steps *steps);

/* Adds a time that the caller worked out, of so many dependent messages. */
void ll_steps_add(struct ll_steps *steps, double time_s, double rounds);

/* Adds the time of another exchange, of other groups or other bytes, to this one's. */
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

/* Explains what the library expects of each of its ways. False where it has no choice. */
bool ll_library_explain(const struct ll_steps *steps);

/* The first of the stack's own kernels that serves the exchange; NULL: the library does it. And what steps
 * take in it. */
const struct ll_collective_kernel *ll_library_kernel(const struct ll_net *net, const struct ll_exchange *e);
struct ll_protocol ll_library_kernel_protocol(const struct ll_collective_kernel *kernel, uint64_t devices);

#define LL_ALGORITHM(word, ...) bool ll_send_##word(struct ll_steps *steps);
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM

#endif
