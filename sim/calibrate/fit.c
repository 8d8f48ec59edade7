/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times of a trace of models/micro (first section), and the kernels fitted to them.
 *
 * An op of the list is measured once a step; the mean of the steps, without the extremes, stands for all. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/calibrate/calibrate.h"
#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "tracer/base/map.h"

/* Whether it reads some rows of a table, which indices name. */
static bool picks_rows(const struct ll_op_signature *signature)
{
    uint64_t bytes = 0;
    bool names = false;
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        const struct ll_shape *in = &signature->view.in[i];
        bytes = ll_add(bytes, ll_size_bytes(in));
        names |= ll_is_index(in);
    }
    return names && signature->bytes_read < bytes;
}

static bool is_pass(const char *scope, const char *pass)
{
    return strncmp(scope, pass, strlen(pass)) == 0;
}

static bool is_small(const struct ll_op_signature *signature)
{
    enum { SMALL_BYTES = 1 << 14 };
    return ll_add(signature->bytes_read, signature->bytes_written) <= SMALL_BYTES;
}

/* Whether the op is there to be measured: its scope ends with its own kind. Others only prepare. Rows that
 * are picked a second time are still near, which nobody can tell by the table; networks pick other ones. What
 * another small op takes when it comes for the first time is mostly the way of its code through the caches;
 * in a network of small ops it is there. */
static bool is_measured(const struct ll_trace *trace, uint32_t op)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    const char *scope = trace->strings[signature->scope], *slash = strrchr(scope, '/');
    if (!slash || signature->view.kind >= LL_OP_NONE ||
        strcmp(slash + 1, ll_op_name(signature->view.kind)) != 0)
        return false;
    return picks_rows(signature) ? !is_pass(scope, "warm/")
                                 : !is_pass(scope, "cold/") || !is_small(signature);
}

/* Those that count, and the share of their ops that somebody else was beside. */
struct steps {
    uint32_t *at;
    uint64_t count;
    double crowded;
};

/* Times of the op that stands at this place of each step: the mean without a tenth at either end. Where
 * somebody else is at work now and then, an op takes one time or another; the median is either, and a step of
 * many ops is as long as their means together. What takes many times the median did not work all the time:
 * its thread had to wait for a processor, which says nothing of the op. Nor do the slowest say it of which
 * there are as many as looks at which somebody was on the other hyperthread: those ran beside them. */
static void time_of(const struct ll_trace *trace, const struct steps *steps, uint32_t place, double *times_ns,
                    struct ll_sample *sample)
{
    static const double many = 4;
    uint64_t count = steps->count;
    for (uint64_t i = 0; i < count; i++)
        times_ns[i] = (double)trace->ops[trace->steps[steps->at[i]].first_op + place].duration_ns;
    ll_sort_numbers(times_ns, count);
    double middle_ns = fmax(1, times_ns[count / 2]), sum_ns = 0;
    sample->spread = (times_ns[count * 3 / 4] - times_ns[count / 4]) / middle_ns;
    count -= (uint64_t)(steps->crowded * (double)count);
    while (times_ns[count - 1] > many * middle_ns)
        count--;
    uint64_t aside = count / 10;
    for (uint64_t i = aside; i < count - aside; i++)
        sum_ns += times_ns[i];
    sample->time_s = fmax(1, sum_ns) * 1e-9 / (double)(count - 2 * aside);
}

