/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a study as text for a screen, CSV, a page of HTML, and JSON. */
#include "sim/study/study.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/str.h"

/* A cell as people see it, in the buffer when it is a number. */
static const char *cell_text(const struct ll_study_table *table, uint64_t i, struct ll_human *buffer)
{
    const struct ll_cell *cell = &table->cells[i];
    const struct ll_study_column *column = &table->columns[i % table->column_count];
    if (column->decimals == LL_TEXT_COLUMN)
        return cell->text ? cell->text : "";
    if (isnan(cell->number))
        return "";
    ll_snprintf(buffer->text, sizeof buffer->text, "%.*f", column->decimals, cell->number);
    return buffer->text;
}

static void add_table(const struct ll_study_table *table, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    for (size_t c = 0; c < table->column_count; c++)
        ll_str_addf(&line, "%s%s%s%s", c ? "|" : "", table->columns[c].decimals == LL_TEXT_COLUMN ? "" : ">",
                    c ? "" : "  ", table->columns[c].name);
    struct ll_table *shown_table = line.failed ? NULL : ll_table_new(line.text);
    for (uint64_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count) {
        for (size_t c = 0; c < table->column_count; c++) {
            struct ll_human number;
            ll_table_cell(shown_table, "%s%s", c ? "" : "  ", cell_text(table, i + c, &number));
        }
        ll_table_end_row(shown_table);
    }
    ll_str_addf(out, "\n%s\n", table->caption);
    ll_table_print(shown_table, width, out);
    ll_table_free(shown_table);
    out->failed |= line.failed;
    ll_str_release(&line);
}

/* Each workload that was run, by its first recording; how others differ, the page says. */
static void add_recordings(const struct ll_study_plan *plan, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    for (uint64_t i = 0; i < plan->recording_count; i++) {
        const struct ll_recording *recording = &plan->recordings[i];
        bool named = recording->dry_run;
        for (uint64_t j = 0; j < i && !named; j++)
            named = !plan->recordings[j].dry_run && strcmp(plan->recordings[j].row, recording->row) == 0;
        if (named)
            continue;
        ll_str_addf(&line, "%s %s, ", line.length ? ";" : "Recorded here:", recording->model);
        if (recording->recipe)
            ll_str_add(&line, "as leadline train has it, ");
        else
            ll_str_addf(&line, "batch %" PRIu64 ", ", recording->batch);
        ll_str_addf(&line, "%" PRIu64 " step%s", recording->steps, ll_plural(recording->steps));
        for (size_t s = 0; s < LL_MOST_STUDY_SETTINGS && recording->settings[s].key; s++)
            ll_str_addf(&line, ", %s=%s", recording->settings[s].key, recording->settings[s].value);
    }
    if (line.length && !line.failed)
        ll_wrap(out, line.text, width);
    out->failed |= line.failed;
    ll_str_release(&line);
}

/* What a verdict rests on, as a paragraph below the table; "" of those that say all. */
static void reason(const struct ll_criterion *criterion, struct ll_str *out)
{
    if (criterion->verdict == LL_EXPLAINED)
        ll_str_addf(out, "%s: %s. Needed: %s.", ll_cause_text(criterion->cause), criterion->arithmetic,
                    criterion->needed);
    if (criterion->verdict == LL_INCONCLUSIVE)
        ll_str_addf(out, "what was measured leaves %.3g open.", criterion->spread);
    if (criterion->why)
        ll_str_addf(out, "%s.", criterion->why);
}

static void add_reason(const struct ll_criterion *criterion, unsigned width, struct ll_str *out)
{
    struct ll_str text = {0};
    ll_str_addf(&text, "%s, %s: ", ll_verdict_name(criterion->verdict), criterion->claim);
    size_t heading = text.length;
    reason(criterion, &text);
    if (text.length > heading && !text.failed)
        ll_wrap(out, text.text, width);
    out->failed |= text.failed;
    ll_str_release(&text);
}

void ll_present_text(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_study_result *result, unsigned width, struct ll_str *out)
{
    assert(study->id && width > 0);
    ll_str_addf(out, "%s  %s: %s\n", study->id, study->paper, study->title);
    for (size_t i = 0; i < result->table_count; i++)
        add_table(&result->tables[i], width, out);
    if (result->note_count)
        ll_str_add(out, "\n");
    for (size_t i = 0; i < result->note_count; i++)
        ll_wrap(out, result->notes[i], width);
    add_recordings(plan, width, out);
    struct ll_table *shown_table = ll_table_new("  verdict|>measured|wanted|claim");
    for (uint64_t i = 0; i < result->criterion_count; i++) {
        const struct ll_criterion *criterion = &result->criteria[i];
        if (criterion->verdict == LL_FAIL)
            ll_table_mark(shown_table, LL_MARK_BAD);
        ll_table_row(shown_table, "  %s|%s|%s|%s", ll_verdict_name(criterion->verdict), criterion->measured,
                     criterion->bound, criterion->claim);
    }
    ll_str_add(out, "\n");
    ll_table_print(shown_table, width, out);
    ll_table_free(shown_table);
    for (uint64_t i = 0; i < result->criterion_count; i++)
        add_reason(&result->criteria[i], width, out);
}

void ll_present_csv(const struct ll_study_table *table, struct ll_str *out)
{
    assert(table->column_count > 0);
    for (size_t c = 0; c < table->column_count; c++) {
        ll_str_add(out, c ? "," : "");
        ll_csv_put(out, table->columns[c].name);
    }
    for (uint64_t i = 0; i < table->cell_count; i++) {
        size_t column = i % table->column_count;
        const struct ll_cell *cell = &table->cells[i];
        char number[32] = "";
        if (table->columns[column].decimals != LL_TEXT_COLUMN && isfinite(cell->number))
            ll_number_text(cell->number, number);
        ll_str_add(out, column ? "," : "\n");
        ll_csv_put(out, cell->text ? cell->text : number);
    }
    ll_str_add(out, "\n");
}

