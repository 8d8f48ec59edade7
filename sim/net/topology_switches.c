/* SPDX-License-Identifier: Apache-2.0 */
/* Devices behind switches. */
#include "sim/net/fabric.h"

#include <math.h>

/* --- one switch: links 2 i and 2 i + 1 lead from device i up and down to it --- */

const char *ll_prepare_SWITCH(struct ll_fabric *fabric)
{
    fabric->links = 2 * fabric->devices;
    return NULL;
}

double ll_width_SWITCH(const struct ll_fabric *fabric, uint64_t link)
{
    (void)fabric;
    (void)link;
    return 1;
}

void ll_route_SWITCH(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    (void)fabric;
    ll_route_add(path, 2 * from);
    ll_route_add(path, 2 * to + 1);
}

/* --- a fat tree: floor 0 are the devices, floor f the switches of `shape[f - 1]` members of the floor below.
 * Member i of a floor has the links 2 i and 2 i + 1 behind those of the floors below, up and down. The many
 * paths of a real one count as one link as wide as they are together --- */

static uint64_t members_of(const struct ll_fabric *fabric, uint64_t floor)
{
    uint64_t members = fabric->devices;
    for (uint64_t f = 0; f < floor; f++)
        members /= fabric->level->shape.at[f];
    return members;
}

const char *ll_prepare_FAT_TREE(struct ll_fabric *fabric)
{
    for (uint64_t floor = 0; floor < fabric->level->shape.count; floor++)
        fabric->links += 2 * members_of(fabric, floor);
    return NULL;
}

double ll_width_FAT_TREE(const struct ll_fabric *fabric, uint64_t link)
{
    uint64_t floor = 0;
    while (link >= 2 * members_of(fabric, floor))
        link -= 2 * members_of(fabric, floor++);
    double below = (double)fabric->devices / (double)members_of(fabric, floor);
    return below / pow(fabric->level->oversubscription, (double)floor);
}

void ll_route_FAT_TREE(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    uint64_t first = 0, floor = 0, up = from, down = to, downs[LL_MAX_EXTENTS];
    for (; up != down; floor++) {
        ll_route_add(path, first + 2 * up);
        downs[floor] = first + 2 * down + 1;
        first += 2 * members_of(fabric, floor);
        up /= fabric->level->shape.at[floor];
        down /= fabric->level->shape.at[floor];
    }
    while (floor-- > 0)
        ll_route_add(path, downs[floor]);
}

/* --- a dragonfly of p devices a router, a routers a group, g groups: links of the devices as at a switch,
 * then router * a + router' of its group, then group * g + group'. The link to another group begins at a
 * router that follows from the two groups' numbers --- */

struct dragonfly {
    uint64_t p, a, g;
};

static struct dragonfly dragonfly_of(const struct ll_fabric *fabric)
{
    const uint64_t *at = fabric->level->shape.at;
    return (struct dragonfly){at[0], at[1], at[2]};
}

const char *ll_prepare_DRAGONFLY(struct ll_fabric *fabric)
{
    struct dragonfly d = dragonfly_of(fabric);
    fabric->links = 2 * fabric->devices + d.a * d.g * d.a + d.g * d.g;
    return NULL;
}

double ll_width_DRAGONFLY(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_SWITCH(fabric, link);
}

/* The router of a group that leads to another one. */
static uint64_t gate(const struct dragonfly *d, uint64_t group, uint64_t other)
{
    return group * d->a + (other < group ? other : other - 1) % d->a;
}

static void within_group(const struct ll_fabric *fabric, const struct dragonfly *d, uint64_t from,
                         uint64_t to, struct ll_route *path)
{
    if (from != to)
        ll_route_add(path, 2 * fabric->devices + from * d->a + to % d->a);
}

void ll_route_DRAGONFLY(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    struct dragonfly d = dragonfly_of(fabric);
    uint64_t router = from / d.p, last = to / d.p, group = router / d.a, other = last / d.a;
    ll_route_add(path, 2 * from);
    if (group != other) {
        within_group(fabric, &d, router, gate(&d, group, other), path);
        ll_route_add(path, 2 * fabric->devices + d.a * d.g * d.a + group * d.g + other);
        router = gate(&d, other, group);
    }
    within_group(fabric, &d, router, last, path);
    ll_route_add(path, 2 * to + 1);
}