static int by_kind(const void *a, const void *b)
{
    const struct ll_sample *x = a, *y = b;
    if (x->kind != y->kind)
        return (x->kind > y->kind) - (x->kind < y->kind);
    if (x->most_terms != y->most_terms)
        return x->most_terms ? -1 : 1;
    if (x->most_rows != y->most_rows)
        return x->most_rows == 0 ? 1 : y->most_rows == 0 ? -1 : x->most_rows < y->most_rows ? -1 : 1;
    if (x->transposed != y->transposed)
        return x->transposed ? -1 : 1;
    if (x->folds != y->folds)
        return x->folds ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* None where threads shared their cores more often than not: such a machine is like that. */
static double crowded_share(const struct ll_trace *trace)
{
    static const double most = 0.5;
    double share = ll_trace_number(trace, "host.crowded", 0);
    return share <= most ? fmax(0, share) : 0;
}

/* The complete steps that have as many ops as the last of them, from there on. */
static struct steps like_steps(const struct ll_trace *trace, struct ll_arena *arena)
{
    struct steps steps = {.at = ll_alloc(arena, trace->step_count, sizeof *steps.at),
                          .crowded = crowded_share(trace)};
    uint32_t ops = 0;
    for (uint64_t i = trace->step_count; steps.at && i-- > 0;) {
        if (!trace->steps[i].complete || (steps.count > 0 && trace->steps[i].op_count != ops))
            continue;
        ops = trace->steps[i].op_count;
        steps.at[steps.count++] = (uint32_t)i;
    }
    return steps;
}

static const struct ll_step *last_step(const struct ll_trace *trace, const struct steps *steps)
{
    return &trace->steps[steps->at[0]];
}

/* From the end of an op to the start of the next, behind short ops, for others displace what the runner works
 * on: the mean without the extremes. The clock may tick in steps of a third of it, so that a median tells
 * less. */
static double gap_of(const struct ll_trace *trace, const struct ll_step *step, double *gaps_ns)
{
    enum { SHORT_NS = 2000 };
    uint64_t count = 0;
    double sum_ns = 0;
    for (uint32_t i = step->first_op; i + 1 < step->first_op + step->op_count; i++) {
        uint64_t end_ns = ll_add(trace->ops[i].start_ns, trace->ops[i].duration_ns);
        if (trace->ops[i].duration_ns < SHORT_NS)
            gaps_ns[count++] = (double)ll_sub(ll_max(trace->ops[i + 1].start_ns, end_ns), end_ns);
    }
    ll_sort_numbers(gaps_ns, count);
    uint64_t aside = count / 20;
    for (uint64_t i = aside; i < count - aside; i++)
        sum_ns += gaps_ns[i];
    return count > 0 ? sum_ns * 1e-9 / (double)(count - 2 * aside) : 0;
}

/* Products by the rows of their result: those that the header says have a kernel of their own, those that
 * work on each weight so seldom that copying weights counts, and the others (0). */
static uint64_t class_of(uint64_t rows, uint64_t few_rows)
{
    enum { SOME_ROWS = 64 };
    return rows <= few_rows ? few_rows : rows <= SOME_ROWS ? SOME_ROWS : 0;
}

/* A count of the header, 0 when it has none. */
static uint64_t count_of(const struct ll_trace *trace, const char *key)
{
    return (uint64_t)fmin(ll_trace_number(trace, key, 0), 0x1p50);
}

/* A library may be asked for kernels that use less than the whole width of the vector registers. */
static double library_share(const struct ll_trace *trace)
{
    double reached = ll_trace_number(trace, "probe.product.f32", 0),
           peak = ll_trace_number(trace, "probe.vector.f32", 0);
    return reached > 0 && peak > reached ? reached / peak : 1;
}

/* How the kernel of a kind cuts its work. */
static struct ll_thread_partition cut_of(const struct ll_trace *trace, enum ll_op_kind kind)
{
    static const struct {
        const char *name;
        size_t offset;
    } figures[] = {{"slice", offsetof(struct ll_thread_partition, slice)},
                   {"slice_elements", offsetof(struct ll_thread_partition, slice_elements)},
                   {"slice_step", offsetof(struct ll_thread_partition, slice_step)},
                   {"slice_most", offsetof(struct ll_thread_partition, slice_most)},
                   {"small", offsetof(struct ll_thread_partition, small)},
                   {"grain", offsetof(struct ll_thread_partition, grain)}};
    struct ll_thread_partition cut = {0};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", ll_op_name(kind), figures[i].name);
        *(uint64_t *)((char *)&cut + figures[i].offset) = count_of(trace, key);
    }
    return cut;
}

