/* SPDX-License-Identifier: Apache-2.0 */
/* Scoring measured rows: each row finds its machine, becomes work or a recorded step, and is predicted;
 * errors are summed up by family and machine. The first section fits rooflines to the measured times
 * themselves, for comparison. */
#include "sim/validate/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/validate/predict.h"
#include "sim/validate/table.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"

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

/* Whether the machine's file inherits the one machine that this name means: where that is not at hand, it
 * stands for it. */
static bool is_variant(const struct ll_machine *machine, const struct ll_aliases *aliases,
                       const char *hardware)
{
    const char *meant = aliases ? ll_aliases_find(aliases, hardware) : NULL;
    return machine->base && strcmp(machine->base, meant ? meant : hardware) == 0;
}

static bool is_named(const struct ll_machine *machine, const struct ll_aliases *aliases, const char *hardware)
{
    const char *meant = aliases ? ll_aliases_find(aliases, hardware) : NULL;
    if (meant)
        return strcmp(machine->stem, meant) == 0;
    bool found = strcasecmp(machine->stem, hardware) == 0 || strcasecmp(machine->name, hardware) == 0;
    for (uint64_t i = 0; !found && i < machine->alias_count; i++)
        found = strcasecmp(machine->aliases[i], hardware) == 0;
    return found;
}

bool ll_machine_answers(const struct ll_machine *machine, const struct ll_aliases *aliases,
                        const char *hardware)
{
    return is_named(machine, aliases, hardware) || is_variant(machine, aliases, hardware);
}

/* The software is what stands in the notes before the first semicolon or bracket, without spaces at its end.
 */
static int software_length(const struct ll_measured *row)
{
    int length = row->notes ? (int)ll_min(strcspn(row->notes, ";("), 64) : 0;
    while (length > 0 && row->notes[length - 1] == ' ')
        length--;
    return length;
}

/* Where its version begins, "0.24.0" of "VLLM 0.24.0"; its end where there is none. */
static int version_at(const struct ll_measured *row)
{
    int length = software_length(row), end = length;
    while (end > 0 && row->notes[end - 1] != ' ')
        end--;
    bool version = end > 0 && end < length && row->notes[end] >= '0' && row->notes[end] <= '9';
    return version ? end : length;
}

/* A row's hardware under the software that the row's notes begin with, "cnn_benchmarks, Torch7 nn: NVIDIA
 * T4", as that source drove it, "deepbench: NVIDIA T4", and alone: one device may have been measured under
 * different software. */
enum { MOST_NAMES = 8 };
struct names {
    char at[MOST_NAMES][LL_MOST_HARDWARE];
    size_t count;
};

/* As its source drove it: under its software, under any version of that ("VLLM *"), and alone. */
static void add_driven(struct names *names, const struct ll_measured *row, const char *hardware)
{
    const char *notes = row->notes ? row->notes : "";
    snprintf(names->at[names->count++], sizeof names->at[0], "%s, %.*s: %s", row->source,
             software_length(row), notes, hardware);
    snprintf(names->at[names->count++], sizeof names->at[0], "%s, %.*s*: %s", row->source, version_at(row),
             notes, hardware);
    snprintf(names->at[names->count++], sizeof names->at[0], "%s: %s", row->source, hardware);
}

static void add_plain(struct names *names, const char *hardware)
{
    snprintf(names->at[names->count++], sizeof names->at[0], "%s", hardware);
}

/* What follows the number in "8x NVIDIA T4"; NULL when there is none. */
static const char *one_of(const char *hardware)
{
    size_t digits = strspn(hardware, "0123456789");
    return digits > 0 && strncmp(hardware + digits, "x ", 2) == 0 ? hardware + digits + 2 : NULL;
}

/* Who drove it tells more than how many there are. */
static struct names names_of(const struct ll_measured *row)
{
    struct names names = {.count = 0};
    const char *one = one_of(row->hardware);
    add_driven(&names, row, row->hardware);
    if (one)
        add_driven(&names, row, one);
    add_plain(&names, row->hardware);
    if (one)
        add_plain(&names, one);
    return names;
}

