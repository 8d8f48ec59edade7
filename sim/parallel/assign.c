/* SPDX-License-Identifier: Apache-2.0 */
/* Layers assigned to virtual stages by what they cost: a program of the whole model is replayed on the
 * devices of each pool, and the layers in a row are divided so that the virtual stage that takes longest
 * takes as little time as can be; of those divisions, so that the sum of squares of their times is least. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "tracer/base/num.h"
#include "tracer/transform/rescale.h"

/* Sums of a row of layers on one kind of devices: before_s[i] of those before layer i. */
struct sums {
    const double *before_s[LL_MOST_POOLS];
    const uint32_t *pools_of[2]; /* by part: on whose devices it lies; two with two models */
    uint32_t count, parts;
};

static double part_s(const struct sums *sums, uint32_t part, uint32_t first, uint32_t end)
{
    double most_s = 0;
    for (int i = 0; i < 2; i++) {
        const double *before_s = sums->before_s[sums->pools_of[i][part]];
        most_s = fmax(most_s, before_s[end] - before_s[first]);
    }
    return most_s;
}

/* How far parts come that take no longer than this, each as many layers as it can, leaving one for each part
 * to come; begins[part] is the first layer of each. */
static bool reaches(const struct sums *sums, double limit_s, uint32_t *begins)
{
    uint32_t at = 0;
    for (uint32_t part = 0; part < sums->parts; part++) {
        const uint32_t most = sums->count - (sums->parts - 1 - part);
        begins[part] = at++;
        if (part_s(sums, part, at - 1, at) > limit_s)
            return false;
        while (at < most && part_s(sums, part, begins[part], at + 1) <= limit_s)
            at++;
    }
    return at == sums->count;
}

static double longest_s(const struct sums *sums, const uint32_t *begins)
{
    double most_s = 0;
    for (uint32_t part = 0; part < sums->parts; part++)
        most_s = fmax(most_s, part_s(sums, part, begins[part],
                                     part + 1 < sums->parts ? begins[part + 1] : sums->count));
    return most_s;
}

/* The least time of the longest part: halved until nothing is between what is reached and what is not. */
static double least_longest_s(const struct sums *sums, uint32_t *begins)
{
    double low_s = 0, high_s = 0;
    for (uint32_t i = 0; i < LL_MOST_POOLS; i++)
        high_s = sums->before_s[i] ? fmax(high_s, sums->before_s[i][sums->count]) : high_s;
    while (low_s + (high_s - low_s) / 2 > low_s && low_s + (high_s - low_s) / 2 < high_s) {
        const double middle_s = low_s + (high_s - low_s) / 2;
        if (reaches(sums, middle_s, begins))
            high_s = longest_s(sums, begins) < middle_s ? longest_s(sums, begins) : middle_s;
        else
            low_s = middle_s;
    }
    return high_s;
}

/* Of all divisions that take no longer: by part and layer the least sum of squares of what comes before. */
static bool divide(const struct sums *sums, struct ll_arena *arena, uint32_t *counts)
{
    const uint32_t layers = sums->count;
    uint32_t *begins = ll_alloc(arena, sums->parts, sizeof *begins);
    double *least = ll_alloc(arena, 2 * (layers + 1u), sizeof *least);
    uint32_t *from = ll_alloc(arena, ll_mul(sums->parts, layers + 1u), sizeof *from);
    if (!begins || !least || !from)
        return false;
    const double limit_s = least_longest_s(sums, begins);
    double *before = least, *now = least + layers + 1;
    for (uint32_t end = 0; end <= layers; end++)
        before[end] = end == 0 ? 0 : INFINITY;
    for (uint32_t part = 0; part < sums->parts; part++) {
        for (uint32_t end = 0; end <= layers; end++) {
            now[end] = INFINITY;
            for (uint32_t first = end; first-- > part && part_s(sums, part, first, end) <= limit_s;) {
                const double time_s = part_s(sums, part, first, end);
                if (before[first] + time_s * time_s < now[end]) {
                    now[end] = before[first] + time_s * time_s;
                    from[part * (layers + 1) + end] = first;
                }
            }
        }
        double *other = before;
        before = now;
        now = other;
    }
    if (isinf(before[layers]))
        return false;
    for (uint32_t part = sums->parts, end = layers; part-- > 0;) {
        counts[part] = end - from[part * (layers + 1) + end];
        end -= counts[part];
    }
    return true;
}

