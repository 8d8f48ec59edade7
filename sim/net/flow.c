/* SPDX-License-Identifier: Apache-2.0 */
/* Until all is sent: rates by progressive filling, then time runs to the next message that ends.
 *
 *   filling: of all links in use, the one with the least left / unfilled messages goes full first;
 *            its messages get that rate, their other links lose it; again until no message is left  */
#include "sim/net/flow.h"

#include "tracer/base/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct message {
    uint64_t first, count; /* of its links */
    double left_bytes, latency_s, rate_Bps;
    bool filled; /* has its rate, or needs none */
    bool held;   /* by a link that is full now */
};

struct ll_flows {
    const struct ll_net *net;
    struct ll_route path; /* the links of all messages, one after the other */
    struct message *messages;
    uint64_t count, capacity;
    double *left_Bps;   /* of each link of the net */
    uint64_t *crossing; /* messages on it that have no rate yet */
    uint64_t *used, used_count, used_capacity;
    bool failed;
};

struct ll_flows *ll_flows_new(const struct ll_net *net)
{
    struct ll_flows *flows = calloc(1, sizeof *flows);
    if (!flows)
        return NULL;
    flows->net = net;
    flows->left_Bps = calloc(ll_net_links(net), sizeof *flows->left_Bps);
    flows->crossing = calloc(ll_net_links(net), sizeof *flows->crossing);
    if (flows->left_Bps && flows->crossing)
        return flows;
    ll_flows_free(flows);
    return NULL;
}

void ll_flows_free(struct ll_flows *flows)
{
    if (!flows)
        return;
    free(flows->path.links);
    free(flows->messages);
    free(flows->left_Bps);
    free(flows->crossing);
    free(flows->used);
    free(flows);
}

void ll_flows_clear(struct ll_flows *flows)
{
    flows->path.count = flows->count = 0;
}

uint64_t ll_flows_links(const struct ll_flows *flows)
{
    return flows->path.count;
}

void ll_flows_add(struct ll_flows *flows, uint64_t from, uint64_t to, double bytes)
{
    uint64_t first = flows->path.count;
    if (!ll_grow(&flows->messages, &flows->capacity, flows->count + 1, sizeof *flows->messages)) {
        flows->failed = true;
        return;
    }
    double latency_s = ll_net_route(flows->net, from, to, &flows->path);
    flows->messages[flows->count++] = (struct message){
        .first = first, .count = flows->path.count - first, .left_bytes = bytes, .latency_s = latency_s};
}

static const uint64_t *links_of(const struct ll_flows *flows, const struct message *message)
{
    return flows->path.links + message->first;
}

/* Which links the messages that are left cross, and how many of them. */
static bool count_crossings(struct ll_flows *flows)
{
    flows->used_count = 0;
    for (uint64_t i = 0; i < flows->count; i++) {
        struct message *message = &flows->messages[i];
        message->filled = message->left_bytes <= 0 || message->count == 0;
        for (uint64_t j = 0; !message->filled && j < message->count; j++) {
            uint64_t link = links_of(flows, message)[j];
            if (flows->crossing[link]++ > 0)
                continue;
            if (!ll_grow(&flows->used, &flows->used_capacity, flows->used_count + 1, sizeof *flows->used))
                return false;
            flows->used[flows->used_count++] = link;
            flows->left_Bps[link] = ll_net_link_Bps(flows->net, link);
        }
    }
    return true;
}

/* The link that goes full first, the first of equals; UINT64_MAX when all messages have their rate. */
static uint64_t next_full(const struct ll_flows *flows, double *rate_Bps)
{
    uint64_t full = UINT64_MAX;
    *rate_Bps = INFINITY;
    for (uint64_t i = 0; i < flows->used_count; i++) {
        uint64_t link = flows->used[i];
        if (flows->crossing[link] == 0)
            continue;
        double fair_Bps = flows->left_Bps[link] / (double)flows->crossing[link];
        if (fair_Bps >= *rate_Bps)
            continue;
        *rate_Bps = fair_Bps;
        full = link;
    }
    return full;
}

