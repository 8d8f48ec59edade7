/* SPDX-License-Identifier: Apache-2.0 */
/* A cure makes another plan; all that follows is the same for each. */
#include "sim/parallel/plan_cures.h"

#include "sim/replay/remembered.h"
#include "tracer/base/diag.h"

#include <inttypes.h>
#include <math.h>

struct curing {
    const struct ll_trace *trace;
    const struct ll_parallel_result *step; /* as it is */
    struct ll_arena *arena;
    uint64_t capacity_bytes;
    struct ll_remembered remembered;
    struct ll_cure *cure;
};

/* Simulates the step of a plan. False when the plan cannot be, which the cure says. */
static bool simulate(struct curing *c, const struct ll_parallel *plan)
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

static void say_with(struct curing *c, const char *with)
{
    c->cure->with = with ? with : "";
}

/* Functions of cures change a plan, simulate it, and say with what; or say why it cannot be. */

static const char *try_MICRO_BATCH(struct curing *c, struct ll_parallel *plan)
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

static const char *recompute(struct curing *c, struct ll_parallel *plan, enum ll_recompute which)
{
    if (plan->recompute >= which)
        return "it does so already";
    plan->recompute = which;
    simulate(c, plan);
    return NULL;
}

static const char *try_SELECTIVE(struct curing *c, struct ll_parallel *plan)
{
    return recompute(c, plan, LL_RECOMPUTE_SELECTIVE);
}

static const char *try_FULL(struct curing *c, struct ll_parallel *plan)
{
    return recompute(c, plan, LL_RECOMPUTE_FULL);
}

/* Twice the ways of one kind, half the replicas if there are as many. */
static const char *double_ways(struct curing *c, struct ll_parallel *plan, uint64_t *ways, const char *flag)
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

static const char *try_TENSOR(struct curing *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->tensor, "--tp");
}

static const char *try_CONTEXT(struct curing *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->context, "--cp");
}

static const char *try_PIPELINE(struct curing *c, struct ll_parallel *plan)
{
    return double_ways(c, plan, &plan->pipeline, "--pp");
}

static const char *shard(struct curing *c, struct ll_parallel *plan, uint64_t zero)
{
    if (ll_replicas(plan) < 2)
        return "there are no replicas";
    if (plan->zero >= zero)
        return "it does so already";
    plan->zero = zero;
    simulate(c, plan);
    return NULL;
}

static const char *try_ZERO_1(struct curing *c, struct ll_parallel *plan)
{
    return shard(c, plan, 1);
}

static const char *try_ZERO_2(struct curing *c, struct ll_parallel *plan)
{
    return shard(c, plan, 2);
}

static const char *try_ZERO_3(struct curing *c, struct ll_parallel *plan)
{
    return shard(c, plan, 3);
}

static const char *offload(struct curing *c, struct ll_parallel *plan, bool *what)
{
    if (*what)
        return "it does so already";
    if (c->step->result->machine->host.bandwidth_Bps == 0)
        return "the machine does not say its host.bandwidth";
    *what = true;
    simulate(c, plan);
    return NULL;
}

static const char *try_OPTIMIZER_AWAY(struct curing *c, struct ll_parallel *plan)
{
    return offload(c, plan, &plan->offload.optimizer);
}

static const char *try_ACTIVATIONS_AWAY(struct curing *c, struct ll_parallel *plan)
{
    return offload(c, plan, &plan->offload.activations);
}

static const char *try_WEIGHTS_AWAY(struct curing *c, struct ll_parallel *plan)
{
    return offload(c, plan, &plan->offload.weights);
}

const struct ll_cure *ll_plan_cures(const struct ll_trace *trace, const struct ll_parallel_result *step,
                                    struct ll_arena *arena)
{
    static const struct {
        const char *name, *option, *help;
        const char *(*make)(struct curing *c, struct ll_parallel *plan);
    } rows[] = {
#define LL_PLAN_CURE(word, name, option, help) {name, option, help, try_##word},
#include "sim/parallel/plan_cures.def"
#undef LL_PLAN_CURE
    };
    const struct ll_machine *machine = step->result->machine;
    struct ll_cure *cures = ll_alloc(arena, LL_PLAN_CURE_COUNT, sizeof *cures);
    struct curing curing = {.trace = trace, .step = step, .arena = arena};
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
