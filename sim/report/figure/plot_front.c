/* SPDX-License-Identifier: Apache-2.0 */
/* What was found, and the stairs of what nothing beats. */
#include "sim/report/figure/axis.h"

#include <math.h>

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
