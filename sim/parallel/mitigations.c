/* SPDX-License-Identifier: Apache-2.0 */
/* Memory mitigations. Each one of cures.def rewrites the trace of a device that runs alone, each one of
 * plan_cures.def changes a plan; the result is replayed, and its time and peak memory are reported. The first
 * half is for one device, the second for plans. */
#include "sim/parallel/parallel.h"

#include <inttypes.h>
#include <math.h>

#include "sim/memory/footprint.h"
#include "sim/parallel/exchange.h"
#include "sim/parallel/plan.h"
#include "sim/parallel/pipeline.h"
#include "sim/replay/remembered.h"
#include "tracer/base/diag.h"
#include "tracer/transform/rescale.h"

struct curing {
    const struct ll_result *result;
    struct ll_arena *arena;
    uint64_t capacity_bytes, replicas;
    struct ll_cure *cure;
    double samples; /* of the step that is tried, over those of the step as it is */
};

enum { REPLICAS_ELSE = 8 };

static struct ll_parallel plan_of(const struct curing *c)
{
    struct ll_parallel plan = ll_plan_of_one();
    plan.data = c->replicas;
    return plan;
}

static const struct ll_trace *trace_of(const struct curing *c)
{
    return c->result->prepared->trace;
}

static bool needs(const struct curing *c, const struct ll_trace *trace, struct ll_footprint *footprint)
{
    return ll_footprint_of(trace, c->result->machine->software.early_updates, footprint);
}

/* The footprint of a batch; UINT64_MAX when there is none. */
static uint64_t peak_of_batch(struct curing *c, uint64_t batch)
{
    const char *trouble = NULL;
    struct ll_footprint footprint = {.peak_bytes = UINT64_MAX};
    struct ll_trace *trace = ll_trace_rescale(trace_of(c), batch, &trouble);
    c->cure->trouble = trace || !trouble ? c->cure->trouble : trouble;
    if (trace && !needs(c, trace, &footprint))
        footprint.peak_bytes = UINT64_MAX;
    ll_trace_free(trace);
    return footprint.peak_bytes;
}

/* The largest batch that fits, by halving: a larger one never needs less. */
static struct ll_trace *try_BATCH(struct curing *c, const char **trouble)
{
    uint64_t batch = ll_trace_batch(trace_of(c)), fits = 0, fails = batch;
    if (c->result->fits || batch < 2) {
        *trouble = c->result->fits ? "it fits as it is" : "the batch is one, or not known";
        return NULL;
    }
    while (fails - fits > 1 && !c->cure->trouble) {
        uint64_t middle = fits + (fails - fits) / 2;
        if (peak_of_batch(c, middle) <= c->capacity_bytes)
            fits = middle;
        else
            fails = middle;
    }
    *trouble = c->cure->trouble;
    if (*trouble)
        return NULL;
    fits = ll_max(fits, 1);
    const char *with = ll_format(c->arena, "--batch %" PRIu64, fits);
    c->cure->with = with ? with : "";
    c->samples = (double)fits / (double)batch;
    return ll_trace_rescale(trace_of(c), fits, trouble);
}

static struct ll_trace *recompute(const struct curing *c, enum ll_recompute which, const char **trouble)
{
    struct ll_trace *trace = ll_recompute(trace_of(c), which, trouble);
    if (trace && trace->op_count == trace_of(c)->op_count) {
        ll_trace_free(trace);
        *trouble = "there is nothing to compute again";
        return NULL;
    }
    return trace;
}

static struct ll_trace *try_SELECTIVE(struct curing *c, const char **trouble)
{
    return recompute(c, LL_RECOMPUTE_SELECTIVE, trouble);
}

static struct ll_trace *try_FULL(struct curing *c, const char **trouble)
{
    return recompute(c, LL_RECOMPUTE_FULL, trouble);
}

static struct ll_trace *shard(struct curing *c, uint64_t zero, const char **trouble)
{
    struct ll_parallel plan = plan_of(c);
    const char *with = ll_format(c->arena, "--dp %" PRIu64 " --zero %" PRIu64, c->replicas, zero);
    c->cure->with = with ? with : "";
    plan.zero = zero;
    return ll_exchange_gradients(trace_of(c), &plan, trouble);
}

static struct ll_trace *try_ZERO_1(struct curing *c, const char **trouble)
{
    return shard(c, 1, trouble);
}

static struct ll_trace *try_ZERO_2(struct curing *c, const char **trouble)
{
    return shard(c, 2, trouble);
}

static struct ll_trace *try_ZERO_3(struct curing *c, const char **trouble)
{
    return shard(c, 3, trouble);
}

