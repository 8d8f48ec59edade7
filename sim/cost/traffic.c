/* SPDX-License-Identifier: Apache-2.0 */
/* The traffic out of each memory level: which level catches an operand, how large the blocks are that it
 * holds, and how often each operand crosses it.
 *
 * Private levels, which a single unit has, come first; then shared levels, for all units; then the levels
 * whose tiles a search chose (mapper.c). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/cost/cost_parts.h"

/* The block that a unit's passes over the operands tell of: so many rows and columns. */
struct unit_block {
    double rows, columns;
};

static struct unit_block block_of_unit(const struct ll_task *task, const struct ll_way *way)
{
    const struct ll_gemm *dims = &task->problem.dims;
    double passes[LL_OPERAND_COUNT];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        passes[i] = task->unit_pass[i] > 0 ? fmax(1, way->asked_bytes[i] / task->unit_pass[i]) : 1;
    return (struct unit_block){(double)dims->m / passes[LL_OPERAND_B],
                               (double)dims->n / passes[LL_OPERAND_A]};
}

/* Of so many units together, those that share an instance of a level. */
static double sharing_units(const struct ll_level *level, double units)
{
    return level->scope == LL_SCOPE_DEVICE    ? units
           : level->scope == LL_SCOPE_CLUSTER ? (double)level->share
                                              : 1;
}

/* How many results are summed up at once within a memory that they pass by; 0: not known. */
static double most_sums(const struct ll_machine *machine, const struct ll_task *task,
                        const struct ll_way *way, uint64_t memory)
{
    int inside = ll_catcher(machine, memory, LL_OPERAND_C);
    if (inside == LL_CATCHER_UNIT && !way)
        return 0;
    double units = sharing_units(&machine->levels[memory], way ? (double)way->units_used : 1);
    if (inside == LL_CATCHER_UNIT) {
        struct unit_block block = block_of_unit(task, way);
        return units * fmax(1, block.rows) * fmax(1, block.columns);
    }
    double bytes = task->problem.element[LL_OPERAND_C] * fmax(1, task->problem.sum_width);
    double copies = units / sharing_units(&machine->levels[inside], units);
    return fmax(1, copies * ll_level_room(&machine->levels[inside]) / bytes);
}

void ll_bind_blocks(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                    uint64_t memory, struct ll_toll *toll)
{
    bool by_unit[LL_OPERAND_COUNT]; /* goes past all memories there, whose blocks are the unit's */
    const struct ll_level *level = &machine->levels[memory];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        toll->roomless[i] = !ll_level_holds(level, i);
        by_unit[i] = toll->roomless[i] && way && ll_catcher(machine, memory, i) == LL_CATCHER_UNIT;
    }
    if (by_unit[LL_OPERAND_A])
        toll->columns = block_of_unit(task, way).columns;
    if (by_unit[LL_OPERAND_B])
        toll->rows = block_of_unit(task, way).rows;
    if (toll->roomless[LL_OPERAND_C])
        toll->most_sums = most_sums(machine, task, way, memory);
}

/* Says what bounds blocks beside the room that they have, and whether others have blocks of their own. */
static void tell_bounds(const struct ll_toll *toll, struct ll_explain *why)
{
    bool beside = false;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        beside |= toll->free[i] && !toll->roomless[i];
    if (beside)
        ll_say(why,
               "others come there out of another level, in blocks of their own: what goes out of this one is "
               "at least as much as follows");
    if (toll->most_sums > 0)
        ll_say(why, "results pass by, %.10g at once: blocks of them are no larger, or others have all of k",
               toll->most_sums);
    if (toll->columns > 0)
        ll_say(why, "a passes by, to %.10g columns at once", toll->columns);
    if (toll->rows > 0)
        ll_say(why, "b passes by, to %.10g rows at once", toll->rows);
}

static bool loses_some(const struct ll_level *memory)
{
    return memory->cache_given && memory->cache.ways > 0 && memory->cache.policy != LL_CACHE_RANDOM;
}

/* The share of its right operand that each step but the first brings into a memory; 1 where nothing stays.
 * Pure. */
