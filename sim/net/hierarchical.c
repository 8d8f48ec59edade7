/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange in two: within blocks of devices that an inner level of the network joins, and between the
 * devices that have the same place in their blocks, who only exchange what the blocks left them:
 *
 *       all-reduce of M  =  reduce-scatter of M within, all-reduce of M / s between, all-gather of M within
 *
 * Either part is done as fast as can be, the outer one perhaps again in two. */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <stdlib.h>

struct split {
    uint64_t block;    /* devices of one */
    uint64_t *between; /* members of the groups between blocks: first those in the first places, ... */
};

/* Whether runs of `block` ranks each, the last perhaps of fewer, lie in a block of `width` devices, another
 * one each time, in equal places. */
static bool lies_in_blocks(const struct ll_exchange *e, uint64_t width, uint64_t block)
{
    for (uint64_t i = 0; i < e->size * e->groups; i++) {
        uint64_t rank = i % e->size, first = i - rank % block, before = first - block;
        if (e->members[i] / width != e->members[first] / width ||
            e->members[i] % width != e->members[i - rank + rank % block] % width)
            return false;
        if (rank >= block && e->members[first] / width == e->members[before] / width)
            return false;
    }
    return true;
}

/* How many of the first ranks share a block of `width` devices. */
static uint64_t run_of(const struct ll_exchange *e, uint64_t width)
{
    uint64_t run = 1;
    while (run < e->size && e->members[run] / width == e->members[0] / width)
        run++;
    return run;
}

uint64_t ll_blocks_count(const struct ll_blocks *blocks)
{
    return ll_ceil_div(blocks->size, blocks->width);
}

uint64_t ll_blocks_places(const struct ll_blocks *blocks, uint64_t block)
{
    return ll_min(blocks->width, blocks->size - block * blocks->width);
}

uint64_t ll_blocks_entry(const struct ll_blocks *blocks, uint64_t places, uint64_t ring)
{
    return ring * places / blocks->rings;
}

/* The innermost level that cuts them evenly is taken, else the one that leaves the most rings. */
struct ll_blocks ll_steps_blocks(const struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    struct ll_blocks best = {e->size, e->size, 0};
    for (uint64_t level = 1; level < ll_net_levels(steps->net); level++) {
        uint64_t width = ll_net_group(steps->net, level), block = run_of(e, width), left = e->size % block;
        struct ll_blocks here = {e->size, block, left ? left : block};
        if (block == 1 || block == e->size || !lies_in_blocks(e, width, block))
            continue;
        if (left == 0)
            return here;
        best = here.rings > best.rings ? here : best;
    }
    best.rings = ll_max(1, best.rings);
    return best;
}

static void gather_between(const struct ll_exchange *e, struct split *split)
{
    uint64_t blocks = e->size / split->block, at = 0;
    for (uint64_t place = 0; place < split->block; place++)
        for (uint64_t g = 0; g < e->groups; g++)
            for (uint64_t b = 0; b < blocks; b++)
                split->between[at++] = e->members[g * e->size + b * split->block + place];
}

static void nest_within(struct ll_steps *steps, const struct split *split, enum ll_collective collective)
{
    const struct ll_exchange *e = &steps->exchange;
    ll_steps_nest(steps, &(struct ll_exchange){.collective = collective,
                                               .algorithm = LL_ALGORITHM_COUNT,
                                               .bytes = e->bytes,
                                               .members = e->members,
                                               .size = split->block,
                                               .groups = e->groups * (e->size / split->block)});
}

/* `places`: how many of a block's devices take part. */
static void nest_between(struct ll_steps *steps, const struct split *split, enum ll_collective collective,
                         double bytes, uint64_t places)
{
    const struct ll_exchange *e = &steps->exchange;
    ll_steps_nest(steps, &(struct ll_exchange){.collective = collective,
                                               .algorithm = LL_ALGORITHM_COUNT,
                                               .bytes = bytes,
                                               .members = split->between,
                                               .size = e->size / split->block,
                                               .groups = e->groups * places});
}

static bool nest_parts(struct ll_steps *steps, const struct split *split)
{
    double all = steps->exchange.bytes, part = all / (double)split->block;
    switch (steps->exchange.collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        nest_within(steps, split, LL_COLLECTIVE_REDUCE_SCATTER);
        nest_between(steps, split, LL_COLLECTIVE_ALL_REDUCE, part, split->block);
        nest_within(steps, split, LL_COLLECTIVE_ALL_GATHER);
        return true;
    case LL_COLLECTIVE_REDUCE_SCATTER:
        nest_within(steps, split, LL_COLLECTIVE_REDUCE_SCATTER);
        nest_between(steps, split, LL_COLLECTIVE_REDUCE_SCATTER, part, split->block);
        return true;
    case LL_COLLECTIVE_ALL_GATHER:
        nest_between(steps, split, LL_COLLECTIVE_ALL_GATHER, part, split->block);
        nest_within(steps, split, LL_COLLECTIVE_ALL_GATHER);
        return true;
    case LL_COLLECTIVE_BROADCAST:
        nest_between(steps, split, LL_COLLECTIVE_BROADCAST, all, 1);
        nest_within(steps, split, LL_COLLECTIVE_BROADCAST);
        return true;
    case LL_COLLECTIVE_REDUCE:
        nest_within(steps, split, LL_COLLECTIVE_REDUCE);
        nest_between(steps, split, LL_COLLECTIVE_REDUCE, all, 1);
        return true;
    case LL_COLLECTIVE_ALL_TO_ALL:
        nest_within(steps, split, LL_COLLECTIVE_ALL_TO_ALL);
        nest_between(steps, split, LL_COLLECTIVE_ALL_TO_ALL, all, split->block);
        return true;
    default:
        return false;
    }
}

bool ll_send_HIERARCHICAL(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    struct ll_blocks blocks = ll_steps_blocks(steps);
    struct split split = {.block = blocks.width};
    if (blocks.width == e->size || e->size % blocks.width != 0)
        return false;
    split.between = malloc(e->size * e->groups * sizeof *split.between);
    if (!split.between) {
        steps->failed = true;
        return true;
    }
    gather_between(e, &split);
    bool done = nest_parts(steps, &split);
    free(split.between);
    return done;
}
