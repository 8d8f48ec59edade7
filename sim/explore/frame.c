/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep's results in memory as columns, views of them with further conditions and columns, and the
 * findings: front, winners, sensitivities.
 *
 * A database back in memory. Rows are points by number; columns are, in this order, the axes, the objectives,
 * the means of all results over the workloads, and where there are several workloads each one's results. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/database.h"
#include "sim/explore/space.h"
#include "sim/explore/findings.h"
#include "sim/explore/sweep.h"

enum { FIRST_POINT_COLUMN = 5, FIRST_RESULT_COLUMN = 2 };

struct reader {
    struct ll_database *database;
    const char *path;
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct ll_data_frame *frame;
    struct ll_data_column *columns;
    size_t capacity;
    const char **workloads;
    size_t workload_count;
    struct ll_query *points, *results, *base;
    double base_objectives[LL_MOST_OBJECTIVES];
};

static bool no_memory(struct reader *r)
{
    return ll_complain(r->diags, (struct ll_place){.file = r->path}, "memory ran out");
}

static bool trouble(struct reader *r)
{
    const char *text = r->database ? ll_database_trouble(r->database) : NULL;
    return text ? ll_complain(r->diags, (struct ll_place){.file = r->path}, "%s", text) : no_memory(r);
}

/* What kept the rest from being read comes first. */
static bool damaged(struct reader *r, const char *what)
{
    const char *text = ll_database_trouble(r->database);
    if (text)
        return ll_complain(r->diags, (struct ll_place){.file = r->path}, "%s", text);
    return ll_complain(r->diags, (struct ll_place){.file = r->path}, "the database is damaged: %s", what);
}

static struct ll_query *query(struct reader *r, const char *sql)
{
    struct ll_query *made = ll_query_new(r->database, sql);
    if (!made)
        trouble(r);
    return made;
}

static const char *copied(struct reader *r, const char *text)
{
    return ll_copy_text(r->arena, text ? text : "", text ? strlen(text) : 0);
}

/* How many rows a table has. */
static bool count_rows(struct reader *r, const char *sql, uint64_t *count)
{
    *count = 0;
    struct ll_query *made = query(r, sql);
    if (!made || !ll_query_next(made))
        return made && trouble(r);
    *count = ll_cell_count(made, 0);
    ll_query_reset(made);
    return true;
}

/* A column of room for all rows, NaN everywhere. */
static struct ll_data_column *add_column(struct reader *r, const char *name)
{
    struct ll_data_frame *frame = r->frame;
    double *numbers = ll_alloc(r->arena, frame->row_count + 1, sizeof *numbers);
    if (!numbers || !name || frame->column_count == r->capacity) {
        no_memory(r);
        return NULL;
    }
    for (uint64_t i = 0; i <= frame->row_count; i++)
        numbers[i] = NAN;
    struct ll_data_column *column = &r->columns[frame->column_count++];
    *column = (struct ll_data_column){.name = name, .numbers = numbers};
    return column;
}

/* --- what the small tables say --- */

static bool read_facts(struct reader *r)
{
    uint64_t count;
    struct ll_query *made = query(r, "SELECT name, value FROM provenance ORDER BY name");
    if (!made || !count_rows(r, "SELECT count(*) FROM provenance", &count))
        return false;
    struct ll_fact *facts = ll_alloc(r->arena, count, sizeof *facts);
    for (size_t i = 0; facts && i < count && ll_query_next(made); i++)
        facts[i] = (struct ll_fact){copied(r, ll_cell_text(made, 0)), copied(r, ll_cell_text(made, 1))};
    r->frame->facts = facts;
    r->frame->fact_count = count;
    ll_query_reset(made);
    return facts || no_memory(r);
}

/* The first cell of a row says which one it is: they are counted from 0, without a gap. */
static bool is_number(struct reader *r, const struct ll_query *row, uint64_t number)
{
    return ll_cell_count(row, 0) == number ||
           damaged(r, "its parameters, values of them, objectives or workloads are not numbered from 0");
}