static struct ll_trace *offload(struct curing *c, struct ll_offload what, const char **trouble)
{
    struct ll_parallel plan = plan_of(c);
    plan.offload = what;
    struct ll_trace *trace = ll_offload(trace_of(c), &plan, trouble);
    if (trace && c->result->machine->host.bandwidth_Bps == 0)
        c->cure->trouble = "the machine does not say its host.bandwidth";
    return trace;
}

static struct ll_trace *try_OPTIMIZER_AWAY(struct curing *c, const char **trouble)
{
    return offload(c, (struct ll_offload){.optimizer = true}, trouble);
}

static struct ll_trace *try_ACTIVATIONS_AWAY(struct curing *c, const char **trouble)
{
    return offload(c, (struct ll_offload){.activations = true}, trouble);
}

static struct ll_trace *try_WEIGHTS_AWAY(struct curing *c, const char **trouble)
{
    return offload(c, (struct ll_offload){.weights = true}, trouble);
}

/* The step replayed; its time stays unknown where the machine cannot say. */
static void time_cure(struct curing *c, const struct ll_trace *trace)
{
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    const struct ll_prepared *prepared = ll_prepare(trace, &scratch, &diags);
    const struct ll_result *result =
        prepared ? ll_replay(prepared, c->result->machine, &scratch, &diags) : NULL;
    if (result) {
        c->cure->time_s = result->time_s;
        c->cure->slowdown = result->time_s / c->result->time_s / c->samples;
    } else if (diags.count > 0) {
        c->cure->trouble = "times are not known, the machine says nothing of a network";
    }
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
}

static void try_cure(struct curing *c, struct ll_trace *(*make)(struct curing *c, const char **trouble))
{
    const char *trouble = NULL;
    struct ll_footprint footprint;
    struct ll_trace *trace = make(c, &trouble);
    if (!trace) {
        c->cure->trouble = trouble ? trouble : ll_status_text(LL_NO_MEMORY);
        return;
    }
    c->cure->done = needs(c, trace, &footprint);
    if (c->cure->done) {
        c->cure->peak_bytes = footprint.peak_bytes;
        c->cure->fits = footprint.peak_bytes <= c->capacity_bytes;
        if (!c->cure->trouble)
            time_cure(c, trace);
    }
    ll_trace_free(trace);
}

const struct ll_cure *ll_cures(const struct ll_result *result, struct ll_arena *arena)
{
    static const struct {
        const char *name, *option, *help;
        struct ll_trace *(*make)(struct curing *c, const char **trouble);
    } rows[] = {
#define LL_CURE(word, name, option, help) {name, option, help, try_##word},
#include "sim/parallel/cures.def"
#undef LL_CURE
    };
    const struct ll_machine *machine = result->machine;
    struct ll_cure *cures = ll_alloc(arena, LL_CURE_COUNT, sizeof *cures);
    struct curing curing = {.result = result, .arena = arena, .replicas = 1};
    curing.capacity_bytes = machine->levels[machine->level_count - 1].size_bytes;
    for (uint64_t i = 0; i < machine->network_count; i++)
        curing.replicas = ll_mul(curing.replicas, machine->networks[i].devices);
    if (curing.replicas < 2)
        curing.replicas = REPLICAS_ELSE;
    for (unsigned i = 0; cures && i < LL_CURE_COUNT; i++) {
        cures[i] = (struct ll_cure){.name = rows[i].name,
                                    .help = rows[i].help,
                                    .with = rows[i].option,
                                    .time_s = NAN,
                                    .slowdown = NAN};
        curing.cure = &cures[i];
        curing.samples = 1;
        try_cure(&curing, rows[i].make);
    }
    return cures;
}

/* A cure makes another plan; all that follows is the same for each. */

struct plan_cures_curing {
    const struct ll_trace *trace;
    const struct ll_parallel_result *step; /* as it is */
    struct ll_arena *arena;
    uint64_t capacity_bytes;
    struct ll_remembered remembered;
    struct ll_cure *cure;
};

/* Simulates the step of a plan. False when the plan cannot be, which the cure says. */
static bool simulate(struct plan_cures_curing *c, const struct ll_parallel *plan)
{
    const struct ll_machine *machine = c->step->result->machine;
    struct ll_arena scratch = {0};
    struct ll_diags diags = {0};
    struct ll_spread *spread = ll_spread_trace(c->trace, plan, ll_machine_devices(machine), &diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, machine, &c->remembered, &scratch, &diags) : NULL;
    c->cure->done = result;
    if (result) {
        c->cure->peak_bytes = result->stages[result->fullest].memory_bytes;
        c->cure->fits = c->cure->peak_bytes <= c->capacity_bytes;
        c->cure->time_s = result->step_s;
        c->cure->slowdown = result->step_s / c->step->step_s;
    } else {
        c->cure->trouble = diags.kept_count ? ll_format(c->arena, "%s", diags.kept[0].message)
                                            : ll_status_text(LL_NO_MEMORY);
    }
    ll_spread_free(spread);
    ll_diags_release(&diags);
    ll_arena_release(&scratch);
    return result;
}

