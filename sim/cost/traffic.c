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

static struct unit_block block_of_unit(const struct ll_task *task, const struct ll_kernel_config *way)
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
                        const struct ll_kernel_config *way, uint64_t memory)
{
    int inside = ll_destination_level(machine, memory, LL_OPERAND_C);
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

void ll_bind_blocks(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_kernel_config *way, uint64_t memory, struct ll_port_cost *toll)
{
    bool by_unit[LL_OPERAND_COUNT]; /* goes past all memories there, whose blocks are the unit's */
    const struct ll_level *level = &machine->levels[memory];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        toll->roomless[i] = !ll_level_holds(level, i);
        by_unit[i] = toll->roomless[i] && way && ll_destination_level(machine, memory, i) == LL_CATCHER_UNIT;
    }
    if (by_unit[LL_OPERAND_A])
        toll->columns = block_of_unit(task, way).columns;
    if (by_unit[LL_OPERAND_B])
        toll->rows = block_of_unit(task, way).rows;
    if (toll->roomless[LL_OPERAND_C])
        toll->most_sums = most_sums(machine, task, way, memory);
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
 * Work that is not a GEMM moves each operand once through all levels that hold it, rows picked by index in
 * whole accesses (unit_vector.c). */

/* Operands that go the same way: out of one level, into one catcher. */
struct group {
    uint64_t level;
    int catcher; /* as ll_destination_level has it */
    bool has[LL_OPERAND_COUNT];
    bool whole;    /* has all three */
    double budget; /* of their price (struct ll_port_cost) */
};

struct flow {
    double bytes, written, price;
    double of[LL_OPERAND_COUNT]; /* each operand's bytes */
};

struct ll_port_cost ll_level_port_cost(const struct ll_level *level)
{
    return (struct ll_port_cost){.read = level->read_Bps > 0 ? level->bandwidth_Bps / level->read_Bps : 0,
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

/* What is asked of a group of operands. */
struct route {
    const struct ll_machine *machine;
    const struct ll_task *task;
    const struct ll_kernel_config *way; /* NULL: all that lies within is shared by all units */
    const struct ll_nested *nested;
    const struct group *group;
};

/* --- one catcher --- */

/* The operands of a level that a catcher catches; false when there are none. */
static bool group_of(const struct ll_machine *machine, uint64_t level, int catcher, struct group *group)
{
    int count = 0;
    *group = (struct group){.level = level, .catcher = catcher};
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        group->has[i] =
            ll_level_holds(&machine->levels[level], i) && ll_destination_level(machine, level, i) == catcher;
        count += group->has[i];
    }
    group->whole = count == LL_OPERAND_COUNT;
    return count > 0;
}

static struct flow flow_of(const struct ll_machine *machine, const struct group *group, double bytes,
                           double written)
{
    struct ll_port_cost toll = ll_level_port_cost(&machine->levels[group->level]);
    return (struct flow){bytes, written, ll_port_cost_price(&toll, bytes, written), {0}};
}

/* The operands' part in it: so many times so many bytes of each. */
static struct flow with_operands(struct flow flow, double times, double a, double b, double c)
{
    flow.of[LL_OPERAND_A] = times * a;
    flow.of[LL_OPERAND_B] = times * b;
    flow.of[LL_OPERAND_C] = times * c;
    return flow;
}

/* Whether an operand goes out of this very level to the unit; of another level blocks that it makes smaller
 * do not bring it more often. */
static bool feeds_unit(const struct ll_machine *machine, uint64_t level, enum ll_operand operand)
{
    return ll_level_holds(&machine->levels[level], operand) &&
           ll_destination_level(machine, level, operand) == LL_CATCHER_UNIT;
}

/* One of the ways in which a group may pass, and what it moves. */
struct passage {
    enum {
        ASKED,
        NESTED,
        STAYS,
        BLOCKED
    } kind;                        /* by the unit; by a search; weights stay inside; blocked for */
    const struct ll_level *memory; /* of the last two: that holds what stays, or the block */
    struct ll_problem problem;     /* of the last two: as the group sees it */
    double shares;                 /* of the last two: how often that is done, side by side */
    double again, weights;         /* STAYS: the share of the weights that comes again; their bytes in all */
    struct ll_tiling tiling;       /* BLOCKED */
    double once[LL_OPERAND_COUNT], times[LL_OPERAND_COUNT]; /* bytes of one pass, and how many, by operand */
    struct flow flow;
};

/* A problem as a group of operands sees it in front of a memory inside. */
static void see(const struct route *r, int inside, struct ll_problem *seen)
{
    *seen = r->task->problem;
    seen->toll = ll_level_port_cost(&r->machine->levels[r->group->level]);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        seen->toll.free[i] = !r->group->has[i];
    ll_bind_blocks(r->machine, r->task, r->way, (uint64_t)inside, &seen->toll);
    if (!feeds_unit(r->machine, r->group->level, LL_OPERAND_A))
        seen->toll.columns = 0;
    if (!feeds_unit(r->machine, r->group->level, LL_OPERAND_B))
        seen->toll.rows = 0;
}

/* p->shares times the traffic of p->problem into p->memory. */
static void block(const struct route *r, struct passage *p)
{
    const struct group *group = r->group;
    double steps = (double)r->task->steps;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        p->once[i] = group->has[i] ? ll_operand_bytes(&p->problem, i) : 0;
    p->again = weights_again(r->task, &p->problem, p->memory);
    if (p->again < 1) {
        double a = p->once[LL_OPERAND_A], b = p->once[LL_OPERAND_B], c = p->once[LL_OPERAND_C];
        p->kind = STAYS;
        p->weights = b + (steps - 1) * p->again * b;
        p->flow =
            flow_of(r->machine, group, p->shares * (p->weights + steps * (a + c)), p->shares * steps * c);
        p->flow = with_operands(p->flow, p->shares, steps * a, p->weights, steps * c);
        return;
    }
    p->kind = BLOCKED;
    p->problem.toll.budget = group->budget / (p->shares * steps);
    p->tiling = ll_tile(&p->problem, ll_level_room(p->memory));
    const struct ll_tiling *t = &p->tiling;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        if (!group->has[i] && t->more[i] > 0)
            p->once[i] = ll_operand_bytes(&p->problem, i);
        p->times[i] = group->has[i] ? t->passes[i] : t->more[i];
    }
    p->flow = flow_of(r->machine, group, p->shares * steps * t->bytes, p->shares * steps * t->written);
    p->flow = with_operands(p->flow, p->shares * steps, p->times[LL_OPERAND_A] * p->once[LL_OPERAND_A],
                            p->times[LL_OPERAND_B] * p->once[LL_OPERAND_B],
                            p->times[LL_OPERAND_C] * p->once[LL_OPERAND_C]);
}

/* Of equals that which moves less: where ports are shared with other operands, it leaves them more. */
static bool is_cheaper(const struct group *group, const struct flow *one, const struct flow *than)
{
    const struct ll_port_cost toll = {.budget = group->budget};
    return ll_is_cheaper(&toll, one->price, one->bytes, than->price, than->bytes);
}

/* Whether the tiling says what a group moves: not where weights of a sequence stay inside altogether. */
static bool is_nested(const struct route *r)
{
    const struct group *group = r->group;
    if (group->level < r->nested->first || group->level >= r->nested->end)
        return false;
    return weights_again(r->task, &r->nested->problem, &r->machine->levels[group->level - 1]) >= 1;
}

/* Results go out and come back. */
struct results {
    double out, back;
};

static struct results results_of(const struct ll_nested *nested, uint64_t i)
{
    const struct ll_problem *p = &nested->problem;
    const double *passes = nested->mapping.passes[i];
    double a = ll_operand_bytes(p, LL_OPERAND_A), b = ll_operand_bytes(p, LL_OPERAND_B),
           c = ll_operand_bytes(p, LL_OPERAND_C);
    double read = nested->mapping.reads[i] - passes[LL_OPERAND_A] * a - passes[LL_OPERAND_B] * b;
    return (struct results){.out = c > 0 ? nested->mapping.writes[i] / c : 1, .back = fmax(0, read / c)};
}

static struct flow nested_flow(const struct route *r)
{
    const struct ll_nested *nested = r->nested;
    const struct ll_problem *p = &nested->problem;
    uint64_t i = r->group->level - nested->first;
    const double *passes = nested->mapping.passes[i];
    double reads = nested->mapping.reads[i], writes = nested->mapping.writes[i];
    struct results c = results_of(nested, i);
    struct flow flow =
        flow_of(r->machine, r->group, nested->times * (reads + writes), nested->times * writes);
    return with_operands(flow, nested->times, passes[LL_OPERAND_A] * ll_operand_bytes(p, LL_OPERAND_A),
                         passes[LL_OPERAND_B] * ll_operand_bytes(p, LL_OPERAND_B),
                         (c.out + c.back) * ll_operand_bytes(p, LL_OPERAND_C));
}

/* --- near --- */

/* One pass over the results of all shares, which may cover a little more than there is. */
static double results_once(const struct ll_task *task, const struct ll_kernel_config *way)
{
    const struct ll_gemm *share = &way->share, *whole = &task->problem.dims;
    double part = (double)share->batch / (double)whole->batch * ((double)share->m / (double)whole->m) *
                  ((double)share->n / (double)whole->n);
    return way->shares * part * task->unit_pass[LL_OPERAND_C];
}

/* What the unit asks for of these operands. Partial sums come back once less than they go out. */
static struct flow asked_by_unit(const struct route *r)
{
    const struct group *group = r->group;
    const struct ll_kernel_config *way = r->way;
    double steps = (double)r->task->steps, bytes = 0, sums = way->asked_bytes[LL_OPERAND_C];
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        bytes += group->has[i] ? way->asked_bytes[i] : 0;
    double written = (sums + fmin(sums, results_once(r->task, way))) / 2;
    bytes = steps * (group->whole ? way->unit_bytes : bytes);
    struct flow flow = flow_of(r->machine, group, bytes, group->has[LL_OPERAND_C] ? steps * written : 0);
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

/* Where a walk over all passages of a group stands. */
struct walk {
    enum { AT_UNIT, AT_SEARCH, AT_OWN_MEMORIES, AT_CLUSTERS, AT_END } at;
    int level;             /* the next memory to look at */
    uint64_t rows;         /* of shares that were joined last in a cluster's memory; 0: none yet */
    struct ll_gemm before; /* that share */
};

/* Shares of several units side by side, joined along m, n and the batch in powers of two of rows. False
 * behind the last. */
static bool next_in_clusters(const struct route *r, struct walk *walk, struct passage *p)
{
    const struct ll_kernel_config *way = r->way;
    for (; (walk->level = next_memory(r->machine, r->group, LL_SCOPE_CLUSTER, walk->level)) >= 0;
         walk->level++) {
        const struct ll_level *memory = &r->machine->levels[walk->level];
        for (uint64_t rows = walk->rows ? walk->rows * 2 : 1; rows <= memory->share; rows *= 2) {
            struct ll_gemm share = joined(&way->share, &r->task->problem.dims, memory->share, rows);
            if (memcmp(&share, &walk->before, sizeof share) == 0)
                continue; /* there are not that many rows to join */
            walk->rows = rows;
            walk->before = share;
            see(r, walk->level, &p->problem);
            p->problem.dims = share;
            p->memory = memory;
            p->shares = way->shares * ll_gemm_macs(&way->share) / ll_gemm_macs(&share);
            block(r, p);
            return true;
        }
        walk->rows = 0;
        walk->before = (struct ll_gemm){0};
    }
    return false;
}

/* The next way in which a group may pass: as the unit asks for it, if tiles or their catcher bound that; as a
 * search has found; through each memory of a unit's own, of a cluster, or that all share. False behind the
 * last. A walk starts as {0}. */
static bool next_passage(const struct route *r, bool shared, struct walk *walk, struct passage *p)
{
    switch (walk->at) {
    case AT_UNIT:
        walk->at = AT_SEARCH;
        if (!shared && (r->group->catcher == LL_CATCHER_UNIT || !r->way->any_tile)) {
            p->kind = ASKED;
            p->flow = asked_by_unit(r);
            return true;
        }
        /* fall through */
    case AT_SEARCH:
        walk->at = AT_OWN_MEMORIES;
        if (is_nested(r)) {
            walk->at = shared ? AT_END : AT_CLUSTERS;
            p->kind = NESTED;
            p->flow = nested_flow(r);
            return true;
        }
        /* fall through */
    case AT_OWN_MEMORIES: {
        int level = next_memory(r->machine, r->group, shared ? LL_SCOPE_DEVICE : LL_SCOPE_UNIT, walk->level);
        if (level >= 0) {
            walk->level = level + 1;
            see(r, level, &p->problem);
            if (!shared)
                p->problem.dims = r->way->share;
            p->memory = &r->machine->levels[level];
            p->shares = shared ? 1 : r->way->shares;
            block(r, p);
            return true;
        }
        walk->at = shared ? AT_END : AT_CLUSTERS;
        walk->level = 0;
    }
        /* fall through */
    case AT_CLUSTERS:
        return walk->at == AT_CLUSTERS && next_in_clusters(r, walk, p);
    default:
        return false;
    }
}

/* The least of all passages; *index: which of them, of how many. */
static struct flow least_flow(const struct route *r, bool shared, int *index, int *count)
{
    struct flow best = {.price = INFINITY, .bytes = INFINITY};
    struct passage p;
    struct walk walk = {0};
    for (*count = 0; next_passage(r, shared, &walk, &p); ++*count)
        if (is_cheaper(r->group, &p.flow, &best)) {
            best = p.flow;
            *index = *count;
        }
    return best;
}

/* What is moved whatever the blocking: each operand once, and the sums of different units that are joined. */
struct floor {
    double once[LL_OPERAND_COUNT]; /* bytes of each operand */
    struct flow once_each, sums;
};

static struct floor always_moved(const struct route *r)
{
    const struct group *group = r->group;
    struct floor f;
    double least = 0;
    operand_bytes(r->task->work, f.once);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        least += group->has[i] ? f.once[i] : 0;
    double joining = group->has[LL_OPERAND_C] ? (double)r->task->steps * r->way->joining_bytes : 0;
    f.once_each = flow_of(r->machine, group, least, group->has[LL_OPERAND_C] ? f.once[LL_OPERAND_C] : 0);
    f.sums = flow_of(r->machine, group, joining, joining / 2);
    return f;
}

/* At least each operand once, and the joining of sums of different units. */
static struct flow near_flow(const struct route *r, const struct flow *flow)
{
    const struct floor f = always_moved(r);
    const struct flow *least = &f.once_each, *sums = &f.sums;
    struct flow all = {fmax(least->bytes, flow->bytes) + sums->bytes,
                       fmax(least->written, flow->written) + sums->written,
                       fmax(least->price, flow->price) + sums->price,
                       {0}};
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        all.of[i] = r->group->has[i] && flow->bytes < least->bytes ? f.once[i] : flow->of[i];
    all.of[LL_OPERAND_C] += sums->bytes;
    return all;
}

static struct flow flow_into(const struct route *r)
{
    bool shared = ll_destination_is_shared(r->machine, r->group->catcher);
    int index, count;
    struct flow least = least_flow(r, shared, &index, &count);
    return shared ? least : near_flow(r, &least);
}

/* --- all levels --- */

/* What of work that is no GEMM passes out of a level. */
struct once {
    double of[LL_OPERAND_COUNT];
    double least, waste,
        wasted_writes; /* all of them; what whole accesses move beyond that; of that, written */
};

static struct once once_out_of(const struct ll_machine *machine, const struct ll_work *work, uint64_t l)
{
    const struct ll_level *level = &machine->levels[l];
    struct once once;
    double again = ll_gather_reused_bytes(machine, work, l);
    operand_bytes(work, once.of);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        once.of[i] = ll_level_holds(level, i) ? once.of[i] : 0;
    once.of[LL_OPERAND_A] -= again;
    once.least = ll_held_bytes(level, work) - again;
    once.waste = ll_gather_over_fetch(machine, work, l, &once.wasted_writes);
    return once;
}

static void each_once(const struct ll_machine *machine, const struct ll_task *task, uint64_t first,
                      uint64_t end, struct ll_traffic *traffic)
{
    for (uint64_t l = first; l < end; l++) {
        struct ll_port_cost toll = ll_level_port_cost(&machine->levels[l]);
        const struct once once = once_out_of(machine, task->work, l);
        traffic->bytes[l] = once.least + once.waste;
        traffic->written[l] = once.of[LL_OPERAND_C] + once.wasted_writes;
        traffic->price[l] = ll_port_cost_price(&toll, traffic->bytes[l], traffic->written[l]);
        memset(traffic->of[l], 0, sizeof traffic->of[l]);
    }
}

/* A group of operands of a level, and what it moves. */
struct part {
    struct group group;
    struct flow flow;
};

/* All groups of operands of a level. Of a budget what is left when all of them go for the least price is for
 * each what it needs in turn. */
static int parts_of(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_kernel_config *way, const struct ll_nested *nested, double budget,
                    uint64_t level, struct part parts[LL_MAX_LEVELS + 1])
{
    int count = 0;
    double left = budget;
    for (int catcher = LL_CATCHER_UNIT; catcher < (int)level; catcher++) {
        struct part *part = &parts[count];
        if (!group_of(machine, level, catcher, &part->group))
            continue;
        const struct route r = {machine, task, way, nested, &part->group};
        part->flow = flow_into(&r);
        left = fmax(0, left - part->flow.price);
        count++;
    }
    for (int i = 0; i < count && left > 0; i++) {
        const struct route r = {machine, task, way, nested, &parts[i].group};
        parts[i].group.budget = parts[i].flow.price + left;
        parts[i].flow = flow_into(&r);
        left = fmax(0, parts[i].group.budget - parts[i].flow.price);
    }
    return count;
}

/* What narrow blocks of several groups make a unit load again of an operand that passes by: the unit loads it
 * as often as the narrowest has it, not for each group anew. Of the bytes so counted, those beyond that. */
static void merge_repeats(const struct part *parts, int count, double beyond[LL_OPERAND_COUNT])
{
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        double all = 0, most = 0;
        for (int i = 0; i < count; i++) {
            double again = parts[i].group.has[o] ? 0 : parts[i].flow.of[o];
            all += again;
            most = fmax(most, again);
        }
        beyond[o] = all - most;
    }
}

/* Reads and writes that go different ways share a level's ports. Where a way has both, they are taken to
 * follow one another: which of its blockings is best was decided without the others; but for a budget. */
static void out_of(const struct ll_machine *machine, const struct ll_task *task,
                   const struct ll_kernel_config *way, const struct ll_nested *nested,
                   const struct ll_paces *paces, uint64_t level, struct ll_traffic *traffic)
{
    struct part parts[LL_MAX_LEVELS + 1];
    int count = parts_of(machine, task, way, nested, paces->budget[level], level, parts);
    bool mixed = false;
    traffic->bytes[level] = traffic->written[level] = traffic->price[level] = 0;
    memset(traffic->of[level], 0, sizeof traffic->of[level]);
    for (int i = 0; i < count; i++) {
        const struct flow *flow = &parts[i].flow;
        const bool *has = parts[i].group.has;
        traffic->bytes[level] += flow->bytes;
        traffic->written[level] += flow->written;
        traffic->price[level] += flow->price;
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            traffic->of[level][o] += flow->of[o];
        mixed |= has[LL_OPERAND_C] && (has[LL_OPERAND_A] || has[LL_OPERAND_B]);
    }
    const struct ll_port_cost toll = ll_level_port_cost(&machine->levels[level]);
    double beyond[LL_OPERAND_COUNT];
    merge_repeats(parts, count, beyond);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        traffic->bytes[level] -= beyond[o];
        traffic->of[level][o] -= beyond[o];
        traffic->price[level] -= beyond[o] * fmax(1, toll.read);
    }
    double least = ll_port_cost_price(&toll, traffic->bytes[level], traffic->written[level]);
    traffic->price[level] = count > 1 && !mixed ? least : fmax(least, traffic->price[level]);
}

