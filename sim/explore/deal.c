/* SPDX-License-Identifier: Apache-2.0 */
/* What searches that divide propose, by place in their sequence, and sharing it: who gets which places. */
#include "sim/explore/sweep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/random.h"

/* A walk over all points: like counting, but with the digits in another order. */
struct walk {
    size_t order[LL_MOST_AXES]; /* the axes, the slowest first */
    uint32_t point[LL_MOST_AXES];
};

/* How much lasts when an axis turns: nothing with another program, least of the outlines with another memory
 * or software, those of other units when one of them varies. With another clock all of them last, but most of
 * a machine is read again; with anything else hardly any of it is. */
enum { WEIGHTS = 5 };
static int weight_of(const struct ll_space_axis *axis)
{
    bool unit = !strncmp(axis->path, "units.", 6);
    if (axis->target == LL_AXIS_MODEL || axis->target == LL_AXIS_PLAN)
        return 0;
    if (!axis->keeps_outlines)
        return unit ? 2 : 1;
    return unit || !strcmp(axis->path, "clock") ? 3 : 4;
}

static struct walk begin(const struct ll_space *space)
{
    struct walk walk = {{0}, {0}};
    size_t count = 0;
    for (int weight = 0; weight < WEIGHTS; weight++)
        for (size_t a = 0; a < space->axis_count; a++)
            if (weight_of(&space->axes[a]) == weight)
                walk.order[count++] = a;
    return walk;
}

/* The walk, where it has come to this place. */
static struct walk walk_to(const struct ll_space *space, uint64_t place)
{
    struct walk walk = begin(space);
    for (size_t i = space->axis_count; i-- > 0;) {
        const uint32_t values = space->axes[walk.order[i]].value_count;
        walk.point[walk.order[i]] = (uint32_t)(place % values);
        place /= values;
    }
    return walk;
}

/* Where the walk comes to a point. */
static uint64_t place_of(const struct ll_space *space, const struct walk *walk, uint64_t number)
{
    uint32_t point[LL_MOST_AXES];
    uint64_t place = 0;
    ll_space_point(space, number, point);
    for (size_t i = 0; i < space->axis_count; i++)
        place = place * space->axes[walk->order[i]].value_count + point[walk->order[i]];
    return place;
}

