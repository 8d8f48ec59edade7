/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the loaded libraries has a symbol. The list of libraries is in memory that is there from the
 * start, or, where another thread looks through it, in pages of its own: nothing is kept, nothing locked. */
#define _GNU_SOURCE
#include "tracer/interpose/patch/patch.h"
#include "tracer/interpose/preload/preload.h"

#include "tracer/interpose/preload/loaded.h"

#include <string.h>
#include <sys/mman.h>

enum { MODULES = 2048 };

struct module {
    struct ll_loaded loaded;
    bool looked_at;
};

struct modules {
    uint32_t count;
    uint32_t queue[MODULES];
    struct module module[MODULES];
};

static int add_module(struct dl_phdr_info *info, size_t size, void *list)
{
    struct modules *modules = list;
    if (modules->count == MODULES ||
        size < offsetof(struct dl_phdr_info, dlpi_phnum) + sizeof info->dlpi_phnum)
        return 1;
    struct module *module = &modules->module[modules->count++];
    module->looked_at = false;
    ll_loaded_read(&module->loaded, info);
    return 0;
}

static struct modules listed;
static _Atomic bool is_listed; /* in a child of a fork perhaps for good */

static struct modules *list_modules(void)
{
    struct modules *modules = &listed;
    if (atomic_exchange(&is_listed, true))
        modules = mmap(NULL, sizeof *modules, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (modules == MAP_FAILED)
        return NULL;
    modules->count = 0;
    dl_iterate_phdr(add_module, modules);
    return modules;
}

static void drop_modules(struct modules *modules)
{
    if (modules == &listed)
        atomic_store(&is_listed, false);
    else
        munmap(modules, sizeof *modules);
}

static void *symbol_of(const struct module *module, const char *name)
{
    if (ll_is_ours(module->loaded.dynamic))
        return NULL;
    const ElfW(Sym) *symbol = ll_loaded_find(&module->loaded, name);
    return symbol ? (void *)(module->loaded.base + symbol->st_value) : NULL;
}

static bool has_name(const struct module *module, const char *needed)
{
    const char *path = module->loaded.path, *slash = path ? strrchr(path, '/') : NULL;
    const char *file = slash ? slash + 1 : path ? path : "";
    const char *soname = module->loaded.soname;
    return strcmp(soname ? soname : file, needed) == 0 || strcmp(file, needed) == 0;
}

/* Puts behind the queue's end what a module needs and nobody asked yet. */
static uint32_t queue_needs(struct modules *modules, const struct module *of, uint32_t end)
{
    for (const ElfW(Dyn) *at = of->loaded.dynamic; at && of->loaded.strings && at->d_tag != DT_NULL; at++) {
        for (uint32_t i = 0; at->d_tag == DT_NEEDED && i < modules->count; i++) {
            struct module *module = &modules->module[i];
            if (module->looked_at || !has_name(module, of->loaded.strings + at->d_un.d_val))
                continue;
            module->looked_at = true;
            modules->queue[end++] = i;
        }
    }
    return end;
}

void *ll_module_symbol_for(const char *name, const void *caller)
{
    struct modules *modules = list_modules();
    uintptr_t address = (uintptr_t)ll_entry_origin(caller);
    uint32_t end = 0;
    void *found = NULL;
    for (uint32_t i = 0; modules && end == 0 && i < modules->count; i++) {
        struct module *module = &modules->module[i];
        if (address < module->loaded.begin || address >= module->loaded.end)
            continue;
        module->looked_at = true;
        modules->queue[end++] = i;
    }
    for (uint32_t at = 0; at < end && !found; at++) {
        const struct module *module = &modules->module[modules->queue[at]];
        found = symbol_of(module, name);
        end = queue_needs(modules, module, end);
    }
    if (modules)
        drop_modules(modules);
    return found;
}

void *ll_module_symbol_anywhere(const char *name)
{
    struct modules *modules = list_modules();
    void *found = NULL;
    for (uint32_t i = 0; modules && !found && i < modules->count; i++)
        found = symbol_of(&modules->module[i], name);
    if (modules)
        drop_modules(modules);
    return found;
}

void *ll_module_symbol_behind(const char *name, const void *caller)
{
    struct modules *modules = list_modules();
    uintptr_t address = (uintptr_t)ll_entry_origin(caller);
    void *found = NULL;
    bool is_behind = false;
    for (uint32_t i = 0; modules && !found && i < modules->count; i++) {
        const struct module *module = &modules->module[i];
        found = is_behind ? symbol_of(module, name) : NULL;
        is_behind |= address >= module->loaded.begin && address < module->loaded.end;
    }
    if (modules)
        drop_modules(modules);
    return found;
}

bool ll_module_has(const char *name)
{
    struct modules *modules = list_modules();
    bool found = !modules;
    for (uint32_t i = 0; !found && i < modules->count; i++)
        found = !ll_is_ours(modules->module[i].loaded.dynamic) &&
                ll_loaded_defines(&modules->module[i].loaded, name);
    if (modules)
        drop_modules(modules);
    return found;
}

struct where {
    uintptr_t address, begin;
};

static int look_in(struct dl_phdr_info *info, size_t size, void *context)
{
    struct where *where = context;
    struct ll_loaded loaded;
    if (size < offsetof(struct dl_phdr_info, dlpi_phnum) + sizeof info->dlpi_phnum)
        return 1;
    ll_loaded_read(&loaded, info);
    if (where->address < loaded.begin || where->address >= loaded.end)
        return 0;
    where->begin = loaded.begin;
    return 1;
}

uintptr_t ll_module_begin(const void *address)
{
    struct where where = {.address = (uintptr_t)ll_entry_origin(address)};
    dl_iterate_phdr(look_in, &where);
    return where.begin;
}

bool ll_is_ours(const void *address)
{
    extern const char _end[] __attribute__((visibility("hidden")));
    extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
    return (const char *)address >= (const char *)&__ehdr_start && (const char *)address < _end;
}
