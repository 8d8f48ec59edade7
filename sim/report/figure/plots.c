/* SPDX-License-Identifier: Apache-2.0 */
/* Plots on a plain frame: bars, boxes, signed weights, lines, dots and scatter plots; of the designs of a
 * sweep their front, and parallel coordinates. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/figure/figure.h"
#include "tracer/base/str.h"

static double value_at(const struct ll_bars *bars, size_t group, size_t series)
{
    double value = bars->values[group * bars->series_count + series];
    return isfinite(value) ? value : 0;
}

static size_t published_count(const struct ll_bars *bars)
{
    return !bars->published ? 0 : bars->group_count * (bars->stacked ? 1 : bars->series_count);
}

static bool is_any(const double *values, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= isfinite(values[i]);
    return any;
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
            low = value > 0 || !bars->log ? fmin(low, value) : low;
        }
    }
    for (size_t i = 0; i < published_count(bars); i++) {
        double value = bars->published[i];
        high = isfinite(value) ? fmax(high, value) : high;
        low = isfinite(value) && (value > 0 || !bars->log) ? fmin(low, value) : low;
    }
    return ll_axis_for(bars->log ? low / 2 : low, high, bars->log); /* the least bar has a height, too */
}

/* From its foot, which is zero or the part below it, up or down. On a logarithmic axis there is no zero, and
 * only what is positive has a bar, from the bottom. */
static void draw_bar(struct ll_svg *svg, struct ll_rect column, const struct ll_bars *bars,
                     const struct ll_axis *axis, double base, double value, size_t series)
{
    if (bars->log ? value <= 0 : value == 0)
        return;
    double foot = bars->log ? 0 : ll_axis_place(axis, base), head = ll_axis_place(axis, base + value);
    struct ll_rect bar = {column.x, column.y + column.height * (1 - fmax(foot, head)), column.width,
                          fmax(0.5, column.height * fabs(head - foot))};
    ll_svg_bar(svg, bar, series);
    if (!bars->log && value < 0)
        ll_svg_hatch(svg, bar);
}

static void draw_published_bar(struct ll_svg *svg, struct ll_rect column, const struct ll_bars *bars,
                               const struct ll_axis *axis, double value)
{
    if (isfinite(value) && (!bars->log || value > 0))
        ll_svg_hollow(svg,
                      (struct ll_point){column.x + column.width / 2,
                                        column.y + column.height * (1 - ll_axis_place(axis, value))},
                      LL_HOLLOW_DIAMOND, LL_INK);
}

/* A group takes four fifths of its slot; bars side by side share that. */
static void draw_group(struct ll_svg *svg, struct ll_rect area, const struct ll_bars *bars,
                       const struct ll_axis *axis, size_t group)
{
    assert(group < bars->group_count && bars->series_count > 0);
    double slot = area.width / (double)bars->group_count, left = area.x + slot * ((double)group + 0.1);
    double width = 0.8 * slot / (bars->stacked ? 1 : (double)bars->series_count), base = 0;
    for (size_t s = 0; s < bars->series_count; s++) {
        double value = value_at(bars, group, s);
        assert(!bars->stacked || value >= 0);
        struct ll_rect column = {left, area.y, width * (bars->stacked ? 1 : 0.94), area.height};
        draw_bar(svg, column, bars, axis, base, value, s);
        if (bars->published && !bars->stacked)
            draw_published_bar(svg, column, bars, axis, bars->published[group * bars->series_count + s]);
        base += bars->stacked ? value : 0;
        left += bars->stacked ? 0 : width;
    }
    if (bars->published && bars->stacked)
        draw_published_bar(svg, (struct ll_rect){left, area.y, width, area.height}, bars, axis,
                           bars->published[group]);
}

/* Where bars go down, they hang from a line. */
static void draw_zero(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis)
{
    double y = area.y + area.height * (1 - ll_axis_place(axis, 0));
    if (!axis->log && axis->low < 0)
        ll_svg_line(svg, LL_PEN_AXIS, area.x, y, area.x + area.width, y);
}

/* A level across the area, with its name above its right end, or below it where there is no room above;
 * nothing when it is not positive. */
