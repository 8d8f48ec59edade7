/* SPDX-License-Identifier: Apache-2.0 */
/* A channel of dynamic memory the plain way: cycle after cycle, every command that could come is held against
 * every command that came. Slow, and of the same mind as sim/memory/dram.h. */
#ifndef LL_TESTS_DRAM_TWIN_H
#define LL_TESTS_DRAM_TWIN_H

#include "sim/memory/dram.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    LL_TWIN_PATIENCE = 16,
    LL_TWIN_MEMORY = 1024, /* cycles: longer than any gap */
};

struct ll_twin_log {
    struct ll_dram_command *commands;
    size_t count, capacity;
};

/* A listener that keeps all. */
static inline void ll_twin_note(void *context, const struct ll_dram_command *command)
{
    struct ll_twin_log *log = context;
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 1024;
        log->commands = realloc(log->commands, log->capacity * sizeof *log->commands);
        assert(log->commands);
    }
    log->commands[log->count++] = *command;
}

static inline bool ll_twin_is_access(enum ll_dram_kind kind)
{
    return kind == LL_DRAM_READ || kind == LL_DRAM_WRITE;
}

/* Commands that share wires are a cycle apart. */
static inline uint64_t ll_twin_apart(const struct ll_dram *dram, const struct ll_dram_command *a,
                                     const struct ll_dram_command *b)
{
    return dram->wires == 1 || ll_twin_is_access(a->kind) == ll_twin_is_access(b->kind);
}

/* The cycles that the standards want between command a and a later command b of the same channel. */
static inline uint64_t ll_twin_gap(const struct ll_dram *dram, const struct ll_dram_command *a,
                                   const struct ll_dram_command *b)
{
    const struct ll_dram_cycles *t = &dram->cycles;
    bool to_all = b->kind == LL_DRAM_PRECHARGE_ALL || b->kind == LL_DRAM_REFRESH;
    bool from_all = a->kind == LL_DRAM_PRECHARGE_ALL || a->kind == LL_DRAM_REFRESH;
    bool bank = to_all || from_all || a->spot.bank == b->spot.bank;
    bool group = a->spot.bank % dram->groups == b->spot.bank % dram->groups;
    bool closes = b->kind == LL_DRAM_PRECHARGE || b->kind == LL_DRAM_PRECHARGE_ALL;
    bool opens = b->kind == LL_DRAM_ACTIVATE;
    uint64_t apart = ll_twin_apart(dram, a, b);
    switch (a->kind) {
    case LL_DRAM_ACTIVATE:
        if (b->kind == LL_DRAM_REFRESH)
            return t->ras + t->rp;
        if (opens)
            return bank ? t->ras + t->rp : group ? t->rrd_l : t->rrd_s;
        return !bank ? apart : closes ? t->ras : t->rcd;
    case LL_DRAM_PRECHARGE:
    case LL_DRAM_PRECHARGE_ALL:
        return bank && (opens || b->kind == LL_DRAM_REFRESH) ? t->rp : apart;
    case LL_DRAM_REFRESH:
        return opens || b->kind == LL_DRAM_REFRESH ? t->rfc : apart;
    case LL_DRAM_READ:
        if (closes)
            return bank ? t->rtp : apart;
        if (b->kind == LL_DRAM_READ)
            return group ? t->ccd_l : t->ccd_s;
        return b->kind == LL_DRAM_WRITE ? t->cl + dram->burst_cycles + LL_DRAM_TURN_CYCLES - t->cwl : apart;
    case LL_DRAM_WRITE:
        if (closes)
            return bank ? t->cwl + dram->burst_cycles + t->wr : apart;
        if (b->kind == LL_DRAM_WRITE)
            return group ? t->ccd_l : t->ccd_s;
        return b->kind == LL_DRAM_READ ? t->cwl + dram->burst_cycles + (group ? t->wtr_l : t->wtr_s) : apart;
    default:
        return apart;
    }
}

/* Whether a command may come after all of these; four activates fit in a window of faw. */
static inline bool ll_twin_allows(const struct ll_dram *dram, const struct ll_dram_command *before,
                                  size_t count, const struct ll_dram_command *command)
{
    size_t activates = 0;
    for (size_t i = count; i-- > 0 && before[i].cycle + LL_TWIN_MEMORY > command->cycle;) {
        if (before[i].cycle + ll_twin_gap(dram, &before[i], command) > command->cycle)
            return false;
        activates += before[i].kind == LL_DRAM_ACTIVATE;
        if (command->kind == LL_DRAM_ACTIVATE && before[i].kind == LL_DRAM_ACTIVATE && activates == 4 &&
            before[i].cycle + dram->cycles.faw > command->cycle)
            return false;
    }
    return true;
}

struct ll_twin_burst {
    struct ll_dram_spot spot;
    bool write;
};

struct ll_twin {
    const struct ll_dram *dram;
    struct ll_twin_log log;
    const struct ll_twin_burst *waiting[2][LL_DRAM_WINDOW]; /* oldest first */
    size_t count[2];
    bool draining, open[LL_DRAM_MOST_BANKS];
    uint64_t rows[LL_DRAM_MOST_BANKS], passed[LL_DRAM_MOST_BANKS][2], due;
};

static inline uint64_t ll_twin_now(const struct ll_twin *twin)
{
    return twin->log.count ? twin->log.commands[twin->log.count - 1].cycle : 0;
}

