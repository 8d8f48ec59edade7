/* SPDX-License-Identifier: Apache-2.0 */
/* Fitting numbers of a machine on measured rows by coordinate search, with cross-validation. The last section
 * writes the fitted machine as a YAML file. */
#define _GNU_SOURCE
#include "sim/validate/tune.h"

#include <assert.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/quantity.h"
#include "sim/validate/predict.h"
#include "sim/validate/table.h"
#include "tracer/base/file.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"
#include "tracer/base/str.h"

#define OVERHEADS_AND_SHARES                                                                                 \
    "software.op_overhead,software.kernels.*.launch_overhead,units.*.efficiency,memory.*.efficiency"
const char ll_fit_usual[] = OVERHEADS_AND_SHARES;
const char ll_fit_kernels[] = OVERHEADS_AND_SHARES
    ",units.*.gemm.*,units.*.implicit_gemm.*,software.attention.*,software.experts.*,software.linear.*"
    ",software.collective_*,network.*efficiency,network.*latency,network.*.in_network";

bool ll_fit_means(const char *pattern, const char *path)
{
    const char *behind = strchr(path, '.');
    return fnmatch(pattern, path, 0) == 0 || (behind && fnmatch(pattern, behind + 1, 0) == 0);
}

bool ll_fit_lists(const char *patterns, const char *path)
{
    char pattern[128];
    for (const char *at = patterns; *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        snprintf(pattern, sizeof pattern, "%.*s", (int)length, at);
        if (ll_fit_means(pattern, path))
            return true;
        at += length;
    }
    return false;
}

enum { GRAIN = 64, ROUNDS = 5, STEPS = 9, NARROWINGS = 5, STAGES = 8 };
#define SPAN 8.0        /* in the first round a number is looked for from an eighth to eight times itself */
#define LEAST_MOVE 2e-4 /* of the mean: what gains less leaves a number where it is */
#define LEAST_GAIN 1e-3 /* of the mean; a round that gains less is the last one */
#define NO_DIFFERENCE 1e-9

/* A row with its work; logs of times, so that errors are differences. */
struct sample {
    const struct ll_measured *row;
    struct ll_measured_works works;
    double log_time;
    uint32_t same; /* rows in the same block of shapes have the same number, from 0 on */
    size_t fold;
};

struct tuner {
    const struct ll_tuning_task *task;
    struct ll_pool *pool;
    struct sample *samples;
    size_t count;
    size_t different;        /* blocks of shapes */
    double *sums;            /* by chunk */
    double *errors;          /* by row: log(predicted / measured) */
    bool *follows;           /* by number and row: whether the row's time follows the number */
    struct ll_machine trial; /* shares all texts and lists with the task's machine */
    size_t left_out;         /* the fold that is not looked at; SIZE_MAX: none */
    const bool *stale;       /* by row: whose errors are to be computed again; NULL: all */
    size_t from;             /* the first row of the stage at work */
};

/* NaN when it cannot be predicted; *trouble is then why. */
static double log_error(const struct ll_machine *machine, const struct sample *sample, const char **trouble)
{
    struct ll_predicted predicted;
    bool runs = ll_predict(machine, &sample->works, &predicted, trouble);
    if (runs && predicted.time_s > 0 && isfinite(predicted.time_s))
        return log(predicted.time_s) - sample->log_time;
    *trouble = runs ? "it would take no time, or forever" : *trouble;
    return NAN;
}

static void sum_chunk(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct tuner *t = context;
    const char *trouble;
    double sum = 0;
    for (uint64_t i = t->from + begin; i < t->from + end; i++) {
        if (t->samples[i].fold == t->left_out)
            continue;
        if (!t->stale || t->stale[i])
            t->errors[i] = log_error(&t->trial, &t->samples[i], &trouble);
        sum += fabs(t->errors[i]);
    }
    t->sums[t->from / GRAIN + chunk] = sum;
}