/* --- searches --- */

/* What limits a tiling: where weights stay inside all is known, and into private levels goes no more than
 * what a unit with tiles asks for. `way`: of them; NULL: levels are shared. */
static struct ll_limits limits_of(const struct ll_machine *machine, const struct ll_task *task,
                                  const struct ll_kernel_config *way, const struct ll_nested *nested,
                                  uint64_t level)
{
    static const struct ll_paces no_budgets;
    struct group group;
    group_of(machine, level, (int)level - 1, &group);
    const struct route r = {machine, task, way, nested, &group};
    if (!is_nested(&r)) {
        struct ll_traffic traffic;
        out_of(machine, task, way, nested, &no_budgets, level, &traffic);
        struct ll_crossing known = {traffic.bytes[level], traffic.price[level]};
        return (struct ll_limits){.least = known, .most = known};
    }
    if (!way)
        return (struct ll_limits){0};
    struct flow asked = {0};
    if (!way->any_tile)
        asked = asked_by_unit(&r);
    const struct floor f = always_moved(&r);
    return (struct ll_limits){.least = {f.once_each.bytes, f.once_each.price},
                              .most = {asked.bytes, asked.price},
                              .beside = {f.sums.bytes, f.sums.price}};
}

static void search(const struct ll_machine *machine, const struct ll_task *task,
                   const struct ll_kernel_config *way, const struct ll_paces *paces,
                   const struct ll_traffic *traffic, struct ll_nested *nested)
{
    struct ll_limits limits[LL_MAX_LEVELS];
    for (uint64_t l = nested->first; l < nested->end; l++)
        limits[l] = limits_of(machine, task, way, nested, l);
    ll_nest(machine, task, paces, traffic, limits, nested);
}

