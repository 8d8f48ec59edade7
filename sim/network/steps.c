/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the messages of a step. The first section solves messages that share links; the second
 * sends the steps of an exchange and remembers what was solved.
 *
 * Until all is sent: rates by progressive filling, then time runs to the next message that ends.
 *
 *   filling: of all links in use, the one with the least left / unfilled messages goes full first;
 *            its messages get that rate, their other links lose it; again until no message is left */
#include "sim/network/steps.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"

struct message {
    uint64_t first, count; /* of its links */
    double left_bytes, latency_s, rate_Bps;
    bool filled; /* has its rate, or needs none */
};

/* A link of the net. */
struct crossed {
    double Bps; /* what it carries; 0: nobody has asked yet */
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
    uint64_t times;        /* for how many messages on other links each of them stands, itself included */
    struct crossed *links; /* of the net */
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
    flows->times = 1;
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

/* Forgets all messages; each that comes stands for so many that do the same on other links. */
static void flows_clear(struct ll_flows *flows, uint64_t times)
{
    flows->path.count = flows->count = 0;
    flows->times = times;
}

/* Links of all messages that were added, one counted for each that crosses it. */
static uint64_t flows_links(const struct ll_flows *flows)
{
    return flows->path.count * flows->times;
}

void ll_flows_add(struct ll_flows *flows, uint64_t from, uint64_t to, double bytes)
{
    assert(bytes >= 0);
    uint64_t first = flows->path.count;
    if (!ll_grow(&flows->messages, &flows->capacity, flows->count + 1, sizeof *flows->messages)) {
        flows->failed = true;
        return;
    }
    double latency_s = ll_net_route(flows->net, from, to, &flows->path);
    flows->messages[flows->count++] = (struct message){
        .first = first, .count = flows->path.count - first, .left_bytes = bytes, .latency_s = latency_s};
}

static double carried_Bps(struct ll_flows *flows, uint64_t at)
{
    struct crossed *link = &flows->links[at];
    if (link->Bps == 0)
        link->Bps = ll_net_link_Bps(flows->net, at);
    return link->Bps;
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
            const double so_far_s = link->bytes / carried_Bps(flows, at);
            least_s = so_far_s > least_s ? so_far_s : least_s;
        }
    }
    assert(least_s >= 0);
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
            link->left_Bps = carried_Bps(flows, at);
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

/* The sum after `term`, which is not negative, has been added so many times, rounded each time. As long as
 * sums lie between two powers of two each addition adds the same, which is `term` rounded, but where that
 * is a tie. */
static double add_times(double sum, double term, uint64_t times)
{
    for (; times > 0; times--) {
        const double next = sum + term, added = next - sum;
        int exponent;
        frexp(next, &exponent);
        const double limit = ldexp(1, exponent), unit = ldexp(1, exponent - 53);
        sum = next;
        if (times < 8 || added <= 0 || next - added < limit / 2 || !(fabs(term - added) < unit / 2))
            continue;
        const double further = fmin((double)(times - 1), floor((limit - next) / added) - 1);
        if (further < 1)
            continue;
        sum += further * added;
        times -= (uint64_t)further;
    }
    return sum;
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
        const double share_s = message->latency_s / (double)(flows->count * flows->times);
        times->mean_latency_s = add_times(times->mean_latency_s, share_s, flows->times);
        empty_s = message->left_bytes <= 0 ? fmax(empty_s, message->latency_s) : empty_s;
    }
    if (!add_end(flows, 0, empty_s) || !run_to_end(flows, times))
        return false;
    for (uint64_t i = 0; i < flows->end_count; i++)
        times->done_s = fmax(times->done_s, flows->ends[i].sent_s + flows->ends[i].latency_s);
    assert(times->latency_s >= 0 && times->sent_s >= 0 && times->done_s >= times->sent_s);
    assert(times->mean_latency_s <= times->latency_s * (1 + 1e-9));
    return true;
}

static const struct ll_flow_end *flows_ends(const struct ll_flows *flows, uint64_t *count)
{
    *count = flows->end_count;
    return flows->ends;
}

