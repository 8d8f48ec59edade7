/* SPDX-License-Identifier: Apache-2.0 */
/* From stages to seconds: the time of a pipeline of tiles, memory in several NUMA nodes, the clock that a
 * power limit allows, energy, and ll_cost_time, which puts them together. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "sim/cost/gemm_kernels.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

/* The time of a pipeline of tiles. Its recurrence only takes maxima and adds, so a tile is a matrix over
 * (max, +) that maps the times of the tiles before it to the times with it (Baccelli, Cohen, Olsder and
 * Quadrat, "Synchronization and Linearity", 1992, chapter 2). A loop of n equal rounds is a power of a
 * matrix, found by squaring with log n matrix products; edges are matrices of their own. */

/* What the next tile may have to wait for. */
enum { LOADED, WORKED, WORKED_BEFORE, STORED, STORED_BEFORE, TIMES };

struct step {
    double after[TIMES][TIMES]; /* after[i][j]: time i is at least the earlier time j plus this */
};

struct tile {
    double load_s, work_s, store_s;
    bool single;
};

static struct step nothing(void)
{
    struct step step;
    for (int i = 0; i < TIMES; i++)
        for (int j = 0; j < TIMES; j++)
            step.after[i][j] = i == j ? 0 : -INFINITY;
    return step;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* One step, then another. */
static struct step then(const struct step *one, const struct step *other)
{
    struct step both;
    for (int i = 0; i < TIMES; i++)
        for (int j = 0; j < TIMES; j++) {
            double most = -INFINITY;
            for (int k = 0; k < TIMES; k++)
                most = later(most, other->after[i][k] + one->after[k][j]);
            both.after[i][j] = most;
        }
    return both;
}

static struct step times(struct step step, uint64_t count)
{
    if (count == 1)
        return step;
    struct step all = nothing();
    for (; count; count /= 2) {
        if (count & 1)
            all = then(&all, &step);
        if (count > 1)
            step = then(&step, &step);
    }
    return all;
}

/* An event waits for another one. */
static void wait_for(double row[TIMES], const double other[TIMES])
{
    for (int j = 0; j < TIMES; j++)
        row[j] = later(row[j], other[j]);
}

static void take(double row[TIMES], double time_s)
{
    for (int j = 0; j < TIMES; j++)
        row[j] += time_s;
}

static struct step step_of(const struct tile *tile)
{
    struct step old = nothing(), step = old;
    wait_for(step.after[LOADED], old.after[tile->single ? WORKED : WORKED_BEFORE]);
    take(step.after[LOADED], tile->load_s);
    wait_for(step.after[WORKED], step.after[LOADED]);
    wait_for(step.after[WORKED], old.after[tile->single ? STORED : STORED_BEFORE]);
    take(step.after[WORKED], tile->work_s);
    wait_for(step.after[STORED], step.after[WORKED]);
    take(step.after[STORED], tile->store_s);
    memcpy(step.after[WORKED_BEFORE], old.after[WORKED], sizeof old.after[WORKED]);
    memcpy(step.after[STORED_BEFORE], old.after[STORED], sizeof old.after[STORED]);
    return step;
}

/* The innermost loop: where it gathers, only its last round stores. */
static struct step innermost(const struct ll_tile_nest *nest, struct tile tile)
{
    const int d = LL_TILE_LOOPS - 1;
    struct tile last = tile, silent = tile;
    bool edge = nest->edge[d] > 0;
    if (edge) {
        last.load_s *= nest->edge[d];
        last.work_s *= nest->edge[d];
    }
    if (nest->gathers)
        silent.store_s = 0;
    else if (edge)
        last.store_s *= nest->edge[d];
    struct step one = step_of(&silent), end = step_of(&last);
    struct step before = times(one, nest->whole[d] - (edge ? 0 : 1));
    return then(&before, &end);
}

static struct step loop(const struct ll_tile_nest *nest, int d, struct tile tile)
{
    if (d == LL_TILE_LOOPS - 1)
        return innermost(nest, tile);
    struct step round = loop(nest, d + 1, tile);
    struct step all = times(round, nest->whole[d]);
    if (nest->edge[d] <= 0)
        return all;
    tile.load_s *= nest->edge[d];
    tile.work_s *= nest->edge[d];
    tile.store_s *= nest->edge[d];
    struct step edge = loop(nest, d + 1, tile);
    return then(&all, &edge);
}

double ll_tile_volume(const struct ll_tile_nest *nest)
{
    double volume = 1;
    for (int d = 0; d < LL_TILE_LOOPS; d++)
        volume *= (double)nest->whole[d] + nest->edge[d];
    return volume;
}

double ll_pipeline_s(const struct ll_tile_nest *nest, double load_s, double work_s, double store_s)
{
    const int inner = LL_TILE_LOOPS - 1;
    double tiles = ll_tile_volume(nest);
    double results = nest->gathers ? tiles / ((double)nest->whole[inner] + nest->edge[inner]) : tiles;
    struct tile tile = {load_s / tiles, work_s / tiles, store_s / results, nest->single};
    struct step all = loop(nest, 0, tile);
    double end_s = 0;
    for (int j = 0; j < TIMES; j++)
        end_s = fmax(end_s, all.after[STORED][j]);
    return end_s;
}

uint64_t ll_numa_working(const struct ll_level *level, uint64_t units)
{
    return level->numa_given ? ll_max(1, ll_min(level->numa.nodes, units)) : 1;
}

double ll_numa_remote(const struct ll_level *level)
{
    double nodes = (double)level->numa.nodes;
    if (!level->numa_given)
        return 0;
    return (nodes - 1) / nodes;
}

double ll_numa_Bps(const struct ll_level *level, uint64_t units)
{
    if (ll_numa_remote(level) == 0)
        return INFINITY;
    return level->numa.link_Bps * (double)level->numa.nodes * (double)ll_numa_working(level, units);
}

double ll_numa_latency_s(const struct ll_level *level)
{
    return level->latency_s + ll_numa_remote(level) * level->numa.latency_s;
}

/* Bytes of an operand of a GEMM out of a level that holds it: the larger of both counts. */
struct moved {
    double once, asked; /* asked: by the unit, 0 where another memory catches the operand */
};

static struct moved moved_of(const struct ll_machine *machine, const struct ll_task *task,
                             const struct ll_kernel_config *way, uint64_t l, enum ll_operand i)
{
    const struct ll_work *work = task->work;
    const uint64_t once[] = {work->a_bytes, work->b_bytes, work->c_bytes};
    bool feeds = ll_destination_level(machine, l, i) == LL_CATCHER_UNIT;
    return (struct moved){(double)once[i], feeds ? (double)task->steps * way->asked_bytes[i] : 0};
}

double ll_memory_j(const struct ll_machine *machine, const struct ll_task *task,
                   const struct ll_kernel_config *way)
{
    double sum_j = 0;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double level_j = ll_machine_level_j(machine, l);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
            if (!ll_level_holds(&machine->levels[l], i))
                continue;
            const struct moved moved = moved_of(machine, task, way, l, i);
            sum_j += fmax(moved.once, moved.asked) * (level_j + ll_machine_inside_j(machine, l, i));
        }
    }
    return sum_j;
}

