/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"

#include <math.h>

enum { LOWEST, LOW, MIDDLE, HIGH, HIGHEST };

static struct ll_axis axis_of(const struct ll_boxes *boxes)
{
    struct ll_range range = LL_NO_RANGE;
    for (size_t i = 0; i < boxes->count; i++) {
        ll_range_take(&range, boxes->boxes[i].at[LOWEST]);
        ll_range_take(&range, boxes->boxes[i].at[HIGHEST]);
    }
    return ll_range_axis(&range, boxes->log);
}

/* The box takes half of its slot, the ends of its whiskers a quarter. */
static void draw_box(struct ll_svg *svg, struct ll_rect area, const struct ll_boxes *boxes,
                     const struct ll_axis *axis, size_t i)
{
    double slot = area.width / (double)boxes->count, centre = area.x + slot * ((double)i + 0.5),
           y[HIGHEST + 1];
    for (int p = LOWEST; p <= HIGHEST; p++) {
        if (!isfinite(boxes->boxes[i].at[p]))
            return;
        y[p] = area.y + area.height * (1 - ll_axis_place(axis, boxes->boxes[i].at[p]));
    }
    ll_svg_line(svg, LL_PEN_INK, centre, y[LOWEST], centre, y[HIGHEST]);
    ll_svg_line(svg, LL_PEN_INK, centre - slot / 8, y[LOWEST], centre + slot / 8, y[LOWEST]);
    ll_svg_line(svg, LL_PEN_INK, centre - slot / 8, y[HIGHEST], centre + slot / 8, y[HIGHEST]);
    ll_svg_rect(svg, centre - slot / 4, y[HIGH], slot / 2, fmax(0.5, y[LOW] - y[HIGH]), ll_colour(0));
    ll_svg_rect(svg, centre - slot / 4, y[MIDDLE] - 1, slot / 2, 2, "#ffffff");
}

void ll_draw_boxes(struct ll_svg *svg, struct ll_rect box, const struct ll_boxes *boxes)
{
    struct ll_axis axis = axis_of(boxes);
    box = ll_draw_title(svg, box, boxes->title);
    double slot = (box.width - 60) / (double)(boxes->count ? boxes->count : 1);
    double bottom = ll_names_height(boxes->names, boxes->count, slot);
    struct ll_rect area = ll_draw_y_axis(svg, box, bottom, &axis, boxes->y_label);
    for (size_t i = 0; i < boxes->count; i++)
        draw_box(svg, area, boxes, &axis, i);
    ll_draw_names(svg, area, boxes->names, boxes->count);
}