static double weights_again(const struct ll_task *task, const struct ll_problem *problem,
                            const struct ll_level *memory)
{
    double m = (double)problem->dims.m, n = (double)problem->dims.n, k = (double)problem->dims.k,
           batch = (double)problem->dims.batch;
    if (!task->b_stays || problem->toll.roomless[LL_OPERAND_B])
        return 1;
    double weights = batch * k * n * problem->element[LL_OPERAND_B],
           line = k * problem->element[LL_OPERAND_A] + n * problem->element[LL_OPERAND_C];
    if (loses_some(memory))
        return 1 - ll_cache_left(&memory->cache, memory->size_bytes,
                                 (weights + batch * m * line) / (double)memory->size_bytes);
    return weights + line <= ll_level_room(memory) ? 0 : 1;
}

/* Says of b bytes of weights, of which such a share comes again, how many come in all. */
static void tell_weights_again(double again, double b, uint64_t steps, double weights, struct ll_explain *why)
{
    if (again > 0)
        ll_say(why,
               "of the weights %.10g come again each step: %.10g + (%" PRIu64
               " - 1) * %.10g * %.10g = %.10g B",
               again, b, steps, again, b, weights);
}

/* Traffic out of a level depends on what catches it further in:
 *
 *       unit | private levels (unit, cluster) ... | first shared level ... | outermost
 *            |<------- near: one unit's or cluster's share ------->|<-- far: the whole work, -->|
 *              blocked for what one of them has                      blocked for the shared level
 *
 * An operand on its way out of a level passes by those that do not hold it; the nearest level further in that
 * does is its catcher, or the unit itself. Operands with the same catcher go together:
 *
 * - to the unit goes what it asks for, by its own tiles;
 * - to a level goes what the best blocking for it needs, with half of that memory, since the next block is
 *   loaded while one is worked on, or with all of it where nothing is. Private levels serve each share on its
 *   own: what two of them need is moved twice. No private level passes more than the unit asks for, by tiles
 *   that it keeps: a unit without tiles says nothing of that.
 *
 * With `mapping: search` the blockings of levels of scope unit, and those of shared levels, come from one
 * tiling whose tiles nest (mapper.c). Levels of clusters, and those that operands pass by, keep their own.
 *
 * Each sum is the least over blockings, of which more memory only adds some: so more memory never gives more.
 * What is least is what it takes the level's ports to move, or within a budget of that, the bytes.
 *
 * Work that is not a product moves each operand once through all levels that hold it, rows picked by index in
 * whole accesses (unit_vector.c). */

/* Operands that go the same way: out of one level, into one catcher. */
struct group {
    uint64_t level;
    int catcher; /* as ll_catcher has it */
    bool has[LL_OPERAND_COUNT];
    bool whole;    /* has all three */
    double budget; /* of their price (struct ll_toll) */
};

struct flow {
    double bytes, written, price;
    double of[LL_OPERAND_COUNT]; /* each operand's bytes */
};

struct ll_toll ll_level_toll(const struct ll_level *level)
{
    return (struct ll_toll){.read = level->read_Bps > 0 ? level->bandwidth_Bps / level->read_Bps : 0,
                            .write = level->write_Bps > 0 ? level->bandwidth_Bps / level->write_Bps : 0};
}

double ll_level_room(const struct ll_level *level)
{
    return (double)level->size_bytes / (level->buffering == LL_BUFFER_DOUBLE ? 2 : 1);
}

static void operand_bytes(const struct ll_work *work, double bytes[LL_OPERAND_COUNT])
{
    bytes[LL_OPERAND_A] = (double)work->a_bytes;
    bytes[LL_OPERAND_B] = (double)work->b_bytes;
    bytes[LL_OPERAND_C] = (double)work->c_bytes;
}

double ll_held_bytes(const struct ll_level *level, const struct ll_work *work)
{
    double bytes[LL_OPERAND_COUNT], held = 0;
    operand_bytes(work, bytes);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        held += ll_level_holds(level, i) ? bytes[i] : 0;
    return held;
}

/* --- one catcher --- */

/* The operands of a level that a catcher catches; false when there are none. */
static bool group_of(const struct ll_machine *machine, uint64_t level, int catcher, struct group *group)
{
    int count = 0;
    *group = (struct group){.level = level, .catcher = catcher};
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        group->has[i] =
            ll_level_holds(&machine->levels[level], i) && ll_catcher(machine, level, i) == catcher;
        count += group->has[i];
    }
    group->whole = count == LL_OPERAND_COUNT;
    return count > 0;
}

static struct flow flow_of(const struct ll_machine *machine, const struct group *group, double bytes,
                           double written)
{
    struct ll_toll toll = ll_level_toll(&machine->levels[group->level]);
    return (struct flow){bytes, written, ll_toll_price(&toll, bytes, written), {0}};
}

