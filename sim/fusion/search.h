/* SPDX-License-Identifier: Apache-2.0 */
/* The search for stacks and their plans (search.c). Private to sim/fusion. */
#ifndef LL_SIM_FUSION_SEARCH_H
#define LL_SIM_FUSION_SEARCH_H

#include "sim/fusion/fusion_parts.h"
#include "sim/fusion/graph.h"
#include "tracer/base/str.h"

struct choice {
    struct stack_plan plan;
    double time_s, bound_s;
    bool good;
};

struct search {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    struct graph graph;
    struct chip chip;
    struct program program;
    struct schedule schedule;
    double peak_flops[LL_MAX_CORE_TYPES][LL_DTYPE_COUNT];
    struct choice *alone, *stack; /* by node: by itself; the stack that begins there */
    double *rest_s;               /* by node: from there on */
    struct ll_map keys;           /* of stacks */
    struct choice *choices;
    uint64_t choice_room, tried, played;
    uint32_t unfit; /* the node that no plan fits */
    bool failed;    /* memory ran out */
};

/* Graph and chip. False on no memory, or after complaints. Close it in any case. */
bool search_open(struct search *search, const struct ll_prepared *prepared, const struct ll_machine *machine,
                 struct ll_arena *arena, struct ll_diags *diags);

/* Fills alone, stack and rest_s. False when memory ran out (failed) or a node fits no memory (unfit). */
bool search_step(struct search *search, enum ll_fuse fuse);

/* What no schedule of the step is shorter than, whatever its plans: all FLOPs at the peak of all cores,
 * and weights once, with results that nothing reads, over the outermost memory. Negative when memory ran
 * out. */
double search_least_s(const struct search *search);

void search_close(struct search *search);

#endif
