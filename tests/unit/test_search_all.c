/* SPDX-License-Identifier: Apache-2.0 */
/* A search beside its twin: every plan that can be written down, one after the other, each measured on a
 * program of its own. The twin has none of what makes a search fast: it leaves out no layers that are alike,
 * shares nothing once for all micro-batches and keeps all that it sees. */
#include "check.h"

#include "dry_model.h"
#include "scene.h"
#include "sim/parallel/shard.h"
#include "sim/parallel/pipeline.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/given.h"
#include "sim/parallel/framework.h"
#include "toy_trace.h"
#include "tracer/transform/rescale.h"

enum { DEVICES = 8, BATCH = 8, SIMULATED = 12, MOST_PLANS = 1 << 15 };

#define UNITS                                                                                                \
    "name: cluster\nclock: 1GHz\nunits:\n"                                                                   \
    "  - {name: array, model: matrix, count: 4, macs: {f32: 64}}\n"                                          \
    "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 2}}\n"
#define MEMORY "memory:\n  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n"
static const char one_node[] =
    UNITS MEMORY "host: {bandwidth: 10GB/s}\n"
                 "network:\n  - {name: link, topology: switch, devices: 8, bandwidth: 5GB/s, latency: 5us}\n";
static const char two_nodes[] =
    UNITS MEMORY "network:\n  - {name: link, topology: switch, devices: 4, bandwidth: 20GB/s, latency: 5us}\n"
                 "  - {name: cable, topology: switch, devices: 2, bandwidth: 1GB/s, latency: 20us}\n";
static const char three_nodes[] =
    UNITS MEMORY "network:\n  - {name: link, topology: switch, devices: 8, bandwidth: 20GB/s, latency: 5us}\n"
                 "  - {name: cable, topology: switch, devices: 3, bandwidth: 1GB/s, latency: 20us}\n";
static const char no_network[] = UNITS MEMORY;

/* So many words that at any micro-batch their gradients are more to exchange than what layers hand on. */
static const struct ll_setting gpt[] = {
    {"layers", "8"}, {"hidden", "64"}, {"heads", "4"}, {"vocabulary", "1000"}, {"seq", "16"}};

static const struct ll_setting experts[] = {{"layers", "2"},   {"hidden", "64"},     {"heads", "4"},
                                            {"kv_heads", "4"}, {"ffn_hidden", "64"}, {"seq", "16"},
                                            {"experts", "4"},  {"vocabulary", "50"}, {"top_k", "2"}};
static const struct ll_setting sequences[] = {{"layers", "2"},      {"hidden", "64"},      {"heads", "2"},
                                              {"ffn_hidden", "64"}, {"seq", "64"},         {"kv_heads", "2"},
                                              {"fused", "1"},       {"vocabulary", "1000"}};

static const struct ll_setting three_heads[] = {
    {"layers", "1"}, {"hidden", "48"}, {"heads", "3"}, {"vocabulary", "1000"}, {"seq", "16"}};
/* Gradients of more than a bucket. */
static const struct ll_setting many_words[] = {
    {"layers", "1"}, {"hidden", "256"}, {"heads", "2"}, {"vocabulary", "30000"}, {"seq", "16"}};

/* --- the twin --- */

struct seen {
    struct ll_parallel plan;
    double estimate_s, estimate_bytes;
};

struct twin {
    struct scene *scene;
    uint64_t devices, batch;
    struct ll_exchanges *exchanges;
    struct seen *fit; /* in the order in which they were seen */
    uint64_t fit_count, too_large, programs;
    double least_bytes; /* of those that are too large */
};

/* What one device does for a micro-batch; NULL where there is no such program, or another one is the same. */
static struct ll_trace *program_of(const struct ll_trace *trace, const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    const char *trouble;
    struct ll_trace *steps[5] = {ll_trace_rescale(trace, plan->micro_batch, &trouble)};
    int last = 0;
    bool other = true;
    if (steps[last] && (steps[1] = ll_shard(steps[0], plan, &diags)))
        other = plan->tensor == 1 || ll_is_divided(steps[0], steps[1]), last++;
    if (last == 1 && plan->context > 1 && (steps[2] = ll_share_context(steps[1], plan, &diags)))
        last++;
    if (last == 1 + (plan->context > 1) && plan->expert > 1 &&
        (steps[last + 1] = ll_spread_experts(steps[last], plan, &diags)))
        last++;
    bool made = last == 1 + (plan->context > 1) + (plan->expert > 1);
    if (made && plan->recompute == LL_RECOMPUTE_SELECTIVE &&
        (steps[last + 1] = ll_recompute(steps[last], plan->recompute, &trouble))) {
        other &= steps[last + 1]->op_count > steps[last]->op_count;
        last++;
    } else {
        made &= plan->recompute != LL_RECOMPUTE_SELECTIVE;
    }
    struct ll_trace *program = made && other ? steps[last] : NULL;
    for (int i = 0; i <= last; i++)
        if (steps[i] != program)
            ll_trace_free(steps[i]);
    ll_diags_release(&diags);
    return program;
}

