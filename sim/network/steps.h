/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the room: messages that share links, the record of steps, the steps of an algorithm.
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

/* What the steps of an exchange took, as plain values: for who explains it (explain.c), in the order in which
 * they ended. What is computed does not depend on whether it is recorded. */

/* How a step ended: as each function below ends it. */
enum ll_ending {
    LL_ENDED_TIMES,      /* ll_steps_end: `times` times in a row */
    LL_ENDED_PROTOCOL,   /* the same, and ll_steps_end_stream, in a protocol: `hops` dependent messages */
    LL_ENDED_SENT,       /* ll_steps_end_sent: the caller works the time out */
    LL_ENDED_HOP,        /* ll_steps_end_hop: one of `hops`, which takes pass_s + fill_s */
    LL_ENDED_HOPS,       /* ll_steps_end_hops: a stream through `hops`, which take `all` */
    LL_ENDED_IN_NETWORK, /* ll_steps_end_in_network, by the library's chunks or in a protocol */
    LL_ENDED_STREAM,     /* ll_steps_end_stream */
    LL_ENDED_CHUNKS,     /* ll_steps_end_chunks: in `chunks` of them */
    LL_ENDED_TREES,      /* no step: what a chain of `places` and trees of `nodes` come to, hop by hop */
    LL_ENDED_PEERS,      /* no step: the two ways to send to all peers at once */
    LL_ENDED_SMALLER,    /* no step: how much longer a smaller message takes, of `bytes` in `protocol` */
    LL_ENDED_NESTED,     /* no step: another exchange begins, whose steps follow */
    LL_ENDED_NEST        /* no step: it has ended */
};

/* What its messages took, before anything is said of times, latencies or protocols. */
struct ll_sent_step {
    struct ll_flow_times flow;
    double bytes;         /* that a device sends */
    double links_j;       /* of all devices together */
    double pass_s;        /* what passing half a chunk on costs, on the average */
    uint64_t chunk_bytes; /* that a device has in flight at once; 0: all */
    double ll;            /* share of the bandwidth that the LL protocol reaches; 0: there is none */
};

/* What `times` such steps take in chunks, in seconds; a single one is a stream. */
double ll_sent_step_chunks_s(const struct ll_sent_step *step, double times);

/* The cost of one hop of a longer stream, beside sending its bytes. */
struct ll_steps_hop {
    double latency_s; /* with the LL protocol */
    double pass_s;    /* with the Simple protocol, which waits for a chunk to be complete */
};

