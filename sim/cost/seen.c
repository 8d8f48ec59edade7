/* SPDX-License-Identifier: Apache-2.0 */
/* The residual table: ratios of measured to modelled time for shapes that were measured on a machine. A shape
 * between measured ones takes over the ratios of its neighbours, the more the nearer they are. */
#include "sim/cost/cost_parts.h"

#include <inttypes.h>
#include <math.h>

static const double blur_squared = 1.0 / 16, weight_of_none = 1.0 / 16;

void ll_seen_shape(const struct ll_work *work, uint64_t shape[3])
{
    struct ll_gemm d = work->kind == LL_WORK_CONV       ? ll_conv_as_gemm(&work->conv)
                       : work->kind == LL_WORK_SEQUENCE ? work->sequence.step
                       : work->kind == LL_WORK_GEMM     ? work->gemm
                                                        : (struct ll_gemm){0};
    bool product = d.batch > 0;
    shape[0] = ll_max(1, product ? ll_mul(d.batch, d.m) : work->lines);
    shape[1] = ll_max(1, product ? d.n : work->a_bytes);
    shape[2] = ll_max(1, product ? d.k : work->c_bytes);
}

/* Of a shape for work of another. */
static double weight_of(const uint64_t a[3], const uint64_t b[3])
{
    double squares = 0;
    for (int i = 0; i < 3; i++) {
        double steps = log2((double)a[i] / (double)b[i]);
        squares += steps * steps;
    }
    double away = squares + blur_squared;
    return 1 / (away * sqrt(away));
}

/* By which the times near the unit, and those of the outermost memory, are multiplied. */
struct ratios {
    double near, far;
};

static struct ratios ratios_of(const struct ll_kernel *kernel, const struct ll_work *work, const char *far,
                               struct ll_explain *why)
{
    uint64_t shape[3];
    double all = weight_of_none, log_near = 0, log_far = 0;
    ll_seen_shape(work, shape);
    for (uint64_t i = 0; i < kernel->seen_count; i++) {
        const struct ll_seen *m = &kernel->seen[i];
        double weight = weight_of(m->shape, shape);
        all += weight;
        log_near += weight * log(m->near);
        log_far += weight * log(m->far);
    }
    struct ratios ratios = {exp(log_near / all), exp(log_far / all)};
    ll_say(why,
           "of %" PRIu64 " shapes that were measured, those like %" PRIu64 "x%" PRIu64 "x%" PRIu64
           " took, near the unit: exp(%.10g / %.10g) = %.10g times as long",
           kernel->seen_count, shape[0], shape[1], shape[2], log_near, all, ratios.near);
    ll_say(why, "and out of %s: exp(%.10g / %.10g) = %.10g times as long", far, log_far, all, ratios.far);
    return ratios;
}

/* A level gives no more than all of its bandwidth, of which the kernel's figures say a share. What is waited
 * for beside that is no shorter for a smaller share. */
static void stretch_level(const char *name, uint64_t l, double ratio, double share, struct ll_cost *cost,
                          struct ll_explain *why)
{
    double moving = fmax(ratio, share);
    if (cost->level_s[l] > 0)
        ll_say(why, "%s, no faster than its peak: %.10g * max(%.10g, %.10g) = %.10g s", name,
               cost->level_s[l], ratio, share, cost->level_s[l] * moving);
    cost->level_s[l] *= moving;
    cost->level_first_s[l] *= moving;
    cost->level_wait_s[l] *= ratio;
}

/* No instance at work computes faster than at its peak: else fewer of them would seem to do as well. What is
 * faster than the kernel's share of the peak takes no fewer cycles than the work has, but reaches more of
 * their rate. */
static void stretch_computing(const struct ll_unit *unit, const struct ll_kernel *kernel, double ratio,
                              struct ll_cost *cost, struct ll_explain *why)
{
    double all = (double)unit->count, used = (double)ll_max(cost->units_used, 1);
    double busy = cost->utilization * all / used, reached = busy * kernel->compute;
    double computing = fmax(ratio, reached), cycles = fmax(ratio, busy);
    if (cost->compute_s > 0 && reached > 0)
        ll_say(why, "share of the peak of those at work: %.10g * %.10g / %.10g * %.10g = %.10g",
               cost->utilization, all, used, kernel->compute, reached);
    if (cost->compute_s > 0)
        ll_say(why, "compute, no faster than at that peak: %.10g * max(%.10g, %.10g) = %.10g s",
               cost->compute_s, ratio, reached, cost->compute_s * computing);
    cost->compute_s *= computing;
    cost->compute_first_s *= ratio; /* of all, however well the unit is used then */
    cost->compute_cycles *= cycles;
    cost->utilization /= cycles;
}

void ll_seen_apply(const struct ll_machine *machine, const struct ll_kernel *kernel,
                   const struct ll_work *work, struct ll_cost *cost, struct ll_explain *why)
{
    uint64_t last = machine->level_count - 1;
    if (kernel->seen_count == 0)
        return;
    struct ratios ratios = ratios_of(kernel, work, machine->levels[last].name, why);
    stretch_computing(&machine->units[cost->unit], kernel, ratios.near, cost, why);
    ll_say(why, "the start: %.10g * %.10g = %.10g s", cost->overhead_s, ratios.near,
           cost->overhead_s * ratios.near);
    double serial = fmin(1, ratios.near); /* where all is at its peak, what is saved is waiting */
    if (cost->serial > 0)
        ll_say(why, "share that does not overlap: %.10g * %.10g = %.10g", cost->serial, serial,
               cost->serial * serial);
    cost->serial *= serial;
    cost->overhead_s *= ratios.near;
    cost->behind_s *= ratios.near;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double ratio = l < last ? ratios.near : ratios.far;
        stretch_level(machine->levels[l].name, l, ratio, ll_kernel_share(machine, kernel, l), cost, why);
    }
}
