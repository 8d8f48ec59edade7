/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

static void draw_cell(struct ll_svg *svg, struct ll_rect cell, const struct ll_heat *heat, double value)
{
    char text[32];
    struct ll_shade shade = ll_shade(value / heat->full);
    ll_svg_rect(svg, cell.x + 0.5, cell.y + 0.5, cell.width - 1, cell.height - 1, shade.fill);
    if (isnan(value) || fabs(value) < 0.5 * pow(10, -(double)heat->decimals))
        return;
    ll_snprintf(text, sizeof text, "%.*f", (int)heat->decimals, value);
    if (ll_text_width(text, LL_TEXT_SMALL) > cell.width || cell.height < LL_TEXT_SMALL)
        return;
    ll_svg_text(svg,
                &(struct ll_svg_style){.x = cell.x + cell.width / 2,
                                       .y = cell.y + cell.height / 2 + 4,
                                       .size = LL_TEXT_SMALL,
                                       .anchor = LL_ANCHOR_MIDDLE,
                                       .fill = shade.dark ? "#ffffff" : "#1f2328"},
                text);
}

void ll_draw_heat(struct ll_svg *svg, struct ll_rect box, const struct ll_heat *heat)
{
    double widest = 0;
    for (size_t r = 0; r < heat->row_count; r++)
        widest = fmax(widest, 1.08 * ll_text_width(heat->rows[r], LL_TEXT_NORMAL));
    if (heat->unit)
        ll_svg_text(
            svg,
            &(struct ll_svg_style){
                .x = box.x + box.width, .y = box.y + 14, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_END},
            heat->unit);
    box = ll_draw_title(svg, box, heat->title);
    double left = widest + LL_GAP, width = (box.width - left) / (double)heat->column_count;
    double bottom = ll_names_height(heat->columns, heat->column_count, width);
    double height = (box.height - bottom) / (double)heat->row_count;
    struct ll_rect area = {box.x + left, box.y, box.width - left, box.height - bottom};
    for (size_t r = 0; r < heat->row_count; r++) {
        double y = area.y + height * (double)r;
        ll_svg_text(svg,
                    &(struct ll_svg_style){.x = area.x - LL_GAP,
                                           .y = y + height / 2 + 4,
                                           .size = LL_TEXT_NORMAL,
                                           .anchor = LL_ANCHOR_END},
                    heat->rows[r]);
        for (size_t c = 0; c < heat->column_count; c++)
            draw_cell(svg, (struct ll_rect){area.x + width * (double)c, y, width, height}, heat,
                      heat->values[r * heat->column_count + c]);
    }
    ll_draw_names(svg, area, heat->columns, heat->column_count);
}
