/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/replay/replay.h"

#include "sim/replay/replay_parts.h"
#include "tracer/base/map.h"
#include "tracer/ir/profile.h"

/* Before its first op the device has nothing to compute: what ops of the input phase do, the host does. */
static bool is_computed(uint64_t kind)
{
    return kind != LL_WORK_NOTHING && kind != LL_WORK_WAIT;
}

static bool lower_forms(struct ll_prepared *prepared, struct ll_arena *arena, struct ll_diags *diags)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_work *works = ll_alloc(arena, trace->form_count + 1, sizeof *works);
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    bool all = works != NULL;
    for (uint64_t i = 0; works && i < trace->form_count; i++) {
        const struct ll_form *form = &trace->forms[i];
        if (form->view.kind == LL_OP_COUNT)
            all = ll_complain(diags, place, "op kind `%s` is not known here, so nobody can say what it costs",
                              trace->strings[form->kind_name]);
        else if (!ll_op_lower(&form->view, &works[i]))
            all = ll_complain(diags, place, "an op `%s` is so large that its size does not fit in 64 bits",
                              trace->strings[form->kind_name]);
        else if (form->phase == LL_PHASE_INPUT && is_computed((enum ll_work_kind)works[i].kind))
            works[i].kind = LL_WORK_HOST;
    }
    prepared->works = works;
    return all;
}

/* Forms that differ by their place or names alone. False when memory ran out. */
static bool find_same(struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_map works = {0};
    uint32_t *same = ll_alloc(arena, trace->form_count + 1, sizeof *same);
    uint32_t *first = ll_alloc(arena, trace->form_count + 1, sizeof *first); /* by id */
    bool right = same && first;
    for (uint32_t i = 0; right && i < trace->form_count; i++) {
        struct {
            uint64_t kind;
            struct ll_work work;
        } key = {trace->forms[i].view.kind, prepared->works[i]}; /* as in sim/cost/memo.c: no padding */
        bool is_new;
        uint32_t id = ll_map_intern(&works, &key, sizeof key, &is_new);
        right = id != LL_NO_ID;
        if (right && is_new)
            first[id] = i;
        same[i] = right ? first[id] : 0;
    }
    ll_map_release(&works);
    prepared->same = same;
    return right;
}

/* Totals a step, and the element type in which most FLOPs are done (the first of equals). */
static void count(struct ll_prepared *prepared)
{
    double by_dtype[LL_DTYPE_COUNT] = {0}, bytes = 0, flops = 0;
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++) {
        const struct ll_form *form = &prepared->trace->forms[prepared->trace->ops[i].form];
        flops += (double)form->flops;
        bytes += (double)form->bytes_read + (double)form->bytes_written;
        by_dtype[prepared->works[prepared->trace->ops[i].form].dtype] += (double)form->flops;
    }
    prepared->flops = flops / (double)prepared->steps;
    prepared->bytes = bytes / (double)prepared->steps;
    prepared->dtype = LL_F32;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        if (by_dtype[i] > by_dtype[prepared->dtype])
            prepared->dtype = (enum ll_dtype)i;
}

static struct ll_prepared *prepare(const struct ll_trace *trace, struct ll_arena *arena,
                                   struct ll_diags *diags)
{
    struct ll_prepared *prepared = ll_alloc(arena, 1, sizeof *prepared);
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    if (!prepared)
        return NULL;
    prepared->trace = trace;
    ll_trace_range(trace, &prepared->first_op, &prepared->end_op, &prepared->steps);
    if (prepared->first_op == prepared->end_op) {
        ll_complain(diags, place, "the trace holds no op that could be replayed");
        return NULL;
    }
    prepared->steps = prepared->steps ? prepared->steps : 1;
    if (!lower_forms(prepared, arena, diags) || !find_same(prepared, arena))
        return NULL;
    count(prepared);
    prepared->deps = ll_trace_deps(trace, arena);
    prepared->residency = ll_residency_new(trace, arena);
    bool whole = prepared->deps && prepared->residency && ll_footprint(trace, &prepared->footprint);
    for (enum ll_fusion f = LL_FUSION_NONE + 1; f < LL_FUSION_COUNT; f++) {
        prepared->fused[f] = ll_find_fusion(prepared, f, arena);
        whole = whole && prepared->fused[f];
    }
    return whole ? prepared : NULL;
}

const struct ll_prepared *ll_prepare(const struct ll_trace *trace, struct ll_arena *arena,
                                     struct ll_diags *diags)
{
    return prepare(trace, arena, diags);
}

static bool has_times(const struct ll_prepared *prepared)
{
    for (uint32_t i = prepared->first_op; i < prepared->end_op; i++)
        if (prepared->trace->ops[i].duration_ns > 0 &&
            prepared->works[prepared->trace->ops[i].form].kind != LL_WORK_COLLECTIVE)
            return true;
    return false;
}

const struct ll_prepared *ll_prepare_as_recorded(const struct ll_trace *trace, struct ll_arena *arena,
                                                 struct ll_diags *diags)
{
    struct ll_prepared *prepared = prepare(trace, arena, diags);
    struct ll_place place = {.file = ll_trace_fact(trace, "model")};
    if (prepared && !has_times(prepared)) {
        ll_complain(diags, place, "no op has a recorded time: expected a recording, not a dry run");
        return NULL;
    }
    if (prepared)
        prepared->as_recorded = true;
    return prepared;
}
