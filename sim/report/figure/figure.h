/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: bars, lines, scatter plots, rooflines, heat maps and trees as SVG.
 *
 * A plot is plain data that the caller keeps, drawn into a box of a page (svg.h), so that several plots make
 * one figure. All text of a plot stays in its box; labels that would touch each other are turned. Not a
 * number means that there is nothing to draw. Drawing is pure: same plot, same text.
 *
 * A kind of plot is a struct here and one file plot_*.c; axes and legends are shared (axis.h). */
#ifndef LL_SIM_REPORT_FIGURE_FIGURE_H
#define LL_SIM_REPORT_FIGURE_FIGURE_H

#include "sim/report/figure/svg.h"

struct ll_rect {
    double x, y, width, height;
};

/* A page of panels, `columns` of them side by side, each of this size, with the figure's title above. */
struct ll_page {
    const char *title, *about; /* about: a sentence for readers who hear the page */
    size_t panels, columns;
    double width, height; /* of a panel */
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
    const double *values; /* of group g and series s at g * series_count + s; not negative */
    bool stacked, log;    /* log: the y axis is logarithmic; not with stacked */
    double line;          /* a level to compare with, 0 for none, and what it is called */
    const char *line_name;
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
    bool log; /* the y axis is logarithmic */
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
    const struct ll_curve *curves;
    size_t curve_count;
    bool joined; /* else marks alone: a scatter plot */
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
    size_t series_count;
    double band; /* shaded: y from 1 - band to 1 + band of x */
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
    double share;           /* of all points' time: the disc's area */
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
    /* The unit of the values stands beside the title, which it needs, and behind it what cells without a
     * number are: too small, or what `grey` says in a word or two. NULL: nothing of it, "none". */
    const char *unit, *grey;
    const char *const *rows;
    size_t row_count;
    const char *const *columns;
    size_t column_count;
    const double *values; /* row after row */
    double full;          /* the value that is darkest */
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

#endif