/* The operands' part in it: so many times so many bytes of each. */
static struct flow with_operands(struct flow flow, double times, double a, double b, double c)
{
    flow.of[LL_OPERAND_A] = times * a;
    flow.of[LL_OPERAND_B] = times * b;
    flow.of[LL_OPERAND_C] = times * c;
    return flow;
}

/* Whose operands they are, for sentences: nothing when all are. */
static const char *names_of(const struct group *group)
{
    static const char *const names[] = {"",         ", a only",       ", b only",       ", a and b only",
                                        ", c only", ", a and c only", ", b and c only", ""};
    return names[group->has[LL_OPERAND_A] + 2 * group->has[LL_OPERAND_B] + 4 * group->has[LL_OPERAND_C]];
}

/* Whether an operand goes out of this very level to the unit; of another level blocks that it makes smaller
 * do not bring it more often. */
static bool feeds_unit(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    return ll_level_holds(&machine->levels[level], operand) &&
           ll_catcher(machine, level, operand) == LL_CATCHER_UNIT;
}

/* A problem as a group of operands sees it in front of a memory inside. */
static struct ll_problem seen_by(const struct ll_machine *machine, const struct ll_task *task,
                                 const struct ll_way *way, const struct group *group, int inside)
{
    struct ll_problem seen = task->problem;
    seen.toll = ll_level_toll(&machine->levels[group->level]);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        seen.toll.free[i] = !group->has[i];
    ll_bind_blocks(machine, task, way, (uint64_t)inside, &seen.toll);
    if (!feeds_unit(machine, group->level, LL_OPERAND_A))
        seen.toll.columns = 0;
    if (!feeds_unit(machine, group->level, LL_OPERAND_B))
        seen.toll.rows = 0;
    return seen;
}

/* Passes of results that are wider because partial sums are among them. */
static void tell_sums(const struct ll_problem *problem, double outwards, struct ll_explain *why)
{
    if (outwards > 1 && problem->sum_width > 1)
        ll_say(why, "there partial sums go out and come back, each of which counts %.10g results",
               problem->sum_width);
}

/* `shares` times the traffic of a problem into a memory; says so. */
static struct flow blocked(const struct ll_machine *machine, const struct group *group,
                           const struct ll_problem *p, const struct ll_task *task,
                           const struct ll_level *memory, double shares, struct ll_explain *why)
{
    const char *from = machine->levels[group->level].name;
    uint64_t steps = task->steps;
    double pass[LL_OPERAND_COUNT];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        pass[i] = group->has[i] ? ll_operand_bytes(p, i) : 0;
    double a = pass[LL_OPERAND_A], b = pass[LL_OPERAND_B], c = pass[LL_OPERAND_C];
    double again = weights_again(task, p, memory);
    if (again < 1) {
        double weights = b + (double)(steps - 1) * again * b;
        double once = shares * (weights + (double)steps * (a + c));
        tell_weights_again(again, b, steps, weights, why);
        ll_say(why,
               "out of %s%s, weights stay inside: %.10g * (%.10g + %" PRIu64 " * (%.10g + %.10g)) = %.10g B",
               from, names_of(group), shares, weights, steps, a, c, once);
        struct flow flow = flow_of(machine, group, once, shares * (double)steps * c);
        return with_operands(flow, shares, (double)steps * a, weights, (double)steps * c);
    }
    struct ll_problem within = *p;
    within.toll.budget = group->budget / (shares * (double)steps);
    struct ll_tiling t = ll_tile(&within, ll_level_room(memory));
    double once[LL_OPERAND_COUNT], times[LL_OPERAND_COUNT];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        once[i] = group->has[i] || t.more[i] > 0 ? ll_operand_bytes(p, i) : 0;
        times[i] = group->has[i] ? t.passes[i] : t.more[i];
    }
    tell_bounds(&p->toll, why);
    double bytes = shares * (double)steps * t.bytes;
    ll_say(why,
           "out of %s%s, %s stays in blocks of %" PRIu64 " x %" PRIu64 " x %" PRIu64 ": %.10g * %" PRIu64
           " * (%.10g * %.10g + %.10g * %.10g + %.10g * %.10g) = %.10g B",
           from, names_of(group), ll_stays_name(t.stays), t.block.m, t.block.n, t.block.k, shares, steps,
           times[LL_OPERAND_A], once[LL_OPERAND_A], times[LL_OPERAND_B], once[LL_OPERAND_B],
           times[LL_OPERAND_C], once[LL_OPERAND_C], bytes);
    tell_sums(p, c > 0 ? t.written / c : 1, why);
    struct flow flow = flow_of(machine, group, bytes, shares * (double)steps * t.written);
    return with_operands(flow, shares * (double)steps, times[LL_OPERAND_A] * once[LL_OPERAND_A],
                         times[LL_OPERAND_B] * once[LL_OPERAND_B], times[LL_OPERAND_C] * once[LL_OPERAND_C]);
}

