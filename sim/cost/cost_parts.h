/* SPDX-License-Identifier: Apache-2.0 */
/* The types that the files of this room share, and what each file offers to the others, in the order in which
 * a cost is found: the task behind a work, algorithms, tiles and tilings, traffic, stages, timing.
 *
 * One file because these types refer to each other: a reader of one chapter looks up its words here. */
#ifndef LL_SIM_COST_COST_PARTS_H
#define LL_SIM_COST_COST_PARTS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cost/blocking.h"
#include "sim/cost/cost.h"
#include "sim/machine/machine.h"
#include "tracer/ir/work.h"

/* What passes out of a level, as a stage of an op (cost.h). */

struct ll_stage {
    double whole_s, first_s; /* of the whole, what the first piece takes; */
    double others_s;         /* and behind it, the first pieces of other units */
    double wait_s;           /* latencies beside it */
};

/* What of a level's stage does not depend on how much passes. */
struct ll_intake {
    double first_s;     /* what a first piece takes */
    double pieces;      /* first pieces that one instance provides, one after the other */
    double wait_s;      /* the latencies of dependent accesses */
    double line_bytes;  /* of the cache further in; 0: there is none */
    double saved_bytes; /* that need not pass, because earlier ops left them further in */
};

/* Bytes of a line of the cache inside of a level; 0: there is none. Pure. */
static inline double ll_line_inside(const struct ll_machine *machine, uint64_t level)
{
    const struct ll_level *inside = level > 0 ? &machine->levels[level - 1] : NULL;
    return inside && inside->cache_given ? (double)inside->cache.line_bytes : 0;
}

/* What is left to move comes in lines of the cache further in: where that is less than a line, as what a law
 * of chance leaves in the mean, it is waited for as seldom. A level that has nothing left to move is not
 * waited for. level_s: what all of the bytes take. Grows with the bytes, and with level_s. Pure. */
static inline struct ll_stage ll_stage_of(const struct ll_intake *intake, double bytes, double level_s)
{
    double left = bytes - intake->saved_bytes;
    if (!(left > 0))
        return (struct ll_stage){0};
    double whole_s = left == bytes ? level_s : level_s * (left / bytes);
    double first_s = intake->first_s < whole_s ? intake->first_s : whole_s;
    double waits = left < intake->line_bytes ? left / intake->line_bytes : 1;
    double others_s = intake->pieces > 1 ? (intake->pieces - 1) * first_s : 0, rest_s = whole_s - first_s;
    return (struct ll_stage){.whole_s = whole_s,
                             .first_s = first_s,
                             .others_s = others_s < rest_s ? others_s : rest_s,
                             .wait_s = intake->wait_s * waits};
}

/* What a stage takes behind its first piece. */
static inline double ll_stage_rest_s(const struct ll_stage *stage)
{
    return stage->whole_s - stage->first_s;
}

/* Stages overlap, but for a level that holds one block at a time, which parts what fills it from what happens
 * further in. The group of stages that a level's belongs to: as many as there are such levels further in;
 * computing belongs to the first, 0. Pure. */
static inline uint32_t ll_stage_group(const struct ll_machine *machine, uint64_t level)
{
    uint32_t group = 0;
    for (uint64_t l = 0; l < level; l++)
        group += machine->levels[l].buffering == LL_BUFFER_SINGLE;
    return group;
}

/* Which unit of a machine does a piece of work, and in which type of number. */

/* The index in machine->units of the unit for work of this kind of op, and in *dtype the type in which it
 * computes: the work's own, or the nearest wider one that some unit has. A unit that lists the op kind in its
 * `runs` comes before those that list nothing, one whose `align` the sides suit before all. LL_NO_UNIT when
 * there is none. Pure. */
uint32_t ll_choose_unit(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                        enum ll_dtype *dtype);

/* What comes from the host, goes there, or comes back. */

/* A memory that lies in n nodes (NUMA), each with an n-th of its bandwidth beside an n-th of the units, and
 * a link of L bytes a second, each way, between any two.
 *
 * What an op moves lies evenly in all of them. The units that work are dealt to the nodes in turn, so that
 * w = min(n, units) nodes have some, and each moves as much. Pages go around the nodes (interleaved
 * placement), so each takes an n-th of that from every node, over each link bytes / (w n). So the links let
 * pass
 *
 *       L * n * w
 *
 * and an access takes the link's latency, too, as often as its data lie in another node. Pure. */

/* Nodes in which so many units work; 1 of a memory in one piece. */
uint64_t ll_numa_working(const struct ll_level *level, uint64_t units);

/* The share of what they move that comes from other nodes than their own, or goes there. */
double ll_numa_remote(const struct ll_level *level);

/* The most that the links let pass, in bytes a second; infinite where nothing crosses them. */
double ll_numa_Bps(const struct ll_level *level, uint64_t units);

/* What an access takes, on the average. */
double ll_numa_latency_s(const struct ll_level *level);

/* Tiles that are loaded, worked on and stored one after the other:
 *
 *       loaded[i] = max(loaded[i-1], worked[i-b]) + load[i]
 *       worked[i] = max(loaded[i], worked[i-1], stored[i-b]) + work[i]          b: buffers, 1 or 2
 *       stored[i] = max(worked[i], stored[i-1]) + store[i]
 *
 * With two buffers a tile loads into the one while the tile before it is worked on in the other. For n tiles
 * all alike, each stored, that gives load + work + store + (n - 1) max(load, work, store). Tiles at the edge
 * are smaller; the recurrence is followed exactly for all of them, however many there are. */

enum ll_dim { LL_DIM_M, LL_DIM_N, LL_DIM_K, LL_DIM_COUNT };

/* The loops at a boundary, outermost first, over tiles of the memory further in. */
struct ll_mapping_loops {
    uint64_t tile[LL_DIM_COUNT];
    enum ll_dim order[LL_DIM_COUNT];
};

enum { LL_TILE_LOOPS = 4 };

/* A nest of loops over tiles, outermost first. Loop d runs whole[d] times over a full extent and then, where
 * edge[d] > 0, once over that share of one. A tile takes times in proportion to its extents; at least one
 * loop round in each. */
struct ll_tile_nest {
    uint64_t whole[LL_TILE_LOOPS];
    double edge[LL_TILE_LOOPS];    /* 0, or below 1 */
    bool gathers;                  /* a result is stored once, behind the last round of the innermost loop */
    bool single;                   /* one buffer of each kind, not two */
    struct ll_mapping_loops loops; /* of a GEMM: loops 1 to 3, over its tiles */
    double rounds;                 /* of loop 0 of a GEMM; 0: the pieces of other work */
};