/* False where there is no such program, or it cannot be replayed. */
static bool measure(struct twin *twin, const struct ll_parallel *plan, struct ll_arena *arena,
                    struct ll_layer_costs *costs)
{
    struct ll_diags diags = {0};
    const struct ll_among among = {.exchanges = twin->exchanges, .memo = &twin->scene->remembered.costs};
    struct ll_trace *program = program_of(twin->scene->trace, plan);
    const struct ll_prepared *prepared = program ? ll_prepare(program, arena, &diags) : NULL;
    const struct ll_result *result =
        prepared ? ll_replay_among(prepared, twin->scene->machine, &among, arena, &diags) : NULL;
    bool done = result && ll_layer_costs(result, &plan->split, arena, costs);
    twin->programs += done;
    ll_diags_release(&diags);
    ll_trace_free(program);
    return done;
}

static bool keeps_less_again(const struct ll_layer_costs *costs)
{
    bool less = false;
    for (uint32_t i = 0; i < costs->count; i++)
        less |= costs->at[i].held_bytes < costs->at[i].kept_bytes;
    return less;
}

/* Whether replicas of a group share: those of a node, of a group of nodes, ... but not all. */
static bool is_group(const struct ll_machine *machine, const struct ll_parallel *plan)
{
    bool group = false;
    uint64_t joined = 1;
    for (uint64_t i = 0; i + 1 < machine->network_count; i++)
        group |= (joined *= machine->networks[i].devices) == plan->within * plan->tensor;
    return group && plan->within > 1 && plan->within < ll_replicas(plan) &&
           ll_replicas(plan) % plan->within == 0 && plan->zero > 0 && plan->expert == 1;
}

/* Whether the schedule is one for these stages, chunks and micro-batches; chunks that are many are equal. An
 * inference has the same order with all of them. */
static bool has_schedule(const struct twin *twin, const struct ll_layer_costs *costs,
                         const struct ll_parallel *plan)
{
    struct ll_diags diags = {0};
    struct ll_plan_sizes sizes;
    const bool both = plan->schedule == LL_SCHEDULE_DUALPIPE;
    const uint64_t vstages = plan->pipeline * (both ? 1 : plan->chunks);
    bool right = ll_plan_resolve(plan, 0, twin->devices, &diags, &sizes);
    ll_diags_release(&diags);
    bool many = plan->schedule == LL_SCHEDULE_INTERLEAVED || plan->schedule == LL_SCHEDULE_BREADTH_FIRST,
         plain = plan->schedule == LL_SCHEDULE_ONE_F_ONE_B || plan->schedule == LL_SCHEDULE_INTERLEAVED;
    return right && vstages <= costs->count && (!many || costs->count % vstages == 0) &&
           (plan->pipeline > 1 || plan->schedule == LL_SCHEDULE_ONE_F_ONE_B) &&
           (plain || ll_trains(twin->scene->trace));
}

/* Whether a plan lays all devices, samples and layers out evenly, and is no other name of another plan. */
static bool is_plan(const struct twin *twin, const struct ll_layer_costs *costs,
                    const struct ll_parallel *plan)
{
    return plan->data * plan->context * plan->tensor * plan->pipeline == twin->devices &&
           plan->batch % (plan->data * plan->micro_batch) == 0 && ll_replicas(plan) % plan->expert == 0 &&
           has_schedule(twin, costs, plan) && (plan->zero == 0 || ll_replicas(plan) > 1) &&
           (plan->within == 0 || is_group(twin->scene->machine, plan)) &&
           (plan->recompute != LL_RECOMPUTE_FULL || keeps_less_again(costs)) &&
           (ll_trains(twin->scene->trace) || plan->zero == 0 || plan->zero == 3);
}

/* The time of the slowest virtual stage; INFINITY where there are too few layers. */
static double slowest_s(const struct ll_layer_costs *costs, const struct ll_layer_split *split,
                        uint32_t parts)
{
    uint64_t flops[64], named[64];
    uint32_t part_of[64];
    double sums_s[64] = {0}, most_s = 0;
    assert_true(costs->count <= 64);
    for (uint32_t i = 0; i < costs->count; i++) {
        flops[i] = costs->at[i].flops;
        named[i] = costs->at[i].named_flops;
    }
    if (!ll_divide_layers(split, named, flops, costs->count, parts, part_of))
        return INFINITY;
    for (uint32_t i = 0; i < costs->count; i++)
        sums_s[part_of[i]] = sums_s[part_of[i]] + costs->at[i].forward_s + costs->at[i].backward_s;
    for (uint32_t i = 0; i < parts; i++)
        most_s = fmax(most_s, sums_s[i]);
    return most_s;
}

/* Of numbers of layers of the first and last virtual stage that differ by two at most from those of others,
 * the best, where it is half a percent better than the division by FLOPs. */
