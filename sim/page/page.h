/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: results as one HTML file that needs no network and nothing beside it.
 *
 * A page is a shell, the sources of its view (styles and scripts, sources/), and a block of data: the very
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
    const char *again; /* the command that commands of the page extend: of sim without what it prints, machine
                            and trace; of a sweep the one that ran it; NULL: the page has no commands */
};

/* What a page is made of. Texts are the caller's. */
struct ll_html_page {
    const char *view; /* a row of `views` in page.c: which scripts show the data */
    struct ll_page_origin origin;
    const char *plain;             /* what a reader without scripts sees */
    const struct ll_str *document; /* the JSON that the command prints with --json; NULL: none */
    const struct ll_str *more;     /* JSON of what the page needs beyond the document; NULL: nothing */
    const struct ll_str
        *columns; /* typed arrays, little-endian, of which `more` knows the places; NULL: none */
};

/* Appends a whole page. Out of memory sets out->failed. The view is one that there is. */
void ll_page_write(const struct ll_html_page *page, struct ll_str *out);

/* The page of simulated steps, of each trace on each machine: count reports, traces outermost, at least 1. It
 * shows memory over time where a report has its memory, and what-if where it has gains. Derivations are
 * there of the signatures that take the most time. Out of memory sets out->failed. */
void ll_page_of_simulation(const struct ll_report *reports, size_t count, const struct ll_page_origin *origin,
                           struct ll_str *out);

#endif
