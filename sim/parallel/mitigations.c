/* SPDX-License-Identifier: Apache-2.0 */
/* Memory mitigations. The first half rewrites the trace of a device that runs alone, the second changes a
 * plan; the result is replayed, and its time and peak memory are reported. A row of mitigations.def is a
 * function in one or both of them. */
#include "sim/parallel/parallel.h"

#include <inttypes.h>
#include <math.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/plan.h"
#include "sim/parallel/pipeline.h"
#include "sim/replay/communication.h"
#include "tracer/base/diag.h"
#include "tracer/transform/rescale.h"

struct mitigating {
    const struct ll_result *result;
    struct ll_arena *arena;
    uint64_t capacity_bytes, replicas;
    struct ll_mitigation *mitigation;
    double samples; /* of the step that is tried, over those of the step as it is */
};

enum { REPLICAS_ELSE = 8 };

static struct ll_parallel plan_of(const struct mitigating *c)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = c->replicas;
    return plan;
}

static const struct ll_trace *trace_of(const struct mitigating *c)
{
    return c->result->prepared->trace;
}

static bool needs(const struct mitigating *c, const struct ll_trace *trace, struct ll_footprint *footprint)
{
    return ll_footprint_of(trace, c->result->machine->software.early_updates, footprint);
}

/* The footprint of a batch; UINT64_MAX when there is none. */
static uint64_t peak_of_batch(struct mitigating *c, uint64_t batch)
{
    const char *trouble = NULL;
    struct ll_footprint footprint = {.peak_bytes = UINT64_MAX};
    struct ll_trace *trace = ll_trace_rescale(trace_of(c), batch, &trouble);
    c->mitigation->trouble = trace || !trouble ? c->mitigation->trouble : trouble;
    if (trace && !needs(c, trace, &footprint))
        footprint.peak_bytes = UINT64_MAX;
    ll_trace_free(trace);
    return footprint.peak_bytes;
}

/* The largest batch that fits, by halving: a larger one never needs less. */
static struct ll_trace *try_BATCH(struct mitigating *c, const char **trouble)
{
    uint64_t batch = ll_trace_batch(trace_of(c)), fits = 0, fails = batch;
    if (c->result->fits || batch < 2) {
        *trouble = c->result->fits ? "it fits as it is" : "the batch is one, or not known";
        return NULL;
    }
    while (fails - fits > 1 && !c->mitigation->trouble) {
        uint64_t middle = fits + (fails - fits) / 2;
        if (peak_of_batch(c, middle) <= c->capacity_bytes)
            fits = middle;
        else
            fails = middle;
    }
    *trouble = c->mitigation->trouble;
    if (*trouble)
        return NULL;
    fits = ll_max(fits, 1);
    const char *with = ll_format(c->arena, "--batch %" PRIu64, fits);
    c->mitigation->with = with ? with : "";
    c->samples = (double)fits / (double)batch;
    return ll_trace_rescale(trace_of(c), fits, trouble);
}

static struct ll_trace *recompute(const struct mitigating *c, enum ll_recompute which, const char **trouble)
{
    struct ll_trace *trace = ll_recompute(trace_of(c), which, trouble);
    if (trace && trace->op_count == trace_of(c)->op_count) {
        ll_trace_free(trace);
        *trouble = "there is nothing to recompute";
        return NULL;
    }
    return trace;
}

static struct ll_trace *try_SELECTIVE(struct mitigating *c, const char **trouble)
{
    return recompute(c, LL_RECOMPUTE_SELECTIVE, trouble);
}

static struct ll_trace *try_FULL(struct mitigating *c, const char **trouble)
{
    return recompute(c, LL_RECOMPUTE_FULL, trouble);
}