static bool is_faster_split(const struct ll_layer_costs *costs, const struct ll_parallel *plan,
                            struct ll_layer_split *best)
{
    uint32_t parts = (uint32_t)(plan->pipeline * (plan->schedule == LL_SCHEDULE_DUALPIPE ? 1 : plan->chunks));
    uint64_t each = costs->count / parts;
    double best_s = 0.995 * slowest_s(costs, &(struct ll_layer_split){0}, parts);
    *best = (struct ll_layer_split){0};
    for (uint64_t first = 1; parts > 1 && first <= each + 2; first++)
        for (uint64_t last = 1; last <= each + 2; last++) {
            const struct ll_layer_split split = {.first = first, .last = last};
            double time_s = slowest_s(costs, &split, parts);
            if (first + 2 < each || last + 2 < each || time_s >= best_s)
                continue;
            best_s = time_s;
            *best = split;
        }
    return best->first > 0;
}

/* Whether it fits. */
static bool see(struct twin *twin, const struct ll_layer_costs *costs, const struct ll_parallel *plan)
{
    struct ll_arena scratch = {0};
    struct ll_estimator e;
    const struct ll_machine *machine = twin->scene->machine;
    assert_true(ll_estimator_open(&e, machine, twin->exchanges, costs->count, plan->pipeline, &scratch));
    assert_true(ll_estimate_divide(&e, costs, plan));
    ll_estimate_count(&e, costs, plan);
    ll_estimate_share(&e, costs, plan);
    double bytes = ll_estimate_bytes(&e, plan);
    bool fits = bytes <= (double)machine->levels[machine->level_count - 1].size_bytes;
    assert_true(twin->fit_count < MOST_PLANS);
    if (fits)
        twin->fit[twin->fit_count++] = (struct seen){*plan, ll_estimate_s(&e, costs, plan), bytes};
    else
        twin->least_bytes = fmin(twin->least_bytes, bytes);
    twin->too_large += !fits;
    ll_arena_release(&scratch);
    return fits;
}

/* What does not fit is tried again with the optimizer's state on the host. */
static bool see_both(struct twin *twin, const struct ll_layer_costs *costs, struct ll_parallel plan)
{
    bool fits = see(twin, costs, &plan);
    if (fits || !ll_trains(twin->scene->trace) || twin->scene->machine->host.bandwidth_Bps == 0)
        return fits;
    plan.offload.optimizer = true;
    return see(twin, costs, &plan);
}

/* All kinds of recomputation and stages of ZeRO; *none: there was no plan yet. */
static bool see_shares(struct twin *twin, const struct ll_layer_costs *costs, struct ll_parallel plan,
                       bool *none)
{
    const enum ll_recompute kept = plan.recompute;
    bool any = false;
    for (int full = 0; full <= (kept == LL_RECOMPUTE_NONE); full++)
        for (plan.zero = 0; plan.zero <= 3; plan.zero++)
            for (plan.within = 0; plan.within <= twin->devices; plan.within++) {
                plan.recompute = full ? LL_RECOMPUTE_FULL : kept;
                if (!is_plan(twin, costs, &plan))
                    continue;
                *none = false;
                any = see_both(twin, costs, plan) || any;
            }
    return any;
}

/* All plans on a program. False when there are some, and none fits. */
static bool see_layouts(struct twin *twin, const struct ll_layer_costs *costs, struct ll_parallel plan)
{
    bool any = false, none = true;
    for (plan.data = 1; plan.data <= twin->devices; plan.data++)
        for (plan.pipeline = 1; plan.pipeline <= twin->devices; plan.pipeline++)
            for (plan.chunks = 1; plan.chunks <= costs->count; plan.chunks++)
                for (unsigned schedule = 0; schedule < LL_SCHEDULE_COUNT; schedule++) {
                    struct ll_layer_split faster;
                    plan.schedule = (enum ll_schedule)schedule;
                    plan.split = (struct ll_layer_split){0};
                    if (plan.data * plan.context * plan.tensor * plan.pipeline != twin->devices ||
                        plan.batch % (plan.data * plan.micro_batch) != 0 || !has_schedule(twin, costs, &plan))
                        continue;
                    any = see_shares(twin, costs, plan, &none) || any;
                    if (!is_faster_split(costs, &plan, &faster))
                        continue;
                    plan.split = faster;
                    any = see_shares(twin, costs, plan, &none) || any;
                }
    return any || none;
}

/* Larger micro-batches need more memory: the first that never fits is the last. */
static void see_micro_batches(struct twin *twin, struct ll_parallel plan)
{
    bool fits = true;
    for (plan.micro_batch = 1; fits && plan.micro_batch <= plan.batch; plan.micro_batch++) {
        struct ll_arena arena = {0};
        struct ll_layer_costs costs;
        if (plan.batch % plan.micro_batch == 0 && measure(twin, &plan, &arena, &costs))
            fits = see_layouts(twin, &costs, plan);
        ll_arena_release(&arena);
    }
}

/* The best from this one on. */
static double best_since_s(const struct twin *twin, uint64_t first)
{
    double best_s = INFINITY;
    for (uint64_t i = first; i < twin->fit_count; i++)
        best_s = fmin(best_s, twin->fit[i].estimate_s);
    return best_s;
}