/* How many full tiles all tiles together are worth: fractional where there are edges. */
double ll_tile_volume(const struct ll_tile_nest *nest);

/* When the last result is stored, where loading, work and storing of all tiles take so long in sum, in
 * seconds. Never below the longest of the three, never above their sum. Takes time in the logarithm of the
 * number of tiles. Pure. */
double ll_pipeline_s(const struct ll_tile_nest *nest, double load_s, double work_s, double store_s);

/* Row reductions: kernels that go along rows of elements which depend on one another, as a softmax or a norm.
 *
 * A row is not shared by units. A unit works on `rows_in_flight` rows at once, all units in waves, of which
 * the last takes as long as a full one (wave quantization):
 *
 *       imbalance = ceil(rows / (units * rows_in_flight)) * units * rows_in_flight / rows
 *
 * A row too long for registers is read `passes` times. Memories inside the cache in front of the outermost
 * one see all of it. The outermost sees again what this cache has lost in between:
 *
 *       share kept = min(1, 3 / 2 * (1 - rows in progress / capacity))
 *
 * Where software fills the memory in front of the outermost one, it keeps all rows there, or none where they
 * do not find room. */

/* Share of the unit's rate that the kernel reaches for this work: rows in registers are computed at the full
 * rate. Pure, as the rest. */
double ll_rows_compute(const struct ll_kernel *kernel, const struct ll_work *work);

/* Time to begin the rows, or other unbroken runs of elements, of work that is no GEMM, shared evenly by so
 * many units; 0 for rows in registers. */
double ll_rows_begin_s(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units);

/* Bytes that pass through a unit for such work, what the kernel reads more than once as often. */
double ll_rows_bytes(const struct ll_kernel *kernel, const struct ll_work *work);

/* How many times as long as evenly dealt the unit computes that gets most rows, at least 1; 1 where the
 * kernel does not say how many rows a unit works on. */
double ll_rows_imbalance(const struct ll_kernel *kernel, const struct ll_work *work,
                         const struct ll_unit *unit);

/* Adds to the levels' traffic what the kernel reads more than once, on so many units. Nothing for GEMMs. */
void ll_rows_reread(const struct ll_machine *machine, const struct ll_kernel *kernel,
                    const struct ll_work *work, uint64_t units, struct ll_cost *cost);

/* Print how these come about, where they say anything. once: the traffic without what is read again, of which
 * level l is explained. */
struct ll_traffic;
void ll_rows_bytes_explain(const struct ll_kernel *kernel, const struct ll_work *work,
                           struct ll_explain *why);
void ll_rows_imbalance_explain(const struct ll_kernel *kernel, const struct ll_work *work,
                               const struct ll_unit *unit, struct ll_explain *why);
void ll_rows_reread_explain(const struct ll_machine *machine, const struct ll_kernel *kernel,
                            const struct ll_work *work, uint64_t units, const struct ll_traffic *once,
                            uint64_t l, struct ll_explain *why);

/* Rows picked by index, and what a memory makes of them: it moves whole accesses, and a dynamic memory opens
 * a row of its own for nearly each. What is picked from a small table comes again and again: beyond a memory
 * that has room for the table it passes once. All functions are pure. */

/* Bytes of rows that need not come out of level l, max(0, rows * row bytes - table bytes), where they come
 * through a memory further in that all units share and that has room for the table. Those of which each unit
 * has its own are left out, since each would load the table for itself. Zero for other work, and where rows
 * pass by level l. */
double ll_gather_reused_bytes(const struct ll_machine *machine, const struct ll_work *work, uint64_t l);

/* Bytes that level l moves beyond those of the work, because a row takes whole accesses. Rows are taken to
 * begin where an access begins. *written: those of them that are written. Zero for other work. */
double ll_gather_over_fetch(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                            double *written);

/* How many times as long level l takes for all that this work moves, waste included, as for as many bytes
 * in a stream. At least 1, and 1 for other work and other memories. */
double ll_gather_slowdown(const struct ll_machine *machine, const struct ll_work *work, uint64_t l);

/* Print how the three come about for level l, where they say anything: the table that passes once, the waste,
 * the slowdown. */
void ll_gather_table_explain(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                             struct ll_explain *why);
void ll_gather_bytes_explain(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                             struct ll_explain *why);
void ll_gather_explain(const struct ll_machine *machine, const struct ll_work *work, uint64_t l,
                       struct ll_explain *why);

/* The residual table as an overlay on the model (overlay.c). */

/* The shape by which the table is read: of a GEMM m with its batch, n and k; of other work its lines and the
 * bytes that it reads and writes. Each side at least 1. Pure. */
void ll_overlay_shape(const struct ll_work *work, uint64_t shape[3]);

/* What the machine's overlay makes of a cost that the model has found; all zero where it has none for this
 * kernel. Pure. */
struct ll_correction ll_overlay_of(const struct ll_machine *machine, const struct ll_kernel *kernel,
                                   const struct ll_work *work, const struct ll_cost *cost);

/* Multiplies the times of a cost, down to those at the unit's peak and at a level's whole bandwidth. */
void ll_overlay_apply(const struct ll_machine *machine, const struct ll_correction *by, struct ll_cost *cost);

/* What the software needs to start an op.
 *
 * Every way of doing an op occupies the host for as long (overhead_s), however many kernels it has: what a
 * way of several kernels takes beyond that delays this op and no other (more_s), as if another thread of the
 * host did it. So a way that is faster on the device never lets later ops wait longer for the host, and more
 * of any resource never makes a program slower. */

/* Ways of computing, as sim/cost sees them: one file each, bound by the rows of sim/machine/unit_models.def.
 *
 * A task is work prepared for the units: its GEMM with the bytes of its elements, if it is one. A unit
 * may have several ways to do a task (tiles of a menu); each says how long it takes and what one instance
 * gets, and sim/cost/cost.c takes the fastest. Models are pure, thread-safe, and know nothing of memory
 * beyond what they ask of the innermost level. */

