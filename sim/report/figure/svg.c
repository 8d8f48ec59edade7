/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/figure/figure.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/str.h"

/* The eight slots of the palette on a light and on a dark ground: at least 3 to 1 against it (WCAG 2.2,
 * 1.4.11), and as far apart as they can be under normal, protan, deutan and tritan vision (Machado, Oliveira,
 * Fernandes 2009). */
static const struct {
    const char *light, *dark;
} colours[LL_COLOUR_COUNT] = {{"#1769c2", "#2e68c4"}, {"#c12b02", "#e2751f"}, {"#39a19f", "#67c999"},
                              {"#a579f8", "#c29eff"}, {"#c08602", "#ffd85b"}, {"#164770", "#a2e5ff"},
                              {"#6e6577", "#888ea0"}, {"#77002c", "#c82c4b"}};

/* What follows the reader's theme, light colour first: a reader without light-dark() stays with that. */
static const struct {
    const char *selector, *property, *light, *dark;
} themed[] = {
    {".ll-page,.ll-blank", "fill", "#ffffff", "#16202b"}, {".ll-ink", "fill", "#17212b", "#e8edf2"},
    {".ll-axis", "stroke", "#55616d", "#a3b1be"},         {".ll-grid", "stroke", "#e8e4dc", "#253341"},
    {".ll-stroke", "stroke", "#17212b", "#e8edf2"},       {".ll-band", "fill", "#55616d", "#a3b1be"},
    {".ll-halo,.ll-gap", "stroke", "#ffffff", "#16202b"}};

static const char still[] =
    ".ll-axis,.ll-grid,.ll-gap{stroke-width:1}.ll-stroke{stroke-width:1.5;fill:none}.ll-band{fill-opacity:0."
    "12}\n"
    ".ll-halo{paint-order:stroke;stroke-width:3;stroke-opacity:0.8}.ll-hollow{fill:none;stroke-width:1.6}\n"
    ".ll-text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif}\n"
    "svg:root{color-scheme:light dark}\n";

static void add_themed(struct ll_str *out, const char *property, const char *light, const char *dark)
{
    ll_str_addf(out, "{%s:%s;%s:light-dark(%s,%s)}", property, light, property, light, dark);
}

static void add_style(struct ll_str *out)
{
    ll_str_add(out, "<style>\n");
    ll_str_add(out, still);
    for (size_t i = 0; i < sizeof themed / sizeof *themed; i++) {
        ll_str_add(out, themed[i].selector);
        add_themed(out, themed[i].property, themed[i].light, themed[i].dark);
        ll_str_add(out, "\n");
    }
    for (size_t i = 0; i < LL_COLOUR_COUNT; i++) {
        ll_str_addf(out, ".ll-f%zu", i);
        add_themed(out, "fill", colours[i].light, colours[i].dark);
        ll_str_addf(out, ".ll-c%zu", i);
        add_themed(out, "stroke", colours[i].light, colours[i].dark);
        ll_str_add(out, "\n");
    }
    ll_str_add(out, "</style>\n");
}

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
    add_style(svg->out);
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

void ll_svg_bar(struct ll_svg *svg, struct ll_rect bar, size_t series)
{
    ll_str_addf(svg->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"ll-f%zu\"/>\n",
                bar.x, bar.y, bar.width, bar.height, series % LL_COLOUR_COUNT);
}

/* Strokes from the lower left to the upper right, each cut at the sides of the rectangle. */
void ll_svg_hatch(struct ll_svg *svg, struct ll_rect in)
{
    enum { STEP = 6 };
    double left = in.x, right = in.x + in.width, foot = in.y + in.height;
    ll_str_add(svg->out, "<path class=\"ll-gap\" fill=\"none\" d=\"");
    for (double begin = left - in.height + STEP; begin < right; begin += STEP) {
        double from = fmax(left, begin), to = fmin(right, begin + in.height);
        if (from < to)
            ll_str_addf(svg->out, "M%.2f %.2fL%.2f %.2f", from, foot - (from - begin), to,
                        foot - (to - begin));
    }
    ll_str_add(svg->out, "\"/>\n");
}

