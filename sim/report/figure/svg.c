/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/figure.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/str.h"

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
    assert(pen <= LL_PEN_INK);
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
    assert(how->anchor <= LL_ANCHOR_END);
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
    assert(axis.low < axis.high);
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
    assert(axis.low > 0 && axis.low < axis.high);
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
    assert(axis->low < axis->high);
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
    assert(page->columns > 0 && i < page->panels);
    double row = (double)(i / page->columns), column = (double)(i % page->columns);
    return (struct ll_rect){MARGIN + column * (page->width + MARGIN),
                            MARGIN + TITLE + row * (page->height + MARGIN), page->width, page->height};
}
