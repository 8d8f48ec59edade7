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
 * Through a group of GEMMs or convolutions and what stands between them columns (channels) go block by
 * block, so that no row of what lies between is ever there as a whole; the GEMM or convolution at the end
 * takes a block as a part of its depth. Of a window of several rows the last ones of all blocks stay until
 * the next step:
 *
 *       block    0    1    2
 *       left     #    #    #                 columns of the block, each from all rows' depth
 *       right    #    #    #
 *       gate     #    #    #
 *       down     +    +    +                 all columns, a sum over blocks that stays until the last
 *
 * The order of the tiles is one in which they could run one by one. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fusion/fusion_parts.h"

enum key_tag { KEY_OUT = 1, KEY_WEIGHT, KEY_ROWS, KEY_WHOLE, KEY_AGAIN, KEY_BLOCK };

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

static bool is_alone(const struct program *program)
{
    return program->plan.first == program->plan.last;
}

static enum role role_of(const struct program *program, uint32_t n)
{
    bool flows = !is_alone(program) && program->plan.column_blocks > 1;
    return flows ? (enum role)program->roles[n - program->plan.first] : ROLE_WHOLE;
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

/* --- groups through which columns go block by block --- */

/* Whether the columns and depth of a GEMM or a convolution can be cut, its weights with them. */
static bool cuts_columns(const struct graph *graph, const struct node *node)
{
    bool weights = false;
    for (uint32_t i = 0; i < node->edge_count; i++)
        weights = weights || graph->edges[node->first_edge + i].weight;
    return node->heavy && weights && node->depth > 1 && !node->flowing;
}

/* What a node does in the group that begins at `first`; ROLE_WHOLE: it is none of it. */
static enum role role_in_group(const struct program *program, uint32_t first, uint32_t n)
{
    const struct graph *graph = program->graph;
    const struct node *node = &graph->nodes[n];
    bool gemm = cuts_columns(graph, node), reads = false;
    for (uint32_t i = 0; i < node->edge_count; i++) {
        const struct edge *edge = &graph->edges[node->first_edge + i];
        if (edge->source == LL_NONE || edge->source < first)
            continue;
        uint64_t columns = graph->nodes[edge->source].columns;
        bool rows = edge->map == ROWS_SAME || (edge->map == ROWS_WINDOW && edge->stride > 0);
        bool block = program->roles[edge->source - program->plan.first] == ROLE_BLOCK && rows;
        bool fits =
            gemm ? edge->along_k && columns == node->depth : edge->by_column && columns == node->columns;
        if (!block || !fits)
            return ROLE_WHOLE;
        reads = true;
    }
    return gemm ? (reads ? ROLE_SUM : ROLE_BLOCK) : reads && !node->flowing ? ROLE_BLOCK : ROLE_WHOLE;
}

uint64_t program_groups(struct program *program, uint32_t first, uint32_t last)
{
    uint64_t count = (uint64_t)last - first + 1, most = UINT64_MAX;
    program->plan = (struct stack_plan){.first = first, .last = last};
    if (!ll_grow(&program->roles, &program->role_room, count, sizeof *program->roles) ||
        !ll_grow(&program->groups, &program->group_room, count, sizeof *program->groups)) {
        program->failed = true;
        return 1;
    }
    for (uint32_t n = first, begin; n <= last;) {
        for (begin = n; n <= last; n++) {
            enum role role = role_in_group(program, begin, n);
            const struct node *node = &program->graph->nodes[n];
            program->roles[n - first] = (uint8_t)role;
            if (role == ROLE_WHOLE)
                break;
            most = ll_min(most, role == ROLE_SUM ? node->depth : node->columns);
        }
        n += n == begin;
        program->groups[begin - first] = n - 1;
    }
    return most == UINT64_MAX ? 1 : most;
}

uint32_t program_side_by_side(const struct program *program, uint32_t n)
{
    const struct graph *graph = program->graph;
    uint32_t begin = program->plan.first;
    while (n > begin && program->roles[n - begin] == ROLE_BLOCK && cuts_columns(graph, &graph->nodes[n]) &&
           program->roles[n - 1 - begin] == ROLE_BLOCK && cuts_columns(graph, &graph->nodes[n - 1]))
        n--;
    return n;
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
    uint64_t part = edge->by_column && making->parts > 1 ? making->part + 1u : 0;
    uint64_t slice = edge->along_k && making->slices > 1 ? making->slice + 1u : 0;
    bool block = edge->by_column && role_of(program, making->n) == ROLE_BLOCK;
    if (block) {
        columns[0] = task.columns[0];
        columns[1] = task.columns[1];
    } else if (edge->by_column) {
        columns[0] = node->columns * making->part / making->parts;
        columns[1] = node->columns * (making->part + 1u) / making->parts;
    } else if (edge->along_k) {
        columns[0] = task.depth[0];
        columns[1] = task.depth[1];
    }
    double share = (double)(columns[1] - columns[0]) / (double)edge->columns;
    uint64_t instance = block || !program->plan.keep_inputs ? making->block + 1u : 0;
    /* What comes again for each block comes once for GEMMs side by side, else for each node by itself. */
    bool again = !program->plan.keep_inputs && !is_alone(program);
    uint64_t beside = again ? program_side_by_side(program, making->n) - program->plan.first : 0;
    enum key_tag tag = block ? KEY_BLOCK : again ? KEY_AGAIN : KEY_ROWS;
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
        struct key key = key_of(tag, (uint64_t)edge->tensor << 6 | beside, lo, now.hi,
                                part << 24 | slice << 12 | instance);
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
    uint32_t parts = parts_of(program, edge->source), blocks = 1;
    if (role_of(program, edge->source) == ROLE_BLOCK)
        blocks = program->plan.column_blocks;
    uint32_t first_block = (uint32_t)fmax(0, floor(from * blocks) - 1);
    uint32_t last_block = (uint32_t)fmin(blocks - 1, ceil(to * blocks));
    for (uint32_t s = making->step + 1; s-- > 0;) {
        uint64_t lo = *mark_of(program, edge->source, making->band, s);
        uint64_t hi = *mark_of(program, edge->source, making->band, s + 1);
        if (hi <= lo || lo >= needed.hi)
            continue;
        if (hi <= needed.lo)
            break;
        for (uint32_t p = 0; p < parts; p++)
            for (uint32_t j = first_block; j <= last_block; j++) {
                struct key key = key_of(KEY_OUT, edge->source, s, (uint64_t)making->band * parts + p, j);
                uint32_t piece = piece_of(program, key, NULL);
                if (piece == LL_NONE) /* a block has fewer columns than there are parts */
                    continue;
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

/* Whether each block of columns is a result by itself: of one op, and in a group; else all blocks of a core
 * are one. */
static bool blocks_apart(const struct program *program, uint32_t n)
{
    return is_alone(program) || role_of(program, n) == ROLE_BLOCK;
}

/* The tile adds to its result, for which the first one along k makes room. Sums in progress take four
 * bytes. */
static void make_result(struct program *program, const struct making *making)
{
    const struct node *node = &program->graph->nodes[making->n];
    struct task *task = &program->tasks[program->task_count - 1];
    bool together = !blocks_apart(program, making->n);
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
    uint64_t rows = node->flowing ? node->rows : task->rows[1] - task->rows[0],
             columns = task->columns[1] - task->columns[0], depth = task->depth[1] - task->depth[0];
    struct key key = key_of(0, making->n, rows, columns, depth);
    struct priced *known = &program->priced[hash_of(key) % PRICED_TILES];
    if (known->node != making->n || known->rows != rows || known->columns != columns ||
        known->depth != depth) {
        struct ll_work work = node->flowing ? *node->work : part_of_work(node, rows, columns, depth);
        const struct tile_cost *found = chip_cost(program->chip, node->type, node->kind, &work);
        if (!found)
            return false;
        *known = (struct priced){making->n, rows, columns, depth, *found};
    }
    const struct tile_cost *cost = &known->cost;
    bool first = making->step == 0 && making->block == 0 && making->slice == 0;
    task->time_s = cost->time_s * share + (first ? cost->overhead_s : 0);
    task->compute_j = cost->compute_j * share;
    task->energy_j = (cost->compute_j + cost->moving_j) * share;
    return true;
}

/* Columns of a tile: of one core's part a block; in a group of a block the core's part. */
static void find_columns(const struct program *program, const struct making *making, uint64_t *from,
                         uint64_t *to)
{
    bool block_first = role_of(program, making->n) == ROLE_BLOCK;
    uint64_t columns = program->graph->nodes[making->n].columns;
    uint64_t outer = block_first ? making->block : making->part,
             outer_count = block_first ? making->blocks : making->parts;
    uint64_t inner = block_first ? making->part : making->block,
             inner_count = block_first ? making->parts : making->blocks;
    uint64_t first = columns * outer / outer_count, end = columns * (outer + 1) / outer_count;
    *from = first + (end - first) * inner / inner_count;
    *to = first + (end - first) * (inner + 1) / inner_count;
}

static bool add_task(struct program *program, struct making *making)
{
    const struct node *node = &program->graph->nodes[making->n];
    uint64_t lo = *mark_of(program, making->n, making->band, making->step);
    uint64_t hi = *mark_of(program, making->n, making->band, making->step + 1);
    uint64_t from, to;
    find_columns(program, making, &from, &to);
    if (hi <= lo || to <= from)
        return true;
    if (!ll_grow(&program->tasks, &program->task_room, program->task_count + 1, sizeof *program->tasks)) {
        program->failed = true;
        return false;
    }
    bool apart = blocks_apart(program, making->n);
    making->task = &program->tasks[program->task_count++];
    *making->task = (struct task){.node = making->n,
                                  .step = making->step,
                                  .core = core_of(program, making->n, making->band, making->part),
                                  .begins = making->slice == 0 && (making->block == 0 || apart),
                                  .ends = making->slice + 1 == making->slices &&
                                          (making->block + 1 == making->blocks || apart),
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
    enum role role = role_of(program, n);
    *slices = 1;
    *blocks = 1;
    if (is_alone(program)) {
        *slices = (uint32_t)ll_min(plan->depth_blocks, node->depth);
        *blocks = (uint32_t)ll_min(plan->column_blocks, ll_max(node->columns / parts_of(program, n), 1));
        return;
    }
    if (role == ROLE_BLOCK) {
        *slices = (uint32_t)ll_min(ll_max(plan->depth_blocks, 1), node->depth);
        *blocks = plan->column_blocks;
        return;
    }
    *slices = role == ROLE_SUM ? plan->column_blocks : 1;
    double bytes = 0;
    for (uint32_t i = 0; i < node->edge_count; i++)
        if (program->graph->edges[node->first_edge + i].weight)
            bytes += program->graph->edges[node->first_edge + i].bytes / *slices;
    uint64_t most = ll_max(node->columns / parts_of(program, n), 1);
    if (plan->weights_room > 0 && bytes > 0)
        *blocks = (uint32_t)fmin((double)most, ceil(bytes / parts_of(program, n) / plan->weights_room));
}

/* From the first to before the last. */
struct span {
    uint32_t first, end;
};

static const struct span all = {0, UINT32_MAX};

/* A row of tiles of one node: of a step those of some blocks and slices. */
static bool add_step(struct program *program, uint32_t n, uint32_t step, struct span blocks,
                     struct span slices, uint32_t *round)
{
    struct making making = {.n = n, .step = step, .parts = parts_of(program, n)};
    cut_of(program, n, &making.blocks, &making.slices);
    for (making.block = blocks.first; making.block < ll_min(blocks.end, making.blocks); making.block++)
        for (making.slice = slices.first; making.slice < ll_min(slices.end, making.slices); making.slice++) {
            making.round = (*round)++;
            for (making.band = 0; making.band < program->plan.bands; making.band++)
                for (making.part = 0; making.part < making.parts; making.part++)
                    if (!add_task(program, &making))
                        return false;
        }
    return true;
}

/* How far nodes from first to last run behind those that feed them: a tile for each change of kind of core
 * on the way, so that no kind waits for what another one makes of its own latest tile. Returns the most. */
static uint32_t find_lags(struct program *program, uint32_t first, uint32_t last)
{
    const struct graph *graph = program->graph;
    uint32_t *lags = program->lags, begin = program->plan.first, most = 0;
    for (uint32_t n = first; n <= last; n++) {
        const struct node *node = &graph->nodes[n];
        lags[n - begin] = 0;
        for (uint32_t i = 0; program->plan.overlaps && i < node->edge_count; i++) {
            uint32_t source = graph->edges[node->first_edge + i].source;
            if (source != LL_NONE && source >= first)
                lags[n - begin] = (uint32_t)ll_max(
                    lags[n - begin], lags[source - begin] + (graph->nodes[source].type != node->type));
        }
        most = (uint32_t)ll_max(most, lags[n - begin]);
    }
    return most;
}

/* A block of a node, or of GEMMs side by side, these share by share of their depth. */
static bool add_block(struct program *program, uint32_t first, uint32_t end, uint32_t step, uint32_t block,
                      uint64_t most, uint32_t *round)
{
    struct span one = {block, block + 1};
    bool sum = role_of(program, first) == ROLE_SUM;
    if (end == first + 1)
        return program->task_count <= most &&
               add_step(program, first, step, sum ? all : one, sum ? one : all, round);
    for (uint32_t s = 0; s < ll_max(program->plan.depth_blocks, 1); s++)
        for (uint32_t n = first; n < end; n++)
            if (program->task_count > most ||
                !add_step(program, n, step, one, (struct span){s, s + 1}, round))
                return false;
    return true;
}

/* A step of a group, block by block; or of a node. */
static bool add_group(struct program *program, uint32_t first, uint32_t step, uint64_t most, uint32_t *round)
{
    const struct stack_plan *plan = &program->plan;
    if (role_of(program, first) == ROLE_WHOLE)
        return add_step(program, first, step, all, all, round);
    uint32_t last = program->groups[first - plan->first], late = find_lags(program, first, last);
    for (uint32_t turn = 0; turn < plan->column_blocks + late; turn++)
        for (uint32_t n = first, end; n <= last; n = end) {
            uint32_t j = turn - program->lags[n - plan->first]; /* wraps to what there is not */
            for (end = n + 1; end <= last && program_side_by_side(program, end) == n; end++) {
            }
            if (j < plan->column_blocks && !add_block(program, n, end, step, j, most, round))
                return false;
        }
    return true;
}

/* Steps of all nodes, none of them in a group. */
static bool add_rows(struct program *program, uint64_t most, uint32_t *round)
{
    const struct stack_plan *plan = &program->plan;
    uint32_t late = find_lags(program, plan->first, plan->last);
    for (uint32_t turn = 0; turn < plan->steps + late; turn++)
        for (uint32_t n = plan->first; n <= plan->last; n++) {
            uint32_t step = turn - program->lags[n - plan->first];
            if (step >= plan->steps)
                continue;
            if (program->task_count > most || !add_step(program, n, step, all, all, round))
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
                if (program->task_count > most ||
                    !add_step(program, plan->first, s, (struct span){j, j + 1}, all, &round))
                    return false;
        return true;
    }
    if (is_alone(program) || plan->column_blocks <= 1)
        return add_rows(program, most, &round);
    for (uint32_t s = 0; s < plan->steps; s++)
        for (uint32_t n = plan->first; n <= plan->last; n++) {
            if (program->task_count > most || !add_group(program, n, s, most, &round))
                return false;
            if (role_of(program, n) != ROLE_WHOLE)
                n = program->groups[n - plan->first];
        }
    return true;
}

/* --- all together --- */

bool program_make(struct program *program, const struct stack_plan *plan, uint64_t most)
{
    bool flows = plan->first != plan->last && plan->column_blocks > 1;
    program->failed =
        !ll_grow(&program->lags, &program->lag_room, plan->last - plan->first + 1u, sizeof *program->lags);
    if (program->failed)
        return false;
    if (flows && plan->column_blocks > program_groups(program, plan->first, plan->last))
        return false;
    program->plan = *plan;
    program->task_count = program->copy_count = program->piece_count = program->transfer_count = 0;
    program->ref_count = program->alloc_count = program->key_count = 0;
    if (program->key_room)
        memset(program->key_pieces, 0, program->key_room * sizeof *program->key_pieces);
    if (plan->bands > 1 && !bands_stand_apart(program))
        return false;
    return find_marks(program) && add_tasks(program, most) && program_fits(program) && program_bound(program);
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
    free(program->roles);
    free(program->lags);
    free(program->groups);
}
