/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: what --html of every command has in common. One thread. */
#ifndef LL_SIM_CLI_HTML_H
#define LL_SIM_CLI_HTML_H

#include "sim/cli/command.h"
#include "sim/page/page.h"

/* The row of the option, for a command whose page has these parts. */
#define LL_HTML_OPTION(parts)                                                                                \
    {                                                                                                        \
        "html", 0, "FILE", "write a page to this file: " parts                                               \
    }

/* The command line as one can type it again, quoted for a POSIX shell: options first, then the words if
 * `with_words`. without: options to leave out, ended by NULL, and with them those that say how a command
 * prints; NULL: all are there. In the arena; NULL when memory ran out. */
const char *ll_typed(const struct ll_args *args, const char *const *without, bool with_words);

/* What a page shows. {0} to begin with; whoever fills it releases it. */
struct ll_page_content {
    struct ll_str plain;    /* what a reader without scripts sees: the command's text */
    struct ll_str document; /* what it prints with --json */
    struct ll_str more;     /* JSON that the page needs beyond the document; empty: nothing */
    struct ll_str columns;  /* typed arrays, of which `more` knows the places; empty: none */
    const char *again;      /* as struct ll_page_origin has it; NULL: the page prints no commands */
};
void ll_page_content_release(struct ll_page_content *content);

/* To be called before `plain` is filled, so that it does not depend on the terminal; until ll_write_page. */
void ll_page_plain_begin(void);

/* Writes the page of a view (page.c) to the file that --html names. An exit status, after saying what is
 * wrong. */
int ll_write_page(const struct ll_args *args, const char *view, const char *title,
                  const struct ll_page_content *content);

/* The same to a file of this name. */
int ll_write_page_to(const struct ll_args *args, const char *path, const char *view, const char *title,
                     const struct ll_page_content *content);

#endif
