/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, read and written at once. */
#ifndef LL_BASE_FILE_H
#define LL_BASE_FILE_H

#include "tracer/base/arena.h"
#include "tracer/base/status.h"
#include "tracer/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_contents {
    const char *bytes; /* a NUL behind the last one */
    size_t length;
};

/* Reads a file of at most so many bytes, as long as it is when it is opened, into the arena. LL_FILE_TOO_LONG
 * when there are more, LL_SHORTENED when it loses some on the way, LL_NO_MEMORY, or what the system says;
 * *text is then untouched. */
enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text);

/* Writes a finished text as a file; on trouble what was there stays (ll_path_beside). LL_NO_MEMORY when the
 * text has failed. */
enum ll_status ll_write_whole(const char *path, const struct ll_str *text);

/* Where to write so that the file that is there stays when the writing fails: a file of its own beside it;
 * in the arena, NULL when memory ran out. What is no ordinary file (a pipe, a device, a link) is written as
 * it is, and so is one that may not be written (the opening says why) or that nothing may be put beside. */
const char *ll_path_beside(struct ll_arena *arena, const char *output);

/* Puts the closed part in the output's place, with the permissions of what was there, or removes it when it
 * is not done. LL_OK, or why it could not be put there. */
enum ll_status ll_path_keep(const char *part, const char *output, bool done);

#endif
