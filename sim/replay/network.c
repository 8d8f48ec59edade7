/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the exchanges between devices shows: time in which one goes on and the device does nothing.
 *
 * The exchanges are taken in the order in which they start; the device's ops follow one another already. Two
 * marks walk along both: what of an exchange lies behind all before it is new, and what of the new no op
 * covers is exposed. */
#include "sim/replay/replay_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An exchange. */
struct span {
    double start_s, end_s;
    uint32_t form, order;
};

/* All of them, in the order of their start. */
struct spans {
    struct span *at;
    uint32_t count;
};

/* The ops that are looked at, in order. */
struct looked {
    uint32_t *at;
    uint32_t count;
};

static int by_start(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->start_s != b->start_s)
        return a->start_s < b->start_s ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static uint32_t form_of(const struct ll_result *result, uint32_t i)
{
    return result->prepared->trace->ops[result->prepared->first_op + i].form;
}

static uint32_t op_count(const struct ll_result *result)
{
    return result->prepared->end_op - result->prepared->first_op;
}

/* Whether the op is an exchange that takes place. */
static bool is_exchange(const struct ll_result *result, uint32_t i)
{
    uint32_t form = form_of(result, i);
    return result->prepared->works[form].kind == LL_WORK_COLLECTIVE && result->prices[form].devices > 0;
}

/* Whether the op runs on the device itself. */
static bool is_computed(const struct ll_result *result, uint32_t i)
{
    uint64_t kind = result->prepared->works[form_of(result, i)].kind;
    return kind != LL_WORK_COLLECTIVE && kind != LL_WORK_HOST && kind != LL_WORK_SWAP && kind != LL_WORK_WAIT;
}

static bool find_exchanges(const struct ll_result *result, const struct looked *looked, struct spans *spans)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < looked->count; i++)
        count += is_exchange(result, looked->at[i]);
    *spans = (struct spans){.at = malloc((count + 1u) * sizeof *spans->at)};
    for (uint32_t i = 0; spans->at && i < looked->count; i++) {
        const struct ll_op_result *op = &result->ops[looked->at[i]];
        if (is_exchange(result, looked->at[i]))
            spans->at[spans->count++] = (struct span){op->start_s, op->start_s + op->time_s,
                                                      form_of(result, looked->at[i]), looked->at[i]};
    }
    if (spans->at)
        qsort(spans->at, count, sizeof *spans->at, by_start);
    return spans->at;
}

/* How much of a span the device's ops cover; *next is the first that may. Spans come in order. */
static double covered_s(const struct ll_result *result, const struct looked *looked, uint32_t *next,
                        double start_s, double end_s)
{
    double covered = 0;
    for (; *next < looked->count; ++*next) {
        const struct ll_op_result *op = &result->ops[looked->at[*next]];
        if (is_computed(result, looked->at[*next]) && op->start_s + op->time_s > start_s)
            break;
    }
    for (uint32_t i = *next; i < looked->count; i++) {
        const struct ll_op_result *op = &result->ops[looked->at[i]];
        if (!is_computed(result, looked->at[i]))
            continue;
        if (op->start_s >= end_s)
            break;
        covered += fmax(0, fmin(end_s, op->start_s + op->time_s) - fmax(start_s, op->start_s));
    }
    return covered;
}

/* Where times of exchanges are added up: all of them, what shows, and what shows of each kind, where forms
 * have kinds. */
struct sums {
    double *busy_s, *exposed_s;
    const uint8_t *kinds;
    double *by_kind_s;
};

/* Adds the times of the exchanges that use one of these levels. */
static void sweep(const struct ll_result *result, const struct looked *looked, const struct spans *exchanged,
                  uint32_t levels, const struct sums *sums)
{
    double behind_s = 0, per_step = 1 / (double)result->prepared->steps;
    uint32_t next = 0;
    for (uint32_t i = 0; i < exchanged->count; i++) {
        const struct span *span = &exchanged->at[i];
        double start_s = fmax(behind_s, span->start_s);
        if (!(result->prices[span->form].levels & levels) || span->end_s <= start_s)
            continue;
        *sums->busy_s += (span->end_s - start_s) * per_step;
        double covered = covered_s(result, looked, &next, start_s, span->end_s);
        double shown_s = (span->end_s - start_s - covered) * per_step;
        *sums->exposed_s += shown_s;
        if (sums->kinds)
            sums->by_kind_s[sums->kinds[span->form]] += shown_s;
        behind_s = span->end_s;
    }
}

/* A device's share of what those who take part send, and of what their links take. */
static void sum_bytes(struct ll_result *result, const struct spans *exchanged)
{
    for (uint32_t i = 0; i < exchanged->count; i++) {
        const struct ll_price *price = &result->prices[exchanged->at[i].form];
        double share = 1 / (double)price->devices / (double)result->prepared->steps;
        result->network.levels[price->outermost].sent_bytes += price->exchanged.sent_bytes * share;
        result->network.links_j += price->exchanged.links_j * share;
    }
}

static void forget_times(struct ll_exposure *network)
{
    network->busy_s = network->exposed_s = 0;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        network->levels[l].busy_s = network->levels[l].exposed_s = 0;
}

static void sweep_levels(struct ll_result *result, const struct looked *looked, const struct spans *exchanged)
{
    struct ll_exposure *network = &result->network;
    sweep(result, looked, exchanged, UINT32_MAX,
          &(struct sums){.busy_s = &network->busy_s, .exposed_s = &network->exposed_s});
    for (uint32_t l = 0; l < result->machine->network_count; l++)
        sweep(
            result, looked, exchanged, 1u << l,
            &(struct sums){.busy_s = &network->levels[l].busy_s, .exposed_s = &network->levels[l].exposed_s});
}

