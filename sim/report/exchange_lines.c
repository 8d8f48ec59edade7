/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of an exchange goes: it is asked for again, the same way, on machines that lack one thing
 * each. Without the latencies of a level it takes less by what they cost, and without the bytes on what is
 * fullest there (its links, a device's port, a group's port) less by what those take:
 *
 *       time = count * latency + bytes / (bandwidth * efficiency), summed over the levels
 *
 * Where a switch adds up, bytes go at a share of that (`in_network`), and the first chunk counts twice. */
#include "sim/report/exchange_lines.h"

#include "tracer/base/str.h"

#include <math.h>
#include <stdlib.h>

/* What of a level holds bytes back. */
enum carrier { LINK, PORT, GROUP_PORT, CARRIER_COUNT };
static const char *const carrier_names[] = {"link", "port", "group's port"};

struct asking {
    struct ll_machine *changed; /* with the thing that lacks */
    struct ll_asked asked;
    uint64_t devices;
    double all_s; /* as it is, without what starting costs */
    bool failed;
};

static double *carrier_Bps(struct ll_network *level, enum carrier carrier)
{
    double *const rates[] = {&level->bandwidth_Bps, &level->port_Bps, &level->group_port_Bps};
    return rates[carrier];
}

static double time_s(struct asking *a)
{
    struct ll_prices prices = {0};
    struct ll_exchanges *exchanges = ll_exchanges_new(a->changed, a->devices, &prices);
    const struct ll_price *price = exchanges ? ll_exchanges_price(exchanges, &a->asked) : NULL;
    double time_s = price ? price->exchanged.time_s - price->exchanged.overhead_s : 0;
    a->failed |= !price;
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    return time_s;
}

/* What the latencies of a level cost; it has none from then on. */
static double without_latency_s(struct asking *a, uint64_t level, double before_s)
{
    a->changed->networks[level].latency_s = a->changed->networks[level].chunk_latency_s = 0;
    return before_s - time_s(a);
}

/* What the bytes on these carriers of a level cost. */
static double without_bytes_s(struct asking *a, uint64_t level, enum carrier first, enum carrier last,
                              double before_s)
{
    static const double at_once = 1e12;
    const struct ll_network kept = a->changed->networks[level];
    for (enum carrier c = first; c <= last; c++)
        *carrier_Bps(&a->changed->networks[level], c) *= at_once;
    double gained_s = before_s - time_s(a);
    a->changed->networks[level] = kept;
    return gained_s;
}

/* The carrier of a level that holds bytes back the most. */
static enum carrier holder(struct asking *a, uint64_t level, double before_s)
{
    enum carrier most = LINK;
    double most_s = 0;
    for (enum carrier c = LINK; c < CARRIER_COUNT; c++) {
        double gained_s = without_bytes_s(a, level, c, c, before_s);
        most = gained_s > most_s ? c : most;
        most_s = fmax(most_s, gained_s);
    }
    return most;
}

static void say_latency(const struct ll_network *level, double latency_s, struct ll_str *terms)
{
    const char *plus = terms->length ? " + " : "";
    if (level->latency_s > 0 && level->chunk_latency_s == 0)
        ll_str_addf(terms, "%s%.10g * %.10g", plus, latency_s / level->latency_s, level->latency_s);
    else
        ll_str_addf(terms, "%s%.10g", plus, latency_s);
}

static bool adds_up(const struct asking *a)
{
    return a->changed->software.collectives == LL_ALGORITHM_IN_NETWORK;
}

static void say_bytes(const struct asking *a, const struct ll_network *level, double rate_Bps, double part_s,
                      struct ll_str *terms)
{
    double share = adds_up(a) ? level->in_network : 1;
    ll_str_addf(terms, "%s%.10g / (%.10g * %.10g", terms->length ? " + " : "",
                part_s * rate_Bps * level->efficiency * share, rate_Bps, level->efficiency);
    if (adds_up(a))
        ll_str_addf(terms, " * %.10g", share);
    ll_str_add(terms, ")");
}