static struct ll_trace *shard(struct mitigating *c, uint64_t zero, const char **trouble)
{
    struct ll_parallel plan = plan_of(c);
    const char *with = ll_format(c->arena, "--dp %" PRIu64 " --zero %" PRIu64, c->replicas, zero);
    c->mitigation->with = with ? with : "";
    plan.zero = zero;
    return ll_exchange_gradients(trace_of(c), &plan, trouble);
}

static struct ll_trace *try_ZERO_1(struct mitigating *c, const char **trouble)
{
    return shard(c, 1, trouble);
}

static struct ll_trace *try_ZERO_2(struct mitigating *c, const char **trouble)
{
    return shard(c, 2, trouble);
}

static struct ll_trace *try_ZERO_3(struct mitigating *c, const char **trouble)
{
    return shard(c, 3, trouble);
}

static struct ll_trace *offload(struct mitigating *c, struct ll_offload what, const char **trouble)
{
    struct ll_parallel plan = plan_of(c);
    plan.offload = what;
    struct ll_trace *trace = ll_offload(trace_of(c), &plan, trouble);
    if (trace && c->result->machine->host.bandwidth_Bps == 0)
        c->mitigation->trouble = "the machine does not say its host.bandwidth";
    return trace;
}

static struct ll_trace *try_OPTIMIZER_AWAY(struct mitigating *c, const char **trouble)
{
    return offload(c, (struct ll_offload){.optimizer = true}, trouble);
}

static struct ll_trace *try_ACTIVATIONS_AWAY(struct mitigating *c, const char **trouble)
{
    return offload(c, (struct ll_offload){.activations = true}, trouble);
}

static struct ll_trace *try_WEIGHTS_AWAY(struct mitigating *c, const char **trouble)
{
    return offload(c, (struct ll_offload){.weights = true}, trouble);
}

/* The step replayed; its time stays unknown where the machine cannot say. */
static void time_cure(struct mitigating *c, const struct ll_trace *trace)
{
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    const struct ll_prepared *prepared = ll_prepare(trace, &scratch, &diags);
    const struct ll_result *result =
        prepared ? ll_replay(prepared, c->result->machine, &scratch, &diags) : NULL;
    if (result) {
        c->mitigation->time_s = result->time_s;
        c->mitigation->slowdown = result->time_s / c->result->time_s / c->samples;
    } else if (diags.count > 0) {
        c->mitigation->trouble = "times are not known, the machine says nothing of a network";
    }
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
}

static void try_cure(struct mitigating *c,
                     struct ll_trace *(*make)(struct mitigating *c, const char **trouble))
{
    const char *trouble = NULL;
    struct ll_footprint footprint;
    struct ll_trace *trace = make(c, &trouble);
    if (!trace) {
        c->mitigation->trouble = trouble ? trouble : ll_status_text(LL_NO_MEMORY);
        return;
    }
    c->mitigation->done = needs(c, trace, &footprint);
    if (c->mitigation->done) {
        c->mitigation->peak_bytes = footprint.peak_bytes;
        c->mitigation->fits = footprint.peak_bytes <= c->capacity_bytes;
        if (!c->mitigation->trouble)
            time_cure(c, trace);
    }
    ll_trace_free(trace);
}

const struct ll_mitigation *ll_memory_mitigations(const struct ll_result *result, struct ll_arena *arena)
{
    static const struct {
        const char *name, *option, *help;
        struct ll_trace *(*make)(struct mitigating *c, const char **trouble);
    } rows[] = {
#define LL_MITIGATION(word, name, option, help) {name, option, help, try_##word},
#define LL_MITIGATION_ALONE LL_MITIGATION
#include "sim/parallel/mitigations.def"
    };
    const struct ll_machine *machine = result->machine;
    struct ll_mitigation *mitigations = ll_alloc(arena, LL_MITIGATION_COUNT, sizeof *mitigations);
    struct mitigating curing = {.result = result, .arena = arena, .replicas = 1};
    curing.capacity_bytes = machine->levels[machine->level_count - 1].size_bytes;
    for (uint64_t i = 0; i < machine->network_count; i++)
        curing.replicas = ll_mul(curing.replicas, machine->networks[i].devices);
    if (curing.replicas < 2)
        curing.replicas = REPLICAS_ELSE;
    for (unsigned i = 0; mitigations && i < LL_MITIGATION_COUNT; i++) {
        mitigations[i] = (struct ll_mitigation){.name = rows[i].name,
                                                .help = rows[i].help,
                                                .with = rows[i].option,
                                                .time_s = NAN,
                                                .slowdown = NAN};
        curing.mitigation = &mitigations[i];
        curing.samples = 1;
        try_cure(&curing, rows[i].make);
    }
    return mitigations;
}

