/* SPDX-License-Identifier: Apache-2.0 */
/* A roofline (Williams, Waterman, Patterson, 2009): both axes logarithmic, so that a memory's bandwidth is a
 * line that rises by one decade a decade until it meets the highest unit. A unit's peak is a level from where
 * the fastest memory meets it. */
#include "sim/report/figure/figure.h"

#include <math.h>

enum { NAMED = 8, MOST_TEXTS = 1024, MOST_DISCS = 256, TEXT_HEIGHT = 13, LARGEST = 34, LEAST = 2 };
#define SMALL_SHARE 0.001 /* the last points that together take less of the time do not stretch the axes */

struct plane {
    struct ll_rect area;
    struct ll_axis x, y;
    struct ll_rect texts[MOST_TEXTS]; /* where they stand already; a slanted one as squares along it */
    size_t text_count;
    struct ll_rect discs[MOST_DISCS]; /* those that a text is not to cover */
    size_t disc_count;
};

static struct ll_point place(const struct plane *plane, double intensity, double rate)
{
    return (struct ll_point){plane->area.x + plane->area.width * ll_axis_place(&plane->x, intensity),
                             plane->area.y + plane->area.height * (1 - ll_axis_place(&plane->y, rate))};
}

static bool drawable(const struct ll_work_point *point)
{
    return isfinite(point->intensity) && isfinite(point->rate) && point->intensity > 0 && point->rate > 0;
}

static double highest(const struct ll_roof *roofs, size_t count)
{
    double height = 0;
    for (size_t i = 0; i < count; i++)
        height = fmax(height, roofs[i].height);
    return height;
}

static double share_of_all(const struct ll_roofline *roofline)
{
    double share = 0;
    for (size_t i = 0; i < roofline->point_count; i++)
        share += drawable(&roofline->points[i]) ? roofline->points[i].share : 0;
    return share;
}

/* Points find room, but for the last ones, and where memories meet units. */
static void find_axes(const struct ll_roofline *roofline, struct plane *plane)
{
    double all = share_of_all(roofline), left = all;
    double x_low = INFINITY, x_high = 0, y_low = INFINITY,
           y_high = highest(roofline->units, roofline->unit_count);
    for (size_t i = 0; i < roofline->point_count; i++) {
        const struct ll_work_point *point = &roofline->points[i];
        if (!drawable(point) || left < SMALL_SHARE * all)
            continue;
        left -= point->share;
        x_low = fmin(x_low, point->intensity);
        x_high = fmax(x_high, point->intensity);
        y_low = fmin(y_low, point->rate);
        y_high = fmax(y_high, point->rate);
    }
    for (size_t i = 0; i < roofline->memory_count && y_high > 0; i++) {
        x_low = fmin(x_low, y_high / roofline->memories[i].height);
        x_high = fmax(x_high, y_high / roofline->memories[i].height);
    }
    y_low = fmin(y_low, y_high);
    plane->x = ll_axis_for(x_low / 1.3, 2 * x_high, true); /* discs have a radius */
    plane->y = ll_axis_for(y_low / 1.5, 1.5 * y_high, true);
}

