/* SPDX-License-Identifier: Apache-2.0 */
/* Other frames of the same sweep: fewer rows, other objectives. Names in expressions are columns. */
#include "sim/explore/store.h"

#include "sim/explore/expression.h"

#include <math.h>
#include <string.h>

struct view {
    const struct ll_data_frame *frame;
    uint64_t row; /* that is looked at */
};

/* An axis of words, or of parts, is none. */
static bool is_number(const struct ll_data_column *column)
{
    for (uint32_t i = 0; column->is_axis && i < column->value_count; i++)
        if (isnan(column->values[i].number))
            return false;
    return true;
}

/* The parameter whose path ends so, as headings have it; NULL where there is none, or several. */
static const struct ll_data_column *ending(const struct ll_data_frame *frame, const char *name)
{
    const struct ll_data_column *found = NULL;
    size_t length = strlen(name), count = 0;
    for (size_t a = 0; a < frame->axis_count; a++) {
        const struct ll_data_column *column = &frame->columns[a];
        size_t whole = strlen(column->name);
        if (whole <= length || column->name[whole - length - 1] != '.' ||
            strcmp(column->name + whole - length, name) != 0)
            continue;
        found = column;
        count++;
    }
    return count == 1 ? found : NULL;
}

static bool find(void *context, const char *name, uint32_t *slot)
{
    const struct view *view = context;
    const struct ll_data_column *column = ll_data_frame_column(view->frame, name);
    column = column ? column : ending(view->frame, name);
    if (!column || !is_number(column))
        return false;
    *slot = (uint32_t)(column - view->frame->columns);
    return true;
}

/* The measure that a column is of: time_s, or alexnet.time_s; LL_MEASURE_COUNT: of none. */
static enum ll_measure measure_of(const char *column)
{
    unsigned m = 0;
    for (size_t whole = strlen(column); m < LL_MEASURE_COUNT; m++) {
        size_t length = strlen(ll_measure_name((enum ll_measure)m));
        if (whole >= length && !strcmp(column + whole - length, ll_measure_name((enum ll_measure)m)) &&
            (whole == length || column[whole - length - 1] == '.'))
            break;
    }
    return (enum ll_measure)m;
}

/* Of an axis as its values were written. */
static enum ll_dimension dimension_of(const void *context, uint32_t slot)
{
    const struct view *view = context;
    const struct ll_data_column *column = &view->frame->columns[slot];
    enum ll_measure measure = measure_of(column->name);
    struct ll_quantity quantity;
    const char *unit;
    if (!column->is_axis)
        return measure < LL_MEASURE_COUNT ? ll_measure_dimension(measure) : LL_DIMENSION_NUMBER;
    return column->value_count &&
                   ll_quantity_parse(column->values[0].text, &quantity, &unit) == LL_QUANTITY_FINE
               ? quantity.dimension
               : LL_DIMENSION_NUMBER;
}

static const char *name_at(void *context, size_t i)
{
    const struct view *view = context;
    return i < view->frame->column_count ? view->frame->columns[i].name : NULL;
}

static double value_of(const void *context, uint32_t slot)
{
    const struct view *view = context;
    return view->frame->columns[slot].numbers[view->row];
}

static double base_of(const void *context, uint32_t slot)
{
    const struct view *view = context;
    return view->frame->columns[slot].base;
}

static struct ll_expression *parse(struct view *view, const char *text, struct ll_arena *arena,
                                   struct ll_diags *diags)
{
    struct ll_names names = {find, name_at, view, dimension_of, NULL};
    return ll_expression_parse(arena, text, (struct ll_place){0}, &names, diags);
}

static struct ll_data_frame *copy_frame(const struct ll_data_frame *frame, size_t more,
                                        struct ll_arena *arena)
{
    struct ll_data_frame *copy = ll_copy(arena, frame, sizeof *frame);
    struct ll_data_column *columns = ll_alloc(arena, frame->column_count + more, sizeof *columns);
    if (!copy || !columns)
        return NULL;
    memcpy(columns, frame->columns, frame->column_count * sizeof *columns);
    copy->columns = columns;
    return copy;
}

