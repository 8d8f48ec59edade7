/* SPDX-License-Identifier: Apache-2.0 */
/* A server of language models under load: what its requests see, how much it serves.
 *
 * An instance is a scheduler with devices. It repeats a step: choose the tokens of a batch, compute it, hand
 * out new tokens. Here steps are events; how long a step takes is asked of the caller, or of a table that is
 * filled from replays (costs.h). Schedulers: vLLM's (Kwon et al., 2023; version 1), SGLang's (Zheng et al.,
 * 2024) and TensorRT-LLM's, which differ by switches (struct ll_engine).
 *
 * A simulation is a pure function of its arguments: same seed, same bits. It belongs to one thread. Times are
 * in seconds from the start. */
#ifndef LL_SIM_SERVE_SERVE_H
#define LL_SIM_SERVE_SERVE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/machine/machine.h"
#include "tracer/base/arena.h"

/* --- what a server does with its requests --- */

/* Host and scheduler of a server. Sizes in tokens unless they say otherwise. */
struct ll_engine {
    enum ll_admission admission;
    bool prompts_first; /* a step computes prompts alone while some wait; else beside running sequences */
    bool chunks;        /* a prompt may be cut where the budget of a step ends */
    bool by_priority; /* those that wait are let in, and lose their blocks last, by priority, then arrival */
    bool prefix_caching;       /* full blocks are found again by their content */
    uint64_t most_sequences;   /* in a step, at least 1 */
    uint64_t most_tokens;      /* new ones in a step, at least 1 */
    uint64_t longest_chunk;    /* of one prompt in a step; 0: as most_tokens */
    uint64_t block;            /* tokens of a block of the KV cache, at least 1 */
    uint64_t reserved_blocks;  /* of the cache, that no sequence gets */
    double step_s, sequence_s; /* the host's time for a step, and for each sequence in it */
    double eager_s;            /* the least time of a step that no captured graph computes */
    uint64_t captured;         /* tokens of the largest step that one does */
    bool captures_prompts;     /* also of steps with tokens of prompts */
    double request_s; /* of its interface, which works on one after another, before it is in the queue */
    /* The host prepares a step while the device computes the one before, so that what comes during a step
     * misses the next one, too. */
    bool overlaps;
    uint64_t receive_steps; /* that decode alone, until new requests are looked for again; 0, 1: after each */
    /* While sequences decode, prompts wait until these and they are such a share of most_tokens, but no more
     * than so many steps; 0: no such waiting. */
    uint64_t wait_steps;
    double wait_share;
    uint64_t balance_steps; /* the most that prompts wait until each rank has one to begin; 0: they do not */
    unsigned speculated;    /* tokens that are guessed ahead, for each step that makes one */
    double acceptance[16];  /* how often guess i is taken where those before were; at most 16 guesses */
};

/* --- requests --- */

struct ll_request {
    double arrival_s;
    uint64_t input, output; /* tokens; output at least 1 */
    int64_t priority;       /* the lower the earlier; only where the engine goes by it */
    /* What of the input others may have, too: so many tokens from the front, which are those of all requests
     * with the same `prefix`; or the contents of pieces of piece_tokens each, from the front. */
    uint64_t prefix, prefix_tokens;
    const uint64_t *pieces;
    uint64_t piece_count, piece_tokens;
};

/* Lengths that are drawn, at least 1 token each. */
enum ll_lengths_kind {
    LL_LENGTHS_UNIFORM,
    LL_LENGTHS_NORMAL,
    LL_LENGTHS_LOGNORMAL,
    LL_LENGTHS_EXPONENTIAL,
    LL_LENGTHS_LISTED
};

struct ll_lengths {
    enum ll_lengths_kind kind;
    double a, b; /* the least and the most; of other distributions mean and standard deviation */
    /* Of a list: that of a request of it; where input and output have the same list, of the same request. */
    const struct ll_request *listed;
    uint64_t count;
};

