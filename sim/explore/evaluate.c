/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluating points. The first section records a workload for each combination of model parameters and plan.
 * In the second a worker thread sets a point's values in its own copy of the machine, replays the workloads
 * on it, and judges constraints and objectives. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/explore/database.h"
#include "sim/explore/space.h"
#include "sim/explore/sweep.h"
#include "sim/fusion/fusion.h"
#include "sim/machine/design.h"
#include "sim/machine/node.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/replay/summary.h"
#include "sim/report/sim_report.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

/* A variant's index: the model axes of a point and then its plan axes are the digits, as all axes are those
 * of a point. Recordings have an index of model axes alone, so that plans share them. */

enum { MOST_OPS = 500000 }; /* of the recordings that are kept for batches to come: some 200 MB */

struct recording {
    uint64_t index;
    struct ll_trace *trace; /* NULL: the model cannot be recorded so */
    const char *trouble;
    struct ll_arena *arena; /* of the trouble and of what is prepared */
    bool used;              /* by the batch */
};

struct kept {
    uint64_t index;
    struct ll_workload_variant variant;
    struct ll_spread *spread; /* that is owned */
    struct ll_arena *arena;   /* of the trouble and of what is prepared */
    bool used;
};

struct workload {
    struct recording *recordings; /* by index, ascending */
    uint64_t recording_count, recording_capacity;
    struct kept *kept; /* by index, ascending */
    uint64_t kept_count, kept_capacity;
};

struct ll_variants {
    const struct ll_space *space;
    ll_trace_source *bring;
    void *context;
    bool plans; /* something of them varies */
    struct workload workloads[LL_MOST_WORKLOADS];
    uint64_t hashes[LL_MOST_WORKLOADS]; /* of what each is, but for parameters that vary */
};

/* --- indices --- */

static uint64_t digits_of(const struct ll_space *space, enum ll_axis_target target, const uint32_t *point,
                          uint64_t index)
{
    for (size_t a = 0; a < space->axis_count; a++)
        if (space->axes[a].target == target)
            index = index * space->axes[a].value_count + point[a];
    return index;
}

static uint64_t recording_index(const struct ll_space *space, size_t workload, const uint32_t *point)
{
    assert(workload < space->workload_count);
    return space->workloads[workload].model ? digits_of(space, LL_AXIS_MODEL, point, 0) : 0;
}

static uint64_t variant_index(const struct ll_space *space, size_t workload, const uint32_t *point)
{
    return digits_of(space, LL_AXIS_PLAN, point, recording_index(space, workload, point));
}

/* Where the item is, or where it belongs, in an array of items that begin with their index. */
static uint64_t place_of(const void *items, size_t size, uint64_t count, uint64_t index)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2, there;
        memcpy(&there, (const char *)items + middle * size, sizeof there);
        if (there < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- recordings --- */

/* The settings of the workload, those of the point's model axes laid over. */
static size_t settings_of(const struct ll_space *space, const struct ll_space_workload *workload,
                          const uint32_t *point, struct ll_space_setting *settings)
{
    size_t count = 0;
    for (size_t i = 0; i < workload->setting_count; i++)
        settings[count++] = workload->settings[i];
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        if (axis->target != LL_AXIS_MODEL || ll_is_of_serving(axis) != workload->served)
            continue;
        struct ll_space_setting setting = {strchr(axis->path, '.') + 1, axis->values[point[a]].text};
        size_t i = 0;
        while (i < count && strcmp(settings[i].key, setting.key))
            i++;
        settings[i] = setting;
        count += i == count;
    }
    return count;
}

static struct ll_trace *record(struct ll_variants *variants, size_t w, const uint32_t *point,
                               struct ll_diags *diags)
{
    const struct ll_space_workload *workload = &variants->space->workloads[w];
    struct ll_space_setting *settings = calloc(workload->setting_count + LL_MOST_AXES, sizeof *settings);
    if (!settings) {
        ll_complain(diags, workload->place, "memory ran out");
        return NULL;
    }
    size_t count = workload->model ? settings_of(variants->space, workload, point, settings) : 0;
    struct ll_trace *trace = variants->bring(variants->context, workload, settings, count, diags);
    free(settings);
    return trace;
}