/* How a board's power slows arithmetic down. */
struct slowdown {
    double mac_j, asked_w;   /* of a multiply-accumulate; what all ask for at the full clock */
    double static_w, left_w; /* what flows anyway; what the limit leaves of it */
    double exponent, share;  /* of the clock that the board sustains; 1 where power suffices */
};

static struct slowdown slowdown_of(const struct ll_machine *machine, const struct ll_draw *draw,
                                   double full_s)
{
    const struct ll_energy *energy = &machine->energy;
    struct slowdown slow = {.share = 1};
    if (energy->limit_w == 0 || draw->macs == 0)
        return slow;
    slow.mac_j = ll_machine_mac_j(machine, draw->dtype);
    slow.static_w = ll_machine_static_w(machine);
    slow.left_w = energy->limit_w - slow.static_w;
    double asked_j = draw->macs * slow.mac_j + draw->memory_j;
    if (asked_j <= slow.left_w * full_s)
        return slow;
    slow.exponent = fmax(1, energy->power_per_clock);
    slow.asked_w = asked_j / full_s;
    double share = slow.left_w / slow.asked_w;
    slow.share = slow.exponent == 1 ? share : pow(share, 1 / slow.exponent);
    return slow;
}

double ll_power_s(const struct ll_machine *machine, const struct ll_draw *draw, double full_s)
{
    return full_s / slowdown_of(machine, draw, full_s).share;
}

/* In the type in which the unit computes, which may be wider than what is stored. */
double ll_cost_compute_j(const struct ll_machine *machine, const struct ll_work *work,
                         const struct ll_cost *cost)
{
    enum ll_dtype dtype = (enum ll_dtype)work->dtype;
    if (cost->unit == LL_NO_UNIT)
        return ll_machine_compute_j(machine, work, dtype);
    const struct ll_unit *unit = &machine->units[cost->unit];
    double multiplied = unit->model == LL_UNIT_IN_MEMORY ? 0 : cost->made * (1 + cost->zeros);
    return cost->array_j + multiplied * ll_machine_compute_j(machine, work, ll_computed_on(unit, dtype));
}

double ll_cost_moving_j(const struct ll_machine *machine, const struct ll_cost *cost,
                        const struct ll_warm_bytes *found)
{
    double sum_j = cost->apart_bytes * ll_machine_level_j(machine, machine->level_count - 1);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double left = fmax(0, cost->level_bytes[l] - (found ? found->saved_bytes[l] : 0));
        if (left == 0)
            continue;
        sum_j += left * ll_machine_level_j(machine, l);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            sum_j += left / cost->level_bytes[l] * cost->level_of[l][i] * ll_machine_inside_j(machine, l, i);
    }
    return sum_j;
}

struct ll_merit ll_cost_merit(const struct ll_machine *machine, const struct ll_work *work,
                              const struct ll_cost *cost, const struct ll_warm_bytes *found, double time_s)
{
    if (!machine->energy_given)
        return (struct ll_merit){time_s, 0};
    double energy_j = ll_cost_compute_j(machine, work, cost) + ll_cost_moving_j(machine, cost, found);
    double all_j = energy_j + ll_machine_static_w(machine) * time_s;
    switch (machine->software.objective) {
    case LL_OBJECTIVE_ENERGY:
        return (struct ll_merit){all_j, time_s};
    case LL_OBJECTIVE_EDP:
        return (struct ll_merit){all_j * time_s, time_s};
    default:
        return (struct ll_merit){time_s, energy_j};
    }
}

/* What passes a level, in bytes of both directions that take it as long. */
struct turn {
    uint64_t level;
    double bytes;
};

/* Those that more passes come first; of equals the innermost. */
static void insert(struct turn *turns, uint64_t count, struct turn turn)
{
    uint64_t at = count;
    for (; at > 0 && turns[at - 1].bytes < turn.bytes; at--)
        turns[at] = turns[at - 1];
    turns[at] = turn;
}

/* What a level adds to the stage that such a row is: all_s = before_s + max(0, whole_s - first_s - bytes *
 * pace). */