/* Which of a product's kernels runs it, and how. */
static void class_product(const struct ll_trace *trace, struct ll_sample *sample)
{
    uint64_t few_rows = count_of(trace, "matmul.few_rows"), few_terms = count_of(trace, "matmul.few_terms");
    if (!sample->work.along_k && sample->work.gemm.k <= few_terms) {
        sample->most_terms = few_terms;
        sample->cut.grain = count_of(trace, "matmul.few_terms.grain");
        return;
    }
    sample->most_rows = class_of(sample->work.gemm.m, few_rows);
    sample->transposed = sample->most_rows > 0 && (sample->work.along_k & LL_LINES_OF_B);
    if (sample->most_rows == few_rows)
        sample->cut.grain = count_of(trace, "matmul.few_rows.grain");
    else
        sample->cut = cut_of(trace, LL_OP_MATMUL);
}

/* A kind of which all reductions go along lines has one kernel for all. */
static void class_reductions(struct ll_samples *samples)
{
    bool across[LL_OP_NONE] = {false};
    for (uint64_t i = 0; i < samples->count; i++)
        across[samples->at[i].kind] |= !samples->at[i].folds;
    for (uint64_t i = 0; i < samples->count; i++)
        samples->at[i].folds = samples->at[i].folds && across[samples->at[i].kind];
}

/* What the host hands over: a copy, measured like any op. */
static void add_arrival(const struct ll_trace *trace, const struct ll_sample *sample,
                        struct ll_samples *samples)
{
    uint64_t bytes = trace->signatures[trace->ops[sample->op].signature].bytes_written;
    samples->arrivals[samples->arrival_count++] = (struct ll_arrival){(double)bytes, sample->time_s};
}

/* The op at this place, if it is there to be measured. */
static void add_sample(const struct ll_trace *trace, const struct steps *steps, uint32_t place,
                       double *times_ns, struct ll_samples *samples)
{
    uint32_t op = last_step(trace, steps)->first_op + place;
    const struct ll_op_view *view = &trace->signatures[trace->ops[op].signature].view;
    struct ll_sample sample = {.op = op, .kind = view->kind};
    bool arrives = view->kind == LL_OP_HOST_INPUT;
    if (!arrives && (!is_measured(trace, op) || !ll_op_lower(view, &sample.work)))
        return;
    time_of(trace, steps, place, times_ns, &sample);
    if (arrives) {
        add_arrival(trace, &sample, samples);
        return;
    }
    if (sample.work.kind == LL_WORK_NOTHING) {
        samples->view_s += (sample.time_s - samples->view_s) / (double)++samples->view_count;
        return;
    }
    if (view->kind == LL_OP_MATMUL)
        class_product(trace, &sample);
    else
        sample.cut = cut_of(trace, view->kind);
    sample.folds = sample.work.kind == LL_WORK_REDUCE && sample.work.reduce.folds;
    samples->at[samples->count++] = sample;
}

static bool gather(const struct ll_trace *trace, const struct steps *steps, struct ll_arena *arena,
                   struct ll_samples *samples)
{
    const struct ll_step *last = last_step(trace, steps);
    double *times = ll_alloc(arena, steps->count, sizeof *times);
    double *gaps = ll_alloc(arena, last->op_count, sizeof *gaps);
    samples->at = ll_alloc(arena, last->op_count, sizeof *samples->at);
    samples->arrivals = ll_alloc(arena, last->op_count, sizeof *samples->arrivals);
    if (!times || !gaps || !samples->at || !samples->arrivals)
        return false;
    samples->library_share = library_share(trace);
    samples->gap_s = gap_of(trace, last, gaps);
    for (uint32_t place = 0; place < last->op_count; place++)
        add_sample(trace, steps, place, times, samples);
    class_reductions(samples);
    qsort(samples->at, samples->count, sizeof *samples->at, by_kind);
    return true;
}

static bool find_on_chip(const struct ll_trace *trace, const struct ll_machine *machine,
                         struct ll_arena *arena, struct ll_samples *samples)
{
    const struct ll_residency *residency = ll_residency_new(trace, arena);
    double *begun_s = ll_alloc(arena, trace->op_count, sizeof *begun_s);
    struct ll_history *history =
        residency ? ll_history_new(residency, machine, 0, (uint32_t)trace->op_count, arena) : NULL;
    if (!history || !begun_s)
        return false;
    const struct ll_so_far so_far = {begun_s, 0, history};
    for (uint32_t op = 0; op < trace->op_count; op++) {
        begun_s[op] = (double)trace->ops[op].start_ns * 1e-9;
        ll_history_add(history, op, so_far);
    }
    for (uint64_t i = 0; i < samples->count; i++)
        ll_residency_saved(residency, machine, samples->at[i].op, 0, so_far, &samples->at[i].found);
    return true;
}