/* A mitigation makes another plan; all that follows is the same for each. */

struct replanning {
    const struct ll_trace *trace;
    const struct ll_parallel_result *step; /* as it is */
    struct ll_arena *arena;
    struct ll_remembered remembered;
    struct ll_mitigation *mitigation;
};

/* Simulates the step of a plan. False when the plan cannot be, which the mitigation says. */
static bool simulate(struct replanning *c, const struct ll_parallel *plan)
{
    const struct ll_machine *machine = c->step->machine;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    struct ll_spread *spread = ll_spread_trace(c->trace, plan, ll_machine_devices(machine), &diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, machine, &c->remembered, &scratch, &diags) : NULL;
    c->mitigation->done = result;
    if (result) {
        c->mitigation->peak_bytes = result->stages[result->fullest].memory_bytes;
        c->mitigation->fits = c->mitigation->peak_bytes <= result->stages[result->fullest].capacity_bytes;
        c->mitigation->time_s = result->step_s;
        c->mitigation->slowdown = result->step_s / c->step->step_s;
    } else {
        c->mitigation->trouble = diags.kept_count ? ll_format(c->arena, "%s", diags.kept[0].message)
                                                  : ll_status_text(LL_NO_MEMORY);
    }
    ll_spread_free(spread);
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return result;
}

static void say_with(struct replanning *c, const char *with)
{
    c->mitigation->with = with ? with : "";
}

/* Functions of mitigations change a plan, simulate it, and say with what; or say why it cannot be. */

static const char *replan_MICRO_BATCH(struct replanning *c, struct ll_parallel *plan)
{
    uint64_t given = plan->micro_batch;
    if (given < 2)
        return "the micro-batch is one, or not known";
    c->mitigation->fits = false;
    for (uint64_t size = given / 2; size > 0 && !c->mitigation->fits; size--) {
        if (given % size != 0)
            continue;
        plan->micro_batch = size;
        say_with(c, ll_format(c->arena, "--micro-batch %" PRIu64, size));
        if (!simulate(c, plan))
            break;
    }
    return NULL;
}

static const char *replan_recompute(struct replanning *c, struct ll_parallel *plan, enum ll_recompute which)
{
    if (plan->recompute >= which)
        return "it does so already";
    plan->recompute = which;
    simulate(c, plan);
    return NULL;
}

static const char *replan_SELECTIVE(struct replanning *c, struct ll_parallel *plan)
{
    return replan_recompute(c, plan, LL_RECOMPUTE_SELECTIVE);
}

static const char *replan_FULL(struct replanning *c, struct ll_parallel *plan)
{
    return replan_recompute(c, plan, LL_RECOMPUTE_FULL);
}

/* Twice the ways of one kind, half the replicas if there are as many. */
static const char *double_ways(struct replanning *c, struct ll_parallel *plan, uint64_t *ways,
                               const char *flag)
{
    *ways = ll_mul(*ways, 2);
    if (plan->data % 2 == 0) {
        plan->data /= 2;
        say_with(c, ll_format(c->arena, "%s %" PRIu64 " --dp %" PRIu64, flag, *ways, plan->data));
    } else {
        say_with(c, ll_format(c->arena, "%s %" PRIu64 " on %" PRIu64 " devices", flag, *ways,
                              ll_mul(ll_replicas(plan), ll_mul(plan->tensor, plan->pipeline))));
    }
    plan->zero = ll_replicas(plan) > 1 ? plan->zero : 0;
    simulate(c, plan);
    return NULL;
}

