/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens to experts to devices, without random numbers.
 *
 * Under a power law the loads of E experts are the quantiles (i + 1/2) / E of x^-A between two bounds,
 * rounded to whole rows that add up to tokens x top_k, at most one row a token in each. Experts are then
 * dealt to devices by fixed shuffles; of each shuffle the device with most rows counts, and of all
 * shuffles the median one. */
#include "tracer/ir/experts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SHUFFLES = 9 };

static const struct {
    const char *name;
    double weight_bytes, activation_bytes;
    enum ll_dtype dtype;
} formats[LL_EXPERT_FORMAT_COUNT] = {
#define X(word, name, weight, activation, dtype) {name, weight, activation, LL_##dtype},
    LL_EXPERT_FORMAT_LIST(X)
#undef X
};

double ll_expert_weight_bytes(enum ll_expert_format format)
{
    return formats[format].weight_bytes;
}

double ll_expert_activation_bytes(enum ll_expert_format format)
{
    return formats[format].activation_bytes;
}

enum ll_dtype ll_expert_dtype(enum ll_expert_format format)
{
    return formats[format].dtype;
}

const char *ll_expert_format_name(enum ll_expert_format format)
{
    return formats[format].name;
}

/* A token misses all local experts with the product of the shares that each does not get. */
static uint64_t tokens_here(const uint64_t *rows, uint64_t count, const struct ll_experts *e)
{
    double missed = 1, tokens = (double)e->tokens;
    for (uint64_t i = 0; i < count; i++)
        missed *= fmax(1 - (double)rows[i] / tokens, 1e-9);
    return (uint64_t)llround(tokens * (1 - missed));
}

void ll_experts_of_counts(const uint64_t *rows, uint64_t count, struct ll_experts *e)
{
    assert(e->tokens > 0);
    uint64_t tiles[LL_EXPERT_TILES] = {0};
    e->rows = e->touched = 0;
    for (uint64_t i = 0; i < count; i++) {
        e->rows = ll_add(e->rows, rows[i]);
        e->touched += rows[i] > 0;
        for (unsigned t = 0; t < LL_EXPERT_TILES; t++)
            tiles[t] = ll_add(tiles[t], ll_ceil_div(rows[i], (uint64_t)LL_LEAST_EXPERT_TILE << t));
    }
    for (unsigned t = 0; t < LL_EXPERT_TILES; t++)
        e->tiles[t] = (uint32_t)ll_min(tiles[t], UINT32_MAX);
    e->local_tokens = tokens_here(rows, count, e);
}

/* The share u of x^-skew between two bounds. */
static double quantile(double skew, double low, double high, double u)
{
    if (fabs(skew - 1) < 1e-9)
        return low * pow(high / low, u);
    double a = 1 - skew, from = pow(low, a);
    return pow(from + u * (pow(high, a) - from), 1 / a);
}

static uint64_t least_loaded(const uint64_t *rows, uint64_t count)
{
    uint64_t least = 0;
    for (uint64_t i = 1; i < count; i++)
        least = rows[i] < rows[least] ? i : least;
    return least;
}

static uint64_t most_loaded(const uint64_t *rows, uint64_t count)
{
    uint64_t most = 0;
    for (uint64_t i = 1; i < count; i++)
        most = rows[i] > rows[most] ? i : most;
    return most;
}

/* What rounding leaves goes to the least loaded experts, or comes from the most loaded. */
static void round_off(uint64_t *rows, const struct ll_experts *e)
{
    uint64_t all = e->tokens * e->top_k, given = 0;
    for (uint64_t i = 0; i < e->experts; i++)
        given += rows[i];
    while (given < all) {
        uint64_t left = all - given, mean = given / e->experts, i = least_loaded(rows, e->experts);
        uint64_t level = mean + 1 > rows[i] ? mean + 1 - rows[i] : 1, before = rows[i];
        rows[i] = ll_min(e->tokens, rows[i] + ll_max(1, ll_min(left, level)));
        assert(rows[i] > before); /* no expert has more than all tokens, and all together have room */
        given += rows[i] - before;
    }
    for (; given > all; given--)
        rows[most_loaded(rows, e->experts)]--;
}

static void follow_power_law(double skew, uint64_t *rows, const struct ll_experts *e)
{
    static const double few_low = 0.01, few_high = 2;
    double tokens = (double)e->tokens, all = tokens * (double)e->top_k, sum = 0;
    bool few = all <= (double)e->experts;
    double low = few ? few_low : 1, high = few ? few_high : fmax(0.8 * tokens, 1.01), loads[LL_MOST_EXPERTS];
    for (uint64_t i = 0; i < e->experts; i++)
        sum += loads[i] = quantile(skew, low, high, ((double)i + 0.5) / (double)e->experts);
    for (uint64_t i = 0; i < e->experts; i++)
        rows[i] = (uint64_t)fmin(floor(loads[i] / sum * all + 0.5), tokens);
    round_off(rows, e);
}

