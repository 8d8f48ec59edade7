/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/binary/mechanism.h"

#include <string.h>

static const char *const mechanisms[] = {
#define X(word, name, help) name,
    LL_MECHANISM_LIST(X)
#undef X
};

enum { NOT, SEEN };

static const struct {
    const char *word, *text;
    bool seen[LL_MECHANISM_COUNT];
} reaches[] = {
#define LL_REACH(word, sentence, preload, audit, patch, entry, probe)                                        \
    {#word, sentence, {preload, audit, patch, entry, probe}},
#include "tracer/binary/reach.def"
};

const char *ll_mechanism_name(enum ll_mechanism mechanism)
{
    return mechanisms[mechanism];
}

bool ll_mechanism_find(const char *name, enum ll_mechanism *mechanism)
{
    for (*mechanism = 0; *mechanism < LL_MECHANISM_COUNT; (*mechanism)++)
        if (strcmp(mechanisms[*mechanism], name) == 0)
            return true;
    return false;
}

const char *ll_reach_text(enum ll_reach reach)
{
    return reaches[reach].text;
}

const char *ll_reach_word(enum ll_reach reach)
{
    return reaches[reach].word;
}

bool ll_reach_seen(enum ll_reach reach, enum ll_mechanism mechanism)
{
    return reaches[reach].seen[mechanism];
}
