/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse filters of version 3: which elements they keep, what they take to store. */
#include <assert.h>

#include "sim/scalesim/sparse.h"
#include "tracer/base/num.h"

struct ll_scalesim_taps ll_scalesim_taps(const struct ll_scalesim_config *config,
                                         const struct ll_scalesim_layer *layer,
                                         enum ll_scalesim_operand operand, uint64_t dense)
{
    struct ll_scalesim_taps taps = {.count = dense, .dense = dense, .kept = 1, .of = 1};
    if (!config->sparse)
        return taps;
    if (config->row_wise) {
        assert(config->block >= 2);
        if (operand == LL_SCALESIM_FILTER) {
            taps.block = config->block;
            taps.count = ll_mul(ll_ceil_div(dense, 2 * config->block), config->block);
        }
    } else if (layer->zeros.of > 0) {
        taps.kept = layer->zeros.kept;
        taps.of = layer->zeros.of;
        taps.count = dense / taps.of * taps.kept + ll_min(dense % taps.of, taps.kept);
    }
    return taps;
}

uint64_t ll_scalesim_rank(const struct ll_scalesim_taps *taps, uint64_t i)
{
    assert(i < taps->count);
    if (!taps->block)
        return 0;
    uint64_t half = taps->block / 2;
    return ll_scalesim_tap(taps, i) == LL_SCALESIM_NO_TAP ? LL_SCALESIM_NO_TAP : i % half;
}

/* An odd block leaves its last compressed rows empty: SCALE-Sim makes halves of M / 2, rounded down. */
uint64_t ll_scalesim_tap(const struct ll_scalesim_taps *taps, uint64_t i)
{
    assert(i < taps->count);
    if (!taps->block)
        return i / taps->kept * taps->of + i % taps->kept;
    uint64_t half = taps->block / 2, halves = taps->count / taps->block * 2;
    uint64_t tap = i / half * taps->block + i % half;
    return i / half < halves && tap < taps->dense ? tap : LL_SCALESIM_NO_TAP;
}

/* MT19937, of which numpy takes 32 bits a draw. */
enum { STATES = 624, SHIFT = 397 };
struct twister {
    uint32_t state[STATES];
    unsigned next;
};

static void seed_twister(struct twister *twister, uint32_t seed)
{
    for (unsigned i = 0; i < STATES; i++) {
        twister->state[i] = seed;
        seed = UINT32_C(1812433253) * (seed ^ seed >> 30) + i + 1;
    }
    twister->next = STATES;
}

static uint32_t draw(struct twister *twister)
{
    if (twister->next == STATES) {
        uint32_t *s = twister->state;
        for (unsigned i = 0; i < STATES; i++) {
            uint32_t y = (s[i] & UINT32_C(0x80000000)) | (s[(i + 1) % STATES] & UINT32_C(0x7fffffff));
            s[i] = s[(i + SHIFT) % STATES] ^ y >> 1 ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
        }
        twister->next = 0;
    }
    uint32_t y = twister->state[twister->next++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

/* randint(1, M / 2 + 1): numpy masks to the next power of two and rejects; where one value is possible it
 * draws nothing. */
void ll_scalesim_draw(const struct ll_scalesim_config *config, uint64_t filters, uint32_t *kept)
{
    struct twister twister;
    uint32_t most = (uint32_t)(config->block / 2) - 1, mask = most;
    assert(config->block >= 2);
    for (unsigned shift = 1; shift < 32; shift *= 2)
        mask |= mask >> shift;
    seed_twister(&twister, (uint32_t)config->seed);
    for (uint64_t i = 0; i < filters; i++) {
        uint32_t value = 0;
        if (most > 0)
            do
                value = draw(&twister) & mask;
            while (value > most);
        kept[i] = 1 + value;
    }
}

/* The filters' words that are no zeros. */
static uint64_t count_kept(const struct ll_scalesim_config *config, const struct ll_scalesim_folds *folds,
                           const uint32_t *kept)
{
    if (!kept)
        return ll_mul(folds->k, folds->n);
    uint64_t words = 0, whole = folds->dense_k / config->block, rest = folds->dense_k % config->block;
    for (uint64_t n = 0; n < folds->n; n++)
        words += whole * kept[n] + ll_min(rest, kept[n]);
    return words;
}

/* CSR and CSC keep an index beside each word and a pointer for each row or column; ELLPACK has
 * ceil(log2 M) bits for each place, M being that of the topology, of words of 32 bits. */
void ll_scalesim_store(const struct ll_scalesim_config *config, const struct ll_scalesim_layer *layer,
                       const struct ll_scalesim_folds *folds, const uint32_t *kept,
                       struct ll_scalesim_result *result)
{
    uint64_t words = count_kept(config, folds, kept), of = layer->zeros.of ? layer->zeros.of : 1, bits = 0;
    result->filter_words = ll_mul(folds->dense_k, folds->n);
    while (UINT64_C(1) << bits < of)
        bits++;
    if (config->storage == LL_SCALESIM_ELLPACK) {
        uint64_t places = ll_mul(folds->k, folds->n);
        result->metadata_words = (double)(places * bits) / 32;
        result->stored_words = (double)places + result->metadata_words;
    } else {
        uint64_t pointers = (config->storage == LL_SCALESIM_CSR ? folds->dense_k : folds->n) + 1;
        result->metadata_words = (double)(words + pointers);
        result->stored_words = (double)(2 * words + pointers);
    }
    result->metadata_bandwidth = result->metadata_words / (double)result->total_cycles;
}
