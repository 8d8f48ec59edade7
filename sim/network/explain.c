/* SPDX-License-Identifier: Apache-2.0 */
/* The derivation of an exchange's time, line by line.
 *
 * The bytes of a step are those of its messages; each message is a part of the exchanged data. The time of a
 * step is that of the fullest link for the messages that cross it, except where messages hold each other back
 * on several links in turn (sim/network/flow.h). A latency is the sum over the links that a message crosses
 * in each level. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "sim/network/collective.h"
#include "tracer/base/plain.h"
#include "tracer/base/str.h"

enum { LINE_LIMIT = 1024, MOST_SIZES = 4 };

void ll_told_release(struct ll_told *told)
{
    ll_str_release(&told->sum);
    free(told->messages);
}

void ll_told_say(struct ll_told *told, const char *format, ...)
{
    char text[LINE_LIMIT];
    va_list args;
    if (!told)
        return;
    va_start(args, format);
    ll_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ll_str_add(told->lines, text);
    ll_str_add(told->lines, "\n");
}

void ll_told_send(struct ll_told *told, uint64_t group, uint64_t from_rank, uint64_t to_rank, double bytes)
{
    if (!told)
        return;
    const struct ll_exchange *e = told->exchange;
    told->lines->failed |=
        !ll_grow(&told->messages, &told->capacity, told->count + e->groups, sizeof *told->messages);
    bool each = group == UINT64_MAX;
    uint64_t begin = each ? 0 : group, end = each ? e->groups : group + 1;
    for (uint64_t g = begin; !told->lines->failed && g < end; g++)
        told->messages[told->count++] = (struct ll_told_message){
            e->members[g * e->size + from_rank], e->members[g * e->size + to_rank], bytes, g == begin};
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
static uint64_t fullest_link(struct ll_told *told)
{
    double *bytes = calloc(ll_net_links(told->net), sizeof *bytes), most_s = 0;
    struct ll_route path = {0};
    uint64_t fullest = UINT64_MAX;
    for (uint64_t i = 0; bytes && i < told->count; i++) {
        const struct ll_told_message *m = &told->messages[i];
        path.count = 0;
        ll_net_route(told->net, m->from, m->to, &path);
        for (uint64_t l = 0; l < path.count; l++) {
            uint64_t link = path.links[l];
            bytes[link] += m->bytes;
            double time_s = bytes[link] / ll_net_link_Bps(told->net, link);
            fullest = time_s > most_s ? link : fullest;
            most_s = fmax(most_s, time_s);
        }
    }
    told->lines->failed |= !bytes || path.failed;
    free(bytes);
    free(path.links);
    return fullest;
}

static struct sizes sizes_on(struct ll_told *told, uint64_t link)
{
    struct sizes sizes = {0};
    struct ll_route path = {0};
    for (uint64_t i = 0; i < told->count; i++) {
        const struct ll_told_message *m = &told->messages[i];
        path.count = 0;
        ll_net_route(told->net, m->from, m->to, &path);
        for (uint64_t l = 0; l < path.count; l++)
            if (path.links[l] == link)
                count_size(&sizes, m->bytes);
    }
    told->lines->failed |= path.failed;
    free(path.links);
    return sizes;
}

static const char *const kind_names[] = {
    [LL_LINK] = "link", [LL_LINK_PORT] = "port", [LL_LINK_GROUP_PORT] = "group's port"};

/* How long the bytes on the fullest link take. */
static double tell_link(struct ll_told *told, uint64_t link, const struct sizes *sizes)
{
    const struct ll_network *level = ll_net_link_spec(told->net, link);
    enum ll_link_kind kind = ll_net_link_kind(told->net, link);
    double rated_Bps = kind == LL_LINK        ? level->bandwidth_Bps
                       : kind == LL_LINK_PORT ? level->port_Bps
                                              : level->group_port_Bps;
    double Bps = ll_net_link_Bps(told->net, link), wide = Bps / (rated_Bps * level->efficiency), all = 0;
    struct ll_str terms = {0};
    for (unsigned i = 0; i < sizes->count; i++) {
        ll_str_addf(&terms, "%s%.10g * %.10g", i ? " + " : "", sizes->times[i], sizes->bytes[i]);
        all += sizes->times[i] * sizes->bytes[i];
    }
    if (!is_like(wide, 1))
        ll_told_say(
            told, "on the fullest %s of %s, which is so many wide: (%s) / (%.10g * %.10g * %.10g) = %.10g s",
            kind_names[kind], level->name, terms.text, rated_Bps, level->efficiency, wide, all / Bps);
    else
        ll_told_say(told, "on the fullest %s of %s: (%s) / (%.10g * %.10g) = %.10g s", kind_names[kind],
                    level->name, terms.text, rated_Bps, level->efficiency, all / Bps);
    told->lines->failed |= terms.failed;
    ll_str_release(&terms);
    return all / Bps;
}

