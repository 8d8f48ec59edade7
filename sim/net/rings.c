/* SPDX-License-Identifier: Apache-2.0 */
/* As many rings at once as the links between the devices allow, each over links of its own.
 *
 * Where devices are joined one by one, as in a cube mesh, a single ring uses few of the links. Here each link
 * between two of the devices has as many lanes as it is times as wide as the narrowest, a ring takes a lane
 * from each device to the next, and as many rings as can be found side by side share the data: n - 1 of them
 * where all are joined to all, but for 4 and 6 devices (Tillson, A Hamiltonian decomposition of K*2m, 1980).
 *
 * Looked for are the most rings, by trying: those of many lanes first, in a fixed order, up to so many
 * trials. */
#include "sim/net/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 16, MOST_RINGS = 64, MOST_TRIALS = 200000 };

struct ring {
    uint8_t next[MOST_MEMBERS];
};

struct search {
    uint64_t size;
    uint32_t lanes[MOST_MEMBERS][MOST_MEMBERS]; /* free ones */
    struct ring taken[MOST_RINGS], best[MOST_RINGS];
    uint64_t count, best_count, most; /* most: there cannot be more */
    uint64_t trials;
};

/* What a message may carry from one device to the other over one link alone; 0: there is none. */
static double direct_Bps(const struct ll_net *net, uint64_t from, uint64_t to, bool *failed)
{
    struct ll_route path = {0};
    ll_net_route(net, from, to, &path);
    double rate_Bps = path.count == 1 ? ll_net_link_Bps(net, path.links[0]) : 0;
    *failed |= path.failed;
    free(path.links);
    return rate_Bps;
}

/* Lanes between the members of the first group. False when no two of them are joined. */
static bool count_lanes(struct ll_steps *steps, struct search *search)
{
    const struct ll_exchange *e = &steps->exchange;
    double rate_Bps[MOST_MEMBERS][MOST_MEMBERS], narrowest_Bps = INFINITY;
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 0; j < e->size; j++) {
            rate_Bps[i][j] =
                i == j ? 0 : direct_Bps(steps->net, e->members[i], e->members[j], &steps->failed);
            if (rate_Bps[i][j] > 0)
                narrowest_Bps = fmin(narrowest_Bps, rate_Bps[i][j]);
        }
    for (uint64_t i = 0; i < e->size; i++)
        for (uint64_t j = 0; j < e->size; j++)
            search->lanes[i][j] = (uint32_t)fmin(MOST_RINGS, floor(rate_Bps[i][j] / narrowest_Bps + 1e-9));
    return isfinite(narrowest_Bps);
}

/* No more rings than the fewest lanes into or out of a device. */
static uint64_t most_rings(const struct search *search)
{
    uint64_t most = MOST_RINGS;
    for (uint64_t i = 0; i < search->size; i++) {
        uint64_t out = 0, in = 0;
        for (uint64_t j = 0; j < search->size; j++) {
            out += search->lanes[i][j];
            in += search->lanes[j][i];
        }
        most = ll_min(most, ll_min(out, in));
    }
    return most;
}

static void take_rings(struct search *search);

static void keep_best(struct search *search)
{
    if (search->count <= search->best_count)
        return;
    search->best_count = search->count;
    memcpy(search->best, search->taken, search->count * sizeof *search->taken);
}

/* Goes on from `at`, having been to the devices of `been`; a ring that closes is taken, and others are looked
 * for beside it. */
static void extend_ring(struct search *search, uint64_t at, uint32_t been)
{
    struct ring *ring = &search->taken[search->count];
    bool all = been == (UINT32_C(1) << search->size) - 1;
    for (uint32_t wide = MOST_RINGS; wide > 0 && search->best_count < search->most; wide--)
        for (uint64_t to = 0; to < search->size; to++) {
            if (search->lanes[at][to] != wide || (all ? to != 0 : been >> to & 1))
                continue;
            if (++search->trials > MOST_TRIALS || search->best_count >= search->most)
                return;
            search->lanes[at][to]--;
            ring->next[at] = (uint8_t)to;
            if (all)
                take_rings(search);
            else
                extend_ring(search, to, been | UINT32_C(1) << to);
            search->lanes[at][to]++;
        }
}

/* The ring at hand is complete. */
static void take_rings(struct search *search)
{
    search->count++;
    keep_best(search);
    if (search->count < search->most)
        extend_ring(search, 0, 1);
    search->count--;
}

static void send_rings(struct ll_steps *steps, const struct search *search, double bytes)
{
    for (uint64_t r = 0; r < search->best_count; r++)
        for (uint64_t i = 0; i < search->size; i++)
            ll_steps_send(steps, i, search->best[r].next[i], bytes / (double)search->best_count);
}

/* 2 (n - 1) (latency + M / (n r B)) of r rings */
bool ll_send_RINGS(struct ll_steps *steps)
{
    const struct ll_exchange *e = &steps->exchange;
    double turns = ll_turns_of_ring(e);
    if (turns == 0 || e->size < 2 || e->size > MOST_MEMBERS)
        return false;
    struct search *search = calloc(1, sizeof *search);
    steps->failed |= !search;
    if (!search)
        return true;
    search->size = e->size;
    if (count_lanes(steps, search)) {
        search->most = most_rings(search);
        if (search->most > 0)
            extend_ring(search, 0, 1);
    }
    bool found = search->best_count > 0;
    if (found) {
        send_rings(steps, search, e->bytes / (double)e->size);
        ll_steps_end(steps, turns);
    }
    free(search);
    return found;
}