static bool read_workloads(struct reader *r)
{
    uint64_t count;
    struct ll_query *made = query(r, "SELECT id, name FROM workloads ORDER BY id");
    if (!made || !count_rows(r, "SELECT count(*) FROM workloads", &count))
        return false;
    r->workloads = ll_alloc(r->arena, count, sizeof *r->workloads);
    bool right = true;
    for (size_t i = 0; r->workloads && i < count && ll_query_next(made); i++) {
        r->workloads[i] = copied(r, ll_cell_text(made, 1));
        right &= is_number(r, made, i);
    }
    r->workload_count = count;
    ll_query_reset(made);
    return right && (r->workloads || no_memory(r));
}

static bool read_objectives(struct reader *r)
{
    struct ll_query *made = query(r, "SELECT id, text, name, most, base FROM objectives ORDER BY id");
    struct ll_data_frame *frame = r->frame;
    bool right = made != NULL;
    for (size_t i = 0; right && ll_query_next(made); i++) {
        if (!is_number(r, made, i) ||
            (i == LL_MOST_OBJECTIVES && !damaged(r, "it has too many objectives"))) {
            right = false;
            break;
        }
        frame->objectives[i].text = copied(r, ll_cell_text(made, 1));
        frame->objectives[i].name = copied(r, ll_cell_text(made, 2));
        frame->objectives[i].most = ll_cell_count(made, 3) != 0;
        r->base_objectives[i] = ll_cell_number(made, 4);
        frame->objective_count++;
    }
    if (made)
        ll_query_reset(made);
    return right;
}

/* The values of an axis, and room for each point's choice among them. */
static bool read_choices(struct reader *r, size_t axis, struct ll_data_column *column)
{
    uint64_t count = 0;
    struct ll_query *made = query(r, "SELECT id, text, number FROM choices WHERE parameter = ?1 ORDER BY id");
    struct ll_query *counted = query(r, "SELECT count(*) FROM choices WHERE parameter = ?1");
    if (!made || !counted)
        return false;
    ll_query_count(made, 1, axis);
    ll_query_count(counted, 1, axis);
    if (ll_query_next(counted))
        count = ll_cell_count(counted, 0);
    ll_query_reset(counted);
    struct ll_axis_value *values = ll_alloc(r->arena, count, sizeof *values);
    bool right = true;
    for (size_t i = 0; values && i < count && ll_query_next(made); i++) {
        values[i] = (struct ll_axis_value){copied(r, ll_cell_text(made, 1)), ll_cell_number(made, 2), NULL};
        right = right && is_number(r, made, i);
    }
    ll_query_reset(made);
    column->values = values;
    column->value_count = (uint32_t)count;
    column->is_axis = true;
    column->choices = ll_alloc(r->arena, r->frame->row_count, sizeof *column->choices);
    return right && ((values && column->choices) || no_memory(r));
}

static bool read_axes(struct reader *r)
{
    struct ll_query *made = query(r, "SELECT id, path, base FROM parameters ORDER BY id");
    bool right = made != NULL;
    uint64_t all, known = 0;
    while (right && ll_query_next(made)) {
        if (!(right = is_number(r, made, r->frame->axis_count)))
            break;
        struct ll_data_column *column = add_column(r, copied(r, ll_cell_text(made, 1)));
        if (column)
            ((double *)column->numbers)[r->frame->row_count] = ll_cell_number(made, 2);
        right = column && read_choices(r, ll_cell_count(made, 0), column);
        known += column ? column->value_count : 0;
        r->frame->axis_count++;
    }
    if (made)
        ll_query_reset(made);
    return right && count_rows(r, "SELECT count(*) FROM choices", &all) &&
           (all == known || damaged(r, "it has values of parameters that it does not have"));
}

/* --- rows --- */

/* The choices that a number's digits are; false when it is no point of the space. */
static bool read_digits(struct reader *r, uint64_t row, uint64_t number)
{
    for (size_t a = r->frame->axis_count; a-- > 0;) {
        struct ll_data_column *column = &r->columns[a];
        uint32_t choice = (uint32_t)(number % column->value_count);
        number /= column->value_count;
        ((uint32_t *)column->choices)[row] = choice; /* the frame is still being made */
        ((double *)column->numbers)[row] = column->values[choice].number;
    }
    return number == 0;
}

/* What SQLite does not look after: rows that are gone from small tables on which the others rest. */
static bool is_whole(struct reader *r)
{
    const struct ll_data_frame *frame = r->frame;
    bool whole = frame->axis_count > 0 && frame->objective_count > 0 && r->workload_count > 0;
    for (size_t a = 0; whole && a < frame->axis_count; a++)
        whole = frame->columns[a].value_count > 0;
    return whole || damaged(r, "it has no parameters, values of them, objectives or workloads");
}

