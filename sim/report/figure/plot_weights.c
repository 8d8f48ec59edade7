/* SPDX-License-Identifier: Apache-2.0 */
/* Bars that go to both sides of zero, a group a name, from the top down. */
#include "sim/report/figure/axis.h"

#include <math.h>

enum { TICKS = 4 }; /* steps of the axis to either side */

/* The end of the axis: the least of 1, 2, 5 times a power of ten that holds everything. */
static double reach_of(const struct ll_weights *weights)
{
    double most = 0;
    for (size_t i = 0; i < weights->name_count * weights->series_count; i++)
        most = isfinite(weights->values[i]) ? fmax(most, fabs(weights->values[i])) : most;
    struct ll_axis axis = ll_axis_for(0, most, false);
    return axis.high;
}

static void draw_axis(struct ll_svg *svg, struct ll_rect area, double reach, const char *label)
{
    struct ll_tick_text text;
    double foot = area.y + area.height, middle = area.x + area.width / 2;
    for (int i = -TICKS; i <= TICKS; i++) {
        double x = middle + area.width / 2 * i / TICKS;
        ll_svg_line(svg, i ? LL_PEN_GRID : LL_PEN_AXIS, x, area.y, x, foot);
        ll_svg_text(
            svg,
            &(struct ll_svg_style){.x = x, .y = foot + 15, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_MIDDLE},
            ll_tick(&text, reach * i / TICKS));
    }
    ll_svg_text(svg,
                &(struct ll_svg_style){
                    .x = middle, .y = foot + 32, .size = LL_TEXT_NORMAL, .anchor = LL_ANCHOR_MIDDLE},
                label);
}

static void draw_group(struct ll_svg *svg, struct ll_rect area, const struct ll_weights *weights,
                       size_t group, double reach)
{
    double slot = area.height / (double)weights->name_count, top = area.y + slot * (double)group;
    double height = 0.8 * slot / (double)weights->series_count, middle = area.x + area.width / 2;
    ll_svg_text(
        svg,
        &(struct ll_svg_style){
            .x = area.x - LL_GAP, .y = top + slot / 2 + 4, .size = LL_TEXT_NORMAL, .anchor = LL_ANCHOR_END},
        weights->names[group]);
    for (size_t s = 0; s < weights->series_count; s++) {
        double value = weights->values[group * weights->series_count + s];
        double length = isfinite(value) ? area.width / 2 * fabs(value) / reach : 0;
        if (length > 0)
            ll_svg_rect(svg, value < 0 ? middle - length : middle, top + 0.1 * slot + height * (double)s,
                        length, 0.94 * height, ll_colour(s));
    }
}

void ll_draw_weights(struct ll_svg *svg, struct ll_rect box, const struct ll_weights *weights)
{
    double widest = 0, reach = reach_of(weights);
    for (size_t g = 0; g < weights->name_count; g++)
        widest = fmax(widest, 1.08 * ll_text_width(weights->names[g], LL_TEXT_NORMAL));
    box = ll_draw_title(svg, box, weights->title);
    box = ll_draw_about(svg, box, weights->about);
    box = ll_draw_legend(svg, box, weights->series, weights->series_count, LL_SWATCH_SQUARE);
    double left = widest + LL_GAP;
    struct ll_rect area = {box.x + left, box.y, box.width - left - 2 * LL_GAP, box.height - LL_X_AXIS_HEIGHT};
    draw_axis(svg, area, reach, weights->x_label);
    for (size_t g = 0; g < weights->name_count; g++)
        draw_group(svg, area, weights, g, reach);
}
