/* SPDX-License-Identifier: Apache-2.0 */
/* The functions by which a study fills its tables, figures and criteria, plans its runs and asks for their
 * results; the last section has statistics. */
#include "sim/study/study.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/base/str.h"

void ll_study_result_release(struct ll_study_result *result)
{
    for (size_t i = 0; i < result->table_count; i++)
        free(result->tables[i].cells);
    for (size_t i = 0; i < result->figure_count; i++)
        ll_str_release(&result->figures[i].svg);
    free(result->criteria);
    ll_arena_release(&result->arena);
    *result = (struct ll_study_result){0};
}

/* The text, or "" and failed. */
static const char *kept(struct ll_study_result *result, const char *text)
{
    result->failed |= text == NULL;
    return text ? text : "";
}

static const char *copied(struct ll_study_result *result, const char *text)
{
    return text ? kept(result, ll_copy_text(&result->arena, text, strlen(text))) : NULL;
}

struct ll_study_table *ll_study_table_new(struct ll_study_result *result, const char *name,
                                          const char *caption, const struct ll_study_column *columns,
                                          size_t column_count)
{
    assert(column_count > 0);
    if (result->table_count == LL_MOST_STUDY_TABLES) {
        result->failed = true;
        return &result->tables[LL_MOST_STUDY_TABLES - 1];
    }
    struct ll_study_table *table = &result->tables[result->table_count++];
    *table = (struct ll_study_table){
        .name = copied(result, name), .caption = copied(result, caption), .result = result};
    table->columns = ll_copy(&result->arena, columns, column_count * sizeof *columns);
    result->failed |= table->columns == NULL;
    table->column_count = table->columns ? column_count : 0;
    return table;
}

static void put(struct ll_study_table *table, struct ll_cell cell)
{
    if (table->result->failed ||
        !ll_grow(&table->cells, &table->capacity, table->cell_count + 1, sizeof cell)) {
        table->result->failed = true;
        return;
    }
    assert(table->column_count > 0);
    assert(isnan(cell.number) || table->columns[table->cell_count % table->column_count].decimals >= 0);
    table->cells[table->cell_count++] = cell;
}

void ll_table_put_text(struct ll_study_table *table, const char *text)
{
    assert(table->result);
    put(table, (struct ll_cell){.text = copied(table->result, text), .number = NAN});
}

void ll_table_put_number(struct ll_study_table *table, double number)
{
    put(table, (struct ll_cell){.number = number});
}

struct ll_str *ll_study_figure_new(struct ll_study_result *result, const char *name, const char *caption)
{
    if (result->figure_count == LL_MOST_STUDY_FIGURES) {
        result->failed = true;
        return &result->figures[LL_MOST_STUDY_FIGURES - 1].svg;
    }
    struct ll_study_figure *figure = &result->figures[result->figure_count++];
    *figure = (struct ll_study_figure){.name = copied(result, name), .caption = copied(result, caption)};
    return &figure->svg;
}

static const char *print(struct ll_study_result *result, const char *format, va_list arguments)
{
    char text[1024];
    ll_vsnprintf(text, sizeof text, format, arguments);
    return copied(result, text);
}

void ll_study_note(struct ll_study_result *result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (result->note_count < LL_MOST_NOTES)
        result->notes[result->note_count++] = print(result, format, arguments);
    else
        result->failed = true;
    va_end(arguments);
}

static void add(struct ll_study_result *result, struct ll_criterion criterion, const char *claim,
                va_list arguments)
{
    criterion.claim = print(result, claim, arguments);
    criterion.measured = copied(result, criterion.measured);
    criterion.bound = copied(result, criterion.bound);
    criterion.why = copied(result, criterion.why);
    criterion.spread = NAN;
    if (!ll_grow(&result->criteria, &result->criterion_capacity, result->criterion_count + 1,
                 sizeof criterion)) {
        result->failed = true;
        return;
    }
    result->criteria[result->criterion_count++] = criterion;
}

/* A number and its unit, in a text of the arena. */
static const char *shown(struct ll_study_result *result, struct ll_measured_value measure, double value)
{
    assert(measure.decimals >= 0 && measure.unit);
    return kept(result, ll_format(&result->arena, "%.*f%s", measure.decimals, value, measure.unit));
}

static bool lies_between(double value, double least, double most)
{
    return value >= least && value <= most;
}