/* The least significant bits of the multiplier of Knuth's MMIX: enough to deal cards. */
static uint64_t next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* The device with most rows after one shuffle: its first expert. */
static uint64_t hottest(const uint64_t *rows, uint64_t devices, uint64_t local, uint64_t *most)
{
    uint64_t best = 0;
    *most = 0;
    for (uint64_t device = 0; device < devices; device++) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < local; i++)
            sum += rows[device * local + i];
        if (device == 0 || sum > *most) {
            *most = sum;
            best = device * local;
        }
    }
    return best;
}

static void shuffle(uint64_t *rows, uint64_t count, uint64_t seed)
{
    uint64_t state = seed + 1;
    for (uint64_t i = count; i > 1; i--) {
        uint64_t other = next_number(&state) % i, kept = rows[i - 1];
        rows[i - 1] = rows[other];
        rows[other] = kept;
    }
}

/* Of which shuffle the load of the hottest device is the median. */
static uint64_t median_shuffle(const uint64_t *rows, uint64_t devices, const struct ll_experts *e)
{
    uint64_t loads[SHUFFLES], dealt[LL_MOST_EXPERTS];
    for (uint64_t s = 0; s < SHUFFLES; s++) {
        memcpy(dealt, rows, e->experts * sizeof *dealt);
        shuffle(dealt, e->experts, s);
        hottest(dealt, devices, e->local, &loads[s]);
    }
    for (uint64_t s = 0; s < SHUFFLES; s++) {
        unsigned below = 0, equal_before = 0;
        for (uint64_t other = 0; other < SHUFFLES; other++) {
            below += loads[other] < loads[s];
            equal_before += loads[other] == loads[s] && other < s;
        }
        if (below + equal_before == SHUFFLES / 2)
            return s;
    }
    return 0;
}

bool ll_experts_spread(double skew, uint64_t devices, struct ll_experts *e)
{
    uint64_t rows[LL_MOST_EXPERTS], most;
    if (devices == 0 || e->experts < devices || e->experts > LL_MOST_EXPERTS || e->top_k > e->experts ||
        e->tokens == 0 || !ll_fits(ll_mul(e->tokens, e->top_k)))
        return false;
    e->local = e->experts / devices;
    if (skew == 0) {
        /* The first of the experts of each device in turn have one row more. */
        uint64_t all = e->tokens * e->top_k, left = all % e->experts;
        for (uint64_t i = 0; i < e->local; i++)
            rows[i] = all / e->experts + (i * devices < left);
        ll_experts_of_counts(rows, e->local, e);
        e->local_tokens = ll_min(e->tokens, ll_ceil_div(e->rows, ll_min(e->top_k, e->local)));
        return true;
    }
    follow_power_law(skew, rows, e);
    if (devices > 1)
        shuffle(rows, e->experts, median_shuffle(rows, devices, e));
    ll_experts_of_counts(rows + hottest(rows, devices, e->local, &most), e->local, e);
    return true;
}

static uint64_t gemms(const struct ll_experts *e)
{
    return e->gated ? 3 : 2;
}

uint64_t ll_experts_flops(const struct ll_experts *e)
{
    return ll_mul(ll_mul(2 * gemms(e), e->rows), ll_mul(e->hidden, e->inter));
}

uint64_t ll_experts_weight_bytes(const struct ll_experts *e)
{
    uint64_t weights = ll_mul(ll_mul(gemms(e), e->touched), ll_mul(e->hidden, e->inter));
    double bytes = (double)weights * ll_expert_weight_bytes((enum ll_expert_format)e->format);
    return ll_fits(weights) && bytes < 0x1p63 ? (uint64_t)bytes : LL_NO_FIT;
}

void ll_experts_of_gemm(uint64_t experts, uint64_t touched, uint64_t rows_each, struct ll_experts *e)
{
    e->single = 1;
    e->top_k = 1;
    e->experts = e->local = experts;
    e->touched = touched;
    e->tokens = e->rows = e->local_tokens = ll_mul(touched, rows_each);
    for (unsigned t = 0; t < LL_EXPERT_TILES; t++) {
        uint64_t tiles = ll_mul(touched, ll_ceil_div(rows_each, (uint64_t)LL_LEAST_EXPERT_TILE << t));
        e->tiles[t] = (uint32_t)ll_min(tiles, UINT32_MAX);
    }
}

struct ll_work ll_experts_as_gemm(const struct ll_work *work)
{
    const struct ll_experts *e = &work->experts;
    assert(work->kind == LL_WORK_EXPERTS && e->touched > 0);
    struct ll_work gemm = *work;
    gemm.kind = LL_WORK_GEMM;
    gemm.experts = (struct ll_experts){0};
    gemm.gemm = (struct ll_gemm){e->touched, ll_ceil_div(e->rows, e->touched),
                                 e->single ? e->inter : ll_mul(gemms(e), e->inter), e->hidden};
    return gemm;
}