const char *ll_measured_name(const struct ll_measured *row, size_t i, char name[LL_MOST_HARDWARE])
{
    const struct names names = names_of(row);
    if (i >= names.count)
        return NULL;
    memcpy(name, names.at[i], LL_MOST_HARDWARE);
    return name;
}

bool ll_machine_measured(const struct ll_machine *machine, const struct ll_aliases *aliases,
                         const struct ll_measured *row)
{
    const struct names names = names_of(row);
    for (size_t i = 0; i < names.count; i++)
        if (ll_machine_answers(machine, aliases, names.at[i]))
            return true;
        else if (aliases && ll_aliases_find(aliases, names.at[i]))
            return false; /* it means another one */
    return false;
}

/* How many devices a row's hardware is of one of which the machine is; 0: the machine is all of it. */
static uint64_t devices_of(const struct ll_machine *machine, const struct ll_aliases *aliases,
                           const struct ll_measured *row)
{
    struct names names = {.count = 0};
    add_driven(&names, row, row->hardware);
    add_plain(&names, row->hardware);
    for (size_t i = 0; i < names.count; i++)
        if (ll_machine_answers(machine, aliases, names.at[i]))
            return 0;
    return one_of(row->hardware) ? strtoull(row->hardware, NULL, 10) : 0;
}

/* Some may stand idle. */
static const char too_many[] = "the row has more devices than its hardware: tp, pp, cp, dp or devices";

const char *ll_machine_cannot_share(const struct ll_machine *machine, const struct ll_aliases *aliases,
                                    const struct ll_measured *row)
{
    uint64_t all = devices_of(machine, aliases, row), devices;
    if (all == 0)
        return NULL;
    if (!ll_measured_number(row, "devices", UINT64_MAX, &devices))
        return "several devices, which no rule turns into work";
    return devices > all ? too_many : NULL;
}

/* The machine that answers to the first of a row's names to which any does; variants come last. */
static const struct ll_machine *find_machine(const struct ll_measured *row,
                                             const struct ll_machine *const *machines, size_t count,
                                             const struct ll_aliases *aliases)
{
    const struct names names = names_of(row);
    for (size_t n = 0; n < names.count; n++) {
        for (size_t i = 0; i < count; i++)
            if (is_named(machines[i], aliases, names.at[n]))
                return machines[i];
        for (size_t i = 0; i < count; i++)
            if (is_variant(machines[i], aliases, names.at[n]))
                return machines[i];
    }
    return NULL;
}

/* Several devices of a machine without network are those of its system, where that is at hand. */
static const struct ll_machine *several_of(const struct ll_measured *row, const struct ll_machine *device,
                                           const struct ll_machine *const *machines, size_t count,
                                           struct ll_arena *arena)
{
    uint64_t devices;
    if (!device || device->network_count > 0 || !ll_measured_number(row, "devices", UINT64_MAX, &devices) ||
        devices < 2)
        return device;
    const char *which = ll_machine_system(device, arena);
    for (size_t i = 0; which && i < count; i++)
        if (strcmp(machines[i]->stem, which) == 0)
            return machines[i];
    return device;
}

/* A row that speaks of a recorded step, and why it could not be predicted. */
struct stepped {
    struct ll_measured_step step;
    const struct ll_trace *trace;
    bool is_step;
    const char *trouble;
    char said[160];
};

static void predict_step(const struct ll_measured *row, const struct ll_machine *machine,
                         struct stepped *stepped, struct ll_last_spread *last, struct ll_prediction *p)
{
    struct ll_step_times times;
    *p = (struct ll_prediction){.row = row, .family = stepped->step.family, .unscored = stepped->trouble};
    if (p->unscored)
        return;
    if (!ll_measured_step_times(&stepped->step, stepped->trace, machine, last, &times, stepped->said,
                                sizeof stepped->said)) {
        p->unscored = stepped->said;
        return;
    }
    p->machine = machine;
    p->time_s = times.time_s;
    p->flops = times.flops;
    p->bytes = times.bytes;
    p->roofline_s = times.roofline_s;
}