static void draw_level(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, double level,
                       const char *name)
{
    if (!(level > 0))
        return;
    double y = area.y + area.height * (1 - ll_axis_place(axis, level));
    ll_svg_line(svg, LL_PEN_INK, area.x, y, area.x + area.width, y);
    if (name)
        ll_svg_text(svg,
                    &(struct ll_svg_style){.x = area.x + area.width,
                                           .y = y - 4 - LL_TEXT_SMALL < area.y ? y + 13 : y - 4,
                                           .size = LL_TEXT_SMALL,
                                           .anchor = LL_ANCHOR_END,
                                           .halo = true},
                    name);
}

/* Which open mark `published` has in the legends of bars and boxes. */
static const char *const published_names[] = {
    [LL_HOLLOW_CIRCLE] = NULL, NULL, [LL_HOLLOW_DIAMOND] = "published"};
enum { PUBLISHED_NAMES = sizeof published_names / sizeof *published_names };

/* A box for a y axis and an area above slanted names: narrower by what these reach out of it to the left. */
static struct ll_rect beside_names(struct ll_rect box, const char *const *names, size_t count)
{
    enum { AXIS = 60 }; /* about what the y axis takes */
    double over = ll_names_overhang(names, count, (box.width - AXIS) / (double)(count ? count : 1)) - AXIS;
    over = fmin(fmax(0, over), box.width / 2);
    return (struct ll_rect){box.x + over, box.y, box.width - over, box.height};
}

void ll_draw_bars(struct ll_svg *svg, struct ll_rect box, const struct ll_bars *bars)
{
    assert(!bars->stacked || !bars->log);
    struct ll_axis axis = axis_of(bars);
    bool published = is_any(bars->published, published_count(bars));
    const struct ll_legend legends[] = {
        {bars->series, bars->series_count > 1 ? bars->series_count : 0, LL_SWATCH_SQUARE},
        {published_names, published ? PUBLISHED_NAMES : 0, LL_SWATCH_HOLLOW}};
    box = ll_draw_title(svg, box, bars->title);
    box = beside_names(ll_draw_legends(svg, box, legends, 2), bars->groups, bars->group_count);
    double slot = (box.width - 60) / (double)(bars->group_count ? bars->group_count : 1);
    double bottom = ll_names_height(bars->groups, bars->group_count, slot);
    struct ll_rect area = ll_draw_y_axis(svg, box, bottom, &axis, bars->y_label);
    for (size_t g = 0; g < bars->group_count; g++)
        draw_group(svg, area, bars, &axis, g);
    draw_zero(svg, area, &axis);
    draw_level(svg, area, &axis, bars->line, bars->line_name);
    ll_draw_names(svg, area, bars->groups, bars->group_count);
}

enum { LOWEST, LOW, MIDDLE, HIGH, HIGHEST };

