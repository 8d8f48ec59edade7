/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room offer to each other: the graph, the chip, programs of tiles, their schedules.
 * Private to sim/fusion. */
#ifndef LL_SIM_FUSION_FUSION_PARTS_H
#define LL_SIM_FUSION_FUSION_PARTS_H

#include "sim/fusion/fusion.h"
#include "tracer/base/map.h"

/* --- the graph: graph.c --- */

/* Which rows of an input a row of the result needs: the same one; a window of them; all. */
enum rows_map { ROWS_SAME, ROWS_WINDOW, ROWS_ALL };

/* An operand that a node reads. */
struct edge {
    uint32_t source; /* the node that makes it; LL_NONE: it lies in the outermost memory */
    uint32_t tensor; /* resolved through views */
    enum rows_map map;
    /* Of a window, rows of an image; a stride of 0: the image is a matrix of a batch, all of it is needed. */
    uint64_t stride, kernel, dilation, pad, in_h, out_h;
    uint64_t rows, columns; /* of the tensor */
    double bytes;
    bool weight;    /* cut as the node's columns and depth are */
    bool constant;  /* no op makes it: it is read once */
    bool along_k;   /* its columns are the node's depth */
    bool by_column; /* a column of the result needs the same column alone */
};

/* An op that takes time. */
struct node {
    uint32_t op, signature;
    enum ll_op_kind kind;
    const struct ll_work *work;
    uint64_t rows, columns; /* of the result */
    uint64_t depth;         /* k of a GEMM, channels of an image, where they can be cut; else 1 */
    double out_bytes;
    uint32_t first_edge, edge_count;
    uint32_t last_use; /* the last node that reads it; LL_NONE: none does, it is a result of the step */
    uint32_t type;     /* kind of core that runs it */
    bool heavy;        /* multiplies matrices */
    bool flowing; /* nobody knows its rows: each share of it reads a share of all it reads, whichever it is */
};

struct graph {
    struct node *nodes;
    struct edge *edges;
    uint32_t node_count, edge_count;
};

/* Rows [lo, hi) of the edge's tensor that rows [from, to) of the node need; to > from. Pure. */
struct row_range {
    uint64_t lo, hi;
};
struct row_range rows_needed(const struct edge *edge, uint64_t from, uint64_t to);

/* The work of a part of a node: so many rows, columns and elements along k. Pure. */
struct ll_work part_of_work(const struct node *node, uint64_t rows, uint64_t columns, uint64_t depth);

/* --- the chip: chip.c --- */

struct pool {
    double capacity_bytes;
    uint32_t level; /* of the machine */
    uint16_t end;   /* the core beside which it lies, the first one of several */
};

struct link {
    double Bps, latency_s, j_per_byte;
    uint32_t spec; /* index in the machine's core_links; UINT32_MAX: the outermost memory itself */
};

struct route {
    uint16_t *links;
    uint16_t count;
};

struct tile_cost {
    double time_s, overhead_s, compute_j, moving_j;
};

struct chip {
    const struct ll_machine *machine;
    struct ll_one_core *types; /* what tiles cost: behind a core's memories, all comes at once */
    uint32_t type_count, core_count, pool_count, link_count;
    uint16_t type_of[LL_MOST_CORES], first_of[LL_MAX_CORE_TYPES], domain_of[LL_MOST_CORES];
    uint16_t pool_of[LL_MOST_CORES][LL_OPERAND_COUNT];
    struct pool pools[LL_MOST_CORES * LL_OPERAND_COUNT];
    struct link *links;
    struct route *routes; /* from * ends + to */
    uint16_t ends;        /* cores, and the outermost memory as the last one */
    struct ll_map keys;   /* of tile costs */
    struct tile_cost *costs;
    uint64_t cost_capacity;
};

bool chip_open(struct chip *chip, const struct ll_machine *machine, struct ll_arena *arena);
void chip_close(struct chip *chip);

/* What a tile costs on a kind of core; NULL when it cannot run there, or memory ran out. Good until the next
 * call. */
const struct tile_cost *chip_cost(struct chip *chip, uint32_t type, enum ll_op_kind kind,
                                  const struct ll_work *work);

static inline uint16_t chip_memory(const struct chip *chip)
{
    return (uint16_t)(chip->ends - 1);
}

/* --- programs of tiles: program.c --- */

/* How a stack of nodes is run. */
struct stack_plan {
    uint32_t first, last;    /* nodes */
    uint32_t bands, columns; /* cores side by side along rows; along columns */
    uint32_t steps;          /* tiles of rows of a band */
    bool pipeline;           /* each heavy node on a core of its own */
    bool overlaps;      /* what feeds another kind of core runs a tile ahead of it, of each change of kind */
    bool columns_outer; /* of one node: all rows of a block of columns, before the next block */
    bool keep_inputs, keep_weights;
    /* Of one node: blocks of its columns, of its depth. Of several: blocks of columns that go one after another
     * through each group of nodes (enum role), 0 or 1: none do; and what the depth of those that read no
     * other of the group is cut into. */
    uint32_t column_blocks, depth_blocks;
    double weights_room; /* bytes of a block of weights of other nodes, of several; 0: all of them */
};

/* What a node of a stack does with a block of columns: nothing, it has all of them; it makes the block; it
 * takes the block as a part of its depth and adds to its result. A group is a run of neighbours that do
 * something, which no sum of its own feeds. */
