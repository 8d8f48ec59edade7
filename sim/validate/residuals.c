/* SPDX-License-Identifier: Apache-2.0 */
/* Residuals of validation: their table, written and read; the intervals that it gives to steps; and how often
 * intervals hold on rows that they were not made of. */
#include "sim/validate/residuals.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/base/file.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

enum { MACHINE, FAMILY, SIZE, POINTS, P10, P50, P90, COLUMNS };
static const char *const header[COLUMNS] = {"machine", "family", "size", "points", "p10", "p50", "p90"};
static const char *const sizes[LL_RESIDUAL_SIZES] = {"all", "small", "medium", "large"};

enum { SPREAD = 20, NO_FOLD = -1 }; /* quantiles that stand for a machine in a pool */

/* A row: its residual, where it belongs. */
struct sample {
    double x;
    size_t cell;
    enum ll_residual_size size;
    int fold;
};

/* Rows of a machine and family; in `spread` the quantiles by which a pool knows those of each size. */
struct cell {
    const struct ll_machine *machine;
    const char *family;
    size_t first, count; /* of the samples */
    double spread[LL_RESIDUAL_SIZES][SPREAD];
    bool has_spread[LL_RESIDUAL_SIZES];
};

struct samples {
    struct sample *at; /* by cell */
    size_t count;
    struct cell *cells; /* in the order of their first rows */
    size_t cell_count;
    double *scratch; /* room for all residuals, and for pools */
};

struct range {
    uint64_t points; /* 0: too few */
    double p10, p50, p90;
};

static enum ll_residual_size size_of(double time_s)
{
    return time_s < 20e-6 ? LL_RESIDUAL_SMALL : time_s < 200e-6 ? LL_RESIDUAL_MEDIUM : LL_RESIDUAL_LARGE;
}

/* The quantile at place p (n + 1) of n, the first or last where there is no such place. */
static double at_place(const double *sorted, size_t count, double p)
{
    return ll_sorted_quantile(sorted, count,
                              fmin(1, fmax(0, (p * (double)(count + 1) - 1) / fmax(1, (double)count - 1))));
}

/* Of values, which are sorted. */
static struct range range_of(double *values, size_t count, size_t points)
{
    if (points < LL_LEAST_RESIDUALS)
        return (struct range){0};
    ll_sort_numbers(values, count);
    return (struct range){points, at_place(values, count, 0.1), at_place(values, count, 0.5),
                          at_place(values, count, 0.9)};
}