static struct ll_criterion compared(struct ll_study_result *result, struct ll_measured_value measure,
                                    double least, double most, const char *bound)
{
    return (struct ll_criterion){.measured = shown(result, measure, measure.value),
                                 .bound = bound,
                                 .value = measure.value,
                                 .least = least,
                                 .most = most,
                                 .verdict = lies_between(measure.value, least, most) ? LL_PASS : LL_FAIL};
}

void ll_criterion_at_least(struct ll_study_result *result, struct ll_measured_value measure, double bound,
                           const char *claim, ...)
{
    va_list arguments;
    const char *text = kept(result, ll_format(&result->arena, ">= %s", shown(result, measure, bound)));
    va_start(arguments, claim);
    add(result, compared(result, measure, bound, INFINITY, text), claim, arguments);
    va_end(arguments);
}

void ll_criterion_at_most(struct ll_study_result *result, struct ll_measured_value measure, double bound,
                          const char *claim, ...)
{
    va_list arguments;
    const char *text = kept(result, ll_format(&result->arena, "<= %s", shown(result, measure, bound)));
    va_start(arguments, claim);
    add(result, compared(result, measure, -INFINITY, bound, text), claim, arguments);
    va_end(arguments);
}

void ll_criterion_between(struct ll_study_result *result, struct ll_measured_value measure, double low,
                          double high, const char *claim, ...)
{
    assert(!(low > high)); /* NaN of a missing workload passes here and fails the criterion */
    va_list arguments;
    const char *text = shown(result, measure, low);
    if (low != high)
        text = kept(result, ll_format(&result->arena, "%s to %s", text, shown(result, measure, high)));
    va_start(arguments, claim);
    add(result, compared(result, measure, low, high, text), claim, arguments);
    va_end(arguments);
}

/* What has texts, and no number that is compared. */
static struct ll_criterion in_words(enum ll_verdict verdict, const char *measured, const char *bound)
{
    return (struct ll_criterion){
        .measured = measured, .bound = bound, .value = NAN, .least = NAN, .most = NAN, .verdict = verdict};
}

void ll_criterion_holds(struct ll_study_result *result, bool holds, const char *measured, const char *bound,
                        const char *claim, ...)
{
    va_list arguments;
    va_start(arguments, claim);
    add(result, in_words(holds ? LL_PASS : LL_FAIL, measured, bound), claim, arguments);
    va_end(arguments);
}

void ll_criterion_explain(struct ll_study_result *result, const struct ll_explanation *explanation,
                          const char *arithmetic, ...)
{
    va_list arguments;
    assert(result->failed || result->criterion_count > 0);
    assert(explanation->needed && !(explanation->low > explanation->high));
    if (result->failed)
        return;
    struct ll_criterion *criterion = &result->criteria[result->criterion_count - 1];
    bool missing = isnan(criterion->value) && !isnan(criterion->least);
    if (criterion->verdict != LL_FAIL || missing ||
        !lies_between(explanation->reached.value, explanation->low, explanation->high))
        return;
    const char *reached = shown(result, explanation->reached, explanation->reached.value);
    criterion->verdict = LL_EXPLAINED;
    criterion->cause = explanation->cause;
    va_start(arguments, arithmetic);
    criterion->arithmetic = print(result, arithmetic, arguments);
    va_end(arguments);
    criterion->needed =
        explanation->low == explanation->high
            ? ll_format(&result->arena, "%s, which gives %s", explanation->needed, reached)
            : ll_format(&result->arena, "%s, which gives %s (%s to %s wanted)", explanation->needed, reached,
                        shown(result, explanation->reached, explanation->low),
                        shown(result, explanation->reached, explanation->high));
    result->failed |= criterion->needed == NULL;
}

/* Of a criterion whose repetitions lie between low and high. */
static void repeat(struct ll_criterion *criterion, double low, double high, bool quiet)
{
    assert(!(low > high));
    bool lowest = lies_between(low, criterion->least, criterion->most);
    bool highest = lies_between(high, criterion->least, criterion->most);
    bool agree = criterion->verdict == LL_PASS ? lowest && highest : quiet && !lowest && !highest;
    if (agree || isnan(criterion->value) || isnan(high - low))
        return;
    criterion->verdict = LL_INCONCLUSIVE;
    criterion->spread = high - low;
}

void ll_criterion_repeated(struct ll_study_result *result, double low, double high, bool quiet)
{
    assert(result->failed || result->criterion_count > 0);
    if (!result->failed)
        repeat(&result->criteria[result->criterion_count - 1], low, high, quiet);
}

