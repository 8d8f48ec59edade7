/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: bars, lines, scatter plots, rooflines, heat maps and trees as SVG.
 *
 * A plot is plain data that the caller keeps, drawn into a box of a page, so that several plots make
 * one figure. All text of a plot stays in its box; labels that would touch each other are turned. Not a
 * number means that there is nothing to draw. Drawing is pure: same plot, same text.
 *
 * The page comes first: shapes and texts (svg.c). Then each kind of plot, a struct and a function (plots.c,
 * plot_tables.c, plot_roofline.c); then axes and legends, which these share (svg.c). Other rooms draw plots,
 * not shapes. */
#ifndef LL_SIM_REPORT_FIGURE_FIGURE_H
#define LL_SIM_REPORT_FIGURE_FIGURE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "tracer/base/str.h"

/* Drawing as text: the few shapes that a figure is made of.
 *
 * Lengths are pixels of a page whose origin is its upper left corner; they are written with two decimals, so
 * that the same figure is the same bytes everywhere. A figure brings its own ground and switches with the
 * reader's light or dark theme by CSS alone; it holds no script. Texts are escaped, and bytes that are not
 * UTF-8 or may not stand in XML become U+FFFD.
 *
 * A drawing starts as {.out = str} and belongs to one thread. When memory runs out, out->failed is set. */

struct ll_svg {
    struct ll_str *out;
};

/* Opens a page with a ground; title and description are for readers who hear it. Then ll_svg_close. */
void ll_svg_open(struct ll_svg *svg, double width, double height, const char *title, const char *about);
void ll_svg_close(struct ll_svg *svg);

/* How a thing of the frame looks; colours follow the theme. Data has colours of its own, see below. */
enum ll_pen { LL_PEN_AXIS, LL_PEN_GRID, LL_PEN_INK };

/* A straight stroke. */
void ll_svg_line(struct ll_svg *svg, enum ll_pen pen, double x1, double y1, double x2, double y2);

struct ll_point {
    double x, y;
};

struct ll_rect {
    double x, y, width, height;
};

/* A filled rectangle. The fill is "#rrggbb". */
void ll_svg_rect(struct ll_svg *svg, double x, double y, double width, double height, const char *fill);

/* A rectangle in colour number `series` of the palette; strokes in the colour of the ground across it. */
void ll_svg_bar(struct ll_svg *svg, struct ll_rect bar, size_t series);
void ll_svg_hatch(struct ll_svg *svg, struct ll_rect in);

/* A line through points, in colour and dashes number `series` of the palette. */
void ll_svg_curve(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series);

/* A mark around a point, in shape and colour number `series` of the palette. */
void ll_svg_mark(struct ll_svg *svg, struct ll_point at, size_t series);

/* An open mark around a point in colour number `series`, wider than the others, so that one of them stays
 * visible in it: what is published, over what was computed. */
#define LL_INK ((size_t)-1) /* instead of a colour of the palette */
enum ll_hollow { LL_HOLLOW_CIRCLE, LL_HOLLOW_SQUARE, LL_HOLLOW_DIAMOND };
void ll_svg_hollow(struct ll_svg *svg, struct ll_point at, enum ll_hollow shape, size_t series);

enum ll_anchor { LL_ANCHOR_START, LL_ANCHOR_MIDDLE, LL_ANCHOR_END };
enum { LL_TEXT_SMALL = 11, LL_TEXT_NORMAL = 12, LL_TEXT_TITLE = 14 };

struct ll_svg_style {
    double x, y;   /* of the baseline, where the anchor says */
    unsigned size; /* LL_TEXT_...; a title is bold */
    enum ll_anchor anchor;
    double turn;      /* degrees, clockwise, about the anchor */
    const char *fill; /* "#rrggbb"; NULL: the ink of the theme */
    bool halo;        /* stands out against what lies below it */
};

/* One line of text. */
void ll_svg_text(struct ll_svg *svg, const struct ll_svg_style *how, const char *text);

/* How wide a text is in Helvetica or a face of its widths; characters beyond ASCII count as wide as an `n`.
 */
double ll_text_width(const char *text, unsigned size);

/* Colours of a palette that colour-blind readers can tell apart, as classes of a figure: "ll-fN" fills,
 * "ll-cN" strokes, N below this. Past its end it begins anew. */
enum { LL_COLOUR_COUNT = 8 };

/* A shade from nearly white (0) to dark blue (1), or to dark orange (-1): ColorBrewer's Blues and Oranges
 * (Brewer, 2002); NaN is grey. `dark` says whether text on it is to be white. */
struct ll_shade {
    char fill[8];
    bool dark;
};
struct ll_shade ll_shade(double part);

/* Appends text for XML or HTML: & < > " escaped, what may not stand there replaced. */
void ll_xml_add(struct ll_str *out, const char *text);

/* Plots. */

/* A page of panels, `columns` of them side by side, each of this size, with the figure's title above. */
struct ll_page {
    const char *title, *about; /* about: a sentence for readers who hear the page */
    size_t panels, columns;
    double width, height; /* of a panel */
    const char *note;     /* below the title: on which machine, with what; NULL: none */
};

