/* SPDX-License-Identifier: Apache-2.0 */
/* Until all is sent: rates by progressive filling, then time runs to the next message that ends.
 *
 *   filling: of all links in use, the one with the least left / unfilled messages goes full first;
 *            its messages get that rate, their other links lose it; again until no message is left  */
#include "sim/network/flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"

struct message {
    uint64_t first, count; /* of its links */
    double left_bytes, latency_s, rate_Bps;
    bool filled; /* has its rate, or needs none */
};

/* A link of the net. */
struct crossed {
    double left_Bps;
    uint64_t crossing;     /* messages on it that have no rate yet */
    uint64_t first, count; /* of all messages on it, in crossers */
    double bytes;          /* of all messages on it, while these are added up */
};

struct ll_flows {
    const struct ll_net *net;
    struct ll_route path; /* the links of all messages, one after the other */
    struct message *messages;
    uint64_t count, capacity;
    struct crossed *links;                     /* of the net */
    uint64_t *used, used_count, used_capacity; /* links that messages without a rate cross */
    uint64_t *crossers, crossers_capacity;     /* messages, link by link */
    uint64_t *held, held_count, held_capacity; /* messages on a link that is full now */
    struct ll_flow_end *ends;
    uint64_t end_count, end_capacity;
    bool failed;
};

struct ll_flows *ll_flows_new(const struct ll_net *net)
{
    struct ll_flows *flows = calloc(1, sizeof *flows);
    if (!flows)
        return NULL;
    flows->net = net;
    flows->links = calloc(ll_net_links(net), sizeof *flows->links);
    if (flows->links)
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
    free(flows->links);
    free(flows->used);
    free(flows->crossers);
    free(flows->held);
    free(flows->ends);
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

double ll_flows_least_s(struct ll_flows *flows)
{
    double least_s = 0;
    for (uint64_t i = 0; i < flows->path.count; i++)
        flows->links[flows->path.links[i]].bytes = 0;
    for (uint64_t i = 0; i < flows->count; i++) {
        const struct message *message = &flows->messages[i];
        for (uint64_t j = 0; j < message->count; j++) {
            uint64_t at = links_of(flows, message)[j];
            struct crossed *link = &flows->links[at];
            link->bytes += message->left_bytes;
            least_s = fmax(least_s, link->bytes / ll_net_link_Bps(flows->net, at));
        }
    }
    return least_s;
}

/* Which links the messages that are left cross, and how many of them. */
static bool count_crossings(struct ll_flows *flows)
{
    flows->used_count = 0;
    for (uint64_t i = 0; i < flows->count; i++) {
        struct message *message = &flows->messages[i];
        message->filled = message->left_bytes <= 0 || message->count == 0;
        for (uint64_t j = 0; !message->filled && j < message->count; j++) {
            uint64_t at = links_of(flows, message)[j];
            struct crossed *link = &flows->links[at];
            if (link->crossing++ > 0)
                continue;
            if (!ll_grow(&flows->used, &flows->used_capacity, flows->used_count + 1, sizeof *flows->used))
                return false;
            flows->used[flows->used_count++] = at;
            link->left_Bps = ll_net_link_Bps(flows->net, at);
            link->count = 0;
        }
    }
    return true;
}

/* Which messages these are. */
static bool list_crossers(struct ll_flows *flows)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < flows->used_count; i++) {
        struct crossed *link = &flows->links[flows->used[i]];
        link->first = sum;
        sum += link->crossing;
    }
    if (!ll_grow(&flows->crossers, &flows->crossers_capacity, sum, sizeof *flows->crossers) ||
        !ll_grow(&flows->held, &flows->held_capacity, flows->count, sizeof *flows->held))
        return false;
    for (uint64_t i = 0; i < flows->count; i++) {
        const struct message *message = &flows->messages[i];
        for (uint64_t j = 0; !message->filled && j < message->count; j++) {
            struct crossed *link = &flows->links[links_of(flows, message)[j]];
            flows->crossers[link->first + link->count++] = i;
        }
    }
    return true;
}

/* The link that goes full first, the first of equals; UINT64_MAX when all messages have their rate. Forgets
 * the links on which all have. */
static uint64_t next_full(struct ll_flows *flows, double *rate_Bps)
{
    uint64_t full = UINT64_MAX, count = flows->used_count;
    *rate_Bps = INFINITY;
    flows->used_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = flows->used[i];
        const struct crossed *link = &flows->links[at];
        if (link->crossing == 0)
            continue;
        flows->used[flows->used_count++] = at;
        double fair_Bps = link->left_Bps / (double)link->crossing;
        if (fair_Bps >= *rate_Bps)
            continue;
        *rate_Bps = fair_Bps;
        full = at;
    }
    return full;
}