/* Of equals that which moves less: where ports are shared with other operands, it leaves them more. */
static struct flow cheaper(const struct group *group, struct flow one, struct flow other)
{
    const struct ll_toll toll = {.budget = group->budget};
    return ll_is_cheaper(&toll, other.price, other.bytes, one.price, one.bytes) ? other : one;
}

/* Whether the tiling says what a group moves: not where weights of a sequence stay inside altogether. */
static bool is_nested(const struct ll_machine *machine, const struct ll_task *task,
                      const struct ll_nested *nested, const struct group *group)
{
    if (group->level < nested->first || group->level >= nested->end)
        return false;
    return weights_again(task, &nested->problem, &machine->levels[group->level - 1]) >= 1;
}

static struct flow nested_flow(const struct ll_machine *machine, const struct ll_nested *nested,
                               const struct group *group, struct ll_explain *why)
{
    const struct ll_problem *p = &nested->problem;
    uint64_t i = group->level - nested->first;
    const struct ll_mapping_loops *nest = &nested->mapping.nests[i];
    const double *passes = nested->mapping.passes[i], reads = nested->mapping.reads[i];
    double a = ll_operand_bytes(p, LL_OPERAND_A), b = ll_operand_bytes(p, LL_OPERAND_B),
           c = ll_operand_bytes(p, LL_OPERAND_C), writes = nested->mapping.writes[i];
    double out = c > 0 ? writes / c : 1;
    double back = fmax(0, (reads - passes[LL_OPERAND_A] * a - passes[LL_OPERAND_B] * b) / c);
    struct flow flow = flow_of(machine, group, nested->times * (reads + writes), nested->times * writes);
    ll_say(why,
           "out of %s, tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64
           " in the order %s, %s, %s: %.10g * (%.10g * %.10g + %.10g * %.10g + (%.10g + %.10g) * %.10g) = "
           "%.10g B",
           machine->levels[group->level].name, nest->tile[LL_DIM_M], nest->tile[LL_DIM_N],
           nest->tile[LL_DIM_K], ll_dim_name(nest->order[0]), ll_dim_name(nest->order[1]),
           ll_dim_name(nest->order[2]), nested->times, passes[LL_OPERAND_A], a, passes[LL_OPERAND_B], b, out,
           back, c, flow.bytes);
    tell_sums(p, out, why);
    return with_operands(flow, nested->times, passes[LL_OPERAND_A] * a, passes[LL_OPERAND_B] * b,
                         (out + back) * c);
}

/* --- near --- */

/* The bytes asked for as passes over the operands. */
static void tell_asked(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                       const struct group *group, double bytes, struct ll_explain *why)
{
    double once[LL_OPERAND_COUNT], passes[LL_OPERAND_COUNT];
    operand_bytes(task->work, once);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        passes[i] = group->has[i] && once[i] > 0 ? (double)task->steps * way->asked_bytes[i] / once[i] : 0;
        once[i] = passes[i] > 0 ? once[i] : 0;
    }
    ll_say(
        why,
        "out of %s%s, as the unit passes over them: %.10g * %.10g + %.10g * %.10g + %.10g * %.10g = %.10g B",
        machine->levels[group->level].name, names_of(group), passes[LL_OPERAND_A], once[LL_OPERAND_A],
        passes[LL_OPERAND_B], once[LL_OPERAND_B], passes[LL_OPERAND_C], once[LL_OPERAND_C], bytes);
}

/* One pass over the results of all shares, which may cover a little more than there is. */
static double results_once(const struct ll_task *task, const struct ll_way *way)
{
    const struct ll_gemm *share = &way->share, *whole = &task->problem.dims;
    double part = (double)share->batch / (double)whole->batch * ((double)share->m / (double)whole->m) *
                  ((double)share->n / (double)whole->n);
    return way->shares * part * task->unit_pass[LL_OPERAND_C];
}

