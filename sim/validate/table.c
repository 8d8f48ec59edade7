/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table of measured kernels: each becomes work and a ratio of measured to modelled time, or is
 * complained of. */
#include "sim/validate/table.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/validate/predict.h"
#include "tracer/base/hash.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"

unsigned ll_measured_fold(const struct ll_measured *row)
{
    const char *dims = row->dims ? row->dims : "";
    uint64_t hash = LL_HASH_START;
    while (*dims) {
        if (isdigit((unsigned char)*dims)) {
            char *end;
            hash = ll_hash_number(hash, (uint64_t)ilogb(1 + ll_strtod(dims, &end)), 1);
            dims = end > dims ? end : dims + 1;
        } else {
            hash = ll_hash_bytes(hash, dims++, 1);
        }
    }
    return (unsigned)((hash ^ hash >> 32) % LL_MEASURED_FOLDS);
}

const struct ll_measured_part *ll_measured_kernel(const struct ll_measured_works *works, const char **trouble)
{
    const struct ll_measured_part *part = works->count > 0 ? &works->at[0] : NULL;
    if (works->failed)
        *trouble = "memory ran out";
    else if (!part || strncmp(works->family, "end_to_end", strlen("end_to_end")) == 0 || works->threads > 0)
        *trouble = "this is a step of a network; expected one kernel a row";
    else if (part->work.kind == LL_WORK_COLLECTIVE)
        *trouble = "this is an exchange between devices; expected a kernel of one device";
    else if (works->count > 1 || part->times > 1)
        *trouble = "this is more than one kernel; expected one a row";
    else
        return part;
    return NULL;
}

const char *ll_measured_point(const struct ll_measured *row, const struct ll_machine *on,
                              struct ll_kernel_point *point)
{
    assert(!on->table);
    struct ll_measured_works works = {0};
    struct ll_predicted predicted = {0};
    const char *trouble = row->time_s > 0 ? ll_measured_works(row, on, &works)
                                          : "no time stands here; expected seconds, above zero";
    const struct ll_measured_part *part = trouble ? NULL : ll_measured_kernel(&works, &trouble);
    if (part && ll_predict(on, &works, &predicted, &trouble)) {
        bool modelled = predicted.time_s > 0 && isfinite(predicted.time_s);
        trouble = modelled ? NULL : "it would take no time, or forever";
        *point = (struct ll_kernel_point){part->kind, part->work, row->time_s / predicted.time_s,
                                          ll_measured_fold(row)};
    }
    ll_measured_works_release(&works);
    return trouble;
}

/* What the rows of a table are read into. */
struct table {
    const char *file;
    const struct ll_machine *on;
    const struct ll_aliases *aliases;
    struct ll_diags *diags;
    struct ll_map works;              /* kinds and works that were met */
    const struct ll_measured **first; /* by their numbers, the row that had them first */
    struct ll_kernel_point *points;
    size_t count;
};

static bool complain(const struct table *t, const struct ll_measured *row, const char *trouble)
{
    struct ll_place place = {.file = t->file, .line = row->line};
    return ll_complain(t->diags, place, "`%.40s` of `%.60s`, %.20s: %s", row->op, row->dims, row->dtype,
                       trouble);
}

/* Which machine a row means instead; NULL: none is known. */
static const char *meant(const struct table *t, const struct ll_measured *row)
{
    char name[LL_MOST_HARDWARE];
    const char *machine = NULL;
    for (size_t i = 0; t->aliases && !machine && ll_measured_name(row, i, name); i++)
        machine = ll_aliases_find(t->aliases, name);
    return machine;
}

static bool complain_of_device(const struct table *t, const struct ll_measured *row)
{
    struct ll_place place = {.file = t->file, .line = row->line};
    const char *other = meant(t, row), *base = t->on->base ? t->on->base : t->on->stem;
    return ll_complain(t->diags, place, "`%.60s`, measured by %.40s (%.40s), %s%s: expected rows of %s",
                       row->hardware, row->source, row->notes ? row->notes : "",
                       other ? "means " : "is no machine that is known", other ? other : "", base);
}

struct work_key {
    uint64_t kind;
    struct ll_work work;
};

