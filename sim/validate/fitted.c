/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/fitted.h"

#include "tracer/base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The figures of a roofline, as times. */
struct roofline {
    double start_s, flop_s, byte_s;
};

static double predicted_s(const struct roofline *roofline, const struct ll_prediction *p)
{
    return roofline->start_s + fmax(p->flops * roofline->flop_s, p->bytes * roofline->byte_s);
}

/* Rows that have source, hardware, op and dtype in common, in their order. */
struct group {
    const struct ll_prediction **rows;
    uint64_t count, capacity;
};

/* Sum of the errors of every second row. */
static double loss_of(const struct group *group, const struct roofline *roofline)
{
    double loss = 0;
    for (uint64_t i = 0; i < group->count; i += 2)
        loss += fabs(predicted_s(roofline, group->rows[i]) / group->rows[i]->row->time_s - 1);
    return loss;
}

/* The fastest that any of them starts, computes and moves. */
static struct roofline fastest(const struct group *group)
{
    struct roofline roofline = {INFINITY, INFINITY, INFINITY};
    for (uint64_t i = 0; i < group->count; i += 2) {
        const struct ll_prediction *p = group->rows[i];
        roofline.start_s = fmin(roofline.start_s, p->row->time_s);
        roofline.flop_s = p->flops > 0 ? fmin(roofline.flop_s, p->row->time_s / p->flops) : roofline.flop_s;
        roofline.byte_s = p->bytes > 0 ? fmin(roofline.byte_s, p->row->time_s / p->bytes) : roofline.byte_s;
    }
    roofline.flop_s = isinf(roofline.flop_s) ? 0 : roofline.flop_s;
    roofline.byte_s = isinf(roofline.byte_s) ? 0 : roofline.byte_s;
    return roofline;
}

static bool try_figure(const struct group *group, struct roofline *roofline, double *figure, double value,
                       double *loss)
{
    double before = *figure;
    *figure = value;
    double now = loss_of(group, roofline);
    if (now < *loss) {
        *loss = now;
        return true;
    }
    *figure = before;
    return false;
}

/* One figure after the other is multiplied or divided by a factor while that helps, then the factor shrinks;
 * the loss there. */
static double walk(const struct group *group, struct roofline *roofline)
{
    double loss = loss_of(group, roofline), factor = 4;
    double *const figures[] = {&roofline->start_s, &roofline->flop_s, &roofline->byte_s};
    while (factor > 1.0005) {
        bool better = false;
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            better |= try_figure(group, roofline, figures[i], *figures[i] * factor, &loss) ||
                      try_figure(group, roofline, figures[i], *figures[i] / factor, &loss);
        if (!better)
            factor = sqrt(factor);
    }
    return loss;
}

/* The best that is reached from where the start is all, half, a hundredth of the fastest row. */
static struct roofline fit(const struct group *group)
{
    static const double shares[] = {1, 0.5, 0.01};
    struct roofline best = {0};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct roofline roofline = fastest(group);
        roofline.start_s *= shares[i];
        double loss = walk(group, &roofline);
        if (loss < least)
            best = roofline;
        least = fmin(least, loss);
    }
    return best;
}

/* Errors of rows that have a key in common, or of all. */
struct cell {
    const struct ll_prediction *first;
    struct ll_error_list ours, fitted;
};

struct cells {
    struct ll_map keys;
    struct cell *at;
    uint64_t capacity;
};

struct fitting {
    struct ll_arena *arena;
    struct ll_map keys; /* of groups */
    struct group *groups;
    uint64_t capacity;
    struct cells machines, families;
    struct cell overall;
    uint64_t left_out;
    bool failed;
};

static bool gather(struct cell *cell, const struct ll_prediction *p, double fitted_s)
{
    return ll_error_add(&cell->ours, p->time_s, p->row->time_s) &&
           ll_error_add(&cell->fitted, fitted_s, p->row->time_s);
}

/* A NULL key: memory ran out. */
static bool gather_by(struct cells *cells, const char *key, const struct ll_prediction *p, double fitted_s)
{
    bool is_new;
    uint32_t id = key ? ll_map_intern(&cells->keys, key, strlen(key), &is_new) : LL_NO_ID;
    if (id == LL_NO_ID || !ll_grow(&cells->at, &cells->capacity, (uint64_t)id + 1, sizeof *cells->at))
        return false;
    if (is_new)
        cells->at[id] = (struct cell){.first = p};
    return gather(&cells->at[id], p, fitted_s);
}

