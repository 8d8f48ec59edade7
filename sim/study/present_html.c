/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a study: each figure with a table beside it, as far as there are as many, then the rest. */
#include "sim/study/present.h"

#include "sim/report/figure/svg.h"

#include <inttypes.h>
#include <math.h>

static const char head[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:15px/1.5 Helvetica,Arial,'Liberation Sans','DejaVu "
    "Sans',sans-serif;max-width:1500px;margin:2em "
    "auto;padding:0 1.5em;background:#fff;color:#1f2328}\n"
    "h1{font-size:1.5em;margin:0 0 .2em}h2{font-size:1.1em;margin:1.6em 0 .4em}\n"
    ".paper{color:#57606a}.pair{display:flex;flex-wrap:wrap;gap:2em;align-items:flex-start}\n"
    "figure{margin:0}figcaption,caption{font-size:.9em;color:#57606a;text-align:left;max-width:60em;padding:."
    "3em 0}\n"
    "svg{max-width:100%;height:auto}\n"
    "table{border-collapse:collapse;font-size:.9em;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.15em .7em;border-bottom:1px solid #d8dee4;text-align:left;vertical-align:top}\n"
    "th{border-bottom:2px solid #57606a}td.n,th.n{text-align:right}\n"
    ".PASS{color:#1a7f37}.FAIL{color:#cf222e;font-weight:bold}.INFO{color:#57606a}\n"
    "@media (prefers-color-scheme:dark){body{background:#16191d;color:#e6e8ea}\n"
    ".paper,figcaption,caption,.INFO{color:#9aa4ae}th,td{border-color:#343a41}.PASS{color:#3fb950}.FAIL{"
    "color:#ff7b72}}\n"
    "</style>\n";

static void element(struct ll_str *out, const char *tag, const char *text)
{
    ll_str_addf(out, "<%s>", tag);
    ll_xml_add(out, text);
    ll_str_addf(out, "</%s>\n", tag);
}

static void number_cell(double number, int decimals, struct ll_str *out)
{
    if (isnan(number))
        ll_str_add(out, "<td class=\"n\"></td>");
    else
        ll_str_addf(out, "<td class=\"n\">%.*f</td>", decimals, number);
}

static void sheet_html(const struct ll_sheet *sheet, struct ll_str *out)
{
    ll_str_add(out, "<table>\n");
    element(out, "caption", sheet->caption);
    ll_str_add(out, "<tr>");
    for (size_t c = 0; c < sheet->column_count; c++) {
        ll_str_add(out, sheet->columns[c].decimals == LL_TEXT_COLUMN ? "<th>" : "<th class=\"n\">");
        ll_xml_add(out, sheet->columns[c].name);
        ll_str_add(out, "</th>");
    }
    for (uint64_t i = 0; i < sheet->cell_count; i++) {
        size_t column = i % sheet->column_count;
        int decimals = sheet->columns[column].decimals;
        ll_str_add(out, column ? "" : "</tr>\n<tr>");
        if (decimals != LL_TEXT_COLUMN) {
            number_cell(sheet->cells[i].number, decimals, out);
            continue;
        }
        ll_str_add(out, "<td>");
        ll_xml_add(out, sheet->cells[i].text ? sheet->cells[i].text : "");
        ll_str_add(out, "</td>");
    }
    ll_str_add(out, "</tr>\n</table>\n");
}

static void drawing_html(const struct ll_drawing *drawing, struct ll_str *out)
{
    ll_str_add(out, "<figure>\n");
    ll_str_add(out, drawing->svg.text ? drawing->svg.text : "");
    element(out, "figcaption", drawing->caption);
    ll_str_add(out, "</figure>\n");
}

static void criteria_html(const struct ll_outcome *outcome, struct ll_str *out)
{
    ll_str_add(
        out,
        "<h2>Criteria</h2>\n<table>\n<tr><th></th><th>measured</th><th>wanted</th><th>claim</th></tr>\n");
    for (uint64_t i = 0; i < outcome->criterion_count; i++) {
        const struct ll_criterion *criterion = &outcome->criteria[i];
        const char *name = ll_verdict_name(criterion->verdict);
        ll_str_addf(out, "<tr><td class=\"%s\">%s</td>", name, name);
        const char *const cells[] = {criterion->measured, criterion->bound, criterion->claim};
        for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
            ll_str_add(out, "<td>");
            ll_xml_add(out, cells[c]);
            ll_str_add(out, "</td>");
        }
        ll_str_add(out, "</tr>\n");
    }
    ll_str_add(out, "</table>\n");
}

