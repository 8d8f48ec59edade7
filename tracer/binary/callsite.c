/* SPDX-License-Identifier: Apache-2.0 */
/* libdwfl is told of the files as if it had seen them loaded, and looks into one only when an address lies
 * there. An address is looked up once: a program has some dozens of places from which it calls its libraries,
 * and calls millions of times.
 *
 * A call returns behind itself, and what stands there may belong to the next line, or to the next function
 * when the call was the last instruction: hence the byte before. */
#define _GNU_SOURCE
#include "tracer/binary/callsite.h"

#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/record/elf.h" /* ahead of the system's elf.h, which has a name LL_NONE as well */

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

struct ll_callsites {
    struct ll_arena arena;
    Dwfl *dwfl;                       /* libdw's view of the modules of the process */
    struct ll_map addresses;          /* that were asked for */
    const struct ll_callsite **found; /* by the id of the address */
    uint64_t capacity;
};

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
    (void)module, (void)data, (void)name, (void)base, (void)path, (void)elf;
    return -1; /* every module is reported with its file */
}

/* Debug information is taken from the file or from where packages put it; the standard search would also ask
 * servers, and wait for them. */
static const Dwfl_Callbacks callbacks = {
    .find_elf = no_elf,
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* Opening must not wait for the other end of a pipe, nor wake a device. */
static int open_file(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* Whether it is in place; libdwfl takes the open file only then. */
static void report(struct ll_callsites *sites, const struct ll_module *module)
{
    int file = open_file(module->path);
    if (file >= 0 && !dwfl_report_elf(sites->dwfl, module->path, module->path, file, module->bias, true))
        close(file);
}

enum ll_status ll_callsites_open(const struct ll_module *modules, size_t count, struct ll_callsites **result)
{
    struct ll_callsites *sites = calloc(1, sizeof *sites);
    *result = sites;
    if (!sites)
        return LL_NO_MEMORY;
    sites->dwfl = dwfl_begin(&callbacks);
    if (!sites->dwfl) {
        ll_callsites_release(sites);
        *result = NULL;
        return LL_NO_MEMORY;
    }
    dwfl_report_begin(sites->dwfl);
    for (size_t i = 0; i < count; i++)
        report(sites, &modules[i]);
    dwfl_report_end(sites->dwfl, NULL, NULL);
    return LL_OK;
}

static const char *copy(struct ll_arena *arena, const char *text)
{
    return text ? ll_copy_text(arena, text, strlen(text)) : NULL;
}

static void find_library(struct ll_arena *arena, Dwfl_Module *module, struct ll_callsite *site)
{
    GElf_Addr bias = 0;
    site->library = copy(arena, dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    if (dwfl_module_getelf(module, &bias))
        site->offset -= bias;
    if (site->library)
        site->build_id = ll_elf_build_id(arena, site->library);
}

static void find_symbol(struct ll_arena *arena, Dwfl_Module *module, uint64_t call, struct ll_callsite *site)
{
    GElf_Sym symbol;
    GElf_Off offset = 0;
    const char *name = dwfl_module_addrinfo(module, call, &offset, &symbol, NULL, NULL, NULL);
    if (!name || !*name)
        return;
    site->symbol = copy(arena, name);
    site->symbol_offset = offset + 1;
}

/* Some compilers (clang) give no table from addresses to compilation units: then each unit is asked. */
static Dwarf_Line *search_units(Dwfl_Module *module, uint64_t call)
{
    Dwarf_Addr bias = 0;
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));)
        if (dwarf_haspc(unit, call - bias) == 1)
            return dwarf_getsrc_die(unit, call - bias);
    return NULL;
}

static void find_line(struct ll_arena *arena, Dwfl_Module *module, uint64_t call, struct ll_callsite *site)
{
    int line = 0;
    const char *file = NULL;
    Dwfl_Line *indexed = dwfl_module_getsrc(module, call);
    Dwarf_Line *searched = indexed ? NULL : search_units(module, call);
    if (indexed)
        file = dwfl_lineinfo(indexed, NULL, &line, NULL, NULL, NULL);
    else if (searched && dwarf_lineno(searched, &line) == 0)
        file = dwarf_linesrc(searched, NULL, NULL);
    if (!file || line <= 0)
        return;
    site->file = copy(arena, file);
    site->line = (uint32_t)line;
}

static const struct ll_callsite *look_up(struct ll_callsites *sites, uint64_t address)
{
    struct ll_callsite *site = ll_alloc(&sites->arena, 1, sizeof *site);
    if (!site)
        return NULL;
    uint64_t call = address - (address != 0);
    Dwfl_Module *module = dwfl_addrmodule(sites->dwfl, call);
    site->offset = address;
    if (module) {
        find_library(&sites->arena, module, site);
        find_symbol(&sites->arena, module, call, site);
        find_line(&sites->arena, module, call, site);
    }
    return site;
}

const struct ll_callsite *ll_callsite_find(struct ll_callsites *sites, uint64_t address)
{
    if (!ll_grow(&sites->found, &sites->capacity, (uint64_t)sites->addresses.count + 1, sizeof *sites->found))
        return NULL;
    bool is_new = false;
    uint32_t id = ll_map_intern(&sites->addresses, &address, sizeof address, &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (is_new)
        sites->found[id] = look_up(sites, address);
    return sites->found[id];
}

const char *ll_callsite_text(struct ll_arena *arena, const struct ll_callsite *site)
{
    if (!site->library)
        return ll_format(arena, "0x%" PRIx64, site->offset);
    const char *name = ll_base_name(site->library);
    if (!site->symbol)
        return ll_format(arena, "%s+0x%" PRIx64, name, site->offset);
    if (!site->file)
        return ll_format(arena, "%s:%s+0x%" PRIx64, name, site->symbol, site->symbol_offset);
    return ll_format(arena, "%s:%s at %s:%" PRIu32, name, site->symbol, ll_base_name(site->file), site->line);
}

void ll_callsites_release(struct ll_callsites *sites)
{
    if (!sites)
        return;
    if (sites->dwfl)
        dwfl_end(sites->dwfl);
    ll_map_release(&sites->addresses);
    free(sites->found);
    ll_arena_release(&sites->arena);
    free(sites);
}