static const char *replan_TENSOR(struct replanning *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->tensor, "--tp");
}

static const char *replan_CONTEXT(struct replanning *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->context, "--cp");
}

static const char *replan_PIPELINE(struct replanning *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->pipeline, "--pp");
}

static const char *replan_shard(struct replanning *c, struct ll_parallel *plan, uint64_t zero)
{
    if (ll_replicas(plan) < 2)
        return "there are no replicas";
    if (plan->zero >= zero)
        return "it does so already";
    plan->zero = zero;
    simulate(c, plan);
    return NULL;
}

static const char *replan_ZERO_1(struct replanning *c, struct ll_parallel *plan)
{
    return replan_shard(c, plan, 1);
}

static const char *replan_ZERO_2(struct replanning *c, struct ll_parallel *plan)
{
    return replan_shard(c, plan, 2);
}

static const char *replan_ZERO_3(struct replanning *c, struct ll_parallel *plan)
{
    return replan_shard(c, plan, 3);
}

static const char *replan_offload(struct replanning *c, struct ll_parallel *plan, bool *what)
{
    if (*what)
        return "it does so already";
    if (c->step->result->machine->host.bandwidth_Bps == 0)
        return "the machine does not say its host.bandwidth";
    *what = true;
    simulate(c, plan);
    return NULL;
}

static const char *replan_OPTIMIZER_AWAY(struct replanning *c, struct ll_parallel *plan)
{
    return replan_offload(c, plan, &plan->offload.optimizer);
}

static const char *replan_ACTIVATIONS_AWAY(struct replanning *c, struct ll_parallel *plan)
{
    return replan_offload(c, plan, &plan->offload.activations);
}

static const char *replan_WEIGHTS_AWAY(struct replanning *c, struct ll_parallel *plan)
{
    return replan_offload(c, plan, &plan->offload.weights);
}

const struct ll_mitigation *ll_plan_mitigations(const struct ll_trace *trace,
                                                const struct ll_parallel_result *step, struct ll_arena *arena)
{
    static const struct {
        const char *name, *option, *help;
        const char *(*make)(struct replanning *c, struct ll_parallel *plan);
    } rows[] = {
#define LL_MITIGATION(word, name, option, help) {name, option, help, replan_##word},
#define LL_MITIGATION_OF_PLAN LL_MITIGATION
#include "sim/parallel/mitigations.def"
    };
    struct ll_mitigation *mitigations = ll_alloc(arena, LL_PLAN_MITIGATION_COUNT, sizeof *mitigations);
    struct replanning curing = {.trace = trace, .step = step, .arena = arena};
    for (unsigned i = 0; mitigations && i < LL_PLAN_MITIGATION_COUNT; i++) {
        struct ll_parallel plan = step->spread->plan;
        plan.batch = step->spread->sizes.batch;
        plan.micro_batch = step->spread->sizes.micro_batch;
        mitigations[i] = (struct ll_mitigation){.name = rows[i].name,
                                                .help = rows[i].help,
                                                .with = rows[i].option,
                                                .time_s = NAN,
                                                .slowdown = NAN};
        curing.mitigation = &mitigations[i];
        const char *trouble = rows[i].make(&curing, &plan);
        if (mitigations[i].done && mitigations[i].peak_bytes >= step->stages[step->fullest].memory_bytes) {
            mitigations[i].done = false;
            trouble = "it frees nothing";
        }
        mitigations[i].trouble = trouble ? trouble : mitigations[i].trouble;
    }
    ll_remembered_release(&curing.remembered);
    return mitigations;
}
