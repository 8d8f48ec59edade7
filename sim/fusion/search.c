/* SPDX-License-Identifier: Apache-2.0 */
/* The search: which stacks, and how each is cut.
 *
 * A stack's plans are ordered by a bound, the time of its busiest core or link, and played in this order
 * until no bound is below the best time. Of one op there are many plans; a formula stands for the bound at
 * first:
 *
 *       time = max(tiles of a core * time of a tile, bytes of the outermost memory / its bandwidth)
 *              + bytes of the first tile / that bandwidth
 *
 * and the programs of the best few by the formula are made and played. Stacks begin with an op that
 * multiplies matrices and end before one: what lies between belongs to the op before it. The cheapest cut
 * into stacks follows from the last op backwards. Stacks that do the same are searched once. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/search.h"

/* Plans of one op that are played; tiles of a plan; ops that multiply matrices, and ops, of a stack. */
enum {
    PRICED = 24,
    PLAYED_ALONE = 6,
    MOST_TILES = 8192,
    MOST_FUSED = 6000,
    MOST_HEAVY = 6,
    MOST_NODES = 40,
    MOST_PLANS = 512
};

static void keep_best(struct search *search, const struct stack_plan *plan, struct choice *best)
{
    if (!schedule_make(&search->schedule, &search->program, best->time_s)) {
        search->failed = search->failed || search->schedule.failed;
        return;
    }
    search->played++;
    if (search->schedule.time_s < best->time_s)
        *best = (struct choice){*plan, search->schedule.time_s, search->program.bound_s, true};
}

struct ranked {
    struct stack_plan plan;
    double bound_s;
    uint32_t order;
};

static int by_bound(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->bound_s != b->bound_s)
        return a->bound_s < b->bound_s ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* --- one op --- */

struct sizes {
    double inputs, whole, weights, result; /* bytes of rows of inputs; of what is read whole; ... */
};

static struct sizes sizes_of(const struct graph *graph, uint32_t n)
{
    const struct node *node = &graph->nodes[n];
    struct sizes sizes = {.result = node->out_bytes};
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct edge *edge = &graph->edges[node->first_edge + i];
        double *sum = edge->weight ? &sizes.weights : edge->map == ROWS_ALL ? &sizes.whole : &sizes.inputs;
        *sum += edge->bytes;
    }
    return sizes;
}

/* The formula of a plan of one op, a tile taking what it costs or, unpriced, what its FLOPs take at the
 * peak; infinity where the plan fits no memory. */