static bool is_result(const struct reader *r, const char *name)
{
    for (int c = FIRST_RESULT_COLUMN; c < ll_query_columns(r->results); c++)
        if (!strcmp(ll_query_name(r->results, c), name))
            return true;
    return false;
}

/* Columns of objectives that are no results by themselves, NULL of the others. */
static bool add_objective_columns(struct reader *r, struct ll_data_column *columns[LL_MOST_OBJECTIVES])
{
    const struct ll_data_frame *frame = r->frame;
    for (size_t i = 0; i < frame->objective_count; i++) {
        columns[i] = NULL;
        if (!is_result(r, frame->objectives[i].name) &&
            !(columns[i] = add_column(r, frame->objectives[i].name)))
            return false;
        if (columns[i])
            ((double *)columns[i]->numbers)[frame->row_count] = r->base_objectives[i];
    }
    return true;
}

/* All points: number, verdict, choices and objectives, each checked against the sweep that the database
 * describes. */
static bool read_points(struct reader *r)
{
    struct ll_data_frame *frame = r->frame;
    struct ll_data_column *objectives[LL_MOST_OBJECTIVES];
    uint64_t *numbers = ll_alloc(r->arena, frame->row_count, sizeof *numbers), row = 0;
    uint8_t *verdicts = ll_alloc(r->arena, frame->row_count, sizeof *verdicts);
    if (!add_objective_columns(r, objectives))
        return false;
    if (!numbers || !verdicts)
        return no_memory(r);
    for (; row < frame->row_count && ll_query_next(r->points); row++) {
        numbers[row] = ll_cell_count(r->points, 0);
        uint64_t verdict = ll_cell_count(r->points, 2);
        verdicts[row] = (uint8_t)verdict;
        if (!ll_cell_text(r->points, 2) || verdict > LL_VERDICT_PRUNED || !read_digits(r, row, numbers[row]))
            return damaged(r, "it has a point that its sweep does not have");
        for (size_t i = 0; i < frame->objective_count; i++) {
            double value = ll_cell_number(r->points, FIRST_POINT_COLUMN + (int)(frame->axis_count + i));
            if (objectives[i])
                ((double *)objectives[i]->numbers)[row] = value;
        }
    }
    frame->numbers = numbers;
    frame->verdicts = verdicts;
    ll_query_reset(r->points);
    return row == frame->row_count || trouble(r);
}

/* Columns of all results: the means, then each workload's. */
static bool add_result_columns(struct reader *r)
{
    int count = ll_query_columns(r->results);
    for (int c = FIRST_RESULT_COLUMN; c < count; c++)
        if (!add_column(r, copied(r, ll_query_name(r->results, c))))
            return false;
    for (size_t w = 0; w < r->workload_count && r->workload_count > 1; w++)
        for (int c = FIRST_RESULT_COLUMN; c < count; c++)
            if (!add_column(r, ll_format(r->arena, "%s.%s", r->workloads[w], ll_query_name(r->results, c))))
                return false;
    return true;
}

static uint64_t row_of(const struct ll_data_frame *frame, uint64_t number, uint64_t row)
{
    while (row < frame->row_count && frame->numbers[row] < number)
        row++;
    return row;
}

/* Of shares the plain mean, so that they still sum to 1. */
static bool make_means(struct reader *r, size_t first)
{
    size_t width = (size_t)(ll_query_columns(r->results) - FIRST_RESULT_COLUMN);
    double *values = ll_alloc(r->arena, r->workload_count, sizeof *values);
    if (!values)
        return no_memory(r);
    for (size_t c = 0; c < width; c++) {
        bool plain = !strncmp(r->columns[first + c].name, LL_SHARE_PREFIX, strlen(LL_SHARE_PREFIX));
        for (uint64_t row = 0; row <= r->frame->row_count; row++) {
            for (size_t w = 0; w < r->workload_count; w++)
                values[w] = r->columns[first + (w + 1) * width + c].numbers[row];
            ((double *)r->columns[first + c].numbers)[row] =
                ll_workload_mean(values, r->workload_count, plain);
        }
    }
    return true;
}