enum role { ROLE_WHOLE, ROLE_BLOCK, ROLE_SUM };

/* A piece of a tensor: as it is moved, or made by a tile. */
struct piece {
    double bytes;
    uint32_t node;     /* whose result it is; of others the first that reads it */
    uint32_t tensor;   /* of one that comes from the outermost memory */
    uint32_t made;     /* copy where it is made; LL_NONE: it comes from the outermost memory */
    uint32_t transfer; /* the latest one */
    uint32_t step;     /* of that */
    uint64_t rows[2], columns[2];
};

/* A piece in the memory of a core. */
struct copy {
    uint32_t piece;
    uint16_t pool, end;
    double bytes;
    uint32_t first_task, last_task; /* which makes room for it; behind which no order of tasks needs it */
    uint32_t read_by;               /* the newest task that reads it, plus 1 */
    uint32_t uses;                  /* tasks that read it, transfers out of it, and 1 while it is made */
    uint32_t transfer;              /* that brings it; LL_NONE: made here */
    uint32_t next_there;            /* copy of the same transfer */
    uint32_t first_out;             /* transfers out of it */
};

struct transfer {
    uint32_t piece, from_copy; /* LL_NONE: out of the outermost memory */
    uint32_t first_there;      /* copies; LL_NONE: into the outermost memory */
    uint16_t from, there_count;
    uint32_t next_out;
    double bytes;
};

struct task {
    uint32_t node, step;
    uint16_t core;
    bool begins, ends;                 /* the first, the last along k */
    uint32_t first_ref, ref_count;     /* copies that it reads */
    uint32_t first_alloc, alloc_count; /* copies that it makes room for */
    uint32_t out;                      /* copy */
    double time_s, energy_j, compute_j;
    uint64_t rows[2], columns[2], depth[2];
};

/* What a tile of a node costs, remembered; rows 0: nothing yet. */
struct priced {
    uint32_t node;
    uint64_t rows, columns, depth;
    struct tile_cost cost;
};

enum { PRICED_TILES = 256 };

struct program {
    const struct graph *graph;
    struct chip *chip;
    struct stack_plan plan;
    struct task *tasks;
    struct copy *copies;
    struct piece *pieces;
    struct transfer *transfers;
    uint32_t *refs, *allocs, *where; /* where: piece * pools + pool, copy + 1 */
    uint64_t task_count, copy_count, piece_count, transfer_count, ref_count, alloc_count;
    uint64_t task_room, copy_room, piece_room, transfer_room, ref_room, alloc_room, where_room;
    uint64_t *keys; /* open addressing: key, piece + 1 */
    uint32_t *key_pieces;
    uint64_t key_room, key_count;
    uint64_t *marks;  /* rows reached by node and band, behind each step */
    uint8_t *roles;   /* enum role, by node of the stack */
    uint32_t *groups; /* by node of the stack: the last node of the group that begins there */
    uint32_t *lags;   /* by node of the stack: tiles by which it runs behind, in a plan that overlaps */
    uint64_t mark_room, role_room, group_room, lag_room;
    struct priced priced[PRICED_TILES]; /* by a hash; holds whatever the plan */
    double bound_s;                     /* no schedule is shorter */
    bool failed;                        /* memory ran out */
};

/* The tiles of a plan, in an order in which they could run one by one. False when it does not fit the
 * memories, when it has more than `most` tiles, or when memory ran out (failed). What it had before is
 * lost. */
bool program_make(struct program *program, const struct stack_plan *plan, uint64_t most);

/* The first of the GEMMs beside a node of a group that make a block one after another and share what they
 * read from outside, share by share along the depth. Roles are set. */
uint32_t program_side_by_side(const struct program *program, uint32_t n);

/* The most blocks of columns that can go through the groups of a stack; 1 where it has none, or memory ran
 * out (failed). Sets roles and groups; leaves the program without tiles. */
uint64_t program_groups(struct program *program, uint32_t first, uint32_t last);
void program_release(struct program *program);

/* --- what holds whatever the schedule: bound.c --- */

/* Whether all that lies in the memories at each tile finds room there. False also when memory ran out
 * (failed). */
bool program_fits(struct program *program);

/* Sets bound_s, of the busiest core and the busiest link. False when memory ran out (failed). */
bool program_bound(struct program *program);

/* --- schedules: schedule.c --- */

/* When each task and transfer begins and ends, from the begin of the stack. */
struct schedule {
    double *task_start_s, *task_end_s, *transfer_start_s, *transfer_end_s;
    uint64_t task_room, transfer_room, start_room, end_room;
    double time_s;
    double *pool_peak; /* by pool: most bytes */
    uint64_t peak_room;
    bool recording; /* the following are wanted */
    struct ll_fusion_rate *rates;
    uint64_t rate_count, rate_room;
    struct ll_fusion_room *rooms;
    uint64_t room_count, room_room;
    void *scratch;
    uint64_t scratch_room;
    bool failed;
};

/* Plays a program, event by event. False when it would take longer than limit_s, which it is then left at,
 * or when memory ran out. */
bool schedule_make(struct schedule *schedule, const struct program *program, double limit_s);
void schedule_release(struct schedule *schedule);

#endif
