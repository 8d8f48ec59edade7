/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating points: a worker thread sets a point's values in its own copy of the machine, replays the
 * workloads on it, and judges constraints and objectives.
 *
 * The first section has the names and dimensions of results and which of them a machine can have. */
#include "sim/explore/evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/database.h"
#include "sim/explore/measure.h"
#include "sim/explore/prune.h"
#include "sim/explore/space_parts.h"
#include "sim/explore/variants.h"
#include "sim/machine/design.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/remembered.h"
#include "sim/replay/replay.h"
#include "sim/report/sim_report.h"
#include "tracer/base/map.h"

static const struct row {
    const char *name;
    enum ll_dimension dimension;
} rows[] = {
#define X(word, name, dimension, meaning) [LL_MEASURE_##word] = {name, LL_DIMENSION_##dimension},
    LL_MEASURE_LIST(X)
#undef X
};

const char *ll_measure_name(enum ll_measure measure)
{
    return rows[measure].name;
}

enum ll_dimension ll_measure_dimension(enum ll_measure measure)
{
    return rows[measure].dimension;
}

double ll_workload_mean(const double *values, size_t count, bool plain)
{
    double logs = 0, sum = 0;
    bool positive = true, equal = true;
    for (size_t i = 0; i < count; i++) {
        equal &= values[i] == values[0];
        positive &= values[i] > 0;
        logs += log(values[i]);
        sum += values[i];
    }
    if (equal) /* the logarithm and back would round */
        return values[0];
    return positive && !plain ? exp(logs / (double)count) : sum / (double)count;
}

/* Energies, areas and prices are numbers only where a machine has the section that describes them. What has
 * none whatever varies is asked for in vain, which can be told before anything is simulated. */

static const char *section_of(enum ll_measure measure)
{
    switch (measure) {
    case LL_MEASURE_ENERGY:
    case LL_MEASURE_EDP:
    case LL_MEASURE_POWER:
    case LL_MEASURE_THROUGHPUT_PER_W:
        return "energy";
    case LL_MEASURE_AREA:
        return "area";
    case LL_MEASURE_PRICE:
        return "price";
    default:
        return NULL;
    }
}

static bool is_within(const char *path, const char *section)
{
    size_t length = strlen(section);
    return !strncmp(path, section, length) && (path[length] == '\0' || path[length] == '.');
}

/* In the base, or by what varies or follows. */
static bool is_described(const struct ll_space *space, const char *section)
{
    const struct ll_machine *base = space->machine;
    bool given = !strcmp(section, "energy") ? base->energy_given
                 : !strcmp(section, "area") ? base->area_given
                                            : base->pricing_given;
    for (size_t i = 0; i < space->axis_count; i++)
        given |= is_within(space->axes[i].path, section);
    for (size_t i = 0; i < space->coupling_count; i++)
        given |= is_within(space->couplings[i].name, section);
    return given;
}

struct looking {
    const struct ll_space *space;
    const char **missed; /* out: the section of one that is missing */
};

static bool is_missing(const void *context, uint32_t slot)
{
    const struct looking *looking = context;
    const struct ll_space *space = looking->space;
    const struct ll_named *named = &space->names[slot];
    if (named->kind == LL_NAMED_DEFINITION && space->definitions[named->index].lacks) {
        *looking->missed = space->definitions[named->index].lacks;
        return true;
    }
    const char *section = named->kind == LL_NAMED_MEASURE ? section_of((enum ll_measure)named->index) : NULL;
    if (!section || is_described(space, section))
        return false;
    *looking->missed = section;
    return true;
}

const char *ll_space_lack(const struct ll_space *space, const struct ll_expression *expression)
{
    const char *section = NULL;
    const struct looking looking = {space, &section};
    return space->machine && ll_expression_has_none(expression, is_missing, &looking) ? section : NULL;
}

bool ll_space_is_described(struct ll_space_reading *reading, const struct ll_expression *expression,
                           bool constraint, const struct ll_node *node)
{
    const char *section = NULL;
    const struct looking looking = {reading->space, &section};
    if (!reading->space->machine || !(constraint ? ll_expression_fails(expression, is_missing, &looking)
                                                 : ll_expression_has_none(expression, is_missing, &looking)))
        return true;
    return ll_complain(reading->diags, node->place,
                       "`%s`: no design has such a number: the base has no section `%s`, and none varies",
                       ll_node_shown(node).text, section);
}