static void tell_size(struct ll_told *told, double bytes)
{
    double all = told->exchange->bytes;
    if (bytes <= all)
        ll_told_say(told, "a message, as a part of all: %.10g / %.10g = %.10g B", all, all / bytes, bytes);
    else
        ll_told_say(told, "a message, all and some of it again: %.10g * %.10g = %.10g B", all, bytes / all,
                    bytes);
}

static void tell_bytes(struct ll_told *told, double sent_s)
{
    uint64_t link = fullest_link(told);
    if (link == UINT64_MAX)
        return;
    struct sizes sizes = sizes_on(told, link);
    for (unsigned i = 0; i < sizes.count; i++)
        tell_size(told, sizes.bytes[i]);
    double least_s = tell_link(told, link, &sizes);
    if (!is_like(least_s, sent_s))
        ll_told_say(
            told,
            "messages that share it wait on other links, so many times as long: %.10g * %.10g = %.10g s",
            least_s, sent_s / least_s, sent_s);
}

/* --- latencies --- */

/* Adds the links that a message crosses to those of their levels; ports are none. */
static void count_links(struct ll_told *told, const struct ll_told_message *m, double by_level[LL_MAX_LINKS])
{
    struct ll_route path = {0};
    ll_net_route(told->net, m->from, m->to, &path);
    const struct ll_network *levels = ll_net_machine(told->net)->networks;
    for (uint64_t l = 0; l < path.count; l++)
        if (ll_net_link_kind(told->net, path.links[l]) == LL_LINK)
            by_level[ll_net_link_spec(told->net, path.links[l]) - levels] += 1;
    told->lines->failed |= path.failed;
    free(path.links);
}

/* "3 * 1e-06 + 2 * 5e-06", "0" where nothing counts. Returns its value. */
static double add_terms(const struct ll_told *told, const double *times, bool passing, struct ll_str *terms)
{
    const struct ll_machine *machine = ll_net_machine(told->net);
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
static void tell_one(struct ll_told *told, const char *what, double latency_s)
{
    bool found = false;
    for (uint64_t i = 0; !found && i < told->count; i++) {
        double links[LL_MAX_LINKS] = {0};
        struct ll_str terms = {0};
        count_links(told, &told->messages[i], links);
        found = is_like(add_terms(told, links, false, &terms), latency_s);
        if (found)
            ll_told_say(told, "%s: %s = %.10g s", what, terms.text, latency_s);
        told->lines->failed |= terms.failed;
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
static void tell_mean(struct ll_told *told, const char *what, double *by_level, double count, bool passing,
                      double mean_s)
{
    struct ll_str terms = {0};
    double divisor = count;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        divisor = common_divisor(divisor, by_level[l]);
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        by_level[l] /= divisor;
    add_terms(told, by_level, passing, &terms);
    ll_told_say(told, "%s: (%s) / %.10g = %.10g s", what, terms.text, count / divisor, mean_s);
    told->lines->failed |= terms.failed;
    ll_str_release(&terms);
}

/* The latency, and what passing half a chunk on costs beside it; what each group sends, all pass on as the
 * first one does. */
static void tell_passing(struct ll_told *told, double mean_s, double pass_s)
{
    double links[LL_MAX_LINKS] = {0}, between[LL_MAX_LINKS] = {0}, sends = 0;
    for (uint64_t i = 0; i < told->count; i++) {
        const struct ll_told_message *m = &told->messages[i];
        count_links(told, m, links);
        between[ll_net_level_between(told->net, m->from, m->to)] += m->first;
        sends += m->first;
    }
    tell_mean(told, "latency, mean of messages", links, (double)told->count, false, mean_s);
    if (!(pass_s > mean_s))
        return;
    tell_mean(told, "half a chunk waits until it is passed on, mean of messages", between, sends, true,
              pass_s - mean_s);
    ll_told_say(told, "both: %.10g + %.10g = %.10g s", mean_s, pass_s - mean_s, pass_s);
}

void ll_told_flow(struct ll_told *told, const struct ll_flow_times *flow, double pass_s, unsigned latencies)
{
    if (!told)
        return;
    if (flow->sent_s > 0)
        tell_bytes(told, flow->sent_s);
    if (told->count > 0 && latencies & LL_TOLD_LONGEST)
        tell_one(told, "latency, the longest", flow->latency_s);
    if (told->count > 0 && latencies & LL_TOLD_MEAN)
        tell_passing(told, flow->mean_latency_s, pass_s);
    if (told->count > 0 && latencies & LL_TOLD_LAST)
        tell_one(told, "latency, of what is there last", flow->done_s - flow->sent_s);
    told->count = 0;
}

/* --- all steps --- */

void ll_told_part(struct ll_told *told, double time_s)
{
    if (!told)
        return;
    ll_str_addf(&told->sum, "%s%.10g", told->parts++ ? " + " : "", time_s);
}

void ll_told_end(struct ll_told *told, double time_s)
{
    if (!told)
        return;
    if (told->parts > 1)
        ll_str_addf(told->lines, "messages, one step behind the other: %s = %.10g s\n", told->sum.text,
                    time_s);
    told->lines->failed |= told->sum.failed;
}
