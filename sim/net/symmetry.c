/* SPDX-License-Identifier: Apache-2.0 */
/* What need not be looked at twice. Groups that lie alike in blocks which share no link take as long as those
 * of one block; groups on rails of their own as long as those of the fullest rail. On a ring whose devices
 * are joined by a switch, or each with each, all pieces move alike: a short ring tells how long a step takes.
 */
#include "sim/net/steps.h"

#include "tracer/base/num.h"

#include <stdlib.h>
#include <string.h>

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

struct ll_exchange ll_distinct_groups(const struct ll_net *net, const struct ll_exchange *e, uint64_t **owned)
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

/* A ring enters block b at place r - b, so it repeats itself after as many blocks as a block has places; how
 * many are left over at the end tells where it comes back to the first. Four at least, so that both
 * neighbours are others. */
uint64_t ll_short_ring(const struct ll_steps *steps, const struct ll_blocks *cut)
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
