/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/axis.h"

#include <math.h>
#include <stdio.h>

#include "sim/report/figure/figure.h"
#include "tracer/base/str.h"

enum { WANTED_TICKS = 5, LINE = 17, SWATCH = 10, PIECE = 27 }; /* of a curve: more than a period of dashes */
#define TURN (-35.0) /* degrees, of names that do not fit; below, how far down and left they reach */
#define TURN_SINE 0.574
#define TURN_COSINE 0.819

/* The step of 1, 2 or 5 times a power of ten that gives about the wanted number of ticks. */
static double round_step(double range)
{
    double rough = range / WANTED_TICKS, power = pow(10, floor(log10(rough))), part = rough / power;
    return power * (part < 1.4 ? 1 : part < 3.2 ? 2 : part < 7 ? 5 : 10);
}

static struct ll_axis linear(double low, double high, double least_step)
{
    low = low < 0 && isfinite(low) ? low : 0;
    high = high > 0 && isfinite(high - low) ? high : low < 0 ? 0 : 1;
    double step = fmax(round_step(high - low), least_step);
    int first = (int)floor(low / step + 1e-9), last = (int)ceil(high / step - 1e-9);
    struct ll_axis axis = {.low = first * step, .high = last * step};
    for (int i = first; i <= last && axis.tick_count < LL_MOST_TICKS; i++)
        axis.ticks[axis.tick_count++] = i * step;
    return axis;
}

/* Whole decades; every second or third of them when there are many, and with few also their 2 and 5. */
static struct ll_axis logarithmic(double low, double high)
{
    if (!(low > 0) || !isfinite(high) || high < low)
        low = high = 1;
    int first = (int)floor(log10(low) + 1e-9), last = (int)ceil(log10(high) - 1e-9);
    last = last > first ? last : first + 1;
    int every = (last - first) / (LL_MOST_TICKS / 2) + 1;
    struct ll_axis axis = {.low = pow(10, first), .high = pow(10, last), .log = true};
    for (int power = first; power <= last; power += every)
        axis.ticks[axis.tick_count++] = pow(10, power);
    for (int power = first; power < last && last - first <= 2; power++) {
        axis.ticks[axis.tick_count++] = 2 * pow(10, power);
        axis.ticks[axis.tick_count++] = 5 * pow(10, power);
    }
    return axis;
}

struct ll_axis ll_axis_for(double low, double high, bool log)
{
    return log ? logarithmic(low, high) : linear(low, high, 0);
}

void ll_range_take(struct ll_range *range, double value)
{
    if (!isfinite(value))
        return;
    range->least = fmin(range->least, value);
    range->low = value > 0 ? fmin(range->low, value) : range->low;
    range->high = fmax(range->high, value);
    range->broken |= value != floor(value);
}

struct ll_axis ll_range_axis(const struct ll_range *range, bool log)
{
    return log ? logarithmic(range->low, range->high)
               : linear(range->least, range->high, range->broken ? 0 : 1);
}

double ll_axis_place(const struct ll_axis *axis, double value)
{
    double place = axis->log ? log(value / axis->low) / log(axis->high / axis->low)
                             : (value - axis->low) / (axis->high - axis->low);
    return fmin(1, fmax(0, place));
}

const char *ll_tick(struct ll_tick_text *text, double value)
{
    int power = value != 0 ? (int)floor(log10(fabs(value)) + 1e-9) : 0;
    if (power >= -4 && power < 6)
        ll_snprintf(text->text, sizeof text->text, "%.6g", value);
    else
        ll_snprintf(text->text, sizeof text->text, "%.3ge%d", value / pow(10, power), power);
    return text->text;
}

static struct ll_rect below(struct ll_rect box, double height)
{
    return (struct ll_rect){box.x, box.y + height, box.width, box.height - height};
}

