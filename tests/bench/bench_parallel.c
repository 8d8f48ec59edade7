/* SPDX-License-Identifier: Apache-2.0 */
/* What many devices cost: a search for the best plan of a transformer of 175 billion parameters, memory and
 * bound of a plan of it in closed form and the estimate of its time, one plan of it on 1,024 devices, 100,000
 * replicas of a residual network, alone and with each resource doubled; and the replay of a trace as Chakra's
 * files give it, a collective behind every seven computations; and what a step of 4,096 layers is asked once
 * before it is replayed. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include "models/model.h"
#include "sim/parallel/parallel.h"
#include "sim/parallel/pipeline.h"
#include "sim/replay/communication.h"
#include "tracer/record/recorder.h"

#include <stdlib.h>
#include <string.h>

enum { CHAKRA_OPS = 400000, LAYERS = 96, FORMULA_SCHEDULES = 4, FORMULA_PLANS = FORMULA_SCHEDULES * 4 * 2 };

static const char cluster[] =
    "inherits: hgx_a100\nname: cluster\nnetwork:\n"
    "  - {name: nvlink, topology: switch, devices: 8, bandwidth: 250GB/s, latency: 1us}\n"
    "  - {name: cards, topology: switch, devices: 12500, bandwidth: 25GB/s, latency: 5us}\n";

struct scene {
    const struct ll_trace *trace;
    const struct ll_machine *machine;
    struct ll_parallel plan;
    const struct ll_prepared *prepared;
    uint64_t plans; /* that the search considered */
    struct ll_estimator estimator;
    struct ll_layer_cost layers[LAYERS];
    struct ll_diags diags;
};

static struct ll_trace *record_model(const char *name, uint64_t batch, const struct ll_setting *settings,
                                     size_t count, struct ll_diags *diags)
{
    struct ll_run_report report;
    struct ll_trace *trace = NULL;
    const struct ll_run_options options = {.train = true,
                                           .batch = batch,
                                           .steps = 1,
                                           .seed = 1,
                                           .dry_run = true,
                                           .settings = settings,
                                           .setting_count = count,
                                           .trace = &trace};
    return ll_model_run(ll_model_find(name), &options, &report, diags) ? trace : NULL;
}

/* A chain of computations of few sizes, and sums of fewer. */
static struct ll_trace *record_chakra(void)
{
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open_memory(NULL, 0, &status);
    uint32_t scope = ll_recorder_string(recorder, "op"), buffer[6];
    for (unsigned i = 0; i < 6; i++) {
        const struct ll_shape shape = {.rank = 1, .dtype = LL_U8, .dim = {1u << (16 + i)}};
        buffer[i] =
            ll_recorder_tensor(recorder, ll_recorder_desc(recorder, "exchanged", &shape, LL_WORKSPACE));
    }
    for (uint32_t i = 0; i < CHAKRA_OPS; i++) {
        bool sums = i % 8 == 7;
        const struct ll_shape shape = {.rank = 1,
                                       .dtype = sums ? LL_U8 : LL_F32,
                                       .dim = {sums ? 1u << (16 + i / 8 % 6) : 1024 * (1 + i % 7)}};
        const struct ll_attr flops = {.key = LL_ATTR_FLOPS, .count = 1000000 * (1 + i % 56)};
        uint32_t desc = ll_recorder_desc(recorder, "made", &shape, LL_WORKSPACE), before = i - 1;
        const struct ll_record record = {.kind = sums ? LL_OP_ALL_REDUCE : LL_OP_COMPUTATION,
                                         .phase = sums ? LL_PHASE_COMM : LL_PHASE_FORWARD,
                                         .scope = scope,
                                         .inputs = &buffer[i / 8 % 6],
                                         .input_count = sums,
                                         .outputs = &desc,
                                         .output_count = 1,
                                         .attrs = &flops,
                                         .attr_count = !sums,
                                         .controls = &before,
                                         .control_count = i > 0};
        ll_recorder_op(recorder, &record);
    }
    return ll_recorder_take(recorder, &status);
}

