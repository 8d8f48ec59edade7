/* SPDX-License-Identifier: Apache-2.0 */
/* What the figures of a kernel leave unexplained, shape by shape: two ratios, one for what is done near the
 * unit and one for the outermost memory, so that the passes over the shape, cold and warm, come out. Both are
 * held near 1, the more so the more the measured times differ from step to step, and that of the outermost
 * memory the more so the smaller its share of the time: where nearly all was on chip, what a pass took longer
 * than another is no measure of memory traffic, and would stretch that of a network where nothing is. */
#include "sim/calibrate/fit.h"

#include "sim/cost/cost_parts.h"

#include <math.h>
#include <string.h>

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
static double loss_of(const struct shapes *s, const struct ll_seen *seen)
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
    double now = loss_of(s, &other);
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
    double loss = loss_of(s, seen), factor = 2;
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