/* Issues it at the first cycle from `cycle` on that allows it. */
static inline void ll_twin_issue(struct ll_twin *twin, enum ll_dram_kind kind, struct ll_dram_spot spot)
{
    struct ll_dram_command command = {kind, ll_twin_now(twin), spot};
    while (!ll_twin_allows(twin->dram, twin->log.commands, twin->log.count, &command))
        command.cycle++;
    ll_twin_note(&twin->log, &command);
}

static inline void ll_twin_refresh(struct ll_twin *twin)
{
    bool any = false;
    for (int b = 0; b < LL_DRAM_MOST_BANKS; b++)
        any |= twin->open[b];
    if (any)
        ll_twin_issue(twin, LL_DRAM_PRECHARGE_ALL, (struct ll_dram_spot){0});
    ll_twin_issue(twin, LL_DRAM_REFRESH, (struct ll_dram_spot){0});
    memset(twin->open, 0, sizeof twin->open);
    twin->due += twin->dram->cycles.refi;
}

/* The oldest burst of a bank, or the oldest that wants its open row; the window's length when none does. */
static inline size_t ll_twin_oldest(const struct ll_twin *twin, bool write, uint32_t bank, bool open)
{
    for (size_t i = 0; i < twin->count[write]; i++) {
        const struct ll_dram_spot *spot = &twin->waiting[write][i]->spot;
        if (spot->bank == bank && (!open || (twin->open[bank] && spot->row == twin->rows[bank])))
            return i;
    }
    return twin->count[write];
}

/* What is to be done for a bank, and for the sake of which burst. False: nothing. */
static inline bool ll_twin_wish(const struct ll_twin *twin, bool write, uint32_t bank,
                                struct ll_dram_command *command, size_t *served)
{
    size_t first = ll_twin_oldest(twin, write, bank, false), hit = ll_twin_oldest(twin, write, bank, true);
    if (first == twin->count[write])
        return false;
    *served = first;
    command->kind = twin->open[bank] ? LL_DRAM_PRECHARGE : LL_DRAM_ACTIVATE;
    if (hit < twin->count[write] && (hit == first || twin->passed[bank][write] < LL_TWIN_PATIENCE)) {
        *served = hit;
        command->kind = write ? LL_DRAM_WRITE : LL_DRAM_READ;
    }
    command->spot = twin->waiting[write][*served]->spot;
    if (command->kind == LL_DRAM_PRECHARGE)
        command->spot.row = twin->rows[bank];
    if (!ll_twin_is_access(command->kind))
        command->spot.column = 0;
    return true;
}

/* Among all banks' wishes that are allowed in this cycle, accesses first, then the oldest burst's. */
static inline bool ll_twin_choose(const struct ll_twin *twin, bool write, uint64_t cycle,
                                  struct ll_dram_command *best, size_t *served)
{
    bool found = false;
    for (uint32_t bank = 0; bank < LL_DRAM_MOST_BANKS; bank++) {
        struct ll_dram_command wish = {.cycle = cycle};
        size_t burst;
        if (!ll_twin_wish(twin, write, bank, &wish, &burst) ||
            !ll_twin_allows(twin->dram, twin->log.commands, twin->log.count, &wish))
            continue;
        bool better = ll_twin_is_access(wish.kind) != ll_twin_is_access(best->kind)
                          ? ll_twin_is_access(wish.kind)
                          : burst < *served;
        if (found && !better)
            continue;
        *best = wish;
        *served = burst;
        found = true;
    }
    return found;
}

static inline void ll_twin_take(struct ll_twin *twin, bool write, const struct ll_dram_command *command,
                                size_t served)
{
    uint32_t bank = command->spot.bank;
    ll_twin_note(&twin->log, command);
    if (command->kind == LL_DRAM_ACTIVATE) {
        twin->rows[bank] = command->spot.row;
        twin->passed[bank][0] = twin->passed[bank][1] = 0;
    }
    if (!ll_twin_is_access(command->kind)) {
        twin->open[bank] = command->kind == LL_DRAM_ACTIVATE;
        return;
    }
    bool first = ll_twin_oldest(twin, write, bank, false) == served;
    twin->passed[bank][write] = first ? 0 : twin->passed[bank][write] + 1;
    twin->count[write]--;
    for (size_t i = served; i < twin->count[write]; i++)
        twin->waiting[write][i] = twin->waiting[write][i + 1];
}

static inline void ll_twin_step(struct ll_twin *twin)
{
    if (twin->count[1] == 0)
        twin->draining = false;
    bool write = twin->draining || twin->count[0] == 0;
    for (uint64_t cycle = ll_twin_now(twin); cycle < twin->due; cycle++) {
        struct ll_dram_command best = {.cycle = cycle};
        size_t served = 0;
        if (!ll_twin_choose(twin, write, cycle, &best, &served))
            continue;
        ll_twin_take(twin, write, &best, served);
        return;
    }
    ll_twin_refresh(twin);
}

/* All commands of a channel for these bursts, in the log, which the caller frees. */
static inline struct ll_twin_log ll_twin_run(const struct ll_dram *dram, const struct ll_twin_burst *bursts,
                                             size_t count)
{
    struct ll_twin twin = {.dram = dram, .due = dram->cycles.refi};
    for (size_t i = 0; i < count; i++) {
        bool write = bursts[i].write;
        if (write && twin.count[1] == LL_DRAM_WINDOW)
            twin.draining = true;
        while (twin.count[write] == LL_DRAM_WINDOW)
            ll_twin_step(&twin);
        twin.waiting[write][twin.count[write]++] = &bursts[i];
    }
    while (twin.count[0] + twin.count[1])
        ll_twin_step(&twin);
    return twin.log;
}

#endif