struct ll_task {
    const struct ll_work *work;
    enum ll_dtype dtype;                   /* in which it is computed: the work's, or a wider one */
    uint64_t instances;                    /* of the unit, of which the software employs `count`; 0: all */
    bool is_gemm;                          /* GEMM, CONV or SEQUENCE; then: */
    uint64_t steps;                        /* that often, one after the other; 1 but for SEQUENCE */
    bool b_stays;                          /* the same b in all of several steps */
    struct ll_problem problem;             /* of one step */
    double sum_bytes;                      /* of a partial sum, where its result has fewer */
    bool whole_k;                          /* its kernels do not share k among instances */
    const struct ll_linear_kernel *linear; /* by which a quantized linear layer goes; NULL: none */
    double a_each; /* elements of a taken in for each of k: more than 1 where zeros of b are skipped */
    /* Multiplications by zero for each of the work's, which have those by zeros of a among them: less than 0 where
     * these are saved. */
    double zeros;
    bool skips_a; /* zeros of a take no time, though the work's FLOPs have them */
    /* Bytes of one pass over each operand of the whole problem as the unit reads it: an image is unrolled
     * into its windows here, an overlap is read again. */
    double unit_pass[LL_OPERAND_COUNT];
};

/* Of one instance: cycles before its first result, bytes of the operands and the result of its finest
 * piece. */
struct ll_first_piece {
    double cycles, bytes[LL_OPERAND_COUNT];
};

struct ll_kernel_config {
    uint64_t units_used; /* instances that work */
    double at_work;      /* of these, in the mean over the cycles: fewer where the last tiles fill no wave */
    double cycles;       /* of the busiest instance, one step */
    double made;         /* multiplications for each of the task's; 0: 1 */
    double array_j;      /* energy of a step, all instances together, beyond that of multiplications */
    double wait_cycles;  /* beside these, in which weights come and nothing else goes on */
    struct ll_first_piece first;
    struct ll_gemm share; /* the part of a GEMM that one instance gets */
    double shares;        /* how many of them make the whole; may be fractional */
    double unit_bytes;    /* out of the innermost level and back, all instances together, one step */
    double asked_bytes[LL_OPERAND_COUNT]; /* unit_bytes by operand */
    bool any_tile; /* it has none of its own: nothing but their room says what goes into private memories */
    double macs;   /* of one step, all instances together; a matrix unit multiplies whole tiles */
    double joining_bytes; /* to add partial sums of different instances, in the first memory they share */
    double memory_j;      /* of all steps (ll_memory_j); 0 where no limit of power asks for it */
};

struct ll_unit_model {
    bool products, elements; /* what it can run: GEMMs, or all that goes element by element */
    uint32_t (*way_count)(const struct ll_unit *unit, const struct ll_task *task);
    /* Ways come in series of so many: behind one that makes no sense, none of its series does. 0: each by
     * itself. */
    uint32_t series;
    /* False when this way makes no sense for the task; way 0 always does. */
    bool (*way)(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                struct ll_kernel_config *way);
    /* Fills in what `way` leaves out because only the best ways need it: share, shares and bytes. NULL: `way`
     * leaves nothing out. */
    void (*operands)(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                     struct ll_kernel_config *way);
    /* What a GEMM begins with, where it is the same for all ways of a task. NULL: `way` says it. */
    void (*first)(const struct ll_unit *unit, const struct ll_task *task, struct ll_first_piece *first);
    /* Costs an op as a whole: neither ways nor blockings of memories apply. *cost is empty but for what starting
     * the op takes. Returns NULL, or why it cannot be done, a static sentence. The function is NULL, as its
     * explanation, where `way` is asked. */
    const char *(*whole)(const struct ll_machine *machine, uint64_t unit, const struct ll_work *work,
                         enum ll_dtype dtype, struct ll_cost *cost);
    void (*whole_explain)(const struct ll_machine *machine, uint64_t unit, const struct ll_work *work,
                          enum ll_dtype dtype, struct ll_explain *why);
    /* Prints how the cycles and the first piece of a way that makes sense come about. */
    void (*explain)(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                    const struct ll_kernel_config *way, struct ll_explain *why);
};

/* Where the unit is a systolic array whose weights lie in memory in whole tiles, b of a GEMM has the bytes of
 * these. Otherwise nothing changes. */
void ll_systolic_pack(const struct ll_unit *unit, struct ll_task *task);

#define LL_UNIT_MODEL(word, ...) extern const struct ll_unit_model ll_cost_##word;
#include "sim/machine/unit_models.def"
#undef LL_UNIT_MODEL

/* The functions of a way of computing; never NULL. */
const struct ll_unit_model *ll_unit_model(enum ll_unit_kind kind);

/* The more instances work, the more copies of the operands their own memories load. So fewer of them may be
 * faster: all that are employed are a way, and of all that there are, half of them, half of these, rounded
 * up, and so on down to one, where that is fewer. So twice as many can be used as the half. How many ways
 * that makes, and how many instances work in one. Pure. */
uint32_t ll_counts_at_work(const struct ll_unit *unit, const struct ll_task *task);
uint64_t ll_count_at_work(const struct ll_unit *unit, const struct ll_task *task, uint32_t way);

/* The multiply-accumulates of a GEMM. Pure. */
double ll_gemm_macs(const struct ll_gemm *dims);

/* A GEMM's output dealt to parts of equal size. */
struct ll_split {
    struct ll_gemm share;
    uint64_t used; /* parts that get something, at most as many as there are */
};

/* Cuts the batch into `batches` parts, the columns of each into `columns`, its rows into `rows`; rows and
 * columns come in whole grains. Parts and grains are at least 1. Pure. */
struct ll_split ll_split(const struct ll_gemm *dims, uint64_t batches, uint64_t rows, uint64_t columns,
                         uint64_t row_grain, uint64_t column_grain);

/* The same where the number of parts alone is given: whole GEMMs of the batch first; what is left of the
 * parts as such rows and columns of each GEMM that each part loads least: columns over rows is about n
 * over m, and hardly a part goes without work. `count` at least 1. Pure. */
struct ll_split ll_split_evenly(const struct ll_gemm *dims, uint64_t count);

/* The bytes of a GEMM when each operand of a share is passed that often, all `shares` together; by operand
 * too, unless NULL. */
double ll_unit_bytes(const struct ll_task *task, const struct ll_gemm *share, double shares,
                     const double passes[LL_OPERAND_COUNT], double by_operand[LL_OPERAND_COUNT]);

/* Narrow results are summed in 32 bits, integers as well as floats, and kept so until they are whole,
 * unless a unit has it otherwise. */
enum { LL_SUM_BYTES = 4 };

/* A GEMM without a single multiplication is not treated as one. Pure; the task points to the work. */
struct ll_task ll_task_of(const struct ll_work *work, enum ll_dtype dtype);

