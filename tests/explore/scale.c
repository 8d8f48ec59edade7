/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep on more processes than there are here, simulated by events: how even the work is, and what the
 * counter takes from which all get their next piece.
 *
 *     scale RANKS POINTS POINT_US SPREAD SLOW COUNTER_US TRIP_US
 *
 * A point takes POINT_US in the mean with an exponential spread times SPREAD; a rank is up to SLOW slower
 * than the fastest, evenly; the counter serves one rank at a time, for COUNTER_US, at the end of a trip of
 * TRIP_US there and back. Pieces, and who may take one, are those of a sweep (sim/explore/deal.c). Without
 * arguments: the laws that must hold for some sizes. */
#include "sim/explore/sweep.h"
#include "tracer/base/random.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct setting {
    uint64_t ranks, points;
    double point_s, spread, slow, counter_s, trip_s;
};

struct rank {
    double free_s, busy_s, pace;
    uint64_t evaluated;
    struct ll_deal_piece piece;
};

struct outcome {
    double time_s, busy_share, imbalance, counter_busy, longest_wait_s;
    uint64_t takes, points;
};

static uint64_t drawn;

/* Evenly between 0 and 1, neither of them. */
static double chance(void)
{
    return ((double)(ll_random_bits(drawn++, 7) >> 11) + 0.5) * 0x1p-53;
}

/* The sum of the times of so many points: by the law of large numbers where they are many. */
static double points_s(const struct setting *s, uint64_t count)
{
    double sum = 0;
    if (count > 64)
        return s->point_s * ((double)count + s->spread * sqrt((double)count) * sqrt(-2 * log(chance())) *
                                                 cos(6.283185307179586 * chance()));
    for (uint64_t i = 0; i < count; i++)
        sum += s->point_s * (1 - s->spread + s->spread * -log(chance()));
    return sum;
}

static void work(const struct setting *s, const struct ll_deal *deal, struct rank *rank)
{
    uint64_t count = 0, first;
    for (uint64_t round = rank->piece.first_round; round < rank->piece.end_round; round++)
        count += ll_deal_block(deal, rank->piece.lane, round, &first);
    const double time_s = fmax(0, points_s(s, count)) * rank->pace;
    rank->free_s += time_s;
    rank->busy_s += time_s;
    rank->evaluated += count;
}

/* A heap of ranks by when they are free. */
static void sink(struct rank **heap, uint64_t count, uint64_t at)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1]->free_s < heap[child]->free_s;
        if (heap[at]->free_s <= heap[child]->free_s)
            return;
        struct rank *rank = heap[at];
        heap[at] = heap[child];
        heap[child] = rank;
    }
}

/* Takes pieces in the order in which ranks are free, until nobody may take one. */
static void take_all(const struct setting *s, const struct ll_deal *deal, struct rank **heap, uint64_t most,
                     struct outcome *o)
{
    uint64_t count = s->ranks;
    double counter_free_s = 0, served_s = 0, end_s = 0;
    for (uint64_t i = count / 2; i-- > 0;)
        sink(heap, count, i);
    while (count > 0) {
        struct rank *rank = heap[0];
        if (rank->evaluated + ll_deal_next_most(deal, &rank->piece) > most) {
            heap[0] = heap[--count];
            sink(heap, count, 0);
            continue;
        }
        const double asks_s = rank->free_s + s->trip_s / 2, begins_s = fmax(asks_s, counter_free_s);
        o->longest_wait_s = fmax(o->longest_wait_s, begins_s - asks_s);
        counter_free_s = begins_s + s->counter_s;
        served_s += s->counter_s;
        rank->free_s = counter_free_s + s->trip_s / 2;
        if (!ll_deal_next(deal, s->ranks + o->takes++, &rank->piece)) {
            heap[0] = heap[--count];
        } else {
            work(s, deal, rank);
        }
        end_s = fmax(end_s, rank->free_s);
        sink(heap, count, 0);
    }
    o->counter_busy = end_s > 0 ? served_s / end_s : 0;
}

static struct outcome simulate(const struct setting *s)
{
    const struct ll_deal deal = ll_deal_of(s->points, s->ranks);
    struct outcome o = {0};
    struct rank *ranks = calloc(s->ranks, sizeof *ranks), **heap = calloc(s->ranks, sizeof *heap);
    double busy_s = 0;
    uint64_t most = 0;
    assert(ranks && heap);
    for (uint64_t i = 0; i < s->ranks; i++) {
        ranks[i].pace = 1 + s->slow * chance();
        if (ll_deal_next(&deal, i, &ranks[i].piece))
            work(s, &deal, &ranks[i]);
        heap[i] = &ranks[i];
    }
    take_all(s, &deal, heap, ll_deal_limit(s->points, s->ranks), &o);
    for (uint64_t i = 0; i < s->ranks; i++) {
        o.time_s = fmax(o.time_s, ranks[i].free_s);
        o.points += ranks[i].evaluated;
        busy_s += ranks[i].busy_s;
        most = ranks[i].evaluated > most ? ranks[i].evaluated : most;
    }
    o.busy_share = busy_s / ((double)s->ranks * o.time_s);
    o.imbalance = (double)most * (double)s->ranks / (double)s->points - 1;
    free(ranks);
    free(heap);
    return o;
}

static int check(void)
{
    static const struct setting settings[] = {
        {16, 48000, 270e-6, 1, 0, 1e-6, 4e-6},         {16, 2400, 0.2, 1, 0.05, 1e-6, 4e-6},
        {1000, 10000000, 270e-6, 1, 0.05, 1e-6, 4e-6}, {64000, 1000000000, 270e-6, 1, 0.05, 1e-6, 4e-6},
        {256, 65536, 1e-3, 1, 1, 1e-6, 4e-6},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const struct setting *s = &settings[i];
        const struct outcome o = simulate(s);
        const bool right = o.points == s->points && o.imbalance <= LL_MOST_ABOVE_MEAN &&
                           (s->slow > 0.05 || o.busy_share >= 0.9);
        printf("%llu ranks, %llu points: busy %.4f, imbalance %.4f%s\n", (unsigned long long)s->ranks,
               (unsigned long long)s->points, o.busy_share, o.imbalance, right ? "" : "  WRONG");
        wrong += !right;
    }
    return wrong > 0;
}

int main(int argc, char **argv)
{
    double value[7];
    if (argc == 1)
        return check();
    for (int i = 0; i < 7; i++)
        value[i] = i + 1 < argc ? strtod(argv[i + 1], NULL) : NAN;
    if (argc != 8 || !(value[0] >= 1) || !(value[1] >= 1)) {
        fprintf(stderr, "scale RANKS POINTS POINT_US SPREAD SLOW COUNTER_US TRIP_US\n");
        return 2;
    }
    const struct setting s = {(uint64_t)value[0], (uint64_t)value[1], value[2] * 1e-6, value[3],
                              value[4],           value[5] * 1e-6,    value[6] * 1e-6};
    const struct outcome o = simulate(&s);
    printf(
        "%.3f s, busy %.1f %%, most points %.2f %% above the mean, %llu pieces taken, counter busy %.2f %%, "
        "longest wait %.1f us\n",
        o.time_s, 100 * o.busy_share, 100 * o.imbalance, (unsigned long long)o.takes, 100 * o.counter_busy,
        1e6 * o.longest_wait_s);
    return 0;
}