/* The criterion in the same place of each repetition, of which there are some. */
static void join(struct ll_criterion *criterion, const struct ll_study_result *repetitions, size_t count,
                 size_t place, bool quiet)
{
    double low = criterion->value, high = criterion->value;
    size_t failed = criterion->verdict == LL_FAIL;
    bool same = true, sure = quiet;
    if (criterion->verdict != LL_PASS && criterion->verdict != LL_FAIL)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct ll_criterion *again = &repetitions[i].criteria[place];
        same = same && strcmp(again->measured, criterion->measured) == 0 &&
               (again->value == criterion->value || isnan(criterion->value));
        low = fmin(low, again->value);
        high = fmax(high, again->value);
        failed += again->verdict == LL_FAIL;
        sure = sure && again->verdict != LL_INCONCLUSIVE;
    }
    if (same)
        return;
    if (!isnan(criterion->value)) {
        repeat(criterion, low, high, sure);
        return;
    }
    if (failed == 0 || (failed == count + 1 && quiet))
        return;
    criterion->verdict = LL_INCONCLUSIVE;
    criterion->spread = (double)failed / (double)(count + 1);
}

void ll_study_join(struct ll_study_result *result, const struct ll_study_result *repetitions, size_t count,
                   bool quiet)
{
    size_t known = result->criterion_count;
    for (size_t i = 0; i < count; i++)
        known = repetitions[i].criterion_count < known ? repetitions[i].criterion_count : known;
    for (size_t place = 0; place < known && count > 0; place++)
        join(&result->criteria[place], repetitions, count, place, quiet);
}

void ll_criterion_info(struct ll_study_result *result, const char *why, const char *measured,
                       const char *published, const char *claim, ...)
{
    va_list arguments;
    struct ll_criterion criterion = in_words(LL_INFO, measured, published);
    assert(why && *why);
    criterion.why = why;
    va_start(arguments, claim);
    add(result, criterion, claim, arguments);
    va_end(arguments);
}

void ll_criterion_skipped(struct ll_study_result *result, const char *why, const char *claim, ...)
{
    va_list arguments;
    struct ll_criterion criterion = in_words(LL_SKIPPED, "", "");
    assert(why && *why);
    criterion.why = why;
    va_start(arguments, claim);
    add(result, criterion, claim, arguments);
    va_end(arguments);
}

size_t ll_count_verdicts(const struct ll_study_result *result, enum ll_verdict verdict)
{
    size_t count = 0;
    for (uint64_t i = 0; i < result->criterion_count; i++)
        count += result->criteria[i].verdict == verdict;
    assert(count <= result->criterion_count);
    return count;
}

/* Words of the two lists, by verdict and by cause. */
#define WORD(word, ...) #word,
static const char *const verdict_names[] = {LL_VERDICT_LIST(WORD)};
#undef WORD
#define WORD(id, word, text) {word, text},
static const struct {
    const char *word, *text;
} causes[] = {LL_CAUSE_LIST(WORD)};
#undef WORD

const char *ll_verdict_name(enum ll_verdict verdict)
{
    assert((size_t)verdict < sizeof verdict_names / sizeof *verdict_names);
    return verdict_names[verdict];
}

const char *ll_cause_name(enum ll_cause cause)
{
    assert((size_t)cause < sizeof causes / sizeof *causes);
    return causes[cause].word;
}

const char *ll_cause_text(enum ll_cause cause)
{
    assert((size_t)cause < sizeof causes / sizeof *causes);
    return causes[cause].text;
}

size_t ll_family_axes(const struct ll_family *family)
{
    size_t count = 0;
    while (count < LL_MOST_FAMILY_AXES && family->axes[count].key)
        count++;
    return count;
}

size_t ll_family_axis_values(const struct ll_family_axis *axis)
{
    assert(axis->key);
    size_t count = 0;
    while (count < LL_MOST_FAMILY_VALUES && axis->values[count])
        count++;
    return count;
}

uint64_t ll_family_size(const struct ll_family *family)
{
    uint64_t size = 1;
    assert(family->model && family->axes[0].key);
    for (size_t i = 0; i < ll_family_axes(family); i++)
        size *= ll_family_axis_values(&family->axes[i]);
    assert(size > 0);
    return size;
}

void ll_family_point(const struct ll_family *family, uint64_t i, uint64_t values[LL_MOST_FAMILY_AXES])
{
    assert(i < ll_family_size(family));
    for (size_t axis = ll_family_axes(family); axis-- > 0;) {
        size_t count = ll_family_axis_values(&family->axes[axis]);
        values[axis] = family->axes[axis].values[i % count];
        i /= count;
    }
}