static void add_to_group(struct fitting *f, const struct ll_prediction *p)
{
    bool is_new;
    const char *key =
        ll_format(f->arena, "%s|%s|%s|%s", p->row->source, p->row->hardware, p->row->op, p->row->dtype);
    uint32_t id = key ? ll_map_intern(&f->keys, key, strlen(key), &is_new) : LL_NO_ID;
    if (id == LL_NO_ID || !ll_grow(&f->groups, &f->capacity, (uint64_t)id + 1, sizeof *f->groups)) {
        f->failed = true;
        return;
    }
    struct group *group = &f->groups[id];
    if (is_new)
        *group = (struct group){0};
    f->failed |= !ll_grow(&group->rows, &group->capacity, group->count + 1, sizeof *group->rows);
    if (!f->failed)
        group->rows[group->count++] = p;
}

/* Predicts the rows that the fit has not seen. */
static void compare(struct fitting *f, const struct group *group)
{
    if (group->count < LL_LEAST_FITTED) {
        f->left_out += group->count;
        return;
    }
    const struct roofline roofline = fit(group);
    for (uint64_t i = 1; i < group->count && !f->failed; i += 2) {
        const struct ll_prediction *p = group->rows[i];
        double fitted_s = predicted_s(&roofline, p);
        const char *machine = ll_format(f->arena, "%s|%s|%s", p->row->hardware, p->machine->stem, p->family);
        f->failed |= !gather_by(&f->machines, machine, p, fitted_s) ||
                     !gather_by(&f->families, p->family, p, fitted_s) || !gather(&f->overall, p, fitted_s);
    }
}

static const struct ll_compared *list(struct fitting *f, struct cells *cells, bool by_machine)
{
    struct ll_compared *list = ll_alloc(f->arena, cells->keys.count, sizeof *list);
    for (uint32_t i = 0; list && i < cells->keys.count; i++) {
        struct cell *cell = &cells->at[i];
        list[i] = (struct ll_compared){.hardware = by_machine ? cell->first->row->hardware : NULL,
                                       .machine = by_machine ? cell->first->machine : NULL,
                                       .family = cell->first->family,
                                       .ours = ll_errors_of(&cell->ours),
                                       .fitted = ll_errors_of(&cell->fitted)};
    }
    f->failed |= !list;
    return list;
}

static void release_cell(struct cell *cell)
{
    ll_errors_release(&cell->ours);
    ll_errors_release(&cell->fitted);
}

static void release_cells(struct cells *cells)
{
    for (uint64_t i = 0; i < ll_min(cells->keys.count, cells->capacity); i++) /* one may lack its cell */
        release_cell(&cells->at[i]);
    free(cells->at);
    ll_map_release(&cells->keys);
}

static void release(struct fitting *f)
{
    for (uint64_t i = 0; i < ll_min(f->keys.count, f->capacity); i++)
        free(f->groups[i].rows);
    free(f->groups);
    ll_map_release(&f->keys);
    release_cells(&f->machines);
    release_cells(&f->families);
    release_cell(&f->overall);
}

const struct ll_fitted_rooflines *ll_fit_rooflines(const struct ll_validation *validation,
                                                   struct ll_arena *arena)
{
    struct fitting f = {.arena = arena};
    struct ll_fitted_rooflines *result = ll_alloc(arena, 1, sizeof *result);
    f.failed = !result;
    for (size_t i = 0; i < validation->count && !f.failed; i++)
        if (validation->predictions[i].machine)
            add_to_group(&f, &validation->predictions[i]);
    for (uint32_t i = 0; i < f.keys.count && !f.failed; i++)
        compare(&f, &f.groups[i]);
    if (!f.failed)
        *result = (struct ll_fitted_rooflines){
            .machines = list(&f, &f.machines, true),
            .machine_count = f.machines.keys.count,
            .families = list(&f, &f.families, false),
            .family_count = f.families.keys.count,
            .overall = {.ours = ll_errors_of(&f.overall.ours), .fitted = ll_errors_of(&f.overall.fitted)},
            .left_out = f.left_out,
        };
    release(&f);
    return f.failed ? NULL : result;
}
