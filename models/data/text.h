/* SPDX-License-Identifier: Apache-2.0 */
/* Text as language models read it: a sentence a line, words between blanks.
 *
 * A text is bytes of somebody else; lines and words point into it. Readers belong to one thread. */
#ifndef LL_DATA_TEXT_H
#define LL_DATA_TEXT_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_text {
    const char *name; /* of the file, for complaints */
    const char *bytes;
    size_t size;
};

/* A stretch of a text. */
struct ll_words {
    const char *text;
    size_t length;
};

/* How many bytes of it to print in a complaint, as the precision of %.*s: not too many, whole characters. */
int ll_words_shown(struct ll_words words);

/* Where a walk over lines is; {0} to begin with. */
struct ll_line {
    struct ll_words words;
    uint64_t number; /* from 1 */
};

/* The whole file, of at most 4 GiB, in the arena; its name is the path, which the caller keeps. False after
 * a complaint. */
bool ll_text_load(const char *path, struct ll_arena *arena, struct ll_text *text, struct ll_diags *diags);

/* Whether it is text: UTF-8 (RFC 3629) without control characters other than blanks. False after complaints,
 * one for each line that is not. */
bool ll_text_check(const struct ll_text *text, struct ll_diags *diags);

/* Steps to the next line, without what ends it (a line feed, or carriage return and line feed); false behind
 * the last one. What follows the last line feed is a line if it is not empty. */
bool ll_next_line(const struct ll_text *text, struct ll_line *line);

/* Cuts the first word off, blanks and tabs around it left out; false when none is left. */
bool ll_next_word(struct ll_words *rest, struct ll_words *word);

#endif