/* What the unit asks for of these operands. Partial sums come back once less than they go out. */
static struct flow asked_by_unit(const struct ll_machine *machine, const struct ll_task *task,
                                 const struct ll_way *way, const struct group *group, struct ll_explain *why)
{
    double steps = (double)task->steps, bytes = 0, sums = way->asked_bytes[LL_OPERAND_C];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        bytes += group->has[i] ? way->asked_bytes[i] : 0;
    double written = (sums + fmin(sums, results_once(task, way))) / 2;
    bytes = steps * (group->whole ? way->unit_bytes : bytes);
    if (why)
        tell_asked(machine, task, way, group, bytes, why);
    struct flow flow = flow_of(machine, group, bytes, group->has[LL_OPERAND_C] ? steps * written : 0);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        flow.of[i] = group->has[i] ? steps * way->asked_bytes[i] : 0;
    return flow;
}

/* The shares of that many units joined, `rows` of them along m, the rest along n, then over the batch. */
static struct ll_gemm joined(const struct ll_gemm *share, const struct ll_gemm *whole, uint64_t units,
                             uint64_t rows)
{
    struct ll_gemm all = *share;
    all.m = ll_min(whole->m, ll_mul(share->m, rows));
    rows = ll_ceil_div(all.m, share->m);
    all.n = ll_min(whole->n, ll_mul(share->n, ll_max(units / rows, 1)));
    uint64_t columns = ll_ceil_div(all.n, share->n);
    all.batch = ll_min(whole->batch, ll_mul(share->batch, ll_max(units / (rows * columns), 1)));
    return all;
}

/* Whether a level inside, of this scope, holds all of the group. */
static bool is_inside(const struct ll_machine *machine, const struct group *group, enum ll_scope scope,
                      int level)
{
    const struct ll_level *inside = &machine->levels[level];
    bool all = level <= group->catcher && inside->scope == scope;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        all = all && (!group->has[i] || ll_level_holds(inside, i));
    return all;
}

/* Whether one has no more room than the other for as many units, where nothing passes by either: what does
 * bounds the blocks, by what lies further in. */
static bool is_no_better(const struct ll_level *one, const struct ll_level *other)
{
    return one->share == other->share && ll_level_room(one) <= ll_level_room(other) &&
           ll_level_holds_all(one) && ll_level_holds_all(other);
}

/* The next level from `level` on for which a blocking of the group may be the best; -1 behind the last. Of
 * equals the outermost. */
static int next_memory(const struct ll_machine *machine, const struct group *group, enum ll_scope scope,
                       int level)
{
    for (; level <= group->catcher; level++) {
        const struct ll_level *one = &machine->levels[level];
        bool useful = is_inside(machine, group, scope, level);
        for (int l = 0; l <= group->catcher && useful; l++)
            if (l != level && is_inside(machine, group, scope, l) && is_no_better(one, &machine->levels[l]))
                useful = l < level && is_no_better(&machine->levels[l], one);
        if (useful)
            return level;
    }
    return -1;
}

/* Shares of several units side by side, joined along m, n and the batch in powers of two of rows. */
static struct flow into_cluster(const struct ll_machine *machine, const struct ll_task *task,
                                const struct ll_way *way, const struct group *group, int inside,
                                struct ll_explain *why)
{
    const struct ll_level *memory = &machine->levels[inside];
    struct flow best = {.price = INFINITY, .bytes = INFINITY};
    struct ll_gemm before = {0};
    for (uint64_t rows = 1; rows <= memory->share; rows *= 2) {
        struct ll_problem p = seen_by(machine, task, way, group, inside);
        p.dims = joined(&way->share, &task->problem.dims, memory->share, rows);
        if (memcmp(&p.dims, &before, sizeof before) == 0)
            continue; /* there are not that many rows to join */
        before = p.dims;
        double shares = way->shares * ll_gemm_macs(&way->share) / ll_gemm_macs(&p.dims);
        best = cheaper(group, best, blocked(machine, group, &p, task, memory, shares, why));
    }
    return best;
}