static bool overlap(struct ll_rect a, struct ll_rect b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/* Whether a box of text lies in the area and on no other text, and on no disc unless it may. */
static bool is_free(const struct plane *plane, struct ll_rect box, bool on_discs)
{
    bool free = box.x > plane->area.x && box.x + box.width <= plane->area.x + plane->area.width + 1 &&
                box.y > plane->area.y - TEXT_HEIGHT &&
                box.y + box.height < plane->area.y + plane->area.height;
    for (size_t i = 0; free && i < plane->text_count; i++)
        free = !overlap(box, plane->texts[i]);
    for (size_t i = 0; free && !on_discs && i < plane->disc_count; i++)
        free = !overlap(box, plane->discs[i]);
    return free;
}

/* Square i of a text that begins at a point and runs in a direction; the next one covers half of it. */
static struct ll_rect square(struct ll_point begin, double c, double s, size_t i)
{
    double along = (double)i * TEXT_HEIGHT / 2,
           across = -TEXT_HEIGHT / 3.0; /* from the baseline to the middle */
    return (struct ll_rect){begin.x + along * c - across * s - TEXT_HEIGHT / 2.0,
                            begin.y + along * s + across * c - TEXT_HEIGHT / 2.0, TEXT_HEIGHT, TEXT_HEIGHT};
}

/* Along its line, above it or else below it, at the first place from the left on that is free. */
static void name_memory(struct ll_svg *svg, struct plane *plane, struct ll_point from, struct ll_point to,
                        const char *name)
{
    static const double baselines[] = {-5, TEXT_HEIGHT + 1}; /* across the line */
    double rise = atan2(to.y - from.y, to.x - from.x), c = cos(rise), s = sin(rise);
    double whole = hypot(to.x - from.x, to.y - from.y), length = 1.08 * ll_text_width(name, LL_TEXT_SMALL);
    size_t squares = (size_t)(2 * length / TEXT_HEIGHT) + 1;
    for (size_t side = 0; side < 2; side++)
        for (double at = 0.06 * whole; at + length < whole + TEXT_HEIGHT; at += TEXT_HEIGHT / 3.0) {
            struct ll_point begin = {from.x + at * c - baselines[side] * s,
                                     from.y + at * s + baselines[side] * c};
            bool free = plane->text_count + squares <= MOST_TEXTS;
            for (size_t i = 0; i < squares && free; i++)
                free = is_free(plane, square(begin, c, s, i), false);
            if (!free)
                continue;
            for (size_t i = 0; i < squares; i++)
                plane->texts[plane->text_count++] = square(begin, c, s, i);
            ll_svg_text(svg,
                        &(struct ll_svg_style){.x = begin.x,
                                               .y = begin.y,
                                               .size = LL_TEXT_SMALL,
                                               .turn = rise * 180 / acos(-1),
                                               .halo = true},
                        name);
            return;
        }
}

/* From the left or lower edge to where the line meets the highest unit; false when it is not to be seen. */
static bool memory_line(const struct plane *plane, const struct ll_roof *memory, double top,
                        struct ll_point *from, struct ll_point *to)
{
    double left = fmax(plane->x.low, plane->y.low / memory->height),
           right = fmin(plane->x.high, top / memory->height);
    *from = place(plane, left, left * memory->height);
    *to = place(plane, right, right * memory->height);
    return left < right;
}

/* Puts a text to the left of a place on its line, unless it would leave the area or touch another. */
static bool put_text(struct ll_svg *svg, struct plane *plane, double right, double line, bool on_discs,
                     const char *text)
{
    double width = 1.1 * ll_text_width(text, LL_TEXT_SMALL);
    struct ll_rect box = {right - width, line - TEXT_HEIGHT + 3, width, TEXT_HEIGHT};
    if (plane->text_count == MOST_TEXTS || !is_free(plane, box, on_discs))
        return false;
    plane->texts[plane->text_count++] = box;
    ll_svg_text(svg,
                &(struct ll_svg_style){
                    .x = right, .y = line, .size = LL_TEXT_SMALL, .anchor = LL_ANCHOR_END, .halo = true},
                text);
    return true;
}

/* From where the fastest memory meets the unit to the right edge. */
static void unit_line(const struct plane *plane, const struct ll_roof *unit, double fastest,
                      struct ll_point *from, struct ll_point *to)
{
    double ridge = fastest > 0 ? fmax(plane->x.low, unit->height / fastest) : plane->x.low;
    *from = place(plane, ridge, unit->height);
    *to = place(plane, plane->x.high, unit->height);
}

static void draw_unit(struct ll_svg *svg, const struct plane *plane, const struct ll_roof *unit,
                      double fastest)
{
    struct ll_point from, to;
    unit_line(plane, unit, fastest, &from, &to);
    ll_svg_line(svg, LL_PEN_INK, from.x, from.y, to.x, to.y);
}

/* Whether the line of a unit would go through a text with this baseline, or its descenders. */
static bool struck(const struct plane *plane, const struct ll_roofline *roofline, double baseline)
{
    bool hit = false;
    for (size_t i = 0; i < roofline->unit_count; i++) {
        double y = place(plane, plane->x.high, roofline->units[i].height).y;
        hit |= y < baseline + 3 && y > baseline - TEXT_HEIGHT + 3;
    }
    return hit;
}

/* The name stands on the line, or below it where another line is close above, at the right end or where there
 * is room to the left of others. */
static void name_unit(struct ll_svg *svg, struct plane *plane, const struct ll_roofline *roofline,
                      const struct ll_roof *unit, double fastest)
{
    struct ll_point from, to;
    unit_line(plane, unit, fastest, &from, &to);
    double above = to.y - 4, below = to.y + TEXT_HEIGHT,
           line = struck(plane, roofline, above) && !struck(plane, roofline, below) ? below : above;
    for (int on_discs = 0; on_discs < 2; on_discs++)
        for (double right = to.x; right > from.x; right -= TEXT_HEIGHT)
            if (put_text(svg, plane, right, line, on_discs, unit->name))
                return;
}

static bool in_plane(const struct plane *plane, const struct ll_work_point *point)
{
    return drawable(point) && point->intensity >= plane->x.low && point->intensity <= plane->x.high &&
           point->rate >= plane->y.low && point->rate <= plane->y.high;
}

static double radius_of(const struct ll_work_point *point)
{
    return fmax(LEAST, LARGEST * sqrt(point->share));
}

/* On its disc, above or below it: the first of these that is free and that no unit's line goes through, else
 * the first that is free. */
static void name_point(struct ll_svg *svg, struct plane *plane, const struct ll_roofline *roofline,
                       const struct ll_work_point *point)
{
    struct ll_point at = place(plane, point->intensity, point->rate);
    double right = at.x + 0.55 * ll_text_width(point->name, LL_TEXT_SMALL), radius = radius_of(point);
    double baselines[] = {at.y + 4, at.y - radius - 3, at.y + radius + TEXT_HEIGHT - 2};
    for (int crossed = 0; crossed < 2; crossed++)
        for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++)
            if ((crossed || !struck(plane, roofline, baselines[i])) &&
                put_text(svg, plane, right, baselines[i], true, point->name))
                return;
}

