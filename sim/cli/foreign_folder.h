/* SPDX-License-Identifier: Apache-2.0 */
/* The folder through which a recorded program and its recorder speak: rings of several megabytes, in memory
 * where there is a file system for that. */
#ifndef LL_SIM_CLI_FOREIGN_FOLDER_H
#define LL_SIM_CLI_FOREIGN_FOLDER_H

#include "tracer/base/arena.h"

struct ll_foreign_folder {
    const char *path; /* in the arena */
    int lock;         /* held as long as the recorder lives */
};

/* Makes one, and removes those of recorders that were killed. False after saying why not. */
bool ll_foreign_folder_make(struct ll_foreign_folder *folder, struct ll_arena *arena);
void ll_foreign_folder_remove(struct ll_foreign_folder *folder);

/* How many processes run that were started to be recorded, or by such ones. */
size_t ll_foreign_folder_users(const struct ll_foreign_folder *folder);

#endif