/* What rows from `from` on will add at least: those that are not computed again. */
static double known_sum(const struct tuner *t, size_t from)
{
    double sum = 0;
    for (size_t i = from; t->stale && i < t->count; i++)
        sum += t->stale[i] || t->samples[i].fold == t->left_out ? 0 : fabs(t->errors[i]);
    return sum;
}

/* Over the rows that are looked at; chunk by chunk, whoever computed them. Once it is certain to be more than
 * `most` the rest is left out, and infinity returned: then some errors are those of another trial. */
static double mean_error(struct tuner *t, const bool *stale, double most)
{
    const double enough = most * (double)t->count * (1 + 1e-9); /* in whichever order sums round */
    const size_t stage = (t->count / STAGES / GRAIN + 1) * GRAIN;
    double sum = 0;
    t->stale = stale;
    for (t->from = 0; t->from < t->count; t->from += stage) {
        if (sum + known_sum(t, t->from) > enough)
            return INFINITY;
        size_t count = ll_min(stage, t->count - t->from);
        ll_pool_run(t->pool, count, GRAIN, sum_chunk, t);
        for (size_t chunk = 0; chunk * GRAIN < count; chunk++)
            sum += t->sums[t->from / GRAIN + chunk];
    }
    return sum / (double)t->count;
}

static const bool *rows_of(const struct tuner *t, size_t number)
{
    return &t->follows[number * t->count];
}

/* What stands for a place on the logarithmic scale. */
static double value_at(const struct tuner *t, size_t number, double log_value)
{
    const struct ll_machine_number *n = t->task->numbers[number];
    double value = exp(log_value); /* more than four digits would only look like knowledge */
    return fmin(n->max, fmax(n->min, ll_number_rounded(value, value)));
}

static double with_value(struct tuner *t, size_t number, double value, double most)
{
    ll_number_set(&t->trial, t->task->numbers[number], value);
    return mean_error(t, rows_of(t, number), most);
}

/* Where a search stands: the best place so far, the mean there, and the values that were looked at, of which
 * bounds and four digits make many one. */
struct best {
    double at, mean;
    double tried[1 + STEPS + 2 * NARROWINGS];
    size_t tried_count;
};

static bool was_tried(const struct best *best, double value)
{
    bool found = false;
    for (size_t i = 0; i < best->tried_count && !found; i++)
        found = best->tried[i] == value;
    return found;
}

static bool try_place(struct tuner *t, size_t number, double at, struct best *best)
{
    double value = value_at(t, number, at);
    if (was_tried(best, value))
        return false;
    best->tried[best->tried_count++] = value;
    double least_gain = best->mean * (1 - LEAST_MOVE), mean = with_value(t, number, value, least_gain);
    if (!(mean < least_gain))
        return false;
    best->at = at;
    best->mean = mean;
    return true;
}

/* A number that leaves the machine's own value has to be worth a parameter (Akaike, "A new look at the
 * statistical model identification", IEEE Transactions on Automatic Control 19, 1974): it has to raise the
 * logarithm of the likelihood by more than 1. Where errors are distributed as Laplace's, that of n rows is -n
 * ln(mean) + const; rows of one block of shapes count as one, for they err together. */
static bool is_worth_it(const struct tuner *t, size_t number, double start_value, const struct best *best,
                        double mean)
{
    bool first = start_value == ll_number_get(t->task->machine, t->task->numbers[number]);
    return !first || best->mean < mean * exp(-1 / (double)t->different);
}

/* Of equally spaced values, then of ever narrower ones around the best. */
static double search(struct tuner *t, size_t number, double span, double mean)
{
    double start_value = ll_number_get(&t->trial, t->task->numbers[number]);
    double start = log(start_value), step = 2 * log(span) / (STEPS - 1);
    struct best best = {.at = start, .mean = mean, .tried = {start_value}, .tried_count = 1};
    for (int i = 0; i < STEPS; i++)
        try_place(t, number, start + (i - STEPS / 2) * step, &best);
    for (int i = 0; i < NARROWINGS; i++) {
        step /= 2;
        if (!try_place(t, number, best.at - step, &best))
            try_place(t, number, best.at + step, &best);
    }
    double value = best.at != start && is_worth_it(t, number, start_value, &best, mean)
                       ? value_at(t, number, best.at)
                       : start_value;
    return with_value(t, number, value, INFINITY);
}

