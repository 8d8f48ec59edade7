/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a step on cores as other rooms read one.
 *
 * Where ops do not depend on how they are scheduled (the footprint, counts by kind) it is that of a replay
 * on a machine of as many units as all cores have. Times, traffic, energy and bottlenecks are those of the
 * schedule: an op lasts from the begin of its first tile to the end of its last. What held the step back
 * is found backwards from its end: of a tile or a transfer that ends there the time counts for computing,
 * for the outermost memory or for the links, and the walk goes on where it began. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/result.h"

/* The machine of which a result speaks: the units of all cores, the memories of the kind of core that
 * computes most, and the outermost memory. */
static struct ll_machine *flat_machine(const struct chip *chip, struct ll_arena *arena)
{
    const struct ll_machine *machine = chip->machine;
    struct ll_machine *flat = ll_alloc(arena, 1, sizeof *flat);
    uint32_t main = 0;
    double most = -1;
    for (uint32_t t = 0; flat && t < chip->type_count; t++) {
        const struct ll_machine *one = &chip->types[t].machine;
        double macs = 0;
        for (uint64_t u = 0; u < one->unit_count; u++) {
            struct ll_arithmetic arithmetic = ll_unit_arithmetic(&one->units[u]);
            macs += arithmetic.elements * arithmetic.flops * (double)one->units[u].count *
                    (double)machine->cores[t].count;
        }
        if (macs > most) {
            most = macs;
            main = t;
        }
    }
    if (!flat)
        return NULL;
    struct ll_one_core *core = ll_alloc(arena, 1, sizeof *core);
    if (!core)
        return NULL;
    ll_machine_one_core(machine, main, core);
    *flat = core->machine;
    flat->unit_count = machine->unit_count;
    for (uint64_t u = 0; u < machine->unit_count; u++) {
        flat->units[u] = machine->units[u];
        flat->units[u].count *= ll_max(ll_machine_cores_with(machine, u), 1);
    }
    for (uint64_t l = 0; l + 1 < flat->level_count; l++)
        if (flat->levels[l].scope == LL_SCOPE_DEVICE && machine->cores[main].count > 1)
            flat->levels[l].scope = LL_SCOPE_UNIT;
    return flat;
}

/* What its tiles and transfers take of a step, by level of the flat machine; a level that this one has not
 * counts as the nearest one of its own. */
struct moved {
    double bytes[LL_MAX_LEVELS];
};

static uint64_t flat_level(const struct ll_machine *flat, const struct ll_machine *machine, uint64_t l)
{
    uint64_t at = ll_machine_level_named(flat, machine->levels[l].name);
    return at < flat->level_count ? at : flat->level_count > 1 ? flat->level_count - 2 : 0;
}

static void add_tiles(const struct ll_fused_step *fusion, struct search *search,
                      const struct ll_machine *flat, struct moved *moved)
{
    for (uint32_t n = 0; n < search->graph.node_count; n++) {
        const struct node *node = &search->graph.nodes[n];
        const struct ll_one_core *type = &search->chip.types[node->type];
        struct ll_cost cost;
        const char *trouble;
        bool runs = ll_cost_op(&type->machine, node->kind, node->work, &cost, &trouble);
        for (uint64_t l = 0; runs && l + 1 < type->machine.level_count; l++)
            moved->bytes[flat_level(flat, fusion->machine, type->level_of[l])] += cost.level_bytes[l];
    }
    for (uint64_t s = 0; s < fusion->stack_count; s++)
        moved->bytes[flat->level_count - 1] += fusion->stacks[s].memory_bytes;
}

struct span {
    double start_s, end_s;
    uint32_t bound;
};

static int by_end(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    if (a->end_s != b->end_s)
        return a->end_s < b->end_s ? -1 : 1;
    if (a->bound != b->bound)
        return a->bound > b->bound ? -1 : 1; /* of those that end together computing comes last */
    return a->start_s < b->start_s ? -1 : a->start_s > b->start_s;
}

static bool reaches_memory(const struct ll_fused_step *fusion, const struct ll_fusion_transfer *transfer)
{
    return transfer->from == fusion->core_count || transfer->there_count == 0;
}

