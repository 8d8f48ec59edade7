/* SPDX-License-Identifier: Apache-2.0 */
/* Plots of tables and trees: heat maps, and dendrograms of clusters. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/report/figure/figure.h"
#include "tracer/base/str.h"

/* Half of the last digit: what is less would read as zero. */
static double half_digit(const struct ll_heat *heat)
{
    return 0.5 * pow(10, -(double)heat->decimals);
}

static bool is_small(const struct ll_heat *heat, double value)
{
    return fabs(value) < half_digit(heat);
}

/* A triangle in the upper left corner, in the ink of the cell's text. */
static void draw_corner(struct ll_svg *svg, struct ll_rect cell, bool dark)
{
    double x = cell.x + 0.5, y = cell.y + 0.5, side = fmin(7, fmin(cell.width, cell.height) / 2);
    ll_str_addf(svg->out, "<polygon fill=\"%s\" points=\"%.2f,%.2f %.2f,%.2f %.2f,%.2f\"/>\n",
                dark ? "#ffffff" : "#17212b", x, y, x + side, y, x, y + side);
}

/* From -1 or 0 to 1, as ll_shade takes it. */
static double part_of(const struct ll_heat *heat, double value)
{
    if (!(heat->middle > 0))
        return value < 0 ? 0 : value / heat->full;
    return log(value / heat->middle) / log(heat->full / heat->middle);
}

static void draw_cell(struct ll_svg *svg, struct ll_rect cell, const struct ll_heat *heat, double value)
{
    char text[32];
    struct ll_shade shade = ll_shade(part_of(heat, value));
    ll_svg_rect(svg, cell.x + 0.5, cell.y + 0.5, cell.width - 1, cell.height - 1, shade.fill);
    if (value < heat->middle)
        draw_corner(svg, cell, shade.dark);
    if (isnan(value) || is_small(heat, value))
        return;
    ll_snprintf(text, sizeof text, "%.*f", (int)heat->decimals, value);
    if (ll_text_width(text, LL_TEXT_SMALL) > cell.width || cell.height < LL_TEXT_SMALL)
        return;
    ll_svg_text(svg,
                &(struct ll_svg_style){.x = cell.x + cell.width / 2,
                                       .y = cell.y + cell.height / 2 + 4,
                                       .size = LL_TEXT_SMALL,
                                       .anchor = LL_ANCHOR_MIDDLE,
                                       .fill = shade.dark ? "#ffffff" : "#17212b"},
                text);
}

/* The unit, and what cells without a number are. */
static const char *about_of(const struct ll_heat *heat, char *text, size_t size)
{
    char below[64] = "";
    bool small = false, missing = false, less = false;
    for (size_t i = 0; i < heat->row_count * heat->column_count; i++) {
        missing |= isnan(heat->values[i]);
        small |= is_small(heat, heat->values[i]);
        less |= heat->values[i] < heat->middle;
    }
    if (small)
        ll_snprintf(below, sizeof below, "; blank: below %.*f", (int)heat->decimals + 1, half_digit(heat));
    if (less)
        ll_snprintf(below + strlen(below), sizeof below - strlen(below), "; marked corner: below %g",
                    heat->middle);
    ll_snprintf(text, size, "%s%s%s%s", heat->unit ? heat->unit : "", below, missing ? "; grey: " : "",
                !missing     ? ""
                : heat->grey ? heat->grey
                             : "none");
    return *text == ';' ? text + 2 : text;
}

/* A word of the scale; where it ends. */
static double draw_word(struct ll_svg *svg, double x, double y, const char *text)
{
    ll_svg_text(svg, &(struct ll_svg_style){.x = x, .y = y + 10, .size = LL_TEXT_SMALL}, text);
    return x + 1.08 * ll_text_width(text, LL_TEXT_SMALL) + 4;
}

/* Enough for the name of a shade. */
static double two_digits(double value)
{
    double power = value > 0 ? pow(10, floor(log10(value)) - 1) : 1;
    return round(value / power) * power;
}

/* "0 [shades] 30 [shades] 60 % of peak; blank: ...", as far as there is room. */
static struct ll_rect draw_scale(struct ll_svg *svg, struct ll_rect box, const struct ll_heat *heat)
{
    enum { HALVES = 2, PARTS = 5, PART = 9, HEIGHT = 20 };
    char about[200];
    bool ratios = heat->middle > 0;
    double ends[] = {ratios ? heat->middle * heat->middle / heat->full : 0,
                     ratios ? heat->middle : heat->full / 2, heat->full};
    double x = box.x;
    if (box.width < 120 || !(heat->full > heat->middle))
        return box;
    for (int half = 0; half <= HALVES; half++) {
        struct ll_tick_text text;
        x = draw_word(svg, x, box.y, ll_tick(&text, two_digits(ends[half])));
        for (int part = 0; part < PARTS && half < HALVES; part++, x += PART) {
            double place = (half + (part + 0.5) / PARTS) / HALVES;
            ll_svg_rect(svg, x, box.y + 1, PART, 11, ll_shade(ratios ? 2 * place - 1 : place).fill);
        }
        x += half < HALVES ? 4 : 2;
    }
    const char *words = about_of(heat, about, sizeof about);
    if (x + 1.08 * ll_text_width(words, LL_TEXT_SMALL) <= box.x + box.width) {
        draw_word(svg, x, box.y, words);
        return (struct ll_rect){box.x, box.y + HEIGHT, box.width, box.height - HEIGHT};
    }
    box = (struct ll_rect){box.x, box.y + HEIGHT, box.width, box.height - HEIGHT};
    return ll_draw_about(svg, box, words);
}