/* A chain within each node and trees between them (hierarchical.c). */
struct ll_tree_hops {
    uint64_t places, nodes;               /* of the longest chain; of the most */
    double within, between;               /* hops, up and down */
    struct ll_steps_hop chain, tree, all; /* what one of them takes; what all do */
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

/* Sends to all n peers at once (library.c): the faster of few channels a peer and of all channels. */
struct ll_peers {
    double n;
    double sent_s, share;        /* on the links, at their share; that share */
    double start_s, peer_s;      /* the start; what each further device adds */
    double all_starts_s;         /* both */
    double part_bytes, peer_Bps; /* to each peer; what a peer's few channels carry */
    double few_s;                /* by few channels */
    double blocks_s;             /* start of the blocks that copy */
    double bytes;                /* that they copy */
    double channels, channel_Bps;
    double many_s; /* by all channels */
};

/* What ended, and its values; those that its ending does not have are 0. */
struct ll_ended {
    enum ll_ending ending;
    struct ll_sent_step step;
    double times, hops;               /* how often the bytes are sent; dependent messages */
    double time_s;                    /* a part of the exchange's time; of a hop what it takes */
    struct ll_protocol protocol;      /* in which it was sent; without name: in none */
    double slot;                      /* PROTOCOL: shares of a step that fill slots, along the ring */
    double fill_s;                    /* HOP: until a piece is complete */
    double chunks, rounds;            /* CHUNKS: INFINITY chunks: as many as one likes */
    double in_network;                /* IN_NETWORK: share of the bandwidth at which switches add up */
    double chunk_bytes, devices;      /* IN_NETWORK: a device's first chunk; how many devices have one */
    double first;                     /* IN_NETWORK: all first chunks, as a share of the bytes */
    double bytes;                     /* IN_NETWORK, NESTED, SMALLER: M */
    struct ll_tree_hops trees;        /* TREES; HOPS: `all` alone */
    struct ll_peers peers;            /* PEERS */
    enum ll_collective collective;    /* NESTED */
    enum ll_algorithm algorithm;      /* NESTED */
    uint64_t size;                    /* NESTED */
    uint64_t first_message, messages; /* its messages in the record */
};

struct ll_recorded_message {
    uint64_t from, to; /* devices */
    double bytes;
    bool first; /* others are like it, in other groups */
};

/* Starts zeroed; ll_steps_record_release frees what it holds. */
struct ll_steps_record {
    struct ll_ended *at;
    uint64_t count, capacity;
    struct ll_recorded_message *messages;
    uint64_t message_count, message_capacity;
    uint64_t open; /* how many of the messages belong to steps that have ended */
    bool failed;   /* memory ran out */
};
void ll_steps_record_release(struct ll_steps_record *record);

/* Adds what ended, with the messages since the last that did; nothing where nobody records (NULL). */
void ll_steps_record_add(struct ll_steps_record *record, const struct ll_ended *ended);

/* The steps of an algorithm.
 *
 * The solver remembers what flows make of the messages of a step: programs repeat the same exchange with
 * other bytes, and times are proportional to bytes. So each pattern of messages is solved once, for one byte
 * in its first message, and no result depends on what was solved before. One thread at a time; deterministic.
 */

/* The number by which the solver knows an exchange's groups; LL_NO_ID when memory ran out. Members are
 * copied: exchange->members are those that the solver holds from then on, by which it knows them again at
 * once. */
uint32_t ll_solver_groups(struct ll_solver *solver, struct ll_exchange *exchange);

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
        *protocol;                  /* in which all steps are sent; NULL: by chunks or LL, as levels say */
    uint64_t busiest;               /* the bottleneck link of the last step */
    struct ll_worth worth;          /* effort after which the exchange is given up */
    uint64_t links;                 /* link crossings so far */
    bool exhausted;                 /* the worth is spent: the sums are not of the whole exchange */
    bool failed;                    /* memory ran out */
    struct ll_steps_record *record; /* what steps took; NULL: only sums are wanted */
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

/* Drops the messages since the last end, which are all of one kind: hops of a longer stream of `hops` hops,
 * of which this is what one costs. */
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

/* Adds a time that the caller worked out and recorded, of so many dependent messages. */
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
uint64_t ll_steps_common_level(const struct ll_steps *steps);

/* How many devices of a ring in such blocks, in which all groups lie, tell what a step takes; all where it
 * depends. */
uint64_t ll_short_ring(const struct ll_steps *steps, const struct ll_blocks *blocks);

/* Explains what the library expects of each of its ways. False where it has no choice. */
bool ll_library_explain(const struct ll_steps *steps, struct ll_str *lines);

/* Explains a recorded exchange of so many bytes, in lines that can be recomputed by hand; the last one has
 * its time. */
void ll_steps_record_explain(const struct ll_steps_record *record, const struct ll_net *net, double bytes,
                             double time_s, struct ll_str *lines);

/* Adds a line, printf style. */
void ll_explain_line(struct ll_str *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next of the stack's own kernels that serves the exchange, after that one (NULL: the first); NULL: there
 * is none. And what steps take in it. */
const struct ll_collective_kernel *ll_library_kernel(const struct ll_net *net, const struct ll_exchange *e,
                                                     const struct ll_collective_kernel *after);
struct ll_protocol ll_library_kernel_protocol(const struct ll_collective_kernel *kernel, uint64_t devices);

/* What is known of groups that the solver holds (groups.c), found when it is first asked for: to look at all
 * members of a large machine takes longer than all else. */
struct ll_grouping {
    struct ll_blocks blocks;  /* of the first group; size 0: not known */
    uint64_t kinds;           /* 0: not known */
    uint64_t short_ring;      /* 0: not known */
    uint64_t common_level;    /* and one more; 0: not known */
    uint64_t distinct_groups; /* so many, of these members, take as long as all; 0: not known */
    const uint64_t *distinct;
    const uint64_t *between; /* members of the groups between blocks (hierarchical.c); NULL: not known */
    uint8_t apart;           /* each group does on links of its own what the first does: 2, or not: 1 */
};

/* NULL when the solver does not hold these members. Good until it is asked for others. */
struct ll_grouping *ll_solver_grouping(struct ll_solver *solver, const struct ll_exchange *exchange);

/* Whether each group does on links of its own what the first does on its: all lie alike, in levels where
 * switches join devices, or each is joined with each, and what a message passes on its way is of its
 * group. Of groups that the solver holds. */
bool ll_groups_are_apart(struct ll_solver *solver, const struct ll_exchange *exchange);

/* The exchange with as few groups as take as long as all, whose members the solver holds. False when memory
 * ran out. */
bool ll_distinct_groups(struct ll_solver *solver, const struct ll_exchange *exchange,
                        struct ll_exchange *fewer);

/* Whether so many messages of each group are worth sending in the step at hand: they cross at least as many
 * links. Else the exchange is given up. */
bool ll_steps_are_worth(struct ll_steps *steps, uint64_t messages);

#define LL_ALGORITHM(word, ...) bool ll_send_##word(struct ll_steps *steps);
#include "sim/machine/algorithms.def"
#undef LL_ALGORITHM

#endif