/* Of the pixels of an image those that lie in some window: strides may leave pixels between. Pure. */
double ll_share_in_windows(const struct ll_conv *conv);

/* Partial sums of so many bytes. */
void ll_sum_in(struct ll_task *task, uint64_t bytes);

/* Says what bytes an operand has for each element that a GEMM takes of it, where these are not those of
 * its type: pixels are in several windows, zeros are not stored, padding is. */
void ll_elements_explain(const struct ll_task *task, struct ll_explain *why);

/* What is read and written at the very least, in bytes. */
double ll_work_bytes(const struct ll_work *work);

/* The types in which a unit that does not list `dtype` may compute it without losing a value: the type
 * itself first, then wider ones, nearest first; integers may use the lanes of floats as wide. Fills types
 * (LL_DTYPE_COUNT of them at most) and returns how many. */
size_t ll_computed_as(enum ll_dtype dtype, enum ll_dtype types[LL_DTYPE_COUNT]);

/* The type in which the unit computes what is of this type: the type itself, or the nearest wider one that it
 * lists; the type itself where it lists none. Pure. */
enum ll_dtype ll_computed_on(const struct ll_unit *unit, enum ll_dtype dtype);

/* The machine's peak rate for what is of this type, as ll_machine_peak_flops has it, and the type in which it
 * is reached: the type itself, or a wider one that the machine computes faster. A unit that lists the type
 * may be one for some ops alone; the others run in the wider one, and no op faster than this. Where some unit
 * takes every op in a type, nothing runs in wider ones, so their rates do not count. Pure. */
double ll_computed_peak_flops(const struct ll_machine *machine, enum ll_dtype dtype, enum ll_dtype *computed);

/* What vector lanes compute between an op's GEMMs:
 *
 * - the gates of a recurrent step, which wait for its GEMMs; what other GEMMs have to add, their own
 *   unit does;
 * - the softmax within an attention, whose rows are so many that lanes and GEMMs work at the same time,
 *   each on rows of their own (Shah et al., FlashAttention-3, 2024, section 3.1): the slower of them counts.
 *
 *       seconds = operations / (operations per cycle * count * clock * efficiency)
 *
 * They are the lanes of the unit that would run such an op alone, in 32 bits where results are narrower, as
 * sums are. A machine without such a unit does it on the unit of the GEMMs, at their rate.
 *
 * And what special functions (tracer/ir/ops_count.c) take where lanes have hardware of their own for them,
 * which works while lanes do the rest: of gates and softmax as above, with special functions for operations,
 * the slower of the two; of elements ceil(elements / lanes) times those of an element. Pure. */

/* Some of them on lanes of a unit. */
struct ll_lane_time {
    const struct ll_unit *unit;      /* NULL: there are none */
    uint64_t count;                  /* of its instances that work */
    double operations, each;         /* operations; how many an instance does a cycle */
    double specials, special_each;   /* the same of special functions; 0: they are operations like others */
    double operations_s, specials_s; /* what each takes */
    double time_s;                   /* the longer of both */
};

struct ll_epilogue {
    struct ll_lane_time gates, softmax;
    double after_s;     /* when the GEMMs are done */
    double meanwhile_s; /* at the same time as they, or as lanes go through elements */
    double flops;       /* of the work's, those that another unit does */
};

/* Whether work of this kind asks lanes of another unit for anything. */
bool ll_epilogue_any(const struct ll_work *work);

/* unit: that multiplies, as many of it as the software employs; `dealt`: these are as many as the work is
 * worth, and no more lanes work than they. efficiency: of the unit without the kernel's, which special
 * functions reach. */
struct ll_epilogue ll_epilogue_of(const struct ll_machine *machine, const struct ll_task *task,
                                  const struct ll_unit *unit, double efficiency, bool dealt);

/* Prints how these times come about. */
void ll_epilogue_explain(const struct ll_epilogue *between, const struct ll_task *task,
                         const struct ll_unit *unit, double efficiency, struct ll_explain *why);

/* Operands that pass by a memory (`holds`) go on to the next one inwards that holds them, or to the unit.
 * What is done with them there bounds the blocks of the others. A unit that passes over A n / 128 times takes
 * 128 columns at once: in blocks of fewer columns A comes more often. And results that are summed up to the
 * end, in a unit's tile or in a memory further in, leave no room for the sums of larger blocks. All functions
 * are pure. */

/* Fills in what `toll` says of operands that pass by a memory. `way`: NULL where all that lies within is
 * shared by all units. */
void ll_bind_blocks(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_kernel_config *way, uint64_t memory, struct ll_port_cost *toll);

/* Elements of a type that the machine has no instructions for.
 *
 * A device may store a type that none of its units computes: it is computed in a wider one, and every element
 * that is read or written passes once through code that takes its bits apart. Vector units say how many of
 * them a cycle (`casts`). The same lanes feed the GEMM or do the op's own work, so this comes on top:
 *
 *       seconds = elements read and written / (casts * count * clock)
 *
 * A kernel that reads rows again casts them again. */

/* What turning the elements that a task's kernel moves from the type of its work into the one in which it is
 * computed, and back, takes on the first vector unit that says so. Zero when they are the same, when nothing
 * is computed, or when no unit says. Pure, thread-safe. */
double ll_cast_s(const struct ll_machine *machine, const struct ll_kernel *kernel,
                 const struct ll_task *task);

/* Prints how it comes about, unless it is 0. */
void ll_cast_explain(const struct ll_machine *machine, const struct ll_kernel *kernel,
                     const struct ll_task *task, struct ll_explain *why);

/* How a kernel that deals a GEMM's result in whole pieces (`partition`) deals it to so many units. */
struct ll_partitioned {
    uint64_t units;   /* that get a piece */
    double imbalance; /* the busiest unit's share over that of a unit at work, at least 1 */
    uint64_t length;  /* of the side that is cut: lines, or GEMMs of a batch; 0: work is divided evenly */
    uint64_t lines;   /* of a piece */
    uint64_t dealt;   /* lines that each unit gets in whole rounds */
    double busiest;   /* the busiest unit's share of all lines */
};

/* at_work: units that work in the mean. The GEMMs that a convolution is computed by are not cut: its channels
 * are dealt (ll_partition_most_units). Pure. */
struct ll_partitioned ll_partition(const struct ll_kernel *kernel, const struct ll_work *op,
                                   const struct ll_task *task, uint64_t units, double at_work);

/* The most of `units` among which the kernel can share an op's work. Pure. */
uint64_t ll_partition_most_units(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t units);

