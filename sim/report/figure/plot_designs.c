/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of designs: the Pareto front with its stairs, and parallel coordinates. */
#include <math.h>

#include "sim/report/figure/axis.h"

enum {
    FRONT,
    FIRST_MARKED,
    ALL = 6,
    PIECE = 256
}; /* colours, that of all being grey; corners of an element */

static void widen(struct ll_range *range, const struct ll_curve *curve, bool is_x)
{
    for (size_t i = 0; i < curve->count; i++)
        ll_range_take(range, is_x ? curve->x[i] : curve->y[i]);
}

static struct ll_axis axis_of(const struct ll_front *front, bool is_x)
{
    struct ll_range range = LL_NO_RANGE;
    widen(&range, &front->all, is_x);
    for (size_t m = 0; m < front->marked_count; m++)
        widen(&range, &front->marked[m], is_x);
    return ll_range_axis(&range, is_x ? front->x_log : front->y_log);
}

/* From each point of the front straight on to where the next one begins, then down to it. */
static void draw_stairs(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *x,
                        const struct ll_axis *y, const struct ll_curve *front)
{
    struct ll_point corners[PIECE];
    size_t count = 0;
    for (size_t i = 0; i < front->count; i++) {
        if (!ll_axes_hold(x, y, front->x[i], front->y[i]))
            continue;
        struct ll_point next = ll_axes_point(area, x, y, front->x[i], front->y[i]);
        if (count > 0) {
            corners[count] = (struct ll_point){next.x, corners[count - 1].y};
            count++;
        }
        corners[count++] = next;
        if (count + 2 > PIECE) {
            ll_svg_curve(svg, corners, count, FRONT);
            corners[0] = next;
            count = 1;
        }
    }
    if (count > 1)
        ll_svg_curve(svg, corners, count, FRONT);
}

static void draw_marks(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *x,
                       const struct ll_axis *y, const struct ll_curve *curve, size_t series)
{
    for (size_t i = 0; i < curve->count; i++)
        if (ll_axes_hold(x, y, curve->x[i], curve->y[i]))
            ll_svg_mark(svg, ll_axes_point(area, x, y, curve->x[i], curve->y[i]), series);
}

void ll_draw_front(struct ll_svg *svg, struct ll_rect box, const struct ll_front *front)
{
    enum { MOST_MARKS = 60 }; /* of the front: where there are more, the stairs are enough */
    const char *names[ALL] = {[FRONT] = front->front.name};
    struct ll_axis x = axis_of(front, true), y = axis_of(front, false);
    for (size_t m = 0; m < front->marked_count && FIRST_MARKED + m < ALL; m++)
        names[FIRST_MARKED + m] = front->marked[m].name;
    box = ll_draw_title(svg, box, front->title);
    box = ll_draw_about(svg, box, front->about);
    box = ll_draw_legend(svg, box, names, ALL, LL_SWATCH_MARK);
    struct ll_rect area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &y, front->y_label);
    ll_draw_x_axis(svg, area, &x, front->x_label);
    ll_draw_dots(svg, area, &x, &y, &front->all, ALL);
    draw_stairs(svg, area, &x, &y, &front->front);
    if (front->front.count <= MOST_MARKS)
        draw_marks(svg, area, &x, &y, &front->front, FRONT);
    for (size_t m = 0; m < front->marked_count && FIRST_MARKED + m < ALL; m++)
        draw_marks(svg, area, &x, &y, &front->marked[m], FIRST_MARKED + m);
}

/* Parallel coordinates: an upright axis for each quantity, a line across all of them for each thing
 * (Inselberg, 1985). Values of an axis without numbers stand at equal distances. */

static struct ll_axis axis_of_strands(const struct ll_upright *upright, size_t count)
{
    struct ll_range range = LL_NO_RANGE;
    for (size_t i = 0; i < count; i++)
        ll_range_take(&range, upright->values[i]);
    return ll_range_axis(&range, upright->log);
}

/* From 0, the foot, to 1; NaN when it has no place. */
static double place_of(const struct ll_upright *upright, const struct ll_axis *axis, size_t i)
{
    double value = upright->values[i];
    if (!isfinite(value) || (upright->log && !upright->name_count && value <= 0))
        return NAN;
    if (upright->name_count)
        return (value + 0.5) / (double)upright->name_count;
    return ll_axis_place(axis, value);
}

