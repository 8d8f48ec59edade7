/* SPDX-License-Identifier: Apache-2.0 */
/* Replays that run several times in a step, summed into the result of one device over the whole step. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

/* FLOPs of a device in all its terms. */
double ll_combined_flops(const struct ll_term *terms, size_t count)
{
    double flops = 0;
    for (size_t t = 0; t < count; t++)
        for (uint64_t k = 0; k < terms[t].result->kind_count; k++)
            flops += terms[t].times * terms[t].result->kinds[k].flops;
    return flops;
}

static int by_time(const void *left, const void *right)
{
    const struct ll_kind_result *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static struct ll_kind_result *find_kind(struct ll_kind_result *kinds, uint64_t *count,
                                        const struct ll_kind_result *like)
{
    for (uint64_t i = 0; i < *count; i++)
        if (kinds[i].op_kind == like->op_kind)
            return &kinds[i];
    kinds[*count] = (struct ll_kind_result){.kind = like->kind,
                                            .op_kind = like->op_kind,
                                            .op_class = like->op_class,
                                            .bound = like->bound,
                                            .order = (uint32_t)*count};
    return &kinds[(*count)++];
}

/* What bound the kind longest, of what bound most of it in a term, and what it got of that there. */
static void sum_bound(const struct ll_term *terms, size_t count, struct ll_kind_result *kind)
{
    double bound_s[LL_BOUND_COUNT] = {0}, amount[LL_BOUND_COUNT] = {0}, peak_s[LL_BOUND_COUNT] = {0};
    for (size_t t = 0; t < count; t++)
        for (uint64_t k = 0; k < terms[t].result->kind_count; k++) {
            const struct ll_kind_result *term = &terms[t].result->kinds[k];
            if (term->op_kind != kind->op_kind)
                continue;
            bound_s[term->bound] += terms[t].times * term->bound_s;
            amount[term->bound] += terms[t].times * term->bound_s * term->rate;
            peak_s[term->bound] += terms[t].times * term->bound_s * term->peak_share;
        }
    for (uint32_t i = 0; i < LL_BOUND_COUNT; i++)
        if (bound_s[i] > bound_s[kind->bound])
            kind->bound = i;
    kind->bound_s = bound_s[kind->bound];
    kind->rate = kind->bound_s > 0 ? amount[kind->bound] / kind->bound_s : 0;
    kind->peak_share = kind->bound_s > 0 ? peak_s[kind->bound] / kind->bound_s : 0;
}

static bool sum_kinds(const struct ll_term *terms, size_t count, struct ll_arena *arena,
                      struct ll_result *sum)
{
    struct ll_kind_result *kinds = ll_alloc(arena, LL_OP_NONE, sizeof *kinds);
    double all_s = 0;
    sum->kind_count = 0;
    for (size_t t = 0; kinds && t < count; t++)
        for (uint64_t k = 0; k < terms[t].result->kind_count; k++) {
            const struct ll_kind_result *term = &terms[t].result->kinds[k];
            struct ll_kind_result *kind = find_kind(kinds, &sum->kind_count, term);
            kind->count += terms[t].times * term->count;
            kind->time_s += terms[t].times * term->time_s;
            kind->flops += terms[t].times * term->flops;
            kind->bytes += terms[t].times * term->bytes;
            all_s += terms[t].times * term->time_s;
        }
    for (uint64_t k = 0; kinds && k < sum->kind_count; k++) {
        kinds[k].share = all_s > 0 ? kinds[k].time_s / all_s : 0;
        sum_bound(terms, count, &kinds[k]);
    }
    if (kinds)
        qsort(kinds, sum->kind_count, sizeof *kinds, by_time);
    sum->kinds = kinds;
    return kinds;
}

static void add_exposure(struct ll_exposure *sum, const struct ll_exposure *term, double times, double time_s,
                         double of_s)
{
    sum->count += term->count;
    sum->links_j += times * term->links_j;
    sum->busy_s += times * term->busy_s;
    sum->exposed_s += times * term->exposed_s;
    for (unsigned l = 0; l < LL_MAX_LINKS; l++) {
        sum->levels[l].busy_s += times * term->levels[l].busy_s;
        sum->levels[l].exposed_s += times * term->levels[l].exposed_s;
        sum->levels[l].sent_bytes += times * term->levels[l].sent_bytes;
        sum->levels[l].share += of_s > 0 ? times * term->levels[l].share * time_s / of_s : 0;
    }
}

/* What flows all the time does so while the device waits too. */
double ll_combined_energy_j(const struct ll_term *terms, size_t count, double time_s,
                            struct ll_energy_parts *parts)
{
    const struct ll_result *first = terms[0].result;
    double static_w = first->time_s > 0 ? first->energy.static_j / first->time_s : 0;
    uint64_t outermost = first->machine->level_count - 1;
    *parts = (struct ll_energy_parts){0};
    for (size_t t = 0; t < count; t++) {
        ll_energy_add(parts, &terms[t].result->energy, terms[t].times);
        parts->level_j[outermost] +=
            terms[t].times * terms[t].more_bytes * ll_machine_level_j(first->machine, outermost);
        parts->network_j += terms[t].handed ? terms[t].times * terms[t].handed->links_j : 0;
    }
    parts->static_j = static_w * time_s;
    return isnan(first->energy_j) ? NAN : ll_energy_sum(parts);
}

/* Shares of the parts, each for as long as it takes, and of waiting; scaled so that they sum to 1. */
static void sum_shares(const struct ll_term *terms, size_t count, double wait_s, struct ll_result *sum)
{
    double spent_s[LL_BOUND_COUNT] = {[LL_BOUND_DEPENDENCY] = fmax(0, wait_s)}, all_s = 0, gaps_s = 0;
    double from_s[LL_TIME_ORIGIN_COUNT] = {0};
    for (size_t t = 0; t < count; t++)
        gaps_s += terms[t].times * terms[t].result->gap_share * terms[t].result->time_s;
    for (size_t t = 0; t < count; t++)
        for (unsigned i = 0; i < LL_TIME_ORIGIN_COUNT; i++)
            from_s[i] += terms[t].times * terms[t].result->origin_shares[i] * terms[t].result->time_s;
    for (size_t t = 0; t < count; t++)
        for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
            spent_s[i] += terms[t].times * terms[t].result->shares[i] * terms[t].result->time_s;
    for (size_t t = 0; t < count; t++)
        spent_s[LL_BOUND_LEVEL + sum->machine->level_count - 1] += terms[t].times * terms[t].more_s;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        all_s += spent_s[i];
    for (unsigned i = 0; i < LL_BOUND_COUNT && all_s > 0; i++)
        sum->shares[i] = spent_s[i] / all_s;
    sum->gap_share = all_s > 0 ? gaps_s / all_s : 0;
    ll_share_origins(from_s, all_s, sum);
    sum->network = (struct ll_exposure){0};
    for (size_t t = 0; t < count; t++) {
        add_exposure(&sum->network, &terms[t].result->network, terms[t].times, terms[t].result->time_s,
                     all_s);
        if (terms[t].handed)
            add_exposure(&sum->network, terms[t].handed, terms[t].times, 0, all_s);
    }
}

static void sum_rates(const struct ll_term *terms, size_t count, struct ll_result *sum)
{
    sum->device_active_s = sum->starting_s = 0;
    memset(sum->level_bytes, 0, sizeof sum->level_bytes);
    memset(sum->level_share, 0, sizeof sum->level_share);
    for (size_t t = 0; t < count; t++) {
        const struct ll_result *term = terms[t].result;
        sum->device_active_s += terms[t].times * (term->device_active_s + terms[t].more_s);
        sum->starting_s += terms[t].times * term->starting_s;
        for (unsigned l = 0; l < LL_MAX_LEVELS; l++) {
            sum->level_bytes[l] += terms[t].times * term->level_bytes[l];
            if (sum->time_s > 0)
                sum->level_share[l] += terms[t].times * term->level_share[l] * term->time_s / sum->time_s;
        }
    }
    uint64_t outermost = sum->machine->level_count - 1;
    for (size_t t = 0; t < count; t++) {
        sum->level_bytes[outermost] += terms[t].times * terms[t].more_bytes;
        if (sum->time_s > 0)
            sum->level_share[outermost] += terms[t].times * terms[t].more_s / sum->time_s;
    }
    sum->flop_utilization =
        ll_flop_utilization(sum->machine, sum->prepared->dtype, ll_combined_flops(terms, count), sum->time_s);
}

const struct ll_result *ll_combine(const struct ll_term *terms, size_t count, double time_s, double wait_s,
                                   const struct ll_footprint *footprint, struct ll_arena *arena)
{
    assert(count > 0 && time_s >= 0);
    for (size_t t = 0; t < count; t++)
        assert(terms[t].times >= 0 && terms[t].more_bytes >= 0 && terms[t].more_s >= 0);
    struct ll_result *sum = ll_alloc(arena, 1, sizeof *sum);
    struct ll_prepared *prepared = ll_alloc(arena, 1, sizeof *prepared);
    if (!sum || !prepared)
        return NULL;
    *prepared = *terms[0].result->prepared;
    prepared->footprint = *footprint;
    prepared->flops = ll_combined_flops(terms, count);
    *sum = *terms[0].result;
    sum->prepared = prepared;
    sum->footprint = &prepared->footprint;
    sum->time_s = time_s;
    sum->fits = ll_footprint_fits(footprint, sum->machine->levels[sum->machine->level_count - 1].size_bytes);
    sum_shares(terms, count, wait_s, sum);
    sum_rates(terms, count, sum);
    sum->energy_j = ll_combined_energy_j(terms, count, time_s, &sum->energy);
    if (!sum_kinds(terms, count, arena, sum))
        return NULL;
    prepared->bytes = 0;
    for (uint64_t k = 0; k < sum->kind_count; k++)
        prepared->bytes += sum->kinds[k].bytes;
    return sum;
}
