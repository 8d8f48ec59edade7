/* SPDX-License-Identifier: Apache-2.0 */
/* Troubles of the world: what a function returns when neither the caller nor the input is at fault. */
#ifndef LL_TRACER_BASE_DIAG_H
#define LL_TRACER_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"

#define LL_STATUS_LIST(X)                                                                                    \
    X(OK, "done")                                                                                            \
    X(NO_MEMORY, "memory ran out")                                                                           \
    X(CANNOT_OPEN, "the file cannot be opened")                                                              \
    X(NO_FILE, "there is no such file or folder")                                                            \
    X(IS_FOLDER, "this is a folder")                                                                         \
    X(IS_DEVICE, "this is a pipe or a device, not an ordinary file")                                         \
    X(FORBIDDEN, "permission is denied")                                                                     \
    X(CANNOT_READ, "the file cannot be read")                                                                \
    X(READ_FAILED, "reading it, or a file that it needs, failed")                                            \
    X(CANNOT_WRITE, "the file cannot be written")                                                            \
    X(DISK_FULL, "the disk is full, or the file may not grow any further (ulimit -f)")                       \
    X(DAMAGED, "the file is damaged")                                                                        \
    X(NOT_OURS, "this is not a Leadline trace")                                                              \
    X(TOO_NEW, "the file was written by a newer major version")                                              \
    X(TOO_LARGE, "a size does not fit in 64 bits")                                                           \
    X(FILE_TOO_LONG, "the file is longer than such a file can be")                                           \
    X(STREAM_TOO_LONG, "more than 1 GiB comes out of what is no file; write it into one first")              \
    X(SHORTENED, "the file lost bytes while it was read")                                                    \
    X(GZIP_DAMAGED, "it is compressed by gzip, and damaged or cut off")                                      \
    X(GZIP_TOO_LONG, "gzip has packed more into it than such a file can be")                                 \
    X(NO_LIBRARY, "a library is missing")                                                                    \
    X(STRAY_INDEX, "an index lies outside of what it indexes: the data and the model do not belong "         \
                   "together")

enum ll_status {
#define X(name, sentence) LL_##name,
    LL_STATUS_LIST(X)
#undef X
};

/* The status that says what an errno means for a file, `otherwise` when none says more. */
enum ll_status ll_status_of(int error, enum ll_status otherwise);

/* Whoever is refused memory notes it, once and for all, from any thread: what is computed afterwards may lack
 * something, so that nobody trusts it (no result is shown, none is stored) and no complaint either, since a
 * sound file may look damaged to who could not hold all of it. In the program whatever asks the system for
 * memory is watched (sim/cli/memory.c); a foreign library that tells of it is asked where it is called. */
void ll_note_no_memory(void);
bool ll_memory_ran_out(void);

/* What was refused until now is over for this thread: a library's next call may find memory again. */
void ll_forget_no_memory(void);

/* The sentence of a status, without a final dot. Static storage, never NULL. */
const char *ll_status_text(enum ll_status status);

/* Complaints about wrong input.
 *
 * A reader that meets something wrong says so here and goes on to find the next; only sim/cli prints
 * them. The list is bounded: past LL_DIAG_LIMIT complaints are counted, not kept. A list starts as
 * {0}, belongs to one thread, and is released by its owner. */

enum { LL_DIAG_LIMIT = 50, LL_DIAG_MESSAGE_BYTES = 1023 };

/* Where something stands. file may be NULL; line and column count from 1, 0 when unknown. source_line
 * is the text of that line when it is at hand (kept by whoever owns the input), width how many
 * characters the caret underlines. */
struct ll_place {
    const char *file;
    uint64_t line, column;
    const char *source_line;
    size_t width;
};

struct ll_diag {
    struct ll_place place;
    const char *message;
    bool
        remark; /* it is right and read, but should be known: an old spelling, what a short name stands for */
};

struct ll_diags {
    struct ll_arena arena;
    struct ll_diag kept[LL_DIAG_LIMIT];
    size_t kept_count; /* complaints and remarks */
    size_t count;      /* complaints alone, also those that were not kept */
};

/* Adds a complaint: what is there, what was expected, the nearest right thing. Copies the message,
 * the file name and the source line; a message of more than LL_DIAG_MESSAGE_BYTES ends in "...".
 * Always false, so that a reader can `return ll_complain(...)`. */
bool ll_complain(struct ll_diags *diags, struct ll_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a remark, in the same way: it is printed as complaints are and makes nothing fail. One that is there
 * already is not added again. */
void ll_remark(struct ll_diags *diags, struct ll_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Frees the complaints; the list is empty and usable afterwards. */
void ll_diags_release(struct ll_diags *diags);

#endif