/* Until two shares of sequences in a row, of which some plan fits, are no better than smaller ones. */
static void see_contexts(struct twin *twin, struct ll_parallel plan)
{
    uint64_t left = twin->devices / plan.tensor, first = twin->fit_count;
    const struct ll_trace *trace = twin->scene->trace;
    int no_better = 0;
    for (plan.context = 1; plan.context <= left && no_better < 2; plan.context++) {
        if (left % plan.context || (plan.context > 1 && !ll_has_context(trace, plan.context)))
            continue;
        uint64_t before = twin->fit_count;
        double best_s = best_since_s(twin, first);
        for (plan.expert = 1; plan.expert <= (ll_has_experts(trace) ? left : 1); plan.expert++)
            see_micro_batches(twin, plan);
        bool better = twin->fit_count == before || best_since_s(twin, before) < best_s;
        no_better = better ? 0 : no_better + 1;
    }
}

static struct twin see_all(struct scene *scene, uint64_t devices, uint64_t batch)
{
    struct twin twin = {.scene = scene, .devices = devices, .batch = batch, .least_bytes = INFINITY};
    const struct ll_machine *machine = scene->machine;
    struct ll_parallel plan = ll_plan_of_one();
    twin.exchanges = ll_exchanges_new(machine, devices, &scene->remembered.prices);
    twin.fit = calloc(MOST_PLANS, sizeof *twin.fit);
    assert_true(twin.exchanges && twin.fit);
    ll_memo_turn(&scene->remembered.costs, machine);
    plan.batch = batch;
    uint64_t near = machine->network_count ? machine->networks[0].devices : 1;
    for (plan.tensor = 1; plan.tensor <= near; plan.tensor++)
        for (int sequence = 0; devices % plan.tensor == 0 && sequence <= (plan.tensor > 1); sequence++)
            for (int selective = 0; selective < 2; selective++) {
                plan.sequence = sequence;
                plan.recompute = selective ? LL_RECOMPUTE_SELECTIVE : LL_RECOMPUTE_NONE;
                see_contexts(&twin, plan);
            }
    return twin;
}

static void release(struct twin *twin)
{
    ll_exchanges_free(twin->exchanges);
    free(twin->fit);
}

/* --- both --- */

/* -1, 0, 1 as for qsort. */
static int compare_plans(const struct ll_parallel *a, const struct ll_parallel *b)
{
    const uint64_t x[] = {a->data,        a->tensor,
                          a->context,     a->pipeline,
                          a->expert,      a->sequence,
                          a->micro_batch, a->schedule,
                          a->chunks,      a->zero,
                          a->within,      a->recompute,
                          a->batch,       a->offload.optimizer,
                          a->split.first, a->split.last};
    const uint64_t y[] = {b->data,        b->tensor,
                          b->context,     b->pipeline,
                          b->expert,      b->sequence,
                          b->micro_batch, b->schedule,
                          b->chunks,      b->zero,
                          b->within,      b->recompute,
                          b->batch,       b->offload.optimizer,
                          b->split.first, b->split.last};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int by_plan(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    return compare_plans(&a->plan, &b->plan);
}

static int by_bytes(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    return (a->estimate_bytes > b->estimate_bytes) - (a->estimate_bytes < b->estimate_bytes);
}

static int by_estimate(const void *left, const void *right)
{
    const struct seen *a = left, *b = right;
    return (a->estimate_s > b->estimate_s) - (a->estimate_s < b->estimate_s);
}

/* So many of these would be simulated: of all, and of each stage of ZeRO, the first. Sorts them. */
static uint64_t simulated_of(struct twin *twin, uint64_t wanted, uint64_t *stages)
{
    uint64_t count = 0, of_stage[4] = {0};
    qsort(twin->fit, twin->fit_count, sizeof *twin->fit, by_estimate);
    *stages = 0;
    for (uint64_t i = 0; i < twin->fit_count; i++) {
        uint64_t place = of_stage[twin->fit[i].plan.zero]++;
        count += i < wanted || place < (wanted + 1) / 2;
        *stages += place == 0 && ll_replicas(&twin->fit[i].plan) > 1;
    }
    return count;
}

static void count_calls(void *context, const struct ll_search_result *so_far)
{
    assert_true(so_far->considered == so_far->too_large + so_far->estimated);
    ++*(uint64_t *)context;
}

static const struct ll_search_result *search(struct scene *scene, uint64_t devices, uint64_t batch,
                                             uint64_t *calls)
{
    const struct ll_plan_search wanted = {.devices = devices,
                                          .batch = batch,
                                          .simulated = SIMULATED,
                                          .progress = count_calls,
                                          .context = calls};
    *calls = 0;
    const struct ll_search_result *result =
        ll_search_plans(scene->trace, scene->machine, &wanted, &scene->arena, &scene->diags);
    assert_non_null(result);
    return result;
}

/* What was found, and what it says of its estimates, is what the twin has seen; the best of it where that is
 * too much. */
static void check_found(const struct ll_search_result *result, struct twin *twin)
{
    const bool whole = twin->fit_count <= LL_MOST_FOUND;
    struct seen *found = calloc(result->found_count + 1, sizeof *found);
    assert_int_equal(result->found_count, whole ? twin->fit_count : LL_MOST_FOUND);
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *f = &result->found[i];
        found[i] = (struct seen){f->plan, f->estimate_s, f->estimate_bytes};
    }
    qsort(found, result->found_count, sizeof *found, whole ? by_plan : by_estimate);
    qsort(twin->fit, twin->fit_count, sizeof *twin->fit, whole ? by_plan : by_estimate);
    for (uint64_t i = 0; i < result->found_count; i++) {
        assert_near(found[i].estimate_s, twin->fit[i].estimate_s, 1e-9);
        if (!whole)
            continue;
        assert_int_equal(by_plan(&found[i], &twin->fit[i]), 0);
        assert_near(found[i].estimate_bytes, twin->fit[i].estimate_bytes, 1e-9);
    }
    free(found);
}

