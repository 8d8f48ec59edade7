/* SPDX-License-Identifier: Apache-2.0 */
/* A dendrogram, leaves to the left and distance to the right. A cluster lies in the middle of its two parts;
 * leaves are put in the order in which the last cluster falls apart, so that no lines cross. */
#include "sim/report/figure/axis.h"

#include <math.h>

enum { MOST_LEAVES = 64, MOST_NODES = 2 * MOST_LEAVES };

struct layout {
    struct ll_point at[MOST_NODES]; /* distance, and place among the leaves */
    size_t placed;
};

/* Depth first, so that each cluster's leaves lie together. Clusters are as deep as there are leaves. */
static void place(const struct ll_tree *tree, size_t node, struct layout *layout)
{
    if (node < tree->leaf_count) {
        layout->at[node] = (struct ll_point){0, (double)layout->placed++};
        return;
    }
    const struct ll_merge *merge = &tree->merges[node - tree->leaf_count];
    place(tree, merge->left, layout);
    place(tree, merge->right, layout);
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
    place(tree, tree->leaf_count + merges - 1, &layout);
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
    ll_draw_x_axis(svg, area, &axis, tree->x_label);
    for (size_t i = 0; i < tree->leaf_count; i++)
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
