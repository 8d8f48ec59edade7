/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as one HTML page. The first section writes the data block (a JSON head and typed arrays), the
 * second packs it as text, the third fills the words of sweep_page.html in. */
#include "sim/explore/sweep_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sim/explore/chart.h"
#include "sim/explore/findings.h"
#include "sim/explore/pack.h"
#include "sim/report/figure/svg.h"
#include "tracer/base/gzip.h"
#include "tracer/base/json.h"

enum { ALIGNMENT = 8, MOST_BYTES = 48 << 20 /* of columns; a browser takes tens of MB within a second */ };

/* The head and what it tells of. */
struct block {
    const struct ll_findings *findings;
    struct ll_json head;
    struct ll_str columns;
};

/* Typed arrays of a page are little-endian wherever pages are read. */
static void add_little(struct ll_str *str, uint64_t bits, size_t size)
{
    char bytes[8];
    for (size_t b = 0; b < size; b++)
        bytes[b] = (char)(bits >> 8 * b & 0xFF);
    ll_str_add_bytes(str, bytes, size);
}

static void align(struct ll_str *str)
{
    while (str->length % ALIGNMENT && !str->failed)
        ll_str_add_bytes(str, "", 1);
}

/* Where an array begins, as the value of a key. */
static void begin_array(struct block *block, const char *key)
{
    align(&block->columns);
    ll_json_put_count(&block->head, key, block->columns.length);
}

static size_t index_size(uint32_t bound)
{
    return bound <= 1 << 8 ? 1 : bound <= 1 << 16 ? 2 : 4;
}

static void add_numbers(struct block *block)
{
    const struct ll_data_frame *frame = block->findings->frame;
    begin_array(block, "numbers");
    for (uint64_t row = 0; row < frame->row_count; row++) {
        double number = (double)frame->numbers[row];
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        add_little(&block->columns, bits, sizeof bits);
    }
}

/* 1: valid; 0: there are results that break a constraint; more: there are none. */
static void add_verdicts(struct block *block)
{
    static const unsigned char codes[] = {
        [LL_VERDICT_VALID] = 1, [LL_VERDICT_UNFIT] = 0, [LL_VERDICT_IMPOSSIBLE] = 2, [LL_VERDICT_BEATEN] = 3};
    const struct ll_data_frame *frame = block->findings->frame;
    begin_array(block, "valid");
    for (uint64_t row = 0; row < frame->row_count; row++)
        add_little(&block->columns, codes[frame->verdicts[row]], 1);
}

static void add_front(struct block *block)
{
    const struct ll_findings *findings = block->findings;
    ll_json_put_count(&block->head, "front_count", findings->front_count);
    begin_array(block, "front");
    for (uint64_t i = 0; i < findings->front_count; i++)
        add_little(&block->columns, findings->front[i], 4);
}

static const char *goal_of(const struct ll_findings *findings, const struct ll_data_column *column)
{
    for (size_t k = 0; k < findings->frame->objective_count; k++)
        if (findings->objectives[k] == column)
            return findings->frame->objectives[k].most ? "max" : "min";
    return "";
}

static void add_axis(struct block *block, const struct ll_data_column *column)
{
    size_t size = index_size(column->value_count);
    ll_json_put_text(&block->head, "type", size == 1 ? "u8" : size == 2 ? "u16" : "u32");
    ll_json_key(&block->head, "values");
    ll_json_open_list(&block->head);
    for (uint32_t i = 0; i < column->value_count; i++)
        ll_json_text(&block->head, column->values[i].text);
    ll_json_close_list(&block->head);
    ll_json_key(&block->head, "numbers");
    ll_json_open_list(&block->head);
    for (uint32_t i = 0; i < column->value_count; i++)
        ll_json_number(&block->head, column->values[i].number);
    ll_json_close_list(&block->head);
    begin_array(block, "offset");
    for (uint64_t row = 0; row < block->findings->frame->row_count; row++)
        add_little(&block->columns, column->choices[row], size);
}

static void add_result(struct block *block, const struct ll_data_column *column)
{
    ll_json_put_text(&block->head, "type", "f32");
    ll_json_put_number(&block->head, "base", column->base);
    begin_array(block, "offset");
    for (uint64_t row = 0; row < block->findings->frame->row_count; row++) {
        float number = (float)column->numbers[row];
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        add_little(&block->columns, bits, sizeof bits);
    }
}

static void add_column(struct block *block, const struct ll_data_column *column)
{
    ll_json_open_object(&block->head);
    ll_json_put_text(&block->head, "name", column->name);
    ll_json_put_bool(&block->head, "axis", column->is_axis);
    ll_json_put_text(&block->head, "goal", goal_of(block->findings, column));
    if (column->is_axis)
        add_axis(block, column);
    else
        add_result(block, column);
    ll_json_close_object(&block->head);
}