/* The steps of an algorithm: messages are collected, groups that behave alike are simulated once, and the
 * flows of each distinct step are solved and remembered.
 *
 * Two sections: how a step is sent (chunks in halves, streams, hops), and the solver that remembers the
 * times of message patterns. */

/* What becomes of the messages of a step.
 *
 * Where none of the levels that they pass has chunks, a step ends when its last message has arrived. Where
 * one has them, devices run ahead of each other: what latencies add up to along the way counts, not the
 * longest of each step, so that a ring through some slow hops is as slow as they are on the average. What
 * goes through several levels goes by the narrowest of each, whichever of them holds it back: else a faster
 * one could change how a step is done, and not for the better. */

/* What a byte takes between two ranks of a group, or in the mean over all. */
static double path_j(struct ll_steps *steps, uint64_t group, uint64_t from_rank, uint64_t to_rank)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t begin = group == LL_EACH_GROUP ? 0 : group, end = group == LL_EACH_GROUP ? e->groups : group + 1;
    steps->path->count = 0;
    for (uint64_t first = begin * e->size; first < end * e->size; first += e->size)
        ll_net_route(steps->net, e->members[first + from_rank], e->members[first + to_rank], steps->path);
    steps->failed |= steps->path->failed;
    return ll_net_path_j(steps->net, steps->path) / (double)(end - begin);
}

void ll_steps_record_release(struct ll_steps_record *record)
{
    free(record->at);
    free(record->messages);
    *record = (struct ll_steps_record){0};
}

void ll_steps_record_add(struct ll_steps_record *record, const struct ll_ended *ended)
{
    if (!record)
        return;
    record->failed |= !ll_grow(&record->at, &record->capacity, record->count + 1, sizeof *record->at);
    if (record->failed)
        return;
    struct ll_ended *at = &record->at[record->count++];
    *at = *ended;
    at->first_message = record->open;
    at->messages = record->message_count - record->open;
    record->open = record->message_count;
}

static void record_message(struct ll_steps *steps, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                           double bytes)
{
    const struct ll_exchange *e = &steps->exchange;
    struct ll_steps_record *record = steps->record;
    bool each = group == LL_EACH_GROUP;
    uint64_t begin = each ? 0 : group, end = each ? e->groups : group + 1;
    record->failed |= !ll_grow(&record->messages, &record->message_capacity,
                               record->message_count + e->groups, sizeof *record->messages);
    for (uint64_t g = begin; !record->failed && g < end; g++)
        record->messages[record->message_count++] = (struct ll_recorded_message){
            e->members[g * e->size + from_rank], e->members[g * e->size + to_rank], bytes, g == begin};
}

static void solver_send(struct ll_solver *solver, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                        double bytes);

static uint64_t solver_sends(const struct ll_solver *solver);

/* Bytes and energy are counted as those of one group, the mean. */
void ll_steps_send_in(struct ll_steps *steps, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                      double bytes)
{
    const struct ll_exchange *e = &steps->exchange;
    bool each = group == LL_EACH_GROUP;
    const uint64_t *members = e->members + (each ? 0 : group * e->size);
    double share = each ? 1 : 1 / (double)e->groups;
    assert(from_rank < e->size && to_rank < e->size && bytes >= 0 && (each || group < e->groups));
    steps->exhausted |=
        steps->links + solver_sends(steps->solver) * (each ? e->groups : 1) > steps->worth.links;
    if (steps->exhausted)
        return;
    uint64_t between = ll_net_level_between(steps->net, members[from_rank], members[to_rank]);
    const struct ll_network *level = &ll_net_machine(steps->net)->networks[between];
    if (level->chunk_bytes > 0 && (steps->chunk_bytes == 0 || level->chunk_bytes < steps->chunk_bytes))
        steps->chunk_bytes = level->chunk_bytes;
    steps->ll = steps->messages == 0 ? level->ll_efficiency : fmin(steps->ll, level->ll_efficiency);
    steps->step_bytes += bytes * share;
    if (steps->path)
        steps->step_j += bytes * share * path_j(steps, group, from_rank, to_rank);
    steps->pass_s += level->chunk_latency_s;
    steps->messages++;
    solver_send(steps->solver, group, from_rank, to_rank, bytes);
    if (steps->record)
        record_message(steps, group, from_rank, to_rank, bytes);
}

