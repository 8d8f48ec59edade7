/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as one HTML page: the data that sim/page/sources/sweep.js shows. Its head is JSON; the columns are
 * typed arrays, and the head says where they begin. The page itself finds the front: filters change it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sim/explore/findings.h"
#include "sim/page/page.h"
#include "sim/report/table.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

enum {
    ALIGNMENT = 8,
    MOST_LISTED = 2000 /* designs without scripts */,
    MOST_BYTES = 48 << 20 /* of columns; a browser takes tens of MB within a second */
};

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
    static const unsigned char codes[] = {[LL_VERDICT_VALID] = 1,
                                          [LL_VERDICT_INFEASIBLE] = 0,
                                          [LL_VERDICT_INVALID] = 2,
                                          [LL_VERDICT_PRUNED] = 3};
    const struct ll_data_frame *frame = block->findings->frame;
    begin_array(block, "valid");
    for (uint64_t row = 0; row < frame->row_count; row++)
        add_little(&block->columns, codes[frame->verdicts[row]], 1);
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

/* What each axis weighs for each objective, and what of its variance all of them explain. */
static void add_weights(struct block *block)
{
    const struct ll_findings *findings = block->findings;
    const struct ll_data_frame *frame = findings->frame;
    ll_json_put_bool(&block->head, "logs", findings->logs);
    ll_json_key(&block->head, "objectives");
    ll_json_open_list(&block->head);
    for (size_t k = 0; k < frame->objective_count; k++) {
        ll_json_open_object(&block->head);
        ll_json_put_text(&block->head, "text", frame->objectives[k].text);
        ll_json_put_number(&block->head, "r2", findings->r2[k]);
        ll_json_key(&block->head, "weights");
        ll_json_open_list(&block->head);
        for (size_t a = 0; a < frame->axis_count; a++)
            ll_json_number(&block->head, findings->weights[k * frame->axis_count + a]);
        ll_json_close_list(&block->head);
        ll_json_close_object(&block->head);
    }
    ll_json_close_list(&block->head);
}

static void add_facts(struct block *block)
{
    const struct ll_data_frame *frame = block->findings->frame;
    ll_json_key(&block->head, "facts");
    ll_json_open_object(&block->head);
    for (size_t i = 0; i < frame->fact_count; i++)
        ll_json_put_text(&block->head, frame->facts[i].key, frame->facts[i].value);
    ll_json_close_object(&block->head);
}

/* The front as text, for readers without scripts. */
static void add_plain(const struct ll_findings *findings, const char *title, struct ll_str *out)
{
    const struct ll_data_frame *frame = findings->frame;
    uint64_t shown = findings->front_count < MOST_LISTED ? findings->front_count : MOST_LISTED;
    ll_str_addf(out,
                "%s: %" PRIu64 " design%s tried, %" PRIu64 " valid, %" PRIu64
                " on the front. The charts of this page need scripts; this is the front.\n",
                title, frame->row_count, ll_plural(frame->row_count), findings->valid_count,
                findings->front_count);
    const char *warning = ll_data_frame_fact(frame, LL_FACT_WARNING);
    if (warning)
        ll_str_addf(out, "Warning: %s.\n", warning);
    ll_str_add(out, "\npoint");
    for (size_t k = 0; k < frame->objective_count; k++)
        ll_str_addf(out, "  %s", frame->objectives[k].text);
    for (size_t a = 0; a < frame->axis_count; a++)
        ll_str_addf(out, "  %s", frame->columns[a].name);
    for (uint64_t i = 0; i < shown; i++) {
        uint64_t row = findings->front[i];
        ll_str_addf(out, "\n%" PRIu64, frame->numbers[row]);
        for (size_t k = 0; k < frame->objective_count; k++)
            ll_str_addf(out, "  %.5g", findings->objectives[k]->numbers[row]);
        for (size_t a = 0; a < frame->axis_count; a++)
            ll_str_addf(out, "  %s", frame->columns[a].values[frame->columns[a].choices[row]].text);
    }
    if (shown < findings->front_count)
        ll_str_addf(out, "\nThe first %" PRIu64 " of %" PRIu64 ".", shown, findings->front_count);
}

bool ll_sweep_page(const struct ll_findings *findings, const struct ll_page_origin *origin,
                   struct ll_str *out)
{
    struct ll_str head = {0}, plain = {0};
    struct block block = {.findings = findings, .head = {.out = &head}};
    ll_json_open_object(&block.head);
    ll_json_put_count(&block.head, "rows", findings->frame->row_count);
    add_numbers(&block);
    add_verdicts(&block);
    bool done = add_axes(&block);
    ll_json_put_count(&block.head, "left_out", add_columns(&block));
    add_weights(&block);
    add_facts(&block);
    ll_json_close_object(&block.head);
    add_plain(findings, origin->title, &plain);
    const struct ll_html_page page = {"sweep", *origin, plain.failed ? "" : plain.text,
                                      NULL,    &head,   &block.columns};
    if (done && !plain.failed)
        ll_page_write(&page, out);
    done = done && !plain.failed && !out->failed;
    ll_str_release(&head);
    ll_str_release(&plain);
    ll_str_release(&block.columns);
    return done;
}