/* What the model says without the machine's residual or measured table; 0 where it has none. */
static double model_alone_s(const struct ll_machine *machine, const struct ll_measured_works *works)
{
    struct ll_predicted predicted;
    const char *trouble;
    if (machine->overlay_count == 0 && !machine->table)
        return 0;
    struct ll_machine model = *machine;
    model.overlay_count = 0;
    model.table = NULL;
    return ll_predict(&model, works, &predicted, &trouble) ? predicted.time_s : 0;
}

/* A table of measured kernels without what may be the row itself, or its fold. */
static bool predict_unseen(const struct ll_machine *machine, const struct ll_measured *row,
                           const struct ll_measured_works *works, struct ll_predicted *predicted,
                           const char **trouble)
{
    if (!machine->table)
        return ll_predict(machine, works, predicted, trouble);
    struct ll_machine less = *machine;
    less.table_leaves =
        machine->table_leaves == LL_LEAVE_OWN_FOLD ? LL_LEAVE_FOLD + ll_measured_fold(row) : LL_LEAVE_SHAPE;
    return ll_predict(&less, works, predicted, trouble);
}

static void predict(const struct ll_measured *row, const struct ll_machine *machine,
                    const struct ll_aliases *aliases, struct ll_measured_works *works,
                    struct ll_prediction *p)
{
    struct ll_predicted predicted;
    *p = (struct ll_prediction){.row = row, .unscored = ll_machine_cannot_share(machine, aliases, row)};
    if (p->unscored)
        return;
    p->unscored = ll_measured_works(row, machine, works);
    p->family = works->family;
    if (!p->unscored && predict_unseen(machine, row, works, &predicted, &p->unscored)) {
        p->machine = machine;
        p->time_s = predicted.time_s;
        p->model_s = model_alone_s(machine, works);
        p->flops = predicted.flops;
        p->bytes = predicted.bytes;
        p->roofline_s = predicted.roofline_s;
        p->launch_bound = predicted.roofline_s < predicted.overhead_s;
    }
}

enum { VALIDATE_OURS, ROOFLINE, LAUNCH_BOUND, LARGE, WITH_TABLE, MODEL_ALONE };

/* A NULL cell: memory ran out. */
static bool add_errors(struct ll_error_cell *cell, const struct ll_prediction *p)
{
    double measured_s = p->row->time_s;
    return cell && ll_error_add(&cell->sets[VALIDATE_OURS], p->time_s, measured_s) &&
           ll_error_add(&cell->sets[ROOFLINE], p->roofline_s, measured_s) &&
           ll_error_add(&cell->sets[p->launch_bound ? LAUNCH_BOUND : LARGE], p->time_s, measured_s) &&
           (p->model_s == 0 || (ll_error_add(&cell->sets[WITH_TABLE], p->time_s, measured_s) &&
                                ll_error_add(&cell->sets[MODEL_ALONE], p->model_s, measured_s)));
}

static struct ll_score_set score(struct ll_error_cell *cell)
{
    return (struct ll_score_set){
        .ours = ll_errors_of(&cell->sets[VALIDATE_OURS]),
        .roofline = ll_errors_of(&cell->sets[ROOFLINE]),
        .launch_bound = ll_errors_of(&cell->sets[LAUNCH_BOUND]),
        .large = ll_errors_of(&cell->sets[LARGE]),
        .with_table = ll_errors_of(&cell->sets[WITH_TABLE]),
        .model_alone = ll_errors_of(&cell->sets[MODEL_ALONE]),
    };
}

struct validating {
    struct ll_arena *arena;
    struct ll_error_cells families, machines, workloads;
    struct ll_error_cell overall;
    struct ll_map reasons;
    uint64_t *reason_counts, reason_capacity;
    bool failed;
};