static struct ll_axis axis_of_boxes(const struct ll_boxes *boxes)
{
    struct ll_range range = LL_NO_RANGE;
    for (size_t i = 0; i < boxes->count; i++) {
        ll_range_take(&range, boxes->boxes[i].at[LOWEST]);
        ll_range_take(&range, boxes->boxes[i].at[HIGHEST]);
        for (int p = LOWEST; boxes->published && p <= HIGHEST; p++)
            ll_range_take(&range, boxes->published[i].at[p]);
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
    ll_svg_bar(svg, (struct ll_rect){centre - slot / 4, y[HIGH], slot / 2, fmax(0.5, y[LOW] - y[HIGH])}, 0);
    ll_svg_rect(svg, centre - slot / 4, y[MIDDLE] - 1, slot / 2, 2, "#ffffff");
}

/* Beside the box, so that neither covers the other. */
static void draw_published_five(struct ll_svg *svg, struct ll_rect area, const struct ll_boxes *boxes,
                                const struct ll_axis *axis, size_t i)
{
    double slot = area.width / (double)boxes->count, x = area.x + slot * ((double)i + 0.86);
    for (int p = LOWEST; p <= HIGHEST; p++) {
        double value = boxes->published[i].at[p];
        if (isfinite(value) && (!axis->log || value > 0))
            ll_svg_hollow(svg, (struct ll_point){x, area.y + area.height * (1 - ll_axis_place(axis, value))},
                          LL_HOLLOW_DIAMOND, LL_INK);
    }
}

void ll_draw_boxes(struct ll_svg *svg, struct ll_rect box, const struct ll_boxes *boxes)
{
    struct ll_axis axis = axis_of_boxes(boxes);
    bool published = false;
    for (size_t i = 0; i < boxes->count && boxes->published; i++)
        published |= is_any(boxes->published[i].at, HIGHEST + 1);
    box = ll_draw_title(svg, box, boxes->title);
    if (published)
        box =
            ll_draw_legend(svg, box,
                           (const char *const[]){NULL, NULL,
                                                 boxes->published_name ? boxes->published_name
                                                                       : published_names[LL_HOLLOW_DIAMOND]},
                           PUBLISHED_NAMES, LL_SWATCH_HOLLOW);
    box = beside_names(box, boxes->names, boxes->count);
    double slot = (box.width - 60) / (double)(boxes->count ? boxes->count : 1);
    double bottom = ll_names_height(boxes->names, boxes->count, slot);
    struct ll_rect area = ll_draw_y_axis(svg, box, bottom, &axis, boxes->y_label);
    for (size_t i = 0; i < boxes->count; i++) {
        draw_box(svg, area, boxes, &axis, i);
        if (boxes->published)
            draw_published_five(svg, area, boxes, &axis, i);
    }
    ll_draw_names(svg, area, boxes->names, boxes->count);
}

/* Bars that go to both sides of zero, a group a name, from the top down. */

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
    double middle = area.x + area.width / 2;
    struct ll_axis axis = {.low = -reach, .high = reach};
    for (int i = -TICKS; i <= TICKS; i++)
        axis.ticks[axis.tick_count++] = reach * i / TICKS;
    ll_draw_x_axis(svg, area, &axis, label);
    ll_svg_line(svg, LL_PEN_AXIS, middle, area.y, middle, area.y + area.height);
}

static void draw_weights_group(struct ll_svg *svg, struct ll_rect area, const struct ll_weights *weights,
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
        struct ll_rect bar = {value < 0 ? middle - length : middle, top + 0.1 * slot + height * (double)s,
                              length, 0.94 * height};
        if (length > 0)
            ll_svg_bar(svg, bar, s);
        if (length > 0 && value < 0)
            ll_svg_hatch(svg, bar);
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
        draw_weights_group(svg, area, weights, g, reach);
}

enum { PIECE = 512 }; /* points drawn by one element; the next piece begins with the last point */

