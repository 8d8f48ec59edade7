/* SPDX-License-Identifier: Apache-2.0 */
/* A search, answered by an evaluator, remembered by a store.
 *
 * What the store has is not evaluated again: so an interrupted sweep goes on where it was, and a search that
 * learns from answers takes the same way once more. */
#ifndef LL_SIM_EXPLORE_SWEEP_H
#define LL_SIM_EXPLORE_SWEEP_H

#include "sim/explore/evaluate.h"
#include "sim/explore/store.h"

#include <signal.h>

/* How far a sweep is. */
struct ll_sweep_state {
    uint64_t total;     /* points that the search means to propose, of all shards */
    uint64_t proposed;  /* so far, to all shards */
    uint64_t known;     /* of this shard's, that the store had */
    uint64_t evaluated; /* now */
    uint64_t valid;     /* of those known and evaluated */
    uint64_t left_out;  /* of those evaluated now: known ones beat them, whatever they are */
    bool stopped;       /* before its end */
};

/* Other processes that run the same sweep at the same time, each with a store of its own. All see the search
 * propose the same batches, cut them into the same pieces, and take these one after the other: who is done
 * with one takes the next. A search that learns gets all answers in every process, so it goes the way it goes
 * alone. */
struct ll_sweep_crew {
    unsigned rank, size; /* this process, of so many */
    /* The number of the next piece that nobody has taken: 0, 1, 2, ... */
    uint64_t (*take)(void *context);
    /* Adds up each value over all processes; all call it equally often. */
    void (*add_up)(void *context, double *values, size_t count);
    /* The greatest status of all, once all have come here with theirs. */
    int (*agree)(void *context, int status);
    void *context;
};

struct ll_sweep {
    const struct ll_space *space;
    struct ll_evaluator *evaluator;
    struct ll_store *store;            /* NULL: nothing is kept */
    uint64_t shard, shards;            /* this one of so many, from 0; shards is at least 1 */
    const struct ll_sweep_crew *crew;  /* NULL: alone; there are no shards then */
    const volatile sig_atomic_t *stop; /* ends the sweep soon when it is not 0; may be NULL */
    /* Told after every so many points; may be NULL. */
    void (*progress)(void *context, const struct ll_sweep_state *state);
    void *context;
    struct ll_sweep_state state;
};

/* Whether a point is of a shard: a hash of its number says, so that shards are even whatever turns slowly. */
bool ll_in_shard(uint64_t number, uint64_t shard, uint64_t shards);

/* Points that the search of a space means to propose. */
uint64_t ll_sweep_search_total(const struct ll_space *space);

/* Runs the search to its end. False when it was stopped, or after complaints. */
bool ll_sweep_run(struct ll_sweep *sweep, struct ll_diags *diags);

#endif
