/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/serve/steady.h"

#include <assert.h>
#include <math.h>

#include "sim/serve/scheduler.h"
#include "tracer/base/num.h"

enum { TRIES = 4 }; /* of how many prompts a step has */

struct state {
    const struct ll_server_pool *pool;
    const struct ll_serve_limits *limits;
    enum ll_steady_role role;
    double input, output; /* tokens of a request */
    uint64_t past, fresh; /* tokens of its prompt that are found in the cache, and the others */
    double made;          /* tokens that a sequence makes in a step */
    struct ll_server_step *steps;
    struct ll_prompt_part *chunks; /* room for most_sequences of the engine */
    bool failed;
};

/* The mean length of listed requests, or of those that are drawn. */
static void find_lengths(struct state *s, const struct ll_load *load)
{
    const struct ll_lengths listed = {
        .kind = LL_LENGTHS_LISTED, .listed = load->listed, .count = load->count};
    const struct ll_engine *e = &s->pool->engine;
    s->input = fmax(1, ll_lengths_mean(load->listed ? &listed : &load->input, false));
    s->output = fmax(1, ll_lengths_mean(load->listed ? &listed : &load->output, true));
    const uint64_t input = (uint64_t)(s->input + 0.5);
    /* One token at least is always computed. */
    s->past = e->prefix_caching ? ll_min(load->prefix_tokens, input - 1) / e->block * e->block : 0;
    s->fresh = input - s->past;
    s->made = 1;
    double taken = 1;
    for (unsigned i = 0; i < e->speculated; i++)
        s->made += taken *= e->acceptance[i];
}

/* A step of all ranks alike: so many sequences that decode, so many prompts with that many new tokens. */
static double step_s(struct state *s, uint64_t sequences, uint64_t prompts, uint64_t tokens)
{
    const struct ll_engine *e = &s->pool->engine;
    const uint64_t each = 1 + e->speculated, ranks = s->pool->ranks;
    prompts = ll_min(prompts, e->most_sequences);
    for (uint64_t i = 0; i < prompts; i++)
        s->chunks[i] = (struct ll_prompt_part){tokens, s->past};
    for (uint64_t r = 0; r < ranks; r++)
        s->steps[r] =
            (struct ll_server_step){.sequences = sequences,
                                    .each = each,
                                    .context = (uint64_t)((double)sequences * (s->input + s->output / 2)),
                                    .asked = sequences * each + prompts,
                                    .chunk_count = prompts,
                                    .chunks = s->chunks};
    const double cost_s = s->pool->cost(s->pool->context, s->steps, ranks).time_s;
    s->failed |= !(cost_s > 0);
    return ll_engine_step_s(e,
                            ll_engine_device_s(e, cost_s, sequences * each + prompts * tokens, prompts > 0),
                            ranks * (sequences + prompts));
}

/* Tokens of a prompt that a step beside n sequences computes at most. */
static uint64_t chunk_of(const struct state *s, uint64_t n)
{
    const struct ll_engine *e = &s->pool->engine;
    uint64_t room = e->prompts_first ? e->most_tokens : ll_sub(e->most_tokens, n * (1 + e->speculated));
    if (room == LL_NO_FIT)
        return 0;
    room = e->longest_chunk > 0 ? ll_min(room, e->longest_chunk) : room;
    return e->chunks || room >= s->fresh ? ll_min(room, s->fresh) : 0;
}

/* The mean step beside n sequences of a rank that decode, and the time from a prompt's arrival to its first
 * token. False where prompts come faster than the step's budget takes them. */
