/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler of one rank: sequences that wait and run, blocks of its KV cache, the batch of a step.
 * Private to sim/serve. One thread at a time. */
#ifndef LL_SIM_SERVE_SCHEDULER_H
#define LL_SIM_SERVE_SCHEDULER_H

#include "sim/serve/serve.h"

/* --- how long a step takes --- */

/* The devices' time for a step of so many new tokens (of the rank with most), whose kernels take cost_s: no
 * less than to start its ops where no captured graph has them. */
static inline double ll_engine_device_s(const struct ll_engine *e, double cost_s, uint64_t tokens,
                                        bool prompts)
{
    const bool eager = tokens > e->captured || (prompts && !e->captures_prompts);
    return eager && e->eager_s > cost_s ? e->eager_s : cost_s;
}

/* The whole step with so many sequences, the host's work in front of the devices' or beside it. */
static inline double ll_engine_step_s(const struct ll_engine *e, double device_s, uint64_t sequences)
{
    const double host_s = e->step_s + e->sequence_s * (double)sequences;
    return !e->overlaps ? host_s + device_s : host_s > device_s ? host_s : device_s;
}

/* --- the KV cache: blocks, of which full ones are found by their content --- */

#define LL_NO_BLOCK UINT32_MAX

struct ll_kv_blocks;

/* `count` blocks, all free. NULL when memory ran out. Lives in the arena. */
struct ll_kv_blocks *ll_kv_make(uint64_t count, struct ll_arena *arena);
uint64_t ll_kv_count(const struct ll_kv_blocks *blocks);
uint64_t ll_kv_free(const struct ll_kv_blocks *blocks);

/* The block that was free longest, held once; its content is forgotten. One must be free. */
uint32_t ll_kv_take(struct ll_kv_blocks *blocks);

/* Lets go of a block; when nobody holds it it is free, and can be found until it is taken. */
void ll_kv_give(struct ll_kv_blocks *blocks, uint32_t block);

/* Says what a held block contains: a content that others may look for is odd. Another block of an odd
 * content stays the one that is found. */
void ll_kv_name(struct ll_kv_blocks *blocks, uint32_t block, uint64_t content);

/* Whether a block, held or not, still contains this, which is not 0; *is_free says whether nobody holds
 * it. */
bool ll_kv_has(const struct ll_kv_blocks *blocks, uint32_t block, uint64_t content, bool *is_free);

/* The block of this content, odd, or LL_NO_BLOCK; not held by this. *free says whether nobody holds it. */
uint32_t ll_kv_find(const struct ll_kv_blocks *blocks, uint64_t content, bool *is_free);
void ll_kv_hold(struct ll_kv_blocks *blocks, uint32_t block);

/* --- tiers behind the caches of an instance's ranks --- */

struct ll_kv_tiers;

/* Those of an instance of the pool; what is shared is that of `sharing`, another instance's, if there is one.
 * NULL when memory ran out. Lives in the arena. */
struct ll_kv_tiers *ll_kv_tiers_make(const struct ll_server_pool *pool, const struct ll_kv_tiers *sharing,
                                     struct ll_arena *arena);

/* Writes a block of this content to all tiers. */
void ll_kv_tiers_keep(struct ll_kv_tiers *tiers, uint64_t content);

/* The first tier that has this content; LL_MOST_KV_TIERS: none. */
uint64_t ll_kv_tiers_find(const struct ll_kv_tiers *tiers, uint64_t content);

/* Loads so many blocks from each tier, from now on; when all have come. */
double ll_kv_tiers_load(struct ll_kv_tiers *tiers, const uint64_t blocks[static LL_MOST_KV_TIERS],
                        double now_s);

/* --- sequences --- */

struct ll_sequence {
    struct ll_request request;
    uint64_t number;
    uint64_t makes;          /* tokens that it is to make on this rank: all, or the first alone */
    uint64_t computed, made; /* tokens whose keys and values are there; tokens that it made */
    uint64_t new_tokens;     /* in the step at hand, guesses included; 0: it is not in it */
    uint32_t *blocks;        /* the first block_count are held; those behind were, before it was preempted */
    uint64_t block_count, block_capacity, named;
    uint64_t blocks_before; /* the most that it held when it was preempted; 0: it never was */
    double scheduled_s, first_token_s, last_token_s; /* scheduled_s below 0: never */
    uint64_t preemptions, hit_tokens;
    uint64_t instance, prefill_instance; /* as struct ll_served has them, and these times */
    double handed_s, resumed_s;
    bool in_flight;  /* a batch that it is in is under way */
    double loaded_s; /* when tiers have filled its blocks */
    struct ll_sequence *next;
};

/* Tokens of a sequence that are known. */
static inline uint64_t ll_known(const struct ll_sequence *s)
{
    return s->request.input + s->made;
}

struct ll_rank;

/* tiers: NULL: there are none. NULL when memory ran out. Lives in the arena. */
struct ll_rank *ll_rank_make(const struct ll_engine *engine, uint64_t kv_tokens, struct ll_kv_tiers *tiers,
                             struct ll_arena *arena);

/* A sequence of a request, in the arena or one that ended. NULL when memory ran out. */
struct ll_sequence *ll_sequence_take(struct ll_rank *rank, const struct ll_request *request, uint64_t number);

/* At the end of the queue. False when memory ran out. */
bool ll_rank_queue(struct ll_rank *rank, struct ll_sequence *sequence);

/* Whether a request can ever be served: all its tokens fit in the cache. */
bool ll_rank_holds(const struct ll_rank *rank, uint64_t tokens);

/* A step's batch. */
struct ll_rank_batch {
    struct ll_sequence **sequences; /* those that are in it; room for most_sequences */
    uint64_t count;
    struct ll_prompt_part *chunks;
    struct ll_server_step step;
    uint64_t preemptions;
    uint64_t admitted_tokens, hit_tokens, tier_tokens[LL_MOST_KV_TIERS]; /* of prompts that were let in */
};

/* Chooses the next batch, at this time; of no sequence when there is nothing to compute. admits: those that
 * wait may be let in. False when memory ran out. The batch's arrays have room for the engine's
 * most_sequences. */
bool ll_rank_schedule(struct ll_rank *rank, double now_s, bool admits, struct ll_rank_batch *batch);

/* What the sequence of a batch that was computed made: its new tokens, 0 when its prompt goes on. `draw` is
 * uniform in (0, 1) for each guess. Where it made its last one it leaves the rank, and *ended is true. */
uint64_t ll_rank_complete(struct ll_rank *rank, struct ll_sequence *sequence, uint64_t seed, bool *ended);

/* Gives back what a sequence that left the rank is kept in. */
void ll_sequence_give(struct ll_rank *rank, struct ll_sequence *sequence);

/* Whether the scheduler knows of a sequence that waits and has a place for it. */
bool ll_rank_may_admit(const struct ll_rank *rank);

/* Sequences that run, that wait; the share of the cache's blocks that are held. */
uint64_t ll_rank_running(const struct ll_rank *rank);
uint64_t ll_rank_waiting(const struct ll_rank *rank);
double ll_rank_kv_share(const struct ll_rank *rank);

/* When the next sequence has got its keys and values from tiers, 0 if one has and nothing runs; infinite:
 * none waits for that. */
double ll_rank_loaded_s(const struct ll_rank *rank);

/* Tokens at the front of a request that the cache has. */
uint64_t ll_rank_hits(const struct ll_rank *rank, const struct ll_request *request);

#endif
