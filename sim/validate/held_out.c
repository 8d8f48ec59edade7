/* SPDX-License-Identifier: Apache-2.0 */
/* Errors on shapes that were left out: machine by machine the rows are fitted in folds, and the errors of the
 * folds are summed up by family. */
#include "sim/validate/held_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/validate/table.h"
#include "sim/validate/tune.h"
#include "tracer/base/num.h"

enum { SEEN, UNSEEN };

struct holding {
    const struct ll_validation *validation;
    struct ll_pool *pool;
    double *unseen_s; /* by row; NaN: none */
    struct ll_error_cells families;
    struct ll_error_cell overall;
    uint64_t left_out;
    bool failed;
};

static bool is_op(const struct ll_prediction *p)
{
    return p->machine && strncmp(p->family, "end_to_end", strlen("end_to_end")) != 0;
}

/* The first row on this machine is that of the i-th. */
static bool is_first_of_machine(const struct ll_validation *v, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (is_op(&v->predictions[j]) && v->predictions[j].machine == v->predictions[i].machine)
            return false;
    return true;
}

/* The numbers of a machine that a fit may change, of those that it has. NULL when memory ran out. */
static const struct ll_machine_number **numbers_of(const struct ll_machine *machine, struct ll_arena *arena,
                                                   size_t *count)
{
    size_t all_count;
    const struct ll_machine_number *all = ll_machine_numbers(machine, arena, &all_count);
    const struct ll_machine_number **chosen =
        all ? ll_alloc(arena, all_count, sizeof(struct ll_machine_number *)) : NULL;
    *count = 0;
    for (size_t i = 0; chosen && i < all_count; i++)
        if (ll_fit_lists(ll_fit_kernels, all[i].path) && ll_number_get(machine, &all[i]) > 0)
            chosen[(*count)++] = &all[i];
    return chosen;
}

/* Fits a machine in folds of its rows. */
static void hold_out(struct holding *h, const struct ll_machine *machine, const struct ll_measured *rows,
                     const size_t *places, size_t count)
{
    struct ll_arena arena = {0};
    struct ll_tuning tuning;
    size_t number_count;
    const struct ll_machine_number *const *numbers =
        (const struct ll_machine_number *const *)numbers_of(machine, &arena, &number_count);
    const struct ll_tuning_task task = {.rows = rows,
                                        .row_count = count,
                                        .machine = machine,
                                        .numbers = numbers,
                                        .number_count = number_count,
                                        .folds = LL_MEASURED_FOLDS,
                                        .folds_only = true};
    bool done = numbers && ll_tune(&task, h->pool, &arena, &tuning);
    h->failed |= !done && !(numbers && tuning.different < LL_MEASURED_FOLDS);
    for (size_t i = 0; done && i < count; i++)
        h->unseen_s[places[i]] = tuning.held_out_s[i];
    ll_arena_release(&arena);
}

/* All rows of the machine of the first one. */
static void take_machine(struct holding *h, size_t first)
{
    const struct ll_validation *v = h->validation;
    const struct ll_machine *machine = v->predictions[first].machine;
    struct ll_measured *rows = calloc(v->count, sizeof *rows);
    size_t *places = calloc(v->count, sizeof *places), count = 0;
    h->failed |= !rows || !places;
    for (size_t i = first; !h->failed && i < v->count; i++) {
        const struct ll_prediction *p = &v->predictions[i];
        if (!is_op(p) || p->machine != machine)
            continue;
        h->unseen_s[i] = machine->table ? p->time_s : NAN;
        places[count] = i;
        rows[count++] = *p->row;
    }
    if (!h->failed && !machine->table)
        hold_out(h, machine, rows, places, count);
    free(rows);
    free(places);
}

/* A NULL cell: memory ran out. */
static bool add(struct ll_error_cell *cell, const struct ll_prediction *p, double unseen_s)
{
    return cell && ll_error_add(&cell->sets[SEEN], p->time_s, p->row->time_s) &&
           ll_error_add(&cell->sets[UNSEEN], unseen_s, p->row->time_s);
}

static void add_up(struct holding *h)
{
    for (size_t i = 0; i < h->validation->count && !h->failed; i++) {
        const struct ll_prediction *p = &h->validation->predictions[i];
        if (!is_op(p))
            continue;
        if (isnan(h->unseen_s[i]))
            h->left_out++;
        else
            h->failed |= !add(ll_error_cell_of(&h->families, p->family, p), p, h->unseen_s[i]) ||
                         !add(&h->overall, p, h->unseen_s[i]);
    }
}

static struct ll_held_out_family family_of(struct ll_error_cell *cell, const char *family)
{
    return (struct ll_held_out_family){family, ll_errors_of(&cell->sets[SEEN]),
                                       ll_errors_of(&cell->sets[UNSEEN])};
}

static const struct ll_held_out_family *list(struct holding *h, struct ll_arena *arena)
{
    struct ll_held_out_family *families = ll_alloc(arena, h->families.keys.count, sizeof *families);
    for (uint32_t i = 0; families && i < h->families.keys.count; i++)
        families[i] = family_of(&h->families.at[i], h->families.at[i].first->family);
    h->failed |= !families;
    return families;
}

const struct ll_held_out *ll_held_out_shapes(const struct ll_validation *validation, struct ll_pool *pool,
                                             struct ll_arena *arena)
{
    struct holding h = {.validation = validation,
                        .pool = pool,
                        .unseen_s = calloc(validation->count + 1, sizeof *h.unseen_s)};
    struct ll_held_out *result = ll_alloc(arena, 1, sizeof *result);
    h.failed = !h.unseen_s || !result;
    for (size_t i = 0; i < validation->count && !h.failed; i++)
        if (is_op(&validation->predictions[i]) && is_first_of_machine(validation, i))
            take_machine(&h, i);
    add_up(&h);
    if (!h.failed)
        *result = (struct ll_held_out){.families = list(&h, arena),
                                       .family_count = h.families.keys.count,
                                       .overall = family_of(&h.overall, NULL),
                                       .left_out = h.left_out};
    ll_error_cells_release(&h.families);
    ll_error_cell_release(&h.overall);
    free(h.unseen_s);
    return h.failed ? NULL : result;
}
