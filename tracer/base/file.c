/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Doubles a buffer until the file is in it: a pipe does not know its length. */
static enum ll_status read_open(FILE *file, uint64_t most_bytes, char **bytes, uint64_t *length)
{
    uint64_t capacity = 0;
    for (*length = 0;;) {
        if (!ll_grow(bytes, &capacity, *length + 4096, 1))
            return LL_NO_MEMORY;
        size_t got = fread(*bytes + *length, 1, capacity - *length, file);
        *length += got;
        if (*length > most_bytes)
            return LL_FILE_TOO_LONG;
        if (got == 0)
            return ferror(file) ? ll_status_of(errno, LL_CANNOT_READ) : LL_OK;
    }
}

enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    char *bytes = NULL, *copy = NULL;
    uint64_t length;
    enum ll_status status = read_open(file, most_bytes, &bytes, &length);
    if (status == LL_OK && !(copy = ll_copy_text(arena, bytes, length)))
        status = LL_NO_MEMORY;
    if (status == LL_OK)
        *text = (struct ll_contents){copy, length};
    free(bytes);
    fclose(file);
    return status;
}

enum ll_status ll_write_whole(const char *path, const struct ll_str *text)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    errno = 0;
    bool written = fwrite(text->text, 1, text->length, file) == text->length;
    int error = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    return written ? LL_OK : ll_status_of(error, LL_CANNOT_WRITE);
}
