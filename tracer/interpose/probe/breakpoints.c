/* SPDX-License-Identifier: Apache-2.0 */
/* A page near each file takes the instructions that stood where breakpoints now stand. Its first byte is a
 * trap. */
#define _GNU_SOURCE
#include "tracer/interpose/probe/breakpoints.h"

#include "tracer/record/elf.h"
#include "tracer/interpose/patch/instruction.h"
#include "tracer/interpose/probe/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADER_TELLS "_dl_debug_state"

enum { TRAP = 0xcc, FAR_JUMP_BYTES = 14, SLOT_BYTES = 32, LINE_BYTES = 4352 };

/* A file in memory that is being given breakpoints. */
struct site {
    struct ll_breakpoints *breakpoints;
    const struct ll_tracee *tracee;
    uint64_t bias;
    uint64_t free; /* place for the next moved instruction */
};

const struct ll_breakpoint *ll_breakpoints_find(const struct ll_breakpoints *breakpoints, uint64_t address)
{
    for (uint64_t i = 0; i < breakpoints->count; i++)
        if (breakpoints->items[i].address == address)
            return &breakpoints->items[i];
    return NULL;
}

/* The instruction at an address, moved to a place of its own, and a jump to the one after it. */
static bool move_first(struct site *site, uint64_t address, uint8_t *first)
{
    static const uint8_t far_jump[] = {0xff, 0x25, 0, 0, 0, 0};
    uint8_t code[LL_MOVED_BYTES] = {0}, moved[SLOT_BYTES] = {0};
    struct ll_instruction instruction;
    if (!ll_tracee_read(site->tracee, address, code, sizeof code) ||
        !ll_read_instruction(code, sizeof code, &instruction))
        return false;
    size_t bytes = ll_move_instruction(moved, site->free, code, address, &instruction);
    if (bytes == 0)
        return false;
    uint64_t next = address + instruction.bytes;
    memcpy(moved + bytes, far_jump, sizeof far_jump);
    memcpy(moved + bytes + sizeof far_jump, &next, sizeof next);
    *first = code[0];
    return ll_tracee_write(site->tracee, site->free, moved, sizeof moved);
}

static void set(struct site *site, uint64_t address, uint32_t symbol)
{
    struct ll_breakpoints *breakpoints = site->breakpoints;
    const uint8_t trap = TRAP;
    uint8_t first;
    if (ll_breakpoints_find(breakpoints, address))
        return;
    if (!move_first(site, address, &first) ||
        !ll_grow(&breakpoints->items, &breakpoints->capacity, breakpoints->count + 1,
                 sizeof *breakpoints->items) ||
        !ll_tracee_write(site->tracee, address, &trap, 1)) {
        breakpoints->unset++;
        return;
    }
    breakpoints->items[breakpoints->count++] = (struct ll_breakpoint){address, site->free, symbol, first};
    site->free += SLOT_BYTES;
}

static void fill_names(struct ll_map *names)
{
    for (uint32_t i = names->count; i < LL_SYMBOL_COUNT; i++)
        if (ll_map_intern(names, ll_symbol_row(i)->name, strlen(ll_symbol_row(i)->name), NULL) != i)
            return;
}

/* Which routine of ours it is, or LL_BREAKPOINT_LOADED; false: no stop there. */
static bool is_wanted(const struct ll_breakpoints *breakpoints, const struct ll_elf_symbol *symbol,
                      uint32_t *which)
{
    if (!symbol->defined || !symbol->function || symbol->indirect || !symbol->address)
        return false;
    *which = ll_map_find(&breakpoints->names, symbol->name, strlen(symbol->name));
    if (*which != LL_NO_ID)
        return ll_probe_knows(*which);
    *which = LL_BREAKPOINT_LOADED;
    return strcmp(symbol->name, LOADER_TELLS) == 0;
}

static void set_all(struct site *site, const struct ll_elf_symbol *symbols, size_t count)
{
    uint32_t which;
    for (size_t i = 0; i < count; i++)
        if (is_wanted(site->breakpoints, &symbols[i], &which))
            set(site, symbols[i].address + site->bias, which);
}

static size_t count_wanted(const struct ll_breakpoints *breakpoints, const struct ll_elf_symbol *symbols,
                           size_t count)
{
    size_t wanted = 0;
    uint32_t which;
    for (size_t i = 0; i < count; i++)
        wanted += is_wanted(breakpoints, &symbols[i], &which);
    return wanted;
}