void ll_steps_send(struct ll_steps *steps, uint64_t from_rank, uint64_t to_rank, double bytes)
{
    ll_steps_send_in(steps, LL_EACH_GROUP, from_rank, to_rank, bytes);
}

static bool ll_solver_run(struct ll_solver *solver, const struct ll_exchange *e, uint32_t groups,
                          const struct ll_worth *worth, struct ll_solved *solved);

/* What the messages added so far take; they are then forgotten. They are not worth more than most_s. */
static struct ll_sent_step run(struct ll_steps *steps, double most_s)
{
    struct ll_sent_step step = {.bytes = steps->step_bytes / (double)steps->exchange.size,
                                .links_j = steps->step_j};
    struct ll_worth left = {steps->worth.links - ll_min(steps->links, steps->worth.links), most_s};
    struct ll_solved solved;
    steps->failed |= !ll_solver_run(steps->solver, &steps->exchange, steps->groups, &left, &solved);
    step.flow = solved.times;
    steps->links += solved.links;
    steps->exhausted |= steps->links > steps->worth.links || solved.too_slow;
    if (steps->messages > 0)
        step.pass_s = step.flow.mean_latency_s + steps->pass_s / (double)steps->messages;
    if (step.flow.busiest != UINT64_MAX) {
        step.chunk_bytes = steps->chunk_bytes;
        step.ll = steps->ll;
    }
    steps->step_bytes = steps->step_j = steps->pass_s = steps->ll = 0;
    steps->messages = steps->chunk_bytes = 0;
    return step;
}

/* The same of a step that is done, and comes `times` times, each at least as long as sending takes. */
static struct ll_sent_step end(struct ll_steps *steps, double times)
{
    double left_s = times > 0 ? (steps->worth.time_s - steps->time_s) / times : INFINITY;
    struct ll_sent_step step = run(steps, left_s);
    if (step.flow.busiest != UINT64_MAX)
        steps->busiest = step.flow.busiest;
    steps->sent_bytes += times * step.bytes * (double)steps->exchange.size;
    steps->links_j += times * step.links_j;
    return step;
}

/* Pieces that go `times` times from device to device, a chunk at a time: each half of a chunk goes on when it
 * is complete, and the first half of the next chunk leaves when the last one has arrived, so that a chunk
 * costs one half more than it has. Of what remains behind the last whole chunk the halves are smaller. A
 * message that nobody passes on is one stream. */
double ll_sent_step_chunks_s(const struct ll_sent_step *step, double times)
{
    double halves = 2 * times + 1, chunks = ceil(step->bytes / (double)step->chunk_bytes);
    if (times < 2)
        return step->flow.done_s;
    return halves * (step->flow.sent_s / 2 + chunks * step->pass_s);
}

static double ll_s(const struct ll_sent_step *step, double times)
{
    return times * (step->flow.mean_latency_s + step->flow.sent_s / step->ll);
}

/* What of a step fills the slots of a ring's buffers. A slot is a quarter of a chunk: NCCL's buffers have
 * eight slots, and a chunk is half of them. */
static double slot_of(const struct ll_steps *steps, const struct ll_sent_step *step)
{
    if (steps->protocol->fill == 0 || step->bytes == 0)
        return 0;
    return fmin(1, (double)step->chunk_bytes / 4 / step->bytes) * log2((double)steps->exchange.size);
}

/* Adds a step that has ended to the sums, and to the record. */
static void take(struct ll_steps *steps, const struct ll_ended *ended, double rounds)
{
    assert(ended->time_s >= 0 && rounds >= 0);
    ll_steps_record_add(steps->record, ended);
    steps->time_s += ended->time_s;
    steps->rounds += rounds;
}

