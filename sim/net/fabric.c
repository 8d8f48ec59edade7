/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/net/fabric.h"

#include "tracer/base/arena.h"

#include <assert.h>
#include <stdlib.h>

static const struct topology {
    const char *(*prepare)(struct ll_fabric *fabric);
    double (*width)(const struct ll_fabric *fabric, uint64_t link);
    void (*route)(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path);
} topologies[] = {
#define LL_TOPOLOGY(word, ...) {ll_prepare_##word, ll_width_##word, ll_route_##word},
#include "sim/machine/topologies.def"
#undef LL_TOPOLOGY
};

void ll_route_add(struct ll_route *path, uint64_t link)
{
    if (!ll_grow(&path->links, &path->capacity, path->count + 1, sizeof *path->links)) {
        path->failed = true;
        return;
    }
    path->links[path->count++] = link;
}

const char *ll_fabric_open(const struct ll_network *level, struct ll_fabric *fabric)
{
    *fabric = (struct ll_fabric){.level = level, .devices = level->devices};
    return topologies[level->topology].prepare(fabric);
}

void ll_fabric_close(struct ll_fabric *fabric)
{
    free(fabric->link_from);
    free(fabric->link_to);
    free(fabric->link_width);
    free(fabric->next);
}

double ll_fabric_width(const struct ll_fabric *fabric, uint64_t link)
{
    assert(link < fabric->links);
    return topologies[fabric->level->topology].width(fabric, link);
}

void ll_fabric_route(const struct ll_fabric *fabric, uint64_t from, uint64_t to, struct ll_route *path)
{
    assert(from < fabric->devices && to < fabric->devices);
    if (from != to)
        topologies[fabric->level->topology].route(fabric, from, to, path);
}
