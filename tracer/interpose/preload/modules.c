/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of loaded libraries, from their own hash tables (System V gABI chapter 5; the GNU hash section as
 * binutils and glibc agree on it).
 *
 * Pages of its own hold the list of libraries while it is looked through: nothing is kept, nothing locked. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>

enum { MODULES = 2048 };

struct module {
    uintptr_t base, begin, end;
    const char *path, *soname, *strings;
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const uint32_t *gnu_hash, *hash;
    bool looked_at;
};

struct modules {
    uint32_t count;
    uint32_t queue[MODULES];
    struct module module[MODULES];
};

/* Most systems put addresses into the dynamic section when they load it, some leave offsets. */
static const void *pointer(const struct module *module, ElfW(Addr) value)
{
    return (const void *)(value < module->base ? module->base + value : value);
}

static void read_dynamic(struct module *module)
{
    const ElfW(Dyn) *soname = NULL;
    for (const ElfW(Dyn) *at = module->dynamic; at->d_tag != DT_NULL; at++) {
        if (at->d_tag == DT_STRTAB)
            module->strings = pointer(module, at->d_un.d_ptr);
        else if (at->d_tag == DT_SYMTAB)
            module->symbols = pointer(module, at->d_un.d_ptr);
        else if (at->d_tag == DT_GNU_HASH)
            module->gnu_hash = pointer(module, at->d_un.d_ptr);
        else if (at->d_tag == DT_HASH)
            module->hash = pointer(module, at->d_un.d_ptr);
        else if (at->d_tag == DT_SONAME)
            soname = at;
    }
    if (soname && module->strings)
        module->soname = module->strings + soname->d_un.d_val;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *list)
{
    struct modules *modules = list;
    if (modules->count == MODULES ||
        size < offsetof(struct dl_phdr_info, dlpi_phnum) + sizeof info->dlpi_phnum)
        return 1;
    struct module *module = &modules->module[modules->count];
    *module = (struct module){.base = info->dlpi_addr, .path = info->dlpi_name, .begin = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = module->base + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC)
            module->dynamic = (const ElfW(Dyn) *)begin;
        if (segment->p_type != PT_LOAD)
            continue;
        module->begin = begin < module->begin ? begin : module->begin;
        module->end = begin + segment->p_memsz > module->end ? begin + segment->p_memsz : module->end;
    }
    if (module->dynamic)
        read_dynamic(module);
    modules->count++;
    return 0;
}

static struct modules *list_modules(void)
{
    void *memory =
        mmap(NULL, sizeof(struct modules), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    dl_iterate_phdr(add_module, memory);
    return memory;
}

static void drop_modules(struct modules *modules)
{
    munmap(modules, sizeof *modules);
}

static bool is_function(const struct module *module, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &module->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value && (type == STT_FUNC || type == STT_NOTYPE) &&
           (binding == STB_GLOBAL || binding == STB_WEAK) &&
           strcmp(module->strings + symbol->st_name, name) == 0;
}

/* Buckets of chains; the lowest bit of a chained hash ends its chain. */
static uint32_t find_by_gnu_hash(const struct module *module, const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        hash = hash * 33 + *at;
    const uint32_t *table = module->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], filter_words = table[2];
    const uint32_t *buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
    if (index < first || index == 0)
        return 0;
    for (;; index++) {
        uint32_t chained = chains[index - first];
        if ((chained | 1) == (hash | 1) && is_function(module, index, name))
            return index;
        if (chained & 1)
            return 0;
    }
}

static uint32_t find_by_hash(const struct module *module, const char *name)
{
    uint32_t hash = 0;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        hash = (hash << 4) + *at;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    uint32_t bucket_count = module->hash[0];
    const uint32_t *buckets = module->hash + 2, *chains = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
    while (index && !is_function(module, index, name))
        index = chains[index];
    return index;
}

static void *symbol_of(const struct module *module, const char *name)
{
    if (!module->symbols || !module->strings || ll_is_ours((const void *)module->dynamic))
        return NULL;
    uint32_t index = module->gnu_hash ? find_by_gnu_hash(module, name)
                     : module->hash   ? find_by_hash(module, name)
                                      : 0;
    return index ? (void *)(module->base + module->symbols[index].st_value) : NULL;
}

static bool has_name(const struct module *module, const char *needed)
{
    const char *slash = module->path ? strrchr(module->path, '/') : NULL;
    const char *file = slash ? slash + 1 : module->path ? module->path : "";
    return strcmp(module->soname ? module->soname : file, needed) == 0 || strcmp(file, needed) == 0;
}

/* Puts behind the queue's end what a module needs and nobody asked yet. */
static uint32_t queue_needs(struct modules *modules, const struct module *of, uint32_t end)
{
    for (const ElfW(Dyn) *at = of->dynamic; at && of->strings && at->d_tag != DT_NULL; at++) {
        for (uint32_t i = 0; at->d_tag == DT_NEEDED && i < modules->count; i++) {
            struct module *module = &modules->module[i];
            if (module->looked_at || !has_name(module, of->strings + at->d_un.d_val))
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
    uintptr_t address = (uintptr_t)caller;
    uint32_t end = 0;
    void *found = NULL;
    for (uint32_t i = 0; modules && end == 0 && i < modules->count; i++) {
        struct module *module = &modules->module[i];
        if (address < module->begin || address >= module->end)
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

bool ll_is_ours(const void *address)
{
    extern const char _end[] __attribute__((visibility("hidden")));
    extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
    return (const char *)address >= (const char *)&__ehdr_start && (const char *)address < _end;
}