/* The levels of a scope that are searched; none where each level is blocked for alone. Of *nested the rest is
 * left as it is. */
static bool has_search(const struct ll_machine *machine, enum ll_scope scope, const struct ll_paces *paces,
                       struct ll_nested *nested)
{
    const struct ll_levels levels = ll_to_nest(machine, scope);
    nested->first = levels.first;
    nested->end = paces->apart ? levels.first : levels.end;
    return nested->first < nested->end;
}

/* One unit's share into its own levels. */
static void nest_share(const struct ll_machine *machine, const struct ll_task *task,
                       const struct ll_kernel_config *way, const struct ll_paces *paces,
                       struct ll_traffic *traffic, struct ll_nested *nested)
{
    if (!has_search(machine, LL_SCOPE_UNIT, paces, nested))
        return;
    nested->problem = task->problem;
    nested->problem.dims = way->share;
    nested->times = way->shares * (double)task->steps;
    for (uint64_t l = 0, near = ll_private_levels(machine); l < near; l++)
        if (l < nested->first || l >= nested->end)
            out_of(machine, task, way, nested, paces, l, traffic);
    search(machine, task, way, paces, traffic, nested);
}

/* The whole into the levels that all units share. */
static void nest_whole(const struct ll_machine *machine, const struct ll_task *task,
                       const struct ll_paces *paces, const struct ll_traffic *traffic,
                       struct ll_nested *nested)
{
    if (!has_search(machine, LL_SCOPE_DEVICE, paces, nested))
        return;
    nested->problem = task->problem;
    nested->times = (double)task->steps;
    search(machine, task, NULL, paces, traffic, nested);
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

void ll_private_traffic(const struct ll_machine *machine, const struct ll_task *task,
                        const struct ll_kernel_config *way, const struct ll_paces *paces,
                        struct ll_traffic *traffic, struct ll_nested *nested)
{
    uint64_t near = ll_private_levels(machine);
    if (!task->is_gemm) {
        each_once(machine, task, 0, near, traffic);
        return;
    }
    nest_share(machine, task, way, paces, traffic, nested);
    keep_tiles(machine, nested, traffic);
    for (uint64_t l = 0; l < near; l++)
        out_of(machine, task, way, nested, paces, l, traffic);
}

void ll_far_traffic(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_paces *paces, struct ll_traffic *traffic, struct ll_nested *nested)
{
    uint64_t near = ll_private_levels(machine);
    if (!task->is_gemm) {
        each_once(machine, task, near, machine->level_count, traffic);
        return;
    }
    nest_whole(machine, task, paces, traffic, nested);
    keep_tiles(machine, nested, traffic);
    for (uint64_t l = near; l < machine->level_count; l++)
        out_of(machine, task, NULL, nested, paces, l, traffic);
}

/* --- explain --- */

/* Whose operands they are, for sentences: nothing when all are. */
static const char *names_of(const struct group *group)
{
    static const char *const names[] = {"",         ", a only",       ", b only",       ", a and b only",
                                        ", c only", ", a and c only", ", b and c only", ""};
    return names[group->has[LL_OPERAND_A] + 2 * group->has[LL_OPERAND_B] + 4 * group->has[LL_OPERAND_C]];
}

/* What bounds blocks beside the room that they have, and whether others have blocks of their own. */
static void explain_bounds(const struct ll_port_cost *toll, struct ll_explain *why)
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

/* Passes of results that are wider because partial sums are among them. */
static void explain_sums(const struct ll_problem *problem, double outwards, struct ll_explain *why)
{
    if (outwards > 1 && problem->sum_width > 1)
        ll_say(why, "there partial sums go out and come back, each of which counts %.10g results",
               problem->sum_width);
}

/* The bytes asked for as passes over the operands. */
static void explain_asked(const struct route *r, const struct flow *flow, struct ll_explain *why)
{
    double once[LL_OPERAND_COUNT], passes[LL_OPERAND_COUNT];
    operand_bytes(r->task->work, once);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        double asked = (double)r->task->steps * r->way->asked_bytes[i];
        passes[i] = r->group->has[i] && once[i] > 0 ? asked / once[i] : 0;
        once[i] = passes[i] > 0 ? once[i] : 0;
    }
    ll_say(
        why,
        "out of %s%s, as the unit passes over them: %.10g * %.10g + %.10g * %.10g + %.10g * %.10g = %.10g B",
        r->machine->levels[r->group->level].name, names_of(r->group), passes[LL_OPERAND_A],
        once[LL_OPERAND_A], passes[LL_OPERAND_B], once[LL_OPERAND_B], passes[LL_OPERAND_C],
        once[LL_OPERAND_C], flow->bytes);
}