/* Of names beside slots of this height, each so many-th is written, so that they do not touch. */
static size_t every_so_many(double slot)
{
    enum { LINE = LL_TEXT_NORMAL + 2 };
    return slot < LINE ? (size_t)ceil(LINE / fmax(1, slot)) : 1;
}

void ll_draw_heat(struct ll_svg *svg, struct ll_rect box, const struct ll_heat *heat)
{
    double widest = 0;
    for (size_t r = 0; r < heat->row_count; r++)
        widest = fmax(widest, 1.08 * ll_text_width(heat->rows[r], LL_TEXT_NORMAL));
    box = ll_draw_title(svg, box, heat->title);
    box = draw_scale(svg, box, heat);
    double left = widest + LL_GAP, width = (box.width - left) / (double)heat->column_count;
    double over = ll_names_overhang(heat->columns, heat->column_count, width);
    if (over > left) {
        left = over;
        width = (box.width - left) / (double)heat->column_count;
    }
    double bottom = ll_names_height(heat->columns, heat->column_count, width);
    double height = (box.height - bottom) / (double)heat->row_count;
    struct ll_rect area = {box.x + left, box.y, box.width - left, box.height - bottom};
    size_t every = every_so_many(height);
    for (size_t r = 0; r < heat->row_count; r++) {
        double y = area.y + height * (double)r;
        if (r % every == 0)
            ll_svg_text(svg,
                        &(struct ll_svg_style){.x = area.x - LL_GAP,
                                               .y = y + height / 2 + 4,
                                               .size = LL_TEXT_NORMAL,
                                               .anchor = LL_ANCHOR_END},
                        heat->rows[r]);
        for (size_t c = 0; c < heat->column_count; c++)
            draw_cell(svg, (struct ll_rect){area.x + width * (double)c, y, width, height}, heat,
                      heat->values[r * heat->column_count + c]);
    }
    ll_draw_names(svg, area, heat->columns, heat->column_count);
}

/* A dendrogram, leaves to the left and distance to the right. A cluster lies in the middle of its two parts;
 * leaves are put in the order in which the last cluster falls apart, so that no lines cross. */

enum { MOST_LEAVES = 64, MOST_NODES = 2 * MOST_LEAVES };

struct layout {
    struct ll_point at[MOST_NODES]; /* distance, and place among the leaves */
    size_t placed;
};

/* Depth first, so that each cluster's leaves lie together. Clusters are as deep as there are leaves. */
static void place_cell(const struct ll_tree *tree, size_t node, struct layout *layout)
{
    if (node < tree->leaf_count) {
        layout->at[node] = (struct ll_point){0, (double)layout->placed++};
        return;
    }
    const struct ll_merge *merge = &tree->merges[node - tree->leaf_count];
    place_cell(tree, merge->left, layout);
    place_cell(tree, merge->right, layout);
    layout->at[node] =
        (struct ll_point){merge->distance, (layout->at[merge->left].y + layout->at[merge->right].y) / 2};
}

static struct ll_point on_page(struct ll_rect area, const struct ll_axis *axis, double slot,
                               struct ll_point at)
{
    return (struct ll_point){area.x + area.width * ll_axis_place(axis, at.x), area.y + slot * (at.y + 0.5)};
}

void ll_draw_tree(struct ll_svg *svg, struct ll_rect box, const struct ll_tree *tree)
{
    struct layout layout = {.placed = 0};
    if (tree->leaf_count < 2 || tree->leaf_count > MOST_LEAVES)
        return;
    size_t merges = tree->leaf_count - 1;
    place_cell(tree, tree->leaf_count + merges - 1, &layout);
    double widest = 0, farthest = tree->x_high;
    for (size_t i = 0; i < tree->leaf_count; i++)
        widest = fmax(widest, 1.08 * ll_text_width(tree->leaves[i], LL_TEXT_NORMAL));
    for (size_t i = 0; i < merges && tree->x_high == 0; i++)
        farthest = fmax(farthest, tree->merges[i].distance);
    struct ll_axis axis = ll_axis_for(0, farthest, false);
    box = ll_draw_title(svg, box, tree->title);
    struct ll_rect area = {box.x + widest + LL_GAP, box.y, box.width - widest - 3 * LL_GAP,
                           box.height - LL_X_AXIS_HEIGHT};
    double slot = area.height / (double)tree->leaf_count;
    size_t every = every_so_many(slot);
    ll_draw_x_axis(svg, area, &axis, tree->x_label);
    for (size_t i = 0; i < tree->leaf_count; i++)
        if ((size_t)layout.at[i].y % every == 0)
            ll_svg_text(svg,
                        &(struct ll_svg_style){.x = area.x - LL_GAP,
                                               .y = area.y + slot * (layout.at[i].y + 0.5) + 4,
                                               .size = LL_TEXT_NORMAL,
                                               .anchor = LL_ANCHOR_END},
                        tree->leaves[i]);
    for (size_t i = 0; i < merges; i++) {
        struct ll_point left = on_page(area, &axis, slot, layout.at[tree->merges[i].left]);
        struct ll_point right = on_page(area, &axis, slot, layout.at[tree->merges[i].right]);
        double x = on_page(area, &axis, slot, layout.at[tree->leaf_count + i]).x;
        ll_svg_line(svg, LL_PEN_INK, left.x, left.y, x, left.y);
        ll_svg_line(svg, LL_PEN_INK, right.x, right.y, x, right.y);
        ll_svg_line(svg, LL_PEN_INK, x, left.y, x, right.y);
    }
}
