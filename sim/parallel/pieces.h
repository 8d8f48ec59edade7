/* SPDX-License-Identifier: Apache-2.0 */
/* Which piece of a cut model does what, and what crosses between pieces. Private to sim/parallel. */
#ifndef LL_SIM_PARALLEL_PIECES_H
#define LL_SIM_PARALLEL_PIECES_H

#include "tracer/ir/trace.h"

/* Pieces that have the same weight, in order, and the op that adds their gradients: LL_NONE where none does
 * so in a way that an all_reduce could. */
struct ll_tie {
    bool *has;             /* by piece */
    uint32_t sum;          /* op */
    uint32_t first_output; /* its tensor */
};

struct ll_pieces {
    uint32_t count, stages; /* piece i lies on stage i modulo stages */
    uint32_t *piece_of;     /* by op, LL_NONE for what each piece makes for itself */
    bool *is_view;          /* by form: another look at the same memory, which costs nothing anywhere */
    uint32_t *tie_of;       /* by op: the tie whose weight it updates, LL_NONE for most */
    struct ll_tie *ties;
    uint32_t tie_count;
};

/* Cuts into `count` pieces on so many stages; lists live in the arena. NULL, or why it cannot be, a static
 * sentence. */
const char *ll_pieces_find(const struct ll_trace *trace, uint32_t count, uint32_t stages,
                           struct ll_arena *arena, struct ll_pieces *pieces);

/* Whether a piece runs an op because it is the op's, or has the weight that it updates. */
bool ll_piece_runs(const struct ll_pieces *pieces, uint32_t piece, uint32_t op);

/* The tensor behind views that a piece has not. */
uint32_t ll_piece_source(const struct ll_trace *trace, const struct ll_pieces *pieces, uint32_t piece,
                         uint32_t tensor);

/* The piece from which one that does not make a tensor gets it; LL_NONE when it is there or each makes it. */
uint32_t ll_piece_sender(const struct ll_trace *trace, const struct ll_pieces *pieces, uint32_t piece,
                         uint32_t tensor);

/* Whether a piece made some of the terms of a tie's sum. */
bool ll_piece_adds(const struct ll_trace *trace, const struct ll_pieces *pieces, const struct ll_tie *tie,
                   uint32_t piece);

/* The stages on which terms of a tie's sum are made: how many, and how far apart neighbours are; 0 apart
 * where two are on one stage or they are not equally far apart. */
struct ll_apart {
    uint32_t stages, stride;
};
struct ll_apart ll_tie_apart(const struct ll_trace *trace, const struct ll_pieces *pieces,
                             const struct ll_tie *tie);

/* Divides loads in a row into `parts` runs so that the largest sum is as small as can be; where all loads are
 * equal into runs of equal length, the first ones longer by one if need be. Writes by load its run. Needs
 * parts <= count. */
void ll_divide(const uint64_t *loads, const uint64_t *totals, uint32_t count, uint32_t parts,
               uint32_t *part_of);

#endif