const struct ll_samples *ll_samples_of(const struct ll_trace *micro, const struct ll_machine *machine,
                                       struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_samples *samples = ll_alloc(arena, 1, sizeof *samples);
    struct steps steps = like_steps(micro, arena);
    if (samples && steps.count > 0 && last_step(micro, &steps)->op_count > 0 &&
        gather(micro, &steps, arena, samples) && samples->count > 0 &&
        find_on_chip(micro, machine, arena, samples))
        return samples;
    ll_complain(diags, (struct ll_place){0}, "the trace has no ops that were measured for a calibration");
    return NULL;
}

/* Least squares of the logarithm of predicted over measured time, found by walking: one figure after the
 * other is multiplied or divided by a factor while that helps, then the factor shrinks. Of figures out of a
 * short list (slices, grains) all are tried: between none and the right one there may be only worse ones.
 * Long ops count more than short ones, with the cube root of their time: most of a step's time is spent in
 * them.
 *
 * Different starts are walked from, since a time that memory bounds says nothing of arithmetic. */

static const double slices[] = {0, 1, 8, 16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512};
static const double grains[] = {0,       1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16,
                                1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22};
static const double units[] = {0, 1}, serials[] = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};

/* A figure of a kernel in search: bounds, or a list to choose from. */
struct figure {
    size_t offset;
    bool whole;          /* uint64_t, else double */
    bool product, other; /* where it has a meaning */
    double least, most;  /* of what is multiplied */
    const double *list;  /* or */
    size_t list_count;
};
#define AT(member) offsetof(struct ll_kernel, member)
#define LIST(values) .list = (values), .list_count = sizeof(values) / sizeof *(values)
static const struct figure figures[] = {
    {AT(overhead_s), .product = true, .other = true, .least = 1e-9, .most = 1},
    {AT(compute), .product = true, .least = 1e-3, .most = 1},
    {AT(work), .other = true, .least = 1, .most = 1e5},
    {AT(memory), .product = true, .other = true, .least = 1e-3, .most = 1},
    {AT(far), .product = true, .other = true, .least = 1e-3, .most = 1},
    {AT(serial), .product = true, .other = true, LIST(serials)},
    {AT(units), .whole = true, .product = true, .other = true, LIST(units)},
    {AT(grain), .product = true, .other = true, LIST(grains)},
    {AT(slice), .whole = true, .product = true, LIST(slices)},
    {AT(packing_Bps), .product = true, .least = 1e8, .most = 1e13},
    {AT(line_s), .product = true, .other = true, .least = 1e-12, .most = 1e-4},
    {AT(rewrites), .product = true, .least = 1e-2, .most = 16},
};
enum { FIGURES = sizeof figures / sizeof *figures };

struct search {
    const struct ll_machine *machine; /* whose only kernel is the one in search */
    struct ll_kernel *kernel;         /* that one */
    const struct ll_samples *samples;
    uint64_t first, count;
    bool product;
    bool own;    /* a product's kernel of our own, which writes the result once */
    double peak; /* share of the unit's rate that such kernels reach at most */
    bool lines;  /* a sample has more than one: what they cost can be told */
};

static double get(const struct ll_kernel *kernel, const struct figure *figure)
{
    const void *at = (const char *)kernel + figure->offset;
    return figure->whole ? (double)*(const uint64_t *)at : *(const double *)at;
}

static void set(struct ll_kernel *kernel, const struct figure *figure, double value)
{
    void *at = (char *)kernel + figure->offset;
    if (figure->whole)
        *(uint64_t *)at = (uint64_t)value;
    else
        *(double *)at = value;
}

double ll_sample_predicted_s(const struct ll_machine *machine, const struct ll_sample *sample)
{
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    if (!ll_cost_op(machine, sample->kind, &sample->work, &cost, NULL, &trouble))
        return 0;
    ll_cost_time(machine, &cost, &sample->found, &timing, NULL);
    return ll_timing_alone_s(&timing);
}