/* A disc in colour number `series` that lets through what lies under it; `name` is shown when it is pointed
 * at. */
static void svg_disc(struct ll_svg *svg, struct ll_point at, double radius, size_t series, const char *name)
{
    ll_str_addf(svg->out,
                "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" class=\"ll-f%zu ll-c%zu\" "
                "fill-opacity=\"0.6\"><title>",
                at.x, at.y, radius, series % LL_COLOUR_COUNT, series % LL_COLOUR_COUNT);
    ll_xml_add(svg->out, name);
    ll_str_add(svg->out, "</title></circle>\n");
}

static void draw_points(struct ll_svg *svg, struct plane *plane, const struct ll_roofline *roofline)
{
    enum { LARGE = 4 }; /* pixels of radius */
    for (size_t i = 0; i < roofline->point_count; i++) {
        const struct ll_work_point *point = &roofline->points[i];
        if (!in_plane(plane, point))
            continue;
        struct ll_point at = place(plane, point->intensity, point->rate);
        double radius = radius_of(point);
        svg_disc(svg, at, radius, point->series, point->name);
        if (radius > LARGE && plane->disc_count < MOST_DISCS)
            plane->discs[plane->disc_count++] =
                (struct ll_rect){at.x - radius, at.y - radius, 2 * radius, 2 * radius};
    }
}

static void name_points(struct ll_svg *svg, struct plane *plane, const struct ll_roofline *roofline)
{
    for (size_t i = 0; i < roofline->point_count && i < NAMED; i++)
        if (in_plane(plane, &roofline->points[i]))
            name_point(svg, plane, roofline, &roofline->points[i]);
}

double ll_roofline_shown(const struct ll_roofline *roofline)
{
    struct plane plane = {.text_count = 0};
    double share = 0;
    find_axes(roofline, &plane);
    for (size_t i = 0; i < roofline->point_count; i++)
        share += in_plane(&plane, &roofline->points[i]) ? roofline->points[i].share : 0;
    return share;
}

void ll_draw_roofline(struct ll_svg *svg, struct ll_rect box, const struct ll_roofline *roofline)
{
    struct plane plane = {.text_count = 0};
    double top = highest(roofline->units, roofline->unit_count),
           fastest = highest(roofline->memories, roofline->memory_count);
    find_axes(roofline, &plane);
    box = ll_draw_title(svg, box, roofline->title);
    box = ll_draw_about(svg, box, roofline->about);
    box = ll_draw_legend(svg, box, roofline->series, roofline->series_count, LL_SWATCH_SQUARE);
    plane.area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &plane.y, "FLOP/s");
    ll_draw_x_axis(svg, plane.area, &plane.x, "FLOP/byte");
    struct ll_point from, to;
    for (size_t i = 0; i < roofline->memory_count; i++)
        if (memory_line(&plane, &roofline->memories[i], top, &from, &to))
            ll_svg_line(svg, LL_PEN_INK, from.x, from.y, to.x, to.y);
    for (size_t i = 0; i < roofline->unit_count; i++)
        draw_unit(svg, &plane, &roofline->units[i], fastest);
    draw_points(svg, &plane, roofline);
    for (size_t i = 0; i < roofline->memory_count; i++)
        if (memory_line(&plane, &roofline->memories[i], top, &from, &to))
            name_memory(svg, &plane, from, to, roofline->memories[i].name);
    for (size_t i = 0; i < roofline->unit_count; i++)
        name_unit(svg, &plane, roofline, &roofline->units[i], fastest);
    name_points(svg, &plane, roofline);
}
