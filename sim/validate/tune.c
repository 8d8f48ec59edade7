/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/tune.h"

#include "sim/validate/predict.h"
#include "tracer/base/map.h"
#include "tracer/base/order.h"
#include "tracer/base/random.h"
#include "tracer/base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 64, ROUNDS = 5, STEPS = 9, NARROWINGS = 5 };
#define SPAN 8.0        /* in the first round a number is looked for from an eighth to eight times itself */
#define LEAST_MOVE 2e-4 /* of the mean: what gains less leaves a number where it is */
#define LEAST_GAIN 1e-3 /* of the mean; a round that gains less is the last one */
#define NO_DIFFERENCE 1e-9

/* A row with its work; logs of times, so that errors are differences. */
struct sample {
    struct ll_measured_works works;
    double log_time;
    uint32_t same; /* rows that measure the same work have the same number, from 0 on */
    size_t fold;
};

struct tuner {
    const struct ll_tuning_task *task;
    struct ll_pool *pool;
    struct sample *samples;
    size_t count;
    double *sums;            /* by chunk */
    double *errors;          /* by row: log(predicted / measured) */
    bool *follows;           /* by number and row: whether the row's time follows the number */
    struct ll_machine trial; /* shares all texts and lists with the task's machine */
    size_t left_out;         /* the fold that is not looked at; SIZE_MAX: none */
    const bool *stale;       /* by row: whose errors are to be computed again; NULL: all */
};

static double log_error(const struct ll_machine *machine, const struct sample *sample)
{
    struct ll_predicted predicted;
    const char *trouble;
    bool runs = ll_predict(machine, &sample->works, &predicted, &trouble);
    return runs && predicted.time_s > 0 ? log(predicted.time_s) - sample->log_time : NAN;
}

static void sum_chunk(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct tuner *t = context;
    double sum = 0;
    for (uint64_t i = begin; i < end; i++) {
        if (t->samples[i].fold == t->left_out)
            continue;
        if (!t->stale || t->stale[i])
            t->errors[i] = log_error(&t->trial, &t->samples[i]);
        sum += fabs(t->errors[i]);
    }
    t->sums[chunk] = sum;
}

/* Over the rows that are looked at; chunk by chunk, whoever computed them. */
static double mean_error(struct tuner *t, const bool *stale)
{
    double sum = 0;
    t->stale = stale;
    ll_pool_run(t->pool, t->count, GRAIN, sum_chunk, t);
    for (size_t chunk = 0; chunk * GRAIN < t->count; chunk++)
        sum += t->sums[chunk];
    return sum / (double)t->count;
}

/* In four digits: more would only look like knowledge. */
static double rounded(double value)
{
    int places = 3 - (int)floor(log10(value));
    double scale = pow(10, abs(places));
    return places > 0 ? round(value * scale) / scale : round(value / scale) * scale;
}

static const bool *rows_of(const struct tuner *t, size_t number)
{
    return &t->follows[number * t->count];
}

static double with_value(struct tuner *t, size_t number, double log_value)
{
    const struct ll_machine_number *n = t->task->numbers[number];
    ll_number_set(&t->trial, n, fmin(n->max, fmax(n->min, rounded(exp(log_value)))));
    return mean_error(t, rows_of(t, number));
}

/* Where a search stands: the best place so far, and the mean there. */
struct best {
    double at, mean;
};

static bool try_place(struct tuner *t, size_t number, double at, struct best *best)
{
    double mean = with_value(t, number, at);
    if (!(mean < best->mean * (1 - LEAST_MOVE)))
        return false;
    *best = (struct best){at, mean};
    return true;
}

/* Of equally spaced values, then of ever narrower ones around the best. */
static double search(struct tuner *t, size_t number, double span, double mean)
{
    double start_value = ll_number_get(&t->trial, t->task->numbers[number]);
    double start = log(start_value), step = 2 * log(span) / (STEPS - 1);
    struct best best = {start, mean};
    for (int i = 0; i < STEPS; i++)
        try_place(t, number, start + (i - STEPS / 2) * step, &best);
    for (int i = 0; i < NARROWINGS; i++) {
        step /= 2;
        if (!try_place(t, number, best.at - step, &best))
            try_place(t, number, best.at + step, &best);
    }
    if (best.at != start)
        return with_value(t, number, best.at);
    ll_number_set(&t->trial, t->task->numbers[number], start_value);
    return mean_error(t, rows_of(t, number));
}