/* A thread has a design of the base and puts a point's values into it; couplings follow from these, the
 * machine is read, the workloads are replayed, and rules are asked last:
 *
 *     values -> couplings -> machine -> replay of each workload -> definitions -> constraints, objectives
 *
 * Traces of models are recorded between the batches, by the thread that asks, and kept while points of the
 * batch use them. */

enum { GRAIN = 32, MOST_PROGRAMS = 64, MOST_REMEMBERED = 20000 };

/* Of one thread. */
struct worker {
    struct ll_design *design;
    const struct ll_node **values; /* of all axes of the machine, one axis after the other */
    uint32_t *slots;               /* of the design: of the axes, then of the couplings */
    double *couplings, *definitions;
    struct ll_arena arena;           /* of a replay */
    struct ll_remembered remembered; /* from point to point */
    struct ll_diags diags;
};

struct ll_evaluator {
    const struct ll_space *space;
    struct ll_pool *pool;
    struct ll_arena arena;
    struct ll_variants *variants;
    bool varies_programs; /* models or plans */
    struct worker *workers;
    unsigned worker_count;
    uint64_t base_key;              /* of what does not vary */
    const struct ll_archive *front; /* NULL: nothing is left out */
    pthread_mutex_t lock;
    struct ll_map reasons;
    struct ll_evaluation *batch; /* that is being evaluated */
    bool failed;
};

/* --- making --- */

static bool on_machine(const struct ll_space_axis *axis)
{
    return axis->target == LL_AXIS_MACHINE || axis->target == LL_AXIS_PART;
}

static bool bind_axes(struct ll_evaluator *evaluator, struct worker *worker, struct ll_diags *diags)
{
    const struct ll_space *space = evaluator->space;
    const struct ll_node **value = worker->values;
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        if (!on_machine(axis))
            continue;
        if (!ll_design_bind(worker->design, axis->path, axis->place, diags, &worker->slots[a]))
            return false;
        for (uint32_t i = 0; i < axis->value_count; i++)
            if (!(*value++ = ll_design_value(worker->design, worker->slots[a], axis->values[i].node, diags)))
                return false;
    }
    for (size_t c = 0; c < space->coupling_count; c++)
        if (!ll_design_bind(worker->design, space->couplings[c].name, space->couplings[c].place, diags,
                            &worker->slots[space->axis_count + c]))
            return false;
    return true;
}

static bool make_worker(struct ll_evaluator *evaluator, struct worker *worker, struct ll_diags *diags)
{
    const struct ll_space *space = evaluator->space;
    size_t values = 0;
    for (size_t a = 0; a < space->axis_count; a++)
        values += space->axes[a].value_count;
    worker->design = ll_design_new(space->base, space->folders, diags);
    worker->values = ll_alloc(&evaluator->arena, values, sizeof *worker->values);
    worker->slots =
        ll_alloc(&evaluator->arena, space->axis_count + space->coupling_count, sizeof *worker->slots);
    worker->couplings = ll_alloc(&evaluator->arena, space->coupling_count, sizeof *worker->couplings);
    worker->definitions = ll_alloc(&evaluator->arena, space->definition_count, sizeof *worker->definitions);
    if (!worker->values || !worker->slots || !worker->couplings || !worker->definitions)
        return ll_complain(diags, (struct ll_place){.file = space->path}, "memory ran out");
    return worker->design && bind_axes(evaluator, worker, diags);
}

