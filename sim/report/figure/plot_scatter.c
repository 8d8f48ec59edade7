/* SPDX-License-Identifier: Apache-2.0 */
/* A scatter plot around the diagonal. */
#include "sim/report/figure/axis.h"

#include <math.h>

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

static struct ll_point place(struct ll_rect area, const struct ll_axis *axis, double x, double y)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(axis, x),
                             area.y + area.height * (1 - ll_axis_place(axis, y))};
}

static void draw_band(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, double band)
{
    double low = axis->low, high = axis->high, above = 1 + band, below = 1 - band;
    const struct ll_point corners[] = {
        place(area, axis, low, low),           place(area, axis, low, low * above),
        place(area, axis, high / above, high), place(area, axis, high, high),
        place(area, axis, high, high * below), place(area, axis, low / below, low)};
    ll_svg_area(svg, corners, sizeof corners / sizeof *corners);
    ll_svg_line(svg, LL_PEN_AXIS, area.x, area.y + area.height, area.x + area.width, area.y);
}

void ll_draw_scatter(struct ll_svg *svg, struct ll_rect box, const struct ll_scatter *scatter)
{
    const char *names[LL_COLOUR_COUNT];
    size_t named = scatter->series_count < LL_COLOUR_COUNT ? scatter->series_count : LL_COLOUR_COUNT;
    struct ll_axis axis = common_axis(scatter);
    for (size_t i = 0; i < named; i++)
        names[i] = scatter->series[i].name;
    box = ll_draw_title(svg, box, scatter->title);
    box = ll_draw_about(svg, box, scatter->about);
    box = ll_draw_legend(svg, box, names, named, LL_SWATCH_SQUARE);
    struct ll_rect area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &axis, scatter->y_label);
    ll_draw_x_axis(svg, area, &axis, scatter->x_label);
    draw_band(svg, area, &axis, scatter->band);
    for (size_t i = 0; i < scatter->series_count; i++)
        ll_draw_dots(svg, area, &axis, &axis, &scatter->series[i], i);
}
