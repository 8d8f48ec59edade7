/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing as text: the few shapes that a figure is made of.
 *
 * Lengths are pixels of a page whose origin is its upper left corner; they are written with two decimals, so
 * that the same figure is the same bytes everywhere. A figure brings its own ground and switches with the
 * reader's light or dark theme by CSS alone; it holds no script. Texts are escaped, and bytes that are not
 * UTF-8 or may not stand in XML become U+FFFD.
 *
 * A drawing starts as {.out = str} and belongs to one thread. When memory runs out, out->failed is set. */
#ifndef LL_SIM_REPORT_FIGURE_SVG_H
#define LL_SIM_REPORT_FIGURE_SVG_H

#include "tracer/base/str.h"

#include <stdbool.h>
#include <stddef.h>

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

/* A filled rectangle. The fill is "#rrggbb". */
void ll_svg_rect(struct ll_svg *svg, double x, double y, double width, double height, const char *fill);

struct ll_point {
    double x, y;
};

/* A line through points, in colour and dashes number `series` of the palette. */
void ll_svg_curve(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series);

/* A thin line through points, in colour number `series`; a faint one lets through what lies under it. */
void ll_svg_strand(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series,
                   bool faint);

/* A mark around a point, in shape and colour number `series` of the palette. */
void ll_svg_mark(struct ll_svg *svg, struct ll_point at, size_t series);

/* Dots of this diameter in colour number `series`, each letting through what lies under it. */
void ll_svg_dots(struct ll_svg *svg, const struct ll_point *points, size_t count, double diameter,
                 size_t series);

/* A disc in colour number `series` that lets through what lies under it; `name` is shown when it is pointed
 * at. */
void ll_svg_disc(struct ll_svg *svg, struct ll_point at, double radius, size_t series, const char *name);

/* A closed area, lightly shaded. */
void ll_svg_area(struct ll_svg *svg, const struct ll_point *corners, size_t count);

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

/* Colour i of a palette that colour-blind readers can tell apart, as "#rrggbb"; past its end it begins anew.
 * The first six are Paul Tol's bright scheme (SRON/EPS/TN/09-002, 2021). */
const char *ll_colour(size_t i);
enum { LL_COLOUR_COUNT = 10 };

/* A shade from nearly white (0) to dark blue (1), the sequential scheme Blues of ColorBrewer (Brewer, 2002);
 * NaN is grey. *dark says whether text on it is to be white. */
struct ll_shade {
    char fill[8];
    bool dark;
};
struct ll_shade ll_shade(double part);

/* Appends text for XML or HTML: & < > " escaped, what may not stand there replaced. */
void ll_xml_add(struct ll_str *out, const char *text);

#endif
