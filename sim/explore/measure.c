/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of results before they are there. The first section has the names and dimensions of measures
 * and which of them a machine can have. The second has the hashes by which results are recognized. The third
 * has lower bounds on a design's results, by which a point is skipped when the front already dominates them.
 */
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
#include "sim/machine/design.h"
#include "sim/machine/node.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/report/sim_report.h"
#include "tracer/base/diag.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
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
    assert(measure < LL_MEASURE_COUNT);
    return rows[measure].name;
}

enum ll_dimension ll_measure_dimension(enum ll_measure measure)
{
    assert(measure < LL_MEASURE_COUNT);
    return rows[measure].dimension;
}

double ll_workload_mean(const double *values, size_t count, bool plain)
{
    assert(count > 0);
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

/* Numbers are hashed by a width that is written here, so that no machine's sizes or order of bytes enter a
 * key. */

/* Of the whole content of a file; false when it cannot be read. */
static bool hash_file(const char *path, uint64_t *hash)
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
    hash = hash_rules(hash, space->coupled, space->coupled_count);
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
    assert(space->axis_count <= LL_MOST_AXES);
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

/* --- all of them --- */

static uint64_t hash_types(const struct ll_space_workload *workload, uint64_t hash)
{
    char pruned[LL_PATTERN_TEXT];
    if (workload->dtype != LL_DTYPE_COUNT)
        hash = ll_hash_text(hash, ll_dtype_name(workload->dtype));
    if (workload->products != LL_NUMERIC_NONE)
        hash = ll_hash_text(ll_hash_text(hash, "products"), ll_numeric_name(workload->products));
    if (workload->weights != LL_NUMERIC_NONE)
        hash = ll_hash_text(ll_hash_text(hash, "weights"), ll_numeric_name(workload->weights));
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

static bool hash_recording(const struct ll_space_workload *workload, uint64_t *hash)
{
    bool read = hash_file(workload->file, hash);
    *hash = read ? hash_types(workload, *hash) : *hash;
    return read;
}

bool ll_workload_hash(const struct ll_space_workload *workload, uint64_t *hash)
{
    if (workload->file)
        return hash_recording(workload, hash);
    *hash = hash_types(workload, ll_hash_text(LL_HASH_START, workload->model));
    *hash = ll_hash_text(*hash, workload->served ? "serve" : workload->infer ? "infer" : "train");
    for (size_t i = 0; i < workload->setting_count; i++) {
        *hash = ll_hash_text(*hash, workload->settings[i].key);
        *hash = ll_hash_text(*hash, workload->settings[i].value);
    }
    return true;
}

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

struct ll_lower_bounds {
    double products[LL_DTYPE_COUNT], convolutions[LL_DTYPE_COUNT], rest[LL_DTYPE_COUNT]; /* FLOPs of a step */
    struct events moved[KEEPERS][PARTS];
    double steps;
};

static bool is_gemm(const struct ll_work *work)
{
    return ll_is_gemm(work) && work->kind != LL_WORK_CONV;
}

static bool is_computed(const struct ll_work *work)
{
    return work->kind == LL_WORK_VECTOR || work->kind == LL_WORK_REDUCE;
}

static void count_flops(struct ll_lower_bounds *least, const struct ll_work *work)
{
    double flops = (double)work->flops / least->steps;
    if (is_gemm(work))
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
    return is_gemm(work) || is_computed(work) || work->kind == LL_WORK_CONV;
}

/* Room for so many operands, of each part and keeper. */
static struct ll_lower_bounds *make_room(uint64_t operands, struct ll_arena *arena)
{
    struct ll_lower_bounds *least = ll_alloc(arena, 1, sizeof *least);
    for (unsigned i = 0; least && i < (unsigned)KEEPERS * PARTS; i++) {
        struct events *events = &least->moved[i / PARTS][i % PARTS];
        events->at = ll_alloc(arena, operands, sizeof *events->at);
        if (!events->at)
            return NULL;
    }
    return least;
}

const struct ll_lower_bounds *ll_lower_bounds_new(const struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    const uint64_t *first = prepared->residency->first;
    struct ll_lower_bounds *least = make_room(first[prepared->end_op] - first[prepared->first_op], arena);
    if (!least)
        return NULL;
    assert(prepared->steps > 0 && prepared->first_op <= prepared->end_op);
    least->steps = (double)prepared->steps;
    for (uint32_t seq = prepared->first_op; seq < prepared->end_op; seq++) {
        const struct ll_work *work = &prepared->works[trace->ops[seq].signature];
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

static double outer_bytes(const struct ll_lower_bounds *least, const struct ll_machine *machine)
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

double ll_lower_bound_time_s(const struct ll_lower_bounds *least, const struct ll_machine *machine)
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
    assert(memory_s >= 0 && products_s >= 0 && rest_s >= 0);
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

double ll_lower_bound_energy_j(const struct ll_lower_bounds *least, const struct ll_machine *machine)
{
    if (!machine->energy_given)
        return NAN;
    double sum =
        compute_j(machine, least->products, LL_WORK_GEMM) + compute_j(machine, least->rest, LL_WORK_VECTOR);
    sum += convolves_directly(machine) ? compute_j(machine, least->convolutions, LL_WORK_CONV) : 0;
    sum += outer_bytes(least, machine) * ll_machine_level_j(machine, machine->level_count - 1);
    return SLACK * (sum + machine->energy.static_w * ll_lower_bound_time_s(least, machine));
}

static double least_time(const struct ll_lower_bounds *least, const struct ll_machine *machine)
{
    return ll_lower_bound_time_s(least, machine);
}

static double least_energy(const struct ll_lower_bounds *least, const struct ll_machine *machine)
{
    return ll_lower_bound_energy_j(least, machine);
}

static double least_edp(const struct ll_lower_bounds *least, const struct ll_machine *machine)
{
    return ll_lower_bound_energy_j(least, machine) * ll_lower_bound_time_s(least, machine);
}

/* As measured; a hair less for the way through logarithms that a mean of several workloads takes. */
static double area(const struct ll_lower_bounds *least, const struct ll_machine *machine)
{
    (void)least;
    return ll_machine_area_m2(machine) * 1e6 * (1 - 1e-12);
}

static double price(const struct ll_lower_bounds *least, const struct ll_machine *machine)
{
    struct ll_priced priced;
    (void)least;
    return ll_machine_price(machine, &priced) ? priced.all_usd * (1 - 1e-12) : NAN;
}

/* Measures with a bound from below. */
static const struct bound {
    enum ll_measure measure;
    double (*of)(const struct ll_lower_bounds *least, const struct ll_machine *machine);
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

bool ll_is_dominated(const struct ll_space *space, const struct ll_archive *front,
                     const struct ll_variants *variants, const struct ll_machine *machine,
                     const uint32_t *point)
{
    assert(space->objective_count > 0 && space->objective_count <= LL_MOST_OBJECTIVES);
    double least[LL_MOST_OBJECTIVES];
    for (size_t k = 0; k < space->objective_count; k++) {
        const struct bound *bound = bound_of(&space->objectives[k]);
        if (!bound)
            return false;
        least[k] = mean_bound(bound, space, variants, machine, point);
        if (isnan(least[k]))
            return false;
    }
    return ll_archive_dominates(front, least);
}