/* --- what layers cost --- */

/* The plan of one stage whose program has all layers, without what is exchanged between replicas. */
static struct ll_parallel whole_model(const struct ll_parallel *plan, const struct ll_plan_sizes *sizes)
{
    struct ll_parallel whole = *plan;
    whole.pipeline = whole.chunks = whole.parts = 1;
    whole.schedule = LL_SCHEDULE_ONE_F_ONE_B;
    whole.split = (struct ll_layer_split){0};
    whole.zero = whole.within = 0;
    whole.prefetch = 1;
    whole.offload = (struct ll_offload){0};
    whole.compression = (struct ll_compression){0};
    whole.stragglers = whole.slow_links = (struct ll_slow_share){.factor = 1};
    whole.seed = 1;
    memset(whole.pool_stages, 0, sizeof whole.pool_stages);
    whole.micro_batch = sizes->micro_batch;
    whole.batch = ll_mul(sizes->micro_batch, whole.data);
    return whole;
}

/* By layer what a micro-batch takes on a machine; false after complaints or when memory ran out. */
static bool cost_layers(const struct ll_spread *spread, const struct ll_machine *machine,
                        const struct ll_layer_split *split, struct ll_remembered *remembered,
                        struct ll_arena *arena, struct ll_layer_costs *costs, struct ll_diags *diags)
{
    const uint64_t devices = spread->sizes.devices > 1 ? spread->sizes.devices : 0;
    struct ll_exchanges *exchanges = ll_exchanges_new(machine, devices, &remembered->prices);
    const struct ll_among among = {.exchanges = exchanges, .memo = &remembered->costs};
    ll_memo_turn(&remembered->costs, machine);
    const struct ll_result *result =
        exchanges ? ll_replay_among(spread->programs[0].prepared, machine, &among, arena, diags) : NULL;
    const bool done = result && ll_layer_costs(result, split, arena, costs);
    ll_exchanges_free(exchanges);
    return done;
}

static const double *sum_up(const struct ll_layer_costs *costs, bool again, struct ll_arena *arena)
{
    double *before_s = ll_alloc(arena, costs->count + 1u, sizeof *before_s);
    for (uint32_t i = 0; before_s && i < costs->count; i++) {
        const struct ll_layer_cost *layer = &costs->at[i];
        before_s[i + 1] = before_s[i] + layer->forward_s + layer->backward_s + (again ? layer->again_s : 0);
    }
    return before_s;
}

/* By virtual stage of a model the pool of its stage; in the second model, where there is one, too. */
static bool find_pools(const struct ll_parallel *plan, uint64_t pools, struct ll_arena *arena,
                       struct sums *sums)
{
    for (int model = 0; model < 2; model++) {
        uint32_t *pool_of = ll_alloc(arena, sums->parts, sizeof *pool_of);
        const bool twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
        for (uint32_t part = 0; pool_of && part < sums->parts; part++) {
            const uint64_t vstage = part + (twice && model ? plan->pipeline : 0);
            pool_of[part] =
                (uint32_t)ll_pool_of(plan, pools, ll_vstage_lies_on(plan->schedule, plan->pipeline, vstage));
        }
        sums->pools_of[model] = pool_of;
        if (!pool_of)
            return false;
    }
    return true;
}