/* From the machine's own values. */
static void fit(struct tuner *t, size_t left_out)
{
    double span = SPAN;
    t->trial = *t->task->machine;
    t->left_out = left_out;
    double mean = mean_error(t, NULL, INFINITY);
    for (int round = 0; round < ROUNDS; round++, span = fmax(1.2, sqrt(span))) {
        double before = mean;
        for (size_t i = 0; i < t->task->number_count; i++)
            mean = search(t, i, span, mean);
        mean = mean_error(t, NULL, INFINITY);
        if (before - mean < LEAST_GAIN * before)
            break;
    }
}

/* The errors of one fold with the numbers as they are now. */
static void keep_errors(const struct tuner *t, size_t fold, double *kept)
{
    const char *trouble;
    for (size_t i = 0; i < t->count; i++)
        if (fold == SIZE_MAX || t->samples[i].fold == fold)
            kept[i] = log_error(&t->trial, &t->samples[i], &trouble);
}

/* Of logs of predicted over measured, which are lost. */
static struct ll_errors sum_up(double *logs, size_t count)
{
    struct ll_errors errors = {.points = count};
    for (size_t i = 0; i < count; i++) {
        double error = expm1(logs[i]);
        errors.bias += error / (double)count;
        errors.mape += fabs(error) / (double)count;
        errors.within_10pct += (fabs(error) <= 0.1) / (double)count;
        errors.within_30pct += (fabs(error) <= 0.3) / (double)count;
        errors.within_20pct += (fabs(error) <= 0.2) / (double)count;
        logs[i] = fabs(error);
    }
    errors.median_ape = ll_median(logs, count);
    return errors;
}

/* Work without what its type makes of it: GEMMs of the same shape in other types are bound by the same
 * tiles and lines, so that one tells of the other. */
static struct ll_work shape_of(const struct ll_work *work)
{
    struct ll_work shape = *work;
    if (ll_is_gemm(work))
        shape.dtype = shape.a_bytes = shape.b_bytes = shape.c_bytes = 0;
    return shape;
}

/* Each number of it by its power of two. */
static void add_block(const void *bytes, size_t length, struct ll_str *what)
{
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t number = 0;
        memcpy(&number, (const char *)bytes + at, ll_min(sizeof number, length - at));
        char power = (char)ilogb(1 + (double)number);
        ll_str_add_bytes(what, &power, 1);
    }
}

/* The number of all rows in the block of shapes of this one, however they are spelt; LL_NO_ID when memory ran
 * out. */
static uint32_t number_of(struct ll_map *map, const struct ll_measured_works *works)
{
    struct ll_str what = {0};
    for (uint64_t i = 0; i < works->count; i++) {
        const struct ll_measured_part *part = &works->at[i];
        const uint64_t rest[] = {part->kind,    part->times,        part->apart,   part->collective,
                                 part->devices, part->node_devices, works->threads};
        const struct ll_work shape = shape_of(&part->work);
        add_block(&shape, sizeof shape, &what);
        add_block(rest, sizeof rest, &what);
    }
    uint32_t number = what.failed ? LL_NO_ID : ll_map_intern(map, what.text, what.length, NULL);
    ll_str_release(&what);
    return number;
}