/* The plan by itself; INFINITY where there is none. */
static double check_simulation(struct scene *scene, uint64_t devices, const struct ll_found_plan *found)
{
    struct ll_arena arena = {0};
    struct ll_spread *spread = ll_spread_trace(scene->trace, &found->plan, devices, &scene->diags);
    const struct ll_parallel_result *r =
        ll_parallel_run(spread, scene->machine, &scene->remembered, &arena, &scene->diags);
    assert_non_null(r);
    double exposed_s = 0;
    for (int i = 0; i < LL_TRAFFIC_COUNT; i++)
        exposed_s += r->exposed_s[i];
    assert_near(found->step_s, r->step_s, 1e-12);
    assert_near(found->bubble, r->bubble, 1e-12);
    assert_near(found->exposed_s, exposed_s, 1e-12);
    assert_near(found->samples_Hz, (double)found->plan.batch / r->step_s, 1e-12);
    assert_int_equal(found->memory_bytes, r->stages[r->fullest].memory_bytes);
    ll_spread_free(spread);
    ll_arena_release(&arena);
    return found->step_s;
}

/* The first come with what a simulation says of them; the others with nothing of the kind. */
static void check_simulations(struct scene *scene, uint64_t devices, const struct ll_search_result *result)
{
    double last_s = 0;
    for (uint64_t i = 0; i < result->found_count; i++) {
        const struct ll_found_plan *f = &result->found[i];
        double order_s = i < SIMULATED ? check_simulation(scene, devices, f) : f->estimate_s;
        assert_true(order_s >= last_s);
        last_s = i + 1 == SIMULATED ? 0 : order_s;
        if (i < SIMULATED)
            continue;
        assert_true(f->step_s == 0 && f->bubble == 0 && f->exposed_s == 0 && f->memory_bytes == 0);
        assert_near(f->samples_Hz, (double)f->plan.batch / f->estimate_s, 1e-12);
    }
}

/* The best of each stage of ZeRO is as fast with no other size of buckets. */
static void check_buckets(struct scene *scene, uint64_t devices, const struct ll_search_result *result)
{
    const uint64_t sizes[] = {UINT64_C(5) << 20, UINT64_C(100) << 20, ll_plan_of_one().bucket_bytes};
    bool seen[4] = {false};
    for (uint64_t i = 0; i < result->found_count && i < SIMULATED; i++) {
        struct ll_parallel plan = result->found[i].plan;
        for (int k = 0; k < 3 && !seen[plan.zero]; k++) {
            plan.bucket_bytes = sizes[k];
            struct ll_spread *spread = ll_spread_trace(scene->trace, &plan, devices, &scene->diags);
            assert_true(result->found[i].step_s <=
                        ll_parallel_time_s(spread, scene->machine, &scene->remembered, &scene->diags));
            ll_spread_free(spread);
        }
        seen[plan.zero] = true;
    }
}

/* Whatever its estimate, no plan of a small space is faster than the one that is said to be the best. */
static void check_best(struct scene *scene, uint64_t devices, const struct ll_search_result *result,
                       const struct twin *twin)
{
    enum { SMALL = 300 };
    for (uint64_t i = 0; twin->fit_count <= SMALL && i < twin->fit_count; i++) {
        struct ll_spread *spread = ll_spread_trace(scene->trace, &twin->fit[i].plan, devices, &scene->diags);
        double step_s = ll_parallel_time_s(spread, scene->machine, &scene->remembered, &scene->diags);
        assert_true(step_s >= result->found[0].step_s * (1 - 1e-12));
        ll_spread_free(spread);
    }
}

/* Of how many are asked for, counts know nothing. */
static void check_counts(struct scene *scene, uint64_t devices, uint64_t batch,
                         const struct ll_search_result *result)
{
    const struct ll_plan_search one = {.devices = devices, .batch = batch, .simulated = 1};
    const struct ll_search_result *other =
        ll_search_plans(scene->trace, scene->machine, &one, &scene->arena, &scene->diags);
    assert_non_null(other);
    assert_int_equal(other->considered, result->considered);
    assert_int_equal(other->too_large, result->too_large);
    assert_int_equal(other->estimated, result->estimated);
}