/* The items of an array at these rows; NULL stays NULL. */
static bool pick(const void *from, size_t size, const uint64_t *rows, uint64_t count, struct ll_arena *arena,
                 const void **picked)
{
    unsigned char *items = from ? ll_alloc(arena, count, size) : NULL;
    for (uint64_t i = 0; items && i < count; i++)
        memcpy(items + i * size, (const unsigned char *)from + rows[i] * size, size);
    *picked = items;
    return !from || items;
}

static bool pick_rows(struct ll_data_frame *frame, const uint64_t *rows, uint64_t count,
                      struct ll_arena *arena)
{
    struct ll_data_column *columns = (struct ll_data_column *)frame->columns; /* this copy's own */
    const void *numbers, *verdicts, *choices = NULL;
    bool right = pick(frame->numbers, sizeof *frame->numbers, rows, count, arena, &numbers) &&
                 pick(frame->verdicts, sizeof *frame->verdicts, rows, count, arena, &verdicts);
    if (right) {
        frame->numbers = numbers;
        frame->verdicts = verdicts;
    }
    for (size_t c = 0; right && c < frame->column_count; c++) {
        right = pick(columns[c].numbers, sizeof *columns[c].numbers, rows, count, arena, &numbers) &&
                pick(columns[c].choices, sizeof *columns[c].choices, rows, count, arena, &choices);
        columns[c].numbers = numbers;
        columns[c].choices = choices;
    }
    frame->row_count = count;
    return right;
}

const struct ll_data_frame *ll_data_frame_where(const struct ll_data_frame *frame, const char *condition,
                                                struct ll_arena *arena, struct ll_diags *diags)
{
    struct view view = {frame, 0};
    const struct ll_expression *expression = parse(&view, condition, arena, diags);
    if (!expression)
        return NULL;
    struct ll_data_frame *copy = copy_frame(frame, 0, arena);
    uint64_t *rows = ll_alloc(arena, frame->row_count, sizeof *rows), count = 0;
    for (; rows && view.row < frame->row_count; view.row++)
        if (ll_expression_violation(expression, value_of, &view) == 0)
            rows[count++] = view.row;
    if (rows && copy && pick_rows(copy, rows, count, arena))
        return copy;
    ll_complain(diags, (struct ll_place){0}, "memory ran out");
    return NULL;
}

/* A column of an expression's values; that of a column alone is there already. */
static bool add_column(struct ll_data_frame *frame, const char *name, struct ll_arena *arena,
                       struct ll_diags *diags)
{
    struct view view = {frame, 0};
    const struct ll_data_column *column = ll_data_frame_column(frame, name);
    if (column && is_number(column))
        return true;
    const struct ll_expression *expression = parse(&view, name, arena, diags);
    if (!expression)
        return false;
    double *numbers = ll_alloc(arena, frame->row_count, sizeof *numbers);
    if (!numbers)
        return ll_complain(diags, (struct ll_place){0}, "memory ran out");
    for (; view.row < frame->row_count; view.row++)
        numbers[view.row] = ll_expression_value(expression, value_of, &view);
    ((struct ll_data_column *)frame->columns)[frame->column_count++] = (struct ll_data_column){
        .name = name, .numbers = numbers, .base = ll_expression_value(expression, base_of, &view)};
    return true;
}

const struct ll_data_frame *ll_data_frame_want(const struct ll_data_frame *frame, const char *name, bool most,
                                               bool first, struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_data_frame *copy = copy_frame(frame, 1, arena);
    const char *text = ll_format(arena, "%s %s", most ? "max" : "min", name);
    if (!copy || !text) {
        ll_complain(diags, (struct ll_place){0}, "memory ran out");
        return NULL;
    }
    if (first)
        copy->objective_count = 0;
    if (copy->objective_count == LL_MOST_OBJECTIVES) {
        ll_complain(diags, (struct ll_place){0}, "more than %d objectives", LL_MOST_OBJECTIVES);
        return NULL;
    }
    if (!add_column(copy, name, arena, diags))
        return NULL;
    copy->objectives[copy->objective_count].text = text;
    copy->objectives[copy->objective_count].name = name;
    copy->objectives[copy->objective_count++].most = most;
    return copy;
}
