/* SPDX-License-Identifier: Apache-2.0 */
/* The timed mode of DRAM. A controller maps addresses to channels, banks and rows (second section) and plays
 * access patterns on them; a channel issues one command after the other (first section). */
#include "sim/memory/dram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "tracer/base/random.h"

/* One channel. Each bank for which something waits has one candidate: a column access, if a burst wants the
 * open row; else closing that row; else opening the row of the burst that came first. Of all candidates the
 * one goes that can go earliest; of several in the same cycle a column access before the others, then the one
 * whose burst came first. Nothing is stepped: the cycle of each candidate is the largest of a few numbers
 * that the commands before it left behind. */

/* So often may younger bursts to the open row go before an older one to another row of the bank: first ready,
 * first come, first served (Rixner et al., ISCA 2000), with the cap that Ramulator has (Kim et al., 2015). */
enum { PATIENCE = 16 };

struct choice {
    uint64_t cycle;
    uint32_t bank;
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void ll_channel_start(struct ll_channel *channel, const struct ll_dram *dram, uint32_t index,
                      ll_dram_listener *listener, void *context)
{
    *channel = (struct ll_channel){.dram = dram,
                                   .index = index,
                                   .listener = listener,
                                   .context = context,
                                   .refresh_due = dram->cycles.refi};
    for (int write = 0; write < 2; write++)
        for (uint32_t i = 0; i < LL_DRAM_WINDOW; i++)
            channel->slots[write][i].next = i + 1 < LL_DRAM_WINDOW ? (uint8_t)(i + 1) : LL_NO_SLOT;
    for (uint32_t b = 0; b < dram->groups * dram->banks; b++) {
        struct ll_bank_queue empty = {.first = LL_NO_SLOT, .last = LL_NO_SLOT, .hit = LL_NO_SLOT};
        channel->banks[b] = (struct ll_bank){.open_row = LL_NO_ROW, .lines = {empty, empty}};
    }
}

static void tell(const struct ll_channel *channel, enum ll_dram_kind kind, uint64_t cycle,
                 struct ll_dram_spot spot)
{
    if (!channel->listener)
        return;
    spot.channel = channel->index;
    channel->listener(channel->context, &(struct ll_dram_command){kind, cycle, spot});
}

/* From `slot` on, the first that wants this row. */
static uint8_t find_row(const struct ll_waiting *slots, uint8_t slot, uint64_t row)
{
    while (slot != LL_NO_SLOT && slots[slot].row != row)
        slot = slots[slot].next;
    return slot;
}

enum { ROW_WIRES, COLUMN_WIRES };

/* A command has gone over these wires, or over those that there are. */
static void occupy(struct ll_channel *channel, int wires, uint64_t cycle)
{
    channel->now = cycle;
    channel->wires[wires] = cycle + 1;
    if (channel->dram->wires == 1)
        channel->wires[!wires] = cycle + 1;
}

static void close_row(struct ll_bank *bank)
{
    bank->open_row = LL_NO_ROW;
    bank->lines[0].hit = bank->lines[1].hit = LL_NO_SLOT;
}

/* --- what is to be done for a bank --- */

static void plan_line(struct ll_channel *channel, struct ll_bank *bank, bool write)
{
    struct ll_bank_queue *line = &bank->lines[write];
    line->slot = line->first;
    if (line->hit != LL_NO_SLOT && line->passed < PATIENCE) {
        line->kind = write ? LL_DRAM_WRITE : LL_DRAM_READ;
        line->slot = line->hit;
        line->ready = bank->column;
    } else if (bank->open_row != LL_NO_ROW) {
        line->kind = LL_DRAM_PRECHARGE;
        line->ready = bank->precharge;
    } else {
        line->kind = LL_DRAM_ACTIVATE;
        line->ready = bank->activate;
    }
    if (line->slot != LL_NO_SLOT)
        line->order = channel->slots[write][line->slot].order;
}

static void plan(struct ll_channel *channel, uint32_t b)
{
    plan_line(channel, &channel->banks[b], false);
    plan_line(channel, &channel->banks[b], true);
}

/* --- what each command leaves behind --- */

static void activate(struct ll_channel *channel, const struct choice *c, bool write)
{
    const struct ll_dram_cycles *t = &channel->dram->cycles;
    struct ll_bank *bank = &channel->banks[c->bank];
    bank->open_row = channel->slots[write][bank->lines[write].first].row;
    bank->column = c->cycle + t->rcd;
    bank->precharge = c->cycle + t->ras;
    bank->fresh = true;
    channel->groups[c->bank & (channel->dram->groups - 1)].activate = c->cycle + t->rrd_l;
    channel->activate = c->cycle + t->rrd_s;
    channel->activates[channel->activate_count++ % 4] = c->cycle;
    for (int i = 0; i < 2; i++) {
        bank->lines[i].hit = find_row(channel->slots[i], bank->lines[i].first, bank->open_row);
        bank->lines[i].passed = 0;
    }
    tell(channel, LL_DRAM_ACTIVATE, c->cycle, (struct ll_dram_spot){.bank = c->bank, .row = bank->open_row});
}

static void precharge(struct ll_channel *channel, const struct choice *c)
{
    struct ll_bank *bank = &channel->banks[c->bank];
    tell(channel, LL_DRAM_PRECHARGE, c->cycle, (struct ll_dram_spot){.bank = c->bank, .row = bank->open_row});
    bank->activate = c->cycle + channel->dram->cycles.rp;
    bank->conflict = true;
    close_row(bank);
}

static void take_column_time(struct ll_channel *channel, uint32_t b, uint64_t cycle, bool write)
{
    const struct ll_dram_cycles *t = &channel->dram->cycles;
    struct ll_bank *bank = &channel->banks[b];
    struct ll_group *group = &channel->groups[b & (channel->dram->groups - 1)];
    uint64_t end = cycle + (write ? t->cwl : t->cl) + channel->dram->burst_cycles; /* of the data */
    channel->last_data = end; /* data come in the order of their commands */
    channel->column[write] = cycle + t->ccd_s;
    group->column[write] = cycle + t->ccd_l;
    channel->column[!write] = write ? end + t->wtr_s : end + LL_DRAM_TURN_CYCLES - t->cwl;
    if (write)
        group->column[0] = end + t->wtr_l;
    bank->precharge = later(bank->precharge, write ? end + t->wr : cycle + t->rtp);
}

/* Takes a slot out of its line; the next that wants the open row is the new hit. */
static void leave_line(struct ll_channel *channel, uint32_t b, uint8_t slot, bool write)
{
    struct ll_bank_queue *line = &channel->banks[b].lines[write];
    struct ll_waiting *slots = channel->slots[write];
    uint8_t next = slots[slot].next, before = line->first;
    line->passed = slot == line->first ? 0 : (uint8_t)(line->passed + 1);
    line->hit = find_row(slots, next, channel->banks[b].open_row);
    if (slot == line->first) {
        line->first = next;
        before = LL_NO_SLOT;
    } else {
        while (slots[before].next != slot)
            before = slots[before].next;
        slots[before].next = next;
    }
    if (line->last == slot)
        line->last = before;
    if (line->first == LL_NO_SLOT)
        channel->wanted[write] &= ~(UINT64_C(1) << b);
    slots[slot].next = channel->free_slot[write];
    channel->free_slot[write] = slot;
    channel->waiting_count[write]--;
}

static void count_access(struct ll_channel *channel, struct ll_bank *bank, bool write)
{
    struct ll_dram_result *sum = &channel->sum;
    sum->turns += sum->bursts > 0 && channel->last_write != write;
    channel->last_write = write;
    sum->bursts++;
    *(write ? &sum->writes : &sum->reads) += 1;
    *(!bank->fresh ? &sum->hits : bank->conflict ? &sum->conflicts : &sum->misses) += 1;
    bank->fresh = bank->conflict = false;
}

static void access_column(struct ll_channel *channel, const struct choice *c, bool write)
{
    struct ll_bank *bank = &channel->banks[c->bank];
    const struct ll_bank_queue *line = &bank->lines[write];
    tell(channel, (enum ll_dram_kind)line->kind, c->cycle,
         (struct ll_dram_spot){
             .bank = c->bank, .column = channel->slots[write][line->slot].column, .row = bank->open_row});
    count_access(channel, bank, write);
    take_column_time(channel, c->bank, c->cycle, write);
    leave_line(channel, c->bank, line->slot, write);
}

/* Closes all banks as soon as they may be, then refreshes. */
static void refresh(struct ll_channel *channel)
{
    const struct ll_dram_cycles *t = &channel->dram->cycles;
    uint32_t bank_count = channel->dram->groups * channel->dram->banks;
    uint64_t close = later(channel->now, channel->wires[ROW_WIRES]), ready = 0;
    bool any_open = false;
    for (uint32_t b = 0; b < bank_count; b++) {
        const struct ll_bank *bank = &channel->banks[b];
        any_open |= bank->open_row != LL_NO_ROW;
        close = later(close, bank->precharge); /* of a closed one, past */
        ready = later(ready, bank->activate);
    }
    if (any_open)
        tell(channel, LL_DRAM_PRECHARGE_ALL, close, (struct ll_dram_spot){0});
    ready = later(ready, any_open ? close + t->rp : close);
    tell(channel, LL_DRAM_REFRESH, ready, (struct ll_dram_spot){0});
    for (uint32_t b = 0; b < bank_count; b++) {
        close_row(&channel->banks[b]);
        channel->banks[b].activate = ready + t->rfc;
        channel->banks[b].fresh = channel->banks[b].conflict = false;
        plan(channel, b);
    }
    occupy(channel, ROW_WIRES, ready);
    channel->refresh_due += t->refi;
    channel->refresh_cycles += ready + t->rfc - close;
    channel->sum.refreshes++;
}

/* --- who goes next --- */

/* Cycles from the last command until wires and groups allow another one. */
static void find_floors(const struct ll_channel *channel, bool write, uint64_t floors[][LL_DRAM_MOST_BANKS])
{
    enum ll_dram_kind access = write ? LL_DRAM_WRITE : LL_DRAM_READ;
    uint64_t now = channel->now, row = later(now, channel->wires[ROW_WIRES]);
    uint64_t activate = later(row, channel->activate);
    uint64_t column = later(later(now, channel->wires[COLUMN_WIRES]), channel->column[write]);
    if (channel->activate_count >= 4)
        activate =
            later(activate, channel->activates[channel->activate_count % 4] + channel->dram->cycles.faw);
    for (uint32_t g = 0; g < channel->dram->groups; g++) {
        floors[LL_DRAM_PRECHARGE][g] = row - now;
        floors[LL_DRAM_ACTIVATE][g] = later(activate, channel->groups[g].activate) - now;
        floors[access][g] = later(column, channel->groups[g].column[write]) - now;
    }
}

/* The smaller, the sooner it is this bank's turn: cycle, columns first, age; the bank itself stands in the
 * last six bits. */
static uint64_t rank_of(const struct ll_channel *channel, uint32_t b, const struct ll_bank_queue *line,
                        uint64_t floor)
{
    uint64_t wait = line->ready > channel->now ? line->ready - channel->now : 0;
    uint64_t age = channel->order - line->order, oldest = (UINT64_C(1) << 26) - 1;
    bool row = line->kind == LL_DRAM_PRECHARGE || line->kind == LL_DRAM_ACTIVATE;
    return later(wait, floor) << 33 | (uint64_t)row << 32 | (oldest - (age < oldest ? age : oldest)) << 6 | b;
}

static struct choice choose(const struct ll_channel *channel, bool write)
{
    uint64_t floors[LL_DRAM_KINDS][LL_DRAM_MOST_BANKS], best = UINT64_MAX;
    find_floors(channel, write, floors);
    for (uint64_t banks = channel->wanted[write]; banks; banks &= banks - 1) {
        uint32_t b = (uint32_t)__builtin_ctzll(banks);
        const struct ll_bank_queue *line = &channel->banks[b].lines[write];
        uint64_t floor = floors[line->kind][b & (channel->dram->groups - 1)];
        uint64_t rank = rank_of(channel, b, line, floor);
        best = rank < best ? rank : best;
    }
    assert(best != UINT64_MAX);
    return (struct choice){channel->now + (best >> 33), best & 63};
}

/* Reads go first until the writes' window is full; then writes, until none waits. */
static bool choose_direction(struct ll_channel *channel)
{
    if (channel->waiting_count[1] == 0)
        channel->draining = false;
    return channel->draining || channel->waiting_count[0] == 0;
}

static void step(struct ll_channel *channel)
{
    bool write = choose_direction(channel);
    struct choice c = choose(channel, write);
    if (c.cycle >= channel->refresh_due) {
        refresh(channel);
        return;
    }
    enum ll_dram_kind kind = channel->banks[c.bank].lines[write].kind;
    occupy(channel, kind == LL_DRAM_READ || kind == LL_DRAM_WRITE ? COLUMN_WIRES : ROW_WIRES, c.cycle);
    switch (kind) {
    case LL_DRAM_ACTIVATE:
        activate(channel, &c, write);
        break;
    case LL_DRAM_PRECHARGE:
        precharge(channel, &c);
        break;
    default:
        access_column(channel, &c, write);
    }
    plan(channel, c.bank);
}

void ll_channel_push(struct ll_channel *channel, const struct ll_dram_spot *spot, bool write)
{
    assert(spot->bank < LL_DRAM_MOST_BANKS);
    if (write && channel->waiting_count[1] == LL_DRAM_WINDOW)
        channel->draining = true;
    while (channel->waiting_count[write] == LL_DRAM_WINDOW)
        step(channel);
    struct ll_bank *bank = &channel->banks[spot->bank];
    struct ll_bank_queue *line = &bank->lines[write];
    uint8_t slot = channel->free_slot[write];
    struct ll_waiting *waiting = &channel->slots[write][slot];
    channel->free_slot[write] = waiting->next;
    *waiting = (struct ll_waiting){spot->row, channel->order++, spot->column, LL_NO_SLOT};
    if (line->first == LL_NO_SLOT)
        line->first = slot;
    else
        channel->slots[write][line->last].next = slot;
    line->last = slot;
    if (line->hit == LL_NO_SLOT && spot->row == bank->open_row)
        line->hit = slot;
    channel->wanted[write] |= UINT64_C(1) << spot->bank;
    channel->waiting_count[write]++;
    plan_line(channel, bank, write);
}

void ll_channel_finish(struct ll_channel *channel)
{
    while (channel->waiting_count[0] + channel->waiting_count[1] > 0)
        step(channel);
    channel->sum.cycles = channel->last_data;
    assert(channel->waiting_count[0] + channel->waiting_count[1] == 0);
}

struct ll_dram_timed {
    const struct ll_dram *dram;
    uint32_t channel_count;
    struct ll_channel channels[];
};

struct ll_dram_timed *ll_dram_timed_new(const struct ll_dram *dram, uint32_t channels,
                                        ll_dram_listener *listener, void *context)
{
    assert(channels > 0 && channels <= LL_DRAM_MOST_CHANNELS &&
           dram->groups * dram->banks <= LL_DRAM_MOST_BANKS);
    struct ll_dram_timed *timed = calloc(1, sizeof *timed + channels * sizeof timed->channels[0]);
    if (!timed)
        return NULL;
    timed->dram = dram;
    timed->channel_count = channels;
    for (uint32_t i = 0; i < channels; i++)
        ll_channel_start(&timed->channels[i], dram, i, listener, context);
    return timed;
}

void ll_dram_timed_free(struct ll_dram_timed *timed)
{
    free(timed);
}

/* log2 of a power of two. */
static unsigned bits_of(uint32_t power)
{
    assert(power && (power & (power - 1)) == 0);
    return (unsigned)__builtin_ctz(power);
}

/* The exclusive or of the lowest sixteen digits of `bits` bits, seven at most. */
static uint64_t fold(uint64_t x, unsigned bits)
{
    for (unsigned shift = 8 * bits; shift >= bits && shift; shift /= 2)
        x ^= x >> shift;
    return x & ((UINT64_C(1) << bits) - 1);
}

/* Each step splits off the lowest digit of what is left and mixes into it what lies above, so that no two
 * addresses meet. Banks mix wider digits than groups do, of an odd number of bits, or a
 * stride would choose both alike. */
struct ll_dram_spot ll_dram_locate(const struct ll_dram *dram, uint32_t channels, uint64_t address)
{
    assert(channels > 0 && channels <= LL_DRAM_MOST_CHANNELS);
    unsigned burst = bits_of(ll_dram_burst_bytes(dram)), atom = bits_of(LL_DRAM_ATOM_BYTES);
    unsigned group = bits_of(dram->groups), bank = bits_of(dram->banks), row = bits_of(dram->row_bytes);
    assert(burst <= atom && atom < row);
    uint64_t block = address / LL_DRAM_BLOCK_BYTES, turn = block / channels;
    uint64_t inside = turn * LL_DRAM_BLOCK_BYTES + address % LL_DRAM_BLOCK_BYTES;
    uint64_t atoms = inside >> atom, above = atoms >> group, column = above & ((1u << (row - atom)) - 1);
    uint64_t rows = above >> (row - atom);
    unsigned wide = ((group > bank ? group : bank) + 1) | 1;
    uint64_t in_group = (atoms & (dram->groups - 1)) ^ fold(above, group);
    uint64_t in_bank = (rows ^ fold(rows >> (bank + 1), wide)) & (dram->banks - 1);
    return (struct ll_dram_spot){
        .channel = (uint32_t)((block % channels + ll_random_mix(turn) % channels) % channels),
        .bank = (uint32_t)(in_bank << group | in_group),
        .column = (uint32_t)(column << (atom - burst) | (inside >> burst & ((1u << (atom - burst)) - 1))),
        .row = rows >> bank};
}

void ll_dram_timed_access(struct ll_dram_timed *timed, uint64_t address, uint64_t bytes, bool write)
{
    uint64_t burst = ll_dram_burst_bytes(timed->dram), end = address + bytes;
    for (uint64_t at = address - address % burst; at < end; at += burst) {
        struct ll_dram_spot spot = ll_dram_locate(timed->dram, timed->channel_count, at);
        ll_channel_push(&timed->channels[spot.channel], &spot, write);
    }
}

void ll_dram_timed_finish(struct ll_dram_timed *timed, struct ll_dram_result *result)
{
    uint64_t refresh_cycles = 0;
    *result = (struct ll_dram_result){0};
    for (uint32_t i = 0; i < timed->channel_count; i++) {
        ll_channel_finish(&timed->channels[i]);
        const struct ll_dram_result *sum = &timed->channels[i].sum;
        result->bursts += sum->bursts;
        result->reads += sum->reads;
        result->writes += sum->writes;
        result->hits += sum->hits;
        result->misses += sum->misses;
        result->conflicts += sum->conflicts;
        result->refreshes += sum->refreshes;
        result->turns += sum->turns;
        result->cycles = sum->cycles > result->cycles ? sum->cycles : result->cycles;
        refresh_cycles += timed->channels[i].refresh_cycles;
    }
    if (result->cycles == 0)
        return;
    double cycles = (double)result->cycles;
    result->time_s = cycles / ll_dram_clock_hz(timed->dram);
    result->moved_Bps = (double)result->bursts * ll_dram_burst_bytes(timed->dram) / result->time_s;
    result->refresh_share = (double)refresh_cycles / (cycles * timed->channel_count);
}

/* An access of a sweep whose steps are shorter than a burst finds the last burst at hand: `have` is its end.
 */
static void sweep_on(struct ll_dram_timed *timed, uint64_t address, uint64_t bytes, bool write,
                     uint64_t *have)
{
    uint64_t burst = ll_dram_burst_bytes(timed->dram), end = address + bytes;
    uint64_t begin = address > *have ? address : *have;
    if (begin >= end)
        return;
    ll_dram_timed_access(timed, begin, end - begin, write);
    *have = (end + burst - 1) / burst * burst;
}

bool ll_dram_play(const struct ll_dram *dram, uint32_t channels, const struct ll_dram_pattern *pattern,
                  uint64_t accesses, struct ll_dram_result *result, double *efficiency)
{
    assert(pattern->bytes > 0 && accesses > 0);
    const uint64_t table_bytes = UINT64_C(1) << 34;
    struct ll_dram_timed *timed = ll_dram_timed_new(dram, channels, NULL, NULL);
    if (!timed)
        return false;
    uint64_t have = 0, rows = pattern->bytes < table_bytes ? table_bytes / pattern->bytes : 1;
    for (uint64_t i = 0; i < accesses; i++) {
        double before = floor((double)i * pattern->write_share);
        bool write = floor((double)(i + 1) * pattern->write_share) > before;
        if (pattern->stride)
            sweep_on(timed, i * pattern->stride, pattern->bytes, write, &have);
        else
            ll_dram_timed_access(timed, ll_random_bits(0, i) % rows * pattern->bytes, pattern->bytes, write);
    }
    ll_dram_timed_finish(timed, result);
    ll_dram_timed_free(timed);
    double peak_Bps = ll_dram_channel_Bps(dram) * channels;
    double asked = (double)accesses * (double)pattern->bytes;
    *efficiency = result->time_s > 0 ? asked / result->time_s / peak_Bps : 0;
    return true;
}
