/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which a foreign program's calls can be seen, from the mildest on. */
#ifndef LL_BINARY_MECHANISM_H
#define LL_BINARY_MECHANISM_H

#include <stdbool.h>

#define LL_MECHANISM_LIST(X)                                                                                 \
    X(PRELOAD, "preload", "the loader finds wrappers before the libraries (LD_PRELOAD)")                     \
    X(AUDIT, "audit", "the loader binds calls between libraries to wrappers, too (LD_AUDIT)")                \
    X(PATCH, "patch", "addresses that libraries keep in tables are rewritten")                               \
    X(ENTRY, "entry", "as patch, and each routine is made to begin with a jump to its wrapper")              \
    X(PROBE, "probe", "breakpoints, for programs into which nothing can be loaded")

enum ll_mechanism {
#define X(word, name, help) LL_MECHANISM_##word,
    LL_MECHANISM_LIST(X)
#undef X
        LL_MECHANISM_COUNT
};

enum ll_reach {
#define LL_REACH(word, sentence, preload, audit, patch, entry, probe) LL_REACH_##word,
#include "tracer/binary/reach.def"
    LL_REACH_COUNT
};

/* As options and reports spell it; static storage. */
const char *ll_mechanism_name(enum ll_mechanism mechanism);

/* Whether there is a mechanism of this name. */
bool ll_mechanism_find(const char *name, enum ll_mechanism *mechanism);

/* How the call is made, in half a sentence, and the row's word in reach.def; static storage. */
const char *ll_reach_text(enum ll_reach reach);
const char *ll_reach_word(enum ll_reach reach);

/* Whether the mechanism sees calls that are made so. */
bool ll_reach_seen(enum ll_reach reach, enum ll_mechanism mechanism);

#endif
