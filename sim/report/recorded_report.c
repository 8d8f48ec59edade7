/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a page and of the document are those of the replay; as recorded they stand beside, where a change
 * makes them differ. With several ranks they are means over the ranks, whose own times follow. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sim/report/recorded_report.h"
#include "sim/report/table.h"

/* Of all ranks: means, but for the span, which is that of all together, and counts, which are sums. */
static struct ll_timeline_times all_ranks(const struct ll_timeline_replay *replay, bool recorded)
{
    const struct ll_timeline_times *ranks = recorded ? replay->recorded : replay->replayed;
    const double count = replay->timeline->rank_count;
    struct ll_timeline_times all = {.span_s = recorded ? replay->recorded_span_s : replay->span_s};
    for (uint32_t i = 0; i < replay->timeline->rank_count; i++) {
        all.busy_s += ranks[i].busy_s / count;
        all.computation_s += ranks[i].computation_s / count;
        all.exchange_s += ranks[i].exchange_s / count;
        all.exposed_exchange_s += ranks[i].exposed_exchange_s / count;
        all.copy_s += ranks[i].copy_s / count;
        all.exposed_copy_s += ranks[i].exposed_copy_s / count;
        all.event_count += ranks[i].event_count;
        all.unlaunched_count += ranks[i].unlaunched_count;
        all.unlaunched_s += ranks[i].unlaunched_s;
    }
    all.idle_s = fmax(0, all.span_s - all.busy_s);
    return all;
}

static void put_times(const struct ll_timeline_times *times, struct ll_json *json)
{
    ll_json_put_number(json, "time_s", times->span_s);
    ll_json_put_number(json, "busy_s", times->busy_s);
    ll_json_put_number(json, "idle_s", times->idle_s);
    ll_json_put_number(json, "computation_s", times->computation_s);
    ll_json_put_number(json, "communication_s", times->exchange_s);
    ll_json_put_number(json, "exposed_communication_s", times->exposed_exchange_s);
    ll_json_put_number(json, "copy_s", times->copy_s);
    ll_json_put_number(json, "exposed_copy_s", times->exposed_copy_s);
    ll_json_put_count(json, "events", times->event_count);
    ll_json_key(json, "unlaunched");
    ll_json_open_object(json);
    ll_json_put_count(json, "count", times->unlaunched_count);
    ll_json_put_number(json, "time_s", times->unlaunched_s);
    ll_json_close_object(json);
}