/* A sentence that lasts, of the first complaint. */
static const char *trouble_of(const struct ll_diags *diags, struct ll_arena *arena)
{
    const char *message = diags->kept_count ? diags->kept[0].message : "memory ran out";
    const char *kept = ll_copy_text(arena, message, strlen(message));
    return kept ? kept : "memory ran out";
}

/* The recording of a point, made when it is new; NULL when memory ran out. */
static struct recording *recording_of(struct ll_variants *variants, size_t w, const uint32_t *point)
{
    struct workload *workload = &variants->workloads[w];
    struct recording made = {.index = recording_index(variants->space, w, point), .used = true};
    uint64_t place = place_of(workload->recordings, sizeof made, workload->recording_count, made.index);
    if (place < workload->recording_count && workload->recordings[place].index == made.index) {
        workload->recordings[place].used = true;
        return &workload->recordings[place];
    }
    struct ll_diags diags = {0};
    made.arena = calloc(1, sizeof *made.arena);
    if (!made.arena || !ll_grow(&workload->recordings, &workload->recording_capacity,
                                workload->recording_count + 1, sizeof made)) {
        free(made.arena);
        return NULL;
    }
    const bool served = variants->space->workloads[w].served;
    made.trace = served ? NULL : record(variants, w, point, &diags);
    if (!made.trace && !served)
        made.trouble = trouble_of(&diags, made.arena);
    ll_diags_release(&diags);
    memmove(&workload->recordings[place + 1], &workload->recordings[place],
            (workload->recording_count++ - place) * sizeof made);
    workload->recordings[place] = made;
    return &workload->recordings[place];
}

/* --- variants --- */

static bool plan_of(const struct ll_space *space, const uint32_t *point, struct ll_parallel *plan,
                    struct ll_diags *diags)
{
    bool right = true;
    *plan = ll_plan_of_one();
    for (size_t a = 0; a < space->axis_count; a++) {
        const struct ll_space_axis *axis = &space->axes[a];
        if (axis->target == LL_AXIS_PLAN)
            right &= ll_plan_set(plan, strchr(axis->path, '.') + 1, axis->values[point[a]].text, axis->place,
                                 diags);
    }
    return right;
}

/* Of several ranks no device does everything, and what they all do is no bound of what one takes. */
static void prepare(struct kept *made, const struct ll_trace *trace, struct ll_diags *diags)
{
    const struct ll_prepared *prepared = ll_prepare(trace, made->arena, diags);
    bool alone = ll_trace_ranks(trace) == 1;
    made->variant.least = prepared && alone ? ll_lower_bounds_new(prepared, made->arena) : NULL;
    made->variant.prepared = made->variant.least || !alone ? prepared : NULL;
}

/* The options of a serving at a point; false when memory ran out. */
static bool take_options(const struct ll_variants *variants, size_t w, const uint32_t *point,
                         struct kept *made)
{
    const struct ll_space_workload *workload = &variants->space->workloads[w];
    const size_t most = workload->setting_count + LL_MOST_AXES;
    struct ll_space_setting *settings = ll_alloc(made->arena, most, sizeof *settings);
    if (settings)
        made->variant.setting_count = settings_of(variants->space, workload, point, settings);
    return (made->variant.settings = settings);
}

static void make_variant(const struct ll_variants *variants, const struct recording *recording,
                         const uint32_t *point, struct kept *made)
{
    struct ll_diags diags = {0};
    struct ll_parallel plan;
    if (!recording->trace)
        made->variant.trouble = recording->trouble; /* which is forgotten later than the variant */
    else if (!variants->plans)
        prepare(made, recording->trace, &diags);
    else if (plan_of(variants->space, point, &plan, &diags))
        made->spread = ll_spread_trace(recording->trace, &plan, LL_NO_FIT, &diags);
    made->variant.spread = made->spread;
    if (!made->variant.trouble && !made->variant.prepared && !made->spread)
        made->variant.trouble = trouble_of(&diags, made->arena);
    ll_diags_release(&diags);
}

