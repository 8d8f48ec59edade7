/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"

#include <math.h>

static double value_at(const struct ll_bars *bars, size_t group, size_t series)
{
    double value = bars->values[group * bars->series_count + series];
    return isfinite(value) ? value : 0;
}

static struct ll_axis axis_of(const struct ll_bars *bars)
{
    double high = bars->line, low = INFINITY;
    for (size_t g = 0; g < bars->group_count; g++) {
        double sum = 0;
        for (size_t s = 0; s < bars->series_count; s++) {
            double value = value_at(bars, g, s);
            sum += value;
            high = fmax(high, bars->stacked ? sum : value);
            low = value > 0 ? fmin(low, value) : low;
        }
    }
    return ll_axis_for(low, high, bars->log);
}

/* A group takes four fifths of its slot; bars side by side share that. */
static void draw_group(struct ll_svg *svg, struct ll_rect area, const struct ll_bars *bars,
                       const struct ll_axis *axis, size_t group)
{
    double slot = area.width / (double)bars->group_count, left = area.x + slot * ((double)group + 0.1);
    double width = 0.8 * slot / (bars->stacked ? 1 : (double)bars->series_count), base = 0;
    for (size_t s = 0; s < bars->series_count; s++) {
        double value = value_at(bars, group, s);
        double foot = bars->stacked ? ll_axis_place(axis, base) : 0, head = ll_axis_place(axis, base + value);
        if (value > 0)
            ll_svg_rect(svg, left, area.y + area.height * (1 - head), width * (bars->stacked ? 1 : 0.94),
                        fmax(0.5, area.height * (head - foot)), ll_colour(s));
        base += bars->stacked ? value : 0;
        left += bars->stacked ? 0 : width;
    }
}

void ll_draw_bars(struct ll_svg *svg, struct ll_rect box, const struct ll_bars *bars)
{
    struct ll_axis axis = axis_of(bars);
    box = ll_draw_title(svg, box, bars->title);
    if (bars->series_count > 1)
        box = ll_draw_legend(svg, box, bars->series, bars->series_count, LL_SWATCH_SQUARE);
    double slot = (box.width - 60) / (double)(bars->group_count ? bars->group_count : 1);
    double bottom = ll_names_height(bars->groups, bars->group_count, slot);
    struct ll_rect area = ll_draw_y_axis(svg, box, bottom, &axis, bars->y_label);
    for (size_t g = 0; g < bars->group_count; g++)
        draw_group(svg, area, bars, &axis, g);
    ll_draw_level(svg, area, &axis, bars->line, bars->line_name);
    ll_draw_names(svg, area, bars->groups, bars->group_count);
}