struct turned {
    uint64_t level;
    double before_s, whole_s, first_s, bytes, pace, all_s;
};

/* All rows of a machine, and of each level the one that takes the largest part of its stage: the level
 * itself, but for a row's innermost. */
struct turns {
    struct turned levels[LL_MAX_LEVELS];
    uint64_t count, most_of[LL_MAX_LEVELS];
};

/* Each level adds what its bytes take beyond the slowest pace of those that more passes. Returns which level
 * takes the largest part. */
static uint64_t add_up(const struct turn *row, uint64_t count, struct ll_stage *innermost,
                       struct ll_stage *stages, struct turns *turns)
{
    double all_s = 0, pace = 0, most_s = 0;
    uint64_t most = row[0].level;
    for (uint64_t i = 0; i < count; i++) {
        struct ll_stage *stage = &stages[row[i].level];
        double bytes = row[i].bytes, before_s = all_s, rest_s = ll_stage_rest_s(stage);
        all_s += fmax(0, rest_s - bytes * pace);
        turns->levels[turns->count++] =
            (struct turned){row[i].level, before_s, stage->whole_s, stage->first_s, bytes, pace, all_s};
        pace = bytes > 0 ? fmax(pace, rest_s / bytes) : pace;
        double part_s = (bytes - (i + 1 < count ? row[i + 1].bytes : 0)) * pace;
        most = part_s > most_s ? row[i].level : most;
        most_s = fmax(most_s, part_s);
        stage->whole_s = stage->first_s;
    }
    innermost->whole_s += all_s;
    return most;
}

/* Makes one stage of those of each row of such caches and of the level behind the last of them, in place:
 * it stands at the innermost, and of the others nothing is left but first pieces. A byte takes as long as
 * at the slowest of the levels that it passes, so that the stage takes no less than each of them, no more
 * than all in a row, and no longer for more bandwidth, or fewer bytes, of any. stages: one for each level. */
static void take_turns(const struct ll_machine *machine, const struct ll_cost *cost,
                       const struct ll_warm_bytes *found, struct ll_stage *stages, struct turns *turns)
{
    struct turn row[LL_MAX_LEVELS];
    uint64_t count = 0;
    turns->count = 0;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double bytes = cost->level_bytes[l], left = fmax(0, bytes - (found ? found->saved_bytes[l] : 0));
        double share = bytes > 0 ? left / bytes : 0;
        bool waits = ll_level_waits(machine, l);
        turns->most_of[l] = l;
        if (waits || count > 0)
            insert(row, count++, (struct turn){l, cost->level_price[l] * share});
        if (waits || count == 0)
            continue;
        uint64_t innermost = l + 1 - count;
        turns->most_of[innermost] = add_up(row, count, &stages[innermost], stages, turns);
        count = 0;
    }
}

/* Stages to seconds: the first piece passes alone, then the slowest stage sets the pace (see cost.h). What
 * earlier ops saved shortens a level's stage in proportion (cost_parts.h). */

enum { COMPUTE, FIRST_LEVEL, MAX_STAGES = FIRST_LEVEL + LL_MAX_LEVELS };

const char *ll_bound_name(const struct ll_machine *machine, uint32_t bound)
{
    static const char *const names[] = {"compute", "network", "host", "overhead", "dependency"};
    assert(bound < LL_BOUND_LEVEL + machine->level_count);
    return bound < LL_BOUND_LEVEL ? names[bound] : machine->levels[bound - LL_BOUND_LEVEL].name;
}

static uint32_t bound_of(uint64_t stage)
{
    return stage == COMPUTE ? LL_BOUND_COMPUTE : LL_BOUND_LEVEL + (uint32_t)(stage - FIRST_LEVEL);
}

/* Of a level: until other units have dropped their copies of what is overwritten. */
static double drop_s(const struct ll_level *level, double units, double shared_bytes)
{
    if (shared_bytes == 0)
        return 0;
    return shared_bytes / (double)level->cache.line_bytes * level->cache.invalidation_s / units;
}

double ll_dropping_s(const struct ll_machine *machine, uint64_t units, const struct ll_warm_bytes *found)
{
    double all_s = 0;
    for (uint64_t l = 0; found && l < machine->level_count; l++)
        all_s += drop_s(&machine->levels[l], (double)ll_max(units, 1), found->shared_bytes[l]);
    return all_s;
}

static struct ll_intake intake_of(const struct ll_machine *machine, const struct ll_cost *cost, uint64_t l,
                                  const struct ll_warm_bytes *found)
{
    return (struct ll_intake){.first_s = cost->level_first_s[l],
                              .pieces = cost->level_pieces[l],
                              .wait_s = cost->level_wait_s[l],
                              .line_bytes = ll_line_inside(machine, l),
                              .saved_bytes = found ? found->saved_bytes[l] : 0};
}

static struct ll_stage level_stage(const struct ll_machine *machine, const struct ll_cost *cost, uint64_t l,
                                   const struct ll_warm_bytes *found)
{
    const struct ll_intake intake = intake_of(machine, cost, l, found);
    return ll_stage_of(&intake, cost->level_bytes[l], cost->level_s[l]);
}

/* --- which stages overlap --- */

/* Behind this stage nothing overlaps: its level holds one block at a time. */
static bool parts_stages(const struct ll_machine *machine, uint64_t stage)
{
    return stage >= FIRST_LEVEL && machine->levels[stage - FIRST_LEVEL].buffering == LL_BUFFER_SINGLE;
}

/* Marks the stage of each group that takes longest once the first piece has passed, the first of equals;
 * returns the longest of these. */