static bool need(struct ll_variants *variants, size_t w, const uint32_t *point)
{
    struct workload *workload = &variants->workloads[w];
    struct kept made = {.index = variant_index(variants->space, w, point), .used = true};
    const struct recording *recording = recording_of(variants, w, point);
    uint64_t place = place_of(workload->kept, sizeof made, workload->kept_count, made.index);
    if (recording && place < workload->kept_count && workload->kept[place].index == made.index) {
        workload->kept[place].used = true;
        return true;
    }
    made.arena = calloc(1, sizeof *made.arena);
    if (!recording || !made.arena ||
        !ll_grow(&workload->kept, &workload->kept_capacity, workload->kept_count + 1, sizeof made)) {
        free(made.arena);
        return false;
    }
    if (!variants->space->workloads[w].served) {
        make_variant(variants, recording, point, &made);
    } else if (!take_options(variants, w, point, &made)) {
        ll_arena_release(made.arena);
        free(made.arena);
        return false;
    }
    memmove(&workload->kept[place + 1], &workload->kept[place],
            (workload->kept_count++ - place) * sizeof made);
    workload->kept[place] = made;
    return true;
}

static void drop_recording(struct recording *recording)
{
    ll_arena_release(recording->arena);
    free(recording->arena);
    ll_trace_free(recording->trace);
}

static void drop_variant(struct kept *kept)
{
    ll_spread_free(kept->spread);
    ll_arena_release(kept->arena);
    free(kept->arena);
}

/* Those of spreads are of the same order. */
static uint64_t ops_of(const struct workload *workload)
{
    uint64_t ops = 0;
    for (uint64_t i = 0; i < workload->recording_count; i++)
        ops += workload->recordings[i].trace ? workload->recordings[i].trace->op_count : 0;
    return ops * (1 + workload->kept_count / ll_max(workload->recording_count, 1));
}

/* Variants first: they refer to recordings. */
static void forget_unused(struct workload *workload)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < workload->kept_count; i++)
        if (workload->kept[i].used)
            workload->kept[count++] = workload->kept[i];
        else
            drop_variant(&workload->kept[i]);
    workload->kept_count = count;
    count = 0;
    for (uint64_t i = 0; i < workload->recording_count; i++)
        if (workload->recordings[i].used)
            workload->recordings[count++] = workload->recordings[i];
        else
            drop_recording(&workload->recordings[i]);
    workload->recording_count = count;
}

/* Brings what these points need, and may forget what they do not. False when memory ran out. */
static bool variants_record(struct ll_variants *variants, const struct ll_evaluation *evaluations,
                            size_t count, struct ll_diags *diags)
{
    uint32_t point[LL_MOST_AXES];
    for (size_t w = 0; w < variants->space->workload_count; w++) {
        struct workload *workload = &variants->workloads[w];
        for (uint64_t i = 0; i < workload->kept_count; i++)
            workload->kept[i].used = false;
        for (uint64_t i = 0; i < workload->recording_count; i++)
            workload->recordings[i].used = false;
        for (size_t i = 0; i < count; i++) {
            ll_space_point(variants->space, evaluations[i].number, point);
            if (!need(variants, w, point))
                return ll_complain(diags, variants->space->workloads[w].place, "memory ran out");
        }
        if (ops_of(workload) > MOST_OPS)
            forget_unused(workload);
    }
    return true;
}

const struct ll_workload_variant *ll_variants_get(const struct ll_variants *variants, size_t w,
                                                  const uint32_t *point)
{
    assert(w < variants->space->workload_count);
    const struct workload *workload = &variants->workloads[w];
    uint64_t index = variant_index(variants->space, w, point);
    return &workload->kept[place_of(workload->kept, sizeof *workload->kept, workload->kept_count, index)]
                .variant;
}

static bool varies_plans(const struct ll_space *space)
{
    for (size_t a = 0; a < space->axis_count; a++)
        if (space->axes[a].target == LL_AXIS_PLAN)
            return true;
    return false;
}