/* Ends `hops` dependent messages in the protocol at hand, of which the bytes count `times` times. */
static void end_in_protocol(struct ll_steps *steps, double times, double hops)
{
    struct ll_sent_step step = end(steps, times);
    const struct ll_protocol *protocol = steps->protocol;
    double sent_s = step.flow.sent_s / protocol->share, slot = slot_of(steps, &step);
    double time_s = protocol->start_s + protocol->latencies * hops * step.flow.mean_latency_s +
                    (times + protocol->steps) * sent_s + protocol->fill * slot * sent_s;
    take(steps,
         &(struct ll_ended){.ending = LL_ENDED_PROTOCOL,
                            .step = step,
                            .times = times,
                            .hops = hops,
                            .protocol = *protocol,
                            .slot = slot,
                            .time_s = time_s},
         hops);
}

double ll_steps_end_sent(struct ll_steps *steps)
{
    struct ll_sent_step step = end(steps, 1);
    ll_steps_record_add(steps->record, &(struct ll_ended){.ending = LL_ENDED_SENT, .step = step});
    return step.flow.sent_s;
}

void ll_steps_add(struct ll_steps *steps, double time_s, double rounds)
{
    assert(time_s >= 0 && rounds >= 0);
    steps->time_s += time_s;
    steps->rounds += rounds;
}

void ll_steps_end(struct ll_steps *steps, double times)
{
    if (steps->protocol) {
        end_in_protocol(steps, times, times);
        return;
    }
    struct ll_sent_step step = end(steps, times);
    double time_s = step.chunk_bytes > 0 ? ll_sent_step_chunks_s(&step, times) : times * step.flow.done_s;
    if (step.ll > 0)
        time_s = fmin(time_s, ll_s(&step, times));
    assert(times >= 0);
    take(steps, &(struct ll_ended){.ending = LL_ENDED_TIMES, .step = step, .times = times, .time_s = time_s},
         times);
}

/* A stream moves an eighth of a chunk at a time (so do NCCL's trees, 256 KiB where a ring's chunk has 2 MiB),
 * and less where there would be fewer than four pieces on the way. */
struct ll_steps_hop ll_steps_end_hop(struct ll_steps *steps, double hops)
{
    double bytes = steps->exchange.bytes, fill_s = 0;
    /* The whole stream sends what they do, and more. */
    struct ll_sent_step step = run(steps, steps->worth.time_s - steps->time_s);
    if (step.chunk_bytes > 0)
        fill_s = step.flow.sent_s * fmin((double)step.chunk_bytes / 8 / bytes, 1 / (4 * hops));
    ll_steps_record_add(steps->record, &(struct ll_ended){.ending = LL_ENDED_HOP,
                                                          .step = step,
                                                          .hops = hops,
                                                          .fill_s = fill_s,
                                                          .time_s = step.pass_s + fill_s});
    return (struct ll_steps_hop){.latency_s = step.flow.latency_s, .pass_s = step.pass_s + fill_s};
}

void ll_steps_end_hops(struct ll_steps *steps, const struct ll_steps_hop *all, double hops)
{
    struct ll_sent_step step = end(steps, 1);
    double time_s = all->pass_s + step.flow.sent_s;
    if (step.ll > 0)
        time_s = fmin(time_s, all->latency_s + step.flow.sent_s / step.ll);
    take(steps,
         &(struct ll_ended){
             .ending = LL_ENDED_HOPS, .step = step, .hops = hops, .trees = {.all = *all}, .time_s = time_s},
         hops);
}

/* The first chunk of each device has been added up before copies of it go out, so that it counts twice; a
 * protocol says how much of that shows. */
void ll_steps_end_in_network(struct ll_steps *steps, const struct ll_network *level)
{
    assert(level->in_network > 0);
    double n = (double)steps->exchange.size, piece_bytes = n * (double)level->in_network_chunk_bytes;
    double first = fmin(1, piece_bytes / fmax(1, steps->exchange.bytes));
    const struct ll_protocol *protocol = steps->protocol;
    struct ll_sent_step step = end(steps, 1);
    double time_s = 2 * step.pass_s + (1 + first) * step.flow.sent_s / level->in_network;
    if (protocol)
        time_s = protocol->start_s + protocol->latencies * 2 * step.flow.mean_latency_s +
                 (1 + protocol->fill * first) * (step.flow.sent_s / (level->in_network * protocol->share));
    take(steps,
         &(struct ll_ended){.ending = LL_ENDED_IN_NETWORK,
                            .step = step,
                            .protocol = protocol ? *protocol : (struct ll_protocol){0},
                            .in_network = level->in_network,
                            .devices = n,
                            .chunk_bytes = (double)level->in_network_chunk_bytes,
                            .bytes = steps->exchange.bytes,
                            .first = first,
                            .time_s = time_s},
         2);
}