static uint64_t find_slowest(const struct ll_machine *machine, const struct ll_stage *stages, uint64_t count,
                             bool sets_pace[MAX_STAGES])
{
    uint64_t slowest = COMPUTE, of_group = COMPUTE;
    for (uint64_t i = 0; i < count; i++) {
        sets_pace[i] = false;
        if (i > 0 && parts_stages(machine, i - 1))
            of_group = i;
        if (ll_stage_rest_s(&stages[i]) > ll_stage_rest_s(&stages[of_group]))
            of_group = i;
        if (ll_stage_rest_s(&stages[i]) > ll_stage_rest_s(&stages[slowest]))
            slowest = i;
        if (i + 1 == count || parts_stages(machine, i))
            sets_pace[of_group] = true;
    }
    return slowest;
}

/* The stages of an op, and how long it takes by them. */
struct paced {
    struct ll_stage stages[MAX_STAGES];
    uint64_t count, slowest;        /* of stages; the slowest of all */
    bool sets_pace[MAX_STAGES];     /* those that do follow one another, a group each */
    double hidden_s[LL_MAX_LEVELS]; /* of a level's stage, what comes while other things are computed */
    uint64_t feeding;               /* the level whose first pieces of other units computing waits for */
    struct turns turns;
    double first_s, waits_s;               /* all first pieces; all latencies */
    double dropping_s, moving_s, beyond_s; /* invalidations; the slowest level; what moving does not hide */
    double waiting_s;                      /* what does not overlap in full (`serial`) */
    double apart_s;                        /* all that overlaps with nothing */
    double inside_s; /* of kernels that overlap imperfectly: the longest but the outermost level */
    double held_s;   /* until the host is done with what no graph holds */
    double exposed_s, time_s;
};

/* What the stages beside those that set the pace take and do not hide behind them. Of a level's time, that
 * of first pieces of other units is in the time of computing already. */
static double serial_s(const struct ll_cost *cost, const struct paced *p)
{
    double all_s = 0;
    for (uint64_t i = 0; i < p->count; i++)
        all_s += p->sets_pace[i] ? 0 : ll_stage_rest_s(&p->stages[i]);
    return cost->serial * (all_s - p->stages[COMPUTE].others_s);
}

/* Computing is over when the last unit is done, which gets its first piece behind those of the others: of
 * levels that overlap with computing, the one by which that takes longest counts. Returns it. */
static uint64_t feed_all(const struct ll_machine *machine, struct ll_stage *stages)
{
    uint64_t last = 0;
    for (uint64_t l = 1; l < machine->level_count && ll_stage_group(machine, l) == 0; l++)
        if (stages[FIRST_LEVEL + l].others_s > stages[FIRST_LEVEL + last].others_s)
            last = l;
    stages[COMPUTE].others_s = stages[FIRST_LEVEL + last].others_s;
    stages[COMPUTE].whole_s += stages[COMPUTE].others_s;
    return last;
}

/* What invalidations take beyond computing: a unit goes on while its writes wait, which come in turn with all
 * else that is moved. So no more hides than computing takes longer than that. */
static void wait_for_others(const struct ll_machine *machine, const struct ll_cost *cost,
                            const struct ll_warm_bytes *found, struct paced *p)
{
    p->dropping_s = ll_dropping_s(machine, cost->units_used, found);
    p->moving_s = 0;
    for (uint64_t l = 0; l < machine->level_count && ll_stage_group(machine, l) == 0; l++)
        p->moving_s = fmax(p->moving_s, ll_stage_rest_s(&p->stages[FIRST_LEVEL + l]));
    double computing_s = ll_stage_rest_s(&p->stages[COMPUTE]);
    p->beyond_s = fmax(0, p->dropping_s - fmax(0, computing_s - p->moving_s));
}

/* Kernels of tensor cores (gemm_kernels.c): the longest of all but the outermost level, which overlaps
 * with it in part. There are no first pieces. */
static void overlap_partly(struct paced *p)
{
    const struct ll_stage *outermost = &p->stages[p->count - 1];
    p->inside_s = 0;
    for (uint64_t i = 0; i + 1 < p->count; i++)
        p->inside_s = fmax(p->inside_s, p->stages[i].whole_s);
    double both_s = ll_partial_overlap_s(p->inside_s, outermost->whole_s);
    p->exposed_s = p->waits_s + p->apart_s + both_s - p->stages[p->slowest].whole_s;
    p->time_s = p->waits_s + p->apart_s + both_s;
}

/* What no graph holds takes no less than the host, whatever is on chip. */
static void wait_for_host(const struct ll_cost *cost, struct paced *p)
{
    p->held_s = fmax(0, cost->stream_s - cost->overhead_s - p->time_s);
    p->exposed_s += p->held_s;
    p->time_s += p->held_s;
}

/* Whether a level further in holds one block at a time, and this operand has to wait for it. */
static bool is_parted(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    bool parted = false;
    for (uint64_t l = 0; l < level; l++)
        parted = parted ||
                 (machine->levels[l].buffering == LL_BUFFER_SINGLE &&
                  (!machine->levels[l].passing_overlaps || ll_level_holds(&machine->levels[l], operand)));
    return parted;
}

/* Operands of a GEMM that pass by all levels that hold one block at a time come while what these hold is
 * worked on: of such a level's stage as much is hidden as they take, and as the slowest stage further in
 * does. */
