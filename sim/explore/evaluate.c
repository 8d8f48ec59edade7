/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating points. The first section has lower bounds on a design's results, by which a point is skipped
 * when the front already dominates the bounds of its objectives. In the second a worker thread sets a point's
 * values in its own copy of the machine, replays the workloads on it, and judges constraints and objectives.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/explore/database.h"
#include "sim/explore/space.h"
#include "sim/explore/sweep.h"
#include "sim/machine/design.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/remembered.h"
#include "sim/replay/replay.h"
#include "sim/report/sim_report.h"

/* Bytes that must come from outside. An op moves each of its operands at least once, less what is still on
 * chip; and a memory of C bytes has nothing left of an operand whose reuse distance is C or more
 * (sim/memory/residency.h). So each operand gives an event: from its distance on, its bytes need not be
 * moved. Sorted by distance, with sums from the end, all capacities are one search away.
 *
 * A cache counts otherwise than a memory that software fills: it spares also what is written over what it
 * has, and what the host has just written into it. One that evicts by chance may have something of all that
 * was ever used. */

/* Rounding in sums of millions of terms, here and in the replay. */
#define SLACK (1 - 1e-9)

struct event {
    uint64_t distance;
    double bytes; /* of this operand; of it and all farther ones once summed up */
};

struct events {
    struct event *at; /* by distance */
    uint64_t count;
};

enum part { CONVOLUTIONS, OTHERS, PARTS };

/* What stands before the outermost memory: levels that software fills alone, or caches, too. */
enum keeper { FILLED, CACHED, KEEPERS };

struct ll_least {
    double products[LL_DTYPE_COUNT], convolutions[LL_DTYPE_COUNT], rest[LL_DTYPE_COUNT]; /* FLOPs of a step */
    struct events moved[KEEPERS][PARTS];
    double steps;
};

static bool is_product(const struct ll_work *work)
{
    return work->kind == LL_WORK_GEMM || work->kind == LL_WORK_SEQUENCE;
}

static bool is_computed(const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR || work->kind == LL_WORK_REDUCE;
}

static void count_flops(struct ll_least *least, const struct ll_work *work)
{
    double flops = (double)work->flops / least->steps;
    if (is_product(work))
        least->products[work->dtype] += flops;
    else if (work->kind == LL_WORK_CONV)
        least->convolutions[work->dtype] += flops;
    else if (is_computed(work))
        least->rest[work->dtype] += flops;
}

static int by_distance(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static uint64_t distance_of(const struct ll_reuse *reuse, enum keeper keeper)
{
    uint64_t arrival = reuse->arrived > 0 ? reuse->since_arrival : LL_NO_FIT;
    return keeper == FILLED ? reuse->distance : ll_min(reuse->distance, ll_min(reuse->since, arrival));
}

/* The events of an op, at most as many bytes as its work moves: the nearest operands are what it may lack. */
static void add_events(const struct ll_prepared *prepared, uint32_t seq, const struct ll_work *work,
                       enum keeper keeper, struct events *events)
{
    const struct ll_residency *residency = prepared->residency;
    uint64_t first = residency->first[seq], count = residency->first[seq + 1] - first,
             held = ll_fused_as(prepared, LL_FUSION_ELEMENTWISE, seq).held;
    struct event *mine = &events->at[events->count];
    double bytes = 0, most = (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
    for (uint64_t i = 0; i < count; i++) {
        const struct ll_reuse *reuse = &residency->reuses[first + i];
        bool in_registers = i < 64 && (held >> i & 1) != 0;
        mine[i] = (struct event){in_registers ? 0 : distance_of(reuse, keeper), (double)reuse->bytes};
        bytes += (double)reuse->bytes;
    }
    qsort(mine, count, sizeof *mine, by_distance);
    double surplus = bytes - most; /* operands of which not everything is moved */
    for (uint64_t i = 0; i < count && surplus > 0; i++) {
        double less = fmin(surplus, mine[i].bytes);
        mine[i].bytes -= less;
        surplus -= less;
    }
    events->count += count;
}

static void sum_up(struct events *events, double steps)
{
    double sum = 0;
    qsort(events->at, events->count, sizeof *events->at, by_distance);
    for (uint64_t i = events->count; i-- > 0;) {
        sum += events->at[i].bytes / steps;
        events->at[i].bytes = sum;
    }
}

static bool moves_its_operands(const struct ll_work *work)
{
    return is_product(work) || is_computed(work) || work->kind == LL_WORK_CONV;
}

/* Room for so many operands, of each part and keeper. */
static struct ll_least *make_room(uint64_t operands, struct ll_arena *arena)
{
    struct ll_least *least = ll_alloc(arena, 1, sizeof *least);
    for (unsigned i = 0; least && i < (unsigned)KEEPERS * PARTS; i++) {
        struct events *events = &least->moved[i / PARTS][i % PARTS];
        events->at = ll_alloc(arena, operands, sizeof *events->at);
        if (!events->at)
            return NULL;
    }
    return least;
}

const struct ll_least *ll_least_new(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    const uint64_t *first = prepared->residency->first;
    struct ll_least *least = make_room(first[prepared->end_op] - first[prepared->first_op], arena);
    if (!least)
        return NULL;
    least->steps = (double)prepared->steps;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_work *work = &prepared->works[trace->ops[seq].form];
        enum part part = work->kind == LL_WORK_CONV ? CONVOLUTIONS : OTHERS;
        count_flops(least, work);
        for (enum keeper k = 0; moves_its_operands(work) && k < KEEPERS; k++)
            add_events(prepared, seq, work, k, &least->moved[k][part]);
    }
    for (unsigned i = 0; i < (unsigned)KEEPERS * PARTS; i++)
        sum_up(&least->moved[i / PARTS][i % PARTS], least->steps);
    return least;
}

/* Bytes a step whose distance is at least the capacity. */
static double bytes_beyond(const struct events *events, uint64_t capacity)
{
    uint64_t low = 0, high = events->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (events->at[middle].distance < capacity)
            low = middle + 1;
        else
            high = middle;
    }
    return low < events->count ? events->at[low].bytes : 0;
}

