/* SPDX-License-Identifier: Apache-2.0 */
/* A binary that is asked for routines by others is a library that offers them: what it calls within itself
 * happens inside of calls that are seen, and is left alone. A binary that is used for other things, and
 * defines routines which nobody asks for, has them for itself (a product with BLAS linked in): its direct
 * calls are what there is to see. */
#define _GNU_SOURCE
#include "tracer/binary/coverage.h"

#include "tracer/base/file.h"
#include "tracer/base/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MOST_TEXT_BYTES = 16 << 20 };

/* A coverage while it grows. */
struct growing {
    struct ll_coverage *coverage;
    struct ll_map names;    /* that we look for */
    struct ll_map imported; /* whatever some binary asks for */
    uint64_t route_capacity, offer_capacity;
    struct ll_symbol_route *routes;
    struct ll_offer *offers;
    bool failed;
};

static void add_route(struct growing *growing, uint32_t binary, uint32_t symbol, enum ll_reach reach)
{
    struct ll_coverage *coverage = growing->coverage;
    if (!ll_grow(&growing->routes, &growing->route_capacity, coverage->route_count + 1,
                 sizeof *growing->routes))
        growing->failed = true;
    else
        growing->routes[coverage->route_count++] = (struct ll_symbol_route){binary, symbol, reach};
}

static void add_offer(struct growing *growing, uint32_t binary, uint32_t symbol)
{
    struct ll_coverage *coverage = growing->coverage;
    if (!ll_grow(&growing->offers, &growing->offer_capacity, coverage->offer_count + 1,
                 sizeof *growing->offers))
        growing->failed = true;
    else
        growing->offers[coverage->offer_count++] = (struct ll_offer){binary, symbol};
}

static uint32_t find_name(const struct growing *growing, const struct ll_elf_symbol *symbol)
{
    return symbol->function ? ll_map_find(&growing->names, symbol->name, strlen(symbol->name)) : LL_NO_ID;
}

/* What a binary asks of others, a route for each kind of slot. */
static void follow_imports(struct growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    static const struct {
        enum ll_elf_slot slot;
        enum ll_reach reach;
    } kinds[] = {{LL_SLOT_CALL, LL_REACH_CALL_SLOT},
                 {LL_SLOT_ADDRESS, LL_REACH_ADDRESS_SLOT},
                 {LL_SLOT_DATA, LL_REACH_DATA_SLOT}};
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const struct ll_elf_symbol *symbol = &elf->symbols[i];
        if (symbol->defined)
            continue;
        uint32_t name = find_name(growing, symbol);
        if (ll_map_intern(&growing->imported, symbol->name, strlen(symbol->name), NULL) == LL_NO_ID)
            growing->failed = true;
        for (size_t k = 0; name != LL_NO_ID && k < sizeof kinds / sizeof kinds[0]; k++)
            if (symbol->slots & kinds[k].slot)
                add_route(growing, binary, name, kinds[k].reach);
    }
}

static void note_opening(struct ll_coverage *coverage, const struct ll_elf *elf)
{
    const struct ll_elf_symbol *symbol = ll_elf_find(elf, "dlopen");
    coverage->opening_count += symbol && !symbol->defined;
}

/* Whether a binary that has this name as text may give it to dlsym: not where it has the routine itself, nor
 * where the text may be how it asks for it. */
static bool may_ask_for(const struct ll_elf *elf, const char *name)
{
    const struct ll_elf_symbol *symbol = ll_elf_find(elf, name);
    bool asked = symbol && !symbol->defined && elf->data_count > 0;
    return (!symbol || asked) && !ll_elf_find_function(elf, name);
}

/* Texts lie between NULs. */
static void follow_texts_in(struct growing *growing, uint32_t binary, const char *bytes, uint64_t length)
{
    const struct ll_elf *elf = growing->coverage->closure->binaries[binary].elf;
    for (uint64_t at = 0; at < length;) {
        size_t text = strnlen(bytes + at, length - at);
        uint32_t name = at + text < length ? ll_map_find(&growing->names, bytes + at, text) : LL_NO_ID;
        if (name != LL_NO_ID && may_ask_for(elf, bytes + at))
            add_route(growing, binary, name, LL_REACH_POINTER);
        at += text + 1;
    }
}

/* A name that a binary has among its data is one that it gives to dlsym. */
static void follow_texts(struct growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    struct ll_arena scratch = {0};
    struct ll_contents file = {0};
    const struct ll_elf_symbol *asks = ll_elf_find(elf, "dlsym");
    const char *path = growing->coverage->closure->binaries[binary].path;
    if (!asks || asks->defined || ll_read_whole(path, MOST_TEXT_BYTES, &scratch, &file) != LL_OK)
        file.length = 0;
    for (size_t i = 0; i < elf->data_count; i++) {
        const struct ll_elf_range *data = &elf->data[i];
        if (data->offset <= file.length && data->bytes <= file.length - data->offset)
            follow_texts_in(growing, binary, file.bytes + data->offset, data->bytes);
    }
    if (elf->data_count == 0)
        follow_texts_in(growing, binary, file.bytes, file.length);
    ll_arena_release(&scratch);
}

