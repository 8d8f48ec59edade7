/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: results as one HTML file that needs no network and nothing beside it.
 *
 * A page is a shell, the sources of this room (styles and scripts, sources/), and a block of data: the very
 * JSON document that the command prints with --json, and what the page needs beyond it, packed. All text
 * that a user may name goes through JSON and is set as text, so that no name can become markup. Functions
 * are pure but for what they append to; several threads may make pages at once. */
#ifndef LL_SIM_PAGE_PAGE_H
#define LL_SIM_PAGE_PAGE_H

#include "sim/report/sim_report.h"

/* Bytes as text that a page can carry: gzip (RFC 1952), then base64 (RFC 4648). Same bytes, same text.
 * Appends the packed bytes to out. False when memory ran out. */
bool ll_pack(const void *bytes, size_t length, struct ll_str *out);

/* Where a page comes from: printed at its end. Texts are the caller's. */
struct ll_page_origin {
    const char *title;   /* of the page */
    const char *command; /* that made it, as one can type it */
    const char *version; /* of leadline */
};

/* The page of simulated steps, of each trace on each machine: count reports, traces outermost, at least 1. It
 * shows memory over time where a report has its memory, and what-if where it has gains. Derivations are
 * there of the signatures that take the most time. Out of memory sets out->failed. */
void ll_page_of_simulation(const struct ll_report *reports, size_t count, const struct ll_page_origin *origin,
                           struct ll_str *out);

#endif