static int by_place(const void *left, const void *right)
{
    const struct ll_evaluation_turn *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void ll_space_turns(const struct ll_space *space, const struct ll_evaluation *evaluations, size_t count,
                    struct ll_evaluation_turn *turns)
{
    const struct walk walk = begin(space);
    for (size_t i = 0; i < count; i++)
        turns[i] = (struct ll_evaluation_turn){place_of(space, &walk, evaluations[i].number), i};
    qsort(turns, count, sizeof *turns, by_place);
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

static uint64_t by_latin(const struct ll_space *space, uint64_t count, uint64_t i)
{
    uint64_t sizes[LL_MOST_AXES];
    uint32_t point[LL_MOST_AXES];
    for (size_t a = 0; a < space->axis_count; a++)
        sizes[a] = space->axes[a].value_count;
    ll_latin_point(sizes, space->axis_count, count, space->search.seed, i, point);
    return ll_space_number(space, point);
}

/* Draws so many points. What was drawn before is drawn anew, by lot, so that as many are proposed as are
 * wanted: there are not fewer points than places. False when memory ran out. */
static bool draw(struct ll_proposals *proposals, uint64_t count)
{
    while (proposals->drawn.count < count) {
        const uint64_t i = proposals->draws++, places = proposals->count;
        const uint64_t number = i < places ? by_latin(proposals->space, places, i)
                                           : ll_shuffle_at(&proposals->shuffle, i - places);
        if (ll_map_intern(&proposals->drawn, &number, sizeof number, NULL) == LL_NO_ID)
            return false;
    }
    return true;
}

struct ll_proposals ll_proposals_of(const struct ll_space *space)
{
    return (struct ll_proposals){.space = space,
                                 .count = ll_sweep_search_total(space),
                                 .shuffle = ll_shuffle_of(space->point_count, space->search.seed)};
}

void ll_proposals_release(struct ll_proposals *proposals)
{
    ll_map_release(&proposals->drawn);
}

bool ll_proposals_at(struct ll_proposals *proposals, uint64_t first, size_t count, uint64_t *numbers)
{
    const struct ll_space *space = proposals->space;
    assert(ll_search_divides(space->search.kind) && first + count <= proposals->count);
    if (space->search.kind == LL_SEARCH_GRID) {
        struct walk walk = walk_to(space, first);
        for (size_t i = 0; i < count; i++, step(space, &walk))
            numbers[i] = ll_space_number(space, walk.point);
        return true;
    }
    if (space->search.kind == LL_SEARCH_RANDOM) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = ll_shuffle_at(&proposals->shuffle, first + i);
        return true;
    }
    if (!draw(proposals, first + count))
        return false;
    for (size_t i = 0; i < count; i++)
        memcpy(&numbers[i], proposals->drawn.entries[first + i].bytes, sizeof *numbers);
    return true;
}

/* Sharing what a search proposes.
 *
 * Neighbours in the sequence have most in common, and what they have in common is costed once, so that it is
 * cut into blocks. As many blocks as there are lanes are a round; in each round a lane has one of them, by
 * an offset drawn for the round, so that no lane always meets the same values of an axis that turns slowly:
 *
 *       round    0              1              2
 *       blocks   0 1 2 3        4 5 6 7        8 9 ...
 *       lane     2 3 0 1        0 1 2 3        1 2 ...
 *
 * A shard is a lane. Processes that work together take pieces: what a lane has of half of the rounds, then of
 * half of those that are left, and so on down to single rounds. The first pieces need no message, the last
 * ones are small, so that all processes end at about the same time; each has taken as many pieces as the
 * logarithm of its blocks says. */

/* Blocks are at most so long; where a lane has little to do, so short that it has some hundred: then a block
 * more is less than half a percent. */
enum { MOST_BLOCK = 64, LEAST_ROUNDS = 256 };

struct ll_deal ll_deal_of(uint64_t count, uint64_t lanes)
{
    assert(lanes >= 1 && lanes < UINT64_C(1) << 32);
    const uint64_t block = count / lanes / LEAST_ROUNDS;
    struct ll_deal deal = {.count = count, .lanes = lanes};
    deal.block = block < 1 ? 1 : block > MOST_BLOCK ? MOST_BLOCK : block;
    deal.rounds = count / (deal.block * lanes) + (count % (deal.block * lanes) > 0);
    return deal;
}

struct ll_deal_piece ll_deal_lane(const struct ll_deal *deal, uint64_t lane)
{
    assert(lane < deal->lanes);
    return (struct ll_deal_piece){.lane = lane, .first_round = 0, .end_round = deal->rounds};
}

uint64_t ll_deal_most(const struct ll_deal *deal)
{
    const uint64_t whole = deal->block * deal->lanes, rest = deal->count % whole;
    return deal->count / whole * deal->block + (rest < deal->block ? rest : deal->block);
}

bool ll_deal_next(const struct ll_deal *deal, uint64_t number, struct ll_deal_piece *piece)
{
    uint64_t begin = 0, end = deal->rounds - deal->rounds / 2;
    for (uint64_t i = number / deal->lanes; i > 0 && begin < deal->rounds; i--) {
        begin = end;
        end = deal->rounds - (deal->rounds - begin) / 2;
    }
    *piece = (struct ll_deal_piece){.lane = number % deal->lanes, .first_round = begin, .end_round = end};
    return begin < deal->rounds;
}

uint64_t ll_deal_block(const struct ll_deal *deal, uint64_t lane, uint64_t round, uint64_t *first)
{
    assert(lane < deal->lanes && round < deal->rounds);
    const uint64_t offset = ll_random_bits(round, 0) % deal->lanes;
    *first = (round * deal->lanes + (lane + offset) % deal->lanes) * deal->block;
    if (*first >= deal->count)
        return 0;
    return deal->count - *first < deal->block ? deal->count - *first : deal->block;
}

uint64_t ll_deal_next_most(const struct ll_deal *deal, const struct ll_deal_piece *piece)
{
    const uint64_t rounds = piece->first_round > 0 ? piece->end_round - piece->first_round : deal->rounds / 2;
    return rounds * deal->block;
}

uint64_t ll_deal_limit(uint64_t points, uint64_t lanes)
{
    assert(lanes >= 1);
    const uint64_t mean = points / lanes + (points % lanes > 0);
    const uint64_t most = (uint64_t)((1 + LL_MOST_ABOVE_MEAN) * (double)points / (double)lanes);
    return most > mean ? most : mean;
}