/* All ops as they stand. False when memory ran out. */
static bool look_at_all(const struct ll_result *result, struct looked *looked)
{
    *looked = (struct looked){.at = malloc((op_count(result) + 1u) * sizeof *looked->at)};
    for (uint32_t i = 0; looked->at && i < op_count(result); i++)
        looked->at[looked->count++] = i;
    return looked->at;
}

bool ll_find_exposure(struct ll_result *result)
{
    struct looked all = {0};
    struct spans exchanged = {0};
    if (!result->prices)
        return true;
    bool found = look_at_all(result, &all) && find_exchanges(result, &all, &exchanged);
    if (found) {
        result->network.count = exchanged.count;
        sum_bytes(result, &exchanged);
        forget_times(&result->network);
        sweep_levels(result, &all, &exchanged);
    }
    free(exchanged.at);
    free(all.at);
    return found;
}

/* The ops of one rank after those of another, each rank's in order; first: where a rank's begin, one more
 * than there are ranks. */
static void by_rank(const struct ll_result *result, uint32_t ranks, uint32_t *at, uint32_t *first)
{
    const struct ll_op *ops = result->prepared->trace->ops + result->prepared->first_op;
    for (uint32_t i = 0; i < op_count(result); i++)
        first[ops[i].thread + 1]++;
    for (uint32_t r = 0; r < ranks; r++)
        first[r + 1] += first[r];
    for (uint32_t i = 0; i < op_count(result); i++)
        at[first[ops[i].thread]++] = i;
    memmove(first + 1, first, ranks * sizeof *first);
    first[0] = 0;
}

bool ll_find_exposure_of_ranks(struct ll_result *result, uint32_t ranks)
{
    uint32_t *at = malloc((op_count(result) + 1u) * sizeof *at);
    uint32_t *first = calloc((size_t)ranks + 1, sizeof *first);
    bool found = at && first;
    forget_times(&result->network);
    if (found)
        by_rank(result, ranks, at, first);
    for (uint32_t r = 0; found && result->prices && r < ranks; r++) {
        const struct looked own = {at + first[r], first[r + 1] - first[r]};
        struct spans exchanged;
        found = find_exchanges(result, &own, &exchanged);
        if (found)
            sweep_levels(result, &own, &exchanged);
        free(exchanged.at);
    }
    free(at);
    free(first);
    return found;
}

bool ll_exposed_by_kind(const struct ll_result *result, const uint8_t *kinds, double *by_kind_s)
{
    struct looked all = {0};
    struct spans exchanged = {0};
    double busy_s = 0, exposed_s = 0;
    if (!result->prices)
        return true;
    bool found = look_at_all(result, &all) && find_exchanges(result, &all, &exchanged);
    if (found)
        sweep(result, &all, &exchanged, UINT32_MAX, &(struct sums){&busy_s, &exposed_s, kinds, by_kind_s});
    free(exchanged.at);
    free(all.at);
    return found;
}

/* --- why an exchange takes its time --- */

static void tell_way(const struct ll_machine *machine, const struct ll_price *price, struct ll_explain *why)
{
    const struct ll_exchanged *e = &price->exchanged;
    const char *busiest = e->busiest < LL_NO_LEVEL ? machine->networks[e->busiest].name : NULL;
    double sent_bytes = e->sent_bytes / (double)price->devices;
    if (e->algorithm == LL_ALGORITHM_COUNT)
        ll_say(why, "as the samples of %s tell of so many devices, each of which sends %.10g B", busiest,
               sent_bytes);
    else
        ll_say(why, "%s: %.10g messages one behind the other, of which each device sends %.10g B%s%s",
               ll_algorithm_name(e->algorithm), e->rounds, sent_bytes,
               busiest ? "; held back by the links of " : "", busiest ? busiest : "");
}

void ll_tell_price(const struct ll_machine *machine, const struct ll_asked *asked,
                   const struct ll_price *price, struct ll_explain *why)
{
    const struct ll_exchanged *e = &price->exchanged;
    const char *name = ll_op_name((enum ll_op_kind)asked->kind);
    if (asked->peer && price->groups == 0) {
        ll_say(why, "%s of %" PRIu64 " B to a device %" PRId64 " away", name, asked->bytes, asked->peer);
        ll_say(why, "time among the ops, beside which stages hand on what they have made: 0 = 0 s");
        return;
    }
    if (asked->peer)
        ll_say(why,
               "%s of %" PRIu64 " B to a device %" PRId64 " away, while %" PRIu64 " pairs of devices do so",
               name, asked->bytes, asked->peer, price->groups);
    else
        ll_say(why,
               "%s of %" PRIu64 " B among %" PRIu64 " devices, %" PRIu64 " apart; %" PRIu64
               " such group%s the links",
               name, asked->bytes, price->devices, asked->stride, price->groups,
               price->groups == 1 ? " uses" : "s use");
    if (price->devices < 2) {
        ll_say(why, "time, of one device by itself: 0 = 0 s");
        return;
    }
    tell_way(machine, price, why);
    ll_say(why, "time, what starting it costs and the messages: %.10g + %.10g = %.10g s", e->overhead_s,
           e->time_s - e->overhead_s, e->time_s);
}