/* How requests come. One of: a list; a rate; so many at any time; a rate, but so many at most. */
struct ll_load {
    const struct ll_request *listed; /* in the order of arrival, or NULL */
    uint64_t count;                  /* of requests, listed or not, at least 1 */
    double rate_Hz;                  /* where none are listed; 0: all at the start */
    double
        burstiness; /* shape of the gamma distribution of gaps: 1 is a Poisson process, infinite even gaps */
    /* Above 0: the next one comes when one of so many ends; with a rate no earlier than it says, else whatever
     * its arrival. */
    uint64_t concurrency;
    double duration_s;               /* no request comes later than that; 0: all come */
    double warmup_s;                 /* requests that come earlier, and steps, do not count; 0: all count */
    struct ll_lengths input, output; /* of those that are not listed */
    uint64_t prefix_tokens;          /* that all have in common, part of the input */
    uint64_t seed;
};

/* --- a step --- */

/* New tokens of one prompt. */
struct ll_prompt_part {
    uint64_t tokens, past; /* and how many of it were computed before */
};

/* What one scheduler's step computes. */
struct ll_server_step {
    uint64_t sequences; /* that make tokens */
    uint64_t each;      /* new tokens of each of these: 1, more where guesses are checked */
    uint64_t context;   /* tokens that came before, of all of these together */
    uint64_t asked;     /* whose next token is asked for, those of chunks that end a prompt included */
    uint64_t chunk_count;
    const struct ll_prompt_part *chunks;
};

struct ll_step_cost {
    double time_s;   /* of the devices */
    double energy_j; /* of all devices of the instance; NaN: not known */
};

/* What a step of an instance costs, whose `ranks` schedulers do these at once; steps of no tokens are idle.
 */
typedef struct ll_step_cost ll_cost_of_step(void *context, const struct ll_server_step *steps,
                                            uint64_t ranks);

/* --- a deployment --- */

enum ll_router { LL_ROUTER_ROUND_ROBIN, LL_ROUTER_LEAST_LOADED, LL_ROUTER_PREFIX_AWARE, LL_ROUTER_COUNT };

/* Where keys and values are kept behind the caches of devices: host memory, other nodes. What a request finds
 * there it waits for, while others are computed. */
enum { LL_MOST_KV_TIERS = 4 };
struct ll_kv_tier {
    const char *name;
    uint64_t tokens; /* that it holds, of an instance; shared: of all instances of the pool */
    double token_s;  /* to load one into a rank's devices; loads of an instance follow one another */
    bool shared;
};

/* Instances that are alike. */
struct ll_server_pool {
    uint64_t instances;
    uint64_t ranks;     /* schedulers in step with each other, as attention by data parallelism has them */
    uint64_t stages;    /* of a pipeline, so many batches are under way at once */
    uint64_t devices;   /* of an instance */
    uint64_t kv_tokens; /* that a rank's cache holds */
    const struct ll_kv_tier *tiers; /* the nearest first; only with prefix caching */
    uint64_t tier_count;
    struct ll_engine engine;
    ll_cost_of_step *cost;
    void *context;
};

struct ll_deployment {
    struct ll_server_pool
        whole; /* of instances that do everything; of none where prefill and decode are apart */
    struct ll_server_pool prefill, decode;
    enum ll_router router;
    /* A prompt's keys and values go from prefill to decode: so many bytes a token, with this latency and
     * bandwidth for each request. by_layer: hidden behind the prefill but for the last layer of `layers`. */
    double kv_bytes, transfer_latency_s, transfer_Bps;
    bool by_layer;
    uint64_t layers;
};

/* --- results --- */

/* Of many values: sums are exact, percentiles exact up to 65,536 values and within 0.01 % beyond. */
struct ll_quantiles;

/* The share `share` of values (0 to 1) is at most this, interpolated between values as numpy does. NaN
 * without values. */
