/* SPDX-License-Identifier: Apache-2.0 */
/* Points by lot: without repetition, or as a Latin hypercube. */
#include "sim/explore/sampling.h"
#include "sim/explore/search.h"
#include "tracer/base/map.h"

#include <stdlib.h>

enum { BATCH = 1024 };

/* Number i of a sample of so many. */
typedef uint64_t drawing(const struct ll_space *space, const struct ll_shuffle *shuffle, uint64_t count,
                         uint64_t i);

static uint64_t by_lot(const struct ll_space *space, const struct ll_shuffle *shuffle, uint64_t count,
                       uint64_t i)
{
    (void)space, (void)count;
    return ll_shuffle_at(shuffle, i);
}

static uint64_t by_latin(const struct ll_space *space, const struct ll_shuffle *shuffle, uint64_t count,
                         uint64_t i)
{
    (void)shuffle;
    uint64_t sizes[LL_MOST_AXES];
    uint32_t point[LL_MOST_AXES];
    for (size_t a = 0; a < space->axis_count; a++)
        sizes[a] = space->axes[a].value_count;
    ll_latin_point(sizes, space->axis_count, count, space->search.seed, i, point);
    return ll_space_number(space, point);
}

/* What is drawn, and what was drawn already: a Latin hypercube may meet a point twice. */
struct drawn {
    struct ll_map seen;
    uint64_t numbers[BATCH];
    struct ll_answer outcomes[BATCH];
    size_t count;
};

/* False when memory ran out. */
static bool take(struct drawn *drawn, uint64_t number)
{
    bool fresh = false;
    uint32_t id = ll_map_intern(&drawn->seen, &number, sizeof number, &fresh);
    if (fresh)
        drawn->numbers[drawn->count++] = number;
    return id != LL_NO_ID;
}

static bool ask_now(struct drawn *drawn, ll_ask *ask, void *context)
{
    uint64_t count = drawn->count;
    drawn->count = 0;
    return ask(context, drawn->numbers, count, drawn->outcomes);
}

/* What was drawn before is drawn anew, by lot, so that as many are asked for as are wanted. */
static bool ask_for(const struct ll_space *space, drawing *draw, ll_ask *ask, void *context)
{
    uint64_t all = space->point_count, wanted = space->search.points;
    uint64_t count = wanted && wanted < all ? wanted : all;
    struct ll_shuffle shuffle = ll_shuffle_of(all, space->search.seed);
    struct drawn *drawn = calloc(1, sizeof *drawn);
    bool going = drawn != NULL;
    for (uint64_t i = 0; going && i < count + all && drawn->seen.count < count; i++) {
        going = take(drawn,
                     i < count ? draw(space, &shuffle, count, i) : by_lot(space, &shuffle, all, i - count));
        if (going && drawn->count == BATCH)
            going = ask_now(drawn, ask, context);
    }
    going = going && (drawn->count == 0 || ask_now(drawn, ask, context));
    if (drawn)
        ll_map_release(&drawn->seen);
    free(drawn);
    return going;
}

bool ll_search_RANDOM(const struct ll_space *space, ll_ask *ask, void *context)
{
    return ask_for(space, by_lot, ask, context);
}

bool ll_search_LATIN(const struct ll_space *space, ll_ask *ask, void *context)
{
    return ask_for(space, by_latin, ask, context);
}