struct ll_evaluator *ll_evaluator_new(const struct ll_space *space, ll_bring *bring, void *context,
                                      struct ll_pool *pool, struct ll_diags *diags)
{
    struct ll_evaluator *evaluator = calloc(1, sizeof *evaluator);
    struct ll_place place = {.file = space->path};
    if (!evaluator) {
        ll_complain(diags, place, "memory ran out");
        return NULL;
    }
    evaluator->space = space;
    evaluator->pool = pool;
    evaluator->worker_count = pool ? ll_pool_threads(pool) : 1;
    pthread_mutex_init(&evaluator->lock, NULL);
    evaluator->workers = ll_alloc(&evaluator->arena, evaluator->worker_count, sizeof *evaluator->workers);
    bool right = evaluator->workers || ll_complain(diags, place, "memory ran out");
    for (unsigned i = 0; right && i < evaluator->worker_count; i++)
        right = make_worker(evaluator, &evaluator->workers[i], diags);
    for (size_t a = 0; a < space->axis_count; a++)
        evaluator->varies_programs |= !on_machine(&space->axes[a]);
    evaluator->variants = right ? ll_variants_new(space, bring, context, diags) : NULL;
    if (evaluator->variants &&
        ll_base_key(space, ll_variants_hashes(evaluator->variants), &evaluator->base_key))
        return evaluator;
    if (evaluator->variants)
        ll_complain(diags, place, "memory ran out");
    ll_evaluator_free(evaluator);
    return NULL;
}

void ll_evaluator_prune(struct ll_evaluator *evaluator, const struct ll_archive *front)
{
    evaluator->front = front;
}

void ll_evaluator_free(struct ll_evaluator *evaluator)
{
    if (!evaluator)
        return;
    for (unsigned i = 0; evaluator->workers && i < evaluator->worker_count; i++) {
        ll_design_free(evaluator->workers[i].design);
        ll_arena_release(&evaluator->workers[i].arena);
        ll_diags_release(&evaluator->workers[i].diags);
        ll_remembered_release(&evaluator->workers[i].remembered);
    }
    ll_variants_free(evaluator->variants);
    ll_map_release(&evaluator->reasons);
    pthread_mutex_destroy(&evaluator->lock);
    ll_arena_release(&evaluator->arena);
    free(evaluator);
}

/* --- what names stand for --- */

struct asked {
    const struct ll_space *space;
    const struct worker *worker;
    const struct ll_machine *machine; /* of couplings the base */
    const uint32_t *point;
    const struct ll_readings *measured; /* by workload */
    uint32_t workload;                  /* that is looked at */
};

static double value_of(const void *context, uint32_t slot)
{
    const struct asked *asked = context;
    const struct ll_named *named = &asked->space->names[slot];
    uint32_t workload = named->workload == LL_THIS_WORKLOAD ? asked->workload : named->workload;
    switch (named->kind) {
    case LL_NAMED_AXIS:
        return asked->space->axes[named->index].values[asked->point[named->index]].number;
    case LL_NAMED_COUPLING:
        return asked->worker->couplings[named->index];
    case LL_NAMED_DEFINITION:
        return asked->worker->definitions[named->index];
    case LL_NAMED_MEASURE:
        return asked->measured[workload].of[named->index];
    case LL_NAMED_SHARE:
        return asked->measured[workload].shares[named->index];
    case LL_NAMED_MACHINE:
        break;
    }
    return ll_located(asked->machine, &named->location) * ll_expression_scale(named->location.dimension);
}

/* --- a machine --- */

static const struct ll_machine *machine_of(struct ll_evaluator *evaluator, struct worker *worker,
                                           const uint32_t *point)
{
    const struct ll_space *space = evaluator->space;
    const struct ll_node **values = worker->values;
    struct asked asked = {.space = space, .worker = worker, .machine = space->machine, .point = point};
    for (size_t a = 0; a < space->axis_count; a++) {
        if (!on_machine(&space->axes[a]))
            continue;
        ll_design_put(worker->design, worker->slots[a], values[point[a]]);
        values += space->axes[a].value_count;
    }
    for (size_t c = 0; c < space->coupling_count; c++) {
        worker->couplings[c] = ll_expression_value(space->couplings[c].expression, value_of, &asked);
        ll_design_put_number(worker->design, worker->slots[space->axis_count + c],
                             worker->couplings[c] / space->couplings[c].scale);
    }
    return ll_design_read(worker->design, &worker->diags);
}

/* --- results --- */