static bool at(struct state *s, uint64_t n, struct ll_steady_state *x)
{
    const double stages = (double)s->pool->stages, decodes = fmax(s->output - 1, 1e-9) / s->made;
    const uint64_t chunk = chunk_of(s, n);
    const double alone_s = step_s(s, n, 0, 0);
    double mean_s = alone_s;
    *x = (struct ll_steady_state){.sequences = n};
    if (s->role == LL_STEADY_WHOLE) {
        if (chunk == 0)
            return false;
        const struct ll_engine *e = &s->pool->engine;
        /* Chunks that a step has in the mean: below 1 some have none. */
        const double share = (double)n / decodes * (double)s->fresh / (double)chunk;
        const uint64_t beside = e->prompts_first ? 0 : n,
                       room = e->most_tokens - beside * (1 + e->speculated);
        const uint64_t most = ll_max(1, room / chunk);
        if (ceil(share) > (double)most)
            return false;
        /* Prompts that come while a step with prompts is computed begin together in the next one. */
        uint64_t together = ll_max(1, (uint64_t)ceil(share));
        double with_s = 0;
        for (int i = 0; i < TRIES; i++) {
            with_s = step_s(s, beside, together, chunk);
            const double often = share / (double)together;
            /* A step is as long as its slowest rank's, and stages compute batches in their order: a prompt
             * holds up what is computed beside it. */
            const double any = 1 - pow(1 - often, (double)s->pool->ranks * stages);
            mean_s = alone_s + (e->prompts_first ? often * with_s + (any - often) * fmax(0, with_s - alone_s)
                                                 : any * (with_s - alone_s));
            const double come = fmin((double)most, floor(share * with_s / mean_s));
            if (come <= (double)together)
                break;
            together = (uint64_t)come;
        }
        const double chunks = (double)ll_ceil_div(s->fresh, chunk);
        /* Half a step is under way when it comes; a host that prepares ahead lets it miss the next, too. */
        x->ttft_s = e->request_s + mean_s * (e->overlaps ? 1.5 : 0.5) + chunks * with_s;
    }
    x->tpot_s = mean_s / s->made;
    x->rate_Hz = (double)s->pool->ranks * stages * (double)n / (decodes * mean_s);
    return true;
}

static bool holds(const struct state *s, const struct ll_steady_state *x)
{
    return x->ttft_s <= s->limits->ttft_s && x->tpot_s <= s->limits->tpot_s &&
           x->ttft_s + (s->output - 1) * x->tpot_s <= s->limits->e2e_s;
}

/* Prompts alone, one after another. */
static void prompts_alone(struct state *s, struct ll_steady_state *x)
{
    const uint64_t chunk = chunk_of(s, 0);
    *x = (struct ll_steady_state){0};
    if (chunk == 0)
        return;
    const double latency_s = (double)ll_ceil_div(s->fresh, chunk) * step_s(s, 0, 1, chunk);
    const double service_s = latency_s / (double)(s->pool->stages * s->pool->ranks);
    const double limit_s = fmin(s->limits->ttft_s, s->limits->e2e_s) - s->pool->engine.request_s - latency_s;
    x->ttft_s = s->pool->engine.request_s + latency_s;
    if (limit_s < 0)
        return;
    const double used = isinf(limit_s) ? 1 : 2 * limit_s / (service_s + 2 * limit_s);
    const double interface_Hz = s->pool->engine.request_s > 0 ? 1 / s->pool->engine.request_s : INFINITY;
    x->rate_Hz = fmin(used / service_s, interface_Hz);
    x->ttft_s += isinf(limit_s) ? 0 : limit_s;
}

bool ll_serve_steady(const struct ll_server_pool *pool, const struct ll_load *load,
                     const struct ll_serve_limits *limits, enum ll_steady_role role, struct ll_arena *arena,
                     struct ll_steady_state *steady)
{
    struct state s = {.pool = pool, .limits = limits, .role = role};
    struct ll_steady_state now;
    assert(pool->ranks > 0 && pool->stages > 0);
    *steady = (struct ll_steady_state){0};
    find_lengths(&s, load);
    s.steps = ll_alloc(arena, pool->ranks, sizeof *s.steps);
    s.chunks = ll_alloc(arena, pool->engine.most_sequences, sizeof *s.chunks);
    if (!s.steps || !s.chunks)
        return false;
    if (role == LL_STEADY_PREFILL || (role == LL_STEADY_WHOLE && s.output <= 1)) {
        prompts_alone(&s, steady);
        return !s.failed;
    }
    const double length =
        s.input + (pool->engine.admission == LL_ADMISSION_MAXIMUM ? s.output : s.output / 2);
    const double most =
        fmin((double)pool->kv_tokens / length, (double)pool->engine.most_sequences) / (double)pool->stages;
    /* More sequences serve more and wait longer: doubled until they miss a limit, then halved between. */
    uint64_t good = 0, bad = (uint64_t)fmax(0, most) + 1;
    while (bad - good > 1 && !s.failed) {
        const uint64_t n = ll_min(ll_max(1, 2 * good), good + (bad - good) / 2);
        if (at(&s, n, &now) && holds(&s, &now)) {
            good = n;
            *steady = now;
        } else {
            bad = n;
            if (n == 1) {
                *steady = now;
                steady->rate_Hz = 0;
            }
        }
    }
    if (pool->engine.request_s > 0 && role == LL_STEADY_WHOLE)
        steady->rate_Hz = fmin(steady->rate_Hz, 1 / pool->engine.request_s);
    return !s.failed;
}