static bool convolves_directly(const struct ll_machine *machine)
{
    return machine->software.transform_count == 0;
}

/* From which distance on nothing is left on chip. */
static uint64_t reach_of(const struct ll_machine *machine, enum keeper *keeper)
{
    uint64_t reach = 1; /* 0 is the distance of what passes through registers */
    *keeper = FILLED;
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        bool by_chance = level->cache_given && level->cache.policy == LL_CACHE_RANDOM;
        reach = ll_max(reach, by_chance ? LL_NO_FIT : level->size_bytes);
        *keeper = level->cache_given ? CACHED : *keeper;
    }
    return reach;
}

static double outer_bytes(const struct ll_least *least, const struct ll_machine *machine)
{
    enum keeper keeper;
    uint64_t reach = reach_of(machine, &keeper);
    const struct events *moved = least->moved[keeper];
    double bytes = bytes_beyond(&moved[OTHERS], reach);
    return bytes + (convolves_directly(machine) ? bytes_beyond(&moved[CONVOLUTIONS], reach) : 0);
}

/* The highest rate at which work of a type can run, in whatever type it is computed. */
static double peak_flops(const struct ll_machine *machine, enum ll_dtype dtype)
{
    enum ll_dtype types[LL_DTYPE_COUNT];
    size_t count = ll_computed_as(dtype, types);
    double peak = 0;
    for (size_t i = 0; i < count; i++)
        peak = fmax(peak, ll_machine_peak_flops(machine, types[i]));
    return peak;
}

double ll_least_time_s(const struct ll_least *least, const struct ll_machine *machine)
{
    double products_s = 0, rest_s = 0;
    for (unsigned d = 0; d < LL_DTYPE_COUNT; d++) {
        double products = least->products[d] + (convolves_directly(machine) ? least->convolutions[d] : 0);
        if (products + least->rest[d] <= 0)
            continue;
        double peak = peak_flops(machine, (enum ll_dtype)d);
        products_s += peak > 0 ? products / peak : 0;
        rest_s += peak > 0 ? least->rest[d] / peak : 0;
    }
    double memory_s = outer_bytes(least, machine) / ll_machine_memory_Bps(machine);
    return SLACK * fmax(memory_s, products_s + rest_s);
}

/* Of one FLOP in the cheapest of the types in which it may be computed. */
static double flop_j(const struct ll_machine *machine, enum ll_work_kind kind, enum ll_dtype dtype)
{
    const struct ll_work one = {.kind = kind, .dtype = dtype, .flops = 1};
    enum ll_dtype types[LL_DTYPE_COUNT];
    size_t count = ll_computed_as(dtype, types);
    double least_j = INFINITY;
    for (size_t i = 0; i < count; i++)
        least_j = fmin(least_j, ll_machine_compute_j(machine, &one, types[i]));
    return least_j;
}

