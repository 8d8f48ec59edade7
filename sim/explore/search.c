/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/search.h"

#include <stdlib.h>

#include <string.h>

enum { BATCH = 1024 };

/* A walk over all points: like counting, but with the digits in another order. */
struct walk {
    size_t order[LL_MOST_AXES]; /* the axes, the slowest first */
    uint32_t point[LL_MOST_AXES];
};

/* How much of a cost lasts when an axis turns: nothing of it with another program, least of it with another
 * memory, clock or software; what other units cost when one of them varies. */
static int weight_of(const struct ll_space_axis *axis)
{
    bool program = axis->target == LL_AXIS_MODEL || axis->target == LL_AXIS_PLAN;
    return program ? 0 : strncmp(axis->path, "units.", 6) ? 1 : 2;
}

static struct walk begin(const struct ll_space *space)
{
    struct walk walk = {{0}, {0}};
    size_t count = 0;
    for (int weight = 0; weight <= 2; weight++)
        for (size_t a = 0; a < space->axis_count; a++)
            if (weight_of(&space->axes[a]) == weight)
                walk.order[count++] = a;
    return walk;
}

static void step(const struct ll_space *space, struct walk *walk)
{
    for (size_t i = space->axis_count; i-- > 0;) {
        size_t a = walk->order[i];
        if (++walk->point[a] < space->axes[a].value_count)
            return;
        walk->point[a] = 0;
    }
}

bool ll_search_GRID(const struct ll_space *space, ll_ask *ask, void *context)
{
    uint64_t most = space->search.points, count = space->point_count;
    uint64_t numbers[BATCH];
    struct walk walk = begin(space);
    struct ll_answer *outcomes = calloc(BATCH, sizeof *outcomes);
    bool going = outcomes != NULL;
    if (most && most < count)
        count = most;
    for (uint64_t first = 0; going && first < count; first += BATCH) {
        size_t length = 0;
        for (; first + length < count && length < BATCH; step(space, &walk))
            numbers[length++] = ll_space_number(space, walk.point);
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