/* Puts a row of results, whose values begin at a column, where it belongs. */
static void put_result(struct reader *r, const struct ll_query *from, int column, size_t first,
                       uint64_t workload, uint64_t row)
{
    size_t width = (size_t)(ll_query_columns(r->results) - FIRST_RESULT_COLUMN);
    size_t group = r->workload_count > 1 ? first + (workload + 1) * width : first;
    for (size_t c = 0; c < width; c++)
        ((double *)r->columns[group + c].numbers)[row] = ll_cell_number(from, column + (int)c);
}

/* The results of valid and infeasible points, a row for each workload, and those of the base machine
 * behind them; of several workloads also their means. Complains where one is missing or belongs to
 * nothing. */
static bool read_results(struct reader *r)
{
    size_t first = r->frame->column_count;
    uint64_t row = 0, due = 0, base = 0;
    if (!add_result_columns(r))
        return false;
    for (uint64_t i = 0; i < r->frame->row_count; i++)
        due += r->frame->verdicts[i] < LL_VERDICT_INVALID ? r->workload_count : 0;
    while (ll_query_next(r->results)) {
        uint64_t number = ll_cell_count(r->results, 0), workload = ll_cell_count(r->results, 1);
        row = row_of(r->frame, number, row);
        if (row == r->frame->row_count || r->frame->numbers[row] != number ||
            r->frame->verdicts[row] >= LL_VERDICT_INVALID || workload >= r->workload_count)
            return damaged(r, "it has a result of no point or workload");
        put_result(r, r->results, FIRST_RESULT_COLUMN, first, workload, row);
        due--;
    }
    ll_query_reset(r->results);
    if (due > 0)
        return damaged(r, "points have lost their results");
    for (; ll_query_next(r->base); base++)
        if (ll_cell_count(r->base, 0) < r->workload_count)
            put_result(r, r->base, 1, first, ll_cell_count(r->base, 0), r->frame->row_count);
    if (base != r->workload_count)
        return damaged(r, "its base machine has not the results of each workload");
    if (r->workload_count > 1 && !make_means(r, first))
        return false;
    for (size_t c = 0; c < r->frame->column_count; c++)
        r->columns[c].base = r->columns[c].numbers[r->frame->row_count];
    return true;
}

/* The database, table by table: facts, workloads, objectives, axes, points, results. */
static bool read_all(struct reader *r)
{
    struct ll_data_frame *frame = r->frame;
    uint64_t axes;
    r->points = query(r, "SELECT * FROM points ORDER BY number");
    r->results = r->points ? query(r, "SELECT * FROM results ORDER BY point, workload") : NULL;
    r->base = r->results ? query(r, "SELECT * FROM base ORDER BY workload") : NULL;
    if (!r->base)
        return false;
    bool alike = ll_query_columns(r->base) + 1 == ll_query_columns(r->results);
    for (int c = FIRST_RESULT_COLUMN; alike && c < ll_query_columns(r->results); c++)
        alike = !strcmp(ll_query_name(r->base, c - 1), ll_query_name(r->results, c));
    if (!alike)
        return damaged(r, "its base machine has other results than its points");
    if (!read_facts(r) || !read_workloads(r) || !read_objectives(r) ||
        !count_rows(r, "SELECT count(*) FROM points", &frame->row_count) ||
        !count_rows(r, "SELECT count(*) FROM parameters", &axes))
        return false;
    size_t width = (size_t)ll_query_columns(r->results);
    r->capacity = axes + frame->objective_count + width * (r->workload_count + 1);
    r->columns = ll_alloc(r->arena, r->capacity, sizeof *r->columns);
    frame->columns = r->columns;
    if (!r->columns)
        return no_memory(r);
    if (!read_axes(r) || !is_whole(r))
        return false;
    if ((size_t)ll_query_columns(r->points) < FIRST_POINT_COLUMN + frame->axis_count + frame->objective_count)
        return ll_complain(r->diags, (struct ll_place){.file = r->path},
                           "this is not the database of a sweep");
    return read_points(r) && read_results(r);
}