/* Public tables have kernels twice, whose times differ by up to 9 %. */
static const double most_between_repeats = 1.25;

/* Whether a row repeats another one of the same work; false after a complaint that it contradicts that, or
 * where memory ran out. */
static bool agrees(struct table *t, const struct ll_measured *row, const struct ll_kernel_point *point)
{
    const struct work_key key = {point->kind, point->work};
    bool is_new = false;
    uint32_t id = ll_map_intern(&t->works, &key, sizeof key, &is_new);
    if (id == LL_NO_ID)
        return ll_complain(t->diags, (struct ll_place){.file = t->file}, "memory ran out");
    if (is_new)
        t->first[id] = row;
    double first_s = t->first[id]->time_s;
    if (fmax(first_s, row->time_s) <= most_between_repeats * fmin(first_s, row->time_s))
        return true;
    struct ll_place place = {.file = t->file, .line = row->line};
    return ll_complain(t->diags, place,
                       "`%.40s` of `%.60s` takes %.6g s here and %.6g s in line %" PRIu64
                       ": expected repeats of a kernel within a quarter of one another",
                       row->op, row->dims, row->time_s, first_s, t->first[id]->line);
}

static bool take(struct table *t, const struct ll_measured *row)
{
    struct ll_kernel_point *point = &t->points[t->count];
    if (!ll_machine_measured(t->on, t->aliases, row))
        return complain_of_device(t, row);
    const char *trouble = ll_measured_point(row, t->on, point);
    if (trouble)
        return complain(t, row, trouble);
    t->count++;
    return agrees(t, row, point);
}

const struct ll_kernel_table *ll_measured_table(const struct ll_measured *rows, size_t count,
                                                const char *file, const struct ll_machine *on,
                                                const struct ll_aliases *aliases, struct ll_arena *arena,
                                                struct ll_diags *diags)
{
    struct table t = {.file = file,
                      .on = on,
                      .aliases = aliases,
                      .diags = diags,
                      .first = calloc(count + 1, sizeof(struct ll_measured *)),
                      .points = calloc(count + 1, sizeof *t.points)};
    const struct ll_kernel_table *table = NULL;
    bool right = t.first && t.points;
    for (size_t i = 0; t.first && t.points && i < count; i++)
        right &= take(&t, &rows[i]);
    if (right)
        table = ll_kernel_table_new(on, t.points, t.count, arena);
    if (!table && diags->count == 0)
        ll_complain(diags, (struct ll_place){.file = file}, "memory ran out");
    ll_map_release(&t.works);
    free(t.first);
    free(t.points);
    return table;
}

/* --- what a table is worth --- */

/* log(predicted / measured); NaN where there is none. */
static double log_error(const struct ll_machine *machine, const struct ll_table_sample *sample)
{
    struct ll_predicted predicted;
    const char *trouble;
    bool runs = ll_predict(machine, sample->works, &predicted, &trouble);
    bool modelled = runs && predicted.time_s > 0 && isfinite(predicted.time_s);
    return modelled ? log(predicted.time_s / sample->row->time_s) : NAN;
}

bool ll_table_held_out(const struct ll_table_sample *samples, size_t count, size_t fold,
                       const struct ll_machine *machine, double *log_errors)
{
    assert(!machine->table);
    struct ll_arena arena = {0};
    struct ll_machine with = *machine;
    struct ll_kernel_point *points = calloc(count + 1, sizeof *points);
    size_t point_count = 0;
    for (size_t i = 0; points && i < count; i++) {
        const char *trouble;
        const struct ll_measured_part *part = ll_measured_kernel(samples[i].works, &trouble);
        double error = part && samples[i].fold != fold ? log_error(machine, &samples[i]) : NAN;
        if (!isnan(error))
            points[point_count++] = (struct ll_kernel_point){part->kind, part->work, exp(-error), 0};
    }
    with.table = points ? ll_kernel_table_new(machine, points, point_count, &arena) : NULL;
    for (size_t i = 0; with.table && i < count; i++)
        if (samples[i].fold == fold)
            log_errors[i] = log_error(&with, &samples[i]);
    free(points);
    ll_arena_release(&arena);
    return with.table != NULL;
}