static double estimate(struct search *search, const struct stack_plan *plan, bool priced)
{
    const struct node *node = &search->graph.nodes[plan->first];
    const struct chip *chip = &search->chip;
    struct sizes sizes = sizes_of(&search->graph, plan->first);
    uint64_t rows = ll_ceil_div(node->rows, (uint64_t)plan->bands * plan->steps);
    uint64_t part = ll_ceil_div(node->columns, plan->columns),
             columns = ll_ceil_div(part, plan->column_blocks);
    uint64_t depth = ll_ceil_div(node->depth, plan->depth_blocks);
    double r = (double)rows / (double)node->rows, c = (double)columns / (double)node->columns,
           d = (double)depth / (double)node->depth;
    const uint16_t *pool_of = chip->pool_of[chip->first_of[node->type]];
    double held[LL_OPERAND_COUNT] = {0};
    double input = sizes.inputs * r, weight = sizes.weights * c * d, cells = (double)rows * (double)columns;
    double result = fmax(sizes.result * r * c, plan->depth_blocks > 1 ? 4 * cells : 0);
    /* What is read once is not kept. */
    bool keep_inputs = plan->keep_inputs && plan->column_blocks > 1,
         keep_weights = plan->keep_weights && plan->steps > 1;
    bool all_inputs = plan->columns_outer && keep_inputs;
    held[LL_OPERAND_A] = sizes.whole + (all_inputs    ? sizes.inputs / plan->bands
                                        : keep_inputs ? input
                                                      : input * d);
    held[LL_OPERAND_B] = !keep_weights         ? weight
                         : plan->columns_outer ? sizes.weights * c
                                               : sizes.weights / plan->columns;
    held[LL_OPERAND_C] = result;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        double sum = 0;
        for (enum ll_operand p = 0; p < LL_OPERAND_COUNT; p++)
            sum += pool_of[p] == pool_of[o] ? held[p] : 0;
        if (sum > chip->pools[pool_of[o]].capacity_bytes)
            return INFINITY;
    }
    struct ll_work work = node->flowing ? *node->work : part_of_work(node, rows, columns, depth);
    double tile_s = 0;
    if (priced) {
        const struct tile_cost *cost = chip_cost(&search->chip, node->type, node->kind, &work);
        tile_s = cost ? cost->time_s : INFINITY;
    } else if (search->peak_flops[node->type][work.dtype] > 0)
        tile_s = (double)work.flops / search->peak_flops[node->type][work.dtype];
    double tiles = (double)plan->steps * plan->column_blocks * plan->depth_blocks;
    double time_s = tile_s * (node->flowing ? r : 1) * tiles;
    double bytes = sizes.whole + sizes.result + sizes.inputs * (plan->keep_inputs ? 1 : plan->column_blocks) +
                   sizes.weights * (plan->keep_weights ? 1 : plan->steps);
    double Bps = chip->links[0].Bps;
    return fmax(time_s, bytes / Bps) + (input * d + weight + sizes.whole + result) / Bps +
           1e-9 * tile_s * tiles;
}

/* Keeps the best few plans by their formula, unpriced. */
static void offer(struct search *search, const struct stack_plan *plan, struct ranked ranked[PRICED])
{
    double s = estimate(search, plan, false);
    search->tried++;
    if (!(s < ranked[PRICED - 1].bound_s))
        return;
    uint32_t at = PRICED - 1;
    for (; at > 0 && s < ranked[at - 1].bound_s; at--)
        ranked[at] = ranked[at - 1];
    ranked[at] = (struct ranked){*plan, s, 0};
}

/* Orders of loops, and what is kept from turn to turn. */
static void offer_orders(struct search *search, struct stack_plan plan, struct ranked ranked[PRICED])
{
    bool weights = sizes_of(&search->graph, plan.first).weights > 0;
    for (unsigned i = 0; i < 8; i++) {
        plan.keep_inputs = i & 1;
        plan.keep_weights = i & 2;
        plan.columns_outer = i & 4;
        bool moot_inputs = !plan.keep_inputs && plan.column_blocks == 1;
        bool moot_weights = !plan.keep_weights && (plan.steps == 1 || !weights);
        bool moot_order = plan.columns_outer && (plan.column_blocks == 1 || plan.steps == 1);
        if (!moot_inputs && !moot_weights && !moot_order)
            offer(search, &plan, ranked);
    }
}

/* The next candidate count: all powers of two and the most. */
static uint64_t next_count(uint64_t count, uint64_t most)
{
    return count >= most ? most + 1 : ll_min(2 * count, most);
}

