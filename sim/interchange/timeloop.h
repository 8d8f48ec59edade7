/* SPDX-License-Identifier: Apache-2.0 */
/* What chapters of Timeloop's files share: the architecture on its way, what problems call their loops and
 * operands, and constraints and mappings. */
#ifndef LL_SIM_INTERCHANGE_TIMELOOP_H
#define LL_SIM_INTERCHANGE_TIMELOOP_H

#include "sim/interchange/chain.h"

enum { LL_TIMELOOP_LEVELS = 64, LL_TIMELOOP_DIMS = 16 };

/* A node of the architecture, outermost first: a store, a container of elements, or what multiplies. */
struct ll_timeloop_level {
    const char *name;
    int store;            /* of the chain, which is outermost first meanwhile; -1: none */
    int axis[2];          /* that begin here, x and y; -1: none */
    bool fans_out_inside; /* constraints that name it are of the axes of the next level, not of its own */
    struct ll_node *constraints; /* its own; NULL: none */
    bool only_kept;              /* one of several side by side, which keeps what it says, and nothing else */
};

/* Loops of problems by their names there, and as our convolutions and GEMMs call them. */
struct ll_timeloop_dim {
    const char *name, *conv, *gemm; /* "": no loop of such a problem */
    double of;                      /* in the problem; 0: none is given */
};

struct ll_timeloop {
    struct ll_interchange *x;
    struct ll_chain *chain;
    struct ll_timeloop_level level[LL_TIMELOOP_LEVELS];
    int levels;
    struct ll_timeloop_dim dim[LL_TIMELOOP_DIMS];
    int dims;
    bool gemms;                          /* loops are those of GEMMs */
    const char *space[LL_OPERAND_COUNT]; /* data spaces of the problem; NULL: not said */
};

/* Takes the problem's loops and operands; NULL: those that constraints usually mean. False after a
 * complaint. */
bool ll_timeloop_take_problem(struct ll_timeloop *t, struct ll_node *problem);

/* What constraints say, as `holds` of stores and limits and unrollings of the chain: those of levels, and
 * `targets`, a list of further ones (NULL: none). */
bool ll_timeloop_take_constraints(struct ll_timeloop *t, struct ll_node *targets);

/* A mapping of the problem, as a given one of the chain. */
bool ll_timeloop_take_mapping(struct ll_timeloop *t, struct ll_node *mapping, struct ll_node *problem);

#endif
