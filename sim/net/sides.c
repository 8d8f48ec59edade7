/* SPDX-License-Identifier: Apache-2.0 */
/* Along the sides of a mesh or torus, one side after the other, all sides at once.
 *
 * A single ring through all devices uses two of the links of each. Here the data has as many parts as the box
 * of devices has sides. Each part is reduced and scattered along one side, what is left of it along the next,
 * and gathered the same way back; each begins with another side, so that all links are in use:
 *
 *       part 0    x y z | z y x
 *       part 1    y z x | x z y          of 4 x 4 x 4 devices: 2 (n - 1) / n M / (6 B)
 *       part 2    z x y | y x z
 *
 * Along a side half of each piece goes around each way. Where sides are not as long as each other, the
 * shorter ones take as many turns as the longest, with smaller pieces. */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <stdlib.h>

/* The members of the first group in their places: of each side those coordinates that members have, in order.
 * The other groups exchange as it does. */
struct box {
    uint64_t sides;                  /* along which members differ */
    uint64_t extent[LL_MAX_EXTENTS]; /* of these */
    uint64_t *place;                 /* of each rank: `sides` numbers */
    uint64_t *rank;                  /* by place, the first side the fastest */
};

static uint64_t coordinate_of(const struct ll_network *level, uint64_t place, uint64_t side)
{
    for (uint64_t i = 0; i < side; i++)
        place /= level->shape.at[i];
    return place % level->shape.at[side];
}

/* How many of the coordinates along a side that the group's members have are smaller than that one. */
static uint64_t rank_along(const bool *used, uint64_t coordinate)
{
    uint64_t smaller = 0;
    for (uint64_t i = 0; i < coordinate; i++)
        smaller += used[i];
    return smaller;
}

/* Places of a group's members along one side, which is left out if all have the same. False when memory ran
 * out. */
static bool place_along(const struct ll_steps *steps, const struct ll_network *level, uint64_t inner,
                        const uint64_t *members, uint64_t side, struct box *box)
{
    uint64_t size = steps->exchange.size;
    bool *used = calloc(level->shape.at[side], sizeof *used);
    if (!used)
        return false;
    for (uint64_t i = 0; i < size; i++)
        used[coordinate_of(level, members[i] / inner % level->devices, side)] = true;
    uint64_t extent = rank_along(used, level->shape.at[side]);
    for (uint64_t i = 0; extent > 1 && i < size; i++)
        box->place[i * LL_MAX_EXTENTS + box->sides] =
            rank_along(used, coordinate_of(level, members[i] / inner % level->devices, side));
    if (extent > 1)
        box->extent[box->sides++] = extent;
    free(used);
    return true;
}

static uint64_t index_of(const struct box *box, const uint64_t *place)
{
    uint64_t index = 0;
    for (uint64_t side = box->sides; side-- > 0;)
        index = index * box->extent[side] + place[side];
    return index;
}

/* The first group as a box. False when it is none, or when memory ran out. */
static bool find_box(struct ll_steps *steps, uint64_t place, struct box *box)
{
    const struct ll_exchange *e = &steps->exchange;
    const struct ll_network *level = &ll_net_machine(steps->net)->networks[place];
    uint64_t inner = ll_net_group(steps->net, place), devices = 1;
    for (uint64_t side = 0; side < level->shape.count; side++)
        if (!place_along(steps, level, inner, e->members, side, box))
            return !(steps->failed = true);
    for (uint64_t side = 0; side < box->sides; side++)
        devices = ll_mul(devices, box->extent[side]);
    if (devices != e->size || box->sides < 2)
        return false;
    for (uint64_t i = 0; i < e->size; i++)
        box->rank[index_of(box, &box->place[i * LL_MAX_EXTENTS])] = i;
    return true;
}

/* Everyone to both neighbours along a side, half of `bytes` each way. */
static void send_along(struct ll_steps *steps, const struct box *box, uint64_t side, double bytes)
{
    for (uint64_t i = 0; i < steps->exchange.size; i++) {
        uint64_t next[LL_MAX_EXTENTS];
        for (uint64_t s = 0; s < box->sides; s++)
            next[s] = box->place[i * LL_MAX_EXTENTS + s];
        next[side] = (next[side] + 1) % box->extent[side];
        ll_steps_send(steps, i, box->rank[index_of(box, next)], bytes / 2);
        ll_steps_send(steps, box->rank[index_of(box, next)], i, bytes / 2);
    }
}

static void send_all(struct ll_steps *steps, const struct box *box, double times)
{
    double left[LL_MAX_EXTENTS];
    uint64_t longest = 2;
    for (uint64_t part = 0; part < box->sides; part++) {
        left[part] = steps->exchange.bytes / (double)box->sides;
        longest = ll_max(longest, box->extent[part]);
    }
    double turns = (double)(longest - 1);
    for (uint64_t phase = 0; phase < box->sides; phase++) {
        for (uint64_t part = 0; part < box->sides; part++) {
            uint64_t side = (part + phase) % box->sides;
            double pieces = (double)box->extent[side];
            left[part] /= pieces;
            send_along(steps, box, side, left[part] * (pieces - 1) / turns);
        }
        ll_steps_end(steps, times * turns);
    }
}

/* 2 d (a - 1) latency + 2 (n - 1) / n M / (2 d B) on a torus of d sides of a devices each, n = a^d */
bool ll_send_SIDES(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    uint64_t place = ll_joining_level(steps->net, e);
    if (ll_turns_of_ring(e) == 0 || place == LL_NO_LEVEL)
        return false;
    enum ll_topology topology = ll_net_machine(steps->net)->networks[place].topology;
    if (topology != LL_TOPOLOGY_TORUS && topology != LL_TOPOLOGY_MESH)
        return false;
    struct box box = {.place = calloc(e->size * LL_MAX_EXTENTS, sizeof *box.place),
                      .rank = calloc(e->size, sizeof *box.rank)};
    steps->failed |= !box.place || !box.rank;
    bool found = !steps->failed && find_box(steps, place, &box);
    if (found)
        send_all(steps, &box, e->collective == LL_COLLECTIVE_ALL_REDUCE ? 2 : 1);
    free(box.place);
    free(box.rank);
    return found || steps->failed;
}