/* Why a row cannot be predicted; NULL when it can. */
static const char *take_sample(const struct tuner *t, const struct ll_measured *row, struct sample *sample)
{
    *sample = (struct sample){.row = row, .log_time = log(row->time_s)};
    const char *trouble =
        t->task->folds_only ? NULL : ll_machine_cannot_share(t->task->machine, t->task->aliases, row);
    if (!trouble)
        trouble = ll_measured_works(row, t->task->machine, &sample->works);
    if (!trouble && sample->works.failed)
        trouble = "memory ran out";
    if (!trouble && isfinite(log_error(t->task->machine, sample, &trouble)))
        return NULL;
    ll_measured_works_release(&sample->works);
    return trouble;
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
        if (!task->folds_only && !ll_machine_measured(task->machine, task->aliases, row))
            continue;
        if (row->time_s == 0) {
            tuning->untimed++;
            continue;
        }
        const char *trouble = take_sample(t, row, sample);
        if (trouble) {
            tuning->why = tuning->unscored++ == 0 ? trouble : tuning->why;
            continue;
        }
        t->count++;
        sample->same = number_of(&map, &sample->works);
        remembered = sample->same != LL_NO_ID;
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
    mean_error(t, NULL, INFINITY);
    memcpy(scratch, t->errors, t->count * sizeof *scratch);
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
        ll_number_set(&t->trial, n, fmin(n->max, fmax(n->min, value * factors[f])));
        mean_error(t, NULL, INFINITY);
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

/* What is kept of a table's trials, by row: logs of predicted over measured in folds that were left out. */
struct tabling {
    struct ll_table_sample *samples;
    double *before, *fitted;               /* without a table, by the machine as it was, as fitted */
    double *tabled_before, *tabled_fitted; /* with one */
};

static bool begin_tabling(const struct tuner *t, struct tabling *trials)
{
    size_t count = t->count + 1;
    *trials = (struct tabling){.samples = calloc(count, sizeof *trials->samples),
                               .before = calloc(4 * count, sizeof *trials->before)};
    if (!trials->samples || !trials->before)
        return false;
    trials->fitted = trials->before + count;
    trials->tabled_before = trials->fitted + count;
    trials->tabled_fitted = trials->tabled_before + count;
    for (size_t i = 0; i < t->count; i++)
        trials->samples[i] =
            (struct ll_table_sample){t->samples[i].row, &t->samples[i].works, t->samples[i].fold};
    return true;
}

static void end_tabling(struct tabling *trials)
{
    free(trials->samples);
    free(trials->before);
}

/* The family of a row, added where it is the first of it. */
static struct ll_tabled_family *family_of(const struct sample *sample, struct ll_tabled_family *families,
                                          size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(families[i].family, sample->works.family) == 0 &&
            strcmp(families[i].dtype, sample->row->dtype) == 0)
            return &families[i];
    families[*count] = (struct ll_tabled_family){.family = sample->works.family, .dtype = sample->row->dtype};
    return &families[(*count)++];
}

/* By family and type, what a table makes of folds that were left out. */
static bool weigh_families(const struct tuner *t, const double *without, const double *with,
                           struct ll_arena *arena, struct ll_tuning *tuning)
{
    struct ll_tabled_family *families = ll_alloc(arena, t->count, sizeof *families);
    for (size_t i = 0; families && i < t->count; i++) {
        const char *trouble;
        if (!ll_measured_kernel(&t->samples[i].works, &trouble) || isnan(with[i]))
            continue;
        struct ll_tabled_family *family = family_of(&t->samples[i], families, &tuning->family_count);
        family->rows++;
        family->without += fabs(expm1(without[i]));
        family->with += fabs(expm1(with[i]));
    }
    for (size_t i = 0; families && i < tuning->family_count; i++) {
        struct ll_tabled_family *family = &families[i];
        family->without /= (double)family->rows;
        family->with /= (double)family->rows;
        family->better = family->rows >= LL_LEAST_TABLED && family->with < family->without;
    }
    tuning->families = families;
    return families != NULL;
}