/* Opens the page (close it with ll_svg_close), and says where panel i lies. */
void ll_page_open(struct ll_svg *svg, const struct ll_page *page);
struct ll_rect ll_page_panel(const struct ll_page *page, size_t i);

/* Groups of bars along the x axis, a colour for each series: side by side, or stacked. */
struct ll_bars {
    const char *title, *y_label; /* title NULL: none. The label names quantity and unit */
    const char *const *groups;
    size_t group_count;
    const char *const *series;
    size_t series_count;
    const double *values; /* of group g and series s at g * series_count + s; negative ones hang from zero */
    bool stacked, log;    /* stacked: none is negative; log: of the y axis, not with stacked */
    double line;          /* a level to compare with, 0 for none, and what it is called */
    const char *line_name;
    /* What is published, as of `values`, an open mark over the bar; of stacked bars as of groups, over the
     * stack. NaN: nothing. NULL: none of it. */
    const double *published;
};
void ll_draw_bars(struct ll_svg *svg, struct ll_rect box, const struct ll_bars *bars);

/* Distributions side by side: a box from the second to the fourth of five rising numbers with a line at the
 * third, and whiskers to the first and the last. */
struct ll_five {
    double at[5];
};
struct ll_boxes {
    const char *title, *y_label; /* as of bars */
    const char *const *names;
    const struct ll_five *boxes;
    size_t count;
    bool log;                        /* the y axis is logarithmic */
    const struct ll_five *published; /* of each box, open marks at those that are numbers; NULL: none */
    const char *published_name;      /* what is published; NULL: "published" */
};
void ll_draw_boxes(struct ll_svg *svg, struct ll_rect box, const struct ll_boxes *boxes);

/* Curves, or marks alone, over a number. */
struct ll_curve {
    const char *name; /* in the legend; NULL: not there */
    const double *x, *y;
    size_t count;
};
struct ll_lines {
    const char *title, *x_label, *y_label;
    const struct ll_curve *curves; /* earlier ones lie over later ones */
    size_t curve_count;
    /* What is published, as open marks around those of the curves: entry i in the colour of curve i, past the
     * last one again from the first, in another shape. The first entry of such a round that has a name and
     * points names it in the legend. */
    const struct ll_curve *published;
    size_t published_count; /* at most three times as many as curves */
    bool joined;            /* else marks alone: a scatter plot */
    bool areas; /* joined as stairs, and filled down to the curve before, which is nowhere above it */
    bool x_log, y_log;
    /* Where the axes end; 0: where the data ends. They begin at 0, or at the data if log. */
    double x_high, y_high;
    double line; /* as of bars */
    const char *line_name;
    bool diagonal; /* a line where x and y are equal, on axes of one kind */
};
void ll_draw_lines(struct ll_svg *svg, struct ll_rect box, const struct ll_lines *lines);

/* What was said against what is: points around the diagonal, both axes logarithmic and of one length. */
struct ll_scatter {
    const char *title, *about; /* about: a line below the title; NULL: none */
    const char *x_label, *y_label;
    const struct ll_curve *series; /* not positive values are left out */
    size_t series_count;           /* those past LL_COLOUR_COUNT are squares, the others discs */
    double band;                   /* shaded: y from 1 - band to 1 + band of x */
};
void ll_draw_scatter(struct ll_svg *svg, struct ll_rect box, const struct ll_scatter *scatter);

/* Rates over intensities under the roofs of a machine: what memories let pass (rate = intensity times
 * bandwidth), and what units can do at most. */
struct ll_roof {
    const char *name;
    double height; /* operations a second; of a memory: bytes a second */
};
struct ll_work_point {
    double intensity, rate; /* operations a byte, operations a second; left out when not positive */
    double share;           /* part of all points' time, which the disc's area shows */
    size_t series;
    const char *name;
};
struct ll_roofline {
    const char *title, *about; /* about: a line below the title; NULL: none */
    const struct ll_roof *memories, *units;
    size_t memory_count, unit_count;
    const struct ll_work_point
        *points; /* by share, the largest first: these are named, where there is room */
    size_t point_count;
    const char *const *series; /* for the legend; NULL: not there */
    size_t series_count;
};
void ll_draw_roofline(struct ll_svg *svg, struct ll_rect box, const struct ll_roofline *roofline);

/* What points that are drawn have together of all points' share. Pure. */
double ll_roofline_shown(const struct ll_roofline *roofline);

/* A matrix as shaded cells with their values, where these fit and do not round to zero; grey where there is
 * none. */
struct ll_heat {
    const char *title;
    /* The unit of the values stands below the title, behind a scale of the shades, and behind it what cells
     * without a number are: too small, or what `grey` says in a word or two. NULL: no unit, "none". */
    const char *unit, *grey;
    const char *const *rows;
    size_t row_count;
    const char *const *columns;
    size_t column_count;
    const double *values; /* row after row */
    double full;          /* the value that is darkest */
    double
        middle; /* 0: shades begin at zero. Else of ratios, that of equals: shades go to both sides of it, as
                      logarithms, as far as to full / middle; cells below it have a marked corner */
    unsigned decimals;
};
void ll_draw_heat(struct ll_svg *svg, struct ll_rect box, const struct ll_heat *heat);