static void search_one(struct search *search, uint32_t n, struct choice *best)
{
    const struct node *node = &search->graph.nodes[n];
    uint64_t cores = search->machine->cores[node->type].count;
    struct ranked ranked[PRICED];
    for (unsigned i = 0; i < PRICED; i++)
        ranked[i].bound_s = INFINITY;
    for (uint64_t bands = 1; bands <= ll_min(cores, node->rows); bands++) {
        if (cores % bands != 0 && bands != ll_min(cores, node->rows))
            continue;
        struct stack_plan plan = {.first = n, .last = n, .bands = (uint32_t)bands};
        uint64_t band = node->rows / bands;
        plan.columns = (uint32_t)ll_min(ll_max(cores / bands, 1), node->columns);
        for (uint64_t steps = 1; steps <= ll_min(band, 4096); steps = next_count(steps, ll_min(band, 4096)))
            for (uint64_t j = 1; j <= node->columns / plan.columns;
                 j = next_count(j, node->columns / plan.columns))
                for (uint64_t k = 1; k <= ll_max(node->depth / 32, 1);
                     k = next_count(k, ll_max(node->depth / 32, 1))) {
                    if (steps * j * k * bands * plan.columns > MOST_TILES || (k > 1 && node->depth == 1) ||
                        j > 4000 || k > 4000)
                        continue;
                    plan.steps = (uint32_t)steps;
                    plan.column_blocks = (uint32_t)j;
                    plan.depth_blocks = (uint32_t)k;
                    offer_orders(search, plan, ranked);
                }
    }
    for (unsigned i = 0; i < PRICED; i++) {
        ranked[i].order = i;
        if (isfinite(ranked[i].bound_s))
            ranked[i].bound_s = estimate(search, &ranked[i].plan, true);
    }
    qsort(ranked, PRICED, sizeof *ranked, by_bound);
    for (unsigned i = 0; i < PLAYED_ALONE && isfinite(ranked[i].bound_s); i++)
        if (program_make(&search->program, &ranked[i].plan, MOST_TILES) &&
            search->program.bound_s < best->time_s)
            keep_best(search, &ranked[i].plan, best);
        else
            search->failed = search->failed || search->program.failed;
}

/* --- several ops --- */

static void rank(struct search *search, const struct stack_plan *plan, double limit_s, struct ranked *ranked,
                 uint32_t *count)
{
    search->tried++;
    if (*count == MOST_PLANS || !program_make(&search->program, plan, MOST_FUSED)) {
        search->failed = search->failed || search->program.failed;
        return;
    }
    if (search->program.bound_s < limit_s) {
        ranked[*count] = (struct ranked){*plan, search->program.bound_s, *count};
        ++*count;
    }
}

static void rank_all(struct search *search, struct stack_plan plan, double limit_s, struct ranked *ranked,
                     uint32_t *count)
{
    const struct graph *graph = &search->graph;
    const struct node *last = &graph->nodes[plan.last];
    uint32_t lead = plan.first;
    while (!graph->nodes[lead].heavy && lead < plan.last)
        lead++;
    uint32_t type = graph->nodes[lead].type;
    uint64_t cores = search->machine->cores[type].count;
    double room =
        search->chip.pools[search->chip.pool_of[search->chip.first_of[type]][LL_OPERAND_B]].capacity_bytes;
    plan.keep_inputs = true;
    for (uint64_t bands = 0; bands <= ll_min(cores, last->rows); bands++) {
        if (bands > 0 && cores % bands != 0 && bands != ll_min(cores, last->rows))
            continue;
        plan.pipeline = bands == 0;
        plan.bands = (uint32_t)ll_max(bands, 1);
        plan.columns = plan.pipeline ? 1 : (uint32_t)ll_max(cores / bands, 1);
        if (plan.pipeline && cores == 1)
            continue;
        for (uint64_t steps = 1; steps <= ll_max(last->rows / plan.bands, 1); steps *= 2)
            for (unsigned divisor = 1; divisor <= 8; divisor *= 8) {
                plan.steps = (uint32_t)steps;
                plan.keep_weights = divisor == 1;
                plan.weights_room = divisor == 1 ? 0 : room / divisor;
                rank(search, &plan, limit_s, ranked, count);
            }
    }
}

static void search_several(struct search *search, uint32_t first, uint32_t last, double limit_s,
                           struct choice *best)
{
    struct ranked *ranked = malloc(MOST_PLANS * sizeof *ranked);
    uint32_t count = 0;
    search->failed = search->failed || !ranked;
    best->time_s = limit_s;
    if (ranked) {
        rank_all(search, (struct stack_plan){.first = first, .last = last}, limit_s, ranked, &count);
        qsort(ranked, count, sizeof *ranked, by_bound);
    }
    for (uint32_t i = 0; i < count && ranked[i].bound_s < best->time_s; i++)
        if (program_make(&search->program, &ranked[i].plan, MOST_TILES))
            keep_best(search, &ranked[i].plan, best);
    free(ranked);
}

