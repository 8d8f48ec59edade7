/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "tracer/base/file.h"
#include "tracer/convert/convert.h"
#include "tracer/format/format.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (UINT64_C(1) << 34)
#define MOST_STREAM_BYTES (UINT64_C(1) << 30) /* of pipes, some of which never end */

enum ll_status ll_input_open(const char *path, struct ll_arena *arena, struct ll_input_file *input)
{
    struct ll_contents whole = {0};
    struct stat there = {0};
    bool known = stat(path, &there) == 0, file = known && S_ISREG(there.st_mode) && there.st_size > 0;
    *input = (struct ll_input_file){.path = path};
    if (known && (S_ISCHR(there.st_mode) || S_ISBLK(there.st_mode)))
        return LL_IS_DEVICE;
    enum ll_status status = ll_read_whole(path, file ? MOST_BYTES : MOST_STREAM_BYTES, arena, &whole);
    if (status == LL_FILE_TOO_LONG && !file)
        status = LL_STREAM_TOO_LONG;
    if (status == LL_OK && ll_is_packed(whole.bytes, whole.length))
        status = ll_unpack_file(whole.bytes, whole.length, MOST_BYTES, arena, &whole);
    input->bytes = (const uint8_t *)whole.bytes;
    input->size = whole.length;
    return status;
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