static struct flow into_private(const struct ll_machine *machine, const struct ll_task *task,
                                const struct ll_way *way, const struct ll_nested *nested,
                                const struct group *group, struct ll_explain *why)
{
    const struct ll_gemm *share = &way->share;
    bool bounded = group->catcher == LL_CATCHER_UNIT || !way->any_tile;
    struct flow best = bounded ? asked_by_unit(machine, task, way, group, why)
                               : (struct flow){.price = INFINITY, .bytes = INFINITY};
    bool is_searched = is_nested(machine, task, nested, group);
    if (is_searched)
        best = cheaper(group, best, nested_flow(machine, nested, group, why));
    for (int l = is_searched ? -1 : next_memory(machine, group, LL_SCOPE_UNIT, 0); l >= 0;
         l = next_memory(machine, group, LL_SCOPE_UNIT, l + 1)) {
        const struct ll_level *memory = &machine->levels[l];
        struct ll_problem p = seen_by(machine, task, way, group, l);
        p.dims = *share;
        best = cheaper(group, best, blocked(machine, group, &p, task, memory, way->shares, why));
    }
    for (int l = next_memory(machine, group, LL_SCOPE_CLUSTER, 0); l >= 0;
         l = next_memory(machine, group, LL_SCOPE_CLUSTER, l + 1))
        best = cheaper(group, best, into_cluster(machine, task, way, group, l, why));
    return best;
}

/* What is moved whatever the blocking: each operand once, and the sums of different units that are joined. */
static void always_moved(const struct ll_machine *machine, const struct ll_task *task,
                         const struct ll_way *way, const struct group *group, double once[LL_OPERAND_COUNT],
                         struct flow *once_each, struct flow *sums)
{
    double least = 0;
    operand_bytes(task->work, once);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        least += group->has[i] ? once[i] : 0;
    double joining = group->has[LL_OPERAND_C] ? (double)task->steps * way->joining_bytes : 0;
    *once_each = flow_of(machine, group, least, group->has[LL_OPERAND_C] ? once[LL_OPERAND_C] : 0);
    *sums = flow_of(machine, group, joining, joining / 2);
}

/* At least each operand once, and the joining of sums of different units. */
static struct flow near_flow(const struct ll_machine *machine, const struct ll_task *task,
                             const struct ll_way *way, const struct ll_nested *nested,
                             const struct group *group, struct ll_explain *why)
{
    struct flow flow = into_private(machine, task, way, nested, group, why);
    double once[LL_OPERAND_COUNT];
    struct flow least, sums;
    always_moved(machine, task, way, group, once, &least, &sums);
    struct flow all = {fmax(least.bytes, flow.bytes) + sums.bytes,
                       fmax(least.written, flow.written) + sums.written,
                       fmax(least.price, flow.price) + sums.price,
                       {0}};
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        all.of[i] = group->has[i] && flow.bytes < least.bytes ? once[i] : flow.of[i];
    all.of[LL_OPERAND_C] += sums.bytes;
    ll_say(why,
           "out of %s%s, what the unit asks for, at least each operand once, and joined sums: "
           "max(%.10g, %.10g) + %.10g = %.10g B",
           machine->levels[group->level].name, names_of(group), least.bytes, flow.bytes, sums.bytes,
           all.bytes);
    return all;
}

/* --- all levels --- */

static void once(const struct ll_machine *machine, const struct ll_task *task, uint64_t first, uint64_t end,
                 struct ll_traffic *traffic, struct ll_explain *why)
{
    for (uint64_t l = first; l < end; l++) {
        const struct ll_level *level = &machine->levels[l];
        double bytes[LL_OPERAND_COUNT];
        operand_bytes(task->work, bytes);
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            bytes[i] = ll_level_holds(level, i) ? bytes[i] : 0;
        struct ll_toll toll = ll_level_toll(level);
        double again = ll_scatter_again(machine, task->work, l, why);
        bytes[LL_OPERAND_A] -= again;
        double least = ll_held_bytes(level, task->work) - again;
        ll_say(why, "out of %s, each operand once: %.10g + %.10g + %.10g = %.10g B", level->name,
               bytes[LL_OPERAND_A], bytes[LL_OPERAND_B], bytes[LL_OPERAND_C], least);
        double wasted_writes, waste = ll_scatter_waste(machine, task->work, l, &wasted_writes, why);
        if (waste > 0)
            ll_say(why, "out of %s, that too: %.10g + %.10g = %.10g B", level->name, least, waste,
                   least + waste);
        traffic->bytes[l] = least + waste;
        traffic->written[l] = bytes[LL_OPERAND_C] + wasted_writes;
        traffic->price[l] = ll_toll_price(&toll, traffic->bytes[l], traffic->written[l]);
        memset(traffic->of[l], 0, sizeof traffic->of[l]);
    }
}

