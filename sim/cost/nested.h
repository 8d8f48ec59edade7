/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic of tiles that nest, where the software lays products out by a search (software.mapping): one tiling
 * for all private memories, and one for all that units share. All functions are pure. */
#ifndef LL_SIM_COST_NESTED_H
#define LL_SIM_COST_NESTED_H

#include "sim/cost/mapping.h"
#include "sim/cost/unit_model.h"

/* A product that is done `shares` times side by side, each in as many steps as the task has, and the levels
 * that feed memories of one scope with it. */
struct ll_span {
    const struct ll_machine *machine;
    const struct ll_task *task;
    struct ll_gemm dims;
    double shares, compute_s;
    uint64_t units;      /* that work */
    uint64_t first, end; /* levels */
    enum ll_scope inside;
};

/* Whether the search is asked for and made for such a machine and task: every level holds every operand,
 * memories are private or shared by all, there is one in front of each level of the span, steps do not depend
 * on one another. Elsewhere the closed form of tiling.h counts. */
bool ll_span_is_searched(const struct ll_span *span);

/* The tiling of the span with the least of what the software asks for; the span is one that is searched. */
struct ll_mapping ll_span_search(const struct ll_span *span);

/* Bytes out of a level of the span and back, and of these what is written; says so. */
void ll_span_bytes(const struct ll_span *span, const struct ll_mapping *mapping, uint64_t level,
                   double *bytes, double *written, struct ll_explain *why);

#endif