/* A task as the loops of a convolution, of which spatial units run some side by side (unit_spatial.c).
 *
 * A convolution is a nest of eight loops (LL_LOOP_LIST), each iteration of which is one
 * multiply-accumulate. Its gradients are such nests as well, in which other loops do what these do:
 *
 *       loop     forward               input's gradient      filter's gradient
 *       K        filters               channels              filters
 *       C        channels              filters               images
 *       B        images                images                channels
 *       OY, OX   output                output                filter
 *       FY, FX   filter                filter, by phases     output
 *
 * (of a strided convolution, each pixel of the input's gradient sums the taps of one remainder by the
 * stride, so that a window's taps come in as many phases). A GEMM is a convolution with filters
 * of 1x1, its rows the pixels of images of whatever form suits; or one with filters as large as its images,
 * its rows the images and the terms of its sums channels and taps as suits. Gradients of filters may be
 * computed as GEMMs, too.
 *
 * All functions are pure. */

enum { LL_NEST_Y, LL_NEST_X, LL_NEST_AXES };

/* One direction of the windows: pixel p and tap t of a phase meet at pixel_step * p + tap_step * t. */
struct ll_loop_axis {
    uint64_t phases, pixel_step, tap_step;
};

/* The nest of a task: how much of it lies side by side, and how much with what elements do in turn. */
struct ll_loop_nest {
    uint64_t of[LL_LOOP_COUNT], aside[LL_LOOP_COUNT], by[LL_LOOP_COUNT];
    struct ll_loop_axis axis[LL_NEST_AXES];
    uint64_t channels;   /* with those that are all zero */
    bool windows;        /* pixels are shared by windows */
    double taps_in_pass; /* over a, of both axes: 1, or as many as windows have */
    const char *as;      /* what it is seen as; NULL: a convolution, as it is */
};

/* The taps of a phase: in some one more than in the others. */
struct ll_loop_phase {
    uint64_t taps, count; /* so many phases have so many */
};

/* The loops of pixels and of taps along both axes. */
extern const enum ll_loop ll_pixel_loops[LL_NEST_AXES], ll_tap_loops[LL_NEST_AXES];

/* As how many nests a task can be seen: at least one. */
uint32_t ll_nest_views(const struct ll_task *task);

/* The task seen as one of them, cut by one of the unit's unrollings. */
struct ll_loop_nest ll_nest_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t view,
                               uint32_t unrolling);

/* The taps of a loop by phases, of which there are two sorts. */
void ll_nest_phases(const struct ll_loop_nest *nest, enum ll_loop loop, struct ll_loop_phase of[2]);

/* In how many pieces of so many iterations a loop is run; the taps of each phase apart. */
double ll_nest_pieces(const struct ll_loop_nest *nest, enum ll_loop loop, uint64_t by);

/* Steps of the taps of the largest phase. */
double ll_nest_most_taps(const struct ll_loop_nest *nest, enum ll_loop loop);

/* Distinct pixels that so many neighbouring windows of so many taps take in along an axis. */
double ll_nest_distinct(const struct ll_loop_axis *axis, uint64_t pixels, uint64_t taps);

/* Pixels that all blocks along an axis take in, each distinct one of a block once. */
double ll_nest_distinct_along(const struct ll_loop_nest *nest, int axis);

/* The tiling of a GEMM for all memories of a hierarchy at once.
 *
 * Each memory keeps a tile of m x n x k of the GEMM: the parts of A, B and C that it needs. The tile of a
 * memory is cut into tiles of the next one further in, which pass in the order of three loops; a tile of an
 * operand stays where it is until a loop over one of its own two dimensions moves on. So an operand crosses
 * a boundary as often as loops over its third dimension run outside of the innermost loop over its own:
 *
 *       boundary 1:   for n in 4          tiles 64 x 32 x 128          A passes 4 times
 *       boundary 0:     for m in 8
 *                         for k in 16     tiles  8 x 32 x 8            C passes once, B 8 times
 *
 * Partial sums that leave come back: of `passes` all but one are partial sums, written and read, as wide as
 * problem.sum_width says.
 *
 * A memory may be given its tile, which is no larger than the GEMM, is halved along its longest side (of
 * equals k, then m) until it fits, and is no larger than the tile around it. Of a given tile, which is not
 * chosen for what lies further in, more memory can have more pass there: where 100 are cut at 70, two tiles
 * of 35 count for each, at 35 three in all.
 *
 * Sizes need not divide; the last tile of a loop counts as a whole one for the memories further in. Unlike
 * ll_tile, which blocks for one memory and is the bound that no tiling of several beats, tiles nest here.
 * All functions are pure and deterministic. */

/* What crosses a boundary, as the problem is done `times` times, and what is paid for it (struct
 * ll_port_cost). */
struct ll_crossing {
    double bytes, price;
};

/* What is moved at least and at most, whatever the tiling (a price of 0: no limit), and what beside it. */
struct ll_limits {
    struct ll_crossing least, most, beside;
};

/* From a memory into the next one further in. */
struct ll_boundary {
    double capacity_bytes;    /* of the memory further in, for tiles of all operands */
    struct ll_port_cost toll; /* counts both directions, and all operands */
    double s_per_byte;        /* what moving takes, by the price of the bytes, */
    struct ll_intake intake;  /* but for what does not depend on how many they are */
    uint32_t group;           /* of stages that overlap (timing.c) */
    struct ll_tile tile;      /* that software keeps in that memory, in ll_mapping_search; m 0: any */
    const enum ll_dim *loops; /* the order, outermost first, in which its tiles pass there; NULL: any */
    double j_per_byte;
    struct ll_limits limits;
};

/* All stages of an op but the boundaries, group by group: the longest of each, first pieces taken off; what
 * comes before and after all of them; computing, without its first piece, and what the first pieces of
 * other units take. */
struct ll_elsewhere {
    double pace_s[LL_MAX_LEVELS + 1];
    double apart_s;
    double computing_s, others_s;
    double dropping_s; /* behind what computing takes longer than the others of its group (ll_dropping_s) */
};

struct ll_hierarchy {
    struct ll_problem problem;
    double times;                                 /* how often it is done */
    struct ll_boundary boundaries[LL_MAX_LEVELS]; /* innermost first */
    uint64_t count;                               /* of boundaries */
    enum ll_objective objective;
    bool any_of_equals; /* nothing else matters, nor a part in 1e13 of the objective */
    uint32_t groups;    /* of stages, at least 1 */
    double serial; /* share of the stages that do not set the pace of a group that overlaps with nothing */
    struct ll_elsewhere elsewhere;
    double fixed_j;  /* of the product of energy and time: what computing and other boundaries take */
    double static_w; /* flows meanwhile, whatever the tiling */
};