static struct flow into_shared(const struct ll_machine *machine, const struct ll_task *task,
                               const struct ll_way *way, const struct ll_nested *nested,
                               const struct group *group, struct ll_explain *why)
{
    if (is_nested(machine, task, nested, group))
        return nested_flow(machine, nested, group, why);
    struct flow best = {.price = INFINITY, .bytes = INFINITY};
    for (int l = next_memory(machine, group, LL_SCOPE_DEVICE, 0); l >= 0;
         l = next_memory(machine, group, LL_SCOPE_DEVICE, l + 1)) {
        struct ll_problem p = seen_by(machine, task, way, group, l);
        best = cheaper(group, best, blocked(machine, group, &p, task, &machine->levels[l], 1, why));
    }
    return best;
}

static struct flow flow_into(const struct ll_machine *machine, const struct ll_task *task,
                             const struct ll_way *way, const struct ll_nested *nested,
                             const struct group *group, struct ll_explain *why)
{
    return ll_catcher_is_shared(machine, group->catcher) ? into_shared(machine, task, way, nested, group, why)
                                                         : near_flow(machine, task, way, nested, group, why);
}

/* Of a level's budget, what is left when all groups of operands go for the least price. */
static double budget_left(const struct ll_machine *machine, const struct ll_task *task,
                          const struct ll_way *way, const struct ll_nested *nested, uint64_t level,
                          double budget, double least[LL_MAX_LEVELS + 1])
{
    struct group group;
    for (int catcher = LL_CATCHER_UNIT; budget > 0 && catcher < (int)level; catcher++)
        if (group_of(machine, level, catcher, &group)) {
            least[catcher + 1] = flow_into(machine, task, way, nested, &group, NULL).price;
            budget = fmax(0, budget - least[catcher + 1]);
        }
    return budget;
}

/* Reads and writes that go different ways share a level's ports. Where a way has both, they are taken to
 * follow one another: which of its blockings is best was decided without the others; but for a budget, of
 * which each takes what it needs in turn. */
static void out_of(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                   const struct ll_nested *nested, const struct ll_paces *paces, uint64_t level,
                   struct ll_traffic *traffic, struct ll_explain *why)
{
    struct group group;
    int parts = 0;
    bool mixed = false;
    struct ll_toll toll = ll_level_toll(&machine->levels[level]);
    double least[LL_MAX_LEVELS + 1];
    double left = budget_left(machine, task, way, nested, level, paces->budget[level], least);
    traffic->bytes[level] = traffic->written[level] = traffic->price[level] = 0;
    memset(traffic->of[level], 0, sizeof traffic->of[level]);
    for (int catcher = LL_CATCHER_UNIT; catcher < (int)level; catcher++) {
        if (!group_of(machine, level, catcher, &group))
            continue;
        group.budget = left > 0 ? least[catcher + 1] + left : 0;
        struct flow flow = flow_into(machine, task, way, nested, &group, why);
        left = left > 0 ? fmax(0, group.budget - flow.price) : 0;
        traffic->bytes[level] += flow.bytes;
        traffic->written[level] += flow.written;
        traffic->price[level] += flow.price;
        for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
            traffic->of[level][i] += flow.of[i];
        mixed |= group.has[LL_OPERAND_C] && (group.has[LL_OPERAND_A] || group.has[LL_OPERAND_B]);
        parts++;
    }
    if (parts > 1 && !mixed)
        traffic->price[level] = ll_toll_price(&toll, traffic->bytes[level], traffic->written[level]);
    if (parts > 1)
        ll_say(why, "out of %s together: %.10g B, of which %.10g B are written", machine->levels[level].name,
               traffic->bytes[level], traffic->written[level]);
}

/* --- searches --- */

/* What limits a tiling: where weights stay inside all is known, and into private levels goes no more than
 * what a unit with tiles asks for. `way`: of them; NULL: levels are shared. */