static void search(void *context)
{
    struct scene *scene = context;
    const struct ll_plan_search what = {.devices = 1024, .batch = 1536, .simulated = 1};
    struct ll_arena arena = {0};
    const struct ll_search_result *result =
        ll_search_plans(scene->trace, scene->machine, &what, &arena, &scene->diags);
    scene->plans = result ? result->considered : 0;
    ll_arena_release(&arena);
}

/* Schedules, stages of ZeRO and kinds of recomputation on eight stages of equal layers, whose costs are
 * given: memory and a bound of each, or the whole estimate. */
static void formulas(struct scene *scene, bool whole)
{
    static const enum ll_schedule schedules[FORMULA_SCHEDULES] = {LL_SCHEDULE_GPIPE, LL_SCHEDULE_ONE_F_ONE_B,
                                                                  LL_SCHEDULE_ZB_H1, LL_SCHEDULE_ZB_H2};
    const struct ll_layer_costs costs = {scene->layers, LAYERS};
    struct ll_estimator *e = &scene->estimator;
    struct ll_parallel plan = scene->plan;
    double sum = 0;
    if (!ll_estimate_divide(e, &costs, &plan))
        exit(1);
    for (int full = 0; full < 2; full++) {
        plan.recompute = full ? LL_RECOMPUTE_FULL : LL_RECOMPUTE_NONE;
        ll_estimate_count(e, &costs, &plan);
        for (plan.zero = 0; plan.zero < 4; plan.zero++) {
            ll_estimate_share(e, &costs, &plan);
            for (int i = 0; i < FORMULA_SCHEDULES; i++) {
                plan.schedule = schedules[i];
                sum += ll_estimate_bytes(e, &plan) + ll_estimate_bound_s(e, &plan);
                sum += whole ? ll_estimate_s(e, &costs, &plan) : 0;
            }
        }
    }
    if (!(sum > 0) || e->failed)
        exit(1);
}

static void bound(void *context)
{
    formulas(context, false);
}

static void estimate(void *context)
{
    formulas(context, true);
}

/* With layers alike, and prices of exchanges that are remembered, as in a search. */
static void bench_formulas(struct scene *scene)
{
    struct ll_arena arena = {0};
    struct ll_prices prices = {0};
    struct ll_exchanges *exchanges = ll_exchanges_new(scene->machine, 1024, &prices);
    for (uint32_t i = 0; i < LAYERS; i++)
        scene->layers[i] = (struct ll_layer_cost){.forward_s = 1e-3,
                                                  .backward_s = 2e-3,
                                                  .weights_s = 1e-3,
                                                  .update_s = 1e-4,
                                                  .state = {1e8, 4e8, 1e8},
                                                  .forward_read_bytes = 1e8,
                                                  .backward_read_bytes = 1e8,
                                                  .kept_bytes = 1e8,
                                                  .held_bytes = 1e7,
                                                  .peak_bytes = 2e8,
                                                  .again_peak_bytes = 2e8,
                                                  .handed_bytes = 1e7,
                                                  .flops = 1,
                                                  .named_flops = 1};
    if (!exchanges || !ll_estimator_open(&scene->estimator, scene->machine, exchanges, LAYERS,
                                         scene->plan.pipeline, &arena))
        exit(1);
    ll_bench("parallel: memory and bound of a plan", bound, scene, FORMULA_PLANS, 0);
    ll_bench("parallel: estimate a plan", estimate, scene, FORMULA_PLANS, 0);
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
    ll_arena_release(&arena);
}

static void step(void *context)
{
    struct scene *scene = context;
    struct ll_arena arena = {0};
    struct ll_spread *spread = ll_spread_trace(scene->trace, &scene->plan, 100000, &scene->diags);
    struct ll_remembered remembered = {0};
    if (spread)
        ll_parallel_run(spread, scene->machine, &remembered, &arena, &scene->diags);
    ll_spread_free(spread);
    ll_remembered_release(&remembered);
    ll_arena_release(&arena);
}

