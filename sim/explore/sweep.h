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
};

struct ll_sweep {
    const struct ll_space *space;
    struct ll_evaluator *evaluator;
    struct ll_store *store;            /* NULL: nothing is kept */
    uint64_t shard, shards;            /* this one of so many, from 0; shards is at least 1 */
    const volatile sig_atomic_t *stop; /* ends the sweep behind the batch when it is not 0; may be NULL */
    /* Told after each batch; may be NULL. */
    void (*progress)(void *context, const struct ll_sweep_state *state);
    void *context;
    struct ll_sweep_state state;
};

/* Whether a point is of a shard: a hash of its number says, so that shards are even whatever turns slowly. */
bool ll_in_shard(uint64_t number, uint64_t shard, uint64_t shards);

/* Points that the search of a space means to propose. */
uint64_t ll_search_total(const struct ll_space *space);

/* Runs the search to its end. False when it was stopped, or after complaints. */
bool ll_sweep_run(struct ll_sweep *sweep, struct ll_diags *diags);

#endif
