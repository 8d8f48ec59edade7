/* SPDX-License-Identifier: Apache-2.0 */
/* A network whose links are listed. Messages take the fewest links; of several such ways the one whose first
 * link was listed first. */
#include "sim/machine/edge.h"
#include "sim/net/fabric.h"

#include <stdlib.h>

enum { MOST_LISTED = 4096 }; /* devices: the table of first links has a square of them */

static const uint64_t NOWHERE = UINT64_MAX;

static bool allocate(struct ll_fabric *fabric)
{
    uint64_t most = 2 * fabric->level->edge_count + 1;
    fabric->link_from = calloc(most, sizeof *fabric->link_from);
    fabric->link_to = calloc(most, sizeof *fabric->link_to);
    fabric->link_width = calloc(most, sizeof *fabric->link_width);
    fabric->next = malloc(fabric->devices * fabric->devices * sizeof *fabric->next);
    return fabric->link_from && fabric->link_to && fabric->link_width && fabric->next;
}

static void add_link(struct ll_fabric *fabric, uint64_t from, uint64_t to, double width)
{
    fabric->link_from[fabric->links] = from;
    fabric->link_to[fabric->links] = to;
    fabric->link_width[fabric->links++] = width;
}

static const char *list_links(struct ll_fabric *fabric)
{
    for (uint64_t i = 0; i < fabric->level->edge_count; i++) {
        struct ll_network_edge edge;
        if (!ll_edge_parse(fabric->level->edges[i], &edge) || edge.from >= fabric->devices ||
            edge.to >= fabric->devices)
            return "an edge must name two of its devices";
        add_link(fabric, edge.from, edge.to, edge.links);
        if (edge.both_ways)
            add_link(fabric, edge.to, edge.from, edge.links);
    }
    return NULL;
}

/* For each device the first link of the shortest way to `to`: the distances grow from there, a round a link.
 */
static bool reach(struct ll_fabric *fabric, uint64_t to, uint64_t *distance)
{
    uint64_t reached = 1;
    for (uint64_t i = 0; i < fabric->devices; i++)
        distance[i] = i == to ? 0 : NOWHERE;
    for (uint64_t round = 1; round < fabric->devices && reached < fabric->devices; round++)
        for (uint64_t l = 0; l < fabric->links; l++) {
            uint64_t from = fabric->link_from[l];
            if (distance[from] != NOWHERE || distance[fabric->link_to[l]] != round - 1)
                continue;
            distance[from] = round;
            fabric->next[from * fabric->devices + to] = l;
            reached++;
        }
    return reached == fabric->devices;
}

const char *ll_prepare_EDGES(struct ll_fabric *fabric)
{
    if (fabric->devices > MOST_LISTED)
        return "a listed network joins at most 4096 devices";
    uint64_t *distance = malloc(fabric->devices * sizeof *distance);
    const char *trouble = distance && allocate(fabric) ? list_links(fabric) : "memory ran out";
    for (uint64_t to = 0; !trouble && to < fabric->devices; to++)
        if (!reach(fabric, to, distance))
            trouble = "its edges do not lead from every device to every other";
    free(distance);
    return trouble;
}

double ll_width_EDGES(const struct ll_fabric *fabric, uint64_t link)
{
    return fabric->link_width[link];
}

void ll_route_EDGES(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    for (uint64_t at = from; at != to;) {
        uint64_t link = fabric->next[at * fabric->devices + to];
        ll_route_add(path, link);
        at = fabric->link_to[link];
    }
}
