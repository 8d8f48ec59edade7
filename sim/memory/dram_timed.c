/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/memory/dram_timed.h"

#include "sim/memory/dram_channel.h"
#include "tracer/base/random.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

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
