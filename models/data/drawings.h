/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings for detectors, sample after sample without end: shapes of several classes on a noisy canvas, each
 * with the box around it. Sample i of a seed is always the same. Thread-safe.
 *
 * Class 1 is a square, 2 a disc, 3 a triangle, 4 a cross; the next four are the same in another colour, and
 * so on. Shapes hardly overlap. */
#ifndef LL_DATA_DRAWINGS_H
#define LL_DATA_DRAWINGS_H

#include "models/data/part.h"

#include <stdint.h>

enum { LL_MOST_SHAPES = 16 };

struct ll_drawings {
    uint64_t height, width, classes, seed; /* in pixels; at least one class */
    uint64_t most;                         /* shapes of one drawing, from 1 to LL_MOST_SHAPES */
    enum ll_data_part part;
};

/* Around a shape, in pixels; right and bottom are the first ones outside. Class 0: there is none. */
struct ll_shape_box {
    float left, top, right, bottom, class;
};

/* Fills boxes[most] of a drawing; those that it has come first, and there is one at least. */
void ll_drawing_boxes(const struct ll_drawings *drawings, uint64_t sample, struct ll_shape_box *boxes);

/* Writes the pixels of a drawing, from -1 to 1: pixels[height, width, 3]. */
void ll_drawing_pixels(const struct ll_drawings *drawings, uint64_t sample, float *pixels);

#endif
