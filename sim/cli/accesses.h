/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of memory as a file: for each 64 bytes of an access a line with LD or ST and the address, as
 * load-store traces of Ramulator 2 have it. */
#ifndef LL_SIM_CLI_ACCESSES_H
#define LL_SIM_CLI_ACCESSES_H

#include "tracer/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct ll_access_file;

/* One that takes the place of `path` when it is closed; in the arena. NULL after saying what is wrong. */
struct ll_access_file *ll_access_file_open(const char *path, struct ll_arena *arena);

/* Adds an access to the file; an ll_cache_listener. */
void ll_access_file_add(void *file, uint64_t address, uint64_t bytes, bool write);

/* Whether nothing was lost so far. */
bool ll_access_file_is_well(const struct ll_access_file *file);

/* Ends the file, which is kept if it is done and all of it could be written; what was there stays otherwise.
 * False after saying what could not be written. */
bool ll_access_file_close(struct ll_access_file *file, bool done);

#endif