/* The rows of families that gain, repeats of a kernel as one. */
static bool take_table(const struct tuner *t, struct ll_arena *arena, struct ll_tuning *tuning)
{
    struct ll_map met = {0};
    struct ll_tabled_row *rows = ll_alloc(arena, t->count, sizeof *rows);
    size_t *repeats = calloc(t->count + 1, sizeof *repeats), families = tuning->family_count;
    bool right = rows && repeats;
    for (size_t i = 0; right && i < t->count; i++) {
        const char *trouble;
        const struct ll_measured_part *part = ll_measured_kernel(&t->samples[i].works, &trouble);
        if (!part || !family_of(&t->samples[i], tuning->families, &families)->better)
            continue;
        const struct {
            uint64_t kind;
            struct ll_work work;
        } key = {part->kind, part->work};
        uint32_t id = ll_map_intern(&met, &key, sizeof key, NULL);
        right = id != LL_NO_ID;
        if (!right)
            break;
        rows[id].row = repeats[id] == 0 ? t->samples[i].row : rows[id].row;
        rows[id].time_s += t->samples[i].log_time;
        repeats[id]++;
    }
    for (uint32_t i = 0; right && i < met.count; i++)
        rows[i].time_s = exp(rows[i].time_s / (double)repeats[i]);
    tuning->table = rows;
    tuning->table_count = met.count;
    ll_map_release(&met);
    free(repeats);
    return right;
}

/* The machine as it was, and a fit, next to one fold that they have not seen. */
static bool try_tables(const struct tuner *t, size_t fold, struct tabling *trials)
{
    return ll_table_held_out(trials->samples, t->count, fold, t->task->machine, trials->tabled_before) &&
           ll_table_held_out(trials->samples, t->count, fold, &t->trial, trials->tabled_fitted);
}

static bool keep_times(const struct tuner *t, const double *logs, struct ll_arena *arena,
                       struct ll_tuning *tuning)
{
    double *times_s = ll_alloc(arena, t->task->row_count, sizeof *times_s);
    for (size_t i = 0; times_s && i < t->task->row_count; i++)
        times_s[i] = NAN;
    for (size_t i = 0; times_s && i < t->count; i++)
        times_s[t->samples[i].row - t->task->rows] = exp(logs[i] + t->samples[i].log_time);
    tuning->held_out_s = times_s;
    return times_s != NULL;
}

/* False when memory ran out. */
static bool cross_validate(struct tuner *t, struct ll_tuning *tuning, double *kept, struct ll_arena *arena)
{
    struct tabling trials = {0};
    bool wanted = t->task->table, right = !wanted || begin_tabling(t, &trials);
    t->trial = *t->task->machine;
    if (right && wanted)
        keep_errors(t, SIZE_MAX, trials.before);
    for (size_t fold = 0; right && fold < t->task->folds; fold++) {
        fit(t, fold);
        keep_range(t, tuning);
        keep_errors(t, fold, kept);
        right = !wanted || try_tables(t, fold, &trials);
    }
    if (right && wanted)
        memcpy(trials.fitted, kept, t->count * sizeof *kept);
    right = right && keep_times(t, kept, arena, tuning);
    tuning->held_out = sum_up(kept, t->count);
    bool better = ll_tuning_is_better(tuning);
    if (right && wanted)
        right = weigh_families(t, better ? trials.fitted : trials.before,
                               better ? trials.tabled_fitted : trials.tabled_before, arena, tuning) &&
                take_table(t, arena, tuning);
    end_tabling(&trials);
    return right;
}