static void hide_passing(const struct ll_machine *machine, const struct ll_cost *cost, struct paced *p)
{
    for (uint64_t l = 0; l < machine->level_count; l++) {
        struct ll_stage *stage = &p->stages[FIRST_LEVEL + l];
        double passing = 0, further_in_s = 0;
        p->hidden_s[l] = 0;
        if (ll_stage_group(machine, l) == 0 || cost->level_bytes[l] == 0)
            continue;
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            passing += is_parted(machine, l, i) ? 0 : cost->level_of[l][i];
        for (uint64_t i = 0; i < FIRST_LEVEL + l; i++)
            further_in_s = fmax(further_in_s, ll_stage_rest_s(&p->stages[i]));
        p->hidden_s[l] = fmin(ll_stage_rest_s(stage) * (passing / cost->level_bytes[l]), further_in_s);
        stage->whole_s -= p->hidden_s[l];
    }
}

/* How the stages of work on a unit overlap. */
static void pace(const struct ll_machine *machine, const struct ll_cost *cost,
                 const struct ll_warm_bytes *found, struct paced *p)
{
    p->count = FIRST_LEVEL + machine->level_count;
    p->stages[COMPUTE] = (struct ll_stage){.whole_s = cost->compute_s, .first_s = cost->compute_first_s};
    p->first_s = cost->compute_first_s;
    p->waits_s = 0;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        struct ll_stage *stage = &p->stages[FIRST_LEVEL + l];
        *stage = level_stage(machine, cost, l, found);
        p->first_s += stage->first_s;
        p->waits_s += stage->wait_s;
    }
    p->feeding = feed_all(machine, p->stages);
    take_turns(machine, cost, found, p->stages + FIRST_LEVEL, &p->turns);
    hide_passing(machine, cost, p);
    p->slowest = find_slowest(machine, p->stages, p->count, p->sets_pace);
    wait_for_others(machine, cost, found, p);
    p->waiting_s = serial_s(cost, p);
    p->apart_s = cost->apart_s + cost->gap_s + p->beyond_s + p->waiting_s + cost->around_s;
    if (cost->partly_overlaps) {
        overlap_partly(p);
    } else {
        p->exposed_s = p->waits_s + (p->first_s - p->stages[p->slowest].first_s) + p->apart_s;
        for (uint64_t i = 0; i < p->count; i++)
            if (p->sets_pace[i] && i != p->slowest)
                p->exposed_s += ll_stage_rest_s(&p->stages[i]);
        p->time_s = p->exposed_s + p->stages[p->slowest].whole_s;
    }
    wait_for_host(cost, p);
}

/* Whether all stages overlap, and nothing else is to be said of the op. */
static bool is_plain(const struct ll_machine *machine, const struct ll_cost *cost,
                     const struct ll_warm_bytes *found)
{
    bool plain = cost->unit != LL_NO_UNIT && !cost->partly_overlaps && cost->stream_s == 0;
    for (uint64_t l = 0; plain && l < machine->level_count; l++)
        plain = machine->levels[l].buffering != LL_BUFFER_SINGLE &&
                !(machine->levels[l].cache_given && ll_level_waits(machine, l)) &&
                !(found && found->shared_bytes[l] > 0);
    return plain;
}

/* What pace() comes to where that is so: most ops by far. */
static void time_plainly(const struct ll_machine *machine, const struct ll_cost *cost,
                         const struct ll_warm_bytes *found, struct ll_timing *timing)
{
    double first_s = cost->compute_first_s, waits_s = 0, others_s = 0, rests_s = 0;
    double rest_s[LL_MAX_LEVELS], slowest_whole_s, slowest_first_s = cost->compute_first_s, slowest_rest_s;
    uint64_t feeding = 0, slowest = COMPUTE;
    struct ll_stage stages[LL_MAX_LEVELS];
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_intake intake = intake_of(machine, cost, l, found);
        stages[l] = ll_stage_of(&intake, cost->level_bytes[l], cost->level_s[l]);
        rest_s[l] = ll_stage_rest_s(&stages[l]);
        first_s += stages[l].first_s;
        waits_s += stages[l].wait_s;
        feeding = stages[l].others_s > others_s ? l : feeding;
        others_s = stages[l].others_s > others_s ? stages[l].others_s : others_s;
    }
    slowest_whole_s = cost->compute_s + others_s;
    slowest_rest_s = slowest_whole_s - slowest_first_s;
    const double computing_s = slowest_rest_s;
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (rest_s[l] > slowest_rest_s) {
            slowest = FIRST_LEVEL + l;
            slowest_rest_s = rest_s[l];
            slowest_whole_s = stages[l].whole_s;
            slowest_first_s = stages[l].first_s;
        }
    if (cost->serial > 0) {
        rests_s = slowest == COMPUTE ? 0 : computing_s;
        for (uint64_t l = 0; l < machine->level_count; l++)
            rests_s += slowest == FIRST_LEVEL + l ? 0 : rest_s[l];
        rests_s = cost->serial * (rests_s - others_s);
    }
    const double apart_s = cost->apart_s + cost->gap_s + rests_s + cost->around_s;
    const double exposed_s = waits_s + (first_s - slowest_first_s) + apart_s;
    const bool fed_late = slowest == COMPUTE && slowest_whole_s > 2 * cost->compute_s;
    *timing = (struct ll_timing){.time_s = exposed_s + slowest_whole_s,
                                 .exposed_s = exposed_s,
                                 .overhead_s = cost->overhead_s,
                                 .behind_s = cost->behind_s,
                                 .more_s = cost->more_s,
                                 .bound = waits_s > slowest_whole_s ? LL_BOUND_DEPENDENCY
                                          : fed_late                ? LL_BOUND_LEVEL + (uint32_t)feeding
                                                                    : bound_of(slowest)};
}

