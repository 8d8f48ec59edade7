/* SPDX-License-Identifier: Apache-2.0 */
/* What plots share: scales with round ticks, the frame, the legend. Private to sim/report/figure. */
#ifndef LL_SIM_REPORT_FIGURE_AXIS_H
#define LL_SIM_REPORT_FIGURE_AXIS_H

#include "sim/report/figure/figure.h"

#include <math.h>

enum { LL_MOST_TICKS = 16, LL_GAP = 6 };

/* A scale from low to high, both ticks; linear ones begin at 0, or below it where values do. */
struct ll_axis {
    double low, high;
    bool log;
    double ticks[LL_MOST_TICKS];
    size_t tick_count;
};

/* The axis on which values from low to high find room. A logarithmic one looks at positive values only, a
 * linear one at low only where it is negative. */
struct ll_axis ll_axis_for(double low, double high, bool log);

/* What values are taken into account so far; begins as LL_NO_RANGE. */
struct ll_range {
    double least, low, high; /* low: the least that is positive; the others hold 0 in any case */
    bool broken;             /* not all of them are whole numbers */
};
#define LL_NO_RANGE ((struct ll_range){.low = INFINITY})

/* One more value; what is not finite has no place on an axis. */
void ll_range_take(struct ll_range *range, double value);

/* The axis for them. Between whole numbers there are no ticks on a linear one. */
struct ll_axis ll_range_axis(const struct ll_range *range, bool log);

/* Where a value lies, from 0 to 1; outside values are clamped. */
double ll_axis_place(const struct ll_axis *axis, double value);

struct ll_tick_text {
    char text[24];
};
/* A tick in the fewest digits: 0.05, 20000, 1.5e6. */
const char *ll_tick(struct ll_tick_text *text, double value);

/* The title at the top of a box; what is left of the box below it. */
struct ll_rect ll_draw_title(struct ll_svg *svg, struct ll_rect box, const char *title);

/* A line in small letters there; NULL: none. */
struct ll_rect ll_draw_about(struct ll_svg *svg, struct ll_rect box, const char *about);

/* A legend of names in as many lines as it takes, each behind a square, a mark or a piece of a curve as those
 * of its number look; names that are NULL are left out. What is left of the box below it. */
enum ll_swatch { LL_SWATCH_SQUARE, LL_SWATCH_MARK, LL_SWATCH_CURVE };
struct ll_rect ll_draw_legend(struct ll_svg *svg, struct ll_rect box, const char *const *names, size_t count,
                              enum ll_swatch swatch);

/* The y axis with grid and label to the left of what is left of the box, which is returned; bottom pixels
 * are kept free below for the x axis. */
struct ll_rect ll_draw_y_axis(struct ll_svg *svg, struct ll_rect box, double bottom,
                              const struct ll_axis *axis, const char *label);

/* A level across the area, with its name above its right end; nothing when it is not positive. */
void ll_draw_level(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, double level,
                   const char *name);

/* The x axis below the plot area, with grid. */
void ll_draw_x_axis(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, const char *label);
enum { LL_X_AXIS_HEIGHT = 38 };

/* The points of a curve as dots in colour number `series`; where thousands of them lie on one spot, one dot
 * is drawn. What has no place on the axes is left out. */
void ll_draw_dots(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *x, const struct ll_axis *y,
                  const struct ll_curve *curve, size_t series);

/* Where a point of two values lies, and whether it has a place. */
struct ll_point ll_axes_point(struct ll_rect area, const struct ll_axis *x, const struct ll_axis *y,
                              double x_value, double y_value);
bool ll_axes_hold(const struct ll_axis *x, const struct ll_axis *y, double x_value, double y_value);

/* How much room names need below `slot` pixels each, and drawing them there: turned when they do not fit. */
double ll_names_height(const char *const *names, size_t count, double slot);
/* How far turned names reach out of their area to the left. */
double ll_names_overhang(const char *const *names, size_t count, double slot);
void ll_draw_names(struct ll_svg *svg, struct ll_rect area, const char *const *names, size_t count);

#endif