/* A cell's residuals of a size, but those of one fold. */
static size_t collect(const struct samples *s, const struct cell *cell, enum ll_residual_size size,
                      int left_out, double *out)
{
    size_t count = 0;
    for (size_t i = cell->first; i < cell->first + cell->count; i++)
        if ((size == LL_RESIDUAL_ALL || s->at[i].size == size) && s->at[i].fold != left_out)
            out[count++] = s->at[i].x;
    return count;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether two machines are one device, under whatever software. */
static bool same_device(const struct ll_machine *a, const struct ll_machine *b)
{
    size_t length = strcspn(a->stem, "+");
    return length == strcspn(b->stem, "+") && strncmp(a->stem, b->stem, length) == 0;
}

/* All machines of the kind, each with its spread, but the device `left_out` (NULL: none). */
static struct range pool(const struct samples *s, const char *kind, const char *family,
                         enum ll_residual_size size, const struct ll_machine *left_out)
{
    size_t count = 0, points = 0, machines = 0;
    for (size_t c = 0; c < s->cell_count; c++) {
        const struct cell *cell = &s->cells[c];
        if (!cell->has_spread[size] || !same_text(cell->machine->kind, kind) ||
            strcmp(cell->family, family) != 0 || (left_out && same_device(cell->machine, left_out)))
            continue;
        memcpy(&s->scratch[count], cell->spread[size], sizeof cell->spread[size]);
        count += SPREAD;
        points += cell->count;
        machines++;
    }
    return machines < 2 ? (struct range){0} : range_of(s->scratch, count, points);
}

static void spread_out(const struct samples *s, struct cell *cell)
{
    for (int size = 0; size < LL_RESIDUAL_SIZES; size++) {
        size_t count = collect(s, cell, (enum ll_residual_size)size, NO_FOLD, s->scratch);
        cell->has_spread[size] = count >= LL_LEAST_RESIDUALS;
        if (!cell->has_spread[size])
            continue;
        ll_sort_numbers(s->scratch, count);
        for (int i = 0; i < SPREAD; i++)
            cell->spread[size][i] = at_place(s->scratch, count, (i + 0.5) / SPREAD);
    }
}

static int by_cell(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    if (a->cell != b->cell)
        return a->cell < b->cell ? -1 : 1;
    return (a->x > b->x) - (a->x < b->x);
}

/* The number of a row's cell, begun where it is the first of it. */
static size_t cell_of(struct samples *s, const struct ll_prediction *p, size_t before)
{
    if (before < s->cell_count && s->cells[before].machine == p->machine &&
        strcmp(s->cells[before].family, p->family) == 0)
        return before;
    size_t c = 0;
    while (c < s->cell_count &&
           (s->cells[c].machine != p->machine || strcmp(s->cells[c].family, p->family) != 0))
        c++;
    if (c == s->cell_count)
        s->cells[s->cell_count++] = (struct cell){.machine = p->machine, .family = p->family};
    return c;
}

/* False when memory ran out. */
static bool take_samples(const struct ll_validation *v, struct ll_arena *arena, struct samples *s)
{
    size_t cell = 0;
    *s = (struct samples){.at = ll_alloc(arena, v->count, sizeof *s->at),
                          .cells = ll_alloc(arena, v->machine_count, sizeof *s->cells),
                          .scratch = ll_alloc(arena, v->count + v->machine_count * SPREAD, sizeof(double))};
    if (!s->at || !s->cells || !s->scratch)
        return false;
    for (size_t i = 0; i < v->count; i++) {
        const struct ll_prediction *p = &v->predictions[i];
        if (!p->machine)
            continue;
        cell = cell_of(s, p, cell);
        s->cells[cell].count++;
        s->at[s->count++] = (struct sample){log(p->row->time_s / p->time_s), cell, size_of(p->time_s),
                                            (int)ll_measured_fold(p->row)};
    }
    qsort(s->at, s->count, sizeof *s->at, by_cell);
    for (size_t c = 0, first = 0; c < s->cell_count; first += s->cells[c++].count)
        s->cells[c].first = first;
    for (size_t c = 0; c < s->cell_count; c++)
        spread_out(s, &s->cells[c]);
    return true;
}

static void put_row(const char *machine, const char *family, int size, struct range range, struct ll_str *out)
{
    if (range.points == 0)
        return;
    ll_csv_put(out, machine);
    ll_str_add(out, ",");
    ll_csv_put(out, family);
    ll_str_addf(out, ",%s,%zu,%.4f,%.4f,%.4f\n", sizes[size], (size_t)range.points, range.p10, range.p50,
                range.p90);
}

/* Whether no cell before this one is of the same kind of machine and family. */
static bool begins_pool(const struct samples *s, size_t cell)
{
    for (size_t c = 0; c < cell; c++)
        if (strcmp(s->cells[c].family, s->cells[cell].family) == 0 &&
            same_text(s->cells[c].machine->kind, s->cells[cell].machine->kind))
            return false;
    return true;
}

bool ll_residuals_csv(const struct ll_validation *v, struct ll_str *out)
{
    struct ll_arena arena = {0};
    struct samples s;
    bool taken = take_samples(v, &arena, &s);
    for (int i = 0; i < COLUMNS; i++)
        ll_str_addf(out, "%s%s", i ? "," : "", header[i]);
    ll_str_add(out, "\n");
    for (size_t c = 0; taken && c < s.cell_count; c++)
        for (int size = 0; size < LL_RESIDUAL_SIZES; size++) {
            size_t count = collect(&s, &s.cells[c], (enum ll_residual_size)size, NO_FOLD, s.scratch);
            put_row(s.cells[c].machine->stem, s.cells[c].family, size, range_of(s.scratch, count, count),
                    out);
        }
    for (size_t c = 0; taken && c < s.cell_count; c++)
        for (int size = 0; begins_pool(&s, c) && size < LL_RESIDUAL_SIZES; size++) {
            const char *kind = s.cells[c].machine->kind;
            const char *any = kind ? ll_format(&arena, "any %s", kind) : "any";
            out->failed |= !any;
            if (any)
                put_row(any, s.cells[c].family, size,
                        pool(&s, kind, s.cells[c].family, (enum ll_residual_size)size, NULL), out);
        }
    out->failed |= !taken;
    ll_arena_release(&arena);
    return !out->failed;
}

static bool take_number(struct ll_csv *csv, const struct ll_csv_field *field, double *value)
{
    char *end;
    *value = ll_strtod(field->text, &end);
    if (end != field->text && !*end && isfinite(*value))
        return true;
    return ll_complain(csv->diags, ll_csv_place(csv, field), "`%.40s`: expected a number", field->text);
}

static bool take_size(struct ll_csv *csv, const struct ll_csv_field *field, enum ll_residual_size *size)
{
    for (int i = 0; i < LL_RESIDUAL_SIZES; i++)
        if (strcmp(sizes[i], field->text) == 0) {
            *size = (enum ll_residual_size)i;
            return true;
        }
    return ll_complain(csv->diags, ll_csv_place(csv, field), "`%.40s`: expected all, small, medium or large",
                       field->text);
}

static bool take_row(struct ll_csv *csv, const struct ll_csv_field *fields, size_t count,
                     struct ll_residual *row)
{
    double points;
    if (count != COLUMNS)
        return ll_complain(csv->diags, ll_csv_place(csv, NULL), "expected %d fields, not %zu", COLUMNS,
                           count);
    *row = (struct ll_residual){.machine = fields[MACHINE].text, .family = fields[FAMILY].text};
    bool good = take_size(csv, &fields[SIZE], &row->size) && take_number(csv, &fields[POINTS], &points) &&
                take_number(csv, &fields[P10], &row->p10) && take_number(csv, &fields[P50], &row->p50) &&
                take_number(csv, &fields[P90], &row->p90);
    if (good && !(row->p10 <= row->p50 && row->p50 <= row->p90))
        good = ll_complain(csv->diags, ll_csv_place(csv, &fields[P10]),
                           "expected p10, p50 and p90 in ascending order");
    row->points = good && points > 0 && points < 1e18 ? (uint64_t)points : 0;
    return good;
}

bool ll_residuals_read(const char *text, size_t length, const char *file, struct ll_arena *arena,
                       struct ll_diags *diags, struct ll_residuals *residuals)
{
    struct ll_csv csv = {.file = file, .at = text, .end = text + length, .arena = arena, .diags = diags};
    const struct ll_csv_field *fields;
    struct ll_residual *rows = NULL;
    uint64_t capacity = 0, row_count = 0;
    size_t count = 0;
    fields = ll_csv_next(&csv, &count);
    bool good = fields && count == COLUMNS;
    for (size_t i = 0; good && i < COLUMNS; i++)
        good = strcmp(fields[i].text, header[i]) == 0;
    if (!good && !csv.failed)
        ll_complain(diags, ll_csv_place(&csv, NULL),
                    "expected the header machine,family,size,points,p10,p50,p90");
    while (good && (fields = ll_csv_next(&csv, &count)) && !csv.failed) {
        good = ll_grow(&rows, &capacity, row_count + 1, sizeof *rows) &&
               take_row(&csv, fields, count, &rows[row_count]);
        row_count += good;
    }
    residuals->at = good && !csv.failed ? ll_copy(arena, rows, row_count * sizeof *rows) : NULL;
    residuals->count = residuals->at ? row_count : 0;
    if (!residuals->at && diags->count == 0)
        ll_complain(diags, (struct ll_place){.file = file}, "memory ran out");
    free(rows);
    return residuals->at != NULL;
}

/* The family in which measured data scores a kind, or else that of its class; NULL for what has none. */
static const char *family_of(const struct ll_kind_result *kind)
{
    static const struct {
        enum ll_op_kind kind;
        const char *family;
    } kinds[] = {
#define LL_MEASURED(name, family, rule, kind, flops) {LL_OP_##kind, family},
#include "sim/validate/measured_ops.def"
#undef LL_MEASURED
    };
    static const char *const classes[LL_CLASS_COUNT] = {
        [LL_CLASS_MATRIX] = "gemm",
        [LL_CLASS_CONV] = "conv",
        [LL_CLASS_ELEMENTWISE] = "elementwise",
        [LL_CLASS_REDUCTION] = "elementwise",
        [LL_CLASS_RANDOM] = "elementwise",
        [LL_CLASS_OPTIMIZATION] = "elementwise",
        [LL_CLASS_MOVEMENT] = "elementwise",
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == kind->op_kind)
            return kinds[i].family;
    return classes[kind->op_class];
}

static bool is_machine(const char *name, const char *stem, const char *kind)
{
    return stem ? strcmp(name, stem) == 0
                : strncmp(name, "any", 3) == 0 && same_text(name[3] == ' ' ? name + 4 : name + 3, kind);
}

/* Of the machine, or where `stem` is NULL of its kind; the size's own, else that of all sizes. */
static const struct ll_residual *look_up(const struct ll_residuals *residuals, const char *stem,
                                         const char *kind, const char *family, enum ll_residual_size size)
{
    const struct ll_residual *all = NULL;
    for (size_t i = 0; i < residuals->count; i++) {
        const struct ll_residual *at = &residuals->at[i];
        if (!is_machine(at->machine, stem, kind) || strcmp(at->family, family) != 0)
            continue;
        if (at->size == size)
            return at;
        all = at->size == LL_RESIDUAL_ALL ? at : all;
    }
    return all;
}

/* The row that the machine's ops of a family and size take; NULL: there is none. */
static const struct ll_residual *find(const struct ll_residuals *residuals, const struct ll_machine *machine,
                                      const char *family, enum ll_residual_size size)
{
    if (!family)
        return NULL;
    const struct ll_residual *own = look_up(residuals, machine->stem, NULL, family, size);
    return own ? own : look_up(residuals, NULL, machine->kind, family, size);
}

/* What all kinds of a family add: their share of the time; sums of share times median, and of share times the
 * way from there to either end. */
struct part {
    double share, middle, low, high;
};

static struct part part_of(const struct ll_residuals *residuals, const struct ll_result *result,
                           const char *family)
{
    struct part part = {0};
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        enum ll_residual_size size = kind->count > 0 ? size_of(kind->time_s / kind->count) : LL_RESIDUAL_ALL;
        const struct ll_residual *r =
            same_text(family_of(kind), family) ? find(residuals, result->machine, family, size) : NULL;
        if (!r)
            continue;
        part.share += kind->share;
        part.middle += kind->share * r->p50;
        part.low += kind->share * (r->p50 - r->p10);
        part.high += kind->share * (r->p90 - r->p50);
    }
    return part;
}