/* Shares of which the samples say little stay near all there is: held so weakly that a share of a third
 * counts as errors of 3.5 % do. */
static double far_fetched(const struct search *search)
{
    static const double hold = 0.001;
    const struct ll_kernel *kernel = search->kernel;
    double far = log(kernel->far > 0 ? kernel->far / kernel->memory : 1);
    double compute = log(kernel->compute / search->peak), memory = log(kernel->memory);
    return hold * (compute * compute + memory * memory + far * far);
}

static double loss_of(const struct search *search)
{
    double loss = 0, weights = 0;
    for (uint64_t i = search->first; i < search->first + search->count; i++) {
        const struct ll_sample *sample = &search->samples->at[i];
        double predicted = ll_sample_predicted_s(search->machine, sample), weight = cbrt(sample->time_s);
        double off = predicted > 0 ? log(predicted / sample->time_s) : 0;
        loss += weight * off * off;
        weights += weight;
    }
    return loss / weights + far_fetched(search);
}

/* Takes the value if it helps. */
static bool try_value(struct search *search, const struct figure *figure, double value, double *loss)
{
    double before = get(search->kernel, figure);
    if (value == before)
        return false;
    set(search->kernel, figure, value);
    double now = loss_of(search);
    if (now < *loss) {
        *loss = now;
        return true;
    }
    set(search->kernel, figure, before);
    return false;
}

static bool try_list(struct search *search, const struct figure *figure, double *loss)
{
    bool better = false;
    for (size_t i = 0; i < figure->list_count; i++)
        better |= try_value(search, figure, figure->list[i], loss);
    return better;
}

/* Of results that are written once, caches may fetch each line before. */
static double most_rewrites(const struct search *search, double most)
{
    return search->own ? 1 : most;
}

static bool try_factor(struct search *search, const struct figure *figure, double factor, double *loss)
{
    double value = get(search->kernel, figure);
    double most = figure->offset == AT(compute)    ? search->peak
                  : figure->offset == AT(rewrites) ? most_rewrites(search, figure->most)
                                                   : figure->most;
    return try_value(search, figure, fmin(value * factor, most), loss) ||
           try_value(search, figure, fmax(value / factor, figure->least), loss);
}

/* Whether the header says how the kernel deals its work. */
static bool is_told(const struct ll_thread_partition *cut)
{
    return cut->slice > 0 || cut->grain > 0;
}

static bool is_searched(const struct search *search, const struct figure *figure)
{
    const struct ll_sample *sample = &search->samples->at[search->first];
    bool dealing = figure->offset == AT(slice) || figure->offset == AT(grain) || figure->offset == AT(units);
    if (dealing && is_told(&sample->cut))
        return false;
    if (figure->offset == AT(line_s) && !search->lines)
        return false;
    return search->product ? figure->product : figure->other;
}

/* Walks to where no step helps; the loss there. */
static double walk(struct search *search)
{
    enum { MOST_ROUNDS = 400 };
    double factor = 3, loss = loss_of(search);
    for (int round = 0; round < MOST_ROUNDS && factor > 1.01; round++) {
        bool better = false;
        for (size_t i = 0; i < FIGURES; i++)
            if (is_searched(search, &figures[i]))
                better |= figures[i].list ? try_list(search, &figures[i], &loss)
                                          : try_factor(search, &figures[i], factor, &loss);
        if (!better)
            factor = sqrt(factor);
    }
    return loss;
}

/* What is not worth telling is not told: figures without each of which squared errors grow by no more than
 * half a percent and the square of a thousandth. */
static void tidy(struct search *search)
{
    static const double grown = 1.005, next_to_nothing = 1e-6;
    double loss = loss_of(search);
    for (size_t i = 0; i < FIGURES; i++) {
        if (!is_searched(search, &figures[i]))
            continue;
        double before = get(search->kernel, &figures[i]);
        size_t at = figures[i].offset;
        double plain = at == AT(compute) ? search->peak : at == AT(memory) || at == AT(work) ? 1 : 0;
        set(search->kernel, &figures[i], plain);
        if (loss_of(search) > loss * grown + next_to_nothing)
            set(search->kernel, &figures[i], before);
    }
}

