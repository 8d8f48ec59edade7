/* SPDX-License-Identifier: Apache-2.0 */
/* System V gABI chapter 5; the GNU hash section as binutils and glibc agree on it. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/loaded.h"

#include <string.h>

/* Most systems put addresses into the dynamic section when they load it, some leave offsets. */
static const void *pointer(const struct ll_loaded *loaded, ElfW(Addr) value)
{
    return (const void *)(value < loaded->base ? loaded->base + value : value);
}

static void read_entry(struct ll_loaded *loaded, const ElfW(Dyn) * entry)
{
    const void *there = pointer(loaded, entry->d_un.d_ptr);
    size_t count = entry->d_un.d_val / sizeof(ElfW(Rela));
    switch (entry->d_tag) {
    case DT_STRTAB:
        loaded->strings = there;
        break;
    case DT_SYMTAB:
        loaded->symbols = there;
        break;
    case DT_GNU_HASH:
        loaded->gnu_hash = there;
        break;
    case DT_HASH:
        loaded->hash = there;
        break;
    case DT_JMPREL:
        loaded->calls = there;
        break;
    case DT_PLTRELSZ:
        loaded->call_count = count;
        break;
    case DT_RELA:
        loaded->relocations = there;
        break;
    case DT_RELASZ:
        loaded->relocation_count = count;
        break;
    default:
        break;
    }
}

static void read_dynamic(struct ll_loaded *loaded)
{
    const ElfW(Dyn) *soname = NULL;
    for (const ElfW(Dyn) *at = loaded->dynamic; at->d_tag != DT_NULL; at++) {
        read_entry(loaded, at);
        if (at->d_tag == DT_SONAME)
            soname = at;
    }
    if (soname && loaded->strings)
        loaded->soname = loaded->strings + soname->d_un.d_val;
}

void ll_loaded_read_dynamic(struct ll_loaded *loaded, uintptr_t base, const ElfW(Dyn) * dynamic)
{
    *loaded = (struct ll_loaded){.base = base, .dynamic = dynamic};
    if (dynamic)
        read_dynamic(loaded);
}

void ll_loaded_read(struct ll_loaded *loaded, const struct dl_phdr_info *info)
{
    *loaded = (struct ll_loaded){.base = info->dlpi_addr, .path = info->dlpi_name, .begin = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = loaded->base + segment->p_vaddr, end = begin + segment->p_memsz;
        if (segment->p_type == PT_DYNAMIC)
            loaded->dynamic = (const ElfW(Dyn) *)begin;
        if (segment->p_type == PT_GNU_RELRO)
            loaded->sealed_begin = begin, loaded->sealed_end = end;
        if (segment->p_type != PT_LOAD)
            continue;
        loaded->begin = begin < loaded->begin ? begin : loaded->begin;
        loaded->end = end > loaded->end ? end : loaded->end;
    }
    if (loaded->dynamic)
        read_dynamic(loaded);
}

static const ElfW(Sym) * function_at(const struct ll_loaded *loaded, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &loaded->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    bool callable = (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
                    (binding == STB_GLOBAL || binding == STB_WEAK);
    if (!callable || symbol->st_shndx == SHN_UNDEF || !symbol->st_value)
        return NULL;
    return strcmp(loaded->strings + symbol->st_name, name) == 0 ? symbol : NULL;
}

/* Buckets of chains; the lowest bit of a chained hash ends its chain. */
static const ElfW(Sym) * find_by_gnu_hash(const struct ll_loaded *loaded, const char *name)
{
    uint32_t hash = 5381;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        hash = hash * 33 + *at;
    const uint32_t *table = loaded->gnu_hash;
    uint32_t bucket_count = table[0], first = table[1], filter_words = table[2];
    const uint32_t *buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chains = buckets + bucket_count;
    uint32_t index = bucket_count ? buckets[hash % bucket_count] : 0;
    if (index < first || index == 0)
        return NULL;
    for (;; index++) {
        uint32_t chained = chains[index - first];
        const ElfW(Sym) *found = (chained | 1) == (hash | 1) ? function_at(loaded, index, name) : NULL;
        if (found || chained & 1)
            return found;
    }
}

static const ElfW(Sym) * find_by_hash(const struct ll_loaded *loaded, const char *name)
{
    uint32_t hash = 0;
    for (const unsigned char *at = (const unsigned char *)name; *at; at++) {
        hash = (hash << 4) + *at;
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    uint32_t bucket_count = loaded->hash[0];
    const uint32_t *buckets = loaded->hash + 2, *chains = buckets + bucket_count;
    const ElfW(Sym) *found = NULL;
    for (uint32_t at = bucket_count ? buckets[hash % bucket_count] : 0; at && !found; at = chains[at])
        found = function_at(loaded, at, name);
    return found;
}

static const ElfW(Sym) * find(const struct ll_loaded *loaded, const char *name)
{
    if (!loaded->symbols || !loaded->strings)
        return NULL;
    return loaded->gnu_hash ? find_by_gnu_hash(loaded, name)
           : loaded->hash   ? find_by_hash(loaded, name)
                            : NULL;
}

const ElfW(Sym) * ll_loaded_find(const struct ll_loaded *loaded, const char *name)
{
    const ElfW(Sym) *found = find(loaded, name);
    return found && ELF64_ST_TYPE(found->st_info) != STT_GNU_IFUNC ? found : NULL;
}

bool ll_loaded_defines(const struct ll_loaded *loaded, const char *name)
{
    return find(loaded, name) != NULL;
}