/* From the machine's own values. */
static void fit(struct tuner *t, size_t left_out)
{
    double span = SPAN;
    t->trial = *t->task->machine;
    t->left_out = left_out;
    double mean = mean_error(t, NULL);
    for (int round = 0; round < ROUNDS; round++, span = fmax(1.2, sqrt(span))) {
        double before = mean;
        for (size_t i = 0; i < t->task->number_count; i++)
            mean = search(t, i, span, mean);
        mean = mean_error(t, NULL);
        if (before - mean < LEAST_GAIN * before)
            break;
    }
}

/* The errors of one fold with the numbers as they are now. */
static void keep_errors(const struct tuner *t, size_t fold, double *kept)
{
    for (size_t i = 0; i < t->count; i++)
        if (fold == SIZE_MAX || t->samples[i].fold == fold)
            kept[i] = log_error(&t->trial, &t->samples[i]);
}

/* Of logs of predicted over measured, which are lost. */
static struct ll_errors sum_up(double *logs, size_t count)
{
    struct ll_errors errors = {.points = count};
    for (size_t i = 0; i < count; i++) {
        double error = expm1(logs[i]);
        errors.bias += error / (double)count;
        errors.mape += fabs(error) / (double)count;
        errors.within_20pct += (fabs(error) <= 0.2) / (double)count;
        logs[i] = fabs(error);
    }
    errors.median_ape = ll_median(logs, count);
    return errors;
}

/* The number of all rows that measure what this one does; LL_NO_ID when memory ran out. */
static uint32_t number_of(struct ll_map *map, const struct ll_measured *row)
{
    struct ll_str what = {0};
    ll_str_addf(&what, "%s,%s,%s", row->op, row->dtype, row->dims);
    uint32_t number = what.failed ? LL_NO_ID : ll_map_intern(map, what.text, what.length, NULL);
    ll_str_release(&what);
    return number;
}

/* Takes the rows that the machine answers to and can run. False when memory ran out. */
static bool take_samples(struct tuner *t, struct ll_tuning *tuning)
{
    const struct ll_tuning_task *task = t->task;
    struct ll_map map = {0};
    bool remembered = true;
    for (size_t i = 0; remembered && i < task->row_count; i++) {
        const struct ll_measured *row = &task->rows[i];
        struct sample *sample = &t->samples[t->count];
        if (!ll_machine_measured(task->machine, row) || row->time_s == 0)
            continue;
        *sample = (struct sample){.log_time = log(row->time_s)};
        bool good = !ll_measured_works(row, task->machine, &sample->works) && !sample->works.failed &&
                    isfinite(log_error(task->machine, sample));
        if (good) {
            sample->same = number_of(&map, row);
            remembered = sample->same != LL_NO_ID;
            t->count++;
        } else {
            tuning->unscored++;
            ll_measured_works_release(&sample->works);
        }
    }
    tuning->rows = t->count;
    tuning->different = map.count;
    tuning->folds = task->folds;
    ll_map_release(&map);
    return remembered;
}

struct card {
    uint64_t chance;
    uint32_t same;
};

static int by_chance(const void *a, const void *b)
{
    const struct card *x = a, *y = b;
    if (x->chance != y->chance)
        return x->chance < y->chance ? -1 : 1;
    return (x->same > y->same) - (x->same < y->same);
}

/* In an order of chance, one to each fold in turn. False when memory ran out. */
static bool deal(const struct tuner *t, size_t different, struct ll_arena *arena)
{
    struct card *cards = ll_alloc(arena, different, sizeof *cards);
    size_t *folds = ll_alloc(arena, different, sizeof *folds);
    if (!cards || !folds)
        return false;
    for (size_t i = 0; i < different; i++)
        cards[i] = (struct card){ll_random_bits(1, i), (uint32_t)i};
    qsort(cards, different, sizeof *cards, by_chance);
    for (size_t i = 0; i < different; i++)
        folds[cards[i].same] = i % t->task->folds;
    for (size_t i = 0; i < t->count; i++)
        t->samples[i].fold = folds[t->samples[i].same];
    return true;
}

