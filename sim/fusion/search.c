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
 * and the programs of the best few by the formula are made; so are, of a stack through which columns can go
 * block by block, those of the best few by a like formula. Stacks begin with an op that multiplies matrices
 * and end before one: what lies between belongs to the op before it. The cheapest cut into stacks follows
 * from the last op backwards. Stacks that do the same are searched once. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/search.h"

/* Plans of one op that are priced, and of which programs are made; the same of several, with blocks of
 * columns, and of channels; tiles of a plan; ops that multiply matrices, and ops, of a stack. */
enum {
    PRICED = 64,
    MADE_ALONE = 16,
    FLOWING = 48,
    PLAYED_FLOWING = 8,
    PLAYED_CHANNELS = 5,
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

/* Adds a plan, with the bound of its program, to those that are played. */
static void rank(struct search *search, const struct stack_plan *plan, double limit_s, uint64_t most_tiles,
                 struct ranked *ranked, uint32_t *count)
{
    search->tried++;
    if (*count == MOST_PLANS || !program_make(&search->program, plan, most_tiles)) {
        search->failed = search->failed || search->program.failed;
        return;
    }
    if (search->program.bound_s < limit_s) {
        ranked[*count] = (struct ranked){*plan, search->program.bound_s, *count};
        ++*count;
    }
}

/* Plays plans in the order of their bounds, until none of them can be better than the best. */
static void play_ranked(struct search *search, struct ranked *ranked, uint32_t count, struct choice *best)
{
    qsort(ranked, count, sizeof *ranked, by_bound);
    for (uint32_t i = 0; i < count && ranked[i].bound_s < best->time_s; i++)
        if (program_make(&search->program, &ranked[i].plan, MOST_TILES))
            keep_best(search, &ranked[i].plan, best);
}

/* --- one op --- */

/* Bytes: of rows of inputs, of what a single row needs of them, of what is read whole, of weights, of
 * results. */
struct sizes {
    double inputs, least_inputs, whole, weights, result;
};

/* Bytes of a matrix of a batch, all of which a row of the result needs; 0 of what comes row by row. */
static double matrix_bytes(const struct edge *edge)
{
    return edge->map == ROWS_WINDOW && edge->stride == 0
               ? edge->bytes * (double)edge->in_h / (double)edge->rows
               : 0;
}

static struct sizes sizes_of(const struct graph *graph, uint32_t n)
{
    const struct node *node = &graph->nodes[n];
    struct sizes sizes = {.result = node->out_bytes};
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct edge *edge = &graph->edges[node->first_edge + i];
        double *sum = edge->weight ? &sizes.weights : edge->map == ROWS_ALL ? &sizes.whole : &sizes.inputs;
        *sum += edge->bytes;
        if (sum == &sizes.inputs)
            sizes.least_inputs += matrix_bytes(edge);
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
    double input = fmax(sizes.inputs * r, sizes.least_inputs), weight = sizes.weights * c * d,
           cells = (double)rows * (double)columns;
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
    /* Alone, a convolution's channels are all there for each tile. */
    uint64_t most_depth = node->work->kind == LL_WORK_CONV ? 1 : ll_max(node->depth / 32, 1);
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
                for (uint64_t k = 1; k <= most_depth; k = next_count(k, most_depth)) {
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
    struct ranked made[MADE_ALONE];
    uint32_t count = 0;
    for (unsigned i = 0; i < MADE_ALONE && isfinite(ranked[i].bound_s); i++)
        rank(search, &ranked[i].plan, best->time_s, MOST_TILES, made, &count);
    play_ranked(search, made, count, best);
}

/* --- several ops --- */

/* Whether nodes of a stack run on different kinds of cores. */
static bool several_types(const struct search *search, uint32_t first, uint32_t last)
{
    bool several = false;
    for (uint32_t n = first; n <= last; n++)
        several = several || search->graph.nodes[n].type != search->graph.nodes[first].type;
    return several;
}

/* Matrices of the batched GEMMs of a stack: tiles of whole ones, or of equal shares of one, read no other; 1
 * where there are none. */
static uint64_t matrices_of(const struct search *search, uint32_t first, uint32_t last)
{
    for (uint32_t n = first; n <= last; n++)
        for (uint32_t i = 0; i < search->graph.nodes[n].edge_count; i++) {
            const struct edge *edge = &search->graph.edges[search->graph.nodes[n].first_edge + i];
            if (matrix_bytes(edge) > 0)
                return ll_max(edge->rows / edge->in_h, 1);
        }
    return 1;
}

/* Candidate counts of tiles of rows: powers of two, and matrices times them. */
static uint64_t next_steps(uint64_t steps, uint64_t matrices)
{
    uint64_t power = 1, other = matrices;
    while (power <= steps)
        power *= 2;
    while (other <= steps)
        other *= 2;
    return ll_min(power, other);
}

static void rank_all(struct search *search, struct stack_plan plan, double limit_s, struct ranked *ranked,
                     uint32_t *count)
{
    uint64_t matrices = matrices_of(search, plan.first, plan.last);
    unsigned orders = several_types(search, plan.first, plan.last) ? 2 : 1;
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
        uint64_t most = ll_min(ll_max(last->rows / plan.bands, 1), MOST_FUSED / plan.bands);
        for (uint64_t steps = 1; steps <= most; steps = next_steps(steps, matrices))
            for (unsigned i = 0; i < 2 * orders; i++) {
                plan.steps = (uint32_t)steps;
                plan.keep_weights = i % 2 == 0;
                plan.weights_room = i % 2 == 0 ? 0 : room / 8;
                plan.overlaps = i / 2;
                rank(search, &plan, limit_s, MOST_FUSED, ranked, count);
            }
    }
}

/* --- several ops, columns block by block --- */

/* What a core of a kind does and holds in a plan with blocks of columns. */
struct load {
    double busy_s, held[LL_OPERAND_COUNT];
};

/* Tiles of a core, and how large they are. */
struct tiling {
    uint64_t rows, columns, depth;
    double count;
};

static struct tiling tiling_of(const struct search *search, const struct stack_plan *plan, uint32_t n)
{
    const struct node *node = &search->graph.nodes[n];
    enum role role = (enum role)search->program.roles[n - plan->first];
    uint64_t cores = search->machine->cores[node->type].count,
             side_by_side = (uint64_t)plan->bands * plan->columns;
    uint64_t parts = plan->pipeline || cores < side_by_side ? 1 : ll_min(plan->columns, node->columns);
    uint64_t blocks = role == ROLE_BLOCK ? plan->column_blocks : 1;
    uint64_t slices = role == ROLE_SUM ? plan->column_blocks : role == ROLE_BLOCK ? plan->depth_blocks : 1;
    struct tiling it = {ll_ceil_div(node->rows, (uint64_t)plan->bands * plan->steps),
                        ll_ceil_div(node->columns, parts * blocks), ll_ceil_div(node->depth, slices), 0};
    it.count = (double)plan->steps * (double)blocks * (double)slices *
               (double)ll_ceil_div(plan->bands * parts, ll_min(cores, plan->bands * parts));
    return it;
}

/* Adds a node's tiles to what its kind of core does and holds: of its inputs from outside the stack and its
 * weights, of its results those of one block or all sums. */
static double add_load(struct search *search, const struct stack_plan *plan, uint32_t n, bool priced,
                       struct load *load)
{
    const struct node *node = &search->graph.nodes[n];
    struct tiling tiling = tiling_of(search, plan, n);
    bool sums = search->program.roles[n - plan->first] == ROLE_SUM;
    double r = (double)tiling.rows / (double)node->rows, c = (double)tiling.columns / (double)node->columns,
           d = (double)tiling.depth / (double)node->depth, bytes = 0;
    struct ll_work work = part_of_work(node, tiling.rows, tiling.columns, tiling.depth);
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct edge *edge = &search->graph.edges[node->first_edge + i];
        bool inside = edge->source != LL_NONE && edge->source >= plan->first;
        if (edge->weight) {
            load->held[LL_OPERAND_B] = fmax(load->held[LL_OPERAND_B], 2 * edge->bytes * c * d);
            bytes += edge->bytes * plan->steps;
        } else if (!inside) {
            double part = edge->map == ROWS_ALL ? 1 : edge->by_column ? r * c : plan->keep_inputs ? r : r * d;
            load->held[LL_OPERAND_A] = fmax(load->held[LL_OPERAND_A], edge->bytes * part);
            bool again = edge->map != ROWS_ALL && edge->along_k && !plan->keep_inputs;
            bool seen = false; /* by an op before, for which it stays or comes */
            uint32_t before = again ? program_side_by_side(&search->program, n) : plan->first;
            for (uint32_t e = search->graph.nodes[before].first_edge; e < node->first_edge + i; e++)
                seen = seen || search->graph.edges[e].tensor == edge->tensor;
            bytes += seen ? 0 : again ? edge->bytes * plan->column_blocks : edge->bytes;
        }
    }
    double cells = (double)tiling.rows * (double)tiling.columns;
    load->held[LL_OPERAND_C] += sums ? fmax(node->out_bytes * r * c, 4 * cells) : node->out_bytes * r * c;
    const struct tile_cost *cost = priced ? chip_cost(&search->chip, node->type, node->kind, &work) : NULL;
    double peak = search->peak_flops[node->type][work.dtype];
    double tile_s = priced ? (cost ? cost->time_s : INFINITY) : peak > 0 ? (double)work.flops / peak : 0;
    load->busy_s += tile_s * tiling.count;
    return bytes + (node->last_use == LL_NONE || node->last_use > plan->last ? node->out_bytes : 0);
}

