/* SPDX-License-Identifier: Apache-2.0 */
/* A scatter plot around the diagonal. Where thousands of points lie on one spot, one dot is drawn. */
#include "sim/report/figure/axis.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { CELLS = 768, PIECE = 512 };

static bool drawable(const struct ll_curve *series, size_t i)
{
    return isfinite(series->x[i]) && isfinite(series->y[i]) && series->x[i] > 0 && series->y[i] > 0;
}

/* One axis for both directions: all values find room. */
static struct ll_axis common_axis(const struct ll_scatter *scatter)
{
    double low = INFINITY, high = 0;
    for (size_t s = 0; s < scatter->series_count; s++)
        for (size_t i = 0; i < scatter->series[s].count; i++)
            if (drawable(&scatter->series[s], i)) {
                low = fmin(low, fmin(scatter->series[s].x[i], scatter->series[s].y[i]));
                high = fmax(high, fmax(scatter->series[s].x[i], scatter->series[s].y[i]));
            }
    return ll_axis_for(low, high, true);
}

static struct ll_point place(struct ll_box area, const struct ll_axis *axis, double x, double y)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(axis, x),
                             area.y + area.height * (1 - ll_axis_place(axis, y))};
}

static void draw_band(struct ll_svg *svg, struct ll_box area, const struct ll_axis *axis, double band)
{
    double low = axis->low, high = axis->high, above = 1 + band, below = 1 - band;
    const struct ll_point corners[] = {
        place(area, axis, low, low),           place(area, axis, low, low * above),
        place(area, axis, high / above, high), place(area, axis, high, high),
        place(area, axis, high, high * below), place(area, axis, low / below, low)};
    ll_svg_area(svg, corners, sizeof corners / sizeof *corners);
    ll_svg_line(svg, LL_PEN_AXIS, area.x, area.y + area.height, area.x + area.width, area.y);
}

/* Dots of one series, at most one in a cell of the area; `taken` has CELLS * CELLS of them, or is NULL. */
static void draw_dots(struct ll_svg *svg, struct ll_box area, const struct ll_axis *axis,
                      const struct ll_scatter *scatter, size_t which, unsigned char *taken)
{
    const struct ll_curve *series = &scatter->series[which];
    struct ll_point points[PIECE];
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++) {
        if (!drawable(series, i))
            continue;
        size_t column = (size_t)(ll_axis_place(axis, series->x[i]) * (CELLS - 1)),
               row = (size_t)(ll_axis_place(axis, series->y[i]) * (CELLS - 1));
        unsigned char mark = (unsigned char)(which % UINT8_MAX + 1);
        if (taken && taken[row * CELLS + column] == mark)
            continue;
        if (taken)
            taken[row * CELLS + column] = mark;
        points[count++] = place(area, axis, series->x[i], series->y[i]);
        if (count == PIECE) {
            ll_svg_dots(svg, points, count, which);
            count = 0;
        }
    }
    ll_svg_dots(svg, points, count, which);
}

void ll_draw_scatter(struct ll_svg *svg, struct ll_box box, const struct ll_scatter *scatter)
{
    const char *names[LL_COLOUR_COUNT];
    size_t named = scatter->series_count < LL_COLOUR_COUNT ? scatter->series_count : LL_COLOUR_COUNT;
    struct ll_axis axis = common_axis(scatter);
    unsigned char *taken = calloc(CELLS, CELLS);
    for (size_t i = 0; i < named; i++)
        names[i] = scatter->series[i].name;
    box = ll_draw_title(svg, box, scatter->title);
    box = ll_draw_about(svg, box, scatter->about);
    box = ll_draw_legend(svg, box, names, named, false);
    struct ll_box area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &axis, scatter->y_label);
    ll_draw_x_axis(svg, area, &axis, scatter->x_label);
    draw_band(svg, area, &axis, scatter->band);
    for (size_t i = 0; i < scatter->series_count; i++)
        draw_dots(svg, area, &axis, scatter, i, taken);
    free(taken);
}