static void say_with(struct plan_cures_curing *c, const char *with)
{
    c->cure->with = with ? with : "";
}

/* Functions of cures change a plan, simulate it, and say with what; or say why it cannot be. */

static const char *replan_MICRO_BATCH(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    uint64_t given = plan->micro_batch;
    if (given < 2)
        return "the micro-batch is one, or not known";
    c->cure->fits = false;
    for (uint64_t size = given / 2; size > 0 && !c->cure->fits; size--) {
        if (given % size != 0)
            continue;
        plan->micro_batch = size;
        say_with(c, ll_format(c->arena, "--micro-batch %" PRIu64, size));
        if (!simulate(c, plan))
            break;
    }
    return NULL;
}

static const char *replan_recompute(struct plan_cures_curing *c, struct ll_parallel *plan,
                                    enum ll_recompute which)
{
    if (plan->recompute >= which)
        return "it does so already";
    plan->recompute = which;
    simulate(c, plan);
    return NULL;
}

static const char *replan_SELECTIVE(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_recompute(c, plan, LL_RECOMPUTE_SELECTIVE);
}

static const char *replan_FULL(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_recompute(c, plan, LL_RECOMPUTE_FULL);
}

/* Twice the ways of one kind, half the replicas if there are as many. */
static const char *double_ways(struct plan_cures_curing *c, struct ll_parallel *plan, uint64_t *ways,
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

static const char *replan_TENSOR(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->tensor, "--tp");
}

static const char *replan_CONTEXT(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->context, "--cp");
}

static const char *replan_PIPELINE(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->pipeline, "--pp");
}

static const char *replan_shard(struct plan_cures_curing *c, struct ll_parallel *plan, uint64_t zero)
{
    if (ll_replicas(plan) < 2)
        return "there are no replicas";
    if (plan->zero >= zero)
        return "it does so already";
    plan->zero = zero;
    simulate(c, plan);
    return NULL;
}

static const char *replan_ZERO_1(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_shard(c, plan, 1);
}

static const char *replan_ZERO_2(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_shard(c, plan, 2);
}

static const char *replan_ZERO_3(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_shard(c, plan, 3);
}

static const char *replan_offload(struct plan_cures_curing *c, struct ll_parallel *plan, bool *what)
{
    if (*what)
        return "it does so already";
    if (c->step->result->machine->host.bandwidth_Bps == 0)
        return "the machine does not say its host.bandwidth";
    *what = true;
    simulate(c, plan);
    return NULL;
}

static const char *replan_OPTIMIZER_AWAY(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_offload(c, plan, &plan->offload.optimizer);
}

static const char *replan_ACTIVATIONS_AWAY(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_offload(c, plan, &plan->offload.activations);
}

static const char *replan_WEIGHTS_AWAY(struct plan_cures_curing *c, struct ll_parallel *plan)
{
    return replan_offload(c, plan, &plan->offload.weights);
}

const struct ll_cure *ll_plan_cures(const struct ll_trace *trace, const struct ll_parallel_result *step,
                                    struct ll_arena *arena)
{
    static const struct {
        const char *name, *option, *help;
        const char *(*make)(struct plan_cures_curing *c, struct ll_parallel *plan);
    } rows[] = {
#define LL_PLAN_CURE(word, name, option, help) {name, option, help, replan_##word},
#include "sim/parallel/plan_cures.def"
#undef LL_PLAN_CURE
    };
    const struct ll_machine *machine = step->result->machine;
    struct ll_cure *cures = ll_alloc(arena, LL_PLAN_CURE_COUNT, sizeof *cures);
    struct plan_cures_curing curing = {.trace = trace, .step = step, .arena = arena};
    curing.capacity_bytes = machine->levels[machine->level_count - 1].size_bytes;
    for (unsigned i = 0; cures && i < LL_PLAN_CURE_COUNT; i++) {
        struct ll_parallel plan = step->spread->plan;
        plan.batch = step->spread->sizes.batch;
        plan.micro_batch = step->spread->sizes.micro_batch;
        cures[i] = (struct ll_cure){.name = rows[i].name,
                                    .help = rows[i].help,
                                    .with = rows[i].option,
                                    .time_s = NAN,
                                    .slowdown = NAN};
        curing.cure = &cures[i];
        const char *trouble = rows[i].make(&curing, &plan);
        if (cures[i].done && cures[i].peak_bytes >= step->stages[step->fullest].memory_bytes) {
            cures[i].done = false;
            trouble = "it frees nothing";
        }
        cures[i].trouble = trouble ? trouble : cures[i].trouble;
    }
    ll_remembered_release(&curing.remembered);
    return cures;
}
