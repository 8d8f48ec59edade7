/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares of the logarithm of predicted over measured time, found by walking: one figure after the
 * other is multiplied or divided by a factor while that helps, then the factor shrinks. Of figures out of a
 * short list (slices, grains) all are tried: between none and the right one there may be only worse ones.
 * Long ops count more than short ones, with the cube root of their time: most of a step's time is spent in
 * them.
 *
 * Different starts are walked from, since a time that memory bounds says nothing of arithmetic. */
#include "sim/calibrate/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

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
static bool is_told(const struct ll_cut *cut)
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