/* Where all fits. */
static void check_all(struct ll_trace *trace, const char *machine, uint64_t devices, uint64_t batch)
{
    struct scene scene = open_scene(trace, machine);
    uint64_t calls, stages;
    const struct ll_search_result *result = search(&scene, devices, batch, &calls);
    struct twin twin = see_all(&scene, devices, batch);
    assert_int_equal(twin.too_large, 0);
    assert_true(twin.fit_count > 0);
    check_found(result, &twin);
    check_simulations(&scene, devices, result);
    check_buckets(&scene, devices, result);
    check_best(&scene, devices, result, &twin);
    if (twin.fit_count < 200)
        check_counts(&scene, devices, batch, result);
    uint64_t simulated = simulated_of(&twin, SIMULATED, &stages);
    assert_int_equal(result->programs, twin.programs);
    assert_true(result->simulated >= simulated + 2 * stages);
    assert_int_equal(result->estimated, twin.fit_count);
    assert_int_equal(result->considered, result->estimated);
    assert_int_equal(result->too_large, 0);
    assert_true(isinf(result->least_bytes));
    assert_true(calls >= result->programs + result->simulated);
    release(&twin);
    close_scene(&scene);
}

static uint64_t simulated_bytes(struct scene *scene, uint64_t devices, const struct ll_parallel *plan)
{
    struct ll_arena arena = {0};
    struct ll_spread *spread = ll_spread_trace(scene->trace, plan, devices, &scene->diags);
    const struct ll_parallel_result *r =
        ll_parallel_run(spread, scene->machine, &scene->remembered, &arena, &scene->diags);
    assert_non_null(r);
    uint64_t bytes = r->stages[r->fullest].memory_bytes;
    ll_spread_free(spread);
    ll_arena_release(&arena);
    return bytes;
}

/* Of what the twin says to fit, a search drops what does not fit as simulated, and nothing else. */
static void check_dropped(struct scene *scene, uint64_t devices, const struct ll_search_result *result,
                          const struct twin *twin)
{
    double least_bytes = twin->least_bytes;
    uint64_t dropped = 0;
    for (uint64_t i = 0; i < twin->fit_count; i++) {
        uint64_t place = 0;
        while (place < result->found_count &&
               compare_plans(&result->found[place].plan, &twin->fit[i].plan) != 0)
            place++;
        if (place < result->found_count)
            continue;
        uint64_t bytes = simulated_bytes(scene, devices, &twin->fit[i].plan);
        assert_true(bytes > scene->machine->levels[scene->machine->level_count - 1].size_bytes);
        least_bytes = fmin(least_bytes, (double)bytes);
        dropped++;
    }
    assert_int_equal(result->found_count + dropped, twin->fit_count);
    assert_near(result->least_bytes, least_bytes, 1e-9);
    assert_int_equal(result->considered, result->too_large + result->estimated);
    assert_int_equal(result->estimated, twin->fit_count);
    assert_int_equal(result->too_large, twin->too_large);
}

/* Memory in which so large a share of the plans fits. */
static void check_tight(const char *machine, double share)
{
    const uint64_t devices = 4, batch = 4; /* all that fits is found */
    struct scene large = open_scene(dry_model("gpt", true, 2, gpt, 5), machine);
    struct twin twin = see_all(&large, devices, batch);
    assert_true(twin.fit_count <= LL_MOST_FOUND);
    qsort(twin.fit, twin.fit_count, sizeof *twin.fit, by_bytes);
    double bytes = twin.fit[(uint64_t)(share * (double)(twin.fit_count - 1))].estimate_bytes;
    char size[32];
    snprintf(size, sizeof size, "%.0fB", bytes);
    release(&twin);
    close_scene(&large);

    uint64_t calls;
    struct scene scene = open_scene_set(dry_model("gpt", true, 2, gpt, 5), machine, "dram.size", size);
    const struct ll_search_result *result = search(&scene, devices, batch, &calls);
    twin = see_all(&scene, devices, batch);
    assert_true(twin.too_large > 0);
    assert_int_equal(result->programs, twin.programs);
    check_dropped(&scene, devices, result, &twin);
    release(&twin);
    close_scene(&scene);
}

static void of_what_does_not_fit_a_search_drops_no_more(void **state)
{
    (void)state;
    for (double share = 0; share < 1; share += 0.25)
        check_tight(share == 0.5 ? two_nodes : one_node, share);
}

static void a_search_finds_all_that_can_be_written_down(void **state)
{
    (void)state;
    check_all(dry_model("gpt", true, 2, gpt, 5), one_node, 4, BATCH / 2);
    check_all(toy_trace(ll_seed(63)), no_network, 1, BATCH);
    check_all(dry_model("gpt", true, 2, gpt, 5), two_nodes, DEVICES, BATCH);
    check_all(dry_model("gpt", false, 2, gpt, 5), one_node, 4, BATCH);
    check_all(dry_model("moe", true, 2, experts, 9), one_node, 4, BATCH);
    check_all(dry_model("llama", true, 1, sequences, 8), two_nodes, DEVICES, BATCH);
    check_all(dry_model("gpt", true, 2, three_heads, 5), three_nodes, 24, 4);
    check_all(dry_model("gpt", true, 2, many_words, 5), one_node, 2, 2);
    check_all(toy_trace(ll_seed(62)), one_node, DEVICES, BATCH);
}

