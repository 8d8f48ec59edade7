/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of predictions by hardware, machine and family: MAPE, median, bias, share within 20 %. The second
 * section writes and reads residuals and takes error bars from them. */
#include "sim/validate/errors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/validate/residuals.h"
#include "tracer/base/arena.h"
#include "tracer/base/file.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/base/str.h"

bool ll_error_add(struct ll_error_list *list, double predicted_s, double measured_s)
{
    double error = (predicted_s - measured_s) / measured_s;
    if (!ll_grow(&list->size, &list->capacity, list->count + 1, sizeof *list->size))
        return false;
    list->size[list->count++] = fabs(error);
    list->sum += error;
    list->size_sum += fabs(error);
    list->near += fabs(error) <= 0.2;
    return true;
}

struct ll_errors ll_errors_of(struct ll_error_list *list)
{
    uint64_t n = list->count;
    if (n == 0)
        return (struct ll_errors){0, NAN, NAN, NAN, NAN};
    return (struct ll_errors){n, list->size_sum / (double)n, ll_median(list->size, n),
                              (double)list->near / (double)n, list->sum / (double)n};
}

void ll_errors_release(struct ll_error_list *list)
{
    free(list->size);
    *list = (struct ll_error_list){0};
}

void ll_error_cell_release(struct ll_error_cell *cell)
{
    for (int i = 0; i < LL_ERROR_SETS; i++)
        ll_errors_release(&cell->sets[i]);
}

struct ll_error_cell *ll_error_cell_of(struct ll_error_cells *cells, const char *key,
                                       const struct ll_prediction *row)
{
    bool is_new;
    uint32_t id = key ? ll_map_intern(&cells->keys, key, strlen(key), &is_new) : LL_NO_ID;
    if (id == LL_NO_ID || !ll_grow(&cells->at, &cells->capacity, (uint64_t)id + 1, sizeof *cells->at))
        return NULL;
    if (is_new)
        cells->at[id] = (struct ll_error_cell){.first = row};
    return &cells->at[id];
}

void ll_error_cells_release(struct ll_error_cells *cells)
{
    for (uint64_t i = 0; i < ll_min(cells->keys.count, cells->capacity); i++) /* one may lack its cell */
        ll_error_cell_release(&cells->at[i]);
    free(cells->at);
    ll_map_release(&cells->keys);
}

enum { MACHINE, FAMILY, POINTS, P10, P50, P90, COLUMNS };
static const char *const header[COLUMNS] = {"machine", "family", "points", "p10", "p50", "p90"};

static bool same_cell(const struct ll_prediction *p, const struct ll_family_errors *cell)
{
    return p->machine == cell->machine && strcmp(p->family, cell->family) == 0;
}

/* Data may name one machine in several ways: the cell that comes first speaks for all. */
static bool is_first(const struct ll_validation *v, size_t cell)
{
    bool first = true;
    for (size_t i = 0; i < cell && first; i++)
        first = v->machines[i].machine != v->machines[cell].machine ||
                strcmp(v->machines[i].family, v->machines[cell].family) != 0;
    return first;
}

bool ll_residuals_csv(const struct ll_validation *v, struct ll_str *out)
{
    double *logs = malloc((v->count + 1) * sizeof *logs);
    for (int i = 0; i < COLUMNS; i++)
        ll_str_addf(out, "%s%s", i ? "," : "", header[i]);
    ll_str_add(out, "\n");
    for (size_t cell = 0; logs && cell < v->machine_count; cell++) {
        size_t count = 0;
        for (size_t i = 0; i < v->count; i++)
            if (same_cell(&v->predictions[i], &v->machines[cell]))
                logs[count++] = log(v->predictions[i].row->time_s / v->predictions[i].time_s);
        if (count < LL_LEAST_RESIDUALS || !is_first(v, cell))
            continue;
        ll_sort_numbers(logs, count);
        ll_csv_put(out, v->machines[cell].machine->stem);
        ll_str_add(out, ",");
        ll_csv_put(out, v->machines[cell].family);
        ll_str_addf(out, ",%zu,%.4f,%.4f,%.4f\n", count, ll_sorted_quantile(logs, count, 0.1),
                    ll_sorted_quantile(logs, count, 0.5), ll_sorted_quantile(logs, count, 0.9));
    }
    out->failed |= !logs;
    free(logs);
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

static bool take_row(struct ll_csv *csv, const struct ll_csv_field *fields, size_t count,
                     struct ll_residual *row)
{
    double points;
    if (count != COLUMNS)
        return ll_complain(csv->diags, ll_csv_place(csv, NULL), "expected %d fields, not %zu", COLUMNS,
                           count);
    *row = (struct ll_residual){.machine = fields[MACHINE].text, .family = fields[FAMILY].text};
    bool good = take_number(csv, &fields[POINTS], &points) && take_number(csv, &fields[P10], &row->p10) &&
                take_number(csv, &fields[P50], &row->p50) && take_number(csv, &fields[P90], &row->p90);
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
        ll_complain(diags, ll_csv_place(&csv, NULL), "expected the header machine,family,points,p10,p50,p90");
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
        if (strcmp(ll_op_name(kinds[i].kind), kind->kind) == 0)
            return kinds[i].family;
    return classes[kind->op_class];
}

static const struct ll_residual *find(const struct ll_residuals *residuals, const char *machine,
                                      const char *family)
{
    for (size_t i = 0; family && i < residuals->count; i++)
        if (strcmp(residuals->at[i].machine, machine) == 0 && strcmp(residuals->at[i].family, family) == 0)
            return &residuals->at[i];
    return NULL;
}

bool ll_residuals_bar(const struct ll_residuals *residuals, const struct ll_result *result, double *low_s,
                      double *high_s)
{
    double covered = 0, low = 0, high = 0, lowest = INFINITY, highest = 0;
    for (uint64_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        const struct ll_residual *r = find(residuals, result->machine->stem, family_of(kind));
        if (!r)
            continue;
        covered += kind->share;
        low += kind->share * exp(r->p10);
        high += kind->share * exp(r->p90);
        lowest = fmin(lowest, exp(r->p10));
        highest = fmax(highest, exp(r->p90));
    }
    if (!(covered >= LL_LEAST_COVERED))
        return false;
    double rest = fmax(0, 1 - covered);
    *low_s = result->time_s * (low + rest * lowest);
    *high_s = result->time_s * (high + rest * highest);
    return true;
}