static void count_unscored(struct validating *v, const char *reason)
{
    bool is_new;
    uint32_t id = reason ? ll_map_intern(&v->reasons, reason, strlen(reason), &is_new) : LL_NO_ID;
    if (id == LL_NO_ID ||
        !ll_grow(&v->reason_counts, &v->reason_capacity, (uint64_t)id + 1, sizeof *v->reason_counts)) {
        v->failed = true;
        return;
    }
    v->reason_counts[id] = is_new ? 1 : v->reason_counts[id] + 1;
}

static void gather_row(struct validating *v, const struct ll_prediction *p)
{
    const char *family = ll_format(v->arena, "%s|%s", p->row->hardware, p->family);
    const char *machine = family ? ll_format(v->arena, "%s|%s", family, p->machine->stem) : NULL;
    v->failed |= !add_errors(ll_error_cell_of(&v->families, family, p), p) ||
                 !add_errors(ll_error_cell_of(&v->machines, machine, p), p) || !add_errors(&v->overall, p);
    if (p->workload)
        v->failed |= !add_errors(
            ll_error_cell_of(&v->workloads, ll_format(v->arena, "%s|%s", family, p->workload), p), p);
}

static const struct ll_unscored *list_unscored(struct validating *v)
{
    struct ll_unscored *unscored = ll_alloc(v->arena, v->reasons.count, sizeof *unscored);
    for (uint32_t i = 0; unscored && i < v->reasons.count; i++) {
        const struct ll_map_entry *entry = &v->reasons.entries[i];
        unscored[i] =
            (struct ll_unscored){ll_copy_text(v->arena, entry->bytes, entry->length), v->reason_counts[i]};
        v->failed |= !unscored[i].reason;
    }
    v->failed |= !unscored;
    return unscored;
}

static const struct ll_family_errors *list_families(struct validating *v, struct ll_error_cells *cells,
                                                    bool by_workload)
{
    struct ll_family_errors *families = ll_alloc(v->arena, cells->keys.count, sizeof *families);
    for (uint32_t i = 0; families && i < cells->keys.count; i++) {
        struct ll_error_cell *cell = &cells->at[i];
        families[i] = (struct ll_family_errors){
            .hardware = cell->first->row->hardware,
            .family = cell->first->family,
            .workload = by_workload ? cell->first->workload : NULL,
            .machine = cell->first->machine,
            .errors = score(cell),
        };
    }
    v->failed |= !families;
    return families;
}

static void release_scoring(struct validating *v)
{
    ll_error_cells_release(&v->families);
    ll_error_cells_release(&v->machines);
    ll_error_cells_release(&v->workloads);
    ll_error_cell_release(&v->overall);
    free(v->reason_counts);
    ll_map_release(&v->reasons);
}

/* What the threads share: each writes the predictions of its own rows. */
struct predicting {
    const struct ll_measured *rows;
    const struct ll_machine *const *row_machines; /* by row, NULL where none answers */
    const struct ll_aliases *aliases;
    struct ll_prediction *predictions;
    struct stepped *stepped; /* by row */
    const uint64_t *order;   /* in which rows are predicted: neighbours may share programs */
    bool *chunk_failed;
};

enum { ROWS_AT_ONCE = 8 };

static void predict_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct predicting *all = context;
    struct ll_measured_works works = {0};
    struct ll_last_spread last = {0};
    for (uint64_t k = begin; k < end; k++) {
        uint64_t i = all->order[k];
        all->predictions[i] = (struct ll_prediction){.row = &all->rows[i]};
        if (all->rows[i].time_s == 0) {
            all->predictions[i].unscored = "no time was measured";
            continue;
        }
        if (all->row_machines[i] && all->stepped[i].is_step)
            predict_step(&all->rows[i], all->row_machines[i], &all->stepped[i], &last, &all->predictions[i]);
        else if (all->row_machines[i])
            predict(&all->rows[i], all->row_machines[i], all->aliases, &works, &all->predictions[i]);
    }
    all->chunk_failed[chunk] = works.failed;
    ll_last_spread_release(&last);
    ll_measured_works_release(&works);
}