/* --- what is given --- */

struct given {
    const char *key, *values;
};

static bool has_value(const struct ll_parallel *plan, const struct given *given)
{
    struct ll_plan_given one = {0};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    bool holds = true;
    assert_true(ll_given_add(&one, given->key, given->values, (struct ll_place){0}, &arena, &diags));
    for (size_t i = 0; i < ll_plan_key_count(); i++)
        holds &= ll_given_hold(&one, plan, ll_plan_member_of(i));
    ll_arena_release(&arena);
    return holds;
}

/* Of all that a search without any finds, one with some finds those that hold them, as they were, where no
 * search varies what is given without; else all hold the values, each value is tried, and simulations are
 * those of the plans. */
static void check_given(const char *machine, const struct given *given, size_t count, bool narrows)
{
    struct scene scene = open_scene(dry_model("gpt", true, 2, gpt, 5), machine);
    const uint64_t devices = 4, batch = 4;
    struct ll_plan_given read = {0};
    for (size_t i = 0; i < count; i++)
        assert_true(ll_given_add(&read, given[i].key, given[i].values, (struct ll_place){0}, &scene.arena,
                                 &scene.diags));
    struct ll_plan_search wanted = {.devices = devices, .batch = batch, .simulated = SIMULATED};
    const struct ll_search_result *all =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    wanted.given = &read;
    const struct ll_search_result *held =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    assert_true(all && held && all->found_count < LL_MOST_FOUND && held->found_count > 0);
    uint64_t expected = 0;
    for (uint64_t i = 0; i < all->found_count; i++) {
        bool holds = true;
        for (size_t w = 0; w < count; w++)
            holds &= has_value(&all->found[i].plan, &given[w]);
        expected += holds;
        uint64_t k = 0;
        while (narrows && holds && k < held->found_count &&
               compare_plans(&held->found[k].plan, &all->found[i].plan) != 0)
            k++;
        if (narrows && holds) {
            assert_true(k < held->found_count);
            assert_near(held->found[k].estimate_s, all->found[i].estimate_s, 1e-12);
        }
    }
    if (narrows)
        assert_int_equal(held->found_count, expected);
    for (uint64_t i = 0; i < held->found_count; i++)
        for (size_t w = 0; w < count; w++)
            assert_true(has_value(&held->found[i].plan, &given[w]));
    for (uint64_t i = 0; i < held->found_count && held->found[i].step_s > 0; i++)
        check_simulation(&scene, devices, &held->found[i]);
    close_scene(&scene);
}

static void a_search_holds_what_is_given(void **state)
{
    (void)state;
    static const struct given tensor[] = {{"tp", "2"}},
                              several[] = {{"tp", "1,2"}, {"pp", "2"}, {"zero", "0,1"}},
                              recomputed[] = {{"recompute", "full"}, {"micro_batch", "1,2"}},
                              order[] = {{"schedule", "interleaved,zb_h1"}, {"sequence_parallel", "false"}},
                              narrow[] = {{"low_precision", "none,tensorwise"}, {"grads_in_fp32", "true"}},
                              overlapped[] = {{"tp_overlap", "true"}},
                              split[] = {{"account_for_embedding_in_pipeline_split", "true"},
                                         {"account_for_loss_in_pipeline_split", "true"}},
                              layout[] = {{"pipeline_model_parallel_layout", "Et*3|t*5L"}},
                              stragglers[] = {{"stragglers", "0.25:2"}, {"slow_links", "0.25:3"}},
                              bucket[] = {{"bucket", "1MiB"}, {"offload", "optimizer"}};
    check_given(one_node, tensor, 1, true);
    check_given(one_node, several, 3, true);
    check_given(two_nodes, recomputed, 2, true);
    check_given(one_node, order, 2, true);
    check_given(one_node, narrow, 2, false);
    check_given(one_node, overlapped, 1, false);
    check_given(one_node, split, 2, false);
    check_given(one_node, layout, 1, false);
    check_given(one_node, stragglers, 2, false);
    check_given(one_node, bucket, 2, false);
}

/* Estimates of a recipe are those of programs that a plan of one makes, so that what it gains is known before
 * anything is simulated. */