static void explain_nested(const struct route *r, const struct flow *flow, struct ll_explain *why)
{
    const struct ll_nested *nested = r->nested;
    const struct ll_problem *p = &nested->problem;
    uint64_t i = r->group->level - nested->first;
    const struct ll_mapping_loops *nest = &nested->mapping.nests[i];
    const double *passes = nested->mapping.passes[i];
    struct results c = results_of(nested, i);
    ll_say(why,
           "out of %s, tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64
           " in the order %s, %s, %s: %.10g * (%.10g * %.10g + %.10g * %.10g + (%.10g + %.10g) * %.10g) = "
           "%.10g B",
           r->machine->levels[r->group->level].name, nest->tile[LL_DIM_M], nest->tile[LL_DIM_N],
           nest->tile[LL_DIM_K], ll_dim_name(nest->order[0]), ll_dim_name(nest->order[1]),
           ll_dim_name(nest->order[2]), nested->times, passes[LL_OPERAND_A],
           ll_operand_bytes(p, LL_OPERAND_A), passes[LL_OPERAND_B], ll_operand_bytes(p, LL_OPERAND_B), c.out,
           c.back, ll_operand_bytes(p, LL_OPERAND_C), flow->bytes);
    explain_sums(p, c.out, why);
}

static void explain_stays(const struct route *r, const struct passage *p, struct ll_explain *why)
{
    uint64_t steps = r->task->steps;
    double b = p->once[LL_OPERAND_B];
    if (p->again > 0)
        ll_say(why,
               "of the weights %.10g come again each step: %.10g + (%" PRIu64
               " - 1) * %.10g * %.10g = %.10g B",
               p->again, b, steps, p->again, b, p->weights);
    ll_say(why, "out of %s%s, weights stay inside: %.10g * (%.10g + %" PRIu64 " * (%.10g + %.10g)) = %.10g B",
           r->machine->levels[r->group->level].name, names_of(r->group), p->shares, p->weights, steps,
           p->once[LL_OPERAND_A], p->once[LL_OPERAND_C], p->flow.bytes);
}