/* --- the step --- */

/* What a stack's search depends on, as bytes: stacks of equal bytes do the same. */
static bool describe(const struct search *search, uint32_t first, uint32_t last, struct ll_str *out)
{
    const struct graph *graph = &search->graph;
    for (uint32_t n = first; n <= last; n++) {
        const struct node *node = &graph->nodes[n];
        bool stored = node->last_use == LL_NONE || node->last_use > last;
        ll_str_addf(out, "%u %" PRIu32 " %d %u:", (unsigned)node->kind,
                    search->prepared->same[node->signature], stored, (unsigned)node->rows);
        for (uint32_t i = 0; i < node->edge_count; i++) {
            const struct edge *edge = &graph->edges[node->first_edge + i];
            bool inside = edge->source != LL_NONE && edge->source >= first;
            uint32_t e = graph->nodes[first].first_edge;
            while (graph->edges[e].tensor != edge->tensor)
                e++;
            ll_str_addf(out, "%d %" PRIu32 " %d %" PRIu64 " %" PRIu64 " %d %d,", inside,
                        inside ? edge->source - first : e - graph->nodes[first].first_edge, (int)edge->map,
                        edge->pad, edge->rows, edge->weight, edge->constant);
        }
    }
    return !out->failed;
}

/* The best plan of a stack, remembered. A stack of several is given up where it takes limit_s. */
static struct choice best_of(struct search *search, uint32_t first, uint32_t last, double limit_s)
{
    struct ll_str key = {0};
    struct choice none = {.time_s = INFINITY};
    bool is_new = true;
    uint32_t id = describe(search, first, last, &key)
                      ? ll_map_intern(&search->keys, key.text, key.length, &is_new)
                      : LL_NO_ID;
    ll_str_release(&key);
    if (id == LL_NO_ID ||
        !ll_grow(&search->choices, &search->choice_room, (uint64_t)id + 1, sizeof *search->choices)) {
        search->failed = true;
        return none;
    }
    if (is_new) {
        struct choice best = none;
        if (first == last)
            search_one(search, first, &best);
        else
            search_several(search, first, last, limit_s, &best);
        search->choices[id] = best;
    }
    struct choice choice = search->choices[id];
    choice.plan.first = first;
    choice.plan.last = last;
    return choice;
}

static bool may_end(const struct search *search, uint32_t last)
{
    return last + 1 == search->graph.node_count || search->graph.nodes[last + 1].heavy;
}

/* Stacks of several nodes that begin here. */
static void try_stacks(struct search *search, uint32_t first)
{
    uint32_t heavy = 0;
    double alone_s = search->alone[first].time_s;
    if (first > 0 && !search->graph.nodes[first].heavy)
        return;
    for (uint32_t last = first; last < search->graph.node_count && last < first + MOST_NODES; last++) {
        const struct node *node = &search->graph.nodes[last];
        heavy += node->heavy;
        alone_s += last > first ? search->alone[last].time_s : 0;
        if (heavy > MOST_HEAVY || node->flowing)
            return;
        if (last == first || !may_end(search, last))
            continue;
        struct choice choice = best_of(search, first, last, alone_s);
        double time_s = choice.time_s + search->rest_s[last + 1];
        if (choice.good && time_s < search->rest_s[first]) {
            search->rest_s[first] = time_s;
            search->stack[first] = choice;
        }
    }
}

bool search_step(struct search *search, enum ll_fuse fuse)
{
    uint32_t count = search->graph.node_count;
    search->rest_s[count] = 0;
    for (uint32_t n = 0; n < count && !search->failed; n++) {
        search->alone[n] = best_of(search, n, n, INFINITY);
        if (!search->alone[n].good && !search->failed) {
            search->unfit = n;
            return false;
        }
    }
    for (uint32_t n = count; n-- > 0 && !search->failed;) {
        search->rest_s[n] = search->alone[n].time_s + search->rest_s[n + 1];
        search->stack[n] = search->alone[n];
        if (fuse == LL_FUSE_AUTO)
            try_stacks(search, n);
    }
    return !search->failed;
}

