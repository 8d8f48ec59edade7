/* SPDX-License-Identifier: Apache-2.0 */
/* The library that the loader asks when it binds a symbol (rtld-audit(7)). It lives in a world of its own,
 * with its own C library; all it does is to answer with the address of our wrapper where a routine's is asked
 * for. That reaches those who search past the preload library: RTLD_DEEPBIND, and dlsym on a library's
 * handle.
 *
 * What the loader would have bound is told to the preload library, as the wrapper is to call just that.
 * Before main that library may not be ready to listen; but then nobody can search past it either. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/loaded.h"

#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define PRELOAD_FILE "/libleadline-preload.so"

static const char *const names[] = {
#define LL_SYMBOL(name, ...) #name,
#include "tracer/interpose/symbols.def"
};

static struct ll_loaded preload; /* dynamic NULL: not there (yet) */
static void (*tell)(const char *name, const void *library, void *real);
static bool started;

static void *find_in_preload(const char *name)
{
    const ElfW(Sym) *symbol = preload.dynamic ? ll_loaded_find(&preload, name) : NULL;
    return symbol ? (void *)(preload.base + symbol->st_value) : NULL;
}

static bool is_routine(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

EXPORT unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* Bindings from the preload library are its own business. */
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    size_t length = strlen(map->l_name), ours = sizeof PRELOAD_FILE - 1;
    *cookie = (uintptr_t)map;
    if (space != LM_ID_BASE)
        return 0;
    if (length < ours || strcmp(map->l_name + length - ours, PRELOAD_FILE) != 0)
        return LA_FLG_BINDTO | LA_FLG_BINDFROM;
    ll_loaded_read_dynamic(&preload, map->l_addr, map->l_ld);
    *(void **)&tell = find_in_preload("ll_interpose_bound");
    return LA_FLG_BINDTO;
}

EXPORT void la_preinit(uintptr_t *cookie)
{
    (void)cookie;
    started = true;
}

EXPORT uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned index, uintptr_t *from, uintptr_t *to,
                              unsigned *flags, const char *name)
{
    void *wrapper = find_in_preload(name);
    const struct link_map *asking = (const struct link_map *)*from;
    (void)index, (void)to;
    *flags |= LA_SYMB_NOPLTENTER | LA_SYMB_NOPLTEXIT;
    if (!wrapper || symbol->st_value == (uintptr_t)wrapper || !is_routine(name))
        return symbol->st_value;
    if (started && tell)
        tell(name, asking->l_ld, (void *)symbol->st_value);
    return (uintptr_t)wrapper;
}