bool ll_divide_by_cost(const struct ll_parallel *plan, const struct ll_layer_costs *costs, uint64_t pools,
                       struct ll_arena *arena, uint32_t *counts)
{
    const bool twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
    struct sums sums = {.count = costs[0].count,
                        .parts = (uint32_t)(plan->pipeline * (twice ? 1 : plan->chunks))};
    assert(sums.parts > 0 && sums.parts <= sums.count && pools <= LL_MOST_POOLS);
    for (uint64_t i = 0; i < pools; i++)
        if (!(sums.before_s[i] = sum_up(&costs[i], plan->recompute == LL_RECOMPUTE_FULL, arena)))
            return false;
    return find_pools(plan, pools, arena, &sums) && divide(&sums, arena, counts);
}

static bool no_memory(struct ll_diags *diags)
{
    return ll_complain(diags, (struct ll_place){0}, "memory ran out");
}

/* Costs the layers on each pool and writes what comes of it as the plan's layout. */
static bool assign(const struct ll_spread *spread, const struct ll_machine *machine,
                   struct ll_remembered *remembered, struct ll_arena *arena, struct ll_parallel *plan,
                   struct ll_diags *diags)
{
    struct ll_layer_costs costs[LL_MOST_POOLS];
    struct ll_layers layers;
    struct ll_layer_split by_cost = {.layout = "auto"};
    const uint64_t pools = 1 + machine->pool_count;
    const bool twice = ll_schedule_placement(plan->schedule) == LL_PLACED_BOTH_WAYS;
    const uint64_t parts = plan->pipeline * (twice ? 1 : plan->chunks);
    if (ll_layers_of_split(spread->programs[0].trace, &by_cost, arena, &layers))
        by_cost = (struct ll_layer_split){0}; /* its ends are not known */
    for (uint64_t i = 0; i < pools; i++)
        if (!cost_layers(spread, i ? machine->pools[i - 1] : machine, &by_cost, remembered, arena, &costs[i],
                         diags))
            return diags->count > 0 ? false : no_memory(diags);
    if (parts > costs[0].count)
        return ll_complain(diags,
                           (struct ll_place){.file = ll_trace_fact(spread->programs[0].trace, "model")},
                           "cut into stages: there are fewer layers than stages");
    uint32_t *counts = ll_alloc(arena, parts, sizeof *counts);
    if (!counts || !ll_divide_by_cost(plan, costs, pools, arena, counts))
        return no_memory(diags);
    const struct ll_ends ends = ll_split_ends(&by_cost);
    plan->split = (struct ll_layer_split){0};
    return ll_layout_write(counts, (uint32_t)parts, ends.embedding, ends.loss, plan->split.layout) ||
           ll_complain(diags, (struct ll_place){0},
                       "layers assigned by cost: stages differ so much that their layout has more than %d "
                       "letters",
                       LL_LAYOUT_ROOM - 1);
}

bool ll_assign_layers(const struct ll_trace *trace, const struct ll_machine *machine,
                      struct ll_remembered *remembered, struct ll_parallel *plan, struct ll_diags *diags)
{
    const struct ll_layer_split *split = &plan->split;
    const bool said = split->evenly || split->embedding || split->loss || split->first > 0 ||
                      split->last > 0 || *split->layout;
    struct ll_arena arena = {0};
    struct ll_plan_sizes sizes;
    if (plan->pipeline == 1 || !(ll_split_is_by_cost(split) || (machine->pool_count > 0 && !said)))
        return true;
    if (!ll_plan_resolve(plan, ll_trace_batch(trace), ll_machine_devices(machine), diags, &sizes))
        return false;
    const struct ll_parallel whole = whole_model(plan, &sizes);
    struct ll_spread *spread = ll_spread_trace(trace, &whole, ll_machine_devices(machine), diags);
    const bool done = spread && assign(spread, machine, remembered, &arena, plan, diags);
    ll_spread_free(spread);
    ll_arena_release(&arena);
    return done;
}
