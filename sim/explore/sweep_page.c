/* SPDX-License-Identifier: Apache-2.0 */
/* The page is sweep_page.html with words between @ signs filled in: a row each below. */
#include "sim/explore/sweep_page.h"

#include "sim/explore/chart.h"
#include "sim/explore/sweep_data.h"
#include "sim/report/figure/svg.h"
#include "tracer/base/json.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_TABLED = 2000 }; /* rows of the front's table */

extern const char ll_sweep_page_text[]; /* sweep_page.html */

struct making {
    const struct ll_findings *findings;
    const struct ll_sweep_page *page;
    const char *data; /* packed */
    size_t left_out;  /* columns */
    struct ll_str *out;
    struct ll_diags *diags;
};

static bool write_title(const struct making *making)
{
    ll_xml_add(making->out, making->page->title);
    return true;
}

static bool write_summary(const struct making *making)
{
    const struct ll_findings *findings = making->findings;
    ll_str_addf(making->out, "%" PRIu64 " designs tried, %" PRIu64 " valid, %" PRIu64 " on the front.",
                findings->frame->row_count, findings->valid_count, findings->front_count);
    if (making->left_out)
        ll_str_addf(making->out, " %zu columns of results are in the database alone.", making->left_out);
    const char *warning = ll_data_frame_fact(findings->frame, LL_FACT_WARNING);
    if (warning) {
        ll_str_add(making->out, " <strong>Warning: ");
        ll_xml_add(making->out, warning);
        ll_str_add(making->out, ".</strong>");
    }
    return true;
}

static bool write_sensitivity(const struct making *making)
{
    const struct ll_data_frame *frame = making->findings->frame;
    bool varies = false;
    for (size_t a = 0; a < frame->axis_count; a++)
        varies |= frame->columns[a].value_count > 1;
    if (varies)
        return ll_chart_draw(LL_CHART_SENSITIVITY, making->findings, &(struct ll_chart_wish){0}, making->out,
                             making->diags);
    ll_str_add(making->out, "<p>No parameter varies.</p>");
    return true;
}

static void number_cell(struct ll_str *out, double value)
{
    char exact[32];
    ll_number_text(value, exact);
    ll_str_addf(out, "<td data-v=\"%s\">%.5g</td>", exact, value);
}

static void write_row(const struct making *making, uint64_t row)
{
    const struct ll_data_frame *frame = making->findings->frame;
    ll_str_addf(making->out, "<tr data-row=\"%" PRIu64 "\"><td>%" PRIu64 "</td>", row, frame->numbers[row]);
    for (size_t k = 0; k < frame->objective_count; k++)
        number_cell(making->out, making->findings->objectives[k]->numbers[row]);
    for (size_t a = 0; a < frame->axis_count; a++) {
        const struct ll_data_column *axis = &frame->columns[a];
        char index[32]; /* values of an axis are sorted as the file has them */
        ll_number_text(axis->choices[row], index);
        ll_str_addf(making->out, "<td data-v=\"%s\">", index);
        ll_xml_add(making->out, axis->values[axis->choices[row]].text);
        ll_str_add(making->out, "</td>");
    }
    ll_str_add(making->out, "</tr>\n");
}

static void heading(struct ll_str *out, const char *name)
{
    ll_str_add(out, "<th>");
    ll_xml_add(out, name);
    ll_str_add(out, "</th>");
}

static bool write_front(const struct making *making)
{
    const struct ll_findings *findings = making->findings;
    const struct ll_data_frame *frame = findings->frame;
    uint64_t shown = findings->front_count < MOST_TABLED ? findings->front_count : MOST_TABLED;
    ll_str_add(making->out, "<table id=\"front\"><thead><tr>");
    heading(making->out, "number");
    for (size_t k = 0; k < frame->objective_count; k++)
        heading(making->out, frame->objectives[k].text);
    for (size_t a = 0; a < frame->axis_count; a++)
        heading(making->out, frame->columns[a].name);
    ll_str_add(making->out, "</tr></thead>\n<tbody>\n");
    for (uint64_t i = 0; i < shown; i++)
        write_row(making, findings->front[i]);
    ll_str_add(making->out, "</tbody></table>\n");
    if (shown < findings->front_count)
        ll_str_addf(making->out, "<p>The first %" PRIu64 " of %" PRIu64 ".</p>\n", shown,
                    findings->front_count);
    return true;
}

static void fact(struct ll_str *out, const char *name, const char *value)
{
    ll_str_add(out, "; ");
    ll_xml_add(out, name);
    ll_str_add(out, " ");
    ll_xml_add(out, value);
}

static bool write_made_by(const struct making *making)
{
    const struct ll_data_frame *frame = making->findings->frame;
    ll_str_add(making->out, "Made by: <code>");
    ll_xml_add(making->out, making->page->command);
    ll_str_add(making->out, "</code>, leadline ");
    ll_xml_add(making->out, making->page->version);
    ll_str_add(making->out, "<br>of a sweep");
    for (size_t i = 0; i < frame->fact_count; i++)
        fact(making->out, frame->facts[i].key, frame->facts[i].value);
    return true;
}

static bool write_data(const struct making *making)
{
    ll_str_add(making->out, making->data);
    return true;
}

static const struct {
    const char *word;
    bool (*write)(const struct making *making);
} words[] = {{"title", write_title}, {"summary", write_summary}, {"sensitivity", write_sensitivity},
             {"front", write_front}, {"made-by", write_made_by}, {"data", write_data}};

/* Writes what stands for the word between two @ signs; how long both and the word are, 0: this is none. */
static size_t fill_in(const struct making *making, const char *at, bool *done)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(at + 1, words[i].word, length) == 0 && at[1 + length] == '@') {
            *done = words[i].write(making);
            return length + 2;
        }
    }
    return 0;
}

static bool write_page(const struct making *making)
{
    bool done = true;
    for (const char *at = ll_sweep_page_text; done && *at;) {
        size_t plain = strcspn(at, "@");
        ll_str_add_bytes(making->out, at, plain);
        at += plain;
        size_t filled = *at ? fill_in(making, at, &done) : 0;
        if (*at && !filled)
            ll_str_add_bytes(making->out, at++, 1);
        at += filled;
    }
    return done && !making->out->failed;
}

bool ll_sweep_page(const struct ll_findings *findings, const struct ll_sweep_page *page, struct ll_str *out,
                   struct ll_diags *diags)
{
    struct ll_str data = {0};
    struct making making = {.findings = findings, .page = page, .out = out, .diags = diags};
    bool done = ll_sweep_data(findings, &data, &making.left_out);
    making.data = data.text;
    done = done && write_page(&making);
    ll_str_release(&data);
    return done;
}
