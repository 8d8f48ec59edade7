/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim --as-recorded: the timelines of profiles once more, as they were or with changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/load.h"
#include "sim/cli/sim_timeline.h"
#include "sim/report/recorded_report.h"
#include "tracer/format/reader.h"
#include "tracer/ir/timeline.h"

/* How many values of a repeated option there are. */
static size_t count_of(const struct ll_args *args, const char *name)
{
    size_t count = 0;
    while (ll_value_at(args, name, count))
        count++;
    return count;
}

bool ll_wants_timeline(const struct ll_args *args)
{
    struct ll_diags diags = {0};
    enum ll_status status;
    if (count_of(args, "scale") || count_of(args, "drop"))
        return true;
    if (!ll_flag(args, "as-recorded") || strcmp(args->words[0], "-") == 0)
        return false;
    struct ll_trace *trace = ll_trace_read(args->words[0], &diags, &status);
    bool wants = trace && trace->timeline;
    ll_trace_free(trace);
    ll_diags_release(&diags);
    return wants;
}

/* "PATTERN=F": the pattern may have an = of its own, the factor has none. */
static bool read_scale(const struct ll_args *args, const char *text, struct ll_timeline_change *change)
{
    const char *sign = strrchr(text, '=');
    char *end = NULL;
    double factor = sign ? ll_strtod(sign + 1, &end) : NAN;
    if (!sign || sign == text || end == sign + 1 || *end || !isfinite(factor) || factor < 0) {
        ll_cli_reject("--scale %s: expected a pattern, = and by what to multiply the time, at least 0, as in "
                      "--scale 'flash*=0.5'",
                      text);
        return false;
    }
    *change = (struct ll_timeline_change){.pattern = ll_copy_text(args->arena, text, (size_t)(sign - text)),
                                          .factor = factor};
    return change->pattern || (ll_cli_fail("memory ran out"), false);
}

/* In the order of the command line, scales before drops; NULL after complaints. */
static struct ll_timeline_change *read_changes(const struct ll_args *args, uint64_t *count)
{
    const size_t scales = count_of(args, "scale"), drops = count_of(args, "drop");
    struct ll_timeline_change *changes = ll_alloc(args->arena, scales + drops + 1, sizeof *changes);
    *count = scales + drops;
    if (!changes)
        ll_cli_fail("memory ran out");
    for (size_t i = 0; changes && i < scales; i++)
        if (!read_scale(args, ll_value_at(args, "scale", i), &changes[i]))
            return NULL;
    for (size_t i = 0; changes && i < drops; i++) {
        changes[scales + i] =
            (struct ll_timeline_change){.pattern = ll_value_at(args, "drop", i), .drop = true};
        if (!changes[scales + i].pattern[0]) {
            ll_cli_reject("--drop wants a pattern that is not empty");
            return NULL;
        }
    }
    return changes;
}

static bool says_what_fits(const struct ll_args *args)
{
    static const char *const changing[] = {"as",   "gemm-dtype", "weights-as", "prune",
                                           "gaps", "batch",      "batch-was",  NULL};
    static const char *const simulating[] = {"set",    "what-if", "per-op",  "figure", "kind",
                                             "memory", "html",    "explain", "check",  "plan",
#define LL_PLAN_KEY(key, option, value, type, member, least, most, help) option,
#define LL_PLAN_WITHOUT_BATCH
#include "sim/parallel/plan_keys.def"
#undef LL_PLAN_KEY
                                             NULL};
    if (!ll_flag(args, "as-recorded")) {
        ll_cli_reject("--scale and --drop change a recorded timeline: they want --as-recorded");
        return false;
    }
    return ll_without(args, changing, "changes the ops; --as-recorded takes them as they were") &&
           ll_without(args, simulating,
                      "is of a simulation; --as-recorded replays the timeline of the trace");
}

static bool has_events(const struct ll_device_timeline *timeline)
{
    for (uint64_t i = 0; i < timeline->event_count; i++)
        if (ll_event_counts(timeline, &timeline->events[i]))
            return true;
    return false;
}

/* Replays one trace into its report; an exit status. */
static int replay(const struct ll_args *args, const char *path, const struct ll_timeline_change *changes,
                  uint64_t change_count, struct ll_trace **trace, struct ll_recorded_report *report)
{
    int status;
    *trace = ll_load_trace(path, &status);
    if (!*trace)
        return status;
    if (!(*trace)->timeline)
        return ll_cli_reject(
            "%s: there is no timeline in it: expected a trace imported from a profile (leadline "
            "import pytorch-profile, nsys, rocprofv3, xplane)",
            path);
    if (!has_events((*trace)->timeline))
        return ll_cli_reject("%s: no event of its timeline was launched while it was recorded", path);
    struct ll_timeline_change *own = ll_alloc(args->arena, change_count + 1, sizeof *own);
    if (!own)
        return ll_cli_fail("memory ran out");
    if (change_count)
        memcpy(own, changes, change_count * sizeof *own);
    *report = (struct ll_recorded_report){.trace_name = path,
                                          .trace = *trace,
                                          .changes = own,
                                          .change_count = change_count,
                                          .top = ll_output_top()};
    report->replay = ll_timeline_replay((*trace)->timeline, own, change_count, args->arena);
    if (!report->replay)
        return ll_cli_fail("memory ran out");
    for (uint64_t i = 0; i < change_count; i++)
        if (own[i].count == 0)
            return ll_cli_reject("%s: no event has a name like `%s`, nor an operator that launched one", path,
                                 own[i].pattern);
    return LL_DONE;
}

static int show(const struct ll_args *args, const struct ll_recorded_report *reports)
{
    struct ll_warnings warnings = {.arena = args->arena};
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    if (ll_value_at(args, "machine", 0))
        ll_warn(&warnings,
                "-c %s is not used: a recorded timeline is replayed as it was, on the devices that it was "
                "recorded on; without --as-recorded its ops are simulated",
                ll_value_at(args, "machine", 0));
    if (ll_flag(args, "json")) {
        ll_recorded_json(reports, args->word_count, &warnings, &json);
        return ll_print(&out);
    }
    ll_warnings_text(&warnings, &out);
    for (size_t i = 0; i < args->word_count; i++) {
        ll_str_add(&out, i ? "\n" : "");
        ll_recorded_page(&reports[i], ll_screen_width(), &out);
    }
    return ll_print(&out);
}

int ll_run_timeline(const struct ll_args *args)
{
    uint64_t change_count;
    if (!says_what_fits(args))
        return LL_WRONG;
    struct ll_timeline_change *changes = read_changes(args, &change_count);
    if (!changes)
        return LL_WRONG;
    struct ll_trace **traces = ll_alloc(args->arena, args->word_count, sizeof(struct ll_trace *));
    struct ll_recorded_report *reports = ll_alloc(args->arena, args->word_count, sizeof *reports);
    int status = traces && reports ? LL_DONE : ll_cli_fail("memory ran out");
    for (size_t i = 0; status == LL_DONE && i < args->word_count; i++)
        status = replay(args, args->words[i], changes, change_count, &traces[i], &reports[i]);
    if (status == LL_DONE)
        status = show(args, reports);
    for (size_t i = 0; traces && i < args->word_count; i++)
        ll_trace_free(traces[i]);
    return status;
}