size_t ll_family_axis(const struct ll_family *family, const char *key)
{
    size_t axis = 0;
    while (strcmp(family->axes[axis].key, key) != 0)
        axis++;
    assert(axis < ll_family_axes(family));
    return axis;
}

uint64_t ll_experiment_value(const struct ll_experiment_result *result, uint64_t i, size_t axis)
{
    assert(i < result->count && axis < ll_family_axes(result->experiment.family));
    uint64_t values[LL_MOST_FAMILY_AXES];
    ll_family_point(result->experiment.family, i, values);
    return values[axis];
}

double ll_experiment_utilization(const struct ll_experiment_point *point)
{
    assert(!point->simulated || (point->flops >= 0 && point->peak_flops > 0 && point->step_s >= 0));
    return point->flops / (point->peak_flops * point->step_s);
}

#define LL_STUDY(id) extern const struct ll_study ll_study_##id;
#include "sim/study/studies.def"
#undef LL_STUDY

static const struct ll_study *const studies[] = {
#define LL_STUDY(id) &ll_study_##id,
#include "sim/study/studies.def"
#undef LL_STUDY
};

size_t ll_study_count(void)
{
    return sizeof studies / sizeof *studies;
}

const struct ll_study *ll_study_at(size_t i)
{
    assert(i < ll_study_count());
    return studies[i];
}

const struct ll_study *ll_study_find(const char *id)
{
    for (size_t i = 0; i < ll_study_count(); i++)
        if (strcmp(studies[i]->id, id) == 0)
            return studies[i];
    return NULL;
}

bool ll_study_records(const struct ll_study_plan *plan)
{
    bool records = false;
    for (uint64_t i = 0; i < plan->recording_count; i++)
        records |= !plan->recordings[i].dry_run;
    return records;
}

void ll_study_plan_recording(struct ll_study_plan *plan, const struct ll_recording *recording)
{
    assert(recording->row && recording->variant && recording->model);
    if (ll_grow(&plan->recordings, &plan->recording_capacity, plan->recording_count + 1, sizeof *recording))
        plan->recordings[plan->recording_count++] = *recording;
    else
        plan->failed = true;
}

void ll_study_plan_machine(struct ll_study_plan *plan, const struct ll_study_machine *target)
{
    assert(target->name && target->machine);
    if (ll_grow(&plan->targets, &plan->target_capacity, plan->target_count + 1, sizeof *target))
        plan->targets[plan->target_count++] = *target;
    else
        plan->failed = true;
}

void ll_study_plan_experiment(struct ll_study_plan *plan, const struct ll_experiment *experiment)
{
    assert(experiment->family && experiment->platform_count > 0);
    if (ll_grow(&plan->experiments, &plan->experiment_capacity, plan->experiment_count + 1,
                sizeof *experiment))
        plan->experiments[plan->experiment_count++] = *experiment;
    else
        plan->failed = true;
}