/* Whether a column before has the same name, as an objective has that of what it wants least. */
static bool is_again(const struct ll_data_frame *frame, size_t c)
{
    for (size_t earlier = 0; earlier < c; earlier++)
        if (strcmp(frame->columns[earlier].name, frame->columns[c].name) == 0)
            return true;
    return false;
}

/* Whether all results of a column are one number: of it there is nothing to see. */
static bool never_moves(const struct ll_data_column *column, uint64_t rows)
{
    double known = NAN;
    for (uint64_t row = 0; row < rows; row++) {
        if (!isnan(known) && !isnan(column->numbers[row]) && column->numbers[row] != known)
            return false;
        known = isnan(known) ? column->numbers[row] : known;
    }
    return true;
}

static size_t add_columns(struct block *block)
{
    const struct ll_data_frame *frame = block->findings->frame;
    size_t left_out = 0;
    ll_json_key(&block->head, "columns");
    ll_json_open_list(&block->head);
    for (size_t c = 0; c < frame->column_count; c++) {
        const struct ll_data_column *column = &frame->columns[c];
        bool needed = column->is_axis || *goal_of(block->findings, column);
        if (!needed && (is_again(frame, c) || never_moves(column, frame->row_count)))
            continue;
        if (needed || block->columns.length + 4 * frame->row_count <= MOST_BYTES)
            add_column(block, column);
        else
            left_out++;
    }
    ll_json_close_list(&block->head);
    return left_out;
}

static bool add_axes(struct block *block)
{
    struct ll_arena arena = {0};
    const size_t *axes = ll_findings_axes(block->findings, &arena);
    ll_json_key(&block->head, "axes");
    ll_json_open_list(&block->head);
    for (size_t a = 0; axes && a < block->findings->frame->axis_count; a++)
        ll_json_count(&block->head, axes[a]);
    ll_json_close_list(&block->head);
    ll_arena_release(&arena);
    return axes != NULL;
}

/* Length, head and columns in one piece. */
static bool join(const struct ll_str *head, const struct ll_str *columns, struct ll_str *out)
{
    struct ll_str whole = {0};
    add_little(&whole, head->length, 4);
    ll_str_add_bytes(&whole, head->text, head->length);
    align(&whole);
    ll_str_add_bytes(&whole, columns->text, columns->length);
    bool done = !whole.failed && !head->failed && !columns->failed && ll_pack(whole.text, whole.length, out);
    ll_str_release(&whole);
    return done;
}

/* Appends the block, packed, as sweep_page.h lays it out; *left_out is how many columns would have made the
 * page too large. False when memory ran out. */
static bool sweep_data(const struct ll_findings *findings, struct ll_str *out, size_t *left_out)
{
    struct ll_str head = {0};
    struct block block = {.findings = findings, .head = {.out = &head}};
    ll_json_open_object(&block.head);
    ll_json_put_count(&block.head, "rows", findings->frame->row_count);
    add_numbers(&block);
    add_verdicts(&block);
    add_front(&block);
    bool done = add_axes(&block);
    *left_out = add_columns(&block);
    ll_json_close_object(&block.head);
    done = done && join(&head, &block.columns, out);
    ll_str_release(&head);
    ll_str_release(&block.columns);
    return done;
}

static void add_base64(struct ll_str *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < length; i += 3) {
        size_t here = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (here > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (here > 2 ? bytes[i + 2] : 0);
        text[used++] = digits[bits >> 18];
        text[used++] = digits[bits >> 12 & 63];
        text[used++] = '=';
        text[used++] = '=';
        if (here > 1)
            text[used - 2] = digits[bits >> 6 & 63];
        if (here > 2)
            text[used - 1] = digits[bits & 63];
        if (used == sizeof text || i + 3 >= length) {
            ll_str_add_bytes(out, text, used);
            used = 0;
        }
    }
}

bool ll_pack(const void *bytes, size_t length, struct ll_str *out)
{
    struct ll_str packed = {0};
    bool done = ll_gzip(bytes, length, &packed);
    if (done)
        add_base64(out, (const unsigned char *)packed.text, packed.length);
    ll_str_release(&packed);
    return done && !out->failed;
}

/* The page is sweep_page.html with words between @ signs filled in: a row each below. */

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
    bool done = sweep_data(findings, &data, &making.left_out);
    making.data = data.text;
    done = done && write_page(&making);
    ll_str_release(&data);
    return done;
}