static void judge(const struct search *search, struct ll_fit *fit)
{
    *fit = (struct ll_fit){.kind = search->samples->at[search->first].kind, .samples = search->count};
    for (uint64_t i = search->first; i < search->first + search->count; i++) {
        const struct ll_sample *sample = &search->samples->at[i];
        fit->error +=
            fabs(ll_sample_predicted_s(search->machine, sample) / sample->time_s - 1) / (double)search->count;
        fit->spread += sample->spread / (double)search->count;
    }
}

/* Where a walk begins: shares of the machine that are reached, and how a product is cut. */
static const struct start {
    double share, serial, packing_Bps, rewrites;
    uint64_t slice;
} starts[] = {{1, 0, 3e10, 2, 64},
              {0.5, 0.5, 1e11, 0.5, 64},
              {0.1, 0, 1e10, 0.1, 64},
              /* products alone */
              {1, 1, 1.5e11, 2, 96},
              {0.6, 0, 1e11, 0.1, 512}};
enum { STARTS = sizeof starts / sizeof *starts, STARTS_OF_OTHERS = 3 };

static bool any_lines(const struct search *search)
{
    bool any = search->product;
    for (uint64_t i = search->first; i < search->first + search->count; i++)
        any = any || search->samples->at[i].work.lines > 1;
    return any;
}

static struct ll_kernel kernel_at(const struct start *start, const struct search *search)
{
    const struct ll_sample *sample = &search->samples->at[search->first];
    struct ll_kernel kernel = {.name = ll_op_name(sample->kind),
                               .overhead_s = 3e-7,
                               .compute = start->share * search->peak,
                               .memory = start->share,
                               .far = start->share,
                               .serial = start->serial,
                               .passes = 1,
                               .reads = 1,
                               .work = 1,
                               .rows = sample->most_rows,
                               .transposed = sample->transposed,
                               .terms = sample->most_terms,
                               .folds = sample->folds};
    kernel.ops[sample->kind] = true;
    kernel.line_s = search->lines ? 1e-9 : 0;
    kernel.grain = (double)sample->cut.grain;
    if (!ll_is_product(&sample->work)) {
        kernel.compute = 1;
        kernel.work = 1 / start->share;
        kernel.rewrites = !sample->work.in_place;
        return kernel;
    }
    kernel.packing_Bps = start->packing_Bps;
    kernel.rewrites = fmin(start->rewrites, most_rewrites(search, start->rewrites));
    kernel.slice = is_told(&sample->cut) ? sample->cut.slice : start->slice;
    kernel.slice_elements = sample->cut.slice_elements;
    kernel.slice_step = sample->cut.slice_step;
    kernel.slice_most = sample->cut.slice_most;
    kernel.small = sample->cut.small;
    return kernel;
}

/* The best that is reached from any start; *least: its loss. */
static struct ll_kernel best_of_starts(struct search *search, double *least)
{
    struct ll_kernel best = {0};
    *least = INFINITY;
    for (size_t i = 0; i < (search->product ? STARTS : STARTS_OF_OTHERS); i++) {
        *search->kernel = kernel_at(&starts[i], search);
        double loss = walk(search);
        if (loss < *least)
            best = *search->kernel;
        *least = fmin(*least, loss);
    }
    return best;
}

/* Caches fetch the lines that an op writes, so its result is moved twice, unless the kernel writes whole
 * lines past them, as copies do. Where operands are all as large, that is hard to tell from a smaller share
 * of the bandwidth: it takes clearly smaller errors to say so. */
static struct ll_kernel search_best(struct search *search)
{
    static const double clearly = 0.8;
    double fetching;
    struct ll_kernel best = best_of_starts(search, &fetching);
    if (search->product)
        return best;
    *search->kernel = best;
    search->kernel->rewrites = 0;
    return walk(search) < clearly * fetching ? *search->kernel : best;
}

