/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/loop_nest.h"

#include "tracer/base/num.h"

#include <math.h>

const enum ll_loop ll_pixel_loops[] = {LL_LOOP_OY, LL_LOOP_OX}, ll_tap_loops[] = {LL_LOOP_FY, LL_LOOP_FX};

/* --- nests --- */

/* Of phases without a tap nothing is computed. */
static struct ll_loop_axis window_axis(uint64_t pass, uint64_t taps, uint64_t stride, uint64_t dilation)
{
    uint64_t shared = ll_common_divisor(stride, dilation);
    switch (pass) {
    case LL_CONV_FORWARD:
        return (struct ll_loop_axis){1, stride, dilation};
    case LL_CONV_DATA:
        return (struct ll_loop_axis){ll_max(1, ll_min(stride / shared, taps)), 1, dilation / shared};
    default:
        return (struct ll_loop_axis){1, dilation, stride};
    }
}

static struct ll_loop_nest convolution_nest(const struct ll_conv *c)
{
    uint64_t in_c = c->in_c / c->groups, out_c = c->out_c / c->groups;
    uint64_t out[] = {c->out_h, c->out_w}, kernel[] = {c->kernel_h, c->kernel_w};
    uint64_t stride[] = {c->stride_h, c->stride_w}, dilation[] = {c->dilation_h, c->dilation_w};
    bool data = c->pass == LL_CONV_DATA, filter = c->pass == LL_CONV_FILTER;
    struct ll_loop_nest nest = {.windows = true};
    nest.of[LL_LOOP_G] = c->groups;
    nest.of[LL_LOOP_B] = filter ? in_c : c->batch;
    nest.of[LL_LOOP_K] = data ? in_c : out_c;
    nest.of[LL_LOOP_C] = data ? out_c : filter ? c->batch : in_c;
    nest.channels = nest.of[LL_LOOP_C];
    nest.taps_in_pass = 1;
    for (int i = 0; i < LL_NEST_AXES; i++) {
        nest.of[ll_pixel_loops[i]] = filter ? kernel[i] : out[i];
        nest.of[ll_tap_loops[i]] = filter ? out[i] : kernel[i];
        nest.axis[i] = window_axis(c->pass, kernel[i], ll_max(1, stride[i]), ll_max(1, dilation[i]));
        nest.taps_in_pass *= data ? 1 : (double)nest.of[ll_tap_loops[i]];
    }
    return nest;
}

/* Zeros that are skipped leave fewer channels. */
static void skip_channels(const struct ll_task *task, struct ll_loop_nest *nest)
{
    uint64_t all = ll_conv_as_gemm(&task->work->conv).k, left = task->problem.dims.k;
    double channels = (double)nest->of[LL_LOOP_C];
    if (left < all)
        nest->of[LL_LOOP_C] = (uint64_t)ceil(channels * (double)left / (double)all);
}

/* All rows of a product as pixels of one row, or as images. */
static struct ll_loop_nest product_nest(const struct ll_gemm *dims, bool as_windows)
{
    struct ll_loop_nest nest = {
        .of = {[LL_LOOP_G] = dims->batch, [LL_LOOP_K] = dims->n, [LL_LOOP_C] = dims->k},
        .axis = {{1, 1, 1}, {1, 1, 1}},
        .taps_in_pass = 1,
        .as = as_windows ? "one with filters as large as its images" : "one with 1x1 filters"};
    nest.of[LL_LOOP_OX] = as_windows ? 1 : dims->m;
    nest.of[LL_LOOP_B] = as_windows ? dims->m : 1;
    nest.of[LL_LOOP_OY] = nest.of[LL_LOOP_FY] = nest.of[LL_LOOP_FX] = 1;
    return nest;
}

static void join_loops(uint64_t by[LL_LOOP_COUNT], enum ll_loop into, enum ll_loop from)
{
    by[into] = ll_mul(by[into], by[from]);
    by[from] = 1;
}