/* A workload that cannot be had with the first of its parameters is a mistake of the sweep file. */
static bool begin(struct ll_variants *variants, size_t w, struct ll_diags *diags)
{
    static const uint32_t first[LL_MOST_AXES] = {0};
    const struct ll_space_workload *workload = &variants->space->workloads[w];
    if (!ll_workload_hash(workload, &variants->hashes[w]))
        return ll_complain(diags, workload->place, "`%s` cannot be read", workload->file);
    if (!need(variants, w, first))
        return ll_complain(diags, workload->place, "memory ran out");
    const struct recording *recording = &variants->workloads[w].recordings[0];
    if (workload->served)
        return true;
    if (!recording->trace)
        return ll_complain(diags, workload->place, "%s", recording->trouble);
    const struct ll_workload_variant *variant = ll_variants_get(variants, w, first);
    return !variant->trouble || variants->plans ||
           ll_complain(diags, workload->place, "%s", variant->trouble);
}

static void variants_free(struct ll_variants *variants)
{
    if (!variants)
        return;
    for (size_t w = 0; w < LL_MOST_WORKLOADS; w++) {
        struct workload *workload = &variants->workloads[w];
        for (uint64_t i = 0; i < workload->kept_count; i++)
            drop_variant(&workload->kept[i]);
        for (uint64_t i = 0; i < workload->recording_count; i++)
            drop_recording(&workload->recordings[i]);
        free(workload->kept);
        free(workload->recordings);
    }
    free(variants);
}

/* Brings the first variant of each workload. NULL after complaints. */
static struct ll_variants *variants_new(const struct ll_space *space, ll_trace_source *bring, void *context,
                                        struct ll_diags *diags)
{
    struct ll_variants *variants = calloc(1, sizeof *variants);
    bool right = variants || ll_complain(diags, (struct ll_place){.file = space->path}, "memory ran out");
    if (!right)
        return NULL;
    *variants = (struct ll_variants){
        .space = space, .bring = bring, .context = context, .plans = varies_plans(space)};
    for (size_t w = 0; w < space->workload_count; w++)
        right &= begin(variants, w, diags);
    if (right)
        return variants;
    variants_free(variants);
    return NULL;
}

/* A thread has a design of the base and puts a point's values into it; coupled parameters follow from these,
 * the machine is read, the workloads are replayed, and rules are asked last:
 *
 *     values -> coupled parameters -> machine -> replays -> definitions -> constraints, objectives
 *
 * Traces of models are recorded between the batches, by the thread that asks, and kept while points of the
 * batch use them. */

enum { GRAIN = 32, MOST_PROGRAMS = 64, MOST_REMEMBERED = 20000 };