/* Shares of the step's time by what held it back. False when memory ran out. */
static bool find_shares(const struct ll_fused_step *fusion, struct ll_result *result)
{
    uint64_t count = 0, room = fusion->task_count + fusion->transfer_count;
    struct span *spans = malloc((room + 1) * sizeof *spans);
    double at_s = fusion->time_s, spent_s[LL_BOUND_COUNT] = {0};
    if (!spans)
        return false;
    for (uint64_t t = 0; t < fusion->task_count; t++)
        spans[count++] = (struct span){fusion->tasks[t].start_s, fusion->tasks[t].end_s, LL_BOUND_COMPUTE};
    for (uint64_t t = 0; t < fusion->transfer_count; t++) {
        const struct ll_fusion_transfer *it = &fusion->transfers[t];
        uint32_t bound = reaches_memory(fusion, it)
                             ? (uint32_t)(LL_BOUND_LEVEL + result->machine->level_count - 1)
                             : (uint32_t)LL_BOUND_NETWORK;
        spans[count++] = (struct span){it->start_s, it->end_s, bound};
    }
    qsort(spans, count, sizeof *spans, by_end);
    for (uint64_t i = count; i-- > 0;) {
        if (spans[i].end_s > at_s || spans[i].start_s >= spans[i].end_s)
            continue;
        spent_s[LL_BOUND_DEPENDENCY] += at_s - spans[i].end_s;
        spent_s[spans[i].bound] += spans[i].end_s - spans[i].start_s;
        at_s = spans[i].start_s;
    }
    spent_s[LL_BOUND_DEPENDENCY] += at_s;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        result->shares[i] = fusion->time_s > 0 ? spent_s[i] / fusion->time_s : i == LL_BOUND_COMPUTE;
    free(spans);
    return true;
}

/* When each op runs: from the begin of its first tile to the end of its last. Where its cores compute for
 * less than half of that time it waits for the outermost memory. */
static bool time_ops(const struct ll_fused_step *fusion, struct ll_result *result, struct ll_arena *arena)
{
    const struct ll_prepared *prepared = result->prepared;
    uint32_t count = prepared->end_op - prepared->first_op, words = (fusion->core_count + 63) / 64;
    struct ll_op_result *ops = ll_copy(arena, result->ops, count * sizeof *ops);
    double *busy_s = ll_alloc(arena, count + 1, sizeof *busy_s),
           *end_s = ll_alloc(arena, count + 1, sizeof *end_s);
    uint64_t *cores = ll_alloc(arena, (size_t)count * words + 1, sizeof *cores);
    if (!ops || !busy_s || !end_s || !cores)
        return false;
    for (uint32_t i = 0; i < count; i++)
        ops[i].start_s = ops[i].time_s = ops[i].active_s = ops[i].taken_s = ops[i].lead_s = ops[i].launch_s =
            0;
    for (uint64_t t = 0; t < fusion->task_count; t++) {
        const struct ll_fusion_task *task = &fusion->tasks[t];
        uint32_t i = task->op - prepared->first_op;
        ops[i].start_s = busy_s[i] > 0 || end_s[i] > 0 ? fmin(ops[i].start_s, task->start_s) : task->start_s;
        end_s[i] = fmax(end_s[i], task->end_s);
        busy_s[i] += task->end_s - task->start_s;
        cores[(size_t)i * words + task->core / 64] |= (uint64_t)1 << task->core % 64;
    }
    for (uint32_t i = 0; i < count; i++) {
        int used = 0;
        for (uint32_t w = 0; w < words; w++)
            used += __builtin_popcountll(cores[(size_t)i * words + w]);
        ops[i].time_s = ops[i].active_s = fmax(0, end_s[i] - ops[i].start_s);
        ops[i].bound = used == 0 || 2 * busy_s[i] >= ops[i].time_s * used
                           ? (uint32_t)LL_BOUND_COMPUTE
                           : (uint32_t)(LL_BOUND_LEVEL + result->machine->level_count - 1);
    }
    result->ops = ops;
    return true;
}

static int by_time(const void *left, const void *right)
{
    const struct ll_kind_result *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    return a->order < b->order ? -1 : 1;
}

/* A kind of op, with the times that its ops have here, and what most of these are bound by: of computing
 * its FLOPs a second, of the outermost memory its algorithmic bytes. */
static void time_kind(const struct ll_result *result, struct ll_kind_result *kind)
{
    const struct ll_prepared *prepared = result->prepared;
    const struct ll_machine *machine = result->machine;
    uint32_t level = (uint32_t)(LL_BOUND_LEVEL + machine->level_count - 1);
    double computing_s = 0, steps = (double)prepared->steps;
    enum ll_dtype dtype = prepared->dtype;
    kind->time_s = 0;
    for (uint32_t op = prepared->first_op; op < prepared->end_op; op++) {
        const struct ll_op_result *it = &result->ops[op - prepared->first_op];
        uint32_t signature = prepared->trace->ops[op].signature;
        if (prepared->trace->signatures[signature].view.kind != kind->op_kind)
            continue;
        kind->time_s += it->time_s / steps;
        computing_s += it->bound == LL_BOUND_COMPUTE ? it->time_s / steps : 0;
        dtype = (enum ll_dtype)prepared->works[signature].dtype;
    }
    kind->bound = 2 * computing_s >= kind->time_s ? (uint32_t)LL_BOUND_COMPUTE : level;
    kind->bound_s = kind->time_s;
    bool computes = kind->bound == LL_BOUND_COMPUTE;
    double peak = computes ? ll_machine_peak_flops(machine, dtype)
                           : ll_machine_level_Bps(machine, machine->level_count - 1);
    kind->rate = kind->time_s > 0 ? (computes ? kind->flops : kind->bytes) / kind->time_s : 0;
    kind->peak_share = peak > 0 ? fmin(1, kind->rate / peak) : 0;
}

