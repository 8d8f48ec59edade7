/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's own code asks the system for memory by. The linker leads these calls here (--wrap), so
 * that none is refused without a note, whatever its caller makes of it: a missing block is often taken for a
 * thing that is not there. */
#define _DEFAULT_SOURCE
#include "tracer/base/diag.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#define WATCHED(type, name, parameters, arguments, refused)                                                  \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        type given = __real_##name arguments;                                                                \
        if (refused)                                                                                         \
            ll_note_no_memory();                                                                             \
        return given;                                                                                        \
    }

WATCHED(void *, malloc, (size_t size), (size), !given && size)
WATCHED(void *, calloc, (size_t count, size_t size), (count, size), !given && count && size)
WATCHED(void *, realloc, (void *memory, size_t size), (memory, size), !given && size)
WATCHED(void *, aligned_alloc, (size_t align, size_t size), (align, size), !given && size)
WATCHED(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t offset),
        (at, size, protection, flags, file, offset), given == MAP_FAILED && errno == ENOMEM)
WATCHED(FILE *, fopen, (const char *path, const char *mode), (path, mode), !given && errno == ENOMEM)
WATCHED(DIR *, opendir, (const char *path), (path), !given && errno == ENOMEM)
WATCHED(char *, realpath, (const char *path, char *resolved), (path, resolved), !given && errno == ENOMEM)
