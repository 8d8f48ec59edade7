/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of an exchange say of themselves: lines for a pocket calculator, as sim/cost/explain.h has
 * them, each ending in a line break. Every function does nothing where nobody listens (NULL). */
#ifndef LL_SIM_NET_TOLD_H
#define LL_SIM_NET_TOLD_H

#include "sim/net/collective.h"
#include "sim/net/flow.h"

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
