/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that share links: a fluid that gives each of them its max-min fair share.
 *
 * All start at once. A link divides what it carries fairly among the messages that cross it and that no other
 * link holds back further; when one has been sent, the others speed up (Bertsekas and Gallager, Data
 * Networks, 1992, section 6.5.2: progressive filling). So bytes times links never exceed what the links carry
 * in the time. Messages cut through: their latency comes once, on top. One thread at a time; deterministic.
 */
#ifndef LL_SIM_NETWORK_FLOW_H
#define LL_SIM_NETWORK_FLOW_H

#include "sim/network/topology.h"

struct ll_flows;

/* Room for messages on this net, which outlives it. NULL when memory ran out. */
struct ll_flows *ll_flows_new(const struct ll_net *net);
void ll_flows_free(struct ll_flows *flows);

/* Forgets all messages. */
void ll_flows_clear(struct ll_flows *flows);

/* Links of all messages that were added, one counted for each that crosses it. */
uint64_t ll_flows_links(const struct ll_flows *flows);

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
const struct ll_flow_end *ll_flows_ends(const struct ll_flows *flows, uint64_t *count);

#endif