const struct ll_data_frame *ll_data_frame_read(const char *path, struct ll_arena *arena,
                                               struct ll_diags *diags)
{
    struct ll_data_frame *frame = ll_alloc(arena, 1, sizeof *frame);
    struct reader r = {.path = path, .arena = arena, .diags = diags, .frame = frame};
    size_t before = diags->count;
    if (!frame) {
        no_memory(&r);
        return NULL;
    }
    if (!ll_store_check(path, diags))
        return NULL;
    r.database = ll_database_open(path, false);
    /* One transaction: what a sweep writes meanwhile is not seen in one table and missed in another. */
    bool right = r.database && ll_database_run(r.database, "BEGIN") && read_all(&r);
    if (!right && diags->count == before)
        trouble(&r);
    const char *late = r.database ? ll_database_trouble(r.database) : NULL;
    if (right && late)
        right = ll_complain(diags, (struct ll_place){.file = path}, "%s", late);
    ll_database_close(r.database);
    return right ? frame : NULL;
}

bool ll_store_is_sound(const char *path, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    bool sound = ll_data_frame_read(path, &arena, diags) != NULL;
    ll_arena_release(&arena);
    return sound;
}

const struct ll_data_column *ll_data_frame_column(const struct ll_data_frame *frame, const char *name)
{
    for (size_t i = 0; i < frame->column_count; i++)
        if (!strcmp(frame->columns[i].name, name))
            return &frame->columns[i];
    return NULL;
}

const char *ll_data_frame_fact(const struct ll_data_frame *frame, const char *key)
{
    for (size_t i = 0; i < frame->fact_count; i++)
        if (strcmp(frame->facts[i].key, key) == 0)
            return frame->facts[i].value;
    return NULL;
}

/* Other frames of the same sweep: fewer rows, other objectives. Names in expressions are columns. */

struct view {
    const struct ll_data_frame *frame;
    uint64_t row; /* that is looked at */
};

/* An axis of words, or of parts, is none. */
static bool is_numeric_cell(const struct ll_data_column *column)
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
    if (!column || !is_numeric_cell(column))
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
static bool add_view_column(struct ll_data_frame *frame, const char *name, struct ll_arena *arena,
                            struct ll_diags *diags)
{
    struct view view = {frame, 0};
    const struct ll_data_column *column = ll_data_frame_column(frame, name);
    if (column && is_numeric_cell(column))
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
    if (!add_view_column(copy, name, arena, diags))
        return NULL;
    copy->objectives[copy->objective_count].text = text;
    copy->objectives[copy->objective_count].name = name;
    copy->objectives[copy->objective_count++].most = most;
    return copy;
}

static bool has_all(const struct ll_findings *findings, uint64_t row)
{
    for (size_t k = 0; k < findings->frame->objective_count; k++)
        if (!isfinite(findings->objectives[k]->numbers[row]))
            return false;
    return findings->frame->verdicts[row] == LL_VERDICT_VALID;
}

static bool find_valid(struct ll_findings *findings, struct ll_arena *arena)
{
    const struct ll_data_frame *frame = findings->frame;
    size_t objectives = frame->objective_count;
    uint64_t *valid = ll_alloc(arena, frame->row_count, sizeof *valid);
    for (uint64_t row = 0; valid && row < frame->row_count; row++)
        if (has_all(findings, row))
            valid[findings->valid_count++] = row;
    double *values = ll_alloc(arena, findings->valid_count * objectives, sizeof *values);
    for (uint64_t v = 0; valid && values && v < findings->valid_count; v++)
        for (size_t k = 0; k < objectives; k++) {
            double value = findings->objectives[k]->numbers[valid[v]];
            values[v * objectives + k] = frame->objectives[k].most ? -value : value;
        }
    findings->valid = valid;
    findings->values = values;
    return valid && values;
}

static bool find_front(struct ll_findings *findings, struct ll_arena *arena)
{
    uint64_t *front = ll_alloc(arena, findings->valid_count, sizeof *front), count = 0;
    uint64_t *scratch = ll_alloc(arena, findings->valid_count, sizeof *scratch);
    size_t objectives = findings->frame->objective_count;
    if (!front || !scratch ||
        ll_pareto_front(findings->values, findings->valid_count, objectives, front, &count) != LL_OK)
        return false;
    ll_pareto_sort(findings->values, objectives, 0, front, scratch, count);
    for (uint64_t i = 0; i < count; i++)
        front[i] = findings->valid[front[i]];
    assert(count <= findings->valid_count);
    findings->front = front;
    findings->front_count = count;
    return true;
}

