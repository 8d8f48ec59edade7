/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"

#include <math.h>
#include <stdlib.h>

enum { CELLS = 768, PIECE = 512 }; /* along both sides of an area; dots of one element */

static bool holds(const struct ll_axis *axis, double value)
{
    return isfinite(value) && (!axis->log || value > 0);
}

bool ll_axes_hold(const struct ll_axis *x, const struct ll_axis *y, double x_value, double y_value)
{
    return holds(x, x_value) && holds(y, y_value);
}

struct ll_point ll_axes_point(struct ll_rect area, const struct ll_axis *x, const struct ll_axis *y,
                              double x_value, double y_value)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(x, x_value),
                             area.y + area.height * (1 - ll_axis_place(y, y_value))};
}

/* Whether the cell of a point is taken for the first time; always, when there is no memory to know. */
static bool first_in_cell(unsigned char *taken, const struct ll_axis *x, const struct ll_axis *y,
                          double x_value, double y_value)
{
    size_t column = (size_t)(ll_axis_place(x, x_value) * (CELLS - 1));
    size_t row = (size_t)(ll_axis_place(y, y_value) * (CELLS - 1));
    bool first = !taken || !taken[row * CELLS + column];
    if (taken)
        taken[row * CELLS + column] = 1;
    return first;
}

/* The fewer there are, the larger, so that three are seen and thousands do not become one spot. */
static double diameter_for(size_t count)
{
    return count <= 30 ? 7 : count <= 300 ? 5 : 3;
}

void ll_draw_dots(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *x, const struct ll_axis *y,
                  const struct ll_curve *curve, size_t series)
{
    struct ll_point points[PIECE];
    size_t count = 0;
    unsigned char *taken = calloc(CELLS, CELLS);
    for (size_t i = 0; i < curve->count; i++) {
        if (!ll_axes_hold(x, y, curve->x[i], curve->y[i]) ||
            !first_in_cell(taken, x, y, curve->x[i], curve->y[i]))
            continue;
        points[count++] = ll_axes_point(area, x, y, curve->x[i], curve->y[i]);
        if (count == PIECE) {
            ll_svg_dots(svg, points, count, diameter_for(curve->count), series);
            count = 0;
        }
    }
    ll_svg_dots(svg, points, count, diameter_for(curve->count), series);
    free(taken);
}
