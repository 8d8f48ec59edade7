/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/timeline.h"

#include "sim/study/statistics.h"
#include "tracer/base/map.h"

#include <stdlib.h>
#include <string.h>

struct building {
    const struct ll_trace *trace;
    struct ll_timeline *timeline;
    struct ll_map kinds; /* names, numbered by first appearance */
    double **time_s;     /* by that number */
    struct ll_arena *arena;
};

static bool counts(const struct ll_form *form)
{
    return form->view.kind == LL_OP_COUNT || ll_op_class(form->view.kind) != LL_CLASS_INPUT;
}

/* The times of a kind, made when it is first seen. NULL when memory ran out. */
static double *times_of(struct building *b, const struct ll_form *form)
{
    const char *name = b->trace->strings[form->kind_name];
    bool is_new;
    uint32_t id = ll_map_intern(&b->kinds, name, strlen(name), &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (is_new) {
        b->time_s[id] = ll_alloc(b->arena, b->timeline->step_count, sizeof **b->time_s);
        b->timeline->kinds[id] =
            (struct ll_timeline_kind){.name = name, .kind = form->view.kind, .time_s = b->time_s[id]};
        b->timeline->kind_count = id + 1;
    }
    return b->time_s[id];
}

static bool add_step(struct building *b, const struct ll_step *step, size_t at)
{
    struct ll_timeline *timeline = b->timeline;
    timeline->wall_s[at] = (double)step->wall_ns * 1e-9;
    timeline->recording_s[at] = (double)step->recording_ns * 1e-9;
    for (uint32_t i = step->first_op; i < step->first_op + step->op_count; i++) {
        const struct ll_op *op = &b->trace->ops[i];
        const struct ll_form *form = &b->trace->forms[op->form];
        double time_s = (double)op->duration_ns * 1e-9;
        timeline->ops_s[at] += time_s;
        if (!counts(form))
            continue;
        double *times = times_of(b, form);
        if (!times)
            return false;
        times[at] += time_s;
    }
    return true;
}

static int by_share(const void *a, const void *b)
{
    const struct ll_timeline_kind *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share ? 1 : -1) : strcmp(x->name, y->name);
}

static const double quiet_part = 0.1;

static void sum_up(struct ll_timeline *timeline, struct ll_arena *arena)
{
    double all_s = 0;
    for (size_t i = 0; i < timeline->kind_count; i++) {
        struct ll_timeline_kind *kind = &timeline->kinds[i];
        kind->quiet_s = ll_quantile(kind->time_s, timeline->step_count, quiet_part, arena);
        all_s += kind->quiet_s;
    }
    for (size_t i = 0; i < timeline->kind_count && all_s > 0; i++)
        timeline->kinds[i].share = timeline->kinds[i].quiet_s / all_s;
    qsort(timeline->kinds, timeline->kind_count, sizeof *timeline->kinds, by_share);
}

static bool make_room(struct building *b)
{
    struct ll_timeline *timeline = b->timeline;
    timeline->kinds = ll_alloc(b->arena, b->trace->form_count + 1, sizeof *timeline->kinds);
    b->time_s = ll_alloc(b->arena, b->trace->form_count + 1, sizeof *b->time_s);
    timeline->wall_s = ll_alloc(b->arena, timeline->step_count + 1, sizeof *timeline->wall_s);
    timeline->ops_s = ll_alloc(b->arena, timeline->step_count + 1, sizeof *timeline->ops_s);
    timeline->recording_s = ll_alloc(b->arena, timeline->step_count + 1, sizeof *timeline->recording_s);
    return timeline->kinds && b->time_s && timeline->wall_s && timeline->ops_s && timeline->recording_s;
}

const struct ll_timeline *ll_timeline(const struct ll_trace *trace, size_t skipped, struct ll_arena *arena)
{
    struct building b = {.trace = trace, .arena = arena};
    size_t complete = 0, seen = 0, at = 0;
    for (uint64_t i = 0; i < trace->step_count; i++)
        complete += trace->steps[i].complete;
    b.timeline = ll_alloc(arena, 1, sizeof *b.timeline);
    if (b.timeline)
        b.timeline->step_count = complete > skipped ? complete - skipped : 0;
    bool good = b.timeline && make_room(&b);
    for (uint64_t i = 0; good && i < trace->step_count; i++)
        if (trace->steps[i].complete && seen++ >= skipped)
            good = add_step(&b, &trace->steps[i], at++);
    if (good)
        sum_up(b.timeline, arena);
    ll_map_release(&b.kinds);
    return good ? b.timeline : NULL;
}