struct ll_mapping {
    struct ll_mapping_loops nests[LL_MAX_LEVELS];
    double passes[LL_MAX_LEVELS][LL_OPERAND_COUNT]; /* how often each operand comes in, halo included */
    double reads[LL_MAX_LEVELS];                    /* bytes inwards across each boundary, of one problem */
    double writes[LL_MAX_LEVELS];                   /* and outwards */
    double time_s;                                  /* of the op, as ll_cost_time has it */
    double energy_j;                                /* of all boundaries */
    double objective;
    uint64_t evaluations; /* tiles of one boundary that were looked at to find it */
    bool complete;        /* nothing was left out; false where a memory is too small for that (mapper.c) */
};

/* What given nests cost: nests[0..count) of *mapping are read, the rest is filled. Whether tiles fit is not
 * asked. */
void ll_mapping_evaluate(const struct ll_hierarchy *hierarchy, struct ll_mapping *mapping);

/* The tiling with the least objective (the op's time; the boundaries' energy and what flows meanwhile; or
 * time times all energy), among equals with the least energy (of the same time) or time, and of these with
 * the least sum of the boundaries' times, of those that the boundaries allow (tile, loops). For GEMMs,
 * when it is complete, it is the optimum over all whole tile sizes and loop orders; so more capacity or
 * bandwidth never makes it worse, and it is never worse than blocking each memory on its own within the
 * block of the next one further out. For convolutions tiles are cut evenly (see mapper.c), which need not
 * hold the optimum. In a memory too small for anything, each GEMM fetches its own operands. */
struct ll_mapping ll_mapping_search(const struct ll_hierarchy *hierarchy);

/* "m", "n" or "k". */
const char *ll_dim_name(enum ll_dim dim);

/* The clock that a board's power leaves to GEMMs.
 *
 * A board keeps its power in the mean over many milliseconds, so it is the energy of the products made in a
 * second that counts, with that of the bytes that all memories move for them. Where the arithmetic of a
 * GEMM takes full_s at the full clock,
 *
 *       asked = (multiply-accumulates * energy of one + energy of memories) / full_s
 *       share = ((limit - static power) / asked)^(1 / power_per_clock), at most 1
 *       time  = full_s / share
 *
 * With the clock go the products per second, with share^(power_per_clock - 1) the energy of each: the
 * exponent is above 1 where the voltage follows the clock, for the part of the way that is left above its
 * least. At 1 the product takes no less than its energy over the power (the power caps of Choi and Vuduc, "A
 * roofline model of energy", GT-CSE-2012-01, section 5.2). What waits or idles draws nothing, and leaves its
 * power to the rest.
 *
 * Put together, time = full_s^(1 - 1 / power_per_clock) * (energy / power)^(1 / power_per_clock): a shorter
 * full_s, whatever made it shorter, never lengthens it, for the energy follows from the work and how the unit
 * does it: what a memory is asked for beyond that, by blocks of its own, is not counted. Stages that overlap
 * with the arithmetic change nothing: a slower one hides it at a lower clock as well. Where the exponent is
 * above 1 memories are counted as if their energy sank with the clock too. That latencies leave power to the
 * rest is not counted. Other work waits for memory and is not asked.
 */

/* What draws power for a GEMM: multiply-accumulates in this type, and what memories take meanwhile. */
struct ll_draw {
    enum ll_dtype dtype;
    double macs, memory_j;
};

/* What memories take for a GEMM done this way, whatever is kept where, in joules: each operand once out of
 * every level that holds it, out of those that feed the unit as often as it asks; in that level and in the
 * one further in to which it goes. Pure. */
double ll_memory_j(const struct ll_machine *machine, const struct ll_task *task,
                   const struct ll_kernel_config *way);

/* How long the arithmetic takes, in seconds, that would take full_s at the full clock; as long without a
 * limit, without multiply-accumulates, and where power suffices. More of a limit is never longer, and fewer
 * bytes are not either. Pure. */
double ll_power_s(const struct ll_machine *machine, const struct ll_draw *draw, double full_s);

/* Prints the energies and the share of the clock, where power does not suffice. */
void ll_power_explain(const struct ll_machine *machine, const struct ll_task *task,
                      const struct ll_kernel_config *way, double full_s, struct ll_explain *why);

/* An op as a task for a unit: the ways in which the unit does it, and what follows from one. All functions
 * are pure. */

/* What goes before the GEMM of a quantized linear layer: quantizing its activations. warm: the share of
 * the quantized ones that the GEMM finds on the chip; they do not come out of the outermost level again. */
struct ll_quantizing {
    double moved, busy, kept; /* bytes; units that work; share of the bytes that need not leave the chip */
    double units_s, rows_s, memory_s, time_s; /* in the units; lives of blocks; in memory; all, with launch */
    double warm;
};

/* What is sized up: an op, as a task for a unit of a machine, as many of them as the software employs. */
struct ll_kernel_timing {
    const struct ll_machine *machine;
    const struct ll_kernel *kernel;
    struct ll_unit unit; /* count: how many are employed; efficiency: with the kernel's */
    uint64_t all;        /* how many there are */
    struct ll_task task;
    const struct ll_work *op;          /* what was asked for, of which the task may be a variant */
    const struct ll_warm_bytes *found; /* what earlier ops left; NULL: nothing */
    uint32_t unit_index;               /* in machine->units */
    double made;                       /* FLOPs of the task for each of the op's */
    bool by_library; /* a plain GEMM that goes by the unit's `gemm` kernels (gemm_kernels.c) */
    /* What is the same for all ways, by ll_kernel_time_start: */
    struct ll_first_piece first;     /* of a GEMM, where the unit says so */
    struct ll_epilogue lanes;        /* what vector lanes do between GEMMs */
    double cast_s;                   /* of casts */
    struct ll_quantizing quantizing; /* of a quantized linear layer; all zero without */
    double rows;                     /* imbalance of rows (ll_rows_imbalance) */
    uint64_t near_levels;            /* ll_private_levels */
};

/* How many of the unit's instances the software employs: with a grain, one for each grain of work (of one
 * step of a sequence). It looks at FLOPs and bytes only, as thread pools do: were it to look at time, a
 * memory with more bandwidth could make an op slower. */
