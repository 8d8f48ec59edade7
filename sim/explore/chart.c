/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/chart_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    bool (*draw)(const struct ll_chart_job *job);
    unsigned heeds;
} charts[] = {
#define LL_CHART(word, name, help, heeds) [LL_CHART_##word] = {name, ll_chart_##word, heeds},
#include "sim/explore/charts.def"
#undef LL_CHART
};

const char *ll_chart_name(enum ll_chart chart)
{
    assert(chart < LL_CHART_COUNT);
    return charts[chart].name;
}

unsigned ll_chart_heeds(enum ll_chart chart)
{
    assert(chart < LL_CHART_COUNT);
    return charts[chart].heeds;
}

/* The number of a name among others, or a complaint. */
static bool choose(const struct ll_chart_job *job, const char *name, const char *const *names, size_t count,
                   const char *what, size_t *index)
{
    for (*index = 0; *index < count; (*index)++)
        if (strcmp(names[*index], name) == 0)
            return true;
    const char *near = ll_nearest(name, names, count);
    struct ll_place nowhere = {0};
    if (near)
        return ll_complain(job->diags, nowhere, "no %s `%s` here; did you mean `%s`?", what, name, near);
    return ll_complain(job->diags, nowhere, "no %s `%s` here; the first is `%s`", what, name,
                       count ? names[0] : "");
}

bool ll_chart_axis(const struct ll_chart_job *job, const char *name, size_t *index)
{
    const struct ll_data_frame *frame = job->findings->frame;
    const char *names[LL_MOST_AXES] = {0};
    for (size_t a = 0; a < frame->axis_count; a++)
        names[a] = frame->columns[a].name;
    return choose(job, name, names, frame->axis_count, "parameter", index);
}

bool ll_chart_objective(const struct ll_chart_job *job, const char *name, size_t *index)
{
    const struct ll_data_frame *frame = job->findings->frame;
    const char *names[LL_MOST_OBJECTIVES] = {0};
    for (size_t k = 0; k < frame->objective_count; k++)
        names[k] = frame->objectives[k].name;
    return choose(job, name, names, frame->objective_count, "objective", index);
}

bool ll_chart_is_wide(const double *values, uint64_t count)
{
    double low = INFINITY, high = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    return low > 0 && high > 20 * low;
}

const char *ll_chart_about(const struct ll_chart_job *job)
{
    const struct ll_findings *findings = job->findings;
    return ll_format(job->arena, "%" PRIu64 " designs tried, %" PRIu64 " valid, %" PRIu64 " on the front",
                     findings->frame->row_count, findings->valid_count, findings->front_count);
}

bool ll_chart_draw(enum ll_chart chart, const struct ll_findings *findings, const struct ll_chart_wish *wish,
                   struct ll_str *out, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_chart_job job = {findings, wish, &arena, out, diags};
    bool drawn = charts[chart].draw(&job);
    ll_arena_release(&arena);
    return drawn && !out->failed;
}