void ll_svg_curve(struct ll_svg *svg, const struct ll_point *points, size_t count, size_t series)
{
    static const char *const dashes[] = {"", "7 3", "2 3", "7 3 2 3"};
    const char *dash = dashes[(series + series / LL_COLOUR_COUNT) % 4];
    if (count == 0)
        return;
    ll_str_addf(svg->out,
                "<polyline fill=\"none\" class=\"ll-c%zu\" stroke-width=\"1.75\" stroke-linejoin=\"round\"",
                series % LL_COLOUR_COUNT);
    if (*dash)
        ll_str_addf(svg->out, " stroke-dasharray=\"%s\"", dash);
    ll_str_add(svg->out, " points=\"");
    for (size_t i = 0; i < count; i++)
        ll_str_addf(svg->out, "%s%.2f,%.2f", i ? " " : "", points[i].x, points[i].y);
    ll_str_add(svg->out, "\"/>\n");
}

/* Shapes as offsets from the point, in the order of the palette: square, triangle up, diamond, triangle down;
 * every fifth is a circle. Where series have the same values, the corners of later ones, which lie below, are
 * seen around the earlier ones. */
void ll_svg_mark(struct ll_svg *svg, struct ll_point at, size_t series)
{
    static const double corners[][8] = {{-3, -3, 3, -3, 3, 3, -3, 3},
                                        {0, -5.2, 5, 3.8, -5, 3.8, -5, 3.8},
                                        {0, -5.4, 5.4, 0, 0, 5.4, -5.4, 0},
                                        {0, 5.2, 5, -3.8, -5, -3.8, -5, -3.8}};
    enum { SHAPES = 5 };
    size_t shape = series % SHAPES, colour = series % LL_COLOUR_COUNT;
    if (shape == 0) {
        ll_str_addf(svg->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3.2\" class=\"ll-f%zu\"/>\n", at.x, at.y,
                    colour);
        return;
    }
    const double *c = corners[shape - 1];
    ll_str_addf(svg->out, "<polygon class=\"ll-f%zu\" points=\"%.2f,%.2f %.2f,%.2f %.2f,%.2f %.2f,%.2f\"/>\n",
                colour, at.x + c[0], at.y + c[1], at.x + c[2], at.y + c[3], at.x + c[4], at.y + c[5],
                at.x + c[6], at.y + c[7]);
}

