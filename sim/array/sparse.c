/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros on an array, by expectation.
 *
 *     moved by a store = words of the dense mapping
 *                        * share that is not zero, where it holds them compressed
 * * product over the operands that an access depends on of P(what it meets holds a word)
 *
 * An inner store gets what the outer one sent, and what an inner access meets lies within what the outer one
 * met: of both conditions on the same operand the narrower one holds. */
#include "sim/array/sparse.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Above, tiles are drawn as if each word were zero by itself. */
static const double most_words = 1e6;

/* Hypergeometric: C(N - n, r) / C(N, r); evenly, a tile of n words holds floor or ceil of n times the
 * share. */
double ll_array_empty(const struct ll_array_density *density, double tile, double all)
{
    double share = density->share, words = round(share * all);
    assert(share >= 0 && share <= 1 && tile >= 0);
    if (tile <= 0 || share <= 0)
        return 1;
    if (density->even)
        return fmax(0, 1 - share * tile);
    if (tile > all - words)
        return 0;
    if (all > most_words)
        return pow(1 - share, tile);
    return exp(lgamma(all - tile + 1) + lgamma(all - words + 1) - lgamma(all - tile - words + 1) -
               lgamma(all + 1));
}

/* The number of words in a tile is binomial; its probabilities follow from one another. */
double ll_array_groups(const struct ll_array_density *density, uint64_t tile, uint64_t width)
{
    double d = density->share, n = (double)tile, groups = 0;
    assert(width > 0 && tile <= 1u << 20);
    if (d >= 1 || density->even)
        return ceil(ceil(n * d - 1e-9) / (double)width);
    for (uint64_t i = 1; i <= tile; i++) {
        double log_p = lgamma(n + 1) - lgamma((double)i + 1) - lgamma(n - (double)i + 1) +
                       (double)i * log(d) + (n - (double)i) * log1p(-d);
        groups += exp(log_p) * ceil((double)i / (double)width);
    }
    return groups;
}

struct ll_array_stored ll_array_stored(const struct ll_array_format *format,
                                       const struct ll_array_density *density, double places)
{
    double words = density->share * places;
    switch (format->places) {
    case LL_ARRAY_DENSE:
        return (struct ll_array_stored){places, 0};
    case LL_ARRAY_BITMASK:
        return (struct ll_array_stored){words, places};
    case LL_ARRAY_COORDINATES:
    case LL_ARRAY_RUNS:
        return (struct ll_array_stored){words, words * format->bits};
    case LL_ARRAY_CSR:
        return (struct ll_array_stored){words, (words + places / fmax(1, format->fiber)) * format->bits};
    case LL_ARRAY_BLOCKS: {
        double blocks = places / format->fiber;
        double full = blocks * (1 - ll_array_empty(density, format->fiber, places));
        return (struct ll_array_stored){full * format->fiber, blocks};
    }
    }
    return (struct ll_array_stored){places, 0};
}

struct zeros {
    const struct ll_array *array;
    const struct ll_array_problem *problem;
    const struct ll_array_mapping *mapping;
    const struct ll_array_cost *dense;
    const struct ll_array_sparse *sparse;
    struct ll_array_sparse_cost *cost;
    double words[LL_OPERAND_COUNT]; /* of each tensor */
};

/* Words of an operand with so many iterations of each dimension. */
static double words_of(const struct ll_array_problem *problem, enum ll_operand o,
                       const double by[LL_ARRAY_DIMS])
{
    const struct ll_array_operand *operand = &problem->operand[o];
    double words = 1;
    for (int r = 0; r < operand->ranks; r++) {
        const struct ll_array_rank *rank = &operand->rank[r];
        double span = 1;
        for (int t = 0; t < rank->terms; t++)
            span += (double)rank->step[t] * (by[rank->dim[t]] - 1);
        words *= rank->extent > 0 ? fmin(span, (double)rank->extent) : span;
    }
    return words;
}

/* The next store inside of s that keeps the operand, or -1 where the multipliers are next. */
static int inside(const struct zeros *z, enum ll_operand o, int s)
{
    for (int i = s - 1; i >= 0; i--)
        if (z->mapping->keeps[o][i])
            return i;
    return -1;
}