/* How far the words at an axis reach to its left. */
static double reach_of(const struct ll_upright *upright, const struct ll_axis *axis)
{
    struct ll_tick_text text;
    double most = 0;
    for (size_t i = 0; i < upright->name_count; i++)
        most = fmax(most, ll_text_width(upright->names[i], LL_TEXT_SMALL));
    for (size_t i = 0; i < axis->tick_count && !upright->name_count; i++)
        most = fmax(most, ll_text_width(ll_tick(&text, axis->ticks[i]), LL_TEXT_SMALL));
    return 1.1 * most + 5;
}

/* Room at the left of n axes in a width w, such that the first one, which is half a slot further in, has its
 * words inside: left + (w - left) / 2n = reach. Words take at most half of the width. */
static double left_of(const struct ll_strands *strands, const struct ll_axis *axes, double width)
{
    double half = 0.5 / (double)strands->axis_count;
    double left = (reach_of(&strands->axes[0], &axes[0]) - width * half) / (1 - half);
    return fmin(fmax(0, left), width / 2);
}

static void tick(struct ll_svg *svg, double x, double y, const char *text)
{
    ll_svg_line(svg, LL_PEN_AXIS, x - 3, y, x, y);
    ll_svg_text(svg,
                &(struct ll_svg_style){
                    .x = x - 5, .y = y + 4, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_END, .halo = true},
                text);
}

/* Names of every value as far as they have room, all ticks of an axis of numbers. */
static void draw_upright(struct ll_svg *svg, struct ll_rect area, double x, const struct ll_upright *upright,
                         const struct ll_axis *axis)
{
    struct ll_tick_text text;
    double foot = area.y + area.height,
           slot = area.height / (double)(upright->name_count ? upright->name_count : 1);
    size_t every = slot < 12 ? (size_t)ceil(12 / slot) : 1;
    ll_svg_line(svg, LL_PEN_AXIS, x, area.y, x, foot);
    for (size_t i = 0; i < upright->name_count; i += every)
        tick(svg, x, foot - slot * ((double)i + 0.5), upright->names[i]);
    for (size_t i = 0; i < axis->tick_count && !upright->name_count; i++)
        tick(svg, x, foot - area.height * ll_axis_place(axis, axis->ticks[i]),
             ll_tick(&text, axis->ticks[i]));
}

static void draw_strand(struct ll_svg *svg, struct ll_rect area, const struct ll_strands *strands,
                        const struct ll_axis *axes, size_t i, double step)
{
    struct ll_point points[LL_MOST_UPRIGHTS];
    size_t count = 0;
    for (size_t a = 0; a < strands->axis_count; a++) {
        double place = place_of(&strands->axes[a], &axes[a], i);
        if (isnan(place))
            return;
        points[count++] = (struct ll_point){area.x + step * (double)a, area.y + area.height * (1 - place)};
    }
    ll_svg_strand(svg, points, count, strands->series[i], strands->series[i] == strands->faint);
}

void ll_draw_strands(struct ll_svg *svg, struct ll_rect box, const struct ll_strands *strands)
{
    struct ll_axis axes[LL_MOST_UPRIGHTS];
    const char *names[LL_MOST_UPRIGHTS];
    box = ll_draw_title(svg, box, strands->title);
    box = ll_draw_about(svg, box, strands->about);
    box = ll_draw_legend(svg, box, strands->names, strands->name_count, LL_SWATCH_SQUARE);
    for (size_t a = 0; a < strands->axis_count; a++) {
        axes[a] = axis_of_strands(&strands->axes[a], strands->strand_count);
        names[a] = strands->axes[a].name;
    }
    double left =
        fmax(left_of(strands, axes, box.width),
             ll_names_overhang(names, strands->axis_count, box.width / (double)strands->axis_count));
    box.x += left;
    box.width -= left;
    double slot = box.width / (double)strands->axis_count;
    double bottom = ll_names_height(names, strands->axis_count, slot);
    struct ll_rect whole = {box.x, box.y, box.width, box.height - bottom};
    struct ll_rect area = {box.x + slot / 2, box.y + LL_GAP, box.width - slot,
                           box.height - bottom - 2 * LL_GAP};
    for (size_t i = 0; i < strands->strand_count; i++)
        draw_strand(svg, area, strands, axes, i, slot);
    for (size_t a = 0; a < strands->axis_count; a++)
        draw_upright(svg, area, area.x + slot * (double)a, &strands->axes[a], &axes[a]);
    ll_draw_names(svg, whole, names, strands->axis_count);
}
