/* SPDX-License-Identifier: Apache-2.0 */
/* A server in steady state, in closed form: what a search over deployments asks first, of each of them, to
 * simulate only the best.
 *
 * All requests are as long as the mean. n sequences of a rank decode at a time; each makes its O tokens in
 * (O - 1) / m steps, with m tokens a step (above 1 where guesses are taken). A step then sees n m / (O - 1)
 * prompts end, so it computes that many prompts' tokens beside the decodes, and by Little's law (Little, A
 * proof for the queuing formula L = lambda W, 1961) an instance serves
 *
 *       rate = ranks stages n m / ((O - 1) step)
 *
 * Where prompts alone are computed, they queue as in M/D/1: wait = S u / (2 (1 - u)) with service S and
 * utilization u (Pollaczek and Khinchine, 1930, 1932).
 *
 * What is neglected: the spread of lengths and of arrivals (so percentiles), preemption, tiers. */
#ifndef LL_SIM_SERVE_STEADY_H
#define LL_SIM_SERVE_STEADY_H

#include "sim/serve/serve.h"

enum ll_steady_role { LL_STEADY_WHOLE, LL_STEADY_PREFILL, LL_STEADY_DECODE };

/* An instance at the largest rate that holds the limits; where none does, with one sequence at a time. */
struct ll_steady_state {
    double rate_Hz;        /* requests a second; 0: it holds them at none */
    double ttft_s, tpot_s; /* ttft_s: of decoding instances 0; tpot_s: of prefill instances 0 */
    uint64_t sequences;    /* that a rank's step decodes; of prompts alone 0, and where not one fits */
};

/* An instance of the pool in this role, with requests of the load's mean lengths. The times of steps are
 * asked of pool->cost. What the arena gets is not needed afterwards. False when memory ran out or a step
 * could not be costed. */
bool ll_serve_steady(const struct ll_server_pool *pool, const struct ll_load *load,
                     const struct ll_serve_limits *limits, enum ll_steady_role role, struct ll_arena *arena,
                     struct ll_steady_state *steady);

#endif
