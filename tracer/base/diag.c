/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/diag.h"

#include "tracer/base/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *keep(struct ll_diags *diags, const char *text)
{
    return text ? ll_copy_text(&diags->arena, text, strlen(text)) : NULL;
}

bool ll_complain(struct ll_diags *diags, struct ll_place place, const char *format, ...)
{
    diags->count++;
    if (diags->kept_count == LL_DIAG_LIMIT)
        return false;
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    ll_vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    place.file = keep(diags, place.file);
    place.source_line = keep(diags, place.source_line);
    const char *kept = keep(diags, message);
    diags->kept[diags->kept_count++] =
        (struct ll_diag){place, kept ? kept : "memory ran out while writing a complaint"};
    return false;
}

void ll_diags_release(struct ll_diags *diags)
{
    ll_arena_release(&diags->arena);
    *diags = (struct ll_diags){0};
}