static void sheet_json(const struct ll_study_table *table, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "name", table->name);
    ll_json_put_text(json, "caption", table->caption);
    ll_json_key(json, "rows");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < table->cell_count; i++) {
        const struct ll_study_column *column = &table->columns[i % table->column_count];
        if (i % table->column_count == 0)
            ll_json_open_object(json);
        if (column->decimals == LL_TEXT_COLUMN)
            ll_json_put_text(json, column->name, table->cells[i].text);
        else
            ll_json_put_number(json, column->name, table->cells[i].number);
        if ((i + 1) % table->column_count == 0)
            ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_close_object(json);
}

static void recordings_json(const struct ll_study_plan *plan, struct ll_json *json)
{
    ll_json_key(json, "recordings");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < plan->recording_count; i++) {
        const struct ll_recording *recording = &plan->recordings[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "row", recording->row);
        ll_json_put_text(json, "variant", recording->variant);
        ll_json_put_text(json, "model", recording->model);
        ll_json_put_text(json, "mode", recording->train ? "train" : "infer");
        ll_json_put_bool(json, "dry_run", recording->dry_run);
        ll_json_put_bool(json, "lesson", recording->recipe);
        ll_json_put_count(json, "batch", recording->batch);
        ll_json_put_count(json, "steps", recording->steps);
        ll_json_put_count(json, "threads", recording->threads);
        ll_json_key(json, "settings");
        ll_json_open_object(json);
        for (size_t s = 0; s < LL_MOST_STUDY_SETTINGS && recording->settings[s].key; s++)
            ll_json_put_text(json, recording->settings[s].key, recording->settings[s].value);
        ll_json_close_object(json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void machines_json(const struct ll_study_plan *plan, struct ll_json *json)
{
    ll_json_key(json, "machines");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < plan->target_count; i++) {
        const struct ll_study_machine *target = &plan->targets[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "name", target->name);
        ll_json_put_text(json, "machine", target->machine);
        ll_json_key(json, "set");
        ll_json_open_object(json);
        for (size_t o = 0; o < LL_MOST_STUDY_OVERRIDES && target->overrides[o].path; o++)
            ll_json_put_text(json, target->overrides[o].path, target->overrides[o].value);
        ll_json_close_object(json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void criteria_json(const struct ll_study_result *result, struct ll_json *json)
{
    ll_json_key(json, "criteria");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < result->criterion_count; i++) {
        const struct ll_criterion *criterion = &result->criteria[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "verdict", ll_verdict_name(criterion->verdict));
        ll_json_put_text(json, "claim", criterion->claim);
        ll_json_put_text(json, "measured", criterion->measured);
        ll_json_put_text(json, "wanted", criterion->bound);
        ll_json_put_number(json, "value", criterion->value);
        if (criterion->verdict == LL_EXPLAINED) {
            ll_json_put_text(json, "cause", ll_cause_name(criterion->cause));
            ll_json_put_text(json, "arithmetic", criterion->arithmetic);
            ll_json_put_text(json, "needed", criterion->needed);
        }
        if (criterion->verdict == LL_INCONCLUSIVE)
            ll_json_put_number(json, "spread", criterion->spread);
        if (criterion->why)
            ll_json_put_text(json, criterion->verdict == LL_INFO ? "why_no_criterion" : "why_skipped",
                             criterion->why);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

void ll_present_json(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_study_result *result, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "id", study->id);
    ll_json_put_text(json, "paper", study->paper);
    ll_json_put_text(json, "title", study->title);
    ll_json_put_count(json, "passed", ll_count_verdicts(result, LL_PASS));
    ll_json_put_count(json, "failed", ll_count_verdicts(result, LL_FAIL));
    ll_json_put_count(json, "explained", ll_count_verdicts(result, LL_EXPLAINED));
    ll_json_put_count(json, "inconclusive", ll_count_verdicts(result, LL_INCONCLUSIVE));
    ll_json_put_count(json, "skipped", ll_count_verdicts(result, LL_SKIPPED));
    criteria_json(result, json);
    ll_json_key(json, "tables");
    ll_json_open_list(json);
    for (size_t i = 0; i < result->table_count; i++)
        sheet_json(&result->tables[i], json);
    ll_json_close_list(json);
    ll_json_key(json, "notes");
    ll_json_open_list(json);
    for (size_t i = 0; i < result->note_count; i++)
        ll_json_text(json, result->notes[i]);
    ll_json_close_list(json);
    recordings_json(plan, json);
    machines_json(plan, json);
    ll_json_close_object(json);
}

void ll_present_more_json(const struct ll_study *study, const struct ll_study_result *result,
                          const char *page, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "doc", study->doc);
    ll_json_put_text(json, "page", page);
    ll_json_key(json, "figures");
    ll_json_open_list(json);
    for (size_t i = 0; i < result->figure_count; i++) {
        ll_json_open_object(json);
        ll_json_put_text(json, "caption", result->figures[i].caption);
        ll_json_put_text(json, "svg", result->figures[i].svg.text);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_key(json, "decimals");
    ll_json_open_list(json);
    for (size_t i = 0; i < result->table_count; i++) {
        ll_json_open_object(json);
        for (size_t c = 0; c < result->tables[i].column_count; c++)
            if (result->tables[i].columns[c].decimals != LL_TEXT_COLUMN)
                ll_json_put_count(json, result->tables[i].columns[c].name,
                                  (uint64_t)result->tables[i].columns[c].decimals);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_close_object(json);
}