/* Of one device. */
static void measure(const struct ll_result *result, struct ll_readings *measured)
{
    const struct ll_machine *machine = result->machine;
    double throughput_Hz = ll_metrics_of(result).throughput_Hz, time_s = result->time_s;
    double peak = (double)result->footprint->peak_bytes;
    double *of = measured->of;
    struct ll_priced priced;
    of[LL_MEASURE_TIME] = time_s;
    of[LL_MEASURE_ENERGY] = result->energy_j;
    of[LL_MEASURE_EDP] = result->energy_j * time_s;
    of[LL_MEASURE_POWER] = result->energy_j / time_s;
    of[LL_MEASURE_THROUGHPUT] = throughput_Hz;
    of[LL_MEASURE_THROUGHPUT_PER_W] = throughput_Hz / (result->energy_j / time_s);
    of[LL_MEASURE_UTILIZATION] = result->flop_utilization;
    of[LL_MEASURE_ACTIVE] = time_s > 0 ? result->device_active_s / time_s : 0;
    of[LL_MEASURE_AREA] = result->area_m2 * 1e6;
    of[LL_MEASURE_PRICE] = ll_machine_price(machine, &priced) ? priced.all_usd : NAN;
    of[LL_MEASURE_PEAK] = peak;
    of[LL_MEASURE_CAPACITY] = (double)machine->levels[machine->level_count - 1].size_bytes;
    of[LL_MEASURE_DEVICES] = 1;
    of[LL_MEASURE_FITS] = result->fits;
    memcpy(measured->shares, result->shares, sizeof measured->shares);
}

static void measure_nothing(struct ll_readings *measured)
{
    for (size_t i = 0; i < LL_MEASURE_COUNT; i++)
        measured->of[i] = NAN;
    for (size_t i = 0; i < LL_BOUND_COUNT; i++)
        measured->shares[i] = NAN;
}

/* A text that lives as long as the evaluator; NULL when memory ran out. */
static const char *keep_reason(struct ll_evaluator *evaluator, const char *text)
{
    pthread_mutex_lock(&evaluator->lock);
    uint32_t id = ll_map_intern(&evaluator->reasons, text, strlen(text) + 1, NULL);
    const char *kept = id == LL_NO_ID ? NULL : evaluator->reasons.entries[id].bytes;
    pthread_mutex_unlock(&evaluator->lock);
    return kept;
}

static void have_no_results(const struct ll_evaluator *evaluator, struct ll_evaluation *evaluation)
{
    evaluation->outcome = (struct ll_answer){.violation = INFINITY};
    for (size_t i = 0; i < LL_MOST_OBJECTIVES; i++)
        evaluation->outcome.objectives[i] = INFINITY;
    for (size_t w = 0; w < evaluator->space->workload_count; w++)
        measure_nothing(&evaluation->measured[w]);
}

/* Memory ran out: the batch is worth nothing. */
static void fail(struct ll_evaluator *evaluator)
{
    pthread_mutex_lock(&evaluator->lock);
    evaluator->failed = true;
    pthread_mutex_unlock(&evaluator->lock);
}

/* There is no such machine, or it cannot run the workload: the first complaint says why. */
static void refuse(struct ll_evaluator *evaluator, struct worker *worker, struct ll_evaluation *evaluation)
{
    const struct ll_diags *diags = &worker->diags;
    evaluation->verdict = LL_VERDICT_IMPOSSIBLE;
    evaluation->why = diags->kept_count ? keep_reason(evaluator, diags->kept[0].message) : NULL;
    if (!evaluation->why)
        fail(evaluator);
    have_no_results(evaluator, evaluation);
    ll_diags_release(&worker->diags);
}

static void leave_out(const struct ll_evaluator *evaluator, struct ll_evaluation *evaluation)
{
    evaluation->verdict = LL_VERDICT_BEATEN;
    evaluation->why = "a known point is better than this one can be";
    have_no_results(evaluator, evaluation);
}

/* Of all devices that a step is spread over, whose energy is given, where the rest is: as many times the
 * price, whereas the area stays a device's. */
static void measure_all(double energy_j, double devices, struct ll_readings *measured)
{
    double *of = measured->of, time_s = of[LL_MEASURE_TIME];
    of[LL_MEASURE_ENERGY] = energy_j;
    of[LL_MEASURE_EDP] = energy_j * time_s;
    of[LL_MEASURE_POWER] = energy_j / time_s;
    of[LL_MEASURE_THROUGHPUT_PER_W] = of[LL_MEASURE_THROUGHPUT] / (energy_j / time_s);
    of[LL_MEASURE_PRICE] *= devices;
    of[LL_MEASURE_DEVICES] = devices;
}