static bool time_kinds(struct ll_result *result, struct ll_arena *arena)
{
    struct ll_kind_result *kinds = ll_copy(arena, result->kinds, result->kind_count * sizeof *kinds);
    double all_s = 0;
    if (!kinds && result->kind_count)
        return false;
    for (uint64_t k = 0; k < result->kind_count; k++) {
        time_kind(result, &kinds[k]);
        all_s += kinds[k].time_s;
    }
    for (uint64_t k = 0; k < result->kind_count; k++)
        kinds[k].share = all_s > 0 ? kinds[k].time_s / all_s : 0;
    if (result->kind_count)
        qsort(kinds, result->kind_count, sizeof *kinds, by_time);
    result->kinds = kinds;
    return true;
}

/* Time in which some core computes. */
static double busy_s(const struct ll_fused_step *fusion)
{
    uint64_t count = fusion->task_count;
    struct span *spans = malloc((count + 1) * sizeof *spans);
    double busy = 0, until_s = INFINITY;
    for (uint64_t t = 0; spans && t < count; t++)
        spans[t] = (struct span){fusion->tasks[t].start_s, fusion->tasks[t].end_s, 0};
    if (spans)
        qsort(spans, count, sizeof *spans, by_end);
    for (uint64_t i = count; spans && i-- > 0;) {
        double end_s = fmin(spans[i].end_s, until_s);
        if (end_s > spans[i].start_s) {
            busy += end_s - spans[i].start_s;
            until_s = spans[i].start_s;
        }
    }
    free(spans);
    return busy;
}

static void fill_energy(const struct ll_fused_step *fusion, struct ll_result *result, double steps)
{
    const struct ll_machine *machine = fusion->machine;
    uint64_t outermost = result->machine->level_count - 1;
    memset(&result->energy, 0, sizeof result->energy);
    result->energy_j = fusion->energy_j / steps;
    if (!machine->energy_given)
        return;
    result->energy.compute_j = fusion->compute_j / steps;
    result->energy.network_j = fusion->links_j / steps;
    result->energy.static_j = fusion->static_j / steps;
    result->energy.level_j[outermost] = fusion->memory_j / steps;
    result->energy.level_j[outermost > 0 ? outermost - 1 : 0] += fusion->tiles_j / steps;
}

/* Silicon of all cores. */
static double area_m2(const struct chip *chip)
{
    const struct ll_machine *machine = chip->machine;
    double sum_m2 = machine->area.fixed_m2;
    if (!machine->area_given)
        return NAN;
    for (uint32_t t = 0; t < chip->type_count; t++) {
        const struct ll_machine *one = &chip->types[t].machine;
        for (uint64_t u = 0; u < one->unit_count; u++)
            sum_m2 += ll_machine_unit_area_m2(one, u) * (double)machine->cores[t].count;
    }
    for (uint32_t p = 0; p < chip->pool_count; p++)
        sum_m2 += chip->pools[p].capacity_bytes * ll_machine_level_m2_per_byte(machine, chip->pools[p].level);
    return sum_m2;
}

bool fusion_result(struct ll_fused_step *fusion, struct search *search, struct ll_arena *arena,
                   struct ll_diags *diags)
{
    const struct ll_prepared *prepared = search->prepared;
    struct ll_machine *flat = flat_machine(&search->chip, arena);
    const struct ll_result *base = flat ? ll_replay(prepared, flat, arena, diags) : NULL;
    struct ll_result *result = base ? ll_copy(arena, base, sizeof *base) : NULL;
    double steps = (double)prepared->steps;
    struct moved moved = {{0}};
    if (!result || !time_ops(fusion, result, arena) || !time_kinds(result, arena))
        return false;
    result->time_s = fusion->time_s / steps;
    result->device_active_s = busy_s(fusion) / steps;
    result->starting_s = 0;
    result->gap_share = 0;
    memset(result->origin_shares, 0, sizeof result->origin_shares);
    result->origin_shares[LL_TIME_MODELLED] = 1;
    if (!find_shares(fusion, result))
        return false;
    add_tiles(fusion, search, flat, &moved);
    for (uint64_t l = 0; l < flat->level_count; l++) {
        result->level_bytes[l] = moved.bytes[l] / steps;
        double Bps = ll_machine_level_Bps(flat, l);
        result->level_share[l] =
            result->time_s > 0 ? fmin(1, result->level_bytes[l] / (Bps * result->time_s)) : 0;
    }
    result->flop_utilization = ll_flop_utilization(flat, prepared->dtype, prepared->flops, result->time_s);
    result->area_m2 = area_m2(&search->chip);
    fill_energy(fusion, result, steps);
    fusion->result = result;
    return true;
}