bool ll_fit_kernel(const struct ll_machine *base, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena, struct ll_kernel *kernel, struct ll_fit *fit)
{
    struct ll_machine *machine = malloc(sizeof *machine);
    if (!machine)
        return false;
    *machine = *base;
    machine->software.kernel_count = 1;
    struct search search = {.machine = machine,
                            .kernel = &machine->software.kernels[0],
                            .samples = samples,
                            .first = first,
                            .count = count,
                            .product = ll_is_product(&samples->at[first].work)};
    search.own = search.product && samples->at[first].cut.grain > 0;
    search.peak = search.product && !search.own ? samples->library_share : 1;
    search.lines = any_lines(&search);
    *search.kernel = search_best(&search);
    tidy(&search);
    bool right = ll_fit_shapes(machine, samples, first, count, arena);
    *kernel = *search.kernel;
    judge(&search, fit);
    free(machine);
    return right;
}

/* Input is copied from where it was made ready; on a processor that is its own host, by its own threads. */

void ll_fit_host(const struct ll_samples *samples, struct ll_host *host)
{
    /* Sums of the normal equations for latency and seconds a byte: the relative error is
     * latency / t + bytes / t * s - 1. Each counts as long as it took: what is small comes to nothing in a
     * step, and one thread copies it, where many share what is large. */
    double ones = 0, mixed = 0, squares = 0, to_ones = 0, to_bytes = 0;
    for (uint64_t i = 0; i < samples->arrival_count; i++) {
        double time_s = samples->arrivals[i].time_s, weight = time_s;
        double one = 1 / time_s, bytes = samples->arrivals[i].bytes * one;
        ones += weight * one * one;
        mixed += weight * one * bytes;
        squares += weight * bytes * bytes;
        to_ones += weight * one;
        to_bytes += weight * bytes;
    }
    double least = 1e-9 * ones * squares, det = ones * squares - mixed * mixed;
    double latency_s = (to_ones * squares - to_bytes * mixed) / det;
    double s_a_byte = (to_bytes * ones - to_ones * mixed) / det;
    if (!(det > least && s_a_byte > 0))
        return;
    host->bandwidth_Bps = 1 / s_a_byte;
    host->latency_s = fmax(0, latency_s);
    host->fills_caches = true;
}

/* What the figures of a kernel leave unexplained, shape by shape: two ratios, one for what is done near the
 * unit and one for the outermost memory, so that the passes over the shape, cold and warm, come out. Both are
 * held near 1, the more so the more the measured times differ from step to step, and that of the outermost
 * memory the more so the smaller its share of the time: where nearly all was on chip, what a pass took longer
 * than another is no measure of memory traffic, and would stretch that of a network where nothing is. */

struct shapes {
    struct ll_machine *machine; /* whose only kernel gets the ratios */
    const struct ll_samples *samples;
    uint64_t first, count; /* samples of the kind */
    struct ll_seen *seen;
    uint64_t seen_count;
    double hold_near, hold_far; /* of the shape at hand */
};

static bool has_shape(const struct ll_sample *sample, const struct ll_seen *seen)
{
    uint64_t shape[3];
    ll_seen_shape(&sample->work, shape);
    return memcmp(shape, seen->shape, sizeof shape) == 0;
}

/* What a squared logarithm of a ratio counts beside squared errors, were both normally distributed: the
 * variance of these, by the quartiles of the passes over the shape, over that of ratios. */
static double hold_near_of(const struct shapes *s, const struct ll_seen *seen)
{
    static const double quiet = 0.05;      /* deviation of errors where times do not vary; assumed */
    static const double ratios = 0.35;     /* deviation of the logarithms of ratios; assumed */
    static const double quartiles = 1.349; /* between the quartiles of a normal distribution, in deviations */
    double squares = 0, count = 0;
    for (uint64_t i = s->first; i < s->first + s->count; i++)
        if (has_shape(&s->samples->at[i], seen)) {
            double deviation = s->samples->at[i].spread / quartiles;
            squares += deviation * deviation;
            count++;
        }
    return (quiet * quiet + squares / count) / (ratios * ratios);
}

/* A pass over the shape that its ratios alone stretch. */
static double predicted_s(const struct shapes *s, const struct ll_sample *sample, const struct ll_seen *seen)
{
    struct ll_kernel *kernel = &s->machine->software.kernels[0];
    kernel->seen = seen;
    kernel->seen_count = 1;
    return ll_sample_predicted_s(s->machine, sample);
}

