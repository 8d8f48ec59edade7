/* SPDX-License-Identifier: Apache-2.0 */
/* Complaints about wrong input.
 *
 * A reader that meets something wrong says so here and goes on to find the next; only sim/cli prints
 * them. The list is bounded: past LL_DIAG_LIMIT complaints are counted, not kept. A list starts as
 * {0}, belongs to one thread, and is released by its owner. */
#ifndef LL_BASE_DIAG_H
#define LL_BASE_DIAG_H

#include "tracer/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_DIAG_LIMIT = 50, LL_DIAG_MESSAGE_BYTES = 1023 };

/* Where something stands. file may be NULL; line and column count from 1, 0 when unknown. source_line
 * is the text of that line when it is at hand (kept by whoever owns the input), width how many
 * characters the caret underlines. */
struct ll_place {
    const char *file;
    uint64_t line, column;
    const char *source_line;
    size_t width;
};

struct ll_diag {
    struct ll_place place;
    const char *message;
};

struct ll_diags {
    struct ll_arena arena;
    struct ll_diag kept[LL_DIAG_LIMIT];
    size_t kept_count;
    size_t count; /* also those that were not kept */
};

/* Adds a complaint: what is there, what was expected, the nearest right thing. Copies the message,
 * the file name and the source line; a message of more than LL_DIAG_MESSAGE_BYTES ends in "...".
 * Always false, so that a reader can `return ll_complain(...)`. */
bool ll_complain(struct ll_diags *diags, struct ll_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Frees the complaints; the list is empty and usable afterwards. */
void ll_diags_release(struct ll_diags *diags);

#endif
