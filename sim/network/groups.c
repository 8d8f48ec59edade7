/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetry: groups and devices of an exchange that need not be simulated twice.
 *
 * Groups that lie alike in blocks which share no link take as long as those of one block; groups on
 * separate rails take as long as those of the fullest rail; of groups that share no link at all the first
 * shows what all do. On a ring whose devices are joined by a switch, or each with each, all pieces move
 * alike, so a short ring shows how long a step takes. */
#include <stdlib.h>
#include <string.h>

#include "sim/network/steps.h"
#include "tracer/base/map.h"
#include "tracer/base/num.h"

/* The outermost level in which members of the first group have different places; and the innermost. */
struct span {
    uint64_t innermost, outermost;
};

static struct span span_of(const struct ll_net *net, const struct ll_exchange *e)
{
    struct span span = {ll_net_levels(net), 0};
    for (uint64_t level = 0; level < ll_net_levels(net); level++) {
        uint64_t inner = ll_net_group(net, level), sides = ll_net_group(net, level + 1) / inner;
        for (uint64_t i = 1; i < e->size; i++)
            if (e->members[i] / inner % sides != e->members[0] / inner % sides) {
                span.innermost = ll_min(span.innermost, level);
                span.outermost = level;
                break;
            }
    }
    return span;
}

/* How many of the first groups lie in a block that the others lie in alike, each time further on; else all.
 */
static uint64_t groups_of_block(const struct ll_exchange *e, uint64_t block)
{
    uint64_t first = 0, last_block = 0;
    while (first < e->groups && e->members[first * e->size] / block == e->members[0] / block)
        first++;
    if (e->groups % first != 0)
        return e->groups;
    uint64_t period = first * e->size;
    for (uint64_t i = 0; i < e->groups * e->size; i++) {
        uint64_t here = e->members[i] / block;
        if (i % period == 0 && i > 0 && here <= last_block)
            return e->groups;
        last_block = i % period == 0 ? here : last_block;
        if (here != last_block || e->members[i] % block != e->members[i % period] % block)
            return e->groups;
    }
    return first;
}

/* Whether all groups have the same places outside of blocks of `inner` devices, member by member. */
static bool same_outside(const struct ll_exchange *e, uint64_t inner)
{
    for (uint64_t i = e->size; i < e->groups * e->size; i++)
        if (e->members[i] / inner != e->members[i % e->size] / inner)
            return false;
    return true;
}

/* Whether each group keeps to one place inside of them. */
static bool one_place_each(const struct ll_exchange *e, uint64_t inner)
{
    for (uint64_t i = 0; i < e->groups * e->size; i++)
        if (e->members[i] % inner != e->members[i - i % e->size] % inner)
            return false;
    return true;
}

/* The groups on the fullest rail into a level, the first of equals; a list on the heap. False when there is
 * but one rail in use, or memory ran out. */
static bool take_rail(const struct ll_net *net, uint64_t level, const struct ll_exchange *e,
                      struct ll_exchange *fewer, uint64_t **owned)
{
    uint64_t rails = ll_net_rails(net, level), best = 0, kept = 0, *count = calloc(rails, sizeof *count);
    for (uint64_t g = 0; count && g < e->groups; g++)
        count[ll_net_rail(net, level, e->members[g * e->size])]++;
    for (uint64_t r = 1; count && r < rails; r++)
        best = count[r] > count[best] ? r : best;
    bool some = count && count[best] < e->groups;
    *owned = some ? malloc(count[best] * e->size * sizeof **owned) : NULL;
    for (uint64_t g = 0; *owned && g < e->groups; g++)
        if (ll_net_rail(net, level, e->members[g * e->size]) == best)
            memcpy(*owned + kept++ * e->size, e->members + g * e->size, e->size * sizeof **owned);
    free(count);
    fewer->members = *owned ? *owned : fewer->members;
    fewer->groups = *owned ? kept : fewer->groups;
    return *owned;
}

static struct ll_exchange find_distinct(const struct ll_net *net, const struct ll_exchange *e,
                                        uint64_t **owned)
{
    struct ll_exchange fewer = *e;
    *owned = NULL;
    if (e->groups < 2 || e->size < 2)
        return fewer;
    struct span span = span_of(net, e);
    if (span.outermost + 1 < ll_net_levels(net))
        fewer.groups = groups_of_block(e, ll_net_group(net, span.outermost + 1));
    uint64_t inner = ll_net_group(net, span.outermost);
    bool apart = ll_net_machine(net)->networks[span.outermost].group_port_Bps == 0;
    if (apart && fewer.groups > 1 && one_place_each(&fewer, inner) && same_outside(&fewer, inner))
        take_rail(net, span.outermost, &fewer, &fewer, owned);
    return fewer;
}

bool ll_distinct_groups(struct ll_solver *solver, const struct ll_exchange *e, struct ll_exchange *fewer)
{
    struct ll_exchange held = *e;
    if (ll_solver_groups(solver, &held) == LL_NO_ID)
        return false;
    struct ll_grouping *known = ll_solver_grouping(solver, &held);
    if (known->distinct_groups == 0) {
        uint64_t *owned;
        *fewer = find_distinct(ll_solver_net(solver), &held, &owned);
        const bool right = ll_solver_groups(solver, fewer) != LL_NO_ID;
        free(owned);
        if (!right)
            return false;
        known = ll_solver_grouping(solver, &held); /* which may have moved */
        known->distinct_groups = fewer->groups;
        known->distinct = fewer->members;
    }
    *fewer = held;
    fewer->groups = known->distinct_groups;
    fewer->members = known->distinct;
    return true;
}

