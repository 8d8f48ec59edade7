/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cost/explain.h"

#include "tracer/base/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_LIMIT = 1024 };

static void keep(struct ll_explain *why, const char *text, size_t length)
{
    const char *line = ll_copy_text(&why->arena, text, length);
    if (line && ll_grow(&why->lines, &why->capacity, why->line_count + 1, sizeof *why->lines))
        why->lines[why->line_count++] = line;
    else
        why->failed = true;
}

void ll_say(struct ll_explain *why, const char *format, ...)
{
    char text[LINE_LIMIT];
    va_list args;
    if (!why || why->failed)
        return;
    va_start(args, format);
    int length = ll_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length >= 0)
        keep(why, text, length < LINE_LIMIT ? (size_t)length : LINE_LIMIT - 1);
}

void ll_explain_release(struct ll_explain *why)
{
    ll_arena_release(&why->arena);
    free((void *)why->lines);
    *why = (struct ll_explain){0};
}