static void measure_spread(const struct ll_parallel_result *result, struct ll_readings *measured)
{
    const struct ll_plan_sizes *sizes = &result->spread->sizes;
    double peak = (double)result->stages[result->fullest].memory_bytes, *of = measured->of;
    measure(result->result, measured);
    of[LL_MEASURE_TIME] = result->step_s;
    if (sizes->micro_batch > 0) /* which is what a program's trace has of the batch */
        of[LL_MEASURE_THROUGHPUT] *= (double)sizes->batch / (double)sizes->micro_batch;
    measure_all(result->energy_j, (double)sizes->devices, measured);
    of[LL_MEASURE_PEAK] = peak;
    of[LL_MEASURE_FITS] = peak <= of[LL_MEASURE_CAPACITY];
}

/* What can be told of a workload before it is replayed. */
static bool may_run(const struct ll_workload_variant *variant, const struct ll_machine *machine,
                    struct ll_diags *diags)
{
    uint64_t devices = ll_machine_devices(machine);
    if (variant->trouble)
        return ll_complain(diags, (struct ll_place){0}, "%s", variant->trouble);
    return !variant->spread || variant->spread->sizes.devices <= devices ||
           ll_complain(diags, (struct ll_place){0},
                       "the plan needs %" PRIu64 " devices, the network joins %" PRIu64,
                       variant->spread->sizes.devices, devices);
}

static const struct ll_result *replay_spread(const struct ll_spread *spread, const struct ll_machine *machine,
                                             struct worker *worker, struct ll_readings *measured)
{
    const struct ll_parallel_result *result =
        ll_parallel_run(spread, machine, &worker->remembered, &worker->arena, &worker->diags);
    if (result)
        measure_spread(result, measured);
    return result ? result->result : NULL;
}

/* Ranks wait for one another, and each takes about as much energy. */
static const struct ll_result *replay_together(const struct ll_prepared *prepared,
                                               const struct ll_machine *machine, struct worker *worker,
                                               struct ll_readings *measured)
{
    const struct ll_together *together =
        ll_replay_together(prepared, machine, &worker->remembered, &worker->arena, &worker->diags);
    if (!together)
        return NULL;
    measure(together->result, measured);
    double ranks = together->rank_count;
    measure_all(together->result->energy_j * ranks, ranks, measured);
    return together->result;
}

/* Models, plans and networks that vary bring something new without end. */
static void forget_too_much(struct ll_remembered *remembered)
{
    if (remembered->costs.keys.count > MOST_REMEMBERED || remembered->prices.keys.count > MOST_REMEMBERED)
        ll_remembered_release(remembered);
}

/* Of one device, until the next one is replayed; NULL after complaints. */
static const struct ll_result *replay_one(const struct ll_workload_variant *variant,
                                          const struct ll_machine *machine, struct worker *worker,
                                          struct ll_readings *measured)
{
    ll_arena_reset(&worker->arena);
    forget_too_much(&worker->remembered);
    if (variant->spread)
        return replay_spread(variant->spread, machine, worker, measured);
    if (ll_trace_ranks(variant->prepared->trace) > 1)
        return replay_together(variant->prepared, machine, worker, measured);
    const struct ll_result *result = ll_replay_remembering(variant->prepared, machine, &worker->remembered,
                                                           &worker->arena, &worker->diags);
    if (result)
        measure(result, measured);
    return result;
}

/* None of them where it is known of one that it cannot be. */
static bool replay_all(struct ll_evaluator *evaluator, struct worker *worker,
                       const struct ll_machine *machine, struct ll_evaluation *evaluation,
                       const uint32_t *point)
{
    for (size_t w = 0; w < evaluator->space->workload_count; w++)
        if (!may_run(ll_variants_get(evaluator->variants, w, point), machine, &worker->diags))
            return false;
    for (size_t w = 0; w < evaluator->space->workload_count; w++)
        if (!replay_one(ll_variants_get(evaluator->variants, w, point), machine, worker,
                        &evaluation->measured[w]))
            return false;
    return true;
}

/* The mean over the workloads. Without one (something was divided by 0, or the machine does not tell
 * energies) the point cannot be compared with others: as good as a constraint that is missed. */
