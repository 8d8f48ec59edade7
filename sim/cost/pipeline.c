/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrence only takes maxima and adds, so a tile is a matrix over (max, +) that turns the times of the
 * tiles before it into those with it (Baccelli, Cohen, Olsder and Quadrat, "Synchronization and Linearity",
 * 1992, chapter 2). What repeats is a power of a matrix, found by squaring: a loop of n equal rounds costs
 * log n products, edges are matrices of their own. */
#include "sim/cost/pipeline.h"

#include <math.h>
#include <string.h>

/* What the next tile may have to wait for. */
enum { LOADED, WORKED, WORKED_BEFORE, STORED, STORED_BEFORE, TIMES };

struct step {
    double after[TIMES][TIMES]; /* after[i][j]: time i is at least the earlier time j plus this */
};

struct tile {
    double load_s, work_s, store_s;
    bool single;
};

static struct step nothing(void)
{
    struct step step;
    for (int i = 0; i < TIMES; i++)
        for (int j = 0; j < TIMES; j++)
            step.after[i][j] = i == j ? 0 : -INFINITY;
    return step;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* One step, then another. */
static struct step then(const struct step *one, const struct step *other)
{
    struct step both;
    for (int i = 0; i < TIMES; i++)
        for (int j = 0; j < TIMES; j++) {
            double most = -INFINITY;
            for (int k = 0; k < TIMES; k++)
                most = later(most, other->after[i][k] + one->after[k][j]);
            both.after[i][j] = most;
        }
    return both;
}

static struct step times(struct step step, uint64_t count)
{
    if (count == 1)
        return step;
    struct step all = nothing();
    for (; count; count /= 2) {
        if (count & 1)
            all = then(&all, &step);
        if (count > 1)
            step = then(&step, &step);
    }
    return all;
}

/* An event waits for another one. */
static void wait_for(double row[TIMES], const double other[TIMES])
{
    for (int j = 0; j < TIMES; j++)
        row[j] = later(row[j], other[j]);
}

static void take(double row[TIMES], double time_s)
{
    for (int j = 0; j < TIMES; j++)
        row[j] += time_s;
}

static struct step step_of(const struct tile *tile)
{
    struct step old = nothing(), step = old;
    wait_for(step.after[LOADED], old.after[tile->single ? WORKED : WORKED_BEFORE]);
    take(step.after[LOADED], tile->load_s);
    wait_for(step.after[WORKED], step.after[LOADED]);
    wait_for(step.after[WORKED], old.after[tile->single ? STORED : STORED_BEFORE]);
    take(step.after[WORKED], tile->work_s);
    wait_for(step.after[STORED], step.after[WORKED]);
    take(step.after[STORED], tile->store_s);
    memcpy(step.after[WORKED_BEFORE], old.after[WORKED], sizeof old.after[WORKED]);
    memcpy(step.after[STORED_BEFORE], old.after[STORED], sizeof old.after[STORED]);
    return step;
}

/* The innermost loop: where it gathers, only its last round stores. */
static struct step innermost(const struct ll_tile_nest *nest, struct tile tile)
{
    const int d = LL_TILE_LOOPS - 1;
    struct tile last = tile, silent = tile;
    bool edge = nest->edge[d] > 0;
    if (edge) {
        last.load_s *= nest->edge[d];
        last.work_s *= nest->edge[d];
    }
    if (nest->gathers)
        silent.store_s = 0;
    else if (edge)
        last.store_s *= nest->edge[d];
    struct step one = step_of(&silent), end = step_of(&last);
    struct step before = times(one, nest->whole[d] - (edge ? 0 : 1));
    return then(&before, &end);
}

static struct step loop(const struct ll_tile_nest *nest, int d, struct tile tile)
{
    if (d == LL_TILE_LOOPS - 1)
        return innermost(nest, tile);
    struct step round = loop(nest, d + 1, tile);
    struct step all = times(round, nest->whole[d]);
    if (nest->edge[d] <= 0)
        return all;
    tile.load_s *= nest->edge[d];
    tile.work_s *= nest->edge[d];
    tile.store_s *= nest->edge[d];
    struct step edge = loop(nest, d + 1, tile);
    return then(&all, &edge);
}

double ll_tile_volume(const struct ll_tile_nest *nest)
{
    double volume = 1;
    for (int d = 0; d < LL_TILE_LOOPS; d++)
        volume *= (double)nest->whole[d] + nest->edge[d];
    return volume;
}

double ll_pipeline_s(const struct ll_tile_nest *nest, double load_s, double work_s, double store_s)
{
    const int inner = LL_TILE_LOOPS - 1;
    double tiles = ll_tile_volume(nest);
    double results = nest->gathers ? tiles / ((double)nest->whole[inner] + nest->edge[inner]) : tiles;
    struct tile tile = {load_s / tiles, work_s / tiles, store_s / results, nest->single};
    struct step all = loop(nest, 0, tile);
    double end_s = 0;
    for (int j = 0; j < TIMES; j++)
        end_s = fmax(end_s, all.after[STORED][j]);
    return end_s;
}
