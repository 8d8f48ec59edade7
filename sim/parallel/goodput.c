/* SPDX-License-Identifier: Apache-2.0 */
/* Goodput in closed form and simulated. */
#include "sim/parallel/goodput.h"

#include <assert.h>
#include <math.h>

#include "tracer/base/random.h"

/* -(u + log(1 - u)) = u^2 / 2 + u^3 / 3 + ..., for 0 <= u < 1; the series where the difference would
 * cancel. */
static double rest_of_log(double u)
{
    double sum = 0, power = u * u;
    if (u > 0.1)
        return -(u + log1p(-u));
    for (int k = 2; power > 0 && k < 40; k++, power *= u)
        sum += power / k;
    return sum;
}

/* With W = u - 1, W e^W = -e^(-1 - x) is u + log(1 - u) = -x. Newton's steps stay within a bracket. */
double ll_best_interval_s(double mean_s, double checkpoint_s)
{
    assert(mean_s > 0 && checkpoint_s > 0);
    const double x = checkpoint_s / mean_s;
    double low = 0, high = 1, u = -expm1(-sqrt(2 * x));
    for (int i = 0; i < 200; i++) {
        double above = rest_of_log(u) - x;
        if (above > 0)
            high = u;
        else
            low = u;
        double next = u - above * (1 - u) / u;
        if (!(next > low && next < high))
            next = low + (high - low) / 2;
        if (next == u)
            break;
        u = next;
    }
    return mean_s * u;
}

double ll_daly_interval_s(double mean_s, double checkpoint_s)
{
    assert(mean_s > 0 && checkpoint_s > 0);
    const double x = sqrt(checkpoint_s / (2 * mean_s));
    if (checkpoint_s >= 2 * mean_s)
        return mean_s;
    return sqrt(2 * checkpoint_s * mean_s) * (1 + x / 3 + x * x / 9) - checkpoint_s;
}

double ll_young_interval_s(double mean_s, double checkpoint_s)
{
    assert(mean_s > 0 && checkpoint_s > 0);
    return sqrt(2 * checkpoint_s * mean_s);
}

/* Wall time for a second of work, of the one tier or the other: an interruption comes in a stretch of
 * length tau + delta that is repeated until it is free of them. Work that is done while a checkpoint is
 * not durable yet is lost as well: as if a restart took so much longer, in which nothing else goes wrong. */
double ll_effective_time_share(const struct ll_interruptions *job)
{
    assert(job->mean_s > 0 && job->interval_s > 0 && job->lost_share >= 0 && job->lost_share <= 1);
    const double m = job->mean_s, tau = job->interval_s, delta = job->checkpoint_s;
    const double alone = tau / (m * exp((job->restart_s + job->durable_s) / m) * expm1((tau + delta) / m));
    if (job->lost_share == 0)
        return alone;
    /* To first order in the rate, the lost share costs half of the longer interval in place of the
     * shorter. */
    const double more_s =
        job->lost_share * (job->durable_interval_s / 2 - tau / 2 + job->durable_restart_s - job->restart_s);
    return alone / (1 + fmax(0, more_s) / m);
}

/* Sum over k, the others under repair when one fails, of P(k) repair / (k + 1) where k + 1 > spares; the
 * probabilities from their logarithms, which no large mean makes vanish. */
double ll_spare_wait_s(double mean_s, double repair_s, double spares)
{
    assert(mean_s > 0 && repair_s >= 0 && spares >= 0);
    const double under = repair_s / mean_s, reach = 40 * sqrt(under + 1); /* beyond, next to nothing */
    const double first = fmax(floor(spares), floor(under - reach)), last = fmax(first, under + reach) + 40;
    double wait_s = 0;
    if (under > 1e9) /* all of the Poisson law lies at its mean */
        return spares < under ? mean_s : 0;
    for (double k = first; repair_s > 0 && k <= last; k++)
        wait_s += exp(k * log(under) - under - lgamma(k + 1)) * repair_s / (k + 1);
    return wait_s;
}

