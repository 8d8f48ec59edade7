/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/search.h"

#include <stdlib.h>

enum { BATCH = 1024 };

bool ll_search_GRID(const struct ll_space *space, ll_ask *ask, void *context)
{
    uint64_t most = space->search.points, count = space->point_count;
    uint64_t numbers[BATCH];
    struct ll_outcome *outcomes = calloc(BATCH, sizeof *outcomes);
    bool going = outcomes != NULL;
    if (most && most < count)
        count = most;
    for (uint64_t first = 0; going && first < count; first += BATCH) {
        size_t length = 0;
        for (uint64_t i = first; i < count && length < BATCH; i++)
            numbers[length++] = i;
        going = ask(context, numbers, length, outcomes);
    }
    free(outcomes);
    return going;
}

bool ll_search_divides(enum ll_search_kind kind)
{
    static const bool divides[] = {
#define LL_SEARCH(word, name, help, divided) divided,
#include "sim/explore/searches.def"
#undef LL_SEARCH
    };
    return divides[kind];
}

bool ll_search(const struct ll_space *space, ll_ask *ask, void *context)
{
    static bool (*const searches[])(const struct ll_space *, ll_ask *, void *) = {
#define LL_SEARCH(word, ...) ll_search_##word,
#include "sim/explore/searches.def"
#undef LL_SEARCH
    };
    return searches[space->search.kind](space, ask, context);
}