struct worker { /* of one thread */
    struct ll_design *design;
    const struct ll_node **values; /* of all axes of the machine, one axis after the other */
    uint32_t *slots;               /* of the design: of the axes, then of the coupled parameters */
    double *coupled, *definitions;
    struct ll_arena arena;           /* of a replay */
    struct ll_remembered remembered; /* from point to point */
    struct ll_summaries summaries;   /* the same of workloads that do not vary */
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
    ll_serving_source *serve;
    void *serve_context;
    pthread_mutex_t lock;
    struct ll_map reasons;
    struct ll_evaluation *batch;      /* that is being evaluated, */
    struct ll_evaluation_turn *turns; /* in these turns */
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
    for (size_t c = 0; c < space->coupled_count; c++)
        if (!ll_design_bind(worker->design, space->coupled[c].name, space->coupled[c].place, diags,
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
    if (worker->design)
        ll_design_take_table(worker->design, space->machine);
    worker->values = ll_alloc(&evaluator->arena, values, sizeof *worker->values);
    worker->slots =
        ll_alloc(&evaluator->arena, space->axis_count + space->coupled_count, sizeof *worker->slots);
    worker->coupled = ll_alloc(&evaluator->arena, space->coupled_count, sizeof *worker->coupled);
    worker->definitions = ll_alloc(&evaluator->arena, space->definition_count, sizeof *worker->definitions);
    if (!worker->values || !worker->slots || !worker->coupled || !worker->definitions)
        return ll_complain(diags, (struct ll_place){.file = space->path}, "memory ran out");
    return worker->design && bind_axes(evaluator, worker, diags);
}

struct ll_evaluator *ll_evaluator_new(const struct ll_space *space, ll_trace_source *bring, void *context,
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
    evaluator->variants = right ? variants_new(space, bring, context, diags) : NULL;
    if (evaluator->variants && ll_base_key(space, evaluator->variants->hashes, &evaluator->base_key))
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

void ll_evaluator_serve(struct ll_evaluator *evaluator, ll_serving_source *serve, void *context)
{
    evaluator->serve = serve;
    evaluator->serve_context = context;
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
        ll_summaries_release(&evaluator->workers[i].summaries);
    }
    variants_free(evaluator->variants);
    ll_map_release(&evaluator->reasons);
    pthread_mutex_destroy(&evaluator->lock);
    ll_arena_release(&evaluator->arena);
    free(evaluator);
}

/* --- what names stand for --- */

struct asked {
    const struct ll_space *space;
    const struct worker *worker;
    const struct ll_machine *machine; /* of coupled parameters the base */
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
    case LL_NAMED_COUPLED:
        return asked->worker->coupled[named->index];
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
    for (size_t c = 0; c < space->coupled_count; c++) {
        worker->coupled[c] = ll_expression_value(space->coupled[c].expression, value_of, &asked);
        ll_design_put_number(worker->design, worker->slots[space->axis_count + c],
                             worker->coupled[c] / space->coupled[c].scale);
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
    assert(time_s >= 0 && peak >= 0);
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
    for (size_t i = LL_MEASURE_TTFT; i < LL_MEASURE_COUNT; i++)
        of[i] = NAN; /* a step is no serving */
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
    evaluation->verdict = LL_VERDICT_INVALID;
    evaluation->why = diags->kept_count ? keep_reason(evaluator, diags->kept[0].message) : NULL;
    if (!evaluation->why)
        fail(evaluator);
    have_no_results(evaluator, evaluation);
    ll_diags_release(&worker->diags);
}

static void leave_out(const struct ll_evaluator *evaluator, struct ll_evaluation *evaluation)
{
    evaluation->verdict = LL_VERDICT_PRUNED;
    evaluation->why = "a known point is better than this one can be";
    have_no_results(evaluator, evaluation);
}

/* Of all devices that a step is spread over, whose energy is given, where the rest is: as many times the
 * price, whereas the area stays a device's. */
static void measure_all(double energy_j, double devices, struct ll_readings *measured)
{
    assert(devices >= 1);
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
    const struct ll_multi_rank_result *together =
        ll_multi_rank_replay(prepared, machine, &worker->remembered, &worker->arena, &worker->diags);
    if (!together)
        return NULL;
    measure(together->result, measured);
    double ranks = together->rank_count;
    measure_all(together->result->energy_j * ranks, ranks, measured);
    return together->result;
}

/* Of one device, until the next one is replayed; NULL after complaints. Without summaries all of a result. */
static const struct ll_result *replay_one(const struct ll_workload_variant *variant,
                                          const struct ll_machine *machine, struct ll_summaries *summaries,
                                          struct worker *worker, struct ll_readings *measured)
{
    ll_arena_reset(&worker->arena);
    /* Models, plans and networks that vary bring something new without end. */
    if (worker->remembered.costs.keys.count > MOST_REMEMBERED ||
        worker->remembered.prices.keys.count > MOST_REMEMBERED)
        ll_remembered_release(&worker->remembered);
    if (variant->spread)
        return replay_spread(variant->spread, machine, worker, measured);
    if (ll_trace_ranks(variant->prepared->trace) > 1)
        return replay_together(variant->prepared, machine, worker, measured);
    const struct ll_fused_step *fused = NULL;
    if (machine->core_type_count > 0)
        fused = ll_fuse(variant->prepared, machine, LL_FUSE_AUTO, &worker->arena, &worker->diags);
    const struct ll_result *result =
        fused ? fused->result
        : machine->core_type_count > 0
            ? NULL
            : ll_replay_summary(variant->prepared, machine, summaries, &worker->remembered, &worker->arena,
                                &worker->diags);
    if (result)
        measure(result, measured);
    return result;
}

static bool serve_one(const struct ll_evaluator *evaluator, size_t w,
                      const struct ll_workload_variant *variant, const struct ll_machine *machine,
                      struct worker *worker, struct ll_readings *measured)
{
    const struct ll_space_workload *workload = &evaluator->space->workloads[w];
    if (!evaluator->serve)
        return ll_complain(&worker->diags, workload->place, "nothing serves here");
    measure_nothing(measured);
    return evaluator->serve(evaluator->serve_context, workload, variant->settings, variant->setting_count,
                            machine, measured, &worker->diags);
}

/* None of them where it is known of one that it cannot be. */
static bool replay_all(struct ll_evaluator *evaluator, struct worker *worker,
                       const struct ll_machine *machine, struct ll_evaluation *evaluation,
                       const uint32_t *point)
{
    for (size_t w = 0; w < evaluator->space->workload_count; w++)
        if (!may_run(ll_variants_get(evaluator->variants, w, point), machine, &worker->diags))
            return false;
    struct ll_summaries *summaries = evaluator->varies_programs ? NULL : &worker->summaries;
    for (size_t w = 0; w < evaluator->space->workload_count; w++) {
        const struct ll_workload_variant *variant = ll_variants_get(evaluator->variants, w, point);
        struct ll_readings *measured = &evaluation->measured[w];
        if (variant->settings ? !serve_one(evaluator, w, variant, machine, worker, measured)
                              : !replay_one(variant, machine, summaries, worker, measured))
            return false;
    }
    return true;
}

/* The mean over the workloads. Without one (something was divided by 0, or the machine does not tell
 * energies) the point cannot be compared with others: as good as a constraint that is missed. */
static void weigh(struct ll_evaluator *evaluator, struct worker *worker, struct ll_evaluation *evaluation,
                  size_t objective, const double *values)
{
    assert(objective < evaluator->space->objective_count);
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

/* Constraints and objectives of a point whose workloads were replayed: violations add up over workloads,
 * objectives are weighed together. The first constraint that fails is the reason. */
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
    assert(outcome->violation >= 0);
    outcome->valid = outcome->violation == 0;
    evaluation->verdict = outcome->valid ? LL_VERDICT_VALID : LL_VERDICT_INFEASIBLE;
}

static void evaluate(struct ll_evaluator *evaluator, struct worker *worker, struct ll_evaluation *evaluation)
{
    assert(evaluation->number < evaluator->space->point_count);
    uint32_t point[LL_MOST_AXES];
    evaluation->why = NULL;
    memset(evaluation->measured, 0, evaluator->space->workload_count * sizeof *evaluation->measured);
    ll_space_point(evaluator->space, evaluation->number, point);
    const struct ll_machine *machine = machine_of(evaluator, worker, point);
    if (machine && evaluator->front &&
        ll_is_dominated(evaluator->space, evaluator->front, evaluator->variants, machine, point))
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
        evaluate(evaluator, worker, &evaluator->batch[evaluator->turns[i].index]);
}

static bool evaluate_some(struct ll_evaluator *evaluator, struct ll_evaluation *evaluations, size_t count,
                          struct ll_diags *diags)
{
    if (!variants_record(evaluator->variants, evaluations, count, diags))
        return false;
    evaluator->turns = malloc((count + 1) * sizeof *evaluator->turns);
    evaluator->batch = evaluations;
    evaluator->failed = !evaluator->turns;
    if (evaluator->turns)
        ll_space_turns(evaluator->space, evaluations, count, evaluator->turns);
    size_t grain = evaluator->varies_programs ? 0 : ll_min(GRAIN, count / 4 / evaluator->worker_count);
    ll_pool_run(evaluator->pool, evaluator->failed ? 0 : count, ll_max(1, grain), evaluate_chunk, evaluator);
    free(evaluator->turns);
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
    if (variant->settings)
        return false;
    const struct ll_result *result = machine && may_run(variant, machine, &worker->diags)
                                         ? replay_one(variant, machine, NULL, worker, &measured)
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
    assert(number < evaluator->space->point_count);
    return ll_point_key(evaluator->space, evaluator->base_key, number);
}

const uint64_t *ll_evaluator_workload_hashes(const struct ll_evaluator *evaluator)
{
    return evaluator->variants->hashes;
}
