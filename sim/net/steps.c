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

/* Bytes and energy are counted as those of one group, the mean. */
void ll_steps_send_in(struct ll_steps *steps, uint64_t group, uint64_t from_rank, uint64_t to_rank,
                      double bytes)
{
    const struct ll_exchange *e = &steps->exchange;
    bool each = group == LL_EACH_GROUP;
    const uint64_t *members = e->members + (each ? 0 : group * e->size);
    double share = each ? 1 : 1 / (double)e->groups;
    steps->tired |=
        steps->links + ll_solver_sends(steps->solver) * (each ? e->groups : 1) > steps->worth.links;
    if (steps->tired)
        return;
    uint64_t between = ll_net_level_between(steps->net, members[from_rank], members[to_rank]);
    const struct ll_network *level = &ll_net_machine(steps->net)->networks[between];
    if (level->chunk_bytes > 0 && (steps->chunk_bytes == 0 || level->chunk_bytes < steps->chunk_bytes))
        steps->chunk_bytes = level->chunk_bytes;
    steps->flagged = steps->messages == 0 ? level->flagged : fmin(steps->flagged, level->flagged);
    steps->step_bytes += bytes * share;
    if (steps->path)
        steps->step_j += bytes * share * path_j(steps, group, from_rank, to_rank);
    steps->pass_s += level->chunk_latency_s;
    steps->messages++;
    ll_solver_send(steps->solver, group, from_rank, to_rank, bytes);
    ll_told_send(steps->told, group, from_rank, to_rank, bytes);
}

void ll_steps_send(struct ll_steps *steps, uint64_t from_rank, uint64_t to_rank, double bytes)
{
    ll_steps_send_in(steps, LL_EACH_GROUP, from_rank, to_rank, bytes);
}

struct step {
    struct ll_flow_times flow;
    double bytes;         /* that a device sends */
    double links_j;       /* of all devices together */
    double pass_s;        /* what passing half a chunk on costs, on the average */
    uint64_t chunk_bytes; /* that a device has in flight at once; 0: all */
    double flagged;       /* share of the bandwidth that a protocol with flags reaches; 0: there is none */
};

