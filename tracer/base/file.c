/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As many bytes as an ordinary file has; 0 where that is not known before they are read: of a pipe, of what
 * the kernel makes up. */
static uint64_t known_length(FILE *file)
{
    struct stat there;
    return fstat(fileno(file), &there) == 0 && S_ISREG(there.st_mode) ? (uint64_t)there.st_size : 0;
}

static enum ll_status read_known(FILE *file, uint64_t length, struct ll_arena *arena,
                                 struct ll_contents *text)
{
    char *bytes = length < SIZE_MAX ? ll_alloc(arena, length + 1, 1) : NULL;
    if (!bytes)
        return LL_NO_MEMORY;
    if (fread(bytes, 1, length, file) < length)
        return ferror(file) ? ll_status_of(errno, LL_CANNOT_READ) : LL_SHORTENED;
    *text = (struct ll_contents){bytes, length};
    return LL_OK;
}

/* Doubles a buffer until the file is in it. */
static enum ll_status read_stream(FILE *file, uint64_t most_bytes, char **bytes, uint64_t *length)
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

static enum ll_status copy_stream(FILE *file, uint64_t most_bytes, struct ll_arena *arena,
                                  struct ll_contents *text)
{
    char *bytes = NULL, *copy = NULL;
    uint64_t length;
    enum ll_status status = read_stream(file, most_bytes, &bytes, &length);
    if (status == LL_OK && !(copy = ll_copy_text(arena, bytes, length)))
        status = LL_NO_MEMORY;
    if (status == LL_OK)
        *text = (struct ll_contents){copy, length};
    free(bytes);
    return status;
}

enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    uint64_t length = known_length(file);
    enum ll_status status = length > most_bytes ? LL_FILE_TOO_LONG
                            : length            ? read_known(file, length, arena, text)
                                                : copy_stream(file, most_bytes, arena, text);
    fclose(file);
    return status;
}

static bool may_write_beside(struct ll_arena *arena, const char *path)
{
    size_t length = (size_t)(ll_base_name(path) - path);
    const char *folder = length ? ll_copy_text(arena, path, length) : ".";
    return folder && access(folder, W_OK) == 0;
}

const char *ll_path_beside(struct ll_arena *arena, const char *output)
{
    struct stat there;
    bool exists = lstat(output, &there) == 0;
    if (exists && (!S_ISREG(there.st_mode) || access(output, W_OK) != 0 || !may_write_beside(arena, output)))
        return output;
    return ll_format(arena, "%s.%ld.part", output, (long)getpid());
}

enum ll_status ll_path_keep(const char *part, const char *output, bool done)
{
    if (part == output)
        return LL_OK;
    struct stat there;
    bool exists = stat(output, &there) == 0;
    errno = 0;
    if (done && (!exists || chmod(part, there.st_mode & 07777) == 0) && rename(part, output) == 0)
        return LL_OK;
    enum ll_status status = done ? ll_status_of(errno, LL_CANNOT_WRITE) : LL_OK;
    unlink(part);
    return status;
}

static enum ll_status write_new(const char *path, const struct ll_str *text)
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

enum ll_status ll_write_whole(const char *path, const struct ll_str *text)
{
    struct ll_arena arena = {0};
    const char *part = text->failed ? NULL : ll_path_beside(&arena, path);
    enum ll_status status = part ? write_new(part, text) : LL_NO_MEMORY;
    enum ll_status kept = part ? ll_path_keep(part, path, status == LL_OK) : LL_OK;
    ll_arena_release(&arena);
    return status == LL_OK ? kept : status;
}
