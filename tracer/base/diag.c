/* SPDX-License-Identifier: Apache-2.0 */
/* Troubles of the world with their sentences, and complaints about wrong input with their places. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tracer/base/str.h"

static atomic_uint refusals;
static _Thread_local unsigned forgotten; /* so many of them are over for this thread */

void ll_note_no_memory(void)
{
    atomic_fetch_add(&refusals, 1);
}

bool ll_memory_ran_out(void)
{
    return atomic_load(&refusals) != forgotten;
}

void ll_forget_no_memory(void)
{
    forgotten = atomic_load(&refusals);
}

enum ll_status ll_status_of(int error, enum ll_status otherwise)
{
    static const struct {
        int error;
        enum ll_status status;
    } meanings[] = {{ENOMEM, LL_NO_MEMORY}, {ENOENT, LL_NO_FILE},   {ENOTDIR, LL_NO_FILE},
                    {EISDIR, LL_IS_FOLDER}, {EACCES, LL_FORBIDDEN}, {EPERM, LL_FORBIDDEN},
                    {EROFS, LL_FORBIDDEN},  {ENOSPC, LL_DISK_FULL}, {EDQUOT, LL_DISK_FULL},
                    {EFBIG, LL_DISK_FULL},  {ENOTBLK, LL_IS_DEVICE}};
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].error == error)
            return meanings[i].status;
    return otherwise;
}

const char *ll_status_text(enum ll_status status)
{
    static const char *const text[] = {
#define X(name, sentence) [LL_##name] = sentence,
        LL_STATUS_LIST(X)
#undef X
    };
    return (unsigned)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
}

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

static void add(struct ll_diags *diags, struct ll_place place, bool remark, const char *format,
                va_list arguments)
{
    char message[LL_DIAG_MESSAGE_BYTES + 1];
    if (ll_vsnprintf(message, sizeof message, format, arguments) > LL_DIAG_MESSAGE_BYTES)
        cut(message);
    for (size_t i = 0; remark && i < diags->kept_count; i++)
        if (diags->kept[i].remark && strcmp(diags->kept[i].message, message) == 0)
            return;
    place.file = keep(diags, place.file);
    place.source_line = keep(diags, place.source_line);
    const char *kept = keep(diags, message);
    diags->kept[diags->kept_count++] =
        (struct ll_diag){place, kept ? kept : "memory ran out while writing a complaint", remark};
}

bool ll_complain(struct ll_diags *diags, struct ll_place place, const char *format, ...)
{
    diags->count++;
    if (diags->kept_count == LL_DIAG_LIMIT)
        return false;
    va_list arguments;
    va_start(arguments, format);
    add(diags, place, false, format, arguments);
    va_end(arguments);
    return false;
}

void ll_remark(struct ll_diags *diags, struct ll_place place, const char *format, ...)
{
    if (diags->kept_count == LL_DIAG_LIMIT)
        return;
    va_list arguments;
    va_start(arguments, format);
    add(diags, place, true, format, arguments);
    va_end(arguments);
}

void ll_diags_release(struct ll_diags *diags)
{
    ll_arena_release(&diags->arena);
    *diags = (struct ll_diags){0};
}