static void weigh(struct ll_evaluator *evaluator, struct worker *worker, struct ll_evaluation *evaluation,
                  size_t objective, const double *values)
{
    const struct ll_objective_row *row = &evaluator->space->objectives[objective];
    struct ll_answer *outcome = &evaluation->outcome;
    double mean = ll_workload_mean(values, evaluator->space->workload_count, false);
    outcome->objectives[objective] = !isfinite(mean) ? INFINITY : row->most ? -mean : mean;
    if (isfinite(mean))
        return;
    outcome->violation += 1;
    if (evaluation->why)
        return;
    const char *text = ll_format(&worker->arena, "%s has no finite value", row->name);
    evaluation->why = text ? keep_reason(evaluator, text) : NULL;
    if (!evaluation->why)
        fail(evaluator);
}

/* The reason of a constraint on what the machine does not tell, such as areas; the constraint where memory
 * ran out. */
static const char *unknown_number(struct ll_evaluator *evaluator, struct worker *worker,
                                  const char *constraint)
{
    const char *text = ll_format(&worker->arena, "%s: there is no such number for this machine", constraint);
    const char *kept = text ? keep_reason(evaluator, text) : NULL;
    return kept ? kept : constraint;
}

static void judge(struct ll_evaluator *evaluator, struct worker *worker, const struct ll_machine *machine,
                  struct ll_evaluation *evaluation, const uint32_t *point)
{
    const struct ll_space *space = evaluator->space;
    struct ll_answer *outcome = &evaluation->outcome;
    double wanted[LL_MOST_OBJECTIVES][LL_MOST_WORKLOADS];
    *outcome = (struct ll_answer){.valid = true};
    for (uint32_t w = 0; w < space->workload_count; w++) {
        struct asked asked = {space, worker, machine, point, evaluation->measured, w};
        for (size_t i = 0; i < space->definition_count; i++)
            worker->definitions[i] = ll_expression_value(space->definitions[i].expression, value_of, &asked);
        for (size_t i = 0; i < space->constraint_count; i++) {
            const struct ll_rule *rule = &space->constraints[i];
            double missed = ll_expression_violation(rule->expression, value_of, &asked);
            outcome->violation += missed;
            bool unknown = missed > 0 && isnan(ll_expression_value(rule->expression, value_of, &asked));
            if (missed > 0 && !evaluation->why)
                evaluation->why = unknown ? unknown_number(evaluator, worker, rule->text) : rule->text;
        }
        for (size_t i = 0; i < space->objective_count; i++)
            wanted[i][w] = ll_expression_value(space->objectives[i].expression, value_of, &asked);
    }
    for (size_t i = 0; i < space->objective_count; i++)
        weigh(evaluator, worker, evaluation, i, wanted[i]);
    outcome->valid = outcome->violation == 0;
    evaluation->verdict = outcome->valid ? LL_VERDICT_VALID : LL_VERDICT_UNFIT;
}

static void evaluate(struct ll_evaluator *evaluator, struct worker *worker, struct ll_evaluation *evaluation)
{
    uint32_t point[LL_MOST_AXES];
    evaluation->why = NULL;
    memset(evaluation->measured, 0, evaluator->space->workload_count * sizeof *evaluation->measured);
    ll_space_point(evaluator->space, evaluation->number, point);
    const struct ll_machine *machine = machine_of(evaluator, worker, point);
    if (machine && evaluator->front &&
        ll_is_beaten(evaluator->space, evaluator->front, evaluator->variants, machine, point))
        leave_out(evaluator, evaluation);
    else if (machine && replay_all(evaluator, worker, machine, evaluation, point))
        judge(evaluator, worker, machine, evaluation, point);
    else
        refuse(evaluator, worker, evaluation);
}

static void evaluate_chunk(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct ll_evaluator *evaluator = context;
    struct worker *worker = &evaluator->workers[evaluator->pool ? ll_pool_worker() : 0];
    (void)chunk;
    for (uint64_t i = begin; i < end; i++)
        evaluate(evaluator, worker, &evaluator->batch[i]);
}

static bool evaluate_some(struct ll_evaluator *evaluator, struct ll_evaluation *evaluations, size_t count,
                          struct ll_diags *diags)
{
    if (!ll_variants_bring(evaluator->variants, evaluations, count, diags))
        return false;
    evaluator->batch = evaluations;
    evaluator->failed = false;
    ll_pool_run(evaluator->pool, count, evaluator->varies_programs ? 1 : GRAIN, evaluate_chunk, evaluator);
    return !evaluator->failed ||
           ll_complain(diags, (struct ll_place){.file = evaluator->space->path}, "memory ran out");
}

