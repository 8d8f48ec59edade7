/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times of a trace of models/micro (first section), and the kernels fitted to them.
 *
 * An op of the list is measured once a step; the mean of the steps, without the extremes, stands for all. */
#include <assert.h>
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

static uint64_t fact_of(const struct ll_trace *trace, enum ll_op_kind kind, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "%s.%s", ll_op_name(kind), what);
    return count_of(trace, key);
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
    if (sample.work.kind == LL_WORK_NOTHING)
        return;
    sample.own = fact_of(trace, view->kind, "grain") > 0;
    sample.slice = fact_of(trace, view->kind, "slice");
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
 * short list (pieces) all are tried: between none and the right one there may be only worse ones.
 * Long ops count more than short ones, with the cube root of their time: most of a step's time is spent in
 * them.
 *
 * Different starts are walked from, since a time that memory bounds says nothing of arithmetic. */

static const double pieces[] = {0, 1, 8, 16, 32, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512};
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
    {AT(launch_overhead_s), .product = true, .other = true, .least = 1e-9, .most = 1},
    {AT(compute_efficiency), .product = true, .other = true, .least = 1e-5, .most = 1},
    {AT(bandwidth_efficiency), .product = true, .other = true, .least = 1e-3, .most = 1},
    {AT(dram_efficiency), .product = true, .other = true, .least = 1e-3, .most = 1},
    {AT(serial), .product = true, .other = true, LIST(serials)},
    {AT(max_units), .whole = true, .product = true, .other = true, LIST(units)},
    {AT(partition), .whole = true, .product = true, LIST(pieces)},
};
enum { FIGURES = sizeof figures / sizeof *figures };

struct search {
    const struct ll_machine *machine; /* whose only kernel is the one in search */
    struct ll_kernel *kernel;         /* that one */
    const struct ll_samples *samples;
    uint64_t first, count;
    bool product;
    double peak; /* share of the unit's rate that such kernels reach at most */
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
    if (!ll_cost_op(machine, sample->kind, &sample->work, &cost, &trouble))
        return 0;
    ll_cost_time(machine, &cost, &sample->found, &timing);
    assert(ll_timing_alone_s(&timing) >= 0);
    return ll_timing_alone_s(&timing);
}

/* Shares of which the samples say little stay near all there is: held so weakly that a share of a third
 * counts as errors of 3.5 % do. */