uint64_t ll_kernel_time_units(const struct ll_kernel_timing *s);

/* Whether what was chosen for an empty machine is as good as anything else next to what earlier ops left. */
bool ll_kernel_time_keeps(const struct ll_kernel_timing *s, const struct ll_cost *alone);

/* Whether some way takes at most so long, where the software wants the least time: as soon as none can, less
 * is computed than for a cost. */
bool ll_kernel_time_is_within(const struct ll_kernel_timing *s, double time_s);

/* Units that do not multiply zeros of the right operand. */

/* Where the unit skips zeros as they lie here, k becomes as long as what is left of b; all of a is still
 * read. Says so; otherwise, and where b has no zeros along k or k would be no shorter, nothing changes.
 *
 * A unit of a pattern (`skips`) takes groups of it, the last one whole, where no group can have more than it
 * takes. One that skips zeros wherever they lie (`skips_unstructured`) takes what is left. Where zeros are
 * unstructured, so many of its columns go in step: they wait for the one with most, of which as many are left
 * as are expected of the largest of N binomial counts, k d + z sqrt(k d (1 - d)) for a share d. */
void ll_skip_zeros(struct ll_task *task, const struct ll_unit *unit);

/* How much of k is left, and why; task as it was before. Nothing where nothing is skipped. */
void ll_zeros_explain(const struct ll_task *task, const struct ll_unit *unit, struct ll_explain *why);

/* Where memories hold a compressed (`inputs_stored`) fewer bytes of it move, their places among them; a unit
 * that gates zeros (`gates_zeros`) takes no energy for them. Behind ll_skip_zeros. */
void ll_store_zeros(struct ll_task *task, const struct ll_unit *unit);

/* How many standard deviations the largest of `count` independent normal variables lies above their mean, on
 * average: the quantile (count - 0.375) / (count + 0.25) (Blom, Statistical estimates and transformed
 * beta-variables, 1958), within 5 % of two, 1 % of nine and more; 0 of one. Pure. */
double ll_largest_of(uint64_t count);

/* The tiles in which work passes from the outermost memory to the level inside it, and how long it takes tile
 * by tile. */

/* The tiles of a task done in a way, one unit after the other where the level belongs to units: of a
 * GEMM those that a search has found, or, where nothing was searched (NULL), the blocks of
 * sim/cost/cost_parts.h, cut along the operands that stream past into pieces that fill the rest of the room.
 * False when there is one level only; then nothing is cut. Pure. */
bool ll_outer_tiles(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_kernel_config *way, const struct ll_mapping_loops *searched,
                    struct ll_tile_nest *nest);

/* The time of a cost tile by tile, latencies included: loading from the outermost memory,
 * what happens further in, and storing overlap as its tiles allow. Never below what ll_cost_time says of an
 * empty machine. In seconds. Pure. */
double ll_tiled_s(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_tile_nest *nest);

/* Prints the loops over tiles and how the time tile by tile follows. */
void ll_tiled_explain(const struct ll_machine *machine, const struct ll_cost *cost,
                      const struct ll_tile_nest *nest, struct ll_explain *why);

/* How many bytes leave each memory level (and come back) for a task. All functions are pure. */

/* Bytes between each level and what lies further in, all instances together: both directions, and of these
 * what comes back, results and partial sums. The price is what takes the level's bandwidth as long: more than
 * the bytes where a port is slower (sim/cost/cost_parts.h). */
struct ll_traffic {
    double bytes[LL_MAX_LEVELS], written[LL_MAX_LEVELS], price[LL_MAX_LEVELS];
    double of[LL_MAX_LEVELS][LL_OPERAND_COUNT]; /* of a GEMM's bytes, each operand's; of other work 0 */
    bool nested;                   /* a search has found the tiles that pass out of the outermost level: */
    struct ll_mapping_loops tiles; /* these */
};

/* What a search chooses by: how long a byte out of each level takes, what else its stage has, how long the
 * arithmetic takes meanwhile, and the share of the other stages that does not overlap with the slowest. */
struct ll_paces {
    double s_per_byte[LL_MAX_LEVELS];
    struct ll_intake intake[LL_MAX_LEVELS];
    struct ll_stage computing;
    double dropping_s; /* ll_dropping_s */
    double serial;
    double budget[LL_MAX_LEVELS]; /* of a level's price, within which the fewest bytes are best; 0: none */
    bool any_of_equals;           /* how long it takes is all that is asked */
    bool apart; /* nothing is searched: each level is blocked for alone, which bounds all that nests */
};

/* What bytes of a level are charged by: its ports. */
struct ll_port_cost ll_level_port_cost(const struct ll_level *level);

/* What of it a block may take: half, since the next one loads meanwhile, or all. In bytes. */
double ll_level_room(const struct ll_level *level);

/* Bytes of the operands that a level holds, each once. */
double ll_held_bytes(const struct ll_level *level, const struct ll_work *work);

/* Which levels of a machine a search nests tiles for, and the search with all else that goes on
 * (mapper.c). */

/* A problem that is done so many times, and the tiling of all memories of a scope that hold its operands: of
 * those behind levels [first, end). */
struct ll_nested {
    uint64_t first, end; /* the same when nothing is searched */
    struct ll_problem problem;
    double times; /* shares and steps */
    struct ll_mapping mapping;
};

/* The levels of a scope, unit or device, that `mapping: search` nests tiles for; first and end are the same
 * where nothing is searched. Pure. */
struct ll_levels ll_to_nest(const struct ll_machine *machine, enum ll_scope scope);

/* Whether such a search has a choice, which more than one boundary leaves it. Pure. */
bool ll_nest_chooses(const struct ll_machine *machine, enum ll_scope scope);

/* Fills the mapping of a problem. *traffic: what the other levels move; limits: by level, of those that are
 * searched. Pure. */
void ll_nest(const struct ll_machine *machine, const struct ll_task *task, const struct ll_paces *paces,
             const struct ll_traffic *traffic, const struct ll_limits *limits, struct ll_nested *nested);

/* Traffic out of the near levels for one way of doing the task; fills [0..ll_private_levels). What a search
 * chooses depends on the rest of *traffic, of which levels that are not known yet move nothing. *nested: what
 * the search found, if the task is a GEMM. */
void ll_private_traffic(const struct ll_machine *machine, const struct ll_task *task,
                        const struct ll_kernel_config *way, const struct ll_paces *paces,
                        struct ll_traffic *traffic, struct ll_nested *nested);

