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

static bool find_exchanges(const struct ll_result *result, struct spans *spans)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < op_count(result); i++)
        count += is_exchange(result, i);
    *spans = (struct spans){.at = malloc((count + 1u) * sizeof *spans->at)};
    for (uint32_t i = 0; spans->at && i < op_count(result); i++) {
        const struct ll_op_result *op = &result->ops[i];
        if (is_exchange(result, i))
            spans->at[spans->count++] =
                (struct span){op->start_s, op->start_s + op->time_s, form_of(result, i), i};
    }
    if (spans->at)
        qsort(spans->at, count, sizeof *spans->at, by_start);
    return spans->at;
}

/* How much of a span the device's ops cover; *next is the first that may. Spans come in order. */
static double covered_s(const struct ll_result *result, uint32_t *next, double start_s, double end_s)
{
    double covered = 0;
    for (; *next < op_count(result); ++*next) {
        const struct ll_op_result *op = &result->ops[*next];
        if (is_computed(result, *next) && op->start_s + op->time_s > start_s)
            break;
    }
    for (uint32_t i = *next; i < op_count(result); i++) {
        const struct ll_op_result *op = &result->ops[i];
        if (!is_computed(result, i))
            continue;
        if (op->start_s >= end_s)
            break;
        covered += fmax(0, fmin(end_s, op->start_s + op->time_s) - fmax(start_s, op->start_s));
    }
    return covered;
}

/* Of the exchanges that use one of these levels. What shows of each is added to that of its kind, where there
 * are kinds: by form. */
static void sweep(const struct ll_result *result, const struct spans *exchanged, uint32_t levels,
                  double *busy_s, double *exposed_s, const uint8_t *kinds, double *by_kind_s)
{
    double behind_s = 0, per_step = 1 / (double)result->prepared->steps;
    uint32_t next = 0;
    *busy_s = *exposed_s = 0;
    for (uint32_t i = 0; i < exchanged->count; i++) {
        const struct span *span = &exchanged->at[i];
        double start_s = fmax(behind_s, span->start_s);
        if (!(result->prices[span->form].levels & levels) || span->end_s <= start_s)
            continue;
        *busy_s += (span->end_s - start_s) * per_step;
        double shown_s = (span->end_s - start_s - covered_s(result, &next, start_s, span->end_s)) * per_step;
        *exposed_s += shown_s;
        if (kinds)
            by_kind_s[kinds[span->form]] += shown_s;
        behind_s = span->end_s;
    }
}

static void sum_bytes(struct ll_result *result, const struct spans *exchanged)
{
    for (uint32_t i = 0; i < exchanged->count; i++) {
        const struct ll_price *price = &result->prices[exchanged->at[i].form];
        result->network.levels[price->outermost].sent_bytes +=
            price->exchanged.sent_bytes / (double)price->devices / (double)result->prepared->steps;
    }
}

bool ll_find_exposure(struct ll_result *result)
{
    struct ll_exposure *network = &result->network;
    struct spans exchanged;
    if (!result->prices)
        return true;
    if (!find_exchanges(result, &exchanged))
        return false;
    network->count = exchanged.count;
    sum_bytes(result, &exchanged);
    sweep(result, &exchanged, UINT32_MAX, &network->busy_s, &network->exposed_s, NULL, NULL);
    for (uint32_t l = 0; l < result->machine->network_count; l++)
        sweep(result, &exchanged, 1u << l, &network->levels[l].busy_s, &network->levels[l].exposed_s, NULL,
              NULL);
    free(exchanged.at);
    return true;
}

bool ll_exposed_by_kind(const struct ll_result *result, const uint8_t *kinds, double *by_kind_s)
{
    struct spans exchanged;
    double busy_s, exposed_s;
    if (!result->prices)
        return true;
    if (!find_exchanges(result, &exchanged))
        return false;
    sweep(result, &exchanged, UINT32_MAX, &busy_s, &exposed_s, kinds, by_kind_s);
    free(exchanged.at);
    return true;
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
