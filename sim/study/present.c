/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/present.h"

#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A cell as people see it, in the buffer when it is a number. */
static const char *cell_text(const struct ll_sheet *sheet, uint64_t i, struct ll_human *buffer)
{
    const struct ll_cell *cell = &sheet->cells[i];
    const struct ll_outcome_column *column = &sheet->columns[i % sheet->column_count];
    if (column->decimals == LL_TEXT_COLUMN)
        return cell->text ? cell->text : "";
    if (isnan(cell->number))
        return "";
    ll_snprintf(buffer->text, sizeof buffer->text, "%.*f", column->decimals, cell->number);
    return buffer->text;
}

static void add_table(const struct ll_sheet *sheet, unsigned width, struct ll_str *out)
{
    struct ll_str line = {0};
    for (size_t c = 0; c < sheet->column_count; c++)
        ll_str_addf(&line, "%s%s%s%s", c ? "|" : "", sheet->columns[c].decimals == LL_TEXT_COLUMN ? "" : ">",
                    c ? "" : "  ", sheet->columns[c].name);
    struct ll_table *table = line.failed ? NULL : ll_table_new(line.text);
    for (uint64_t i = 0; i + sheet->column_count <= sheet->cell_count; i += sheet->column_count) {
        for (size_t c = 0; c < sheet->column_count; c++) {
            struct ll_human number;
            ll_table_cell(table, "%s%s", c ? "" : "  ", cell_text(sheet, i + c, &number));
        }
        ll_table_end_row(table);
    }
    ll_str_addf(out, "\n%s\n", sheet->caption);
    ll_table_print(table, width, out);
    ll_table_free(table);
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
        if (recording->lesson)
            ll_str_add(&line, "as leadline train has it, ");
        else
            ll_str_addf(&line, "batch %" PRIu64 ", ", recording->batch);
        ll_str_addf(&line, "%" PRIu64 " steps", recording->steps);
        for (size_t s = 0; s < LL_MOST_STUDY_SETTINGS && recording->settings[s].key; s++)
            ll_str_addf(&line, ", %s=%s", recording->settings[s].key, recording->settings[s].value);
    }
    if (line.length && !line.failed)
        ll_wrap(out, line.text, width);
    out->failed |= line.failed;
    ll_str_release(&line);
}

void ll_present_text(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_outcome *outcome, unsigned width, struct ll_str *out)
{
    ll_str_addf(out, "%s  %s: %s\n", study->id, study->paper, study->title);
    for (size_t i = 0; i < outcome->sheet_count; i++)
        add_table(&outcome->sheets[i], width, out);
    if (outcome->note_count)
        ll_str_add(out, "\n");
    for (size_t i = 0; i < outcome->note_count; i++)
        ll_wrap(out, outcome->notes[i], width);
    add_recordings(plan, width, out);
    struct ll_table *table = ll_table_new("  verdict|>measured|wanted|claim");
    for (uint64_t i = 0; i < outcome->criterion_count; i++) {
        const struct ll_criterion *criterion = &outcome->criteria[i];
        ll_table_row(table, "  %s|%s|%s|%s", ll_verdict_name(criterion->verdict), criterion->measured,
                     criterion->bound, criterion->claim);
    }
    ll_str_add(out, "\n");
    ll_table_print(table, width, out);
    ll_table_free(table);
}

void ll_present_csv(const struct ll_sheet *sheet, struct ll_str *out)
{
    for (size_t c = 0; c < sheet->column_count; c++) {
        ll_str_add(out, c ? "," : "");
        ll_csv_put(out, sheet->columns[c].name);
    }
    for (uint64_t i = 0; i < sheet->cell_count; i++) {
        size_t column = i % sheet->column_count;
        const struct ll_cell *cell = &sheet->cells[i];
        char number[32] = "";
        if (sheet->columns[column].decimals != LL_TEXT_COLUMN && isfinite(cell->number))
            ll_number_text(cell->number, number);
        ll_str_add(out, column ? "," : "\n");
        ll_csv_put(out, cell->text ? cell->text : number);
    }
    ll_str_add(out, "\n");
}

static void sheet_json(const struct ll_sheet *sheet, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "name", sheet->name);
    ll_json_put_text(json, "caption", sheet->caption);
    ll_json_key(json, "rows");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < sheet->cell_count; i++) {
        const struct ll_outcome_column *column = &sheet->columns[i % sheet->column_count];
        if (i % sheet->column_count == 0)
            ll_json_open_object(json);
        if (column->decimals == LL_TEXT_COLUMN)
            ll_json_put_text(json, column->name, sheet->cells[i].text);
        else
            ll_json_put_number(json, column->name, sheet->cells[i].number);
        if ((i + 1) % sheet->column_count == 0)
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
        ll_json_put_bool(json, "lesson", recording->lesson);
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
        const struct ll_target *target = &plan->targets[i];
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

static void criteria_json(const struct ll_outcome *outcome, struct ll_json *json)
{
    ll_json_key(json, "criteria");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < outcome->criterion_count; i++) {
        const struct ll_criterion *criterion = &outcome->criteria[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "verdict", ll_verdict_name(criterion->verdict));
        ll_json_put_text(json, "claim", criterion->claim);
        ll_json_put_text(json, "measured", criterion->measured);
        ll_json_put_text(json, "wanted", criterion->bound);
        ll_json_put_number(json, "value", criterion->value);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

void ll_present_json(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_outcome *outcome, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "id", study->id);
    ll_json_put_text(json, "paper", study->paper);
    ll_json_put_text(json, "title", study->title);
    ll_json_put_count(json, "passed", ll_count_verdicts(outcome, LL_PASS));
    ll_json_put_count(json, "failed", ll_count_verdicts(outcome, LL_FAIL));
    criteria_json(outcome, json);
    ll_json_key(json, "tables");
    ll_json_open_list(json);
    for (size_t i = 0; i < outcome->sheet_count; i++)
        sheet_json(&outcome->sheets[i], json);
    ll_json_close_list(json);
    ll_json_key(json, "notes");
    ll_json_open_list(json);
    for (size_t i = 0; i < outcome->note_count; i++)
        ll_json_text(json, outcome->notes[i]);
    ll_json_close_list(json);
    recordings_json(plan, json);
    machines_json(plan, json);
    ll_json_close_object(json);
}