double ll_quantiles_at(struct ll_quantiles *quantiles, double share);
double ll_quantiles_mean(const struct ll_quantiles *quantiles);
uint64_t ll_quantiles_count(const struct ll_quantiles *quantiles);

/* A request that ended. */
struct ll_served {
    uint64_t number; /* in the order of arrival */
    struct ll_request request;
    double scheduled_s, first_token_s, last_token_s;
    uint64_t preemptions;
    uint64_t hit_tokens; /* that were in the cache, or behind it, when it was let in */
    uint64_t instance;   /* of its pool, where it ended */
    /* Where prefill and decode are apart: the instance that computed the prompt; when keys and values had
     * gone over, when the first step began that read them (0: one token was all). */
    uint64_t prefill_instance;
    double handed_s, resumed_s;
};

/* A step of an instance that has ended: for pages, timelines and sums. Counts are of all ranks together. */
struct ll_step_seen {
    uint64_t pool;     /* 0: whole; 1: prefill; 2: decode */
    uint64_t instance; /* in its pool */
    double start_s, end_s;
    double device_s;           /* of these, so long the devices (of a stage) computed */
    uint64_t sequences;        /* that decode */
    uint64_t context;          /* tokens that came before, of all that decode */
    uint64_t prompts;          /* whose tokens are computed */
    uint64_t prompt_tokens;    /* new ones of prompts */
    uint64_t made;             /* tokens that it made */
    uint64_t running, waiting; /* sequences, when it began */
    double kv_share;           /* of the fullest rank's cache that was in use then */
};

struct ll_serve_limits {
    double ttft_s, tpot_s, e2e_s; /* infinite: none */
};

struct ll_serving {
    uint64_t requests;
    double duration_s; /* from the end of the warm-up to the last token */
    double end_s;      /* when the last token came */
    uint64_t input_tokens, output_tokens;
    struct ll_quantiles *ttft, *tpot, *itl, *e2e, *queued; /* queued: arrival to first schedule */
    uint64_t within_limits;
    uint64_t steps;
    /* By pool, as struct ll_step_seen numbers them: device time of steps, summed over instances (of a pipeline,
     * of a stage); part of it by the tokens of prompts. */
    double busy_s[3], prompt_busy_s[3];
    double energy_j; /* NaN: not known */
    /* Steps that decode, their sequences and the tokens that came before these; steps that compute tokens of
     * prompts, and how many. */
    uint64_t decode_steps, decode_sequences, decode_context, prompt_steps, step_prompt_tokens;
    /* Tokens of prompts that were let in; of these, found in the cache; found in each tier. */
    uint64_t preemptions, prompt_tokens, hit_tokens, tier_tokens[LL_MOST_KV_TIERS];
    double peak_kv_share, mean_kv_share, mean_running, mean_waiting; /* means over the time of steps */
    uint64_t devices;
};

/* Called for each request and each step that ends; either may be NULL. */
struct ll_serve_watch {
    void (*served)(void *context, const struct ll_served *served);
    void (*step)(void *context, const struct ll_step_seen *seen);
    void (*progress)(void *context, uint64_t ended, uint64_t count);
    void *context;
    const volatile sig_atomic_t *stop; /* once this is not 0 no further step begins; NULL: never */
};

/* Serves the load. NULL when memory ran out, or after `*trouble` names (in static text) what cannot be: a
 * request that does not fit in a cache alone. Lives in the arena. */
const struct ll_serving *ll_serve(const struct ll_deployment *deployment, const struct ll_load *load,
                                  const struct ll_serve_limits *limits, const struct ll_serve_watch *watch,
                                  struct ll_arena *arena, const char **trouble);

/* Tokens in the mean of what is drawn, of a list that of inputs or outputs. Pure. */
double ll_lengths_mean(const struct ll_lengths *lengths, bool output);

/* The request number `i` of a load that lists none. Pure. */
struct ll_request ll_load_request(const struct ll_load *load, uint64_t i, double previous_arrival_s);

#endif