static void estimates_know_recipes(void **state)
{
    (void)state;
    static const char eight_bits[] =
        "name: cluster\nclock: 1GHz\nunits:\n"
        "  - {name: array, model: matrix, count: 4, macs: {f32: 4, bf16: 8, f8: 64}}\n"
        "  - {name: simd, model: vector, lanes: 4096, flops: {f32: 2, i32: 2}}\n"
        "memory:\n  - {name: dram, size: 16GiB, bandwidth: 10TB/s}\n"
        "network:\n  - {name: link, topology: switch, devices: 8, bandwidth: 500GB/s, latency: 1us}\n";
    struct scene scene = open_scene(dry_model("gpt", true, 2, gpt, 5), eight_bits);
    struct ll_plan_given read = {0};
    assert_true(ll_given_add(&read, "low_precision", "none,tensorwise", (struct ll_place){0}, &scene.arena,
                             &scene.diags));
    const struct ll_plan_search wanted = {.given = &read, .devices = 2, .batch = 4, .simulated = 4};
    const struct ll_search_result *result =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    assert_true(result && result->found_count > 0);
    assert_int_equal(result->found[0].plan.low_precision.recipe, LL_RECIPE_TENSORWISE);
    double least_s[LL_RECIPE_COUNT] = {0};
    for (uint64_t i = 0; i < result->found_count; i++) {
        double *least = &least_s[result->found[i].plan.low_precision.recipe];
        *least = *least > 0 ? fmin(*least, result->found[i].estimate_s) : result->found[i].estimate_s;
    }
    assert_true(least_s[LL_RECIPE_NONE] > 0 && least_s[LL_RECIPE_TENSORWISE] > 0);
    assert_true(least_s[LL_RECIPE_TENSORWISE] < 0.8 * least_s[LL_RECIPE_NONE]);
    for (uint64_t i = 0; i < result->found_count && result->found[i].step_s > 0; i++)
        assert_true(fabs(result->found[i].estimate_s / result->found[i].step_s - 1) < 0.5);
    close_scene(&scene);
}

/* A device of eight that takes three times as long: in estimates, too, for what does not wait for the
 * network. */
static void estimates_know_stragglers(void **state)
{
    (void)state;
    struct scene scene = open_scene(dry_model("gpt", true, 2, gpt, 5), one_node);
    struct ll_plan_given read = {0};
    assert_true(ll_given_add(&read, "stragglers", "0.1:3", (struct ll_place){0}, &scene.arena, &scene.diags));
    struct ll_plan_search wanted = {.devices = DEVICES, .batch = BATCH, .simulated = SIMULATED};
    const struct ll_search_result *even =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    wanted.given = &read;
    const struct ll_search_result *slow =
        ll_search_plans(scene.trace, scene.machine, &wanted, &scene.arena, &scene.diags);
    assert_true(even && slow && even->considered == slow->considered);
    double off = 0, off_without = 0;
    for (int i = 0; i < SIMULATED; i++) {
        const struct ll_found_plan *found = &slow->found[i];
        struct ll_parallel plan = found->plan;
        plan.stragglers = (struct ll_slow_share){.factor = 1};
        struct ll_spread *spread = ll_spread_trace(scene.trace, &plan, DEVICES, &scene.diags);
        const double even_s = ll_parallel_time_s(spread, scene.machine, &scene.remembered, &scene.diags);
        off += fabs(found->estimate_s / found->step_s - 1);
        off_without += fabs(even_s / found->step_s - 1);
        ll_spread_free(spread);
    }
    assert_true(off < off_without);
    assert_true(slow->found[0].estimate_s > even->found[0].estimate_s);
    close_scene(&scene);
}

/* Two pools of the same devices are found as one machine of them is, where layers are laid out alike. */
static void a_search_over_equal_pools_is_that_of_one_machine(void **state)
{
    (void)state;
    struct scene one = open_scene(dry_model("gpt", true, 2, gpt, 5), two_nodes),
                 two = open_scene(dry_model("gpt", true, 2, gpt, 5), two_nodes),
                 other = open_scene(toy_trace(ll_seed(63)), two_nodes);
    assert_true(ll_machine_add_pool(two.machine, other.machine));
    other.machine = NULL;
    struct ll_plan_given read = {0};
    assert_true(ll_given_add(&read, "even_stages", "true", (struct ll_place){0}, &one.arena, &one.diags));
    assert_true(ll_given_add(&read, "pp", "2", (struct ll_place){0}, &one.arena, &one.diags));
    const struct ll_plan_search wanted = {
        .given = &read, .devices = DEVICES, .batch = BATCH, .simulated = SIMULATED};
    const struct ll_search_result *a =
        ll_search_plans(one.trace, one.machine, &wanted, &one.arena, &one.diags);
    const struct ll_search_result *b =
        ll_search_plans(two.trace, two.machine, &wanted, &two.arena, &two.diags);
    assert_true(a && b && a->found_count > 0);
    assert_int_equal(a->found_count, b->found_count);
    assert_int_equal(a->considered, b->considered);
    for (uint64_t i = 0; i < a->found_count; i++) {
        assert_int_equal(compare_plans(&a->found[i].plan, &b->found[i].plan), 0);
        assert_true(a->found[i].estimate_s == b->found[i].estimate_s);
        assert_true(a->found[i].step_s == b->found[i].step_s);
    }
    close_scene(&one);
    close_scene(&two);
    close_scene(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_finds_all_that_can_be_written_down),
        cmocka_unit_test(of_what_does_not_fit_a_search_drops_no_more),
        cmocka_unit_test(a_search_holds_what_is_given),
        cmocka_unit_test(estimates_know_recipes),
        cmocka_unit_test(estimates_know_stragglers),
        cmocka_unit_test(a_search_over_equal_pools_is_that_of_one_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
