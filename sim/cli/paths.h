/* SPDX-License-Identifier: Apache-2.0 */
/* Where the program finds what it ships with. */
#ifndef LL_SIM_CLI_PATHS_H
#define LL_SIM_CLI_PATHS_H

#include "tracer/base/arena.h"

/* Folders in which a machine may be named by its stem, the first that has it wins:
 *   1. those of LEADLINE_PATH, separated by colons;
 *   2. share/leadline/hwconfigs beside the bin/ in which this program lies;
 *   3. hwconfigs/ of the source tree, when this program lies where the build puts it.
 * They need not exist. A NULL-terminated list in the arena; NULL when memory ran out. */
const char *const *ll_machine_folders(struct ll_arena *arena);

/* The same for a program at this path and a LEADLINE_PATH of this text; either may be NULL. */
const char *const *ll_machine_folders_of(struct ll_arena *arena, const char *program, const char *path);

/* The folders, with one more before them. In the arena; NULL when memory ran out. */
const char *const *ll_folders_before(struct ll_arena *arena, const char *folder, const char *const *folders);

/* The library that a recorded program is given: lib/leadline/ beside the bin/ in which this program lies, or
 * where the build puts it. In the arena; NULL when it is in neither place. */
const char *ll_preload_library(struct ll_arena *arena);

#endif