static bool tune(struct tuner *t, struct ll_tuning *tuning, double *kept, struct ll_arena *arena)
{
    t->trial = *t->task->machine;
    t->different = tuning->different;
    keep_errors(t, SIZE_MAX, kept);
    tuning->before = sum_up(kept, t->count);
    for (size_t i = 0; i < tuning->count; i++) {
        const struct ll_machine_number *number = t->task->numbers[i];
        double value = ll_number_get(t->task->machine, number);
        tuning->tuned[i] = (struct ll_tuned){number, value, value, INFINITY, 0, mark_rows(t, i, kept), 0};
    }
    if (t->task->folds_only)
        return cross_validate(t, tuning, kept, arena);
    fit(t, SIZE_MAX);
    for (size_t i = 0; i < tuning->count; i++) {
        struct ll_tuned *tuned = &tuning->tuned[i];
        tuned->after = ll_number_get(&t->trial, tuned->number);
        tuned->bound = (tuned->after >= tuned->number->max) - (tuned->after <= tuned->number->min);
    }
    keep_errors(t, SIZE_MAX, kept);
    tuning->fitted = sum_up(kept, t->count);
    return cross_validate(t, tuning, kept, arena);
}

bool ll_tuning_is_better(const struct ll_tuning *tuning)
{
    return tuning->held_out.mape < tuning->before.mape;
}

bool ll_tune(const struct ll_tuning_task *task, struct ll_pool *pool, struct ll_arena *arena,
             struct ll_tuning *tuning)
{
    size_t most = task->row_count;
    assert(!task->machine->table);
    struct tuner t = {.task = task, .pool = pool};
    double *kept = ll_alloc(arena, most, sizeof *kept);
    *tuning = (struct ll_tuning){.machine = task->machine, .count = task->number_count};
    t.samples = ll_alloc(arena, most + 1, sizeof *t.samples);
    t.sums = ll_alloc(arena, most / GRAIN + 1, sizeof *t.sums);
    t.errors = ll_alloc(arena, most, sizeof *t.errors);
    t.follows = ll_alloc(arena, most * task->number_count, sizeof *t.follows);
    tuning->tuned = ll_alloc(arena, task->number_count, sizeof *tuning->tuned);
    bool ready = kept && t.samples && t.sums && t.errors && t.follows && tuning->tuned &&
                 take_samples(&t, tuning) && tuning->different >= task->folds &&
                 deal(&t, tuning->different, arena);
    ready = ready && tune(&t, tuning, kept, arena);
    for (size_t i = 0; i < t.count; i++)
        ll_measured_works_release(&t.samples[i].works);
    return ready;
}

/* Tuned numbers as a machine file: their paths, which come in the order of the schema, become nested maps. */

/* A text as YAML has it in double quotes. */
static void quote(const char *text, struct ll_str *out)
{
    ll_str_add(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            ll_str_add(out, "\\");
        ll_str_add_bytes(out, (unsigned char)*text < ' ' ? " " : text, 1);
    }
    ll_str_add(out, "\"");
}

static bool same_segment(const struct ll_tuned *a, const struct ll_tuned *b, size_t depth)
{
    return strcmp(a->number->segments[depth], b->number->segments[depth]) == 0;
}

/* The members of a map or list that tuned numbers first .. end - 1 share down to this depth. */
static void write_members(const struct ll_tuned *const *tuned, size_t first, size_t end, size_t depth,
                          struct ll_str *out)
{
    if (depth >= LL_MOST_SEGMENTS) /* never: the last segment is a leaf */
        return;
    bool items = tuned[first]->number->is_item[depth];
    ll_str_add(out, items ? "[" : "{");
    for (size_t i = first, next; i < end; i = next) {
        const struct ll_machine_number *number = tuned[i]->number;
        for (next = i + 1; next < end && same_segment(tuned[i], tuned[next], depth);)
            next++;
        ll_str_add(out, i > first ? ", " : "");
        if (items) {
            struct ll_str members = {0};
            write_members(tuned, i, next, depth + 1, &members);
            ll_str_addf(out, "{name: %s, %s", number->segments[depth], members.text ? members.text + 1 : "}");
            ll_str_release(&members);
        } else if (depth + 1 < number->segment_count) {
            ll_str_addf(out, "%s: ", number->segments[depth]);
            write_members(tuned, i, next, depth + 1, out);
        } else {
            ll_str_addf(out, "%s: %s", number->segments[depth],
                        ll_number_words(number, tuned[i]->after).text);
        }
    }
    ll_str_add(out, items ? "]" : "}");
}