/* What is seen as pixels, or as taps, may be cut into rows and columns, images and channels at will. */
static void unroll(const struct ll_unroll *unroll, bool as_pixels, bool as_windows, struct ll_loop_nest *nest)
{
    uint64_t *const both[] = {nest->aside, nest->by};
    for (int i = 0; i < LL_LOOP_COUNT; i++) {
        nest->aside[i] = unroll->by[i];
        nest->by[i] = ll_mul(unroll->by[i], unroll->each[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (as_pixels) {
            join_loops(both[i], LL_LOOP_OX, LL_LOOP_OY);
            join_loops(both[i], LL_LOOP_OX, LL_LOOP_B);
        }
        if (as_windows) {
            join_loops(both[i], LL_LOOP_C, LL_LOOP_FY);
            join_loops(both[i], LL_LOOP_C, LL_LOOP_FX);
        }
    }
}

uint32_t ll_nest_views(const struct ll_task *task)
{
    const struct ll_work *work = task->work;
    return work->kind != LL_WORK_CONV ? 2 : work->conv.pass == LL_CONV_FILTER ? 3 : 1;
}

struct ll_loop_nest ll_nest_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t view,
                               uint32_t way)
{
    bool conv = task->work->kind == LL_WORK_CONV, as_it_is = conv && view == 0;
    bool as_windows = !as_it_is && view == (conv ? 2u : 1u), as_pixels = !as_it_is && !as_windows;
    struct ll_loop_nest nest =
        as_it_is ? convolution_nest(&task->work->conv) : product_nest(&task->problem.dims, as_windows);
    if (as_it_is)
        skip_channels(task, &nest);
    unroll(&unit->spatial.unrolls[way], as_pixels, as_windows, &nest);
    return nest;
}

/* --- windows --- */

/* Distinct values of pixel_step * p + tap_step * t, p and t below so many: steps without a common divisor
 * repeat a value wherever p grows by the one and t falls by the other. */
double ll_nest_distinct(const struct ll_loop_axis *axis, uint64_t pixels, uint64_t taps)
{
    uint64_t shared = ll_common_divisor(axis->pixel_step, axis->tap_step);
    uint64_t p = axis->tap_step / shared, t = axis->pixel_step / shared;
    double again = pixels > p && taps > t ? (double)(pixels - p) * (double)(taps - t) : 0;
    return (double)pixels * (double)taps - again;
}

/* A loop in blocks: so many whole ones, and a last one of the rest. */
struct cut {
    uint64_t whole, size, rest;
};

static struct cut cut_loop(uint64_t of, uint64_t by)
{
    return (struct cut){of / by, by, of % by};
}

void ll_nest_phases(const struct ll_loop_nest *nest, enum ll_loop loop, struct ll_loop_phase of[2])
{
    const struct ll_loop_axis *axis = &nest->axis[loop == LL_LOOP_FY ? LL_NEST_Y : LL_NEST_X];
    uint64_t taps = nest->of[loop], more = taps % axis->phases;
    of[0] = (struct ll_loop_phase){taps / axis->phases + 1, more};
    of[1] = (struct ll_loop_phase){taps / axis->phases, axis->phases - more};
}

double ll_nest_distinct_along(const struct ll_loop_nest *nest, int axis)
{
    const struct ll_loop_axis *a = &nest->axis[axis];
    struct cut pixels = cut_loop(nest->of[ll_pixel_loops[axis]], nest->by[ll_pixel_loops[axis]]);
    struct ll_loop_phase phases[2];
    double sum = 0;
    ll_nest_phases(nest, ll_tap_loops[axis], phases);
    for (int i = 0; i < 2; i++) {
        struct cut taps = cut_loop(phases[i].taps, nest->by[ll_tap_loops[axis]]);
        double of_phase =
            (double)pixels.whole * (double)taps.whole * ll_nest_distinct(a, pixels.size, taps.size) +
            (double)taps.whole * ll_nest_distinct(a, pixels.rest, taps.size) +
            (double)pixels.whole * ll_nest_distinct(a, pixels.size, taps.rest) +
            ll_nest_distinct(a, pixels.rest, taps.rest);
        sum += (double)phases[i].count * of_phase;
    }
    return sum;
}

double ll_nest_pieces(const struct ll_loop_nest *nest, enum ll_loop loop, uint64_t by)
{
    struct ll_loop_phase phases[2];
    double sum = 0;
    if (loop != LL_LOOP_FY && loop != LL_LOOP_FX)
        return (double)ll_ceil_div(nest->of[loop], by);
    ll_nest_phases(nest, loop, phases);
    for (int i = 0; i < 2; i++)
        sum += (double)phases[i].count * (double)ll_ceil_div(phases[i].taps, by);
    return sum;
}

double ll_nest_most_taps(const struct ll_loop_nest *nest, enum ll_loop loop)
{
    uint64_t phases = nest->axis[loop == LL_LOOP_FY ? LL_NEST_Y : LL_NEST_X].phases;
    return (double)ll_ceil_div(ll_ceil_div(nest->of[loop], phases), nest->aside[loop]);
}