void ll_study_plan_release(struct ll_study_plan *plan)
{
    free(plan->experiments);
    free(plan->recordings);
    free(plan->targets);
    ll_arena_release(&plan->arena);
    *plan = (struct ll_study_plan){0};
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool ll_same_recording(const struct ll_recording *a, const struct ll_recording *b)
{
    bool same = strcmp(a->model, b->model) == 0 && a->train == b->train && a->dry_run == b->dry_run &&
                a->recipe == b->recipe && a->scored == b->scored && a->batch == b->batch &&
                a->steps == b->steps && (a->dry_run || a->threads == b->threads) &&
                same_text(a->products, b->products);
    for (size_t i = 0; same && i < LL_MOST_STUDY_SETTINGS; i++)
        same = same_text(a->settings[i].key, b->settings[i].key) &&
               same_text(a->settings[i].value, b->settings[i].value);
    return same;
}

bool ll_same_experiment(const struct ll_experiment *a, const struct ll_experiment *b)
{
    return a->family == b->family && a->platforms == b->platforms && a->platform_count == b->platform_count;
}

const struct ll_experiment_result *ll_runs_experiment(const struct ll_runs *runs, const char *family)
{
    for (uint64_t i = 0; runs->experiments && i < runs->plan->experiment_count; i++)
        if (strcmp(runs->plan->experiments[i].family->name, family) == 0)
            return runs->experiments[i];
    return NULL;
}

/* The recording of this name; the plan's count where there is none. */
static uint64_t recording_of(const struct ll_study_plan *plan, const char *row, const char *variant)
{
    uint64_t i = 0;
    while (i < plan->recording_count &&
           (strcmp(plan->recordings[i].row, row) != 0 || strcmp(plan->recordings[i].variant, variant) != 0))
        i++;
    return i;
}

const struct ll_trace *ll_runs_trace(const struct ll_runs *runs, const char *row, const char *variant)
{
    assert(row && variant);
    uint64_t i = recording_of(runs->plan, row, variant);
    return i < runs->plan->recording_count ? runs->traces[i] : NULL;
}

struct ll_losses ll_runs_losses(const struct ll_runs *runs, const char *row, const char *variant)
{
    uint64_t i = recording_of(runs->plan, row, variant);
    return runs->losses && i < runs->plan->recording_count ? runs->losses[i] : (struct ll_losses){.at = NULL};
}

double ll_runs_noise(const struct ll_runs *runs, const char *row, const char *variant)
{
    uint64_t i = recording_of(runs->plan, row, variant);
    return runs->noise && i < runs->plan->recording_count ? runs->noise[i] : 0;
}

static const struct ll_machine *machine_of(const struct ll_runs *runs, const char *target)
{
    for (uint64_t i = 0; i < runs->plan->target_count; i++)
        if (strcmp(runs->plan->targets[i].name, target) == 0)
            return runs->machines[i];
    return NULL;
}

const char *ll_runs_recorded_on(const struct ll_runs *runs)
{
    const char *cpu = NULL, *text;
    for (uint64_t i = 0; i < runs->plan->recording_count && !cpu; i++)
        cpu = runs->traces[i] ? ll_trace_fact(runs->traces[i], "host.cpu") : NULL;
    text = cpu ? ll_format(runs->arena, "Recorded on %s", cpu) : NULL;
    return text ? text : "Recorded on the machine that ran this study";
}

const struct ll_result *ll_runs_replay(const struct ll_runs *runs, const char *row, const char *variant,
                                       const char *target)
{
    const struct ll_trace *trace = ll_runs_trace(runs, row, variant);
    const struct ll_machine *machine = machine_of(runs, target);
    if (!trace || !machine)
        return NULL;
    const struct ll_prepared *prepared = ll_prepare(trace, runs->arena, runs->diags);
    return prepared ? ll_replay(prepared, machine, runs->arena, runs->diags) : NULL;
}

/* Says once for each workload that is missing. */
static void miss_workloads(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_study_plan *plan = runs->plan;
    for (uint64_t i = 0; i < plan->recording_count; i++) {
        bool said = false;
        for (uint64_t j = 0; j < i && !said; j++)
            said = strcmp(plan->recordings[i].model, plan->recordings[j].model) == 0;
        if (!runs->traces[i] && !said)
            ll_criterion_holds(result, false, "there is none", "there is one",
                               "a workload `%s` can be recorded", plan->recordings[i].model);
    }
}

static void miss_experiments(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_study_plan *plan = runs->plan;
    for (uint64_t i = 0; i < plan->experiment_count; i++)
        if (!ll_runs_experiment(runs, plan->experiments[i].family->name))
            ll_criterion_holds(result, false, "there is none", "there is one",
                               "a workload `%s` can be surveyed", plan->experiments[i].family->model);
}

bool ll_study_judge(const struct ll_study *study, const struct ll_runs *runs, struct ll_study_result *result)
{
    miss_workloads(runs, result);
    miss_experiments(runs, result);
    study->judge(runs, result);
    return !result->failed && runs->diags->count == 0;
}

double ll_cosine(const double *a, const double *b, size_t size)
{
    assert(size > 0);
    double product = 0, a_square = 0, b_square = 0;
    for (size_t i = 0; i < size; i++) {
        product += a[i] * b[i];
        a_square += a[i] * a[i];
        b_square += b[i] * b[i];
    }
    assert(a_square >= 0 && b_square >= 0);
    return a_square > 0 && b_square > 0 ? product / (sqrt(a_square) * sqrt(b_square)) : 0;
}

/* A cluster: the sum of its profiles, which points where their mean does, and its number. */
struct cluster {
    double sum[LL_MOST_PROFILE_SIZE];
    size_t node;
    bool merged; /* into another one */
};

static struct ll_merge nearest(const struct cluster *clusters, size_t count, size_t size)
{
    struct ll_merge best = {0, 0, INFINITY};
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++) {
            if (clusters[i].merged || clusters[j].merged)
                continue;
            double distance = 1 - ll_cosine(clusters[i].sum, clusters[j].sum, size);
            if (distance < best.distance)
                best = (struct ll_merge){i, j, distance};
        }
    return best;
}