/* What was found in two objectives, less of both being better, and the stairs of what nothing beats. */
struct ll_front {
    const char *title, *about; /* about: a line below the title; NULL: none */
    const char *x_label, *y_label;
    struct ll_curve all, front;    /* all as grey dots without a name; the front by ascending x */
    const struct ll_curve *marked; /* drawn over both: where things are that have names */
    size_t marked_count;           /* at most 5 */
    bool x_log, y_log;
};
void ll_draw_front(struct ll_svg *svg, struct ll_rect box, const struct ll_front *front);

/* Values of either sign as bars to both sides of zero, groups from the top down. */
struct ll_weights {
    const char *title, *about, *x_label;
    const char *const *names; /* of the groups */
    size_t name_count;
    const char *const *series;
    size_t series_count;
    const double *values; /* of group g and series s at g * series_count + s */
};
void ll_draw_weights(struct ll_svg *svg, struct ll_rect box, const struct ll_weights *weights);

/* Parallel coordinates: upright axes, a line across all of them for each thing. */
enum { LL_MOST_UPRIGHTS = 24 };
struct ll_upright {
    const char *name;
    const double *values;     /* of thing i */
    const char *const *names; /* then values are indices of these, from 0 */
    size_t name_count;        /* 0: values are numbers */
    bool log;
};
struct ll_strands {
    const char *title, *about;
    const struct ll_upright *axes;
    size_t axis_count; /* from 2 to LL_MOST_UPRIGHTS */
    const size_t *series;
    size_t faint;             /* the series that lies in the background */
    size_t strand_count;      /* later ones lie over earlier ones; what has no place on an axis is left out */
    const char *const *names; /* of the series, for the legend; NULL: not there */
    size_t name_count;
};
void ll_draw_strands(struct ll_svg *svg, struct ll_rect box, const struct ll_strands *strands);

/* A dendrogram: leaves 0 .. leaf_count - 1 to the left, merge i makes cluster leaf_count + i. */
struct ll_merge {
    size_t left, right;
    double distance;
};
struct ll_tree {
    const char *title, *x_label;
    const char *const *leaves;
    size_t leaf_count;
    const struct ll_merge *merges; /* leaf_count - 1 */
    double x_high;                 /* where the axis ends; 0: at the greatest distance */
};
void ll_draw_tree(struct ll_svg *svg, struct ll_rect box, const struct ll_tree *tree);

/* What plots share: scales with round ticks, the frame, the legend. For plots alone. */

enum { LL_MOST_TICKS = 16, LL_GAP = 6 };

/* A scale from low to high. Linear ones begin at 0, or below it where values do, and both ends are ticks;
 * logarithmic ones reach from 1, 2 or 5 times a power of ten to another. */
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
/* A tick in the fewest digits: 0.05, 20,000, 1.5 M, 50 µ. */
const char *ll_tick(struct ll_tick_text *text, double value);

/* The title at the top of a box, in as many lines as it takes; what is left of the box below it. */
struct ll_rect ll_draw_title(struct ll_svg *svg, struct ll_rect box, const char *title);

/* Small letters there, likewise; NULL: none. */
struct ll_rect ll_draw_about(struct ll_svg *svg, struct ll_rect box, const char *about);

/* A legend of names in as many lines as it takes, each behind a square, a mark or a piece of a curve as those
 * of its number look; an open mark is the shape of its number. Names that are NULL are left out. What is left
 * of the box below it. */
enum ll_swatch { LL_SWATCH_SQUARE, LL_SWATCH_MARK, LL_SWATCH_DOT, LL_SWATCH_CURVE, LL_SWATCH_HOLLOW };
struct ll_rect ll_draw_legend(struct ll_svg *svg, struct ll_rect box, const char *const *names, size_t count,
                              enum ll_swatch swatch);

/* Several of them, one behind the other. */
struct ll_legend {
    const char *const *names;
    size_t count;
    enum ll_swatch swatch;
};
struct ll_rect ll_draw_legends(struct ll_svg *svg, struct ll_rect box, const struct ll_legend *legends,
                               size_t legend_count);

/* The y axis with grid and label to the left of what is left of the box, which is returned; bottom pixels
 * are kept free below for the x axis. */
struct ll_rect ll_draw_y_axis(struct ll_svg *svg, struct ll_rect box, double bottom,
                              const struct ll_axis *axis, const char *label);

/* The x axis below the plot area, with grid. */
void ll_draw_x_axis(struct ll_svg *svg, struct ll_rect area, const struct ll_axis *axis, const char *label);
enum { LL_X_AXIS_HEIGHT = 38 };

/* How much room names need below `slot` pixels each, and drawing them there: turned when they do not fit, and
 * some left out where even upright ones would touch each other. */
double ll_names_height(const char *const *names, size_t count, double slot);
/* How far turned names reach out of their area to the left. */
double ll_names_overhang(const char *const *names, size_t count, double slot);
void ll_draw_names(struct ll_svg *svg, struct ll_rect area, const char *const *names, size_t count);

#endif