static double far_fetched(const struct search *search)
{
    static const double hold = 0.001;
    const struct ll_kernel *kernel = search->kernel;
    double dram = kernel->dram_efficiency > 0 ? kernel->dram_efficiency / kernel->bandwidth_efficiency : 1;
    double compute = search->product ? log(kernel->compute_efficiency / search->peak) : 0;
    double memory = log(kernel->bandwidth_efficiency);
    return hold * (compute * compute + memory * memory + log(dram) * log(dram));
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

static bool try_factor(struct search *search, const struct figure *figure, double factor, double *loss)
{
    double value = get(search->kernel, figure);
    double most = figure->offset == AT(compute_efficiency) ? search->peak : figure->most;
    return try_value(search, figure, fmin(value * factor, most), loss) ||
           try_value(search, figure, fmax(value / factor, figure->least), loss);
}

static bool is_searched(const struct search *search, const struct figure *figure)
{
    const struct ll_sample *sample = &search->samples->at[search->first];
    bool dealing = figure->offset == AT(partition) || figure->offset == AT(max_units);
    if (dealing && (sample->own || sample->slice > 0)) /* the header says it */
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
        double plain = at == AT(compute_efficiency) ? search->peak : at == AT(bandwidth_efficiency) ? 1 : 0;
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

/* Where a walk begins: the share of the machine that is reached, how much does not overlap, and in what
 * pieces a GEMM is dealt. */
static const struct start {
    double share, serial;
    uint64_t partition;
} starts[] = {{1, 0, 64}, {0.5, 0.5, 64}, {0.1, 0, 64}, /* GEMMs alone: */ {1, 1, 96}, {0.6, 0, 512}};
enum { STARTS = sizeof starts / sizeof *starts, STARTS_OF_OTHERS = 3 };

static struct ll_kernel kernel_at(const struct start *start, const struct search *search)
{
    const struct ll_sample *sample = &search->samples->at[search->first];
    struct ll_kernel kernel = {.name = ll_op_name(sample->kind),
                               .launch_overhead_s = 3e-7,
                               .compute_efficiency = start->share * search->peak,
                               .bandwidth_efficiency = start->share,
                               .dram_efficiency = start->share,
                               .serial = start->serial,
                               .passes = 1};
    kernel.ops[sample->kind] = true;
    if (search->product)
        kernel.partition = sample->slice > 0 ? sample->slice : start->partition;
    return kernel;
}

/* The best that is reached from any start. */
static struct ll_kernel search_best(struct search *search)
{
    struct ll_kernel best = {0};
    double least = INFINITY;
    for (size_t i = 0; i < (search->product ? STARTS : STARTS_OF_OTHERS); i++) {
        *search->kernel = kernel_at(&starts[i], search);
        double loss = walk(search);
        if (loss < least)
            best = *search->kernel;
        least = fmin(least, loss);
    }
    return best;
}

bool ll_fit_kernel(const struct ll_machine *base, const struct ll_samples *samples, uint64_t first,
                   uint64_t count, struct ll_arena *arena, struct ll_kernel *kernel,
                   struct ll_overlay *overlay, struct ll_fit *fit)
{
    assert(count > 0 && first + count <= samples->count);
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
                            .product = ll_is_gemm(&samples->at[first].work)};
    bool own = samples->at[first].own; /* a kernel of our own, not of the library */
    search.peak = search.product && !own ? samples->library_share : 1;
    *search.kernel = search_best(&search);
    tidy(&search);
    *kernel = *search.kernel;
    bool right = ll_fit_shapes(machine, samples, first, count, arena, overlay);
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
        assert(time_s > 0 && samples->arrivals[i].bytes >= 0);
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
    struct ll_shape_ratio *seen;
    uint64_t seen_count;
    double hold_near, hold_far; /* of the shape at hand */
};

static bool has_shape(const struct ll_sample *sample, const struct ll_shape_ratio *seen)
{
    uint64_t shape[3];
    ll_overlay_shape(&sample->work, shape);
    return memcmp(shape, seen->shape, sizeof shape) == 0;
}

/* What a squared logarithm of a ratio counts beside squared errors, were both normally distributed: the
 * variance of these, by the quartiles of the passes over the shape, over that of ratios. */
static double hold_near_of(const struct shapes *s, const struct ll_shape_ratio *seen)
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
static double predicted_s(const struct shapes *s, const struct ll_sample *sample,
                          const struct ll_shape_ratio *seen)
{
    s->machine->overlay_count = 1;
    s->machine->overlays[0] =
        (struct ll_overlay){.name = s->machine->software.kernels[0].name, .shapes = seen, .shape_count = 1};
    return ll_sample_predicted_s(s->machine, sample);
}

/* Of the times of all passes over a shape, the largest share that the outermost memory has. */
static double share_of_far(const struct shapes *s, const struct ll_shape_ratio *seen)
{
    struct ll_shape_ratio once = *seen, twice = *seen;
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
static double loss_of_shapes(const struct shapes *s, const struct ll_shape_ratio *seen)
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
static bool try_ratios(const struct shapes *s, struct ll_shape_ratio *seen, double near, double far,
                       double *loss)
{
    static const double most = 32;
    struct ll_shape_ratio other = *seen;
    other.near = fmin(fmax(near, 1 / most), most);
    other.far = fmin(fmax(far, 1 / most), most);
    double now = loss_of_shapes(s, &other);
    if (now >= *loss)
        return false;
    *loss = now;
    *seen = other;
    return true;
}

static void fit_shape(struct shapes *s, struct ll_shape_ratio *seen)
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
                   uint64_t count, struct ll_arena *arena, struct ll_overlay *overlay)
{
    assert(first + count <= samples->count && machine->software.kernel_count == 1);
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
        struct ll_shape_ratio *seen = &s.seen[s.seen_count++];
        *seen = (struct ll_shape_ratio){.near = 1, .far = 1};
        ll_overlay_shape(&samples->at[i].work, seen->shape);
        fit_shape(&s, seen);
        assert(seen->near > 0 && seen->far > 0);
        seen->near = rounded(seen->near);
        seen->far = rounded(seen->far);
    }
    *overlay = machine->overlays[0] =
        (struct ll_overlay){machine->software.kernels[0].name, s.seen, s.seen_count};
    return true;
}