static bool is_first_of_family(const struct ll_result *result, uint64_t kind)
{
    const char *family = family_of(&result->kinds[kind]);
    for (uint64_t i = 0; i < kind; i++)
        if (same_text(family_of(&result->kinds[i]), family))
            return false;
    return family != NULL;
}

/* Logs of low and high by the ops; false where too little of the time is of families with rows. */
static bool bar_of_ops(const struct ll_residuals *residuals, const struct ll_result *result, double bar[2])
{
    double covered = 0, middle = 0, low = 0, high = 0, lowest = 0, highest = 0;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        if (!is_first_of_family(result, i))
            continue;
        struct part part = part_of(residuals, result, family_of(&result->kinds[i]));
        covered += part.share;
        middle += part.middle;
        low += part.low * part.low;
        high += part.high * part.high;
        lowest = fmax(lowest, part.share > 0 ? part.low / part.share : 0);
        highest = fmax(highest, part.share > 0 ? part.high / part.share : 0);
    }
    double rest = fmax(0, 1 - covered);
    bar[0] = middle - sqrt(low + rest * lowest * rest * lowest);
    bar[1] = middle + sqrt(high + rest * highest * rest * highest);
    return covered >= LL_LEAST_COVERED;
}

bool ll_residuals_bar(const struct ll_residuals *residuals, const struct ll_result *result, double *low_s,
                      double *high_s)
{
    const struct ll_machine *machine = result->machine;
    const char *mode = result->prepared ? ll_trace_fact(result->prepared->trace, "mode") : NULL;
    const char *family = same_text(mode, "train") ? "end_to_end_training" : "end_to_end";
    double bar[2];
    bool by_ops = bar_of_ops(residuals, result, bar);
    const struct ll_residual *own = look_up(residuals, machine->stem, NULL, family, LL_RESIDUAL_ALL);
    const struct ll_residual *others = look_up(residuals, NULL, machine->kind, family, LL_RESIDUAL_ALL);
    if (own) {
        bar[0] = own->p10;
        bar[1] = own->p90;
    } else if (others) {
        bar[0] = by_ops ? fmin(bar[0], others->p10) : others->p10;
        bar[1] = by_ops ? fmax(bar[1], others->p90) : others->p90;
    } else if (!by_ops) {
        return false;
    }
    *low_s = result->time_s * exp(bar[0]);
    *high_s = result->time_s * exp(bar[1]);
    return true;
}

