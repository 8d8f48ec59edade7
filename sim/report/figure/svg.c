/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/svg.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ".ll-page{fill:#ffffff}.ll-ink{fill:#1f2328}\n"
    ".ll-axis{stroke:#57606a;stroke-width:1}.ll-grid{stroke:#d8dee4;stroke-width:1}\n"
    ".ll-stroke{stroke:#1f2328;stroke-width:1.5;fill:none}.ll-band{fill:#57606a;fill-opacity:0.12}\n"
    ".ll-halo{paint-order:stroke;stroke:#ffffff;stroke-width:3;stroke-opacity:0.8}\n"
    ".ll-text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".ll-page{fill:#16191d}.ll-ink{fill:#e6e8ea}\n"
    ".ll-axis{stroke:#9aa4ae}.ll-grid{stroke:#343a41}.ll-stroke{stroke:#e6e8ea}\n"
    ".ll-halo{stroke:#16191d}}\n"
    "</style>\n";

/* Bytes of the UTF-8 character at p that may stand in XML, 0 when there is none. */
static size_t character(const unsigned char *p)
{
    if (p[0] < 0x80)
        return p[0] >= 0x20 || p[0] == '\n' || p[0] == '\t' ? 1 : 0;
    size_t length = p[0] >= 0xC2 && p[0] <= 0xDF   ? 2
                    : (p[0] & 0xF0) == 0xE0        ? 3
                    : p[0] >= 0xF0 && p[0] <= 0xF4 ? 4
                                                   : 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    if (length < 3)
        return length;
    uint32_t code = length == 3
                        ? (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)
                        : (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    uint32_t least = length == 3 ? 0x800 : 0x10000;
    bool surrogate = code >= 0xD800 && code <= 0xDFFF, none = code == 0xFFFE || code == 0xFFFF;
    return code < least || code > 0x10FFFF || surrogate || none ? 0 : length;
}

void ll_xml_add(struct ll_str *out, const char *text)
{
    static const struct {
        char byte;
        const char *entity;
    } escaped[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    for (const char *p = text; *p;) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
            if (*p == escaped[i].byte)
                entity = escaped[i].entity;
        size_t length = character((const unsigned char *)p);
        if (entity)
            ll_str_add(out, entity);
        else if (length)
            ll_str_add_bytes(out, p, length);
        else
            ll_str_add(out, "\xEF\xBF\xBD");
        p += length ? length : 1;
    }
}

void ll_svg_open(struct ll_svg *svg, double width, double height, const char *title, const char *about)
{
    ll_str_addf(
        svg->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "role=\"img\">\n<title>",
        width, height, width, height);
    ll_xml_add(svg->out, title);
    ll_str_add(svg->out, "</title>\n<desc>");
    ll_xml_add(svg->out, about);
    ll_str_add(svg->out, "</desc>\n");
    ll_str_add(svg->out, style);
    ll_str_addf(svg->out, "<rect class=\"ll-page\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
}

void ll_svg_close(struct ll_svg *svg)
{
    ll_str_add(svg->out, "</svg>\n");
}

void ll_svg_line(struct ll_svg *svg, enum ll_pen pen, double x1, double y1, double x2, double y2)
{
    static const char *const classes[] = {
        [LL_PEN_AXIS] = "ll-axis", [LL_PEN_GRID] = "ll-grid", [LL_PEN_INK] = "ll-stroke"};
    ll_str_addf(svg->out, "<line class=\"%s\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\"/>\n",
                classes[pen], x1, y1, x2, y2);
}

void ll_svg_rect(struct ll_svg *svg, double x, double y, double width, double height, const char *fill)
{
    ll_str_addf(svg->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x, y,
                width, height, fill);
}

/* Tol's bright scheme, then three that keep their distance from it. */
static const char *const colours[LL_COLOUR_COUNT] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
                                                     "#aa3377", "#777777", "#e69f00", "#44aa99", "#997700"};

const char *ll_colour(size_t i)
{
    return colours[i % LL_COLOUR_COUNT];
}

void ll_svg_curve(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series)
{
    static const char *const dashes[] = {"", "7 3", "2 3", "7 3 2 3"};
    if (count == 0)
        return;
    ll_str_addf(svg->out,
                "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.75\" stroke-linejoin=\"round\"",
                ll_colour(series));
    if (*dashes[series % 4])
        ll_str_addf(svg->out, " stroke-dasharray=\"%s\"", dashes[series % 4]);
    ll_str_add(svg->out, " points=\"");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "%s%.2f,%.2f", i ? " " : "", points[i].x, points[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

void ll_svg_strand(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series, bool faint)
{
    ll_str_addf(svg->out, "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"%s\" d=\"", ll_colour(series),
                faint ? "0.15" : "0.8");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "%c%.1f %.1f", i ? 'L' : 'M', points[i].x, points[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

void ll_svg_dots(struct ll_svg *svg, const struct ll_point *points, size_t count, double diameter,
                 size_t series)
{
    if (count == 0)
        return;
    ll_str_addf(svg->out,
                "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\"0.55\" stroke-width=\"%.0f\" "
                "stroke-linecap=\"round\" d=\"",
                ll_colour(series), diameter);
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "M%.1f %.1fh0", points[i].x, points[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

void ll_svg_disc(struct ll_svg *svg, struct ll_point at, double radius, size_t series, const char *name)
{
    ll_str_addf(svg->out,
                "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"%s\" fill-opacity=\"0.6\" stroke=\"%s\">"
                "<title>",
                at.x, at.y, radius, ll_colour(series), ll_colour(series));
    ll_xml_add(svg->out, name);
    ll_str_add(svg->out, "</title></circle>\n");
}

void ll_svg_area(struct ll_svg *svg, const struct ll_point *corners, size_t count)
{
    ll_str_add(svg->out, "<polygon class=\"ll-band\" points=\"");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "%s%.2f,%.2f", i ? " " : "", corners[i].x, corners[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

/* Shapes as offsets from the point, in the order of the palette: square, triangle up, diamond, triangle down;
 * every fifth is a circle. */
void ll_svg_mark(struct ll_svg *svg, struct ll_point at, size_t series)
{
    static const double corners[][8] = {{-3, -3, 3, -3, 3, 3, -3, 3},
                                        {0, -4, 4, 3, -4, 3, -4, 3},
                                        {0, -4.2, 4.2, 0, 0, 4.2, -4.2, 0},
                                        {0, 4, 4, -3, -4, -3, -4, -3}};
    enum { SHAPES = 5 };
    size_t shape = series % SHAPES;
    if (shape == 0) {
        ll_str_addf(svg->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.2\" fill=\"%s\"/>\n", at.x, at.y,
                    ll_colour(series));
        return;
    }
    const double *c = corners[shape - 1];
    ll_str_addf(svg->out, "<polygon fill=\"%s\" points=\"%.2f,%.2f %.2f,%.2f %.2f,%.2f %.2f,%.2f\"/>\n",
                ll_colour(series), at.x + c[0], at.y + c[1], at.x + c[2], at.y + c[3], at.x + c[4],
                at.y + c[5], at.x + c[6], at.y + c[7]);
}

void ll_svg_text(struct ll_svg *svg, const struct ll_svg_style *how, const char *text)
{
    static const char *const anchors[] = {
        [LL_ANCHOR_START] = "start", [LL_ANCHOR_MIDDLE] = "middle", [LL_ANCHOR_END] = "end"};
    ll_str_addf(svg->out,
                "<text class=\"ll-text%s%s\" x=\"%.2f\" y=\"%.2f\" font-size=\"%u\" text-anchor=\"%s\"",
                how->fill ? "" : " ll-ink", how->halo ? " ll-halo" : "", how->x, how->y, how->size,
                anchors[how->anchor]);
    if (how->size >= LL_TEXT_TITLE)
        ll_str_add(svg->out, " font-weight=\"bold\"");
    if (how->fill)
        ll_str_addf(svg->out, " fill=\"%s\"", how->fill);
    if (how->turn != 0)
        ll_str_addf(svg->out, " transform=\"rotate(%.0f %.2f %.2f)\"", how->turn, how->x, how->y);
    ll_str_add(svg->out, ">");
    ll_xml_add(svg->out, text);
    ll_str_add(svg->out, "</text>\n");
}

/* Widths of Helvetica in thousandths of its size, from the space on (Adobe's metrics of the standard faces).
 */
static const unsigned short helvetica[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

double ll_text_width(const char *text, unsigned size)
{
    double thousandths = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p >= ' ' && *p < 0x7F)
            thousandths += helvetica[*p - ' '];
        else if ((*p & 0xC0) != 0x80)
            thousandths += 556;
    double bold = size >= LL_TEXT_TITLE ? 1.07 : 1;
    return thousandths * size / 1000 * bold;
}

struct ll_shade ll_shade(double part)
{
    static const unsigned char stops[][3] = {{247, 251, 255}, {222, 235, 247}, {198, 219, 239},
                                             {158, 202, 225}, {107, 174, 214}, {66, 146, 198},
                                             {33, 113, 181},  {8, 81, 156},    {8, 48, 107}};
    enum { LAST = sizeof stops / sizeof *stops - 1 };
    struct ll_shade shade = {.fill = "#bbbbbb"};
    if (isnan(part))
        return shade;
    double place = fmin(1, fmax(0, part)) * LAST;
    size_t i = place < LAST ? (size_t)place : LAST - 1;
    unsigned rgb[3];
    for (size_t c = 0; c < 3; c++)
        rgb[c] = (unsigned)lround(stops[i][c] + (place - (double)i) * (stops[i + 1][c] - stops[i][c]));
    snprintf(shade.fill, sizeof shade.fill, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    shade.dark = part > 0.5;
    return shade;
}
