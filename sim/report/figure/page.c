/* SPDX-License-Identifier: Apache-2.0 */
/* Panels in rows, a margin around each, the figure's title above. */
#include "sim/report/figure/figure.h"

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
    double row = (double)(i / page->columns), column = (double)(i % page->columns);
    return (struct ll_rect){MARGIN + column * (page->width + MARGIN),
                            MARGIN + TITLE + row * (page->height + MARGIN), page->width, page->height};
}