void ll_steps_end_stream(struct ll_steps *steps, double hops)
{
    if (steps->protocol) {
        end_in_protocol(steps, 1, hops);
        return;
    }
    struct ll_sent_step step = end(steps, 1);
    double time_s = hops * step.flow.latency_s + step.flow.sent_s;
    take(steps, &(struct ll_ended){.ending = LL_ENDED_STREAM, .step = step, .hops = hops, .time_s = time_s},
         hops);
}

/* (hops - 1 + c) (latency + sent / c) is least where c = sqrt((hops - 1) sent / latency). */
void ll_steps_end_chunks(struct ll_steps *steps, double hops)
{
    struct ll_sent_step step = end(steps, 1);
    struct ll_flow_times flow = step.flow;
    double further = hops - 1, best_s = INFINITY, best_rounds = hops;
    double ideal = flow.latency_s > 0 ? sqrt(further * flow.sent_s / flow.latency_s) : INFINITY;
    if (isinf(ideal))
        best_s = flow.sent_s;
    for (double c = fmax(1, floor(ideal)); isfinite(c) && c <= fmax(1, ceil(ideal)); c++) {
        double time_s = (further + c) * (flow.latency_s + flow.sent_s / c);
        best_rounds = time_s < best_s ? further + c : best_rounds;
        best_s = fmin(best_s, time_s);
    }
    assert(best_s <= hops * (flow.latency_s + flow.sent_s) * (1 + 1e-9));
    take(steps,
         &(struct ll_ended){.ending = LL_ENDED_CHUNKS,
                            .step = step,
                            .hops = hops,
                            .chunks = isinf(ideal) ? INFINITY : best_rounds - further,
                            .rounds = best_rounds,
                            .time_s = best_s},
         best_rounds);
}

/* Messages as they are compared, byte by byte: no padding. Bytes are a share of the first message's. What
 * stands before the first says whose they are: the number of the groups, and the devices of one. */
struct send {
    uint32_t from, to;
    uint64_t group; /* UINT64_MAX: each */
    double bytes;
};

/* A pattern that was looked at. */
struct solution {
    bool complete;  /* solved */
    bool counted;   /* else links were counted until there were too many */
    uint64_t links; /* that all messages cross */
    double least_s; /* of one byte, as ll_flows_least_s has it, once links are counted */
    double latency_s, mean_latency_s;
    uint64_t busiest, end_count;
    const struct ll_flow_end *ends; /* in the arena, of one byte */
};

struct ll_solver {
    const struct ll_net *net;
    struct ll_flows *flows;
    struct ll_map lists, groups, patterns; /* lists of members; what has such a list, struct whose */
    struct ll_grouping *groupings;         /* by number in `groups` */
    uint64_t grouping_capacity;
    struct solution *solutions; /* by pattern */
    uint64_t solution_capacity;
    struct ll_arena arena;
    struct send *sends; /* of the step under way, behind the place of whose they are */
    uint64_t count, capacity;
    bool failed;
};

struct ll_solver *ll_solver_new(const struct ll_net *net)
{
    struct ll_solver *solver = calloc(1, sizeof *solver);
    if (!solver)
        return NULL;
    solver->net = net;
    solver->flows = ll_flows_new(net);
    if (solver->flows)
        return solver;
    free(solver);
    return NULL;
}

void ll_solver_free(struct ll_solver *solver)
{
    if (!solver)
        return;
    ll_flows_free(solver->flows);
    ll_map_release(&solver->lists);
    ll_map_release(&solver->groups);
    free(solver->groupings);
    ll_map_release(&solver->patterns);
    ll_arena_release(&solver->arena);
    free(solver->solutions);
    free(solver->sends);
    free(solver);
}

