/* SPDX-License-Identifier: Apache-2.0 */
/* How an exchange's time came about, in lines that can be recomputed by hand, from the record of its steps.
 * Nothing is worked out here that the record does not have, but for which link is the fullest and whose
 * latency a message's is.
 *
 * The bytes of a step are those of its messages; each message is a part of the exchanged data. The time of a
 * step is that of the fullest link for the messages that cross it, except where messages hold each other back
 * on several links in turn (sim/network/steps.h). A latency is the sum over the links that a message crosses
 * in each level. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "sim/network/steps.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

enum { LINE_LIMIT = 1024, MOST_SIZES = 4 };

/* An exchange being explained: where lines go, and the messages of the step at hand. */
struct printing {
    struct ll_str *lines;
    const struct ll_net *net;
    double bytes; /* of the exchange, or of the one nested in it */
    const struct ll_recorded_message *messages;
    uint64_t count;
};

/* The parts of an exchange's time so far, as "a + b + c". */
struct parts {
    struct ll_str sum;
    uint64_t count;
};

void ll_explain_line(struct ll_str *lines, const char *format, ...)
{
    char text[LINE_LIMIT];
    va_list args;
    va_start(args, format);
    ll_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ll_str_add(lines, text);
    ll_str_add(lines, "\n");
}