struct ll_rect ll_draw_title(struct ll_svg *svg, struct ll_rect box, const char *title)
{
    if (!title)
        return box;
    ll_svg_text(svg, &(struct ll_svg_style){.x = box.x, .y = box.y + 14, .size = LL_TEXT_TITLE}, title);
    return below(box, 26);
}

struct ll_rect ll_draw_about(struct ll_svg *svg, struct ll_rect box, const char *about)
{
    if (!about)
        return box;
    ll_svg_text(svg, &(struct ll_svg_style){.x = box.x, .y = box.y + 8, .size = LL_TEXT_SMALL}, about);
    return below(box, LINE + 3);
}

static void draw_swatch(struct ll_svg *svg, double x, double y, double width, size_t i, enum ll_swatch swatch)
{
    const struct ll_point ends[] = {{x, y + 8}, {x + width, y + 8}};
    if (swatch == LL_SWATCH_MARK)
        ll_svg_mark(svg, (struct ll_point){x + width / 2, y + 8}, i);
    else if (swatch == LL_SWATCH_CURVE)
        ll_svg_curve(svg, ends, 2, i);
    else
        ll_svg_rect(svg, x, y + 3, width, SWATCH, ll_colour(i));
}

struct ll_rect ll_draw_legend(struct ll_svg *svg, struct ll_rect box, const char *const *names, size_t count,
                              enum ll_swatch swatch)
{
    double x = box.x, y = box.y, swatch_width = swatch == LL_SWATCH_CURVE ? PIECE : SWATCH;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!names[i])
            continue;
        double width = swatch_width + 5 + 1.08 * ll_text_width(names[i], LL_TEXT_NORMAL) + 16;
        if (any && x + width > box.x + box.width) {
            x = box.x;
            y += LINE;
        }
        any = true;
        draw_swatch(svg, x, y, swatch_width, i, swatch);
        ll_svg_text(svg,
                    &(struct ll_svg_style){.x = x + swatch_width + 5, .y = y + 12, .size = LL_TEXT_NORMAL},
                    names[i]);
        x += width;
    }
    return any ? below(box, y - box.y + LINE + LL_GAP) : box;
}

struct ll_rect ll_draw_y_axis(struct ll_svg *svg, struct ll_rect box, double bottom,
                              const struct ll_axis *axis, const char *label)
{
    struct ll_tick_text tick;
    double widest = 0;
    for (size_t i = 0; i < axis->tick_count; i++)
        widest = fmax(widest, ll_text_width(ll_tick(&tick, axis->ticks[i]), LL_TEXT_SMALL));
    double left = widest + 2 * LL_GAP + (label ? LINE : 0);
    struct ll_rect area = {box.x + left, box.y + LL_GAP, box.width - left - LL_GAP,
                           box.height - bottom - LL_GAP};
    for (size_t i = 0; i < axis->tick_count; i++) {
        double y = area.y + area.height * (1 - ll_axis_place(axis, axis->ticks[i]));
        bool zero = axis->ticks[i] == 0 && axis->low < 0;
        ll_svg_line(svg, zero ? LL_PEN_AXIS : LL_PEN_GRID, area.x, y, area.x + area.width, y);
        ll_svg_text(svg,
                    &(struct ll_svg_style){
                        .x = area.x - LL_GAP, .y = y + 4, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_END},
                    ll_tick(&tick, axis->ticks[i]));
    }
    ll_svg_line(svg, LL_PEN_AXIS, area.x, area.y, area.x, area.y + area.height);
    if (label)
        ll_svg_text(svg,
                    &(struct ll_svg_style){.x = box.x + 11,
                                           .y = area.y + area.height / 2,
                                           .size = LL_TEXT_NORMAL,
                                           .anchor = LL_ANCHOR_MIDDLE,
                                           .turn = -90},
                    label);
    return area;
}

void ll_draw_level(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, double level,
                   const char *name)
{
    if (!(level > 0))
        return;
    double y = area.y + area.height * (1 - ll_axis_place(axis, level));
    ll_svg_line(svg, LL_PEN_INK, area.x, y, area.x + area.width, y);
    if (name)
        ll_svg_text(svg,
                    &(struct ll_svg_style){
                        .x = area.x + area.width, .y = y - 4, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_END},
                    name);
}