static void put_changes(const struct ll_recorded_report *report, struct ll_json *json)
{
    ll_json_key(json, "changes");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < report->change_count; i++) {
        const struct ll_timeline_change *change = &report->changes[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "pattern", change->pattern);
        ll_json_put_bool(json, "drop", change->drop);
        ll_json_put_number(json, "factor", change->drop ? 0 : change->factor);
        ll_json_put_count(json, "events", change->count);
        ll_json_put_number(json, "recorded_s", change->time_s);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_rows(const struct ll_timeline_replay *replay, struct ll_json *json)
{
    ll_json_key(json, "kernels");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < replay->row_count; i++) {
        const struct ll_timeline_row *row = &replay->rows[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "name", row->name);
        ll_json_put_text(json, "kind", ll_event_name((enum ll_device_event_kind)row->kind));
        ll_json_put_count(json, "count", row->count);
        ll_json_put_number(json, "time_s", row->time_s);
        ll_json_put_number(json, "recorded_s", row->recorded_s);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_key(json, "critical_path");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < replay->piece_count; i++) {
        const struct ll_timeline_piece *piece = &replay->path[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "what", piece->what);
        ll_json_put_text(json, "name", piece->name);
        ll_json_put_count(json, "count", piece->count);
        ll_json_put_number(json, "time_s", piece->time_s);
        ll_json_put_number(json, "share", replay->span_s > 0 ? piece->time_s / replay->span_s : 0);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void put_result(const struct ll_recorded_report *report, struct ll_json *json)
{
    const struct ll_timeline_replay *replay = report->replay;
    const struct ll_timeline_times all = all_ranks(replay, false), recorded = all_ranks(replay, true);
    ll_json_open_object(json);
    ll_json_put_text(json, "trace", report->trace_name);
    ll_json_put_text(json, "model", ll_trace_fact(report->trace, "model"));
    ll_json_put_text(json, "device", ll_trace_fact(report->trace, "device"));
    ll_json_put_bool(json, "as_recorded", true);
    put_times(&all, json);
    ll_json_put_number(json, "launch_s", replay->launch_s);
    ll_json_key(json, "recorded");
    ll_json_open_object(json);
    put_times(&recorded, json);
    ll_json_close_object(json);
    ll_json_key(json, "ranks");
    ll_json_open_list(json);
    for (uint32_t i = 0; i < replay->timeline->rank_count; i++) {
        ll_json_open_object(json);
        put_times(&replay->replayed[i], json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    put_changes(report, json);
    put_rows(replay, json);
    ll_json_close_object(json);
}

void ll_recorded_json(const struct ll_recorded_report *reports, size_t count,
                      const struct ll_warnings *warnings, struct ll_json *json)
{
    ll_json_open_document(json, "sim_recorded", 1);
    ll_warnings_json(warnings, json);
    ll_json_key(json, "results");
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        put_result(&reports[i], json);
    ll_json_close_list(json);
    ll_json_close_object(json);
}

/* --- the page --- */

static void show(struct ll_table *table, uint64_t top, unsigned width, struct ll_str *out)
{
    ll_table_top(table, top);
    ll_table_print(table, width, out);
    ll_table_free(table);
}

static void time_row(struct ll_table *table, const char *what, double now_s, double then_s, double span_s,
                     bool changed)
{
    struct ll_human now, then, share;
    ll_format_percent(&share, span_s > 0 ? now_s / span_s : 0);
    if (changed)
        ll_table_row(table, "%s|%s|%s|%s", what, ll_format_si(&now, now_s, "s"), share.text,
                     ll_format_si(&then, then_s, "s"));
    else
        ll_table_row(table, "%s|%s|%s", what, ll_format_si(&now, now_s, "s"), share.text);
}

static void times_table(const struct ll_recorded_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_timeline_replay *replay = report->replay;
    const struct ll_timeline_times now = all_ranks(replay, false), then = all_ranks(replay, true);
    const bool changed = report->change_count > 0;
    struct ll_table *table =
        ll_table_new(changed ? "device|>time|>share|>as recorded" : "device|>time|>share");
    const struct {
        const char *what;
        double now_s, then_s;
    } rows[] = {{"span", now.span_s, then.span_s},
                {"busy", now.busy_s, then.busy_s},
                {"idle", now.idle_s, then.idle_s},
                {"computation", now.computation_s, then.computation_s},
                {"communication", now.exchange_s, then.exchange_s},
                {"exposed communication", now.exposed_exchange_s, then.exposed_exchange_s},
                {"copies", now.copy_s, then.copy_s},
                {"exposed copies", now.exposed_copy_s, then.exposed_copy_s}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        time_row(table, rows[i].what, rows[i].now_s, rows[i].then_s, now.span_s, changed);
    for (uint32_t i = 0; replay->timeline->rank_count > 1 && i < replay->timeline->rank_count; i++) {
        char what[48];
        snprintf(what, sizeof what, "rank %" PRIu32 ", span", i);
        time_row(table, what, replay->replayed[i].span_s, replay->recorded[i].span_s, now.span_s, changed);
    }
    show(table, 0, width, out);
}

static void rows_table(const struct ll_recorded_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_timeline_replay *replay = report->replay;
    double sum_s = 0;
    struct ll_table *table = ll_table_new("kernel|>count|>time|>share");
    for (uint64_t i = 0; i < replay->row_count; i++)
        sum_s += replay->rows[i].time_s;
    for (uint64_t i = 0; i < replay->row_count; i++) {
        const struct ll_timeline_row *row = &replay->rows[i];
        struct ll_human count, time, share;
        ll_table_cell(table, "%.60s", row->name);
        ll_table_cell(table, "%s", ll_format_grouped(&count, row->count));
        ll_table_cell(table, "%s", ll_format_si(&time, row->time_s, "s"));
        ll_table_cell(table, "%s", ll_format_percent(&share, sum_s > 0 ? row->time_s / sum_s : 0));
        ll_table_end_row(table);
    }
    ll_str_add(out, "\nkernels by time\n");
    show(table, report->top, width, out);
}

static void path_table(const struct ll_recorded_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_timeline_replay *replay = report->replay;
    struct ll_table *table = ll_table_new("critical path|name|>count|>time|>share");
    for (uint64_t i = 0; i < replay->piece_count; i++) {
        const struct ll_timeline_piece *piece = &replay->path[i];
        struct ll_human count, time, share;
        ll_table_cell(table, "%s", piece->what);
        ll_table_cell(table, "%.60s", piece->name);
        ll_table_cell(table, "%s", ll_format_grouped(&count, piece->count));
        ll_table_cell(table, "%s", ll_format_si(&time, piece->time_s, "s"));
        ll_table_cell(table, "%s",
                      ll_format_percent(&share, replay->span_s > 0 ? piece->time_s / replay->span_s : 0));
        ll_table_end_row(table);
    }
    ll_str_add(out, "\n");
    show(table, report->top, width, out);
    ll_wrap(
        out,
        "launch: from a call to what it launched; gap: between events; host: between calls; wait: from an "
        "event to the return of the call that waited for it; before: nothing that is recorded holds it back",
        width);
}

static void changes_lines(const struct ll_recorded_report *report, unsigned width, struct ll_str *out)
{
    for (uint64_t i = 0; i < report->change_count; i++) {
        const struct ll_timeline_change *change = &report->changes[i];
        struct ll_str line = {0};
        struct ll_human time;
        ll_str_addf(&line, "%s: %" PRIu64 " event%s of %s", change->pattern, change->count,
                    ll_plural(change->count), ll_format_si(&time, change->time_s, "s"));
        if (change->drop)
            ll_str_addf(&line, " %s gone", change->count == 1 ? "is" : "are");
        else
            ll_str_addf(&line, " take%s %.4g times as long", change->count == 1 ? "s" : "", change->factor);
        ll_end_line(&line, width, out);
    }
}

void ll_recorded_page(const struct ll_recorded_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_timeline_replay *replay = report->replay;
    const struct ll_timeline_times all = all_ranks(replay, false);
    const char *device = ll_trace_fact(report->trace, "device");
    struct ll_human span, gain, time, count;
    struct ll_str line = {0};
    ll_str_addf(&line,
                "%s as recorded%s%s: " LL_MARK_VALUE "%s" LL_MARK_END " from the first event to the end "
                "of the last",
                report->trace_name, device ? " on " : "", device ? device : "",
                ll_format_si(&span, replay->span_s, "s"));
    if (report->change_count && replay->span_s > 0)
        ll_str_addf(&line, ", %s", ll_format_times(&gain, replay->recorded_span_s / replay->span_s));
    ll_end_line(&line, width, out);
    changes_lines(report, width, out);
    if (all.unlaunched_count) {
        ll_str_addf(&line, "unlaunched: %s event%s of %s, launched before the recording began, %s left out",
                    ll_format_grouped(&count, all.unlaunched_count), ll_plural(all.unlaunched_count),
                    ll_format_si(&time, all.unlaunched_s, "s"), all.unlaunched_count == 1 ? "is" : "are");
        ll_end_line(&line, width, out);
    }
    ll_str_add(out, "\n");
    times_table(report, width, out);
    rows_table(report, width, out);
    path_table(report, width, out);
}
