/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/file.h"
#include "tracer/convert/convert.h"
#include "tracer/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (UINT64_C(1) << 34)

static enum ll_status read_input(struct ll_arena *arena, struct ll_input_file *input)
{
    struct ll_contents whole;
    enum ll_status status = ll_read_whole(input->path, MOST_BYTES, arena, &whole);
    if (status == LL_OK) {
        input->bytes = (const uint8_t *)whole.bytes;
        input->size = whole.length;
    }
    return status;
}

/* Two bytes that no format read here begins with (RFC 1952). */
static bool is_gzipped(const struct ll_input_file *input)
{
    return input->size >= 2 && input->bytes[0] == 0x1f && input->bytes[1] == 0x8b;
}

/* Files that zstd has compressed are read as what they hold. */
static enum ll_status unpack(struct ll_arena *arena, struct ll_input_file *input)
{
    struct ll_contents whole;
    bool gzipped = is_gzipped(input);
    if (!gzipped && !ll_is_packed(input->bytes, input->size))
        return LL_OK;
    enum ll_status status =
        gzipped ? LL_GZIPPED : ll_unpack_file(input->bytes, input->size, MOST_BYTES, arena, &whole);
    ll_input_close(input);
    if (status == LL_OK) {
        input->bytes = (const uint8_t *)whole.bytes;
        input->size = whole.length;
    }
    return status;
}

enum ll_status ll_input_open(const char *path, struct ll_arena *arena, struct ll_input_file *input)
{
    *input = (struct ll_input_file){.path = path};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    struct stat stat;
    void *bytes = MAP_FAILED;
    bool known = fstat(file, &stat) == 0;
    if (known && S_ISREG(stat.st_mode) && stat.st_size > 0)
        bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (known && S_ISDIR(stat.st_mode))
        return LL_IS_FOLDER;
    if (bytes == MAP_FAILED) {
        enum ll_status status = read_input(arena, input);
        return status == LL_OK ? unpack(arena, input) : status;
    }
    input->bytes = bytes;
    input->size = (uint64_t)stat.st_size;
    input->mapped = true;
    return unpack(arena, input);
}

void ll_input_close(struct ll_input_file *input)
{
    if (input->mapped)
        munmap((void *)input->bytes, input->size);
    input->mapped = false;
}

static bool read_all(int file, uint64_t offset, uint64_t size, uint8_t *bytes)
{
    struct stat stat;
    bool there = fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && (uint64_t)stat.st_size >= offset &&
                 (uint64_t)stat.st_size - offset >= size;
    for (uint64_t done = 0; there && done < size;) {
        ssize_t got = pread(file, bytes + done, size - done, (off_t)(offset + done));
        there = got > 0;
        done += there ? (uint64_t)got : 0;
    }
    return there;
}

bool ll_input_part(const char *beside, const char *name, uint64_t offset, uint64_t size, uint8_t *bytes)
{
    char path[4096];
    size_t folder = (size_t)(ll_base_name(beside) - beside), length = strlen(name);
    if (length == 0 || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        folder >= sizeof path || length >= sizeof path - folder)
        return false;
    memcpy(path, beside, folder);
    memcpy(path + folder, name, length + 1);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    bool read = read_all(file, offset, size, bytes);
    close(file);
    return read;
}
