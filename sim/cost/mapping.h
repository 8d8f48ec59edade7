/* SPDX-License-Identifier: Apache-2.0 */
/* The tiling of a product for all memories of a hierarchy at once.
 *
 * Each memory keeps a tile of m x n x k of the product: the parts of A, B and C that it needs. The tile of a
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
 * A memory may be given its tile, which is no larger than the product, is halved along its longest side (of
 * equals k, then m) until it fits, and is no larger than the tile around it. Of a given tile, which is not
 * chosen for what lies further in, more memory can have more pass there: where 100 are cut at 70, two tiles
 * of 35 count for each, at 35 three in all.
 *
 * Sizes need not divide; the last tile of a loop counts as a whole one for the memories further in. Unlike
 * ll_tile, which blocks for one memory and is the bound that no tiling of several beats, tiles nest here.
 * All functions are pure and deterministic. */
#ifndef LL_SIM_COST_MAPPING_H
#define LL_SIM_COST_MAPPING_H

#include "sim/cost/stage.h"
#include "sim/cost/tiling.h"
#include "sim/machine/machine.h"

enum ll_dim { LL_DIM_M, LL_DIM_N, LL_DIM_K, LL_DIM_COUNT };

/* What crosses a boundary, as the problem is done `times` times, and what is paid for it (struct ll_toll). */
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
    struct ll_toll toll;      /* counts both directions, and all operands */
    double s_per_byte;        /* what moving takes, by the price of the bytes, */
    struct ll_intake intake;  /* but for what does not depend on how many they are */
    uint32_t group;           /* of stages that overlap (stage.h) */
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

/* The loops at a boundary, outermost first, over tiles of the memory further in. */
struct ll_mapping_loops {
    uint64_t tile[LL_DIM_COUNT];
    enum ll_dim order[LL_DIM_COUNT];
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
    bool complete;        /* nothing was left out; false where a memory is too small for that (mapping.c) */
};

/* What given nests cost: nests[0..count) of *mapping are read, the rest is filled. Whether tiles fit is not
 * asked. */
void ll_mapping_evaluate(const struct ll_hierarchy *hierarchy, struct ll_mapping *mapping);

/* The tiling with the least objective (the op's time; the boundaries' energy and what flows meanwhile; or
 * time times all energy), among equals with the least energy (of the same time) or time, and of these with
 * the least sum of the boundaries' times, of those that the boundaries allow (tile, loops). For products,
 * when it is complete, it is the optimum over all whole tile sizes and loop orders; so more capacity or
 * bandwidth never makes it worse, and it is never worse than blocking each memory on its own within the
 * block of the next one further out. For convolutions tiles are cut evenly (see mapping.c), which need not
 * hold the optimum. In a memory too small for anything, each product fetches its own operands. */
struct ll_mapping ll_mapping_search(const struct ll_hierarchy *hierarchy);

/* "m", "n" or "k". */
const char *ll_dim_name(enum ll_dim dim);

#endif
