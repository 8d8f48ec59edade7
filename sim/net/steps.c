/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the messages of a step.
 *
 * Where none of the levels that they pass has chunks, a step ends when its last message has arrived. Where
 * one has them, devices run ahead of each other: what latencies add up to along the way counts, not the
 * longest of each step, so that a ring through some slow hops is as slow as they are on the average. What
 * goes through several levels goes by the narrowest of each, whichever of them holds it back: else a faster
 * one could change how a step is done, and not for the better. */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <math.h>

void ll_steps_send(struct ll_steps *steps, uint64_t from_rank, uint64_t to_rank, double bytes)
{
    const struct ll_exchange *e = &steps->exchange;
    steps->tired |= steps->links + ll_solver_sends(steps->solver) * e->groups > steps->worth.links;
    if (steps->tired)
        return;
    uint64_t between = ll_net_level_between(steps->net, e->members[from_rank], e->members[to_rank]);
    const struct ll_network *level = &ll_net_machine(steps->net)->networks[between];
    if (level->chunk_bytes > 0 && (steps->chunk_bytes == 0 || level->chunk_bytes < steps->chunk_bytes))
        steps->chunk_bytes = level->chunk_bytes;
    steps->flagged = steps->messages == 0 ? level->flagged : fmin(steps->flagged, level->flagged);
    steps->step_bytes += bytes;
    steps->pass_s += level->chunk_latency_s;
    steps->messages++;
    ll_solver_send(steps->solver, from_rank, to_rank, bytes);
}

struct step {
    struct ll_flow_times flow;
    double bytes;         /* that a device sends */
    double pass_s;        /* what passing half a chunk on costs, on the average */
    uint64_t chunk_bytes; /* that a device has in flight at once; 0: all */
    double flagged;       /* share of the bandwidth that a protocol with flags reaches; 0: there is none */
};

/* What the messages added so far take; they are then forgotten. They are not worth more than most_s. */
static struct step run(struct ll_steps *steps, double most_s)
{
    struct step step = {.bytes = steps->step_bytes / (double)steps->exchange.size};
    struct ll_worth left = {steps->worth.links - ll_min(steps->links, steps->worth.links), most_s};
    struct ll_solved solved;
    steps->failed |= !ll_solver_run(steps->solver, &steps->exchange, steps->groups, &left, &solved);
    step.flow = solved.times;
    steps->links += solved.links;
    steps->tired |= steps->links > steps->worth.links || solved.too_slow;
    if (steps->messages > 0)
        step.pass_s = step.flow.mean_latency_s + steps->pass_s / (double)steps->messages;
    if (step.flow.busiest != UINT64_MAX) {
        step.chunk_bytes = steps->chunk_bytes;
        step.flagged = steps->flagged;
    }
    steps->step_bytes = steps->pass_s = steps->flagged = 0;
    steps->messages = steps->chunk_bytes = 0;
    return step;
}

/* The same of a step that is done, and comes `times` times, each at least as long as sending takes. */
static struct step end(struct ll_steps *steps, double times)
{
    double left_s = times > 0 ? (steps->worth.time_s - steps->time_s) / times : INFINITY;
    struct step step = run(steps, left_s);
    if (step.flow.busiest != UINT64_MAX)
        steps->busiest = step.flow.busiest;
    steps->sent_bytes += times * step.bytes * (double)steps->exchange.size;
    return step;
}

/* Pieces that go `times` times from device to device, a chunk at a time: each half of a chunk goes on when it
 * is complete, and the first half of the next chunk leaves when the last one has arrived, so that a chunk
 * costs one half more than it has. Of what remains behind the last whole chunk the halves are smaller. A
 * message that nobody passes on is one stream. */
static double chunks_s(const struct step *step, double times)
{
    double halves = 2 * times + 1, chunks = ceil(step->bytes / (double)step->chunk_bytes);
    if (times < 2)
        return step->flow.done_s;
    return halves * (step->flow.sent_s / 2 + chunks * step->pass_s);
}

static double flags_s(const struct step *step, double times)
{
    return times * (step->flow.mean_latency_s + step->flow.sent_s / step->flagged);
}

void ll_steps_end(struct ll_steps *steps, double times)
{
    struct step step = end(steps, times);
    double time_s = step.chunk_bytes > 0 ? chunks_s(&step, times) : times * step.flow.done_s;
    if (step.flagged > 0)
        time_s = fmin(time_s, flags_s(&step, times));
    steps->time_s += time_s;
    steps->rounds += times;
}

/* A stream moves an eighth of a chunk at a time (so do NCCL's trees, 256 KiB where a ring's chunk has 2 MiB),
 * and less where there would be fewer than four pieces on the way. */
struct ll_steps_hop ll_steps_end_hop(struct ll_steps *steps, double hops)
{
    double bytes = steps->exchange.bytes;
    /* The whole stream sends what they do, and more. */
    struct step step = run(steps, steps->worth.time_s - steps->time_s);
    struct ll_steps_hop hop = {.latency_s = step.flow.latency_s, .pass_s = step.pass_s};
    if (step.chunk_bytes > 0)
        hop.pass_s += step.flow.sent_s * fmin((double)step.chunk_bytes / 8 / bytes, 1 / (4 * hops));
    return hop;
}

void ll_steps_end_hops(struct ll_steps *steps, const struct ll_steps_hop *all, double hops)
{
    struct step step = end(steps, 1);
    double time_s = all->pass_s + step.flow.sent_s;
    if (step.flagged > 0)
        time_s = fmin(time_s, all->latency_s + step.flow.sent_s / step.flagged);
    steps->time_s += time_s;
    steps->rounds += hops;
}

void ll_steps_end_in_network(struct ll_steps *steps, const struct ll_network *level)
{
    double n = (double)steps->exchange.size, piece_bytes = n * (double)level->in_network_chunk_bytes;
    struct step step = end(steps, 1);
    double first = fmin(1, piece_bytes / fmax(1, steps->exchange.bytes));
    steps->time_s += 2 * step.pass_s + (1 + first) * step.flow.sent_s / level->in_network;
    steps->rounds += 2;
}

void ll_steps_end_stream(struct ll_steps *steps, double hops)
{
    struct step step = end(steps, 1);
    steps->time_s += hops * step.flow.latency_s + step.flow.sent_s;
    steps->rounds += hops;
}

/* (hops - 1 + c) (latency + sent / c) is least where c = sqrt((hops - 1) sent / latency). */
void ll_steps_end_chunks(struct ll_steps *steps, double hops)
{
    struct ll_flow_times flow = end(steps, 1).flow;
    double further = hops - 1, best_s = INFINITY, best_rounds = hops;
    double ideal = flow.latency_s > 0 ? sqrt(further * flow.sent_s / flow.latency_s) : INFINITY;
    if (isinf(ideal))
        best_s = flow.sent_s;
    for (double c = fmax(1, floor(ideal)); isfinite(c) && c <= fmax(1, ceil(ideal)); c++) {
        double time_s = (further + c) * (flow.latency_s + flow.sent_s / c);
        best_rounds = time_s < best_s ? further + c : best_rounds;
        best_s = fmin(best_s, time_s);
    }
    steps->time_s += best_s;
    steps->rounds += best_rounds;
}