void ll_cluster(const double *profiles, size_t count, size_t size, struct ll_merge *merges)
{
    struct cluster clusters[LL_MOST_PROFILES]; /* 132 KB */
    assert(count >= 2 && count <= LL_MOST_PROFILES && size >= 1 && size <= LL_MOST_PROFILE_SIZE);
    for (size_t i = 0; i < count; i++) {
        clusters[i] = (struct cluster){.node = i};
        memcpy(clusters[i].sum, profiles + i * size, size * sizeof *profiles);
    }
    for (size_t step = 0; step + 1 < count; step++) {
        struct ll_merge pair = nearest(clusters, count, size);
        struct cluster *into = &clusters[pair.left], *from = &clusters[pair.right];
        merges[step] = (struct ll_merge){into->node, from->node, pair.distance};
        for (size_t i = 0; i < size; i++)
            into->sum[i] += from->sum[i];
        into->node = count + step;
        from->merged = true;
    }
}

unsigned long ll_members(const struct ll_merge *merges, size_t count, size_t node)
{
    assert(count >= 2 && node < 2 * count - 1);
    if (node < count)
        return 1ul << node;
    const struct ll_merge *merge = &merges[node - count];
    return ll_members(merges, count, merge->left) | ll_members(merges, count, merge->right);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count ? sum / (double)count : 0;
}

double ll_variation(const double *values, size_t count)
{
    assert(values || count == 0);
    double mean = mean_of(values, count), squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return mean != 0 ? sqrt(squares / (double)count) / fabs(mean) : 0;
}

double ll_quantile(const double *values, size_t count, double part, struct ll_arena *scratch)
{
    assert(part >= 0 && part <= 1);
    double *sorted = ll_copy(scratch, values, count * sizeof *sorted);
    if (!sorted || count == 0)
        return NAN;
    ll_sort_numbers(sorted, count);
    return ll_sorted_quantile(sorted, count, part);
}

double ll_robust_variation(const double *values, size_t count, struct ll_arena *scratch)
{
    double quartiles = ll_quantile(values, count, 0.75, scratch) - ll_quantile(values, count, 0.25, scratch);
    return quartiles / 1.349 / ll_quantile(values, count, 0.5, scratch);
}

double ll_drift(const double *values, size_t count, struct ll_arena *scratch)
{
    size_t pairs = count * (count - 1) / 2, at = 0;
    double *slopes = count < 2 ? NULL : ll_alloc(scratch, pairs, sizeof *slopes);
    if (count < 2)
        return 0;
    for (size_t i = 0; slopes && i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            slopes[at++] = (values[j] - values[i]) / (double)(j - i);
    double slope = slopes ? ll_quantile(slopes, pairs, 0.5, scratch) : NAN;
    return slope * (double)(count - 1) / ll_quantile(values, count, 0.5, scratch);
}

/* The rank of each value, counted from 0: how many are smaller, and half of the others that equal it. */
static double *ranks_of(const double *values, size_t count, struct ll_arena *scratch)
{
    double *ranks = ll_alloc(scratch, count, sizeof *ranks);
    for (size_t i = 0; ranks && i < count; i++)
        for (size_t j = 0; j < count; j++)
            ranks[i] += values[j] < values[i] ? 1 : values[j] == values[i] && j != i ? 0.5 : 0;
    return ranks;
}

double ll_spearman(const double *x, const double *y, size_t count, struct ll_arena *scratch)
{
    double *a = ranks_of(x, count, scratch), *b = ranks_of(y, count, scratch);
    double products = 0, a_squares = 0, b_squares = 0, middle = ((double)count - 1) / 2;
    if (!a || !b)
        return NAN;
    for (size_t i = 0; i < count; i++) {
        products += (a[i] - middle) * (b[i] - middle);
        a_squares += (a[i] - middle) * (a[i] - middle);
        b_squares += (b[i] - middle) * (b[i] - middle);
    }
    assert(fabs(products) <= sqrt(a_squares * b_squares) * (1 + 1e-9)); /* Cauchy and Schwarz */
    return a_squares > 0 && b_squares > 0 ? products / sqrt(a_squares * b_squares) : 0;
}

double ll_experiment_rate(const struct ll_experiment_point *point)
{
    assert(!point->simulated || (point->samples > 0 && point->step_s >= 0));
    return point->samples / point->step_s;
}
