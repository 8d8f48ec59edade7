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

/* A full message ends in dots, in front of them a whole character of UTF-8. */
static void cut(char message[LL_DIAG_MESSAGE_BYTES + 1])
{
    static const char dots[] = "...";
    size_t length = LL_DIAG_MESSAGE_BYTES - strlen(dots);
    while (length > 0 && ((unsigned char)message[length] & 0xC0) == 0x80)
        length--;
    memcpy(message + length, dots, sizeof dots);
}

bool ll_complain(struct ll_diags *diags, struct ll_place place, const char *format, ...)
{
    diags->count++;
    if (diags->kept_count == LL_DIAG_LIMIT)
        return false;
    char message[LL_DIAG_MESSAGE_BYTES + 1];
    va_list arguments;
    va_start(arguments, format);
    if (ll_vsnprintf(message, sizeof message, format, arguments) > LL_DIAG_MESSAGE_BYTES)
        cut(message);
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