const struct ll_net *ll_solver_net(const struct ll_solver *solver)
{
    return solver->net;
}

/* Groups as they are compared: members that the solver holds, in so many groups of such a size. */
struct whose {
    const uint64_t *members;
    uint64_t size, groups;
};

static uint32_t number_of(const struct ll_solver *solver, const struct ll_exchange *e)
{
    const struct whose key = {e->members, e->size, e->groups};
    return ll_map_find(&solver->groups, &key, sizeof key);
}

struct ll_grouping *ll_solver_grouping(struct ll_solver *solver, const struct ll_exchange *e)
{
    const uint32_t number = solver ? number_of(solver, e) : LL_NO_ID;
    return number == LL_NO_ID ? NULL : &solver->groupings[number];
}

uint32_t ll_solver_groups(struct ll_solver *solver, struct ll_exchange *e)
{
    assert(e->size > 0 && e->groups > 0);
    uint32_t number = number_of(solver, e);
    if (number != LL_NO_ID)
        return number;
    const uint64_t known = solver->groups.count;
    if (!ll_grow(&solver->groupings, &solver->grouping_capacity, known + 1, sizeof *solver->groupings))
        return LL_NO_ID;
    uint32_t list = ll_map_intern(&solver->lists, e->members, e->groups * e->size * sizeof *e->members, NULL);
    if (list == LL_NO_ID)
        return LL_NO_ID;
    e->members = solver->lists.entries[list].bytes;
    const struct whose key = {e->members, e->size, e->groups};
    number = ll_map_intern(&solver->groups, &key, sizeof key, NULL);
    if (number == known)
        solver->groupings[number] = (struct ll_grouping){0};
    return number;
}

/* One more message between two ranks of a group; UINT64_MAX: of each. */
static void solver_send(struct ll_solver *solver, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                        double bytes)
{
    if (!ll_grow(&solver->sends, &solver->capacity, solver->count + 2, sizeof *solver->sends)) {
        solver->failed = true;
        return;
    }
    solver->sends[++solver->count] = (struct send){(uint32_t)from_rank, (uint32_t)to_rank, group, bytes};
}

/* How many there are, and an end of them. */
static uint64_t solver_sends(const struct ll_solver *solver)
{
    return solver->count;
}

/* A message crosses a link at least, and two through a switch. */
bool ll_steps_are_worth(struct ll_steps *steps, uint64_t messages)
{
    const struct ll_machine *machine = ll_net_machine(steps->net);
    uint64_t least = 2;
    for (uint64_t l = 0; l < machine->network_count; l++)
        if (machine->networks[l].topology != LL_TOPOLOGY_SWITCH)
            least = 1;
    const uint64_t links = ll_mul(ll_mul(messages, steps->exchange.groups), least);
    steps->exhausted |= ll_add(steps->links, links) > steps->worth.links;
    return !steps->exhausted;
}

void ll_solver_forget(struct ll_solver *solver)
{
    solver->count = 0;
}

/* Makes shares of bytes; the bytes of a whole one. */
static double take_shares(struct ll_solver *solver)
{
    double whole = solver->sends[1].bytes > 0 ? solver->sends[1].bytes : 1;
    for (uint64_t i = 1; i <= solver->count; i++)
        solver->sends[i].bytes /= whole;
    return whole;
}

/* All groups' messages become flows, as long as they cross no more links; those of the first stand for all
 * where groups do not meet. */
static bool add_flows(struct ll_solver *solver, const struct ll_exchange *e, uint64_t most_links)
{
    bool alike = true;
    for (uint64_t i = 1; i <= solver->count; i++)
        alike &= solver->sends[i].group == UINT64_MAX;
    const bool first_alone = alike && ll_groups_are_apart(solver, e);
    const uint64_t groups = first_alone ? 1 : e->groups;
    flows_clear(solver->flows, first_alone ? e->groups : 1);
    for (uint64_t i = 1; i <= solver->count && flows_links(solver->flows) <= most_links; i++) {
        const struct send *send = &solver->sends[i];
        bool each = send->group == UINT64_MAX;
        for (uint64_t g = each ? 0 : send->group; g < (each ? groups : send->group + 1); g++)
            ll_flows_add(solver->flows, e->members[g * e->size + send->from],
                         e->members[g * e->size + send->to], send->bytes);
    }
    return flows_links(solver->flows) <= most_links;
}