static bool is_driven_alike(const struct ll_measured *a, const struct ll_measured *b)
{
    int length = software_length(a);
    return strcmp(a->hardware, b->hardware) == 0 && strcmp(a->source, b->source) == 0 &&
           length == software_length(b) && (length == 0 || strncmp(a->notes, b->notes, (size_t)length) == 0);
}

/* Brings what the rows want that a machine answers to. */
static void bring_all(const struct predicting *all, size_t count, const struct ll_recordings *recordings)
{
    for (size_t i = 0; i < count; i++) {
        struct stepped *stepped = &all->stepped[i];
        stepped->is_step =
            all->row_machines[i] && ll_measured_step(&all->rows[i], &stepped->step, &stepped->trouble);
        uint64_t devices =
            stepped->is_step ? devices_of(all->row_machines[i], all->aliases, &all->rows[i]) : 0;
        if (stepped->is_step && !stepped->trouble && devices > 0 && stepped->step.devices > devices)
            stepped->trouble = too_many;
        if (!stepped->is_step || stepped->trouble)
            continue;
        if (recordings)
            stepped->trace = recordings->bring(recordings->context, &stepped->step.wanted);
        if (!stepped->trace)
            stepped->trouble = "its workload cannot be recorded";
    }
}

/* A row in its place, and what steps that share programs have in common. */
struct place {
    uint64_t row, numbers[4];
    uintptr_t trace;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->trace != b->trace)
        return a->trace < b->trace ? -1 : 1;
    for (size_t i = 0; i < sizeof a->numbers / sizeof *a->numbers; i++)
        if (a->numbers[i] != b->numbers[i])
            return a->numbers[i] < b->numbers[i] ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Steps on the same trace by like plans stand together. NULL when memory ran out. */
static const uint64_t *order_rows(const struct stepped *stepped, size_t count, struct ll_arena *arena)
{
    uint64_t *order = ll_alloc(arena, count, sizeof *order);
    struct place *places = calloc(count + 1, sizeof *places);
    for (size_t i = 0; places && i < count; i++) {
        const struct ll_parallel *plan = &stepped[i].step.plan;
        places[i] = (struct place){
            i, {plan->tensor, plan->pipeline, plan->data, plan->batch}, (uintptr_t)stepped[i].trace};
    }
    if (places)
        qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 0; order && places && i < count; i++)
        order[i] = places[i].row;
    free(places);
    return places ? order : NULL;
}

/* NULL when memory ran out. */
static struct ll_prediction *predict_all(const struct ll_measured *rows, size_t count,
                                         const struct ll_machine *const *machines, size_t machine_count,
                                         const struct ll_aliases *aliases,
                                         const struct ll_recordings *recordings, struct ll_pool *pool,
                                         struct ll_arena *arena)
{
    uint64_t chunks = count / ROWS_AT_ONCE + 1;
    const struct ll_machine **row_machines = ll_alloc(arena, count, sizeof(struct ll_machine *));
    struct predicting all = {.rows = rows,
                             .row_machines = row_machines,
                             .aliases = aliases,
                             .predictions = ll_alloc(arena, count, sizeof *all.predictions),
                             .stepped = ll_alloc(arena, count, sizeof *all.stepped),
                             .chunk_failed = ll_alloc(arena, chunks, sizeof *all.chunk_failed)};
    if (!row_machines || !all.predictions || !all.stepped || !all.chunk_failed)
        return NULL;
    const struct ll_machine *meant = NULL;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !is_driven_alike(&rows[i], &rows[i - 1]))
            meant = find_machine(&rows[i], machines, machine_count, aliases);
        row_machines[i] = several_of(&rows[i], meant, machines, machine_count, arena);
    }
    bring_all(&all, count, recordings);
    all.order = order_rows(all.stepped, count, arena);
    if (!all.order)
        return NULL;
    ll_pool_run(pool, count, ROWS_AT_ONCE, predict_rows, &all);
    for (uint64_t i = 0; i < chunks; i++)
        if (all.chunk_failed[i])
            return NULL;
    return all.predictions;
}