/* Whether the binary is there for others' sake, or has its routines for itself. */
static bool is_embedding(const struct growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    bool used = binary == 0;
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const char *name = elf->symbols[i].name;
        if (!elf->symbols[i].defined || ll_map_find(&growing->imported, name, strlen(name)) == LL_NO_ID)
            continue;
        if (find_name(growing, &elf->symbols[i]) != LL_NO_ID)
            return false;
        used = true;
    }
    return used;
}

static void follow_exports(struct growing *growing, uint32_t binary, const struct ll_elf *elf)
{
    bool embedding = is_embedding(growing, binary, elf);
    for (size_t i = 0; i < elf->symbol_count; i++) {
        const struct ll_elf_symbol *symbol = &elf->symbols[i];
        uint32_t name = symbol->defined ? find_name(growing, symbol) : LL_NO_ID;
        if (name == LL_NO_ID)
            continue;
        add_offer(growing, binary, name);
        if (embedding)
            add_route(growing, binary, name,
                      symbol->slots && !elf->symbolic ? LL_REACH_INTERNAL : LL_REACH_INTERNAL_BOUND);
    }
}

/* What only .symtab knows. */
static void follow_functions(struct growing *growing, uint32_t binary, const struct ll_elf *elf,
                             enum ll_reach reach)
{
    for (size_t i = 0; i < elf->function_count; i++) {
        uint32_t name = find_name(growing, &elf->functions[i]);
        if (name != LL_NO_ID && !ll_elf_find(elf, elf->functions[i].name))
            add_route(growing, binary, name, reach);
    }
}

static void follow_all(struct growing *growing)
{
    struct ll_coverage *coverage = growing->coverage;
    const struct ll_closure *closure = coverage->closure;
    for (uint32_t i = 0; i < closure->count; i++) {
        follow_imports(growing, i, closure->binaries[i].elf);
        follow_texts(growing, i, closure->binaries[i].elf);
        note_opening(coverage, closure->binaries[i].elf);
    }
    for (uint32_t i = 0; i < closure->count; i++) {
        follow_exports(growing, i, closure->binaries[i].elf);
        follow_functions(growing, i, closure->binaries[i].elf,
                         coverage->is_static ? LL_REACH_STATIC_NAMED : LL_REACH_HIDDEN);
    }
}

/* The mildest mechanism of those that see most. */
static void choose(struct ll_coverage *coverage)
{
    if (coverage->is_static) {
        coverage->mechanism = LL_MECHANISM_PROBE;
        coverage->possible = coverage->route_count > 0;
        return;
    }
    coverage->possible = true;
    for (enum ll_mechanism m = LL_MECHANISM_PRELOAD; m < LL_MECHANISM_PROBE; m++)
        if (ll_coverage_seen(coverage, m) > ll_coverage_seen(coverage, coverage->mechanism))
            coverage->mechanism = m;
}

/* Whether the program runs as another user or group than who starts it, or with rights of its own. */
static bool is_closed(const char *path)
{
    struct stat about;
    struct statvfs disk;
    if (stat(path, &about) != 0 || (statvfs(path, &disk) == 0 && disk.f_flag & ST_NOSUID))
        return false;
    return (about.st_mode & S_ISUID && about.st_uid != geteuid()) ||
           (about.st_mode & S_ISGID && about.st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

enum ll_status ll_coverage_find(struct ll_arena *arena, const struct ll_closure *closure,
                                const char *const *names, size_t name_count, struct ll_coverage *coverage)
{
    const struct ll_elf *program = closure->binaries[0].elf;
    struct growing growing = {.coverage = coverage};
    *coverage = (struct ll_coverage){.closure = closure,
                                     .names = names,
                                     .is_static = !program->dynamic,
                                     .closed = is_closed(closure->binaries[0].path),
                                     .stripped = program->function_count == 0};
    for (size_t i = 0; i < name_count && !growing.failed; i++)
        growing.failed = ll_map_intern(&growing.names, names[i], strlen(names[i]), NULL) == LL_NO_ID;
    if (!growing.failed)
        follow_all(&growing);
    coverage->routes = ll_copy(arena, growing.routes, coverage->route_count * sizeof *coverage->routes);
    coverage->offers = ll_copy(arena, growing.offers, coverage->offer_count * sizeof *coverage->offers);
    growing.failed |= !coverage->routes || !coverage->offers;
    choose(coverage);
    ll_map_release(&growing.names);
    ll_map_release(&growing.imported);
    free(growing.routes);
    free(growing.offers);
    return growing.failed ? LL_NO_MEMORY : LL_OK;
}

bool ll_coverage_sees(const struct ll_coverage *coverage, enum ll_reach reach, enum ll_mechanism mechanism)
{
    return ll_reach_seen(reach, mechanism) && (!coverage->closed || mechanism == LL_MECHANISM_PROBE);
}

size_t ll_coverage_seen(const struct ll_coverage *coverage, enum ll_mechanism mechanism)
{
    size_t seen = 0;
    for (size_t i = 0; i < coverage->route_count; i++)
        seen += ll_coverage_sees(coverage, coverage->routes[i].reach, mechanism);
    return seen;
}