/* Whether `whole` bytes take longer than is worth it, however links are shared; rounding aside. */
static bool is_too_slow(const struct solution *solution, double whole, double most_s)
{
    return solution->counted && solution->least_s * whole > most_s * (1 + 1e-9);
}

/* As far as it is worth it. */
static bool solve(struct ll_solver *solver, const struct ll_exchange *e, double whole,
                  const struct ll_worth *worth, struct solution *solution)
{
    struct ll_flow_times times;
    bool counted = add_flows(solver, e, worth->links);
    *solution = (struct solution){.counted = counted, .links = flows_links(solver->flows)};
    if (!counted)
        return true;
    solution->least_s = ll_flows_least_s(solver->flows);
    if (is_too_slow(solution, whole, worth->time_s))
        return true;
    if (!ll_flows_run(solver->flows, &times))
        return false;
    const struct ll_flow_end *ends = flows_ends(solver->flows, &solution->end_count);
    solution->ends = ll_copy(&solver->arena, ends, solution->end_count * sizeof *ends);
    solution->latency_s = times.latency_s;
    solution->mean_latency_s = times.mean_latency_s;
    solution->busiest = times.busiest;
    solution->complete = solution->ends != NULL;
    return solution->complete;
}

static struct ll_solved scale(const struct solution *solution, double whole)
{
    struct ll_solved solved = {.links = solution->links, .times = {.busiest = UINT64_MAX}};
    if (!solution->complete)
        return solved;
    solved.times.busiest = solution->busiest;
    solved.times.latency_s = solution->latency_s;
    solved.times.mean_latency_s = solution->mean_latency_s;
    for (uint64_t i = 0; i < solution->end_count; i++) {
        double sent_s = solution->ends[i].sent_s * whole;
        solved.times.sent_s = fmax(solved.times.sent_s, sent_s);
        solved.times.done_s = fmax(solved.times.done_s, sent_s + solution->ends[i].latency_s);
    }
    return solved;
}

static bool solver_run(struct ll_solver *solver, const struct ll_exchange *e, uint32_t groups,
                       const struct ll_worth *worth, struct ll_solved *solved)
{
    double whole = take_shares(solver);
    uint64_t known = solver->patterns.count;
    if (!ll_grow(&solver->solutions, &solver->solution_capacity, known + 1, sizeof *solver->solutions))
        return false;
    solver->sends[0] = (struct send){.from = groups, .bytes = (double)e->size};
    uint32_t id =
        ll_map_intern(&solver->patterns, solver->sends, (solver->count + 1) * sizeof *solver->sends, NULL);
    if (id == LL_NO_ID)
        return false;
    struct solution *solution = &solver->solutions[id];
    if (id == known)
        *solution = (struct solution){0};
    bool hopeless = solution->links > worth->links || is_too_slow(solution, whole, worth->time_s);
    if (!solution->complete && !hopeless && !solve(solver, e, whole, worth, solution))
        return false;
    *solved = scale(solution, whole);
    solved->too_slow = is_too_slow(solution, whole, worth->time_s);
    return true;
}

/* Those sent since the last end, done by all groups of the exchange, whose number this is. Forgets them.
 * False when memory ran out. */
static bool ll_solver_run(struct ll_solver *solver, const struct ll_exchange *e, uint32_t groups,
                          const struct ll_worth *worth, struct ll_solved *solved)
{
    *solved = (struct ll_solved){.times = {.busiest = UINT64_MAX}};
    bool done = !solver->failed && groups != LL_NO_ID &&
                (solver->count == 0 || solver_run(solver, e, groups, worth, solved));
    ll_solver_forget(solver);
    return done;
}