static void explain_blocked(const struct route *r, const struct passage *p, struct ll_explain *why)
{
    const struct ll_tiling *t = &p->tiling;
    const double *times = p->times, *once = p->once;
    double c = r->group->has[LL_OPERAND_C] ? once[LL_OPERAND_C] : 0;
    explain_bounds(&p->problem.toll, why);
    ll_say(why,
           "out of %s%s, %s stays in blocks of %" PRIu64 " x %" PRIu64 " x %" PRIu64 ": %.10g * %" PRIu64
           " * (%.10g * %.10g + %.10g * %.10g + %.10g * %.10g) = %.10g B",
           r->machine->levels[r->group->level].name, names_of(r->group), ll_stays_name(t->stays), t->block.m,
           t->block.n, t->block.k, p->shares, r->task->steps, times[LL_OPERAND_A], once[LL_OPERAND_A],
           times[LL_OPERAND_B], once[LL_OPERAND_B], times[LL_OPERAND_C], once[LL_OPERAND_C], p->flow.bytes);
    explain_sums(&p->problem, c > 0 ? t->written / c : 1, why);
}

/* All ways in which a group may pass, the least marked where there are several. */
static void explain_passages(const struct route *r, struct ll_explain *why)
{
    bool shared = ll_destination_is_shared(r->machine, r->group->catcher);
    int best = 0, count = 0;
    const struct flow least = least_flow(r, shared, &best, &count);
    struct passage p;
    struct walk walk = {0};
    for (int i = 0; next_passage(r, shared, &walk, &p); i++) {
        const uint64_t first = why->line_count;
        if (p.kind == ASKED)
            explain_asked(r, &p.flow, why);
        else if (p.kind == NESTED)
            explain_nested(r, &p.flow, why);
        else if (p.kind == STAYS)
            explain_stays(r, &p, why);
        else
            explain_blocked(r, &p, why);
        for (uint64_t line = first; count > 1 && i == best && line < why->line_count; line++)
            why->marks[line].wins = true;
    }
    if (shared)
        return;
    const struct floor f = always_moved(r);
    ll_say(why,
           "out of %s%s, what the unit asks for, at least each operand once, and joined sums: "
           "max(%.10g, %.10g) + %.10g = %.10g B",
           r->machine->levels[r->group->level].name, names_of(r->group), f.once_each.bytes, least.bytes,
           f.sums.bytes, near_flow(r, &least).bytes);
}