static struct ll_limits limits_of(const struct ll_machine *machine, const struct ll_task *task,
                                  const struct ll_way *way, const struct ll_nested *nested, uint64_t level)
{
    static const struct ll_paces no_budgets;
    struct group group;
    struct flow once_each, sums;
    double once[LL_OPERAND_COUNT];
    group_of(machine, level, (int)level - 1, &group);
    if (!is_nested(machine, task, nested, &group)) {
        struct ll_traffic traffic;
        out_of(machine, task, way, nested, &no_budgets, level, &traffic, NULL);
        struct ll_crossing known = {traffic.bytes[level], traffic.price[level]};
        return (struct ll_limits){.least = known, .most = known};
    }
    if (!way)
        return (struct ll_limits){0};
    struct flow asked = {0};
    if (!way->any_tile)
        asked = asked_by_unit(machine, task, way, &group, NULL);
    always_moved(machine, task, way, &group, once, &once_each, &sums);
    return (struct ll_limits){.least = {once_each.bytes, once_each.price},
                              .most = {asked.bytes, asked.price},
                              .beside = {sums.bytes, sums.price}};
}

static void search(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                   const struct ll_paces *paces, const struct ll_traffic *traffic, struct ll_nested *nested)
{
    struct ll_limits limits[LL_MAX_LEVELS];
    for (uint64_t l = nested->first; l < nested->end; l++)
        limits[l] = limits_of(machine, task, way, nested, l);
    ll_nest(machine, task, paces, traffic, limits, nested);
}

/* One unit's share into its own levels. */
static struct ll_nested nest_share(const struct ll_machine *machine, const struct ll_task *task,
                                   const struct ll_way *way, const struct ll_paces *paces,
                                   struct ll_traffic *traffic)
{
    struct ll_nested nested = ll_to_nest(machine, LL_SCOPE_UNIT);
    if (paces->apart)
        nested.end = nested.first;
    if (nested.first == nested.end)
        return nested;
    nested.problem = task->problem;
    nested.problem.dims = way->share;
    nested.times = way->shares * (double)task->steps;
    for (uint64_t l = 0; l < ll_near_levels(machine); l++)
        if (l < nested.first || l >= nested.end)
            out_of(machine, task, way, &nested, paces, l, traffic, NULL);
    search(machine, task, way, paces, traffic, &nested);
    return nested;
}

/* The whole into the levels that all units share. */
static struct ll_nested nest_whole(const struct ll_machine *machine, const struct ll_task *task,
                                   const struct ll_paces *paces, const struct ll_traffic *traffic)
{
    struct ll_nested nested = ll_to_nest(machine, LL_SCOPE_DEVICE);
    if (paces->apart)
        nested.end = nested.first;
    if (nested.first == nested.end)
        return nested;
    nested.problem = task->problem;
    nested.times = (double)task->steps;
    search(machine, task, NULL, paces, traffic, &nested);
    return nested;
}

/* Of the outermost level, where they are searched. */
static void keep_tiles(const struct ll_machine *machine, const struct ll_nested *nested,
                       struct ll_traffic *traffic)
{
    if (nested->first == nested->end || nested->end < machine->level_count)
        return;
    traffic->nested = true;
    traffic->tiles = nested->mapping.nests[nested->end - nested->first - 1];
}

static void tell_search(const struct ll_nested *nested, struct ll_explain *why)
{
    if (nested->first < nested->end && !nested->mapping.complete)
        ll_say(why, "tiles were searched for until %" PRIu64 " had been looked at: the best of these",
               nested->mapping.evaluations);
}

void ll_near_traffic(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                     const struct ll_paces *paces, struct ll_traffic *traffic, struct ll_explain *why)
{
    uint64_t near = ll_near_levels(machine);
    if (!task->is_product) {
        once(machine, task, 0, near, traffic, why);
        return;
    }
    struct ll_nested nested = nest_share(machine, task, way, paces, traffic);
    tell_search(&nested, why);
    keep_tiles(machine, &nested, traffic);
    for (uint64_t l = 0; l < near; l++)
        out_of(machine, task, way, &nested, paces, l, traffic, why);
}

void ll_far_traffic(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_paces *paces, struct ll_traffic *traffic, struct ll_explain *why)
{
    uint64_t near = ll_near_levels(machine);
    if (!task->is_product) {
        once(machine, task, near, machine->level_count, traffic, why);
        return;
    }
    struct ll_nested nested = nest_whole(machine, task, paces, traffic);
    tell_search(&nested, why);
    keep_tiles(machine, &nested, traffic);
    for (uint64_t l = near; l < machine->level_count; l++)
        out_of(machine, task, NULL, &nested, paces, l, traffic, why);
}
