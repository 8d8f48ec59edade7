/* SPDX-License-Identifier: Apache-2.0 */
/* A file is opened when the first call comes out of it: of hundreds that are loaded, a few call. */
#include "sim/cli/foreign_site.h"

#include <stdlib.h>
#include <string.h>

struct ll_opened_site {
    const char *path;
    uint64_t base;
    struct ll_callsites *sites;
};

static struct ll_callsites *find_opened(const struct ll_sites *sites, const struct ll_ring_library *library)
{
    for (uint64_t i = 0; i < sites->count; i++)
        if (sites->opened[i].base == library->base && strcmp(sites->opened[i].path, library->path) == 0)
            return sites->opened[i].sites;
    return NULL;
}

static struct ll_callsites *open_sites(struct ll_sites *sites, const struct ll_ring_library *library)
{
    struct ll_opened_site opened = {ll_copy_text(&sites->arena, library->path, strlen(library->path)),
                                    library->base, NULL};
    const struct ll_module module = {opened.path, opened.base};
    if (!opened.path || !ll_grow(&sites->opened, &sites->capacity, sites->count + 1, sizeof opened) ||
        ll_callsites_open(&module, 1, &opened.sites) != LL_OK)
        return NULL;
    sites->opened[sites->count++] = opened;
    return opened.sites;
}

const char *ll_site_text(void *context, const struct ll_ring_library *library, uint64_t address)
{
    struct ll_sites *sites = context;
    struct ll_callsites *opened = find_opened(sites, library);
    if (!opened)
        opened = open_sites(sites, library);
    const struct ll_callsite *site = opened ? ll_callsite_find(opened, address) : NULL;
    return site && site->library ? ll_callsite_text(&sites->arena, site) : NULL;
}

void ll_sites_release(struct ll_sites *sites)
{
    for (uint64_t i = 0; i < sites->count; i++)
        ll_callsites_release(sites->opened[i].sites);
    free(sites->opened);
    ll_arena_release(&sites->arena);
    *sites = (struct ll_sites){0};
}
