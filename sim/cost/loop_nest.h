/* SPDX-License-Identifier: Apache-2.0 */
/* A task as the loops of a convolution, of which spatial units run some side by side (unit_spatial.c).
 *
 * A convolution is a nest of eight loops (LL_LOOP_LIST), each iteration of which is one
 * multiply-accumulate. Its gradients are such nests as well, in which other loops do what these do:
 *
 *       loop     forward               input's gradient      filter's gradient
 *       K        filters               channels              filters
 *       C        channels              filters               images
 *       B        images                images                channels
 *       OY, OX   output                output                filter
 *       FY, FX   filter                filter, by phases     output
 *
 * (of a strided convolution, each pixel of the input's gradient sums the taps of one remainder by the
 * stride, so that a window's taps come in as many phases). A matrix product is a convolution with filters
 * of 1x1, its rows the pixels of images of whatever form suits; or one with filters as large as its images,
 * its rows the images and the terms of its sums channels and taps as suits. Gradients of filters may be
 * computed as products, too.
 *
 * All functions are pure. */
#ifndef LL_SIM_COST_LOOP_NEST_H
#define LL_SIM_COST_LOOP_NEST_H

#include "sim/cost/unit_model.h"

enum { LL_NEST_Y, LL_NEST_X, LL_NEST_AXES };

/* One direction of the windows: pixel p and tap t of a phase meet at pixel_step * p + tap_step * t. */
struct ll_loop_axis {
    uint64_t phases, pixel_step, tap_step;
};

/* The nest of a task: how much of it lies side by side, and how much with what elements do in turn. */
struct ll_loop_nest {
    uint64_t of[LL_LOOP_COUNT], aside[LL_LOOP_COUNT], by[LL_LOOP_COUNT];
    struct ll_loop_axis axis[LL_NEST_AXES];
    uint64_t channels;   /* with those that are all zero */
    bool windows;        /* pixels are shared by windows */
    double taps_in_pass; /* over a, of both axes: 1, or as many as windows have */
    const char *as;      /* what it is seen as; NULL: a convolution, as it is */
};

/* The taps of a phase: in some one more than in the others. */
struct ll_loop_phase {
    uint64_t taps, count; /* so many phases have so many */
};

/* The loops of pixels and of taps along both axes. */
extern const enum ll_loop ll_pixel_loops[LL_NEST_AXES], ll_tap_loops[LL_NEST_AXES];

/* As how many nests a task can be seen: at least one. */
uint32_t ll_nest_views(const struct ll_task *task);

/* The task seen as one of them, cut by one of the unit's unrollings. */
struct ll_loop_nest ll_nest_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t view,
                               uint32_t unrolling);

/* The taps of a loop by phases, of which there are two sorts. */
void ll_nest_phases(const struct ll_loop_nest *nest, enum ll_loop loop, struct ll_loop_phase of[2]);

/* In how many pieces of so many iterations a loop is run; the taps of each phase apart. */
double ll_nest_pieces(const struct ll_loop_nest *nest, enum ll_loop loop, uint64_t by);

/* Steps of the taps of the largest phase. */
double ll_nest_most_taps(const struct ll_loop_nest *nest, enum ll_loop loop);

/* Distinct pixels that so many neighbouring windows of so many taps take in along an axis. */
double ll_nest_distinct(const struct ll_loop_axis *axis, uint64_t pixels, uint64_t taps);

/* Pixels that all blocks along an axis take in, each distinct one of a block once. */
double ll_nest_distinct_along(const struct ll_loop_nest *nest, int axis);

#endif