/* Whether something is left of a time beside what rounding makes. */
static bool counts(const struct asking *a, double part_s)
{
    return fabs(part_s) > 1e-9 * a->all_s;
}

/* Adds the terms of the levels to the formula, and to the words which carriers are meant. What is left then.
 */
static double add_terms(struct asking *a, const struct ll_machine *machine, struct ll_str *words,
                        struct ll_str *terms)
{
    double left_s = a->all_s, bytes_s = a->all_s;
    for (uint64_t l = 0; l < machine->network_count; l++) {
        double latency_s = without_latency_s(a, l, bytes_s);
        bytes_s -= latency_s;
        left_s -= latency_s;
        if (counts(a, latency_s))
            say_latency(&machine->networks[l], latency_s, terms);
    }
    for (uint64_t l = 0; l < machine->network_count; l++) {
        const struct ll_network *level = &machine->networks[l];
        double part_s = without_bytes_s(a, l, LINK, GROUP_PORT, bytes_s);
        if (!counts(a, part_s))
            continue;
        enum carrier carrier = holder(a, l, bytes_s);
        left_s -= part_s;
        ll_str_addf(words, ", bytes on the fullest %s of %s%s", carrier_names[carrier], level->name,
                    adds_up(a) && level->in_network_chunk_bytes > 0 ? " with the first chunk twice" : "");
        say_bytes(a, level, *carrier_Bps(&a->changed->networks[l], carrier), part_s, terms);
    }
    return left_s;
}

/* The way it went is the one that the software prefers from now on, so that no other one is taken where
 * something lacks. */
static bool start(struct asking *a, const struct ll_machine *machine, const struct ll_price *price)
{
    a->changed = malloc(sizeof *a->changed);
    if (!a->changed)
        return false;
    *a->changed = *machine;
    a->changed->software.collectives = price->exchanged.algorithm;
    a->all_s = time_s(a);
    double told_s = price->exchanged.time_s - price->exchanged.overhead_s;
    return !a->failed && fabs(a->all_s - told_s) <= 1e-9 * told_s;
}

static void say_sampled(const struct ll_machine *machine, const struct ll_asked *asked,
                        const struct ll_price *price, struct ll_explain *why)
{
    const struct ll_network *level = &machine->networks[price->exchanged.busiest];
    for (uint64_t i = 0; i < level->sample_count; i++)
        if (level->samples[i].devices == price->devices)
            ll_say(why,
                   "messages, as sampled, the latency and what each device sends of the bytes: %.10g + 2 * "
                   "(%.10g - 1) / %.10g * %.10g / %.10g = %.10g s",
                   level->samples[i].latency_s, (double)price->devices, (double)price->devices,
                   (double)asked->bytes, level->samples[i].bandwidth_Bps,
                   price->exchanged.time_s - price->exchanged.overhead_s);
}

void ll_explain_exchange(const struct ll_machine *machine, uint64_t devices, const struct ll_asked *asked,
                         const struct ll_price *price, struct ll_explain *why)
{
    struct asking a = {.asked = *asked, .devices = devices};
    struct ll_str words = {0}, terms = {0};
    if (price->devices < 2)
        return;
    if (price->exchanged.algorithm == LL_ALGORITHM_COUNT) {
        say_sampled(machine, asked, price, why);
        return;
    }
    if (start(&a, machine, price)) {
        double left_s = add_terms(&a, machine, &words, &terms);
        if (counts(&a, left_s)) {
            ll_str_add(&words, ", what goes on beside that");
            ll_str_addf(&terms, "%s%.10g", terms.length ? " + " : "", left_s);
        }
        ll_say(why, "messages, latencies%s: %s = %.10g s", words.text ? words.text : "",
               terms.text ? terms.text : "0", a.all_s);
    }
    why->failed |= a.failed || words.failed || terms.failed;
    ll_str_release(&words);
    ll_str_release(&terms);
    free(a.changed);
}
