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

enum { OURS, FITTED };

struct fitting {
    struct ll_arena *arena;
    struct ll_map keys; /* of groups */
    struct group *groups;
    uint64_t capacity;
    struct ll_error_cells machines, families;
    struct ll_error_cell overall;
    uint64_t left_out;
    bool failed;
};

/* A NULL cell: memory ran out. */
static bool gather(struct ll_error_cell *cell, const struct ll_prediction *p, double fitted_s)
{
    return cell && ll_error_add(&cell->sets[OURS], p->time_s, p->row->time_s) &&
           ll_error_add(&cell->sets[FITTED], fitted_s, p->row->time_s);
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
        f->failed |= !gather(ll_error_cell_of(&f->machines, machine, p), p, fitted_s) ||
                     !gather(ll_error_cell_of(&f->families, p->family, p), p, fitted_s) ||
                     !gather(&f->overall, p, fitted_s);
    }
}

static struct ll_compared compared_of(struct ll_error_cell *cell)
{
    return (struct ll_compared){.ours = ll_errors_of(&cell->sets[OURS]),
                                .fitted = ll_errors_of(&cell->sets[FITTED])};
}

static const struct ll_compared *list(struct fitting *f, struct ll_error_cells *cells, bool by_machine)
{
    struct ll_compared *list = ll_alloc(f->arena, cells->keys.count, sizeof *list);
    for (uint32_t i = 0; list && i < cells->keys.count; i++) {
        const struct ll_prediction *first = cells->at[i].first;
        list[i] = compared_of(&cells->at[i]);
        list[i].family = first->family;
        list[i].hardware = by_machine ? first->row->hardware : NULL;
        list[i].machine = by_machine ? first->machine : NULL;
    }
    f->failed |= !list;
    return list;
}

static void release(struct fitting *f)
{
    for (uint64_t i = 0; i < ll_min(f->keys.count, f->capacity); i++)
        free(f->groups[i].rows);
    free(f->groups);
    ll_map_release(&f->keys);
    ll_error_cells_release(&f->machines);
    ll_error_cells_release(&f->families);
    ll_error_cell_release(&f->overall);
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
            .overall = compared_of(&f.overall),
            .left_out = f.left_out,
        };
    release(&f);
    return f.failed ? NULL : result;
}