static void set_in_file(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread,
                        struct ll_probed *file)
{
    const uint8_t trap = TRAP;
    struct ll_arena arena = {0};
    const struct ll_elf *elf = ll_elf_read(&arena, file->path);
    file->bias = elf && elf->movable ? file->begin : 0;
    size_t wanted = elf ? count_wanted(breakpoints, elf->symbols, elf->symbol_count) +
                              count_wanted(breakpoints, elf->functions, elf->function_count)
                        : 0;
    uint64_t place = wanted ? ll_tracee_map(tracee, thread, file->begin, (wanted + 1) * SLOT_BYTES) : 0;
    if (place && ll_tracee_write(tracee, place, &trap, 1)) {
        struct site site = {breakpoints, tracee, file->bias, place + SLOT_BYTES};
        breakpoints->trap = breakpoints->trap ? breakpoints->trap : place;
        set_all(&site, elf->symbols, elf->symbol_count);
        set_all(&site, elf->functions, elf->function_count);
    }
    ll_arena_release(&arena);
}

/* One line of /proc/PID/maps: what is mapped from a file's beginning on is the file, the rest follows it. */
static void note_mapping(struct ll_breakpoints *breakpoints, uint64_t begin, uint64_t end, uint64_t offset,
                         const char *path)
{
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[i];
        if (begin < file->begin || strcmp(file->path, path) != 0 || (offset == 0 && begin != file->begin))
            continue;
        file->end = end > file->end ? end : file->end;
        file->mapped = true;
        return;
    }
    const char *copy = offset == 0 ? ll_copy_text(&breakpoints->arena, path, strlen(path)) : NULL;
    if (copy && ll_grow(&breakpoints->files, &breakpoints->file_capacity, breakpoints->file_count + 1,
                        sizeof *breakpoints->files))
        breakpoints->files[breakpoints->file_count++] =
            (struct ll_probed){.begin = begin, .end = end, .path = copy, .mapped = true};
}

/* Forgets what was unmapped: another file may lie there next. */
static void forget_unmapped(struct ll_breakpoints *breakpoints)
{
    uint64_t files = 0;
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        const struct ll_probed *file = &breakpoints->files[i];
        uint64_t kept = 0;
        for (uint64_t at = 0; !file->mapped && at < breakpoints->count; at++)
            if (breakpoints->items[at].address < file->begin || breakpoints->items[at].address >= file->end)
                breakpoints->items[kept++] = breakpoints->items[at];
        if (file->mapped)
            breakpoints->files[files++] = *file;
        else
            breakpoints->count = kept;
    }
    breakpoints->file_count = files;
}

void ll_breakpoints_set(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread)
{
    char line[LINE_BYTES];
    uint64_t begin, end, offset;
    for (uint64_t i = 0; i < breakpoints->file_count; i++)
        breakpoints->files[i].mapped = false;
    snprintf(line, sizeof line, "/proc/%d/maps", (int)tracee->pid);
    FILE *maps = fopen(line, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end, &offset,
                   &path_at) == 3 &&
            path_at && line[path_at] == '/')
            note_mapping(breakpoints, begin, end, offset, line + path_at);
    }
    if (maps)
        fclose(maps);
    forget_unmapped(breakpoints);
    fill_names(&breakpoints->names);
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        if (!breakpoints->files[i].looked_at)
            set_in_file(breakpoints, tracee, thread, &breakpoints->files[i]);
        breakpoints->files[i].looked_at = true;
    }
}

void ll_breakpoints_clear(const struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee)
{
    for (uint64_t i = 0; i < breakpoints->count; i++)
        ll_tracee_write(tracee, breakpoints->items[i].address, &breakpoints->items[i].byte, 1);
}

bool ll_breakpoints_copy(struct ll_breakpoints *breakpoints, const struct ll_breakpoints *from)
{
    *breakpoints = (struct ll_breakpoints){.trap = from->trap, .unset = from->unset};
    if (!ll_grow(&breakpoints->items, &breakpoints->capacity, from->count, sizeof *from->items) ||
        !ll_grow(&breakpoints->files, &breakpoints->file_capacity, from->file_count, sizeof *from->files))
        return false;
    if (from->count)
        memcpy(breakpoints->items, from->items, from->count * sizeof *from->items);
    breakpoints->count = from->count;
    for (uint64_t i = 0; i < from->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[breakpoints->file_count++];
        *file = from->files[i];
        file->said = false;
        file->path = ll_copy_text(&breakpoints->arena, from->files[i].path, strlen(from->files[i].path));
        if (!file->path)
            return false;
    }
    return true;
}

void ll_breakpoints_release(struct ll_breakpoints *breakpoints)
{
    ll_arena_release(&breakpoints->arena);
    ll_map_release(&breakpoints->names);
    free(breakpoints->items);
    free(breakpoints->files);
    *breakpoints = (struct ll_breakpoints){0};
}