static void recording_html(const struct ll_recording *recording, struct ll_str *out)
{
    ll_str_add(out, "<li>");
    ll_xml_add(out, recording->row);
    ll_str_add(out, ", ");
    ll_xml_add(out, recording->variant);
    ll_str_addf(out, ": <code>leadline %s ", recording->lesson ? "train" : "record");
    ll_xml_add(out, recording->model);
    if (!recording->lesson)
        ll_str_addf(out, " %s%s", recording->train ? "--train" : "--infer",
                    recording->dry_run ? " --dry-run" : "");
    if (recording->batch)
        ll_str_addf(out, " --batch %" PRIu64, recording->batch);
    ll_str_addf(out, " --steps %" PRIu64, recording->steps);
    if (recording->threads)
        ll_str_addf(out, " --threads %u", recording->threads);
    for (size_t i = 0; i < LL_MOST_STUDY_SETTINGS && recording->settings[i].key; i++) {
        ll_str_add(out, " -p ");
        ll_xml_add(out, recording->settings[i].key);
        ll_str_add(out, "=");
        ll_xml_add(out, recording->settings[i].value);
    }
    ll_str_add(out, "</code></li>\n");
}

static void target_html(const struct ll_target *target, struct ll_str *out)
{
    ll_str_add(out, "<li>");
    ll_xml_add(out, target->name);
    ll_str_add(out, ": <code>-c ");
    ll_xml_add(out, target->machine);
    for (size_t i = 0; i < LL_MOST_STUDY_OVERRIDES && target->overrides[i].path; i++) {
        ll_str_add(out, " --set ");
        ll_xml_add(out, target->overrides[i].path);
        ll_str_add(out, "=");
        ll_xml_add(out, target->overrides[i].value);
    }
    ll_str_add(out, "</code></li>\n");
}

static void plan_html(const struct ll_study_plan *plan, struct ll_str *out)
{
    ll_str_add(out, "<h2>Recorded</h2>\n<ul>\n");
    for (uint64_t i = 0; i < plan->recording_count; i++)
        recording_html(&plan->recordings[i], out);
    ll_str_add(out, "</ul>\n");
    if (plan->target_count)
        ll_str_add(out, "<h2>Simulated</h2>\n<ul>\n");
    for (uint64_t i = 0; i < plan->target_count; i++)
        target_html(&plan->targets[i], out);
    ll_str_add(out, plan->target_count ? "</ul>\n" : "");
}

void ll_present_html(const struct ll_study *study, const struct ll_study_plan *plan,
                     const struct ll_outcome *outcome, struct ll_str *out)
{
    ll_str_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width\">\n");
    element(out, "title", study->title);
    ll_str_add(out, head);
    ll_str_add(out, "</head>\n<body>\n");
    element(out, "h1", study->title);
    ll_str_add(out, "<p class=\"paper\">");
    ll_xml_add(out, study->id);
    ll_str_add(out, ", after ");
    ll_xml_add(out, study->paper);
    ll_str_add(out, "</p>\n");
    element(out, "p", study->doc);
    size_t most =
        outcome->sheet_count > outcome->drawing_count ? outcome->sheet_count : outcome->drawing_count;
    for (size_t i = 0; i < most; i++) {
        ll_str_add(out, "<div class=\"pair\">\n");
        if (i < outcome->drawing_count)
            drawing_html(&outcome->drawings[i], out);
        if (i < outcome->sheet_count)
            sheet_html(&outcome->sheets[i], out);
        ll_str_add(out, "</div>\n");
    }
    criteria_html(outcome, out);
    if (outcome->note_count)
        ll_str_add(out, "<h2>Notes</h2>\n");
    for (size_t i = 0; i < outcome->note_count; i++)
        element(out, "p", outcome->notes[i]);
    plan_html(plan, out);
    ll_str_add(out, "</body>\n</html>\n");
}