/* Words of `met` that are used while a transfer of `target` out of store s lasts: loops that its tile inside
 * holds, those directly outside that it is not indexed by, and what stands side by side below s. */
static double met_words(const struct zeros *z, enum ll_operand target, int s, enum ll_operand met)
{
    const struct ll_array_mapping *mapping = z->mapping;
    int child = inside(z, target, s);
    double by[LL_ARRAY_DIMS];
    uint8_t loops = child < 0 ? 0 : mapping->holds[target][child];
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        by[d] = 1;
    while (child >= 0 && loops < mapping->loops &&
           !(z->problem->indexes[target] >> mapping->loop[loops].dim & 1))
        loops++;
    for (int i = 0; i < loops; i++)
        by[mapping->loop[i].dim] *= (double)mapping->loop[i].by;
    /* One word goes to all elements that share it, each with words of its own. */
    for (int i = 0; i < mapping->unrolls; i++) {
        bool below = z->array->store[s].serves >> mapping->unroll[i].axis & 1;
        bool of_target = z->problem->indexes[target] >> mapping->unroll[i].dim & 1;
        if (below && !of_target)
            by[mapping->unroll[i].dim] *= mapping->unroll[i].by;
    }
    return words_of(z->problem, met, by);
}

/* What is left of an operand's accesses, store by store from the outermost: the probability for each operand
 * they depend on, and whether what fell away was skipped. */
struct left {
    double of[LL_OPERAND_COUNT];
    double all;
    bool skips;
};

/* The share of accesses that meet something of operand m. */
static double met(const struct zeros *z, const struct ll_array_saving *saving, enum ll_operand m)
{
    const struct ll_array_density *density = &z->sparse->density[m];
    if (saving->width == 0) {
        double tile = met_words(z, saving->target, saving->store, m);
        return 1 - ll_array_empty(density, tile, z->words[m]);
    }
    uint64_t tile = (uint64_t)z->dense->tile_words[m][saving->store];
    return ll_array_groups(density, tile, saving->width) / ceil((double)tile / (double)saving->width);
}

static void narrow(const struct zeros *z, enum ll_operand o, int s, struct left *left)
{
    for (int i = 0; i < z->sparse->savings; i++) {
        const struct ll_array_saving *saving = &z->sparse->saving[i];
        if (saving->store != s || saving->target != o)
            continue;
        left->skips = saving->skips;
        for (enum ll_operand m = 0; m < LL_OPERAND_COUNT; m++)
            if (saving->on >> m & 1) {
                left->of[m] = fmin(left->of[m], met(z, saving, m));
            }
    }
    left->all = left->of[0] * left->of[1] * left->of[2];
}

static void take(const struct zeros *z, enum ll_operand o, int s, enum ll_array_way way, double before,
                 const struct left *left)
{
    double words = z->dense->moves[o][s][way].words;
    struct ll_array_stored stored = ll_array_stored(&z->sparse->format[o][s], &z->sparse->density[o], words);
    struct ll_array_kinds *kinds = &z->cost->moves[o][s][way];
    double fell = stored.words * (before - left->all);
    kinds->actual = stored.words * left->all;
    kinds->place_bits = stored.place_bits * left->all;
    *(left->skips ? &kinds->skipped : &kinds->gated) = fell;
}

/* Words come inwards: what a store sends is what the next one takes, compressed as that holds it. */
static void count_input(const struct zeros *z, enum ll_operand o)
{
    struct left left = {.of = {1, 1, 1}, .all = 1};
    for (int s = z->array->stores - 1; s >= 0; s--) {
        if (!z->mapping->keeps[o][s])
            continue;
        double before = left.all;
        take(z, o, s, LL_ARRAY_FILL, before, &left);
        narrow(z, o, s, &left);
        take(z, o, s, LL_ARRAY_READ, before, &left);
    }
}

/* Sums go outwards; a store's own condition is that of what comes to it from inside. */
static void count_result(const struct zeros *z)
{
    const enum ll_operand o = LL_OPERAND_C;
    const struct left all = {.of = {1, 1, 1}, .all = 1};
    for (int s = 0; s < z->array->stores; s++) {
        if (!z->mapping->keeps[o][s])
            continue;
        struct left left = all;
        narrow(z, o, s, &left);
        take(z, o, s, LL_ARRAY_UPDATE, 1, &left);
        take(z, o, s, LL_ARRAY_READ, 1, &left);
        take(z, o, s, LL_ARRAY_FILL, 1, &all);
        take(z, o, s, LL_ARRAY_DRAIN, 1, &all);
    }
}

