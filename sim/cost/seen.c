/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/seen.h"

#include <inttypes.h>
#include <math.h>

static const double weight_of_none = 1.0 / 16;

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
    double away = squares + 1.0 / 16;
    return 1 / (away * sqrt(away));
}

/* By which the times near the unit, and those of the outermost memory, are multiplied. */
static void ratios_of(const struct ll_kernel *kernel, const uint64_t shape[3], double *near, double *far)
{
    double all = weight_of_none, log_near = 0, log_far = 0;
    for (uint64_t i = 0; i < kernel->seen_count; i++) {
        const struct ll_seen *m = &kernel->seen[i];
        double weight = weight_of(m->shape, shape);
        all += weight;
        log_near += weight * log(m->near);
        log_far += weight * log(m->far);
    }
    *near = exp(log_near / all);
    *far = exp(log_far / all);
}

void ll_seen_apply(const struct ll_machine *machine, const struct ll_kernel *kernel,
                   const struct ll_work *work, struct ll_cost *cost, struct ll_explain *why)
{
    uint64_t shape[3];
    double near, far;
    if (kernel->seen_count == 0)
        return;
    ll_seen_shape(work, shape);
    ratios_of(kernel, shape, &near, &far);
    cost->compute_s *= near;
    cost->compute_first_s *= near;
    cost->compute_cycles *= near;
    cost->utilization /= near;
    cost->overhead_s *= near;
    cost->behind_s *= near;
    for (uint64_t l = 0; l < machine->level_count; l++) {
        double ratio = l + 1 < machine->level_count ? near : far;
        cost->level_s[l] *= ratio;
        cost->level_first_s[l] *= ratio;
        cost->level_wait_s[l] *= ratio;
    }
    ll_say(why,
           "as shapes like %" PRIu64 "x%" PRIu64 "x%" PRIu64 " were seen, times the above: %.10g for %s "
           "and waiting for it, %.10g for the rest and the start",
           shape[0], shape[1], shape[2], far, machine->levels[machine->level_count - 1].name, near);
}
