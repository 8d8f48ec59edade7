/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are joined to devices: rings, all to all, meshes and tori. */
#include "sim/net/fabric.h"

/* --- a ring in one direction: link i leads from device i to the next --- */

const char *ll_prepare_RING(struct ll_fabric *fabric)
{
    fabric->links = fabric->devices;
    return NULL;
}

double ll_width_RING(const struct ll_fabric *fabric, uint64_t link)
{
    (void)fabric;
    (void)link;
    return 1;
}

void ll_route_RING(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    for (uint64_t at = from; at != to; at = (at + 1) % fabric->devices)
        ll_route_add(path, at);
}

/* --- in both: links 2 i and 2 i + 1 lead from device i to the next and to the one before --- */

const char *ll_prepare_BIDIRECTIONAL_RING(struct ll_fabric *fabric)
{
    fabric->links = 2 * fabric->devices;
    return NULL;
}

double ll_width_BIDIRECTIONAL_RING(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

/* Along one side of `length` devices from `from` to `to`: how many steps, and whether backwards. The shorter
 * way; when both are as long, every other device goes backwards, so that links both ways carry as much when
 * all send to all. */
struct way {
    uint64_t steps;
    bool back;
};

static struct way way_around(uint64_t from, uint64_t to, uint64_t length)
{
    uint64_t forward = (to + length - from) % length, back = length - forward;
    bool backwards = back < forward || (back == forward && from % 2 == 1);
    return backwards ? (struct way){back, true} : (struct way){forward, false};
}

void ll_route_BIDIRECTIONAL_RING(const struct ll_fabric *fabric, uint64_t from, uint64_t to,
                                 struct ll_route *path)
{
    struct way way = way_around(from, to, fabric->devices);
    for (uint64_t i = 0, at = from; i < way.steps; i++) {
        ll_route_add(path, 2 * at + way.back);
        at = (at + (way.back ? fabric->devices - 1 : 1)) % fabric->devices;
    }
}

/* --- all to all: link from * n + to --- */

const char *ll_prepare_FULL(struct ll_fabric *fabric)
{
    fabric->links = fabric->devices * fabric->devices;
    return fabric->devices > 1u << 16 ? "so many devices have no link to every other" : NULL;
}

double ll_width_FULL(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

void ll_route_FULL(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    ll_route_add(path, from * fabric->devices + to);
}

/* --- meshes and tori: links 2 (i sides + side) and the next lead from device i forwards and back along a
 * side. A message goes along the first side, then the second, ...: dimension-ordered routing, which cannot
 * deadlock --- */

const char *ll_prepare_TORUS(struct ll_fabric *fabric)
{
    fabric->links = 2 * fabric->devices * fabric->level->shape.count;
    return NULL;
}

double ll_width_TORUS(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

static void route_sides(const struct ll_fabric *fabric, uint64_t from, uint64_t to, bool around,
                        struct ll_route *path)
{
    const struct ll_extents *shape = &fabric->level->shape;
    uint64_t at = from, stride = 1;
    for (uint64_t side = 0; side < shape->count; stride *= shape->at[side++]) {
        uint64_t length = shape->at[side], here = at / stride % length, there = to / stride % length;
        struct way way = around         ? way_around(here, there, length)
                         : there > here ? (struct way){there - here, false}
                                        : (struct way){here - there, true};
        for (uint64_t i = 0; i < way.steps; i++) {
            ll_route_add(path, 2 * (at * shape->count + side) + way.back);
            uint64_t next = (here + (way.back ? length - 1 : 1)) % length;
            at = at - here * stride + next * stride;
            here = next;
        }
    }
}

void ll_route_TORUS(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    route_sides(fabric, from, to, true, path);
}

const char *ll_prepare_MESH(struct ll_fabric *fabric)
{
    return ll_prepare_TORUS(fabric);
}

double ll_width_MESH(const struct ll_fabric *fabric, uint64_t link)
{
    return ll_width_RING(fabric, link);
}

void ll_route_MESH(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    route_sides(fabric, from, to, false, path);
}
