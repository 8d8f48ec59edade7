/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep evaluates: measures, keys and workloads. The first section has the names and dimensions of
 * measures and which of them a machine can have. The second has the hashes by which results are recognized.
 * The third records a workload for each combination of model parameters and plan. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/database.h"
#include "sim/explore/space.h"
#include "sim/explore/sweep.h"
#include "sim/machine/design.h"
#include "sim/machine/node.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/remembered.h"
#include "sim/replay/replay.h"
#include "sim/report/sim_report.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/plain.h"
#include "tracer/base/str.h"

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

/* Numbers are hashed by a width that is written here, so that no machine's sizes or order of bytes enter a
 * key. */

/* Of the whole content of a file; false when it cannot be read. */
static bool ll_hash_file(const char *path, uint64_t *hash)
{
    unsigned char bytes[1 << 14];
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    *hash = LL_HASH_START;
    for (size_t length; (length = fread(bytes, 1, sizeof bytes, file)) > 0;)
        *hash = ll_hash_bytes(*hash, bytes, length);
    bool whole = !ferror(file);
    fclose(file);
    return whole;
}

static uint64_t hash_rules(uint64_t hash, const struct ll_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = ll_hash_text(hash, rules[i].name ? rules[i].name : "");
        hash = ll_hash_text(hash, rules[i].text);
    }
    return ll_hash_number(hash, count, 8);
}

static uint64_t hash_objectives(uint64_t hash, const struct ll_space *space)
{
    for (size_t i = 0; i < space->objective_count; i++)
        hash = ll_hash_text(hash, space->objectives[i].text);
    return hash;
}

bool ll_base_key(const struct ll_space *space, const uint64_t *workload_hashes, uint64_t *key)
{
    struct ll_str machine = {0};
    struct ll_json json = {.out = &machine};
    ll_machine_json(space->machine, &json);
    bool whole = !machine.failed;
    uint64_t hash = ll_hash_text(LL_HASH_START, ll_code_mark);
    hash = ll_hash_bytes(hash, machine.text, whole ? machine.length : 0);
    for (size_t w = 0; w < space->workload_count; w++)
        hash = ll_hash_number(hash, workload_hashes[w], 8);
    hash = hash_rules(hash, space->couplings, space->coupling_count);
    hash = hash_rules(hash, space->definitions, space->definition_count);
    hash = hash_rules(hash, space->constraints, space->constraint_count);
    *key = hash_objectives(hash, space);
    ll_str_release(&machine);
    return whole;
}

/* A named part is what it says, not how it is called. */
static uint64_t hash_node(uint64_t hash, const struct ll_node *node)
{
    if (node->key)
        hash = ll_hash_text(hash, node->key);
    if (node->text)
        return ll_hash_text(hash, node->text);
    for (const struct ll_node *child = node->first; child; child = child->next)
        hash = hash_node(hash, child);
    return ll_hash_number(hash, node->count, 8);
}

uint64_t ll_point_key(const struct ll_space *space, uint64_t base_key, uint64_t number)
{
    uint32_t point[LL_MOST_AXES];
    uint64_t hash = base_key;
    ll_space_point(space, number, point);
    for (size_t a = 0; a < space->axis_count; a++) {
        hash = ll_hash_text(hash, space->axes[a].path);
        hash = hash_node(hash, space->axes[a].values[point[a]].node);
    }
    return hash;
}

