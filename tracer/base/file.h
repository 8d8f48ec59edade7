/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, read and written at once. */
#ifndef LL_BASE_FILE_H
#define LL_BASE_FILE_H

#include "tracer/base/arena.h"
#include "tracer/base/status.h"
#include "tracer/base/str.h"

#include <stddef.h>
#include <stdint.h>

struct ll_contents {
    const char *bytes; /* a NUL behind the last one */
    size_t length;
};

/* Reads a file of at most so many bytes into the arena. LL_FILE_TOO_LONG when there are more, LL_NO_MEMORY,
 * or what the system says; *text is then untouched. */
enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text);

/* Writes a file anew. On trouble the file may be there in part. */
enum ll_status ll_write_whole(const char *path, const struct ll_str *text);

#endif
