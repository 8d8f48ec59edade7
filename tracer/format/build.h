/* SPDX-License-Identifier: Apache-2.0 */
/* The trace builder of the reader.
 *
 * A trace in the making: the contents of whole frames go in, in order, holes and all.
 *
 * What a hole takes with it is decided here. Numbers of tensors stay as they were recorded; a tensor that a
 * lost op made is taken for one that the model brought, on a storage of its own, and its looks follow from
 * the first op that reads it. Ops close ranks: those that are left are numbered anew. A lost definition takes
 * with it the definitions and ops that refer to it, nothing else. One thread at a time; private to
 * tracer/format/reader.c and tracer/build*.c. */
#ifndef LL_TRACER_FORMAT_BUILD_H
#define LL_TRACER_FORMAT_BUILD_H

#include "tracer/format/column.h"
#include "tracer/format/reader.h"
#include "tracer/format/walk.h"
#include "tracer/ir/trace.h"

/* Numbers of the file to places in the trace; LL_NONE for what is lost. */
struct ll_places {
    uint32_t *at;
    uint64_t count, capacity;
};

/* Where a number of the file stands in the trace. */
static inline uint32_t ll_build_place(const struct ll_places *places, uint64_t number)
{
    return number < places->count ? places->at[number] : LL_NONE;
}

/* Ops without a hole between them. */
struct ll_stretch {
    uint64_t file_op;
    uint32_t op;
};

struct ll_trace_build {
    struct ll_walk *walk;
    const struct ll_frame *frame; /* the one at work */
    struct ll_trace *trace;
    struct ll_block block;
    enum ll_status status; /* LL_NO_MEMORY once it ran out; nothing more is done then */

    /* Of steps, of all else; what each may be, by the bytes so far (ll_growth_limit). Files whose writers did
     * not count the steps that ops reach are whole all the same. */
    uint64_t step_weight, weight, weight_limit;
    uint64_t fact_capacity, string_capacity, desc_capacity, form_capacity, links_capacity;
    uint64_t op_capacity, tensor_capacity, step_capacity;
    struct ll_places strings, descs, forms, links;

    uint64_t next_op, next_tensor; /* numbers in the file */
    struct ll_stretch *stretches;
    uint64_t stretch_count, stretch_capacity;
    bool *step_recorded;  /* by step: its record was read */
    struct ll_step *cuts; /* that replace the steps; first ops as numbered in the file */
    uint64_t cut_count, cut_capacity;
    uint64_t recorded_capacity;
    bool ended;
    uint64_t total_ops; /* by the end frame */
};

/* Each takes a frame of its kind from build->block. False when the frame cannot be used as a whole (then it
 * was complained about and counted as lost) or memory ran out (build->status). */
bool ll_build_facts(struct ll_trace_build *build);
bool ll_build_definitions(struct ll_trace_build *build);
bool ll_build_ops(struct ll_trace_build *build);
bool ll_build_steps(struct ll_trace_build *build);
bool ll_build_cuts(struct ll_trace_build *build);
bool ll_build_end(struct ll_trace_build *build);

/* Counts so much towards the growth limit, before anything is decoded or allocated for it. False when that is
 * too much; charging then refuses the frame, affording is silent. */
bool ll_build_afford(struct ll_trace_build *build, uint64_t count, uint64_t weight_each);
bool ll_build_charge(struct ll_trace_build *build, uint64_t count, uint64_t weight_each);

/* Complains that the frame is lost, unless memory ran out. Always false. */
bool ll_build_refuse(struct ll_trace_build *build, const char *why);

/* How many of the trace's ops have a smaller number than this one of the file. */
uint32_t ll_build_ops_before(const struct ll_trace_build *build, uint64_t file_op);

/* Always false, and sets the status. */
bool ll_build_no_memory(struct ll_trace_build *build);

/* Makes room for steps up to this one; false when it cannot be afforded or memory ran out. */
bool ll_build_reach_step(struct ll_trace_build *build, uint64_t step);

/* Fills what only the end tells: steps, looks of tensors that nobody knows, losses. False when it cannot be
 * afforded or memory ran out. */
bool ll_build_finish(struct ll_trace_build *build);

/* Frees what building took; the trace stays the caller's. */
void ll_build_release(struct ll_trace_build *build);

#endif