/* Where the numbers come from: data, how many rows, what the fit is worth, and how certain each is. */
static void write_source(const struct ll_tuning *tuning, const struct ll_tuned *tuned, const char *data,
                         struct ll_str *out)
{
    struct ll_str text = {0};
    ll_str_addf(&text,
                "fitted on %s, %zu rows, cross-validated MAPE %.1f %% (%.1f %% before the fit); "
                "%s to %s over %zu folds",
                data, tuning->rows, 100 * tuning->held_out.mape, 100 * tuning->before.mape,
                ll_number_words(tuned->number, tuned->low).text,
                ll_number_words(tuned->number, tuned->high).text, tuning->folds);
    ll_str_addf(out, "  %s: ", tuned->number->path);
    quote(text.text ? text.text : "", out);
    ll_str_add(out, "\n");
    out->failed |= text.failed;
    ll_str_release(&text);
}

/* How good the table is, all families together. */
static void write_table_source(const struct ll_tuning *tuning, const char *data, struct ll_str *out)
{
    double without = 0, with = 0;
    size_t rows = 0;
    for (size_t i = 0; i < tuning->family_count; i++) {
        const struct ll_tabled_family *family = &tuning->families[i];
        rows += family->better ? family->rows : 0;
        without += family->better ? family->without * (double)family->rows : 0;
        with += family->better ? family->with * (double)family->rows : 0;
    }
    struct ll_str text = {0};
    ll_str_addf(
        &text,
        "kernels of %s, %zu rows; of shapes in folds that were left out MAPE %.1f %% (%.1f %% without)", data,
        rows, 100 * with / (double)rows, 100 * without / (double)rows);
    ll_str_add(out, "  measured: ");
    quote(text.text ? text.text : "", out);
    ll_str_add(out, "\n");
    out->failed |= text.failed;
    ll_str_release(&text);
}

void ll_tuning_table_csv(const struct ll_tuning *tuning, struct ll_str *out)
{
    ll_str_add(out, "source,hardware,op,dtype,dims,time_s,notes\n");
    for (size_t i = 0; i < tuning->table_count; i++) {
        const struct ll_measured *row = tuning->table[i].row;
        const char *fields[] = {row->source, row->hardware, row->op, row->dtype, row->dims};
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
            ll_csv_put(out, fields[f]);
            ll_str_add(out, ",");
        }
        ll_str_addf(out, "%.6g,", tuning->table[i].time_s);
        ll_csv_put(out, row->notes ? row->notes : "");
        ll_str_add(out, "\n");
    }
}

void ll_tuning_yaml(const struct ll_tuning *tuning, const char *base, const char *name, const char *data,
                    const char *table, struct ll_str *out)
{
    const struct ll_tuned *written[1024];
    size_t count = 0;
    for (size_t i = 0;
         ll_tuning_is_better(tuning) && i < tuning->count && count < sizeof written / sizeof *written; i++)
        if (tuning->tuned[i].after != tuning->tuned[i].before)
            written[count++] = &tuning->tuned[i];
    ll_str_add(out, "inherits: ");
    quote(base, out);
    ll_str_add(out, "\nname: ");
    quote(name, out);
    ll_str_add(out, "\n");
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_segment(written[i], written[next], 0);)
            next++;
        ll_str_addf(out, "%s: ", written[i]->number->segments[0]);
        write_members(written, i, next, 1, out);
        ll_str_add(out, "\n");
    }
    if (table) {
        ll_str_add(out, "measured: ");
        quote(table, out);
        ll_str_add(out, "\n");
    }
    ll_str_add(out, count > 0 || table ? "sources:\n" : "");
    for (size_t i = 0; i < count; i++)
        write_source(tuning, written[i], data, out);
    if (table)
        write_table_source(tuning, data, out);
}