/* As of one op: the busiest core or the outermost memory; infinity where a core finds no room. */
static double estimate_blocks(struct search *search, const struct stack_plan *plan, bool priced)
{
    const struct chip *chip = &search->chip;
    struct load loads[LL_MAX_CORE_TYPES] = {0};
    double bytes = 0, busy_s = 0;
    for (uint32_t n = plan->first; n <= plan->last; n++)
        bytes += add_load(search, plan, n, priced, &loads[search->graph.nodes[n].type]);
    for (uint32_t t = 0; t < chip->type_count; t++) {
        const uint16_t *pool_of = chip->pool_of[chip->first_of[t]];
        busy_s = fmax(busy_s, loads[t].busy_s);
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
            double sum = 0;
            for (enum ll_operand p = 0; p < LL_OPERAND_COUNT; p++)
                sum += pool_of[p] == pool_of[o] ? loads[t].held[p] : 0;
            if (sum > chip->pools[pool_of[o]].capacity_bytes)
                return INFINITY;
        }
    }
    return fmax(busy_s, bytes / chip->links[0].Bps);
}

/* Blocks of columns as wide as finds room, and narrower ones, which leave more to load meanwhile. */
static void offer_blocks(struct search *search, struct stack_plan plan, uint64_t most, double limit_s,
                         struct ranked ranked[FLOWING])
{
    /* Few channels fill an array as well as many do: more counts are alike by the formula. */
    unsigned found = 0, wanted = search->graph.nodes[plan.first].work->kind == LL_WORK_CONV ? 5 : 3;
    for (uint64_t blocks = 2; blocks <= ll_min(most, 2048) && found < wanted; blocks *= 2) {
        plan.column_blocks = (uint32_t)blocks;
        double s = estimate_blocks(search, &plan, false);
        search->tried++;
        found += isfinite(s);
        if (!(s < limit_s) || !(s < ranked[FLOWING - 1].bound_s))
            continue;
        uint32_t at = FLOWING - 1;
        for (; at > 0 && s < ranked[at - 1].bound_s; at--)
            ranked[at] = ranked[at - 1];
        ranked[at] = (struct ranked){plan, s, 0};
    }
}