/* Rounding: links that are as full as the fullest are full. */
static bool is_full(const struct ll_flows *flows, uint64_t link, double rate_Bps)
{
    return flows->left_Bps[link] <= rate_Bps * (double)flows->crossing[link] * (1 + 1e-12);
}

static bool is_held(const struct ll_flows *flows, const struct message *message, double rate_Bps)
{
    for (uint64_t j = 0; j < message->count; j++)
        if (is_full(flows, links_of(flows, message)[j], rate_Bps))
            return true;
    return false;
}

/* All messages that a full link holds get the rate; only then their links lose it, so that the order of the
 * messages does not matter. */
static void fill(struct ll_flows *flows, double rate_Bps)
{
    for (uint64_t i = 0; i < flows->count; i++) {
        struct message *message = &flows->messages[i];
        message->held = !message->filled && is_held(flows, message, rate_Bps);
    }
    for (uint64_t i = 0; i < flows->count; i++) {
        struct message *message = &flows->messages[i];
        if (!message->held)
            continue;
        message->filled = true;
        message->rate_Bps = rate_Bps;
        for (uint64_t j = 0; j < message->count; j++) {
            uint64_t link = links_of(flows, message)[j];
            flows->left_Bps[link] = fmax(0, flows->left_Bps[link] - rate_Bps);
            flows->crossing[link]--;
        }
    }
}

/* The rates of all messages that are left; the link that filled last. */
static bool find_rates(struct ll_flows *flows, uint64_t *slowest)
{
    double rate_Bps;
    bool right = count_crossings(flows);
    *slowest = UINT64_MAX;
    for (uint64_t full; right && (full = next_full(flows, &rate_Bps)) != UINT64_MAX;) {
        if (*slowest == UINT64_MAX)
            *slowest = full;
        fill(flows, rate_Bps);
    }
    return right;
}

/* Time to the next end of a message; INFINITY when all have ended. */
static double until_next_end_s(const struct ll_flows *flows)
{
    double step_s = INFINITY;
    for (uint64_t i = 0; i < flows->count; i++) {
        const struct message *message = &flows->messages[i];
        if (message->left_bytes > 0 && message->count > 0)
            step_s = fmin(step_s, message->left_bytes / message->rate_Bps);
    }
    return step_s;
}

static void advance(struct ll_flows *flows, double now_s, double step_s, struct ll_flow_times *times)
{
    for (uint64_t i = 0; i < flows->count; i++) {
        struct message *message = &flows->messages[i];
        if (message->left_bytes <= 0 || message->count == 0)
            continue;
        double left = message->left_bytes - message->rate_Bps * step_s;
        message->left_bytes = left > message->rate_Bps * step_s * 1e-12 ? left : 0;
        if (message->left_bytes == 0)
            times->done_s = fmax(times->done_s, now_s + step_s + message->latency_s);
    }
}

bool ll_flows_run(struct ll_flows *flows, struct ll_flow_times *times)
{
    *times = (struct ll_flow_times){.busiest = UINT64_MAX};
    if (flows->failed || flows->path.failed)
        return false;
    for (uint64_t i = 0; i < flows->count; i++) {
        times->latency_s = fmax(times->latency_s, flows->messages[i].latency_s);
        times->mean_latency_s += flows->messages[i].latency_s / (double)flows->count;
        if (flows->messages[i].left_bytes <= 0)
            times->done_s = fmax(times->done_s, flows->messages[i].latency_s);
    }
    for (uint64_t slowest; find_rates(flows, &slowest);) {
        double step_s = until_next_end_s(flows);
        if (isinf(step_s))
            return true;
        times->busiest = slowest;
        advance(flows, times->sent_s, step_s, times);
        times->sent_s += step_s;
    }
    return false;
}