/* Counts as they come, in a coverage whose `within` is still a number of rows. */
static void judge(struct ll_interval_hits *coverage, bool there, double low, double high, double x)
{
    coverage->points += there;
    coverage->within += there && low <= x && x <= high;
}

static void judge_cell(const struct samples *s, const struct cell *cell, const struct ll_residuals *residuals,
                       struct ll_interval_cell *out)
{
    struct range shapes[LL_RESIDUAL_SIZES][LL_INTERVAL_FOLDS], devices[LL_RESIDUAL_SIZES];
    for (int size = 0; size < LL_RESIDUAL_SIZES; size++) {
        for (int fold = 0; fold < LL_INTERVAL_FOLDS; fold++) {
            size_t count = collect(s, cell, (enum ll_residual_size)size, fold, s->scratch);
            shapes[size][fold] = range_of(s->scratch, count, count);
        }
        devices[size] =
            pool(s, cell->machine->kind, cell->family, (enum ll_residual_size)size, cell->machine);
    }
    for (size_t i = cell->first; i < cell->first + cell->count; i++) {
        const struct sample *at = &s->at[i];
        const struct ll_residual *r =
            residuals ? find(residuals, cell->machine, cell->family, at->size) : NULL;
        const struct range *shape = &shapes[at->size][at->fold], *device = &devices[at->size];
        shape = shape->points > 0 ? shape : &shapes[LL_RESIDUAL_ALL][at->fold];
        device = device->points > 0 ? device : &devices[LL_RESIDUAL_ALL];
        out->points++;
        judge(&out->table, r != NULL, r ? r->p10 : 0, r ? r->p90 : 0, at->x);
        judge(&out->shapes, shape->points > 0, shape->p10, shape->p90, at->x);
        judge(&out->devices, device->points > 0, device->p10, device->p90, at->x);
        out->width += shape->points > 0 ? shape->p90 - shape->p10 : 0;
    }
}