static void explain_once(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                         struct ll_explain *why)
{
    const char *name = machine->levels[l].name;
    const struct once once = once_out_of(machine, work, l);
    ll_gather_table_explain(machine, work, l, why);
    ll_say(why, "out of %s, each operand once: %.10g + %.10g + %.10g = %.10g B", name, once.of[LL_OPERAND_A],
           once.of[LL_OPERAND_B], once.of[LL_OPERAND_C], once.least);
    ll_gather_bytes_explain(machine, work, l, why);
    if (once.waste > 0)
        ll_say(why, "out of %s, that too: %.10g + %.10g = %.10g B", name, once.least, once.waste,
               once.least + once.waste);
}

void ll_traffic_explain(const struct ll_machine *machine, const struct ll_task *task,
                        const struct ll_kernel_config *way, const struct ll_paces *paces,
                        const struct ll_nested *nested, const struct ll_traffic *traffic, uint64_t level,
                        struct ll_explain *why)
{
    struct part parts[LL_MAX_LEVELS + 1];
    if (!task->is_gemm) {
        explain_once(machine, task->work, level, why);
        return;
    }
    way = level < ll_private_levels(machine) ? way : NULL;
    if (level == nested->first && nested->first < nested->end && !nested->mapping.complete)
        ll_say(why, "tiles were searched for until %" PRIu64 " had been looked at: the best of these",
               nested->mapping.evaluations);
    int count = parts_of(machine, task, way, nested, paces->budget[level], level, parts);
    for (int i = 0; i < count; i++)
        explain_passages(&(struct route){machine, task, way, nested, &parts[i].group}, why);
    double beyond[LL_OPERAND_COUNT];
    merge_repeats(parts, count, beyond);
    double less = beyond[LL_OPERAND_A] + beyond[LL_OPERAND_B] + beyond[LL_OPERAND_C];
    if (less > 0)
        ll_say(why,
               "what blocks of several operands make the unit load again is loaded for the narrowest alone: "
               "%.10g B less",
               less);
    if (count > 1)
        ll_say(why, "out of %s together: %.10g B, of which %.10g B are written", machine->levels[level].name,
               traffic->bytes[level], traffic->written[level]);
}
