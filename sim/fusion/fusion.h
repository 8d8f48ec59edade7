/* SPDX-License-Identifier: Apache-2.0 */
/* A step on the cores of one chip.
 *
 * The ops of a trace are cut into stacks of neighbours. A stack is cut into tiles of rows, and where GEMMs
 * follow one another also into blocks of columns, which the GEMM at their end takes as parts of its depth. A
 * tile's result stays on the chip and goes over links to the cores that compute what reads it, rows that
 * windows need again are kept where they are. Between stacks all lies in the outermost memory. A stack of
 * one op is layer by layer.
 *
 * What is scheduled: a tile takes a core for as long as sim/cost says that its work takes out of the
 * core's own memories; every byte into such a memory or out of it is a transfer over links, which
 * transfers at the same time share max-min fairly (Bertsekas and Gallager, Data Networks, 1992, section
 * 6.5); a memory holds no more than its size. Stacks follow one another.
 *
 * Which stacks, and how each is cut: candidates in the order of a closed bound (the busiest core, the
 * busiest link), below which no schedule can be; each is played event by event until the bound of the next
 * is no less than the best time. The cheapest cuts of the trace into stacks follow by dynamic programming;
 * since stacks of one op are among them, a fused step is never slower than layer by layer. */
#ifndef LL_SIM_FUSION_FUSION_H
#define LL_SIM_FUSION_FUSION_H

#include "sim/replay/replay.h"

enum ll_fuse { LL_FUSE_AUTO, LL_FUSE_NONE };

/* A tile of an op on a core. Rows and columns are those of the op's result, depth the part of k. */
struct ll_fusion_task {
    uint32_t op, stack;
    uint16_t core;
    double start_s, end_s, energy_j;
    uint64_t rows[2], columns[2], depth[2];
    uint32_t first_read, read_count; /* of ll_fused_step.reads: copies */
    uint32_t made;                   /* copy that it adds to */
};

/* A piece of a tensor in a memory of a core, from when room is made until it is given back. */
struct ll_fusion_copy {
    uint32_t stack, op; /* op that makes it; LL_NONE: it comes from the outermost memory */
    uint32_t tensor;
    uint16_t pool;
    double bytes, from_s, until_s;
    uint64_t rows[2], columns[2];
};

/* A piece on its way. */
struct ll_fusion_transfer {
    uint32_t stack, copy; /* whose piece goes: a copy that it fills, or, on the way out, that it reads */
    uint32_t source;      /* copy that it reads; LL_NONE: it comes from the outermost memory */
    uint16_t from;        /* end: a core, or the outermost memory (core_count) */
    uint32_t first_there, there_count; /* of ll_fused_step.there: copies that it fills; none: it goes out */
    double bytes, start_s, end_s;      /* the last byte has arrived, link latencies included */
    uint32_t first_rate, rate_count;   /* of ll_fused_step.rates */
};

/* So long a transfer goes at this rate. */
struct ll_fusion_rate {
    uint32_t transfer;
    double from_s, until_s, Bps;
};

/* Room that is made (bytes above 0) or given back. */
struct ll_fusion_room {
    uint32_t copy;
    double at_s, bytes;
};

/* A memory of a core. */
struct ll_fusion_pool {
    const char *name; /* of its level */
    uint16_t core;
    double capacity_bytes, peak_bytes;
};

struct ll_fusion_link {
    const char *name;
    double Bps, bytes, latency_s;
};

struct ll_fusion_stack {
    uint32_t first_op, last_op, op_count;
    uint32_t bands, columns, steps, tiles; /* cores along rows, along columns; tiles of rows; tiles in all */
    /* Of a stack of one op, what its columns and depth are cut into; of several ops, blocks of columns
     * that go through it and what the depth of the GEMMs that make them is cut into, 0: it is cut along
     * rows alone. */
    uint32_t column_blocks, depth_blocks;
    bool pipeline;
    double start_s, time_s, bound_s,
        memory_bytes; /* bound: of the closed form; bytes of the outermost memory */
};

struct ll_fused_step {
    const struct ll_machine *machine; /* with cores */
    const struct ll_result
        *result; /* of a step, as of a replay; its machine has the cores' units, not cores */
    double time_s, layer_by_layer_s; /* of the replayed ops */
    double
        bound_s; /* no schedule is shorter: peak of all cores, bytes that must cross the outermost memory */
    double energy_j, compute_j, tiles_j, links_j, memory_j, static_j; /* NaN where the machine does not say */
    struct ll_fusion_stack *stacks;
    struct ll_fusion_task *tasks;
    struct ll_fusion_copy *copies;
    struct ll_fusion_transfer *transfers;
    struct ll_fusion_rate *rates;
    struct ll_fusion_pool *pools;
    struct ll_fusion_link *links;
    uint32_t *reads, *there;
    uint64_t stack_count, task_count, copy_count, transfer_count, rate_count, pool_count, link_count,
        read_count, there_count;
    uint32_t core_count;
    const char **core_names; /* "pe.0" */
    double *core_busy_s;
    const uint16_t **routes; /* from * (core_count + 1) + to: links */
    uint16_t *route_lengths;
    uint64_t plans_tried, plans_played; /* a part of all that there are */
};

/* Schedules a prepared trace on a machine with cores. NULL on no memory, or after complaining of ops that
 * no core can run, or that fit no memory in any tile. Lives in the arena, and refers to trace and machine.
 * Pure otherwise: same input, same bits. */
const struct ll_fused_step *ll_fuse(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                    enum ll_fuse fuse, struct ll_arena *arena, struct ll_diags *diags);

/* The time of a step alone; negative on no memory or where it cannot run. */
double ll_fuse_time(const struct ll_prepared *prepared, const struct ll_machine *machine, enum ll_fuse fuse);

#endif
