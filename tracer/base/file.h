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

/* Reads a file of at most so many bytes, as long as it is when it is opened, into the arena; what gzip has
 * compressed is unpacked there (gzip.h), to at most so many, too. LL_FILE_TOO_LONG when there are more,
 * LL_SHORTENED when it loses some on the way, LL_NO_MEMORY, or what the system says; *text is then of no
 * use. */
enum ll_status ll_read_whole(const char *path, uint64_t most_bytes, struct ll_arena *arena,
                             struct ll_contents *text);

/* One rule for all files that are written, of whatever kind:
 *
 * - a symbolic link stays one: what it points to is written, and made where it is not there;
 * - an ordinary file is replaced at once, when the new one is whole: on trouble what was there stays;
 * - what is no ordinary file (a pipe, a device), what standard output or error goes to, a file that may not
 *   be written (the opening says why) or that nothing may be put beside is written in place. */

/* Writes a finished text as a file. LL_NO_MEMORY when the text has failed, or may lack
 * something since memory ran out. */
enum ll_status ll_write_whole(const char *path, const struct ll_str *text);

/* The file that a path names, at the end of its symbolic links, whether it is there or not; the path itself
 * when it is no link or the links go in a circle. In the arena, NULL when memory ran out. */
const char *ll_path_target(struct ll_arena *arena, const char *path);

/* Where to write an output: a file of its own beside its target, or, in place, the very path that was given.
 * In the arena, NULL when memory ran out. */
const char *ll_path_beside(struct ll_arena *arena, const char *output);

/* Puts the closed part in the place of the output's target, with the permissions of what was there, or
 * removes it when it is not done. LL_OK, or why it could not be put there. */
enum ll_status ll_path_keep(const char *part, const char *output, bool done);

#endif
