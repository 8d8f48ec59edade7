/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/foreign_sites.h"

#include "tracer/binary/callsite.h"

#include <string.h>

struct ll_library_sites {
    const char *path;
    uint64_t base;
    struct ll_callsites *sites; /* NULL: the file cannot be read */
    struct ll_library_sites *next;
};

/* NULL when memory ran out. */
static struct ll_library_sites *sites_of(struct ll_foreign_sites *all, const struct ll_ring_library *library)
{
    for (struct ll_library_sites *at = all->first; at; at = at->next)
        if (at->base == library->base && strcmp(at->path, library->path) == 0)
            return at;
    struct ll_library_sites *added = ll_alloc(&all->arena, 1, sizeof *added);
    const char *path = ll_copy_text(&all->arena, library->path, strlen(library->path));
    if (!added || !path)
        return NULL;
    const struct ll_module module = {.path = path, .bias = library->base};
    *added = (struct ll_library_sites){.path = path, .base = library->base, .next = all->first};
    if (ll_callsites_open(&module, 1, &added->sites) != LL_OK)
        added->sites = NULL;
    return all->first = added;
}

const char *ll_foreign_site(void *sites, const struct ll_ring_library *library, uint64_t address)
{
    struct ll_foreign_sites *all = sites;
    struct ll_library_sites *of = sites_of(all, library);
    const struct ll_callsite *site = of && of->sites ? ll_callsite_find(of->sites, address) : NULL;
    return site ? ll_callsite_text(&all->arena, site) : NULL;
}

void ll_foreign_sites_release(struct ll_foreign_sites *sites)
{
    for (struct ll_library_sites *at = sites->first; at; at = at->next)
        if (at->sites)
            ll_callsites_release(at->sites);
    ll_arena_release(&sites->arena);
}
