/* SPDX-License-Identifier: Apache-2.0 */
/* Vector lanes: the same operation on many elements at once. The last, partial vector takes as long as a
 * full one:
 *
 *       cycles = ceil(elements / (lanes * count)) * (operations per element) / (operations per cycle)
 *
 * A reduction to fewer results than there are lanes ends with a tree: lanes that worked for the same result
 * add up in pairs, ceil(log2(lanes per result)) steps. More lanes shorten the first part and deepen the
 * tree, so for a short reduction it can pay to leave lanes idle; the best power of two of them a result is
 * taken when it beats all lanes, and so more lanes never make it slower.
 *
 * Bytes that only move (MOVE, GATHER) occupy no lane. A product that no other unit takes is done one
 * multiply-accumulate a lane: a row of outputs lies on the lanes, each scalar of A is broadcast to them and
 * each row of B is read again for each row of A, on as many units as pays. */
#include "sim/cost/unit_model.h"

#include <inttypes.h>
#include <math.h>

/* Steps in which lanes that share a result add up in pairs. */
static double tree_steps(double results, double lanes)
{
    double sharing = lanes / results;
    return sharing > 1 ? ceil(log2(sharing)) : 0;
}

/* Steps of the whole machine for `elements` that become `results`. */
static double steps_with(double elements, double results, double lanes)
{
    return ceil(elements / lanes) + tree_steps(results, lanes);
}

/* How many of the lanes are best. */
static double lanes_to_use(double elements, double results, double lanes)
{
    double best = lanes;
    for (double fewer = results; fewer < lanes && fewer <= elements; fewer *= 2)
        if (steps_with(elements, results, fewer) < steps_with(elements, results, best))
            best = fewer;
    return best;
}

static bool reduce_way(const struct ll_unit *unit, const struct ll_work *work, double rate,
                       struct ll_way *way, struct ll_explain *why)
{
    double elements = (double)work->reduce.in_elements, results = fmax(1, (double)work->reduce.out_elements);
    double lanes = (double)unit->vector.lanes * (double)unit->count;
    double each = elements > 0 ? (double)work->flops / elements : 0;
    double used = lanes_to_use(elements, results, lanes);
    double steps = elements > 0 ? steps_with(elements, results, used) : 0;
    way->units_used = ll_min(unit->count, ll_max(1, work->reduce.in_elements));
    way->first_cycles = each / rate;
    way->cycles = steps * each / rate;
    ll_say(why,
           "%s, %.10g of %.10g lanes, of which those that share one of %.10g results add up in pairs: "
           "ceil(%.10g / %.10g) + %.10g = %.10g steps",
           unit->name, used, lanes, results, elements, used, steps > 0 ? tree_steps(results, used) : 0,
           steps);
    ll_say(why, "one step: (%" PRIu64 " / %.10g) / %.10g = %.10g cycles", work->flops, fmax(1, elements),
           rate, way->first_cycles);
    ll_say(why, "reduction: %.10g * %.10g = %.10g cycles", steps, way->first_cycles, way->cycles);
    return true;
}

/* What lanes do one by one. */
struct items {
    const char *what;
    double count, flops;
};

/* By so many of the units. */
static bool item_way(const struct ll_unit *unit, uint64_t units, const struct items *items, double rate,
                     struct ll_way *way, struct ll_explain *why)
{
    double each = items->count > 0 ? items->flops / items->count : 0;
    double vectors = ceil(items->count / ((double)unit->vector.lanes * (double)units));
    way->units_used = items->count < (double)units ? (uint64_t)fmax(1, items->count) : units;
    way->at_work = (double)way->units_used;
    way->cycles = vectors * each / rate;
    way->first_cycles = fmin(way->cycles, each / rate);
    ll_say(why, "one for each lane: (%.10g / %.10g) / %.10g = %.10g cycles", items->flops,
           fmax(1, items->count), rate, way->first_cycles);
    ll_say(why, "%s, %s: ceil(%.10g / (%" PRIu64 " * %" PRIu64 ")) * %.10g = %.10g cycles", unit->name,
           items->what, items->count, unit->vector.lanes, units, way->first_cycles, way->cycles);
    return true;
}

static bool product_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index, double rate,
                        struct ll_way *way, struct ll_explain *why)
{
    const struct ll_gemm *d = &task->problem.dims;
    double products = ll_gemm_macs(d);
    uint64_t count = ll_count_at_work(unit, task, index);
    struct ll_split split = ll_split_evenly(d, count);
    double passes[LL_OPERAND_COUNT] = {(double)ll_ceil_div(split.share.n, unit->vector.lanes),
                                       (double)split.share.m, 1};
    way->share = split.share;
    way->shares = (double)split.used;
    way->macs = products;
    way->unit_bytes = ll_unit_bytes(task, &split.share, way->shares, passes, way->asked_bytes);
    return item_way(unit, count, &(struct items){"products", products, 2 * products}, rate, way, why);
}

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    return task->is_product ? ll_counts_at_work(unit, task) : 1;
}

static bool vector_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                       struct ll_way *way, struct ll_explain *why)
{
    const struct ll_work *work = task->work;
    double rate = unit->vector.flops[task->dtype];
    *way = (struct ll_way){.units_used = unit->count, .shares = 1};
    if (task->is_product)
        return product_way(unit, task, index, rate, way, why);
    if (work->kind == LL_WORK_REDUCE)
        return reduce_way(unit, work, rate, way, why);
    if (work->kind == LL_WORK_VECTOR)
        return item_way(unit, unit->count,
                        &(struct items){"elements", (double)work->vector.elements, (double)work->flops}, rate,
                        way, why);
    ll_say(why, "%s: bytes only move, no lane computes", unit->name);
    return true;
}

const struct ll_unit_model ll_cost_VECTOR = {
    .products = true,
    .elements = true,
    .way_count = way_count,
    .way = vector_way,
};
