/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline partition: which op belongs to which piece of a model (ll_pieces), and the program of a piece
 * (ll_cut), which is what a pipeline stage does with one micro-batch.
 *
 * With `stages` devices in a row and `chunks` pieces on each, there are stages x chunks pieces of
 * neighbouring layers; piece i is on stage i modulo stages. Where all layers do the same work, pieces have
 * equally many layers (the first pieces take the remainder). Where layers differ, the largest number of FLOPs
 * in a piece is as small as possible. Backward and update ops are where their layer is. A tensor that one
 * piece makes and others read is sent once to each of them and received before its first use. Ops that belong
 * to no layer (sim/parallel/layers.h) are done by each piece for itself.
 *
 * A weight that several pieces read exists on each of them. Their gradients are summed by an all_reduce if
 * the pieces are equally far apart; otherwise one piece sums them and sends the sum back. Then each piece
 * updates its own copy.
 *
 * Sends and receives carry LL_ATTR_PEER, the distance to the other device (0: the piece's own), and the phase
 * in which both happen. A tensor of the forward pass is received before the piece's backward pass. A tensor
 * that only updates read is sent once a step, in the phase comm; a tensor that updates make is sent in the
 * phase update. Within a phase, the messages between two pieces have the same order in both programs.
 * Parallel layers do the same with one micro-batch. */
#ifndef LL_SIM_PARALLEL_CUT_H
#define LL_SIM_PARALLEL_CUT_H

#include "tracer/ir/trace.h"

struct ll_cut {
    uint64_t stages, chunks; /* at least 1 each */
    uint64_t piece;          /* less than stages x chunks */
    uint64_t distance;       /* of devices of neighbouring stages: tensor x data */
};

/* The program of a piece; free with ll_trace_free. NULL and *trouble, a static sentence: fewer layers than
 * pieces, for one. Thread-safe. */
struct ll_trace *ll_cut(const struct ll_trace *trace, const struct ll_cut *cut, const char **trouble);

/* Which piece of a cut model does what, and what crosses between pieces. Private to sim/parallel. */

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

/* The stages on which terms of a tie's sum are made: how many, and how far apart neighbours are; 0 apart
 * where two are on one stage or they are not equally far apart. */
struct ll_apart {
    uint32_t stages, stride;
};

/* Divides loads in a row into `parts` runs so that the largest sum is as small as can be; where all loads are
 * equal into runs of equal length, the first ones longer by one if need be. Writes by load its run. Needs
 * parts <= count. */
void ll_divide(const uint64_t *loads, const uint64_t *totals, uint32_t count, uint32_t parts,
               uint32_t *part_of);

#endif