static void add_coverage(struct ll_interval_hits *to, const struct ll_interval_hits *from)
{
    to->points += from->points;
    to->within += from->within;
}

static void add_cell(struct ll_interval_cell *to, const struct ll_interval_cell *from)
{
    to->points += from->points;
    to->width += from->width;
    add_coverage(&to->table, &from->table);
    add_coverage(&to->shapes, &from->shapes);
    add_coverage(&to->devices, &from->devices);
}

static void finish(struct ll_interval_cell *cell)
{
    struct ll_interval_hits *all[] = {&cell->table, &cell->shapes, &cell->devices};
    cell->width = cell->shapes.points > 0 ? cell->width / (double)cell->shapes.points : NAN;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->within = all[i]->points > 0 ? all[i]->within / (double)all[i]->points : NAN;
}

const struct ll_intervals *ll_intervals_of(const struct ll_validation *v,
                                           const struct ll_residuals *residuals, struct ll_arena *arena)
{
    struct samples s;
    struct ll_intervals *all = ll_alloc(arena, 1, sizeof *all);
    struct ll_interval_cell *cells = ll_alloc(arena, v->machine_count, sizeof *cells);
    struct ll_interval_cell *families = ll_alloc(arena, v->machine_count, sizeof *families);
    if (!all || !cells || !families || !take_samples(v, arena, &s))
        return NULL;
    all->cells = cells;
    all->families = families;
    all->cell_count = s.cell_count;
    for (size_t c = 0; c < s.cell_count; c++) {
        size_t f = 0;
        cells[c] = (struct ll_interval_cell){.machine = s.cells[c].machine, .family = s.cells[c].family};
        judge_cell(&s, &s.cells[c], residuals, &cells[c]);
        while (f < all->family_count && strcmp(families[f].family, cells[c].family) != 0)
            f++;
        if (f == all->family_count)
            families[all->family_count++] = (struct ll_interval_cell){.family = cells[c].family};
        add_cell(&families[f], &cells[c]);
        add_cell(&all->overall, &cells[c]);
        finish(&cells[c]);
    }
    for (size_t f = 0; f < all->family_count; f++)
        finish(&families[f]);
    finish(&all->overall);
    return all;
}