/* Whether a is better in one objective or, at equality, in the first of the others that tells them apart: so
 * who wins is on the front. */
static bool is_better(const double *a, const double *b, size_t objectives, size_t first)
{
    if (a[first] != b[first])
        return a[first] < b[first];
    for (size_t k = 0; k < objectives; k++)
        if (a[k] != b[k])
            return a[k] < b[k];
    return false;
}

static void find_winners(struct ll_findings *findings)
{
    size_t objectives = findings->frame->objective_count;
    for (size_t k = 0; k < objectives; k++) {
        uint64_t best = 0;
        for (uint64_t v = 1; v < findings->valid_count; v++)
            if (is_better(&findings->values[v * objectives], &findings->values[best * objectives], objectives,
                          k))
                best = v;
        findings->winners[k] = findings->valid_count ? findings->valid[best] : LL_NO_ROW;
    }
}

static bool is_numeric(const struct ll_data_column *axis)
{
    for (uint32_t i = 0; i < axis->value_count; i++)
        if (isnan(axis->values[i].number))
            return false;
    return true;
}

/* The values, or their logarithms where these are wanted and all values that are finite have some. NULL: no
 * memory. */
static const double *perhaps_logs(const double *values, uint64_t count, bool logs, struct ll_arena *arena)
{
    for (uint64_t i = 0; i < count && logs; i++)
        logs = !(values[i] <= 0);
    if (!logs)
        return values;
    double *changed = ll_alloc(arena, count, sizeof *changed);
    for (uint64_t i = 0; changed && i < count; i++)
        changed[i] = log(values[i]);
    return changed;
}

static bool find_weights(struct ll_findings *findings, struct ll_arena *arena)
{
    const struct ll_data_frame *frame = findings->frame;
    struct ll_predictor *parameters = ll_alloc(arena, frame->axis_count, sizeof *parameters);
    double *weights = ll_alloc(arena, frame->axis_count * frame->objective_count, sizeof *weights);
    bool done = parameters && weights;
    for (size_t a = 0; done && a < frame->axis_count; a++) {
        const struct ll_data_column *axis = &frame->columns[a];
        if (!is_numeric(axis))
            parameters[a] =
                (struct ll_predictor){.choices = axis->choices, .choice_count = axis->value_count};
        else
            parameters[a].numbers = perhaps_logs(axis->numbers, frame->row_count, findings->logs, arena);
        done = parameters[a].numbers || parameters[a].choices;
    }
    for (size_t k = 0; done && k < frame->objective_count; k++) {
        const double *target =
            perhaps_logs(findings->objectives[k]->numbers, frame->row_count, findings->logs, arena);
        done = target && ll_regress(parameters, frame->axis_count, target, frame->row_count,
                                    &weights[k * frame->axis_count], &findings->r2[k]) == LL_OK;
    }
    findings->weights = weights;
    return done;
}

const struct ll_findings *ll_findings_new(const struct ll_data_frame *frame, bool logs,
                                          struct ll_arena *arena)
{
    struct ll_findings *findings = ll_alloc(arena, 1, sizeof *findings);
    if (!findings)
        return NULL;
    findings->frame = frame;
    findings->logs = logs;
    for (size_t k = 0; k < frame->objective_count; k++)
        findings->objectives[k] = ll_data_frame_column(frame, frame->objectives[k].name);
    if (!find_valid(findings, arena) || !find_front(findings, arena) || !find_weights(findings, arena))
        return NULL;
    find_winners(findings);
    return findings;
}

static double heaviest(const struct ll_findings *findings, size_t axis)
{
    const struct ll_data_frame *frame = findings->frame;
    double most = frame->columns[axis].value_count > 1 ? 0 : -1;
    for (size_t k = 0; k < frame->objective_count && most >= 0; k++)
        most = fmax(most, fabs(findings->weights[k * frame->axis_count + axis]));
    return most;
}

const size_t *ll_findings_axes(const struct ll_findings *findings, struct ll_arena *arena)
{
    size_t count = findings->frame->axis_count, *order = ll_alloc(arena, count, sizeof *order);
    for (size_t i = 0; order && i < count; i++) {
        size_t at = i;
        for (; at > 0 && heaviest(findings, i) > heaviest(findings, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    assert(count == 0 || !order || order[0] < count);
    return order;
}