/* A ring enters block b at place r - b, so it repeats itself after as many blocks as a block has places; how
 * many are left over at the end tells where it comes back to the first. Four at least, so that both
 * neighbours are others. */
static uint64_t find_short_ring(const struct ll_steps *steps, const struct ll_blocks *cut)
{
    enum { LEAST = 4 };
    const struct ll_exchange *e = &steps->exchange;
    struct span span = span_of(steps->net, e);
    enum ll_topology topology = ll_net_machine(steps->net)->networks[span.outermost].topology;
    uint64_t inner = ll_net_group(steps->net, span.outermost);
    uint64_t block = cut->width < e->size ? cut->width : 0;
    uint64_t blocks = block ? block * ll_ceil_div(LEAST, block) + e->size / block % block : LEAST;
    uint64_t devices = blocks * (block ? block : 1);
    if (devices >= e->size || cut->first != cut->width || e->size % cut->width != 0 ||
        (topology != LL_TOPOLOGY_SWITCH && topology != LL_TOPOLOGY_FULL))
        return e->size;
    if (block ? e->members[0] / inner == e->members[block] / inner ||
                    e->members[0] / inner != e->members[block - 1] / inner
              : span.innermost != span.outermost)
        return e->size;
    return same_outside(e, inner) ? devices : e->size;
}

uint64_t ll_short_ring(const struct ll_steps *steps, const struct ll_blocks *cut)
{
    struct ll_grouping *known = ll_solver_grouping(steps->solver, &steps->exchange);
    if (!known)
        return find_short_ring(steps, cut);
    if (known->short_ring == 0)
        known->short_ring = find_short_ring(steps, cut);
    return known->short_ring;
}

/* Whether the members of each group differ in their place in this level alone. */
static bool lies_in_level(const struct ll_net *net, const struct ll_exchange *e, uint64_t level)
{
    uint64_t inner = ll_net_group(net, level), whole = ll_net_group(net, level + 1);
    for (uint64_t i = 0; i < e->size * e->groups; i++) {
        uint64_t first = e->members[i - i % e->size];
        if (e->members[i] / whole != first / whole || e->members[i] % inner != first % inner)
            return false;
    }
    return true;
}

static uint64_t find_common_level(const struct ll_net *net, const struct ll_exchange *e)
{
    uint64_t level = 0;
    while (level < ll_net_levels(net) && !lies_in_level(net, e, level))
        level++;
    return level < ll_net_levels(net) ? level : LL_NO_LEVEL;
}

uint64_t ll_steps_common_level(const struct ll_steps *steps)
{
    struct ll_grouping *known = ll_solver_grouping(steps->solver, &steps->exchange);
    if (!known)
        return find_common_level(steps->net, &steps->exchange);
    if (known->common_level == 0)
        known->common_level = find_common_level(steps->net, &steps->exchange) + 1;
    return known->common_level - 1;
}

/* --- groups on links of their own --- */

/* A device's place in a level. */
static uint64_t place_in(const struct ll_net *net, uint64_t level, uint64_t device)
{
    uint64_t inner = ll_net_group(net, level);
    return device / inner % (ll_net_group(net, level + 1) / inner);
}

/* How many different places in a level the first group's members have; 0 when memory ran out. */
static uint64_t count_places(const struct ll_net *net, uint64_t level, const struct ll_exchange *e)
{
    uint64_t count = 0;
    bool *taken = calloc(ll_net_group(net, level + 1) / ll_net_group(net, level), sizeof *taken);
    for (uint64_t i = 0; taken && i < e->size; i++) {
        bool *place = &taken[place_in(net, level, e->members[i])];
        count += !*place;
        *place = true;
    }
    free(taken);
    return count;
}

/* Whether members have the places of the first group's in a level, as many further on in each group. */
static bool moved_alike(const struct ll_net *net, uint64_t level, const struct ll_exchange *e)
{
    const uint64_t inner = ll_net_group(net, level), places = ll_net_group(net, level + 1) / inner;
    for (uint64_t g = 1; g < e->groups; g++) {
        const uint64_t *members = e->members + g * e->size;
        const uint64_t further = members[0] / inner % places - e->members[0] / inner % places;
        for (uint64_t i = 1; i < e->size; i++)
            if (members[i] / inner % places - e->members[i] / inner % places != further)
                return false;
    }
    return true;
}

/* A device that a message passes has in each level the place of its sender or its receiver. All such
 * devices are of the group where this has every combination of its members' places; and links are then of
 * one group each. */
static bool find_apart(const struct ll_net *net, const struct ll_exchange *e)
{
    const struct ll_network *networks = ll_net_machine(net)->networks;
    uint64_t combinations = 1;
    for (uint64_t level = 0; level < ll_net_levels(net); level++) {
        uint64_t places = count_places(net, level, e);
        combinations = ll_mul(combinations, places);
        if (!moved_alike(net, level, e))
            return false;
        if (places == 1)
            continue;
        if (networks[level].group_port_Bps > 0 || ll_net_rails(net, level) != ll_net_group(net, level) ||
            (networks[level].topology != LL_TOPOLOGY_SWITCH && networks[level].topology != LL_TOPOLOGY_FULL))
            return false;
    }
    return combinations == e->size;
}

bool ll_groups_are_apart(struct ll_solver *solver, const struct ll_exchange *e)
{
    struct ll_grouping *known = ll_solver_grouping(solver, e);
    if (e->groups < 2 || !known)
        return false;
    if (known->apart == 0)
        known->apart = find_apart(ll_solver_net(solver), e) ? 2 : 1;
    return known->apart == 2;
}