/* Where each point may be of a program of its own, only so many programs are in memory at once. */
bool ll_evaluate(struct ll_evaluator *evaluator, struct ll_evaluation *evaluations, size_t count,
                 struct ll_diags *diags)
{
    size_t most = evaluator->varies_programs ? MOST_PROGRAMS : count;
    bool right = true;
    for (size_t first = 0; right && first < count; first += most)
        right = evaluate_some(evaluator, evaluations + first, ll_min(most, count - first), diags);
    return right;
}

void ll_evaluator_base(struct ll_evaluator *evaluator, struct ll_evaluation *base)
{
    static const uint32_t first[LL_MOST_AXES] = {0};
    struct worker *worker = &evaluator->workers[0];
    const struct ll_machine *machine = evaluator->space->machine;
    base->why = NULL;
    if (replay_all(evaluator, worker, machine, base, first))
        judge(evaluator, worker, machine, base, first);
    else
        refuse(evaluator, worker, base);
}

/* Whether lanes do what this machine's arrays cannot, in a workload at a point; the sentence in *out. */
static bool warn_of_lanes(struct ll_evaluator *evaluator, size_t w, const struct ll_machine *machine,
                          const uint32_t *point, struct ll_str *out)
{
    struct worker *worker = &evaluator->workers[0];
    const struct ll_workload_variant *variant = ll_variants_get(evaluator->variants, w, point);
    struct ll_readings measured;
    const struct ll_result *result = machine && may_run(variant, machine, &worker->diags)
                                         ? replay_one(variant, machine, worker, &measured)
                                         : NULL;
    bool warned = result && ll_say_lanes_for_type(result, out);
    ll_diags_release(&worker->diags);
    return warned;
}

/* The values of an axis with which lanes do so, the other axes at their first: the sentence of the first of
 * them, and where that is. Numbers change how fast a unit is, not what it can do. */
static bool warn_of_values(struct ll_evaluator *evaluator, size_t w, const struct ll_space_axis *axis,
                           struct ll_str *where, struct ll_str *sentence)
{
    size_t a = (size_t)(axis - evaluator->space->axes);
    uint32_t point[LL_MOST_AXES] = {0}, warned = 0;
    if (!on_machine(axis) || axis->ordered)
        return false;
    for (; point[a] < axis->value_count; point[a]++) {
        struct ll_str other = {0};
        const struct ll_machine *machine = machine_of(evaluator, &evaluator->workers[0], point);
        if (warn_of_lanes(evaluator, w, machine, point, warned ? &other : sentence) && !warned++)
            ll_str_addf(where, " with %s %s", axis->path, axis->values[point[a]].text);
        ll_str_release(&other);
    }
    if (warned > 1)
        ll_str_addf(where, " and %" PRIu32 " more of its values", warned - 1);
    return warned > 0;
}

bool ll_evaluator_warn(struct ll_evaluator *evaluator, struct ll_str *out)
{
    static const uint32_t first[LL_MOST_AXES] = {0};
    const struct ll_space *space = evaluator->space;
    bool any = false;
    for (size_t w = 0; w < space->workload_count; w++) {
        struct ll_str where = {0}, sentence = {0};
        bool warned = warn_of_lanes(evaluator, w, space->machine, first, &sentence);
        for (size_t a = 0; !warned && a < space->axis_count; a++)
            warned = warn_of_values(evaluator, w, &space->axes[a], &where, &sentence);
        if (warned)
            ll_str_addf(out, "%s%s on %s%s, %s", any ? "; " : "", space->workloads[w].name, space->base,
                        where.length ? where.text : "", sentence.text);
        any |= warned;
        out->failed |= where.failed || sentence.failed;
        ll_str_release(&where);
        ll_str_release(&sentence);
    }
    return any;
}

uint64_t ll_evaluator_key(const struct ll_evaluator *evaluator, uint64_t number)
{
    return ll_point_key(evaluator->space, evaluator->base_key, number);
}

const uint64_t *ll_evaluator_workload_hashes(const struct ll_evaluator *evaluator)
{
    return ll_variants_hashes(evaluator->variants);
}
