/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

/* Half of the last digit: what is less would read as zero. */
static double half_digit(const struct ll_heat *heat)
{
    return 0.5 * pow(10, -(double)heat->decimals);
}

static bool is_small(const struct ll_heat *heat, double value)
{
    return fabs(value) < half_digit(heat);
}

static void draw_cell(struct ll_svg *svg, struct ll_rect cell, const struct ll_heat *heat, double value)
{
    char text[32];
    struct ll_shade shade = ll_shade(value / heat->full);
    ll_svg_rect(svg, cell.x + 0.5, cell.y + 0.5, cell.width - 1, cell.height - 1, shade.fill);
    if (isnan(value) || is_small(heat, value))
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

/* What the text above the right end says: the unit, and what cells without a number are. */
static const char *about_of(const struct ll_heat *heat, char *text, size_t size)
{
    char below[40] = "";
    bool small = false, missing = false;
    for (size_t i = 0; i < heat->row_count * heat->column_count; i++) {
        missing |= isnan(heat->values[i]);
        small |= is_small(heat, heat->values[i]);
    }
    if (small)
        ll_snprintf(below, sizeof below, "; blank: below %.*f", (int)heat->decimals + 1, half_digit(heat));
    ll_snprintf(text, size, "%s%s%s%s", heat->unit, below, missing ? "; grey: " : "",
                !missing     ? ""
                : heat->grey ? heat->grey
                             : "none");
    return text;
}

static void draw_about(struct ll_svg *svg, struct ll_rect box, const struct ll_heat *heat)
{
    char text[160];
    if (!heat->unit)
        return;
    const char *about = about_of(heat, text, sizeof text), *title = heat->title ? heat->title : "";
    if (1.2 * ll_text_width(title, LL_TEXT_TITLE) + 1.1 * ll_text_width(about, LL_TEXT_SMALL) > box.width)
        about = heat->unit;
    ll_svg_text(svg,
                &(struct ll_svg_style){
                    .x = box.x + box.width, .y = box.y + 14, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_END},
                about);
}

void ll_draw_heat(struct ll_svg *svg, struct ll_rect box, const struct ll_heat *heat)
{
    double widest = 0;
    for (size_t r = 0; r < heat->row_count; r++)
        widest = fmax(widest, 1.08 * ll_text_width(heat->rows[r], LL_TEXT_NORMAL));
    draw_about(svg, box, heat);
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