/* --- simulation --- */

struct playing {
    const struct ll_interruptions *job;
    uint64_t key, drawn;
    double now_s, fails_s;      /* wall time, and when the next interruption comes */
    double done_s;              /* work done */
    double kept_s;              /* work that the last durable checkpoint has */
    double taken_s, taken_at_s; /* work of a checkpoint that is not durable yet, and when it is */
    double far_s;               /* work that the second tier has */
    struct ll_goodput_run run;
};

static double uniform(struct playing *p)
{
    return ((double)(ll_random_bits(p->key, p->drawn++) >> 11) + 0.5) * 0x1p-53;
}

static void draw_failure(struct playing *p)
{
    p->fails_s = p->now_s - p->job->mean_s * log(uniform(p));
}

/* Goes back to what can be restarted from; a restart that is interrupted begins anew. */
static void fail(struct playing *p, double end_s)
{
    const struct ll_interruptions *job = p->job;
    double began_s;
    bool lost = job->lost_share > 0 && uniform(p) < job->lost_share;
    p->now_s = fmin(p->fails_s, end_s);
    if (p->taken_at_s <= p->now_s)
        p->kept_s = p->taken_s;
    p->taken_at_s = INFINITY;
    double back_s = lost ? p->far_s : p->kept_s;
    p->run.repeated_s += p->done_s - back_s;
    p->done_s = p->kept_s = back_s;
    do {
        p->run.interruptions++;
        began_s = p->now_s;
        draw_failure(p);
        p->now_s = fmin(fmin(p->fails_s, began_s + (lost ? job->durable_restart_s : job->restart_s)), end_s);
        p->run.restart_s += p->now_s - began_s;
    } while (p->now_s == p->fails_s && p->now_s < end_s);
}

/* Work until the next checkpoint, and that; false when an interruption came before. */
static bool work(struct playing *p, double end_s)
{
    const struct ll_interruptions *job = p->job;
    double until_s = fmin(p->fails_s, end_s), worked_s = fmin(job->interval_s, until_s - p->now_s);
    p->now_s += worked_s;
    p->done_s += worked_s;
    if (p->now_s >= until_s)
        return false;
    double stopped_s = fmin(job->checkpoint_s, until_s - p->now_s);
    p->now_s += stopped_s;
    p->run.checkpoint_s += stopped_s;
    if (p->now_s >= until_s)
        return false;
    if (p->taken_at_s <= p->now_s) /* the one before is durable by now */
        p->kept_s = p->taken_s;
    p->taken_s = p->done_s;
    p->taken_at_s = p->now_s + job->durable_s;
    if (job->lost_share > 0 && p->done_s - p->far_s >= job->durable_interval_s)
        p->far_s = p->done_s;
    return true;
}

struct ll_goodput_run ll_goodput_simulate(const struct ll_interruptions *job, double duration_s,
                                          uint64_t runs, uint64_t seed)
{
    assert(job->mean_s > 0 && job->interval_s > 0 && duration_s > 0 && runs > 0);
    struct ll_goodput_run sum = {0};
    for (uint64_t i = 0; i < runs; i++) {
        struct playing p = {.job = job, .key = ll_random_key(seed, i), .taken_at_s = INFINITY};
        draw_failure(&p);
        while (p.now_s < duration_s)
            if (!work(&p, duration_s) && p.now_s < duration_s)
                fail(&p, duration_s);
        sum.effective_time_share += p.done_s / duration_s / (double)runs;
        sum.interruptions += p.run.interruptions / (double)runs;
        sum.checkpoint_s += p.run.checkpoint_s / (double)runs;
        sum.restart_s += p.run.restart_s / (double)runs;
        sum.repeated_s += p.run.repeated_s / (double)runs;
    }
    return sum;
}
