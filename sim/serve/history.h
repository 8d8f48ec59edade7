/* SPDX-License-Identifier: Apache-2.0 */
/* How a serving went over time, in memory that does not grow with it: sums in intervals whose width doubles
 * when time passes the last one, requests of which every second one is let go when there is no more room.
 * Fed by what a serving shows (struct ll_serve_watch). One thread at a time. */
#ifndef LL_SIM_SERVE_HISTORY_H
#define LL_SIM_SERVE_HISTORY_H

#include "sim/serve/serve.h"

enum { LL_HISTORY_INTERVALS = 512, LL_HISTORY_SIZES = 24, LL_HISTORY_REQUESTS = 4096 };

/* Of all instances of a pool in an interval. What a step computes is spread evenly over it. */
struct ll_interval {
    double made, prompt_tokens;  /* tokens */
    double running_s, waiting_s; /* sequences times seconds; over the interval's width: their mean number */
    double kv_s;                 /* share of the fullest rank's cache times seconds, over instances */
    double peak_kv;              /* the largest such share */
    double busy_s;               /* that devices computed, over instances */
};

/* Steps with so many sequences in them, from 2^(i-1) + 1 up to 2^i. */
struct ll_step_size {
    uint64_t steps;
    double alone_s, mixed_s; /* length of steps that decode alone; that compute tokens of prompts */
};

struct ll_instance_history {
    uint64_t steps, made, prompt_tokens;
    double busy_s, peak_kv, waiting_s, running_s;
    /* The state since the last step began, which holds until it ends or another begins. */
    struct ll_step_seen last;
};

struct ll_pool_history {
    struct ll_interval intervals[LL_HISTORY_INTERVALS];
    struct ll_step_size sizes[LL_HISTORY_SIZES];
    struct ll_instance_history *instances; /* instance_count of these */
    uint64_t instance_count;               /* that computed a step, and those before them */
};

struct ll_serve_history {
    double width_s;                   /* of an interval */
    struct ll_pool_history *pools[3]; /* as struct ll_step_seen numbers them; NULL: no step */
    struct ll_served *requests; /* whose number is a multiple of `stride`, in the order in which they ended */
    uint64_t request_count, stride;
    struct ll_arena *arena;
    bool failed; /* memory ran out: the rest is missing */
};

/* NULL when memory ran out. All lives in the arena. */
struct ll_serve_history *ll_serve_history_make(struct ll_arena *arena);

/* To be called from a watch's functions, for each step and each request that ends. */
void ll_serve_history_step(struct ll_serve_history *history, const struct ll_step_seen *step);
void ll_serve_history_served(struct ll_serve_history *history, const struct ll_served *served);

/* Once all has ended: adds what the last step of each instance leaves. */
void ll_serve_history_end(struct ll_serve_history *history);

#endif
