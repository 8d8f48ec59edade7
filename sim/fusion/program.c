/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: the tiles of a stack, what each reads and makes, and what is moved for it.
 *
 * Rows of the last node are divided among bands of cores, and each band's among steps. What a step needs
 * of the nodes before follows backwards; a node computes what it has not computed yet:
 *
 *       step     0    1    2                 a window of 3 rows needs one row more on either side,
 *       last     ##   ##   ##                so the node before runs ahead by one row, and of its rows
 *       before   ###  ##   #                 the last two stay until the next step
 *
 * Bands compute the rows at their border twice (DeFiNES' vertical recompute; Mei et al., HPCA 2023),
 * within a band rows are kept (its fully cached mode). Within a step columns are divided among cores and
 * blocks, and the depth of a GEMM among blocks, which add to the same result.
 *
 * The order of the tiles is one in which they could run one by one. A piece lies in a memory from its
 * first use there to its last in this order; where at some tile more lies in a memory than it holds, the
 * plan does not fit. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/fusion_parts.h"

enum key_tag { KEY_OUT = 1, KEY_WEIGHT, KEY_ROWS, KEY_WHOLE };

struct key {
    uint64_t a, b;
};

static struct key key_of(enum key_tag tag, uint64_t id, uint64_t x, uint64_t y, uint64_t z)
{
    return (struct key){(uint64_t)tag << 61 | id << 30 | (x & 0x3fffffff), y << 32 | (z & 0xffffffff)};
}

static uint64_t hash_of(struct key key)
{
    uint64_t h = (key.a ^ key.b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return h ^ h >> 29;
}

/* The slot of a key, which may be empty. The table is half empty at least. */
static uint64_t slot_of(const struct program *program, struct key key)
{
    uint64_t at = hash_of(key) & (program->key_room - 1);
    while (program->key_pieces[at] && (program->keys[2 * at] != key.a || program->keys[2 * at + 1] != key.b))
        at = (at + 1) & (program->key_room - 1);
    return at;
}

static bool grow_keys(struct program *program)
{
    uint64_t old_room = program->key_room, room = old_room ? 2 * old_room : 256;
    uint64_t *keys = program->keys;
    uint32_t *pieces = program->key_pieces;
    program->keys = malloc(2 * room * sizeof *keys);
    program->key_pieces = calloc(room, sizeof *pieces);
    program->key_room = room;
    bool good = program->keys && program->key_pieces;
    for (uint64_t i = 0; good && i < old_room; i++)
        if (pieces[i]) {
            uint64_t at = slot_of(program, (struct key){keys[2 * i], keys[2 * i + 1]});
            program->keys[2 * at] = keys[2 * i];
            program->keys[2 * at + 1] = keys[2 * i + 1];
            program->key_pieces[at] = pieces[i];
        }
    free(keys);
    free(pieces);
    return good;
}

static uint32_t new_piece(struct program *program, struct piece piece)
{
    uint32_t pools = program->chip->pool_count;
    uint64_t count = program->piece_count;
    if (!ll_grow(&program->pieces, &program->piece_room, count + 1, sizeof *program->pieces) ||
        !ll_grow(&program->where, &program->where_room, (count + 1) * pools, sizeof *program->where)) {
        program->failed = true;
        return LL_NONE;
    }
    memset(&program->where[count * pools], 0, pools * sizeof *program->where);
    program->pieces[count] = piece;
    return (uint32_t)program->piece_count++;
}

/* The piece of a key; a new one, as given, where there is none. */
static uint32_t piece_of(struct program *program, struct key key, const struct piece *fresh)
{
    if (2 * (program->key_count + 1) > program->key_room && !grow_keys(program)) {
        program->failed = true;
        return LL_NONE;
    }
    uint64_t at = slot_of(program, key);
    if (program->key_pieces[at])
        return program->key_pieces[at] - 1;
    uint32_t piece = fresh ? new_piece(program, *fresh) : LL_NONE;
    if (piece == LL_NONE)
        return LL_NONE;
    program->keys[2 * at] = key.a;
    program->keys[2 * at + 1] = key.b;
    program->key_pieces[at] = piece + 1;
    program->key_count++;
    return piece;
}

/* --- where nodes run, and what rows --- */

static bool is_stored(const struct program *program, uint32_t n)
{
    uint32_t last_use = program->graph->nodes[n].last_use;
    return last_use == LL_NONE || last_use > program->plan.last;
}

static uint32_t parts_of(const struct program *program, uint32_t n)
{
    const struct stack_plan *plan = &program->plan;
    uint64_t cores = program->chip->machine->cores[program->graph->nodes[n].type].count;
    if (plan->pipeline || cores < (uint64_t)plan->bands * plan->columns)
        return 1;
    return (uint32_t)ll_min(plan->columns, program->graph->nodes[n].columns);
}

/* In a pipeline each heavy node has the next core of its kind, what follows it the same one. */
static uint16_t core_in_pipeline(const struct program *program, uint32_t n)
{
    const struct node *nodes = program->graph->nodes;
    uint64_t count = program->chip->machine->cores[nodes[n].type].count;
    uint32_t before = 0;
    for (uint32_t m = program->plan.first; m < n + !nodes[n].heavy; m++)
        before += nodes[m].heavy && nodes[m].type == nodes[n].type;
    if (!nodes[n].heavy && before > 0)
        before--;
    return (uint16_t)(program->chip->first_of[nodes[n].type] + before % count);
}

static uint16_t core_of(const struct program *program, uint32_t n, uint32_t band, uint32_t part)
{
    const struct node *node = &program->graph->nodes[n];
    uint64_t count = program->chip->machine->cores[node->type].count;
    if (program->plan.pipeline)
        return core_in_pipeline(program, n);
    return (uint16_t)(program->chip->first_of[node->type] +
                      ((uint64_t)band * parts_of(program, n) + part) % count);
}

static uint64_t *mark_of(const struct program *program, uint32_t n, uint32_t band, uint32_t step)
{
    const struct stack_plan *plan = &program->plan;
    return &program->marks[((uint64_t)(n - plan->first) * plan->bands + band) * (plan->steps + 1u) + step];
}

/* Of a node whose result leaves the stack, the rows that a band stores. */
static struct row_range own_rows(const struct program *program, uint32_t n, uint32_t band)
{
    uint64_t rows = program->graph->nodes[n].rows, bands = program->plan.bands;
    return (struct row_range){rows * band / bands, rows * (band + 1) / bands};
}

/* From where, and up to where behind each step, a band computes a node: as far as what reads it needs. */
static void reach(struct program *program, uint32_t n, uint32_t band)
{
    const struct stack_plan *plan = &program->plan;
    const struct graph *graph = program->graph;
    struct row_range own = own_rows(program, n, band);
    bool stored = is_stored(program, n), read = false;
    uint64_t lo = stored ? own.lo : UINT64_MAX;
    for (uint32_t s = 0; s <= plan->steps; s++)
        *mark_of(program, n, band, s) = 0;
    for (uint32_t m = n + 1; m <= plan->last && m <= graph->nodes[n].last_use; m++)
        for (uint32_t e = 0; e < graph->nodes[m].edge_count; e++) {
            const struct edge *edge = &graph->edges[graph->nodes[m].first_edge + e];
            if (edge->source != n)
                continue;
            uint64_t from = *mark_of(program, m, band, 0);
            read = true;
            for (uint32_t s = 1; s <= plan->steps; s++) {
                uint64_t to = *mark_of(program, m, band, s), *mark = mark_of(program, n, band, s);
                if (to <= from)
                    continue;
                struct row_range needed = rows_needed(edge, from, to);
                lo = ll_min(lo, needed.lo);
                *mark = ll_max(*mark, needed.hi);
            }
        }
    if (lo == UINT64_MAX)
        lo = own.lo;
    *mark_of(program, n, band, 0) = lo;
    for (uint32_t s = 1; s <= plan->steps; s++) {
        uint64_t *mark = mark_of(program, n, band, s);
        if (!read)
            *mark = own.lo + (own.hi - own.lo) * s / plan->steps;
        else if (stored && s == plan->steps)
            *mark = ll_max(*mark, own.hi);
        *mark = ll_max(*mark, *mark_of(program, n, band, s - 1));
    }
}

/* Bands that need rows of one another's do not stand apart. */
static bool bands_stand_apart(const struct program *program)
{
    const struct stack_plan *plan = &program->plan;
    for (uint32_t n = plan->first; n <= plan->last; n++)
        for (uint32_t e = 0; e < program->graph->nodes[n].edge_count; e++) {
            const struct edge *edge = &program->graph->edges[program->graph->nodes[n].first_edge + e];
            bool inside = edge->source != LL_NONE && edge->source >= plan->first;
            if (inside && edge->map == ROWS_ALL)
                return false;
        }
    return true;
}

static bool find_marks(struct program *program)
{
    const struct stack_plan *plan = &program->plan;
    uint64_t count = (uint64_t)(plan->last - plan->first + 1) * plan->bands * (plan->steps + 1u);
    if (!ll_grow(&program->marks, &program->mark_room, count, sizeof *program->marks)) {
        program->failed = true;
        return false;
    }
    for (uint32_t n = plan->last + 1; n-- > plan->first;)
        for (uint32_t b = 0; b < plan->bands; b++)
            reach(program, n, b);
    return true;
}

/* --- tiles --- */

/* A tile that is being made. */
struct making {
    uint32_t n, band, step, part, block, slice; /* of columns; of depth */
    uint32_t blocks, slices, parts, round;      /* tiles of a round depend on none of each other */
    struct task *task;
};

/* A copy of a piece in a memory, with room made by the newest task. */
static uint32_t new_copy(struct program *program, uint32_t piece, uint16_t pool, uint16_t end, double bytes)
{
    if (!ll_grow(&program->copies, &program->copy_room, program->copy_count + 1, sizeof *program->copies) ||
        !ll_grow(&program->allocs, &program->alloc_room, program->alloc_count + 1, sizeof *program->allocs)) {
        program->failed = true;
        return LL_NONE;
    }
    uint32_t copy = (uint32_t)program->copy_count++, task = (uint32_t)program->task_count - 1;
    program->copies[copy] = (struct copy){.piece = piece,
                                          .pool = pool,
                                          .end = end,
                                          .bytes = bytes,
                                          .first_task = task,
                                          .last_task = task,
                                          .transfer = LL_NONE,
                                          .next_there = LL_NONE,
                                          .first_out = LL_NONE};
    program->allocs[program->alloc_count++] = copy;
    program->where[(uint64_t)piece * program->chip->pool_count + pool] = copy + 1;
    return copy;
}

/* Whether a piece that comes to a core by this round's transfer may come to another core by the same one. */
static uint32_t transfer_of(struct program *program, uint32_t piece, uint32_t round)
{
    struct piece *it = &program->pieces[piece];
    if (it->transfer != LL_NONE && it->step == round)
        return it->transfer;
    if (!ll_grow(&program->transfers, &program->transfer_room, program->transfer_count + 1,
                 sizeof *program->transfers)) {
        program->failed = true;
        return LL_NONE;
    }
    uint32_t t = (uint32_t)program->transfer_count++;
    bool made = it->made != LL_NONE;
    program->transfers[t] =
        (struct transfer){.piece = piece,
                          .from_copy = it->made,
                          .from = made ? program->copies[it->made].end : chip_memory(program->chip),
                          .first_there = LL_NONE,
                          .bytes = it->bytes,
                          .next_out = made ? program->copies[it->made].first_out : LL_NONE};
    if (made) {
        program->copies[it->made].first_out = t;
        program->copies[it->made].uses++;
    }
    it->transfer = t;
    it->step = round;
    return t;
}

/* The newest task reads a piece: out of its core's memory, into which it comes first where it is not
 * there. */
static void read_piece(struct program *program, const struct making *making, uint32_t piece,
                       enum ll_operand operand)
{
    if (piece == LL_NONE)
        return;
    uint32_t task = (uint32_t)program->task_count - 1;
    uint16_t core = program->tasks[task].core, pool = program->chip->pool_of[core][operand];
    uint64_t pools = program->chip->pool_count;
    uint32_t made = program->pieces[piece].made;
    uint32_t copy = program->where[(uint64_t)piece * pools + pool];
    if (made != LL_NONE && !copy)
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT && !copy;
             o++) /* it lies beside the core in another memory */
            copy = program->where[(uint64_t)piece * pools + program->chip->pool_of[core][o]];
    if (!copy) {
        copy =
            new_copy(program, piece, pool, program->chip->pools[pool].end, program->pieces[piece].bytes) + 1;
        uint32_t transfer = copy ? transfer_of(program, piece, making->round) : LL_NONE;
        if (!copy || transfer == LL_NONE)
            return;
        program->copies[copy - 1].transfer = transfer;
        program->copies[copy - 1].next_there = program->transfers[transfer].first_there;
        program->transfers[transfer].first_there = copy - 1;
        program->transfers[transfer].there_count++;
        if (made != LL_NONE && program->copies[made].last_task < task)
            program->copies[made].last_task = task;
    }
    copy--;
    struct task *it = &program->tasks[task];
    if (program->copies[copy].read_by == task + 1)
        return;
    program->copies[copy].read_by = task + 1;
    if (!ll_grow(&program->refs, &program->ref_room, program->ref_count + 1, sizeof *program->refs)) {
        program->failed = true;
        return;
    }
    program->refs[program->ref_count++] = copy;
    it->ref_count++;
    program->copies[copy].uses++;
    program->copies[copy].last_task = task;
}

static void read_weight(struct program *program, const struct making *making, uint32_t e)
{
    const struct edge *edge = &program->graph->edges[e];
    const struct node *node = &program->graph->nodes[making->n];
    const struct task *task = making->task;
    double share = (double)(task->columns[1] - task->columns[0]) / (double)node->columns *
                   (double)(task->depth[1] - task->depth[0]) / (double)node->depth;
    struct piece fresh = {.bytes = edge->bytes * share,
                          .node = making->n,
                          .tensor = edge->tensor,
                          .made = LL_NONE,
                          .transfer = LL_NONE,
                          .rows = {task->depth[0], task->depth[1]},
                          .columns = {task->columns[0], task->columns[1]}};
    struct key key =
        key_of(KEY_WEIGHT, e, making->part, (uint64_t)making->block * making->slices + making->slice,
               program->plan.keep_weights ? 0 : making->step + 1u);
    read_piece(program, making, piece_of(program, key, &fresh), LL_OPERAND_B);
}

/* Rows out of the outermost memory: those that no step before has brought, and of the ones before what is
 * needed again. */
static void read_rows(struct program *program, const struct making *making, uint32_t e)
{
    const struct edge *edge = &program->graph->edges[e];
    const struct task task = *making->task;
    const struct node *node = &program->graph->nodes[making->n];
    struct row_range needed = rows_needed(edge, task.rows[0], task.rows[1]);
    uint64_t columns[2] = {0, edge->columns};
    uint64_t part = 0, slice = edge->along_k ? making->slice : 0;
    if (edge->by_column && making->parts > 1)
        part = making->part + 1u;
    if (edge->by_column) {
        columns[0] = node->columns * making->part / making->parts;
        columns[1] = node->columns * (making->part + 1u) / making->parts;
    } else if (edge->along_k) {
        columns[0] = task.depth[0];
        columns[1] = task.depth[1];
    }
    double share = (double)(columns[1] - columns[0]) / (double)edge->columns;
    uint64_t instance = program->plan.keep_inputs ? 0 : making->block + 1u;
    for (uint32_t s = making->step + 1; s-- > 0;) {
        uint64_t from = *mark_of(program, making->n, making->band, s);
        uint64_t to = *mark_of(program, making->n, making->band, s + 1);
        uint64_t first = *mark_of(program, making->n, making->band, 0);
        if (to <= from)
            continue;
        struct row_range now = rows_needed(edge, first, to);
        uint64_t lo = from > first ? rows_needed(edge, first, from).hi : now.lo;
        if (now.hi <= needed.lo)
            break;
        if (now.hi <= lo)
            continue;
        struct piece fresh = {.bytes = edge->bytes * share * (double)(now.hi - lo) / (double)edge->rows,
                              .node = making->n,
                              .tensor = edge->tensor,
                              .made = LL_NONE,
                              .transfer = LL_NONE,
                              .rows = {lo, now.hi},
                              .columns = {columns[0], columns[1]}};
        struct key key = key_of(KEY_ROWS, edge->tensor, lo, now.hi, part << 24 | slice << 12 | instance);
        read_piece(program, making, piece_of(program, key, &fresh), LL_OPERAND_A);
    }
}

static void read_whole(struct program *program, const struct making *making, uint32_t e)
{
    const struct edge *edge = &program->graph->edges[e];
    struct piece fresh = {.bytes = edge->bytes,
                          .node = making->n,
                          .tensor = edge->tensor,
                          .made = LL_NONE,
                          .transfer = LL_NONE,
                          .rows = {0, edge->rows},
                          .columns = {0, edge->columns}};
    read_piece(program, making, piece_of(program, key_of(KEY_WHOLE, edge->tensor, 0, 0, 0), &fresh),
               LL_OPERAND_A);
}

/* What other tiles of the stack made of a node: the rows, and of them the columns, that are needed. */
static void read_made(struct program *program, const struct making *making, uint32_t e)
{
    const struct edge *edge = &program->graph->edges[e];
    const struct task task = *making->task;
    struct row_range needed = rows_needed(edge, task.rows[0], task.rows[1]);
    double from = 0, to = 1;
    if (edge->by_column) {
        from = (double)task.columns[0] / (double)program->graph->nodes[making->n].columns;
        to = (double)task.columns[1] / (double)program->graph->nodes[making->n].columns;
    } else if (edge->along_k) {
        from = (double)task.depth[0] / (double)program->graph->nodes[making->n].depth;
        to = (double)task.depth[1] / (double)program->graph->nodes[making->n].depth;
    }
    uint32_t parts = parts_of(program, edge->source);
    for (uint32_t s = making->step + 1; s-- > 0;) {
        uint64_t lo = *mark_of(program, edge->source, making->band, s);
        uint64_t hi = *mark_of(program, edge->source, making->band, s + 1);
        if (hi <= lo || lo >= needed.hi)
            continue;
        if (hi <= needed.lo)
            break;
        for (uint32_t p = 0; p < parts; p++)
            for (uint32_t j = 0;; j++) {
                struct key key = key_of(KEY_OUT, edge->source, s, (uint64_t)making->band * parts + p, j);
                uint32_t piece = piece_of(program, key, NULL);
                if (piece == LL_NONE)
                    break;
                double all = (double)program->graph->nodes[edge->source].columns;
                const struct piece *it = &program->pieces[piece];
                if ((double)it->columns[0] / all < to - 1e-12 && (double)it->columns[1] / all > from + 1e-12)
                    read_piece(program, making, piece, LL_OPERAND_A);
            }
    }
}

static void read_all(struct program *program, const struct making *making)
{
    const struct node *node = &program->graph->nodes[making->n];
    for (uint32_t i = 0; i < node->edge_count; i++) {
        uint32_t e = node->first_edge + i;
        const struct edge *edge = &program->graph->edges[e];
        if (edge->weight)
            read_weight(program, making, e);
        else if (edge->source != LL_NONE && edge->source >= program->plan.first)
            read_made(program, making, e);
        else if (edge->map == ROWS_ALL)
            read_whole(program, making, e);
        else
            read_rows(program, making, e);
    }
}

/* The result goes out: what of the piece the band stores. */
static void store(struct program *program, const struct making *making, uint32_t piece)
{
    struct row_range own = own_rows(program, making->n, making->band);
    const struct piece *it = &program->pieces[piece];
    uint64_t lo = ll_max(own.lo, it->rows[0]), hi = ll_min(own.hi, it->rows[1]);
    if (hi <= lo || !ll_grow(&program->transfers, &program->transfer_room, program->transfer_count + 1,
                             sizeof *program->transfers)) {
        program->failed = program->failed || hi > lo;
        return;
    }
    struct copy *copy = &program->copies[it->made];
    uint32_t t = (uint32_t)program->transfer_count++;
    program->transfers[t] =
        (struct transfer){.piece = piece,
                          .from_copy = it->made,
                          .from = copy->end,
                          .first_there = LL_NONE,
                          .bytes = it->bytes * (double)(hi - lo) / (double)(it->rows[1] - it->rows[0]),
                          .next_out = copy->first_out};
    copy->first_out = t;
    copy->uses++;
}

/* The tile adds to its result, for which the first one along k makes room. Sums in progress take four
 * bytes. Of one op each block of columns is a result that goes out by itself; in a stack all blocks of a
 * core are one. */
static void make_result(struct program *program, const struct making *making)
{
    const struct node *node = &program->graph->nodes[making->n];
    struct task *task = &program->tasks[program->task_count - 1];
    bool together = program->plan.first != program->plan.last;
    uint64_t columns[2] = {together ? node->columns * making->part / making->parts : task->columns[0],
                           together ? node->columns * (making->part + 1u) / making->parts : task->columns[1]};
    double cells = (double)(task->rows[1] - task->rows[0]) * (double)(columns[1] - columns[0]);
    double share = cells / ((double)node->rows * (double)node->columns);
    uint16_t pool = program->chip->pool_of[task->core][LL_OPERAND_C];
    struct piece fresh = {.bytes = node->out_bytes * share,
                          .node = making->n,
                          .made = LL_NONE,
                          .transfer = LL_NONE,
                          .tensor = LL_NONE,
                          .rows = {task->rows[0], task->rows[1]},
                          .columns = {columns[0], columns[1]}};
    struct key key =
        key_of(KEY_OUT, making->n, making->step, (uint64_t)making->band * making->parts + making->part,
               together ? 0 : making->block);
    uint32_t piece = piece_of(program, key, &fresh);
    if (piece == LL_NONE)
        return;
    if (task->begins) {
        double bytes = making->slices > 1 ? fmax(fresh.bytes, 4 * cells) : fresh.bytes;
        uint32_t copy = new_copy(program, piece, pool, program->chip->pools[pool].end, bytes);
        if (copy == LL_NONE)
            return;
        program->copies[copy].uses = 1;
        program->pieces[piece].made = copy;
    }
    task->out = program->pieces[piece].made;
    program->copies[task->out].last_task = (uint32_t)program->task_count - 1;
    if (task->ends && is_stored(program, making->n))
        store(program, making, piece);
}

/* The newest task's time and energy. False when its core cannot run it. */
static bool price(struct program *program, const struct making *making)
{
    const struct node *node = &program->graph->nodes[making->n];
    struct task *task = &program->tasks[program->task_count - 1];
    double share = node->flowing ? (double)(task->rows[1] - task->rows[0]) / (double)node->rows : 1;
    struct ll_work work =
        node->flowing ? *node->work
                      : part_of_work(node, task->rows[1] - task->rows[0], task->columns[1] - task->columns[0],
                                     task->depth[1] - task->depth[0]);
    const struct tile_cost *cost = chip_cost(program->chip, node->type, node->kind, &work);
    if (!cost)
        return false;
    bool first = making->step == 0 && making->block == 0 && making->slice == 0;
    task->time_s = cost->time_s * share + (first ? cost->overhead_s : 0);
    task->compute_j = cost->compute_j * share;
    task->energy_j = (cost->compute_j + cost->moving_j) * share;
    return true;
}

static bool add_task(struct program *program, struct making *making)
{
    const struct node *node = &program->graph->nodes[making->n];
    uint64_t lo = *mark_of(program, making->n, making->band, making->step);
    uint64_t hi = *mark_of(program, making->n, making->band, making->step + 1);
    uint64_t first = node->columns * making->part / making->parts;
    uint64_t end = node->columns * (making->part + 1u) / making->parts;
    uint64_t from = first + (end - first) * making->block / making->blocks;
    uint64_t to = first + (end - first) * (making->block + 1u) / making->blocks;
    if (hi <= lo || to <= from)
        return true;
    if (!ll_grow(&program->tasks, &program->task_room, program->task_count + 1, sizeof *program->tasks)) {
        program->failed = true;
        return false;
    }
    bool alone = program->plan.first == program->plan.last;
    making->task = &program->tasks[program->task_count++];
    *making->task = (struct task){.node = making->n,
                                  .step = making->step,
                                  .core = core_of(program, making->n, making->band, making->part),
                                  .begins = making->slice == 0 && (making->block == 0 || alone),
                                  .ends = making->slice + 1 == making->slices &&
                                          (making->block + 1 == making->blocks || alone),
                                  .first_ref = (uint32_t)program->ref_count,
                                  .first_alloc = (uint32_t)program->alloc_count,
                                  .rows = {lo, hi},
                                  .columns = {from, to},
                                  .depth = {node->depth * making->slice / making->slices,
                                            node->depth * (making->slice + 1u) / making->slices}};
    read_all(program, making);
    make_result(program, making);
    struct task *task = &program->tasks[program->task_count - 1];
    task->alloc_count = (uint32_t)program->alloc_count - task->first_alloc;
    return !program->failed && price(program, making);
}

/* Blocks of columns and of depth into which a part of a node is cut. */
static void cut_of(const struct program *program, uint32_t n, uint32_t *blocks, uint32_t *slices)
{
    const struct stack_plan *plan = &program->plan;
    const struct node *node = &program->graph->nodes[n];
    *slices = 1;
    *blocks = 1;
    if (plan->first == plan->last) {
        *slices = (uint32_t)ll_min(plan->depth_blocks, node->depth);
        *blocks = (uint32_t)ll_min(plan->column_blocks, ll_max(node->columns / parts_of(program, n), 1));
        return;
    }
    double bytes = 0;
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (program->graph->edges[node->first_edge + i].weight)
            bytes += program->graph->edges[node->first_edge + i].bytes;
    uint64_t most = ll_max(node->columns / parts_of(program, n), 1);
    if (plan->weights_room > 0 && bytes > 0)
        *blocks = (uint32_t)fmin((double)most, ceil(bytes / parts_of(program, n) / plan->weights_room));
}

/* A row of tiles of one node: a step, of all blocks or of one. */
static bool add_step(struct program *program, uint32_t n, uint32_t step, uint32_t block, uint32_t block_end,
                     uint32_t *round)
{
    struct making making = {.n = n, .step = step, .parts = parts_of(program, n)};
    cut_of(program, n, &making.blocks, &making.slices);
    for (making.block = block; making.block < ll_min(block_end, making.blocks); making.block++)
        for (making.slice = 0; making.slice < making.slices; making.slice++) {
            making.round = (*round)++;
            for (making.band = 0; making.band < program->plan.bands; making.band++)
                for (making.part = 0; making.part < making.parts; making.part++)
                    if (!add_task(program, &making))
                        return false;
        }
    return true;
}

static bool add_tasks(struct program *program, uint64_t most)
{
    const struct stack_plan *plan = &program->plan;
    uint32_t round = 1;
    if (plan->columns_outer) {
        uint32_t blocks, slices;
        cut_of(program, plan->first, &blocks, &slices);
        for (uint32_t j = 0; j < blocks; j++)
            for (uint32_t s = 0; s < plan->steps; s++)
                if (program->task_count > most || !add_step(program, plan->first, s, j, j + 1, &round))
                    return false;
        return true;
    }
    for (uint32_t s = 0; s < plan->steps; s++)
        for (uint32_t n = plan->first; n <= plan->last; n++)
            if (program->task_count > most || !add_step(program, n, s, 0, UINT32_MAX, &round))
                return false;
    return true;
}

/* --- what holds whatever the schedule --- */

/* Whether at each task of the order all that lies in its core's memories finds room: then no schedule that
 * makes room in this order comes to a stop. */
static bool fits(struct program *program)
{
    const struct chip *chip = program->chip;
    double *held = calloc(chip->pool_count + 1, sizeof *held);
    uint32_t *first = malloc((program->task_count + 1) * sizeof *first);
    uint32_t *next = malloc((program->copy_count + 1) * sizeof *next);
    bool good = held && first && next;
    program->failed = program->failed || !good;
    for (uint64_t t = 0; good && t < program->task_count; t++)
        first[t] = LL_NONE;
    for (uint32_t c = 0; good && c < program->copy_count; c++) {
        next[c] = first[program->copies[c].last_task];
        first[program->copies[c].last_task] = c;
    }
    for (uint64_t t = 0; good && t < program->task_count; t++) {
        const struct task *task = &program->tasks[t];
        for (uint32_t a = 0; good && a < task->alloc_count; a++) {
            const struct copy *copy = &program->copies[program->allocs[task->first_alloc + a]];
            held[copy->pool] += copy->bytes;
            good = held[copy->pool] <= chip->pools[copy->pool].capacity_bytes;
        }
        for (uint32_t c = first[t]; c != LL_NONE; c = next[c])
            held[program->copies[c].pool] -= program->copies[c].bytes;
    }
    free(held);
    free(first);
    free(next);
    return good;
}

/* Marks each link that a transfer takes; the ways out of one end part as late as they can, so each is
 * taken once. */
static void add_loads(const struct program *program, const struct transfer *transfer, double *loads,
                      uint32_t *seen, uint32_t stamp)
{
    const struct chip *chip = program->chip;
    uint32_t copy = transfer->first_there;
    do {
        uint16_t to = copy == LL_NONE ? chip_memory(chip) : program->copies[copy].end;
        const struct route *route = &chip->routes[(size_t)transfer->from * chip->ends + to];
        for (uint16_t i = 0; i < route->count; i++)
            if (seen[route->links[i]] != stamp) {
                seen[route->links[i]] = stamp;
                loads[route->links[i]] += transfer->bytes;
            }
        copy = copy == LL_NONE ? LL_NONE : program->copies[copy].next_there;
    } while (copy != LL_NONE);
}

/* The busiest core, the busiest link. */
static bool find_bound(struct program *program)
{
    const struct chip *chip = program->chip;
    double *loads = calloc(chip->link_count + chip->core_count + 1, sizeof *loads);
    uint32_t *seen = calloc(chip->link_count + 1, sizeof *seen);
    bool good = loads && seen;
    program->bound_s = 0;
    for (uint64_t t = 0; good && t < program->transfer_count; t++)
        add_loads(program, &program->transfers[t], loads, seen, (uint32_t)t + 1);
    for (uint64_t t = 0; good && t < program->task_count; t++)
        loads[chip->link_count + program->tasks[t].core] += program->tasks[t].time_s;
    for (uint32_t l = 0; good && l < chip->link_count; l++)
        program->bound_s = fmax(program->bound_s, loads[l] / chip->links[l].Bps);
    for (uint32_t c = 0; good && c < chip->core_count; c++)
        program->bound_s = fmax(program->bound_s, loads[chip->link_count + c]);
    program->failed = program->failed || !good;
    free(loads);
    free(seen);
    return good;
}

bool program_make(struct program *program, const struct stack_plan *plan, uint64_t most)
{
    program->plan = *plan;
    program->task_count = program->copy_count = program->piece_count = program->transfer_count = 0;
    program->ref_count = program->alloc_count = program->key_count = 0;
    program->failed = false;
    if (program->key_room)
        memset(program->key_pieces, 0, program->key_room * sizeof *program->key_pieces);
    if (plan->bands > 1 && !bands_stand_apart(program))
        return false;
    return find_marks(program) && add_tasks(program, most) && fits(program) && find_bound(program);
}

void program_release(struct program *program)
{
    free(program->tasks);
    free(program->copies);
    free(program->pieces);
    free(program->transfers);
    free(program->refs);
    free(program->allocs);
    free(program->where);
    free(program->keys);
    free(program->key_pieces);
    free(program->marks);
    free(program->outs);
}