/* Where the data is one number, it lies in the middle of a linear axis. */
static struct ll_axis axis_of_lines(struct ll_range *range, double wanted, bool log, bool centred)
{
    if (centred && !log && range->low == range->high && range->least == 0)
        wanted = wanted > 0 ? wanted : 2 * range->high;
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

/* Along a curve, each of whose values holds up to the next point, and back along the one before it, or along
 * the foot. */
static void draw_area(struct ll_svg *svg, struct ll_rect area, const struct ll_lines *lines, size_t which,
                      const struct ll_axis *x, const struct ll_axis *y)
{
    const struct ll_curve *curve = &lines->curves[which], *below = which ? curve - 1 : NULL;
    ll_str_addf(svg->out, "<polygon class=\"ll-f%zu\" points=\"", which % LL_COLOUR_COUNT);
    for (size_t i = 0; i < curve->count; i++) {
        struct ll_point at = place(area, x, y, curve->x[i], curve->y[i]);
        struct ll_point until = place(area, x, y, curve->x[i + 1 < curve->count ? i + 1 : i], curve->y[i]);
        ll_str_addf(svg->out, "%.2f,%.2f %.2f,%.2f ", at.x, at.y, until.x, until.y);
    }
    for (size_t i = curve->count; i-- > 0;) {
        double value = below ? below->y[i] : y->low;
        struct ll_point until = place(area, x, y, curve->x[i + 1 < curve->count ? i + 1 : i], value);
        struct ll_point at = place(area, x, y, curve->x[i], value);
        ll_str_addf(svg->out, "%.2f,%.2f %.2f,%.2f%s", until.x, until.y, at.x, at.y, i ? " " : "");
    }
    ll_str_add(svg->out, "\"/>\n");
}

/* Open marks in the colour of the curve, below all curves: a mark of these lies in an open one, and covers
 * none of it. */
static void draw_published(struct ll_svg *svg, struct ll_rect area, const struct ll_lines *lines,
                           const struct ll_axis *x, const struct ll_axis *y)
{
    for (size_t p = 0; p < lines->published_count; p++) {
        const struct ll_curve *curve = &lines->published[p];
        for (size_t i = 0; i < curve->count; i++)
            if (drawable(curve, i, lines))
                ll_svg_hollow(svg, place(area, x, y, curve->x[i], curve->y[i]),
                              (enum ll_hollow)(p / lines->curve_count), p % lines->curve_count);
    }
}

static void take_curves(const struct ll_curve *curves, size_t count, struct ll_range *x, struct ll_range *y)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < curves[i].count; k++) {
            ll_range_take(x, curves[i].x[k]);
            ll_range_take(y, curves[i].y[k]);
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

enum { MOST_NAMED = 24, ROUNDS = LL_HOLLOW_DIAMOND + 1 };

/* Curves, and a round of open marks by what the first of its curves with a name is called. */
static struct ll_rect draw_legends_of_lines(struct ll_svg *svg, struct ll_rect box,
                                            const struct ll_lines *lines)
{
    const char *names[MOST_NAMED], *rounds[ROUNDS] = {NULL};
    enum ll_swatch swatch = lines->areas ? LL_SWATCH_SQUARE : LL_SWATCH_MARK;
    size_t named = lines->curve_count < MOST_NAMED ? lines->curve_count : MOST_NAMED;
    for (size_t i = 0; i < named; i++) {
        names[i] = lines->curves[i].name;
        if (names[i] && !lines->areas && !marked(lines, &lines->curves[i]))
            swatch = LL_SWATCH_CURVE;
    }
    for (size_t p = 0; p < lines->published_count; p++) {
        const char **name = &rounds[p / lines->curve_count];
        *name = *name || lines->published[p].count == 0 ? *name : lines->published[p].name;
    }
    const struct ll_legend legends[] = {{names, named, swatch}, {rounds, ROUNDS, LL_SWATCH_HOLLOW}};
    return ll_draw_legends(svg, box, legends, 2);
}

void ll_draw_lines(struct ll_svg *svg, struct ll_rect box, const struct ll_lines *lines)
{
    assert(lines->published_count <= ROUNDS * lines->curve_count);
    struct ll_range x = LL_NO_RANGE, y = LL_NO_RANGE;
    ll_range_take(&y, lines->line);
    take_curves(lines->curves, lines->curve_count, &x, &y);
    take_curves(lines->published, lines->published_count, &x, &y);
    struct ll_axis x_axis = axis_of_lines(&x, lines->x_high, lines->x_log, true);
    struct ll_axis y_axis = axis_of_lines(&y, lines->y_high, lines->y_log, false);
    box = ll_draw_title(svg, box, lines->title);
    box = draw_legends_of_lines(svg, box, lines);
    struct ll_rect area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &y_axis, lines->y_label);
    ll_draw_x_axis(svg, area, &x_axis, lines->x_label);
    if (lines->diagonal)
        draw_diagonal(svg, area, &x_axis, &y_axis);
    draw_published(svg, area, lines, &x_axis, &y_axis);
    for (size_t i = lines->curve_count; i-- > 0;) {
        if (lines->areas)
            draw_area(svg, area, lines, i, &x_axis, &y_axis);
        else
            draw_curve(svg, area, lines, i, &x_axis, &y_axis);
    }
    draw_level(svg, area, &y_axis, lines->line, lines->line_name);
}

enum { CELLS = 768, DOTS_PIECE = 512 }; /* along both sides of an area; dots of one element */

static bool holds(const struct ll_axis *axis, double value)
{
    return isfinite(value) && (!axis->log || value > 0);
}

static bool axes_hold(const struct ll_axis *x, const struct ll_axis *y, double x_value, double y_value)
{
    return holds(x, x_value) && holds(y, y_value);
}

/* Where a point of two values lies, and whether it has a place. */
static struct ll_point axes_point(struct ll_rect area, const struct ll_axis *x, const struct ll_axis *y,
                                  double x_value, double y_value)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(x, x_value),
                             area.y + area.height * (1 - ll_axis_place(y, y_value))};
}