/* By the model alone. */
static void time_model(const struct ll_machine *machine, const struct ll_cost *cost,
                       const struct ll_warm_bytes *found, struct ll_timing *timing)
{
    if (cost->unit == LL_NO_UNIT) {
        uint32_t bound = cost->host_s > 0       ? LL_BOUND_HOST
                         : cost->overhead_s > 0 ? LL_BOUND_OVERHEAD
                                                : LL_BOUND_DEPENDENCY;
        *timing = (struct ll_timing){.time_s = cost->host_s, .overhead_s = cost->overhead_s, .bound = bound};
        return;
    }
    if (is_plain(machine, cost, found)) {
        time_plainly(machine, cost, found, timing);
        return;
    }
    struct paced p;
    pace(machine, cost, found, &p);
    double slowest_s = p.stages[p.slowest].whole_s;
    uint64_t most =
        p.slowest >= FIRST_LEVEL ? FIRST_LEVEL + p.turns.most_of[p.slowest - FIRST_LEVEL] : p.slowest;
    bool fed_late = p.slowest == COMPUTE && slowest_s > 2 * cost->compute_s;
    *timing = (struct ll_timing){.time_s = p.time_s,
                                 .exposed_s = p.exposed_s,
                                 .overhead_s = cost->overhead_s,
                                 .behind_s = cost->behind_s,
                                 .more_s = cost->more_s,
                                 .bound = p.waits_s > slowest_s ? LL_BOUND_DEPENDENCY
                                          : fed_late            ? LL_BOUND_LEVEL + (uint32_t)p.feeding
                                                                : bound_of(most)};
}

/* What no kernel beats, with as much in caches as was found. */
static double least_s(const struct ll_machine *machine, const struct ll_cost *cost,
                      const struct ll_warm_bytes *found)
{
    uint64_t last = machine->level_count - 1;
    double bytes = cost->table.least_bytes - (found ? found->saved_bytes[last] : 0);
    double Bps = machine->levels[last].bandwidth_Bps * (double)ll_machine_instances(machine, last);
    return fmax(cost->table.least_s, fmax(0, bytes) / Bps);
}

/* A measurement knows nothing of stages: the whole time is as much longer, but never below the least. */
static void take_table(const struct ll_machine *machine, const struct ll_cost *cost,
                       const struct ll_warm_bytes *found, struct ll_timing *timing)
{
    const struct ll_kernel_ratio *from = &cost->table.from;
    timing->time_s = fmax(from->ratio * timing->time_s, least_s(machine, cost, found));
    timing->exposed_s = fmin(from->ratio * timing->exposed_s, timing->time_s);
    timing->overhead_s *= from->ratio;
    timing->behind_s *= from->ratio;
    timing->more_s *= from->ratio;
    timing->origin = from->origin;
}

void ll_cost_time(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_warm_bytes *found, struct ll_timing *timing)
{
    time_model(machine, cost, found, timing);
    double model_s = timing->time_s;
    if (cost->overlay.shapes > 0) {
        struct ll_cost corrected = *cost;
        ll_overlay_apply(machine, &cost->overlay, &corrected);
        time_model(machine, &corrected, found, timing);
    }
    timing->model_s = model_s;
    if (cost->table.from.ratio > 0)
        take_table(machine, cost, found, timing);
}

/* --- explain --- */

void ll_power_explain(const struct ll_machine *machine, const struct ll_task *task,
                      const struct ll_kernel_config *way, double full_s, struct ll_explain *why)
{
    const struct ll_draw draw = {task->dtype, (double)task->steps * way->macs,
                                 ll_memory_j(machine, task, way)};
    const struct slowdown slow = slowdown_of(machine, &draw, full_s);
    double sum_j = 0;
    if (slow.share == 1)
        return;
    for (uint64_t l = 0; l < machine->level_count; l++)
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
            double level_j = ll_machine_level_j(machine, l), inside_j = ll_machine_inside_j(machine, l, i);
            if (!ll_level_holds(&machine->levels[l], i) || level_j + inside_j == 0)
                continue;
            const struct moved moved = moved_of(machine, task, way, l, i);
            double before_j = sum_j;
            sum_j += fmax(moved.once, moved.asked) * (level_j + inside_j);
            ll_say(why,
                   "energy of memories, and %s of %s: %.10g + max(%.10g, %.10g) * (%.10g + %.10g) = %.10g J",
                   ll_operand_name(i), machine->levels[l].name, before_j, moved.once, moved.asked, level_j,
                   inside_j, sum_j);
        }
    ll_say(why,
           "power that arithmetic and memories ask for at the full clock: (%.10g * %.10g + %.10g) / %.10g = "
           "%.10g W",
           draw.macs, slow.mac_j, draw.memory_j, full_s, slow.asked_w);
    ll_say(why, "power that is left, of that: (%.10g - %.10g) / %.10g = %.10g", machine->energy.limit_w,
           slow.static_w, slow.asked_w, slow.left_w / slow.asked_w);
    if (slow.exponent > 1)
        ll_say(why, "share of the clock that it sustains: %.10g^(1 / %.10g) = %.10g",
               slow.left_w / slow.asked_w, slow.exponent, slow.share);
    ll_say(why, "compute, at that share: %.10g / %.10g = %.10g s", full_s, slow.share, full_s / slow.share);
}