/* Marks the rows whose time is another with another value of the number. Whether there is any. */
static bool mark_rows(struct tuner *t, size_t number, double *scratch)
{
    static const double factors[] = {1 / SPAN, 1 / 1.5, 1.5, SPAN};
    const struct ll_machine_number *n = t->task->numbers[number];
    bool *marks = &t->follows[number * t->count], any = false;
    double value = ll_number_get(t->task->machine, n);
    t->left_out = SIZE_MAX;
    t->trial = *t->task->machine;
    mean_error(t, NULL);
    memcpy(scratch, t->errors, t->count * sizeof *scratch);
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        ll_number_set(&t->trial, n, fmin(n->max, fmax(n->min, value * factors[f])));
        mean_error(t, NULL);
        for (size_t i = 0; i < t->count; i++)
            marks[i] |= !(fabs(t->errors[i] - scratch[i]) <= NO_DIFFERENCE);
    }
    for (size_t i = 0; i < t->count; i++)
        any |= marks[i];
    return any;
}

static void keep_range(const struct tuner *t, struct ll_tuning *tuning)
{
    for (size_t i = 0; i < tuning->count; i++) {
        double value = ll_number_get(&t->trial, tuning->tuned[i].number);
        tuning->tuned[i].low = fmin(tuning->tuned[i].low, value);
        tuning->tuned[i].high = fmax(tuning->tuned[i].high, value);
    }
}

static void tune(struct tuner *t, struct ll_tuning *tuning, double *kept)
{
    t->trial = *t->task->machine;
    keep_errors(t, SIZE_MAX, kept);
    tuning->before = sum_up(kept, t->count);
    for (size_t i = 0; i < tuning->count; i++) {
        const struct ll_machine_number *number = t->task->numbers[i];
        double value = ll_number_get(t->task->machine, number);
        tuning->tuned[i] = (struct ll_tuned){number, value, value, INFINITY, 0, mark_rows(t, i, kept)};
    }
    fit(t, SIZE_MAX);
    for (size_t i = 0; i < tuning->count; i++)
        tuning->tuned[i].after = ll_number_get(&t->trial, tuning->tuned[i].number);
    keep_errors(t, SIZE_MAX, kept);
    tuning->fitted = sum_up(kept, t->count);
    for (size_t fold = 0; fold < t->task->folds; fold++) {
        fit(t, fold);
        keep_range(t, tuning);
        keep_errors(t, fold, kept);
    }
    tuning->held_out = sum_up(kept, t->count);
}

bool ll_tune(const struct ll_tuning_task *task, struct ll_pool *pool, struct ll_arena *arena,
             struct ll_tuning *tuning)
{
    size_t most = task->row_count;
    struct tuner t = {.task = task, .pool = pool};
    double *kept = ll_alloc(arena, most, sizeof *kept);
    *tuning = (struct ll_tuning){.count = task->number_count};
    t.samples = ll_alloc(arena, most + 1, sizeof *t.samples);
    t.sums = ll_alloc(arena, most / GRAIN + 1, sizeof *t.sums);
    t.errors = ll_alloc(arena, most, sizeof *t.errors);
    t.follows = ll_alloc(arena, most * task->number_count, sizeof *t.follows);
    tuning->tuned = ll_alloc(arena, task->number_count, sizeof *tuning->tuned);
    bool ready = kept && t.samples && t.sums && t.errors && t.follows && tuning->tuned &&
                 take_samples(&t, tuning) && tuning->different >= task->folds &&
                 deal(&t, tuning->different, arena);
    if (ready)
        tune(&t, tuning, kept);
    for (size_t i = 0; i < t.count; i++)
        ll_measured_works_release(&t.samples[i].works);
    return ready;
}