void ll_draw_x_axis(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, const char *label)
{
    struct ll_tick_text tick;
    double foot = area.y + area.height;
    for (size_t i = 0; i < axis->tick_count; i++) {
        double x = area.x + area.width * ll_axis_place(axis, axis->ticks[i]);
        ll_svg_line(svg, LL_PEN_GRID, x, area.y, x, foot);
        ll_svg_text(
            svg,
            &(struct ll_svg_style){.x = x, .y = foot + 15, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_MIDDLE},
            ll_tick(&tick, axis->ticks[i]));
    }
    ll_svg_line(svg, LL_PEN_AXIS, area.x, foot, area.x + area.width, foot);
    ll_svg_text(
        svg,
        &(struct ll_svg_style){
            .x = area.x + area.width / 2, .y = foot + 32, .size = LL_TEXT_NORMAL, .anchor = LL_ANCHOR_MIDDLE},
        label);
}

static double widest_of(const char *const *names, size_t count)
{
    double widest = 0;
    for (size_t i = 0; i < count; i++)
        widest = fmax(widest, ll_text_width(names[i], LL_TEXT_SMALL));
    return widest;
}

static bool turned(const char *const *names, size_t count, double slot)
{
    return 1.1 * widest_of(names, count) > slot - 2;
}

double ll_names_height(const char *const *names, size_t count, double slot)
{
    if (!turned(names, count, slot))
        return 20;
    return 1.1 * widest_of(names, count) * TURN_SINE + 20;
}

double ll_names_overhang(const char *const *names, size_t count, double slot)
{
    double most = 0;
    for (size_t i = 0; i < count && turned(names, count, slot); i++) {
        double reach = 1.1 * ll_text_width(names[i], LL_TEXT_SMALL) * TURN_COSINE;
        most = fmax(most, reach - slot * ((double)i + 0.5));
    }
    return most;
}

void ll_draw_names(struct ll_svg *svg, struct ll_rect area, const char *const *names, size_t count)
{
    double slot = area.width / (double)(count ? count : 1), foot = area.y + area.height;
    bool turn = turned(names, count, slot);
    for (size_t i = 0; i < count; i++)
        ll_svg_text(svg,
                    &(struct ll_svg_style){.x = area.x + slot * ((double)i + 0.5) + (turn ? 4 : 0),
                                           .y = foot + (turn ? 12 : 15),
                                           .size = LL_TEXT_SMALL,
                                           .anchor = turn ? LL_ANCHOR_END : LL_ANCHOR_MIDDLE,
                                           .turn = turn ? TURN : 0},
                    names[i]);
    ll_svg_line(svg, LL_PEN_AXIS, area.x, foot, area.x + area.width, foot);
}

/* Panels in rows, a margin around each, the figure's title above. */

enum { MARGIN = 18, TITLE = 34 };

static size_t rows_of(const struct ll_page *page)
{
    return (page->panels + page->columns - 1) / page->columns;
}

void ll_page_open(struct ll_svg *svg, const struct ll_page *page)
{
    double rows = (double)rows_of(page), columns = (double)page->columns;
    ll_svg_open(svg, columns * (page->width + MARGIN) + MARGIN,
                rows * (page->height + MARGIN) + MARGIN + TITLE, page->title, page->about);
    ll_svg_text(svg, &(struct ll_svg_style){.x = MARGIN, .y = MARGIN + 12, .size = LL_TEXT_TITLE + 2},
                page->title);
}

struct ll_rect ll_page_panel(const struct ll_page *page, size_t i)
{
    double row = (double)(i / page->columns), column = (double)(i % page->columns);
    return (struct ll_rect){MARGIN + column * (page->width + MARGIN),
                            MARGIN + TITLE + row * (page->height + MARGIN), page->width, page->height};
}