/* Whether the cell of a point is taken for the first time; always, when there is no memory to know. */
static bool first_in_cell(unsigned char *taken, const struct ll_axis *x, const struct ll_axis *y,
                          double x_value, double y_value)
{
    size_t column = (size_t)(ll_axis_place(x, x_value) * (CELLS - 1));
    size_t row = (size_t)(ll_axis_place(y, y_value) * (CELLS - 1));
    bool first = !taken || !taken[row * CELLS + column];
    if (taken)
        taken[row * CELLS + column] = 1;
    return first;
}

/* The fewer there are, the larger, so that three are seen and thousands do not become one spot. */
static double diameter_for(size_t count)
{
    return count <= 30 ? 7 : count <= 300 ? 5 : 3;
}

/* Dots of this diameter in colour number `series`, square past the end of the palette, each letting through
 * what lies under it. */
static void svg_dots(struct ll_svg *svg, const struct ll_point *points, size_t count, double diameter,
                     size_t series)
{
    if (count == 0)
        return;
    ll_str_addf(svg->out,
                "<path fill=\"none\" class=\"ll-c%zu\" stroke-opacity=\"0.7\" stroke-width=\"%.0f\" "
                "stroke-linecap=\"%s\" d=\"",
                series % LL_COLOUR_COUNT, diameter, series < LL_COLOUR_COUNT ? "round" : "square");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "M%.1f %.1fh0", points[i].x, points[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

/* A closed area, lightly shaded. */
static void svg_area(struct ll_svg *svg, const struct ll_point *corners, size_t count)
{
    ll_str_add(svg->out, "<polygon class=\"ll-band\" points=\"");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "%s%.2f,%.2f", i ? " " : "", corners[i].x, corners[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

/* The points of a curve as dots in colour number `series`; where thousands of them lie on one spot, one dot
 * is drawn. What has no place on the axes is left out. */
static void draw_dots(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *x,
                      const struct ll_axis *y, const struct ll_curve *curve, size_t series)
{
    struct ll_point points[DOTS_PIECE];
    size_t count = 0;
    unsigned char *taken = calloc(CELLS, CELLS);
    for (size_t i = 0; i < curve->count; i++) {
        if (!axes_hold(x, y, curve->x[i], curve->y[i]) ||
            !first_in_cell(taken, x, y, curve->x[i], curve->y[i]))
            continue;
        points[count++] = axes_point(area, x, y, curve->x[i], curve->y[i]);
        if (count == DOTS_PIECE) {
            svg_dots(svg, points, count, diameter_for(curve->count), series);
            count = 0;
        }
    }
    svg_dots(svg, points, count, diameter_for(curve->count), series);
    free(taken);
}

/* A scatter plot around the diagonal. */

static bool drawable_point(const struct ll_curve *series, size_t i)
{
    return isfinite(series->x[i]) && isfinite(series->y[i]) && series->x[i] > 0 && series->y[i] > 0;
}

/* One axis for both directions: all values find room. */
static struct ll_axis common_axis(const struct ll_scatter *scatter)
{
    double low = INFINITY, high = 0;
    for (size_t s = 0; s < scatter->series_count; s++)
        for (size_t i = 0; i < scatter->series[s].count; i++)
            if (drawable_point(&scatter->series[s], i)) {
                low = fmin(low, fmin(scatter->series[s].x[i], scatter->series[s].y[i]));
                high = fmax(high, fmax(scatter->series[s].x[i], scatter->series[s].y[i]));
            }
    return ll_axis_for(low, high, true);
}

static struct ll_point place_point(struct ll_rect area, const struct ll_axis *axis, double x, double y)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(axis, x),
                             area.y + area.height * (1 - ll_axis_place(axis, y))};
}

static void draw_band(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, double band)
{
    double low = axis->low, high = axis->high, above = 1 + band, below = 1 - band;
    const struct ll_point corners[] = {
        place_point(area, axis, low, low),           place_point(area, axis, low, low * above),
        place_point(area, axis, high / above, high), place_point(area, axis, high, high),
        place_point(area, axis, high, high * below), place_point(area, axis, low / below, low)};
    svg_area(svg, corners, sizeof corners / sizeof *corners);
    ll_svg_line(svg, LL_PEN_AXIS, area.x, area.y + area.height, area.x + area.width, area.y);
}

void ll_draw_scatter(struct ll_svg *svg, struct ll_rect box, const struct ll_scatter *scatter)
{
    const char *names[MOST_NAMED];
    size_t named = scatter->series_count < MOST_NAMED ? scatter->series_count : MOST_NAMED;
    struct ll_axis axis = common_axis(scatter);
    for (size_t i = 0; i < named; i++)
        names[i] = scatter->series[i].name;
    box = ll_draw_title(svg, box, scatter->title);
    box = ll_draw_about(svg, box, scatter->about);
    box = ll_draw_legend(svg, box, names, named, LL_SWATCH_DOT);
    struct ll_rect area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &axis, scatter->y_label);
    ll_draw_x_axis(svg, area, &axis, scatter->x_label);
    draw_band(svg, area, &axis, scatter->band);
    for (size_t i = 0; i < scatter->series_count; i++)
        draw_dots(svg, area, &axis, &axis, &scatter->series[i], i);
}

/* Plots of designs: the Pareto front with its stairs, and parallel coordinates. */

enum {
    FRONT,
    FIRST_MARKED,
    ALL = 6,
    DESIGNS_PIECE = 256
}; /* colours, that of all being grey; corners of an element */

static void widen(struct ll_range *range, const struct ll_curve *curve, bool is_x)
{
    for (size_t i = 0; i < curve->count; i++)
        ll_range_take(range, is_x ? curve->x[i] : curve->y[i]);
}

static struct ll_axis axis_of_front(const struct ll_front *front, bool is_x)
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
    struct ll_point corners[DESIGNS_PIECE];
    size_t count = 0;
    for (size_t i = 0; i < front->count; i++) {
        if (!axes_hold(x, y, front->x[i], front->y[i]))
            continue;
        struct ll_point next = axes_point(area, x, y, front->x[i], front->y[i]);
        if (count > 0) {
            corners[count] = (struct ll_point){next.x, corners[count - 1].y};
            count++;
        }
        corners[count++] = next;
        if (count + 2 > DESIGNS_PIECE) {
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
        if (axes_hold(x, y, curve->x[i], curve->y[i]))
            ll_svg_mark(svg, axes_point(area, x, y, curve->x[i], curve->y[i]), series);
}

void ll_draw_front(struct ll_svg *svg, struct ll_rect box, const struct ll_front *front)
{
    enum { MOST_FRONT_MARKS = 60 }; /* of the front: where there are more, the stairs are enough */
    const char *names[ALL] = {[FRONT] = front->front.name};
    struct ll_axis x = axis_of_front(front, true), y = axis_of_front(front, false);
    for (size_t m = 0; m < front->marked_count && FIRST_MARKED + m < ALL; m++)
        names[FIRST_MARKED + m] = front->marked[m].name;
    box = ll_draw_title(svg, box, front->title);
    box = ll_draw_about(svg, box, front->about);
    box = ll_draw_legend(svg, box, names, ALL, LL_SWATCH_MARK);
    struct ll_rect area = ll_draw_y_axis(svg, box, LL_X_AXIS_HEIGHT, &y, front->y_label);
    ll_draw_x_axis(svg, area, &x, front->x_label);
    draw_dots(svg, area, &x, &y, &front->all, ALL);
    draw_stairs(svg, area, &x, &y, &front->front);
    if (front->front.count <= MOST_FRONT_MARKS)
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
static double reach_of_upright(const struct ll_upright *upright, const struct ll_axis *axis)
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
    double left = (reach_of_upright(&strands->axes[0], &axes[0]) - width * half) / (1 - half);
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

/* A thin line through points, in colour number `series`; a faint one lets through what lies under it. */
static void svg_strand(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series,
                       bool faint)
{
    ll_str_addf(svg->out, "<path fill=\"none\" class=\"ll-c%zu\" stroke-opacity=\"%s\" d=\"",
                series % LL_COLOUR_COUNT, faint ? "0.15" : "0.8");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "%c%.1f %.1f", i ? 'L' : 'M', points[i].x, points[i].y);
    ll_str_add(svg->out, "\"/>\n");
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
    svg_strand(svg, points, count, strands->series[i], strands->series[i] == strands->faint);
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