/* Of the times of all passes over a shape, the largest share that the outermost memory has. */
static double share_of_far(const struct shapes *s, const struct ll_seen *seen)
{
    struct ll_seen once = *seen, twice = *seen;
    once.near = once.far = twice.near = 1;
    twice.far = 2;
    double share = 0;
    for (uint64_t i = s->first; i < s->first + s->count; i++)
        if (has_shape(&s->samples->at[i], seen)) {
            double time_s = predicted_s(s, &s->samples->at[i], &once);
            double more_s = predicted_s(s, &s->samples->at[i], &twice) - time_s;
            share = fmax(share, time_s > 0 ? more_s / time_s : 0);
        }
    return share;
}

/* How far off all passes over a shape are, when only its own ratios count. */
static double loss_of_shapes(const struct shapes *s, const struct ll_seen *seen)
{
    double near = log(seen->near), far = log(seen->far);
    double loss = s->hold_near * near * near + s->hold_far * far * far;
    for (uint64_t i = s->first; i < s->first + s->count; i++) {
        const struct ll_sample *sample = &s->samples->at[i];
        if (!has_shape(sample, seen))
            continue;
        double predicted = predicted_s(s, sample, seen);
        double off = predicted > 0 ? log(predicted / sample->time_s) : 0;
        loss += off * off;
    }
    return loss;
}

/* Takes other ratios if they help. */
static bool try_ratios(const struct shapes *s, struct ll_seen *seen, double near, double far, double *loss)
{
    static const double most = 32;
    struct ll_seen other = *seen;
    other.near = fmin(fmax(near, 1 / most), most);
    other.far = fmin(fmax(far, 1 / most), most);
    double now = loss_of_shapes(s, &other);
    if (now >= *loss)
        return false;
    *loss = now;
    *seen = other;
    return true;
}

static void fit_shape(struct shapes *s, struct ll_seen *seen)
{
    static const double least_share = 0.01;
    s->hold_near = hold_near_of(s, seen);
    s->hold_far = s->hold_near / fmax(share_of_far(s, seen), least_share);
    double loss = loss_of_shapes(s, seen), factor = 2;
    while (factor > 1.005) {
        bool any = try_ratios(s, seen, seen->near * factor, seen->far, &loss);
        any |= try_ratios(s, seen, seen->near / factor, seen->far, &loss);
        any |= try_ratios(s, seen, seen->near, seen->far * factor, &loss);
        any |= try_ratios(s, seen, seen->near, seen->far / factor, &loss);
        any |= try_ratios(s, seen, seen->near * factor, seen->far * factor, &loss);
        any |= try_ratios(s, seen, seen->near / factor, seen->far / factor, &loss);
        if (!any)
            factor = sqrt(factor);
    }
}

/* To four digits behind the point: nobody measured more. */
static double rounded(double ratio)
{
    return round(ratio * 1e4) / 1e4;
}

static bool is_known(const struct shapes *s, const struct ll_sample *sample)
{
    for (uint64_t i = 0; i < s->seen_count; i++)
        if (has_shape(sample, &s->seen[i]))
            return true;
    return false;
}

bool ll_fit_shapes(struct ll_machine *machine, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena)
{
    struct shapes s = {.machine = machine,
                       .samples = samples,
                       .first = first,
                       .count = count,
                       .seen = ll_alloc(arena, count, sizeof *s.seen)};
    if (!s.seen)
        return false;
    for (uint64_t i = first; i < first + count; i++) {
        if (is_known(&s, &samples->at[i]))
            continue;
        struct ll_seen *seen = &s.seen[s.seen_count++];
        *seen = (struct ll_seen){.near = 1, .far = 1};
        ll_seen_shape(&samples->at[i].work, seen->shape);
        fit_shape(&s, seen);
        seen->near = rounded(seen->near);
        seen->far = rounded(seen->far);
    }
    struct ll_kernel *kernel = &machine->software.kernels[0];
    kernel->seen = s.seen;
    kernel->seen_count = s.seen_count;
    return true;
}
