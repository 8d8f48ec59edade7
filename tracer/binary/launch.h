/* SPDX-License-Identifier: Apache-2.0 */
/* What a program must be started with, so that a mechanism sees its calls. */
#ifndef LL_BINARY_LAUNCH_H
#define LL_BINARY_LAUNCH_H

#include "tracer/binary/coverage.h"

enum { LL_LAUNCH_SETTINGS = 6, LL_LAUNCH_PREFIX = 2 };

struct ll_launch {
    const char *settings[LL_LAUNCH_SETTINGS]; /* NAME=VALUE for its environment, ended by NULL */
    const char *prefix[LL_LAUNCH_PREFIX];     /* words before its command line, ended by NULL */
};

/* `tools` is the folder with our libraries, `rings` the one that ll_ring_create was given; entries that only
 * files know are written there, and a link where LD_PRELOAD cannot hold the name of `tools`. What LD_PRELOAD
 * and LD_AUDIT name already stays, behind ours. Texts live in the arena. LL_NO_MEMORY, or why a file could
 * not be written. */
enum ll_status ll_launch_prepare(struct ll_arena *arena, const struct ll_coverage *coverage,
                                 enum ll_mechanism mechanism, const char *tools, const char *rings,
                                 struct ll_launch *launch);

#endif