/* Adds the plans with blocks of columns that are best by the formula to those that are played. */
static void rank_blocks(struct search *search, uint32_t first, uint32_t last, double limit_s,
                        struct ranked *ranked, uint32_t *count)
{
    const struct graph *graph = &search->graph;
    struct ranked best[FLOWING];
    uint64_t most = program_groups(&search->program, first, last), rows = graph->nodes[last].rows;
    search->failed = search->failed || search->program.failed;
    if (most < 2)
        return;
    uint32_t lead = first;
    while (search->program.roles[lead - first] == ROLE_WHOLE)
        lead++;
    uint64_t cores = search->machine->cores[graph->nodes[lead].type].count;
    for (unsigned i = 0; i < FLOWING; i++)
        best[i].bound_s = INFINITY;
    for (uint64_t bands = 0; bands <= ll_min(cores, rows); bands++) {
        if (bands > 0 ? cores % bands != 0 : cores == 1)
            continue;
        struct stack_plan plan = {.first = first, .last = last, .pipeline = bands == 0};
        plan.bands = (uint32_t)ll_max(bands, 1);
        plan.columns = plan.pipeline ? 1 : (uint32_t)(cores / bands);
        for (uint64_t steps = 1; steps <= ll_max(rows / plan.bands, 1); steps *= 2)
            for (unsigned slices = 1; slices <= 64 && slices <= graph->nodes[lead].depth / 32; slices *= 4)
                for (unsigned keep = 0; keep < 2; keep++) {
                    plan.steps = (uint32_t)steps;
                    plan.depth_blocks = slices;
                    plan.keep_inputs = keep;
                    offer_blocks(search, plan, most, limit_s, best);
                }
    }
    for (uint32_t i = 0; i < FLOWING; i++) {
        best[i].order = i;
        if (isfinite(best[i].bound_s))
            best[i].bound_s = estimate_blocks(search, &best[i].plan, true);
    }
    qsort(best, FLOWING, sizeof *best, by_bound);
    bool channels = graph->nodes[lead].work->kind == LL_WORK_CONV;
    uint32_t most_made = *count + (channels ? PLAYED_CHANNELS : PLAYED_FLOWING);
    for (uint32_t i = 0; i < FLOWING && *count < most_made && best[i].bound_s < limit_s; i++) {
        uint32_t before = *count;
        best[i].plan.overlaps = several_types(search, first, last);
        rank(search, &best[i].plan, limit_s, MOST_FUSED, ranked, count);
        if (*count > before || !best[i].plan.overlaps)
            continue;
        best[i].plan.overlaps = false; /* what waits in between found no room */
        rank(search, &best[i].plan, limit_s, MOST_FUSED, ranked, count);
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
        rank_blocks(search, first, last, limit_s, ranked, &count);
        play_ranked(search, ranked, count, best);
    }
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
        double at_once = edge->weight ? 0 : edge->map == ROWS_ALL ? edge->bytes : matrix_bytes(edge);
        whole = whole || at_once > room / 2;
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

/* FLOP/s of all cores in the type in which a node computes. */
static double peak_of_all(const struct search *search, const struct node *node)
{
    double sum = 0;
    for (uint32_t t = 0; t < search->chip.type_count; t++)
        sum += search->peak_flops[t][node->work->dtype] * (double)search->machine->cores[t].count;
    return sum;
}

double search_least_s(const struct search *search)
{
    const struct graph *graph = &search->graph;
    bool *seen = calloc(search->prepared->trace->tensor_count + 1, sizeof *seen);
    double computing_s = 0, bytes = 0;
    for (uint32_t n = 0; seen && n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        double peak = peak_of_all(search, node);
        computing_s += peak > 0 && ll_is_gemm(node->work) ? (double)node->work->flops / peak : 0;
        bytes += node->last_use == LL_NONE ? node->out_bytes : 0;
        for (uint32_t i = 0; i < node->edge_count; i++) {
            const struct edge *edge = &graph->edges[node->first_edge + i];
            bytes += edge->weight && edge->source == LL_NONE && !seen[edge->tensor] ? edge->bytes : 0;
            seen[edge->tensor] |= edge->weight;
        }
    }
    double least_s = seen ? fmax(computing_s, bytes / search->chip.links[0].Bps) : -1;
    free(seen);
    return least_s;
}

void search_close(struct search *search)
{
    program_release(&search->program);
    schedule_release(&search->schedule);
    chip_close(&search->chip);
    ll_map_release(&search->keys);
    free(search->choices);
}