uint64_t ll_space_hash(const struct ll_space *space)
{
    uint64_t hash = LL_HASH_START;
    for (size_t a = 0; a < space->axis_count; a++) {
        hash = ll_hash_text(hash, space->axes[a].path);
        for (uint32_t i = 0; i < space->axes[a].value_count; i++) {
            hash = ll_hash_text(hash, space->axes[a].values[i].text);
            if (space->axes[a].target == LL_AXIS_PART)
                hash = hash_node(hash, space->axes[a].values[i].node);
        }
        hash = ll_hash_number(hash, space->axes[a].value_count, 4);
    }
    for (size_t w = 0; w < space->workload_count; w++)
        hash = ll_hash_text(hash, space->workloads[w].name);
    hash = hash_objectives(hash, space);
    hash = ll_hash_number(hash, space->search.kind, 4);
    hash = space->search.prune ? ll_hash_text(hash, "prune") : hash;
    if (space->search.kind == LL_SEARCH_LATIN) /* its points depend on how many there are */
        hash = ll_hash_number(hash, space->search.points, 8);
    return space->search.kind == LL_SEARCH_GRID ? hash : ll_hash_number(hash, space->search.seed, 8);
}

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
    ll_bring *bring;
    void *context;
    bool plans; /* something of them varies */
    struct workload workloads[LL_MOST_WORKLOADS];
    uint64_t hashes[LL_MOST_WORKLOADS];
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
        if (axis->target != LL_AXIS_MODEL)
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
    made.trace = record(variants, w, point, &diags);
    if (!made.trace)
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
    made->variant.least = prepared && alone ? ll_least_new(prepared, made->arena) : NULL;
    made->variant.prepared = made->variant.least || !alone ? prepared : NULL;
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
    make_variant(variants, recording, point, &made);
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

bool ll_variants_bring(struct ll_variants *variants, const struct ll_evaluation *evaluations, size_t count,
                       struct ll_diags *diags)
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
    const struct workload *workload = &variants->workloads[w];
    uint64_t index = variant_index(variants->space, w, point);
    return &workload->kept[place_of(workload->kept, sizeof *workload->kept, workload->kept_count, index)]
                .variant;
}

const uint64_t *ll_variants_hashes(const struct ll_variants *variants)
{
    return variants->hashes;
}

/* --- all of them --- */

static uint64_t hash_types(const struct ll_space_workload *workload, uint64_t hash)
{
    char pruned[LL_PATTERN_TEXT];
    if (workload->dtype != LL_DTYPE_COUNT)
        hash = ll_hash_text(hash, ll_dtype_name(workload->dtype));
    if (workload->products != LL_DTYPE_COUNT)
        hash = ll_hash_text(ll_hash_text(hash, "products"), ll_dtype_name(workload->products));
    if (workload->weights != LL_DTYPE_COUNT)
        hash = ll_hash_text(ll_hash_text(hash, "weights"), ll_dtype_name(workload->weights));
    if (workload->pruned.of > 0) {
        ll_pattern_print(&workload->pruned, pruned);
        hash = ll_hash_text(ll_hash_text(hash, "pruned"), pruned);
    }
    if (workload->gaps != 1) {
        char gaps[32];
        ll_number_text(workload->gaps, gaps);
        hash = ll_hash_text(ll_hash_text(hash, "gaps"), gaps);
    }
    return hash;
}

static bool hash_file(const struct ll_space_workload *workload, uint64_t *hash)
{
    bool read = ll_hash_file(workload->file, hash);
    *hash = read ? hash_types(workload, *hash) : *hash;
    return read;
}

/* A file by its bytes, a model by its name and its settings: what it records follows from the code. Either
 * with the types of numbers that it is taken to, and the zeros of its weights. */
static bool hash_workload(const struct ll_space_workload *workload, uint64_t *hash)
{
    if (workload->file)
        return hash_file(workload, hash);
    *hash = hash_types(workload, ll_hash_text(LL_HASH_START, workload->model));
    *hash = ll_hash_text(*hash, workload->infer ? "infer" : "train");
    for (size_t i = 0; i < workload->setting_count; i++) {
        *hash = ll_hash_text(*hash, workload->settings[i].key);
        *hash = ll_hash_text(*hash, workload->settings[i].value);
    }
    return true;
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
    if (!hash_workload(workload, &variants->hashes[w]))
        return ll_complain(diags, workload->place, "`%s` cannot be read", workload->file);
    if (!need(variants, w, first))
        return ll_complain(diags, workload->place, "memory ran out");
    const struct recording *recording = &variants->workloads[w].recordings[0];
    if (!recording->trace)
        return ll_complain(diags, workload->place, "%s", recording->trouble);
    const struct ll_workload_variant *variant = ll_variants_get(variants, w, first);
    return !variant->trouble || variants->plans ||
           ll_complain(diags, workload->place, "%s", variant->trouble);
}

struct ll_variants *ll_variants_new(const struct ll_space *space, ll_bring *bring, void *context,
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
    ll_variants_free(variants);
    return NULL;
}

void ll_variants_free(struct ll_variants *variants)
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