/* The step, and again with each resource doubled. */
static void what_if(void *context)
{
    struct scene *scene = context;
    struct ll_arena arena = {0};
    struct ll_remembered remembered = {0};
    size_t count;
    struct ll_spread *spread = ll_spread_trace(scene->trace, &scene->plan, 100000, &scene->diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, scene->machine, &remembered, &arena, &scene->diags) : NULL;
    if (result)
        ll_parallel_what_if(result, &remembered, &arena, &count);
    ll_spread_free(spread);
    ll_remembered_release(&remembered);
    ll_arena_release(&arena);
}

static void prepare(void *context)
{
    struct scene *scene = context;
    struct ll_arena arena = {0};
    ll_prepare(scene->trace, &arena, &scene->diags);
    ll_arena_release(&arena);
}

/* A step so deep that what it keeps for going backward is most of what it knows. */
static void bench_deep(struct scene *scene)
{
    const struct ll_setting deep[] = {{"preset", "gpt3-175b"}, {"layers", "4096"}, {"dtype", "bf16"}};
    struct ll_trace *gpt = record_model("gpt", 1, deep, 3, &scene->diags);
    scene->trace = gpt;
    if (gpt)
        ll_bench("parallel: prepare an op of 4,096 layers", prepare, scene, gpt->op_count, 0);
    ll_trace_free(gpt);
}

static void replay(void *context)
{
    struct scene *scene = context;
    struct ll_arena arena = {0};
    ll_replay(scene->prepared, scene->machine, &arena, &scene->diags);
    ll_arena_release(&arena);
}

static void bench_plans(struct scene *scene)
{
    const struct ll_setting large[] = {{"preset", "gpt3-175b"}, {"dtype", "bf16"}};
    struct ll_trace *gpt = record_model("gpt", 1, large, 2, &scene->diags),
                    *resnet = record_model("resnet", 32, NULL, 0, &scene->diags);
    if (!gpt || !resnet)
        return;
    scene->trace = gpt;
    search(scene);
    ll_bench("parallel: consider a plan", search, scene, scene->plans ? scene->plans : 1, 0);
    scene->plan = ll_plan_of_one();
    scene->plan.tensor = scene->plan.pipeline = 8;
    scene->plan.data = 16;
    scene->plan.batch = 1536;
    scene->plan.micro_batch = 1;
    bench_formulas(scene);
    ll_bench("parallel: t8 p8 d16 of gpt3-175b", step, scene, 1, 0);
    scene->trace = resnet;
    scene->plan = ll_plan_of_one();
    scene->plan.data = 100000;
    ll_bench("parallel: 100,000 replicas of resnet", step, scene, 1, 0);
    ll_bench("parallel: the same, and what would help", what_if, scene, 1, 0);
    ll_trace_free(gpt);
    ll_trace_free(resnet);
}

int main(void)
{
    static struct scene scene;
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_arena arena = {0};
    struct ll_machine *machine =
        ll_machine_parse(cluster, strlen(cluster), "cluster.yaml", folders, NULL, 0, &scene.diags);
    struct ll_trace *chakra = record_chakra();
    scene.machine = machine;
    scene.prepared = chakra ? ll_prepare(chakra, &arena, &scene.diags) : NULL;
    if (!machine || !scene.prepared) {
        fprintf(stderr, "bench_parallel cannot read hwconfigs/ here, or memory ran out\n");
        return 1;
    }
    ll_bench("parallel: replay an op as Chakra's", replay, &scene, CHAKRA_OPS, 0);
    bench_plans(&scene);
    bench_deep(&scene);
    ll_trace_free(chakra);
    ll_machine_free(machine);
    ll_arena_release(&arena);
    ll_diags_release(&scene.diags);
    return 0;
}