/* --- opening --- */

/* The kind of core that runs a node: that of the node before, which has what it reads, else the fastest. */
static bool pick_type(struct search *search, uint32_t n)
{
    struct node *node = &search->graph.nodes[n];
    double least_s = INFINITY;
    for (uint32_t t = 0; t < search->chip.type_count; t++) {
        const struct tile_cost *cost = chip_cost(&search->chip, t, node->kind, node->work);
        if (!cost)
            continue;
        double time_s = cost->time_s / (double)search->machine->cores[t].count;
        for (uint32_t i = 0; i < node->edge_count && !node->heavy; i++) {
            uint32_t source = search->graph.edges[node->first_edge + i].source;
            if (source != LL_NONE && search->graph.nodes[source].type == t)
                time_s = -1;
        }
        if (time_s < least_s) {
            least_s = time_s;
            node->type = t;
        }
    }
    return isfinite(least_s);
}

/* A node whose rows nobody can tell apart, and that is too large to lie in its core's memories, flows
 * through them: each share of it reads a share of what it reads. */
static void let_flow(struct search *search, uint32_t n)
{
    struct node *node = &search->graph.nodes[n];
    const struct chip *chip = &search->chip;
    double all = node->out_bytes, room = INFINITY;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        room = fmin(room, chip->pools[chip->pool_of[chip->first_of[node->type]][o]].capacity_bytes);
    bool whole = false;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct edge *edge = &search->graph.edges[node->first_edge + i];
        all += edge->bytes;
        whole = whole || (edge->map == ROWS_ALL && !edge->weight && edge->bytes > room / 2);
    }
    if (!(whole || (node->rows == 1 && node->columns == 1)) || all < room / 2)
        return;
    node->flowing = true;
    node->rows = (uint64_t)ceil(all / (room / 8));
    node->columns = node->depth = 1;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        struct edge *edge = &search->graph.edges[node->first_edge + i];
        edge->map = ROWS_SAME;
        edge->rows = node->rows;
        edge->columns = 1;
        edge->weight = edge->along_k = edge->by_column = false;
    }
}

bool search_open(struct search *search, const struct ll_prepared *prepared, const struct ll_machine *machine,
                 struct ll_arena *arena, struct ll_diags *diags)
{
    memset(search, 0, sizeof *search);
    search->prepared = prepared;
    search->machine = machine;
    if (!graph_build(&search->graph, prepared, arena, diags) || !chip_open(&search->chip, machine, arena))
        return false;
    uint32_t count = search->graph.node_count;
    search->program.graph = &search->graph;
    search->program.chip = &search->chip;
    for (uint32_t t = 0; t < search->chip.type_count; t++)
        for (int d = 0; d < LL_DTYPE_COUNT; d++)
            search->peak_flops[t][d] =
                ll_machine_peak_flops(&search->chip.types[t].machine, (enum ll_dtype)d);
    search->alone = ll_alloc(arena, count + 1, sizeof *search->alone);
    search->stack = ll_alloc(arena, count + 1, sizeof *search->stack);
    search->rest_s = ll_alloc(arena, count + 1, sizeof *search->rest_s);
    if (!search->alone || !search->stack || !search->rest_s)
        return false;
    for (uint32_t n = 0; n < count; n++) {
        const struct node *node = &search->graph.nodes[n];
        if (!pick_type(search, n))
            return ll_complain(diags, (struct ll_place){0}, "no core runs op %" PRIu32 " (%s) in %s",
                               node->op, ll_op_name(node->kind),
                               ll_dtype_name((enum ll_dtype)node->work->dtype));
        let_flow(search, n);
    }
    return true;
}

void search_close(struct search *search)
{
    program_release(&search->program);
    schedule_release(&search->schedule);
    chip_close(&search->chip);
    ll_map_release(&search->keys);
    free(search->choices);
}