/* What the messages added so far take; they are then forgotten. They are not worth more than most_s. */
static struct step run(struct ll_steps *steps, double most_s)
{
    struct step step = {.bytes = steps->step_bytes / (double)steps->exchange.size, .links_j = steps->step_j};
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
    steps->step_bytes = steps->step_j = steps->pass_s = steps->flagged = 0;
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
    steps->links_j += times * step.links_j;
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

/* What a device sends in a step, of all. */
static void tell_chunks(struct ll_told *told, const struct step *step, double times, double time_s)
{
    const double chunk = (double)step->chunk_bytes, sent_s = step->flow.sent_s;
    if (!told)
        return;
    ll_told_say(told, "a device sends in a step: %.10g / %.10g = %.10g B", told->exchange->bytes,
                told->exchange->bytes / step->bytes, step->bytes);
    ll_told_say(told,
                "%.10g steps, half a chunk behind the other: (2 * %.10g + 1) * (%.10g / 2 + ceil(%.10g / "
                "%.10g) * %.10g) = %.10g s",
                times, times, sent_s, step->bytes, chunk, step->pass_s, time_s);
}

static void tell_end(struct ll_told *told, const struct step *step, double times, double time_s)
{
    bool chunks = step->chunk_bytes > 0 && times >= 2;
    unsigned mean = chunks || step->flagged > 0 ? LL_TOLD_MEAN : 0, last = chunks ? 0 : LL_TOLD_LAST;
    ll_told_flow(told, &step->flow, chunks ? step->pass_s : 0, mean | last);
    double plain_s = step->chunk_bytes > 0 ? chunks_s(step, times) : times * step->flow.done_s;
    if (chunks)
        tell_chunks(told, step, times, plain_s);
    else
        ll_told_say(told, "%.10g step%s: %.10g * (%.10g + %.10g) = %.10g s", times, times == 1 ? "" : "s",
                    times, step->flow.sent_s, step->flow.done_s - step->flow.sent_s, plain_s);
    if (step->flagged > 0)
        ll_told_say(told,
                    "with flags in place of whole pieces, as far as that is faster: min(%.10g, %.10g * "
                    "(%.10g + %.10g / %.10g)) = %.10g s",
                    plain_s, times, step->flow.mean_latency_s, step->flow.sent_s, step->flagged, time_s);
    ll_told_part(told, time_s);
}

void ll_steps_end(struct ll_steps *steps, double times)
{
    struct step step = end(steps, times);
    double time_s = step.chunk_bytes > 0 ? chunks_s(&step, times) : times * step.flow.done_s;
    if (step.flagged > 0)
        time_s = fmin(time_s, flags_s(&step, times));
    if (steps->told)
        tell_end(steps->told, &step, times, time_s);
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
    ll_told_flow(steps->told, &step.flow, step.pass_s, LL_TOLD_LONGEST | LL_TOLD_MEAN);
    if (step.chunk_bytes > 0) {
        hop.pass_s += step.flow.sent_s * fmin((double)step.chunk_bytes / 8 / bytes, 1 / (4 * hops));
        ll_told_say(steps->told,
                    "a hop, until a piece is complete: %.10g + %.10g * min(%.10g / 8 / %.10g, 1 / (4 * "
                    "%.10g)) = %.10g s",
                    step.pass_s, step.flow.sent_s, (double)step.chunk_bytes, bytes, hops, hop.pass_s);
    }
    return hop;
}

void ll_steps_end_hops(struct ll_steps *steps, const struct ll_steps_hop *all, double hops)
{
    struct step step = end(steps, 1);
    double time_s = all->pass_s + step.flow.sent_s;
    ll_told_flow(steps->told, &step.flow, step.pass_s, 0);
    if (step.flagged > 0)
        time_s = fmin(time_s, all->latency_s + step.flow.sent_s / step.flagged);
    ll_told_say(steps->told, "all hops, and the stream: %.10g + %.10g = %.10g s", all->pass_s,
                step.flow.sent_s, all->pass_s + step.flow.sent_s);
    if (step.flagged > 0)
        ll_told_say(steps->told,
                    "with flags in place of whole pieces, as far as that is faster: min(%.10g, %.10g + %.10g "
                    "/ %.10g) = %.10g s",
                    all->pass_s + step.flow.sent_s, all->latency_s, step.flow.sent_s, step.flagged, time_s);
    ll_told_part(steps->told, time_s);
    steps->time_s += time_s;
    steps->rounds += hops;
}

void ll_steps_end_in_network(struct ll_steps *steps, const struct ll_network *level)
{
    double n = (double)steps->exchange.size, piece_bytes = n * (double)level->in_network_chunk_bytes;
    struct step step = end(steps, 1);
    ll_told_flow(steps->told, &step.flow, step.pass_s, LL_TOLD_MEAN);
    double first = fmin(1, piece_bytes / fmax(1, steps->exchange.bytes));
    double time_s = 2 * step.pass_s + (1 + first) * step.flow.sent_s / level->in_network;
    ll_told_say(steps->told,
                "in and out, the first chunk of each device twice: 2 * %.10g + (1 + min(1, %.10g * %.10g / "
                "%.10g)) * %.10g / %.10g = %.10g s",
                step.pass_s, n, (double)level->in_network_chunk_bytes, steps->exchange.bytes,
                step.flow.sent_s, level->in_network, time_s);
    ll_told_part(steps->told, time_s);
    steps->time_s += time_s;
    steps->rounds += 2;
}

void ll_steps_end_stream(struct ll_steps *steps, double hops)
{
    struct step step = end(steps, 1);
    double time_s = hops * step.flow.latency_s + step.flow.sent_s;
    ll_told_flow(steps->told, &step.flow, step.pass_s, LL_TOLD_LONGEST);
    ll_told_say(steps->told, "a stream through %.10g hops: %.10g * %.10g + %.10g = %.10g s", hops, hops,
                step.flow.latency_s, step.flow.sent_s, time_s);
    ll_told_part(steps->told, time_s);
    steps->time_s += time_s;
    steps->rounds += hops;
}

/* (hops - 1 + c) (latency + sent / c) is least where c = sqrt((hops - 1) sent / latency). */
void ll_steps_end_chunks(struct ll_steps *steps, double hops)
{
    struct ll_flow_times flow = end(steps, 1).flow;
    ll_told_flow(steps->told, &flow, 0, LL_TOLD_LONGEST);
    double further = hops - 1, best_s = INFINITY, best_rounds = hops;
    double ideal = flow.latency_s > 0 ? sqrt(further * flow.sent_s / flow.latency_s) : INFINITY;
    if (isinf(ideal))
        best_s = flow.sent_s;
    for (double c = fmax(1, floor(ideal)); isfinite(c) && c <= fmax(1, ceil(ideal)); c++) {
        double time_s = (further + c) * (flow.latency_s + flow.sent_s / c);
        best_rounds = time_s < best_s ? further + c : best_rounds;
        best_s = fmin(best_s, time_s);
    }
    double chunks = best_rounds - further;
    if (isinf(ideal))
        ll_told_say(steps->told, "as many chunks as one likes: %.10g + 0 = %.10g s", flow.sent_s, best_s);
    else
        ll_told_say(steps->told,
                    "%.10g rounds of %.10g chunks, the fastest number of them: (%.10g - 1 + %.10g) * (%.10g "
                    "+ %.10g / %.10g) = %.10g s",
                    best_rounds, chunks, hops, chunks, flow.latency_s, flow.sent_s, chunks, best_s);
    ll_told_part(steps->told, best_s);
    steps->time_s += best_s;
    steps->rounds += best_rounds;
}