static void explain_level(const struct ll_level *level, const struct ll_intake *intake, double bytes,
                          double level_s, const struct ll_stage *stage, struct ll_explain *why)
{
    double left = bytes - intake->saved_bytes;
    if (left <= 0)
        ll_say(why, "%s: nothing is left to move", level->name);
    else if (left < 0.01 * bytes) /* of which their difference would not tell all digits */
        ll_say(why, "%s, but for what earlier ops left further in, %.10g B: %.10g * %.10g / %.10g = %.10g s",
               level->name, intake->saved_bytes, level_s, left, bytes, stage->whole_s);
    else if (intake->saved_bytes > 0)
        ll_say(why, "%s, but for what earlier ops left further in: %.10g * (%.10g - %.10g) / %.10g = %.10g s",
               level->name, level_s, bytes, intake->saved_bytes, bytes, stage->whole_s);
    else if (intake->saved_bytes < 0)
        ll_say(why, "%s, with what other ops of its pipeline move: %.10g * (%.10g + %.10g) / %.10g = %.10g s",
               level->name, level_s, bytes, -intake->saved_bytes, bytes, stage->whole_s);
    if (left > 0 && intake->wait_s > 0 && left < intake->line_bytes)
        ll_say(why,
               "%s, latency, of a line of which hardly anything is left: %.10g * %.10g / %.10g = %.10g s",
               level->name, intake->wait_s, left, intake->line_bytes, stage->wait_s);
}

/* " + term" behind a sum; what is zero is left out. */
static void add_term(char *sum, size_t size, double term_s)
{
    size_t length = strlen(sum);
    if (term_s > 0)
        ll_snprintf(sum + length, size - length, "%.10g + ", term_s);
}

/* " + whole - first" of a stage behind a sum. */
static void add_rest(char *sum, size_t size, const struct ll_stage *stage)
{
    size_t length = strlen(sum);
    if (ll_stage_rest_s(stage) > 0)
        ll_snprintf(sum + length, size - length, "%s%.10g - %.10g", length ? " + " : "", stage->whole_s,
                    stage->first_s);
}

/* What the stages beside those that set the pace take behind their first pieces, as far as it does not
 * overlap. */
static void explain_serial(const struct ll_cost *cost, const struct paced *p, struct ll_explain *why)
{
    char terms[(2 * MAX_STAGES + 2) * 24] = "";
    double fed_s = p->stages[COMPUTE].others_s;
    if (cost->serial == 0)
        return;
    for (uint64_t i = 0; i < p->count; i++)
        if (!p->sets_pace[i])
            add_rest(terms, sizeof terms, &p->stages[i]);
    if (fed_s > 0)
        ll_snprintf(terms + strlen(terms), sizeof terms - strlen(terms), " - %.10g", fed_s);
    ll_say(why,
           "what the others take behind their first pieces does not overlap in full: %.10g * (%s) = %.10g s",
           cost->serial, *terms ? terms : "0", p->waiting_s);
}

/* The first pieces of other units, which the last one's queues behind. */
static void explain_feeding(const struct ll_machine *machine, const struct ll_cost *cost,
                            const struct ll_warm_bytes *found, const struct paced *p, struct ll_explain *why)
{
    const struct ll_stage from = level_stage(machine, cost, p->feeding, found);
    if (from.others_s == 0)
        return;
    ll_say(why,
           "%s, the other units' first pieces, of %.10g: min((%.10g - 1) * %.10g, %.10g - %.10g) = %.10g s",
           machine->levels[p->feeding].name, cost->level_pieces[p->feeding], cost->level_pieces[p->feeding],
           from.first_s, from.whole_s, from.first_s, from.others_s);
    ll_say(why, "compute, until these are there, and the last unit is done: %.10g + %.10g = %.10g s",
           cost->compute_s, from.others_s, p->stages[COMPUTE].whole_s);
}

/* What of a level's stage is hidden behind what happens further in. */
static void explain_hidden(const struct ll_machine *machine, const struct paced *p, struct ll_explain *why)
{
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (p->hidden_s[l] > 0)
            ll_say(why, "%s, but for what comes while something else is worked on: %.10g - %.10g = %.10g s",
                   machine->levels[l].name, p->stages[FIRST_LEVEL + l].whole_s + p->hidden_s[l],
                   p->hidden_s[l], p->stages[FIRST_LEVEL + l].whole_s);
}

static void explain_dropping(const struct ll_machine *machine, const struct ll_cost *cost,
                             const struct ll_warm_bytes *found, const struct paced *p, struct ll_explain *why)
{
    double units = (double)ll_max(cost->units_used, 1);
    if (p->dropping_s == 0)
        return;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        if (found->shared_bytes[l] > 0)
            ll_say(why, "%s, lines that other units have as well: %.10g / %.10g * %.10g / %.10g = %.10g s",
                   level->name, found->shared_bytes[l], (double)level->cache.line_bytes,
                   level->cache.invalidation_s, units, drop_s(level, units, found->shared_bytes[l]));
    }
    ll_say(why,
           "behind what computing takes longer than moving: max(0, %.10g - max(0, %.10g - %.10g)) = %.10g s",
           p->dropping_s, ll_stage_rest_s(&p->stages[COMPUTE]), p->moving_s, p->beyond_s);
}

/* Steps and passes, a gap, invalidations, what does not overlap: together, where there are several. */
static void explain_apart(const struct ll_cost *cost, const struct paced *p, struct ll_explain *why)
{
    const double apart[] = {cost->apart_s, cost->gap_s, p->beyond_s, p->waiting_s, cost->around_s};
    enum { TERMS = sizeof apart / sizeof *apart };
    char sum[TERMS * 24] = "";
    unsigned terms = 0;
    for (unsigned i = 0; i < TERMS; i++) {
        size_t length = strlen(sum);
        if (apart[i] > 0)
            ll_snprintf(sum + length, sizeof sum - length, "%s%.10g", terms++ ? " + " : "", apart[i]);
    }
    if (terms > 1)
        ll_say(why, "all that is apart: %s = %.10g s", sum, p->apart_s);
}

