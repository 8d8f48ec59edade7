/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"

#include <math.h>

enum { PIECE = 512 }; /* points drawn by one element; the next piece begins with the last point */

static struct ll_axis axis_of(struct ll_range *range, double wanted, bool log)
{
    range->high = wanted > 0 ? wanted : range->high;
    return ll_range_axis(range, log);
}

static bool drawable(const struct ll_curve *curve, size_t i, const struct ll_lines *lines)
{
    return isfinite(curve->x[i]) && isfinite(curve->y[i]) && (!lines->x_log || curve->x[i] > 0) &&
           (!lines->y_log || curve->y[i] > 0);
}

static struct ll_point place(struct ll_rect area, const struct ll_axis *x, const struct ll_axis *y,
                             double x_at, double y_at)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(x, x_at),
                             area.y + area.height * (1 - ll_axis_place(y, y_at))};
}

/* Marks show single points: where there are many of them, the line is enough. */
static bool marked(const struct ll_lines *lines, const struct ll_curve *curve)
{
    enum { MOST_MARKS = 40 };
    return !lines->joined || curve->count <= MOST_MARKS;
}

static void draw_curve(struct ll_svg *svg, struct ll_rect area, const struct ll_lines *lines, size_t which,
                       const struct ll_axis *x, const struct ll_axis *y)
{
    const struct ll_curve *curve = &lines->curves[which];
    struct ll_point points[PIECE];
    size_t count = 0;
    bool marks = marked(lines, curve);
    for (size_t i = 0; i < curve->count; i++) {
        if (drawable(curve, i, lines)) {
            points[count] = place(area, x, y, curve->x[i], curve->y[i]);
            if (marks)
                ll_svg_mark(svg, points[count], which);
            count++;
        }
        if (count < PIECE && i + 1 < curve->count)
            continue;
        if (lines->joined)
            ll_svg_curve(svg, points, count, which);
        if (count)
            points[0] = points[count - 1];
        count = count ? 1 : 0;
    }
}

/* Straight where both axes are of one kind, over what they have in common. */
static void draw_diagonal(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *x,
                          const struct ll_axis *y)
{
    double low = fmax(x->low, y->low), high = fmin(x->high, y->high);
    struct ll_point from = place(area, x, y, low, low), to = place(area, x, y, high, high);
    if (x->log == y->log && low < high)
        ll_svg_line(svg, LL_PEN_AXIS, from.x, from.y, to.x, to.y);
}

void ll_draw_lines(struct ll_svg *svg, struct ll_rect box, const struct ll_lines *lines)
{
    struct ll_range x = LL_NO_RANGE, y = LL_NO_RANGE;
    const char *names[LL_COLOUR_COUNT];
    enum ll_swatch swatch = LL_SWATCH_MARK;
    size_t named = lines->curve_count < LL_COLOUR_COUNT ? lines->curve_count : LL_COLOUR_COUNT;
    ll_range_take(&y, lines->line);
    for (size_t i = 0; i < lines->curve_count; i++)
        for (size_t k = 0; k < lines->curves[i].count; k++) {
            ll_range_take(&x, lines->curves[i].x[k]);
            ll_range_take(&y, lines->curves[i].y[k]);
        }
    for (size_t i = 0; i < named; i++) {
        names[i] = lines->curves[i].name;
        swatch = names[i] && !marked(lines, &lines->curves[i]) ? LL_SWATCH_CURVE : swatch;
    }
    struct ll_axis x_axis = axis_of(&x, lines->x_high, lines->x_log);
    struct ll_axis y_axis = axis_of(&y, lines->y_high, lines->y_log);
    box = ll_draw_title(svg, box, lines->title);
    box = ll_draw_legend(svg, box, names, named, swatch);
    struct ll_rect area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &y_axis, lines->y_label);
    ll_draw_x_axis(svg, area, &x_axis, lines->x_label);
    ll_draw_level(svg, area, &y_axis, lines->line, lines->line_name);
    if (lines->diagonal)
        draw_diagonal(svg, area, &x_axis, &y_axis);
    for (size_t i = 0; i < lines->curve_count; i++)
        draw_curve(svg, area, lines, i, &x_axis, &y_axis);
}