static void count_macs(const struct zeros *z)
{
    const struct ll_array_sparse *sparse = z->sparse;
    double taken = 1, at_work = 1, shorter = 1, macs = z->problem->macs;
    for (enum ll_operand o = 0; o < LL_OPERAND_C; o++) {
        double share = sparse->density[o].share;
        bool packs = sparse->packed >> o & 1, skips = packs || sparse->skipped_by_macs >> o & 1;
        bool gates = sparse->gated_by_macs >> o & 1;
        taken *= skips ? share : 1;
        at_work *= skips || gates ? share : 1;
        shorter *= !packs && (skips || (gates && sparse->gated_saves_time)) ? share : 1;
    }
    z->cost->macs = macs * at_work;
    z->cost->gated_macs = macs * (taken - at_work);
    z->cost->skipped_macs = macs * (1 - taken);
    z->cost->compute_cycles = z->dense->compute_cycles * shorter;
}

/* Words that pass in a direction and take time: those that happen, with their places, and those gated. */
static double passing(const struct ll_array_kinds *kinds, double word_bits)
{
    return kinds->actual + kinds->gated + (word_bits > 0 ? kinds->place_bits / word_bits : 0);
}

static void count_cycles(const struct zeros *z)
{
    struct ll_array_sparse_cost *cost = z->cost;
    cost->cycles = cost->compute_cycles;
    cost->slowest = z->array->stores;
    for (uint8_t s = 0; s < z->array->stores; s++) {
        double out = 0, in = 0, reads = z->sparse->reads[s], writes = z->sparse->writes[s];
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
            const struct ll_array_kinds *moves = cost->moves[o][s];
            out += passing(&moves[LL_ARRAY_READ], z->sparse->word_bits[s]);
            in += passing(&moves[LL_ARRAY_FILL], z->sparse->word_bits[s]) +
                  passing(&moves[LL_ARRAY_UPDATE], z->sparse->word_bits[s]);
        }
        double busy = z->sparse->one_port[s] && reads > 0 ? (out + in) / reads : 0;
        if (!z->sparse->one_port[s])
            busy = fmax(reads > 0 ? out / reads : 0, writes > 0 ? in / writes : 0);
        cost->busy_cycles[s] = busy;
        if (busy > cost->cycles) {
            cost->cycles = busy;
            cost->slowest = s;
        }
    }
}

/* An access costs what it does without zeros, places what as many bits of data do. */
static void count_energy(const struct zeros *z)
{
    struct ll_array_sparse_cost *cost = z->cost;
    for (int s = 0; s < z->array->stores; s++)
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++) {
                const struct ll_array_moves *dense = &z->dense->moves[o][s][way];
                const struct ll_array_kinds *kinds = &cost->moves[o][s][way];
                double places = dense->bits > 0 ? kinds->place_bits / dense->bits : 0;
                if (dense->words > 0)
                    cost->store_j[s] += dense->energy_j / dense->words * (kinds->actual + places);
            }
    for (int s = 0; s < z->array->stores; s++)
        cost->energy_j += cost->store_j[s];
    cost->mac_j = cost->macs * z->array->mac_j;
    cost->energy_j += cost->mac_j;
}

void ll_array_sparse_evaluate(const struct ll_array *array, const struct ll_array_problem *problem,
                              const struct ll_array_mapping *mapping, const struct ll_array_cost *dense,
                              const struct ll_array_sparse *sparse, struct ll_array_sparse_cost *cost)
{
    double by[LL_ARRAY_DIMS];
    struct zeros z = {array, problem, mapping, dense, sparse, cost, {0}};
    memset(cost, 0, sizeof *cost);
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        by[d] = d < problem->dims ? (double)problem->of[d] : 1;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        z.words[o] = words_of(problem, o, by);
    count_input(&z, LL_OPERAND_A);
    count_input(&z, LL_OPERAND_B);
    count_result(&z);
    count_macs(&z);
    count_cycles(&z);
    count_energy(&z);
    assert(cost->macs <= problem->macs * (1 + 1e-9) && cost->cycles >= 0);
}