/* Traffic out of the other levels, whichever way; fills [ll_private_levels..level_count). The same of
 * searches. */
void ll_far_traffic(const struct ll_machine *machine, const struct ll_task *task,
                    const struct ll_paces *paces, struct ll_traffic *traffic, struct ll_nested *nested);

/* Prints how the traffic out of one level comes about, with what the search for near or for other levels
 * found. */
void ll_traffic_explain(const struct ll_machine *machine, const struct ll_task *task,
                        const struct ll_kernel_config *way, const struct ll_paces *paces,
                        const struct ll_nested *nested, const struct ll_traffic *traffic, uint64_t level,
                        struct ll_explain *why);

/* What was chosen for an op on a unit, and what its cost follows from. */
struct ll_chosen {
    uint32_t index; /* the unit's way */
    struct ll_kernel_config way;
    double full_s;              /* of computing, at the full clock */
    struct ll_paces paces;      /* by which tiles were searched for */
    struct ll_nested near, far; /* what searches found for near levels and for the others, of a GEMM */
    struct ll_traffic traffic;  /* without what a kernel reads again */
};

/* Fills what is the same for all ways; all else is there. */
void ll_kernel_time_start(struct ll_kernel_timing *s);

/* Fills what follows from the best way: cycles, traffic, times; and what that way is. */
void ll_kernel_time(const struct ll_kernel_timing *s, struct ll_cost *cost, struct ll_chosen *chosen);

/* The loops over tiles of what was chosen: false where they tell nothing. */
bool ll_kernel_time_tiles(const struct ll_kernel_timing *s, const struct ll_chosen *chosen,
                          struct ll_tile_nest *nest);

/* Prints what the software employs and what the kernel does short of the ideal; then how cycles, traffic and
 * times of what was chosen come about. */
void ll_kernel_time_explain(const struct ll_kernel_timing *s, struct ll_explain *why);
void ll_chosen_explain(const struct ll_kernel_timing *s, const struct ll_chosen *chosen,
                       const struct ll_cost *cost, struct ll_explain *why);

/* Convolutions in a transformed domain (Winograd: Lavin and Gray 2016; Fourier: Mathieu, Henaff, LeCun 2014).
 *
 * The image is cut into tiles that give o x o outputs each, o = size - kernel + 1. A tile of size x size
 * inputs and the filter are transformed to size x size points; there the convolution is one product a point,
 * summed over the channels, and the sums are transformed back:
 *
 *       P = batch * ceil(out_h / o) * ceil(out_w / o) tiles
 *       products = size^2 * products a point * P * in_c * out_c       (direct: o^2 kernel^2 P in_c out_c)
 *
 * Apart from others, one after the other, all points' GEMMs are a batch of them, [P x in_c] [in_c x
 * out_c]. Transforms then are passes over memory of their own. A fused kernel transforms tiles on their way
 * in and out and holds all points of a few of them: its tile of the menu covers size times fewer tiles and
 * filters, so it counts as one GEMM of (size P) x (size out_c) x in_c. It takes blocks of tiles that lie
 * together in one image (block_rows x block_columns), of which the last in a row or column are whole too.
 * Filters are transformed beforehand in both.
 *
 * The gradient of the input is such a convolution itself. The gradient of the filter sums over the tiles
 * instead, [in_c x P] [P x out_c]; no fused kernel does. */

struct ll_transformed {
    struct ll_work product; /* what stands for the convolution */
    double apart_bytes;     /* that the passes before and after it move */
};

/* False when the transform does not serve this convolution: strided, grouped, of a type or with a
 * filter that it is not for. Pure. */
bool ll_transform(const struct ll_transform *transform, const struct ll_work *convolution,
                  struct ll_transformed *out);

/* Caches whose misses are waited for in turn (`non_overlapping`).
 *
 * A core has a few lines in flight, and what sets the pace of a stream is how long each takes. Lines that
 * come from further out then come instead of those that the cache has, and the times of the levels add up:
 * of M bytes of which R are missed, (M - R) / B of the cache and R / B' of the memory behind it, where B
 * and B' are what whole streams out of them reach. So does the ECM model add transfers up (Treibig and
 * Hager, "Introducing a performance model for bandwidth-limited loop kernels", PPAM 2009). Elsewhere both
 * go on beside each other, and the slower sets the pace. */

/* The ways in which a software stack can do a convolution, each as work that stands for it. */

enum { LL_MOST_VARIANTS = LL_MOST_ALGORITHMS };

/* Kernels for tensor cores load 16 bytes at once: whole ones of what lies side by side. */
enum { LL_LOAD_BITS = 128 };

struct ll_variant {
    const char *name; /* NULL: as it is */
    struct ll_work work;
    double apart_bytes;                   /* that passes before and after it move */
    bool relaid;                          /* all operands are among them */
    double layout_kernels;                /* kernels that do so */
    double apart_share;                   /* of the bandwidth that these passes reach; 0: all of it */
    double rate;                          /* share of the kernel's rate */
    double overhead_s;                    /* what starting it costs; 0: what the kernel does */
    bool windows;                         /* done by kernels that read windows where they lie */
    bool skips;                           /* zeros of the right operand, where the unit can */
    const struct ll_transform *transform; /* that it goes through; NULL: none */
    /* Prints what of the variant's bytes are not those of the work; NULL: they are. */
    void (*explain)(const struct ll_work *work, const struct ll_variant *variant, struct ll_explain *why);
};

/* Whether the software convolves this on vector lanes, one window of one channel after the other. Pure. */
bool ll_on_lanes(const struct ll_software *software, const struct ll_work *work);

/* Fills out and returns how many there are, at least one. Work other than a convolution is done as it is;
 * where zeros are known, also by kernels that skip them. Pure. */
size_t ll_variants(const struct ll_software *software, const struct ll_work *work,
                   struct ll_variant out[LL_MOST_VARIANTS]);

/* Prints which way it is, and what it moves that the work itself does not. */
void ll_variant_explain(const struct ll_variant *variant, const struct ll_work *work, struct ll_explain *why);

/* Fused transforms do not share k among units. */
void ll_variant_binds(const struct ll_variant *variant, struct ll_task *task);

/* Weights that every step of a sequence uses, as those of a recurrent layer: how many of them come again.
 *
 * A memory that software fills keeps all of them, if they fit beside one line of what a step takes in and
 * puts out; else each step brings them again. A cache that says its ways and replaces by age needs no room
 * for a next block, and loses them bit by bit: in one step they themselves and the step's other operands
 * come (ll_cache_left). */

#endif