/* Twice: in the colour of the ground, so that it stands out against what it lies on, then thinner. */
void ll_svg_hollow(struct ll_svg *svg, struct ll_point at, enum ll_hollow shape, size_t series)
{
    char stroke[32] = "ll-stroke";
    static const char *const paths[] = {[LL_HOLLOW_CIRCLE] =
                                            "m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0 -11 0z",
                                        [LL_HOLLOW_SQUARE] = "m-5.5 -5.5h11v11h-11z",
                                        [LL_HOLLOW_DIAMOND] = "m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z"};
    assert(shape <= LL_HOLLOW_DIAMOND);
    if (series != LL_INK)
        ll_snprintf(stroke, sizeof stroke, "ll-hollow ll-c%zu", series % LL_COLOUR_COUNT);
    for (int pass = 0; pass < 2; pass++)
        ll_str_addf(svg->out, "<path class=\"%s\"%s d=\"M%.2f %.2f%s\"/>\n", pass ? stroke : "ll-gap",
                    pass ? "" : " style=\"stroke-width:4;fill:none\"", at.x, at.y, paths[shape]);
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

/* ColorBrewer's Blues and Oranges (Brewer, 2002). */
enum { STOPS = 9 };
static const unsigned char blues[STOPS][3] = {{247, 251, 255}, {222, 235, 247}, {198, 219, 239},
                                              {158, 202, 225}, {107, 174, 214}, {66, 146, 198},
                                              {33, 113, 181},  {8, 81, 156},    {8, 48, 107}},
                           oranges[STOPS][3] = {{255, 245, 235}, {254, 230, 206}, {253, 208, 162},
                                                {253, 174, 107}, {253, 141, 60},  {241, 105, 19},
                                                {217, 72, 1},    {166, 54, 3},    {127, 39, 4}};

/* Relative luminance (WCAG 2.2) of a colour of sRGB. */
static double luminance(const unsigned rgb[3])
{
    static const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0;
    for (size_t c = 0; c < 3; c++) {
        double part = rgb[c] / 255.0;
        sum += weights[c] * (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
    }
    return sum;
}

struct ll_shade ll_shade(double part)
{
    enum { LAST = STOPS - 1 };
    static const double even = 0.21; /* white and ink have the same contrast on it */
    const unsigned char(*stops)[3] = part < 0 ? oranges : blues;
    struct ll_shade shade = {.fill = "#bbbbbb"};
    if (isnan(part))
        return shade;
    double place = fmin(1, fabs(part)) * LAST;
    size_t i = place < LAST ? (size_t)place : LAST - 1;
    unsigned rgb[3];
    for (size_t c = 0; c < 3; c++)
        rgb[c] = (unsigned)lround(stops[i][c] + (place - (double)i) * (stops[i + 1][c] - stops[i][c]));
    snprintf(shade.fill, sizeof shade.fill, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
    shade.dark = luminance(rgb) < even;
    return shade;
}

enum { WANTED_TICKS = 5, LINE = 17, SWATCH = 10, PIECE = 27 }; /* of a curve: more than a period of dashes */
#define TICK_HEIGHT 13.0                                       /* of a line of small text */

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

/* The nearest of 1, 2, 5 times a power of ten that is not above a value, or not below it. */
static double round_below(double value)
{
    double power = pow(10, floor(log10(value) + 1e-9)), part = value / power * (1 + 1e-9);
    return power * (part >= 5 ? 5 : part >= 2 ? 2 : 1);
}

static double round_above(double value)
{
    double power = pow(10, floor(log10(value) + 1e-9)), part = value / power * (1 - 1e-9);
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

/* From 1, 2 or 5 times a power of ten to another one, so that the data span the axis. All of these are ticks,
 * or where they are too many whole decades, or every second or third of those. */
static struct ll_axis logarithmic(double low, double high)
{
    enum { MOST_FINE = 10, MOST_DECADES = 9 };
    static const double parts[] = {1, 2, 5};
    if (!(low > 0) || !isfinite(high) || high < low)
        low = high = 1;
    struct ll_axis axis = {.low = round_below(low), .high = round_above(high), .log = true};
    if (axis.high < axis.low * 1.5) {
        axis.low = round_below(axis.low * 0.9);
        axis.high = round_above(axis.high * 1.1);
    }
    int first = (int)floor(log10(axis.low) + 1e-9), last = (int)ceil(log10(axis.high) - 1e-9);
    size_t fine = 0;
    for (int power = first; power <= last; power++)
        for (size_t i = 0; i < 3; i++) {
            double tick = parts[i] * pow(10, power);
            fine += tick >= axis.low * (1 - 1e-9) && tick <= axis.high * (1 + 1e-9);
        }
    int every = fine <= MOST_FINE ? 1 : (last - first) / MOST_DECADES + 1;
    for (int power = first; power <= last; power += every)
        for (size_t i = 0; i < (fine <= MOST_FINE ? 3 : 1); i++) {
            double tick = parts[i] * pow(10, power);
            if (tick >= axis.low * (1 - 1e-9) && tick <= axis.high * (1 + 1e-9) &&
                axis.tick_count < LL_MOST_TICKS)
                axis.ticks[axis.tick_count++] = tick;
        }
    assert(axis.low > 0 && axis.low < axis.high && axis.tick_count > 0);
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

/* "1234567" as "1,234,567", in place; digits behind a point stay. */
static void separate_thousands(char *text, size_t size)
{
    size_t sign = *text == '-', whole = strspn(text + sign, "0123456789") + sign, length = strlen(text);
    for (size_t at = whole; at > sign + 3 && length + 2 < size; length++) {
        at -= 3;
        memmove(text + at + 1, text + at, length - at + 1);
        text[at] = ',';
    }
}

const char *ll_tick(struct ll_tick_text *text, double value)
{
    static const char *const prefixes[] = {"p", "n", "\xC2\xB5", "", "", "", "M", "G", "T", "P"};
    enum { LEAST = -4, MOST = 5 }; /* powers of a thousand that have a prefix */
    int power = value != 0 ? (int)floor(log10(fabs(value)) + 1e-9) : 0;
    int thousands = (int)floor(power / 3.0);
    bool plain = power >= -3 && power < 6;
    if (!plain && (thousands < LEAST || thousands > MOST)) {
        ll_snprintf(text->text, sizeof text->text, "%.3ge%d", value / pow(10, power), power);
        return text->text;
    }
    ll_snprintf(text->text, sizeof text->text, "%.6g", plain ? value : value / pow(1000, thousands));
    separate_thousands(text->text, sizeof text->text);
    if (!plain) {
        size_t length = strlen(text->text);
        ll_snprintf(text->text + length, sizeof text->text - length, " %s", prefixes[thousands - LEAST]);
    }
    return text->text;
}

static struct ll_rect below(struct ll_rect box, double height)
{
    return (struct ll_rect){box.x, box.y + height, box.width, box.height - height};
}

/* The most of a text that fits a width, cut at a space; at least a word. Its bytes; what follows the space
 * begins at *rest. */
static size_t line_of(const char *text, unsigned size, double width, const char **rest)
{
    char line[256];
    size_t taken = strcspn(text, " ");
    for (size_t next = taken; text[next] && next < sizeof line - 1;) {
        next += 1 + strcspn(text + next + 1, " ");
        if (next >= sizeof line)
            break;
        memcpy(line, text, next);
        line[next] = 0;
        if (1.05 * ll_text_width(line, size) > width)
            break;
        taken = next;
    }
    *rest = text + taken + (text[taken] == ' ');
    return taken;
}

/* A text in as many lines as it takes, the first baseline `rise` below the top; what is left of the box. */
static struct ll_rect draw_wrapped(struct ll_svg *svg, struct ll_rect box, const char *text, unsigned size,
                                   double rise, double step)
{
    double y = box.y + rise;
    for (const char *rest = text; *rest; y += step) {
        char line[256];
        const char *begin = rest;
        size_t length = line_of(begin, size, box.width, &rest);
        ll_snprintf(line, sizeof line, "%.*s", (int)length, begin);
        ll_svg_text(svg, &(struct ll_svg_style){.x = box.x, .y = y, .size = size}, line);
    }
    return below(box, y - step - box.y);
}

struct ll_rect ll_draw_title(struct ll_svg *svg, struct ll_rect box, const char *title)
{
    if (!title || !*title)
        return box;
    return below(draw_wrapped(svg, box, title, LL_TEXT_TITLE, 14, 18), 12);
}

struct ll_rect ll_draw_about(struct ll_svg *svg, struct ll_rect box, const char *about)
{
    if (!about || !*about)
        return box;
    return below(draw_wrapped(svg, box, about, LL_TEXT_SMALL, 8, 14), 12);
}

static void draw_swatch(struct ll_svg *svg, double x, double y, double width, size_t i, enum ll_swatch swatch)
{
    const struct ll_point ends[] = {{x, y + 8}, {x + width, y + 8}}, middle = {x + width / 2, y + 8};
    if (swatch == LL_SWATCH_MARK)
        ll_svg_mark(svg, middle, i);
    else if (swatch == LL_SWATCH_CURVE)
        ll_svg_curve(svg, ends, 2, i);
    else if (swatch == LL_SWATCH_DOT)
        ll_str_addf(svg->out,
                    "<path fill=\"none\" class=\"ll-c%zu\" stroke-width=\"8\" stroke-linecap=\"%s\" "
                    "d=\"M%.1f %.1fh0\"/>\n",
                    i % LL_COLOUR_COUNT, i < LL_COLOUR_COUNT ? "round" : "square", middle.x, middle.y);
    else if (swatch == LL_SWATCH_HOLLOW)
        ll_svg_hollow(svg, middle, (enum ll_hollow)i, LL_INK);
    else
        ll_svg_bar(svg, (struct ll_rect){x, y + 3, width, SWATCH}, i);
}

struct ll_rect ll_draw_legends(struct ll_svg *svg, struct ll_rect box, const struct ll_legend *legends,
                               size_t legend_count)
{
    double x = box.x, y = box.y;
    bool any = false;
    for (size_t l = 0; l < legend_count; l++)
        for (size_t i = 0; i < legends[l].count; i++) {
            const char *name = legends[l].names[i];
            double swatch_width = legends[l].swatch == LL_SWATCH_CURVE    ? PIECE
                                  : legends[l].swatch == LL_SWATCH_HOLLOW ? 14
                                                                          : SWATCH;
            if (!name)
                continue;
            double width = swatch_width + 5 + 1.08 * ll_text_width(name, LL_TEXT_NORMAL) + 16;
            if (any && x + width > box.x + box.width) {
                x = box.x;
                y += LINE;
            }
            any = true;
            draw_swatch(svg, x, y, swatch_width, i, legends[l].swatch);
            ll_svg_text(
                svg, &(struct ll_svg_style){.x = x + swatch_width + 5, .y = y + 12, .size = LL_TEXT_NORMAL},
                name);
            x += width;
        }
    return any ? below(box, y - box.y + LINE + LL_GAP) : box;
}

struct ll_rect ll_draw_legend(struct ll_svg *svg, struct ll_rect box, const char *const *names, size_t count,
                              enum ll_swatch swatch)
{
    return ll_draw_legends(svg, box, &(struct ll_legend){names, count, swatch}, 1);
}

/* From where to where a tick's words go along its axis. */
struct span {
    double from, to;
};

/* Which ticks have words, as bits: powers of ten first, then the others, as long as none touches another. */
static unsigned room_for(const struct ll_axis *axis, const struct span *spans)
{
    unsigned shown = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < axis->tick_count; i++) {
            double power = log10(fabs(axis->ticks[i]));
            bool first = !axis->log || fabs(power - round(power)) < 1e-6, free = first == (pass == 0);
            for (size_t k = 0; k < axis->tick_count && free; k++)
                free = !(shown & 1u << k) || spans[i].to <= spans[k].from || spans[k].to <= spans[i].from;
            shown |= free ? 1u << i : 0;
        }
    return shown;
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
    struct span spans[LL_MOST_TICKS];
    for (size_t i = 0; i < axis->tick_count; i++) {
        double y = area.height * ll_axis_place(axis, axis->ticks[i]);
        spans[i] = (struct span){y - TICK_HEIGHT / 2, y + TICK_HEIGHT / 2};
    }
    unsigned shown = room_for(axis, spans);
    for (size_t i = 0; i < axis->tick_count; i++) {
        double y = area.y + area.height * (1 - ll_axis_place(axis, axis->ticks[i]));
        bool zero = axis->ticks[i] == 0 && axis->low < 0;
        ll_svg_line(svg, zero ? LL_PEN_AXIS : LL_PEN_GRID, area.x, y, area.x + area.width, y);
        if (!(shown & 1u << i))
            continue;
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
    struct span spans[LL_MOST_TICKS];
    double foot = area.y + area.height, end = area.x + area.width + 2 * LL_GAP;
    for (size_t i = 0; i < axis->tick_count; i++) {
        double half = 0.54 * ll_text_width(ll_tick(&tick, axis->ticks[i]), LL_TEXT_SMALL);
        double x = fmin(area.x + area.width * ll_axis_place(axis, axis->ticks[i]), end - half);
        spans[i] = (struct span){x - half - 2, x + half + 2};
    }
    unsigned shown = room_for(axis, spans);
    for (size_t i = 0; i < axis->tick_count; i++) {
        double x = area.x + area.width * ll_axis_place(axis, axis->ticks[i]);
        ll_svg_line(svg, LL_PEN_GRID, x, area.y, x, foot);
        if (shown & 1u << i)
            ll_svg_text(svg,
                        &(struct ll_svg_style){.x = (spans[i].from + spans[i].to) / 2,
                                               .y = foot + 15,
                                               .size = LL_TEXT_SMALL,
                                               .anchor = LL_ANCHOR_MIDDLE},
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

/* How names stand below their slots: level, slanted where they are wider than those, upright where slanted
 * ones would touch each other, and only every so many of them where upright ones would. */
struct standing {
    double turn; /* degrees */
    double sine, cosine;
    size_t every;
};

static struct standing standing_of(const char *const *names, size_t count, double slot)
{
    static const struct standing level = {0, 0, 1, 1}, slanted = {-35, 0.574, 0.819, 1},
                                 upright = {-90, 1, 0, 1};
    if (1.1 * widest_of(names, count) <= slot - 2)
        return level;
    if (slot * slanted.sine >= TICK_HEIGHT)
        return slanted;
    struct standing standing = upright;
    standing.every = slot < TICK_HEIGHT ? (size_t)ceil(TICK_HEIGHT / fmax(1, slot)) : 1;
    return standing;
}

double ll_names_height(const char *const *names, size_t count, double slot)
{
    return 1.1 * widest_of(names, count) * standing_of(names, count, slot).sine + 20;
}

double ll_names_overhang(const char *const *names, size_t count, double slot)
{
    struct standing standing = standing_of(names, count, slot);
    double most = 0;
    for (size_t i = 0; i < count && standing.turn != 0; i++) {
        double reach = 1.1 * ll_text_width(names[i], LL_TEXT_SMALL) * standing.cosine + TICK_HEIGHT / 2;
        most = fmax(most, reach - slot * ((double)i + 0.5));
    }
    return most;
}

void ll_draw_names(struct ll_svg *svg, struct ll_rect area, const char *const *names, size_t count)
{
    double slot = area.width / (double)(count ? count : 1), foot = area.y + area.height;
    struct standing standing = standing_of(names, count, slot);
    bool turned = standing.turn != 0;
    for (size_t i = 0; i < count; i += standing.every)
        ll_svg_text(svg,
                    &(struct ll_svg_style){.x = area.x + slot * ((double)i + 0.5) + (turned ? 4 : 0),
                                           .y = foot + (!turned                ? 15
                                                        : standing.cosine == 0 ? 7
                                                                               : 12),
                                           .size = LL_TEXT_SMALL,
                                           .anchor = turned ? LL_ANCHOR_END : LL_ANCHOR_MIDDLE,
                                           .turn = standing.turn},
                    names[i]);
    ll_svg_line(svg, LL_PEN_AXIS, area.x, foot, area.x + area.width, foot);
}

/* Panels in rows, a margin around each, above them the figure's title and what it was made on. */

enum { MARGIN = 18, PAGE_TITLE = LL_TEXT_TITLE + 2, TITLE_LINE = 20, NOTE_LINE = 15, HEAD_GAP = 14 };

static size_t rows_of(const struct ll_page *page)
{
    return (page->panels + page->columns - 1) / page->columns;
}

static double width_of(const struct ll_page *page)
{
    return (double)page->columns * (page->width + MARGIN) + MARGIN;
}

static size_t lines_of(const char *text, unsigned size, double width)
{
    size_t lines = 0;
    for (const char *rest = text; rest && *rest; lines++)
        line_of(rest, size, width, &rest);
    return lines;
}

/* What title and note take, with the gap below them. */
static double head_of(const struct ll_page *page)
{
    double width = width_of(page) - 2 * MARGIN;
    size_t notes = lines_of(page->note, LL_TEXT_NORMAL, width);
    return (double)lines_of(page->title, PAGE_TITLE, width) * TITLE_LINE + (double)notes * NOTE_LINE +
           HEAD_GAP;
}

void ll_page_open(struct ll_svg *svg, const struct ll_page *page)
{
    assert(page->columns > 0);
    double rows = (double)rows_of(page), width = width_of(page);
    struct ll_rect box = {MARGIN, MARGIN, width - 2 * MARGIN, head_of(page)};
    ll_svg_open(svg, width, rows * (page->height + MARGIN) + MARGIN + head_of(page), page->title,
                page->about);
    box = below(draw_wrapped(svg, box, page->title, PAGE_TITLE, 12, TITLE_LINE), TITLE_LINE - 12);
    if (page->note)
        draw_wrapped(svg, box, page->note, LL_TEXT_NORMAL, 10, NOTE_LINE);
}

struct ll_rect ll_page_panel(const struct ll_page *page, size_t i)
{
    assert(page->columns > 0 && i < page->panels);
    double row = (double)(i / page->columns), column = (double)(i % page->columns);
    return (struct ll_rect){MARGIN + column * (page->width + MARGIN),
                            MARGIN + head_of(page) + row * (page->height + MARGIN), page->width,
                            page->height};
}