static double compute_j(const struct ll_machine *machine, const double *flops, enum ll_work_kind kind)
{
    double sum = 0;
    for (unsigned d = 0; d < LL_DTYPE_COUNT; d++)
        sum += flops[d] > 0 ? flops[d] * flop_j(machine, kind, (enum ll_dtype)d) : 0;
    return sum;
}

double ll_least_energy_j(const struct ll_least *least, const struct ll_machine *machine)
{
    if (!machine->energy_given)
        return NAN;
    double sum =
        compute_j(machine, least->products, LL_WORK_GEMM) + compute_j(machine, least->rest, LL_WORK_VECTOR);
    sum += convolves_directly(machine) ? compute_j(machine, least->convolutions, LL_WORK_CONV) : 0;
    sum += outer_bytes(least, machine) * ll_machine_level_j(machine, machine->level_count - 1);
    return SLACK * (sum + machine->energy.static_w * ll_least_time_s(least, machine));
}

static double least_time(const struct ll_least *least, const struct ll_machine *machine)
{
    return ll_least_time_s(least, machine);
}

static double least_energy(const struct ll_least *least, const struct ll_machine *machine)
{
    return ll_least_energy_j(least, machine);
}

static double least_edp(const struct ll_least *least, const struct ll_machine *machine)
{
    return ll_least_energy_j(least, machine) * ll_least_time_s(least, machine);
}

/* As measured; a hair less for the way through logarithms that a mean of several workloads takes. */
static double area(const struct ll_least *least, const struct ll_machine *machine)
{
    (void)least;
    return ll_machine_area_m2(machine) * 1e6 * (1 - 1e-12);
}

static double price(const struct ll_least *least, const struct ll_machine *machine)
{
    struct ll_priced priced;
    (void)least;
    return ll_machine_price(machine, &priced) ? priced.all_usd * (1 - 1e-12) : NAN;
}

/* Measures with a bound from below. */
static const struct bound {
    enum ll_measure measure;
    double (*of)(const struct ll_least *least, const struct ll_machine *machine);
} bounds[] = {{LL_MEASURE_TIME, least_time},
              {LL_MEASURE_ENERGY, least_energy},
              {LL_MEASURE_EDP, least_edp},
              {LL_MEASURE_AREA, area},
              {LL_MEASURE_PRICE, price}};

static const struct bound *bound_of(const struct ll_objective_row *objective)
{
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds && !objective->most; i++)
        if (strcmp(objective->name, ll_measure_name(bounds[i].measure)) == 0)
            return &bounds[i];
    return NULL;
}

bool ll_has_bounds(const struct ll_space *space)
{
    for (size_t k = 0; k < space->objective_count; k++)
        if (!bound_of(&space->objectives[k]))
            return false;
    return true;
}

/* The geometric mean of bounds is a bound of the geometric mean: both grow with each of their values. NaN of
 * steps that are spread over devices, and of ranks: these have no bound. */
static double mean_bound(const struct bound *bound, const struct ll_space *space,
                         const struct ll_variants *variants, const struct ll_machine *machine,
                         const uint32_t *point)
{
    double logs = 0, value = NAN;
    for (size_t w = 0; w < space->workload_count; w++) {
        const struct ll_workload_variant *variant = ll_variants_get(variants, w, point);
        if (!variant->least)
            return NAN;
        value = bound->of(variant->least, machine);
        logs += log(value);
    }
    return space->workload_count == 1 ? value : exp(logs / (double)space->workload_count) * (1 - 1e-12);
}

/* Whether some point of the front dominates the point whatever it is; the machine is that of the point. False
 * where objectives have no bound. Thread-safe as long as nobody adds to the front. */
static bool is_beaten(const struct ll_space *space, const struct ll_archive *front,
                      const struct ll_variants *variants, const struct ll_machine *machine,
                      const uint32_t *point)
{
    double least[LL_MOST_OBJECTIVES];
    for (size_t k = 0; k < space->objective_count; k++) {
        const struct bound *bound = bound_of(&space->objectives[k]);
        if (!bound)
            return false;
        least[k] = mean_bound(bound, space, variants, machine, point);
        if (isnan(least[k]))
            return false;
    }
    return ll_archive_beats(front, least);
}

/* Evaluating points: a worker thread sets a point's values in its own copy of the machine, replays the
 * workloads on it, and judges constraints and objectives.
 *
 * The first section has the names and dimensions of results and which of them a machine can have. */

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
        is_beaten(evaluator->space, evaluator->front, evaluator->variants, machine, point))
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