/* Why a row was not scored: what was found, or that no machine is meant. NULL when memory ran out. */
static const char *reason_of(const struct ll_prediction *p, struct ll_arena *arena)
{
    return p->unscored ? p->unscored : ll_format(arena, "no machine answers to %s", p->row->hardware);
}

const struct ll_validation *ll_validation_of(struct ll_prediction *predictions, size_t count,
                                             struct ll_arena *arena)
{
    struct validating v = {.arena = arena};
    struct ll_validation *result = ll_alloc(arena, 1, sizeof *result);
    v.failed = !result;
    for (size_t i = 0; i < count && !v.failed; i++) {
        struct ll_prediction *p = &predictions[i];
        if (p->machine)
            gather_row(&v, p);
        else
            count_unscored(&v, p->unscored);
    }
    if (!v.failed)
        *result = (struct ll_validation){
            .predictions = predictions,
            .count = count,
            .families = list_families(&v, &v.families, false),
            .family_count = v.families.keys.count,
            .machines = list_families(&v, &v.machines, false),
            .machine_count = v.machines.keys.count,
            .workloads = list_families(&v, &v.workloads, true),
            .workload_count = v.workloads.keys.count,
            .overall = score(&v.overall),
            .unscored = list_unscored(&v),
            .unscored_count = v.reasons.count,
        };
    release_scoring(&v);
    return v.failed ? NULL : result;
}

const struct ll_validation *ll_validate(const struct ll_measured *rows, size_t count,
                                        const struct ll_machine *const *machines, size_t machine_count,
                                        const struct ll_aliases *aliases,
                                        const struct ll_recordings *recordings, struct ll_pool *pool,
                                        struct ll_arena *arena)
{
    struct ll_prediction *predictions =
        predict_all(rows, count, machines, machine_count, aliases, recordings, pool, arena);
    for (size_t i = 0; predictions && i < count; i++)
        if (!predictions[i].machine)
            predictions[i].unscored = reason_of(&predictions[i], arena);
    return predictions ? ll_validation_of(predictions, count, arena) : NULL;
}

void ll_validation_rows_json(const struct ll_validation *v, struct ll_json *json)
{
    static const char *const texts[] = {"hardware", "machine", "family", "op", "dtype", "dims", "source"},
                             *const numbers[] = {"measured_s", "predicted_s", "roofline_s"};
    ll_json_open_object(json);
    ll_json_key(json, "rows");
    ll_json_open_object(json);
    for (size_t c = 0; c < sizeof texts / sizeof *texts; c++) {
        ll_json_key(json, texts[c]);
        ll_json_open_list(json);
        for (size_t i = 0; i < v->count; i++) {
            const struct ll_prediction *p = &v->predictions[i];
            const char *const fields[] = {p->row->hardware, p->machine ? p->machine->stem : NULL,
                                          p->family,        p->row->op,
                                          p->row->dtype,    p->row->dims,
                                          p->row->source};
            if (p->machine)
                ll_json_text(json, fields[c] ? fields[c] : "");
        }
        ll_json_close_list(json);
    }
    for (size_t c = 0; c < sizeof numbers / sizeof *numbers; c++) {
        ll_json_key(json, numbers[c]);
        ll_json_open_list(json);
        for (size_t i = 0; i < v->count; i++) {
            const struct ll_prediction *p = &v->predictions[i];
            const double fields[] = {p->row->time_s, p->time_s, p->roofline_s};
            if (p->machine)
                ll_json_number(json, fields[c]);
        }
        ll_json_close_list(json);
    }
    ll_json_close_object(json);
    ll_json_close_object(json);
}