/* Rounding: links that are as full as the fullest are full. */
static bool is_full(const struct crossed *link, double rate_Bps)
{
    return link->left_Bps <= rate_Bps * (double)link->crossing * (1 + 1e-12);
}

/* The messages on links that are full. */
static void hold(struct ll_flows *flows, double rate_Bps)
{
    flows->held_count = 0;
    for (uint64_t i = 0; i < flows->used_count; i++) {
        const struct crossed *link = &flows->links[flows->used[i]];
        for (uint64_t j = 0; j < link->count && is_full(link, rate_Bps); j++) {
            uint64_t at = flows->crossers[link->first + j];
            if (!flows->messages[at].filled)
                flows->held[flows->held_count++] = at;
            flows->messages[at].filled = true;
        }
    }
}

/* All messages that a full link holds get the rate; only then their links lose it, so that the order of the
 * messages does not matter. */
static void fill(struct ll_flows *flows, double rate_Bps)
{
    hold(flows, rate_Bps);
    for (uint64_t i = 0; i < flows->held_count; i++) {
        struct message *message = &flows->messages[flows->held[i]];
        message->rate_Bps = rate_Bps;
        for (uint64_t j = 0; j < message->count; j++) {
            struct crossed *link = &flows->links[links_of(flows, message)[j]];
            link->left_Bps = fmax(0, link->left_Bps - rate_Bps);
            link->crossing--;
        }
    }
}

/* The rates of all messages that are left; the link that filled last. */
static bool find_rates(struct ll_flows *flows, uint64_t *slowest)
{
    double rate_Bps;
    bool right = count_crossings(flows) && list_crossers(flows);
    flows->failed = !right; /* for good: what was counted on the links stays there */
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

static bool add_end(struct ll_flows *flows, double sent_s, double latency_s)
{
    if (!ll_grow(&flows->ends, &flows->end_capacity, flows->end_count + 1, sizeof *flows->ends))
        return false;
    flows->ends[flows->end_count++] = (struct ll_flow_end){sent_s, latency_s};
    return true;
}

/* The longest latency of those that ended. */
static double advance(struct ll_flows *flows, double step_s)
{
    double latency_s = 0;
    for (uint64_t i = 0; i < flows->count; i++) {
        struct message *message = &flows->messages[i];
        if (message->left_bytes <= 0 || message->count == 0)
            continue;
        double left = message->left_bytes - message->rate_Bps * step_s;
        message->left_bytes = left > message->rate_Bps * step_s * 1e-12 ? left : 0;
        if (message->left_bytes == 0)
            latency_s = fmax(latency_s, message->latency_s);
    }
    return latency_s;
}

static bool run_to_end(struct ll_flows *flows, struct ll_flow_times *times)
{
    for (uint64_t slowest; find_rates(flows, &slowest);) {
        double step_s = until_next_end_s(flows);
        if (isinf(step_s))
            return true;
        times->busiest = slowest;
        times->sent_s += step_s;
        if (!add_end(flows, times->sent_s, advance(flows, step_s)))
            return false;
    }
    return false;
}

bool ll_flows_run(struct ll_flows *flows, struct ll_flow_times *times)
{
    double empty_s = 0; /* the longest latency of messages without bytes */
    *times = (struct ll_flow_times){.busiest = UINT64_MAX};
    flows->end_count = 0;
    if (flows->failed || flows->path.failed)
        return false;
    for (uint64_t i = 0; i < flows->count; i++) {
        const struct message *message = &flows->messages[i];
        times->latency_s = fmax(times->latency_s, message->latency_s);
        times->mean_latency_s += message->latency_s / (double)flows->count;
        empty_s = message->left_bytes <= 0 ? fmax(empty_s, message->latency_s) : empty_s;
    }
    if (!add_end(flows, 0, empty_s) || !run_to_end(flows, times))
        return false;
    for (uint64_t i = 0; i < flows->end_count; i++)
        times->done_s = fmax(times->done_s, flows->ends[i].sent_s + flows->ends[i].latency_s);
    return true;
}

const struct ll_flow_end *ll_flows_ends(const struct ll_flows *flows, uint64_t *count)
{
    *count = flows->end_count;
    return flows->ends;
}