/* The same of kernels that overlap with the outermost level in part. */
static void explain_partly(const struct ll_machine *machine, const struct paced *p, struct ll_explain *why)
{
    char sum[(MAX_STAGES + 1) * 24] = "";
    const struct ll_stage *outermost = &p->stages[p->count - 1];
    add_term(sum, sizeof sum, p->apart_s);
    for (uint64_t i = 0; i < p->count; i++)
        add_term(sum, sizeof sum, p->stages[i].wait_s);
    ll_say(why,
           "time, latencies and what overlaps with nothing, then the rest and %s, which overlap in part: "
           "%s(%.10g^3 + %.10g^3)^(1 / 3) = %.10g s",
           machine->levels[machine->level_count - 1].name, sum, p->inside_s, outermost->whole_s,
           p->time_s - p->held_s);
}

static void explain_time(const struct ll_machine *machine, const struct paced *p, struct ll_explain *why)
{
    char sum[(2 * MAX_STAGES + 1) * 24] = "";
    add_term(sum, sizeof sum, p->apart_s);
    for (uint64_t i = 0; i < p->count; i++)
        add_term(sum, sizeof sum, p->stages[i].wait_s);
    for (uint64_t i = 0; i < p->count; i++)
        if (i != p->slowest)
            add_term(sum, sizeof sum, p->sets_pace[i] ? p->stages[i].whole_s : p->stages[i].first_s);
    ll_say(why, "time, %s%s: %s%.10g = %.10g s",
           p->apart_s > 0 ? "passes and steps apart, latencies and first pieces, then the slowest, "
           : *sum         ? "latencies and first pieces, then the slowest, "
                          : "the slowest, ",
           ll_bound_name(machine, bound_of(p->slowest)), sum, p->stages[p->slowest].whole_s,
           p->time_s - p->held_s);
}

/* What an overlay, and then a table of measured kernels, makes of the modelled time. */
static void explain_corrections(const struct ll_machine *machine, const struct ll_cost *cost,
                                const struct ll_warm_bytes *found, struct ll_explain *why)
{
    static const char *const whence[] = {
        [LL_TIME_MODELLED] = "beyond the kernels of the measured table, scaled as far as they reach",
        [LL_TIME_INTERPOLATED] = "between kernels of the measured table",
        [LL_TIME_MEASURED] = "of a kernel in the measured table"};
    const struct ll_kernel_ratio *from = &cost->table.from;
    struct ll_cost untabled = *cost;
    struct ll_timing timing, last;
    untabled.table = (struct ll_tabled){0};
    ll_cost_time(machine, &untabled, found, &timing);
    ll_cost_time(machine, cost, found, &last);
    if (cost->overlay.shapes > 0)
        ll_say(why,
               "overlay of %" PRIu64
               " measured shapes, times near the unit %.10g and out of %s %.10g as long: "
               "%.10g * %.10g = %.10g s",
               cost->overlay.shapes, cost->overlay.near, machine->levels[machine->level_count - 1].name,
               cost->overlay.far, timing.model_s, timing.time_s / timing.model_s, timing.time_s);
    if (from->ratio == 0)
        return;
    ll_say(why, "%s, and no less than at all peaks: max(%.10g * %.10g, %.10g) = %.10g s",
           whence[from->origin], from->ratio, timing.time_s, least_s(machine, cost, found), last.time_s);
    if (timing.overhead_s + timing.more_s > 0)
        ll_say(why, "what starting it takes, likewise: %.10g * %.10g = %.10g s", from->ratio,
               timing.overhead_s + timing.more_s, last.overhead_s + last.more_s);
}

void ll_time_explain(const struct ll_machine *machine, const struct ll_cost *cost,
                     const struct ll_warm_bytes *found, struct ll_explain *why)
{
    struct paced p;
    if (cost->unit == LL_NO_UNIT)
        return;
    pace(machine, cost, found, &p);
    ll_explain_group(why, "overlap");
    for (uint64_t l = 0; l < machine->level_count; l++) {
        const struct ll_intake intake = intake_of(machine, cost, l, found);
        const struct ll_stage stage = level_stage(machine, cost, l, found);
        explain_level(&machine->levels[l], &intake, cost->level_bytes[l], cost->level_s[l], &stage, why);
    }
    explain_hidden(machine, &p, why);
    explain_feeding(machine, cost, found, &p, why);
    for (uint64_t i = 0; i < p.turns.count; i++) {
        const struct turned *t = &p.turns.levels[i];
        if (t->all_s >
            t->before_s) /* where the first piece is nearly all of it, their difference has few digits */
            ll_say(why, "%s, in turn: %.10g + (%.13g - %.13g) - %.10g * %.10g = %.10g s",
                   machine->levels[t->level].name, t->before_s, t->whole_s, t->first_s, t->bytes, t->pace,
                   t->all_s);
    }
    if (cost->gap_s > 0)
        ll_say(why, "the device leaves a gap before it: %.10g s", cost->gap_s);
    explain_dropping(machine, cost, found, &p, why);
    explain_serial(cost, &p, why);
    explain_apart(cost, &p, why);
    ll_explain_group(why, "total");
    if (cost->partly_overlaps)
        explain_partly(machine, &p, why);
    else
        explain_time(machine, &p, why);
    if (p.held_s > 0)
        ll_say(why, "until the host is done with it, which no graph holds: %.10g + %.10g = %.10g s",
               p.time_s - p.held_s, p.held_s, p.time_s);
    explain_corrections(machine, cost, found, why);
}
