/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as one page of HTML that needs nothing else: designs as points with filters, brushes and zoom,
 * parallel coordinates, heat maps, one design with what bounds it, the weights of parameters, the front as a
 * table. It opens from a file, fetches nothing, and without scripts still shows the table and the weights.
 *
 * Layout, style and script are sweep_page.html, which the build puts into the library. Its data is a block
 * that ll_pack makes:
 *
 *     4 bytes    length of what follows, little-endian
 *     JSON       rows, columns and where their bytes begin, behind the next multiple of 8
 *     columns    as typed arrays: indices of values, floats of results */
#ifndef LL_SIM_EXPLORE_SWEEP_PAGE_H
#define LL_SIM_EXPLORE_SWEEP_PAGE_H

#include "sim/explore/findings.h"

struct ll_sweep_page {
    const char *title;
    const char *command, *version; /* what made the page */
};

/* Appends the page to out. False after a complaint, or when memory ran out. Pure but for that. */
bool ll_sweep_page(const struct ll_findings *findings, const struct ll_sweep_page *page, struct ll_str *out,
                   struct ll_diags *diags);

#endif