static bool is_like(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* --- bytes --- */

/* Messages by their bytes, in the order in which they come; the last kind takes all further ones. */
struct sizes {
    double bytes[MOST_SIZES], times[MOST_SIZES];
    unsigned count;
};

static void count_size(struct sizes *sizes, double bytes)
{
    unsigned i = 0;
    while (i < sizes->count && !is_like(sizes->bytes[i], bytes))
        i++;
    if (i < MOST_SIZES) {
        sizes->bytes[i] = bytes;
        sizes->times[i] += 1;
        sizes->count += i == sizes->count;
        return;
    }
    i = MOST_SIZES - 1; /* so many at once, on the average */
    sizes->bytes[i] = (sizes->bytes[i] * sizes->times[i] + bytes) / (sizes->times[i] + 1);
    sizes->times[i] += 1;
}

/* The link whose bytes take longest; UINT64_MAX: there is none. */
static uint64_t fullest_link(struct printing *p)
{
    double *bytes = calloc(ll_net_links(p->net), sizeof *bytes), most_s = 0;
    struct ll_route path = {0};
    uint64_t fullest = UINT64_MAX;
    for (uint64_t i = 0; bytes && i < p->count; i++) {
        const struct ll_recorded_message *m = &p->messages[i];
        path.count = 0;
        ll_net_route(p->net, m->from, m->to, &path);
        for (uint64_t l = 0; l < path.count; l++) {
            uint64_t link = path.links[l];
            bytes[link] += m->bytes;
            double time_s = bytes[link] / ll_net_link_Bps(p->net, link);
            fullest = time_s > most_s ? link : fullest;
            most_s = fmax(most_s, time_s);
        }
    }
    p->lines->failed |= !bytes || path.failed;
    free(bytes);
    free(path.links);
    return fullest;
}

static struct sizes sizes_on(struct printing *p, uint64_t link)
{
    struct sizes sizes = {0};
    struct ll_route path = {0};
    for (uint64_t i = 0; i < p->count; i++) {
        const struct ll_recorded_message *m = &p->messages[i];
        path.count = 0;
        ll_net_route(p->net, m->from, m->to, &path);
        for (uint64_t l = 0; l < path.count; l++)
            if (path.links[l] == link)
                count_size(&sizes, m->bytes);
    }
    p->lines->failed |= path.failed;
    free(path.links);
    return sizes;
}

static const char *const kind_names[] = {
    [LL_LINK] = "link", [LL_LINK_PORT] = "port", [LL_LINK_GROUP_PORT] = "group's port"};

/* How long the bytes on the fullest link take. */
static double explain_link(struct printing *p, uint64_t link, const struct sizes *sizes)
{
    const struct ll_network *level = ll_net_link_spec(p->net, link);
    enum ll_link_kind kind = ll_net_link_kind(p->net, link);
    double rated_Bps = kind == LL_LINK        ? level->bandwidth_Bps
                       : kind == LL_LINK_PORT ? level->port_Bps
                                              : level->group_port_Bps;
    double Bps = ll_net_link_Bps(p->net, link), wide = Bps / (rated_Bps * level->efficiency), all = 0;
    struct ll_str terms = {0};
    for (unsigned i = 0; i < sizes->count; i++) {
        ll_str_addf(&terms, "%s%.10g * %.10g", i ? " + " : "", sizes->times[i], sizes->bytes[i]);
        all += sizes->times[i] * sizes->bytes[i];
    }
    if (!is_like(wide, 1))
        ll_explain_line(
            p->lines,
            "on the fullest %s of %s, which is so many wide: (%s) / (%.10g * %.10g * %.10g) = %.10g s",
            kind_names[kind], level->name, terms.text, rated_Bps, level->efficiency, wide, all / Bps);
    else
        ll_explain_line(p->lines, "on the fullest %s of %s: (%s) / (%.10g * %.10g) = %.10g s",
                        kind_names[kind], level->name, terms.text, rated_Bps, level->efficiency, all / Bps);
    p->lines->failed |= terms.failed;
    ll_str_release(&terms);
    return all / Bps;
}

static void explain_size(struct printing *p, double bytes)
{
    double all = p->bytes;
    if (bytes <= all)
        ll_explain_line(p->lines, "a message, as a part of all: %.10g / %.10g = %.10g B", all, all / bytes,
                        bytes);
    else
        ll_explain_line(p->lines, "a message, all and some of it again: %.10g * %.10g = %.10g B", all,
                        bytes / all, bytes);
}

static void explain_bytes(struct printing *p, double sent_s)
{
    uint64_t link = fullest_link(p);
    if (link == UINT64_MAX)
        return;
    struct sizes sizes = sizes_on(p, link);
    for (unsigned i = 0; i < sizes.count; i++)
        explain_size(p, sizes.bytes[i]);
    double least_s = explain_link(p, link, &sizes);
    if (!is_like(least_s, sent_s))
        ll_explain_line(
            p->lines,
            "messages that share it wait on other links, so many times as long: %.10g * %.10g = %.10g s",
            least_s, sent_s / least_s, sent_s);
}

/* --- latencies --- */

/* Adds the links that a message crosses to those of their levels; ports are none. */
static void count_links(struct printing *p, const struct ll_recorded_message *m,
                        double by_level[LL_MAX_LINKS])
{
    struct ll_route path = {0};
    ll_net_route(p->net, m->from, m->to, &path);
    const struct ll_network *levels = ll_net_machine(p->net)->networks;
    for (uint64_t l = 0; l < path.count; l++)
        if (ll_net_link_kind(p->net, path.links[l]) == LL_LINK)
            by_level[ll_net_link_spec(p->net, path.links[l]) - levels] += 1;
    p->lines->failed |= path.failed;
    free(path.links);
}

/* "3 * 1e-06 + 2 * 5e-06", "0" where nothing counts. Returns its value. */
static double add_terms(const struct printing *p, const double *times, bool passing, struct ll_str *terms)
{
    const struct ll_machine *machine = ll_net_machine(p->net);
    double sum_s = 0;
    for (uint64_t l = 0; l < machine->network_count; l++) {
        double each_s = passing ? machine->networks[l].chunk_latency_s : machine->networks[l].latency_s;
        if (times[l] * each_s == 0)
            continue;
        ll_str_addf(terms, "%s%.10g * %.10g", terms->length ? " + " : "", times[l], each_s);
        sum_s += times[l] * each_s;
    }
    if (terms->length == 0)
        ll_str_add(terms, "0");
    return sum_s;
}

/* The latency of a message that has this one. */
static void explain_one(struct printing *p, const char *what, double latency_s)
{
    bool found = false;
    for (uint64_t i = 0; !found && i < p->count; i++) {
        double links[LL_MAX_LINKS] = {0};
        struct ll_str terms = {0};
        count_links(p, &p->messages[i], links);
        found = is_like(add_terms(p, links, false, &terms), latency_s);
        if (found)
            ll_explain_line(p->lines, "%s: %s = %.10g s", what, terms.text, latency_s);
        p->lines->failed |= terms.failed;
        ll_str_release(&terms);
    }
}

static double common_divisor(double a, double b)
{
    while (b > 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

/* "%s: (terms) / messages = mean_s", of as few messages as have the same mean. */
static void explain_mean(struct printing *p, const char *what, double *by_level, double count, bool passing,
                         double mean_s)
{
    struct ll_str terms = {0};
    double divisor = count;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        divisor = common_divisor(divisor, by_level[l]);
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        by_level[l] /= divisor;
    add_terms(p, by_level, passing, &terms);
    ll_explain_line(p->lines, "%s: (%s) / %.10g = %.10g s", what, terms.text, count / divisor, mean_s);
    p->lines->failed |= terms.failed;
    ll_str_release(&terms);
}

/* The latency, and what passing half a chunk on costs beside it; what each group sends, all pass on as the
 * first one does. */
static void explain_passing(struct printing *p, double mean_s, double pass_s)
{
    double links[LL_MAX_LINKS] = {0}, between[LL_MAX_LINKS] = {0}, sends = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        const struct ll_recorded_message *m = &p->messages[i];
        count_links(p, m, links);
        between[ll_net_level_between(p->net, m->from, m->to)] += m->first;
        sends += m->first;
    }
    explain_mean(p, "latency, mean of messages", links, (double)p->count, false, mean_s);
    if (!(pass_s > mean_s))
        return;
    explain_mean(p, "half a chunk waits until it is passed on, mean of messages", between, sends, true,
                 pass_s - mean_s);
    ll_explain_line(p->lines, "both: %.10g + %.10g = %.10g s", mean_s, pass_s - mean_s, pass_s);
}

/* Which latencies are shown: the longest one; the mean, together with what passing half a chunk on costs; the
 * latency of the message that arrives last. */
enum { LONGEST = 1, MEAN = 2, LAST = 4 };

/* What the messages of a step took: bytes on the fullest link, latencies. */
static void explain_flow(struct printing *p, const struct ll_sent_step *step, double pass_s,
                         unsigned latencies)
{
    const struct ll_flow_times *flow = &step->flow;
    if (flow->sent_s > 0)
        explain_bytes(p, flow->sent_s);
    if (p->count > 0 && latencies & LONGEST)
        explain_one(p, "latency, the longest", flow->latency_s);
    if (p->count > 0 && latencies & MEAN)
        explain_passing(p, flow->mean_latency_s, pass_s);
    if (p->count > 0 && latencies & LAST)
        explain_one(p, "latency, of what is there last", flow->done_s - flow->sent_s);
}

/* --- what ended --- */

static void explain_chunks(struct printing *p, const struct ll_ended *ended, double plain_s)
{
    const struct ll_sent_step *step = &ended->step;
    ll_explain_line(p->lines, "a device sends in a step: %.10g / %.10g = %.10g B", p->bytes,
                    p->bytes / step->bytes, step->bytes);
    ll_explain_line(p->lines,
                    "%.10g steps, half a chunk behind the other: (2 * %.10g + 1) * (%.10g / 2 + ceil(%.10g / "
                    "%.10g) * %.10g) = %.10g s",
                    ended->times, ended->times, step->flow.sent_s, step->bytes, (double)step->chunk_bytes,
                    step->pass_s, plain_s);
}

static void explain_TIMES(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_sent_step *step = &ended->step;
    const double times = ended->times, sent_s = step->flow.sent_s;
    bool chunks = step->chunk_bytes > 0 && times >= 2;
    unsigned mean = chunks || step->ll > 0 ? MEAN : 0, last = chunks ? 0 : LAST;
    explain_flow(p, step, chunks ? step->pass_s : 0, mean | last);
    double plain_s = step->chunk_bytes > 0 ? ll_sent_step_chunks_s(step, times) : times * step->flow.done_s;
    if (chunks)
        explain_chunks(p, ended, plain_s);
    else
        ll_explain_line(p->lines, "%.10g step%s: %.10g * (%.10g + %.10g) = %.10g s", times,
                        times == 1 ? "" : "s", times, sent_s, step->flow.done_s - sent_s, plain_s);
    if (step->ll > 0)
        ll_explain_line(p->lines,
                        "with flags in place of whole pieces, as far as that is faster: min(%.10g, %.10g * "
                        "(%.10g + %.10g / %.10g)) = %.10g s",
                        plain_s, times, step->flow.mean_latency_s, sent_s, step->ll, ended->time_s);
}

static void explain_PROTOCOL(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_protocol *protocol = &ended->protocol;
    double sent_s = ended->step.flow.sent_s / protocol->share;
    explain_flow(p, &ended->step, 0, MEAN);
    ll_explain_line(p->lines, "in %s, at its share of what links carry: %.10g / %.10g = %.10g s",
                    protocol->name, ended->step.flow.sent_s, protocol->share, sent_s);
    ll_explain_line(p->lines,
                    "start, latencies, bytes and what fills slots: %.10g + %.10g * %.10g * %.10g + (%.10g + "
                    "%.10g) * %.10g + %.10g * %.10g * %.10g = %.10g s",
                    protocol->start_s, protocol->latencies, ended->hops, ended->step.flow.mean_latency_s,
                    ended->times, protocol->steps, sent_s, protocol->fill, ended->slot, sent_s,
                    ended->time_s);
}

static void explain_SENT(struct printing *p, const struct ll_ended *ended)
{
    explain_flow(p, &ended->step, 0, 0);
}

static void explain_HOP(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_sent_step *step = &ended->step;
    explain_flow(p, step, step->pass_s, LONGEST | MEAN);
    if (step->chunk_bytes > 0)
        ll_explain_line(p->lines,
                        "a hop, until a piece is complete: %.10g + %.10g * min(%.10g / 8 / %.10g, 1 / (4 * "
                        "%.10g)) = %.10g s",
                        step->pass_s, step->flow.sent_s, (double)step->chunk_bytes, p->bytes, ended->hops,
                        ended->time_s);
}

static void explain_HOPS(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_sent_step *step = &ended->step;
    const struct ll_steps_hop *all = &ended->trees.all;
    double plain_s = all->pass_s + step->flow.sent_s;
    explain_flow(p, step, step->pass_s, 0);
    ll_explain_line(p->lines, "all hops, and the stream: %.10g + %.10g = %.10g s", all->pass_s,
                    step->flow.sent_s, plain_s);
    if (step->ll > 0)
        ll_explain_line(
            p->lines,
            "with flags in place of whole pieces, as far as that is faster: min(%.10g, %.10g + %.10g "
            "/ %.10g) = %.10g s",
            plain_s, all->latency_s, step->flow.sent_s, step->ll, ended->time_s);
}

static void explain_IN_NETWORK(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_sent_step *step = &ended->step;
    const struct ll_protocol *protocol = &ended->protocol;
    explain_flow(p, step, protocol->name ? 0 : step->pass_s, MEAN);
    if (protocol->name)
        ll_explain_line(p->lines,
                        "in %s, in and out of the switches: %.10g + %.10g + (1 + %.10g * %.10g) * %.10g / "
                        "(%.10g * %.10g) = "
                        "%.10g s",
                        protocol->name, protocol->start_s,
                        protocol->latencies * 2 * step->flow.mean_latency_s, protocol->fill, ended->first,
                        step->flow.sent_s, ended->in_network, protocol->share, ended->time_s);
    else
        ll_explain_line(
            p->lines,
            "in and out, the first chunk of each device twice: 2 * %.10g + (1 + min(1, %.10g * %.10g / "
            "%.10g)) * %.10g / %.10g = %.10g s",
            step->pass_s, ended->devices, ended->chunk_bytes, ended->bytes, step->flow.sent_s,
            ended->in_network, ended->time_s);
}

static void explain_STREAM(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_sent_step *step = &ended->step;
    explain_flow(p, step, step->pass_s, LONGEST);
    ll_explain_line(p->lines, "a stream through %.10g hops: %.10g * %.10g + %.10g = %.10g s", ended->hops,
                    ended->hops, step->flow.latency_s, step->flow.sent_s, ended->time_s);
}

static void explain_CHUNKS(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_flow_times *flow = &ended->step.flow;
    explain_flow(p, &ended->step, 0, LONGEST);
    if (isinf(ended->chunks))
        ll_explain_line(p->lines, "as many chunks as one likes: %.10g + 0 = %.10g s", flow->sent_s,
                        ended->time_s);
    else
        ll_explain_line(
            p->lines,
            "%.10g rounds of %.10g chunks, the fastest number of them: (%.10g - 1 + %.10g) * (%.10g "
            "+ %.10g / %.10g) = %.10g s",
            ended->rounds, ended->chunks, ended->hops, ended->chunks, flow->latency_s, flow->sent_s,
            ended->chunks, ended->time_s);
}

static void explain_TREES(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_tree_hops *t = &ended->trees;
    ll_explain_line(p->lines, "hops along a chain of %" PRIu64 ", up and down: 2 * (%" PRIu64 " - 1) = %.10g",
                    t->places, t->places, t->within);
    ll_explain_line(p->lines, "hops between %" PRIu64 " nodes, halved so often: 2 * %.10g = %.10g", t->nodes,
                    t->between / 2, t->between);
    ll_explain_line(p->lines, "all hops, until pieces are complete: %.10g * %.10g + %.10g * %.10g = %.10g s",
                    t->within, t->chain.pass_s, t->between, t->tree.pass_s, t->all.pass_s);
    ll_explain_line(p->lines, "all hops, latencies alone: %.10g * %.10g + %.10g * %.10g = %.10g s", t->within,
                    t->chain.latency_s, t->between, t->tree.latency_s, t->all.latency_s);
}

static void explain_PEERS(struct printing *p, const struct ll_ended *ended)
{
    const struct ll_peers *peers = &ended->peers;
    ll_explain_line(p->lines, "links, at the share that these reach: %.10g / %.10g = %.10g s",
                    peers->sent_s * peers->share, peers->share, peers->sent_s);
    ll_explain_line(p->lines, "start, and each peer's: %.10g + %.10g * %.10g = %.10g s", peers->start_s,
                    peers->n - 1, peers->peer_s, peers->all_starts_s);
    ll_explain_line(p->lines, "few channels a peer: %.10g + %.10g / %.10g + %.10g = %.10g s",
                    peers->all_starts_s, peers->part_bytes, peers->peer_Bps, peers->sent_s, peers->few_s);
    ll_explain_line(p->lines,
                    "all channels, whose blocks copy their own part too: %.10g + %.10g + max(%.10g, %.10g / "
                    "(%.10g * %.10g)) = %.10g s",
                    peers->all_starts_s, peers->blocks_s, peers->sent_s, peers->bytes, peers->channels,
                    peers->channel_Bps, peers->many_s);
    ll_explain_line(p->lines, "the faster: min(%.10g, %.10g) = %.10g s", peers->few_s, peers->many_s,
                    ended->time_s);
}

static void explain_SMALLER(struct printing *p, const struct ll_ended *ended)
{
    ll_explain_line(
        p->lines,
        "no message is faster than a smaller one, and one of %.10g B by %s takes longer by: %.10g s",
        ended->bytes, ended->protocol.name, ended->time_s);
}

static void explain_NESTED(struct printing *p, const struct ll_ended *ended)
{
    ll_explain_line(p->lines, "%s of %.10g B among %" PRIu64 ", %s", ll_collective_name(ended->collective),
                    ended->bytes, ended->size, ll_algorithm_name(ended->algorithm));
}

static void (*const endings[])(struct printing *p, const struct ll_ended *ended) = {
    [LL_ENDED_TIMES] = explain_TIMES,   [LL_ENDED_PROTOCOL] = explain_PROTOCOL,
    [LL_ENDED_SENT] = explain_SENT,     [LL_ENDED_HOP] = explain_HOP,
    [LL_ENDED_HOPS] = explain_HOPS,     [LL_ENDED_IN_NETWORK] = explain_IN_NETWORK,
    [LL_ENDED_STREAM] = explain_STREAM, [LL_ENDED_CHUNKS] = explain_CHUNKS,
    [LL_ENDED_TREES] = explain_TREES,   [LL_ENDED_PEERS] = explain_PEERS,
    [LL_ENDED_NESTED] = explain_NESTED, [LL_ENDED_SMALLER] = explain_SMALLER,
};

/* --- all steps --- */

/* Whether what ended is a part of the exchange's time; others only lead to one. */
static bool is_part(const struct ll_ended *ended)
{
    return ended->ending != LL_ENDED_SENT && ended->ending != LL_ENDED_HOP && ended->ending != LL_ENDED_TREES;
}

static void add_part(struct parts *parts, double time_s)
{
    ll_str_addf(&parts->sum, "%s%.10g", parts->count++ ? " + " : "", time_s);
}

/* An exchange, whose steps begin at *i, up to the end of it or of the record, and those nested in it. */
static void explain_exchange(const struct ll_steps_record *record, uint64_t *i, struct printing *p,
                             double time_s)
{
    struct parts parts = {0};
    for (; *i < record->count && record->at[*i].ending != LL_ENDED_NEST; ++*i) {
        const struct ll_ended *ended = &record->at[*i];
        struct printing here = *p;
        here.messages = record->messages + ended->first_message;
        here.count = ended->messages;
        endings[ended->ending](&here, ended);
        if (ended->ending == LL_ENDED_NESTED) {
            here.bytes = ended->bytes;
            ++*i;
            explain_exchange(record, i, &here, ended->time_s);
        }
        if (is_part(ended))
            add_part(&parts, ended->time_s);
    }
    if (parts.count > 1)
        ll_explain_line(p->lines, "messages, one step behind the other: %s = %.10g s", parts.sum.text,
                        time_s);
    p->lines->failed |= parts.sum.failed;
    ll_str_release(&parts.sum);
}

void ll_steps_record_explain(const struct ll_steps_record *record, const struct ll_net *net, double bytes,
                             double time_s, struct ll_str *lines)
{
    struct printing p = {.lines = lines, .net = net, .bytes = bytes};
    uint64_t i = 0;
    explain_exchange(record, &i, &p, time_s);
    lines->failed |= record->failed;
}
