/* SPDX-License-Identifier: Apache-2.0 */
/* The residual table, an overlay on the model: ratios of measured to modelled time for shapes that were
 * measured on a machine. A shape between measured ones takes over the ratios of its neighbours, the more the
 * nearer they are.
 *
 * Work takes the mean of the ratios, in logarithms, each weighed by how similar its shape is, beside a ratio
 * of 1 that is always there:
 *
 *       weight = (distance^2 + blur^2)^-1.5,  distance^2 = sum over the sides of (log2 of the sides' ratio)^2
 *       ratio  = exp(sum of weight * ln(ratio) / (sum of weight + weight of none))
 *
 * (Shepard, "A two-dimensional interpolation function for irregularly-spaced data", ACM National Conference
 * 1968; the blur, 1/4, keeps one noisy measurement from ruling alone). The weight of none is 1/16: far from
 * all that was measured the ratio is 1. Ratios belong to shapes alone, so that more bandwidth, a larger
 * buffer or a higher clock never make a machine slower. No choice of the model depends on them. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "sim/cost/cost_parts.h"

static const double blur_squared = 1.0 / 16, weight_of_none = 1.0 / 16;

void ll_overlay_shape(const struct ll_work *work, uint64_t shape[3])
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

/* The weight of a measured shape for work of another. */
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

struct ll_correction ll_overlay_of(const struct ll_machine *machine, const struct ll_kernel *kernel,
                                   const struct ll_work *work, const struct ll_cost *cost)
{
    const struct ll_overlay *overlay = ll_machine_overlay(machine, kernel);
    if (!overlay || overlay->shape_count == 0)
        return (struct ll_correction){0};
    uint64_t shape[3];
    double all = weight_of_none, log_near = 0, log_far = 0;
    ll_overlay_shape(work, shape);
    for (uint64_t i = 0; i < overlay->shape_count; i++) {
        const struct ll_shape_ratio *m = &overlay->shapes[i];
        double weight = weight_of(m->shape, shape);
        all += weight;
        log_near += weight * log(m->near);
        log_far += weight * log(m->far);
    }
    uint64_t last = machine->level_count - 1;
    const struct ll_unit *unit = &machine->units[cost->unit];
    double units = (double)unit->count, used = (double)ll_max(cost->units_used, 1);
    /* At the unit's own rate, whatever the kernel leaves of it and however short power is. */
    double own_s = cost->compute_cycles / (cost->clock_hz * (cost->partly_overlaps ? 1 : unit->efficiency));
    return (struct ll_correction){
        .shapes = overlay->shape_count,
        .near = exp(log_near / all),
        .far = exp(log_far / all),
        .least_compute = own_s > 0 ? cost->utilization * units / used * own_s / cost->compute_s : 0,
        .least_near = ll_kernel_share(machine, kernel, 0),
        .least_far = ll_kernel_share(machine, kernel, last)};
}

void ll_overlay_apply(const struct ll_machine *machine, const struct ll_correction *by, struct ll_cost *cost)
{
    assert(by->near > 0 && by->far > 0);
    uint64_t last = machine->level_count - 1;
    cost->compute_s *= fmax(by->near, by->least_compute);
    cost->compute_first_s *= by->near;
    cost->around_s *= by->near;
    cost->serial *= fmin(1, by->near); /* where all is at its peak, what is saved is waiting */
    cost->overhead_s *= by->near;
    cost->behind_s *= by->near;
    for (uint64_t l = 0; l <= last; l++) {
        double ratio = l < last ? by->near : by->far, least = l < last ? by->least_near : by->least_far;
        cost->level_s[l] *= fmax(ratio, least);
        cost->level_first_s[l] *= fmax(ratio, least);
        cost->level_wait_s[l] *= ratio;
    }
}
